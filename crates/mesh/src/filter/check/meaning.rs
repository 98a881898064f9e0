//! What no single value shows: names given twice, rules that fit everything, bounds the wrong way
//! round.

use crate::filter::account;
use crate::filter::config::{Budget, Config, Position, Retry};
use crate::filter::headers;
use crate::filter::problem::{Problem, quoted};

/// The class if no classes are named.
pub(in crate::filter) const ONLY_CLASS: &str = "default";

/// What is wrong.
pub(super) fn check(config: &Config) -> Vec<Problem> {
    let mut all = Vec::new();
    let mut say = |path: String, found: String, expected: &str| {
        all.push(Problem { path, found, expected: expected.to_owned(), nearest: None });
    };
    for (n, name) in config.classes.iter().enumerate() {
        // Counters and headers do not tell cases apart.
        if config.classes[..n].iter().any(|other| other.eq_ignore_ascii_case(name)) {
            say(format!("classes[{n}]"), quoted(name), "a name that no other class has");
        }
    }
    let own = [
        ("class.header", config.class.header.as_deref()),
        ("deadline.header", config.deadline.as_ref().map(|d| d.header.as_str())),
    ];
    for (path, name) in own.into_iter().filter_map(|(path, name)| Some((path, name?))) {
        if headers::is_reserved(name) {
            let expected = "a header of its own: this one has a meaning to Envoy or to HTTP";
            say(path.into(), quoted(name), expected);
        }
    }
    if own[0].1.unwrap_or(headers::CLASS) == own[1].1.unwrap_or_default() {
        say("deadline.header".into(), "the header of the class".into(), "another header");
    }
    for (n, rule) in config.class.matches.iter().enumerate() {
        let all_fit = rule.path_prefix.is_none()
            && rule.method.is_none()
            && rule.host.is_none()
            && rule.header.is_none()
            && rule.baggage.is_none();
        if all_fit {
            let expected = "at least one of path_prefix, method, host, header, baggage (for all, there is `default_class`)";
            say(format!("class.match[{n}]"), "a rule that fits everything".into(), expected);
        }
        if rule.header.as_ref().is_some_and(|h| h.exact.is_some() && h.prefix.is_some()) {
            let path = format!("class.match[{n}].header");
            say(path, "both `exact` and `prefix`".into(), "one of them, or none");
        }
    }
    retry("retry", &config.retry, config.retry.limit.is_some(), &mut say);
    for (n, edge) in config.edges.iter().enumerate() {
        let limited = edge.retry.limit.is_some() || config.retry.limit.is_some();
        retry(&format!("edges[{n}].retry"), &edge.retry, limited, &mut say);
    }
    if config.position == Position::Lever && !config.edges.is_empty() {
        say("edges".into(), "edges".into(), "none: a lever has no destinations");
    }
    all
}

fn retry(path: &str, retry: &Retry, limited: bool, say: &mut impl FnMut(String, String, &str)) {
    for (key, written) in
        [("budget", retry.budget.is_some()), ("pushback", retry.pushback == Some(true))]
    {
        if written && !limited {
            let expected =
                "a `limit` beside it: what a filter withholds are retries of a limit that it knows";
            say(format!("{path}.{key}"), format!("a {key} without a limit"), expected);
        }
    }
    if let Some(backoff) = retry.backoff
        && let Some(max) = backoff.max_ms
        && max < backoff.base_ms
    {
        let expected = format!("at least base_ms ({})", backoff.base_ms);
        say(format!("{path}.backoff.max_ms"), max.to_string(), &expected);
    }
    if let Some(budget) = &retry.budget
        && account::budget(budget).is_none()
        && !matches!(budget, Budget::Arb { .. })
    {
        let expected = "numbers that its control takes (a percentage is 0 or at least 0.0005)";
        say(format!("{path}.budget"), "numbers that it does not take".into(), expected);
    }
    if let Some(Budget::Arb { max_percent, min_percent, .. }) = retry.budget {
        let (min, max) = (min_percent.unwrap_or(1.0), max_percent.unwrap_or(20.0));
        if min > max {
            let expected = format!("at most max_percent ({max})");
            say(format!("{path}.budget.min_percent"), min.to_string(), &expected);
        }
    }
}
