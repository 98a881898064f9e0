//! Hidden capacity where it has a closed form: the load below which a service heals by itself
//! once the trigger has gone.
//!
//! The loop that keeps a storm going needs wasted work: attempts served after their caller gave
//! up. While it runs, every attempt on the path to service i fails, so that i receives
//! λ_i Π (1 + k_e) over the retrying calls e on the path, and the loop ends only where that is
//! below μ_i. Idea: Bronson et al., HotOS '21; the closed forms are ours.

#[cfg(test)]
mod tests;

/// What bounds the retries of one call while everything below it fails.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bound {
    /// A limit k alone: each call makes 1 + k attempts. Backoff and jitter leave that alone.
    Limit(u32),
    /// A budget of `ratio` retries for each first attempt, beside a limit: 1 + min(k, b).
    Ratio {
        /// Retries after the first attempt.
        limit: u32,
        /// b: retries permitted for each first attempt.
        ratio: f64,
    },
    /// A token bucket that only successes fill: empty while everything fails, so 1.
    Bucket,
}

impl Bound {
    /// Attempts for each call while everything fails. A ratio that is negative or not a number
    /// permits no retry.
    #[must_use]
    pub fn attempts(self) -> f64 {
        match self {
            Self::Limit(limit) => 1.0 + f64::from(limit),
            Self::Ratio { limit, ratio } if ratio > 0.0 => 1.0 + ratio.min(f64::from(limit)),
            Self::Ratio { .. } | Self::Bucket => 1.0,
        }
    }
}

/// Π over the calls on a path of the attempts that each makes while everything fails.
#[must_use]
pub fn multiplication(path: &[Bound]) -> f64 {
    path.iter().map(|bound| bound.attempts()).product()
}

/// Hidden capacity of a service of `capacity` (μ, in attempts per second) behind one path of
/// calls, in requests per second: μ / Π (1 + k_e). One service of 300/s behind one retry: 150/s.
#[must_use]
pub fn behind(capacity: f64, path: &[Bound]) -> f64 {
    capacity / multiplication(path)
}

/// One way from outside to a service.
#[derive(Debug, Clone, PartialEq)]
pub struct Path {
    /// Calls at its end for each request that enters the system, if nobody retried.
    pub visits: f64,
    /// What bounds the retries of each call along it.
    pub calls: Vec<Bound>,
}

/// A service as the closed form sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct Service {
    /// μ, in attempts per second.
    pub capacity: f64,
    /// Every way to it.
    pub paths: Vec<Path>,
    /// How it meets work whose caller is gone.
    pub waste: Waste,
}

/// Whether a service can waste work on callers that gave up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Waste {
    /// Its queue has no limit: any overload outlasts the timeout.
    Unbounded,
    /// Its queue holds `places` attempts, and callers wait for `timeout_s` seconds.
    Bounded {
        /// Attempts it can hold.
        places: f64,
        /// The caller's timeout, in seconds.
        timeout_s: f64,
    },
    /// It drops what was abandoned, or no caller ever gives up.
    Cancelled,
}

impl Service {
    /// Advertised capacity: the requests per second into the system that it can serve when
    /// nothing fails, μ / Σ visits. Infinite for a service that none calls.
    #[must_use]
    pub fn advertised(&self) -> f64 {
        self.shared(|_| 1.0)
    }

    /// Hidden capacity, in requests per second into the system: μ / Σ visits Π (1 + k_e). `None`
    /// when the service cannot sustain the loop, since no work is wasted: then overload is only
    /// overload and the advertised capacity holds.
    #[must_use]
    pub fn hidden(&self) -> Option<f64> {
        self.wastes().then(|| self.shared(multiplication))
    }

    /// Whether attempts can be served after their caller gave up. A queue with a limit of at most
    /// timeout × μ cannot hold more than one timeout's worth of work.
    #[must_use]
    pub fn wastes(&self) -> bool {
        match self.waste {
            Waste::Unbounded => true,
            Waste::Bounded { places, timeout_s } => {
                places > largest_safe_queue(timeout_s, self.capacity)
            }
            Waste::Cancelled => false,
        }
    }

    fn shared(&self, factor: impl Fn(&[Bound]) -> f64) -> f64 {
        let load: f64 = self.paths.iter().map(|path| path.visits * factor(&path.calls)).sum();
        if load > 0.0 { self.capacity / load } else { f64::INFINITY }
    }
}

/// The longest queue without wasted work: timeout × μ, in attempts.
#[must_use]
pub fn largest_safe_queue(timeout_s: f64, capacity: f64) -> f64 {
    timeout_s * capacity
}

/// The service at which a system's loop lives, and up to which load it heals.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weakest {
    /// Its place in the list.
    pub service: usize,
    /// Its hidden capacity, in requests per second into the system.
    pub hidden: f64,
}

/// Hidden capacity of a system: the least over the services that can waste work. `None` when
/// there is none of these, so that no loop can outlast its trigger.
#[must_use]
pub fn of_system(services: &[Service]) -> Option<Weakest> {
    let all = services.iter().enumerate();
    let found = all.filter_map(|(service, s)| Some(Weakest { service, hidden: s.hidden()? }));
    found.min_by(|a, b| a.hidden.total_cmp(&b.hidden))
}

/// Advertised and hidden capacity, in requests per second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Capacities {
    /// What it serves while all is well.
    pub advertised: f64,
    /// What it recovers under.
    pub hidden: f64,
}

/// A look-aside cache over a store of capacity `store` (μ): with hit rate h it serves μ / (1 - h)
/// while it is warm, and recovers only below μ, since an empty cache that the store cannot fill
/// stays empty. A store of 300/s at 90 %: 3,000 and 300. `None` unless h is from 0 to 1 and μ is
/// not negative; at h = 1 the advertised capacity is infinite.
#[must_use]
pub fn look_aside(store: f64, hit_rate: f64) -> Option<Capacities> {
    let valid = store >= 0.0 && (0.0..=1.0).contains(&hit_rate);
    let advertised = if hit_rate < 1.0 { store / (1.0 - hit_rate) } else { f64::INFINITY };
    valid.then_some(Capacities { advertised, hidden: store })
}
