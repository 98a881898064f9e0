//! The judge on runs made by hand.

use super::*;
use crate::run::Ending;

const S: u64 = 1_000_000_000;

fn question(early: bool) -> Question {
    Question {
        interval: S,
        warmup: 10 * S,
        trigger: Some((20 * S, 22 * S)),
        watch: 120 * S,
        hold: 5 * S,
        recovered_at: 0.95,
        loop_time: 2 * S,
        memory: 0,
        early,
        most_open: 1000,
        length: 600 * S,
        may_fail: 0.01,
    }
}

fn counts(good: u64, backlog: u64, cold: u64) -> Counts {
    Counts { offered: 100, good, ended: 100, backlog, cold, missing: cold }
}

/// Feeds a run in which `after(second since the end)` gives (good of 100, backlog).
fn judge(q: Question, seconds: u64, after: impl Fn(u64) -> (u64, u64)) -> Verdict {
    let mut judge = Judge::new(q);
    for second in 1..=seconds {
        let (good, backlog) = if second <= 22 { (100, 5) } else { after(second - 23) };
        if let Some(ending) = judge.tick(second * S, counts(good, backlog, 0)) {
            return judge.conclude(ending);
        }
    }
    judge.conclude(Ending::TimeOver)
}

#[test]
fn goodput_that_stays_back_is_recovery() {
    let v = judge(question(true), 200, |t| if t < 7 { (0, 300) } else { (100, 5) });
    assert_eq!((v.state, v.recovery), (State::Stable, Some(Nanos::from_secs(7))));
}

#[test]
fn a_backlog_that_grows_or_stands_is_not() {
    let grows = judge(question(true), 200, |t| (0, 300 + 50 * t));
    assert_eq!(grows.state, State::Metastable);
    assert!(grows.reason.contains("grows"), "{}", grows.reason);
    let stands = judge(question(true), 200, |t| (0, 100 - t % 2));
    assert_eq!(stands.state, State::Metastable);
}

#[test]
fn a_backlog_that_drains_for_minutes_is_not_metastable() {
    for seconds in [90, 150, 600] {
        let v = judge(question(false), seconds, |t| (10, 100_000 - 30 * t - t % 3));
        assert_eq!(v.state, State::Stable, "{seconds}: {}", v.reason);
        assert!(v.projected);
    }
}

/// A drain that takes much longer than anybody watches is projected, also with an early end.
#[test]
fn a_slow_drain_ends_early_without_becoming_a_storm() {
    let v = judge(question(true), 5000, |t| (10, 100_000 - 20 * t - t % 3));
    assert_eq!((v.state, v.projected), (State::Stable, true), "{}", v.reason);
}

/// A queue that grows while the cache still fills is not hopeless: what arrives will hit.
#[test]
fn a_cache_that_fills_is_progress() {
    let mut j = Judge::new(question(true));
    let ending = (1..=5000u64).find_map(|s| {
        let (good, queue, cold) =
            if s <= 22 { (100, 5, 0) } else { (10, 900 * (s - 22), 100_000 - 20 * (s - 22)) };
        j.tick(s * S, counts(good, queue, cold))
    });
    let v = j.conclude(ending.unwrap());
    assert_eq!((v.state, v.projected), (State::Stable, true), "{}", v.reason);
}

#[test]
fn good_replies_over_a_growing_queue_are_not_recovery() {
    let v = judge(question(true), 200, |t| (100.min(4000 / (t + 1)), 50 + 60 * t));
    assert_eq!(v.state, State::Metastable, "{}", v.reason);
}

/// At one request per second it takes a while until goodput says anything; an empty queue
/// that does not drain any further is not a storm.
#[test]
fn a_quiet_system_is_given_the_time_it_needs() {
    for early in [true, false] {
        let mut j = Judge::new(question(early));
        let quiet = Counts { offered: 1, good: 1, ended: 1, backlog: 0, cold: 0, missing: 0 };
        let ending = (1..=200).find_map(|s| j.tick(s * S, quiet));
        let v = j.conclude(ending.unwrap_or(Ending::TimeOver));
        assert_eq!(v.state, State::Stable, "{}", v.reason);
    }
}

#[test]
fn a_load_that_has_stopped_leaves_nothing_to_tell_by() {
    let mut j = Judge::new(question(false));
    for s in 1..=200 {
        let offered = if s < 23 { 10 } else { 0 };
        j.tick(
            s * S,
            Counts { offered, good: offered, ended: offered, backlog: 0, cold: 0, missing: 0 },
        );
    }
    let v = j.conclude(Ending::TimeOver);
    assert_eq!(v.state, State::Undecided);
    assert!(v.reason.contains("only 0 requests"), "{}", v.reason);
}

/// Whether the window of the hold time slides or is summed again, the answer is the same,
/// also when ticks are merged.
#[test]
fn the_window_slides_over_merged_ticks() {
    let mut j = Judge::new(question(false));
    let at = |s: u64| if s < 200_000 { 10 } else { 100 };
    for s in 1..300_000u64 {
        j.tick(
            s * S,
            Counts { offered: 100, good: at(s), ended: 100, backlog: 9, cold: 0, missing: 0 },
        );
        if s % 9_999 == 0 {
            let (start, sum) = j.hold;
            let (offered, good) =
                j.after[start..].iter().fold((0, 0), |a, t| (a.0 + t.offered, a.1 + t.good));
            assert_eq!((sum.offered, sum.good), (offered, good));
        }
    }
    assert_eq!(j.verdict.unwrap().state, State::Stable);
}

#[test]
fn a_system_that_was_never_well_is_overloaded() {
    let mut j = Judge::new(question(true));
    let ending = (1..=30).find_map(|s| j.tick(s * S, counts(50, 5, 0)));
    assert_eq!(ending, Some(Ending::Decided));
    assert_eq!(j.conclude(Ending::Decided).state, State::Overloaded);
}

/// A tick of which the trigger has a part belongs to neither side.
#[test]
fn a_trigger_between_two_ticks_does_not_count_as_before() {
    let (from, until) = (12 * S + S / 2, 14 * S + S / 2);
    let mut j = Judge::new(Question { trigger: Some((from, until)), ..question(true) });
    for s in 1..=15 {
        assert!(j.tick(s * S, counts(if s < 13 { 100 } else { 20 }, 5, 0)).is_none());
    }
    assert!(j.tick(16 * S, counts(100, 5, 0)).is_none());
    assert_eq!((j.before.offered, j.before.good), (200, 200));
    assert_eq!(j.after.len(), 1);
}

/// Three requests, one of which is still under way: nothing to conclude from.
#[test]
fn a_handful_of_requests_is_not_an_overload() {
    let mut j = Judge::new(question(true));
    let three = Counts { offered: 3, good: 2, ended: 2, backlog: 1, cold: 0, missing: 0 };
    assert!(j.tick(11 * S, three).is_none());
    for s in 12..=25 {
        assert!(j.tick(s * S, Counts::default()).is_none(), "at {s}");
    }
}

#[test]
fn a_load_that_fails_too_often_is_found_out_early() {
    let mut j = Judge::new(Question { trigger: None, ..question(true) });
    let ended =
        (1..=600).find(|s| j.tick(s * S, counts(if *s < 100 { 100 } else { 50 }, 5, 0)).is_some());
    // 1 % of 600 s at 100/s are 600 requests: twelve seconds at half.
    assert_eq!(ended, Some(112));
    assert_eq!(j.conclude(Ending::Decided).state, State::Overloaded);
}

#[test]
fn an_interrupted_run_is_undecided() {
    let mut j = Judge::new(question(true));
    for s in 1..=24 {
        assert!(j.tick(s * S, counts(100 * u64::from(s <= 20), 5, 0)).is_none());
    }
    assert_eq!(j.conclude(Ending::Interrupted).state, State::Undecided);
}

/// A breaker that is open for a minute leaves an empty queue behind, which drains no further.
#[test]
fn an_empty_queue_says_nothing_about_a_control_that_keeps_the_load_out() {
    let shut = |until: u64| {
        move |t: u64| match t {
            _ if t >= until => (100, 5),
            0..30 => (0, 300 - 10 * t),
            _ => (0, 0),
        }
    };
    for early in [false, true] {
        let v = judge(question(early), 600, shut(100));
        assert_eq!((v.state, v.recovery), (State::Stable, Some(Nanos::from_secs(100))), "{early}");
        assert!(!v.projected);
        let v = judge(question(early), 600, shut(1000));
        assert_eq!(v.state, State::Metastable, "{early}: {}", v.reason);
        assert!(v.reason.contains("0.0 % of the load"), "{}", v.reason);
    }
}

#[test]
fn a_queue_that_has_only_just_drained_is_a_recovery() {
    let v = judge(question(false), 100, |t| (if t < 76 { 0 } else { 100 }, 770 - 10 * t.min(77)));
    assert_eq!(v.state, State::Stable, "{}", v.reason);
}

/// The drift of a backlog says nothing before a breaker could have opened.
#[test]
fn a_control_is_given_the_time_it_takes() {
    let opens = |t: u64| match t {
        0..50 => (0, 500),
        50..70 => (0, 500 - 25 * (t - 50)),
        _ => (100, 5),
    };
    let v = judge(question(true), 600, opens);
    assert_eq!(v.state, State::Metastable, "{}", v.reason);
    let v = judge(Question { memory: 60 * S, ..question(true) }, 600, opens);
    assert_eq!(v.state, State::Stable, "{}", v.reason);
}
