//! Transient errors that come in bursts: a service is well, then fails often for a while.
//!
//! Each service alternates between the two with exponential lengths (Gilbert's model of a channel,
//! in time and not by attempt). Its stream is its own, and is read by the clock: whatever a policy
//! makes of a burst, the next one comes at the same instant.

use crate::rng::{Purpose, Stream, Ziggurat};
use crate::world::World;

/// Bursts of errors at every service with a capacity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bursts {
    /// Mean length of a burst, nanoseconds.
    pub length: u64,
    /// Mean time between two, nanoseconds.
    pub gap: u64,
    /// The probability that an attempt fails that is taken up within one.
    pub failure: f64,
}

impl Bursts {
    /// Bursts of this mean length and probability whose errors make up `share` of a steady stream
    /// of attempts. `None` unless 0 < `share` < `failure` <= 1 and the length is positive.
    #[must_use]
    pub fn of(share: f64, length: u64, failure: f64) -> Option<Self> {
        let valid = 0.0 < share && share < failure && failure <= 1.0 && length > 0;
        let inside = share / failure;
        valid.then(|| Self {
            length,
            gap: (length as f64 * (1.0 - inside) / inside) as u64,
            failure,
        })
    }

    /// Share of a steady stream of attempts that fails.
    #[must_use]
    pub fn share(self) -> f64 {
        self.failure * self.length as f64 / (self.length as f64 + self.gap as f64).max(1.0)
    }
}

/// Where one service is in its bursts.
#[derive(Clone, Debug)]
pub(crate) struct Bursting {
    stream: Stream,
    inside: bool,
    until: u64,
}

impl Bursting {
    pub(crate) fn new(
        bursts: Bursts,
        seed: u64,
        replication: u32,
        service: u32,
        table: &Ziggurat,
    ) -> Self {
        let stream = Stream::new(seed, replication, Purpose::Errors, service);
        let mut this = Self { stream, inside: false, until: 0 };
        // As it is when one looks at any time: what is left of either is exponential, too.
        this.inside = this.stream.chance(bursts.share() / bursts.failure);
        this.until = this.draw(bursts, table);
        this
    }

    fn draw(&mut self, bursts: Bursts, table: &Ziggurat) -> u64 {
        let mean = if self.inside { bursts.length } else { bursts.gap };
        (mean as f64 * self.stream.exponential(table)) as u64
    }

    /// Whether it is in a burst at `now`, which never goes back.
    pub(crate) fn inside(&mut self, now: u64, bursts: Bursts, table: &Ziggurat) -> bool {
        while now >= self.until {
            self.inside = !self.inside;
            let lasts = self.draw(bursts, table).max(1);
            self.until = self.until.saturating_add(lasts);
        }
        self.inside
    }
}

impl World<'_> {
    /// The probability that a burst adds to what a service does to an attempt taken up now.
    #[inline]
    pub(crate) fn burst(&mut self, service: usize) -> f64 {
        let Some(bursts) = self.conditions.bursts else { return 0.0 };
        let inside = match &mut self.services[service].bursting {
            Some(state) => state.inside(self.now, bursts, &self.ziggurat),
            None => false,
        };
        if inside { bursts.failure } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_and_gaps_by_hand() {
        // 1 % of errors at 50 % within: a fiftieth of the time, so 49 s between bursts of 1 s.
        let bursts = Bursts::of(0.01, 1_000_000_000, 0.5).unwrap();
        assert_eq!(bursts.gap, 49_000_000_000);
        assert!((bursts.share() - 0.01).abs() < 1e-12);
        for (share, length, failure) in
            [(0.0, 1, 0.5), (0.5, 1, 0.5), (0.1, 0, 0.5), (0.1, 1, 1.1), (f64::NAN, 1, 0.5)]
        {
            assert_eq!(Bursts::of(share, length, failure), None, "{share} {length} {failure}");
        }
    }

    #[test]
    fn it_is_inside_for_its_share_of_the_time() {
        let table = Ziggurat::new();
        let bursts = Bursts::of(0.05, 1_000_000, 0.5).unwrap();
        let mut state = Bursting::new(bursts, 1, 0, 0, &table);
        let steps = 2_000_000_u64;
        let inside =
            (0..steps).filter(|i| state.inside(i * 100_000, bursts, &table)).count() as f64;
        let share = inside / steps as f64;
        // 20,000 bursts: the share of a tenth has a standard error of about 0.001.
        assert!((share - 0.1).abs() < 0.005, "{share}");
    }

    #[test]
    fn how_often_one_looks_changes_nothing() {
        let table = Ziggurat::new();
        let bursts = Bursts::of(0.2, 1_000_000, 0.5).unwrap();
        let mut often = Bursting::new(bursts, 7, 1, 2, &table);
        let mut rarely = often.clone();
        for i in 0..10_000_u64 {
            let here = often.inside(i * 50_000, bursts, &table);
            if i % 40 == 0 {
                assert_eq!(here, rarely.inside(i * 50_000, bursts, &table), "{i}");
            }
        }
    }
}
