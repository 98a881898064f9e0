//! Controls of the registry in a system file.

use damper_control::entry::{Build, Entry, Kind, Parameter, Unit};
use damper_control::registry;

use crate::{bad, good};

/// Where a control of a kind stands, with what makes it effective; `None`: nowhere by name.
fn section(kind: Kind, said: &str) -> Option<(&'static str, String)> {
    let policy = |said: String| ("policies", format!("{{db: {said}}}"));
    let service = |key: &str| {
        (
            "services",
            format!("{{db: {{workers: 30, service_time: 100ms, queue: 100, {key}: {said}}}}}"),
        )
    };
    Some(match kind {
        Kind::Backoff => policy(format!("{{retry: {{limit: 1, backoff: {said}}}}}")),
        Kind::Budget => policy(format!("{{retry: {{limit: 1, budget: {said}}}}}")),
        Kind::Throttle => policy(format!("{{throttle: {said}}}")),
        Kind::Breaker => policy(format!("{{breaker: {said}}}")),
        Kind::Order | Kind::Drop | Kind::Admission | Kind::Concurrency => service(kind.name()),
        _ => return None,
    })
}

fn with(parameters: &[String], name: &str) -> String {
    let kind = std::iter::once(format!("kind: {name}"));
    let all: Vec<String> = kind.chain(parameters.iter().cloned()).collect();
    format!("{{{}}}", all.join(", "))
}

/// Backoffs of a section of their own take a base that nobody can guess.
fn has_own_section(entry: &Entry) -> bool {
    matches!(entry.name, "constant" | "linear" | "exponential")
}

#[test]
fn every_control_can_be_named_with_all_its_parameters_and_with_none() {
    let mut named = 0;
    for entry in registry::all().filter(|e| !matches!(e.build, Build::Section)) {
        let said = |p: &Parameter| format!("{}: {}", p.name, p.unit.show(p.default));
        let all: Vec<String> = entry.parameters.iter().map(said).collect();
        let forms = [with(&all, entry.name), with(&[], entry.name), entry.name.to_owned()];
        for form in forms.iter().filter(|_| !has_own_section(entry)) {
            let (key, text) = section(entry.kind, form).unwrap();
            good(&[(key, &text)]);
        }
        named += 1;
    }
    assert!(named > 20, "{named}");
}

/// The reader refuses what is outside of the range that the registry gives, with a place.
#[test]
fn parameters_are_held_to_their_ranges() {
    for entry in registry::all().filter(|e| !matches!(e.build, Build::Section)) {
        for p in entry.parameters.iter().filter(|p| p.unit != Unit::Flag && p.max < 1e12) {
            let beyond = match p.unit {
                Unit::Count => p.max + 1.0,
                _ => p.max * 2.0 + 1.0,
            };
            let form = with(&[format!("{}: {}", p.name, p.unit.show(beyond))], entry.name);
            let (key, text) = section(entry.kind, &form).unwrap();
            let problems = bad(&crate::file(&[(key, &text)]));
            let problem = problems.iter().next().unwrap();
            assert!(problem.column > 1, "{} {}: {problem}", entry.name, p.name);
        }
    }
}

/// Of some percentages there may be more than the whole, also where the kind stands elsewhere.
#[test]
fn a_percentage_may_exceed_the_whole_where_the_control_says_so() {
    let budgets =
        "{default: {retry: {limit: 1, budget: finagle}}, db: {retry: {budget: {percent: 150%}}}}";
    let spec = good(&[("policies", budgets)]).policies.edges[0].policy.budget.clone();
    assert!(spec.kind == "finagle" && spec.parameters.contains(&150.0), "{spec:?}");
    // The kind that it is merged with has the last word.
    let problems = bad(&crate::file(&[("policies", &budgets.replace("finagle", "ratio"))]));
    assert!(problems.to_string().contains("percent"), "{problems}");
    for entry in registry::all().filter(|e| !matches!(e.build, Build::Section)) {
        // What the budget of ARB moves by lies below what it may have.
        let beyond = |p: &&Parameter| p.unit == Unit::Percent && p.max > 100.0;
        for p in entry.parameters.iter().filter(beyond).filter(|_| entry.name != "arb") {
            let form = with(&[format!("{}: 150%", p.name)], entry.name);
            let (key, text) = section(entry.kind, &form).unwrap();
            good(&[(key, &text)]);
        }
    }
}

#[test]
fn the_seats_of_a_fair_order_are_the_workers() {
    for entry in registry::of(Kind::Order) {
        if let Some(seats) = entry.parameters.iter().position(|p| p.name == "seats") {
            let (key, text) = section(Kind::Order, entry.name).unwrap();
            assert_eq!(good(&[(key, &text)]).services[0].order.parameters[seats], 30.0);
        }
    }
}
