//! Five tiers, three failures, and what the callers do about them (arXiv 2608.25403).

use damper_control::entry::Kind;
use damper_control::registry;
use damper_sim::{Conditions, Estimate, Outcome, Plan};
use rayon::prelude::*;

use crate::measure::*;

/// Trials of the strategies of the publication, and of the other budgets.
pub(crate) const TRIALS: u32 = 100;
pub(crate) const OTHERS: u32 = 20;

pub(crate) const SCENARIOS: [&str; 3] = ["isolated", "partial", "correlated"];

/// Three attempts at every tier; the backoff stands in the file.
const STANDARD: &str = "policies.default.retry.limit=2";
const BREAKER: &str = "policies.default.breaker={kind: breaker-time, wait: 30s}";

/// What happens with one strategy.
pub(crate) struct Line {
    pub(crate) strategy: String,
    /// A budget of the registry.
    pub(crate) budget: Option<&'static str>,
    trials: u32,
    /// Success by scenario.
    pub(crate) success: [Estimate; 3],
    /// Attempts over what is needed: mean over the tiers, by scenario.
    pub(crate) amplification: [f64; 3],
    /// Success and amplification under transient errors.
    pub(crate) errors: (f64, f64),
}

pub(crate) fn lines() -> Vec<Line> {
    let plain = |name: &str, sets: &[&str]| {
        let sets: Vec<String> = sets.iter().map(|s| (*s).to_owned()).collect();
        (name.to_owned(), None, TRIALS, sets)
    };
    let mut strategies = vec![
        plain("no retry", &[]),
        plain("standard", &[STANDARD]),
        plain("breaker", &[BREAKER]),
        plain("standard and breaker", &[STANDARD, BREAKER]),
    ];
    for entry in registry::of(Kind::Budget).filter(|e| e.name != "none") {
        let trials = if entry.name == "arb" { TRIALS } else { OTHERS };
        let budget = format!("policies.default.retry.budget={}", entry.name);
        let sets = vec![STANDARD.to_owned(), budget];
        strategies.push((entry.name.to_owned(), Some(entry.name), trials, sets));
    }
    strategies.sort_by_key(|(_, budget, trials, _)| (budget.is_some(), u32::MAX - trials));
    strategies
        .into_iter()
        .map(|(strategy, budget, trials, sets)| {
            let outcomes: Vec<(Plan, Vec<Outcome>)> =
                SCENARIOS.par_iter().map(|s| failing(s, &sets, trials)).collect();
            let of = |i: usize| -> Estimate {
                let by_trial: Vec<f64> = outcomes[i].1.iter().map(success).collect();
                Estimate::of(&by_trial)
            };
            let line = Line {
                strategy,
                budget,
                trials,
                success: [of(0), of(1), of(2)],
                amplification: [0, 1, 2].map(|i| amplification(&outcomes[i].1)),
                errors: transient(&sets),
            };
            eprintln!("{}: {:?}", line.strategy, line.success.map(|e| e.mean));
            line
        })
        .collect()
}

fn failing(scenario: &str, sets: &[String], trials: u32) -> (Plan, Vec<Outcome>) {
    let trigger = format!("experiment.trigger={scenario}");
    let (_, system) = example("five-tier-chain.yaml", &[sets, &[trigger]].concat());
    let plan = Plan::new(&system);
    let outcomes = runs(&plan, &Conditions::of(&plan), trials);
    (plan, outcomes)
}

fn transient(sets: &[String]) -> (f64, f64) {
    let (_, system) = example("five-tier-chain.yaml", sets);
    let outcomes = under_errors(&Plan::new(&system), 1.0, 40, 5);
    (mean(outcomes.iter().map(success)), amplification(&outcomes))
}

/// Attempts at all tiers over what they receive when all is well: every request once at each.
fn amplification(outcomes: &[Outcome]) -> f64 {
    mean(outcomes.iter().map(|o| {
        let offered: u64 = o.classes.iter().map(|c| c.offered).sum();
        let attempts: u64 = o.services.iter().flat_map(|s| &s.attempts).sum();
        attempts as f64 / (offered.max(1) * o.services.len() as u64) as f64
    }))
}

pub(crate) fn table(lines: &[Line]) -> String {
    let mut columns = vec!["strategy", "trials"];
    columns.extend(SCENARIOS);
    let amplified = SCENARIOS.map(|s| format!("RAF {s}"));
    columns.extend(amplified.iter().map(String::as_str));
    columns.extend(["1 % errors", "RAF 1 % errors"]);
    let mut text = head(&columns);
    for line in lines {
        let share = |e: &Estimate| {
            format!("{:.1} % ± {:.1}", 100.0 * e.mean, 50.0 * (e.ci95[1] - e.ci95[0]))
        };
        let name = line.budget.map_or(line.strategy.clone(), |b| format!("[{b}](controls/{b}.md)"));
        let mut cells = vec![name, line.trials.to_string()];
        cells.extend(line.success.iter().map(share));
        cells.extend(line.amplification.iter().map(|a| format!("{a:.2}")));
        cells.push(format!("{:.2} %", 100.0 * line.errors.0));
        cells.push(format!("{:.2}", line.errors.1));
        text += &row(&cells);
    }
    text
}
