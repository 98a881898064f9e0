//! What all formats share: losses that follow from what a format has no word for, and numbers as
//! formats write them.

use damper_config::failure::{Failure, Failures};
use damper_control::{Nanos, Pushback, RetryOn};
use damper_system::model::Spec;

use crate::asked::Edge;
use crate::loss::{Change, Draft, Side, instead};
use crate::signal::{self, Word};
use crate::wait::of_ms;

/// What a format has words for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Can {
    /// A breaker was written.
    pub(crate) breaker: bool,
    /// A deadline travels.
    pub(crate) travels: bool,
    /// A wait that a callee asks for is kept.
    pub(crate) heeds: bool,
}

/// Why the loss of a breaker has no numbers.
pub(crate) const BREAKERS: &str = "the closed forms leave breakers out: theirs is the load without \
                                   one; `damper headroom` measures both";

/// Losses of what has no words: a mark for each.
pub(crate) fn unsaid(edge: &Edge<'_>, can: Can, draft: &mut Draft) -> Vec<String> {
    let policy = edge.policy;
    let at = edge.name();
    let mut marks = Vec::new();
    if !can.travels && policy.deadline_travels && policy.deadline.or(policy.timeout).is_some() {
        let why = "Callees do not learn how much time is left, and finish work that is too late.";
        let what = instead(Side::Wider, "a deadline that travels", "one that stays", why)
            .so(edge.at, Change::Travels(false))
            .unmeasured("the closed forms count attempts, not work that comes too late");
        marks.push(draft.lose(&at, "deadline", what));
    }
    if policy.needs > Nanos::ZERO && edge.most() > 0 {
        let asked = format!("no retry with less than {} left", ms_words(policy.needs));
        let why = "A retry may start that cannot end in time.";
        let what = instead(Side::Wider, asked, "retries until the time is over", why)
            .so(edge.at, Change::Needs(Nanos::ZERO))
            .unmeasured("at worst the limit is used up either way");
        marks.push(draft.lose(&at, "needs", what));
    }
    if let Some(throttle) = policy.throttle.as_ref().filter(|one| one.kind != "no-throttle") {
        let why = "Nothing here slows a caller's first attempts.";
        let what = instead(Side::Wider, format!("`{}`", throttle.kind), "no throttle", why)
            .so(edge.at, Change::Throttle(None))
            .unmeasured(
                "the closed forms leave throttles out: theirs is the load without one; \
                 `damper headroom` measures both",
            );
        marks.push(draft.lose(&at, "throttle", what));
    }
    if let Some(breaker) = policy.breaker.as_ref().filter(|one| one.kind != "no-breaker")
        && !can.breaker
    {
        let why = "Attempts are sent to a callee that fails.";
        let what = instead(Side::Wider, format!("`{}`", breaker.kind), "no breaker", why)
            .so(edge.at, Change::Breaker(None))
            .unmeasured(BREAKERS);
        marks.push(draft.lose(&at, "breaker", what));
    }
    match edge.pushback() {
        Some(Pushback::Stop) if !can.heeds => {
            let why = "There is no word for \"do not come back\", so nobody who was turned away \
                       comes back.";
            let what = instead(
                Side::Fewer,
                "no retry after a callee said stop",
                "no retry after a refusal by status",
                why,
            )
            .so(edge.at, Change::Heeds(false))
            // Who turns work away does so by a status.
            .comes_to(edge.at, Change::On(edge.on().without(RetryOn::BEFORE_WORK)))
            .unmeasured("other ends come to as many attempts");
            marks.push(draft.lose(&at, "pushback", what));
        }
        Some(after) if !can.heeds => {
            let wait = after.wait().map_or_else(|| "later".to_owned(), ms_words);
            let why = "Who is turned away comes back after the backoff, however long the callee \
                       asked for.";
            let asked = format!("wait for {wait} if the callee says so");
            let what = instead(Side::Other, asked, "the backoff", why)
                .so(edge.at, Change::Heeds(false))
                .unmeasured(
                    "as many attempts come, but sooner, and the closed forms have no waits",
                );
            marks.push(draft.lose(&at, "pushback", what));
        }
        _ => {}
    }
    marks
}

/// A time in words.
pub(crate) fn ms_words(time: Nanos) -> String {
    of_ms(time.as_secs_f64() * 1e3)
}

/// What a policy retries, in a format's words.
#[derive(Debug, Default)]
pub(crate) struct Conditions {
    /// The words.
    pub(crate) words: Vec<&'static str>,
    /// The statuses, in order.
    pub(crate) statuses: Vec<u32>,
    /// What they retry.
    pub(crate) covered: Failures,
    /// Where losses belong.
    pub(crate) marks: Vec<String>,
    /// The greatest limit of any class that is written: none where nothing is retried.
    pub(crate) most: u32,
}

impl Conditions {
    /// Whether nothing is retried.
    pub(crate) fn is_empty(&self) -> bool {
        self.words.is_empty() && self.statuses.is_empty()
    }
}

/// How a format names what is retried.
pub(crate) struct Vocabulary<'w> {
    /// Its words.
    pub(crate) words: &'w [Word],
    /// The signs that it names by their status.
    pub(crate) statuses: &'w [Failure],
    /// Signs that do not occur here, so that a word may retry them.
    pub(crate) never: Failures,
    /// Whether a callee can say "do not come back".
    pub(crate) stops: bool,
    /// Signs that the format retries whatever is written.
    pub(crate) always: Failures,
    /// Whether an attempt has a timeout also where none is asked for.
    pub(crate) times_out: bool,
}

/// Chooses the words for a call. Nothing is written that retries more than what was asked.
pub(crate) fn conditions(
    edge: &Edge<'_>,
    vocabulary: &Vocabulary<'_>,
    draft: &mut Draft,
) -> Conditions {
    let on = edge.on();
    let times_out = edge.times(edge.most()).attempt.is_some();
    let mut never = vocabulary.never;
    let slow = RetryOn::TIMED_OUT;
    if !times_out && (!vocabulary.times_out || slow.without(on).is_empty()) {
        never.insert(Failure::AttemptTimeout);
    }
    let without = |all: Failures, less: Failures| -> Failures {
        all.iter().filter(|kind| !less.contains(*kind)).collect()
    };
    let mut wanted = without(signal::wanted(on, times_out), vocabulary.never);
    if edge.pushback() == Some(Pushback::Stop) && !vocabulary.stops {
        wanted = without(wanted, Failures::of(&[Failure::TooMany, Failure::Unavailable]));
    }
    if edge.most() == 0 {
        return Conditions::default();
    }
    let by_status = Failures::of(vocabulary.statuses);
    let mut chosen = signal::choose(vocabulary.words, wanted, never, by_status);
    let more: Failures = without(without(vocabulary.always, wanted), never);
    if !more.is_empty() {
        // The format would retry what was not asked for, so it retries nothing.
        chosen.words.clear();
        (chosen.missing, chosen.covered) = (wanted, Failures::NONE);
    } else {
        chosen.covered.add(vocabulary.always.both(wanted));
        chosen.missing = without(chosen.missing, vocabulary.always);
    }
    let statuses = if more.is_empty() {
        wanted.both(by_status).iter().filter_map(signal::status).collect()
    } else {
        Vec::new()
    };
    let mut marks = Vec::new();
    let half: Vec<_> = signal::half(on)
        .into_iter()
        .filter(|(kind, _)| !vocabulary.never.contains(*kind))
        .collect();
    if !chosen.missing.is_empty() || !half.is_empty() {
        let mut why = Vec::new();
        if !more.is_empty() {
            why.push(format!(
                "It also retries {}, which is not to be retried, so nothing is.",
                signal::signs(more)
            ));
        } else if !chosen.missing.is_empty() {
            why.push(format!(
                "No word retries {} and nothing else.",
                signal::signs(chosen.missing)
            ));
        }
        for (kind, ends) in &half {
            let ends = signal::names(*ends);
            why.push(format!(
                "{} can also be `{ends}`, which is not to be retried: with `{ends}` in `on` it is \
                 retried.",
                kind.name(),
            ));
        }
        let what =
            instead(Side::Fewer, signal::names(on), signal::signs(chosen.covered), why.join(" "));
        let mut left = signal::ends_of(chosen.covered) & on;
        if !times_out && !chosen.covered.is_empty() {
            // Nothing times out now; where something will, it is as retried as it was asked for.
            left = left | (on & slow);
        }
        marks.push(draft.lose(&edge.name(), "on", what.so(edge.at, Change::On(left))));
    }
    if marks.is_empty() && chosen.covered.is_empty() {
        let why = "Without a timeout of one attempt nothing times out.";
        let none = Change::On(RetryOn::NONE);
        let what = instead(Side::Other, signal::names(on), "no retries", why).so(edge.at, none);
        marks.push(draft.lose(&edge.name(), "on", what));
    }
    let most = if chosen.covered.is_empty() { 0 } else { edge.most() };
    Conditions { words: chosen.words, statuses, covered: chosen.covered, marks, most }
}

/// One limit for all classes where a format knows none: the least of them.
pub(crate) fn one_limit(edge: &Edge<'_>, hint: &str, draft: &mut Draft) -> (u32, Vec<String>) {
    let (least, most) = (edge.least(), edge.most());
    if least == most {
        return (least, Vec::new());
    }
    let why = format!("It knows no classes of requests, so all get the least. {hint}");
    let limits = vec![least; edge.classes.len()];
    let what = instead(
        Side::Fewer,
        format!("retries by class: {}", edge.limits_in_words()),
        format!("{least} for all"),
        why.trim(),
    )
    .so(edge.at, Change::Limits(limits));
    (least, vec![draft.lose(&edge.name(), "limit", what)])
}

/// A budget where a format has none.
pub(crate) fn no_budget(edge: &Edge<'_>, why: &str, draft: &mut Draft) -> Vec<String> {
    if edge.policy.budget.kind == "none" || edge.most() == 0 {
        return Vec::new();
    }
    let asked = crate::share::words(&edge.policy.budget);
    let none = Change::Budget(Spec::none());
    let what = instead(Side::Wider, asked, "no budget", why).so(edge.at, none);
    vec![draft.lose(&edge.name(), "budget", what)]
}

/// A bound over all attempts where a format has one for each only; `most`: the greatest limit that
/// is written.
pub(crate) fn no_overall(
    edge: &Edge<'_>,
    most: u32,
    why: &str,
    draft: &mut Draft,
) -> Option<String> {
    let asked = edge.policy.deadline?;
    let times = edge.times(most);
    let bound = ms_words(times.attempt.or(times.overall).unwrap_or(asked));
    let (side, written, why) = if most > 0 {
        (Side::Wider, format!("{bound} for each"), why)
    } else {
        (Side::Other, format!("{bound} for the only one"), "The only attempt has this bound.")
    };
    let asked = format!("{} for all attempts", ms_words(asked));
    let what = instead(side, asked, written, why).so(edge.at, Change::Deadline(None));
    Some(draft.lose(&edge.name(), "deadline", what))
}

/// Losses of a format that writes whole milliseconds: the time of an attempt is rounded up, that of
/// all of them down. `most`: the greatest limit that is written.
pub(crate) fn whole_ms(edge: &Edge<'_>, most: u32, draft: &mut Draft) -> Vec<String> {
    let times = edge.times(most);
    let policy = edge.policy;
    let mut marks = Vec::new();
    if let Some(time) = times.attempt {
        let whole = Nanos::from_millis(up_ms(time));
        marks.extend(rounded(edge, "timeout", [time, whole], draft));
    }
    if let Some(time) = times.overall {
        let of_attempt = policy.deadline.is_none_or(|deadline| time < deadline);
        let field = if of_attempt { "timeout" } else { "deadline" };
        let whole = Nanos::from_millis(down_ms(time));
        marks.extend(rounded(edge, field, [time, whole], draft));
    }
    marks
}

/// The loss of a time that is written otherwise than it was asked, by less than a unit of the format.
fn rounded(
    edge: &Edge<'_>,
    field: &'static str,
    [asked, written]: [Nanos; 2],
    draft: &mut Draft,
) -> Option<String> {
    if asked == written {
        return None;
    }
    // The least there is, is more than was asked.
    let least = asked < Nanos::from_millis(1);
    let (side, why) = if least {
        (Side::Wider, "A millisecond is the least that can be written.")
    } else if written > asked {
        (Side::Fewer, "Whole milliseconds: up, so that no attempt is given up for it.")
    } else {
        (Side::Fewer, "Whole milliseconds: down, so that no call takes longer for it.")
    };
    let change = match field {
        "timeout" => Change::Timeout(Some(written)),
        _ => Change::Deadline(Some(written)),
    };
    let what = instead(side, ms_words(asked), ms_words(written), why).so(edge.at, change);
    Some(draft.lose(&edge.name(), field, what))
}

/// Why the loss of a control at a service's door has no numbers.
pub(crate) const DOORS: &str = "the closed forms leave what stands at a door out; `damper headroom` \
                                measures both";

/// Losses of the controls of a service where a format cannot say them.
pub(crate) fn no_controls(
    service: &damper_system::model::Service,
    why: &str,
    rate: bool,
    draft: &mut Draft,
) -> Vec<String> {
    let mut marks = Vec::new();
    let mut lose = |field, asked: String| {
        let what = instead(Side::Wider, asked, "none", why).unmeasured(DOORS);
        marks.push(draft.lose(&service.name, field, what));
    };
    if let Some(limit) = service.rate_limit.filter(|_| !rate) {
        lose("rate_limit", format!("{}/s", limit.rate));
    }
    if let Some(admission) = service.admission.as_ref().filter(|one| one.kind != "everybody") {
        lose("admission", format!("`{}`", admission.kind));
    }
    if let Some(limit) = &service.concurrency {
        lose("concurrency", format!("`{}`", limit.kind));
    }
    marks
}

/// One line of a file that is indented by two spaces for each level.
pub(crate) fn line(out: &mut String, depth: usize, text: &str) {
    out.push_str(&"  ".repeat(depth));
    out.push_str(text);
    out.push('\n');
}

/// Whole milliseconds, rounded down, at least one.
pub(crate) fn down_ms(time: Nanos) -> u64 {
    (time.0 / 1_000_000).max(1)
}

/// Whole milliseconds, rounded up.
pub(crate) fn up_ms(time: Nanos) -> u64 {
    time.0.div_ceil(1_000_000).max(1)
}

/// Whole milliseconds of a number of them, rounded up.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
pub(crate) fn up(ms: f64) -> u64 {
    (ms - 1e-9).ceil().clamp(1.0, 1e15) as u64
}

/// Seconds with as many digits as they need: `0.25s`.
pub(crate) fn seconds(time: Nanos) -> String {
    let (whole, part) = (time.0 / 1_000_000_000, time.0 % 1_000_000_000);
    if part == 0 {
        return format!("{whole}s");
    }
    let digits = format!("{part:09}");
    format!("{whole}.{}s", digits.trim_end_matches('0'))
}

/// The same from milliseconds.
pub(crate) fn seconds_of_ms(ms: f64) -> String {
    seconds(Nanos::from_secs_f64(ms / 1e3))
}

/// The largest time that every format takes: a week.
pub(crate) const LONGEST: Nanos = Nanos::from_secs(604_800);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_rounded_to_the_safe_side() {
        let time = Nanos(1_500_001);
        assert_eq!((down_ms(time), up_ms(time)), (1, 2));
        assert_eq!(seconds(Nanos::from_millis(250)), "0.25s");
        assert_eq!(seconds(Nanos::from_secs(2)), "2s");
        assert_eq!((up(0.2), up(3.0)), (1, 3));
    }
}
