//! When requests are sent: arrivals drawn ahead, without clocks or sockets.

use damper_control::Nanos;
use damper_system::model::Load;
use rand_core::{Rng as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

/// How arrivals of a stream follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Independently of each other.
    Poisson,
    /// At even distances.
    Uniform,
}

/// The load of one class.
#[derive(Clone, Debug)]
pub struct Stream {
    /// Requests per second over time.
    pub load: Load,
    /// The share of each kind of request; they sum to one.
    pub kinds: Vec<f64>,
}

/// What changes a stream while it runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tuning {
    /// Times the load.
    pub factor: f64,
    /// Requests per second in place of the load.
    pub rate: Option<f64>,
}

impl Tuning {
    /// No change.
    pub const NONE: Self = Self { factor: 1.0, rate: None };
}

/// One request that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// When, from the start.
    pub at: Nanos,
    /// Index of its stream.
    pub class: usize,
    /// Index of its kind.
    pub kind: usize,
}

/// Arrivals of several streams, in the order of time.
#[derive(Clone, Debug)]
pub struct Schedule {
    streams: Vec<State>,
    pattern: Pattern,
}

#[derive(Clone, Debug)]
struct State {
    stream: Stream,
    tuning: Tuning,
    chance: Xoshiro256PlusPlus,
    /// Up to here the load has been used up.
    since: Nanos,
    /// Requests' worth of load until the next arrival: 1 on average.
    due: f64,
    /// When that is.
    next: Nanos,
}

/// Loads that change are added up in pieces of this length.
const PIECE: Nanos = Nanos(500_000);
/// Nothing is looked for further ahead than this.
const FAR: Nanos = Nanos(3_600_000_000_000);

impl Schedule {
    /// Arrivals of these streams. The same seed gives the same arrivals.
    #[must_use]
    pub fn new(streams: Vec<Stream>, pattern: Pattern, seed: u64) -> Self {
        let state = |(i, stream): (usize, Stream)| {
            let seed = seed ^ (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let mut state = State {
                stream,
                tuning: Tuning::NONE,
                chance: Xoshiro256PlusPlus::seed_from_u64(seed),
                since: Nanos::ZERO,
                due: 0.0,
                next: Nanos::ZERO,
            };
            state.draw(pattern);
            state.look_ahead();
            state
        };
        Self { streams: streams.into_iter().enumerate().map(state).collect(), pattern }
    }

    /// The next arrival; `None` if there is none within an hour.
    #[must_use]
    pub fn peek(&self) -> Option<Nanos> {
        self.streams.iter().map(|s| s.next).min().filter(|next| *next < Nanos::MAX)
    }

    /// Takes the next arrival.
    pub fn pop(&mut self) -> Option<Arrival> {
        let pattern = self.pattern;
        let (class, state) =
            self.streams.iter_mut().enumerate().min_by_key(|(_, state)| state.next)?;
        if state.next == Nanos::MAX {
            return None;
        }
        let at = state.next;
        let kind = state.kind();
        state.since = at;
        state.draw(pattern);
        state.look_ahead();
        Some(Arrival { at, class, kind })
    }

    /// Changes a stream from `now` on. What has been waited for stays waited for, so that a
    /// Poisson stream stays one.
    pub fn tune(&mut self, class: usize, tuning: Tuning, now: Nanos) {
        let Some(state) = self.streams.get_mut(class) else { return };
        if state.tuning == tuning {
            return;
        }
        if now > state.since {
            state.due = (state.due - state.worth(state.since, now)).max(0.0);
            state.since = now;
        }
        state.tuning = tuning;
        state.look_ahead();
    }

    /// The highest rate of all streams together, as they are tuned now, per second.
    #[must_use]
    pub fn peak(&self) -> f64 {
        let peak = |s: &State| s.tuning.rate.unwrap_or_else(|| s.stream.load.peak());
        self.streams.iter().map(|s| (peak(s) * s.tuning.factor).max(0.0)).sum()
    }
}

impl State {
    fn unit(&mut self) -> f64 {
        (self.chance.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    fn draw(&mut self, pattern: Pattern) {
        self.due = match pattern {
            Pattern::Poisson => -(1.0 - self.unit()).ln(),
            Pattern::Uniform => 1.0,
        };
    }

    fn kind(&mut self) -> usize {
        let u = self.unit();
        let mut sum = 0.0;
        let last = self.stream.kinds.len().saturating_sub(1);
        let found = self.stream.kinds.iter().position(|share| {
            sum += share;
            u < sum
        });
        found.unwrap_or(last)
    }

    fn rate(&self, at: Nanos) -> f64 {
        let rate = self.tuning.rate.unwrap_or_else(|| self.stream.load.at(at));
        (rate * self.tuning.factor).max(0.0)
    }

    /// The rate if it never changes.
    fn constant(&self) -> Option<f64> {
        match (self.tuning.rate, &self.stream.load) {
            (None, Load::Constant(_)) | (Some(_), _) => Some(self.rate(Nanos::ZERO)),
            _ => None,
        }
    }

    /// Requests' worth of load between two instants.
    fn worth(&self, from: Nanos, to: Nanos) -> f64 {
        if let Some(rate) = self.constant() {
            return rate * to.since(from).as_secs_f64();
        }
        let (mut at, mut sum) = (from, 0.0);
        while at < to {
            let end = (at + PIECE).min(to);
            sum += self.rate(at) * end.since(at).as_secs_f64();
            at = end;
        }
        sum
    }

    /// Finds the next arrival.
    fn look_ahead(&mut self) {
        if let Some(rate) = self.constant() {
            let wait = self.due / rate;
            let far = !wait.is_finite() || wait > FAR.as_secs_f64();
            self.next = if far { Nanos::MAX } else { self.since + Nanos((wait * 1e9) as u64) };
            return;
        }
        let (mut at, mut due) = (self.since, self.due);
        let end = self.since + FAR;
        while at < end {
            let rate = self.rate(at);
            let piece = rate * PIECE.as_secs_f64();
            if piece >= due && rate > 0.0 {
                self.next = at + Nanos((due / rate * 1e9) as u64);
                return;
            }
            due -= piece;
            at = at + PIECE;
        }
        self.next = Nanos::MAX;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stream(load: Load) -> Stream {
        Stream { load, kinds: vec![0.6, 0.4] }
    }

    fn until(schedule: &mut Schedule, end: Nanos) -> Vec<Arrival> {
        let mut all = Vec::new();
        while schedule.peek().is_some_and(|at| at < end) {
            all.extend(schedule.pop());
        }
        all
    }

    #[test]
    fn even_arrivals_are_where_they_belong() {
        let mut schedule = Schedule::new(vec![stream(Load::Constant(10.0))], Pattern::Uniform, 1);
        let at: Vec<u64> = until(&mut schedule, Nanos::from_millis(550))
            .iter()
            .map(|a| a.at.0 / 1_000_000)
            .collect();
        assert_eq!(at, [100, 200, 300, 400, 500]);
    }

    #[test]
    fn poisson_has_its_rate_and_its_variance() {
        let streams = vec![stream(Load::Constant(50.0)), stream(Load::Constant(200.0))];
        let mut schedule = Schedule::new(streams, Pattern::Poisson, 7);
        let all = until(&mut schedule, Nanos::from_secs(400));
        let of = |class| all.iter().filter(|a| a.class == class).count() as f64;
        for (class, expected) in [(0, 20_000.0), (1, 80_000.0f64)] {
            assert!((of(class) - expected).abs() < 4.0 * expected.sqrt(), "{class}: {}", of(class));
        }
        // Counts of a second: variance over mean is one.
        let mut counts = vec![0.0; 400];
        all.iter().for_each(|a| counts[(a.at.0 / 1_000_000_000) as usize] += 1.0);
        let mean = counts.iter().sum::<f64>() / 400.0;
        let variance = counts.iter().map(|c| (c - mean) * (c - mean)).sum::<f64>() / 399.0;
        // Its standard error is sqrt(2 / 399).
        assert!(
            (variance / mean - 1.0).abs() < 4.0 * (2.0f64 / 399.0).sqrt(),
            "{}",
            variance / mean
        );
        let first = all.iter().filter(|a| a.kind == 0).count() as f64 / all.len() as f64;
        assert!((first - 0.6).abs() < 0.01, "{first}");
    }

    #[test]
    fn a_spike_raises_the_load_from_its_instant_on() {
        let mut schedule = Schedule::new(vec![stream(Load::Constant(100.0))], Pattern::Poisson, 3);
        let before = until(&mut schedule, Nanos::from_secs(100)).len() as f64;
        schedule.tune(0, Tuning { factor: 3.0, rate: None }, Nanos::from_secs(100));
        let during = until(&mut schedule, Nanos::from_secs(200)).len() as f64;
        schedule.tune(0, Tuning { factor: 1.0, rate: Some(20.0) }, Nanos::from_secs(200));
        let after = until(&mut schedule, Nanos::from_secs(300)).len() as f64;
        for (count, expected) in [(before, 10_000.0), (during, 30_000.0), (after, 2_000.0f64)] {
            assert!((count - expected).abs() < 4.0 * expected.sqrt(), "{count}, not {expected}");
        }
    }

    #[test]
    fn a_load_that_changes_is_followed() {
        let s = Nanos::from_secs;
        let ramp = Load::Profile(vec![(s(0), 0.0), (s(10), 100.0)]);
        let mut schedule = Schedule::new(vec![stream(ramp)], Pattern::Uniform, 1);
        // The area below the ramp up to 5 s is 125, up to 10 s 500.
        assert!((until(&mut schedule, s(5)).len() as i64 - 125).abs() <= 1);
        assert!((until(&mut schedule, s(10)).len() as i64 - 375).abs() <= 1);
    }

    #[test]
    fn nothing_comes_of_no_load_until_there_is_some() {
        let mut schedule = Schedule::new(vec![stream(Load::Constant(0.0))], Pattern::Poisson, 1);
        assert_eq!((schedule.peek(), schedule.pop()), (None, None));
        schedule.tune(0, Tuning { factor: 1.0, rate: Some(5.0) }, Nanos::from_secs(9));
        assert!(schedule.peek().unwrap() >= Nanos::from_secs(9));
    }

    proptest! {
        #[test]
        fn time_never_goes_back(
            seed: u64, rate in 1.0f64..1000.0,
            tunes in prop::collection::vec((0.0f64..4.0, 1u64..50), 0..20),
        ) {
            let streams = vec![stream(Load::Constant(rate)), stream(Load::Constant(rate / 3.0))];
            let mut schedule = Schedule::new(streams, Pattern::Poisson, seed);
            let mut now = Nanos::ZERO;
            for (factor, millis) in tunes {
                let end = now + Nanos::from_millis(millis);
                for arrival in until(&mut schedule, end) {
                    prop_assert!(arrival.at >= now && arrival.at < end);
                    now = arrival.at;
                }
                now = end;
                schedule.tune(0, Tuning { factor, rate: None }, now);
            }
        }
    }
}
