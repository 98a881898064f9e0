//! Filters of Envoy that refuse requests, and the TCP proxy that connects again.

use super::walk::Scene;
use crate::document::Node;
use crate::failure::{Failure, Failures};
use crate::format::parts::{fact, from_attempts, inert, ms_at};
use crate::layer::{Layer, Sourced};
use crate::reading::{Reading, What};

/// Reads a filter by the last word of its type.
pub(crate) fn read(kind: &str, filter: &Node, scene: &Scene, reading: &mut Reading) {
    match kind {
        "LocalRateLimit" => local_rate_limit(filter, reading),
        "RateLimit" => {
            let what = What::RateLimit { per_s: None, status: Some(429) };
            fact(reading, filter.lines, None, what);
        }
        "AdmissionControl" => {
            let what = What::RateLimit { per_s: None, status: Some(503) };
            fact(reading, filter.lines, None, what);
        }
        "AdaptiveConcurrency" => {
            let most = filter
                .below("gradient_controller_config.concurrency_limit_params.max_concurrency_limit")
                .and_then(Node::number);
            let active = super::cluster::limit(most.unwrap_or(1000.0));
            fact(reading, filter.lines, None, What::Requests { active, waiting: Some(0) });
        }
        "TcpProxy" => tcp_proxy(filter, scene, reading),
        _ => {}
    }
}

fn local_rate_limit(filter: &Node, reading: &mut Reading) {
    let Some(bucket) = filter.loose("token_bucket") else { return };
    let on = |key: &str| {
        filter
            .loose(key)
            .and_then(|node| node.below("default_value.numerator").and_then(Node::number))
            .is_some_and(|share| share > 0.0)
    };
    if !on("filter_enabled") || !on("filter_enforced") {
        let why = "a local rate limit acts only with filter_enabled and filter_enforced above 0 %";
        inert(reading, filter.lines, None, why.to_owned());
        return;
    }
    let fill = bucket.loose("tokens_per_fill").and_then(Node::number).unwrap_or(1.0);
    let per_s = ms_at(bucket, "fill_interval", 0.0)
        .filter(|ms| ms.value > 0.0)
        .map(|ms| fill * 1000.0 / ms.value);
    let code = filter.below("status.code").and_then(Node::integer);
    let status = code.and_then(|code| u32::try_from(code).ok()).filter(|code| *code >= 400);
    let what = What::RateLimit { per_s, status: Some(status.unwrap_or(429)) };
    fact(reading, filter.lines, None, what);
}

fn tcp_proxy(filter: &Node, scene: &Scene, reading: &mut Reading) {
    let Some(entry) = filter.loose_entry("max_connect_attempts") else { return };
    let mut layer = Layer::at(scene.place.format, scene.place.seat, [entry.line, entry.line]);
    layer.caller.clone_from(&scene.place.caller);
    layer.callee = filter.text_at("cluster").and_then(|name| scene.callee(name));
    layer.attempts = from_attempts(entry);
    layer.on = Sourced::default_of(Failures::of(&[Failure::Connect]), super::WHO);
    layer.words = vec!["connect".to_owned()];
    reading.layers.push(layer);
}
