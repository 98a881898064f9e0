//! When requests arrive: any load shape, any arrival process, exact inversion.
//!
//! A process needs a number of "units" until its next arrival (one for even distances, an
//! exponential draw for Poisson) and earns them at the current rate. A change of the rate
//! (a spike, a burst) keeps what is still needed.

use damper_control::Nanos;
use damper_system::model::{Arrivals, Load};

use crate::rng::{Purpose, Stream, Ziggurat};

/// The arrivals of one class.
#[derive(Clone, Debug)]
pub(crate) struct ArrivalProcess {
    load: Load,
    even: bool,
    /// Rate while on and while off, in multiples of the load, and mean spell lengths in ns.
    bursts: Option<([f64; 2], [f64; 2])>,
    burst_on: bool,
    /// During a spike: a rate in place of the load, and a factor.
    fixed: Option<Load>,
    spike: f64,
    needed: f64,
    since: u64,
    stream: Stream,
}

impl ArrivalProcess {
    pub(crate) fn new(
        load: Load,
        kind: Arrivals,
        seed: u64,
        replication: u32,
        class: u32,
        table: &Ziggurat,
    ) -> Self {
        let stream = Stream::new(seed, replication, Purpose::Arrivals, class);
        let bursts = match kind {
            Arrivals::Bursty { on, off, idle } => {
                let (on, off) = (on.0 as f64, off.0 as f64);
                let high = (on + off) / (on + idle * off);
                Some(([high, idle * high], [on, off]))
            }
            Arrivals::Poisson | Arrivals::Deterministic => None,
        };
        let even = kind == Arrivals::Deterministic;
        let mut process = Self {
            load,
            even,
            bursts,
            burst_on: true,
            fixed: None,
            spike: 1.0,
            needed: 0.0,
            since: 0,
            stream,
        };
        process.needed = process.draw(table);
        process
    }

    /// What is drawn from now on comes from another stream.
    pub(crate) fn reseed(&mut self, stream: Stream) {
        self.stream = stream;
    }

    fn draw(&mut self, table: &Ziggurat) -> f64 {
        if self.even { 1.0 } else { self.stream.exponential(table) }
    }

    fn multiplier(&self) -> f64 {
        let burst = self.bursts.map_or(1.0, |(rates, _)| rates[usize::from(!self.burst_on)]);
        self.spike * burst
    }

    /// An arrival has happened at `now`: draws what the next one needs.
    pub(crate) fn arrived(&mut self, now: u64, table: &Ziggurat) {
        self.needed = self.draw(table);
        self.since = now;
    }

    /// When the next arrival comes if nothing changes; `None`: never.
    pub(crate) fn next(&self) -> Option<u64> {
        let factor = self.multiplier();
        if factor <= 0.0 {
            return None;
        }
        let wait = match self.shape() {
            Load::Constant(rate) => (*rate > 0.0).then(|| self.needed / (rate * factor)),
            shape => invert(shape, Nanos(self.since), self.needed / factor),
        }?;
        let at = self.since.saturating_add((wait * 1e9) as u64);
        (at < u64::MAX / 2).then_some(at)
    }

    /// From `now` on the load is this rate, or as the file says, times a factor.
    pub(crate) fn set_spike(&mut self, now: u64, rate: Option<f64>, factor: f64) {
        self.earn(now);
        self.fixed = rate.map(Load::Constant);
        self.spike = factor;
    }

    fn shape(&self) -> &Load {
        self.fixed.as_ref().unwrap_or(&self.load)
    }

    /// A burst begins or ends; returns when the next change comes. Call it at the start, too.
    pub(crate) fn switch(&mut self, now: u64, table: &Ziggurat) -> Option<u64> {
        let (_, spells) = self.bursts?;
        if now > 0 {
            self.earn(now);
            self.burst_on = !self.burst_on;
        } else {
            self.burst_on = self.stream.unit() < spells[0] / (spells[0] + spells[1]);
        }
        let mean = spells[usize::from(!self.burst_on)];
        Some(now.saturating_add((mean * self.stream.exponential(table)) as u64).max(now + 1))
    }

    /// The rate of the file at `now`, without spikes and bursts, per second.
    pub(crate) fn base_rate(&self, now: u64) -> f64 {
        self.load.at(Nanos(now))
    }

    /// The mean rate of the file.
    pub(crate) fn mean_rate(&self) -> f64 {
        self.load.mean()
    }

    fn earn(&mut self, now: u64) {
        let earned = self.multiplier() * area(self.shape(), Nanos(self.since), Nanos(now));
        self.needed = (self.needed - earned).max(0.0);
        self.since = now;
    }
}

/// The end of the straight piece of a shape that begins at `t`, and the rates at both ends.
/// `None` for the end: it goes on for ever.
fn piece(load: &Load, t: Nanos) -> (Option<Nanos>, f64, f64) {
    match load {
        Load::Constant(rate) => (None, *rate, *rate),
        Load::Burst { base, peak, every, length } => {
            let phase = t.0 % every.0.max(1);
            let (end, rate) =
                if phase < length.0 { (length.0.min(every.0), *peak) } else { (every.0, *base) };
            (Some(Nanos(t.0 - phase + end)), rate, rate)
        }
        Load::Profile(points) => {
            let next = points.partition_point(|(at, _)| *at <= t);
            match points.get(next) {
                Some((end, rate)) if next > 0 => (Some(*end), load.at(t), *rate),
                Some((end, rate)) => (Some(*end), *rate, *rate),
                None => (None, load.at(t), load.at(t)),
            }
        }
    }
}

/// Expected arrivals of a shape between two instants.
fn area(load: &Load, from: Nanos, to: Nanos) -> f64 {
    let (mut t, mut sum) = (from, 0.0);
    while t < to {
        let (end, r0, r1) = piece(load, t);
        let stop = end.map_or(to, |e| e.min(to));
        let whole = end.map_or(1.0, |e| (stop - t).as_secs_f64() / (e - t).as_secs_f64());
        let reached = r0 + (r1 - r0) * whole;
        sum += (r0 + reached) / 2.0 * (stop - t).as_secs_f64();
        t = stop;
    }
    sum
}

/// Seconds from `from` until the shape has earned `needed`.
fn invert(load: &Load, from: Nanos, mut needed: f64) -> Option<f64> {
    let mut t = from;
    // A shape that stays at zero ends in a last piece or in a period without area.
    for _ in 0..10_000_000 {
        let (end, r0, r1) = piece(load, t);
        let Some(end) = end else {
            return (r0 > 0.0).then(|| (t - from).as_secs_f64() + needed / r0);
        };
        let width = (end - t).as_secs_f64();
        let earned = (r0 + r1) / 2.0 * width;
        if earned >= needed && earned > 0.0 {
            // needed = r0 x + slope x²/2, in the form that is stable for small slopes.
            let slope = (r1 - r0) / width;
            let root = libm::sqrt((r0 * r0 + 2.0 * slope * needed).max(0.0));
            return Some((t - from).as_secs_f64() + 2.0 * needed / (r0 + root));
        }
        needed -= earned;
        if let Load::Burst { base, peak, .. } = load
            && *base <= 0.0
            && *peak <= 0.0
        {
            return None;
        }
        t = end;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: fn(u64) -> Nanos = Nanos::from_secs;

    fn count(load: Load, kind: Arrivals, until: Nanos) -> usize {
        let table = Ziggurat::new();
        let mut p = ArrivalProcess::new(load, kind, 3, 0, 0, &table);
        let mut switch = p.switch(0, &table);
        let mut n = 0;
        loop {
            let next = p.next();
            let at = next.unwrap_or(u64::MAX).min(switch.unwrap_or(u64::MAX));
            if at >= until.0 {
                return n;
            }
            if next == Some(at) {
                n += 1;
                p.arrived(at, &table);
            } else {
                switch = p.switch(at, &table);
            }
        }
    }

    /// To within the one arrival that falls on the end itself.
    #[test]
    fn even_arrivals_follow_the_area_of_every_shape() {
        let ramp = Load::Profile(vec![(S(0), 0.0), (S(10), 20.0), (S(10), 5.0), (S(20), 5.0)]);
        let burst = Load::Burst { base: 1.0, peak: 11.0, every: S(10), length: S(2) };
        let late = Load::Profile(vec![(S(0), 0.0), (S(50), 0.0), (S(50), 10.0)]);
        for (load, until, area) in [(ramp, 30, 200), (burst, 100, 300), (late, 60, 100)] {
            let n = count(load, Arrivals::Deterministic, S(until));
            assert!(n == area || n + 1 == area, "{n}, not {area}");
        }
    }

    #[test]
    fn random_arrivals_have_the_mean_of_the_load() {
        let bursty = Arrivals::Bursty { on: S(1), off: S(3), idle: 0.1 };
        for kind in [Arrivals::Poisson, bursty] {
            let n = count(Load::Constant(10.0), kind, S(20_000)) as f64;
            assert!((n / 200_000.0 - 1.0).abs() < 0.03, "{kind:?}: {n}");
        }
    }

    #[test]
    fn a_spike_keeps_what_was_earned() {
        let table = Ziggurat::new();
        let mut p =
            ArrivalProcess::new(Load::Constant(1.0), Arrivals::Deterministic, 0, 0, 0, &table);
        assert_eq!(p.next(), Some(1_000_000_000));
        p.set_spike(500_000_000, None, 5.0);
        assert_eq!(p.next(), Some(600_000_000), "half earned, the other half five times as fast");
        p.set_spike(500_000_000, None, 0.0);
        assert_eq!(p.next(), None);
        p.set_spike(500_000_000, Some(2.0), 1.0);
        assert_eq!(p.next(), Some(750_000_000), "two per second in place of the load");
    }

    #[test]
    fn no_load_means_no_arrivals() {
        let zero = Load::Burst { base: 0.0, peak: 0.0, every: S(1), length: S(1) };
        for load in [Load::Constant(0.0), Load::Profile(vec![(S(0), 0.0)]), zero] {
            assert_eq!(count(load, Arrivals::Poisson, S(1000)), 0);
        }
    }
}
