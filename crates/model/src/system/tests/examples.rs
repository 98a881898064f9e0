//! The worked values of the literature, from the files in `examples/model/`.

use super::{example, near};
use crate::node::Rejection;
use crate::system::Solved;

fn model(name: &str, set: &[&str]) -> Solved {
    let solved = example(&format!("model/{name}.yaml"), set);
    assert!(solved.converged && solved.residual < 1e-9, "{name}: {solved:?}");
    solved
}

/// To the last of the digits that are given.
#[track_caller]
fn reads(value: f64, expected: f64, digits: i32) {
    near(value, expected, 0.500_001 * 10_f64.powi(-digits));
}

#[test]
fn one_service() {
    type Row<'a> = (&'a str, &'a [f64], f64, &'a [f64], &'a [f64]);
    let table: [Row<'_>; 6] = [
        ("60-60-3-3", &[60.0, 60.0], 0.638_943, &[0.166_667, 0.166_667], &[50.0, 50.0]),
        ("60-60-3-0", &[60.0, 60.0], 0.322_514, &[0.010_819, 0.322_514], &[59.3508, 40.6492]),
        ("50-250-5-5", &[50.0, 250.0], 0.890_899, &[0.5, 0.5], &[25.0, 125.0]),
        ("50-250-5-1", &[50.0, 250.0], 0.751_066, &[0.179_501, 0.564_100], &[41.0249, 108.9751]),
        (
            "10-20-70-8-3-0",
            &[10.0, 20.0, 70.0],
            0.657_579,
            &[0.022_990, 0.186_979, 0.657_579],
            &[9.7701, 16.2604, 23.9695],
        ),
        ("half-half-11-0", &[0.5, 0.5], 0.852_551, &[0.147_449, 0.852_551], &[0.4263, 0.0737]),
    ];
    for (name, rates, s, rejection, successes) in table {
        let solved = model(&format!("one-service-{name}"), &[]);
        println!("{name}: {solved:?}");
        reads(solved.services[0].s, s, 6);
        assert_eq!(solved.classes.len(), rejection.len());
        for (p, class) in solved.classes.iter().enumerate() {
            reads(class.rejection, rejection[p], 6);
            reads(rates[p] * class.completion, successes[p], 4);
        }
    }
}

/// The opening figure: 15 % of the favoured class rejected, 85 % of what succeeds, 70 % more.
#[test]
fn a_favoured_class_at_twice_capacity() {
    let solved = model("one-service-half-half-11-0", &[]);
    let [high, low] = [0, 1].map(|p: usize| 0.5 * solved.classes[p].completion);
    reads(solved.classes[0].rejection, 0.15, 2);
    reads(high / (high + low), 0.85, 2);
    let alike = model("one-service-half-half-11-0", &["policies.node.retry.limit=0"]);
    reads(solved.classes[0].completion / alike.classes[0].completion, 1.7, 1);
}

#[test]
fn queues_with_an_end() {
    let s = |places: u32, load: f64| {
        let name = format!("queue-of-{places}");
        let each = load / 2.0;
        let load = format!("load={{high: {each}/s, low: {each}/s}}");
        let given = model(&name, &[&load]).services[0].s;
        println!("{name} at {load}: {given}");
        given
    };
    reads(s(5, 0.95), 0.275_683, 6);
    reads(s(20, 0.95), 0.044_440, 6);
    reads(s(20, 1.0), 0.134_207, 6);
    reads(s(100, 1.0), 0.039_281, 6);
    // The fluid value, to which M/M/1/20 has come.
    reads(s(20, 1.2), 0.552_240, 6);
    reads(s(5, 1.05), 0.402_124, 6);
    // The files themselves have the loads of their first lines.
    for (name, s) in [("5", 0.275_683), ("20", 0.044_440), ("100", 0.039_281)] {
        reads(model(&format!("queue-of-{name}"), &[]).services[0].s, s, 6);
    }
}

/// The independent model, whatever the delays.
#[test]
fn delays_are_not_in_the_equations() {
    for set in ["policies.node.retry.backoff.base=200ms", "policies.node.retry.backoff.base=10s"] {
        let solved = model("short-delays", &[set]);
        reads(solved.classes[0].rejection, 0.3177, 4);
        reads(solved.classes[1].rejection, 0.6823, 4);
    }
}

#[test]
fn a_loop_of_three_services() {
    let solved = model("cyclic-routes", &[]);
    println!("{solved:?}");
    let expected: [[f64; 2]; 3] =
        [[46.283_295, 108.836_705], [29.920_453, 42.079_547], [20.944_317, 29.455_683]];
    for (service, expected) in solved.services.iter().zip(expected) {
        for ((attempts, expected), limit) in service.attempts_rps.iter().zip(expected).zip([4, 1]) {
            let tries = Rejection::from_rejected(service.s).attempts(limit);
            reads(attempts / tries, expected, 6);
        }
    }
    for (service, s) in solved.services.iter().zip([0.718_827, 0.0, 0.0]) {
        reads(service.s, s, 6);
    }
    reads(solved.classes[0].completion, 0.777_932, 6);
    reads(solved.classes[1].completion, 0.437_627, 6);
}

#[test]
fn amplification_by_tiers() {
    reads(model("amplification-one-tier", &[]).services[0].amplification, 1.875, 12);
    let less = model("amplification-one-tier", &["services.node.failure=30%"]);
    reads(less.services[0].amplification, 1.417, 12);
    let tiers = model("amplification-three-tiers", &[]);
    println!("{tiers:?}");
    for (service, expected) in tiers.services.iter().zip([1.417, 2.008, 2.845]) {
        reads(service.amplification, expected, 3);
    }
    let layers = model("amplification-five-layers", &[]);
    for (service, expected) in layers.services.iter().zip([3.0, 9.0, 27.0, 81.0, 243.0]) {
        assert_eq!(service.amplification, expected);
    }
    assert_eq!(layers.classes[0].completion, 0.0);
    // None of them has a capacity.
    assert!(layers.calls_per_request == 0.0 && layers.calls_per_request.is_sign_positive());
}

#[test]
fn hidden_capacity() {
    for (budget, hidden) in
        [("{kind: deposit, min_per_second: 0}", 250.0), ("none", 150.0), ("token-bucket", 300.0)]
    {
        let set = format!("policies.db.retry.budget={budget}");
        let solved = model("hidden-capacity-budget", &[&set]);
        near(solved.hidden_rps.unwrap(), hidden, 1e-9);
        let backoff = "policies.db.retry.backoff={kind: exponential, base: 25ms, jitter: full}";
        let same = model("hidden-capacity-budget", &[&set, backoff]);
        assert_eq!(same.hidden_rps, solved.hidden_rps);
    }
    near(model("hidden-capacity-budget", &[]).hidden_rps.unwrap(), 250.0, 1e-9);
    let queue = |places: &str| {
        let set = format!("services.db.queue={places}");
        model("hidden-capacity-queue", &[&set]).hidden_rps
    };
    assert_eq!(model("hidden-capacity-queue", &[]).hidden_rps, None);
    assert_eq!(queue("300"), None);
    assert_eq!(queue("301"), Some(150.0));
    assert_eq!(queue("unlimited"), Some(150.0));
}

/// 300/s behind a cache that answers 90 %: 3,000 are advertised, and 300 are there when it is cold.
#[test]
fn a_cache_hides_its_store() {
    let solved = example("lookaside-cache.yaml", &[]);
    near(solved.hidden_rps.unwrap(), 300.0, 1e-9);
    let store = &solved.services[solved.weakest.unwrap()];
    near(1500.0 / store.utilisation.unwrap(), 3000.0, 1e-6);
}

/// No file is without its values above.
#[test]
fn every_file_is_solved_here() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/model");
    let text = include_str!("examples.rs");
    let mut files = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let name = name.strip_suffix(".yaml").unwrap();
        let families = ["one-service-", "queue-of-"];
        let short = families.iter().find_map(|f| name.strip_prefix(f)).unwrap_or(name);
        assert!(text.contains(&format!("\"{short}\"")), "{name}");
        let solved = model(name, &[]);
        assert!(!solved.classes.is_empty(), "{name}");
        files += 1;
    }
    assert_eq!(files, 16);
}
