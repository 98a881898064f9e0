//! What runs against what a system file says.

use damper_config::effective::{Caller, Versions, effective};
use damper_config::failure::Failure;
use damper_config::layer::Budget;
use damper_config::reading::Reading;
use damper_graph::{Factor, Graph};
use damper_system::System;
use serde::Serialize;

use crate::asked::{Asked, Edge};
use crate::loss::Meaning;
use crate::seen::{Attempts, Seen, World, amplification};
use crate::share::{self, Share};
use crate::signal;

/// What was compared.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Comparison {
    /// Every call of the system file.
    pub calls: Vec<Call>,
    /// Calls that run between its services and that it does not have, with their attempts.
    pub unknown: Vec<String>,
}

/// A call.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Call {
    /// As the system file writes it.
    pub call: String,
    /// Whether any file speaks of it.
    pub known: bool,
    /// What differs.
    pub differs: Vec<Difference>,
    /// What is said in another way, and does less than the file asks for.
    pub notes: Vec<String>,
    /// Attempts at the callee for each that it needs, as asked and as it runs.
    pub amplification: Option<Meaning>,
}

/// A difference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Which field.
    pub field: &'static str,
    /// The class, where classes differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// What the file says.
    pub asked: String,
    /// What runs.
    pub runs: String,
    /// Where that is said.
    pub from: String,
}

impl Comparison {
    /// Whether anything differs: a call, or one that runs and that the system does not have.
    #[must_use]
    pub fn differs(&self) -> bool {
        !self.unknown.is_empty() || self.calls.iter().any(|call| !call.differs.is_empty())
    }
}

/// What is so near is the same.
#[derive(Clone, Copy, Debug)]
struct Near {
    /// Times, in milliseconds.
    ms: f64,
    /// Shares, in percent, and rates.
    share: f64,
}

/// What formats round to.
const ROUNDED: Near = Near { ms: 1.0, share: 0.01 };
/// What is lost of a number by writing and reading it.
const EXACT: Near = Near { ms: 1e-6, share: 1e-9 };

/// Compares configuration, as [`damper_config::read_tree`] gives it, with a system.
#[must_use]
pub fn diff(
    system: &System,
    readings: &[(String, Reading)],
    versions: Versions,
    class_header: &str,
) -> Comparison {
    compared(system, readings, versions, class_header, Some(ROUNDED))
}

/// The same to the last digit, and without amplification: what a format rounds is a difference.
#[must_use]
pub fn compare(
    system: &System,
    readings: &[(String, Reading)],
    versions: Versions,
    class_header: &str,
) -> Comparison {
    compared(system, readings, versions, class_header, None)
}

fn compared(
    system: &System,
    readings: &[(String, Reading)],
    versions: Versions,
    class_header: &str,
    rounded: Option<Near>,
) -> Comparison {
    let near = rounded.unwrap_or(EXACT);
    let readings = crate::ours::named(readings, system, class_header);
    let effective = effective(&readings, versions);
    let world = World::of(&readings, &effective, class_header);
    let asked = Asked::of(system, &[]);
    let seen: Vec<Seen> = asked.edges.iter().map(|edge| world.see(edge)).collect();
    let amplified =
        if rounded.is_some() { amplifications(system, &asked, &seen) } else { Vec::new() };
    let calls = asked.edges.iter().zip(&seen).enumerate().map(|(at, (edge, seen))| {
        let numbers = amplified.get(at).copied().flatten();
        let (differs, notes) = call(edge, seen, near);
        Call { call: edge.name(), known: seen.known, differs, notes, amplification: numbers }
    });
    let calls = calls.collect();
    let service = |name: &str| system.services.iter().any(|one| one.name == name);
    let unknown = effective.hops.iter().filter_map(|hop| {
        let Caller::Service(caller) = &hop.caller else { return None };
        let (from, to) = (caller.service.as_str(), hop.callee.service.as_str());
        let known = asked.edges.iter().any(|edge| edge.caller == from && edge.server.name == to);
        (from != to && service(from) && service(to) && !known).then(|| format!("{from} -> {to}"))
    });
    Comparison { calls, unknown: unknown.collect() }
}

/// Attempts at the callee of each call, as asked and as it runs.
fn amplifications(system: &System, asked: &Asked<'_>, seen: &[Seen]) -> Vec<Option<Meaning>> {
    let asked_graph = damper_graph::system::graph(system);
    let runs = running(&asked_graph, asked, seen, system);
    let [asked_ways, runs_ways] =
        [&asked_graph, &runs].map(|graph| damper_graph::system::ways(system, graph));
    let at = |graph: &Graph, ways: &damper_graph::Ways, service: usize| {
        ways.at(graph, service + 1).map(|(worst, sustained, _)| (worst.high, sustained.high))
    };
    let one = |edge: &Edge<'_>| {
        let service = system.services.iter().position(|one| one.name == edge.server.name)?;
        let asked = at(&asked_graph, &asked_ways, service)?;
        Some(amplification(asked, at(&runs, &runs_ways, service)?))
    };
    asked.edges.iter().map(one).collect()
}

/// The graph of the system with what runs in place of the policies of the file. A sign is taken for
/// the ends that it means, as the export takes it, so that both sides are of the same kind.
fn running(asked_graph: &Graph, asked: &Asked<'_>, seen: &[Seen], system: &System) -> Graph {
    let mut graph = asked_graph.clone();
    for (edge, seen) in asked.edges.iter().zip(seen) {
        let from = if edge.caller == crate::format::CLIENT {
            Some(0)
        } else {
            graph.find(&damper_config::Name::new(edge.caller, None))
        };
        let to = system.services.iter().position(|one| one.name == edge.server.name);
        let (Some(from), Some(to)) = (from, to) else { continue };
        let mut policy = edge.policy.clone();
        policy.retry.on = signal::ends_of(signal::folded(seen.on));
        policy.idempotent = true;
        policy.budget = damper_system::model::Spec::none();
        let time = |said: &Option<crate::seen::Said<f64>>| {
            said.as_ref().map(|said| damper_control::Nanos::from_secs_f64(said.value / 1e3))
        };
        (policy.timeout, policy.deadline) = (time(&seen.attempt_ms), time(&seen.overall_ms));
        let mut factor: Factor = damper_graph::system::layer(&policy);
        factor.low = seen.attempts.iter().map(|one| one.value.low).max().unwrap_or(1);
        let highs: Option<Vec<u32>> = seen.attempts.iter().map(|one| one.value.high).collect();
        factor.high = highs.map(|all| all.into_iter().max().unwrap_or(1));
        factor.budget = seen.budget.as_ref().map(|said| said.value.clone());
        graph.layers.push(factor);
        let layer = graph.layers.len() - 1;
        if let Some(edge) = graph.edges.iter_mut().find(|one| (one.from, one.to) == (from, to + 1))
        {
            edge.layers = vec![layer];
        }
    }
    graph
}

fn ms_of(time: damper_control::Nanos) -> f64 {
    time.as_secs_f64() * 1e3
}

fn call(edge: &Edge<'_>, seen: &Seen, near: Near) -> (Vec<Difference>, Vec<String>) {
    let mut all = Vec::new();
    let mut notes = Vec::new();
    let limits = edge.limits();
    let alike = limits.windows(2).all(|pair| pair[0] == pair[1])
        && seen.attempts.windows(2).all(|pair| pair[0] == pair[1]);
    for (at, (class, limit)) in edge.classes.iter().zip(&limits).enumerate() {
        let Some(runs) = seen.attempts.get(at) else { continue };
        let wanted = Attempts::after(*limit);
        if runs.value != wanted && (at == 0 || !alike) {
            all.push(Difference {
                field: "attempts",
                class: (!alike).then(|| class.clone()),
                asked: wanted.words(),
                runs: runs.value.words(),
                from: runs.from.clone(),
            });
        }
    }
    let times = edge.times(edge.most());
    if !seen.known {
        // Nothing retries, and nothing bounds the time.
        for (field, asked) in [("timeout", times.attempt), ("deadline", times.overall)] {
            if let Some(asked) = asked {
                all.push(Difference {
                    field,
                    class: None,
                    asked: crate::format::ms_words(asked),
                    runs: "none".to_owned(),
                    from: "no file speaks of this call".to_owned(),
                });
            }
        }
        return (all, notes);
    }
    let pairs = [
        ("timeout", times.attempt, &seen.attempt_ms),
        ("deadline", times.overall, &seen.overall_ms),
    ];
    for (field, asked, runs) in pairs {
        let same = match (asked.map(ms_of), runs.as_ref().map(|said| said.value)) {
            (Some(asked), Some(runs)) => (asked - runs).abs() <= near.ms,
            (None, None) => true,
            _ => false,
        };
        if !same {
            all.push(Difference {
                field,
                class: None,
                asked: asked.map_or_else(|| "none".to_owned(), crate::format::ms_words),
                runs: runs
                    .as_ref()
                    .map_or_else(|| "none".to_owned(), |said| crate::wait::of_ms(said.value)),
                from: runs.as_ref().map_or_else(String::new, |said| said.from.clone()),
            });
        }
    }
    let retries = edge.most() > 0 && seen.attempts.iter().any(|one| one.value.high != Some(1));
    if retries {
        budget(edge, seen, near, &mut all);
        let wanted = signal::wanted(edge.on(), true);
        let runs = signal::folded(seen.on);
        // Without a timeout of one attempt nothing times out.
        let happens =
            |kind: &Failure| *kind != Failure::AttemptTimeout || seen.attempt_ms.is_some();
        let more: damper_config::Failures =
            runs.iter().filter(happens).filter(|kind| !wanted.contains(*kind)).collect();
        let fewer: damper_config::Failures =
            wanted.iter().filter(|kind| !runs.contains(*kind)).collect();
        let from = seen.layers.first().and_then(|one| one.path.clone()).unwrap_or_default();
        if !more.is_empty() {
            let asked = signal::signs(wanted);
            let runs = format!("also {}", signal::signs(more));
            all.push(Difference { field: "on", class: None, asked, runs, from });
        }
        if !fewer.is_empty() {
            notes.push(format!("asked for and not retried: {}", signal::signs(fewer)));
        }
    }
    (all, notes)
}

fn budget(edge: &Edge<'_>, seen: &Seen, rounded: Near, all: &mut Vec<Difference>) {
    let near = |a: f64, b: f64| (a - b).abs() <= rounded.share + 1e-9;
    let runs = seen.budget.as_ref();
    let same = match (share::of(&edge.policy.budget), runs.map(|said| &said.value)) {
        (Share::None, None | Some(Budget::Concurrent { limit: None })) => true,
        (
            Share::Active { percent, least },
            Some(Budget::ActiveShare { percent: p, min_concurrent }),
        ) => near(percent, *p) && least == *min_concurrent,
        (
            Share::Rate { percent, least_per_s, window_s },
            Some(Budget::RateShare { percent: p, min_per_s, window_ms }),
        ) => near(percent, *p) && near(least_per_s, *min_per_s) && near(window_s * 1e3, *window_ms),
        (Share::Tokens { max, ratio }, Some(Budget::Tokens { max: m, ratio: r })) => {
            near(max, *m) && (ratio - r).abs() < 1e-9
        }
        _ => false,
    };
    if !same {
        all.push(Difference {
            field: "budget",
            class: None,
            asked: share::words(&edge.policy.budget),
            runs: runs.map_or_else(|| "no budget".to_owned(), |said| words(&said.value)),
            from: runs.map_or_else(String::new, |said| said.from.clone()),
        });
    }
}

fn words(budget: &Budget) -> String {
    match budget {
        Budget::Concurrent { limit: None } => "no budget".to_owned(),
        Budget::Concurrent { limit: Some(limit) } => format!("{limit} retries at once"),
        Budget::ActiveShare { percent, min_concurrent } => {
            format!("{percent} % of the requests at once, at least {min_concurrent}")
        }
        Budget::RateShare { percent, min_per_s, window_ms } => {
            let least = share::per_s(*min_per_s);
            format!("{percent} % of {} s, at least {least}", window_ms / 1e3)
        }
        Budget::Tokens { max, ratio } => format!("{max} tokens, {ratio} for a success"),
        Budget::Quota { max, cost } => format!("a quota of {max}, {cost} for a retry"),
    }
}
