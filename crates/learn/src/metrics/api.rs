//! Asks a Prometheus.
//!
//! Only `http`: whoever has it behind TLS has a tunnel to it, too (`kubectl port-forward`), and a
//! command that reads a few numbers needs no certificates.

use std::io;
use std::time::Duration;

use crate::names::Interner;
use crate::read::{self, Context, Metric, Seen, Sink};
use crate::span::Span;

/// Bytes of one answer.
const LONGEST_ANSWER: u64 = 64 << 20;
/// How long one answer may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// Labels that the recipes look at, so that the answers are small.
const LABELS: &str = "reporter, direction, source_canonical_service, source_workload, source_app, \
destination_canonical_service, destination_workload, destination_service_name, response_code, \
grpc_response_status, deployment, statefulset, daemonset, workload_name, app, dst_deployment, \
dst_statefulset, backend_name, parent_name, dst_service, dst, authority, classification, \
http_status, status_code, grpc_status, local_cluster, envoy_local_cluster, service, service_name, \
job, envoy_cluster_name, cluster_name, grpc_target";

/// What the metrics of the recipes have counted over the last seconds.
pub(crate) fn ask(
    url: &str,
    over_s: f64,
    into: &mut Vec<Metric>,
) -> Result<(), (String, io::Error)> {
    let about = |why: String| (url.to_owned(), io::Error::other(why));
    if !url.starts_with("http://") {
        return Err(about("expected http://HOST:PORT; for https, open a tunnel to it".to_owned()));
    }
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .timeout_global(Some(PATIENCE))
        .max_redirects(0)
        .http_status_as_error(false)
        .build()
        .into();
    let address = format!("{}/api/v1/query", url.trim_end_matches('/'));
    for name in super::names() {
        let seconds = over_s.ceil().max(1.0) as u64;
        let query = format!("sum by ({LABELS}) (increase({name}[{seconds}s]))");
        let answer = agent.get(&address).query("query", &query).call();
        let mut answer = answer.map_err(|error| about(error.to_string()))?;
        if !answer.status().is_success() {
            return Err(about(format!("it answers {} to a query of {name}", answer.status())));
        }
        let body = answer.body_mut().with_config().limit(LONGEST_ANSWER).reader();
        parse(body, name, into).map_err(|error| about(format!("{name}: {error}")))?;
    }
    Ok(())
}

struct Values<'a> {
    name: &'a str,
    into: &'a mut Vec<Metric>,
}

impl Sink for Values<'_> {
    fn span(&mut self, _: Span) {}
    fn trace(&mut self, _: Vec<Span>) {}
    fn metric(&mut self, mut metric: Metric) {
        if self.into.len() < crate::learn::MOST_METRICS {
            // A sum has no name.
            metric.name = self.name.to_owned();
            self.into.push(metric);
        }
    }
}

fn parse(
    answer: impl io::Read,
    name: &str,
    into: &mut Vec<Metric>,
) -> Result<(), serde_json::Error> {
    let mut context = Context {
        strings: Interner::default(),
        sink: &mut Values { name, into },
        seen: Seen::default(),
        buffer: String::new(),
    };
    read::read(io::BufReader::new(answer), &mut context)
}
