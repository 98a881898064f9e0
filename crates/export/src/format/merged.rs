//! One policy for all callers of a service, where a format cannot tell callers apart.

use damper_control::gate::Gate;
use damper_control::{Budget, Nanos};
use damper_system::System;
use damper_system::model::{Policy, Spec};

use super::shared::ms_words;
use crate::asked::{Asked, Edge, earlier};
use crate::loss::{Change, Draft, Side, instead};
use crate::{share, signal, wait};

/// A policy that gives no caller more than it asked for.
pub(crate) struct Merged<'a> {
    first: Edge<'a>,
    policy: Policy,
    /// The other calls that get it.
    others: Vec<(usize, String)>,
    /// Where losses belong.
    pub(crate) marks: Vec<String>,
    /// How many losses there were before any of the merged policy itself.
    from: usize,
}

impl Merged<'_> {
    /// As a call.
    pub(crate) fn edge(&self) -> Edge<'_> {
        Edge { policy: &self.policy, ..self.first }
    }

    /// What the policy has lost since it was made, all who get it have lost.
    pub(crate) fn spread(&self, draft: &mut Draft) {
        let mine = self.first.name();
        let range = self.from..draft.losses.len();
        for at in range.filter(|_| !self.others.is_empty()) {
            let Some(said) = draft.losses.get(at).filter(|said| said.loss.at == mine) else {
                continue;
            };
            let said = said.clone();
            for (edge, name) in &self.others {
                let mut said = said.clone();
                said.loss.at.clone_from(name);
                said.with = Some(at);
                said.changes.iter_mut().chain(&mut said.comes_to).for_each(|one| one.0 = *edge);
                draft.losses.push(said);
            }
        }
    }
}

/// What [`one_server`] makes of a system.
pub(crate) struct OneServer {
    /// The system with the strictest policy for all names of a service.
    pub(crate) system: System,
    /// What is lost by it.
    pub(crate) draft: Draft,
    /// Calls that are written as another: what that one loses, they lose.
    pub(crate) as_another: Vec<(usize, usize)>,
}

impl OneServer {
    /// A system in which nobody calls a service under several names.
    pub(crate) fn none(system: &System) -> Self {
        Self { system: system.clone(), draft: Draft::default(), as_another: Vec::new() }
    }
}

/// A caller that calls a service under several names gets the strictest of their policies: no file
/// can tell the calls apart. `None`: there is no such caller.
pub(crate) fn one_server(system: &System) -> Option<OneServer> {
    let asked = Asked::of(system, &[]);
    let mut draft = Draft::default();
    let mut strict = system.clone();
    let mut as_another = Vec::new();
    for first in &asked.edges {
        let same =
            |edge: &&Edge<'_>| edge.caller == first.caller && edge.server.name == first.server.name;
        let mut edges: Vec<&Edge<'_>> = vec![first];
        edges.extend(asked.twice.iter().filter(same));
        if edges.len() == 1 {
            continue;
        }
        as_another.extend(edges.iter().skip(1).map(|edge| (edge.at, first.at)));
        let why = "No file tells two calls of a caller to the same service apart: both get what \
                   neither of them would find too much.";
        let Some(merged) = merge_for(&edges, why, true, &mut draft) else { continue };
        for edge in &edges {
            if let Some(written) = strict.policies.edges.get_mut(edge.at) {
                written.policy = merged.policy.clone();
            }
        }
    }
    (!asked.twice.is_empty()).then_some(OneServer { system: strict, draft, as_another })
}

/// [`merge_for`] callers that a format cannot tell apart; `budgets`: their budget is one, too.
pub(crate) fn merge<'a>(
    edges: &[&Edge<'a>],
    budgets: bool,
    draft: &mut Draft,
) -> Option<Merged<'a>> {
    let why = "Callers of a service cannot be told apart here: all get what none of them would \
               find too much.";
    merge_for(edges, why, budgets, draft)
}

/// The strictest of all: the least limits by class, what all retry, the shortest times, and the rest
/// of the one that retries least.
fn merge_for<'a>(
    edges: &[&Edge<'a>],
    why: &str,
    budgets: bool,
    draft: &mut Draft,
) -> Option<Merged<'a>> {
    let first = **edges.iter().min_by_key(|edge| edge.most())?;
    let mut policy = first.policy.clone();
    let mut limits = first.limits();
    for edge in edges {
        for (least, limit) in limits.iter_mut().zip(edge.limits()) {
            *least = (*least).min(limit);
        }
        policy.retry.on = policy.retry.on & edge.on();
        policy.idempotent &= edge.policy.idempotent;
        // A call without a bound beside one with a bound would take longer than was asked.
        policy.timeout = earlier(policy.timeout, edge.policy.timeout);
        policy.deadline = earlier(policy.deadline, edge.policy.deadline);
    }
    policy.retry.limits = limits.into();
    let mut marks = Vec::new();
    let merged = Edge { policy: &policy, ..first };
    for edge in edges.iter().filter(|_| edges.len() > 1) {
        let all = differences(edge, &merged).into_iter();
        for (field, what) in all.filter(|(field, _)| budgets || *field != "budget") {
            let what = instead(what.side, what.asked, what.written, why).so_all(what.changes);
            marks.push(draft.lose(&edge.name(), field, what));
        }
    }
    let other = |edge: &&&Edge<'a>| edge.at != first.at;
    let others = edges.iter().filter(other).map(|edge| (edge.at, edge.name())).collect();
    Some(Merged { first, policy, others, marks, from: draft.losses.len() })
}

/// A field that two policies have otherwise.
struct Other {
    side: Side,
    asked: String,
    written: String,
    changes: Vec<(usize, Change)>,
}

/// What a call asks for otherwise than the policy that all get.
fn differences(edge: &Edge<'_>, merged: &Edge<'_>) -> Vec<(&'static str, Other)> {
    let (asked, written) = (edge.policy, merged.policy);
    let mut all = Vec::new();
    let mut put = |field, side, words: [String; 2], changes: Vec<Change>| {
        let [asked, written] = words;
        let changes = changes.into_iter().map(|change| (edge.at, change)).collect();
        all.push((field, Other { side, asked, written, changes }));
    };
    for (field, times) in [
        ("timeout", [asked.timeout, written.timeout]),
        ("deadline", [asked.deadline, written.deadline]),
    ] {
        if times[0] != times[1] {
            let change = match field {
                "timeout" => Change::Timeout(times[1]),
                _ => Change::Deadline(times[1]),
            };
            let words = times.map(|time| time.map_or_else(|| "none".to_owned(), ms_words));
            put(field, Side::Fewer, words, vec![change]);
        }
    }
    // A deadline that is shorter now may travel where it did not before, or not at all.
    let travels = |one: &Policy| one.deadline_travels && one.deadline.or(one.timeout).is_some();
    if travels(asked) != travels(written) {
        let words = [asked, written].map(|one| {
            if travels(one) { "the deadline travels" } else { "no deadline travels" }.to_owned()
        });
        let side = if travels(written) { Side::Other } else { Side::Wider };
        put("travels", side, words, vec![Change::Travels(written.deadline_travels)]);
    }
    let heard = edge.most() > 0 || edge.server.pushback.is_some();
    if asked.heeds_pushback != written.heeds_pushback && heard {
        let words = [asked, written].map(|one| one.heeds_pushback.to_string());
        put("pushback", Side::Other, words, vec![Change::Heeds(written.heeds_pushback)]);
    }
    let gate = |gate: &Option<Spec<Gate>>| {
        gate.as_ref().map_or_else(|| "none".to_owned(), |one| format!("`{}`", one.kind))
    };
    if asked.breaker != written.breaker {
        let words = [asked, written].map(|one| gate(&one.breaker));
        put("breaker", Side::Other, words, vec![Change::Breaker(written.breaker.clone())]);
    }
    if asked.throttle != written.throttle {
        let words = [asked, written].map(|one| gate(&one.throttle));
        put("throttle", Side::Other, words, vec![Change::Throttle(written.throttle.clone())]);
    }
    // What only says how something is retried says nothing where nothing is.
    if edge.most() == 0 {
        return all;
    }
    if edge.limits() != merged.limits() {
        let words = [edge, merged].map(|one| format!("retries: {}", one.limits_in_words()));
        put("limit", Side::Fewer, words, vec![Change::Limits(merged.limits())]);
    }
    if edge.on() != merged.on() {
        let words = [edge, merged].map(|one| signal::names(one.on()));
        let changes = vec![Change::On(written.retry.on), Change::Idempotent(written.idempotent)];
        put("on", Side::Fewer, words, changes);
    }
    if asked.budget != written.budget {
        let words = [asked, written].map(|one| share::words(&one.budget));
        let change = vec![Change::Budget(written.budget.clone())];
        put("budget", of_budgets(&asked.budget, &written.budget), words, change);
    }
    if asked.retry.backoff != written.retry.backoff {
        let words = [asked, written].map(|one| wait::words(&one.retry.backoff));
        put("backoff", Side::Other, words, vec![Change::Backoff(written.retry.backoff)]);
    }
    if asked.needs != written.needs {
        let least = |time: Nanos| format!("no retry with less than {} left", ms_words(time));
        let words = [asked, written].map(|one| least(one.needs));
        put("needs", Side::Other, words, vec![Change::Needs(written.needs)]);
    }
    all
}

/// Which way a budget errs in place of another.
fn of_budgets(asked: &Spec<Budget>, written: &Spec<Budget>) -> Side {
    match (asked.kind, written.kind) {
        ("none", _) => Side::Fewer,
        (_, "none") => Side::Wider,
        _ => Side::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use damper_system::SystemFile;

    const POLICIES: &[&str] = &[
        "timeout: 2s",
        "deadline: {total: 3s, travels: true}",
        "timeout: 1s, deadline: {total: 4s, travels: true}",
        "timeout: 1s, breaker: breaker",
        "throttle: google-adaptive",
        "timeout: 2s, retry: {limit: 3, pushback: ignore}",
        "timeout: 2s, retry: {limit: 2, budget: {kind: envoy, percent: 20%}}",
        "timeout: 2s, retry: {limit: 0, pushback: ignore}",
    ];

    /// What is said to be lost makes each policy the one that all get, in whatever its calls can
    /// feel.
    #[test]
    fn nothing_is_lost_that_is_not_said() {
        let pairs = POLICIES.iter().flat_map(|a| POLICIES.iter().map(move |b| [a, b]));
        for [a, b] in pairs {
            let text = format!(
                "damper: 1\nname: two\nservices: {{a: {{}}, b: {{}}, c: {{pushback: 1s}}}}\n\
                 load: 1/s\nrequests: {{x: {{calls: [{{a: [c]}}, {{b: [c]}}]}}}}\n\
                 policies: {{\"a -> c\": {{{a}}}, \"b -> c\": {{{b}}}}}\n"
            );
            let system = SystemFile::parse("t.yaml", &text)
                .and_then(|file| file.lower())
                .unwrap_or_else(|problems| panic!("{problems}"));
            let asked = Asked::of(&system, &[]);
            let edges: Vec<&Edge<'_>> = asked.to("c").collect();
            let mut draft = Draft::default();
            let merged = merge(&edges, true, &mut draft).unwrap();
            for edge in &edges {
                let mut policy = edge.policy.clone();
                for (_, change) in draft
                    .losses
                    .iter()
                    .flat_map(|said| &said.changes)
                    .filter(|(at, _)| *at == edge.at)
                {
                    change.apply(&mut policy);
                }
                let felt = |one: &Policy| {
                    let mut one = one.clone();
                    one.deadline_travels &= one.deadline.or(one.timeout).is_some();
                    one.retry.limits = vec![one.retry.limits.limit(0)].into();
                    if edge.most() == 0 {
                        one.retry = Policy::default().retry;
                        (one.budget, one.needs) = (Policy::default().budget, Nanos::ZERO);
                        one.idempotent = true;
                    }
                    one
                };
                assert_eq!(felt(&policy), felt(&merged.policy), "{text}");
            }
        }
    }
}
