//! Slow motion, for machines that are too small for a load: the same system with a slower clock.

use damper_control::backoff::Growth;
use damper_control::entry::{Parameter, Unit};
use damper_control::{Backoff, Budget, Nanos, registry};
use damper_system::System;
use damper_system::model::{ActionKind, Dist, Load, Spec, Spike};

/// Makes everything `factor` times as slow: rates are divided by it and times are multiplied.
/// Bursts and queues are counts and stay. What the system does is the same, only later: shares,
/// attempts per request and amplification do not change.
///
/// What a budget cannot follow is said, one line for each.
#[must_use = "what could not be made slower is said"]
pub fn slow_down(system: &mut System, factor: f64) -> Vec<String> {
    let mut notes = Vec::new();
    let names: Vec<(String, String)> = system
        .policies
        .edges
        .iter()
        .map(|e| (system.caller_name(e.caller).into(), system.target_name(e.target).into()))
        .collect();
    let slower = |t: Nanos| if t == Nanos::MAX { t } else { t.scale(factor) };
    for service in &mut system.services {
        service.service_time = stretched(&service.service_time, factor);
        if let Some(limit) = &mut service.rate_limit {
            limit.rate /= factor;
        }
    }
    for load in &mut system.load {
        *load = slower_load(load, factor);
    }
    for (edge, (caller, target)) in system.policies.edges.iter_mut().zip(names) {
        let policy = &mut edge.policy;
        if let Some(note) = slow_budget(&mut policy.budget, factor) {
            notes.push(format!("{caller} -> {target}: {note}"));
        }
        policy.timeout = policy.timeout.map(slower);
        policy.deadline = policy.deadline.map(slower);
        policy.needs = slower(policy.needs);
        policy.retry.backoff = slower_backoff(&policy.retry.backoff, factor);
    }
    for action in system.triggers.iter_mut().flat_map(|trigger| &mut trigger.actions) {
        action.after = slower(action.after);
        action.lasts = slower(action.lasts);
        match &mut action.kind {
            ActionKind::AddedLatency { latency, .. } => *latency = slower(*latency),
            ActionKind::LoadSpike { height: Spike::Rate(rate), .. } => *rate /= factor,
            _ => {}
        }
    }
    notes
}

/// Makes a budget slower by the units of its parameters; says what cannot be.
fn slow_budget(budget: &mut Spec<Budget>, factor: f64) -> Option<String> {
    let kind = budget.kind;
    let entry = registry::find(kind)?;
    let is_rate = |p: &Parameter| p.unit == Unit::Rate || p.name.ends_with("_per_second");
    let mut rounded = None;
    let scaled = entry.parameters.iter().zip(&budget.parameters).map(|(parameter, value)| {
        if parameter.unit == Unit::Duration {
            return value * factor;
        }
        if !is_rate(parameter) {
            return *value;
        }
        let exact = value / factor;
        if parameter.unit != Unit::Count || exact.fract() == 0.0 {
            return exact;
        }
        let whole = exact.round();
        let name = parameter.name;
        rounded = Some(format!("{name} of the budget `{kind}` is {whole}, not {exact:.3}"));
        whole
    });
    let scaled: Vec<f64> = scaled.collect();
    if scaled == budget.parameters {
        return None;
    }
    let Some(slower) = Spec::new(entry, scaled) else {
        return Some(format!(
            "the budget `{kind}` is not {factor} times as slow: out of its range"
        ));
    };
    *budget = slower;
    rounded.map(|what| format!("{what}: it takes whole numbers only"))
}

fn stretched(dist: &Dist, factor: f64) -> Dist {
    let slower = |t: &Nanos| t.scale(factor);
    match dist {
        Dist::Deterministic(mean) => Dist::Deterministic(slower(mean)),
        Dist::Exponential(mean) => Dist::Exponential(slower(mean)),
        Dist::Erlang { mean, stages } => Dist::Erlang { mean: slower(mean), stages: *stages },
        Dist::Lognormal { mean, cv } => Dist::Lognormal { mean: slower(mean), cv: *cv },
        Dist::Hyperexponential { mean, cv } => {
            Dist::Hyperexponential { mean: slower(mean), cv: *cv }
        }
        Dist::Pareto { mean, alpha } => Dist::Pareto { mean: slower(mean), alpha: *alpha },
        Dist::Empirical(values) => {
            Dist::Empirical(values.iter().map(|(t, weight)| (slower(t), *weight)).collect())
        }
    }
}

fn slower_load(load: &Load, factor: f64) -> Load {
    match load.scaled(1.0 / factor) {
        Load::Constant(rate) => Load::Constant(rate),
        Load::Profile(points) => {
            Load::Profile(points.into_iter().map(|(t, rate)| (t.scale(factor), rate)).collect())
        }
        Load::Burst { base, peak, every, length } => {
            Load::Burst { base, peak, every: every.scale(factor), length: length.scale(factor) }
        }
    }
}

fn slower_backoff(backoff: &Backoff, factor: f64) -> Backoff {
    let growth = match backoff.growth {
        Growth::ByCause { factor: growth, refused } => {
            Growth::ByCause { factor: growth, refused: refused.scale(factor) }
        }
        growth => growth,
    };
    let cap = if backoff.cap == Nanos::MAX { backoff.cap } else { backoff.cap.scale(factor) };
    Backoff { growth, base: backoff.base.scale(factor), cap, ..*backoff }
}

#[cfg(test)]
mod tests {
    use damper_system::SystemFile;

    use super::*;

    #[test]
    fn rates_are_divided_and_times_multiplied() {
        let text = "
damper: 1
services: {a: {rate_limit: 90/s, workers: 2, service_time: 10ms}}
load: 100/s
requests: {r: {calls: [a]}}
policies: {a: {timeout: 1s, retry: {limit: 2, backoff: {kind: exponential, base: 25ms}}}}
triggers: {spike: [{load_spike: all, rate: 300/s, for: 2s}]}
";
        let mut system = SystemFile::parse("t", text).unwrap().lower().unwrap();
        let before = system.services[0].capacity().unwrap();
        assert_eq!(slow_down(&mut system, 3.0), Vec::<String>::new());
        let service = &system.services[0];
        assert!((before / service.capacity().unwrap() - 3.0).abs() < 1e-9);
        let limit = service.rate_limit.unwrap();
        assert_eq!((limit.rate, limit.burst), (30.0, 90.0), "a burst is a count");
        assert!((system.total_load() - 100.0 / 3.0).abs() < 1e-9);
        let policy = &system.policies.edges[0].policy;
        assert_eq!(policy.timeout, Some(Nanos::from_secs(3)));
        assert_eq!(policy.retry.backoff.base, Nanos::from_millis(75));
        assert_eq!(policy.retry.backoff.cap, Nanos::MAX);
        let action = &system.triggers[0].actions[0];
        assert_eq!(action.lasts, Nanos::from_secs(6));
        let ActionKind::LoadSpike { height, .. } = &action.kind else { panic!() };
        assert_eq!(*height, Spike::Rate(100.0));
    }

    /// The budget of the only edge, this many times as slow, and what is said of it.
    fn slow(budget: &str, factor: f64) -> (Vec<f64>, Vec<String>) {
        let text = format!(
            "
damper: 1
services: {{a: {{workers: 2, service_time: 10ms}}}}
load: 100/s
requests: {{r: {{calls: [a]}}}}
policies: {{a: {{retry: {{limit: 2, budget: {budget}}}}}}}
"
        );
        let mut system = SystemFile::parse("t", &text).unwrap().lower().unwrap();
        let notes = slow_down(&mut system, factor);
        (system.policies.edges[0].policy.budget.parameters.clone(), notes)
    }

    #[test]
    fn a_budget_keeps_its_counts_and_stretches_its_times() {
        let deposit = "{kind: deposit, percent: 20%, min_per_second: 10, ttl: 10s}";
        assert_eq!(slow(deposit, 2.0), (vec![20.0, 5.0, 20.0], vec![]), "a reserve of 100 stays");
        let window = "{kind: per-minute, retries: 60, window: 60s}";
        assert_eq!(slow(window, 4.0), (vec![60.0, 240.0], vec![]));
        let tokens = "{kind: token-bucket, max_tokens: 10, token_ratio: 0.1}";
        assert_eq!(slow(tokens, 4.0), (vec![10.0, 0.1], vec![]), "tokens are counts");
    }

    #[test]
    fn what_a_budget_cannot_follow_is_said() {
        let deposit = "{kind: deposit, percent: 20%, min_per_second: 10, ttl: 10s}";
        let (parameters, notes) = slow(deposit, 4.0);
        assert_eq!(parameters, [20.0, 3.0, 40.0]);
        assert!(notes.len() == 1 && notes[0].contains("min_per_second"), "{notes:?}");
        let (parameters, notes) = slow(deposit, 10.0);
        assert_eq!(parameters, [20.0, 10.0, 10.0], "100 s are beyond its longest");
        assert!(notes.len() == 1 && notes[0].contains("out of its range"), "{notes:?}");
    }
}
