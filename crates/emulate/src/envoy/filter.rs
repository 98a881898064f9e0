//! The configuration of Damper's filter for one caller.

use damper_control::{Nanos, Outcome, RetryOn};
use damper_mesh::filter::config::{Backoff, ClassSource, Config, Edge, Limit, Position, Retry};
use damper_system::System;
use damper_system::model::{self, Caller, Policy};

use super::policy::{back_off, on};
use crate::wire;

/// Whether the filter can name the ends that a policy retries; otherwise the route does.
pub(super) fn names_ends(policy: &Policy) -> bool {
    on(policy) == RetryOn::REJECTED
}

/// What the filter of a caller is told: limits by class for each callee.
pub(super) fn configuration(system: &System, who: Caller) -> Config {
    let edges = system.policies.edges.iter().filter(|edge| edge.caller == who);
    Config {
        classes: system.classes.clone(),
        default_class: system.classes.last().cloned(),
        class: ClassSource {
            header: Some(wire::CLASS.as_str().to_owned()),
            ..ClassSource::default()
        },
        // No trust is written: an outbound filter believes the service that it serves.
        edges: edges.map(|edge| to_edge(system, edge)).collect(),
        ..Config::new(Position::Outbound)
    }
}

/// Why the filter of a caller would refuse what it is told; `None`: it would not.
pub(crate) fn refused_by_filter(system: &System, who: Caller) -> Option<String> {
    let read = damper_mesh::filter::read(configuration(system, who).to_json().as_bytes());
    read.err().map(|problems| problems.to_string())
}

fn to_edge(system: &System, edge: &model::Edge) -> Edge {
    let policy = &edge.policy;
    let limits = &policy.retry.limits;
    let limit = |class: usize| if on(policy).is_empty() { 0 } else { limits.limit(class as u8) };
    let by_class = system.classes.iter().enumerate().map(|(i, name)| (name.clone(), limit(i)));
    let (base, max) = back_off(&policy.retry.backoff, limits.max());
    let millis = |t: Nanos| u32::try_from(t.0.div_ceil(1_000_000)).unwrap_or(u32::MAX);
    let named = names_ends(policy);
    Edge {
        host: system.target_name(edge.target).to_owned(),
        retry: Retry {
            limit: Some(Limit::ByClass(by_class.collect())),
            on: named.then(|| vec!["rejected".to_owned()]),
            status_codes: named.then(|| vec![wire::status(Outcome::Rejected).as_u16()]),
            backoff: Some(Backoff { base_ms: millis(base), max_ms: Some(millis(max)) }),
            ..Retry::default()
        },
        ..Edge::default()
    }
}

#[cfg(test)]
mod tests {
    use damper_system::SystemFile;

    use super::*;

    #[test]
    fn the_filter_takes_what_it_is_told() {
        let text = "
damper: 1
classes: [high, low]
services: {web: {}, a: {rate_limit: 10/s}, b: {workers: 1, service_time: 1ms}}
load: {high: 1/s, low: 1/s}
requests: {r: {calls: [{web: [a, b]}]}}
policies:
  a: {retry: {limit: {high: 5, low: 1}, on: [rejected], backoff: {kind: exponential, base: 25ms, jitter: full}}}
  b: {timeout: 1s, retry: {limit: 2}}
";
        let system = SystemFile::parse("t", text).unwrap().lower().unwrap();
        for edge in &system.policies.edges {
            let config = configuration(&system, edge.caller);
            let read = damper_mesh::filter::read(config.to_json().as_bytes());
            assert!(read.is_ok(), "{read:?}");
        }
        let web = configuration(&system, system.policies.edges[1].caller);
        assert_eq!(web.edges.len(), 2);
        let limit = [("high".to_owned(), 5), ("low".to_owned(), 1)].into();
        assert_eq!(web.edges[0].retry.limit, Some(Limit::ByClass(limit)));
        assert_eq!(web.edges[0].retry.status_codes, Some(vec![503]));
        assert_eq!(web.edges[1].retry.on, None, "the route says what is retried");
    }

    #[test]
    fn names_that_the_filter_refuses_are_found_before() {
        let file = |class: &str| {
            let text = format!(
                "damper: 1
classes: [{class}, low]
services: {{web: {{}}, a: {{rate_limit: 10/s}}}}
load: {{{class}: 1/s, low: 1/s}}
requests: {{r: {{calls: [{{web: [a]}}]}}}}
policies: {{a: {{retry: {{limit: 2, on: [rejected]}}}}}}
"
            );
            let system = SystemFile::parse("t", &text).unwrap().lower().unwrap();
            let who = system.policies.edges[0].caller;
            refused_by_filter(&system, who)
        };
        assert_eq!(file("high"), None);
        for name in ["high.first", "a-class-with-a-name-of-over-32-letters"] {
            let why = file(name).unwrap();
            assert!(why.contains("a name of a class"), "{why}");
        }
    }
}
