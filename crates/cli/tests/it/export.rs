//! `damper export` and `damper diff`.

use crate::program::damper;

#[test]
fn what_was_written_is_what_runs() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let run = damper(&["export", "istio", "deploy/shop.yaml", "--plain", "--out", out]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert!(run.out.contains("orders.yaml"));
    // A budget that Istio cannot say is a line, and fails a strict export.
    assert!(run.err.contains("loss: "), "{}", run.err);
    assert!(run.err.contains("token-bucket"), "{}", run.err);
    let strict = damper(&["export", "istio", "deploy/shop.yaml", "--plain", "--strict"]);
    assert_eq!(strict.code, Some(1));
    let diff = damper(&["diff", "deploy/shop.yaml", out]);
    assert_eq!(diff.code, Some(1), "{}", diff.out);
    assert!(diff.out.contains("budget: `token-bucket`"), "{}", diff.out);
    assert!(!diff.out.contains("attempts of"), "{}", diff.out);
    // Without the budget nothing is lost and nothing differs.
    let set = [
        "--set",
        "policies.\"web -> orders\".retry.budget=none",
        "--set",
        "policies.\"client -> web\".retry.budget=none",
    ];
    let bare: Vec<&str> = ["export", "istio", "deploy/shop.yaml", "--strict", "--out", out]
        .into_iter()
        .chain(set)
        .collect();
    let run = damper(&bare);
    assert_eq!(run.code, Some(0), "{}", run.err);
    let same: Vec<&str> = ["diff", "deploy/shop.yaml", out].into_iter().chain(set).collect();
    let run = damper(&same);
    assert_eq!(run.code, Some(0), "{}", run.out);
}

#[test]
fn what_does_not_run_is_told() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join("a.yaml"),
        "apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {name: orders, namespace: shop}\nspec:\n  hosts: [orders]\n  http: [{route: [{destination: {host: orders}}], retries: {attempts: 5, retryOn: '503'}}]\n",
    )
    .unwrap();
    let run = damper(&["diff", "deploy/shop.yaml", folder.path().to_str().unwrap(), "--json"]);
    assert_eq!(run.code, Some(1), "{}", run.err);
    let json: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    let call = &json["calls"][1];
    assert_eq!(call["call"], "web -> orders");
    let first = &call["differs"][0];
    assert_eq!((&first["field"], &first["class"]), (&"attempts".into(), &"high".into()));
    assert_eq!((&first["asked"], &first["runs"]), (&"3".into(), &"6".into()));
    assert_eq!(first["from"], "a.yaml:6");
}

/// A call that no file speaks of may stand in one that could not be read.
#[test]
fn a_file_with_mistakes_is_named() {
    let folder = tempfile::tempdir().unwrap();
    for n in 10..22 {
        let text = "apiVersion: networking.istio.io/v1\nkind: VirtualService\nspec: {hosts: [a\n";
        std::fs::write(folder.path().join(format!("{n}.yaml")), text).unwrap();
    }
    let run = damper(&["diff", "deploy/shop.yaml", folder.path().to_str().unwrap()]);
    assert_eq!(run.code, Some(1), "{}", run.err);
    assert!(run.err.contains("not read near 10.yaml:"), "{}", run.err);
    assert!(run.err.contains("not read near 19.yaml:"), "{}", run.err);
    assert!(!run.err.contains("20.yaml"), "{}", run.err);
    assert!(run.err.contains("2 files more with mistakes"), "{}", run.err);
}

/// What `damper plan` recommends is what is written: its limits, call by call, and nothing else of
/// the file is changed.
#[test]
fn a_plan_is_written() {
    let file = "examples/five-layers.yaml";
    let plan = damper(&["plan", file, "--json"]);
    assert_eq!(plan.code, Some(0), "{}", plan.err);
    let json: serde_json::Value = serde_json::from_str(&plan.out).unwrap();
    assert_eq!(json["layer"], serde_json::json!(["client -> edge"]));
    let changes: Vec<String> = serde_json::from_value(json["changes"].clone()).unwrap();
    assert!(!changes.is_empty());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plan.json");
    std::fs::write(&path, &plan.out).unwrap();
    let path = path.to_str().unwrap();
    let out = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (before, after) = (out("before"), out("after"));
    let export = |more: &[&str]| {
        let run = damper(&[&["export", "envoy", file, "--plain"], more].concat());
        assert_eq!(run.code, Some(0), "{}", run.err);
        assert!(!run.err.contains("does not meet its targets"), "{}", run.err);
    };
    export(&["--out", &before]);
    export(&["--plan", path, "--out", &after]);
    let retries = |folder: &str, caller: &str| {
        let text = std::fs::read_to_string(format!("{folder}/{caller}.yaml")).unwrap();
        let limits = text.lines().filter_map(|row| row.trim().strip_prefix("num_retries: "));
        limits.map(|limit| limit.parse().unwrap()).collect::<Vec<u32>>()
    };
    for caller in ["client", "edge", "api", "orders", "stock"] {
        assert_eq!(retries(&before, caller), [2], "{caller}");
        let limits = if caller == "client" { vec![2] } else { Vec::new() };
        assert_eq!(retries(&after, caller), limits, "{caller}");
    }
    // What was written is what the plan asks for, and not what the file asked for before.
    let attempts = |set: &[String]| {
        let set = set.iter().flat_map(|change| ["--set", change.as_str()]);
        let args: Vec<&str> = ["diff", file, &after].into_iter().chain(set).collect();
        damper(&args).out.matches("attempts: ").count()
    };
    assert_eq!((attempts(&[]), attempts(&changes)), (4, 0));
}

/// A plan that does not meet its targets is written, and that is said.
#[test]
fn a_plan_that_is_not_met_is_said_to_be() {
    let file = "examples/five-layers.yaml";
    let plan = damper(&["plan", file, "--hidden", "9000/s", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&plan.out).unwrap();
    assert_eq!((plan.code, &json["met"]), (Some(1), &serde_json::json!(false)));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plan.json");
    std::fs::write(&path, &plan.out).unwrap();
    let run = damper(&["export", "envoy", file, "--plain", "--plan", path.to_str().unwrap()]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert!(run.err.contains("the plan does not meet its targets"), "{}", run.err);
}

/// A sign that nobody retries although it was asked for is less than the file asks for, and no
/// difference.
#[test]
fn what_retries_less_is_not_said_to_be_as_it_should_be() {
    let folder = tempfile::tempdir().unwrap();
    let route = |on: &str| {
        std::fs::write(
            folder.path().join("a.yaml"),
            format!("apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {{name: orders}}\nspec:\n  hosts: [orders]\n  http: [{{route: [{{destination: {{host: orders}}}}], retries: {{attempts: 1, retryOn: '{on}'}}}}]\n"),
        )
        .unwrap();
        std::fs::write(
            folder.path().join("system.yaml"),
            "damper: 1\nservices: {orders: {}}\nload: 1/s\nrequests: {a: {calls: [orders]}}\npolicies:\n  orders: {retry: {limit: 1, on: [rejected, shed]}}\n",
        )
        .unwrap();
        let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        damper(&["diff", &path("system.yaml"), &path("a.yaml")])
    };
    let all = route("connect-failure,refused-stream,429,503");
    assert_eq!((all.code, all.out.contains("as it should be")), (Some(0), true), "{}", all.out);
    let less = route("connect-failure,refused-stream,429");
    assert_eq!(less.code, Some(0), "{}", less.out);
    assert!(!less.out.contains("as it should be"), "{}", less.out);
    assert!(!less.out.contains("what runs is what the file says"), "{}", less.out);
    assert!(less.out.contains("retries less than the file asks for"), "{}", less.out);
    assert!(less.out.contains("note: asked for and not retried: 503"), "{}", less.out);
}

/// A directory of formats that name neither caller nor class is understood by the names in it, and
/// one call's timeout without a retry is one, too.
#[test]
fn every_format_that_was_written_is_what_runs() {
    let system = "damper: 1\nclasses: [high, low]\nservices: {web: {}, orders: {}}\nload: {high: 1/s, low: 1/s}\nrequests: {a: {calls: [{web: [orders]}]}}\npolicies:\n  web: {deadline: 2s}\n  orders: {deadline: 1s, retry: {limit: 2}}\n";
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("system.yaml");
    std::fs::write(&file, system).unwrap();
    let file = file.to_str().unwrap();
    let out = folder.path().join("grpc");
    let out = out.to_str().unwrap();
    let run = damper(&["export", "grpc", file, "--out", out]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    let same = damper(&["diff", file, out]);
    assert_eq!(same.code, Some(0), "{}", same.out);
    let set = ["--set", "policies.web.deadline=3s"];
    let other = damper(&[&["diff", file, out][..], &set].concat());
    assert_eq!(other.code, Some(1), "{}", other.out);
    assert!(other.out.contains("deadline: 3s asked, 2s runs"), "{}", other.out);
}

#[test]
fn a_wrong_word_is_an_error_with_what_was_expected() {
    for (args, says) in [
        (&["--edge", "web"][..], "expected `caller -> callee`"),
        (&["--edge", "web -> nobody"], "there is no call"),
        (&["--edge", "web -> ordres"], "did you mean `web -> orders`?"),
        (&["--address", "ordres=x:1"], "did you mean `orders`?"),
        (&["--address", "orders=x"], "expected `service=host:port`"),
        (&["--address", "nobody=x:1"], "there is no service"),
        (&["--namespace", "a b"], "no name of a namespace"),
        (&["--class", "middle"], "there are high, low"),
        (&["--plan", "README.md"], "is not what `damper plan --json` prints"),
    ] {
        let all: Vec<&str> = ["export", "envoy", "deploy/shop.yaml"]
            .into_iter()
            .chain(args.iter().copied())
            .collect();
        let run = damper(&all);
        assert_eq!(run.code, Some(2), "{args:?}");
        assert!(run.err.contains(says), "{args:?}: {}", run.err);
    }
}
