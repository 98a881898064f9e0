mod bad;
mod examples;
mod readings;

use damper_system::SystemFile;

use super::*;

fn solved(text: &str) -> Solved {
    let file = SystemFile::parse("test.yaml", text).unwrap();
    solve(&file.lower().unwrap_or_else(|p| panic!("{p}"))).unwrap()
}

fn example(name: &str, set: &[&str]) -> Solved {
    let path = format!("{}/../../examples/{name}", env!("CARGO_MANIFEST_DIR"));
    let mut file = SystemFile::read(std::path::Path::new(&path)).unwrap();
    for set in set {
        file.set(set).unwrap();
    }
    solve(&file.lower().unwrap()).unwrap()
}

#[track_caller]
fn near(value: f64, expected: f64, by: f64) {
    assert!((value - expected).abs() <= by, "{value}, expected {expected} ± {by}");
}

/// The worked application of the reference, as a routing chain.
#[test]
fn hotel_reservation_as_a_chain() {
    let text = |limit: &str, low: u32| {
        format!(
            "
damper: 1
classes: [high, low]
services:
  frontend: {{}}
  user: {{}}
  search: {{rate_limit: 93.6/s}}
  geo: {{rate_limit: 65.8/s}}
  rate: {{rate_limit: 145.4/s}}
  recommendation: {{rate_limit: 71.2/s}}
  reservation: {{rate_limit: 135.6/s}}
  profile: {{rate_limit: 219.5/s}}
load: {{high: 50/s, low: {low}/s}}
routes:
  all:
    entry: {{frontend: 100%}}
    frontend: {{search: 60%, recommendation: 39%, user: 1%}}
    search: {{geo: 100%}}
    geo: {{rate: 100%}}
    rate: {{reservation: 100%}}
    reservation: {{profile: 100%}}
    recommendation: {{profile: 100%}}
policies: {{default: {{retry: {{limit: {limit}, on: [rejected]}}}}}}
"
        )
    };
    let alike = solved(&text("5", 250));
    near(alike.classes[0].rejection, 0.533, 5e-4);
    near(alike.classes[1].rejection, 0.533, 5e-4);
    let split = solved(&text("{high: 5, low: 1}", 250));
    near(split.classes[0].rejection, 0.161, 5e-4);
    near(split.classes[1].rejection, 0.608, 5e-4);
    let below = solved(&text("{high: 5, low: 1}", 50));
    assert!(below.classes.iter().all(|c| c.rejection < 1e-12), "{below:?}");
    near(below.calls_per_request, below.floor_calls_per_request, 1e-9);
    assert_eq!(split.unique, Uniqueness::NoLoop);
}

/// The same as call trees, beside what the simulator gives (0.180, 0.603; 0.534, 0.532).
#[test]
fn hotel_reservation_as_trees() {
    let split = example("hotel-reservation.yaml", &[]);
    assert!(split.converged && split.residual < 1e-9, "{split:?}");
    near(split.classes[0].rejection, 0.17, 0.02);
    near(split.classes[1].rejection, 0.605, 0.015);
    let alike = example("hotel-reservation.yaml", &["policies.default.retry.limit=5"]);
    near(alike.classes[0].rejection, 0.533, 0.01);
    near(alike.calls_per_request, 6.4, 0.1);
}

/// 300/s behind one retry: 150/s. Five layers of three attempts: 1/243.
#[test]
fn hidden_capacity_in_closed_form() {
    let storm = example("retry-storm.yaml", &[]);
    near(storm.hidden_rps.unwrap(), 150.0, 1e-9);
    assert_eq!(storm.services[0].worst_amplification, 2.0);
    let bucket = "policies.\"client -> db\".retry.budget=token-bucket";
    near(example("retry-storm.yaml", &[bucket]).hidden_rps.unwrap(), 300.0, 1e-9);
    let share = "policies.\"client -> db\".retry.budget=deposit";
    near(example("retry-storm.yaml", &[share]).hidden_rps.unwrap(), 250.0, 1e-9);
    // What the simulator finds: 241, 225 and 270.
    for (budget, hidden) in [("envoy", 240.0), ("failsafe", 225.0), ("google", 270.0)] {
        let set = format!("policies.\"client -> db\".retry.budget={budget}");
        near(example("retry-storm.yaml", &[&set]).hidden_rps.unwrap(), hidden, 1e-9);
    }
    assert_eq!(example("retry-storm.yaml", &["services.db.queue=150"]).hidden_rps, None);
    let layers = example("five-layers.yaml", &[]);
    let worst = layers.services.iter().map(|s| s.worst_amplification).fold(0.0, f64::max);
    near(worst, 243.0, 1e-9);
}

/// Six attempts for each that gets there, and no more: who retries only what his own callee
/// rejects repeats nothing further down. With `downstream` it is 6 × 6 × 6 again.
#[test]
fn rejections_do_not_multiply() {
    let hotel = "hotel-reservation.yaml";
    let worst = |set: &[&str]| {
        let solved = example(hotel, set);
        solved.services.iter().map(|s| s.worst_amplification).fold(0.0, f64::max)
    };
    near(worst(&[]), 6.0, 1e-9);
    near(worst(&["policies.default.retry.on=[rejected, downstream]"]), 216.0, 1e-9);
    // Without a timeout no call can time out, with one it can.
    near(worst(&["policies.default.retry.on=[rejected, timeout]"]), 6.0, 1e-9);
    let timed = ["policies.default.retry.on=[rejected, timeout]", "policies.default.timeout=1s"];
    near(worst(&timed), 216.0, 1e-9);
    let routes = example("hotel-reservation-routes.yaml", &[]);
    assert!(routes.services.iter().all(|s| s.worst_amplification == 6.0), "{routes:?}");
}

#[test]
fn a_retry_from_above_repeats_what_is_below() {
    let text = |on: &str| {
        format!(
            "
damper: 1
services: {{top: {{}}, left: {{}}, right: {{failure: 50%}}}}
load: 100/s
requests: {{r: {{calls: [{{top: [left, right]}}]}}}}
policies:
  top: {{retry: {{limit: 1, on: {on}}}}}
"
        )
    };
    // Half of the first attempts fail below; each is made once more.
    let repeats = solved(&text("[downstream]"));
    near(repeats.services[0].attempts_rps[0], 150.0, 1e-9);
    near(repeats.services[1].attempts_rps[0], 150.0, 1e-9);
    near(repeats.classes[0].completion, 0.75, 1e-12);
    let not = solved(&text("[rejected]"));
    near(not.services[1].attempts_rps[0], 100.0, 1e-9);
    near(not.classes[0].completion, 0.5, 1e-12);
}

/// As deep and as wide as the reader allows: the work must not double with every level, nor grow
/// with `times`.
#[test]
fn deep_trees_and_long_rows_end() {
    let depth = 32;
    let mut calls = format!("[s{}]", depth - 1);
    for i in (0..depth - 1).rev() {
        calls = format!("[{{s{i}: {calls}}}]");
    }
    let free: String = (0..depth - 1).map(|i| format!("s{i}: {{}}, ")).collect();
    let deep = solved(&format!(
        "
damper: 1
services: {{{free}s{}: {{rate_limit: 50/s}}}}
load: 100/s
requests: {{r: {{calls: {calls}}}}}
policies: {{default: {{retry: {{limit: 1, on: [rejected]}}}}}}
",
        depth - 1
    ));
    near(deep.classes[0].completion, 0.5, 1e-9);
    // A million calls in a row, of which the first that fails is the last.
    let wide = solved(
        "
damper: 1
services: {a: {}, b: {failure: 1%}}
load: 10/s
requests: {r: {calls: [{a: {times: 1000, calls: [{b: {times: 1000}}]}}]}}
",
    );
    near(wide.services[1].attempts_rps[0], 10.0 / 0.01, 1e-6);
    assert!(wide.classes[0].completion < 1e-300);
}

#[test]
fn a_single_service_agrees_with_its_node() {
    // The table of the reference: λ 50 and 250, k 5 and 1, μ 150.
    let text = "
damper: 1
classes: [high, low]
services: {db: {rate_limit: 150/s}}
load: {high: 50/s, low: 250/s}
requests: {r: {calls: [db]}}
policies: {db: {retry: {limit: {high: 5, low: 1}, on: [rejected]}}}
";
    let s = solved(text);
    near(s.services[0].s, 0.751_066, 5e-7);
    near(s.classes[0].rejection, 0.179_501, 5e-7);
    near(s.classes[1].rejection, 0.564_100, 5e-7);
    near(s.services[0].utilisation.unwrap(), 1.0, 1e-9);
}

/// M/M/1/5 of the reference: two equal classes, k = (5, 1), μ = 1; as a tree and as a matrix.
#[test]
fn a_queue_with_an_end_is_a_finite_queue() {
    for (load, s) in [(0.475, 0.275_683), (0.525, 0.402_124)] {
        for work in ["requests: {r: {calls: [db]}}", "routes: {all: {entry: {db: 100%}}}"] {
            let solved = solved(&format!(
                "
damper: 1
classes: [high, low]
services: {{db: {{workers: 1, service_time: {{dist: exponential, mean: 1s}}, queue: 4}}}}
load: {{high: {load}/s, low: {load}/s}}
{work}
policies: {{db: {{retry: {{limit: {{high: 5, low: 1}}, on: [rejected]}}}}}}
"
            ));
            near(solved.services[0].s, s, 5e-7);
        }
    }
}

#[test]
fn no_load_is_an_error_and_overload_without_an_end_is_said() {
    let over = solved(
        "
damper: 1
services: {db: {workers: 1, service_time: 100ms}}
load: 20/s
requests: {r: {calls: [db]}}
",
    );
    assert!(over.notes.iter().any(|n| n.contains("200 %")), "{:?}", over.notes);
}

/// A loop that nobody enters loses nothing; the rest is solved, and the loop is said.
#[test]
fn a_loop_without_loss_loses_a_billionth_and_that_is_said() {
    let text = |back: &str| {
        format!(
            "
damper: 1
services: {{db: {{rate_limit: 50/s}}, a: {{}}, b: {{}}}}
load: 100/s
routes: {{all: {{entry: {{db: 100%}}, a: {{b: 100%}}, b: {{a: {back}}}}}}}
"
        )
    };
    let lossless = solved(&text("100%"));
    assert!(lossless.notes.iter().any(|n| n.contains("a billionth")), "{:?}", lossless.notes);
    near(lossless.classes[0].rejection, 0.5, 1e-12);
    let loses = solved(&text("99%"));
    assert!(!loses.notes.iter().any(|n| n.contains("a billionth")), "{:?}", loses.notes);
}
