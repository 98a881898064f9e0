//! From the storm chain to the real service, one feature after the other.
//!
//! The chain is exact for a service that there is not: callers who throw a coin for being late, retries
//! after waits that are exponential. Here that service is played, with dice, and then each of the two is
//! made what it really is. For one retry and no backoff, which keeps the rest of the chain's rules exact.

use std::collections::{BinaryHeap, VecDeque};

use damper_model::chain::Storm;

/// Who decides that an attempt is late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Late {
    /// A coin for each attempt, with the probability for the queue that it finds.
    Coin,
    /// The services before it, and its own: the same for those that wait together.
    Services,
}

/// How long after its first attempt a retry comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    /// An exponential time with the mean of one time-out.
    Exponential,
    /// One time-out.
    Fixed,
}

/// What a step is called on the page, the last one being the real service.
pub(super) const STEPS: [(&str, Late, Wait); 4] = [
    ("the chain, played", Late::Coin, Wait::Exponential),
    ("late by the services", Late::Services, Wait::Exponential),
    ("retries after one time-out", Late::Coin, Wait::Fixed),
    ("both: the real service", Late::Services, Wait::Fixed),
];

/// SplitMix64.
pub(super) struct Dice(pub(super) u64);

impl Dice {
    fn share(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ z >> 31) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn exponential(&mut self, rate: f64) -> f64 {
        -(1.0 - self.share()).ln() / rate
    }
}

/// A retry that is to come, the earliest one first.
#[derive(PartialEq)]
struct Due(f64);

impl Eq for Due {}

impl Ord for Due {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        other.0.total_cmp(&self.0)
    }
}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// Seconds from an empty service to a queue that has collapsed as the chain counts it: the mean over
/// so many, and its standard error.
pub(super) fn escape(
    storm: &Storm,
    late: Late,
    wait: Wait,
    times: u32,
    dice: &mut Dice,
) -> [f64; 2] {
    assert!(storm.workers == 1 && storm.spread == 1.0 && storm.retries == 1.0);
    assert!(storm.pause == 0.0, "whoever is refused has no retry left");
    let chances: Vec<f64> = (0..=storm.room).map(|q| storm.late(q as f64)).collect();
    let all: Vec<f64> = (0..times).map(|_| one(storm, &chances, late, wait, dice)).collect();
    let mean = all.iter().sum::<f64>() / f64::from(times);
    let variance = all.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>();
    [mean, (variance / f64::from(times) / f64::from(times - 1)).sqrt()]
}

fn one(storm: &Storm, chances: &[f64], late: Late, wait: Wait, dice: &mut Dice) -> f64 {
    let collapsed = storm.collapsed_at();
    // When each attempt at the service will be done, in its order.
    let mut queue: VecDeque<f64> = VecDeque::new();
    let mut orbit: BinaryHeap<Due> = BinaryHeap::new();
    let mut first = dice.exponential(storm.arrival_rate);
    loop {
        let retries = orbit.peek().is_some_and(|due| due.0 < first);
        let now = if retries { orbit.pop().map_or(first, |due| due.0) } else { first };
        if !retries {
            first = now + dice.exponential(storm.arrival_rate);
        }
        while queue.front().is_some_and(|done| *done <= now) {
            queue.pop_front();
        }
        let before = queue.len();
        if before >= storm.room {
            continue;
        }
        let free = queue.back().map_or(now, |done| done.max(now));
        let done = free + dice.exponential(storm.service_rate);
        queue.push_back(done);
        if queue.len() >= collapsed {
            return now;
        }
        let is_late = match late {
            Late::Coin => dice.share() < chances[before],
            Late::Services => done - now > storm.timeout,
        };
        if is_late && !retries {
            let after = match wait {
                Wait::Exponential => dice.exponential(1.0 / storm.timeout),
                Wait::Fixed => storm.timeout,
            };
            orbit.push(Due(now + after));
        }
    }
}
