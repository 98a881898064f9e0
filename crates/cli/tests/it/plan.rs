//! What `plan` says must be what `solve` gives once it is applied.

use serde_json::Value;

use crate::program::{damper, json, number};

fn plan(args: &[&str], code: i32) -> Value {
    let ran = damper(&[&["plan"], args, &["--json"]].concat());
    assert_eq!(ran.code, Some(code), "{args:?}: {}", ran.err);
    serde_json::from_str(&ran.out).unwrap()
}

fn texts(value: &Value) -> Vec<&str> {
    value.as_array().unwrap().iter().map(|v| v.as_str().unwrap()).collect()
}

/// The file, with the setting and some more, solved.
fn applied(file: &str, set: &[&str], more: &[&str]) -> Value {
    let mut args = vec!["solve", file];
    for change in set.iter().chain(more) {
        args.extend(["--set", change]);
    }
    json(&args)
}

fn worst(solved: &Value) -> f64 {
    let services = solved["services"].as_object().unwrap().values();
    services.map(|s| number(s, "/worst_amplification")).fold(1.0, f64::max)
}

#[track_caller]
fn near(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-9 * b.abs().max(1.0), "{a} and {b}");
}

#[test]
fn five_layers_retry_at_the_top_alone() {
    let file = "examples/five-layers.yaml";
    let found = plan(&[file], 0);
    assert_eq!(found["met"], true);
    assert_eq!(found["exact"], true);
    assert_eq!(texts(&found["layer"]), ["client -> edge"]);
    assert_eq!(number(&found, "/before/worst_amplification"), 243.0);
    assert_eq!(number(&found, "/after/worst_amplification"), 3.0);
    let set = texts(&found["changes"]);
    let solved = applied(file, &set, &[]);
    near(worst(&solved), 3.0);
    near(number(&solved, "/hidden_rps"), 1000.0);
    // The transient faults as failures of every service: what then completes is what it says.
    let services = ["edge", "api", "orders", "stock", "store"];
    let faults = services.map(|s| format!("services.{s}.failure=0.1%"));
    let faults = faults.each_ref().map(String::as_str);
    let shaken = applied(file, &set, &faults);
    near(number(&shaken, "/classes/default/completion"), number(&found, "/after/availability"));
    // Every row of both tables as well.
    for list in ["layers", "frontier"] {
        for row in found[list].as_array().unwrap() {
            let set = texts(&row["changes"]);
            let solved = applied(file, &set, &[]);
            near(worst(&solved), number(row, "/worst_amplification"));
            let shaken = applied(file, &set, &faults);
            near(number(&shaken, "/classes/default/completion"), number(row, "/availability"));
        }
    }
}

#[test]
fn hotel_reservation_favours_its_high_class() {
    let file = "examples/hotel-reservation.yaml";
    let found = plan(&[file, "--reject", "high<=10%"], 0);
    let high = number(&found, "/after/rejection/high");
    assert!(high <= 0.1, "{high}");
    assert!(
        number(&found, "/after/worst_amplification")
            < number(&found, "/before/worst_amplification")
    );
    let solved = applied(file, &texts(&found["changes"]), &[]);
    near(number(&solved, "/classes/high/rejection"), high);
    near(number(&solved, "/classes/low/rejection"), number(&found, "/after/rejection/low"));
    near(worst(&solved), number(&found, "/after/worst_amplification"));
    for limits in found["after"]["limits"].as_object().unwrap().values() {
        assert!(number(limits, "/high") >= number(limits, "/low"));
    }
}

#[test]
fn an_overload_that_limits_cannot_carry() {
    let file = "examples/hotel-reservation.yaml";
    let found = plan(&[file, "--reject", "high=2%", "--at", "load.low=x3"], 1);
    assert_eq!(found["met"], false);
    assert_eq!(texts(&found["at"]), ["load.low=750/s"]);
    assert_eq!(texts(&found["clashes"][0]["targets"]), ["--reject high=2%"]);
    let nearest = number(&found, "/after/rejection/high");
    near(number(&found, "/clashes/0/best"), nearest);
    assert!(nearest > 0.02 && nearest < number(&found, "/before/rejection/high"));
    let solved = applied(file, &texts(&found["changes"]), &["load.low=750/s"]);
    near(number(&solved, "/classes/high/rejection"), nearest);
}

/// A call that is kept stays; the rest is planned around it.
#[test]
fn what_is_kept_stays() {
    let file = "examples/five-layers.yaml";
    let found = plan(&[file, "--keep", "stock -> store"], 0);
    assert_eq!(number(&found, "/after/limits/stock -> store/default"), 2.0);
    // One retry above it leaves (4 q)² of 5 q: 0.3 %. Two leave less than 0.1 %: 3 × 3 attempts.
    assert_eq!(number(&found, "/after/worst_amplification"), 9.0);
    near(worst(&applied(file, &texts(&found["changes"]), &[])), 9.0);
}

#[test]
fn a_routing_matrix_has_rejection_alone() {
    let file = "examples/hotel-reservation-routes.yaml";
    let found = plan(&[file, "--reject", "high=15%"], 0);
    let solved = applied(file, &texts(&found["changes"]), &[]);
    near(number(&solved, "/classes/high/rejection"), number(&found, "/after/rejection/high"));
    near(worst(&solved), number(&found, "/after/worst_amplification"));
    assert_eq!(found["after"]["hides"], Value::Null);
    assert_eq!(damper(&["plan", file]).code, Some(2));
}
