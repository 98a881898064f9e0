//! Where a service drifts to: the fixed points, and the line between the two basins.
//!
//! The drift is the mean velocity of the chain's two coordinates, for numbers that need not be
//! whole, so that it can be drawn for a service of any size.

use super::Storm;

/// A point of the plane: attempts at the service, and retries still to come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Attempts at the service.
    pub queue: f64,
    /// Retries to come.
    pub waiting: f64,
}

/// The plane, as the drift divides it.
#[derive(Clone, Debug, PartialEq)]
pub struct Basins {
    /// Where a healthy service rests; `None`: it cannot serve its load.
    pub healthy: Option<Point>,
    /// The saddle between the basins, on their boundary; `None`: there is one basin only.
    pub tipping: Option<Point>,
    /// Where a collapsed service rests, all room taken.
    pub collapsed: Option<Point>,
    /// For rising numbers of retries to come, the longest queue from which it recovers (negative
    /// queues are left out: beyond the last point it recovers from none).
    pub boundary: Vec<Point>,
}

/// Steps of one path at most.
const MOST_STEPS: usize = 20_000;
/// Points of the boundary.
const BOUNDARY: usize = 48;

impl Storm {
    /// The velocity of (queue, waiting), per second, below a full room.
    #[must_use]
    pub fn drift(&self, at: Point) -> (f64, f64) {
        let busy = at.queue.clamp(0.0, self.workers as f64) * self.service_rate;
        let retries = at.waiting * self.release();
        let fails = self.late(at.queue);
        let taken = (self.retries.max(1.0) + 1.0) / 2.0;
        let waiting =
            self.arrival_rate * fails * self.retries - retries * (fails + (1.0 - fails) * taken);
        (self.arrival_rate + retries - busy, waiting)
    }

    /// Where a healthy service rests: its load in service, nothing to be retried.
    #[must_use]
    pub fn healthy(&self) -> Option<Point> {
        let queue = self.arrival_rate / self.service_rate;
        (self.arrival_rate < self.capacity()).then_some(Point { queue, waiting: 0.0 })
    }

    /// The saddle: retries make up exactly what capacity is left, and as many start as end. It
    /// exists between hidden and advertised capacity, λ (1 + k) > μ > λ, and if the room reaches so
    /// far.
    #[must_use]
    pub fn tipping(&self) -> Option<Point> {
        let (load, k) = (self.arrival_rate, self.retries);
        let spare = self.capacity() - load;
        if spare <= 0.0 || spare >= load * k {
            return None;
        }
        let taken = (k.max(1.0) + 1.0) / 2.0;
        let late = spare * taken / (load * k + spare * (taken - 1.0));
        let queue = self.queue_at(late);
        let inside = queue < self.room as f64;
        inside.then_some(Point { queue, waiting: spare / self.release() })
    }

    /// Where a collapsed service with an end of its queue rests: full, with as many attempts let
    /// in as are finished.
    #[must_use]
    pub fn collapsed(&self) -> Option<Point> {
        self.tipping()?;
        let taken = (self.retries.max(1.0) + 1.0) / 2.0;
        let gains = |waiting: f64| {
            let retries = waiting * self.release();
            let enter = (self.capacity() / (self.arrival_rate + retries)).min(1.0);
            if self.pause > 0.0 {
                self.arrival_rate * self.retries - retries
            } else {
                self.arrival_rate * enter * self.retries - retries * (enter + (1.0 - enter) * taken)
            }
        };
        let (mut low, mut high) = (0.0, self.waiting_at_worst() + 1.0);
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if gains(middle) > 0.0 { low = middle } else { high = middle }
        }
        Some(Point { queue: self.room as f64, waiting: low })
    }

    /// Whether the drift leads from here to the healthy rest.
    #[must_use]
    pub fn recovers(&self, from: Point) -> bool {
        if self.arrival_rate >= self.capacity() {
            return false;
        }
        let Some(tipping) = self.tipping() else { return true };
        let (room, far) = (self.room as f64, tipping.queue + self.patience());
        let low = self.recovered_at() as f64;
        let spare = self.capacity() - self.arrival_rate;
        let mut at = from;
        for _ in 0..MOST_STEPS {
            if at.queue >= far {
                return false;
            }
            if at.queue <= low && at.waiting * self.release() <= spare {
                return true;
            }
            let (dq, dn) = self.drift(at);
            // Small against the width over which lateness sets in, and against what waits.
            let step = (0.2 * self.patience().sqrt().max(1.0) / dq.abs().max(1e-12))
                .min(0.1 * self.timeout);
            let half = Point {
                queue: (at.queue + 0.5 * step * dq).clamp(0.0, room),
                waiting: (at.waiting + 0.5 * step * dn).max(0.0),
            };
            let (dq, dn) = self.drift(half);
            at = Point {
                queue: (at.queue + step * dq).clamp(0.0, room),
                waiting: (at.waiting + step * dn).max(0.0),
            };
        }
        // It creeps along the boundary.
        at.queue < tipping.queue
    }

    /// Where the boundary meets an empty queue, at most `step` below `waiting`.
    fn least_beyond(&self, waiting: f64, step: f64) -> Point {
        let (mut low, mut high) = ((waiting - step).max(0.0), waiting);
        for _ in 0..16 {
            let middle = 0.5 * (low + high);
            let at = Point { queue: 0.0, waiting: middle };
            if self.recovers(at) { low = middle } else { high = middle }
        }
        Point { queue: 0.0, waiting: low }
    }

    /// Both basins.
    #[must_use]
    pub fn basins(&self) -> Basins {
        let tipping = self.tipping();
        let mut boundary = Vec::new();
        if tipping.is_some() {
            let most = self.waiting_at_worst() * 1.5;
            for i in 0..=BOUNDARY {
                let waiting = most * i as f64 / BOUNDARY as f64;
                let recovers = |queue| self.recovers(Point { queue, waiting });
                if !recovers(0.0) {
                    boundary.push(self.least_beyond(waiting, most / BOUNDARY as f64));
                    break;
                }
                let (mut low, mut high) = (0.0, self.room as f64);
                for _ in 0..24 {
                    let middle = 0.5 * (low + high);
                    if recovers(middle) { low = middle } else { high = middle }
                }
                boundary.push(Point { queue: low, waiting });
            }
        }
        Basins { healthy: self.healthy(), tipping, collapsed: self.collapsed(), boundary }
    }
}
