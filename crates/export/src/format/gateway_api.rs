//! The Gateway API: an HTTPRoute for each service that is called, and a budget for its retries.
//! Calls inside of a mesh are routes of the Service, calls from outside those of a gateway.

use damper_config::failure::{Failure, Failures};
use damper_control::{Backoff, Budget};
use damper_system::model::Spec;

use super::Format;
use super::istio::{CLIENT, GATEWAY, object};
use super::merged::merge;
use super::shared::{
    Can, Conditions, LONGEST, Vocabulary, conditions, down_ms, no_controls, unsaid, up, up_ms,
    whole_ms,
};
use crate::Options;
use crate::asked::{Asked, Edge, Lane};
use crate::loss::{Change, Draft, Side, instead};
use crate::share::{self, Share};
use crate::signal;
use crate::tree::{Map, yaml};
use crate::wait;

/// HTTPRoute and XBackendTrafficPolicy.
pub(super) const FORMAT: Format = Format {
    id: "gateway-api",
    title: "Kubernetes Gateway API",
    summary: "HTTPRoute and XBackendTrafficPolicy for each callee",
    per_callee: true,
    filter: false,
    write,
};

fn write(asked: &Asked<'_>, options: &Options) -> Draft {
    let mut draft = Draft::default();
    for callee in asked.callees() {
        let (inside, outside): (Vec<_>, Vec<_>) =
            asked.to(callee).partition(|edge| edge.caller != CLIENT);
        let mut documents = Vec::new();
        for edges in [&inside, &outside] {
            if let Some(merged) = merge(edges, false, &mut draft) {
                let edge = merged.edge();
                documents.push(route(&edge, merged.marks.clone(), options, &mut draft));
                merged.spread(&mut draft);
            }
        }
        let all: Vec<_> = inside.iter().chain(&outside).copied().collect();
        documents.extend(budget(callee, &all, options, &mut draft));
        draft.file(format!("{callee}.yaml"), yaml(&documents));
    }
    draft.note("`retry` and XBackendTrafficPolicy are in the experimental channel");
    draft.note(
        "Istio reads minRetryRate.count as retries at once; other implementations read it as \
         written",
    );
    draft
}

/// What HTTPRoutes retry: statuses, and connections that do not come about whatever is written.
fn http_conditions(edge: &Edge<'_>, draft: &mut Draft) -> Conditions {
    let vocabulary = Vocabulary {
        words: &[],
        statuses: signal::STATUSES,
        never: Failures::NONE,
        stops: false,
        always: Failures::of(&[Failure::Connect, Failure::Refused]),
        times_out: false,
    };
    conditions(edge, &vocabulary, draft)
}

fn route(edge: &Edge<'_>, mut marks: Vec<String>, options: &Options, draft: &mut Draft) -> Map {
    let callee = edge.server.name.as_str();
    let outside = edge.caller == CLIENT;
    let conditions = http_conditions(edge, draft);
    marks.extend(conditions.marks.clone());
    let wait = wait::around(&edge.policy.retry.backoff, edge.most(), 0);
    if edge.most() > 0 && edge.policy.retry.backoff != Backoff::NONE {
        let why = "An HTTPRoute says the least wait; growth and jitter are the implementation's.";
        let written = format!("at least {}ms", up(wait.base_ms));
        let asked = wait::words(&edge.policy.retry.backoff);
        marks.push(draft.lose(&edge.name(), "backoff", instead(Side::Other, asked, written, why)));
    }
    marks.extend(whole_ms(edge, conditions.most, draft));
    marks.extend(unsaid(edge, Can::default(), draft));
    let lanes = edge.lanes();
    let rules: Vec<Map> = lanes
        .iter()
        .map(|lane| {
            let marks = std::mem::take(&mut marks);
            rule(edge, *lane, &conditions, up(wait.base_ms), marks, options)
        })
        .collect();
    let parent = if outside {
        Map::new().with("name", GATEWAY)
    } else {
        Map::new()
            .with("group", "")
            .with("kind", "Service")
            .with("name", callee)
            .with("port", u32::from(options.address(callee).1))
    };
    let spec = Map::new().with("parentRefs", vec![parent]).with("rules", rules);
    let name = if outside { format!("{callee}-{CLIENT}") } else { callee.to_owned() };
    let who = if outside { " from outside" } else { "" };
    draft.claim(format!("HTTPRoute {name}"), format!("calls to {callee}{who}"));
    object("gateway.networking.k8s.io/v1", "HTTPRoute", &name, options)
        .headed([
            format!("Calls to {callee}, made by `damper export gateway-api`."),
            format!("The class of a request is in the header {}.", options.class_header),
        ])
        .with("spec", spec)
}

/// The match of a lane.
pub(crate) fn matches(lane: Lane<'_>, options: &Options) -> Option<Vec<Map>> {
    let class = lane.class?;
    let header = Map::new().with("name", options.class_header.as_str()).with("value", class);
    Some(vec![Map::new().with("headers", vec![header])])
}

/// Where requests go.
pub(crate) fn backends(callee: &str, options: &Options) -> Vec<Map> {
    vec![Map::new().with("name", callee).with("port", u32::from(options.address(callee).1))]
}

fn rule(
    edge: &Edge<'_>,
    lane: Lane<'_>,
    conditions: &Conditions,
    base_ms: u64,
    marks: Vec<String>,
    options: &Options,
) -> Map {
    let nothing = conditions.covered.is_empty();
    let retries = lane.limit > 0 && !nothing;
    let times = edge.times(if retries { lane.limit } else { 0 });
    let timeouts = Map::new()
        .with_some("request", times.overall.map(|t| duration(down_ms(t.min(LONGEST)))))
        .with_some("backendRequest", times.attempt.map(|t| duration(up_ms(t.min(LONGEST)))));
    let retry = if retries {
        Map::new()
            .with_some("codes", some(conditions.statuses.clone()))
            .with("attempts", lane.limit.min(i32::MAX as u32))
            .with("backoff", duration(base_ms))
    } else {
        // Without it some implementations retry of their own accord.
        Map::new().with("attempts", 0_u32)
    };
    Map::new()
        .with_some("matches", matches(lane, options))
        .with_some("timeouts", timeouts.some())
        .with("retry", retry)
        .noted(marks)
        .with("backendRefs", backends(&edge.server.name, options))
}

fn some(codes: Vec<u32>) -> Option<Vec<u32>> {
    (!codes.is_empty()).then_some(codes)
}

/// A duration of the Gateway API: groups of up to five digits, no fractions.
pub(crate) fn duration(ms: u64) -> String {
    if ms == 0 {
        return "0s".to_owned();
    }
    let parts = [(3_600_000, "h"), (60_000, "m"), (1000, "s"), (1, "ms")];
    let mut rest = ms.min(99_999 * 3_600_000);
    if rest <= 99_999 {
        // As people write it: 1500ms rather than 1s500ms.
        return if rest.is_multiple_of(1000) {
            format!("{}s", rest / 1000)
        } else {
            format!("{rest}ms")
        };
    }
    let mut out = String::new();
    for (unit, name) in parts {
        if rest / unit > 0 {
            out.push_str(&format!("{}{name}", rest / unit));
            rest %= unit;
        }
    }
    out
}

/// A rate per second as a count in whole seconds, rounded down: at least one in an hour.
fn rate(per_s: f64) -> (u32, u64) {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    if per_s >= 1.0 {
        (per_s.min(1e6) as u32, 1)
    } else {
        let seconds = (1.0 / per_s.max(1.0 / 3600.0) - 1e-9).ceil();
        (1, (seconds as u64).clamp(1, 3600))
    }
}

/// Percent of the requests of a window, retries per second that are always allowed, and the window
/// in seconds.
pub(crate) type Window = (f64, f64, f64);

/// The same as a budget of the system file in place of what was asked. The control itself counts whole
/// retries in a second and remembers a minute at the most; the format has more.
pub(crate) fn budget_of((percent, per_s, window_s): Window) -> Option<Change> {
    let entry = damper_control::registry::find("deposit")?;
    let nearest = vec![percent.clamp(0.0, 1000.0), per_s.floor(), window_s.clamp(1.0, 60.0)];
    let mut budget: Spec<Budget> = Spec::new(entry, nearest)?;
    budget.parameters = vec![percent, per_s, window_s];
    Some(Change::Budget(budget))
}

/// The budget of one call, as far as the format can say it; `None`: no budget.
fn own_budget(edge: &Edge<'_>, marks: &mut Vec<String>, draft: &mut Draft) -> Option<Window> {
    let asked = &edge.policy.budget;
    let share = share::of(asked);
    if share == Share::None {
        return None;
    }
    let Some((percent, per_s, asked_s)) = share::of_window(share, &edge.policy.retry.backoff)
    else {
        let why = "Nothing like it can be said here.";
        marks.extend(super::shared::no_budget(edge, why, draft));
        return None;
    };
    let window_s = asked_s.clamp(1.0, 3600.0).floor();
    let whole = percent.floor();
    let (count, seconds) = rate(per_s);
    let window = (whole, f64::from(count) / seconds as f64, window_s);
    if !matches!(share, Share::Rate { .. }) || window != (percent, per_s, asked_s) {
        let side = match share {
            Share::Tokens { .. } => Side::Wider,
            _ if per_s < window.1 => Side::Wider,
            _ => Side::Fewer,
        };
        let why = "A budget is a whole percentage of the requests of a window in whole seconds, \
                   and always allows one retry an hour at the least.";
        let written = format!("{whole} % of {window_s} s, at least {count} in {seconds} s");
        let what = instead(side, share::words(asked), written, why);
        let what = budget_of(window).into_iter().fold(what, |what, one| what.so(edge.at, one));
        marks.push(draft.lose(&edge.name(), "budget", what));
    }
    Some(window)
}

fn budget(callee: &str, edges: &[&Edge<'_>], options: &Options, draft: &mut Draft) -> Option<Map> {
    let mut marks = Vec::new();
    let retried = edges.iter().filter(|edge| edge.most() > 0);
    let found: Vec<(&Edge<'_>, Option<Window>)> =
        retried.map(|edge| (*edge, own_budget(edge, &mut marks, draft))).collect();
    let shares = found.iter().filter_map(|(_, share)| *share);
    let least = shares.reduce(|(p, r, w), (q, s, v)| (p.min(q), r.min(s), w.min(v)));
    if let Some(least) = least {
        let words = |(p, r, w): Window| format!("{p} % of {w} s, at least {}", share::per_s(r));
        for (edge, share) in found.iter().filter(|(_, share)| *share != Some(least)) {
            let asked = share.map_or_else(|| "no budget".to_owned(), words);
            let why = "One policy is for all callers of a service: it has the least budget.";
            let what = instead(Side::Fewer, asked, words(least), why);
            let what = budget_of(least).into_iter().fold(what, |what, one| what.so(edge.at, one));
            marks.push(draft.lose(&edge.name(), "budget", what));
        }
    }
    let why = "The Gateway API has no such control.";
    marks.extend(
        edges.first().map(|edge| no_controls(edge.server, why, false, draft)).unwrap_or_default(),
    );
    let (percent, per_s, window_s) = least?;
    let (count, seconds) = rate(per_s);
    let target = Map::new().with("group", "").with("kind", "Service").with("name", callee);
    let constraint = Map::new()
        .with(
            "budget",
            Map::new().with("percent", percent).with("interval", duration(up(window_s * 1e3))),
        )
        .with(
            "minRetryRate",
            Map::new().with("count", count).with("interval", duration(seconds * 1000)),
        );
    let spec = Map::new()
        .with("targetRefs", vec![target])
        .with("retryConstraint", constraint)
        .noted(marks);
    let version = "gateway.networking.x-k8s.io/v1alpha1";
    Some(object(version, "XBackendTrafficPolicy", callee, options).with("spec", spec))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_no_fractions() {
        assert_eq!(duration(1500), "1500ms");
        assert_eq!(duration(2000), "2s");
        assert_eq!(duration(3_723_004), "1h2m3s4ms");
        assert_eq!(rate(0.3), (1, 4));
        assert_eq!(rate(2.7), (2, 1));
        assert_eq!(rate(0.0), (1, 3600));
    }
}
