//! Sentinel's system rule without its faults, and by class.
//!
//! Source: Damper, after `bbr`. Times are nanoseconds. The lowest time is kept for ten seconds, as
//! in TCP BBR, and found again by letting the service run dry for a moment, so that it is not the
//! time of a queue (sentinel-golang issue 436).

use rand_core::Rng;

use super::{HALF, LOAD, inside, was_worked_on};
use crate::admission::{AdmissionRule, Busy};
use crate::entry::{Build, Entry, Kind, Parameter, Unit, whole};
use crate::observe::{Observe, Reading};
use crate::who::{CLASSES, Who};
use crate::{Nanos, Outcome, Reason, Refusal};

/// How long TCP BBR trusts a lowest time.
const TRUST: Nanos = Nanos::from_secs(10);
/// How long TCP BBR probes for a new one, at least.
const PROBE: Nanos = Nanos::from_millis(200);

#[derive(Clone, Copy, Debug)]
struct Probe {
    until: Nanos,
    lowest: Option<Nanos>,
}

/// Bandwidth × delay by class.
#[derive(Clone, Debug)]
pub struct ByClass {
    load: f64,
    lowest_class: u32,
    /// Ends of the half second now and of the one before.
    index: u64,
    ended: [u64; 2],
    pub(super) lowest: Option<Nanos>,
    pub(super) measured: Nanos,
    probe: Option<Probe>,
    pub(super) probes: u64,
    refused: u64,
}

pub(in crate::admission) const ENTRY: Entry = Entry {
    name: "bbr-by-class",
    kind: Kind::Admission,
    summary: "when the load is high, bounds what is inside by best rate × lowest time, for lower classes sooner",
    source: "Damper, after Sentinel's system rule and TCP BBR; sentinel-golang issue 436",
    rule: "\
product = most ends of two half seconds (at least 1) × 2 × lowest time
class k of n refuses iff utilisation > load and inside > 1
                         and inside > product × (1 + (n - 1 - k) / (n - 1))
lowest time: kept until a time as low comes; after 10 s without one, a probe:
for max(200 ms, 4 × lowest) refuse iff utilisation > load and inside > 1,
then the lowest time is the lowest seen in the probe",
    when: "Instead of `bbr`. The lowest class never waits behind a queue, the highest waits for one \
           service time at most.",
    traps: &[
        "A probe costs up to 2 % of the capacity, and only while the load is high for more than ten seconds.",
        "Work of very different sizes has a lowest time that says little: the bound is then too low.",
    ],
    parameters: &[
        LOAD,
        Parameter {
            name: "classes",
            unit: Unit::Count,
            default: 4.0,
            min: 2.0,
            max: CLASSES as f64,
            doc: "classes that are told apart",
        },
    ],
    readings: &[
        Reading::gauge("bound", "attempts inside up to which the lowest class is admitted"),
        Reading::gauge("lowest_s", "lowest time"),
        Reading::counter("probes", "probes for a new lowest time"),
        Reading::counter("refused", "attempts refused"),
    ],
    build: Build::Admission(|p| match *p {
        [load, classes] => ByClass::try_new(load, whole(classes)?).map(Into::into),
        _ => None,
    }),
};

impl ByClass {
    /// A rule that has measured nothing. `None` unless load is 0 to 100 percent and 2 ≤ classes
    /// ≤ 16.
    #[must_use]
    pub fn try_new(load: f64, classes: u32) -> Option<Self> {
        let valid = (0.0..=100.0).contains(&load) && (2..=CLASSES as u32).contains(&classes);
        valid.then(|| Self {
            load: load / 100.0,
            lowest_class: classes - 1,
            index: 0,
            ended: [0; 2],
            lowest: None,
            measured: Nanos::ZERO,
            probe: None,
            probes: 0,
            refused: 0,
        })
    }

    /// Attempts inside that best rate × lowest time allows; infinite before the first end.
    #[must_use]
    pub fn bound(&self) -> f64 {
        // Where nothing ends any more, one end is assumed, as Sentinel does: a service that hangs
        // must not be taken for one of which nothing is known.
        let best = self.ended[0].max(self.ended[1]).max(1);
        match self.lowest {
            Some(lowest) => best as f64 * 2.0 * lowest.as_secs_f64(),
            None => f64::INFINITY,
        }
    }

    fn roll(&mut self, now: Nanos) {
        let index = now.0 / HALF;
        if index != self.index {
            let before = if self.index.wrapping_add(1) == index { self.ended[0] } else { 0 };
            self.ended = [0, before];
            self.index = index;
        }
    }

    /// Begins or ends a probe.
    fn tend(&mut self, now: Nanos) {
        let Some(lowest) = self.lowest else { return };
        match self.probe {
            None if now.since(self.measured) > TRUST => {
                let long = Nanos(lowest.0.saturating_mul(4)).max(PROBE);
                self.probe = Some(Probe { until: now + long, lowest: None });
                self.probes += 1;
            }
            Some(probe) if now >= probe.until => {
                self.lowest = probe.lowest.or(self.lowest);
                self.measured = now;
                self.probe = None;
            }
            _ => {}
        }
        if now < self.measured {
            self.measured = now;
        }
    }
}

impl AdmissionRule for ByClass {
    fn admit<R: Rng + ?Sized>(
        &mut self,
        now: Nanos,
        who: Who,
        busy: &Busy,
        _: &mut R,
    ) -> Result<(), Refusal> {
        self.roll(now);
        let inside = inside(busy);
        if busy.utilisation > self.load {
            self.tend(now);
            let class = u32::from(who.class).min(self.lowest_class);
            let steps = f64::from(self.lowest_class - class) / f64::from(self.lowest_class);
            let over = self.probe.is_some() || f64::from(inside) > self.bound() * (1.0 + steps);
            if inside > 1 && over {
                self.refused += 1;
                let refusal = Refusal::new(Reason::Shed, who.class);
                return Err(match self.probe {
                    Some(probe) => refusal.until(probe.until),
                    None => refusal,
                });
            }
        }
        Ok(())
    }

    fn settle(&mut self, now: Nanos, _: Who, latency: Nanos, outcome: Option<Outcome>) {
        if !was_worked_on(outcome) {
            return;
        }
        self.roll(now);
        self.ended[0] += 1;
        if self.lowest.is_none_or(|lowest| latency <= lowest) {
            self.lowest = Some(latency);
            self.measured = now;
            self.probe = None;
        } else if let Some(probe) = &mut self.probe {
            probe.lowest = Some(probe.lowest.map_or(latency, |lowest| lowest.min(latency)));
        }
    }
}

impl Observe for ByClass {
    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        let bound = self.bound();
        see("bound", if bound.is_finite() { bound } else { 0.0 });
        see("lowest_s", self.lowest.unwrap_or_default().as_secs_f64());
        see("probes", self.probes as f64);
        see("refused", self.refused as f64);
    }
}
