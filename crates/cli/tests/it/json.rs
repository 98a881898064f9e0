//! The JSON that others build on.

use damper_report::result::{Headroom, Plan, Simulate, Solve};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::program::{QUICK, command, damper, finished, json as run};

/// What `headroom --json` promises: a path, where `*` stands for every entry, and a type.
const HEADROOM: &[(&str, &str)] = &[
    ("system", "string"),
    ("version", "string"),
    ("seed", "integer"),
    ("trigger", "string"),
    ("advertised_rps", "number"),
    ("hidden_rps", "number"),
    ("hidden_ci95", "interval"),
    ("load_rps", "number"),
    ("state", "string"),
    ("loop", "object"),
    ("amplification", "number"),
    ("remedies", "array"),
    ("remedies.*.name", "string"),
    ("remedies.*.hidden_rps", "number"),
    ("remedies.*.hidden_ci95", "interval"),
    ("remedies.*.success_before", "number"),
    ("remedies.*.success_after", "number"),
];

/// What `simulate --json` promises.
const SIMULATE: &[(&str, &str)] = &[
    ("state", "string"),
    ("recovery_s", "number"),
    ("classes", "object"),
    ("classes.*.offered", "integer"),
    ("classes.*.good", "integer"),
    ("classes.*.rejected", "integer"),
    ("classes.*.timed_out", "integer"),
    ("classes.*.failed", "integer"),
    ("classes.*.shed", "integer"),
    ("services", "object"),
    ("services.*.attempts", "integer"),
    ("services.*.amplification", "number"),
    ("services.*.wasted", "number"),
    ("services.*.utilisation", "number"),
    ("services.*.shed", "integer"),
    ("controls", "array"),
    ("controls.*.place", "string"),
    ("controls.*.key", "string"),
    ("controls.*.name", "string"),
    ("controls.*.refused", "integer"),
    ("series", "object"),
];

/// What `solve --json` promises.
const SOLVE: &[(&str, &str)] = &[
    ("classes.*.rejection", "number"),
    ("classes.*.completion", "number"),
    ("services.*.s", "number"),
    ("services.*.attempts_rps", "object"),
    ("services.*.amplification", "number"),
    ("calls_per_request", "number"),
    ("calls_per_success", "number"),
    ("floor_calls_per_request", "number"),
    ("unique", "boolean"),
    ("iterations", "integer"),
    ("residual", "number"),
];

/// What `plan --json` promises.
const PLAN: &[(&str, &str)] = &[
    ("met", "boolean"),
    ("verdict", "string"),
    ("changes", "array"),
    ("lines", "array"),
    ("at", "array"),
    ("transient", "number"),
    ("targets.*.target", "string"),
    ("targets.*.field", "string"),
    ("targets.*.bound", "number"),
    ("targets.*.met", "boolean"),
    ("before.worst_amplification", "number"),
    ("after.worst_amplification", "number"),
    ("after.availability", "number"),
    ("after.hides", "number"),
    ("after.hidden_rps", "number"),
    ("after.limits.*.default", "integer"),
    ("after.rejection.*", "number"),
    ("layer", "array"),
    ("layers.*.layers", "string"),
    ("frontier.*.changes", "array"),
    ("evaluations", "integer"),
    ("exact", "boolean"),
];

/// In both: enough to make the result again.
const PROVENANCE: &[(&str, &str)] = &[
    ("system", "string"),
    ("version", "string"),
    ("seed", "integer"),
    ("file", "string"),
    ("set", "array"),
    ("partial", "boolean"),
    ("notes", "array"),
];

fn quick(command: &'static str, more: &[&'static str]) -> Vec<&'static str> {
    [&[command], QUICK, more].concat()
}

/// All values at a path.
fn at<'a>(value: &'a Value, path: &str) -> Vec<&'a Value> {
    path.split('.').fold(vec![value], |values, key| {
        let below = values.into_iter().flat_map(|v| match (key, v) {
            ("*", Value::Array(entries)) => entries.iter().collect(),
            ("*", Value::Object(entries)) => entries.values().collect(),
            _ => v.get(key).into_iter().collect::<Vec<_>>(),
        });
        below.collect()
    })
}

fn is(value: &Value, kind: &str) -> bool {
    match kind {
        "string" => value.is_string(),
        "integer" => value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "object" => value.is_object(),
        "array" => value.is_array(),
        "interval" => value.as_array().is_some_and(|v| match v.as_slice() {
            [low, high] => low.as_f64().zip(high.as_f64()).is_some_and(|(l, h)| l <= h),
            _ => false,
        }),
        other => panic!("no such type: {other}"),
    }
}

#[track_caller]
fn promises(result: &Value, fields: &[(&str, &str)]) {
    for (path, kind) in fields {
        let found = at(result, path);
        assert!(!found.is_empty(), "no {path}");
        for value in found {
            assert!(is(value, kind), "{path} is no {kind}: {value}");
        }
    }
}

/// The types of `damper-report` and the text are the same thing.
#[track_caller]
fn round_trips<T: Serialize + DeserializeOwned>(result: &Value) {
    let typed: T = serde_json::from_value(result.clone()).expect("it is what the type says");
    assert_eq!(&serde_json::to_value(typed).unwrap(), result);
}

#[test]
fn plan_keeps_its_promise() {
    let result = run(&["plan", "examples/five-layers.yaml"]);
    promises(&result, PLAN);
    promises(&result, PROVENANCE);
    round_trips::<Plan>(&result);
}

#[test]
fn headroom_keeps_its_promise() {
    let result = run(&quick("headroom", &[]));
    promises(&result, HEADROOM);
    promises(&result, PROVENANCE);
    round_trips::<Headroom>(&result);
    assert_eq!(result["state"], "vulnerable");
    assert_eq!(result["trigger"], "outage of db for 2s");
    assert!(at(&result, "remedies.*").len() >= 8, "{}", result["remedies"]);
}

#[test]
fn simulate_keeps_its_promise() {
    let heals = run(&quick("simulate", &["--set", "load=10/s"]));
    promises(&heals, SIMULATE);
    promises(&heals, PROVENANCE);
    round_trips::<Simulate>(&heals);
    assert_eq!(heals["state"], "stable");

    let stays = run(&quick("simulate", &[]));
    assert_eq!(stays["state"], "metastable");
    assert_eq!(stays["recovery_s"], Value::Null, "it did not");
    round_trips::<Simulate>(&stays);
}

#[test]
fn every_request_ends_in_one_way() {
    let result = run(&["simulate", "examples/hotel-reservation.yaml", "--replications", "1"]);
    for (name, class) in result["classes"].as_object().unwrap() {
        let count = |field: &str| class[field].as_u64().unwrap();
        let ends = ["good", "rejected", "timed_out", "failed", "shed", "unfinished"];
        assert_eq!(ends.map(count).iter().sum::<u64>(), count("offered"), "{name}: {class}");
    }
}

#[test]
fn a_series_has_one_value_for_each_point() {
    let result = run(&quick("simulate", &[]));
    let series = &result["series"];
    let points = series["t_s"].as_array().unwrap().len();
    assert!(points > 60);
    for name in ["offered_rps", "attempts_rps", "goodput_rps", "throughput_rps"] {
        assert_eq!(series[name].as_array().unwrap().len(), points, "{name}");
    }
    for list in at(series, "services.*.*") {
        assert_eq!(list.as_array().unwrap().len(), points, "{list}");
    }
    assert_eq!(series["trigger_s"], json!([60.0, 62.0]));
}

#[test]
fn where_nothing_holds_it_down_there_is_no_loop() {
    let result = run(&quick("headroom", &["--set", "services.db.queue=15", "--no-remedies"]));
    assert_eq!(result["loop"], Value::Null);
    assert_eq!(result["state"], "stable");
    assert_eq!(result["remedies"], json!([]));
    assert_eq!(result["hidden_rps"], result["advertised_rps"], "it heals everywhere");
    round_trips::<Headroom>(&result);
}

/// To the byte. Says which lines differ, not the whole result.
#[track_caller]
fn same(one: &str, other: &str) {
    let lines = one.lines().zip(other.lines());
    let differ: Vec<_> = lines.filter(|(a, b)| a != b).take(5).collect();
    assert!(one == other, "not the same: {differ:?}");
}

/// Threads only decide who computes what when.
#[test]
fn threads_change_nothing() {
    for args in [
        quick("headroom", &["--json"]),
        quick("simulate", &["--json"]),
        quick("headroom", &["--no-remedies"]),
    ] {
        let with = |threads: &str| {
            let mut command = command(&args);
            finished(command.env("RAYON_NUM_THREADS", threads).output().unwrap())
        };
        let (one, four) = (with("1"), with("4"));
        assert_eq!(one.code, Some(0), "{}", one.err);
        same(&one.out, &four.out);
    }
}

#[test]
fn the_same_seed_gives_the_same_and_another_another() {
    for name in ["headroom", "simulate"] {
        let base = quick(name, if name == "headroom" { &["--no-remedies"] } else { &[] });
        let seed = |n: &'static str| {
            let args = [base.as_slice(), &["--json", "--seed", n]].concat();
            damper(&args).out
        };
        same(&seed("7"), &seed("7"));
        let (seven, eight): (Value, Value) =
            (serde_json::from_str(&seed("7")).unwrap(), serde_json::from_str(&seed("8")).unwrap());
        assert_eq!((seven["seed"].as_u64(), eight["seed"].as_u64()), (Some(7), Some(8)));
        let what = if name == "headroom" { "shown" } else { "classes" };
        assert_ne!(seven[what], eight[what], "{name}: other random numbers");
    }
}

#[test]
fn a_result_says_how_to_make_it_again() {
    let set = ["--set", "experiment.watch=60s"];
    for name in ["headroom", "simulate"] {
        let mut args = quick(name, &set);
        if name == "headroom" {
            args.push("--no-remedies");
        }
        let result = run(&args);
        assert_eq!(result["version"], env!("CARGO_PKG_VERSION"));
        assert_eq!(result["seed"], 1, "that of the file");
        assert_eq!(result["file"], "examples/retry-storm.yaml", "as it was given");
        assert_eq!(
            result["set"],
            json!(["services.db.workers=3", "load=27/s", "experiment.watch=60s"]),
            "in order"
        );
        assert_eq!(result["replications"], 3);
        assert_eq!(result["partial"], false);
    }
}

/// `controls --json` is a list, and every control is in it once.
#[test]
fn controls_are_listed() {
    let ran = damper(&["controls", "--json"]);
    assert_eq!(ran.code, Some(0));
    let list: Value = serde_json::from_str(&ran.out).unwrap();
    let list = list.as_array().unwrap();
    assert!(list.len() > 60, "{}", list.len());
    let mut names = std::collections::BTreeSet::new();
    for control in list {
        for key in ["name", "kind", "summary", "source"] {
            assert!(control[key].as_str().is_some_and(|s| !s.is_empty()), "{key}: {control}");
        }
        for parameter in control["parameters"].as_array().unwrap() {
            assert!(parameter["name"].is_string() && parameter["unit"].is_string(), "{parameter}");
            assert!(!parameter["default"].is_null(), "{parameter}");
        }
        assert!(names.insert(control["name"].as_str().unwrap()), "twice: {control}");
    }
}

/// What callers hold back on the word of a service is shown beside what the service refuses.
#[test]
fn what_callers_hold_back_is_listed() {
    let ran = damper(&[
        "simulate",
        "examples/retry-storm.yaml",
        "--json",
        "--quiet",
        "--set",
        "services.db.admission=dagor",
        "--set",
        "services.db.pushback=stop",
        "--set",
        "load=900/s",
    ]);
    let result: Value = serde_json::from_str(&ran.out).unwrap();
    let controls = result["controls"].as_array().unwrap();
    let refused = |place: &str, key: &str| {
        let row = controls.iter().find(|c| c["place"] == place && c["key"] == key).unwrap();
        row["refused"].as_u64().unwrap()
    };
    assert!(refused("client -> db", "admission") > 1000, "{controls:?}");
    assert!(refused("client -> db", "pushback") > 0, "{controls:?}");
    assert!(refused("db", "admission") > 0, "{controls:?}");
}

#[test]
fn solve_keeps_its_promise() {
    let quick = "experiment.replications=2";
    let file = "examples/retry-storm.yaml";
    let result = run(&["solve", file, "--against-sim", "--quiet", "--set", quick]);
    for (path, kind) in SOLVE.iter().chain(PROVENANCE) {
        let found = at(&result, path);
        assert!(!found.is_empty(), "no {path}");
        assert!(found.iter().all(|v| is(v, kind)), "{path}: {found:?}");
    }
    assert!(result["services"]["db"]["utilisation"].is_number());
    for (path, kind) in [
        ("simulated.classes.*.difference", "number"),
        ("simulated.classes.*.difference_ci95", "interval"),
        ("simulated.calls_per_request_ci95", "interval"),
        ("simulated.calls_per_request_difference_ci95", "interval"),
        ("simulated.services.*.attempts_rps_ci95", "interval"),
    ] {
        promises(&result, &[(path, kind)]);
    }
    assert_eq!(result["as_routes"]["differs"], false, "one call, repeated by itself");
    assert_eq!(result["graph"]["nodes"][1]["rejection"], 0.0);
    round_trips::<Solve>(&result);
    let swept = run(&["solve", "examples/retry-storm.yaml", "--sweep", "load=100..200:50"]);
    assert_eq!(swept["points"].as_array().map(Vec::len), Some(3));
    assert_eq!(swept["points"][2]["at"][0], "load=200/s");
    assert!(swept["points"][2]["hidden_rps"].is_number());
    assert_eq!(swept["swept"], json!({"path": "load", "unit": "/s"}));
    assert_eq!(swept["points"][2]["value"], 200.0);
    round_trips::<Solve>(&swept);
}

/// Two classes that ask two services in opposite order, each losing its way where the other stays.
#[test]
fn restarts_find_the_other_solution() {
    let file = "crates/cli/tests/it/systems/two-solutions.yaml";
    let result = run(&["solve", file, "--restarts", "40", "--seed", "3"]);
    assert_eq!((&result["unique"], &result["seed"]), (&json!(false), &json!(3)));
    let found = &result["fixed_points"];
    assert_eq!((&found["found"], &found["starts"]), (&json!(2), &json!(40)));
    let s = |solution: usize, service: &str| found["solutions"][solution]["s"][service].as_f64();
    assert!(s(0, "s0") > Some(0.9) && s(0, "s1") == Some(0.0), "{found}");
    assert!(s(1, "s1") > Some(0.9) && s(1, "s0") == Some(0.0), "{found}");
    // Where the solution is known to be the only one, nobody looks.
    let only = run(&["solve", "examples/retry-storm.yaml", "--restarts", "40"]);
    assert_eq!((&only["unique"], &only["fixed_points"]), (&json!(true), &Value::Null));
}

/// What `solve`, `plan` and the chain leave out of a file is in the list and on standard error; what
/// takes the whole file, and a file without such parts, leaves nothing out.
#[test]
fn what_is_left_out_is_listed_and_said() {
    const HEALTH: &str = "examples/mechanisms/health.yaml";
    for (args, says) in [
        (vec!["solve", HEALTH], "solve leaves out the health checks of `web`"),
        (vec!["plan", HEALTH, "--amplified", "3x"], "plan leaves out the health checks of `web`"),
        (vec!["solve", "examples/lookaside-cache.yaml"], "solve takes only a part of the cache `"),
        (
            vec![
                "solve",
                "examples/mm1-storm.yaml",
                "--basins",
                "--set",
                "services.server.failure=1%",
            ],
            "solve --basins leaves out the failures of `server`",
        ),
        (vec!["export", "envoy", HEALTH], "export leaves out the health checks of `web`"),
    ] {
        let text = damper(&args);
        assert!(text.err.contains(says), "{args:?}: {}", text.err);
        assert!(!text.out.contains(says), "{args:?}: {}", text.out);
        let told = damper(&[&args[..], &["--json"]].concat());
        let result: Value = serde_json::from_str(&told.out).unwrap_or_else(|e| panic!("{e}"));
        let list = if args[0] == "export" { &result["notes"] } else { &result["left_out"] };
        let said = |entry: &Value| entry["says"].as_str().or(entry.as_str()).map(str::to_owned);
        let all: Vec<String> = list.as_array().into_iter().flatten().filter_map(said).collect();
        assert!(all.iter().any(|one| one.starts_with(says)), "{args:?}: {all:?}");
    }
    let whole = run(&["simulate", HEALTH, "--replications", "1"]);
    assert_eq!(whole.get("left_out"), None);
    assert_eq!(run(&["solve", "examples/retry-storm.yaml"]).get("left_out"), None);
}
