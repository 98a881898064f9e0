//! What a valid file becomes.

use std::path::Path;

use damper_control::{Backoff, Jitter, Nanos};
use damper_system::SystemFile;
use damper_system::model::{Caller, Dist, Load, Target, Work};

use crate::{bad, file, good, lower};

fn fixture(name: &str) -> SystemFile {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files").join(name);
    SystemFile::read(&path).unwrap_or_else(|p| panic!("{p}"))
}

#[test]
fn whole_files() {
    for name in ["hotel", "cache", "routes", "trace", "controls", "mechanisms"] {
        let file = fixture(&format!("{name}.yaml"));
        let system = file.lower().unwrap_or_else(|p| panic!("{p}"));
        insta::assert_debug_snapshot!(format!("lower-{name}"), system);
    }
}

#[test]
fn a_broken_trace_names_its_rows() {
    let mut file = fixture("trace.yaml");
    file.set("load={trace: broken.csv}").unwrap();
    let problems = file.lower().unwrap_err();
    let places: Vec<(bool, usize)> =
        problems.iter().map(|p| (p.file.ends_with("broken.csv"), p.line)).collect();
    assert_eq!(places, [(true, 3), (true, 4)]);
    file.set("load={trace: .}").unwrap();
    assert!(file.lower().unwrap_err().to_string().contains("this is a folder"));
}

#[test]
fn defaults() {
    let system = good(&[("services", "{db: }"), ("load", "{default: 270/s}")]);
    insta::assert_debug_snapshot!("lower-defaults", system);
}

#[test]
fn byte_order_mark_and_windows_line_ends() {
    let text = format!("\u{feff}{}", file(&[]).replace('\n', "\r\n"));
    assert_eq!(lower(&text).unwrap().0, good(&[]));
    let wrong = format!("\u{feff}{}", file(&[("load", "270")]).replace('\n', "\r\n"));
    let problem = bad(&wrong).into_iter().next().unwrap();
    assert_eq!((problem.line, problem.column), (3, 7));
}

#[test]
fn files_that_cannot_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let read = |name: &str| SystemFile::read(&folder.path().join(name)).unwrap_err().to_string();
    assert!(read("missing.yaml").contains("there is no such file"));
    assert!(read(".").contains("this is a folder"));
    std::fs::write(folder.path().join("latin1.yaml"), b"damper: 1\nname: caf\xe9\n").unwrap();
    assert!(read("latin1.yaml").contains("line 2 is not UTF-8"));
    std::fs::write(folder.path().join("large.yaml"), vec![b'#'; (4 << 20) + 1]).unwrap();
    assert!(read("large.yaml").contains("larger than 4 MiB"));
}

#[test]
fn policies_merge_field_by_field() {
    let system = fixture("cache.yaml").lower().unwrap();
    let named = |caller: &str, target: &str| {
        let edge = system.policies.edges.iter().find(|e| {
            system.caller_name(e.caller) == caller && system.target_name(e.target) == target
        });
        edge.unwrap_or_else(|| panic!("{caller} -> {target}")).policy.clone()
    };
    // `users` is look-aside: default, then db (its store), then users, then web -> users.
    let users = named("web", "users");
    assert_eq!(users.timeout, None, "from db");
    assert_eq!(users.deadline, Some(Nanos::from_secs(3)), "from default");
    assert!(users.deadline_travels, "from users");
    let limits = [0, 1, 2].map(|class| users.retry.limits.limit(class));
    assert_eq!(limits, [3, 1, 7], "by class over two levels");
    let backoff =
        Backoff::exponential(Nanos::from_millis(10), 3.0, Nanos::from_secs(1), Jitter::Full);
    assert_eq!(users.retry.backoff, backoff, "the factor from db, the rest from default");
    assert_eq!(users.budget.parameters, [20.0, 0.5]);
    // A mapping with a kind replaces.
    let web = named("client", "web");
    assert_eq!(web.retry.backoff, Backoff::constant(Nanos::from_millis(5), Jitter::None));
    assert_eq!(
        (web.budget.kind, web.budget.parameters.as_slice()),
        ("envoy", [7.0, 3.0].as_slice())
    );
    // `pages` is read-through: it calls its store itself.
    let archive = named("pages", "archive");
    assert_eq!((archive.deadline, archive.retry.limits.max()), (None, 0));
    assert_eq!(archive.budget.kind, "none");
    assert_eq!(named("web", "pages").timeout, Some(Nanos::from_millis(500)));
}

#[test]
fn edges_come_in_the_order_of_the_work() {
    let system = fixture("hotel.yaml").lower().unwrap();
    let edges: Vec<String> = system
        .policies
        .edges
        .iter()
        .map(|e| format!("{} -> {}", system.caller_name(e.caller), system.target_name(e.target)))
        .collect();
    assert_eq!(
        edges[..4],
        ["client -> frontend", "frontend -> search", "search -> geo", "search -> rate"]
    );
    let (caller, target) = (system.policies.edges[1].caller, system.policies.edges[1].target);
    assert_eq!(system.policy(caller, target).retry.limits.max(), 0, "the edge wins");
    assert!(matches!((caller, target), (Caller::Service(_), Target::Service(_))));
}

#[test]
fn the_rest_of_the_shares() {
    let system = good(&[
        ("classes", "[high, low]"),
        ("load", "{high: 1/s, low: 1/s}"),
        ("requests", "{a: {share: {high: 60%}, calls: [db]}, b: {share: {low: 30%}, calls: [db]}}"),
    ]);
    let Work::Requests(types) = system.work else { panic!("call trees") };
    let shares: Vec<Vec<f64>> = types.into_iter().map(|t| t.share).collect();
    assert_eq!(shares, [[0.6, 0.7], [0.4, 0.3]]);
}

#[test]
fn service_times() {
    for (text, dist) in [
        ("0", Dist::ZERO),
        ("1.5ms", Dist::Deterministic(Nanos(1_500_000))),
        ("{dist: deterministic, mean: 1us}", Dist::Deterministic(Nanos(1_000))),
        ("{dist: lognormal, mean: 1us, cv: 2}", Dist::Lognormal { mean: Nanos(1_000), cv: 2.0 }),
        (
            "{dist: hyperexponential, mean: 1us, cv: 1}",
            Dist::Hyperexponential { mean: Nanos(1_000), cv: 1.0 },
        ),
        ("[[1us, 3], 2us]", Dist::Empirical(vec![(Nanos(1_000), 3.0), (Nanos(2_000), 1.0)])),
    ] {
        let services = format!("{{db: {{workers: 1, service_time: {text}}}}}");
        let system = good(&[("services", &services)]);
        assert_eq!(system.services[0].service_time, dist, "{text}");
    }
}

#[test]
fn steps_hold_between_their_times() {
    let system = good(&[("load", "{steps: [{at: 0s, rate: 1/s}, {at: 2s, rate: 5/s}]}")]);
    let load: &Load = &system.load[0];
    let at = |ms| load.at(Nanos::from_millis(ms));
    assert_eq!([at(0), at(1999), at(2000), at(9000)], [1.0, 1.0, 5.0, 5.0]);
}

#[test]
fn deep_trees_and_anchors() {
    let mut tree = "[db]".to_owned();
    for _ in 0..31 {
        tree = format!("[{{db: {{calls: {tree}}}}}]");
    }
    good(&[("requests", &format!("{{r: {{calls: {tree}}}}}"))]);
    let deeper = format!("{{r: {{calls: [{{db: {tree}}}]}}}}");
    let problems = bad(&file(&[("requests", &deeper)]));
    assert!(problems.to_string().contains("nested more than 32 deep"), "{problems}");
    let shared = "{a: {share: 50%, calls: &c [db, db]}, b: {share: 50%, calls: *c}}";
    good(&[("requests", shared)]);
}

/// An autoscaler is not asked: capacity is that of the instances that there are at first.
#[test]
fn capacity_is_of_the_instances_that_a_service_begins_with() {
    let system = good(&[(
        "services",
        "{db: {workers: 3, service_time: 100ms, instances: 10, autoscale: {max: 300}}}",
    )]);
    let db = &system.services[0];
    assert_eq!(db.capacity(), Some(300.0));
    assert_eq!(db.most_capacity(), Some(9_000.0));
}
