//! One service with the retriers that wait to try it again, exactly.
//!
//! Ours. Requests of several classes come as Poisson streams to c workers and room for K jobs;
//! services last exponentially long. An attempt that finds no room is rejected at once, and its
//! caller, while its limit allows, waits an exponential delay and tries again. All of it is a
//! Markov chain: the jobs present, and the waiting retriers by class and by retries left. Classes
//! with the same limit and delay cannot be told apart and are one.
//!
//! The node models assume that a retry meets a service that has forgotten the attempt before.
//! This chain does not, so it tells how far off they are when delays are short. States multiply
//! with limits and with waiting retriers, so it is for small cases, and says when one is not.
//!
//! The orbit of waiting retriers must be cut off somewhere. A first attempt that is rejected while
//! the orbit is full gives up, and counts as rejected. **The bound**: let the same arrivals, delays
//! and services drive the cut-off service and one with an orbit without end. After one cut the two
//! differ by one caller, who waits, is served, or takes the place of another, who is then the one
//! they differ by. So each cut changes the rejections of a class, in the end, by one at most, and
//! the rejection probability of a class is off by no more than cuts per second over its arrivals
//! per second.

use std::collections::HashMap;

use super::{Chain, ChainError, within};

#[cfg(test)]
mod tests;

/// More states than this are refused.
const MOST_STATES: u64 = 1_000_000;
/// The highest limit.
const MOST_RETRIES: u32 = 16;
/// The longest orbit.
const MOST_WAITING: usize = 255;

/// A class of requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExactClass {
    /// First attempts per second.
    pub arrival_rate: f64,
    /// Retries after the first attempt, 0 to 16.
    pub limit: u32,
    /// Mean of the exponential delay before each retry, in seconds.
    pub delay: f64,
}

/// One service and who calls it.
#[derive(Clone, Debug, PartialEq)]
pub struct Exact {
    /// Jobs per second and worker.
    pub service_rate: f64,
    /// Workers.
    pub workers: usize,
    /// Most jobs present, those in service included; at least the workers.
    pub room: usize,
    /// The classes.
    pub classes: Vec<ExactClass>,
}

/// How a service fares in the long run.
#[derive(Clone, Debug, PartialEq)]
pub struct ExactAnswer {
    /// The probability that a request of a class is rejected for good, by class.
    pub rejection: Vec<f64>,
    /// By how much these are off at most, because the orbit was cut off; by class.
    pub cut: Vec<f64>,
    /// The share of all attempts that are rejected.
    pub blocking: f64,
    /// Attempts per first attempt, by class.
    pub attempts: Vec<f64>,
    /// Jobs finished per second.
    pub throughput: f64,
    /// Mean number of jobs present.
    pub mean_jobs: f64,
    /// Mean number of waiting retriers.
    pub mean_waiting: f64,
    /// States of the chain that was solved.
    pub states: usize,
}

/// Classes with the same limit and delay.
struct Group {
    arrival_rate: f64,
    limit: usize,
    retry_rate: f64,
    /// Its first place in a list of waiting retriers; the place after that by i holds those with
    /// i retries left after the next.
    first: usize,
}

impl Exact {
    /// Solves the chain with at most `waiting` retriers in orbit.
    ///
    /// # Errors
    ///
    /// If a parameter is out of its range, the chain too large, or its law does not settle.
    pub fn solve(&self, waiting: usize) -> Result<ExactAnswer, ChainError> {
        let (groups, group_of) = self.groups()?;
        let places = groups.iter().map(|group| group.limit).sum();
        let orbits = orbits(places, waiting, self.room)?;
        let chain = self.chain(&groups, &orbits, waiting)?;
        let law = chain.settled()?;
        Ok(self.answer(&groups, &group_of, &orbits, waiting, &law))
    }

    /// Solves the chain with an orbit that is long enough for no rejection probability to be off
    /// by more than `error`.
    ///
    /// # Errors
    ///
    /// As [`Exact::solve`]; the chain is too large if no orbit that can be solved is long enough.
    pub fn solve_within(&self, error: f64) -> Result<ExactAnswer, ChainError> {
        within("the error allowed", error, 1e-12, 1.0, "1e-12 to 1")?;
        let mut waiting = 4;
        loop {
            let answer = self.solve(waiting)?;
            if answer.cut.iter().all(|&cut| cut <= error) {
                return Ok(answer);
            }
            waiting += waiting / 2;
        }
    }

    fn groups(&self) -> Result<(Vec<Group>, Vec<usize>), ChainError> {
        within("the service rate", self.service_rate, 1e-9, 1e9, "1e-9 to 1e9 per second")?;
        within("the number of workers", self.workers as f64, 1.0, 1e6, "1 to 1e6")?;
        let workers = self.workers as f64;
        within("the room", self.room as f64, workers, 1e6, "the number of workers to 1e6")?;
        let mut groups: Vec<Group> = Vec::new();
        let mut group_of = Vec::with_capacity(self.classes.len());
        let mut places = 0;
        for class in &self.classes {
            within("an arrival rate", class.arrival_rate, 0.0, 1e9, "0 to 1e9 per second")?;
            let most = f64::from(MOST_RETRIES);
            within("a limit", f64::from(class.limit), 0.0, most, "0 to 16 retries")?;
            within("a delay", class.delay, 1e-9, 1e9, "1e-9 to 1e9 s")?;
            let limit = class.limit as usize;
            let retry_rate = 1.0 / class.delay;
            let same = groups.iter().position(|group| {
                // Without retries, delays do not matter.
                group.limit == limit && (limit == 0 || group.retry_rate == retry_rate)
            });
            group_of.push(same.unwrap_or(groups.len()));
            if let Some(index) = same {
                groups[index].arrival_rate += class.arrival_rate;
            } else {
                let arrival_rate = class.arrival_rate;
                groups.push(Group { arrival_rate, limit, retry_rate, first: places });
                places += limit;
            }
        }
        if groups.is_empty() {
            return Err(ChainError::Empty { what: "class" });
        }
        Ok((groups, group_of))
    }

    fn chain(
        &self,
        groups: &[Group],
        orbits: &[Vec<u8>],
        waiting: usize,
    ) -> Result<Chain, ChainError> {
        let number: HashMap<&[u8], usize> =
            orbits.iter().enumerate().map(|(index, orbit)| (orbit.as_slice(), index)).collect();
        let levels = self.room + 1;
        let mut next = Vec::new();
        // An orbit with one caller more in `to` and one less in `from`.
        let mut moved = |orbit: &[u8], from: Option<usize>, to: Option<usize>| {
            next.clear();
            next.extend_from_slice(orbit);
            if let Some(from) = from {
                next[from] -= 1;
            }
            if let Some(to) = to {
                next[to] += 1;
            }
            number[next.as_slice()]
        };
        Chain::build(orbits.len() * levels, |state, moves| {
            let (orbit, jobs) = (&orbits[state / levels], state % levels);
            if jobs > 0 {
                let busy = jobs.min(self.workers) as f64;
                moves.add(state - 1, busy * self.service_rate);
            }
            let full = jobs == self.room;
            let has_place = total(orbit) < waiting;
            for group in groups {
                if !full {
                    moves.add(state + 1, group.arrival_rate);
                } else if group.limit > 0 && has_place {
                    let to = moved(orbit, None, Some(group.first + group.limit - 1));
                    moves.add(to * levels + jobs, group.arrival_rate);
                }
                for left in 0..group.limit {
                    let place = group.first + left;
                    if orbit[place] == 0 {
                        continue;
                    }
                    let rate = f64::from(orbit[place]) * group.retry_rate;
                    let again = (full && left > 0).then(|| place - 1);
                    let to = moved(orbit, Some(place), again);
                    moves.add(to * levels + jobs + usize::from(!full), rate);
                }
            }
        })
    }

    fn answer(
        &self,
        groups: &[Group],
        group_of: &[usize],
        orbits: &[Vec<u8>],
        waiting: usize,
        law: &[f64],
    ) -> ExactAnswer {
        let levels = self.room + 1;
        let mut rejected = vec![0.0; groups.len()];
        let mut retried = vec![0.0; groups.len()];
        let (mut cuts, mut refused, mut throughput) = (0.0, 0.0, 0.0);
        let (mut mean_jobs, mut mean_waiting) = (0.0, 0.0);
        for (state, p) in law.iter().enumerate() {
            let (orbit, jobs) = (&orbits[state / levels], state % levels);
            let full = jobs == self.room;
            mean_jobs += p * jobs as f64;
            mean_waiting += p * total(orbit) as f64;
            throughput += p * jobs.min(self.workers) as f64 * self.service_rate;
            for (index, group) in groups.iter().enumerate() {
                let counts = &orbit[group.first..group.first + group.limit];
                let retries = p * total(counts) as f64 * group.retry_rate;
                retried[index] += retries;
                if !full {
                    continue;
                }
                refused += p * group.arrival_rate + retries;
                if group.limit == 0 {
                    rejected[index] += p * group.arrival_rate;
                } else {
                    rejected[index] += p * f64::from(counts[0]) * group.retry_rate;
                    if total(orbit) == waiting {
                        rejected[index] += p * group.arrival_rate;
                        cuts += p * group.arrival_rate;
                    }
                }
            }
        }
        let arrivals: f64 = groups.iter().map(|group| group.arrival_rate).sum();
        let attempts = arrivals + retried.iter().sum::<f64>();
        let share = |of: &dyn Fn(usize) -> f64| {
            let by_class = group_of.iter().map(|&index| {
                let rate = groups[index].arrival_rate;
                if rate > 0.0 { of(index) / rate } else { 0.0 }
            });
            by_class.collect::<Vec<f64>>()
        };
        ExactAnswer {
            rejection: share(&|index| rejected[index]),
            cut: share(&|_| cuts),
            blocking: if attempts > 0.0 { refused / attempts } else { 0.0 },
            attempts: share(&|index| groups[index].arrival_rate + retried[index]),
            throughput,
            mean_jobs,
            mean_waiting,
            states: law.len(),
        }
    }
}

fn total(orbit: &[u8]) -> usize {
    orbit.iter().map(|&count| usize::from(count)).sum()
}

/// All ways to put at most `waiting` retriers into `places` places, those with few first.
fn orbits(places: usize, waiting: usize, room: usize) -> Result<Vec<Vec<u8>>, ChainError> {
    if waiting > MOST_WAITING {
        return Err(ChainError::TooLarge {
            what: "waiting retriers",
            found: waiting as u64,
            limit: MOST_WAITING as u64,
        });
    }
    // (waiting + places) over places. Each product is divisible by its divisor.
    let mut states = 1_u64;
    for place in 1..=places as u64 {
        states = states.saturating_mul(waiting as u64 + place) / place;
        let found = states.saturating_mul(room as u64 + 1);
        if found > MOST_STATES {
            return Err(ChainError::TooLarge {
                what: "states (jobs, and retriers by class and retries left)",
                found,
                limit: MOST_STATES,
            });
        }
    }
    let mut all = Vec::new();
    for sum in 0..=waiting {
        let mut orbit = vec![0_u8; places];
        fill(&mut all, &mut orbit, 0, sum);
        if places == 0 {
            break;
        }
    }
    Ok(all)
}

fn fill(all: &mut Vec<Vec<u8>>, orbit: &mut Vec<u8>, place: usize, sum: usize) {
    if place + 1 >= orbit.len() {
        if let Some(last) = orbit.last_mut() {
            *last = u8::try_from(sum).unwrap_or(u8::MAX);
        }
        all.push(orbit.clone());
        return;
    }
    for count in 0..=sum {
        orbit[place] = u8::try_from(count).unwrap_or(u8::MAX);
        fill(all, orbit, place + 1, sum - count);
    }
}
