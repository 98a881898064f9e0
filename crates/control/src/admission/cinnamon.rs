//! Cinnamon: a PID controller decides which share to refuse, the priorities decide whom.
//!
//! Source: Uber's articles on Cinnamon (2023) and public replicas of it; Uber's code is not
//! public. What the articles leave open was decided here and is named as such in [`ENTRY`].

#[cfg(test)]
mod tests;
mod tuner;

use rand_core::Rng;

use super::ranks::Ranks;
use super::{AdmissionRule, Busy};
use crate::entry::{Build, Entry, Kind, Parameter, Unit, seconds};
use crate::observe::{Observe, Reading};
use crate::who::Who;
use crate::{Nanos, Outcome, Reason, Refusal};

pub use tuner::Tuner;

/// What the error is divided by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Per {
    /// Attempts that left the queue, as published.
    Served,
    /// Attempts that came, refused or not.
    Arrived,
}

/// What happened in an interval.
#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    arrived: u32,
    joined: u32,
    left: u32,
}

/// Uber's load shedder.
#[derive(Clone, Debug)]
pub struct Cinnamon {
    interval: Nanos,
    kp: f64,
    ki: f64,
    per: Per,
    /// Ki × the sum of errors, within 0 and 1.
    integral: f64,
    ratio: f64,
    /// The first rank that is refused.
    threshold: u32,
    next: Option<Nanos>,
    flow: Flow,
    ranks: Ranks,
    tuner: Tuner,
    in_flight: u32,
    refused: u64,
}

const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "interval",
        unit: Unit::Duration,
        default: 0.5,
        min: 0.001,
        max: 3600.0,
        doc: "time between two settings of the threshold",
    },
    Parameter {
        name: "kp",
        unit: Unit::Number,
        default: Cinnamon::DEFAULT_KP,
        min: 0.0,
        max: 1000.0,
        doc: "weight of the error",
    },
    Parameter {
        name: "ki",
        unit: Unit::Number,
        default: Cinnamon::DEFAULT_KI,
        min: 0.0,
        max: 1000.0,
        doc: "weight of the sum of errors",
    },
];

const READINGS: &[Reading] = &[
    Reading::gauge("ratio", "share of the attempts to be refused"),
    Reading::gauge("threshold", "first rank that is refused; 2048: none"),
    Reading::gauge("tuned_limit", "the tuner's limit for attempts in flight"),
    Reading::counter("refused", "attempts refused"),
];

pub(super) const ENTRY: Entry = Entry {
    name: "cinnamon",
    kind: Kind::Admission,
    summary: "Uber's Cinnamon: a PID controller on what joins and leaves the queue refuses a share from the lowest priorities up",
    source: "Uber: Cinnamon (2023), second-hand; replicas algao1/crumbs and jfrz38/rate-limit-pid-controller",
    rule: "\
rank = class × 128 + cohort; refuse iff rank >= threshold
every 500 ms:
  in: joined the queue;  out: left it for a worker;  free = limit - being worked on
  e         = (in - out - free) / (out, or limit when out = 0)
  integral  = clamp(integral + Ki × e, 0, 1)            a bound against wind-up
  ratio     = clamp(Kp × e + integral, 0, 1)
  threshold = the lowest rank such that at most a share `ratio` of the last 1000 arrivals is at or beyond it
limit: the workers; for a service without that number, the tuner's (TCP Vegas, see Tuner)",
    when: "Services of any size without tuning for each, as long as attempts have priorities and \
           come from many users.",
    traps: &[
        "Uber has published the controller and its weights, not the clamps, the case out = 0, the bound on the integral or the filters of the tuner: those are choices made here.",
        "`in` must be what joins the queue. With all arrivals the error never falls while there is overload, and everybody is refused.",
        "The gain grows with the overload: an error is divided by what was served. With Ki = 1.4 the share swings above 1.4 times the capacity (failsafe-go, which began with this rule, went down to 0.14 and then left it); `cinnamon-by-arrivals` does not.",
        "The tuner knows the latency without a queue only if it has seen it in its last 50 intervals: begun in overload, it takes the wait for the work.",
        "A rank is refused in one piece: with few users the share is coarse.",
        "Until the first interval has passed all are admitted.",
    ],
    parameters: PARAMETERS,
    readings: READINGS,
    build: Build::Admission(|p| match *p {
        [interval, kp, ki] => Cinnamon::try_new(seconds(interval)?, kp, ki).map(Into::into),
        _ => None,
    }),
};

pub(super) const BY_ARRIVALS: Entry = Entry {
    name: "cinnamon-by-arrivals",
    kind: Kind::Admission,
    summary: "Cinnamon with a gain that does not grow with the overload",
    source: "Damper, after Uber's Cinnamon",
    rule: "\
as `cinnamon`, but
e = (in - out - free) / arrivals, refused ones included; limit when there were none
so that one step of Ki × e is Ki times what is wrong in the share, whatever the load",
    when: "Instead of `cinnamon` wherever overload can be more than 1.4 times the capacity.",
    traps: &[
        "Ki must stay below 2, or the share swings at any load.",
        "A rank is refused in one piece: with few users the share is coarse.",
    ],
    parameters: PARAMETERS,
    readings: READINGS,
    build: Build::Admission(|p| match *p {
        [interval, kp, ki] => Cinnamon::by_arrivals(seconds(interval)?, kp, ki).map(Into::into),
        _ => None,
    }),
};

impl Cinnamon {
    /// Uber's interval.
    pub const DEFAULT_INTERVAL: Nanos = Nanos::from_millis(500);
    /// Uber's weight of the error.
    pub const DEFAULT_KP: f64 = 0.1;
    /// Uber's weight of the sum of errors.
    pub const DEFAULT_KI: f64 = 1.4;

    /// A shedder that has seen nothing. `None` unless the interval is 1 ms to 1 h and the weights
    /// 0 to 1000.
    #[must_use]
    pub fn try_new(interval: Nanos, kp: f64, ki: f64) -> Option<Self> {
        Self::with(interval, kp, ki, Per::Served)
    }

    /// The same with the error as a share of arrivals.
    #[must_use]
    pub fn by_arrivals(interval: Nanos, kp: f64, ki: f64) -> Option<Self> {
        Self::with(interval, kp, ki, Per::Arrived)
    }

    fn with(interval: Nanos, kp: f64, ki: f64, per: Per) -> Option<Self> {
        let valid = (Nanos::from_millis(1)..=Nanos::from_secs(3600)).contains(&interval)
            && (0.0..=1000.0).contains(&kp)
            && (0.0..=1000.0).contains(&ki);
        let tuner = Tuner::try_new(Tuner::DEFAULT_INITIAL, 1, Tuner::DEFAULT_MOST)?;
        valid.then(|| Self {
            interval,
            kp,
            ki,
            per,
            integral: 0.0,
            ratio: 0.0,
            threshold: Ranks::BEYOND,
            next: None,
            flow: Flow::default(),
            ranks: Ranks::new(),
            tuner,
            in_flight: 0,
            refused: 0,
        })
    }

    /// The share of the attempts that is to be refused.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        self.ratio
    }

    /// Its tuner of the attempts in flight.
    #[must_use]
    pub fn tuner(&self) -> &Tuner {
        &self.tuner
    }

    /// Ends the intervals that are over.
    #[inline]
    fn tick(&mut self, now: Nanos, busy: &Busy) {
        // A clock that went back would otherwise stop the controller until it has caught up.
        if self.next.is_none_or(|next| next > now + self.interval) {
            self.next = Some(now + self.interval);
        }
        if self.next.is_some_and(|next| now >= next) {
            self.end_interval(now, busy);
        }
    }

    #[cold]
    fn end_interval(&mut self, now: Nanos, busy: &Busy) {
        let limit =
            f64::from(if busy.workers == u32::MAX { self.tuner.limit() } else { busy.workers });
        let free = limit - f64::from(busy.working);
        let next = self.next.unwrap_or(now);
        let missed = now.since(next).0 / self.interval.0;
        let flow = self.flow;
        self.flow = Flow::default();
        self.step(flow, free, limit.max(1.0));
        if missed > 0 {
            // Intervals in which nothing moved all have the same error.
            let idle = (-free / limit.max(1.0)) * missed as f64;
            self.step_by(idle);
        }
        self.threshold = self.ranks.threshold(self.ratio);
        self.next = Some(now + self.interval - Nanos(now.since(next).0 % self.interval.0));
    }

    /// One step of the controller.
    fn step(&mut self, flow: Flow, free: f64, limit: f64) {
        let served = match self.per {
            Per::Served => flow.left,
            Per::Arrived => flow.arrived,
        };
        let per = if served == 0 { limit } else { f64::from(served) };
        self.step_by((f64::from(flow.joined) - f64::from(flow.left) - free) / per);
    }

    fn step_by(&mut self, error: f64) {
        self.integral = (self.integral + self.ki * error).clamp(0.0, 1.0);
        self.ratio = (self.kp * error + self.integral).clamp(0.0, 1.0);
    }
}

impl AdmissionRule for Cinnamon {
    #[inline]
    fn admit<R: Rng + ?Sized>(
        &mut self,
        now: Nanos,
        who: Who,
        busy: &Busy,
        _: &mut R,
    ) -> Result<(), Refusal> {
        self.tick(now, busy);
        let rank = who.rank();
        self.ranks.push(rank);
        self.flow.arrived = self.flow.arrived.saturating_add(1);
        if rank >= self.threshold {
            self.refused += 1;
            let refusal = Refusal::new(Reason::Shed, who.class);
            return Err(self.next.map_or(refusal, |next| refusal.until(next)));
        }
        self.flow.joined = self.flow.joined.saturating_add(1);
        Ok(())
    }

    #[inline]
    fn taken(&mut self, now: Nanos, _: Who, _: Nanos, busy: &Busy) {
        self.tick(now, busy);
        self.flow.left = self.flow.left.saturating_add(1);
        self.in_flight = busy.working;
    }

    #[inline]
    fn settle(&mut self, now: Nanos, _: Who, latency: Nanos, outcome: Option<Outcome>) {
        if !matches!(outcome, None | Some(Outcome::Rejected | Outcome::Shed)) {
            self.tuner.record(now, latency, self.in_flight);
        }
    }
}

impl Observe for Cinnamon {
    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("ratio", self.ratio);
        see("threshold", f64::from(self.threshold));
        see("tuned_limit", f64::from(self.tuner.limit()));
        see("refused", self.refused as f64);
    }
}
