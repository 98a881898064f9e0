//! The published chain of a single server with retries, as published.
//!
//! Source: Alvaro, Isaacs, Majumdar, Muniswamy-Reddy, Salamati, Soudjani, arXiv 2510.03551, with
//! the rules of its tool, metafor. A state is (q, n): q jobs in the queue, n requests in orbit.
//! The chance that a job outlasts its time-out is Chebyshev's bound on a sum of q exponential
//! services, and an arrival that does so is added to the arrivals (`alpha`), not taken out of
//! them. Both make the chain gloomier than a real service: compare shapes and parameters with it.
//! [`Storm`](super::Storm) is our own chain without these two.

use super::{Chain, ChainError, Expected, Grid, SlowMode, mean, variance, within};

#[cfg(test)]
mod tests;

/// The single-server model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Metafor {
    /// Requests per second.
    pub arrival_rate: f64,
    /// Jobs per second and thread.
    pub service_rate: f64,
    /// Threads.
    pub threads: usize,
    /// Seconds after which a caller gives up on an attempt.
    pub timeout: f64,
    /// Retries after the first attempt; a mean over classes need not be whole.
    pub retries: f64,
    /// Values of q: 0 to this less one.
    pub queue: usize,
    /// Values of n: 0 to this less one.
    pub orbit: usize,
    /// The published calibration, [`Metafor::ALPHA`].
    pub alpha: f64,
    /// Whether attempts that find the queue full enter the orbit.
    pub retry_when_full: bool,
}

/// One class of requests, to be averaged into a [`Metafor`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MetaforClass {
    /// Requests per second.
    pub arrival_rate: f64,
    /// Jobs per second and thread.
    pub service_rate: f64,
    /// Seconds after which a caller gives up on an attempt.
    pub timeout: f64,
    /// Retries after the first attempt.
    pub retries: f64,
}

/// What the tool reports about a model in its stationary state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MetaforSummary {
    /// Mean of q.
    pub mean_queue: f64,
    /// Variance of q.
    pub variance_queue: f64,
    /// Mean of n.
    pub mean_orbit: f64,
    /// Variance of n.
    pub variance_orbit: f64,
    /// Probability that q is 0.
    pub empty: f64,
    /// Probability that q is at its highest.
    pub full: f64,
    /// Seconds: one service and the services of all in the queue.
    pub latency: f64,
    /// Jobs per second, counted as one thread that works whenever q is not 0.
    pub throughput: f64,
    /// Requests per second that give up.
    pub failure_rate: f64,
}

impl Metafor {
    /// The published calibration of the rate at which arrivals time out.
    pub const ALPHA: f64 = 0.25;

    /// A model with one class, the published calibration, and no retries when the queue is full.
    #[must_use]
    pub fn new(class: MetaforClass, threads: usize, queue: usize, orbit: usize) -> Self {
        Self {
            arrival_rate: class.arrival_rate,
            service_rate: class.service_rate,
            threads,
            timeout: class.timeout,
            retries: class.retries,
            queue,
            orbit,
            alpha: Self::ALPHA,
            retry_when_full: false,
        }
    }

    /// A model of several classes: service rate, time-out and retries are averaged, weighted by
    /// the arrival rates.
    ///
    /// # Errors
    ///
    /// If no class has any arrivals.
    pub fn of_classes(
        classes: &[MetaforClass],
        threads: usize,
        queue: usize,
        orbit: usize,
    ) -> Result<Self, ChainError> {
        let arrival_rate: f64 = classes.iter().map(|class| class.arrival_rate).sum();
        within("the arrival rate of all classes", arrival_rate, 1e-9, 1e9, "1e-9 to 1e9")?;
        let weighed = |of: fn(&MetaforClass) -> f64| {
            let sum: f64 = classes.iter().map(|class| class.arrival_rate * of(class)).sum();
            sum / arrival_rate
        };
        let class = MetaforClass {
            arrival_rate,
            service_rate: weighed(|class| class.service_rate),
            timeout: weighed(|class| class.timeout),
            retries: weighed(|class| class.retries),
        };
        Ok(Self::new(class, threads, queue, orbit))
    }

    /// The coordinates (q, n) of the states.
    #[must_use]
    pub fn grid(&self) -> Grid {
        Grid::new(self.queue, self.orbit)
    }

    /// The rate at which one request in orbit tries again.
    #[must_use]
    pub fn retry_rate(&self) -> f64 {
        self.retries / ((self.retries + 1.0) * self.timeout)
    }

    /// The rate at which one request in orbit gives up.
    #[must_use]
    pub fn drop_rate(&self) -> f64 {
        1.0 / ((self.retries + 1.0) * self.timeout)
    }

    /// The rate at which jobs are finished with q in the queue.
    fn finish_rate(&self, q: usize) -> f64 {
        q.min(self.threads) as f64 * self.service_rate
    }

    /// Chebyshev's bound on the chance that an attempt that finds q jobs times out.
    #[must_use]
    pub fn tail(&self, q: usize) -> f64 {
        if q == 0 {
            return 0.0;
        }
        let m = self.finish_rate(q);
        let slack = self.timeout - q as f64 / m;
        let spread = (q as f64).sqrt() / m;
        if slack > spread { (spread / slack) * (spread / slack) } else { 1.0 }
    }

    /// The chain.
    ///
    /// # Errors
    ///
    /// If a parameter is out of its range or there are too many states.
    pub fn chain(&self) -> Result<Chain, ChainError> {
        within("the arrival rate", self.arrival_rate, 1e-9, 1e9, "1e-9 to 1e9 per second")?;
        within("the service rate", self.service_rate, 1e-9, 1e9, "1e-9 to 1e9 per second")?;
        within("the number of threads", self.threads as f64, 1.0, 1e9, "1 to 1e9")?;
        within("the time-out", self.timeout, 1e-9, 1e9, "1e-9 to 1e9 s")?;
        within("the number of retries", self.retries, 0.0, 1e6, "0 to 1e6")?;
        within("the size of the queue", self.queue as f64, 2.0, 4e6, "2 to 4e6")?;
        within("the size of the orbit", self.orbit as f64, 1.0, 4e6, "1 to 4e6")?;
        within("alpha", self.alpha, 0.0, 100.0, "0 to 100")?;
        let grid = self.grid();
        let (retry, leave) = (self.retry_rate(), self.drop_rate());
        Chain::build(grid.states(), |state, moves| {
            let (q, n) = grid.at(state);
            let waiting = n as f64;
            let room = n + 1 < self.orbit;
            if q > 0 {
                moves.add(grid.state(q - 1, n), self.finish_rate(q));
            }
            if q + 1 < self.queue {
                let tail = self.tail(q);
                if room {
                    moves.add(grid.state(q + 1, n + 1), self.alpha * self.arrival_rate * tail);
                }
                moves.add(grid.state(q + 1, n), self.arrival_rate + waiting * retry * tail);
                if n > 0 {
                    moves.add(grid.state(q + 1, n - 1), waiting * retry * (1.0 - tail));
                    moves.add(grid.state(q, n - 1), waiting * leave);
                }
            } else if self.retry_when_full {
                if n > 0 {
                    moves.add(grid.state(q, n - 1), waiting * leave);
                }
                if room {
                    let refused = self.arrival_rate + waiting * retry;
                    moves.add(grid.state(q, n + 1), self.alpha * refused);
                }
            } else if n > 0 {
                moves.add(grid.state(q, n - 1), waiting * (leave + retry));
            }
        })
    }

    /// Means and variances under the stationary law of [`Metafor::chain`].
    #[must_use]
    pub fn summary(&self, law: &[f64]) -> MetaforSummary {
        let grid = self.grid();
        let queue = |state| grid.at(state).0 as f64;
        let orbit = |state| grid.at(state).1 as f64;
        let at = |level: usize| mean(law, |state| f64::from(u8::from(grid.at(state).0 == level)));
        let (mean_queue, mean_orbit) = (mean(law, queue), mean(law, orbit));
        let empty = at(0);
        MetaforSummary {
            mean_queue,
            variance_queue: variance(law, queue),
            mean_orbit,
            variance_orbit: variance(law, orbit),
            empty,
            full: at(self.queue.saturating_sub(1)),
            latency: (1.0 + mean_queue) / self.service_rate,
            throughput: self.service_rate * (1.0 - empty),
            failure_rate: self.drop_rate() * mean_orbit,
        }
    }

    /// The slowest mode of the chain.
    ///
    /// # Errors
    ///
    /// As [`Metafor::chain`] and [`Chain::slow_mode`].
    pub fn slow_mode(&self) -> Result<SlowMode, ChainError> {
        self.chain()?.slow_mode()
    }

    /// The time from all full to all empty.
    ///
    /// # Errors
    ///
    /// As [`Metafor::chain`] and [`Chain::hitting_times`].
    pub fn time_to_drain(&self) -> Result<Expected, ChainError> {
        let chain = self.chain()?;
        let from = chain.states() - 1;
        chain.hitting_times(|state| state == 0)?.from(from)
    }

    /// The published field of velocities (of q, of n), for plots. It is not the drift of the
    /// chain, [`Grid::drift`]: it has no `alpha` and no walls.
    #[must_use]
    pub fn field(&self, q: usize, n: usize) -> (f64, f64) {
        let (retry, tail, waiting) = (self.retry_rate(), self.tail(q), n as f64);
        (
            self.arrival_rate - self.finish_rate(q) + retry * waiting,
            self.arrival_rate * tail - retry * (1.0 - tail) * waiting - self.drop_rate() * waiting,
        )
    }

    /// The state in which the published field is weakest.
    #[must_use]
    pub fn equilibrium(&self) -> Option<(usize, usize)> {
        let strength = |(q, n)| {
            let (dq, dn) = self.field(q, n);
            dq * dq + dn * dn
        };
        (0..self.queue)
            .flat_map(|q| (0..self.orbit).map(move |n| (q, n)))
            .min_by(|&a, &b| strength(a).total_cmp(&strength(b)))
    }
}
