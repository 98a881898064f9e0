//! From what the simulator knows to the result format. No arithmetic of its own.

pub(crate) mod amplification;
mod map;
pub(crate) mod scan;
mod settings;
mod why;

use std::collections::BTreeMap;

use damper_control::admission::AdmissionRule as _;
use damper_control::{Outcome, Pushback};
use damper_report::result as out;
use damper_sim::{Headroom, LoopKind, Plan, Series, Simulated, calls_per_execution};
use damper_system::coverage::{self, Command};
use damper_system::model::{Caller, System, Target};

pub(crate) use map::{map, rare};

use crate::words;

const NS: f64 = 1e9;
const US: f64 = 1e6;

/// One experiment.
pub(crate) fn simulation(
    plan: &Plan,
    run: &Simulated,
    load_rps: f64,
    trigger: Option<(u64, u64)>,
) -> out::Simulation {
    let system = plan.system();
    let verdict = run.verdict();
    let (calls, floor) = run.calls_per_request(plan);
    let good: u64 = run.classes.iter().map(damper_sim::ClassStats::good).sum();
    let offered: u64 = run.classes.iter().map(|c| c.offered).sum();
    out::Simulation {
        state: verdict.state.name().to_owned(),
        recovery_s: verdict.recovery.map(damper_control::Nanos::as_secs_f64),
        projected: verdict.projected,
        reason: verdict.reason,
        load_rps,
        replications: run.verdicts.len() as u32,
        recovered: run.recovered() as u32,
        measured_s: run.measured as f64 / NS,
        events: run.events,
        classes: system
            .classes
            .iter()
            .enumerate()
            .map(|(i, name)| (name.clone(), class(run, i)))
            .collect(),
        class_order: system.classes.clone(),
        services: (0..system.services.len())
            .map(|s| (system.services[s].name.clone(), service(plan, run, s)))
            .collect(),
        service_order: system.services.iter().map(|s| s.name.clone()).collect(),
        calls_per_request: calls,
        calls_per_success: (good > 0).then(|| calls * offered as f64 / good as f64),
        floor_calls_per_request: floor,
        controls: controls(system, run),
        series: series(system, &run.series, trigger),
    }
}

fn by_class(system: &System, counts: &[u64]) -> BTreeMap<String, u64> {
    system.classes.iter().cloned().zip(counts.iter().copied()).collect()
}

/// Every control that is set, with what it refused.
fn controls(system: &System, run: &Simulated) -> Vec<out::ControlResult> {
    let mut all = Vec::new();
    let mut add = |place: &str, key: &str, name: &str, refused: u64| {
        let (place, key, name) = (place.to_owned(), key.to_owned(), name.to_owned());
        all.push(out::ControlResult { place, key, name, refused });
    };
    for (edge, stats) in system.policies.edges.iter().zip(&run.edges) {
        let (from, to) = (system.caller_name(edge.caller), system.target_name(edge.target));
        let place = format!("{from} -> {to}");
        let policy = &edge.policy;
        if policy.retry.is_active() {
            add(&place, "limit", "class-limits", stats.refused_limit);
        }
        if policy.budget.kind != "none" {
            add(&place, "budget", policy.budget.kind, stats.refused_budget);
        }
        if let Some(throttle) = &policy.throttle {
            add(&place, "throttle", throttle.kind, stats.refused_throttle);
        }
        if let Some(breaker) = &policy.breaker {
            add(&place, "breaker", breaker.kind, stats.refused_breaker);
        }
        let callee = &system.services[system.server_of(edge.target).0 as usize];
        if let Some(rule) = callee.admission.as_ref().filter(|a| a.initial.threshold().is_some()) {
            // What callers hold back because the callee has said that it would not let it in.
            add(&place, "admission", rule.kind, stats.refused_word);
        }
        if policy.retry.is_active()
            && policy.heeds_pushback
            && callee.pushback == Some(Pushback::Stop)
        {
            add(&place, "pushback", "stop", stats.refused_pushback);
        }
    }
    for (service, stats) in system.services.iter().zip(&run.services) {
        let name = service.name.as_str();
        if let Some(admission) = &service.admission {
            add(name, "admission", admission.kind, stats.refused_admission);
        }
        if let Some(concurrency) = &service.concurrency {
            add(name, "concurrency", concurrency.kind, stats.refused_concurrency);
        }
        if let Some(drop) = &service.drop {
            add(name, "drop", drop.kind, stats.dropped_waiting);
        }
        if !service.lever.is_empty() {
            add(name, "lever", "lever", stats.refused_lever);
        }
    }
    all
}

fn class(run: &Simulated, i: usize) -> out::ClassResult {
    let c = &run.classes[i];
    let ended = |outcome: Outcome| c.ended[outcome.index()];
    out::ClassResult {
        offered: c.offered,
        good: c.good(),
        rejected: ended(Outcome::Rejected),
        timed_out: ended(Outcome::TimedOut),
        failed: ended(Outcome::Failed) + ended(Outcome::FailedBelow),
        shed: ended(Outcome::Shed),
        unfinished: c.offered.saturating_sub(c.ended_all()),
        rejection: run.rejection[i].mean,
        rejection_ci95: run.rejection[i].ci95,
        latency_p50_s: c.latency_us.value_at_quantile(0.5) as f64 / US,
        latency_p99_s: c.latency_us.value_at_quantile(0.99) as f64 / US,
    }
}

fn service(plan: &Plan, run: &Simulated, i: usize) -> out::ServiceResult {
    let s = &run.services[i];
    out::ServiceResult {
        attempts: s.attempts.iter().sum(),
        amplification: run.amplification(plan, i),
        wasted: if s.work > 0.0 { s.wasted / s.work } else { 0.0 },
        utilisation: run.utilisation(plan, i),
        served: s.served,
        rejected: s.rejected,
        shed: s.shed.iter().sum(),
        shed_by_class: by_class(plan.system(), &s.shed),
        abandoned: s.abandoned,
        dropped: s.dropped,
        failed: s.failed,
        failed_below: s.failed_below,
        queue_delay_mean_s: s.queue_delay_us.mean() / US,
        queue_delay_p99_s: s.queue_delay_us.value_at_quantile(0.99) as f64 / US,
        queue_max: u64::from(s.queue_max),
    }
}

fn series(system: &System, series: &Series, trigger: Option<(u64, u64)>) -> out::Series {
    let width = series.interval as f64 / NS;
    let per_s = |n: u64| n as f64 / width;
    let points = &series.points;
    let limited = system.services.iter().filter(|s| s.workers.is_some() || s.rate_limit.is_some());
    let services = limited.enumerate().map(|(i, service)| {
        let of = points.iter().map(|p| &p.services[i]);
        let shown = out::ServiceSeries {
            attempts_rps: of.clone().map(|p| per_s(p.attempts)).collect(),
            queue_delay_s: of
                .clone()
                .map(|p| (p.left > 0).then(|| p.delay / p.left as f64 / NS))
                .collect(),
            queue: of.clone().map(|p| p.queue).collect(),
            rejected_rps: of.clone().map(|p| per_s(p.rejected)).collect(),
            wasted: of.map(|p| if p.work > 0.0 { p.wasted / p.work } else { 0.0 }).collect(),
        };
        (service.name.clone(), shown)
    });
    out::Series {
        interval_s: width,
        trigger_s: trigger.map(|(a, b)| [a as f64 / NS, b as f64 / NS]),
        t_s: (0..points.len()).map(|i| i as f64 * width).collect(),
        offered_rps: points.iter().map(|p| per_s(p.offered)).collect(),
        attempts_rps: points.iter().map(|p| per_s(p.attempts)).collect(),
        goodput_rps: points.iter().map(|p| per_s(p.good)).collect(),
        throughput_rps: points.iter().map(|p| per_s(p.replies)).collect(),
        services: services.collect(),
    }
}

/// The call graph, with what a run sent over it.
pub(crate) fn graph(
    plan: &Plan,
    run: Option<&Simulated>,
    looped: Option<&damper_sim::SustainingLoop>,
) -> out::Graph {
    let system = plan.system();
    let node = |name: &str, kind: &str| out::Node {
        name: name.to_owned(),
        kind: kind.to_owned(),
        ..out::Node::default()
    };
    let mut nodes = vec![node("client", "client")];
    nodes.extend(system.services.iter().enumerate().map(|(i, s)| out::Node {
        capacity_rps: s.capacity(),
        amplification: run.map(|r| r.amplification(plan, i)),
        ..node(&s.name, "service")
    }));
    nodes.extend(system.caches.iter().map(|c| node(&c.name, "cache")));
    let calls = calls_per_execution(system);
    let in_loop = |caller: Caller, target: Target| {
        looped.is_some_and(|l| {
            l.retrying.contains(&(caller, target)) || (l.caller, l.target) == (caller, target)
        })
    };
    let mut edges: Vec<out::GraphEdge> = system
        .policies
        .edges
        .iter()
        .enumerate()
        .map(|(i, e)| {
            let limit = |c: usize| e.policy.retry.limits.limit(c as u8);
            out::GraphEdge {
                from: system.caller_name(e.caller).to_owned(),
                to: system.target_name(e.target).to_owned(),
                calls: calls[i],
                limit: (0..system.classes.len()).map(limit).collect(),
                timeout_s: e.policy.timeout.map(damper_control::Nanos::as_secs_f64),
                attempts_rps: run
                    .map(|r| r.edges[i].attempts as f64 / (r.measured.max(1) as f64 / NS)),
                in_loop: in_loop(e.caller, e.target),
                multiplies: None,
            }
        })
        .collect();
    // A look-aside cache has no call of its own to its store: its callers make it.
    for cache in &system.caches {
        let store = &system.services[cache.store.0 as usize].name;
        if !edges.iter().any(|e| e.from == cache.name) {
            edges.push(out::GraphEdge {
                from: cache.name.clone(),
                to: store.clone(),
                calls: 1.0 - cache.hit_rate,
                ..out::GraphEdge::default()
            });
        }
    }
    out::Graph { nodes, edges }
}

/// What `headroom` found.
pub(crate) fn headroom(
    origin: out::Origin,
    plan: &Plan,
    h: &Headroom,
    trigger: (String, String),
) -> out::Headroom {
    let system = plan.system();
    let hidden = h.hidden.map(|e| e.mean);
    let looped = h.looped.as_ref().map(|l| out::Loop {
        caller: system.caller_name(l.caller).to_owned(),
        service: system.services[l.service.0 as usize].name.clone(),
        kind: match l.kind {
            LoopKind::CacheMisses => "cache misses",
            LoopKind::Retries => "retries",
            LoopKind::Queue => "queue",
        }
        .to_owned(),
        amplification: l.amplification,
        wasted: l.wasted,
        summary: words::sustaining_loop(system, l),
    });
    let span = damper_sim::Conditions::of(plan).trigger_span(plan);
    out::Headroom {
        trigger: trigger.1,
        trigger_name: trigger.0,
        advertised_rps: h.advertised.map(|e| e.mean),
        advertised_ci95: h.advertised.map(|e| e.ci95),
        hidden_rps: hidden,
        hidden_ci95: h.hidden.map(|e| e.ci95),
        load_rps: h.load,
        exposure: hidden.filter(|x| *x > 0.0).map(|x| h.load / x - 1.0),
        state: h.state.name().to_owned(),
        amplification: looped.as_ref().map_or(1.0, |l| l.amplification),
        sustaining_loop: looped,
        remedies: h.remedies.iter().map(|r| remedy(h, r)).collect(),
        graph: graph(plan, h.shown.as_ref(), h.looped.as_ref()),
        shown: h.shown.as_ref().map(|run| simulation(plan, run, h.shown_load, span)),
        shown_load_rps: h.shown_load,
        replications: h.replications,
        simulated_requests: h.requests,
        cost: None,
        origin: out::Origin { partial: h.partial, ..origin },
    }
}

fn remedy(h: &Headroom, r: &damper_sim::Priced) -> out::Remedy {
    out::Remedy {
        name: r.name.to_owned(),
        set: r.set.clone(),
        hidden_rps: r.hidden.map(|e| e.mean),
        hidden_ci95: r.hidden.map(|e| e.ci95),
        at_least: r.at_least,
        advertised_rps: r.advertised.map(|e| e.mean),
        success_before: r.success[0],
        success_after: r.success[1],
        price_ci95: r.gain.ci95,
        verdict: match r.verdict(h.hidden) {
            verdict if r.at_least => format!("{verdict}, or better"),
            verdict => verdict.to_owned(),
        },
        cost: None,
    }
}

/// Where a result comes from.
pub(crate) fn origin(
    system: &System,
    file: &std::path::Path,
    set: &[String],
    notes: Vec<String>,
) -> out::Origin {
    out::Origin {
        system: system.name.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        seed: system.experiment.seed,
        file: file.display().to_string(),
        set: set.to_vec(),
        partial: false,
        notes,
        left_out: Vec::new(),
    }
}

/// The same of a command that does not take all of a file into account.
pub(crate) fn left_out(command: Command, system: &System) -> Vec<out::LeftOut> {
    let told = |left: coverage::LeftOut| out::LeftOut {
        says: left.to_string(),
        key: left.key.to_owned(),
        of: left.of.into_iter().filter(|name| !name.is_empty()).collect(),
    };
    coverage::left_out(command, system).into_iter().map(told).collect()
}

/// By name, for tables that people read.
pub(crate) fn ordered<'a, T>(
    order: &'a [String],
    map: &'a BTreeMap<String, T>,
) -> impl Iterator<Item = (&'a str, &'a T)> {
    order.iter().filter_map(|name| map.get(name).map(|v| (name.as_str(), v)))
}
