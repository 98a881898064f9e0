use super::*;
use crate::filter::counters::{OVERALL, Overall, PER_CLASS, PerClass};
use crate::filter::testing::Fake;
use crate::filter::{headers, read};

mod budgets;
mod classes;
mod lever;
mod strangers;
mod time;

/// A worker with this configuration, `position` and two classes put before it.
fn worker(position: &str, rest: &str) -> Worker {
    let comma = if rest.is_empty() { "" } else { "," };
    let json = format!(
        r#"{{"damper": 1, "position": "{position}", "classes": ["high", "low"]{comma} {rest}}}"#
    );
    let config = read(json.as_bytes()).unwrap_or_else(|problems| panic!("{json}\n{problems}"));
    Worker::new(&config, Nanos::from_secs(1_700_000_000), 7)
}

/// A request with these headers, let through or not.
fn ask(worker: &mut Worker, headers: &[(&str, &str)]) -> (Fake, Call, Verdict) {
    let mut host = Fake::asked(headers);
    let mut call = Call::default();
    let verdict = worker.request(&mut call, &mut host);
    (host, call, verdict)
}

fn answer(worker: &mut Worker, call: &mut Call, headers: &[(&str, &str)]) -> Fake {
    let mut host = Fake::default();
    worker.answer(call, host.answered(headers));
    host
}

/// The counters that are not 0, by name.
fn counted(worker: &mut Worker) -> Vec<(String, u64)> {
    let names: Vec<String> = Counters::names("x", worker.classes()).collect();
    let mut all = Vec::new();
    worker.counters().drain(|index, n| all.push((names[index].replace("damper.x.", ""), n)));
    all
}

fn of(worker: &mut Worker, class: usize, what: PerClass) -> u64 {
    let (mut found, index) = (0, Counters::index(class, what));
    worker.counters().drain(|i, n| found += if i == index { n } else { 0 });
    found
}

#[test]
fn every_counter_has_its_name() {
    let names: Vec<String> = Counters::names("x", &["a".into(), "b".into()]).collect();
    assert_eq!(names.len(), OVERALL.len() + 2 * PER_CLASS.len());
    let name = |class, what| names[Counters::index(class, what)].clone();
    assert_eq!(name(0, PerClass::Requests), "damper.x.class.a.requests");
    assert_eq!(name(1, PerClass::Unanswered), "damper.x.class.b.unanswered");
    assert_eq!(OVERALL[Overall::LeverProblems as usize].0, "lever_problems");
    assert_eq!(OVERALL.len(), Overall::LeverProblems as usize + 1);
}
