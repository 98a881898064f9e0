//! How long a service stays healthy, and how long it stays collapsed, when callers retry on
//! time-outs.
//!
//! Ours; calibrated by nothing but what a system file says. A state is (q, n): q attempts at the
//! service, n *retries still to come* from callers whose attempt is, or will be, too late.
//!
//! - An attempt that finds q others is late with the probability that the services before it and
//!   its own take longer than the time-out ([`Storm::late`]): an Erlang tail for one worker with
//!   exponential services, a gamma tail with the same mean and variance otherwise. Late or not, it
//!   joins the queue and is served: that is what feeds a storm.
//! - A first attempt that will be late brings all k retries of its request into the orbit at once.
//!   They come out one by one, after (k + 1) / 2 time-outs in the mean, which is where k retries
//!   at 1, 2, …, k time-outs have their middle. A retry that is late again changes nothing else; one
//!   that is in time takes the rest of its request's retries with it, 0 to k - 1 of them, each number
//!   as likely.
//! - An attempt that finds no room is refused. Without a backoff its caller is back at once, k
//!   times, and refused each time: all its retries are gone. With one it waits like the others.
//! - Services that vary less (or more) than exponential ones: pairs of an arrival and a finished
//!   attempt are taken out (or put in), so that the queue has the same drift and the variance of
//!   the real one.
//!
//! **Why not one coin per failure.** With n callers who each try again with probability k / (k + 1)
//! a request makes 1 + k attempts only in the mean: their number is geometric, arrivals come in
//! clumps of a variance 2k + 1 times that of a Poisson stream, where k + 1 is right, and the collapse
//! ends in half the real time. Retries that are counted in advance are always k.
//!
//! **How good it is**: `docs/storm-chain.md` has the table. A drain is right to a few percent,
//! recovery by chance to within a third and too short, and the way into collapse to within a half
//! where a simulator can see it. What is left out is that the same slow services make a queue long and
//! its attempts late: here each attempt throws a coin of its own. The rarer a collapse is, the more that
//! helps it (3 times at one in an hour; that a time-out is a fixed time makes only a fifth, the other
//! way): read times far beyond an hour as orders of magnitude.

use super::{Chain, ChainError, Expected, Grid, within};

mod basins;
mod fluid;
mod tail;
#[cfg(test)]
mod tests;

pub use basins::{Basins, Point};
pub use fluid::{Fluid, Phase};

/// One service whose callers retry on time-outs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Storm {
    /// First attempts per second.
    pub arrival_rate: f64,
    /// Attempts per second and worker.
    pub service_rate: f64,
    /// Workers.
    pub workers: usize,
    /// Squared coefficient of variation of the service time: 1 if exponential, 0 if constant.
    pub spread: f64,
    /// Seconds after which a caller gives up on an attempt.
    pub timeout: f64,
    /// Seconds between a failure and the retry after it, in the mean.
    pub pause: f64,
    /// Retries of a request of which every attempt fails, in the mean.
    pub retries: f64,
    /// Most attempts at the service, those in service included.
    pub room: usize,
}

/// How a service fares between health and collapse.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StormAnswer {
    /// Seconds from an empty service to its collapse.
    pub escape: Expected,
    /// Seconds from the collapse until attempts are served in time again, with nothing done.
    pub recovery: Expected,
    /// The same from the point that was asked for.
    pub from_start: Expected,
    /// The share of time, in the long run, in states from which the collapse is nearer than the
    /// rest.
    pub collapsed: f64,
    /// The share of time in which more retries would have been to come than the chain has states
    /// for.
    pub cut: f64,
}

/// Up to this share of the load may be late while a service counts as recovered.
const MAY_BE_LATE: f64 = 0.1;
/// Up to this chance of another collapse before rest.
const MAY_RELAPSE: f64 = 0.1;

impl Storm {
    /// Attempts per second that it can serve.
    #[must_use]
    pub fn capacity(&self) -> f64 {
        self.workers as f64 * self.service_rate
    }

    /// Attempts that can be served within one time-out: μ τ.
    #[must_use]
    pub fn patience(&self) -> f64 {
        self.capacity() * self.timeout
    }

    /// The mean number of retries to come when every attempt is late: λ k of them start per
    /// second, and each waits (k + 1) / 2 time-outs.
    #[must_use]
    pub fn waiting_at_worst(&self) -> f64 {
        self.arrival_rate * self.retries * self.delay()
    }

    /// Seconds that a retry waits in the mean, from its request's first attempt.
    fn delay(&self) -> f64 {
        (self.timeout + self.pause) * (self.retries.max(1.0) + 1.0) / 2.0
    }

    /// The most retries to come in the chain: six standard deviations above the mean at worst.
    fn most_waiting(&self) -> usize {
        // Requests of k retries each, of which about half are left.
        let requests = self.arrival_rate * self.delay();
        let spread = 0.6 * self.retries.max(1.0) * requests.sqrt();
        // Checked to be below 1e9 before.
        (self.waiting_at_worst() + 6.0 * spread + 4.0 * self.retries).ceil() as usize + 4
    }

    /// The coordinates (q, n) of the states.
    ///
    /// # Errors
    ///
    /// If a parameter is out of its range.
    pub fn grid(&self) -> Result<Grid, ChainError> {
        within("the arrival rate", self.arrival_rate, 1e-9, 1e9, "1e-9 to 1e9 per second")?;
        within("the service rate", self.service_rate, 1e-9, 1e9, "1e-9 to 1e9 per second")?;
        within("the number of workers", self.workers as f64, 1.0, 1e6, "1 to 1e6")?;
        within("the spread of service times", self.spread, 0.0, 100.0, "0 to 100")?;
        within("the time-out", self.timeout, 1e-9, 1e9, "1e-9 to 1e9 s")?;
        within("the pause before a retry", self.pause, 0.0, 1e9, "0 to 1e9 s")?;
        within("the number of retries", self.retries, 0.0, 1e3, "0 to 1e3")?;
        let workers = self.workers as f64;
        within("the room", self.room as f64, workers, 1e6, "the number of workers to 1e6")?;
        let worst = self.waiting_at_worst();
        if worst > 1e6 {
            return Err(ChainError::TooLarge {
                what: "retries to come at worst (arrivals times time-out times retries)",
                found: worst as u64,
                limit: 1_000_000,
            });
        }
        Ok(Grid::new(self.room + 1, self.most_waiting() + 1))
    }

    /// Multiplications of one elimination of its chain, roughly.
    #[must_use]
    pub fn work(&self) -> f64 {
        let (wide, high) = (self.room as f64 + 1.0, self.most_waiting() as f64 + 1.0);
        let band = f64::min(wide, high) + self.retries + 1.0;
        wide * high * band * band
    }

    /// The same service at another size: as many times the load, the capacity and the room. Times
    /// stay as they are; what fluctuates does so less in larger ones.
    #[must_use]
    pub fn scaled(&self, factor: f64) -> Self {
        let workers = (self.workers as f64 * factor).round().max(1.0);
        let room = (self.room as f64 * factor).round().max(workers);
        Self {
            arrival_rate: self.arrival_rate * factor,
            service_rate: self.capacity() * factor / workers,
            workers: workers as usize,
            room: room as usize,
            ..*self
        }
    }

    /// Retries to come, released per second, of which one in `n`.
    fn release(&self) -> f64 {
        1.0 / self.delay()
    }

    /// The chain.
    ///
    /// # Errors
    ///
    /// If a parameter is out of its range or there are too many states.
    pub fn chain(&self) -> Result<Chain, ChainError> {
        let grid = self.grid()?;
        let most = self.most_waiting();
        let late: Vec<f64> = (0..=self.room).map(|q| self.late(q as f64)).collect();
        let brought = brought(self.retries);
        let taken = taken(self.retries);
        Chain::build(grid.states(), |state, moves| {
            let (q, n) = grid.at(state);
            let busy = q.min(self.workers) as f64 * self.service_rate;
            let retries = n as f64 * self.release();
            if q == self.room {
                moves.add(grid.state(q.saturating_sub(1), n), busy);
                if self.pause > 0.0 {
                    for &(more, share) in &brought {
                        moves.add(grid.state(q, (n + more).min(most)), self.arrival_rate * share);
                    }
                    moves.add(grid.state(q, n.saturating_sub(1)), retries);
                } else {
                    for &(less, share) in &taken {
                        moves.add(grid.state(q, n.saturating_sub(less)), retries * share);
                    }
                }
                return;
            }
            // Pairs of an arrival and a finished attempt that are taken out, or put in.
            let (paired, extra) = self.pairs(q, self.arrival_rate + retries, busy);
            if q > 0 {
                let unpaired = paired * (self.arrival_rate + retries);
                moves.add(grid.state(q - 1, n), busy - unpaired + extra);
                moves.add(grid.state(q + 1, n), extra);
            }
            let mut arrives = |n: usize, rate: f64| {
                moves.add(grid.state(q + 1, n.min(most)), rate * (1.0 - paired));
                moves.add(grid.state(q, n.min(most)), rate * paired);
            };
            let fails = late[q];
            arrives(n, self.arrival_rate * (1.0 - fails));
            for &(more, share) in &brought {
                arrives(n + more, self.arrival_rate * fails * share);
            }
            if n > 0 {
                arrives(n - 1, retries * fails);
                for &(less, share) in &taken {
                    arrives(n.saturating_sub(less), retries * (1.0 - fails) * share);
                }
            }
        })
    }

    /// The share of arrivals that coincide with a finished attempt, and the rate of pairs put in.
    /// A queue that gains a and loses m per second has the variance a + m if both are Poisson; with
    /// services of spread s it is a + s m, which is that of a - x and m - x, x = m (1 - s) / 2.
    fn pairs(&self, q: usize, arrivals: f64, busy: f64) -> (f64, f64) {
        if q < self.workers || arrivals <= 0.0 {
            return (0.0, 0.0);
        }
        let pairs = busy * (1.0 - self.spread) / 2.0;
        if pairs >= 0.0 { ((pairs / arrivals).min(1.0), 0.0) } else { (0.0, -pairs) }
    }

    /// The longest queue at which as many are in time as count as recovered: goodput is what the
    /// workers finish, less what is late.
    #[must_use]
    pub fn recovered_at(&self) -> usize {
        let wanted = (1.0 - MAY_BE_LATE) * self.arrival_rate / self.capacity();
        let in_time = |&q: &usize| self.late(q as f64) <= 1.0 - wanted;
        (0..self.room).take_while(in_time).count().max(1) - 1
    }

    /// The queue at which the service counts as collapsed: no room, or a whole time-out's work
    /// more than at the point where it tips.
    #[must_use]
    pub fn collapsed_at(&self) -> usize {
        let tips = self.tipping().map_or(f64::INFINITY, |point| point.queue);
        let far = tips + self.patience();
        if far < self.room as f64 { far.ceil() as usize } else { self.room }
    }

    /// From every state of [`Storm::chain`], the probability of collapse before recovery.
    ///
    /// # Errors
    ///
    /// As [`Storm::chain`], or if the chain is too large to be solved.
    pub fn outlook(&self) -> Result<Vec<f64>, ChainError> {
        self.outlook_of(&self.chain()?, self.grid()?)
    }

    fn outlook_of(&self, chain: &Chain, grid: Grid) -> Result<Vec<f64>, ChainError> {
        let (high, low) = (self.collapsed_at(), self.recovered_at().min(self.room - 1));
        chain.reaches_before(
            |state| grid.at(state).0 >= high.max(low + 1),
            |state| grid.at(state).0 <= low && grid.at(state).1 == 0,
        )
    }

    /// Escape, recovery (also from `start`), and how time is shared between the two.
    ///
    /// # Errors
    ///
    /// As [`Storm::chain`], or if the chain is too large to be solved.
    pub fn solve(&self, start: Point) -> Result<StormAnswer, ChainError> {
        let (grid, chain) = (self.grid()?, self.chain()?);
        let (most, low, high) = (self.most_waiting(), self.recovered_at(), self.collapsed_at());
        let near = |value: f64, most: usize| (value.max(0.0).round() as usize).min(most);
        let state = |at: Point| grid.state(near(at.queue, self.room), near(at.waiting, most));
        let full = Point { queue: self.room as f64, waiting: self.waiting_at_worst() };
        let escape = chain.hitting_times(|state| grid.at(state).0 >= high)?;
        let outlook = self.outlook_of(&chain, grid)?;
        // A moment in which attempts are in time is no recovery if the retries that are still to
        // come are likely to end it.
        let two = self.tipping().is_some();
        let recovery = chain.hitting_times(|state| {
            grid.at(state).0 <= low && (!two || outlook[state] <= MAY_RELAPSE)
        })?;
        let recovery_from = |at: Point| -> Result<Expected, ChainError> {
            Ok(match recovery.from(state(at))? {
                // The first attempt in time is answered when all those before it are.
                Expected::After(time) if time > 0.0 => {
                    Expected::After(time + (low as f64 / self.capacity()).min(self.timeout))
                }
                other => other,
            })
        };
        let law = chain.stationary()?;
        let share = |of: &dyn Fn(usize) -> bool| {
            let picked = law.iter().enumerate().filter(|&(state, _)| of(state));
            // A sum of rounded shares may exceed 1 by the last digits.
            picked.map(|(_, p)| p).sum::<f64>().min(1.0)
        };
        Ok(StormAnswer {
            escape: escape.from(grid.state(0, 0))?,
            recovery: recovery_from(self.collapsed().unwrap_or(full))?,
            from_start: recovery_from(start)?,
            collapsed: share(&|state| outlook[state] > 0.5),
            cut: share(&|state| grid.at(state).1 == most),
        })
    }
}

/// The retries that a late first attempt brings, and the share of requests that bring so many: a
/// mean that is not whole is one of the two numbers beside it.
fn brought(retries: f64) -> Vec<(usize, f64)> {
    let (whole, rest) = (retries.floor(), retries - retries.floor());
    // Checked to be at most 1e3.
    vec![(whole as usize, 1.0 - rest), (whole as usize + 1, rest)]
}

/// The retries that a retry in time takes with it, itself included, and how often so many.
fn taken(retries: f64) -> Vec<(usize, f64)> {
    let most = retries.ceil().max(1.0) as usize;
    let rest = retries - retries.floor();
    let law = |size: usize, weight: f64, i: usize| {
        if (1..=size).contains(&i) { weight / size as f64 } else { 0.0 }
    };
    let lower = (retries.floor() as usize).max(1);
    let share = |i| law(lower, 1.0 - rest, i) + law(most, rest, i);
    (1..=most).map(|i| (i, share(i))).collect()
}
