//! What nginx says beside tries: rate limits, connections, queues, servers that are taken out.

use crate::document::{Entry, Node};
use crate::format::nginx::{MOST_PLACES, blocks, inherited, servers};
use crate::format::parts::span;
use crate::name::Name;
use crate::reading::{Fact, Reading, What};
use crate::units;

/// The value of `key=value` among words.
fn option<'a>(entry: &'a Entry, key: &str) -> Option<&'a str> {
    entry.value.args().into_iter().find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
}

/// Limits of an upstream.
pub(super) fn upstream(upstream: &Entry, reading: &mut Reading) {
    let about = upstream.value.arg(0).map(|name| Name::new(name, None));
    let mut put = |entry: &Entry, what| {
        reading.facts.push(Fact { lines: span(entry), about: about.clone(), what });
    };
    let servers = servers(upstream);
    for server in &servers {
        if let Some(most) = option(server, "max_conns").and_then(|most| most.parse().ok()) {
            put(server, What::Requests { active: (most > 0).then_some(most), waiting: None });
        }
    }
    let written = |server: &&&Entry| {
        option(server, "max_fails").is_some_and(|fails| fails != "0")
            || option(server, "fail_timeout").is_some()
    };
    // A single server is never taken out.
    if servers.len() > 1
        && let Some(server) = servers.iter().find(written)
    {
        put(server, What::Ejection { max_percent: None, panic_percent: None });
    }
    let queue = upstream.value.block().and_then(|block| block.entry("queue"));
    if let Some(queue) = queue {
        let wait = option(queue, "timeout").and_then(|text| units::duration_ms(text, 1000.0));
        let places = queue.value.arg(0).and_then(|places| places.parse().ok());
        put(queue, What::Queue { places, wait_ms: wait.or(Some(60_000.0)), timeout_ms: None });
    }
}

/// Rate limits and limits of connections, with the status of a refusal.
pub(super) fn limits(root: &Node, reading: &mut Reading) {
    let mut rates: Vec<(&str, Option<f64>)> = Vec::new();
    blocks(root, &mut vec![root], &mut |entry, _| {
        if &*entry.key == "limit_req_zone" {
            let zone = option(entry, "zone").and_then(|zone| zone.split(':').next());
            if rates.len() < MOST_PLACES {
                rates.extend(zone.map(|zone| (zone, option(entry, "rate").and_then(per_second))));
            }
        }
    });
    let mut seen = 0;
    blocks(root, &mut vec![root], &mut |entry, scope| {
        if !matches!(&*entry.key, "limit_req" | "limit_conn") || seen >= MOST_PLACES {
            return;
        }
        seen += 1;
        let status = |key: &str| {
            let written = inherited(scope, key).and_then(|entry| entry.value.arg(0)?.parse().ok());
            Some(written.unwrap_or(503))
        };
        let what = match &*entry.key {
            "limit_req" => {
                let zone = option(entry, "zone");
                let rate = rates.iter().find(|(name, _)| Some(*name) == zone);
                let per_s = rate.and_then(|(_, rate)| *rate);
                What::RateLimit { per_s, status: status("limit_req_status") }
            }
            "limit_conn" => {
                let active = entry.value.arg(1).and_then(|most| most.parse().ok());
                What::Requests { active, waiting: None }
            }
            _ => return,
        };
        reading.facts.push(Fact { lines: span(entry), about: None, what });
    });
}

/// `10r/s` or `60r/m`.
fn per_second(rate: &str) -> Option<f64> {
    let (count, unit) = rate.split_once("r/")?;
    let count: f64 = count.parse().ok()?;
    Some(if unit == "m" { count / 60.0 } else { count })
}
