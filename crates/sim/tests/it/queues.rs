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

fn without_retries() -> Policy {
    policy(None, RetryLimits::uniform(0))
}

/// The order does not change how long one waits on average, only how evenly (service times
/// independent of the order).
#[test]
fn lifo_has_the_mean_wait_of_fifo_and_a_longer_tail() {
    let run = |order: &str| {
        let order = Spec::named(order).unwrap();
        let s = Service { order, ..station(1, Dist::Exponential(MS(100))) };
        simulate(&single(s, 7.0, without_retries()), 200_000)
    };
    let (fifo, lifo) = (run("fifo"), run("lifo"));
    let delay = |o: &Outcome| o.services[0].queue_delay_us.mean() / 1e6;
    close("wait of those who wait", delay(&lifo), 1.0 / 3.0, 0.012);
    close("LIFO against FIFO", delay(&lifo), delay(&fifo), 0.004);
    let tail = |o: &Outcome| o.services[0].queue_delay_us.value_at_quantile(0.99);
    assert!(tail(&lifo) > 2 * tail(&fifo), "{} {}", tail(&lifo), tail(&fifo));
}

/// Cobham: W1 = R / (1 - ρ1), W2 = R / ((1 - ρ1) (1 - ρ)) with R = λ E[S²] / 2 = 0.07 s.
#[test]
fn priorities_wait_as_cobham_says() {
    let order = Spec::named("priority").unwrap();
    let s = Service { order, ..station(1, Dist::Exponential(MS(100))) };
    let mut system = single(s, 3.5, without_retries());
    system.classes = vec!["high".to_owned(), "low".to_owned()];
    system.load = vec![Load::Constant(3.5); 2];
    let Work::Requests(types) = &mut system.work else { panic!() };
    types[0].share = vec![1.0; 2];
    let o = simulate(&system, 200_000);
    let wait = |class: usize| o.classes[class].latency_us.mean() / 1e6 - 0.1;
    close("high", wait(0), 0.07 / 0.65, 0.003);
    close("low", wait(1), 0.07 / (0.65 * 0.3), 0.012);
}

/// Pollaczek and Khinchine: Wq = λ E[S²] / (2 (1 - ρ)), E[S²] = (1 + cv²) mean².
#[test]
fn mg1_waits_as_the_variance_says() {
    let mean = MS(100);
    for (dist, cv, within) in [
        (Dist::Lognormal { mean, cv: 1.5 }, 1.5, 0.02),
        (Dist::Hyperexponential { mean, cv: 2.0 }, 2.0, 0.03),
        (Dist::Erlang { mean, stages: 2 }, 0.5_f64.sqrt(), 0.006),
    ] {
        let o = simulate(&single(station(1, dist.clone()), 7.0, without_retries()), 200_000);
        let wait = o.classes[0].latency_us.mean() / 1e6 - 0.1;
        let expected = 7.0 * (1.0 + cv * cv) * 0.01 / (2.0 * 0.3);
        close(&format!("{dist:?}"), wait, expected, within);
    }
}

/// M/M/1 whose callers wait D = 0.5 s for a worker (M/M/1+D): those who find more work than that
/// are skipped. With θ = e^((λ-μ) D): P0 = 1 / (1 + λ (1 - θ) / (μ - λ) + λ θ / μ), and the share
/// P0 λ θ / μ is lost.
#[test]
fn skipped_work_is_the_loss_of_an_impatient_queue() {
    let s = Service { on_abandon: OnAbandon::Skip, ..station(1, Dist::Exponential(MS(100))) };
    let o = simulate(&single(s, 12.0, policy(Some(MS(500)), RetryLimits::uniform(0))), 50_000);
    let theta = 1f64.exp();
    let p0 = 1.0 / (1.0 + 12.0 * (1.0 - theta) / -2.0 + 12.0 * theta / 10.0);
    let lost = o.services[0].dropped as f64 / o.services[0].attempts[0] as f64;
    close("lost", lost, p0 * 1.2 * theta, 0.004);
    close("busy", o.services[0].busy / o.measured as f64, 1.0 - p0, 0.003);
}

/// The same with work that is cancelled when its caller goes, in service or not: nothing above D
/// is ever in the system. P0 = 1 / (1 + λ (1 - θ) / (μ - λ)), and P0 θ do not end in time.
#[test]
fn cancelled_work_is_the_loss_of_a_queue_with_deadlines() {
    let s = Service { on_abandon: OnAbandon::Cancel, ..station(1, Dist::Exponential(MS(100))) };
    let o = simulate(&single(s, 12.0, policy(Some(MS(500)), RetryLimits::uniform(0))), 50_000);
    let theta = 1f64.exp();
    let p0 = 1.0 / (1.0 + 12.0 * (1.0 - theta) / -2.0);
    let c = &o.classes[0];
    let lost = 1.0 - c.good() as f64 / c.ended_all() as f64;
    close("lost", lost, p0 * theta, 0.004);
    close("busy", o.services[0].busy / o.measured as f64, 1.0 - p0, 0.003);
    assert_eq!(o.services[0].abandoned, 0);
}

fn below(front: Service, back: Service, load: f64) -> System {
    let mut system = single(front, load, without_retries());
    system.services.push(back);
    let Work::Requests(types) = &mut system.work else { panic!() };
    types[0].steps = vec![vec![call(0, vec![vec![call(1, vec![])]])]];
    system
}

/// Jackson: two M/M/1 stations one after the other, 1/(10 - 5) + 1/(8 - 5).
#[test]
fn a_chain_of_calls_is_a_tandem_queue() {
    let front = station(1, Dist::Exponential(MS(100)));
    let back = station(1, Dist::Exponential(MS(125)));
    let o = simulate(&below(front, back, 5.0), 200_000);
    close("sojourn", o.classes[0].latency_us.mean() / 1e6, 0.2 + 1.0 / 3.0, 0.012);
}

/// A worker that waits for its call is busy: M/D/1 with both times together.
#[test]
fn blocking_workers_are_held_by_the_calls_they_make() {
    let blocking = Service { blocking: true, ..station(1, Dist::Deterministic(MS(40))) };
    let back = Service { service_time: Dist::Deterministic(MS(60)), ..service("back") };
    let o = simulate(&below(blocking, back, 7.0), 100_000);
    let sojourn = o.classes[0].latency_us.mean() / 1e6;
    close("sojourn", sojourn, 0.1 + 0.7 * 0.1 / (2.0 * 0.3), 0.004);
    close("busy", o.services[0].busy / o.measured as f64, 0.7, 0.005);
}

#[test]
fn a_rate_limit_admits_its_rate_and_one_burst() {
    let s = Service { rate_limit: Some(RateLimit { rate: 10.0, burst: 20.0 }), ..service("s") };
    let mut system = single(s, 50.0, without_retries());
    system.experiment.warmup = S(0);
    let o = simulate(&system, 1_000);
    close("admitted", o.services[0].served as f64, 20.0 + 10.0 * 1_000.0, 2.0);
}

/// Gunther: n workers, all busy, do n / (s (1 + α (n - 1) + β n (n - 1))).
#[test]
fn contention_follows_the_universal_scalability_law() {
    let s = Service {
        queue: Some(10),
        contention: Contention { alpha: 0.1, beta: 0.02 },
        ..station(4, Dist::Deterministic(MS(100)))
    };
    let o = simulate(&single(s, 200.0, without_retries()), 1_000);
    let rate = o.services[0].served as f64 / (o.measured as f64 / 1e9);
    close("throughput", rate, 4.0 / (0.1 * (1.0 + 0.3 + 0.24)), 0.05);
}

/// The busy time of a worker that was busy when the warm-up ended counts from there, whether or
/// not anything happens at that instant.
#[test]
fn busy_time_starts_with_the_end_of_the_warm_up() {
    let s = station(1, Dist::Deterministic(S(1_000)));
    let mut system = single(s, 1.0, without_retries());
    system.arrivals = Arrivals::Deterministic;
    system.load = vec![Load::Profile(vec![(S(0), 1.0), (S(2), 1.0), (S(2), 0.0)])];
    system.experiment.warmup = MS(30_250);
    let o = simulate(&system, 100);
    close("busy", o.services[0].busy / o.measured as f64, 1.0, 1e-9);
}

/// An overload during the warm-up is no spread of what comes after it.
#[test]
fn the_interval_of_a_single_run_leaves_out_its_warm_up() {
    let s = Service { queue: Some(5), ..station(1, Dist::Deterministic(MS(10))) };
    let mut system = single(s, 1.0, without_retries());
    system.load = vec![Load::Profile(vec![(S(0), 500.0), (S(20), 500.0), (S(20), 10.0)])];
    let plan = Plan::new(&system);
    let conditions = Conditions::of(&plan);
    let stop = AtomicBool::new(false);
    let control = damper_sim::Control { stop: &stop, progress: &|_, _, _| {} };
    let rejection = damper_sim::simulate(&plan, &conditions, 1, &control).rejection[0];
    assert!(rejection.mean < 1e-3, "{rejection:?}");
    assert!(rejection.ci95[1] < 0.01, "{rejection:?}");
}

/// Attempts per request, over replications and over batches of one, agree with the counts.
#[test]
fn attempts_per_request_have_an_interval_around_what_was_counted() {
    let s = Service { queue: Some(2), ..station(1, Dist::Exponential(MS(10))) };
    let system = single(s, 90.0, without_retries());
    let plan = Plan::new(&system);
    let conditions = Conditions::of(&plan);
    let stop = AtomicBool::new(false);
    let control = damper_sim::Control { stop: &stop, progress: &|_, _, _| {} };
    for replications in [1, 4] {
        let run = damper_sim::simulate(&plan, &conditions, replications, &control);
        let counted =
            run.services[0].attempts.iter().sum::<u64>() as f64 / run.classes[0].offered as f64;
        // Without retries each request is one attempt; a few are under way at either end.
        close("counted", counted, 1.0, 1e-3);
        let all = run.attempts.all;
        close("all", all.mean, counted, 1e-3);
        assert!(all.ci95[0] <= all.mean && all.mean <= all.ci95[1], "{all:?}");
        assert_eq!(run.attempts.services, [Some(all)]);
    }
}
