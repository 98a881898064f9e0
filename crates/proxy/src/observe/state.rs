//! The state gauge of a hop: stable, vulnerable, overloaded or metastable.
//!
//! The rule is the one of `docs/observe.md`. Source: Bronson et al., HotOS '21 (hidden and
//! advertised capacity), and the closed form μ / Π (1 + k) of the analytic model: a system heals
//! by itself only below capacity divided by the attempts that each request makes while all of them
//! fail. The thresholds and the hysteresis are ours.

use std::fmt;

use damper_control::Nanos;

/// How a hop is. The worst of several is the greatest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// It serves, and would come back from a blip by itself.
    #[default]
    Stable,
    /// It serves, and would not come back: loop gain × load exceeds capacity.
    Vulnerable,
    /// What is asked exceeds capacity without any retry.
    Overloaded,
    /// It does not serve what would fit: retries keep it down.
    Metastable,
}

impl State {
    /// Every state, the best first.
    pub const ALL: [Self; 4] = [Self::Stable, Self::Vulnerable, Self::Overloaded, Self::Metastable];

    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Stable => "stable",
            Self::Vulnerable => "vulnerable",
            Self::Overloaded => "overloaded",
            Self::Metastable => "metastable",
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// What a hop does, per second, over a window.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rates {
    /// L: requests that were let in, retries of callers not counted.
    pub load: f64,
    /// Σ gain × load over the classes: what would arrive if every attempt failed.
    pub worst: f64,
    /// A: attempts, retries with them.
    pub attempts: f64,
    /// g: successes in time.
    pub goodput: f64,
}

/// Below this load, in requests per second, nothing is said: a single failure would decide.
const TOO_LITTLE: f64 = 1.0;
/// Goodput below this share of what was asked is a collapse,
const COLLAPSED: f64 = 0.5;
/// which is over when it is above this share.
const HEALED: f64 = 0.9;
/// Attempts for each request above which retries are at work.
const AT_WORK: f64 = 1.1;
/// A bound that was crossed is crossed back at this share of it.
const BACK: f64 = 0.9;

/// How long a worse state must last until it is believed.
pub const WORSE_AFTER: Nanos = Nanos::from_secs(3);
/// How long a better one.
pub const BETTER_AFTER: Nanos = Nanos::from_secs(10);

/// What the rule says of these rates. `was`: the state until now, which has its own bounds.
#[must_use]
pub fn judge(rates: &Rates, capacity: Option<f64>, was: State) -> State {
    let Rates { load, worst, attempts, goodput } = *rates;
    if load < TOO_LITTLE {
        return State::Stable;
    }
    // How much must exceed a bound that was already exceeded.
    let bound = |of: State, bound: f64| if was >= of { bound * BACK } else { bound };
    let healed = if was == State::Metastable { HEALED } else { COLLAPSED };
    let (collapsed, retried) = (goodput < healed * load, attempts > AT_WORK * load);
    match capacity {
        Some(capacity) => {
            let full = attempts >= bound(State::Metastable, capacity);
            if load > capacity {
                State::Overloaded
            } else if collapsed && retried && full {
                State::Metastable
            } else if was == State::Overloaded && load > bound(State::Overloaded, capacity) {
                State::Overloaded
            } else if worst > bound(State::Vulnerable, capacity) {
                State::Vulnerable
            } else {
                State::Stable
            }
        }
        // Without a capacity: at least half of the retries that there could be are made.
        None if collapsed && retried && attempts >= f64::midpoint(load, worst) => State::Metastable,
        None => State::Stable,
    }
}

/// The state with its hysteresis: a worse one is believed after [`WORSE_AFTER`], a better one
/// after [`BETTER_AFTER`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Gauge {
    state: State,
    next: Option<(State, Nanos)>,
}

impl Gauge {
    /// The state that is believed.
    #[must_use]
    pub const fn state(&self) -> State {
        self.state
    }

    /// Takes note of what a hop did until now.
    pub fn step(&mut self, now: Nanos, rates: &Rates, capacity: Option<f64>) -> State {
        let seen = judge(rates, capacity, self.state);
        if seen == self.state {
            self.next = None;
            return self.state;
        }
        let since = match self.next {
            // Another change in the same direction does not begin the wait anew.
            Some((next, since)) if (next > self.state) == (seen > self.state) => since,
            _ => now,
        };
        self.next = Some((seen, since));
        let wait = if seen > self.state { WORSE_AFTER } else { BETTER_AFTER };
        if now.since(since) >= wait {
            (self.state, self.next) = (seen, None);
        }
        self.state
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The first case of Bronson et al.: a database of 300/s, and one retry after 1 s.
    const CAPACITY: Option<f64> = Some(300.0);

    fn calm(load: f64) -> Rates {
        Rates { load, worst: 2.0 * load, attempts: load, goodput: load }
    }

    /// Every query is made twice, and none is in time.
    fn storm(load: f64) -> Rates {
        Rates { attempts: 2.0 * load, goodput: 0.02 * load, ..calm(load) }
    }

    #[test]
    fn the_published_example_is_vulnerable_from_150_to_300() {
        for (load, state) in [
            (149.0, State::Stable),
            (151.0, State::Vulnerable),
            (280.0, State::Vulnerable),
            (301.0, State::Overloaded),
        ] {
            assert_eq!(judge(&calm(load), CAPACITY, State::Stable), state, "{load}");
        }
        // 2 × 280 = 560 attempts a second on 300, though 280 would fit.
        assert_eq!(judge(&storm(280.0), CAPACITY, State::Vulnerable), State::Metastable);
        // 2 × 140 = 280 fit: whatever fails there, it is no overload.
        assert_eq!(judge(&storm(140.0), CAPACITY, State::Stable), State::Stable);
        // A budget of 10 % makes the gain 1.1, and 280 × 1.1 = 308 is still above 300.
        let budget = |load: f64| Rates { worst: 1.1 * load, ..calm(load) };
        assert_eq!(judge(&budget(280.0), CAPACITY, State::Stable), State::Vulnerable);
        assert_eq!(judge(&budget(272.0), CAPACITY, State::Stable), State::Stable);
    }

    #[test]
    fn a_collapse_is_over_when_nine_of_ten_are_in_time() {
        let better = |goodput| Rates { goodput, ..storm(280.0) };
        for (goodput, state) in [(100.0, State::Metastable), (251.0, State::Metastable)] {
            assert_eq!(judge(&better(goodput), CAPACITY, State::Metastable), state, "{goodput}");
        }
        assert_eq!(judge(&better(253.0), CAPACITY, State::Metastable), State::Vulnerable);
        // From above, 150 to 280 a second of goodput are no collapse yet.
        assert_eq!(judge(&better(141.0), CAPACITY, State::Vulnerable), State::Vulnerable);
        assert_eq!(judge(&better(139.0), CAPACITY, State::Vulnerable), State::Metastable);
    }

    #[test]
    fn bounds_are_crossed_back_a_tenth_lower() {
        assert_eq!(judge(&calm(140.0), CAPACITY, State::Vulnerable), State::Vulnerable);
        assert_eq!(judge(&calm(134.0), CAPACITY, State::Vulnerable), State::Stable);
        assert_eq!(judge(&calm(280.0), CAPACITY, State::Overloaded), State::Overloaded);
        assert_eq!(judge(&calm(269.0), CAPACITY, State::Overloaded), State::Vulnerable);
        // A storm at 280 is no overload any more, though it was one before.
        assert_eq!(judge(&storm(280.0), CAPACITY, State::Overloaded), State::Metastable);
        assert_eq!(judge(&storm(280.0), CAPACITY, State::Metastable), State::Metastable);
    }

    #[test]
    fn without_a_capacity_only_a_collapse_is_seen() {
        assert_eq!(judge(&calm(280.0), None, State::Stable), State::Stable);
        assert_eq!(judge(&storm(280.0), None, State::Stable), State::Metastable);
        // Three retries are possible and a third of them made: (280 + 1120) / 2 = 700 > 560.
        let third = Rates { worst: 4.0 * 280.0, ..storm(280.0) };
        assert_eq!(judge(&third, None, State::Stable), State::Stable);
        // Everything fails and nobody retries: no loop.
        let down = Rates { worst: 280.0, attempts: 280.0, ..storm(280.0) };
        assert_eq!(judge(&down, None, State::Stable), State::Stable);
        assert_eq!(judge(&storm(0.5), None, State::Stable), State::Stable, "too little to say");
    }

    #[test]
    fn a_worse_state_is_believed_after_three_seconds_and_a_better_one_after_ten() {
        let mut gauge = Gauge::default();
        let mut at =
            |seconds, rates: Rates| gauge.step(Nanos::from_secs(seconds), &rates, CAPACITY);
        assert_eq!(at(0, calm(100.0)), State::Stable);
        assert_eq!(at(1, calm(200.0)), State::Stable);
        assert_eq!(at(2, calm(100.0)), State::Stable, "a blip");
        assert_eq!(at(3, calm(200.0)), State::Stable);
        // It gets worse while it is waited for: that does not wait again.
        assert_eq!(at(5, storm(280.0)), State::Stable);
        assert_eq!(at(6, storm(280.0)), State::Metastable);
        assert_eq!(at(7, calm(280.0)), State::Metastable);
        assert_eq!(at(16, calm(280.0)), State::Metastable);
        assert_eq!(at(17, calm(280.0)), State::Vulnerable);
        assert_eq!(at(18, calm(100.0)), State::Vulnerable);
        assert_eq!(at(28, calm(100.0)), State::Stable);
    }

    proptest! {
        /// More load, all else in proportion, never makes a healthy hop look better.
        #[test]
        fn more_load_is_never_better(load in 1.0f64..1000.0, more in 1.0f64..3.0) {
            let (less, more) = (calm(load), calm(load * more));
            prop_assert!(judge(&less, CAPACITY, State::Stable) <= judge(&more, CAPACITY, State::Stable));
        }

        #[test]
        fn no_rate_makes_it_flap(load in 1.0f64..1000.0, goodput in 0.0f64..1.0, factor in 1.0f64..2.0) {
            let rates = Rates { attempts: factor * load, goodput: goodput * load, ..calm(load) };
            let mut gauge = Gauge::default();
            let states: Vec<State> =
                (0..200).map(|s| gauge.step(Nanos::from_secs(s), &rates, CAPACITY)).collect();
            let changes = states.windows(2).filter(|pair| pair[0] != pair[1]).count();
            prop_assert!(changes <= 2, "{:?}", states);
        }
    }
}
