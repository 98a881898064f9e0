//! What a file may say but probably does not mean.

use std::collections::HashSet;

use damper_control::{Backoff, Jitter, Nanos, Outcome, RetryBudget as _};

use super::merge::Origin;
use super::root::Places;
use crate::model::{
    CacheId, Call, ClassId, Edge, OnAbandon, Overloaded, ServiceId, Step, System, Target, Work,
};
use crate::problem::Draft;
use crate::read::Reader;

pub(crate) fn check(reader: &mut Reader<'_>, system: &System, places: &Places, origins: &[Origin]) {
    unused(reader, system, places);
    for (edge, origin) in system.policies.edges.iter().zip(origins) {
        retries_without_timeout(reader, system, edge, origin);
        short_backoff(reader, system, edge, origin);
        deadline_before_timeout(reader, edge, origin);
        queue_outlasts_caller(reader, system, places, edge);
    }
    overload(reader, system, places);
    idle_budgets(reader, system, origins);
    unheard(reader, system, places);
}

/// Budgets none of whose calls is ever retried.
fn idle_budgets(reader: &mut Reader<'_>, system: &System, origins: &[Origin]) {
    let edges = &system.policies.edges;
    let spends = |at| {
        let mut of_it = edges.iter().zip(origins).filter(|(_, o)| o.budget == Some(at));
        of_it.any(|(e, _)| e.policy.retry.is_active())
    };
    let mut seen = HashSet::new();
    for (edge, origin) in edges.iter().zip(origins) {
        let Some(at) = origin.budget.filter(|_| edge.policy.budget.kind != "none") else {
            continue;
        };
        if seen.insert((at.source, at.start)) && !spends(at) {
            reader.warn(
                Draft::new(at, "this budget does nothing: no call that it is for is retried")
                    .found(format!("`{}`", edge.policy.budget.kind))
                    .expected("a `limit` of at least 1 beside it"),
            );
        }
    }
}

/// Services that are told when to say OVERLOADED, to nobody.
fn unheard(reader: &mut Reader<'_>, system: &System, places: &Places) {
    if system.policies.edges.iter().any(|e| e.policy.budget.initial.listens()) {
        return;
    }
    for (service, at) in system.services.iter().zip(&places.services) {
        let said = service.overloaded.is_some_and(|o| o != Overloaded::default());
        if said && service.workers.is_some() {
            let message =
                format!("nobody listens when `{}` says that it is overloaded", service.name);
            reader.warn(
                Draft::new(*at, message)
                    .found("`overloaded`, and no budget that listens")
                    .expected("`budget: arb` or another that listens"),
            );
        }
    }
}

fn unused(reader: &mut Reader<'_>, system: &System, places: &Places) {
    let targets: HashSet<Target> = system.policies.edges.iter().map(|e| e.target).collect();
    let servers: HashSet<ServiceId> = targets.iter().map(|t| system.server_of(*t)).collect();
    for (i, service) in system.services.iter().enumerate() {
        if !servers.contains(&ServiceId(i as u32)) {
            let message = format!("nothing calls the service `{}`", service.name);
            reader.warn(Draft::new(places.services[i], message).expected("a call to it"));
        }
    }
    for (i, cache) in system.caches.iter().enumerate() {
        if !targets.contains(&Target::Cache(CacheId(i as u32))) {
            let message = format!("nothing calls the cache `{}`", cache.name);
            reader.warn(
                Draft::new(places.caches[i], message)
                    .expected("a call to it in place of its store"),
            );
        }
    }
}

fn retries_without_timeout(reader: &mut Reader<'_>, system: &System, edge: &Edge, o: &Origin) {
    let policy = &edge.policy;
    let bounded = policy.timeout.is_some() || policy.deadline.is_some();
    let server = &system.services[system.server_of(edge.target).0 as usize];
    let waits = policy.retry.on.contains(Outcome::TimedOut) && server.workers.is_some();
    if bounded || !policy.retry.is_active() || !waits {
        return;
    }
    if let Some(at) = o.limit {
        let (from, to) = ends(system, edge);
        reader.warn(
            Draft::new(
                at,
                format!("`{from}` retries its calls to `{to}` but never gives an attempt up"),
            )
            .expected("a `timeout` beside the retries"),
        );
    }
}

/// Class limits give priority only if a retry finds a service that has moved on since.
fn short_backoff(reader: &mut Reader<'_>, system: &System, edge: &Edge, o: &Origin) {
    let retry = &edge.policy.retry;
    let server = &system.services[system.server_of(edge.target).0 as usize];
    let (Some(capacity), true) = (server.capacity(), retry.limits.differ()) else {
        return;
    };
    if !retry.is_active() {
        return;
    }
    let retries = retry.limits.max().min(64);
    let mean =
        (1..=retries).map(|n| mean_delay(&retry.backoff, n)).sum::<f64>() / f64::from(retries);
    let service = 1.0 / capacity;
    if mean >= 2.0 * service {
        return;
    }
    if let Some(at) = o.backoff.or(o.limit) {
        let (from, to) = ends(system, edge);
        let delay = Nanos::from_secs_f64(mean);
        let message = format!(
            "`{from}` gives classes different limits at `{to}`, but waits too briefly for them to matter"
        );
        reader.warn(
            Draft::new(at, message)
                .found(format!("{delay} between attempts on average"))
                .expected(format!(
                    "delays that are long against 1/capacity, which is {}: a retry at once finds the same full service",
                    Nanos::from_secs_f64(service)
                )),
        );
    }
}

/// Mean delay before retry `n` in seconds, roughly.
fn mean_delay(backoff: &Backoff, n: u32) -> f64 {
    match backoff.jitter {
        Jitter::Equal => backoff.nominal(n).as_secs_f64() * 0.75,
        Jitter::Full => backoff.nominal(n).as_secs_f64() * 0.5,
        Jitter::Decorrelated => backoff.longest(n).as_secs_f64() * 0.5,
        _ => backoff.nominal(n).as_secs_f64(),
    }
}

fn deadline_before_timeout(reader: &mut Reader<'_>, edge: &Edge, o: &Origin) {
    let policy = &edge.policy;
    if let (Some(timeout), Some(deadline), Some(at)) = (policy.timeout, policy.deadline, o.deadline)
        && deadline <= timeout
        && policy.retry.is_active()
    {
        reader.warn(
            Draft::new(at, "the deadline leaves no time for a retry after a timeout")
                .found(deadline.to_string())
                .expected(format!("more than the timeout, which is {timeout}")),
        );
    }
}

fn queue_outlasts_caller(reader: &mut Reader<'_>, system: &System, places: &Places, edge: &Edge) {
    let id = system.server_of(edge.target).0 as usize;
    let service = &system.services[id];
    let mean = service.service_time.mean().as_secs_f64();
    let (Some(workers), Some(timeout)) = (service.workers, edge.policy.timeout) else {
        return;
    };
    if service.on_abandon != OnAbandon::Finish || edge.policy.deadline_travels || mean <= 0.0 {
        return;
    }
    let room = timeout.as_secs_f64() * f64::from(workers) / mean;
    let kept_short = service.concurrency.is_some()
        || service.admission.as_ref().is_some_and(|a| a.kind != "everybody")
        || service.drop.as_ref().is_some_and(|d| d.kind != "keep")
        || !matches!(service.order.kind, "fifo" | "priority");
    if kept_short || service.queue.is_some_and(|q| f64::from(q) <= room) {
        return;
    }
    let (from, _) = ends(system, edge);
    let queue = service
        .queue
        .map_or_else(|| "an unlimited queue".to_owned(), |q| format!("a queue of {q}"));
    let message = format!("`{}` can make its callers wait for longer than they do", service.name);
    reader.warn(
        Draft::new(places.services[id], message)
            .found(format!("{queue}; `{from}` gives up after {timeout}"))
            .expected(format!("`queue:` at most {}, or a deadline that travels", room.floor())),
    );
}

fn ends<'s>(system: &'s System, edge: &Edge) -> (&'s str, &'s str) {
    (system.caller_name(edge.caller), system.target_name(edge.target))
}

/// Services that get more first attempts than they can serve: one warning for all.
fn overload(reader: &mut Reader<'_>, system: &System, places: &Places) {
    let arriving = arrival_rates(system);
    let mut over = system.services.iter().zip(arriving).zip(&places.services).filter_map(
        |((service, rate), at)| {
            let capacity = service.most_capacity()?;
            (rate > capacity * (1.0 + 1e-9)).then_some((service, rate, capacity, *at))
        },
    );
    let Some((service, rate, capacity, at)) = over.next() else {
        return;
    };
    let message = format!("`{}` gets more load than it can serve, without any retry", service.name);
    let mut draft = Draft::new(at, message)
        .found(format!("{rate:.1}/s"))
        .expected(format!("at most {capacity:.1}/s, its capacity"));
    for (_, rate, capacity, at) in over {
        draft = draft.also(at, format!("too: {rate:.1}/s of {capacity:.1}/s"));
    }
    reader.warn(draft);
}

/// First attempts per second at each service, if nothing fails.
fn arrival_rates(system: &System) -> Vec<f64> {
    let mut rates = vec![0.0; system.services.len()];
    for (class, load) in system.load.iter().enumerate() {
        let load = load.mean();
        match &system.work {
            Work::Requests(types) => {
                for kind in types {
                    let rate = load * kind.share.get(class).copied().unwrap_or(0.0);
                    tree(system, &kind.steps, rate, &mut rates);
                }
            }
            Work::Routes(_) => matrix(system, class as ClassId, load, &mut rates),
        }
    }
    rates
}

fn tree(system: &System, steps: &[Step], rate: f64, rates: &mut [f64]) {
    for Call { target, times, chance, steps } in steps.iter().flatten() {
        let mut rate = rate * f64::from(*times) * chance;
        if let Target::Cache(c) = target {
            rate *= 1.0 - system.caches[c.0 as usize].hit_rate;
        }
        rates[system.server_of(*target).0 as usize] += rate;
        tree(system, steps, rate, rates);
    }
}

/// Follows the flow through the matrix until what is left does not matter.
fn matrix(system: &System, class: ClassId, load: f64, rates: &mut [f64]) {
    let Work::Routes(routes) = &system.work else {
        return;
    };
    let class = usize::from(class);
    let mut flow = vec![0.0; rates.len()];
    for (to, share) in &routes.entry[class] {
        flow[to.0 as usize] += load * share;
    }
    for _ in 0..1_000 {
        let mut next = vec![0.0; flow.len()];
        for (from, rate) in flow.iter().enumerate() {
            rates[from] += rate;
            for (to, share) in &routes.rows[class][from] {
                next[to.0 as usize] += rate * share;
            }
        }
        if next.iter().sum::<f64>() <= 1e-9 * load {
            break;
        }
        flow = next;
    }
}
