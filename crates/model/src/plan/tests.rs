use damper_system::SystemFile;

use super::*;

fn system(text: &str, set: &[&str]) -> System {
    let mut file = SystemFile::parse("test.yaml", text).unwrap();
    for set in set {
        file.set(set).unwrap();
    }
    file.lower().unwrap_or_else(|p| panic!("{p}"))
}

fn example(name: &str, set: &[&str]) -> System {
    let path = format!("{}/../../examples/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    system(&text, set)
}

fn ask(system: &System, under: &System, targets: &[Target], max_limit: u32) -> Planned {
    let question = Question {
        system,
        under,
        targets: targets.to_vec(),
        transient: 0.01,
        max_limit,
        any_order: false,
        keep: Vec::new(),
    };
    plan(&question, &mut |_, _| true).unwrap()
}

#[track_caller]
fn near(value: f64, expected: f64, by: f64) {
    assert!((value - expected).abs() <= by, "{value}, expected {expected} ± {by}");
}

const CHAIN: &str = "
damper: 1
services: {a: {}, b: {}, c: {workers: 1, service_time: 10ms}}
load: 10/s
requests: {r: {calls: [{a: [{b: [c]}]}]}}
policies: {default: {timeout: 1s, retry: {limit: 1}}}
";

/// One call, q = 1 %, one retry: 1 - q² = 99.99 % of the requests succeed, and 99 % of the faults
/// are hidden.
#[test]
fn one_retry_over_one_call() {
    let one = system(
        "{damper: 1, services: {db: {}}, load: 1/s, requests: {r: {calls: [db]}}, policies: {db: {retry: {limit: 1}}}}",
        &[],
    );
    let found = ask(&one, &one, &[Target::Hidden(0.98)], 5);
    assert!(found.exact && found.met);
    assert_eq!(found.best.setting.limits, [[1]]);
    near(found.best.measures.availability.unwrap(), 0.9999, 1e-12);
    near(found.best.measures.hides.unwrap(), 0.99, 1e-12);
    assert_eq!(found.evaluations, 6);
    let more = ask(&one, &one, &[Target::Hidden(0.999)], 5);
    assert_eq!(more.best.setting.limits, [[2]]);
}

/// Three tiers at q = 1 %. Without retries 1 - 0.99³ = 0.029701 fail. With one retry at the top the
/// square of that does, 0.00088215 (97.03 % hidden); with one in every tier
/// what fails is, tier by tier from below, f = (1 - 0.99 (1 - f))², from f = 0.
#[test]
fn three_tiers() {
    let chain = system(CHAIN, &[]);
    let bare = 1.0 - 0.99_f64.powi(3);
    let found = ask(&chain, &chain, &[Target::Hidden(0.97)], 1);
    assert_eq!(found.best.setting.limits, [[1], [0], [0]]);
    near(found.best.measures.availability.unwrap(), 1.0 - bare * bare, 1e-12);
    near(found.best.measures.hides.unwrap(), 1.0 - bare, 1e-12);
    near(found.best.measures.worst_amplification, 2.0, 1e-12);
    let all = |f: f64| (1.0 - 0.99 * (1.0 - f)).powi(2);
    let failed = all(all(all(0.0)));
    near(found.before.measures.availability.unwrap(), 1.0 - failed, 1e-12);
    near(found.before.measures.worst_amplification, 8.0, 1e-12);
    // 100/s at c: 100, 50 and 100/8 heal.
    near(found.best.measures.hidden_rps.unwrap(), 50.0, 1e-9);
    near(found.before.measures.hidden_rps.unwrap(), 12.5, 1e-9);
    near(found.best.measures.advertised_rps.unwrap(), 100.0, 1e-9);
    assert_eq!(found.layers.len(), 6, "none, three levels, some, all");
}

/// The frontier of two tiers, one retry each: none; the top alone (hides more than the bottom
/// alone at the same price); both.
#[test]
fn the_frontier_leaves_out_what_is_worse() {
    let two = system(
        "{damper: 1, services: {a: {}, b: {workers: 1, service_time: 10ms}}, load: 1/s, requests: {r: {calls: [{a: [b]}]}}, policies: {default: {timeout: 1s}}}",
        &[],
    );
    let found = ask(&two, &two, &[Target::Hidden(0.5)], 1);
    let rows: Vec<_> = found.frontier.iter().map(|r| r.solution.setting.limits.concat()).collect();
    assert_eq!(rows, [vec![0, 0], vec![1, 0], vec![1, 1]]);
    assert_eq!(found.frontier.iter().map(|r| r.met).collect::<Vec<_>>(), [false, true, true]);
}

/// Only the client should retry: 3 instead of 243.
#[test]
fn five_layers_retry_at_the_top() {
    let layers = example("five-layers.yaml", &[]);
    let question =
        Question { transient: 0.001, ..ask_of(&layers, &layers, &[Target::Hidden(0.999)]) };
    let found = plan(&question, &mut |_, _| true).unwrap();
    assert!(found.exact && found.met);
    assert_eq!(found.best.setting.limits, [[2], [0], [0], [0], [0]]);
    near(found.before.measures.worst_amplification, 243.0, 1e-9);
    near(found.best.measures.worst_amplification, 3.0, 1e-9);
    near(found.best.measures.hidden_rps.unwrap(), 1000.0, 1e-9);
    // (1 - 0.999⁵)² of what fails without retries still does.
    near(found.best.measures.hides.unwrap(), 1.0 - (1.0 - 0.999_f64.powi(5)).powi(2), 1e-12);
}

fn ask_of<'a>(system: &'a System, under: &'a System, targets: &[Target]) -> Question<'a> {
    Question {
        system,
        under,
        targets: targets.to_vec(),
        transient: 0.01,
        max_limit: 5,
        any_order: false,
        keep: Vec::new(),
    }
}

/// No limit keeps amplification below 2 and hides faults; a budget of half of the first attempts
/// does. Where an overload is asked about it is not offered.
#[test]
fn a_budget_where_limits_cannot() {
    let chain = system(CHAIN, &[]);
    let targets = [Target::WorstAmplification(1.5), Target::Hidden(0.9)];
    let found = ask(&chain, &chain, &targets, 3);
    assert!(found.met, "{found:?}");
    assert_eq!(found.best.setting.budget_permille, Some(500));
    assert_eq!(found.best.setting.limits, [[1], [0], [0]]);
    near(found.best.measures.worst_amplification, 1.5, 1e-12);
    near(found.best.measures.hidden_rps.unwrap(), 100.0 / 1.5, 1e-9);
    // Nine tenths of capacity that heal: 1 / 0.9 = 1.111 attempts.
    for capacity in [Target::CapacityShare(0.9), Target::Capacity(90.0)] {
        let found = ask(&chain, &chain, &[capacity, targets[1]], 3);
        assert!(found.met, "{found:?}");
        assert_eq!(found.best.setting.budget_permille, Some(111));
        near(found.best.measures.hidden_rps.unwrap(), 100.0 / 1.111, 1e-9);
    }
    let overload = Target::Rejection { class: 0, at_most: 0.1 };
    let found = ask(&chain, &chain, &[targets[0], targets[1], overload], 3);
    assert!(!found.met);
    assert_eq!(found.clashes, [[0, 1]]);
    assert_eq!(found.best.setting.budget_permille, None);
}

/// The fluid row of the reference: 50 and 250/s into 150/s, k = (5, 1) rejects 17.95 % of high. No
/// k for low rejects fewer: the answer has none for low.
#[test]
fn class_limits_under_overload() {
    let text = "
damper: 1
classes: [high, low]
services: {db: {rate_limit: 150/s}}
load: {high: 50/s, low: 50/s}
requests: {r: {calls: [db]}}
policies: {db: {retry: {limit: 5, on: [rejected]}}}
";
    let (asis, under) = (system(text, &[]), system(text, &["load.low=250/s"]));
    let target = Target::Rejection { class: 0, at_most: 0.15 };
    let found = ask(&asis, &under, &[target], 8);
    assert!(found.exact && found.met);
    near(found.before.measures.rejection[0], 0.5, 1e-6);
    let [high, low] = found.best.setting.limits[0][..] else { panic!() };
    assert!(high > low, "{high} {low}");
    assert!(found.best.measures.rejection[0] <= 0.15);
    // One retry fewer does not do.
    let fewer = ask(&asis, &under, &[target], high - 1);
    assert!(!fewer.met);
    assert_eq!(fewer.clashes, [[0]]);
    assert!(fewer.reached[0] > 0.15);
    near(fewer.reached[0], fewer.best.measures.rejection[0], 1e-12);
}

/// What is kept stays; what retries nothing that fails is not blamed on the limits.
#[test]
fn calls_that_stay() {
    let chain = system(CHAIN, &[]);
    let question = Question {
        keep: vec![true, false, false],
        ..ask_of(&chain, &chain, &[Target::WorstAmplification(2.0)])
    };
    let found = plan(&question, &mut |_, _| true).unwrap();
    assert!(found.met);
    assert_eq!(found.best.setting.limits, [[1], [0], [0]]);
    let question =
        Question { keep: vec![true; 3], ..ask_of(&chain, &chain, &[Target::Hidden(0.9)]) };
    assert_eq!(plan(&question, &mut |_, _| true), Err(PlanError::NothingToPlan));
}

#[test]
fn questions_without_an_answer() {
    let chain = system(CHAIN, &[]);
    let refused = |question: Question<'_>| plan(&question, &mut |_, _| true).unwrap_err();
    for target in [
        Target::Hidden(1.0),
        Target::Hidden(f64::NAN),
        Target::WorstAmplification(0.5),
        Target::Amplification(f64::INFINITY),
        Target::Rejection { class: 0, at_most: 1.0 },
        Target::CapacityShare(1.1),
        Target::Capacity(0.0),
    ] {
        let error = refused(ask_of(&chain, &chain, &[target]));
        assert!(matches!(error, PlanError::OutOfRange(_)), "{target:?}: {error}");
    }
    let ask = ask_of(&chain, &chain, &[]);
    assert!(matches!(refused(Question { transient: 0.0, ..ask }), PlanError::OutOfRange(_)));
    let ask = ask_of(&chain, &chain, &[]);
    assert_eq!(refused(Question { max_limit: 101, ..ask }), PlanError::TooLargeLimit(101));
    let other = system(CHAIN, &["requests.r.calls=[a]"]);
    assert_eq!(refused(ask_of(&chain, &other, &[])), PlanError::OtherCalls);
    let many = vec![Target::Hidden(0.5); 33];
    assert_eq!(refused(ask_of(&chain, &chain, &many)), PlanError::TooManyTargets(33));
    let routes = example("hotel-reservation-routes.yaml", &[]);
    assert_eq!(refused(ask_of(&routes, &routes, &[Target::Hidden(0.5)])), PlanError::NoClosedForm);
}

/// Stopped at once it has the best of what it had seen, and says so.
#[test]
fn it_can_be_stopped() {
    let chain = system(CHAIN, &[]);
    let question = ask_of(&chain, &chain, &[Target::Hidden(0.9999)]);
    let mut asked = 0;
    let found = plan(&question, &mut |done, _| {
        asked = done;
        done < 3
    });
    let found = found.unwrap();
    assert_eq!((found.evaluations, asked), (3, 3));
    assert!(found.partial && !found.exact);
}
