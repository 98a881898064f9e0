//! Any control of the registry, any parameters in or out of range, any clock, any sequence.
#![no_main]

use damper_control::admission::{AdmissionRule as _, Busy};
use damper_control::budget::{Attempt, RetryBudget as _};
use damper_control::concurrency::Limiter;
use damper_control::entry::Build;
use damper_control::gate::Admit as _;
use damper_control::observe::Observe;
use damper_control::queue::{DropFrom as _, QueueOrder as _};
use damper_control::{Nanos, Outcome, Who, registry};
use libfuzzer_sys::fuzz_target;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng as _;

/// What comes out of the input, zeros when it is used up.
struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn byte(&mut self) -> u8 {
        let (first, rest) = self.0.split_first().map_or((0, self.0), |(b, r)| (*b, r));
        self.0 = rest;
        first
    }

    fn number(&mut self) -> u64 {
        u64::from_le_bytes(std::array::from_fn(|_| self.byte()))
    }

    /// Small steps mostly, and now and then any instant at all.
    fn clock(&mut self, now: Nanos) -> Nanos {
        match self.byte() {
            0 => Nanos(self.number()),
            b => Nanos(now.0.saturating_add(u64::from(b) << (b % 28))),
        }
    }
}

fuzz_target!(|data: &[u8]| {
    let mut input = Input(data);
    let entries: Vec<_> = registry::all().collect();
    let entry = entries[usize::from(input.byte()) % entries.len()];
    let parameters: Vec<f64> = entry
        .parameters
        .iter()
        .map(|p| match input.byte() {
            0 => p.min,
            1 => p.max,
            2 => f64::from_bits(input.number()),
            3 => p.min + f64::from(input.byte()),
            _ => p.default,
        })
        .collect();
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(u64::from(input.byte()));
    let finite = |control: &dyn Observe| {
        control.observe(&mut |name, value| assert!(value.is_finite(), "{} {name}", entry.name));
    };
    let mut now = Nanos::ZERO;
    let mut step = |now: &mut Nanos| -> Option<(u8, Who, Outcome, Nanos)> {
        let op = input.byte();
        if input.0.is_empty() {
            return None;
        }
        *now = input.clock(*now);
        let who = Who { class: input.byte() % 18, flow: u64::from(input.byte()), user: None };
        let outcome = Outcome::ALL[usize::from(input.byte()) % 6];
        Some((op, who, outcome, Nanos(u64::from(input.byte()) << (input.byte() % 40))))
    };
    match entry.build {
        Build::Backoff(make) => {
            let Some(backoff) = make(&parameters) else { return };
            let mut previous = None;
            while let Some((op, _, outcome, _)) = step(&mut now) {
                let drawn = backoff.for_cause(outcome).draw(u32::from(op) + 1, previous, &mut rng);
                previous = Some(drawn.memory);
            }
        }
        Build::Budget(make) => {
            let Some(mut budget) = make(&parameters) else { return };
            let mut attempt = Attempt::first(0);
            while let Some((op, who, outcome, _)) = step(&mut now) {
                match op % 6 {
                    0 => budget.start(now, Attempt::first(who.class)),
                    1 => budget.settle(now, attempt, outcome, op & 8 == 0, &mut rng),
                    2 => budget.cancel(now, attempt.paid),
                    3 => budget.overloaded(now),
                    4 => budget.start(now, attempt),
                    _ => {
                        if let Some(paid) = budget.withdraw(now, attempt, outcome, &mut rng) {
                            attempt = Attempt { class: who.class, retries: 1, paid };
                        }
                    }
                }
                let _ = budget.passes_on(now);
            }
            finite(&budget);
        }
        Build::Gate(make) => {
            let Some(mut gate) = make(&parameters) else { return };
            let mut passes = Vec::new();
            while let Some((op, who, outcome, latency)) = step(&mut now) {
                match op % 3 {
                    0 => passes.extend(gate.admit(now, who.class, &mut rng)),
                    1 => passes.pop().into_iter().for_each(|pass| {
                        gate.settle(now, pass, outcome, latency, &mut rng);
                    }),
                    _ => passes.pop().into_iter().for_each(|pass| gate.cancel(now, pass)),
                }
            }
            finite(&gate);
        }
        Build::Concurrency(make) => {
            let Some(limit) = make(&parameters) else { return };
            let Some(mut limiter) = Limiter::try_new(limit, None) else { return };
            let mut permits = Vec::new();
            while let Some((op, who, outcome, queued)) = step(&mut now) {
                if op % 2 == 0 {
                    permits.extend(limiter.acquire(now, who.class));
                } else if let Some(permit) = permits.pop() {
                    limiter.release(
                        now,
                        permit,
                        queued,
                        (op & 8 == 0).then_some(outcome),
                        &mut rng,
                    );
                }
            }
            finite(&limiter);
        }
        Build::Order(make) => {
            let Some(mut order) = make(&parameters) else { return };
            let mut waiting: Vec<usize> = Vec::new();
            let mut served = Vec::new();
            while let Some((op, who, _, worked)) = step(&mut now) {
                match op % 4 {
                    0 => waiting.extend(order.join(now, who, waiting.len() as u32, 100)),
                    1 => {
                        if let Some((list, _)) = order.next(now) {
                            let at = waiting.iter().position(|l| *l == list);
                            waiting.swap_remove(at.expect("somebody waits in the list it names"));
                            served.push(list);
                        }
                    }
                    2 => waiting.pop().into_iter().for_each(|list| order.left(now, list)),
                    _ => served.pop().into_iter().for_each(|list| order.done(now, list, worked)),
                }
                assert!(waiting.iter().all(|list| *list < order.lists()));
            }
            finite(&order);
        }
        Build::Drop(make) => {
            let Some(mut rule) = make(&parameters) else { return };
            while let Some((op, _, _, waited)) = step(&mut now) {
                if op % 2 == 0 {
                    rule.joined(now, u32::from(op));
                } else {
                    let _ = rule.drops(now, waited, u32::from(op) / 2);
                }
            }
            finite(&rule);
        }
        Build::Admission(make) => {
            let Some(mut rule) = make(&parameters) else { return };
            while let Some((op, who, outcome, waited)) = step(&mut now) {
                let workers = u32::from(op) + 1;
                let utilisation = f64::from(op) / 255.0;
                let busy = Busy {
                    waiting: u32::from(op) * 3,
                    queue_limit: if op % 7 == 0 { u32::MAX } else { 100 },
                    working: workers / 2,
                    workers,
                    utilisation,
                };
                match op % 3 {
                    0 => drop(rule.admit(now, who, &busy, &mut rng)),
                    1 => rule.taken(now, who, waited, &busy),
                    _ => rule.settle(now, who, waited, (op & 8 == 0).then_some(outcome)),
                }
            }
            finite(&rule);
        }
        _ => {}
    }
});
