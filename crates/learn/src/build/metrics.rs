//! A system out of counters alone: who calls whom, and how often.

use std::collections::{BTreeMap, BTreeSet};

use crate::learnt::{Amplification, Call, Gap, Learnt, Number, Request, Service, Time};
use crate::metrics::{Edge, Edges};
use crate::names::Names;
use crate::stats::share_interval;

/// Levels of calls, and calls in all.
const MOST_LEVELS: usize = 30;
const MOST_CALLS: usize = 20_000;

struct Graph<'a> {
    /// Calls between services, by name; the empty caller is the client.
    edges: BTreeMap<(&'a str, &'a str), &'a Edge>,
    names: BTreeMap<&'a str, String>,
    /// Attempts that each service receives.
    received: BTreeMap<&'a str, f64>,
}

/// What counters say. Adds to what there is.
pub(crate) fn build(edges: &Edges, over_s: Option<f64>, learnt: &mut Learnt) {
    let called: BTreeSet<&str> = edges.keys().map(|(_, callee)| callee.as_str()).collect();
    let mut outside: BTreeSet<&str> = BTreeSet::new();
    let mut merged: BTreeMap<(&str, &str), Edge> = BTreeMap::new();
    for ((caller, callee), edge) in edges {
        let caller = if called.contains(caller.as_str()) { caller.as_str() } else { "" };
        if caller.is_empty() && !edges.is_empty() {
            outside.extend(
                edges
                    .keys()
                    .map(|(c, _)| c.as_str())
                    .filter(|c| !c.is_empty() && !called.contains(c)),
            );
        }
        let sum = merged.entry((caller, callee)).or_default();
        absorb(sum, edge);
    }
    let mut given = Names::default();
    let names: BTreeMap<&str, String> = called.iter().map(|n| (*n, given.give(n))).collect();
    let mut received: BTreeMap<&str, f64> = BTreeMap::new();
    for ((_, callee), edge) in &merged {
        *received.entry(callee).or_default() += edge.sent();
    }
    let graph = Graph { edges: merged.iter().map(|(k, e)| (*k, e)).collect(), names, received };
    if !outside.is_empty() {
        let list: Vec<&str> = outside.into_iter().collect();
        learnt.notes.push(format!(
            "nothing that is counted calls {}: taken for the client",
            list.join(", ")
        ));
    }
    learnt.notes.push(
        "counters do not tell in which order calls are made, nor which of them belong together: one after another, each by chance".to_owned(),
    );
    requests(&graph, over_s, learnt);
    services(&graph, learnt);
    amplification(&graph, learnt);
}

fn absorb(sum: &mut Edge, edge: &Edge) {
    let more = |a: &mut Option<f64>, b: Option<f64>| {
        if let Some(b) = b {
            *a = Some(a.unwrap_or(0.0) + b);
        }
    };
    more(&mut sum.calls, edge.calls);
    more(&mut sum.attempts, edge.attempts);
    more(&mut sum.arrivals, edge.arrivals);
    more(&mut sum.retries, edge.retries);
    let pairs = [
        (&mut sum.failed, edge.failed),
        (&mut sum.failed_arrivals, edge.failed_arrivals),
        (&mut sum.rescued, edge.rescued),
        (&mut sum.exhausted, edge.exhausted),
        (&mut sum.held_back, edge.held_back),
        (&mut sum.timeouts, edge.timeouts),
        (&mut sum.time_s, edge.time_s),
        (&mut sum.timed, edge.timed),
    ];
    pairs.into_iter().for_each(|(a, b)| *a += b);
}

fn requests(graph: &Graph<'_>, over_s: Option<f64>, learnt: &mut Learnt) {
    let entries: Vec<(&str, f64)> = graph
        .edges
        .iter()
        .filter(|((caller, _), edge)| caller.is_empty() && edge.logical() > 0.0)
        .map(|((_, callee), edge)| (*callee, edge.logical()))
        .collect();
    let total: f64 = entries.iter().map(|(_, calls)| calls).sum();
    let count = total.round() as u64;
    learnt.read.requests = count;
    match over_s {
        Some(seconds) if total > 0.0 => {
            learnt.read.seconds = seconds;
            let ci95 = crate::stats::rate_interval(count, seconds);
            learnt.load_rps = Some(Number { value: total / seconds, count, ci95 });
        }
        _ => learnt.gaps.push(Gap {
            path: "load".to_owned(),
            why: format!(
                "{count} requests were counted, but not over which time; say it with --over"
            ),
        }),
    }
    let mut names = Names::default();
    let mut left = MOST_CALLS;
    let mut found: Vec<(&str, f64)> = entries;
    found.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(b.0)));
    for (callee, calls) in found {
        let mut path = vec![callee];
        let below = below(graph, &mut path, &mut left);
        let call = one(graph, callee, 1.0, count, below);
        learnt.requests.push(Request {
            name: names.give(callee),
            original: format!("calls to {callee}"),
            share: Number {
                value: calls / total.max(1.0),
                count: calls.round() as u64,
                ci95: share_interval(calls.round() as u64, count),
            },
            failed: 0,
            message: false,
            calls: vec![vec![call]],
        });
    }
    if left == 0 {
        learnt.notes.push(format!(
            "the call trees have more than {MOST_CALLS} calls; the rest is left out"
        ));
    }
}

/// What the last of a path calls, without going round in circles.
fn below<'g>(graph: &'g Graph<'_>, path: &mut Vec<&'g str>, left: &mut usize) -> Vec<Vec<Call>> {
    let Some(caller) = path.last().copied() else { return Vec::new() };
    let received = graph.received.get(caller).copied().unwrap_or(0.0);
    if received <= 0.0 || path.len() > MOST_LEVELS {
        return Vec::new();
    }
    let mut calls = Vec::new();
    for ((_, callee), edge) in graph.edges.iter().filter(|((c, _), _)| *c == caller) {
        let mean = edge.logical() / received;
        if mean <= 0.0 || *left == 0 || path.contains(callee) {
            continue;
        }
        *left -= 1;
        path.push(callee);
        let inner = below(graph, path, left);
        path.pop();
        calls.push(vec![one(graph, callee, mean, received.round() as u64, inner)]);
    }
    calls
}

fn one(graph: &Graph<'_>, callee: &str, mean: f64, count: u64, calls: Vec<Vec<Call>>) -> Call {
    let (chance, times) = if mean < 1.0 { (mean, 1.0) } else { (1.0, mean) };
    let part = (chance * count as f64).round() as u64;
    Call {
        callee: graph.names.get(callee).cloned().unwrap_or_default(),
        chance: Number { value: chance, count, ci95: share_interval(part.min(count), count) },
        times: Number { value: times, count, ci95: [times, times] },
        at_once: false,
        calls,
    }
}

fn services(graph: &Graph<'_>, learnt: &mut Learnt) {
    for (original, name) in &graph.names {
        let received = graph.received.get(original).copied().unwrap_or(0.0);
        let to_it = || graph.edges.iter().filter(|((_, to), _)| to == original).map(|(_, e)| *e);
        let arrivals: f64 = to_it().filter_map(|e| e.arrivals).sum();
        let failed: f64 = to_it().map(|e| e.failed_arrivals).sum();
        let calls_others = graph.edges.keys().any(|(from, _)| from == original);
        let share = |part: f64, whole: f64| Number {
            value: (part / whole).min(1.0),
            count: whole.round() as u64,
            ci95: share_interval(part.round() as u64, whole.round() as u64),
        };
        let service = Service {
            name: name.clone(),
            original: (*original).to_owned(),
            instrumented: arrivals > 0.0,
            attempts: received.round() as u64,
            time: time(graph, original),
            failure: (!calls_others && arrivals > 0.0).then(|| share(failed, arrivals)),
            rejected: 0,
            at_once: None,
            remarks: Vec::new(),
        };
        let path = |key: &str| format!("services.{}.{key}", super::quoted(name));
        let mut gap = |key: &str, why: &str| {
            learnt.gaps.push(Gap { path: path(key), why: why.to_owned() });
        };
        gap(
            "workers",
            "how many attempts it works on at the same time does not show in counters of calls",
        );
        if service.time.is_none() {
            gap(
                "service_time",
                "no metric tells how long it takes, or what it calls takes longer than itself",
            );
        }
        if service.failure.is_none() {
            gap(
                "failure",
                "its own failures cannot be told from those of what it calls, or are not counted where it runs",
            );
        }
        learnt.services.push(service);
    }
    for ((caller, callee), edge) in &graph.edges {
        let from = graph.names.get(caller).map_or("client", String::as_str);
        let to = graph.names.get(callee).map_or("", String::as_str);
        let (calls, sent) = (edge.logical(), edge.sent());
        let seen = if sent > calls {
            format!(
                "{:.3} attempts a call on average; the limit is at least {}",
                sent / calls.max(1.0),
                ((sent / calls.max(1.0)).ceil() as u64).saturating_sub(1).max(1)
            )
        } else {
            "no retries were counted".to_owned()
        };
        let why = format!("counters do not tell how often one call was retried; {seen}");
        learnt.gaps.push(Gap { path: format!("policies.\"{from} -> {to}\".retry.limit"), why });
        let why = match edge.timeouts {
            n if n > 0.0 => {
                format!("{n:.0} calls were given up, counters do not tell after which time")
            }
            _ => "counters do not tell it".to_owned(),
        };
        learnt.gaps.push(Gap { path: format!("policies.\"{from} -> {to}\".timeout"), why });
        if edge.held_back > 0.0 {
            let why = format!(
                "{:.0} retries were refused by a budget or a circuit breaker",
                edge.held_back
            );
            learnt
                .gaps
                .push(Gap { path: format!("policies.\"{from} -> {to}\".retry.budget"), why });
        }
    }
}

/// Its own time: what an arrival takes less what the calls in it take.
fn time(graph: &Graph<'_>, service: &str) -> Option<Time> {
    let mean = |of: &str| {
        let to_it = graph.edges.iter().filter(|((_, to), _)| *to == of).map(|(_, e)| *e);
        let (time, timed) = to_it.fold((0.0, 0.0), |a, e| (a.0 + e.time_s, a.1 + e.timed));
        (timed > 0.0).then_some((time / timed, timed))
    };
    let (whole, count) = mean(service)?;
    let received = graph.received.get(service).copied().filter(|r| *r > 0.0)?;
    let mut own = whole;
    for ((_, callee), edge) in graph.edges.iter().filter(|((from, _), _)| *from == service) {
        let (each, _) = mean(callee)?;
        own -= each * edge.sent() / received;
    }
    (own > 0.0).then(|| Time {
        dist: "exponential".to_owned(),
        mean_s: Number { value: own, count: count.round() as u64, ci95: [own, own] },
        cv: None,
        stages: None,
        values_s: Vec::new(),
        distance: 0.0,
        remarks: vec![
            "only the mean is known, its shape is a guess; waits are part of it, calls were taken out as if made one after another".to_owned(),
        ],
    })
}

fn amplification(graph: &Graph<'_>, learnt: &mut Learnt) {
    let needed = super::requests::needed(&learnt.requests, learnt.read.requests as f64);
    for (original, name) in &graph.names {
        let to_it = || graph.edges.iter().filter(|((_, to), _)| to == original).map(|(_, e)| *e);
        let attempts = graph.received.get(original).copied().unwrap_or(0.0);
        let needs = needed.get(name).copied().unwrap_or(0.0);
        if attempts <= 0.0 || needs <= 0.0 {
            continue;
        }
        let calls: f64 = to_it().map(Edge::logical).sum();
        let rescued: f64 = to_it().map(|e| e.rescued).sum();
        let retried: f64 = to_it().map(|e| e.rescued + e.exhausted + e.held_back).sum();
        learnt.amplification.push(Amplification {
            service: name.clone(),
            attempts: attempts.round() as u64,
            needed: needs,
            factor: attempts / needs,
            retry_rate: ((attempts - calls) / attempts).max(0.0),
            rescued: (retried > 0.0).then(|| Number {
                value: rescued / retried,
                count: retried.round() as u64,
                ci95: share_interval(rescued.round() as u64, retried.round() as u64),
            }),
        });
    }
}
