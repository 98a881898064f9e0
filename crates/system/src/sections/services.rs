//! `services:`: queues, workers, how they fail, and how they protect themselves.

use damper_control::queue::Order;
use damper_control::{Kind as Of, Pushback};

use super::mechanisms::tables::{
    AUTOSCALE, ELECTION, ERROR_LOG, FAILOVER, HEALTH, LEASE, PAUSES, POOL, START, mechanism,
};
use super::{calls, control, lever, mechanisms, service_time};
use crate::model::{
    Balance, Contention, Mechanisms, OnAbandon, Overloaded, RateLimit, Service, Spec,
};
use crate::node::Entry;
use crate::problem::Draft;
use crate::read::{Fields, Reader, Val};
use crate::schema::{Kind, Names, Section, optional, otherwise, required};

pub(crate) static SERVICE: Section = Section {
    name: "service",
    doc: "One service. `{}` is a service without limits that takes no time.",
    keys: &[
        optional(
            "workers",
            Kind::Either(&[Kind::Count { min: 1, max: 1_000_000 }, Kind::Word(&["unlimited"])]),
            "unlimited",
            "attempts that each instance works on at the same time",
        ),
        optional(
            "instances",
            Kind::Count { min: 1, max: 10_000 },
            "1",
            "how many there are, each with its own queue and workers",
        ),
        optional(
            "balance",
            Kind::Word(&["round-robin", "random", "least-loaded"]),
            "round-robin",
            "how callers choose an instance",
        ),
        optional(
            "service_time",
            service_time::KIND,
            "0s",
            "how long a worker needs for one attempt, without the calls it makes",
        ),
        optional(
            "rate_limit",
            Kind::Either(&[
                Kind::Rate { zero: false },
                Kind::Section(&RATE_LIMIT),
                Kind::Word(&["none"]),
            ]),
            "none",
            "rejects what exceeds it at once, before the queue; one limit for all instances",
        ),
        optional(
            "queue",
            Kind::Either(&[Kind::Count { min: 0, max: 100_000_000 }, Kind::Word(&["unlimited"])]),
            "unlimited",
            "attempts that may wait at each instance; a full queue rejects at once",
        ),
        optional("order", Kind::Control(Of::Order), "fifo", "which waiting attempt is next"),
        optional("drop", Kind::Control(Of::Drop), "none", "which waiting attempts are dropped"),
        optional("admission", Kind::Control(Of::Admission), "none", "whom it lets in"),
        optional(
            "concurrency",
            Kind::Control(Of::Concurrency),
            "none",
            "a limit on what is in flight at each instance, queued attempts included",
        ),
        otherwise(
            "shares",
            Kind::Map(Names::Class, &Kind::Share { zero: true }),
            "classes share alike",
            "shares by class: partitions of `concurrency`, levels of a fair `order`",
        ),
        optional(
            "overloaded",
            Kind::Either(&[Kind::Word(&["never"]), Kind::Section(&OVERLOADED)]),
            "{}",
            "when it tells callers that it is overloaded; budgets that listen then cut back",
        ),
        optional(
            "pushback",
            Kind::Either(&[Kind::Duration { zero: false }, Kind::Word(&["none", "stop"])]),
            "none",
            "what it tells a caller that it turns away: to come back after this, or not at all",
        ),
        optional("lever", lever::PULLS, "[]", "what the operator does during a run"),
        optional(
            "failure",
            Kind::Share { zero: true },
            "0%",
            "attempts that fail after their work",
        ),
        optional(
            "error_cost",
            Kind::Factor { min: 0.0, max: 1e6 },
            "1x",
            "work of a failing attempt, in service times",
        ),
        optional(
            "on_abandon",
            Kind::Word(&["finish", "skip", "cancel"]),
            "finish",
            "an attempt whose caller has gone: is finished all the same, is skipped when a worker takes it up, is cancelled at once",
        ),
        optional(
            "contention",
            Kind::Section(&CONTENTION),
            "{}",
            "how busy workers slow each other down (universal scalability law)",
        ),
        optional(
            "blocking",
            Kind::Flag,
            "false",
            "whether a worker stays occupied while the calls it makes are under way",
        ),
        mechanism!("health", &HEALTH, "checks that take slow instances out of rotation"),
        mechanism!("autoscale", &AUTOSCALE, "instances that come and go with utilisation"),
        mechanism!("pauses", &PAUSES, "stops of an instance to collect garbage"),
        mechanism!("start", &START, "what an instance does before it serves"),
        mechanism!("lease", &LEASE, "what an instance does not serve without"),
        mechanism!("election", &ELECTION, "a leader that is replaced when it is late"),
        mechanism!("failover", &FAILOVER, "where its load goes while it fails"),
        mechanism!("pool", &POOL, "connections that callers keep to its instances"),
        mechanism!("error_log", &ERROR_LOG, "what a failure writes, and where"),
        otherwise(
            "calls_as",
            Kind::Name(Names::Class),
            "the class it works for",
            "the class of the calls that it makes: priority that is not carried over this hop",
        ),
    ],
};

pub(crate) static RATE_LIMIT: Section = Section {
    name: "rate-limit",
    doc: "A token bucket. `93.6/s` alone has a burst of one second.",
    keys: &[
        required("rate", Kind::Rate { zero: false }, "tokens per second"),
        otherwise(
            "burst",
            Kind::Number { min: 1.0, max: 1e9 },
            "one second's worth, at least 1",
            "largest burst in tokens",
        ),
    ],
};

pub(crate) static OVERLOADED: Section = Section {
    name: "overloaded",
    doc: "When a service says OVERLOADED: either is enough.",
    keys: &[
        optional(
            "queue",
            Kind::Share { zero: true },
            "80%",
            "the queue is fuller than this share of its limit",
        ),
        optional(
            "cpu",
            Kind::Share { zero: true },
            "90%",
            "more than this share of the workers was busy during the last second",
        ),
        optional("hold", Kind::Duration { zero: true }, "0s", "how long it goes on saying so"),
    ],
};

pub(crate) static CONTENTION: Section = Section {
    name: "contention",
    doc: "With n busy workers an attempt takes 1 + α (n - 1) + β n (n - 1) times its service time.",
    keys: &[
        optional(
            "alpha",
            Kind::Share { zero: true },
            "0%",
            "contention for each other busy worker",
        ),
        optional(
            "beta",
            Kind::Share { zero: true },
            "0%",
            "coherence cost for each pair of busy workers",
        ),
    ],
};

pub(crate) fn lower(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Vec<Service> {
    let entries = fields.node("services").and_then(|n| n.entries());
    let entries = entries.unwrap_or_default();
    let services: Vec<Service> = entries.iter().map(|entry| service(reader, entry)).collect();
    mechanisms::log_circles(reader, entries, &services);
    services
}

fn service(reader: &mut Reader<'_>, entry: &Entry) -> Service {
    let mut service = Service {
        name: entry.key.text.clone(),
        workers: None,
        instances: 1,
        balance: Balance::RoundRobin,
        service_time: crate::model::Dist::ZERO,
        rate_limit: None,
        queue: None,
        order: Spec::fifo(),
        drop: None,
        admission: None,
        concurrency: None,
        shares: None,
        overloaded: Some(Overloaded::default()),
        pushback: None,
        lever: Vec::new(),
        failure: 0.0,
        error_cost: 1.0,
        on_abandon: OnAbandon::Finish,
        contention: Contention::default(),
        blocking: false,
        mechanisms: Mechanisms::default(),
    };
    let Some(f) = reader.section(&entry.value, &SERVICE, entry.key.span) else {
        return service;
    };
    service.workers = reader.count32(&f, "workers");
    service.instances = reader.count32(&f, "instances").unwrap_or(1);
    service.balance = match reader.word(&f, "balance") {
        Some("random") => Balance::Random,
        Some("least-loaded") => Balance::LeastLoaded,
        _ => Balance::RoundRobin,
    };
    if let Some(node) = f.node("service_time") {
        service.service_time = service_time::lower(reader, node, f.span("service_time"))
            .unwrap_or(service.service_time);
    }
    service.rate_limit = rate_limit(reader, &f);
    service.queue = reader.count32(&f, "queue");
    protect(reader, &f, &mut service);
    service.failure = reader.number(&f, "failure").unwrap_or(0.0);
    service.error_cost = reader.number(&f, "error_cost").unwrap_or(1.0);
    service.on_abandon = match reader.word(&f, "on_abandon") {
        Some("skip") => OnAbandon::Skip,
        Some("cancel") => OnAbandon::Cancel,
        _ => OnAbandon::Finish,
    };
    if let Some(entry) = f.entry("contention")
        && let Some(c) = reader.section(&entry.value, &CONTENTION, entry.key.span)
    {
        service.contention = Contention {
            alpha: reader.number(&c, "alpha").unwrap_or(0.0),
            beta: reader.number(&c, "beta").unwrap_or(0.0),
        };
    }
    service.blocking = reader.flag(&f, "blocking").unwrap_or(false);
    service.mechanisms = mechanisms::lower(reader, &f, service.instances);
    without_workers(reader, &service, &f);
    queue_and_order(reader, &service, &f);
    service
}

/// Orders that need a limit of the queue, or are spoilt by one, and shares of nothing.
fn queue_and_order(reader: &mut Reader<'_>, service: &Service, f: &Fields<'_>) {
    if service.workers.is_none() {
        return;
    }
    match (&service.order.initial, service.queue) {
        (Order::AdaptiveLifo(order), None) if !order.has_own_threshold() => reader.warn(
            Draft::new(f.span("order"), "this order stays first in, first out")
                .found("a queue without limit, of which no share is ever reached")
                .expected("a `queue:` limit, or `fifo_up_to`"),
        ),
        (Order::Apf(_), Some(queue)) => reader.warn(
            Draft::new(f.span("queue"), "one flow can fill this queue for all the others")
                .found(format!("a limit of {queue} over all queues of a fair order"))
                .expected("no `queue:`, since each queue of the order has a length"),
        ),
        _ => {}
    }
    if service.shares.is_some()
        && service.concurrency.is_none()
        && !matches!(service.order.initial, Order::Apf(_))
    {
        reader.warn(
            Draft::new(f.span("shares"), "these shares do nothing: nothing is shared by class")
                .found("`shares`")
                .expected("a `concurrency` limit or `order: fair` beside them"),
        );
    }
}

/// Its controls.
fn protect(reader: &mut Reader<'_>, f: &Fields<'_>, service: &mut Service) {
    service.shares = shares(reader, f);
    let workers = service.workers.map(|w| ("seats", f64::from(w)));
    // Shares are those of levels, of which each class then has one.
    let levels = service.shares.as_ref().map(|shares| ("levels", shares.len() as f64));
    let elsewhere: Vec<_> = workers.into_iter().chain(levels).collect();
    let elsewhere = elsewhere.as_slice();
    if let Some(order) = control::one(reader, f.entry("order"), Of::Order, elsewhere) {
        service.order = order;
    }
    service.drop = control::one(reader, f.entry("drop"), Of::Drop, elsewhere);
    service.admission = control::one(reader, f.entry("admission"), Of::Admission, elsewhere);
    service.concurrency = control::one(reader, f.entry("concurrency"), Of::Concurrency, elsewhere);
    levels_of_shares(reader, f, service);
    if let Some(entry) = f.entry("overloaded") {
        service.overloaded = if entry.value.is_map() {
            overloaded(reader, entry)
        } else {
            reader.value(f, "overloaded").and(None)
        };
    }
    service.pushback = match reader.value(f, "pushback") {
        Some(Val::Duration(after)) => Some(Pushback::After(after)),
        Some(Val::Word("stop")) => Some(Pushback::Stop),
        _ => None,
    };
    service.lever = lever::lower(reader, f);
}

fn overloaded(reader: &mut Reader<'_>, entry: &Entry) -> Option<Overloaded> {
    let f = reader.section(&entry.value, &OVERLOADED, entry.key.span)?;
    let default = Overloaded::default();
    Some(Overloaded {
        queue: reader.number(&f, "queue").unwrap_or(default.queue),
        cpu: reader.number(&f, "cpu").unwrap_or(default.cpu),
        hold: reader.duration(&f, "hold").unwrap_or(default.hold),
    })
}

fn shares(reader: &mut Reader<'_>, f: &Fields<'_>) -> Option<Vec<f64>> {
    let entry = f.entry("shares")?;
    let Some(entries) = entry.value.entries().filter(|_| entry.value.is_map()) else {
        reader.error(
            Draft::new(entry.value.span, "this must be a mapping")
                .found(entry.value.found())
                .expected("shares by class such as `{high: 70%, low: 30%}`"),
        );
        return None;
    };
    let mut shares = vec![0.0; reader.names.classes.len()];
    for e in entries {
        let class = calls::class(reader, e);
        let share = reader.scalar(&e.value, &Kind::Share { zero: true });
        match (class, share) {
            (Some(class), Some(Val::Number(share))) => shares[class] = share,
            _ => return None,
        }
    }
    let sum: f64 = shares.iter().sum();
    if !(sum > 0.0 && sum <= 1.0 + 1e-9) {
        reader.error(
            Draft::new(
                entry.value.span,
                "the shares must be at most 100% together, and not nothing",
            )
            .found(format!("{}%", (sum * 1e5).round() / 1e3))
            .expected("shares by class such as `{high: 70%, low: 30%}`"),
        );
        return None;
    }
    Some(shares)
}

/// A fair order shares its seats out among levels, and has to have one for each class then.
fn levels_of_shares(reader: &mut Reader<'_>, f: &Fields<'_>, service: &Service) {
    let (Order::Apf(order), Some(shares)) = (&service.order.initial, &service.shares) else {
        return;
    };
    if order.with_shares(shares).is_none() {
        let levels = f.node("order").and_then(|order| order.child("levels"));
        reader.error(
            Draft::new(
                levels.map_or(f.span("order"), |e| e.value.span),
                "`shares` needs a level for each class",
            )
            .expected(format!("`levels: {}`, which may be left out", shares.len())),
        );
    }
}

fn rate_limit(reader: &mut Reader<'_>, f: &Fields<'_>) -> Option<RateLimit> {
    let entry = f.entry("rate_limit")?;
    let (rate, burst) = if entry.value.is_map() {
        let limit = reader.section(&entry.value, &RATE_LIMIT, entry.key.span)?;
        (reader.number(&limit, "rate")?, reader.number(&limit, "burst"))
    } else {
        match reader.value(f, "rate_limit")? {
            Val::Number(rate) => (rate, None),
            _ => return None,
        }
    };
    Some(RateLimit { rate, burst: burst.unwrap_or_else(|| rate.max(1.0)) })
}

/// What only works with a bound on workers.
fn without_workers(reader: &mut Reader<'_>, service: &Service, f: &Fields<'_>) {
    if service.workers.is_some() {
        return;
    }
    let effects = [
        ("queue", service.queue.is_some()),
        ("order", service.order != Spec::fifo()),
        ("drop", service.drop.is_some()),
        ("overloaded", service.overloaded.is_some()),
        ("contention", service.contention != Contention::default()),
        ("blocking", service.blocking),
    ];
    for (key, set) in effects {
        if set && let Some(entry) = f.entry(key) {
            reader.warn(
                Draft::new(
                    entry.key.span,
                    format!("`{key}` does nothing: `{}` has workers without limit", service.name),
                )
                .expected("`workers:` beside it"),
            );
        }
    }
}
