//! What was counted, and spans, as OTLP has them in JSON: integers of 64 bits are strings, ids are
//! hexadecimal.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use crate::observe::collect::{Collected, Labels, Sample};
use crate::observe::span::Span;

/// `AGGREGATION_TEMPORALITY_CUMULATIVE`.
const CUMULATIVE: u8 = 2;
/// `SPAN_KIND_SERVER`.
const SERVER: u8 = 2;
/// `STATUS_CODE_UNSET` and `STATUS_CODE_ERROR`.
const UNSET: u8 = 0;
const ERROR: u8 = 2;

fn nanos(time: Duration) -> Value {
    time.as_nanos().to_string().into()
}

fn attribute(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": { "stringValue": value } })
}

fn resource(service: &str) -> Value {
    json!({ "attributes": [
        attribute("service.name", service),
        attribute("telemetry.sdk.name", "damper"),
        attribute("telemetry.sdk.version", env!("CARGO_PKG_VERSION")),
    ]})
}

fn scope() -> Value {
    json!({ "name": "damper", "version": env!("CARGO_PKG_VERSION") })
}

fn attributes(labels: &Labels, without: &str) -> Vec<Value> {
    let kept = labels.0.iter().filter(|(name, _)| *name != without);
    kept.map(|(name, value)| attribute(name, value)).collect()
}

/// The body of a request to `/v1/metrics`.
pub(super) fn metrics(
    service: &str,
    families: &[Collected],
    started: Duration,
    now: Duration,
) -> Value {
    let mut metrics = Vec::new();
    for family in families.iter().filter(|family| !family.samples.is_empty()) {
        let points = || {
            let points = family.samples.iter().map(|sample| {
                json!({
                    "attributes": attributes(&sample.labels, ""),
                    "startTimeUnixNano": nanos(started),
                    "timeUnixNano": nanos(now),
                    "asDouble": sample.value,
                })
            });
            points.collect::<Vec<_>>()
        };
        let mut metric = json!({ "name": family.name, "description": family.help });
        let (key, data) = match family.kind {
            "counter" => (
                "sum",
                json!({
                    "aggregationTemporality": CUMULATIVE, "isMonotonic": true, "dataPoints": points(),
                }),
            ),
            "histogram" => (
                "histogram",
                json!({
                    "aggregationTemporality": CUMULATIVE,
                    "dataPoints": histograms(family, started, now),
                }),
            ),
            _ => ("gauge", json!({ "dataPoints": points() })),
        };
        metric[key] = data;
        metrics.push(metric);
    }
    json!({ "resourceMetrics": [{
        "resource": resource(service),
        "scopeMetrics": [{ "scope": scope(), "metrics": metrics }],
    }]})
}

/// One point for each series. Prometheus has cumulative buckets, OTLP has what is in each.
fn histograms(family: &Collected, started: Duration, now: Duration) -> Vec<Value> {
    let mut series: BTreeMap<Labels, Vec<&Sample>> = BTreeMap::new();
    for sample in &family.samples {
        let without = sample.labels.0.iter().filter(|(name, _)| *name != "le").cloned();
        series.entry(Labels(without.collect())).or_default().push(sample);
    }
    let points = series.iter().map(|(labels, samples)| {
        let one = |end: &str| {
            let found = samples.iter().find(|sample| sample.name.ends_with(end));
            found.map_or(0.0, |sample| sample.value)
        };
        let buckets = samples.iter().filter(|sample| sample.name.ends_with("_bucket"));
        let (mut bounds, mut counts, mut below) = (Vec::new(), Vec::new(), 0.0);
        for bucket in buckets {
            let le = bucket.labels.0.iter().find(|(name, _)| *name == "le");
            if let Some(bound) =
                le.and_then(|(_, le)| le.parse::<f64>().ok()).filter(|b| b.is_finite())
            {
                bounds.push(bound);
            }
            counts.push(Value::from((bucket.value - below).to_string()));
            below = bucket.value;
        }
        json!({
            "attributes": attributes(labels, "le"),
            "startTimeUnixNano": nanos(started),
            "timeUnixNano": nanos(now),
            "count": one("_count").to_string(),
            "sum": one("_sum"),
            "bucketCounts": counts,
            "explicitBounds": bounds,
        })
    });
    points.collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The body of a request to `/v1/traces`.
pub(super) fn traces(service: &str, spans: &[Span]) -> Value {
    let spans: Vec<Value> = spans
        .iter()
        .map(|span| {
            let failed = span.outcome != "success";
            json!({
                "traceId": hex(&span.trace),
                "spanId": hex(&span.id),
                "parentSpanId": hex(&span.parent),
                "name": &*span.hop,
                "kind": SERVER,
                "startTimeUnixNano": nanos(span.started),
                "endTimeUnixNano": nanos(span.started + span.took),
                "attributes": [
                    attribute("damper.class", &span.class),
                    attribute("damper.outcome", span.outcome),
                ],
                "status": { "code": if failed { ERROR } else { UNSET } },
            })
        })
        .collect();
    json!({ "resourceSpans": [{
        "resource": resource(service),
        "scopeSpans": [{ "scope": scope(), "spans": spans }],
    }]})
}
