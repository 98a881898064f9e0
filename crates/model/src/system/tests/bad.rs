//! Systems that nobody should run, but somebody will write: a right answer or a clear error.

use damper_system::model::Load;

use super::*;

/// As `solved`, and everything in it is a number in its range.
fn sound(text: &str) -> Solved {
    let solved = solved(text);
    for class in &solved.classes {
        assert!((0.0..=1.0).contains(&class.completion), "{solved:?}");
        assert!((class.completion + class.rejection - 1.0).abs() < 1e-12, "{solved:?}");
    }
    for service in &solved.services {
        assert!((0.0..=1.0).contains(&service.s), "{solved:?}");
        assert!(service.attempts_rps.iter().all(|rate| rate.is_finite() && *rate >= 0.0));
        assert!(service.amplification.is_finite() && !service.worst_amplification.is_nan());
        assert!(service.utilisation.is_none_or(|used| used.is_finite() && used >= 0.0));
    }
    assert!(solved.converged && solved.residual < 1e-9, "{solved:?}");
    solved
}

/// The same service at the end of a call tree and of a routing matrix.
const BOTH: [&str; 2] = ["requests: {r: {calls: [db]}}", "routes: {all: {entry: {db: 100%}}}"];

#[test]
fn a_million_retries() {
    for work in BOTH {
        let one = sound(&format!(
            "
damper: 1
services: {{db: {{rate_limit: 100/s}}}}
load: 120/s
{work}
policies: {{default: {{retry: {{limit: 1000000, on: [rejected]}}}}}}
"
        ));
        // s̄^(k+1) = 1/6, whatever k; what is accepted is the capacity.
        near(one.classes[0].rejection, 1.0 / 6.0, 1e-9);
        near(one.services[0].utilisation.unwrap(), 1.0, 1e-9);
        near(one.services[0].s, libm::exp(-libm::log(6.0) / 1_000_001.0), 1e-12);
        // Below capacity a queue serves everybody who asks often enough: with two places, λ = μ/2,
        // s̄ = B(ρ) and ρ (1 - s̄) = 1/2 give ρ² + ρ = 1 + ρ + ρ² over 2, ρ = (√5 - 1)/2.
        let two = sound(&format!(
            "
damper: 1
services: {{db: {{workers: 1, service_time: {{dist: exponential, mean: 10ms}}, queue: 1}}}}
load: 50/s
{work}
policies: {{default: {{retry: {{limit: 1000000, on: [rejected]}}}}}}
"
        ));
        let attempts = 100.0 * 0.5 * (libm::sqrt(5.0) - 1.0);
        near(two.services[0].attempts_rps[0], attempts, 1e-7);
        near(two.classes[0].completion, 1.0, 1e-12);
    }
}

#[test]
fn a_million_workers_and_no_place_to_wait() {
    for work in BOTH {
        let with = |load: u32| {
            sound(&format!(
                "
damper: 1
services: {{db: {{workers: 1000000, service_time: {{dist: exponential, mean: 1s}}, queue: 0}}}}
load: {load}/s
{work}
policies: {{default: {{retry: {{limit: 0}}}}}}
"
            ))
        };
        // Erlang's B at a = c is about 1 / (√(πc/2) + 2/3).
        let expected = 1.0 / (libm::sqrt(0.5e6 * std::f64::consts::PI) + 2.0 / 3.0);
        near(with(1_000_000).services[0].s, expected, 1e-9);
        near(with(2_000_000).services[0].s, 0.5, 2e-6);
        assert!(with(500_000).services[0].s < 1e-300);
    }
}

#[test]
fn a_class_without_load_and_services_that_nobody_calls() {
    for (work, alone) in [
        ("requests: {r: {calls: [db]}}", 1),
        ("routes: {all: {entry: {db: 100%}, alone: {db: 50%}}}", 1),
    ] {
        let found = sound(&format!(
            "
damper: 1
classes: [high, low]
services: {{db: {{rate_limit: 100/s}}, alone: {{rate_limit: 5/s}}}}
load: {{high: 120/s, low: 0/s}}
{work}
policies: {{default: {{retry: {{limit: 3, on: [rejected]}}}}}}
"
        ));
        near(found.classes[0].rejection, 1.0 / 6.0, 1e-9);
        assert_eq!(found.services[alone].attempts_rps, [0.0, 0.0]);
        assert_eq!((found.services[alone].s, found.services[alone].amplification), (0.0, 1.0));
        assert_eq!(found.services[0].attempts_rps[1], 0.0);
    }
}

#[test]
fn a_load_of_nothing_is_an_error() {
    for work in BOTH {
        let text = |load| format!("damper: 1\nservices: {{db: {{}}}}\nload: {load}\n{work}\n");
        let lower = |text: &str| SystemFile::parse("test.yaml", text).unwrap().lower();
        let refused = lower(&text("0/s")).unwrap_err().to_string();
        assert!(refused.contains("the load is zero"), "{refused}");
        // Who makes a system without a file can get past the reader.
        let mut system = lower(&text("1/s")).unwrap();
        system.load[0] = Load::Constant(0.0);
        assert_eq!(solve(&system), Err(SolveError::NoLoad));
    }
}

fn round(back: &str) -> Result<Solved, String> {
    let text = format!(
        "
damper: 1
services: {{a: {{rate_limit: 50/s}}, b: {{}}}}
load: 10/s
routes:
  all:
    entry: {{a: 100%}}
    a: {{b: 100%}}
    b: {{a: {back}}}
"
    );
    let file = SystemFile::parse("test.yaml", &text).unwrap();
    let system = file.lower().map_err(|problems| problems.to_string())?;
    solve(&system).map_err(|error| error.to_string())
}

#[test]
fn loops_that_lose_nothing_or_gain() {
    let below = round("50%").unwrap();
    near(below.services[0].attempts_rps[0], 20.0, 1e-9);
    // The reader refuses the others, and says where.
    for back in ["100%", "101%"] {
        let refused = round(back).unwrap_err();
        assert!(refused.contains("test.yaml:") && !refused.contains("NaN"), "{refused}");
    }
    assert!(round("100%").unwrap_err().contains("never ends"));
}
