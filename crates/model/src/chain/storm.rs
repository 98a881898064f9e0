//! How long a service stays healthy, and how long it stays collapsed, when callers retry on
//! time-outs.
//!
//! Ours; calibrated by nothing but arrivals, services, workers, the time-out and the limit. It
//! follows the plan of [`Metafor`](super::Metafor), and replaces the two parts of it that make
//! every storm hopeless:
//!
//! - The chance that an attempt that finds q jobs times out is that of q + 1 services in a row
//!   lasting longer than the time-out, an Erlang tail, in place of Chebyshev's bound. First come
//!   first served, and exact for one worker; c workers are taken for one that is c times as fast,
//!   which is good where queues are long, the only place where time-outs come from waiting.
//! - An arrival that will time out is one arrival, not one and a quarter: it joins the queue, and
//!   its caller joins those who wait for their time-outs.
//!
//! A state is (q, n): q jobs present, 0 to `room`; n callers whose attempt will come to nothing.
//! Such a caller waits for the time-out (exponential here) and then tries again or gives up. The
//! share that gives up is that of last attempts among the failed, f^r / (1 + f + … + f^r) at the
//! failure probability f of the moment: nearly none when failures begin, one in r + 1 when all
//! fail. (metafor has r / (r + 1) of them try again always, which puts out many a storm as it
//! starts.) Work whose caller has gone is still done: that is what feeds a storm. An attempt that
//! finds no room is refused, and its caller waits in the same way.
//!
//! The healthy rest is the set of states with no queue and with no more waiting callers than a
//! service without a queue has; the collapse, those with all room taken and as many waiting
//! callers as when every attempt fails, λ τ (r + 1).
//!
//! **How good it is**: an attempt's fate is drawn when it arrives, apart from those beside it, and
//! the wait is exponential; real attempts fail in clusters and come back together, after a fixed
//! time-out. Beside a simulation request by request (one worker of 10 jobs a second, a time-out of
//! 1 s, room for 40; limits of 1 and 3), recovery takes about half as long here, and escape 1.4
//! times as long at high load (a filling queue in 88 s for 65 s, in 212 s for 152 s), 2.6 times at
//! half load, 10 times at 0.4 and 27 times at 0.35. Read escape times as orders of magnitude, and compare systems.

use super::{Chain, ChainError, Expected, Grid, within};

#[cfg(test)]
mod tests;

/// One service whose callers retry on time-outs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Storm {
    /// First attempts per second.
    pub arrival_rate: f64,
    /// Jobs per second and worker.
    pub service_rate: f64,
    /// Workers.
    pub workers: usize,
    /// Seconds after which a caller gives up on an attempt.
    pub timeout: f64,
    /// Retries after the first attempt.
    pub retries: u32,
    /// Most jobs present, those in service included.
    pub room: usize,
}

/// How a service fares between health and collapse.
#[derive(Clone, Debug, PartialEq)]
pub struct StormAnswer {
    /// Seconds from an empty service to its collapse.
    pub escape: Expected,
    /// Seconds from the collapse to the healthy rest, with nothing done about it.
    pub recovery: Expected,
    /// The share of time, in the long run, in states from which the collapse is nearer than the
    /// rest.
    pub collapsed: f64,
    /// For each number of waiting callers, the fewest jobs from which the service is more likely to
    /// collapse than to come to rest; `None` if it is not even with all room taken.
    pub tipping: Vec<Option<usize>>,
    /// The share of time in which more callers would have waited than the chain has states for.
    pub cut: f64,
}

impl Storm {
    /// The mean number of waiting callers when every attempt fails.
    #[must_use]
    pub fn waiting_at_worst(&self) -> f64 {
        self.arrival_rate * self.timeout * (f64::from(self.retries) + 1.0)
    }

    /// The most waiting callers in the chain: six standard deviations above the mean at worst.
    fn most_waiting(&self) -> usize {
        let worst = self.waiting_at_worst();
        // Checked to be below 1e9 before.
        (worst + 6.0 * worst.sqrt()).ceil() as usize + 10
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
        within("the time-out", self.timeout, 1e-9, 1e9, "1e-9 to 1e9 s")?;
        within("the number of retries", f64::from(self.retries), 0.0, 1e6, "0 to 1e6")?;
        let workers = self.workers as f64;
        within("the room", self.room as f64, workers, 1e6, "the number of workers to 1e6")?;
        let worst = self.waiting_at_worst();
        if worst > 1e6 {
            return Err(ChainError::TooLarge {
                what: "waiting callers at worst (arrivals times time-out times attempts)",
                found: worst as u64,
                limit: 1_000_000,
            });
        }
        Ok(Grid::new(self.room + 1, self.most_waiting() + 1))
    }

    /// The chance that an attempt times out that finds so many jobs present, for each number of
    /// jobs from 0 to the room.
    #[must_use]
    pub fn tails(&self) -> Vec<f64> {
        // q + 1 services last longer than the time-out if no more than q end within it.
        let mean = self.workers as f64 * self.service_rate * self.timeout;
        let mut below = 0.0;
        let terms = (0..=self.room).map(|q| {
            let i = q as f64;
            below += libm::exp(i * libm::log(mean) - mean - libm::lgamma(i + 1.0));
            f64::min(below, 1.0)
        });
        terms.collect()
    }

    /// Of the attempts that fail, the share that are the last of their request, if each fails with
    /// probability `fails`: f^r / (1 + f + … + f^r).
    fn last_share(&self, fails: f64) -> f64 {
        let r = f64::from(self.retries);
        let all =
            if fails < 1.0 { (1.0 - libm::pow(fails, r + 1.0)) / (1.0 - fails) } else { r + 1.0 };
        libm::pow(fails, r) / all
    }

    /// The chain.
    ///
    /// # Errors
    ///
    /// If a parameter is out of its range or there are too many states.
    pub fn chain(&self) -> Result<Chain, ChainError> {
        let grid = self.grid()?;
        let most = self.most_waiting();
        let tails = self.tails();
        let last: Vec<f64> = tails.iter().map(|&fails| self.last_share(fails)).collect();
        Chain::build(grid.states(), |state, moves| {
            let (q, n) = grid.at(state);
            // An attempt fails for certain where there is no room.
            let last = if q < self.room { last[q] } else { self.last_share(1.0) };
            let leave = last / self.timeout;
            let retry = (1.0 - last) / self.timeout;
            let waiting = n as f64;
            if q > 0 {
                let busy = q.min(self.workers) as f64;
                moves.add(grid.state(q - 1, n), busy * self.service_rate);
            }
            if n > 0 {
                moves.add(grid.state(q, n - 1), waiting * leave);
            }
            let more = (n + 1).min(most);
            if q < self.room {
                let fails = tails[q];
                moves.add(grid.state(q + 1, more), self.arrival_rate * fails);
                moves.add(grid.state(q + 1, n), self.arrival_rate * (1.0 - fails));
                moves.add(grid.state(q + 1, n), waiting * retry * fails);
                if n > 0 {
                    moves.add(grid.state(q + 1, n - 1), waiting * retry * (1.0 - fails));
                }
            } else {
                moves.add(grid.state(q, more), self.arrival_rate);
            }
        })
    }

    /// Whether a state belongs to the healthy rest.
    fn rests(&self, tails: &[f64], (q, n): (usize, usize)) -> bool {
        let fails = tails[self.workers.min(self.room)];
        let last = self.last_share(fails);
        // Where as many join the waiting as leave them.
        let leaving = (1.0 - last) * (1.0 - fails) + last;
        let usual =
            if leaving > 0.0 { self.arrival_rate * fails * self.timeout / leaving } else { 0.0 };
        q <= self.workers && n as f64 <= usual.round()
    }

    fn is_collapsed(&self, (q, n): (usize, usize)) -> bool {
        q == self.room && n as f64 >= self.waiting_at_worst()
    }

    /// From every state of [`Storm::chain`], the probability of collapse before rest.
    ///
    /// # Errors
    ///
    /// As [`Storm::chain`], or if the chain is too large to be solved.
    pub fn outlook(&self) -> Result<Vec<f64>, ChainError> {
        let (grid, tails) = (self.grid()?, self.tails());
        self.chain()?.reaches_before(
            |state| self.is_collapsed(grid.at(state)),
            |state| self.rests(&tails, grid.at(state)),
        )
    }

    /// Escape, recovery, and where the service tips.
    ///
    /// # Errors
    ///
    /// As [`Storm::chain`], or if the chain is too large to be solved.
    pub fn solve(&self) -> Result<StormAnswer, ChainError> {
        let (grid, tails, chain) = (self.grid()?, self.tails(), self.chain()?);
        let most = self.most_waiting();
        let escape = chain.hitting_times(|state| self.is_collapsed(grid.at(state)))?;
        let recovery = chain.hitting_times(|state| self.rests(&tails, grid.at(state)))?;
        let outlook = self.outlook()?;
        let law = chain.stationary()?;
        let share = |of: &dyn Fn(usize) -> bool| {
            let picked = law.iter().enumerate().filter(|&(state, _)| of(state));
            // A sum of rounded shares may exceed 1 by the last digits.
            picked.map(|(_, p)| p).sum::<f64>().min(1.0)
        };
        let tips = |n| (0..=self.room).find(|&q| outlook[grid.state(q, n)] > 0.5);
        // Checked to be small by `grid`.
        let worst = self.waiting_at_worst().ceil() as usize;
        Ok(StormAnswer {
            escape: escape.from(grid.state(0, 0))?,
            recovery: recovery.from(grid.state(self.room, worst))?,
            collapsed: share(&|state| outlook[state] > 0.5),
            tipping: (0..=most).map(tips).collect(),
            cut: share(&|state| grid.at(state).1 == most),
        })
    }
}
