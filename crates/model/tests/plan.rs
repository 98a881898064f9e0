//! Properties of plans over random chains and trees.
#![allow(missing_docs)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use damper_model::plan::{Planned, Question, Setting, Target, plan};
use damper_model::system::solve;
use damper_system::{System, SystemFile};
use proptest::prelude::*;

/// A chain of services with a second call at some level, two classes, and limits from 0 to 2.
#[derive(Clone, Debug)]
struct Case {
    limits: Vec<u32>,
    capacity: f64,
    load: [f64; 2],
    branch: bool,
    targets: Vec<Target>,
    transient: f64,
}

fn text(case: &Case, limits: Option<&Setting>, failure: f64) -> String {
    let (depth, failure) = (case.limits.len(), 100.0 * failure);
    let mut calls = "[]".to_owned();
    let mut services = String::new();
    let mut policies = String::new();
    let mut row = 0;
    for level in (0..depth).rev() {
        let limit = |row: usize| match limits {
            Some(setting) => {
                format!("{{high: {}, low: {}}}", setting.limits[row][0], setting.limits[row][1])
            }
            None => case.limits[level].to_string(),
        };
        let last = level + 1 == depth;
        let size = if last { format!("rate_limit: {}/s, ", case.capacity) } else { String::new() };
        services.push_str(&format!("s{level}: {{{size}failure: {failure}%}}, "));
        let caller = if level == 0 { "client".to_owned() } else { format!("s{}", level - 1) };
        // Rows are in the order in which the calls are met: from the client down.
        policies.push_str(&format!(
            "\"{caller} -> s{level}\": {{retry: {{limit: {}}}}}, ",
            limit(level)
        ));
        let second = if last && case.branch { ", side" } else { "" };
        calls = format!("[{{s{level}: {calls}}}{second}]");
        row += 1;
    }
    let side = if case.branch {
        let caller = if depth == 1 { "client".to_owned() } else { format!("s{}", depth - 2) };
        let limit = match limits {
            Some(s) => format!("{{high: {}, low: {}}}", s.limits[row][0], s.limits[row][1]),
            None => "1".to_owned(),
        };
        policies.push_str(&format!("\"{caller} -> side\": {{retry: {{limit: {limit}}}}}"));
        format!("side: {{failure: {failure}%}}")
    } else {
        String::new()
    };
    format!(
        "
damper: 1
classes: [high, low]
services: {{{services}{side}}}
load: {{high: {}/s, low: {}/s}}
requests: {{r: {{calls: {calls}}}}}
policies: {{{policies}}}
",
        case.load[0], case.load[1]
    )
}

fn lowered(text: &str) -> System {
    SystemFile::parse("case.yaml", text).unwrap().lower().unwrap_or_else(|p| panic!("{p}\n{text}"))
}

fn planned(case: &Case) -> Planned {
    let system = lowered(&text(case, None, 0.0));
    let question = Question {
        system: &system,
        under: &system,
        targets: case.targets.clone(),
        transient: case.transient,
        max_limit: 2,
        any_order: false,
        keep: Vec::new(),
    };
    plan(&question, &mut |_, _| true).unwrap()
}

/// What a setting comes to, from the file up: rejection, amplification at worst, faults hidden.
fn measured(case: &Case, setting: &Setting) -> ([f64; 2], f64, f64) {
    let solved = solve(&lowered(&text(case, Some(setting), 0.0))).unwrap();
    let worst = solved.services.iter().map(|s| s.worst_amplification).fold(1.0, f64::max);
    let free = |setting: &Setting| {
        let roomy = Case { capacity: 1e8, ..case.clone() };
        let shaken = solve(&lowered(&text(&roomy, Some(setting), case.transient))).unwrap();
        let good = shaken.classes.iter().zip(case.load).map(|(c, l)| c.completion * l);
        1.0 - good.sum::<f64>() / case.load.iter().sum::<f64>()
    };
    let none = Setting { limits: vec![vec![0; 2]; setting.limits.len()], budget_permille: None };
    let hides = 1.0 - free(setting) / free(&none);
    ([solved.classes[0].rejection, solved.classes[1].rejection], worst, hides)
}

fn meets(case: &Case, setting: &Setting) -> (bool, f64) {
    let (rejection, worst, hides) = measured(case, setting);
    let met = case.targets.iter().all(|t| match *t {
        Target::Rejection { class, at_most } => rejection[class] <= at_most + 1e-7,
        Target::WorstAmplification(x) => worst <= x + 1e-7,
        Target::Hidden(x) => hides >= x - 1e-7,
        _ => true,
    });
    (met, worst)
}

fn cases() -> impl Strategy<Value = Case> {
    let target = prop_oneof![
        (0..2usize, 0.05..0.9).prop_map(|(class, at_most)| Target::Rejection { class, at_most }),
        (1.5..9.0).prop_map(Target::WorstAmplification),
        (0.3..0.999).prop_map(Target::Hidden),
    ];
    (
        prop::collection::vec(0..3u32, 1..3),
        20.0..200.0,
        [10.0..100.0, 10.0..100.0],
        any::<bool>(),
        prop::collection::vec(target, 1..4),
        0.001..0.1,
    )
        .prop_map(|(limits, capacity, load, branch, targets, transient)| Case {
            limits,
            capacity,
            load,
            branch,
            targets,
            transient,
        })
}

/// All settings with at most two retries, none fewer for high than for low.
fn all(calls: usize) -> Vec<Setting> {
    let vectors: Vec<Vec<u32>> =
        (0..3).flat_map(|high| (0..=high).map(move |low| vec![high, low])).collect();
    let mut settings: Vec<Vec<Vec<u32>>> = vec![Vec::new()];
    for _ in 0..calls {
        settings = settings
            .iter()
            .flat_map(|s| {
                vectors.iter().map(move |v| [s.as_slice(), std::slice::from_ref(v)].concat())
            })
            .collect();
    }
    let setting = |limits| Setting { limits, budget_permille: None };
    settings.into_iter().map(setting).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Solved again from a file that says so, the answer is what it claims; and of all settings
    /// none that meets the targets has less amplification.
    #[test]
    fn the_answer_holds_and_nothing_is_better(case in cases()) {
        let found = planned(&case);
        prop_assert!(found.exact && !found.partial);
        let best = &found.best;
        if best.setting.budget_permille.is_none() {
            let (rejection, worst, hides) = measured(&case, &best.setting);
            for (a, b) in rejection.iter().zip(&best.measures.rejection) {
                prop_assert!((a - b).abs() < 1e-7, "{a} {b}");
            }
            prop_assert!((worst - best.measures.worst_amplification).abs() < 1e-9);
            prop_assert!((hides - best.measures.hides.unwrap()).abs() < 1e-6);
            prop_assert_eq!(meets(&case, &best.setting).0, found.met);
        }
        let calls = best.setting.limits.len();
        for setting in all(calls) {
            let (met, worst) = meets(&case, &setting);
            if met {
                prop_assert!(found.met, "{setting:?} meets them");
                prop_assert!(
                    worst >= best.measures.worst_amplification - 1e-9,
                    "{setting:?} has {worst}"
                );
            }
        }
        prop_assert_eq!(found.met, found.clashes.is_empty());
    }

    /// No row of the frontier is worse than another in everything.
    #[test]
    fn the_frontier_is_one(case in cases()) {
        let found = planned(&case);
        let key = |s: &damper_model::plan::Measures| {
            (s.availability.unwrap(), s.heals_below(), -s.worst_amplification)
        };
        for (i, a) in found.frontier.iter().enumerate() {
            for b in &found.frontier[i + 1..] {
                let (x, y) = (key(&a.solution.measures), key(&b.solution.measures));
                let beats = |x: (f64, f64, f64), y: (f64, f64, f64)| {
                    x.0 > y.0 + 1e-6 && x.1 >= y.1 && x.2 >= y.2
                };
                prop_assert!(!beats(x, y) && !beats(y, x), "{a:?}\n{b:?}");
            }
        }
    }
}
