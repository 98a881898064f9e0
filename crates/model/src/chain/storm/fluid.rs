//! What a trigger does, as a fluid: attempts in fractions, first come first served, each generation
//! of retries exactly one time-out behind the one before it.
//!
//! It knows no chance, so it cannot leave a basin; within one it is right in the limit of large
//! services, with nothing of the chain's exponential waits. The chain starts where a trigger
//! has left the fluid, and the recovery of both is compared.

use std::collections::VecDeque;

use super::Storm;

/// A time in which something is not as usual.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Phase {
    /// How long, in seconds.
    pub seconds: f64,
    /// Times the usual load.
    pub load: f64,
    /// Times the usual capacity.
    pub capacity: f64,
    /// Whether every attempt is refused.
    pub refuses: bool,
}

/// What is left after a trigger.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fluid {
    /// Attempts at the service at its end.
    pub queue: f64,
    /// Retries to come at its end.
    pub waiting: f64,
    /// Seconds until the load is served in time again; `None`: not within the horizon.
    pub recovery: Option<f64>,
}

/// Steps in one time-out.
const STEPS: usize = 64;
/// Steps in all.
const MOST: usize = 1 << 21;
/// Generations followed; the rest of the retries are in the last.
const MOST_GENERATIONS: usize = 64;
/// Of the load, to count as recovered.
const SERVED: f64 = 0.9;

/// Attempts that came in one step.
struct Batch {
    /// Attempts let in before it and with it, since the start.
    span: (f64, f64),
    /// By generation.
    attempts: Vec<f64>,
    /// First attempts that were wanted to be served.
    wanted: f64,
}

impl Storm {
    /// Runs from rest through the phases, and then up to `horizon_s` until it has recovered.
    /// `bounded`: whether the room is the service's own, and not only the chain's.
    #[must_use]
    pub fn after(&self, phases: &[Phase], bounded: bool, horizon_s: f64) -> Fluid {
        let mut run = Run::new(self, bounded);
        for phase in phases {
            let steps = (phase.seconds / run.step).round().clamp(0.0, MOST as f64) as usize;
            (0..steps).for_each(|_| {
                run.advance(phase);
            });
        }
        let (queue, waiting) = (run.queue(), run.waiting());
        let usual = Phase { seconds: 0.0, load: 1.0, capacity: 1.0, refuses: false };
        let calm = ((self.retries + 2.0) * (self.timeout + self.pause) / run.step) as usize;
        let most = ((horizon_s / run.step) as usize).min(MOST);
        let (mut last_bad, mut step) = (0, 0);
        let recovery = loop {
            if step > last_bad + calm.max(STEPS) {
                break Some(last_bad as f64 * run.step);
            }
            if step >= most {
                break None;
            }
            step += 1;
            if !run.advance(&usual) {
                last_bad = step;
            }
        };
        Fluid { queue, waiting, recovery }
    }
}

struct Run<'a> {
    storm: &'a Storm,
    room: f64,
    step: f64,
    /// Attempts let in and attempts finished, since the start.
    entered: f64,
    finished: f64,
    /// Of the last time-out, the oldest first.
    batches: VecDeque<Batch>,
    /// Retries in their pause, by step and generation, the next first.
    pausing: VecDeque<Vec<f64>>,
    generations: usize,
}

impl<'a> Run<'a> {
    fn new(storm: &'a Storm, bounded: bool) -> Self {
        let step = storm.timeout / STEPS as f64;
        let generations = (storm.retries.ceil() as usize).min(MOST_GENERATIONS) + 1;
        let pause = ((storm.pause / step).round() as usize).min(1 << 16);
        Self {
            storm,
            room: if bounded { storm.room as f64 } else { f64::INFINITY },
            step,
            entered: 0.0,
            finished: 0.0,
            batches: VecDeque::new(),
            pausing: (0..=pause).map(|_| vec![0.0; generations]).collect(),
            generations,
        }
    }

    fn queue(&self) -> f64 {
        self.entered - self.finished
    }

    /// Share of the attempts of a generation that is followed by another.
    fn goes_on(&self, generation: usize) -> f64 {
        (self.storm.retries - generation as f64).clamp(0.0, 1.0)
    }

    /// Retries to come, of those who wait and of those whose attempt will be late.
    fn waiting(&self) -> f64 {
        let left = |g: usize| (self.storm.retries - g as f64).max(0.0);
        let pausing = self.pausing.iter().flat_map(|by| by.iter().enumerate());
        let pausing: f64 = pausing.map(|(g, x)| x * (left(g) + 1.0)).sum();
        let in_time = |age: usize| {
            self.finished + self.storm.capacity() * self.step * STEPS.saturating_sub(age) as f64
        };
        let newest = self.batches.len();
        let late = self.batches.iter().enumerate().map(|(i, batch)| {
            let share = late_share(batch, in_time(newest - i));
            let by = batch.attempts.iter().enumerate();
            share * by.map(|(g, x)| x * left(g)).sum::<f64>()
        });
        pausing + late.sum::<f64>()
    }

    /// One step; whether the load that came a time-out ago was served in time.
    fn advance(&mut self, phase: &Phase) -> bool {
        let storm = self.storm;
        let mut attempts = self.pausing.pop_front().unwrap_or_default();
        attempts.resize(self.generations, 0.0);
        self.pausing.push_back(vec![0.0; self.generations]);
        let wanted = storm.arrival_rate * phase.load * self.step;
        attempts[0] += wanted;
        let total: f64 = attempts.iter().sum();
        let served = storm.capacity() * phase.capacity * self.step;
        let space = (self.room - self.queue() + served).max(0.0);
        let enters = match () {
            () if phase.refuses => 0.0,
            () if total > space => space / total,
            () => 1.0,
        };
        if storm.pause > 0.0 {
            let refused: Vec<f64> = attempts.iter().map(|x| x * (1.0 - enters)).collect();
            self.send_on(&refused);
        }
        attempts.iter_mut().for_each(|x| *x *= enters);
        let before = self.entered;
        self.entered += total * enters;
        self.finished = (self.finished + served).min(self.entered);
        self.batches.push_back(Batch { span: (before, self.entered), attempts, wanted });
        if self.batches.len() <= STEPS {
            return true;
        }
        let Some(oldest) = self.batches.pop_front() else { return true };
        let late = late_share(&oldest, self.finished);
        let good = (1.0 - late) * oldest.attempts.iter().sum::<f64>();
        let failed: Vec<f64> = oldest.attempts.iter().map(|x| x * late).collect();
        self.send_on(&failed);
        good >= SERVED * oldest.wanted
    }

    /// Those who failed try again after their pause.
    fn send_on(&mut self, failed: &[f64]) {
        for (generation, count) in failed.iter().enumerate().take(self.generations - 1) {
            let again = count * self.goes_on(generation);
            if let Some(slot) = self.pausing.back_mut() {
                slot[generation + 1] += again;
            }
        }
    }
}

/// The share of a batch that is not finished when so many are.
fn late_share(batch: &Batch, finished: f64) -> f64 {
    let (first, last) = batch.span;
    if last <= finished || last <= first {
        0.0
    } else {
        ((last - finished) / (last - first)).min(1.0)
    }
}
