//! OpenTelemetry: metrics and spans over OTLP/HTTP, as JSON.
//!
//! It is configured by the variables that every OpenTelemetry program has
//! (`OTEL_EXPORTER_OTLP_ENDPOINT`, `OTEL_SERVICE_NAME`). What cannot be delivered is dropped and
//! never sent again: sums are cumulative, so that the next ones have it all, and an exporter that
//! retries under overload would be what this program is against.

mod encode;
mod send;
#[cfg(test)]
mod tests;

use std::time::Duration;

use http::Uri;

use super::log::{Kind, Line, Log};
use super::span::Spans;
use super::watch::Watch;
use super::{collect, wall};
use crate::hop::Hops;

/// How often it exports, unless said otherwise.
const EVERY: Duration = Duration::from_secs(10);
/// Spans in one export.
const MOST_SPANS: usize = 512;

/// Where to export to.
#[derive(Clone, Debug)]
pub struct Otlp {
    endpoint: Uri,
    service: String,
    every: Duration,
}

impl Otlp {
    /// Exports to `http://HOST:PORT`, below which `/v1/metrics` and `/v1/traces` are, in the name
    /// of a service. `None`: this is no such address. (For TLS, a collector beside the proxy.)
    #[must_use]
    pub fn to(endpoint: &str, service: &str) -> Option<Self> {
        let endpoint: Uri = endpoint.trim_end_matches('/').parse().ok()?;
        let plain = endpoint.scheme_str() == Some("http") && endpoint.host().is_some();
        plain.then(|| Self { endpoint, service: service.to_owned(), every: EVERY })
    }

    /// The same, this often.
    #[must_use]
    pub fn every(self, every: Duration) -> Self {
        Self { every, ..self }
    }

    /// What the environment says. `None`: nothing, or nothing that this can do.
    #[must_use]
    pub fn from_env() -> Option<Self> {
        let endpoint = std::env::var("OTEL_EXPORTER_OTLP_ENDPOINT").ok()?;
        let service = std::env::var("OTEL_SERVICE_NAME").unwrap_or_else(|_| "damper-proxy".into());
        Self::to(&endpoint, &service)
    }

    /// Exports for ever.
    pub(crate) async fn run(self, hops: Hops, watch: Watch, spans: Spans, log: Option<Log>) {
        let started = wall::since_1970();
        loop {
            tokio::time::sleep(self.every).await;
            let now = wall::since_1970();
            let families = collect::collect(&hops, &watch, log.as_ref());
            let metrics = encode::metrics(&self.service, &families, started, now);
            self.deliver("/v1/metrics", &metrics, log.as_ref()).await;
            loop {
                let some = spans.take(MOST_SPANS);
                let full = some.len() == MOST_SPANS;
                if !some.is_empty() {
                    let traces = encode::traces(&self.service, &some);
                    self.deliver("/v1/traces", &traces, log.as_ref()).await;
                }
                if !full {
                    break;
                }
            }
        }
    }

    async fn deliver(&self, path: &str, body: &serde_json::Value, log: Option<&Log>) {
        if let (Err(error), Some(log)) = (send::post(&self.endpoint, path, body).await, log) {
            log.write(Kind::System, || Line {
                message: "OTLP: not delivered",
                path: Some(path),
                error: Some(&error),
                ..Line::default()
            });
        }
    }
}
