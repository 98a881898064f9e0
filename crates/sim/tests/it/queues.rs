//! Closed forms of queueing theory.

use std::sync::atomic::AtomicBool;

use damper_control::{Backoff, Jitter, RetryLimits, RetryOn};
use damper_sim::{Conditions, Outcome, Plan, run};
use damper_system::model::*;

use crate::build::*;

fn simulate(system: &System, seconds: u64) -> Outcome {
    let plan = Plan::new(system);
    let mut conditions = Conditions::of(&plan);
    conditions.end = S(seconds).0;
    run(&plan, &conditions, 0, &AtomicBool::new(false))
}

fn station(workers: u32, time: Dist) -> Service {
    Service { workers: Some(workers), service_time: time, ..service("s") }
}

#[track_caller]
fn close(what: &str, got: f64, expected: f64, within: f64) {
    assert!((got - expected).abs() <= within, "{what}: {got}, not {expected} ± {within}");
}

#[test]
fn mm1_waits_and_is_busy_as_the_formula_says() {
    let s = station(1, Dist::Exponential(MS(100)));
    let o = simulate(&single(s, 7.0, policy(None, RetryLimits::uniform(0))), 200_000);
    let seconds = o.measured as f64 / 1e9;
    close("utilisation", o.services[0].busy / o.measured as f64, 0.7, 0.005);
    close("throughput", o.services[0].served as f64 / seconds, 7.0, 0.02);
    // Wq = ρ/(μ-λ) over all; the histogram holds those that waited, mean 1/(μ-λ).
    close("wait of those who wait", o.services[0].queue_delay_us.mean() / 1e6, 1.0 / 3.0, 0.01);
}

#[test]
fn md1_waits_half_as_long() {
    let s = station(1, Dist::Deterministic(MS(100)));
    let o = simulate(&single(s, 7.0, policy(None, RetryLimits::uniform(0))), 200_000);
    let sojourn = o.classes[0].latency_us.mean() / 1e6;
    close("sojourn", sojourn, 0.1 + 0.7 * 0.1 / (2.0 * 0.3), 0.003);
}

#[test]
fn mm3_waits_with_the_probability_of_erlang_c() {
    let s = station(3, Dist::Exponential(MS(100)));
    let o = simulate(&single(s, 24.0, policy(None, RetryLimits::uniform(0))), 100_000);
    // a = 2.4, c = 3: C = (a³/3!)/(1-ρ) / (Σ_{k<3} a^k/k! + (a³/3!)/(1-ρ)) = 0.6471.
    let waited = o.services[0].queue_delay_us.len() as f64 / o.services[0].attempts[0] as f64;
    close("P(wait)", waited, 0.647_2, 0.01);
}

#[test]
fn mm1m_rejects_as_the_formula_says() {
    // m = 5 in the system: one in service, four waiting; ρ = 0.8.
    let s = Service { queue: Some(4), ..station(1, Dist::Exponential(MS(100))) };
    let o = simulate(&single(s, 8.0, policy(None, RetryLimits::uniform(0))), 200_000);
    let rho: f64 = 0.8;
    let b = (1.0 - rho) * rho.powi(5) / (1.0 - rho.powi(6));
    let rejected = o.services[0].rejected as f64 / o.services[0].attempts[0] as f64;
    close("blocking", rejected, b, 0.003);
}

/// Two classes at twice the capacity, k = (5, 1), buffer 20, exponential retry delay of mean 10
/// (in service times): 0.32 and 0.68 (model.md's residual table, independent model).
#[test]
fn class_limits_favour_the_class_with_more_retries() {
    let s = Service { queue: Some(19), ..station(1, Dist::Exponential(S(1))) };
    let mut p = policy(None, [5, 1]);
    p.retry.on = RetryOn::REJECTED;
    p.retry.backoff = Backoff::constant(S(20), Jitter::Full); // uniform of mean 10
    let mut system = single(s, 1.0, p);
    system.classes = vec!["high".to_owned(), "low".to_owned()];
    system.load = vec![Load::Constant(1.0); 2];
    let Work::Requests(types) = &mut system.work else { panic!() };
    types[0].share = vec![1.0; 2];
    let o = simulate(&system, 200_000);
    for (class, expected) in [(0, 0.32), (1, 0.68)] {
        let c = &o.classes[class];
        close("rejection", 1.0 - c.good() as f64 / c.ended_all() as f64, expected, 0.02);
    }
}

#[test]
fn every_request_is_accounted_for() {
    let s = Service { queue: Some(10), failure: 0.2, ..station(1, Dist::Exponential(MS(100))) };
    let o = simulate(&single(s, 12.0, policy(Some(MS(500)), [2])), 10_000);
    let c = &o.classes[0];
    let open = c.offered - c.ended_all();
    assert!(open < 40, "{open} unfinished");
    for outcome in [
        damper_control::Outcome::Rejected,
        damper_control::Outcome::TimedOut,
        damper_control::Outcome::Failed,
    ] {
        assert!(c.ended[outcome.index()] > 0, "{outcome:?}");
    }
    let s = &o.services[0];
    let received: u64 = s.attempts.iter().sum();
    let ended = s.rejected + s.served + s.abandoned + s.failed + s.failed_below + s.dropped;
    assert!(received.abs_diff(ended) < 20, "{received} received, {ended} ended");
}
