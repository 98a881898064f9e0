//! Linkerd: an HTTPRoute with annotations for each service and class, annotations of the Service for
//! its breaker, and a local rate limit. A ServiceProfile where a budget is all that is to bound
//! retries.

use damper_config::failure::{Failure, Failures};
use damper_control::backoff::Jitter;
use damper_control::{Backoff, Nanos};

use super::Format;
use super::gateway_api::{Window, backends, budget_of, matches};
use super::istio::object;
use super::merged::merge;
use super::parts::consecutive;
use super::shared::{
    Can, Conditions, LONGEST, Vocabulary, conditions, down_ms, ms_words, no_budget, no_controls,
    unsaid, up, up_ms, whole_ms,
};
use crate::Options;
use crate::asked::{Asked, Edge, Lane};
use crate::loss::{Change, Draft, Side, instead};
use crate::share::{self, Share};
use crate::signal::{self, Word};
use crate::tree::{Map, yaml};
use crate::wait;

/// Annotated HTTPRoutes, ServiceProfile, HTTPLocalRateLimitPolicy.
pub(super) const FORMAT: Format = Format {
    id: "linkerd",
    title: "Linkerd",
    summary: "annotated HTTPRoutes for each callee and class; a ServiceProfile where only a budget bounds",
    per_callee: true,
    filter: false,
    write,
};

/// The largest limit of an annotation.
const MOST: u32 = 65_535;
/// From so many retries on a limit is taken for none: the budget is to bound alone.
const NO_LIMIT: u32 = 100;
/// The shortest and the longest window of a profile's budget, in seconds, and its greatest ratio. With
/// another the proxy has no budget, and retries nothing (linkerd2-proxy, `convert_retry_budget`).
const WINDOW_S: [f64; 2] = [1.0, 60.0];
const MOST_RATIO: f64 = 1000.0;

/// The waits of its proxy.
const FIXED: Backoff =
    Backoff::exponential(Nanos::from_millis(25), 2.0, Nanos::from_millis(250), Jitter::Above(100));

fn write(asked: &Asked<'_>, options: &Options) -> Draft {
    let mut draft = Draft::default();
    for callee in asked.callees() {
        let edges: Vec<&Edge<'_>> = asked.to(callee).collect();
        let Some(merged) = merge(&edges, true, &mut draft) else { continue };
        let edge = merged.edge();
        let alone = alone(&edge);
        let marks = merged.marks.clone();
        let mut documents = match alone {
            Some(budget) => vec![profile(&edge, budget, marks, options, &mut draft)],
            None => routes(&edge, marks, options, &mut draft),
        };
        merged.spread(&mut draft);
        let (more, marks) = at_the_service(&edge, alone.is_none(), options, &mut draft);
        documents.extend(more);
        if let Some(first) = documents.first_mut() {
            *first = std::mem::take(first).headed(marks);
        }
        draft.file(format!("{callee}.yaml"), yaml(&documents));
    }
    draft.note("clients outside of the mesh are not bound by any of this");
    draft
}

/// A breaker and a rate limit, and the marks of what is lost without an object. A ServiceProfile
/// switches breakers off.
fn at_the_service(
    edge: &Edge<'_>,
    breaks: bool,
    options: &Options,
    draft: &mut Draft,
) -> (Vec<Map>, Vec<String>) {
    let service = edge.server;
    let mut all = Vec::new();
    if let Some(ejection) = consecutive(edge).filter(|_| breaks) {
        let jitter = edge
            .policy
            .breaker
            .as_ref()
            .and_then(|one| one.parameters.get(3).copied())
            .unwrap_or(50.0);
        let key = |name: &str| format!("balancer.linkerd.io/failure-accrual{name}");
        let annotations = Map::new()
            .with(&key(""), "consecutive")
            .with(&key("-consecutive-max-failures"), ejection.failures.to_string())
            .with(&key("-consecutive-min-penalty"), format!("{}ms", up(ejection.first_s * 1e3)))
            .with(&key("-consecutive-max-penalty"), format!("{}ms", up(ejection.longest_s * 1e3)))
            .with(&key("-consecutive-jitter-ratio"), (jitter / 100.0).to_string());
        let meta = super::istio::meta(&service.name, options).with("annotations", annotations);
        all.push(
            Map::new()
                .with("apiVersion", "v1")
                .headed(["Only annotations: kubectl apply --server-side, or kubectl annotate."
                    .to_owned()])
                .with("kind", "Service")
                .with("metadata", meta),
        );
    }
    let gcra = service.admission.as_ref().filter(|one| one.kind == "gcra");
    let rate = service
        .rate_limit
        .map(|limit| limit.rate / f64::from(service.instances.max(1)))
        .or_else(|| gcra.and_then(|one| one.parameters.first().copied()));
    let mut bare = service.clone();
    bare.rate_limit = None;
    if gcra.is_some() {
        bare.admission = None;
    }
    let why = "Linkerd has no such control at the door of a service.";
    let mut marks = no_controls(&bare, why, true, draft);
    if let Some(rate) = rate {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let whole = rate.floor().clamp(1.0, f64::from(u32::MAX)) as u32;
        if f64::from(whole) != rate || service.instances > 1 {
            let why = "A whole number at each instance, which counts for itself.";
            let written = format!("{whole}/s at each of {}", service.instances);
            let what = instead(Side::Fewer, format!("{rate}/s at each"), written, why);
            marks.push(draft.lose(&service.name, "rate_limit", what));
        }
        let target = Map::new()
            .with("group", "policy.linkerd.io")
            .with("kind", "Server")
            .with("name", service.name.as_str());
        let spec = Map::new()
            .with("targetRef", target)
            .with("total", Map::new().with("requestsPerSecond", whole));
        let version = "policy.linkerd.io/v1alpha1";
        all.push(
            object(version, "HTTPLocalRateLimitPolicy", &service.name, options)
                .headed(std::mem::take(&mut marks))
                .with("spec", spec),
        );
        draft.note(&format!(
            "the rate limit of {0} is for a Server `{0}` of policy.linkerd.io, which selects its pods",
            service.name
        ));
    }
    (all, marks)
}

fn linkerd_conditions(edge: &Edge<'_>, draft: &mut Draft) -> Conditions {
    const WORDS: &[Word] = &[Word { text: "timeout", retries: &[Failure::AttemptTimeout] }];
    let vocabulary = Vocabulary {
        words: WORDS,
        statuses: signal::STATUSES,
        never: Failures::NONE,
        stops: false,
        always: Failures::of(&[Failure::Refused]),
        times_out: false,
    };
    conditions(edge, &vocabulary, draft)
}

fn routes(
    edge: &Edge<'_>,
    mut marks: Vec<String>,
    options: &Options,
    draft: &mut Draft,
) -> Vec<Map> {
    let conditions = linkerd_conditions(edge, draft);
    marks.extend(conditions.marks.clone());
    let backoff = &edge.policy.retry.backoff;
    let retries = conditions.most > 0;
    if retries && *backoff != FIXED {
        let why = "Linkerd's backoff is fixed.";
        let written = "from 25ms, doubling up to 250ms, jitter on top";
        let what = instead(Side::Other, wait::words(backoff), written, why)
            .so(edge.at, Change::Backoff(FIXED));
        marks.push(draft.lose(&edge.name(), "backoff", what));
    }
    let why = "Annotations have no budget; a ServiceProfile has one, and no limit for one request.";
    if retries {
        marks.extend(no_budget(edge, why, draft));
    }
    if edge.most() > MOST {
        let limits = edge.limits().iter().map(|limit| (*limit).min(MOST)).collect();
        let what = instead(
            Side::Fewer,
            format!("{} retries", edge.most()),
            MOST.to_string(),
            "A limit has 16 bits.",
        )
        .so(edge.at, Change::Limits(limits));
        marks.push(draft.lose(&edge.name(), "limit", what));
    }
    marks.extend(whole_ms(edge, conditions.most, draft));
    marks.extend(together(edge, &conditions, draft));
    let can = Can { breaker: consecutive(edge).is_some(), ..Can::default() };
    marks.extend(unsaid(edge, can, draft));
    let lanes = edge.lanes();
    for lane in &lanes {
        let class = lane.class.map_or(String::new(), |class| format!(" of class {class}"));
        let stands_for = format!("calls to {}{class}", edge.server.name);
        draft.claim(format!("HTTPRoute {}", lane.named(&edge.server.name)), stands_for);
    }
    lanes
        .into_iter()
        .map(|lane| route(edge, lane, &conditions, std::mem::take(&mut marks), options))
        .collect()
}

/// The bound over all attempts of a call with so many retries, and whether it is shorter than the
/// one that was asked for. The last attempt has no timeout of its own, so that where slow attempts
/// are retried, all of them together have one.
fn bound(edge: &Edge<'_>, limit: u32, conditions: &Conditions) -> (Option<Nanos>, bool) {
    let times = edge.times(limit);
    let slow = conditions.covered.contains(Failure::AttemptTimeout);
    let Some(attempt) = times.attempt.filter(|_| slow) else { return (times.overall, false) };
    let backoff = &edge.policy.retry.backoff;
    let waits = (1..=limit.min(1000)).map(|n| backoff.longest(n).0);
    let all = attempt.0.saturating_mul(u64::from(limit) + 1);
    let sum = Nanos(waits.fold(all, u64::saturating_add));
    match times.overall {
        Some(overall) if overall <= sum => (Some(overall), false),
        _ => (Some(sum), true),
    }
}

/// The loss of a call whose attempts have a bound together that nobody asked for.
fn together(edge: &Edge<'_>, conditions: &Conditions, draft: &mut Draft) -> Option<String> {
    let (Some(sum), true) = bound(edge, conditions.most.min(MOST), conditions) else { return None };
    let sum = Nanos::from_millis(down_ms(sum));
    let why = "The last attempt has no timeout of its own: all attempts with their waits have one \
               together.";
    let asked = edge.policy.deadline.map_or_else(|| "no bound".to_owned(), ms_words);
    let what = instead(Side::Fewer, format!("{asked} for all attempts"), ms_words(sum), why)
        .so(edge.at, Change::Deadline(Some(sum)));
    Some(draft.lose(&edge.name(), "deadline", what))
}

/// Milliseconds with their unit.
fn ms(number: u64) -> String {
    format!("{number}ms")
}

fn route(
    edge: &Edge<'_>,
    lane: Lane<'_>,
    conditions: &Conditions,
    marks: Vec<String>,
    options: &Options,
) -> Map {
    let callee = edge.server.name.as_str();
    let retries = lane.limit > 0 && !(conditions.covered.is_empty());
    let limit = lane.limit.min(MOST);
    let times = edge.times(if retries { limit } else { 0 });
    let slow = conditions.covered.contains(Failure::AttemptTimeout);
    let mut annotations = Map::new();
    if retries {
        if !conditions.statuses.is_empty() {
            let codes: Vec<String> = conditions.statuses.iter().map(ToString::to_string).collect();
            annotations.put("retry.linkerd.io/http", codes.join(","));
        }
        annotations.put("retry.linkerd.io/limit", limit.to_string());
    }
    if let Some(attempt) = times.attempt {
        let key = if slow { "retry.linkerd.io/timeout" } else { "timeout.linkerd.io/response" };
        annotations.put(key, ms(up_ms(attempt.min(LONGEST))));
    }
    let (overall, _) = bound(edge, if retries { limit } else { 0 }, conditions);
    if let Some(time) = overall {
        annotations.put("timeout.linkerd.io/request", ms(down_ms(time.min(LONGEST))));
    }
    let name = lane.named(&edge.server.name);
    let parent = Map::new()
        .with("group", "")
        .with("kind", "Service")
        .with("name", callee)
        .with("port", u32::from(options.address(callee).1));
    let rule = Map::new()
        .with_some("matches", matches(lane, options))
        .with("backendRefs", backends(callee, options));
    let spec = Map::new().with("parentRefs", vec![parent]).with("rules", vec![rule]);
    let meta = super::istio::meta(&name, options)
        .with_some("annotations", annotations.some())
        .noted(marks);
    Map::new()
        .with("apiVersion", "gateway.networking.k8s.io/v1")
        .with("kind", "HTTPRoute")
        .with("metadata", meta)
        .with("spec", spec)
}

/// What a profile retries: failures by their statuses. A broken connection never is.
fn profile_conditions(edge: &Edge<'_>, draft: &mut Draft) -> Conditions {
    let vocabulary = Vocabulary {
        words: &[],
        statuses: signal::STATUSES,
        never: Failures::NONE,
        stops: false,
        always: Failures::NONE,
        times_out: false,
    };
    conditions(edge, &vocabulary, draft)
}

/// The budget of a call that is to be bounded by nothing else; `None`: it has a limit, or no budget
/// that a profile could say, or a profile would retry nothing of it.
fn alone(edge: &Edge<'_>) -> Option<Window> {
    let Share::Rate { percent, least_per_s, window_s } = share::of(&edge.policy.budget) else {
        return None;
    };
    let retries = || !profile_conditions(edge, &mut Draft::default()).covered.is_empty();
    (edge.least() >= NO_LIMIT && retries()).then_some((percent, least_per_s, window_s))
}

/// The budget of a profile, with what it has lost.
fn retry_budget(edge: &Edge<'_>, asked: Window, draft: &mut Draft) -> (Map, Option<String>) {
    let (percent, per_s, window_s) = asked;
    let window_ms = down_ms(Nanos::from_secs_f64(window_s.clamp(WINDOW_S[0], WINDOW_S[1])));
    let written = (percent.min(100.0 * MOST_RATIO), per_s.floor(), window_ms as f64 / 1e3);
    let mark = (written != asked).then(|| {
        let (percent, per_s, window_s) = written;
        let why = "The window of a profile's budget is from 1 s to 60 s, and its minimum a whole \
                   number: with anything else the proxy has no budget and retries nothing.";
        let side = if written.2 > asked.2 { Side::Wider } else { Side::Fewer };
        let words = format!("{percent} % of {window_s} s, at least {per_s}/s");
        let what = instead(side, share::words(&edge.policy.budget), words, why);
        let change = budget_of(written).into_iter();
        draft.lose(&edge.name(), "budget", change.fold(what, |what, one| what.so(edge.at, one)))
    });
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let least = written.1.clamp(0.0, f64::from(i32::MAX)) as u32;
    let budget = Map::new()
        .with("retryRatio", written.0 / 100.0)
        .with("minRetriesPerSecond", least)
        .with("ttl", ms(window_ms));
    (budget, mark)
}

fn profile(
    edge: &Edge<'_>,
    budget: Window,
    mut marks: Vec<String>,
    options: &Options,
    draft: &mut Draft,
) -> Map {
    let conditions = profile_conditions(edge, draft);
    marks.extend(conditions.marks.clone());
    if edge.least() != edge.most() {
        let (_, mine) = super::shared::one_limit(edge, "", draft);
        marks.extend(mine);
    }
    let why = "A profile has no limit for one request: nothing but the budget bounds its attempts.";
    let asked = format!("{} retries", edge.least());
    let what = instead(Side::Wider, asked, "no limit", why)
        .so(edge.at, Change::Limits(vec![u32::MAX; edge.classes.len()]));
    marks.push(draft.lose(&edge.name(), "limit", what));
    let backoff = &edge.policy.retry.backoff;
    if *backoff != Backoff::NONE {
        let why = "A profile has no wait between attempts.";
        let what = instead(Side::Other, wait::words(backoff), "at once", why)
            .so(edge.at, Change::Backoff(Backoff::NONE));
        marks.push(draft.lose(&edge.name(), "backoff", what));
    }
    let mut policy = edge.policy.clone();
    if edge.times(edge.least()).attempt.is_some() {
        let why = "A profile has a timeout for all attempts together.";
        let what = instead(Side::Other, "a timeout of each attempt", "none", why)
            .so(edge.at, Change::Timeout(None));
        marks.push(draft.lose(&edge.name(), "timeout", what));
        policy.timeout = None;
    }
    let whole = Edge { policy: &policy, ..*edge };
    marks.extend(whole_ms(&whole, whole.least(), draft));
    let overall = whole.times(whole.least()).overall;
    marks.extend(unsaid(edge, Can::default(), draft));
    let (budget, mine) = retry_budget(edge, budget, draft);
    marks.extend(mine);
    let class = |min: u32, max: u32, fails: bool| {
        let status = Map::new().with("min", min).with("max", max);
        Map::new().with("condition", Map::new().with("status", status)).with("isFailure", fails)
    };
    let mut classes: Vec<Map> =
        conditions.statuses.iter().map(|code| class(*code, *code, true)).collect();
    // Without a word of its own a 5xx is a failure, and would be retried. The first that fits counts.
    classes.push(class(500, 599, false));
    let route = Map::new()
        .with("name", "all")
        .with("condition", Map::new().with("pathRegex", ".*"))
        .with("isRetryable", true)
        .noted(marks)
        .with_some("timeout", overall.map(|time| ms(down_ms(time.min(LONGEST)))))
        .with("responseClasses", classes);
    let spec = Map::new().with("routes", vec![route]).with("retryBudget", budget);
    let host = format!("{}.{}.svc.cluster.local", edge.server.name, options.namespace);
    object("linkerd.io/v1alpha2", "ServiceProfile", &host, options).with("spec", spec)
}
