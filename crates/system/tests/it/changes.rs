//! `--set`.

use damper_system::SystemFile;

use crate::file;

fn with(sections: &[(&str, &str)], changes: &[&str]) -> SystemFile {
    let mut file = SystemFile::parse("system.yaml", &file(sections)).unwrap();
    for change in changes {
        file.set(change).unwrap_or_else(|p| panic!("{p}"));
    }
    file
}

fn lowered(changes: &[&str]) -> damper_system::System {
    with(&[], changes).lower().unwrap_or_else(|p| panic!("{p}"))
}

/// A whole entry can be added; a part of one that is not there is a misspelt name.
#[test]
fn a_new_service_is_assigned_as_a_whole() {
    let s = lowered(&["services.spare={workers: 2, service_time: 1ms}", "services.spare.queue=7"]);
    assert_eq!(s.services.iter().find(|s| s.name == "spare").unwrap().queue, Some(7));
}

#[test]
fn values_are_replaced_and_added() {
    let s = lowered(&[
        "services.db.workers=3",
        "services.db.queue = 150",
        "load=140/s",
        "requests.read.calls[0]={db: {times: 2}}",
        "requests.read.calls[0].db.chance=50%",
        "experiment.watch=60s",
    ]);
    assert_eq!(s.services[0].workers, Some(3));
    assert_eq!(s.services[0].queue, Some(150));
    assert_eq!(s.load[0], damper_system::model::Load::Constant(140.0));
    let damper_system::model::Work::Requests(types) = &s.work else { panic!("call trees") };
    let call = &types[0].steps[0][0];
    assert_eq!((call.times, call.chance), (2, 0.5));
    assert_eq!(s.experiment.watch.as_secs_f64(), 60.0);
}

/// A control that is named by a word has parameters all the same.
#[test]
fn a_word_for_a_control_has_room_for_parameters() {
    let s = lowered(&[
        "policies.default={retry: {limit: 1, budget: token-bucket}, breaker: breaker}",
        "policies.default.retry.budget.max_tokens=50",
        "policies.default.breaker.wait=5s",
        "services.db.concurrency=fixed",
        "services.db.concurrency.limit=60",
    ]);
    let policy = &s.policies.edges[0].policy;
    assert_eq!((policy.budget.kind, policy.budget.parameters[0]), ("token-bucket", 50.0));
    assert!(policy.breaker.as_ref().unwrap().parameters.contains(&5.0));
    assert_eq!(s.services[0].concurrency.as_ref().unwrap().parameters[0], 60.0);
    // What is no control has no parameters.
    assert!(with(&[], &[]).set("services.db.workers.kind=5").is_err());
}

#[test]
fn policies_are_found_however_they_are_written() {
    let policies = ("policies", "{\"client -> db\": {timeout: 1s}}");
    for path in [
        r#"policies."client -> db".retry.limit=2"#,
        "policies.'client->db'.retry.limit=2",
        "policies.client->db.retry.limit=2",
        "policies.client -> db.retry.limit=2",
    ] {
        let s = with(&[policies], &[path]).lower().unwrap();
        let policy = &s.policies.edges[0].policy;
        assert_eq!(policy.retry.limits.limit(0), 2, "{path}");
        assert!(policy.timeout.is_some(), "{path}");
    }
}

#[test]
fn later_changes_win_and_all_are_remembered() {
    let file = with(&[], &["load=1/s", "load=2/s"]);
    assert_eq!(file.changes().collect::<Vec<_>>(), ["load=1/s", "load=2/s"]);
    assert_eq!(file.lower().unwrap().total_load(), 2.0);
    assert_eq!(file.name(), "system.yaml");
    assert!(file.text().contains("270/s"));
    assert_eq!(file.to_json()["load"], "2/s");
}

#[test]
fn a_change_that_fails_changes_nothing() {
    let mut file = with(&[], &[]);
    assert!(file.set("load.high.x=1").is_err());
    assert!(file.set("nonsense").is_err());
    assert_eq!(file.changes().count(), 0);
    assert_eq!(file.lower().unwrap().total_load(), 270.0);
}

#[test]
fn mistakes_point_into_the_change() {
    for (name, change) in [
        ("set-key-unknown", "services.db.queu=150"),
        ("set-name-unknown", "services.dbb.queue=150"),
        ("set-name-of-nothing", "caches.users.mode=read-through"),
        ("set-section-unknown", "polices.db.timeout=1s"),
        ("set-value-wrong", "services.db.queue=many"),
        ("set-value-empty", "services.db.queue="),
        ("set-inside-a-value", "services={db: {workers: 3, queue: [1]}}"),
        ("set-without-value", "services.db.queue"),
        ("set-empty", ""),
        ("set-empty-key", "services..queue=1"),
        ("set-quote-open", "policies.\"client -> db.timeout=1s"),
        ("set-bracket-open", "requests.read.calls[0=db"),
        ("set-index-not-a-number", "requests.read.calls[x]=db"),
        ("set-index-beyond", "requests.read.calls[3]=db"),
        ("set-index-of-a-mapping", "services[0]=1"),
        ("set-key-of-a-word", "load.high=1/s"),
        ("set-bad-yaml", "services.db={workers: 3"),
        ("set-after-quote", "services.\"db\"queue=1"),
    ] {
        let mut file = with(&[], &[]);
        let problems = file.set(change).and_then(|()| file.lower()).unwrap_err();
        assert!(problems.iter().all(|p| p.file == "--set"), "{name}");
        insta::assert_snapshot!(name, problems.render(false));
    }
}

#[test]
fn an_error_in_the_file_and_one_in_a_change_are_shown_together() {
    let mut file = with(&[("load", "270")], &[]);
    file.set("services.db.queue=-1").unwrap();
    let files: Vec<String> = file.lower().unwrap_err().into_iter().map(|p| p.file).collect();
    assert_eq!(files, ["system.yaml", "--set"]);
}

#[test]
fn what_stands_at_a_path_can_be_asked() {
    let text = "{damper: 1, services: {db: {workers: 3}}, load: 5/s, requests: {r: {calls: [db]}}, \
                policies: {'client->db': {timeout: 1s}}, triggers: {blip: [{outage: db, for: 2s}]}}";
    let mut file = SystemFile::parse("x.yaml", text).unwrap();
    file.set("services.db.queue=7").unwrap();
    for (path, value) in [
        ("services.db.workers", Some(serde_json::json!(3))),
        ("services.db.queue", Some(serde_json::json!(7))),
        ("triggers.blip[0].for", Some(serde_json::json!("2s"))),
        ("policies.\"client -> db\".timeout", Some(serde_json::json!("1s"))),
        ("triggers.blip[1].for", None),
        ("services.db.queu", None),
        ("load=5", None),
        ("", None),
    ] {
        assert_eq!(file.value(path), value, "{path}");
    }
}
