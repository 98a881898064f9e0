//! What Envoy and whatever is made of it share: conditions, backoff, budgets, breakers.

use damper_config::failure::Failures;
use damper_control::Pushback;
use damper_system::model::Spec;

use super::filter;
use super::shared::{BREAKERS, Conditions, Vocabulary, conditions, up};
use crate::Options;
use crate::asked::Edge;
use crate::loss::{Change, Draft, Side, instead};
use crate::share::{self, Share};
use crate::signal;
use crate::wait::{self, Wait};

/// Above this a limit of Envoy never acts.
pub(crate) const NEVER: u32 = u32::MAX;

/// What is retried, in Envoy's words. Envoy retries the same request whatever a callee says, and the
/// filter withholds later ones only: nobody can be told not to come back.
pub(crate) fn envoy_conditions(edge: &Edge<'_>, draft: &mut Draft) -> Conditions {
    let vocabulary = Vocabulary {
        words: signal::ENVOY,
        statuses: signal::STATUSES,
        never: Failures::NONE,
        stops: false,
        always: Failures::NONE,
        times_out: false,
    };
    conditions(edge, &vocabulary, draft)
}

/// Envoy's backoff: uniform below a bound that doubles. What differs is a loss.
pub(crate) fn envoy_wait(edge: &Edge<'_>, draft: &mut Draft) -> (Wait, Vec<String>) {
    let backoff = &edge.policy.retry.backoff;
    let mut wait = wait::doubling(backoff, edge.most());
    // Whole milliseconds, so that every software that hands it to Envoy takes it.
    let whole = |ms: f64| if ms.fract() == 0.0 { ms } else { up(ms) as f64 };
    (wait.base_ms, wait.cap_ms) = (whole(wait.base_ms), whole(wait.cap_ms));
    let mut marks = Vec::new();
    if let Some(written) = wait.differs.clone().filter(|_| edge.most() > 0) {
        let why = "Envoy has one kind of backoff; the mean of the first wait is kept.";
        let what = instead(Side::Other, wait::words(backoff), written, why)
            .so(edge.at, Change::Backoff(wait.doubles()));
        marks.push(draft.lose(&edge.name(), "backoff", what));
    }
    (wait, marks)
}

/// A budget of Envoy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum EnvoyBudget {
    /// No limit.
    Unlimited,
    /// A share of the requests at once.
    Share {
        /// Percent of all, retries among them.
        percent: f64,
        /// Retries at once that are always allowed.
        least: u32,
    },
}

/// Who keeps the budget of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keeper {
    /// Envoy itself.
    Envoy,
    /// The filter; without it Envoy does not start.
    Filter,
    /// The filter; without it requests pass.
    OpenFilter,
}

impl Keeper {
    /// The filter if it keeps the budget of a call; `open`: requests pass where it cannot be loaded.
    pub(crate) fn of(edge: &Edge<'_>, open: bool, options: &Options) -> Self {
        match filter::keeps_budget(edge, options) {
            false => Self::Envoy,
            true if open => Self::OpenFilter,
            true => Self::Filter,
        }
    }
}

/// What the filter's budget is not. Envoy's nearest share is no backstop beside it: with a few
/// requests at once it grants no retry at all, so that the filter's budget would never be used.
fn filter_budget(edge: &Edge<'_>, keeper: Keeper, draft: &mut Draft) -> Vec<String> {
    let mut written = Vec::new();
    let mut why = Vec::new();
    if filter::counts_by_thread(edge) {
        written.push("the same for each worker thread of Envoy");
        why.push("Worker threads do not share what the filter counts: run Envoy with one, or ask for less.");
    }
    if keeper == Keeper::OpenFilter {
        written.push("none while the filter is not loaded");
        why.push("Requests pass without the filter, and nothing else bounds their retries.");
    }
    if written.is_empty() {
        return Vec::new();
    }
    let asked = share::words(&edge.policy.budget);
    let what = instead(Side::Wider, asked, written.join(", "), why.join(" "));
    vec![draft.lose(&edge.name(), "budget", what)]
}

/// Envoy's budget for a call. With the filter beside it, the filter's budget decides.
pub(crate) fn envoy_budget(
    edge: &Edge<'_>,
    keeper: Keeper,
    draft: &mut Draft,
) -> (EnvoyBudget, Vec<String>) {
    let asked = &edge.policy.budget;
    let share = share::of(asked);
    if share == Share::None || edge.most() == 0 {
        return (EnvoyBudget::Unlimited, Vec::new());
    }
    if keeper != Keeper::Envoy {
        return (EnvoyBudget::Unlimited, filter_budget(edge, keeper, draft));
    }
    let at = edge.name();
    let Some((percent, least)) = share::at_once(share, &edge.policy.retry.backoff) else {
        let why = "Nothing like it can be said here.";
        let what = instead(Side::Wider, share::words(asked), "no budget", why);
        let mark = draft.lose(&at, "budget", what.so(edge.at, Change::Budget(Spec::none())));
        return (EnvoyBudget::Unlimited, vec![mark]);
    };
    let budget = EnvoyBudget::Share { percent, least };
    let exact = share == Share::Active { percent, least };
    if asked.kind == "envoy" && exact {
        return (budget, Vec::new());
    }
    let written = format!("{percent} % of the requests at once, at least {least}");
    let (side, why) = match share {
        Share::Active { .. } if asked.kind == "envoy" => {
            (Side::Fewer, "Hundredths of a percent, rounded down.")
        }
        Share::Active { .. } => (
            Side::Other,
            "Envoy counts a retry from the decision on, through its wait, and a waiting request \
             not at all: when all wait, only the minimum is left.",
        ),
        Share::Tokens { .. } => (
            Side::Wider,
            "Envoy's share is one of requests at once: while everything fails it still grants \
             that share, where the tokens would be used up.",
        ),
        Share::Adaptive { .. } => {
            (Side::Fewer, "Envoy's share does not follow failures: the least one is written.")
        }
        _ => (
            Side::Fewer,
            "Envoy's share is one of requests at once, retries among them, and a retry holds its \
             place through its wait.",
        ),
    };
    let what = instead(side, share::words(asked), written, why);
    let change = envoys_budget(percent, least);
    let what = change.into_iter().fold(what, |what, change| what.so(edge.at, change));
    (budget, vec![draft.lose(&at, "budget", what)])
}

/// Envoy's budget of this share in place of what was asked.
pub(crate) fn envoys_budget(percent: f64, least: u32) -> Option<Change> {
    let entry = damper_control::registry::find("envoy")?;
    Some(Change::Budget(Spec::new(entry, vec![percent, f64::from(least)])?))
}

/// A breaker by failures in a row, as proxies eject a host.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ejection {
    /// Failures in a row.
    pub(crate) failures: u32,
    /// The first time out, in seconds.
    pub(crate) first_s: f64,
    /// The longest, in seconds.
    pub(crate) longest_s: f64,
}

/// The breaker of a call, if it is one by failures in a row.
pub(crate) fn consecutive(edge: &Edge<'_>) -> Option<Ejection> {
    let breaker = edge.policy.breaker.as_ref().filter(|one| one.kind == "breaker-consecutive")?;
    let number = |at: usize| breaker.parameters.get(at).copied().unwrap_or(1.0);
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let failures = number(0).clamp(1.0, 1e9) as u32;
    Some(Ejection { failures, first_s: number(1), longest_s: number(2).max(number(1)) })
}

/// The loss of a breaker that is written as the ejection of hosts.
pub(crate) fn ejects(edge: &Edge<'_>, ejection: Ejection, draft: &mut Draft) -> String {
    let Ejection { failures, first_s, longest_s } = ejection;
    let asked = format!("`breaker-consecutive`: {failures} in a row, {first_s} to {longest_s} s");
    let why = "Hosts are taken out one by one, are all used again once they are back without a \
               probe, and the time out grows by steps of the first one.";
    let written = format!("hosts out after {failures} failures in a row");
    let what = instead(Side::Other, asked, written, why).unmeasured(BREAKERS);
    draft.lose(&edge.name(), "breaker", what)
}

/// Whether callers wait for as long as a callee says.
pub(crate) fn asks_for_time(edge: &Edge<'_>) -> bool {
    matches!(edge.pushback(), Some(pushback) if pushback != Pushback::Stop)
}
