//! What is learnt, beside what is true.

use damper_learn::learnt::{Call, Learnt, Policy, Request};
use damper_learn::yaml;
use damper_sim::{Control, HeadroomOptions, headroom};
use damper_system::{System, SystemFile};

use crate::{HOW, emit, learn_text, system, traces};

const SHOP: &str = include_str!("shop.yaml");

fn learnt(system: &System, requests: u64) -> Learnt {
    let recorder = emit::record(system, requests);
    let found = learn_text(&traces(&recorder, system, HOW)).unwrap();
    // A few are under way when the run ends.
    assert!(found.read.requests <= recorder.ended && found.read.requests + 50 > recorder.ended);
    found
}

/// Within this share of what is true.
#[track_caller]
fn near(what: &str, value: f64, truth: f64, within: f64) {
    println!("{what}: {value:.5}, true {truth:.5}, off by {:.2} %", (value / truth - 1.0) * 100.0);
    assert!((value - truth).abs() <= within * truth, "{what}: {value}, true {truth}");
}

fn request<'l>(learnt: &'l Learnt, original: &str) -> &'l Request {
    learnt.requests.iter().find(|r| r.original == original).unwrap()
}

fn policy<'l>(learnt: &'l Learnt, caller: &str, callee: &str) -> &'l Policy {
    learnt.policies.iter().find(|p| p.caller == caller && p.callee == callee).unwrap()
}

/// The call to a service below others.
fn call<'l>(groups: &'l [Vec<Call>], path: &[&str]) -> &'l Call {
    let call = groups.iter().flatten().find(|c| c.callee == path[0]).unwrap();
    if path.len() == 1 { call } else { call_below(call, &path[1..]) }
}

fn call_below<'l>(above: &'l Call, path: &[&str]) -> &'l Call {
    call(&above.calls, path)
}

fn check_shop(found: &Learnt, within: f64) {
    near("load", found.load_rps.as_ref().unwrap().value, 200.0, within);
    let (find, look) = (request(found, "find"), request(found, "look"));
    near("share of find", find.share.value, 0.6, within);
    near("share of look", look.share.value, 0.4, within);
    let calls = [
        (find, &["web"][..], 1.0, 1.0),
        (find, &["web", "search"], 1.0, 1.0),
        (find, &["web", "search", "geo"], 1.0, 1.0),
        (find, &["web", "search", "rate"], 1.0, 1.0),
        (find, &["web", "search", "store"], 1.0, 2.0),
        (find, &["web", "ads"], 0.3, 1.0),
        (look, &["web", "store"], 1.0, 1.0),
        (look, &["web", "geo"], 0.05, 1.0),
    ];
    for (request, path, chance, times) in calls {
        let call = call(&request.calls, path);
        let what = format!("{} {path:?}", request.name);
        // A rare call is known as well as its count allows.
        let [low, high] = call.chance.ci95;
        let wide = (high - low) / chance;
        near(&format!("chance of {what}"), call.chance.value, chance, within.max(wide));
        near(&format!("times of {what}"), call.times.value, times, within);
    }
    let together = call(&find.calls, &["web", "search"]).calls.iter();
    let together: Vec<usize> = together.map(Vec::len).collect();
    assert_eq!(together, [2, 1], "geo and rate at the same time, then the store");
    for (name, dist, mean) in [
        ("web", "exponential", 0.002),
        ("search", "lognormal", 0.004),
        ("geo", "erlang", 0.003),
        ("rate", "deterministic", 0.005),
        ("store", "exponential", 0.003),
        ("ads", "hyperexponential", 0.004),
    ] {
        let service = found.services.iter().find(|s| s.name == name).unwrap();
        let time = service.time.as_ref().unwrap();
        assert_eq!(time.dist, dist, "{name}: {time:?}");
        let [low, high] = time.mean_s.ci95;
        near(name, time.mean_s.value, mean, within.max((high - low) / mean));
    }
    let store = found.services.iter().find(|s| s.name == "store").unwrap();
    let failure = store.failure.as_ref().unwrap();
    let [low, high] = failure.ci95;
    near("failure", failure.value, 0.1, within.max((high - low) / 0.1));
}

fn check_retries(found: &Learnt, within: f64) {
    let policy = policy(found, "search", "store");
    assert_eq!(policy.limit, Some(2), "{policy:?}");
    assert_eq!(policy.on, ["failed"], "{policy:?}");
    let backoff = policy.backoff.as_ref().unwrap();
    assert_eq!((backoff.kind.as_str(), backoff.factor), ("exponential", Some(2.0)));
    assert_eq!(backoff.jitter, "none");
    near("base", backoff.base_s, 0.02, within);
    // Of each attempt a tenth fails: 1 + 0.1 + 0.01 attempts a call.
    let attempts = policy.attempts as f64 / policy.calls as f64;
    near("attempts of a call", attempts, 1.11, within);
}

#[test]
fn a_shop_is_learnt_back() {
    let found = learnt(&system(SHOP), 3_000);
    check_shop(&found, 0.08);
    check_retries(&found, 0.02);
    let text = yaml(&found);
    let back = SystemFile::parse("learnt.yaml", &text).unwrap();
    let (back, warnings) = back.lower_with_warnings().unwrap_or_else(|p| panic!("{p}\n{text}"));
    assert_eq!(back.services.len(), 6);
    let gaps = warnings.iter().filter(|w| w.message.contains("is not known")).count();
    assert_eq!(gaps, found.gaps.len(), "{warnings}");
    insta::with_settings!({filters => vec![(r"\d[\d,.]*\d|\d", "N"), (r"  +# ", "  # ")]}, {
        insta::assert_snapshot!("shop", text);
    });
}

#[test]
#[ignore = "slow: 100,000 traces; runs in release with cargo xtask test"]
fn a_hundred_thousand_traces_are_learnt_within_two_percent() {
    let found = learnt(&system(SHOP), 100_000);
    check_shop(&found, 0.02);
    check_retries(&found, 0.02);
}

#[test]
fn amplification_is_what_retries_make_of_it() {
    let found = learnt(&system(SHOP), 3_000);
    let of = |name: &str| found.amplification.iter().find(|a| a.service == name).unwrap();
    // Failed calls end some requests early, so that a little less than 1.11 arrives.
    near("store", of("store").factor, 1.11, 0.02);
    near("web", of("web").factor, 1.0, 0.001);
    near("retries", of("store").retry_rate, 0.11 / 1.11, 0.1);
    let rescued = of("store").rescued.as_ref().unwrap();
    near("well after retry", rescued.value, 0.99, 0.02);
}

/// One database, one retry, one outage of two seconds, at a load below hidden capacity.
fn storm(load: u32) -> String {
    format!(
        "damper: 1
name: storm
services:
  db: {{workers: 30, service_time: 100ms}}
load: {load}/s
requests:
  query: {{calls: [db]}}
policies:
  \"client -> db\": {{timeout: 1s, retry: {{limit: 1}}}}
triggers:
  blip: [{{outage: db, for: 2s}}]
experiment: {{warmup: 30s, trigger_at: 60s, watch: 120s, seed: 1, replications: 3}}
"
    )
}

fn hidden(file: &SystemFile) -> f64 {
    let system = file.lower().unwrap();
    let options = HeadroomOptions { replications: 3, remedy_replications: 1, remedies: false };
    let stop = std::sync::atomic::AtomicBool::new(false);
    let control = Control { stop: &stop, progress: &|_, _, _| {} };
    let found = headroom(file, &system, &options, &control).unwrap();
    let hidden = found.hidden.unwrap();
    println!("{hidden:?}");
    hidden.mean
}

#[test]
#[ignore = "slow: two searches; runs in release with cargo xtask test"]
fn hidden_capacity_of_what_was_learnt_is_that_of_the_original() {
    let text = storm(120);
    let original = SystemFile::parse("storm.yaml", &text).unwrap();
    let found = learnt(&original.lower().unwrap(), 100_000);
    let mut file = SystemFile::parse("learnt.yaml", &yaml(&found)).unwrap();
    // What traces cannot show, from the original.
    for gap in [
        "services.db.workers=30",
        "triggers={blip: [{outage: db, for: 2s}]}",
        "experiment={warmup: 30s, trigger_at: 60s, watch: 120s, seed: 1, replications: 3}",
    ] {
        file.set(gap).unwrap();
    }
    let truth = hidden(&original);
    near("hidden capacity", hidden(&file), truth, 0.1);
}
