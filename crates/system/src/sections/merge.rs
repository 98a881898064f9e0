//! Puts policies together: for every call of the work, field by field, the most specific wins.

use std::collections::{HashMap, HashSet};

use damper_control::{Backoff, Growth, Jitter, Nanos};

use super::control::{self, ControlPart};
use super::policies::{Partial, Partials, Placed};
use super::retry_parts::BackoffPart;
use crate::model::{
    Cache, CacheMode, Caller, Edge, Policies, Policy, Service, ServiceId, Step, Target, Work,
};
use crate::problem::Draft;
use crate::read::Reader;
use crate::schema::words;
use crate::source::Span;

/// Where the fields of an edge's policy come from.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Origin {
    pub(crate) timeout: Option<Span>,
    pub(crate) deadline: Option<Span>,
    pub(crate) limit: Option<Span>,
    pub(crate) backoff: Option<Span>,
    pub(crate) budget: Option<Span>,
}

/// The policies of all calls in the work, as first met.
pub(crate) fn edges(
    reader: &mut Reader<'_>,
    work: &Work,
    services: &[Service],
    caches: &[Cache],
    partials: &Partials,
) -> Vec<(Edge, Origin)> {
    let mut met = Met { caches, seen: HashSet::new(), order: Vec::new() };
    match work {
        Work::Requests(types) => {
            for kind in types {
                met.steps(Caller::Client, &kind.steps);
            }
        }
        Work::Routes(routes) => {
            for (entry, rows) in routes.entry.iter().zip(&routes.rows) {
                for (to, _) in entry {
                    met.edge(Caller::Client, Target::Service(*to));
                }
                for (from, row) in rows.iter().enumerate() {
                    let caller = Caller::Service(crate::model::ServiceId(from as u32));
                    for (to, _) in row {
                        met.edge(caller, Target::Service(*to));
                    }
                }
            }
        }
    }
    met.mechanisms(services);
    let callees: HashMap<Target, &Partial> =
        partials.callees.iter().map(|(t, p)| (*t, p)).collect();
    let special: HashMap<(Caller, Target), &Partial> =
        partials.edges.iter().map(|(e, p)| (*e, p)).collect();
    let mut used = HashSet::new();
    let mut out = Vec::new();
    for (caller, target) in met.order {
        let store = store(target, caches);
        let chain = [
            partials.default.as_ref(),
            store.and_then(|s| callees.get(&s).copied()),
            callees.get(&target).copied(),
            store.and_then(|s| special.get(&(caller, s)).copied()),
            special.get(&(caller, target)).copied(),
        ];
        let chain: Vec<&Partial> = chain.into_iter().flatten().collect();
        used.extend(chain.iter().map(|p| p.at));
        let (policy, origin) = resolve(reader, &chain);
        let edge = Edge { caller, target, policy };
        out.push((edge, origin));
    }
    let rest = partials.callees.iter().map(|(_, p)| p);
    let rest = rest.chain(partials.edges.iter().map(|(_, p)| p));
    for partial in rest.filter(|p| !used.contains(&p.at)) {
        reader
            .warn(Draft::new(partial.at, "this policy applies to no call").expected(
                "a callee or a `caller -> callee` that occurs in the requests or routes",
            ));
        let chain: Vec<&Partial> = partials.default.iter().chain([partial]).collect();
        resolve(reader, &chain);
    }
    out
}

pub(crate) fn split(edges: Vec<(Edge, Origin)>) -> (Policies, Vec<Origin>) {
    let (edges, origins) = edges.into_iter().unzip();
    (Policies { edges }, origins)
}

/// What a look-aside cache makes its callers call.
fn store(target: Target, caches: &[Cache]) -> Option<Target> {
    let Target::Cache(id) = target else {
        return None;
    };
    let cache = caches.get(id.0 as usize)?;
    (cache.mode == CacheMode::LookAside).then_some(Target::Service(cache.store))
}

/// The calls of the work, each pair once.
struct Met<'c> {
    caches: &'c [Cache],
    seen: HashSet<(Caller, Target)>,
    order: Vec<(Caller, Target)>,
}

impl Met<'_> {
    fn edge(&mut self, caller: Caller, target: Target) {
        if self.seen.insert((caller, target)) {
            self.order.push((caller, target));
        }
    }

    /// Calls that instances make for themselves.
    fn mechanisms(&mut self, services: &[Service]) {
        for (s, service) in services.iter().enumerate() {
            let m = &service.mechanisms;
            let start = m.start.and_then(|s| s.calls).map(|(to, _)| to);
            let lease = m.lease.map(|l| l.from);
            let log = m.error_log.map(|l| l.to);
            for to in [start, lease, log].into_iter().flatten() {
                self.edge(Caller::Service(ServiceId(s as u32)), Target::Service(to));
            }
        }
    }

    fn steps(&mut self, caller: Caller, steps: &[Step]) {
        for call in steps.iter().flatten() {
            self.edge(caller, call.target);
            let server = match call.target {
                Target::Service(s) => s,
                Target::Cache(id) => {
                    let Some(cache) = self.caches.get(id.0 as usize) else {
                        continue;
                    };
                    if cache.mode == CacheMode::ReadThrough {
                        self.edge(Caller::Cache(id), Target::Service(cache.store));
                    }
                    cache.store
                }
            };
            self.steps(Caller::Service(server), &call.steps);
        }
    }
}

/// Merges from the least to the most specific.
fn resolve(reader: &mut Reader<'_>, chain: &[&Partial]) -> (Policy, Origin) {
    let mut policy = Policy::default();
    let mut origin = Origin::default();
    let mut limits: Vec<u32> = vec![0; reader.names.classes.len()];
    let mut backoff: Option<BackoffPart> = None;
    let (mut budget, mut throttle, mut breaker) = (None, None, None);
    for part in chain {
        if let Some(Placed(timeout, at)) = part.timeout {
            policy.timeout = timeout;
            origin.timeout = Some(at);
        }
        if let Some(Placed(deadline, at)) = part.deadline {
            policy.deadline = deadline;
            origin.deadline = Some(at);
        }
        policy.deadline_travels = part.travels.unwrap_or(policy.deadline_travels);
        for (limit, said) in limits.iter_mut().zip(&part.limits) {
            if let Some(Placed(said, at)) = said {
                *limit = *said;
                origin.limit = Some(*at);
            }
        }
        policy.retry.on = part.on.unwrap_or(policy.retry.on);
        if let Some(more) = &part.backoff {
            origin.backoff = Some(more.at);
            backoff = Some(more.over(backoff));
        }
        let controls = [
            (&mut budget, &part.budget),
            (&mut throttle, &part.throttle),
            (&mut breaker, &part.breaker),
        ];
        for (less, more) in controls {
            if let Some(more) = more {
                let merged: ControlPart = control::merge(less.take(), more);
                *less = Some(merged);
            }
        }
        policy.idempotent = part.idempotent.unwrap_or(policy.idempotent);
        policy.needs = part.needs.unwrap_or(policy.needs);
        policy.heeds_pushback = part.heeds_pushback.unwrap_or(policy.heeds_pushback);
    }
    policy.retry.limits = if limits.windows(2).all(|w| w[0] == w[1]) {
        damper_control::RetryLimits::uniform(limits.first().copied().unwrap_or(0))
    } else {
        limits.into()
    };
    if let Some(built) = backoff.and_then(|part| build_backoff(reader, &part)) {
        policy.retry.backoff = built;
    }
    origin.budget = budget.as_ref().map(|part| part.at);
    if let Some(Some(built)) = budget.and_then(|part| control::build(reader, &part, &[])) {
        policy.budget = built;
    }
    policy.throttle = throttle.and_then(|part| control::build(reader, &part, &[])).flatten();
    policy.breaker = breaker.and_then(|part| control::build(reader, &part, &[])).flatten();
    (policy, origin)
}

fn build_backoff(reader: &mut Reader<'_>, part: &BackoffPart) -> Option<Backoff> {
    if let Some(published) = &part.published {
        if let Some(Placed(_, at)) = part.jitter {
            let message = "`jitter` does not apply to a published schedule, which has its own";
            reader.error(Draft::new(at, message).expected("no `jitter`"));
            return None;
        }
        return control::build(reader, published, &[])?.map(|spec| spec.initial);
    }
    let Some(kind) = part.kind else {
        reader.error(
            Draft::new(part.at, "this backoff has no kind, and no less specific policy has one")
                .found("no `kind`")
                .expected("`kind:` `constant`, `linear` or `exponential`"),
        );
        return None;
    };
    let fields = [
        ("base", part.base.map(|p| p.1)),
        ("factor", part.factor.map(|p| p.1)),
        ("max", part.max.map(|p| p.1)),
        ("jitter", part.jitter.map(|p| p.1)),
    ];
    for (name, at) in fields {
        if let Some(at) = at
            && !kind.needs.contains(&name)
            && !kind.may.contains(&name)
        {
            let keys: Vec<&str> = kind.needs.iter().chain(kind.may).copied().collect();
            let message = format!("`{name}` does not apply to `{}`", kind.name);
            let expected =
                if keys.is_empty() { "no other key".to_owned() } else { words::list(&keys) };
            reader.error(Draft::new(at, message).expected(expected));
            return None;
        }
    }
    if kind.name == "none" {
        return Some(Backoff::NONE);
    }
    let Some(Placed(base, base_at)) = part.base else {
        reader.error(
            Draft::new(part.at, format!("`{}` needs `base`", kind.name))
                .found("no `base`")
                .expected("`base:` a duration above zero such as `5ms` or `2s`"),
        );
        return None;
    };
    let cap = part.max.map_or(Nanos::MAX, |p| p.0);
    if let Some(Placed(max, at)) = part.max.filter(|p| p.0 < base) {
        reader.error(
            Draft::new(at, "`max` is less than `base`")
                .found(format!("{max}"))
                .expected(format!("at least {base}"))
                .also(base_at, "base"),
        );
        return None;
    }
    Some(Backoff {
        growth: match kind.name {
            "constant" => Growth::Constant,
            "linear" => Growth::Linear,
            _ => Growth::Exponential(part.factor.map_or(2.0, |p| p.0)),
        },
        base,
        cap,
        jitter: part.jitter.map_or(Jitter::None, |p| p.0),
    })
}
