//! Where a yes turns into a no, when each question costs minutes and answers may differ: no clocks
//! and no sockets, and all that is known is the list of what was tried, so that it can be kept on
//! disk and gone on with.

use serde::{Deserialize, Serialize};

/// One value that was tried.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tried {
    /// The value.
    pub value: f64,
    /// Whether it recovered.
    pub healed: bool,
}

/// A search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bisection {
    /// Where it begins.
    pub from: f64,
    /// What is never exceeded.
    pub to: f64,
    /// As near as this, relatively.
    pub resolution: f64,
    /// How often each end of the interval is tried.
    pub repeats: u32,
    /// What was tried, in order.
    pub tried: Vec<Tried>,
}

/// More probes are not made.
const MOST: usize = 60;
/// Nothing below this share of `to` is tried.
const FLOOR: f64 = 0.01;

impl Bisection {
    /// A search that has not begun.
    #[must_use]
    pub fn new(from: f64, to: f64, resolution: f64, repeats: u32) -> Self {
        Self { from: from.min(to), to, resolution, repeats: repeats.max(1), tried: Vec::new() }
    }

    /// The highest value from which, and from all below it, it has always recovered.
    #[must_use]
    pub fn low(&self) -> Option<f64> {
        let bad = self.lowest(false).unwrap_or(f64::INFINITY);
        self.values(true).filter(|v| *v < bad).reduce(f64::max)
    }

    /// The lowest value from which, and from all above it, it has never recovered.
    #[must_use]
    pub fn high(&self) -> Option<f64> {
        let good = self.values(true).reduce(f64::max).unwrap_or(0.0);
        self.values(false).filter(|v| *v > good).reduce(f64::min)
    }

    fn values(&self, healed: bool) -> impl Iterator<Item = f64> + '_ {
        self.tried.iter().filter(move |t| t.healed == healed).map(|t| t.value)
    }

    fn lowest(&self, healed: bool) -> Option<f64> {
        self.values(healed).reduce(f64::min)
    }

    /// How often a value was tried.
    #[must_use]
    pub fn count(&self, value: f64) -> u32 {
        self.tried.iter().filter(|t| t.value == value).count() as u32
    }

    /// What to try next; `None`: it is known as well as was asked for, or cannot be.
    ///
    /// From a value that is believed to recover it doubles until one does not, then it halves the
    /// interval, then it tries both ends again: a value that answers both ways lies between them.
    #[must_use]
    pub fn next(&self) -> Option<f64> {
        if self.tried.len() >= MOST {
            return None;
        }
        if self.tried.is_empty() {
            return Some(self.from);
        }
        let (low, high) = (self.low(), self.high());
        let again = |v: f64| (self.count(v) < self.repeats).then_some(v);
        match (low, high) {
            (None, _) => {
                let lowest = self.tried.iter().map(|t| t.value).fold(f64::INFINITY, f64::min);
                let next = (lowest / 2.0).max(self.to * FLOOR);
                if next < lowest { Some(next) } else { None }
            }
            (Some(low), None) => {
                let most = self.tried.iter().map(|t| t.value).fold(low, f64::max);
                if most < self.to { Some((most * 2.0).min(self.to)) } else { again(self.to) }
            }
            (Some(low), Some(high)) => {
                // Values that answered both ways are between these two; it is narrowed on both sides.
                let top = self.values(true).fold(low, f64::max);
                let bottom = self.values(false).fold(high, f64::min);
                let wide = |a: f64, b: f64| (b / a > 1.0 + self.resolution).then(|| (a * b).sqrt());
                let narrower = wide(top, high).or_else(|| wide(low, bottom));
                narrower.or_else(|| again(low)).or_else(|| again(high))
            }
        }
    }

    /// Says how it went.
    pub fn tell(&mut self, value: f64, healed: bool) {
        self.tried.push(Tried { value, healed });
    }

    /// It recovers from everything up to the highest value that may be tried.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.high().is_none() && self.low().is_some_and(|low| low >= self.to)
    }

    /// The value in the middle of the interval, by proportion.
    #[must_use]
    pub fn estimate(&self) -> Option<f64> {
        match (self.low(), self.high()) {
            (Some(low), Some(high)) => Some((low * high).sqrt()),
            (Some(low), None) => Some(low),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn run(mut search: Bisection, mut holds: impl FnMut(f64) -> bool) -> Bisection {
        while let Some(value) = search.next() {
            let healed = holds(value);
            search.tell(value, healed);
        }
        search
    }

    #[test]
    fn finds_it_and_tries_both_ends_again() {
        let found = run(Bisection::new(75.0, 300.0, 0.05, 3), |v| v < 150.5);
        let (low, high) = (found.low().unwrap(), found.high().unwrap());
        assert!(low < 150.5 && high >= 150.5 && high / low <= 1.05, "{low} {high}");
        assert_eq!((found.count(low), found.count(high)), (3, 3));
        assert!(found.tried.len() <= 12, "{}", found.tried.len());
    }

    #[test]
    fn one_that_answers_both_ways_lies_between() {
        let mut turn = 0;
        let found = run(Bisection::new(100.0, 400.0, 0.2, 3), |v| {
            turn += 1;
            v < 150.0 || v < 260.0 && turn % 2 == 0
        });
        let (low, high) = (found.low().unwrap(), found.high().unwrap());
        let both = found.tried.iter().filter(|t| t.value > low && t.value < high);
        assert!(low <= 150.0 && high >= 200.0 && both.count() > 0, "{found:?}");
    }

    #[test]
    fn one_lucky_answer_does_not_leave_the_interval_wide() {
        let mut lucky = true;
        let found = run(Bisection::new(75.0, 300.0, 0.06, 2), |v| {
            v < 148.0 || v == 150.0 && !std::mem::replace(&mut lucky, false)
        });
        let (low, high) = (found.low().unwrap(), found.high().unwrap());
        assert!(low < 150.0 && high > 150.0 && high / low < 1.13, "{low} {high}");
    }

    #[test]
    fn open_ends() {
        let open = run(Bisection::new(100.0, 300.0, 0.05, 2), |_| true);
        assert!(open.is_open() && open.estimate() == Some(300.0) && open.count(300.0) == 2);
        let none = run(Bisection::new(100.0, 300.0, 0.05, 2), |_| false);
        assert!(none.low().is_none() && none.estimate().is_none());
        assert!(none.tried.len() < 10);
    }

    #[test]
    fn goes_on_where_it_was() {
        let whole = run(Bisection::new(10.0, 300.0, 0.03, 2), |v| v < 77.0);
        for cut in 0..whole.tried.len() {
            let part = Bisection { tried: whole.tried[..cut].to_vec(), ..whole.clone() };
            let text = serde_json::to_string(&part).unwrap();
            let back: Bisection = serde_json::from_str(&text).unwrap();
            assert_eq!(run(back, |v| v < 77.0), whole);
        }
    }

    proptest! {
        #[test]
        fn whatever_is_answered_it_ends_within_its_bounds(
            answers in proptest::collection::vec(any::<bool>(), 80),
            from in 1.0..400.0f64,
            repeats in 1u32..6,
        ) {
            let mut at = answers.iter().cycle();
            let found = run(Bisection::new(from, 300.0, 0.05, repeats), |v| {
                assert!(v > 0.0 && v <= 300.0);
                *at.next().unwrap()
            });
            prop_assert!(found.tried.len() <= 60);
            if let (Some(low), Some(high)) = (found.low(), found.high()) {
                prop_assert!(low < high);
            }
        }
    }
}
