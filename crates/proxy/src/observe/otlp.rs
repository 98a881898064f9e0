//! OpenTelemetry: metrics and spans over OTLP/HTTP, as JSON.
//!
//! It is configured by the variables that every OpenTelemetry program has
//! (`OTEL_EXPORTER_OTLP_ENDPOINT`, `OTEL_EXPORTER_OTLP_CERTIFICATE`, `OTEL_SERVICE_NAME`). What cannot be delivered is dropped and
//! never sent again: sums are cumulative, so that the next ones have it all, and an exporter that
//! retries under overload would be what this program is against.

mod encode;
mod send;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::time::Duration;

use http::Uri;

use super::log::{Kind, Line, Log};
use super::span::Spans;
use super::watch::Watch;
use super::{collect, wall};
use crate::hop::Hops;
use crate::tls::{TlsError, ToUpstream, authorities};

/// How often it exports, unless said otherwise.
const EVERY: Duration = Duration::from_secs(10);
/// Spans in one export.
const MOST_SPANS: usize = 512;

/// Where to export to.
#[derive(Clone, Debug)]
pub struct Otlp {
    endpoint: Uri,
    tls: Option<ToUpstream>,
    service: String,
    every: Duration,
}

/// Why nothing is exported.
#[derive(Debug, thiserror::Error)]
pub enum Unusable {
    /// It is no such address.
    #[error("`{0}` is no address such as http://127.0.0.1:4318 or https://collector.example:4318")]
    Address(String),
    /// The authorities cannot be read.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

impl Otlp {
    /// Exports to `http://HOST:PORT` or `https://HOST:PORT`, below which `/v1/metrics` and
    /// `/v1/traces` are, in the name of a service. `ca`: the authorities whose certificates are
    /// believed (PEM); `None`: those of this system.
    ///
    /// # Errors
    /// It is no such address, or there are no authorities.
    pub fn to(endpoint: &str, service: &str, ca: Option<&Path>) -> Result<Self, Unusable> {
        let wrong = || Unusable::Address(endpoint.to_owned());
        let parsed: Uri = endpoint.trim_end_matches('/').parse().map_err(|_| wrong())?;
        let host = parsed.host().filter(|host| !host.is_empty()).ok_or_else(wrong)?;
        let host = host.trim_matches(['[', ']']);
        let tls = match parsed.scheme_str() {
            Some("http") => None,
            Some("https") => Some(ToUpstream::with(authorities(ca)?, None, host)?),
            _ => return Err(wrong()),
        };
        Ok(Self { endpoint: parsed, tls, service: service.to_owned(), every: EVERY })
    }

    /// The same, this often.
    #[must_use]
    pub fn every(self, every: Duration) -> Self {
        Self { every, ..self }
    }

    /// What the environment says, if it says anything.
    ///
    /// # Errors
    /// It is nothing that this can do.
    pub fn from_env() -> Result<Option<Self>, Unusable> {
        let of = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
        let Some(endpoint) = of("OTEL_EXPORTER_OTLP_ENDPOINT") else { return Ok(None) };
        let service = of("OTEL_SERVICE_NAME").unwrap_or_else(|| "damper-proxy".into());
        let ca = of("OTEL_EXPORTER_OTLP_CERTIFICATE");
        Self::to(&endpoint, &service, ca.as_deref().map(Path::new)).map(Some)
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
        if let (Err(error), Some(log)) = (send::post(self, path, body).await, log) {
            log.write(Kind::System, || Line {
                message: "OTLP: not delivered",
                path: Some(path),
                error: Some(&error),
                ..Line::default()
            });
        }
    }
}
