//! The configuration of Damper's Envoy filter for what plain configuration cannot say: budgets by
//! tokens, by a share of the requests of a window or by failures, and deadlines that travel.

use serde_json::{Map, Value, json};

use super::CLIENT;
use super::shared::{down_ms, up};
use crate::Options;
use crate::asked::Edge;
use crate::share::{self, Share};
use crate::wait;

/// The header with the milliseconds that are left of a deadline.
const DEADLINE: &str = "x-damper-deadline-ms";

// What the filter's own check takes (`docs/filter.md`); more is not written, so that Envoy does not
// refuse the whole configuration.
/// Most retries of a limit.
const MOST_RETRIES: u32 = 100;
/// Most bytes of the name of a class.
const MOST_NAME: usize = 32;
/// Most calls of one caller: a service goes by up to five names, and there is room for 64.
pub(crate) const MOST_CALLS: usize = 12;
/// Most tokens.
const MOST_TOKENS: f64 = 1000.0;
/// Most milliseconds.
const MOST_MS: f64 = 86_400_000.0;
/// Most requests per second.
const MOST_PER_S: f64 = 1e9;

/// Whether a call has something that only the filter can do.
pub(crate) fn wanted(edge: &Edge<'_>) -> bool {
    budget(edge).is_some() || travels(edge)
}

/// Why the filter cannot stand beside a call that wants it; `None`: it can.
pub(crate) fn unfit(edge: &Edge<'_>) -> Option<String> {
    let name = |class: &&String| {
        class.is_empty()
            || class.len() > MOST_NAME
            || !class.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b))
    };
    if edge.most() > MOST_RETRIES {
        Some(format!("a limit over {MOST_RETRIES}"))
    } else if let Some(class) = edge.classes.iter().find(name) {
        Some(format!(
            "the class name `{class}` (letters, digits, `-` and `_`, at most {MOST_NAME})"
        ))
    } else if edge.nth >= MOST_CALLS {
        Some(format!("more than {MOST_CALLS} calls of one caller"))
    } else {
        None
    }
}

/// Whether the filter has to stand beside a call.
pub(crate) fn serves(edge: &Edge<'_>, options: &Options) -> bool {
    !options.plain && wanted(edge) && unfit(edge).is_none()
}

/// Whether the filter keeps the budget of a call.
pub(crate) fn keeps_budget(edge: &Edge<'_>, options: &Options) -> bool {
    serves(edge, options) && budget(edge).is_some()
}

/// Whether each worker thread of Envoy has the whole of a budget's fixed part for itself.
pub(crate) fn counts_by_thread(edge: &Edge<'_>) -> bool {
    match share::of(&edge.policy.budget) {
        Share::Tokens { .. } => true,
        Share::Rate { least_per_s, .. } => least_per_s >= 1.0,
        _ => false,
    }
}

fn travels(edge: &Edge<'_>) -> bool {
    edge.policy.deadline_travels && edge.policy.deadline.or(edge.policy.timeout).is_some()
}

/// A number of milliseconds that the filter takes.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn ms(number: f64) -> Option<u64> {
    let whole = number.round();
    (1.0..=MOST_MS).contains(&whole).then_some(whole as u64)
}

/// The budget as the filter has it; none that Envoy has itself, and none that the filter refuses.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn budget(edge: &Edge<'_>) -> Option<Value> {
    if edge.most() == 0 {
        return None;
    }
    // A percentage is 0 or at least 0.0005.
    let percentage = |number: f64| number == 0.0 || (0.0005..=1000.0).contains(&number);
    Some(match share::of(&edge.policy.budget) {
        Share::Tokens { max, ratio }
            if max.fract() == 0.0
                && (1.0..=MOST_TOKENS).contains(&max)
                && (0.001..=1000.0).contains(&ratio) =>
        {
            json!({"kind": "token-bucket", "max_tokens": max as u64, "token_ratio": ratio})
        }
        Share::Rate { percent, least_per_s, .. }
            if edge.policy.budget.kind == "deposit"
                && percentage(percent)
                && (0.0..=1e6).contains(&least_per_s) =>
        {
            // Whole retries per second, rounded down: never more than was asked.
            json!({"kind": "ratio", "percent": percent, "min_per_s": least_per_s.floor() as u64})
        }
        Share::Adaptive { most, least, memory_s, hold_s }
            if percentage(most) && percentage(least) && least <= most =>
        {
            let hold = if hold_s == 0.0 { 0 } else { ms(hold_s * 1e3)? };
            json!({
                "kind": "arb",
                "max_percent": most,
                "min_percent": least,
                "memory_ms": ms(memory_s * 1e3)?,
                "hold_ms": hold,
            })
        }
        _ => return None,
    })
}

/// By which names requests come to the filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Names {
    /// The name of the service, and its address.
    Service,
    /// The names that a service has in a cluster, too.
    Cluster,
    /// Any: the filter stands before this one call alone, and the host is a public one.
    Any,
}

/// The configuration for the calls of one caller; `None`: none of them needs the filter.
pub(crate) fn config(edges: &[&Edge<'_>], names: Names, options: &Options) -> Option<Value> {
    let served: Vec<_> = edges.iter().filter(|edge| serves(edge, options)).collect();
    let first = served.first()?;
    let strangers = first.caller == CLIENT;
    let mut config = Map::new();
    config.insert("damper".to_owned(), json!(1));
    let position = if strangers { "edge" } else { "outbound" };
    config.insert("position".to_owned(), json!(position));
    if first.classes.len() > 1 || first.classes.first().is_some_and(|one| one != "default") {
        config.insert("classes".to_owned(), json!(first.classes));
    }
    config.insert("class".to_owned(), json!({"header": options.class_header}));
    // Whoever is outside can write any header.
    // Beside a service nothing is written: what leaves it is its own word, which comes over loopback
    // and shows no sign of the mesh.
    if strangers {
        config.insert("trust".to_owned(), json!("none"));
    }
    if names == Names::Any {
        config.insert("retry".to_owned(), Value::Object(retry(first)));
    } else {
        let edges: Vec<Value> = served.iter().flat_map(|edge| of(edge, names, options)).collect();
        config.insert("edges".to_owned(), json!(edges));
    }
    if served.iter().any(|edge| travels(edge)) {
        let mut deadline = Map::new();
        deadline.insert("header".to_owned(), json!(DEADLINE));
        let bound = first.policy.deadline.or(first.policy.timeout).map(down_ms);
        if let Some(ms) = bound.filter(|ms| names == Names::Any && *ms as f64 <= MOST_MS) {
            // Nobody outside says how long it may take.
            deadline.insert("default_ms".to_owned(), json!(ms));
            deadline.insert("max_ms".to_owned(), json!(ms));
        }
        config.insert("deadline".to_owned(), Value::Object(deadline));
    }
    Some(Value::Object(config))
}

fn retry(edge: &Edge<'_>) -> Map<String, Value> {
    let mut retry = Map::new();
    let limits = edge.limits();
    let limit = if edge.least() == edge.most() {
        json!(edge.least())
    } else {
        let by_class: Map<String, Value> = edge
            .classes
            .iter()
            .zip(&limits)
            .map(|(class, limit)| (class.clone(), json!(limit)))
            .collect();
        Value::Object(by_class)
    };
    retry.insert("limit".to_owned(), limit);
    if edge.most() > 0 {
        let wait = wait::doubling(&edge.policy.retry.backoff, edge.most());
        let (base, most) = (up(wait.base_ms), up(wait.cap_ms.max(wait.base_ms)));
        if most as f64 <= MOST_MS {
            retry.insert("backoff".to_owned(), json!({"base_ms": base, "max_ms": most}));
        }
    }
    let capacity = edge.server.capacity();
    if let Some(capacity) = capacity.filter(|rate| (0.001..=MOST_PER_S).contains(rate)) {
        retry.insert("capacity_per_s".to_owned(), json!(capacity));
    }
    if let Some(budget) = budget(edge) {
        retry.insert("budget".to_owned(), budget);
    }
    if edge.pushback().is_some() {
        retry.insert("pushback".to_owned(), json!(true));
    }
    retry
}

fn of(edge: &Edge<'_>, names: Names, options: &Options) -> Vec<Value> {
    let retry = retry(edge);
    let callee = edge.server.name.as_str();
    // Every name that a route takes: a request that no edge fits has no budget.
    let mut hosts = vec![callee.to_owned()];
    let (host, _) = options.address(callee);
    if host != callee {
        hosts.push(host);
    }
    if names == Names::Cluster {
        let long = format!("{callee}.{}", options.namespace);
        hosts.extend([long.clone(), format!("{long}.svc"), format!("{long}.svc.cluster.local")]);
    }
    hosts.into_iter().map(|host| json!({"host": host, "retry": retry})).collect()
}
