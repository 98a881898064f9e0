//! Kubernetes' API Priority and Fairness: fair queuing within priority levels that share and
//! lend the seats of a server.
//!
//! Source: KEP-1040 and kubernetes/apiserver `pkg/util/flowcontrol`. Each attempt belongs to a
//! level by its class, and there to one of the queues of its flow's hand (`shuffle`). A level
//! serves its queues by fair queuing (`fair`) in as many seats as it has (`levels`).
//!
//! What an order of service cannot do as Kubernetes does it:
//!
//! - Kubernetes has a thread per request and starts whatever has a seat. Here a worker asks; if
//!   there are fewer workers than seats, the level is next that uses the smallest part of its
//!   seats.
//! - Kubernetes lends seats every 10 s by a timer. Here that happens with the first event after
//!   it, with the demand as it was in each of the periods. What a level gets it uses from the
//!   next event on, so an adapter asks for every free worker after every event, and not only for
//!   the one that came free.
//! - A level that has lent all its seats may still use one; Kubernetes lets it wait for the timer.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::drop_tracker::DropTracker;
use super::fair::FairQueues;
use super::levels::{Claim, Demand, Excess, LevelConfig, PERIOD, Required, lend};
use super::shuffle::Dealer;
use super::{QueueOrder, Side, simple};
use crate::entry::{Build, Entry, Parameter, Unit, whole};
use crate::observe::{Observe, Reading};
use crate::who::{CLASSES, Who};
use crate::{Nanos, Reason, Refusal};

/// Most attempts for which it has room, in all queues of all levels.
const MOST_PLACES: u64 = 1 << 22;

/// How a server shares itself out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ApfConfig<'a> {
    /// Attempts that may be worked on at the same time.
    pub seats: u32,
    /// Queues of each level.
    pub queues: u32,
    /// Queues that one flow may use.
    pub hand: u32,
    /// Places in each queue.
    pub queue_length: u32,
    /// The priority levels: that of class 0 first. Classes beyond belong to the last.
    pub levels: &'a [LevelConfig],
    /// What the levels that are not exempt share.
    pub required: Required,
}

#[derive(Clone, Debug, PartialEq)]
struct Level {
    queues: FairQueues,
    config: LevelConfig,
    claim: Claim,
    demand: Demand,
    drops: DropTracker,
}

impl Level {
    fn ready(&self) -> bool {
        match self.config.excess {
            Excess::Exempt => self.queues.waiting() > 0,
            Excess::Queue | Excess::Reject => self.queues.ready(),
        }
    }

    /// Whether this level comes before the other: it has no limit, or uses a smaller part of it.
    fn before(&self, other: &Self) -> bool {
        if self.claim.exempt != other.claim.exempt {
            return self.claim.exempt;
        }
        let use_of = |a: &Self, b: &Self| {
            u64::from(a.queues.executing()) * u64::from(b.queues.limit().max(1))
        };
        use_of(self, other) < use_of(other, self)
    }

    fn note(&mut self, now: Nanos) {
        self.demand.set(now, self.queues.demand());
    }
}

/// Kubernetes' API Priority and Fairness.
#[derive(Clone, Debug, PartialEq)]
pub struct Apf {
    levels: Box<[Level]>,
    queues: usize,
    seats: u32,
    required: Required,
    /// When the period began; `None` before the first event.
    period: Option<Nanos>,
    /// The level served last.
    last: usize,
    fair: f64,
    dispatched: u64,
    queue_full: u64,
    no_seat: u64,
    left: u64,
}

pub(super) const ENTRY: Entry = Entry {
    name: "fair",
    summary: "Kubernetes' priority and fairness: fair queuing over flows, in priority levels that lend seats",
    source: "KEP-1040; kubernetes/apiserver pkg/util/flowcontrol (fairqueuing/queueset, conc_alloc, shufflesharding, dropped_requests_tracker)",
    rule: "\
join:  a hand of the level's queues by the flow's hash; of these the one where fewest wait
       that one full: refuse, with the level's Retry-After (1 s to 32 s)
       a queue that was idle: start = R
next:  a level with a seat free; its queue with the least start, in turn if equal
       start += 3 ms;  start = max(start, R when its oldest came)
done:  start -= 3 ms - worked
R:     grows per second by min(executing + waiting, seats of the level) / active queues
10 s:  seats of each level = clamp(fair × demand, what it keeps, what it may borrow)",
    when: "One server for many clients, of which some send far more than others. A flow that \
           floods fills its own queues, and another has the same part of the seats as long as not \
           all of its queues are the flood's: with 6 of 64 queues that is 1 flow in 75 million for \
           one flood, but 1 in 4 for sixteen. It needs `flow` of each attempt, and `seats` as many \
           as there are workers.",
    traps: &[
        "It refuses the newest of a full queue, and never drops who waits: combine it with a drop rule, or a wait limit of a quarter of the deadline as Kubernetes has it.",
        "A flow may have hand × queue_length waiting: 300 with the defaults, also if it is the only one.",
        "Fair is between queues: a flow with one attempt at a time has one of seven parts beside one that fills a hand of six.",
        "With `lendable` at 0, the default of Kubernetes' field, a level keeps its seats while they are idle and others wait.",
        "Lent seats come back after up to 10 s, and only when the borrower's attempts end: until then both use them, unless there are no more workers than seats.",
        "With exempt levels in use Kubernetes' code shares out more seats than there are (its design document does not).",
        "A `queue` limit of the service beside it counts all queues together, and refuses whoever comes when one flow has filled it: leave it out.",
        "Fewer queues per flow make collisions rarer for the others and its own waits longer.",
    ],
    parameters: &[
        Parameter {
            name: "seats",
            unit: Unit::Count,
            default: Apf::DEFAULT_SEATS as f64,
            min: 1.0,
            max: 1e6,
            doc: "attempts that may be worked on at the same time; set it to the service's workers (400 reading and 200 writing in Kubernetes)",
        },
        Parameter {
            name: "queues",
            unit: Unit::Count,
            default: 64.0,
            min: 1.0,
            max: 4096.0,
            doc: "queues of each level",
        },
        Parameter {
            name: "hand",
            unit: Unit::Count,
            default: 6.0,
            min: 1.0,
            max: 15.0,
            doc: "queues that one flow may use; hand × log2(queues) is at most 60",
        },
        Parameter {
            name: "queue_length",
            unit: Unit::Count,
            default: 50.0,
            min: 1.0,
            max: 65_536.0,
            doc: "places in each queue; at most 4,194,304 in all queues",
        },
        Parameter {
            name: "levels",
            unit: Unit::Count,
            default: 1.0,
            min: 1.0,
            max: CLASSES as f64,
            doc: "priority levels with equal shares, one for each class from 0 on; classes beyond belong to the last",
        },
        Parameter {
            name: "lendable",
            unit: Unit::Percent,
            default: 0.0,
            min: 0.0,
            max: 100.0,
            doc: "how much of a level's seats others may have while it does not need them (50 % of workload-high and global-default, 90 % of workload-low)",
        },
    ],
    readings: &[
        Reading::gauge("waiting", "attempts that wait (current_inqueue_requests)"),
        Reading::gauge("executing", "attempts in a seat (current_executing_seats)"),
        Reading::gauge("seats", "seats of all levels now (current_limit_seats)"),
        Reading::gauge("borrowed", "seats that levels have beyond their own"),
        Reading::gauge("fair", "what a level gets for each seat that it wants (seat_fair_frac)"),
        Reading::gauge(
            "current_r_s",
            "the furthest progress of a level, in seconds of a seat (current_r)",
        ),
        Reading::gauge("retry_after_s", "the longest Retry-After of a level"),
        Reading::counter("dispatched", "attempts that got a seat (dispatched_requests_total)"),
        Reading::counter(
            "rejected",
            "attempts that found their queue full (rejected_requests_total, queue-full)",
        ),
        Reading::counter(
            "no_seat",
            "attempts that found no seat where a level does not queue (concurrency-limit)",
        ),
        Reading::counter("left", "attempts that went away while they waited (time-out)"),
        Reading::counter(
            "epochs",
            "times that a level's progress started over (epoch_advance_total)",
        ),
    ],
    build: Build::Order(|p| match *p {
        [seats, queues, hand, length, levels, lendable] => {
            let levels = whole(levels)? as usize;
            let level = LevelConfig {
                shares: 1.0,
                lendable_percent: lendable,
                borrowing_percent: None,
                excess: Excess::Queue,
            };
            Apf::try_new(&ApfConfig {
                seats: whole(seats)?,
                queues: whole(queues)?,
                hand: whole(hand)?,
                queue_length: whole(length)?,
                levels: [level; CLASSES].get(..levels)?,
                required: Required::Nominal,
            })
            .map(Into::into)
        }
        _ => None,
    }),
    ..simple::FIFO
};

impl Apf {
    /// Kubernetes' default: 400 requests that read and 200 that write.
    pub const DEFAULT_SEATS: u32 = 600;

    /// An idle server. `None` if a number is out of its range, the hand does not fit the queues,
    /// there is no level or more than 16, or all levels have no shares.
    #[must_use]
    pub fn try_new(config: &ApfConfig<'_>) -> Option<Self> {
        let dealer = Dealer::try_new(config.queues, config.hand)?;
        let n = config.levels.len();
        let places = n as u64 * u64::from(config.queues) * u64::from(config.queue_length);
        let sum: f64 = config.levels.iter().map(|l| l.shares).sum();
        let valid = (1..=CLASSES).contains(&n)
            && (1..=1_000_000).contains(&config.seats)
            && config.queues <= 4096
            && (1..=65_536).contains(&config.queue_length)
            && places <= MOST_PLACES
            && config.levels.iter().all(LevelConfig::valid)
            && sum > 0.0;
        if !valid {
            return None;
        }
        let level = |level: &LevelConfig| {
            let bounds = level.bounds(config.seats, sum);
            let claim = Claim {
                bounds,
                exempt: level.excess == Excess::Exempt,
                // Before anything is lent: half of what may be.
                current: bounds.nominal - (bounds.nominal - bounds.min) / 2,
                ..Claim::default()
            };
            Level {
                queues: FairQueues::new(dealer.clone(), config.queue_length, claim.current),
                config: *level,
                claim,
                demand: Demand::default(),
                drops: DropTracker::default(),
            }
        };
        let mut apf = Self {
            levels: config.levels.iter().map(level).collect::<Vec<_>>().into(),
            queues: config.queues as usize,
            seats: config.seats,
            required: config.required,
            period: None,
            last: n - 1,
            fair: 0.0,
            dispatched: 0,
            queue_full: 0,
            no_seat: 0,
            left: 0,
        };
        // As in Kubernetes seats are lent at once, with no demand.
        apf.lend(Nanos::ZERO);
        Some(apf)
    }

    /// The same with other shares, that of class 0 first, and idle. `None` if these are not as
    /// many as there are levels, one is out of range, or all are 0.
    #[must_use]
    pub fn with_shares(&self, shares: &[f64]) -> Option<Self> {
        let mut levels: Vec<LevelConfig> = self.levels.iter().map(|l| l.config).collect();
        if levels.len() != shares.len() {
            return None;
        }
        for (level, shares) in levels.iter_mut().zip(shares) {
            level.shares = *shares;
        }
        let queues = &self.levels[0].queues;
        Self::try_new(&ApfConfig {
            seats: self.seats,
            queues: queues.dealer().deck(),
            hand: queues.dealer().hand(),
            queue_length: queues.length(),
            levels: &levels,
            required: self.required,
        })
    }

    /// Lends seats anew if a period is over.
    #[inline]
    fn turn(&mut self, now: Nanos) {
        let Some(began) = self.period else {
            self.period = Some(now);
            self.levels.iter_mut().for_each(|level| level.demand = Demand::starting(now));
            return;
        };
        if now < began {
            self.period = Some(now);
        } else if now - began >= PERIOD {
            self.close(now, began);
        }
    }

    #[cold]
    fn close(&mut self, now: Nanos, began: Nanos) {
        let periods = (now - began).0 / PERIOD.0;
        for level in &mut self.levels {
            level.demand.close(began + PERIOD, periods - 1);
            level.claim.high = level.demand.high();
            level.claim.smooth = level.demand.smooth();
        }
        self.period = Some(Nanos(began.0 + periods * PERIOD.0));
        self.lend(now);
    }

    fn lend(&mut self, now: Nanos) {
        let mut claims = [Claim::default(); CLASSES];
        let claims = &mut claims[..self.levels.len()];
        for (claim, level) in claims.iter_mut().zip(&self.levels) {
            *claim = level.claim;
        }
        self.fair = lend(claims, self.required);
        for (claim, level) in claims.iter().zip(&mut self.levels) {
            level.claim = *claim;
            level.queues.set_limit(now, claim.current);
        }
    }

    /// The level and the queue of a list.
    fn place(&mut self, list: usize) -> Option<(&mut Level, usize)> {
        let queues = self.queues;
        self.levels.get_mut(list / queues).map(|level| (level, list % queues))
    }
}

impl QueueOrder for Apf {
    #[inline]
    fn lists(&self) -> usize {
        self.levels.len() * self.queues
    }

    #[inline]
    fn join(&mut self, now: Nanos, who: Who, waiting: u32, most: u32) -> Result<usize, Refusal> {
        self.turn(now);
        let index = who.index().min(self.levels.len() - 1);
        let level = &mut self.levels[index];
        let reason = if level.config.excess == Excess::Reject
            && level.queues.demand() >= level.queues.limit().max(1)
        {
            self.no_seat += 1;
            Reason::ConcurrencyLimited
        } else {
            if waiting < most
                && let Some(queue) = level.queues.join(now, who.flow)
            {
                level.note(now);
                return Ok(index * self.queues + queue);
            }
            self.queue_full += 1;
            Reason::QueueFull
        };
        level.drops.dropped(now);
        Err(Refusal::new(reason, who.class).until(now + level.drops.retry_after()))
    }

    #[inline]
    fn next(&mut self, now: Nanos) -> Option<(usize, Side)> {
        self.turn(now);
        let n = self.levels.len();
        // In turn among levels that use the same part, so that none is always first.
        let mut best: Option<usize> = None;
        for i in (self.last + 1..n).chain(0..=self.last) {
            let level = &self.levels[i];
            if level.ready() && best.is_none_or(|b| level.before(&self.levels[b])) {
                best = Some(i);
            }
        }
        let index = best?;
        let queue = self.levels[index].queues.dispatch(now)?;
        self.last = index;
        self.dispatched += 1;
        Some((index * self.queues + queue, Side::Oldest))
    }

    #[inline]
    fn left(&mut self, now: Nanos, list: usize) {
        self.turn(now);
        if let Some((level, queue)) = self.place(list)
            && level.queues.left(now, queue)
        {
            level.note(now);
            level.drops.dropped(now);
            self.left += 1;
        }
    }

    #[inline]
    fn done(&mut self, now: Nanos, list: usize, worked: Nanos) {
        self.turn(now);
        if let Some((level, queue)) = self.place(list)
            && level.queues.done(now, queue, worked)
        {
            level.note(now);
        }
    }

    #[inline]
    fn holds_back(&self) -> bool {
        true
    }
}

impl Observe for Apf {
    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        let sum = |of: fn(&Level) -> u32| self.levels.iter().map(|l| f64::from(of(l))).sum();
        let most = |of: fn(&Level) -> f64| self.levels.iter().map(of).fold(0.0, f64::max);
        see("waiting", sum(|l| l.queues.waiting()));
        see("executing", sum(|l| l.queues.executing()));
        see("seats", sum(|l| l.queues.limit()));
        see("borrowed", sum(|l| l.claim.current.saturating_sub(l.claim.bounds.nominal)));
        see("fair", self.fair);
        see("current_r_s", most(|l| l.queues.progress_s()));
        see("retry_after_s", most(|l| l.drops.retry_after().as_secs_f64()));
        see("dispatched", self.dispatched as f64);
        see("rejected", self.queue_full as f64);
        see("no_seat", self.no_seat as f64);
        see("left", self.left as f64);
        see("epochs", self.levels.iter().map(|l| l.queues.epochs() as f64).sum());
    }
}

#[cfg(test)]
mod tests;
