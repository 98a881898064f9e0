//! What each example must show, with the tolerance it was promised with.
//!
//! Whatever takes more than a few seconds in a debug build is run in release.

use serde_json::Value;

use crate::program::{command, finished, interval, json, number};

const STORM: &str = "examples/retry-storm.yaml";
const LAYERS: &str = "examples/five-layers.yaml";
const CACHE: &str = "examples/lookaside-cache.yaml";
const SPIKE: &str = "examples/mm1-storm.yaml";
const HOTEL: &str = "examples/hotel-reservation.yaml";
const NODE: &str = "examples/single-node.yaml";

/// A result, with some changes.
fn run(command: &str, file: &str, set: &[&str], more: &[&str]) -> Value {
    let mut args = vec![command, file];
    for change in set {
        args.extend(["--set", change]);
    }
    args.extend(more);
    let result = json(&args);
    let rate = |name: &str| format!("{} {}", result[name], result[name.replace("_rps", "_ci95")]);
    // Seen with `--no-capture`: how far from the edge of its tolerance an example is.
    println!("{args:?}: state {}", result["state"]);
    if command == "headroom" {
        println!("  advertised {}, hidden {}", rate("advertised_rps"), rate("hidden_rps"));
    }
    result
}

fn headroom(file: &str, set: &[&str]) -> Value {
    run("headroom", file, set, &["--no-remedies"])
}

fn simulate(file: &str, set: &[&str]) -> Value {
    run("simulate", file, set, &[])
}

#[track_caller]
fn near(what: &str, value: f64, expected: f64, by: f64) {
    println!("  {what}: {value:.4}, expected {expected} ± {by}");
    assert!((value - expected).abs() <= by, "{what}: {value}, expected {expected} ± {by}");
}

/// Means over the points of a series whose start is in a span of seconds after the trigger.
fn after_trigger(result: &Value, from: f64, to: f64, names: &[&str]) -> Vec<f64> {
    let series = &result["series"];
    let end = number(series, "/trigger_s/1");
    let inside = |t: &Value| (end + from..end + to).contains(&t.as_f64().unwrap());
    let times = series["t_s"].as_array().unwrap();
    let mean = |name: &&str| {
        let values = series[*name].as_array().unwrap().iter().zip(times);
        let values: Vec<f64> =
            values.filter(|(_, t)| inside(t)).map(|(v, _)| v.as_f64().unwrap()).collect();
        assert!(!values.is_empty(), "no point from {from} to {to}");
        values.iter().sum::<f64>() / values.len() as f64
    };
    names.iter().map(mean).collect()
}

#[test]
fn retry_storm_stays_down() {
    let result = simulate(STORM, &[]);
    assert_eq!(result["state"], "metastable");
    for second in 0..60 {
        let at = f64::from(second);
        let rates = after_trigger(&result, at, at + 1.0, &["goodput_rps"]);
        assert!(rates[0] < 0.05 * 270.0, "{second} s after the outage: {} good/s", rates[0]);
    }
}

#[test]
#[ignore = "slow: runs in release with cargo xtask test"]
fn retry_storm_hides_half_of_its_capacity() {
    let result = run("headroom", STORM, &[], &[]);
    near("advertised", number(&result, "/advertised_rps"), 300.0, 6.0);
    near("hidden", number(&result, "/hidden_rps"), 150.0, 5.0);
    near("amplification", number(&result, "/amplification"), 2.0, 0.05);
    assert_eq!(result["state"], "vulnerable");
    assert_eq!(result["loop"]["kind"], "retries");

    let remedies = result["remedies"].as_array().unwrap();
    let remedy = |name: &str| {
        let found = remedies.iter().find(|r| r["name"].as_str().unwrap().contains(name));
        found.unwrap_or_else(|| panic!("no remedy `{name}` in {remedies:?}"))
    };
    let backoff = remedy("backoff");
    println!("  backoff: {} {}", backoff["hidden_rps"], backoff["hidden_ci95"]);
    let (as_it_is, with) = (interval(&result, "/hidden_ci95"), interval(backoff, "/hidden_ci95"));
    assert!(with[0] <= as_it_is[1], "backoff alone buys nothing: {with:?} against {as_it_is:?}");
    assert_eq!(backoff["verdict"], "only reschedules it");

    // The price of the one that removes the loop by removing the retries, and the point of
    // those that do not.
    let none = remedy("no retries");
    assert_eq!(none["verdict"], "removes the loop");
    near("success without retries", number(none, "/success_after"), 0.99, 0.002);
    for free in ["queue", "deadlines"] {
        assert_eq!(remedy(free)["verdict"], "removes the loop", "{free}");
        assert!(number(remedy(free), "/success_after") > 0.999, "{free}");
    }
}

/// The answer does not depend on how long one watches.
#[test]
#[ignore = "slow: runs in release with cargo xtask test"]
fn retry_storm_is_the_same_however_long_it_is_watched() {
    let watched = ["60s", "120s", "600s"].map(|watch| {
        let result = headroom(STORM, &[&format!("experiment.watch={watch}")]);
        near(watch, number(&result, "/hidden_rps"), 150.0, 5.0);
        interval(&result, "/hidden_ci95")
    });
    for a in watched {
        for b in watched {
            assert!(a[0] <= b[1] && b[0] <= a[1], "{a:?} and {b:?} do not overlap");
        }
    }
}

#[test]
#[ignore = "slow: runs in release with cargo xtask test"]
fn retry_storm_is_the_same_on_any_number_of_threads() {
    let [one, four] = ["1", "4"].map(|threads| {
        let mut command = command(&["headroom", STORM, "--json"]);
        finished(command.env("RAYON_NUM_THREADS", threads).output().unwrap()).out
    });
    assert!(one.contains("remedies"));
    let differ: Vec<_> = one.lines().zip(four.lines()).filter(|(a, b)| a != b).collect();
    assert!(one == four, "not the same: {differ:?}");
}

#[test]
#[ignore = "slow: runs in release with cargo xtask test"]
fn five_layers_multiply() {
    let result = headroom(LAYERS, &[]);
    let advertised = number(&result, "/advertised_rps");
    near(
        "hidden × 243 / advertised",
        243.0 * number(&result, "/hidden_rps") / advertised,
        1.0,
        0.1,
    );
    assert_eq!(result["state"], "vulnerable", "at 1 % of its capacity");
    let story = result["loop"]["summary"].as_str().unwrap();
    assert!(story.starts_with("5 calls on the way to store retry"), "{story}");
}

#[test]
#[ignore = "slow: runs in release with cargo xtask test"]
fn five_layers_with_retries_at_the_top_keep_a_third() {
    let below = ["edge -> api", "api -> orders", "orders -> stock", "stock -> store"];
    let set = below.map(|edge| format!("policies.\"{edge}\".retry.limit=0"));
    let result = headroom(LAYERS, &set.each_ref().map(String::as_str));
    let advertised = number(&result, "/advertised_rps");
    near("hidden × 3 / advertised", 3.0 * number(&result, "/hidden_rps") / advertised, 1.0, 0.1);
}

/// A short outage ends before the amplification has built up.
#[test]
#[ignore = "slow: runs in release with cargo xtask test"]
fn five_layers_ride_out_a_blip() {
    let result = headroom(LAYERS, &["experiment.trigger=blip"]);
    let worst = number(&result, "/advertised_rps") / 243.0;
    let low = interval(&result, "/hidden_ci95")[0];
    assert!(low > 10.0 * worst, "{low} against {worst} after a long outage");
    assert_eq!(result["state"], "stable");
}

#[test]
#[ignore = "slow: runs in release with cargo xtask test"]
fn lookaside_cache_hides_nine_tenths() {
    let result = headroom(CACHE, &[]);
    near("advertised", number(&result, "/advertised_rps"), 3000.0, 0.05 * 3000.0);
    near("hidden", number(&result, "/hidden_rps"), 315.0, 15.0);
    assert_eq!(result["loop"]["kind"], "cache misses", "without any retry");

    // What is filled before the first timeouts is much of a small cache.
    let few = headroom(CACHE, &["caches.users.hot_keys=300"]);
    let (few, many) = (interval(&few, "/hidden_ci95"), interval(&result, "/hidden_ci95"));
    assert!(few[0] > 2.0 * many[1], "{few:?} against {many:?}");
}

/// The store fetches once per key and fills the cache whoever waits: slow, but not for ever.
#[test]
#[ignore = "slow: runs in release with cargo xtask test"]
fn read_through_cache_heals_in_minutes() {
    let read_through = "caches.users.mode=read-through";
    let seen = simulate(CACHE, &[read_through, "experiment.watch=900s"]);
    println!("  {} after {} s", seen["reason"], seen["recovery_s"]);
    assert_eq!(seen["state"], "stable", "{}", seen["reason"]);
    assert_eq!(seen["recovered"], seen["replications"]);
    let recovery = number(&seen, "/recovery_s");
    assert!((120.0..900.0).contains(&recovery), "recovered after {recovery} s");

    // Watched for less than that it is not taken for metastable.
    let projected = simulate(CACHE, &[read_through]);
    println!("  {} after {} s", projected["reason"], projected["recovery_s"]);
    assert_eq!(projected["state"], "stable", "{}", projected["reason"]);

    let as_it_is = simulate(CACHE, &[]);
    assert_eq!(as_it_is["state"], "metastable", "{}", as_it_is["reason"]);
}

#[test]
fn mm1_storm_works_at_full_speed_for_nobody() {
    let result = simulate(SPIKE, &[]);
    assert_eq!(result["state"], "metastable", "{}", result["reason"]);
    let names = ["goodput_rps", "offered_rps", "throughput_rps"];
    let rates = after_trigger(&result, 0.0, 300.0, &names);
    println!("  good {:.4} of {:.4}, throughput {:.4}", rates[0], rates[1], rates[2]);
    assert!(rates[0] < 0.05 * rates[1], "{} good of {}", rates[0], rates[1]);
    near("throughput", rates[2], 10.0, 0.5);
}

/// Rejection of the high and the low class.
fn rejection(result: &Value) -> [f64; 2] {
    let of = |class: &str| number(result, &format!("/classes/{class}/rejection"));
    [of("high"), of("low")]
}

#[track_caller]
fn rejects(result: &Value, high: f64, low: f64, by: f64) {
    let found = rejection(result);
    near("rejection of high", found[0], high, by);
    near("rejection of low", found[1], low, by);
}

#[test]
#[ignore = "slow: runs in release with cargo xtask test"]
fn hotel_reservation_matches_the_model() {
    let priorities = simulate(HOTEL, &[]);
    rejects(&priorities, 0.161, 0.608, 0.03);
    near("calls per request", number(&priorities, "/calls_per_request"), 3.40, 0.15);

    let none = simulate(HOTEL, &["policies.default.retry.limit=5"]);
    rejects(&none, 0.533, 0.533, 0.03);
    near("calls per request", number(&none, "/calls_per_request"), 6.45, 0.15);

    let calm = simulate(HOTEL, &["load.low=50/s"]);
    rejects(&calm, 0.0, 0.0, 0.0);
    near("calls per request", number(&calm, "/calls_per_request"), 3.79, 0.15);
}

/// A bucket that is empty is empty at once again: retries without a delay buy no priority.
#[test]
#[ignore = "slow: runs in release with cargo xtask test"]
fn hotel_reservation_without_delay_has_no_priorities() {
    let result = simulate(HOTEL, &["policies.default.retry.backoff=none"]);
    rejects(&result, 0.531, 0.534, 0.03);
    let [high, low] = rejection(&result);
    assert!((high - low).abs() < 0.02, "{high} and {low}");
}

/// A hop that retries what failed further down repeats the work above: priority at a price.
#[test]
#[ignore = "slow: runs in release with cargo xtask test"]
fn hotel_reservation_retries_from_above_repeat_work() {
    let own = simulate(HOTEL, &[]);
    let below = simulate(HOTEL, &["policies.default.retry.on=[rejected, downstream]"]);
    let calls = |r: &Value| number(r, "/calls_per_request");
    let ([high_own, low_own], [high_below, low_below]) = (rejection(&own), rejection(&below));
    println!("  high {high_own:.3} → {high_below:.3}, low {low_own:.3} → {low_below:.3}");
    println!("  calls {:.2} → {:.2}", calls(&own), calls(&below));
    assert!(calls(&below) > 1.5 * calls(&own), "{} and {}", calls(&below), calls(&own));
    assert!(high_below < 0.05 && high_own > 0.1, "more chances for the high class");
    assert!(low_below > low_own, "and what it takes, the low class loses");
    let repeated = number(&below, "/services/frontend/amplification");
    assert!(repeated > 1.5, "{repeated}");
    near("own", number(&own, "/services/frontend/amplification"), 1.0, 0.001);
}

#[test]
#[ignore = "slow: runs in release with cargo xtask test"]
fn single_node_matches_the_model() {
    let result = simulate(NODE, &[]);
    rejects(&result, 0.32, 0.68, 0.01);
}

/// The routing chain of the literature, solved, and beside the simulator.
#[test]
#[ignore = "slow: runs in release with cargo xtask test"]
fn hotel_reservation_as_a_chain_is_what_the_model_says() {
    let chain = "examples/hotel-reservation-routes.yaml";
    for (limit, high, low) in [("{high: 5, low: 1}", 0.161, 0.608), ("5", 0.533, 0.533)] {
        let set = format!("policies.default.retry.limit={limit}");
        let result = run("solve", chain, &[&set], &["--against-sim"]);
        let rejection = |class: &str| number(&result, &format!("/classes/{class}/rejection"));
        near("high", rejection("high"), high, 5e-4);
        near("low", rejection("low"), low, 5e-4);
        // A bucket with a burst is not the fluid: the favoured class does a little worse.
        let off = |class: &str| number(&result, &format!("/simulated/classes/{class}/difference"));
        near("high against the simulator", off("high"), 0.0, 0.025);
        near("low against the simulator", off("low"), 0.0, 0.01);
    }
}
