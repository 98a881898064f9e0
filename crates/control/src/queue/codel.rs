//! CoDel as for packets: drops one attempt after the other, at intervals that shrink with the
//! square root of their number, until the wait is below the target.
//!
//! Source: Nichols and Jacobson, "Controlling Queue Delay" (ACM Queue 2012), in the form of
//! Linux `codel_impl.h`. Two things differ from Linux:
//!
//! - Linux lets a queue alone that holds no more than one packet's worth of bytes; here that is
//!   a queue in which nobody waits after the take.
//! - Linux approximates `1/sqrt(count)` by one Newton step per drop, which makes its second gap
//!   50 ms instead of 70.7 ms; from the third on the two are within 3 %. Here it is exact.
//!
//! Linux drops within one take until it returns a packet. Here each take is a question of its
//! own, and [`Step`] remembers where in Linux's loop the next one stands. (For an attempt that
//! the adapter takes in the place of one that was dropped the clock has not moved.)

use super::DropFrom;
use crate::Nanos;
use crate::entry::{Build, Entry, Kind, Parameter, Unit, seconds};
use crate::observe::{Observe, Reading};

/// Where in Linux's loop the next take stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// At its head.
    Fresh,
    /// The last one was dropped to begin dropping: this one is served.
    Entered,
    /// The last one was dropped while dropping: this one decides when the next drop is due.
    Dropped,
}

/// CoDel as for packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Codel {
    target: Nanos,
    interval: Nanos,
    /// When waits will have been above the target for an interval; `None`: the last was not.
    first_above: Option<Nanos>,
    drop_next: Nanos,
    count: u32,
    last_count: u32,
    dropping: bool,
    step: Step,
    dropped: u64,
    entered: u64,
}

pub(super) const ENTRY: Entry = Entry {
    name: "codel",
    kind: Kind::Drop,
    summary: "CoDel as for packets: drops at intervals that shrink until the wait is below the target",
    source: "Nichols and Jacobson, Controlling Queue Delay, ACM Queue 10(5), 2012; Linux codel_impl.h; RFC 8289",
    rule: "\
ok_to_drop: if waited < target or nobody else waits: first_above = none; no
            if first_above = none: first_above = now + interval; no
            now > first_above
not dropping, ok_to_drop: drop it; serve the next; dropping
    count = count - last_count if that is > 1 and now - drop_next < 16 × interval, else 1
    last_count = count; drop_next = now + interval / sqrt(count)
dropping, not ok_to_drop: serve it; not dropping
dropping, now >= drop_next: drop it; count += 1; if the next is ok_to_drop:
    drop_next += interval / sqrt(count), and once more",
    when: "To compare with. It is made for senders that slow down when one packet is lost: a \
           server whose callers do not, or retry, drops far too little; `codel-timeout` and \
           `codel-min-delay` are what became of it in services.",
    traps: &[
        "Its first gaps are 100, 70.7, 57.7 and 50 ms: against an overload by a thousand attempts per second it needs minutes.",
        "With `lifo` the wait it sees is that of the newest: it never sees the overload.",
        "A target of 5 ms takes for granted that a healthy queue is much shorter.",
    ],
    parameters: &[
        Parameter {
            name: "target",
            unit: Unit::Duration,
            default: 0.005,
            min: 1e-6,
            max: 3600.0,
            doc: "the wait below which nothing is wrong",
        },
        Parameter {
            name: "interval",
            unit: Unit::Duration,
            default: 0.1,
            min: 1e-6,
            max: 3600.0,
            doc: "how long waits must be above it before the first drop; the first gap between drops",
        },
    ],
    readings: &[
        Reading::gauge("dropping", "1 while it drops"),
        Reading::gauge("count", "drops since it began to drop, which set the gap to the next"),
        Reading::counter("entered", "times that it began to drop"),
        Reading::counter("dropped", "attempts dropped"),
    ],
    build: Build::Drop(|p| match *p {
        [target, interval] => Codel::try_new(seconds(target)?, seconds(interval)?).map(Into::into),
        _ => None,
    }),
};

impl Codel {
    /// Drops when waits have been above `target` for an `interval`. `None` unless both are
    /// from 1 µs to 1 h.
    #[must_use]
    pub fn try_new(target: Nanos, interval: Nanos) -> Option<Self> {
        let valid = |t: Nanos| t >= Nanos(1000) && t <= Nanos::from_secs(3600);
        (valid(target) && valid(interval)).then_some(Self {
            target,
            interval,
            first_above: None,
            drop_next: Nanos::ZERO,
            count: 0,
            last_count: 0,
            dropping: false,
            step: Step::Fresh,
            dropped: 0,
            entered: 0,
        })
    }

    /// The time between two drops after `count` of them.
    fn gap(&self) -> Nanos {
        self.interval.scale(1.0 / libm::sqrt(f64::from(self.count)))
    }

    fn ok_to_drop(&mut self, now: Nanos, waited: Nanos, waiting: u32) -> bool {
        if waited < self.target || waiting == 0 {
            self.first_above = None;
            return false;
        }
        match self.first_above {
            None => {
                self.first_above = Some(now + self.interval);
                false
            }
            Some(at) => now > at,
        }
    }

    fn drop_one(&mut self, step: Step) -> bool {
        self.step = step;
        self.dropped += 1;
        true
    }
}

impl DropFrom for Codel {
    #[inline]
    fn joined(&mut self, _: Nanos, waiting: u32) {
        if waiting == 0 {
            // Others left and the queue was empty: what Linux sees as a take that finds nothing.
            self.first_above = None;
            self.dropping = false;
            self.step = Step::Fresh;
        }
    }

    #[inline]
    fn drops(&mut self, now: Nanos, waited: Nanos, waiting: u32) -> bool {
        let ok = self.ok_to_drop(now, waited, waiting);
        match core::mem::replace(&mut self.step, Step::Fresh) {
            Step::Entered => return false,
            Step::Dropped if ok => self.drop_next = self.drop_next + self.gap(),
            _ => {}
        }
        if self.dropping {
            self.dropping = ok;
            if ok && now >= self.drop_next {
                self.count = self.count.saturating_add(1);
                return self.drop_one(Step::Dropped);
            }
            return false;
        }
        if !ok {
            return false;
        }
        self.dropping = true;
        self.entered += 1;
        let delta = self.count - self.last_count;
        let recent = now.since(self.drop_next).0 < self.interval.0 * 16;
        self.count = if delta > 1 && recent { delta } else { 1 };
        self.last_count = self.count;
        self.drop_next = now + self.gap();
        self.drop_one(Step::Entered)
    }
}

impl Observe for Codel {
    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("dropping", f64::from(u8::from(self.dropping)));
        see("count", f64::from(self.count));
        see("entered", self.entered as f64);
        see("dropped", self.dropped as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    const MS: fn(u64) -> Nanos = Nanos::from_millis;

    fn rule() -> Codel {
        Codel::try_new(MS(5), MS(100)).unwrap()
    }

    /// Takes every tenth of a millisecond from `from` to `to`, each of which waited `waited`; the
    /// times of the drops in tenths of a millisecond.
    fn drops(r: &mut Codel, from: u64, to: u64, waited: Nanos) -> Vec<u64> {
        let mut times = Vec::new();
        for t in from..to {
            while r.drops(Nanos(t * 100_000), waited, 9) {
                times.push(t);
            }
        }
        times
    }

    /// The wait is above the target from 1 s on. The first drop comes when it has been so for
    /// more than 100 ms; the gaps after it are 100/sqrt(1), 100/sqrt(2), …
    #[test]
    fn gaps_shrink_with_the_square_root() {
        let mut r = rule();
        let times = drops(&mut r, 10_000, 15_500, MS(20));
        // 1.1001 s, then + 100, + 70.7107, + 57.7350, + 50, + 44.7214, + 40.8248, each at the
        // next tenth of a millisecond.
        assert_eq!(times[..6], [11_001, 12_001, 12_709, 13_286, 13_786, 14_233]);
        assert_eq!((r.entered, r.dropping), (1, true));
    }

    #[test]
    fn short_waits_and_short_queues_are_let_alone() {
        let mut r = rule();
        assert!(drops(&mut r, 0, 20_000, Nanos(4_999_999)).is_empty(), "below the target");
        for t in 0..2000 {
            assert!(!r.drops(MS(t), MS(500), 0), "nobody else waits");
        }
        assert_eq!(drops(&mut r, 20_000, 22_000, MS(5)).len(), 1, "the target itself is above");
    }

    /// One short wait ends it. Coming back within 16 intervals it goes on with the drops since
    /// it began; later it begins anew.
    #[test]
    fn it_comes_back_at_the_rate_it_had() {
        for (pause_ms, count) in [(200, 4), (1540, 4), (1550, 1)] {
            let mut r = rule();
            let times = drops(&mut r, 10_000, 13_790, MS(20));
            assert_eq!((times.len(), r.count, r.last_count), (5, 5, 1));
            assert_eq!(r.drop_next.0 / 100_000, 14_232, "13785.5 and 100/sqrt(5)");
            assert!(!r.drops(MS(1379), MS(4), 9));
            assert!(!r.dropping);
            let back = 13_790 + pause_ms * 10;
            let times = drops(&mut r, back, back + 1_002, MS(20));
            assert_eq!(times, [back + 1_001], "after an interval above the target");
            assert_eq!((r.count, r.last_count), (count, count), "after {pause_ms} ms");
        }
    }

    /// After a gap in the takes several drops are due at once.
    #[test]
    fn it_catches_up_within_one_take() {
        let mut r = rule();
        assert_eq!(drops(&mut r, 10_000, 11_002, MS(20)), [11_001]);
        // Due at 1200.1, 1270.8, 1328.5, 1378.5 and 1423.3 ms.
        assert_eq!(drops(&mut r, 14_000, 14_001, MS(20)), [14_000; 4]);
        assert_eq!(r.count, 5);
    }

    /// The one after the first drop is served, whatever it waited, as in Linux.
    #[test]
    fn the_first_drop_is_one_only() {
        let mut r = rule();
        r.drops(MS(0), MS(50), 9);
        assert!(r.drops(MS(500), MS(50), 9));
        assert!(!r.drops(MS(500), MS(50), 9));
        assert!(!r.drops(MS(500), MS(50), 9));
        assert_eq!(r.drop_next, MS(600));
        // A short wait of the one after it does not end what has just begun; the one after does.
        r = rule();
        r.drops(MS(0), MS(50), 9);
        assert!(r.drops(MS(500), MS(50), 9));
        assert!(!r.drops(MS(500), MS(1), 9));
        assert!(r.dropping && r.first_above.is_none());
        assert!(!r.drops(MS(501), MS(50), 9));
        assert!(!r.dropping);
    }

    #[test]
    fn a_queue_that_others_emptied_ends_it() {
        let mut r = rule();
        drops(&mut r, 10_000, 11_002, MS(20));
        r.joined(MS(1101), 0);
        assert!(!r.dropping && r.first_above.is_none());
    }

    /// Linux's Newton step in its fixed point with 16 bits, against the exact root.
    #[test]
    fn newton_steps_agree_within_three_percent_from_the_third_drop() {
        let mut root = u64::from(u16::MAX);
        let mut worst_late: f64 = 0.0;
        for count in 2u64..2000 {
            let y = root << 16;
            let val = ((3u64 << 32) - count * ((y * y) >> 32)) >> 2;
            root = ((val * y) >> 31) >> 16;
            let off = (root as f64 / 65536.0) * libm::sqrt(count as f64) - 1.0;
            match count {
                2 => assert!((off + 0.2929).abs() < 1e-4, "50 ms instead of 70.7: {off}"),
                3..10 => assert!(off.abs() < 0.03, "{count}: {off}"),
                _ => worst_late = worst_late.max(off.abs()),
            }
        }
        assert!(worst_late < 0.004, "{worst_late}");
    }

    #[test]
    fn refuses_impossible_settings() {
        for (target, interval) in [(Nanos(999), MS(1)), (MS(1), Nanos(999)), (Nanos::MAX, MS(1))] {
            assert!(Codel::try_new(target, interval).is_none(), "{target} {interval}");
        }
    }

    proptest! {
        /// Whatever the clock does: no drop of a wait below the target or of the last one.
        #[test]
        fn never_drops_below_the_target(
            ops in prop::collection::vec((any::<bool>(), any::<u64>(), 0u64..20_000_000, 0u32..3), 0..300),
        ) {
            let mut r = rule();
            for (join, now, waited, waiting) in ops {
                if join {
                    r.joined(Nanos(now), waiting);
                } else if r.drops(Nanos(now), Nanos(waited), waiting) {
                    prop_assert!(waited >= 5_000_000 && waiting > 0);
                }
                prop_assert!(r.count >= r.last_count);
            }
        }
    }
}
