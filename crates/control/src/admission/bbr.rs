//! Sentinel's system rule: bounds what is inside by bandwidth × delay, once the load is high.
//!
//! Source: Alibaba Sentinel `SystemRuleManager`, `StatisticNode`. [`BbrByClass`] is ours.

mod by_class;
#[cfg(test)]
mod tests;

use rand_core::Rng;

use super::{AdmissionRule, Busy};
use crate::entry::{Build, Entry, Kind, Parameter, Unit, seconds, whole};
use crate::observe::{Observe, Reading};
use crate::who::Who;
use crate::{Nanos, Outcome, Reason, Refusal};

pub use by_class::ByClass as BbrByClass;
pub(super) use by_class::ENTRY as BY_CLASS;

const HALF: u64 = 500_000_000;
const MILLI: u64 = 1_000_000;
/// `csp.sentinel.statistic.max.rt`, and what stands where nothing was measured.
const MAX_RT_MS: u64 = 5_000;

/// Half a second of Sentinel's inbound statistics.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    /// Which half second since the origin.
    index: u64,
    passed: u64,
    ended: u64,
    total_ms: u64,
    lowest_ms: u64,
}

impl Bucket {
    const fn new(index: u64) -> Self {
        Self { index, passed: 0, ended: 0, total_ms: 0, lowest_ms: MAX_RT_MS }
    }
}

/// Sentinel's system rule.
#[derive(Clone, Debug)]
pub struct Bbr {
    load: f64,
    cpu: f64,
    qps: f64,
    threads: u32,
    rt: Nanos,
    buckets: [Bucket; 2],
    refused: u64,
}

pub(super) const LOAD: Parameter = Parameter {
    name: "load",
    unit: Unit::Percent,
    default: 80.0,
    min: 0.0,
    max: 100.0,
    doc: "utilisation above which attempts inside are bounded",
};

pub(super) const ENTRY: Entry = Entry {
    name: "bbr",
    kind: Kind::Admission,
    summary: "Sentinel's system rule: when the load is high, no more inside than the best rate × the lowest time",
    source: "Alibaba Sentinel SystemRuleManager; issue 3212; sentinel-golang issue 436",
    rule: "\
refuse if  passed in the last second + 1 > max_qps
       or  inside > max_threads
       or  average time > max_rt
       or  utilisation > load and not bbr_ok
       or  utilisation > cpu
bbr_ok = inside <= 1  or  inside <= best × 2 × lowest_ms / 1000
best, lowest_ms: most ends and lowest time of two half seconds; at least 1, in whole ms, 5000 if none
inside: waiting and being worked on, as Sentinel's threads are",
    when: "As a last resort for a whole process. Sentinel compares the load average of the machine, \
           which lags a minute; here it is the utilisation.",
    traps: &[
        "The lowest time of the last second is measured under load: where attempts wait in a queue it holds the wait, and the bound is what is inside already (sentinel-golang 436).",
        "Times are whole milliseconds and at least one: a service that answers in 0.1 ms may hold ten times what it should.",
        "Rate × time is a number of attempts (Little's law), so that its comparison with threads is right (3212 says otherwise).",
        "max_qps compares with what ended and passed in two half seconds: a burst at the edge passes.",
        "Nothing was set in Sentinel by default; 80 % is ours. Classes are not told apart.",
    ],
    parameters: &[
        LOAD,
        Parameter {
            name: "cpu",
            unit: Unit::Percent,
            default: 0.0,
            min: 0.0,
            max: 100.0,
            doc: "utilisation above which all are refused; 0: not set",
        },
        Parameter {
            name: "max_qps",
            unit: Unit::Rate,
            default: 0.0,
            min: 0.0,
            max: 1e9,
            doc: "attempts admitted per second; 0: not set",
        },
        Parameter {
            name: "max_threads",
            unit: Unit::Count,
            default: 0.0,
            min: 0.0,
            max: 4_294_967_295.0,
            doc: "attempts inside; 0: not set",
        },
        Parameter {
            name: "max_rt",
            unit: Unit::Duration,
            default: 0.0,
            min: 0.0,
            max: 3600.0,
            doc: "average time above which all are refused; 0: not set",
        },
    ],
    readings: &[
        Reading::gauge("bound", "attempts inside that the product allows (best × 2 × lowest)"),
        Reading::gauge("lowest_s", "lowest time of the window"),
        Reading::counter("refused", "attempts refused"),
    ],
    build: Build::Admission(|p| match *p {
        [load, cpu, qps, threads, rt] => {
            Bbr::try_new(load, cpu, qps, whole(threads)?, seconds(rt)?).map(Into::into)
        }
        _ => None,
    }),
};

impl Bbr {
    /// A rule that has measured nothing. For all but `load`, 0 means "not set". `None` unless
    /// load and cpu are 0 to 100 percent, 0 ≤ qps ≤ 10^9 and rt ≤ 1 h.
    #[must_use]
    pub fn try_new(load: f64, cpu: f64, qps: f64, threads: u32, rt: Nanos) -> Option<Self> {
        let valid = (0.0..=100.0).contains(&load)
            && (0.0..=100.0).contains(&cpu)
            && (0.0..=1e9).contains(&qps)
            && rt <= Nanos::from_secs(3600);
        valid.then_some(Self {
            load: load / 100.0,
            cpu: cpu / 100.0,
            qps,
            threads,
            rt,
            buckets: [Bucket::new(0), Bucket::new(1)],
            refused: 0,
        })
    }

    /// Attempts inside that best rate × lowest time allows.
    #[must_use]
    pub fn bound(&self) -> f64 {
        let best = self.buckets.iter().map(|b| b.ended).max().unwrap_or(0).max(1);
        best as f64 * 2.0 * self.lowest_ms() as f64 / 1000.0
    }

    fn lowest_ms(&self) -> u64 {
        self.buckets.iter().map(|b| b.lowest_ms).min().unwrap_or(MAX_RT_MS).max(1)
    }

    /// The bucket of `now`, after forgetting what is older than the half second before it.
    fn current(&mut self, now: Nanos) -> &mut Bucket {
        let index = now.0 / HALF;
        let slot = (index % 2) as usize;
        if self.buckets[slot].index != index {
            self.buckets[slot] = Bucket::new(index);
        }
        // Of the half second before, or of another time altogether.
        if self.buckets[1 - slot].index.wrapping_add(1) != index {
            self.buckets[1 - slot] = Bucket::new(index.wrapping_sub(1));
        }
        &mut self.buckets[slot]
    }

    fn blocks(&self, busy: &Busy) -> bool {
        let passed: u64 = self.buckets.iter().map(|b| b.passed).sum();
        let ended: u64 = self.buckets.iter().map(|b| b.ended).sum();
        let total: u64 = self.buckets.iter().fold(0, |sum, b| sum.saturating_add(b.total_ms));
        let inside = inside(busy);
        let average_ms = if ended == 0 { 0.0 } else { total as f64 / ended as f64 };
        (self.qps > 0.0 && (passed + 1) as f64 > self.qps)
            || (self.threads > 0 && inside > self.threads)
            || (self.rt > Nanos::ZERO && average_ms > self.rt.0 as f64 / MILLI as f64)
            || (busy.utilisation > self.load && inside > 1 && f64::from(inside) > self.bound())
            || (self.cpu > 0.0 && busy.utilisation > self.cpu)
    }
}

/// Attempts that were let in and have not gone.
fn inside(busy: &Busy) -> u32 {
    busy.waiting.saturating_add(busy.working)
}

/// Whether the attempt was worked on: only such a time says something about the service.
fn was_worked_on(outcome: Option<Outcome>) -> bool {
    !matches!(outcome, None | Some(Outcome::Rejected | Outcome::Shed))
}

impl AdmissionRule for Bbr {
    fn admit<R: Rng + ?Sized>(
        &mut self,
        now: Nanos,
        who: Who,
        busy: &Busy,
        _: &mut R,
    ) -> Result<(), Refusal> {
        self.current(now);
        if self.blocks(busy) {
            self.refused += 1;
            return Err(Refusal::new(Reason::Shed, who.class));
        }
        self.current(now).passed += 1;
        Ok(())
    }

    fn settle(&mut self, now: Nanos, _: Who, latency: Nanos, outcome: Option<Outcome>) {
        if !was_worked_on(outcome) {
            return;
        }
        let ms = latency.0 / MILLI;
        let bucket = self.current(now);
        bucket.ended += 1;
        bucket.total_ms = bucket.total_ms.saturating_add(ms);
        bucket.lowest_ms = bucket.lowest_ms.min(ms);
    }
}

impl Observe for Bbr {
    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("bound", self.bound());
        see("lowest_s", self.lowest_ms() as f64 / 1000.0);
        see("refused", self.refused as f64);
    }
}
