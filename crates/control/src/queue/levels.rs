//! Priority levels: how the seats of a server are shared out, and lent.
//!
//! Source: Kubernetes API Priority and Fairness, `apf_controller.go` and `conc_alloc.go`.
//!
//! ```text
//! Nominal   = ceil(seats × shares / sum of shares)
//! Lendable  = round(Nominal × lendable % / 100)
//! Borrowing = round(Nominal × borrowing % / 100), or all seats if unset
//! Min = Nominal - Lendable;  Max = Nominal + Borrowing
//! ```
//!
//! Every 10 s each level gets a Current between Min and Max by its demand, which is the seats in
//! use and those waited for:
//!
//! ```text
//! envelope  = mean + standard deviation over the period
//! smooth    = max(envelope, 0.977 × smooth + 0.023 × envelope)
//! minCur    = max(Min, min(Nominal, high)), exempt: max(Min, high)
//! remaining = sum of Nominal - sum of minCur of the exempt
//! remaining <= sum of Min:     Current = Min
//! remaining <= sum of minCur:  Current = Min + round((minCur - Min) × (remaining - sum of Min)
//!                                                    / (sum of minCur - sum of Min))
//! else:                        Current = round(clamp(fair × max(minCur, smooth), minCur, Max)),
//!                              fair such that they sum up to `required`
//! exempt:                      Current = minCur
//! ```

use crate::Nanos;
use crate::who::CLASSES;

/// How often seats are lent and given back.
pub const PERIOD: Nanos = Nanos::from_secs(10);

/// What is kept of the smoothed demand from period to period: half is gone after 5 min.
pub const SMOOTHING: f64 = 0.977;

/// A demand below it counts as this much.
const MIN_TARGET: f64 = 0.001;

const EPSILON: f64 = 1e-7;

/// What happens to an attempt of a level that has no seat free.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Excess {
    /// It waits in one of the level's queues.
    #[default]
    Queue,
    /// It is refused.
    Reject,
    /// The level has no limit: all its attempts are let through, and count.
    Exempt,
}

/// A priority level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LevelConfig {
    /// Its part of the seats, in relation to the shares of the others.
    pub shares: f64,
    /// How much of its seats others may have while it does not need them: 0 to 100.
    pub lendable_percent: f64,
    /// How much of its seats it may borrow on top; `None`: as much as there is.
    pub borrowing_percent: Option<f64>,
    /// What happens to those for whom no seat is free.
    pub excess: Excess,
}

/// What the shares of a level come to, in seats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// Its own.
    pub nominal: u32,
    /// What it keeps when it lends all that it may.
    pub min: u32,
    /// What it has when it borrows all that it may.
    pub max: u32,
}

impl LevelConfig {
    /// Whether its numbers are in range: no shares below 0, percentages of 0 to 100 (1000 for
    /// borrowing).
    #[must_use]
    pub fn valid(&self) -> bool {
        (0.0..=1e6).contains(&self.shares)
            && (0.0..=100.0).contains(&self.lendable_percent)
            && self.borrowing_percent.is_none_or(|p| (0.0..=1000.0).contains(&p))
    }

    /// Its bounds on a server of so many `seats`, all of whose levels have `sum` shares.
    #[must_use]
    pub fn bounds(&self, seats: u32, sum: f64) -> Bounds {
        let nominal = libm::ceil(f64::from(seats) * self.shares / sum);
        let part = |percent| libm::round(nominal * percent / 100.0);
        let borrowing = self.borrowing_percent.map_or(f64::from(seats), part);
        Bounds {
            nominal: nominal as u32,
            min: (nominal - part(self.lendable_percent)) as u32,
            max: (nominal + borrowing) as u32,
        }
    }
}

/// The seats in use and waited for over a period, and smoothed over many.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Demand {
    seats: f64,
    since: Nanos,
    elapsed_s: f64,
    seat_s: f64,
    square_s: f64,
    peak: f64,
    high: f64,
    smooth: f64,
}

impl Demand {
    /// None so far, from `now` on.
    #[must_use]
    pub fn starting(now: Nanos) -> Self {
        Self { since: now, ..Self::default() }
    }

    /// The most in the last period.
    #[must_use]
    pub const fn high(&self) -> f64 {
        self.high
    }

    /// Mean and deviation, smoothed over periods.
    #[must_use]
    pub const fn smooth(&self) -> f64 {
        self.smooth
    }

    /// From `now` on it is so many `seats`.
    #[inline]
    pub fn set(&mut self, now: Nanos, seats: u32) {
        self.integrate(now);
        self.seats = f64::from(seats);
        self.peak = self.peak.max(self.seats);
    }

    #[inline]
    fn integrate(&mut self, now: Nanos) {
        let dt = now.since(self.since).as_secs_f64();
        self.since = now;
        self.elapsed_s += dt;
        self.seat_s += dt * self.seats;
        self.square_s += dt * self.seats * self.seats;
    }

    /// A period ended at `end`, and `more` whole ones after it in which nothing changed.
    pub fn close(&mut self, end: Nanos, more: u64) {
        self.integrate(end);
        if self.elapsed_s > 0.0 {
            let mean = self.seat_s / self.elapsed_s;
            // Rounding can make it negative where the demand is constant.
            let variance = (self.square_s / self.elapsed_s - mean * mean).max(0.0);
            let envelope = mean + libm::sqrt(variance);
            self.smooth = envelope.max(SMOOTHING * self.smooth + (1.0 - SMOOTHING) * envelope);
        }
        self.high = libm::round(self.peak);
        if more > 0 {
            self.high = self.seats;
            let left = libm::pow(SMOOTHING, more as f64);
            self.smooth = self.seats.max(self.seats + left * (self.smooth - self.seats));
        }
        (self.elapsed_s, self.seat_s, self.square_s) = (0.0, 0.0, 0.0);
        self.peak = self.seats;
        self.since = Nanos(end.0.saturating_add(more.saturating_mul(PERIOD.0)));
    }
}

/// What the levels that are not exempt share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Required {
    /// All seats: what Kubernetes does. With an exempt level in use they are more than there are.
    #[default]
    Nominal,
    /// The seats that the exempt do not use: what its design document (KEP-1040) says.
    Remaining,
}

/// A level when seats are lent anew.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Claim {
    /// Its bounds.
    pub bounds: Bounds,
    /// Whether it has no limit.
    pub exempt: bool,
    /// The most in the last period: [`Demand::high`].
    pub high: f64,
    /// [`Demand::smooth`].
    pub smooth: f64,
    /// The seats that it has, and gets.
    pub current: u32,
}

impl Claim {
    fn least(&self) -> f64 {
        let min = f64::from(self.bounds.min);
        let most = if self.exempt { f64::INFINITY } else { f64::from(self.bounds.nominal) };
        min.max(most.min(self.high))
    }

    fn target(&self) -> f64 {
        self.least().max(self.smooth).max(MIN_TARGET)
    }
}

/// Lends seats anew: sets what each level has. The result is what a level that no bound holds
/// gets for each seat that it wants; 0 where there is not enough for all to have their least.
/// Where the problem has no solution all keep what they have.
pub fn lend(claims: &mut [Claim], required: Required) -> f64 {
    let total: f64 = claims.iter().map(|c| f64::from(c.bounds.nominal)).sum();
    let sum = |exempt: bool, of: fn(&Claim) -> f64| -> f64 {
        claims.iter().filter(|c| c.exempt == exempt).map(of).sum()
    };
    let remaining = total - sum(true, Claim::least);
    let min = sum(false, |c| f64::from(c.bounds.min));
    let least = sum(false, Claim::least);
    let mut fair = 0.0;
    if remaining > least {
        let required = if required == Required::Nominal { total } else { remaining };
        fair = proportion(claims, required).unwrap_or(f64::NAN);
    }
    for claim in claims {
        let low = f64::from(claim.bounds.min);
        let seats = if claim.exempt {
            claim.least()
        } else if remaining <= min {
            low
        } else if remaining <= least {
            low + libm::round((claim.least() - low) * (remaining - min) / (least - min))
        } else if fair.is_nan() {
            f64::from(claim.current)
        } else {
            let want = fair * claim.target();
            libm::round(claim.least().max(want.min(f64::from(claim.bounds.max))))
        };
        claim.current = seats as u32;
    }
    if fair.is_nan() { 0.0 } else { fair }
}

/// The factor `fair` for which `clamp(fair × target, least, max)` sums up to `required` over
/// the levels that are not exempt, of which at most 16 count. `None` if there is none.
///
/// The sum is a polygon in `fair`, with corners where a level leaves its least or meets its max:
/// they are gone through in order.
fn proportion(claims: &[Claim], required: f64) -> Option<f64> {
    let mut corners = [(0.0f64, 0.0f64, 0i32); 2 * CLASSES];
    let (mut low, mut high, mut n) = (0.0, 0.0, 0);
    for claim in claims.iter().filter(|c| !c.exempt).take(CLASSES) {
        let (least, max, target) = (claim.least(), f64::from(claim.bounds.max), claim.target());
        low += least;
        high += max;
        corners[n] = (least / target, target, 1);
        corners[n + 1] = (max / target, -target, -1);
        n += 2;
    }
    if n == 0 || low - required > EPSILON || required - high > EPSILON {
        return None;
    }
    let corners = &mut corners[..n];
    corners.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let (mut fair, mut sum, mut slope, mut moving) = (corners[0].0, low, 0.0, 0);
    for (at, change, level) in corners.iter() {
        if moving > 0 {
            let next = sum + (at - fair) * slope;
            if next >= required {
                return Some(fair + (required - sum).max(0.0) / slope);
            }
            sum = next;
        }
        fair = *at;
        slope += change;
        moving += level;
    }
    // All are at their max, which is `required` but for rounding.
    Some(fair)
}

#[cfg(test)]
mod tests;
