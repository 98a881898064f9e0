//! The whole drill on the emulation of `examples/retry-storm.yaml`: hidden capacity of running
//! processes beside the simulation and the model, with and without a budget; the lever ends the
//! collapse, the ramp does not bring it back, opening it without looking does.
//!
//! `DAMPER_SLOWER` makes everything slower for a machine that is busy.

use serde_json::Value;

use crate::program::{Ran, damper, number};

fn drill(plan: &str, more: &[&str]) -> (Ran, Value) {
    let folder = tempfile::tempdir().unwrap();
    let plan = format!("examples/drill/{plan}.yaml");
    let slower = std::env::var("DAMPER_SLOWER").unwrap_or_else(|_| "2".to_owned());
    let kept = folder.path().to_str().unwrap();
    let args = ["drill", &plan, "--json", "--slower", &slower, "--keep-in", kept];
    let ran = damper(&[&args, more].concat());
    let record = serde_json::from_str(&ran.out);
    let record = record.unwrap_or_else(|e| panic!("{plan}: {e}\n{}{}", ran.out, ran.err));
    (ran, record)
}

/// Whether what was found on running processes is what was predicted, within 10 %. Each probe answers by
/// chance near the edge, so that the interval of the search is asked, not its middle; it must be
/// narrow enough to say something.
fn agree(record: &Value, predicted: [f64; 2]) {
    let hidden = &record["hidden"];
    let low = number(hidden, "/low");
    let high = if hidden["open"] == true { low } else { number(hidden, "/high") };
    assert!(high <= 1.35 * low, "this says nothing: {hidden}");
    let (from, to) = (0.9 * predicted[0], 1.1 * predicted[1]);
    assert!(low <= to && high >= from, "{low} to {high}, and {predicted:?}: {hidden}");
}

/// The interval of the simulation.
fn simulated(record: &Value) -> [f64; 2] {
    let ci = &record["predicted"]["hidden_ci95"];
    [number(ci, "/0"), number(ci, "/1")]
}

/// A search that is over in some minutes: the examples look closer.
fn search(plan: &str, from: &str, to: &str) -> (Ran, Value) {
    let bounds = format!(
        "headroom={{trigger: blip, for: 2s, from: {from}, to: {to}, resolution: 20%, \
        repeats: 1, ramp: 1s, steady: 3s, watch: 20s}}"
    );
    drill(plan, &["--headroom", "--set", &bounds, "--set", "recovered.hold=2s"])
}

#[test]
#[ignore = "slow: a minute and a half of load on real processes"]
fn the_lever_ends_the_collapse_and_the_ramp_does_not_bring_it_back() {
    let (ran, record) = drill("retry-storm", &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.out);
    assert_eq!(record["recovered"], true);
    assert_eq!(record["predicted"]["state"], "metastable", "it would not have by itself");
    let alone = record["phases"].as_array().unwrap().iter().find(|p| p["name"] == "by itself");
    let alone = alone.unwrap();
    let share = number(alone, "/good") / number(alone, "/offered");
    assert!(share < 0.2, "it was down before the lever was pulled: {share}");
    let ramp = &record["levers"][1];
    assert!(number(ramp, "/after") > 0.95, "{ramp}");
    let expected = &record["expectations"];
    assert!(expected.as_array().unwrap().iter().all(|e| e["met"] == true), "{expected}");
}

#[test]
#[ignore = "slow: a minute of load on real processes"]
fn opened_without_looking_it_collapses_again() {
    let (ran, record) = drill("ungated", &[]);
    assert_eq!(ran.code, Some(1), "{}", ran.out);
    assert_eq!((&record["ended"], &record["recovered"]), (&"done".into(), &false.into()));
    let last = record["phases"].as_array().unwrap().last().unwrap();
    assert!(number(last, "/good") < 0.2 * number(last, "/offered"), "{last}");
}

#[test]
#[ignore = "slow: about four minutes of probes"]
fn hidden_capacity_of_the_running_system_is_what_was_predicted() {
    let (ran, record) = search("retry-storm", "110/s", "220/s");
    assert_eq!(ran.code, Some(0), "{}", ran.out);
    let model = number(&record, "/predicted/hidden_model_rps");
    agree(&record, simulated(&record));
    agree(&record, [model, model]);
}

#[test]
#[ignore = "slow: about four minutes of probes"]
fn with_a_budget_as_well() {
    let (ran, record) = search("budget", "220/s", "300/s");
    assert_eq!(ran.code, Some(0), "{}", ran.out);
    agree(&record, simulated(&record));
    let low = number(&record, "/hidden/low");
    assert!(low > 200.0 / number(&record, "/slower"), "the budget has bought the gap back");
}

#[test]
#[ignore = "slow: half a minute of load on real processes"]
fn with_a_budget_it_comes_back_by_itself() {
    let (ran, record) = drill("budget", &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.out);
    assert_eq!(record["predicted"]["state"], "stable");
}
