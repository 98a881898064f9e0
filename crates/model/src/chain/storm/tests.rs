use std::collections::VecDeque;

use proptest::prelude::*;

use super::*;
use crate::chain::mean;

fn storm(arrival_rate: f64, timeout: f64, retries: u32, room: usize) -> Storm {
    Storm { arrival_rate, service_rate: 10.0, workers: 1, timeout, retries, room }
}

fn seconds(duration: Expected) -> f64 {
    duration.value().unwrap()
}

/// One worker, first come first served, request by request: the time-out and the limit are fixed
/// numbers, and an attempt fails if its own job is late.
struct Service {
    of: Storm,
    now: f64,
    admitted: u64,
    finished: u64,
    /// Time-outs in their order: when, whose job, retries used. Refused attempts have no job.
    timers: VecDeque<(f64, Option<u64>, u32)>,
    random: u64,
}

impl Service {
    fn new(of: Storm, random: u64) -> Self {
        Self { of, now: 0.0, admitted: 0, finished: 0, timers: VecDeque::new(), random }
    }

    /// In collapse: every job is late, as many callers wait as can be.
    fn collapsed(of: Storm, random: u64) -> Self {
        let mut service = Self::new(of, random);
        service.admitted = of.room as u64;
        let callers = of.waiting_at_worst().ceil() as u32;
        for caller in 0..callers {
            let when = of.timeout * f64::from(caller) / f64::from(callers);
            service.timers.push_back((when, None, caller % (of.retries + 1)));
        }
        service
    }

    fn unit(&mut self) -> f64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = (self.random ^ (self.random >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn jobs(&self) -> usize {
        (self.admitted - self.finished) as usize
    }

    fn attempt(&mut self, used: u32) {
        let job = (self.jobs() < self.of.room).then_some(self.admitted);
        self.admitted += u64::from(job.is_some());
        self.timers.push_back((self.now + self.of.timeout, job, used));
    }

    fn until(mut self, there: impl Fn(usize) -> bool) -> f64 {
        while !there(self.jobs()) {
            let serving = if self.jobs() > 0 { self.of.service_rate } else { 0.0 };
            let rate = self.of.arrival_rate + serving;
            let next = self.now - (1.0 - self.unit()).ln() / rate;
            if let Some(&(when, job, used)) = self.timers.front().filter(|timer| timer.0 <= next) {
                self.timers.pop_front();
                self.now = when;
                if job.is_none_or(|job| job >= self.finished) && used < self.of.retries {
                    self.attempt(used + 1);
                }
                continue;
            }
            self.now = next;
            if self.unit() * rate < serving {
                self.finished += 1;
            } else {
                self.attempt(0);
            }
        }
        self.now
    }
}

#[test]
fn the_tail_is_that_of_an_erlang() {
    // Three services are expected within the time-out.
    let tails = storm(5.0, 0.3, 2, 4).tails();
    for (found, sum) in tails.iter().zip([1.0, 4.0, 8.5, 13.0, 16.375]) {
        assert!((found - (-3.0_f64).exp() * sum).abs() < 1e-15, "{found}");
    }
    // Far beyond it, certain and no more than that.
    let tails = storm(5.0, 30.0, 2, 2000).tails();
    assert!(tails[2000] <= 1.0 && tails[2000] > 1.0 - 1e-12);
    assert!(tails[0] >= 0.0 && tails[0] < 1e-100);
}

#[test]
fn last_attempts_are_rare_until_all_fail() {
    let share = |retries, fails| storm(5.0, 1.0, retries, 40).last_share(fails);
    assert!((share(2, 0.5) - 1.0 / 7.0).abs() < 1e-15);
    assert!((share(3, 1.0) - 0.25).abs() < 1e-15);
    assert!((share(3, 1.0 - 1e-9) - 0.25).abs() < 1e-6);
    assert_eq!(share(3, 0.0).to_bits(), 0.0_f64.to_bits());
    assert_eq!(share(0, 0.0).to_bits(), 1.0_f64.to_bits());
}

#[test]
fn rates_leave_as_the_rules_say() {
    let of = storm(5.0, 1.0, 3, 40);
    let (chain, grid) = (of.chain().unwrap(), of.grid().unwrap());
    // An arrival is one arrival, whatever becomes of it; 7 callers are done waiting after 1 s.
    assert!((chain.exit(grid.state(12, 7)) - (5.0 + 7.0 + 10.0)).abs() < 1e-12);
    // Full: services, refused arrivals, and one in four gives up; other retries change nothing.
    assert!((chain.exit(grid.state(40, 8)) - (10.0 + 5.0 + 2.0)).abs() < 1e-12);
    assert!((chain.exit(grid.state(0, 0)) - 5.0).abs() < 1e-12);
    let (dq, dn) = grid.drift(&chain, grid.state(40, 20));
    assert!((dq + 10.0).abs() < 1e-12 && dn.abs() < 1e-12, "the collapse is where n rests");
}

#[test]
fn without_retries_the_queue_is_the_plain_one() {
    let of = Storm { workers: 2, ..storm(15.0, 0.5, 0, 12) };
    let (chain, grid) = (of.chain().unwrap(), of.grid().unwrap());
    let law = chain.stationary().unwrap();
    assert!(chain.imbalance(&law) < 1e-13);
    let mut expected = vec![1.0];
    for q in 1..=12_usize {
        expected.push(expected[q - 1] * 15.0 / (10.0 * q.min(2) as f64));
    }
    let sum: f64 = expected.iter().sum();
    for (q, weight) in expected.iter().enumerate() {
        let found = mean(&law, |state| f64::from(u8::from(grid.at(state).0 == q)));
        assert!((found / (weight / sum) - 1.0).abs() < 1e-11, "{q}");
    }
    // Little: failing arrivals per second, times the time-out.
    let tails = of.tails();
    let failing: f64 =
        (0..12).map(|q| expected[q] / sum * tails[q]).sum::<f64>() + expected[12] / sum;
    let waiting = mean(&law, |state| grid.at(state).1 as f64);
    assert!((waiting - 15.0 * failing * 0.5).abs() < 1e-9, "{waiting}");
}

#[test]
fn the_slowest_mode_is_escape_and_recovery() {
    // Between two basins, the slowest mode dies out at the sum of both rates; the times are longer
    // than that by the seconds that the way itself takes.
    for arrival_rate in [4.0, 4.5, 5.0] {
        let of = storm(arrival_rate, 1.0, 3, 40);
        let answer = of.solve().unwrap();
        let both = 1.0 / seconds(answer.escape) + 1.0 / seconds(answer.recovery);
        let mode = of.chain().unwrap().slow_mode().unwrap();
        assert!((-mode.rate / both - 1.0).abs() < 0.02, "{arrival_rate}: {mode:?} {both}");
        // And the long run is shared as these rates say.
        let share = 1.0 / seconds(answer.escape) / both;
        assert!((answer.collapsed - share).abs() < 0.01, "{arrival_rate}: {answer:?}");
        assert!(answer.cut < 1e-9);
    }
}

#[test]
fn load_and_retries_bring_collapse_nearer_and_keep_it() {
    let of_load = [3.0, 4.0, 5.0, 6.0, 7.0].map(|rate| storm(rate, 1.0, 3, 40));
    let of_retries = [1, 2, 3, 4].map(|retries| storm(6.0, 1.0, retries, 40));
    for row in [&of_load[..], &of_retries[..]] {
        let answers: Vec<_> = row.iter().map(|of| of.solve().unwrap()).collect();
        for pair in answers.windows(2) {
            assert!(seconds(pair[1].escape) < seconds(pair[0].escape));
            assert!(seconds(pair[1].recovery) > seconds(pair[0].recovery));
            assert!(pair[1].collapsed >= pair[0].collapsed);
            assert!(pair[1].tipping[0] <= pair[0].tipping[0]);
        }
    }
    let storms = storm(8.0, 3.0, 4, 100).solve().unwrap();
    assert!(seconds(storms.recovery) > 1e30, "{:?}", storms.recovery);
}

#[test]
fn the_more_callers_wait_the_sooner_it_tips() {
    let of = storm(4.0, 1.0, 3, 40);
    let answer = of.solve().unwrap();
    let tipping: Vec<usize> = answer.tipping.iter().map(|q| q.unwrap_or(of.room + 1)).collect();
    assert!(tipping.windows(2).all(|pair| pair[1] <= pair[0]), "{tipping:?}");
    assert!(tipping[0] > 10, "ten jobs take the time-out, not more");
    assert!(of.outlook().unwrap().iter().all(|p| (0.0..=1.0).contains(p)));
    // Without retries nothing tips as long as nobody waits.
    assert_eq!(storm(4.0, 1.0, 0, 40).solve().unwrap().tipping[0], None);
}

#[test]
fn requests_one_by_one_are_as_near_as_said() {
    for (arrival_rate, retries) in [(6.0, 3), (7.0, 1)] {
        let of = storm(arrival_rate, 1.0, retries, 40);
        let (chain, grid) = (of.chain().unwrap(), of.grid().unwrap());
        let times = chain.hitting_times(|state| grid.at(state).0 == 40).unwrap();
        let found = seconds(times.from(grid.state(0, 0)).unwrap());
        let runs = (0..300).map(|run| Service::new(of, run * 7919).until(|q| q == 40));
        let ratio = found / (runs.sum::<f64>() / 300.0);
        assert!(ratio > 1.2 && ratio < 1.6, "{arrival_rate} {retries}: {ratio}");
    }
    let of = storm(3.5, 1.0, 3, 40);
    let (chain, grid) = (of.chain().unwrap(), of.grid().unwrap());
    let times = chain.hitting_times(|state| grid.at(state).0 <= 1).unwrap();
    let found = seconds(times.from(grid.state(40, 14)).unwrap());
    let runs = (0..300).map(|run| Service::collapsed(of, run * 7919).until(|q| q <= 1));
    let ratio = found / (runs.sum::<f64>() / 300.0);
    assert!(ratio > 0.4 && ratio < 0.65, "{ratio}");
}

#[test]
fn what_cannot_be_solved_is_said() {
    let good = storm(5.0, 1.0, 3, 40);
    for bad in [
        Storm { arrival_rate: f64::NAN, ..good },
        Storm { service_rate: f64::INFINITY, ..good },
        Storm { workers: 0, ..good },
        Storm { workers: 41, ..good },
        Storm { timeout: 0.0, ..good },
        Storm { retries: u32::MAX, ..good },
    ] {
        assert!(matches!(bad.solve(), Err(ChainError::Parameter { .. })), "{bad:?}");
    }
    for large in [
        Storm { arrival_rate: 1e9, ..good },
        Storm { room: 1_000_000, ..good },
        Storm { arrival_rate: 6200.0, workers: 100, timeout: 3.0, room: 400, ..good },
    ] {
        assert!(matches!(large.solve(), Err(ChainError::TooLarge { .. })), "{large:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_storm_has_numbers_for_answers(
        load in -2.0_f64..1.0, time in -2.0_f64..0.5, workers in 1_usize..4,
        retries in 0_u32..5, more in 0_usize..30
    ) {
        let of = Storm {
            arrival_rate: 10_f64.powf(load), service_rate: 1.0, workers,
            timeout: 10_f64.powf(time), retries, room: workers + more,
        };
        let answer = of.solve().unwrap();
        for time in [answer.escape, answer.recovery] {
            prop_assert!(time.value().is_none_or(|time| time >= 0.0));
        }
        prop_assert!((0.0..=1.0).contains(&answer.collapsed));
        prop_assert!((0.0..1e-3).contains(&answer.cut), "{}", answer.cut);
    }
}
