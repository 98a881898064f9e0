//! The standing queue as the signal: no latency without load has to be known, so none can be
//! learnt wrongly.
//!
//! Source: ours. From CoDel (Nichols and Jacobson 2012) that the *smallest* delay over a window
//! tells a standing queue from a burst; from Breakwater (Cho 2020) that queueing delay, and not
//! latency, is the signal of overload; from Little's law by how much to shrink.
//!
//! Why these rules. A queue that every attempt of a window met is `throughput × delay` long, so
//! taking away `throughput × (delay − target)` leaves `target`: one step instead of a hundred, and
//! no factor to tune. One attempt may always wait, however long work takes: without it a worker
//! would be idle between two attempts. A window of few attempts says nothing and stays open. The step up is the root of the limit, because that is how far the number in
//! service of an unlimited server strays by itself. An attempt that was admitted before the last
//! decrease met the queue that the decrease was for, and is not counted twice.

use rand_core::Rng;

use super::aimd::{INITIAL, MAX, MIN};
use super::{ConcurrencyLimit, Sample, ordered};
use crate::entry::{Build, Entry, Kind, Parameter, Unit, seconds, whole};
use crate::observe::{Observe, Reading};
use crate::{Nanos, Outcome};

/// What a [`QueueDelay`] is made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueueDelayConfig {
    /// The limit at the start.
    pub initial: u32,
    /// The smallest limit.
    pub min: u32,
    /// The largest limit.
    pub max: u32,
    /// The standing delay that is allowed, 1 µs to an hour.
    pub target: Nanos,
    /// The span over which a delay has to stand, 1 ms to an hour.
    pub window: Nanos,
}

impl Default for QueueDelayConfig {
    fn default() -> Self {
        Self {
            initial: 20,
            min: 1,
            max: 1000,
            target: Nanos::from_millis(5),
            window: Nanos::from_millis(100),
        }
    }
}

/// A limit that keeps the standing queue short.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueDelay {
    config: QueueDelayConfig,
    limit: f64,
    /// Until the first standing queue the limit doubles.
    slow_start: bool,
    /// When the window began.
    since: Nanos,
    /// Attempts admitted before this met the queue of the last decrease.
    epoch: Nanos,
    ended: u64,
    counted: u64,
    smallest: Nanos,
    peak: u32,
    /// The smallest delay of the last window that counted.
    delay: Nanos,
    decreases: u64,
}

pub(super) const ENTRY: Entry = Entry {
    name: "queue-delay",
    kind: Kind::Concurrency,
    summary: "shrinks while every attempt of a window has waited too long, by the length of that queue",
    source: "Damper; after CoDel (minimum over a window), Breakwater (queueing delay as the signal), Little's law",
    rule: "\
every window of 10 ends or more of attempts admitted since the last decrease:
  delay = their smallest wait; queue = delay × ended / window; allowed = max(1, target × ended / window)
  queue > allowed: limit = max(limit / 2, limit − max(1, queue − allowed))
  else if 2 × peak in_flight ≥ limit: limit = 2 × limit before the first decrease,
                                      limit + max(1, sqrt(limit)) after it
limit = clamp(limit, min, max); rejected, shed and cancelled attempts are no samples",
    when: "In front of a service that knows how long an attempt waited before its work began. \
           It needs no idea of a normal latency: work of any length, slow callees and incidents \
           do not mislead it.",
    traps: &[
        "Who cannot see the wait (`queued` always zero, as on the caller's side) has a limit that only grows.",
        "An order other than first-come lets somebody through at once, and the smallest wait is zero however long the queue: with `lifo` or strict priorities use `guarded`.",
        "Workers that share a processor slow each other down without anybody waiting.",
    ],
    parameters: &[
        INITIAL,
        Parameter { default: 1.0, ..MIN },
        Parameter { default: 1000.0, ..MAX },
        Parameter {
            name: "target",
            unit: Unit::Duration,
            default: 0.005,
            min: 1e-6,
            max: 3600.0,
            doc: "the standing wait that is allowed; CoDel's 5 ms",
        },
        Parameter {
            name: "window",
            unit: Unit::Duration,
            default: 0.1,
            min: 0.001,
            max: 3600.0,
            doc: "how long it has to stand; CoDel's 100 ms",
        },
    ],
    readings: &[
        Reading::gauge("limit", "attempts that may be in flight"),
        Reading::gauge("queue_delay_s", "the smallest wait of the last window that counted"),
        Reading::gauge("slow_start", "1 until the first standing queue"),
        Reading::counter("decreases", "windows with a standing queue"),
    ],
    build: Build::Concurrency(|p| match *p {
        [initial, min, max, target, window] => QueueDelay::try_new(QueueDelayConfig {
            initial: whole(initial)?,
            min: whole(min)?,
            max: whole(max)?,
            target: seconds(target)?,
            window: seconds(window)?,
        })
        .map(Into::into),
        _ => None,
    }),
};

impl QueueDelay {
    /// Attempts without which a window stays open: that so many waited in a row is no chance.
    const ENOUGH: u64 = 10;

    /// A limit that starts at `initial`. `None` unless min ≤ initial ≤ max and everything is in
    /// the range that [`QueueDelayConfig`] states.
    #[must_use]
    pub fn try_new(config: QueueDelayConfig) -> Option<Self> {
        let hour = Nanos::from_secs(3600);
        let valid = ordered(config.min, config.initial, config.max)
            && (Nanos(1_000)..=hour).contains(&config.target)
            && (Nanos::from_millis(1)..=hour).contains(&config.window);
        valid.then_some(Self {
            config,
            limit: f64::from(config.initial),
            slow_start: true,
            since: Nanos::ZERO,
            epoch: Nanos::ZERO,
            ended: 0,
            counted: 0,
            smallest: Nanos::MAX,
            peak: 0,
            delay: Nanos::ZERO,
            decreases: 0,
        })
    }

    fn close_window(&mut self, now: Nanos) {
        self.delay = self.smallest;
        let throughput = self.ended as f64 / now.since(self.since).as_secs_f64();
        let queue = throughput * self.delay.as_secs_f64();
        let excess = queue - (throughput * self.config.target.as_secs_f64()).max(1.0);
        let new = if excess > 0.0 {
            self.slow_start = false;
            self.epoch = now;
            self.decreases += 1;
            (self.limit - excess.max(1.0)).max(self.limit / 2.0)
        } else if f64::from(self.peak) * 2.0 < self.limit {
            self.limit
        } else if self.slow_start {
            self.limit * 2.0
        } else {
            self.limit + libm::sqrt(self.limit).max(1.0)
        };
        self.limit = new.clamp(f64::from(self.config.min), f64::from(self.config.max));
        self.since = now;
        (self.ended, self.counted, self.smallest, self.peak) = (0, 0, Nanos::MAX, 0);
    }
}

impl ConcurrencyLimit for QueueDelay {
    #[inline]
    fn limit(&self) -> u32 {
        self.limit as u32
    }

    #[inline]
    fn record<R: Rng + ?Sized>(&mut self, now: Nanos, sample: &Sample, _: &mut R) {
        // A clock that was set back must neither stop the window nor make all attempts old ones.
        self.since = self.since.min(now);
        self.epoch = self.epoch.min(now);
        if self.counted >= Self::ENOUGH && now.since(self.since) >= self.config.window {
            self.close_window(now);
        }
        if !matches!(
            sample.outcome,
            Some(Outcome::Success | Outcome::TimedOut | Outcome::Failed | Outcome::FailedBelow)
        ) {
            return;
        }
        self.ended += 1;
        self.peak = self.peak.max(sample.in_flight);
        if sample.started >= self.epoch {
            self.counted += 1;
            self.smallest = self.smallest.min(sample.queued);
        }
    }
}

impl Observe for QueueDelay {
    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("limit", f64::from(self.limit()));
        see("queue_delay_s", self.delay.as_secs_f64());
        see("slow_start", f64::from(u8::from(self.slow_start)));
        see("decreases", self.decreases as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::super::plant::{any_sample, ms, success};
    use super::*;
    use crate::testing::Zero;
    use proptest::prelude::*;

    fn default() -> QueueDelay {
        QueueDelay::try_new(QueueDelayConfig::default()).unwrap()
    }

    /// `n` attempts that were admitted at `started` and waited `queued`, all ended at `now`.
    fn feed(l: &mut QueueDelay, started: u64, now: u64, queued: Nanos, in_flight: u32, n: u32) {
        for _ in 0..n {
            let sample = Sample { started: ms(started), queued, ..success(ms(20), in_flight) };
            l.record(ms(now), &sample, &mut Zero);
        }
    }

    #[test]
    fn state_after_each_step_by_hand() {
        let mut l = default();
        feed(&mut l, 0, 10, ms(0), 10, 10);
        assert_eq!(l.limit(), 20, "the window is open");
        feed(&mut l, 90, 100, ms(0), 20, 10);
        assert_eq!((l.limit(), l.slow_start), (40, true), "doubles: half was in use");
        feed(&mut l, 190, 200, ms(7), 40, 50);
        assert_eq!(l.limit(), 80, "those that ended at 100 ms had not waited");
        feed(&mut l, 190, 299, ms(7), 40, 50);
        feed(&mut l, 290, 300, ms(25), 80, 10);
        // 100 attempts in 100 ms waited 7 ms at least: 7 of them at a time, 5 are allowed.
        assert_eq!((l.limit(), l.slow_start, l.decreases), (78, false, 1));
        assert_eq!((l.delay, l.epoch), (ms(7), ms(300)));
        feed(&mut l, 299, 350, ms(3), 78, 10);
        feed(&mut l, 300, 390, ms(30), 78, 80);
        feed(&mut l, 399, 400, ms(0), 78, 10);
        // 100 in 100 ms, 30 ms: 30 less 5. The 3 ms were admitted before the decrease.
        assert_eq!((l.limit(), l.decreases, l.delay), (53, 2, ms(30)));
        feed(&mut l, 399, 500, ms(90), 53, 10);
        assert_eq!(l.limit(), 53, "admitted before the second decrease: the window stays open");
        feed(&mut l, 500, 510, ms(5), 53, 10);
        feed(&mut l, 600, 600, ms(0), 26, 10);
        assert_eq!(l.limit, 53.0 + libm::sqrt(53.0), "no queue: the root of it");
        let grown = l.limit;
        feed(&mut l, 700, 700, ms(0), 26, 1);
        assert_eq!(l.limit, grown, "26 are less than half of 60");
    }

    #[test]
    fn never_more_than_half_at_once_and_at_least_one() {
        let mut l = default();
        feed(&mut l, 0, 0, ms(3_000), 20, 100);
        feed(&mut l, 100, 100, ms(0), 20, 1);
        assert_eq!(l.limit(), 10);
        let mut l = default();
        feed(&mut l, 0, 0, Nanos(5_000_100), 20, 1_000);
        feed(&mut l, 100, 100, ms(0), 20, 1);
        assert_eq!(l.limit(), 19);
    }

    #[test]
    fn one_attempt_may_wait_however_long_work_takes() {
        let mut l = default();
        // Five a second that wait 200 ms: one at a time, so that the worker is never idle.
        feed(&mut l, 0, 0, ms(200), 10, 10);
        feed(&mut l, 2_000, 2_000, ms(300), 10, 10);
        assert_eq!((l.limit(), l.decreases), (40, 0));
        // 300 ms: one and a half.
        feed(&mut l, 4_000, 4_000, ms(0), 10, 1);
        assert_eq!((l.limit(), l.decreases), (39, 1));
    }

    #[test]
    fn quick_rejections_do_not_hide_the_queue() {
        let mut l = default();
        feed(&mut l, 0, 0, ms(10), 20, 100);
        let rejected = Sample { outcome: Some(Outcome::Rejected), ..success(ms(0), 20) };
        l.record(ms(50), &rejected, &mut Zero);
        feed(&mut l, 100, 100, ms(0), 20, 1);
        assert_eq!((l.limit(), l.delay), (15, ms(10)), "ten at a time, five too many");
    }

    proptest! {
        #[test]
        fn stays_in_range(samples in prop::collection::vec(any_sample(), 0..300)) {
            let mut l = QueueDelay::try_new(QueueDelayConfig {
                initial: 7, min: 3, max: 11, ..QueueDelayConfig::default()
            }).unwrap();
            for (now, sample) in samples {
                l.record(now, &sample, &mut Zero);
                prop_assert!((3..=11).contains(&l.limit()));
            }
        }
    }
}
