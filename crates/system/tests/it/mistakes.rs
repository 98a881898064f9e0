//! What people get wrong, and what they are told.

use crate::{bad, file};
use table::sections;

mod table;

#[test]
fn mistakes_of_meaning() {
    for (name, sections) in sections() {
        let text = file(&sections);
        let problems = bad(&text);
        assert!(!problems.is_empty());
        for problem in &problems {
            assert!(!problem.expected.is_empty(), "{name}: {problem}");
            assert!(!problem.found.is_empty(), "{name}: {problem}");
        }
        insta::assert_snapshot!(name, problems.render(false));
    }
}

#[test]
fn mistakes_of_yaml() {
    let deep = format!("a: {}{}", "[".repeat(200), "]".repeat(200));
    let mut laughs = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for i in 1..12 {
        let alias = format!("*a{}", i - 1);
        let items = vec![alias; 10].join(", ");
        laughs.push_str(&format!("a{i}: &a{i} [{items}]\n"));
    }
    let base = file(&[]);
    let cases = [
        ("yaml-empty", String::new()),
        ("yaml-only-comments", "# nothing\n# here\n".into()),
        ("yaml-not-a-mapping", "just words\n".into()),
        ("yaml-unclosed", "damper: 1\nservices: {db: {workers: 3}\nload: 3/s\n".into()),
        ("yaml-tab", "damper: 1\nservices:\n\tdb: {}\n".into()),
        ("yaml-bad-indent", "damper: 1\nservices:\n    db: {}\n  web: {}\n".into()),
        ("yaml-key-twice", format!("{base}load: 280/s\n")),
        ("yaml-two-documents", format!("{base}---\n{base}")),
        ("yaml-tag", file(&[("load", "!rate 270/s")])),
        ("yaml-list-as-key", format!("{base}[a, b]: c\n")),
        ("yaml-alias-unknown", file(&[("load", "*nowhere")])),
        ("yaml-alias-in-itself", file(&[("services", "&a {db: *a}")])),
        ("yaml-merge-of-a-word", file(&[("services", "{db: {<<: x}}")])),
        ("yaml-too-deep", deep),
        ("yaml-laughs", laughs),
        ("yaml-long-line", format!("{base}name: [{}oops]\n", "aaaaaaaaaa, ".repeat(50))),
        ("yaml-control-characters", file(&[("name", "[\"\\e[31m\\x07\"]")])),
    ];
    for (name, text) in cases {
        insta::assert_snapshot!(name, bad(&text).render(false));
    }
}

#[test]
fn there_are_many() {
    assert!(sections().len() >= 100);
}

#[test]
fn colour_only_when_asked() {
    let problems = bad(&file(&[("load", "3")]));
    assert!(!problems.render(false).contains('\u{1b}'));
    assert!(problems.render(true).contains('\u{1b}'));
    assert_eq!(problems.to_string(), problems.render(false));
}

#[test]
fn too_many_are_counted() {
    let services: String = (0..500).map(|i| format!("  s{i}: {{workers: x}}\n")).collect();
    let problems =
        bad(&file(&[("services", &format!("\n{services}")), ("requests", "{r: {calls: [s0]}}")]));
    assert_eq!(problems.iter().count(), 200);
    assert_eq!(problems.omitted(), 300);
    assert!(problems.render(false).ends_with("… and 450 more\n"));
}

#[test]
fn one_line_for_programs() {
    let problems = bad(&file(&[("services", "{db: {wrokers: 3}}")]));
    let line = problems.iter().next().unwrap().to_string();
    assert_eq!(
        line,
        "system.yaml:2:17: error: a service has no key `wrokers`; expected `workers`, `instances`, \
         `balance`, `service_time`, `rate_limit`, `queue`, `order`, `drop`, `admission`, \
         `concurrency`, `shares`, `overloaded`, `pushback`, `lever`, `failure`, `error_cost`, \
         `on_abandon`, `contention`, `blocking`, `health`, `autoscale`, `pauses`, `start`, `lease`, \
         `election`, `failover`, `pool`, `error_log` or `calls_as`; did you mean `workers`?"
    );
}
