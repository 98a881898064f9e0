use super::*;
use proptest::prelude::*;
use std::string::String;
use std::vec::Vec;

const fn s(s: u64) -> Nanos {
    Nanos::from_secs(s)
}

const fn ms(ms: u64) -> Nanos {
    Nanos::from_millis(ms)
}

impl Lever {
    fn set(&mut self, now: Nanos, classes: ClassSet, action: Action) -> Pulled {
        self.pull(now, Change { action, classes, who: "ada", why: "rehearsal" })
    }

    fn all(&mut self, now: Nanos, action: Action) {
        assert_eq!(self.set(now, ClassSet::ALL, action), Pulled::Changed);
    }

    fn reading(&self, name: &str) -> f64 {
        let mut found = None;
        self.observe(&mut |n, value| {
            if n == name {
                found = Some(value);
            }
        });
        found.unwrap()
    }

    /// How many of `n` that come evenly over `span` from `now` on are let in.
    fn offer(&mut self, now: Nanos, class: u8, n: u64, span: Nanos) -> u64 {
        let step = span.0 / n;
        (1..=n).filter(|i| self.admit(now + Nanos(i * step), class).is_ok()).count() as u64
    }
}

const fn rate(rate: f64) -> Action {
    Action::Throttle(Level::Rate(rate))
}

const fn share(share: f64) -> Action {
    Action::Throttle(Level::Share(share))
}

const fn ramp(from: Level, to: Level, over: Nanos, steps: u16) -> Action {
    Action::Ramp(Ramp { from, to, over, steps })
}

#[test]
fn shows_what_its_page_says() {
    let mut names = Vec::new();
    Lever::new().observe(&mut |name, _| names.push(name));
    assert!(names.into_iter().eq(ENTRY.readings.iter().map(|r| r.name)));
}

#[test]
fn open_lets_everything_in_and_pause_nothing() {
    let mut lever = Lever::new();
    assert_eq!(lever.offer(s(0), 0, 1000, ms(1)), 1000);
    lever.all(s(1), Action::Pause);
    assert_eq!(lever.offer(s(1), 0, 1000, s(1000)), 0);
    let refusal = lever.admit(s(2000), 3).unwrap_err();
    assert_eq!(refusal, Refusal::new(Reason::Lever, 3));
    assert_eq!(["state", "rate", "share"].map(|n| lever.reading(n)), [3.0, -1.0, 0.0]);
    lever.all(s(3000), Action::Open);
    assert_eq!(lever.offer(s(3000), 0, 1000, ms(1)), 1000);
    let counts = ["state", "share", "admitted", "refused", "changes"].map(|n| lever.reading(n));
    assert_eq!(counts, [0.0, 1.0, 2000.0, 1001.0, 2.0]);
}

#[test]
fn a_rate_starts_empty_and_lets_one_in_each_time_it_is_due() {
    let mut lever = Lever::new();
    lever.all(s(0), rate(10.0));
    let refusal = lever.admit(s(0), 1).unwrap_err();
    assert_eq!((refusal.reason, refusal.earliest), (Reason::Lever, Some(ms(100))));
    assert!(lever.admit(ms(99), 1).is_err());
    assert!(lever.admit(ms(100), 1).is_ok());
    assert_eq!(lever.admit(ms(150), 1).unwrap_err().earliest, Some(ms(200)));
    assert!(lever.admit(ms(200), 1).is_ok());
    // 1000 come in 10 s, at 10 a second.
    assert_eq!(lever.offer(ms(200), 0, 1000, s(10)), 100);
    assert_eq!(["state", "rate", "share"].map(|n| lever.reading(n)), [2.0, 10.0, 1.0]);
}

#[test]
fn what_is_not_used_is_saved_for_the_burst_only() {
    for (burst, saved) in [(s(1), 10), (ms(500), 5), (Nanos::ZERO, 1)] {
        let mut lever = Lever::try_new(burst, 1).unwrap();
        lever.all(s(0), rate(10.0));
        let at_once = (0..100).filter(|_| lever.admit(s(3600), 0).is_ok()).count();
        assert_eq!(at_once, saved, "{burst}");
    }
}

/// Cut to 1 %: of ten thousand exactly a hundred, evenly.
#[test]
fn a_share_lets_exactly_its_share_in() {
    let mut lever = Lever::new();
    lever.all(s(0), share(0.01));
    let let_in: Vec<u32> = (1..=10_000).filter(|_| lever.admit(s(0), 0).is_ok()).collect();
    assert!(let_in.iter().copied().eq((1..=100).map(|i| i * 100)), "{let_in:?}");
    assert_eq!(lever.reading("share"), 0.01);
}

#[test]
fn an_even_ramp_by_hand() {
    let mut lever = Lever::new();
    lever.all(s(10), ramp(Level::Share(0.01), Level::Share(1.0), s(100), 0));
    for (at, level) in [(10, 0.01), (35, 0.2575), (60, 0.505), (85, 0.7525)] {
        let Level::Share(got) = lever.level(s(at), 0) else { panic!("a share") };
        assert!((got - level).abs() < 1e-12, "{at} s: {got}");
    }
    assert_eq!(lever.reading("state"), 1.0);
    assert!(lever.admit(s(110), 0).is_ok());
    assert_eq!(lever.reading("state"), 0.0, "a ramp to everything ends open");
    assert_eq!(lever.offer(s(110), 0, 1000, ms(1)), 1000);
}

#[test]
fn a_ramp_in_steps_by_hand() {
    let mut lever = Lever::new();
    lever.all(s(0), ramp(Level::Rate(0.0), Level::Rate(100.0), s(40), 4));
    for (at, rate) in [
        (0, 0.0),
        (9, 0.0),
        (10, 25.0),
        (19, 25.0),
        (20, 50.0),
        (30, 75.0),
        (40, 100.0),
        (99, 100.0),
    ] {
        assert_eq!(lever.level(s(at), 0), Level::Rate(rate), "{at} s");
    }
    assert_eq!(lever.admit(s(1), 0).unwrap_err().earliest, None, "the rate is nothing as yet");
    lever.admit(s(10), 0).unwrap();
    // 25, 50, 75 and 100 a second; the thousands come a millisecond apart.
    for (from, let_in) in [(10, 250), (20, 500), (30, 750), (40, 1000)] {
        let got = lever.offer(s(from), 0, 10_000, s(10));
        assert!(got.abs_diff(let_in) <= 26, "{from} s: {got}");
    }
    assert_eq!(lever.reading("state"), 2.0);
    assert_eq!(lever.reading("rate"), 100.0);
}

#[test]
fn a_ramp_down_ends_paused_at_nothing() {
    let mut lever = Lever::new();
    lever.all(s(0), ramp(Level::Rate(100.0), Level::Rate(0.0), s(10), 0));
    assert_eq!(lever.level(s(5), 0), Level::Rate(50.0));
    assert!(lever.admit(s(10), 0).is_err());
    assert_eq!(lever.reading("state"), 3.0);
}

#[test]
fn hold_keeps_the_level_reached() {
    let mut lever = Lever::new();
    lever.all(s(0), ramp(Level::Rate(0.0), Level::Rate(100.0), s(100), 0));
    lever.all(s(30), Action::Hold);
    assert_eq!(lever.level(s(1000), 0), Level::Rate(30.0));
    assert_eq!(lever.set(s(31), ClassSet::ALL, Action::Hold), Pulled::Already);
    // Nobody came during the ramp: a second's worth is saved, and 9.999 s follow the first.
    assert_eq!(lever.offer(s(30), 0, 10_000, s(10)), 30 + 299);
    // Held, the first ramp is a change again and starts where it says.
    let first = ramp(Level::Rate(0.0), Level::Rate(100.0), s(100), 0);
    assert_eq!(lever.clone().set(s(40), ClassSet::ALL, first), Pulled::Changed);
    // So does one that begins where it was held.
    lever.all(s(40), ramp(Level::Rate(30.0), Level::Rate(100.0), s(70), 0));
    assert_eq!(lever.level(s(50), 0), Level::Rate(40.0));
}

#[test]
fn hold_holds_all_that_share_the_ramp_and_nobody_else() {
    let mut lever = Lever::new();
    let up = ramp(Level::Share(0.0), Level::Share(1.0), s(10), 0);
    assert_eq!(lever.set(s(0), ClassSet::from_class(2), up), Pulled::Changed);
    assert_eq!(lever.set(s(0), ClassSet::of(1), up), Pulled::Changed);
    assert_eq!(lever.set(s(5), ClassSet::of(3), Action::Hold), Pulled::Changed);
    let levels = [0, 1, 2, 3, 15].map(|class| lever.level(s(8), class));
    assert_eq!(levels, [1.0, 0.8, 0.5, 0.5, 0.5].map(Level::Share));
    lever.all(s(9), Action::Open);
    assert_eq!(lever.set(s(9), ClassSet::ALL, Action::Hold), Pulled::Already, "nothing to hold");
}

#[test]
fn classes_above_the_cut_are_let_in_and_the_others_share_one_rate() {
    let mut lever = Lever::new();
    assert_eq!(lever.set(s(0), ClassSet::from_class(2), rate(10.0)), Pulled::Changed);
    let mut let_in = [0u32; 5];
    for i in 1..=1000 {
        for class in 0..5u8 {
            let_in[usize::from(class)] += u32::from(lever.admit(ms(10 * i), class).is_ok());
        }
    }
    assert_eq!(let_in[..2], [1000, 1000]);
    assert_eq!(let_in[2..].iter().sum::<u32>(), 100, "10 a second for 10 s, together");
}

#[test]
fn a_class_of_its_own_wins_over_all_until_all_are_pulled_again() {
    let mut lever = Lever::new();
    lever.all(s(0), rate(10.0));
    assert_eq!(lever.set(s(0), ClassSet::of(0), Action::Open), Pulled::Changed);
    assert_eq!(lever.set(s(0), ClassSet::of(1), rate(50.0)), Pulled::Changed);
    assert_eq!(lever.offer(s(0), 0, 100, s(1)), 100);
    assert_eq!(lever.offer(s(0), 1, 100, s(1)), 50);
    assert_eq!(lever.offer(s(0), 2, 100, s(1)), 10);
    assert_eq!(["state", "rate"].map(|n| lever.reading(n)), [2.0, 10.0]);
    lever.all(s(1), Action::Pause);
    for class in 0..=255 {
        assert!(lever.admit(s(100), class).is_err(), "{class}");
    }
}

#[test]
fn the_same_rate_for_one_of_the_classes_that_share_it_is_a_rate_of_its_own() {
    let mut lever = Lever::new();
    lever.all(s(0), rate(10.0));
    assert_eq!(lever.set(s(0), ClassSet::of(1), rate(10.0)), Pulled::Changed);
    assert_eq!(lever.offer(s(0), 1, 100, s(1)) + lever.offer(s(0), 2, 100, s(1)), 20);
    assert_eq!(lever.set(s(1), ClassSet::of(1), rate(10.0)), Pulled::Already);
    // A pause or an opening has nothing to share.
    lever.all(s(1), Action::Pause);
    assert_eq!(lever.set(s(1), ClassSet::of(1), Action::Pause), Pulled::Already);
}

#[test]
fn every_class_can_have_its_own() {
    let mut lever = Lever::new();
    for round in 0..3 {
        for class in 0..16 {
            let own = rate(f64::from(class) + 1.0 + f64::from(round));
            assert_eq!(lever.set(s(0), ClassSet::of(class), own), Pulled::Changed);
        }
    }
    for class in 0..16 {
        assert_eq!(lever.level(s(0), class), Level::Rate(f64::from(class) + 3.0));
    }
    assert_eq!(lever.level(s(0), 200), Level::Rate(18.0), "beyond the last is the last");
}

#[test]
fn the_journal_says_who_when_and_why_and_forgets_the_oldest() {
    let mut lever = Lever::try_new(s(1), 2).unwrap();
    let long = "é".repeat(200);
    for (at, why) in [(1, "too hot"), (2, "cooler"), (3, long.as_str())] {
        let action = if at == 2 { Action::Pause } else { rate(10.0) };
        let change = Change { action, classes: ClassSet::from_class(1), who: &long, why };
        assert_eq!(lever.pull(s(at), change), Pulled::Changed);
        assert_eq!(lever.pull(s(at), change), Pulled::Already);
    }
    let records: Vec<&Record> = lever.journal().collect();
    assert_eq!(records.len(), 2);
    assert_eq!(
        (records[0].at, records[0].action, &*records[0].why),
        (s(2), Action::Pause, "cooler")
    );
    assert_eq!(records[0].classes, ClassSet::from_bits(0xFFFE));
    assert_eq!(&*records[1].who, "é".repeat(32), "64 bytes, no character cut");
    assert_eq!(&*records[1].why, "é".repeat(128));
    assert_eq!(lever.changes(), 3);
    let odd = String::from("a") + &long;
    let change = Change { action: Action::Open, classes: ClassSet::ALL, who: &odd, why: "over" };
    assert_eq!(lever.pull(s(4), change), Pulled::Changed);
    assert_eq!(lever.journal().last().unwrap().who.len(), 63);
}

#[test]
fn refuses_what_it_cannot_do() {
    let mut lever = Lever::new();
    for action in [
        rate(0.0),
        rate(-1.0),
        rate(f64::NAN),
        rate(f64::INFINITY),
        share(0.0),
        share(1.1),
        ramp(Level::Share(0.1), Level::Rate(10.0), s(1), 0),
        ramp(Level::Share(0.1), Level::Share(2.0), s(1), 0),
        ramp(Level::Rate(f64::NAN), Level::Rate(10.0), s(1), 0),
        ramp(Level::Rate(1.0), Level::Rate(10.0), Nanos::ZERO, 0),
        ramp(Level::Rate(1.0), Level::Rate(10.0), Nanos::MAX, 0),
    ] {
        assert_eq!(lever.set(s(0), ClassSet::ALL, action), Pulled::Invalid, "{action:?}");
    }
    assert_eq!(lever.set(s(0), ClassSet::NONE, Action::Pause), Pulled::Invalid);
    for (who, why) in [("", "why"), ("who", " ")] {
        let change = Change { action: Action::Pause, classes: ClassSet::ALL, who, why };
        assert_eq!(lever.pull(s(0), change), Pulled::Invalid);
    }
    assert_eq!((lever.changes(), lever.journal().count()), (0, 0));
    assert!(lever.admit(s(0), 0).is_ok(), "it stayed open");
    assert!(Lever::try_new(s(3601), 64).is_none() && Lever::try_new(s(1), 0).is_none());
    assert!(Lever::try_new(s(1), 1025).is_none());
}

/// Chapter 22: cut to 1 %, wait, ramp up. The restart in the middle does not undo it.
#[test]
fn a_recovery_survives_a_restart() {
    let mut lever = Lever::new();
    lever.all(s(0), share(0.01));
    lever.all(s(60), ramp(Level::Share(0.01), Level::Share(1.0), s(600), 0));
    let saved = lever.state(s(360));
    let Setting::Ramping(left) = saved.groups[0].setting else { panic!("a ramp") };
    assert_eq!((left.over, left.to), (s(300), Level::Share(1.0)));
    // The new process has another clock.
    let mut again = Lever::new().restore(s(5), &saved);
    assert_eq!(again.level(s(5), 0), lever.level(s(360), 0));
    assert_eq!(again.level(s(305), 0), Level::Share(1.0));
    // Whoever sends the same change once more does not start it again.
    let same = ramp(Level::Share(0.01), Level::Share(1.0), s(600), 0);
    assert_eq!(again.set(s(6), ClassSet::ALL, same), Pulled::Already);
}

#[test]
fn a_position_is_written_down_alike_however_it_was_reached() {
    let (mut one, mut other) = (Lever::new(), Lever::new());
    let pulls = [(2, rate(10.0)), (0, Action::Pause), (7, share(0.5))];
    for (class, action) in pulls {
        assert_eq!(one.set(s(0), ClassSet::of(class), action), Pulled::Changed);
    }
    for (class, action) in pulls.into_iter().rev() {
        assert_eq!(other.set(s(0), ClassSet::of(class), action), Pulled::Changed);
    }
    assert_eq!(one.state(s(1)), other.state(s(1)));
    assert_eq!(one.state(s(1)).groups.len(), 3);
}

#[test]
fn an_impossible_state_pauses_everything_and_says_so() {
    let group = Group { classes: ClassSet::of(1), setting: Setting::Paused, cause: Action::Pause };
    let fine = LeverState { groups: std::vec![group.clone()] };
    assert!(Lever::new().restore(s(0), &fine).admit(s(0), 0).is_ok());
    for groups in [
        std::vec![group.clone(), group.clone()],
        std::vec![Group { classes: ClassSet::NONE, ..group.clone() }],
        std::vec![Group { setting: Setting::Throttled(Level::Rate(f64::NAN)), ..group.clone() }],
        std::vec![Group { cause: rate(-1.0), ..group.clone() }],
    ] {
        let mut lever = Lever::new().restore(s(0), &LeverState { groups });
        assert!((0..16).all(|class| lever.admit(s(9), class).is_err()));
        assert_eq!(&*lever.journal().last().unwrap().who, "restart");
    }
    let mut lever = Lever::new();
    assert_eq!(lever.close(s(0), ""), Pulled::Changed);
    assert!(lever.admit(s(0), 0).is_err());
}

#[test]
fn a_clock_that_goes_back_earns_nothing_and_sets_no_ramp_back() {
    let mut lever = Lever::new();
    lever.all(s(1000), ramp(Level::Rate(0.0), Level::Rate(10.0), s(100), 0));
    assert!(lever.admit(s(1050), 0).is_ok());
    let before = lever.level(s(1050), 0);
    while lever.admit(s(1050), 0).is_ok() {}
    assert!(lever.admit(s(10), 0).is_err());
    assert_eq!(lever.level(s(10), 0), before);
    assert!(lever.admit(s(11), 0).is_ok(), "and goes on from there");
}

fn any_level() -> impl Strategy<Value = Level> {
    prop_oneof![(0.0f64..=1.0).prop_map(Level::Share), (0.0f64..1000.0).prop_map(Level::Rate)]
}

fn any_action() -> impl Strategy<Value = Action> {
    prop_oneof![
        Just(Action::Open),
        Just(Action::Pause),
        Just(Action::Hold),
        any_level().prop_map(Action::Throttle),
        (any_level(), 0.0f64..=1.0, 1u64..100_000, 0u16..9).prop_map(|(from, to, over, steps)| {
            let to = match from {
                Level::Share(_) => Level::Share(to),
                Level::Rate(_) => Level::Rate(to * 1000.0),
            };
            ramp(from, to, ms(over), steps)
        }),
    ]
}

fn any_pulls() -> impl Strategy<Value = Vec<(u64, u16, Action)>> {
    prop::collection::vec((0u64..5_000, any::<u16>(), any_action()), 0..20)
}

/// Pulls one after another, a few attempts after each; when it is then.
fn play(lever: &mut Lever, pulls: &[(u64, u16, Action)]) -> Nanos {
    let mut now = Nanos::ZERO;
    for (step, classes, action) in pulls {
        now = now + ms(*step);
        let _ = lever.set(now, ClassSet::from_bits(*classes), *action);
        for class in 0..4 {
            let _ = lever.admit(now, class);
        }
    }
    now
}

/// What it answers to the same attempts over ten seconds.
fn answers(lever: &mut Lever, now: Nanos) -> Vec<Result<(), Refusal>> {
    (1..400).map(|i| lever.admit(now + ms(25 * i), (i % 16) as u8)).collect()
}

proptest! {
    #[test]
    fn the_same_change_twice_is_the_same_as_once(
        pulls in any_pulls(), classes in 1u16.., action in any_action(), later in 0u64..3000,
    ) {
        let mut once = Lever::new();
        let now = play(&mut once, &pulls);
        let _ = once.set(now, ClassSet::from_bits(classes), action);
        let mut twice = once.clone();
        let again = twice.set(now + ms(later), ClassSet::from_bits(classes), action);
        prop_assert!(again != Pulled::Changed);
        prop_assert_eq!(once.state(now), twice.state(now));
        let now = now + ms(later);
        prop_assert_eq!(answers(&mut once, now), answers(&mut twice, now));
    }

    #[test]
    fn opened_again_it_is_as_if_it_had_never_been_pulled(pulls in any_pulls()) {
        let mut lever = Lever::new();
        let now = play(&mut lever, &pulls);
        let _ = lever.set(now, ClassSet::ALL, Action::Open);
        prop_assert_eq!(lever.state(now), Lever::new().state(now));
        prop_assert!(answers(&mut lever, now).iter().all(Result::is_ok));
    }

    #[test]
    fn a_change_for_some_leaves_the_others_alone(pulls in any_pulls(), classes: u16, action in any_action()) {
        prop_assume!(action != Action::Hold);
        let mut lever = Lever::new();
        let now = play(&mut lever, &pulls);
        let before: Vec<Level> = (0..16).map(|class| lever.level(now, class)).collect();
        let classes = ClassSet::from_bits(classes);
        let _ = lever.set(now, classes, action);
        for class in (0..16).filter(|class| !classes.contains(*class)) {
            prop_assert_eq!(lever.level(now, class), before[usize::from(class)]);
        }
    }

    #[test]
    fn after_a_restart_it_is_where_it_was_and_never_more_open(pulls in any_pulls(), origin: u64) {
        let mut lever = Lever::new();
        let now = play(&mut lever, &pulls);
        let saved = lever.state(now);
        let origin = Nanos(origin / 2);
        let again = Lever::new().restore(origin, &saved);
        prop_assert_eq!(again.state(origin), saved);
        for class in 0..16 {
            prop_assert_eq!(again.level(origin, class), lever.level(now, class));
        }
        // A ramp up in steps is behind at any later time, and so is an even one, up to rounding.
        for (i, class) in (0..16u8).cycle().take(160).enumerate() {
            let later = ms(500 * i as u64);
            let (new, old) = (again.level(origin + later, class), lever.level(now + later, class));
            prop_assert!(new.is_same_kind(old));
            let up = lever.level(now + s(1_000_000), class).amount() >= lever.level(now, class).amount();
            prop_assert!(!up || new.amount() <= old.amount() + 1e-9, "{:?} {:?}", new, old);
        }
    }

    #[test]
    fn no_window_lets_in_more_than_the_burst_and_the_rate(
        rate in 0.5f64..1000.0, burst in 0u64..2000, steps in prop::collection::vec((0u64..20_000_000, 0u8..16), 1..300),
    ) {
        let mut lever = Lever::try_new(ms(burst), 1).unwrap();
        lever.all(s(0), Action::Throttle(Level::Rate(rate)));
        let (mut now, mut let_in) = (Nanos::ZERO, Vec::new());
        for (step, class) in steps {
            now = now + Nanos(step);
            if lever.admit(now, class).is_ok() {
                let_in.push(now);
            }
        }
        let saved = (rate * ms(burst).as_secs_f64()).max(1.0);
        for i in 0..let_in.len() {
            for j in i..let_in.len() {
                let bound = saved + rate * (let_in[j] - let_in[i]).as_secs_f64();
                prop_assert!((j - i + 1) as f64 <= bound + 1e-6);
            }
        }
    }

    #[test]
    fn whoever_comes_at_the_earliest_is_let_in(rate in 0.001f64..1e6, wait: u64) {
        let mut lever = Lever::new();
        lever.all(s(0), Action::Throttle(Level::Rate(rate)));
        let now = Nanos(wait % (1.0 / rate * 1e9) as u64);
        if let Err(refusal) = lever.admit(now, 0) {
            let earliest = refusal.earliest.unwrap();
            prop_assert!(earliest > now);
            prop_assert!(lever.admit(earliest, 0).is_ok());
        }
    }

    #[test]
    fn no_clock_makes_it_panic(
        ops in prop::collection::vec((any::<u64>(), any::<u16>(), any_action(), any::<bool>()), 0..60),
    ) {
        let mut lever = Lever::new();
        for (time, classes, action, pull) in ops {
            let now = Nanos(time >> (time % 64));
            if pull {
                let _ = lever.set(now, ClassSet::from_bits(classes), action);
            } else {
                let refused = lever.admit(now, classes as u8).err();
                prop_assert!(refused.is_none_or(|r| r.earliest.is_none_or(|at| at > now || at == Nanos::MAX)));
            }
            lever.observe(&mut |name, value| assert!(value.is_finite(), "{name}"));
            let _ = Lever::new().restore(now, &lever.state(now));
        }
    }
}
