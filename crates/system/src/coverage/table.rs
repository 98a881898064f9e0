//! What each command leaves out, and what follows from it.
//!
//! A part that is taken whole by everybody has no row; `tests.rs` has the list of those, with the
//! reason, so that a new key of the file cannot be forgotten. That rows say the truth of the model
//! is tested in damper-model (`tests/coverage.rs`).

use super::Part;
use super::Takes::{Less, Not, Tells, Whole};
use crate::model::{ActionKind, Arrivals, Load, OnAbandon, Policy, Service, System};

fn services(system: &System, has: impl Fn(&Service) -> bool) -> Vec<String> {
    system.services.iter().filter(|s| has(s)).map(|s| s.name.clone()).collect()
}

fn calls(system: &System, has: impl Fn(&Policy) -> bool) -> Vec<String> {
    let edges = system.policies.edges.iter().filter(|e| has(&e.policy));
    edges
        .map(|e| format!("{} -> {}", system.caller_name(e.caller), system.target_name(e.target)))
        .collect()
}

fn triggers(system: &System, is: impl Fn(&ActionKind) -> bool) -> Vec<String> {
    let with = system.triggers.iter().filter(|t| t.actions.iter().any(|a| is(&a.kind)));
    with.map(|t| t.name.clone()).collect()
}

/// What is of nobody in particular.
fn once(is: bool) -> Vec<String> {
    if is { vec![String::new()] } else { Vec::new() }
}

/// The row of a mechanism: a service has it, or not.
macro_rules! mechanism {
    ($name:ident, $key:literal, $what:literal, $model:expr, $basins:expr, $emulate:expr, $export:expr) => {
        Part {
            key: concat!("services.*.", $key),
            what: $what,
            find: |system| services(system, |s| s.mechanisms.$name.is_some()),
            model: $model,
            basins: $basins,
            emulate: $emulate,
            export: $export,
        }
    };
}

/// What `export` says of what is no configuration of calls.
const NUMBERS: super::Takes =
    Not("it is no policy; the numbers beside losses are those of `solve`, without it");

/// Every part that some command does not take as the simulator does.
pub static PARTS: &[Part] = &[
    Part {
        key: "caches",
        what: "the cache",
        find: |system| system.caches.iter().map(|c| c.name.clone()).collect(),
        model: Less(
            "the solution is that of a warm cache, which answers its `hit_rate`; hidden capacity and the worst amplification are those of a cold one; how it fills is left out",
        ),
        basins: Tells,
        emulate: Less(
            "it is a share of calls that are not made, its `hit_rate`, is never cold, and whoever misses asks the store for itself",
        ),
        export: Not(
            "a cache is no configuration of calls: only the policies of calls through it are written",
        ),
    },
    Part {
        key: "load",
        what: "the course of the load over time",
        find: |system| once(system.load.iter().any(|load| !matches!(load, Load::Constant(_)))),
        model: Less(
            "the load is its mean; at a peak more is rejected, and hidden capacity is nearer",
        ),
        basins: Less("the load is its mean; it collapses sooner at a peak"),
        emulate: Whole,
        export: Whole,
    },
    Part {
        key: "arrivals",
        what: "arrivals that are not Poisson",
        find: |system| once(system.arrivals != Arrivals::Poisson),
        model: Not(
            "queues are those of Poisson arrivals: bursts fill them sooner, even arrivals later",
        ),
        basins: Not(
            "the chain's arrivals are Poisson: with bursts it collapses sooner, with even arrivals later",
        ),
        emulate: Less("with `--load`, bursts are sent as Poisson arrivals of the same mean"),
        export: Whole,
    },
    Part {
        key: "services.*.instances",
        what: "the single queues at the instances of",
        find: |system| services(system, |s| s.instances > 1 && s.queue.is_some()),
        model: Less(
            "they are taken for one queue before all workers; with one at each instance a little more is rejected",
        ),
        basins: Less("they are taken for one queue before all workers"),
        emulate: Whole,
        export: Whole,
    },
    Part {
        key: "services.*.order",
        what: "the order of the queue of",
        find: |system| services(system, |s| s.order.kind != "fifo"),
        model: Not(
            "rejections are the same in any order; hidden capacity is that of first come, first served",
        ),
        basins: Not("it is taken to serve first come, first served"),
        emulate: Not("attempts wait first in, first out"),
        export: Not("no format has one: the service itself must"),
    },
    Part {
        key: "services.*.drop",
        what: "the drop rule of",
        find: |system| services(system, |s| s.drop.as_ref().is_some_and(|d| d.kind != "keep")),
        model: Not("nothing leaves the queue undone: hidden capacity may come out too low"),
        basins: Not(
            "nothing leaves the queue undone: collapses may come out too frequent and too long",
        ),
        emulate: Not("nothing is dropped from the queue"),
        export: Not("no format has one: the service itself must"),
    },
    Part {
        key: "services.*.admission",
        what: "the admission rule of",
        find: |system| {
            services(system, |s| s.admission.as_ref().is_some_and(|a| a.kind != "everybody"))
        },
        model: Not(
            "everybody is let in: what it sheds is not among the rejections, and hidden capacity may come out too low",
        ),
        basins: Not("everybody is let in: collapses may come out too frequent and too long"),
        emulate: Not("everybody is let in"),
        export: Tells,
    },
    Part {
        key: "services.*.concurrency",
        what: "the concurrency limit of",
        find: |system| services(system, |s| s.concurrency.is_some()),
        model: Not(
            "only `queue` bounds what waits: rejections and hidden capacity are those without the limit",
        ),
        basins: Not(
            "only `queue` bounds what waits: collapses may come out too frequent and too long",
        ),
        emulate: Not("only `queue` bounds what waits"),
        export: Tells,
    },
    Part {
        key: "services.*.pushback",
        what: "the pushback of",
        find: |system| services(system, |s| s.pushback.is_some()),
        model: Not(
            "callers retry as their policies say, whatever they are told: amplification may come out too high",
        ),
        basins: Not("callers retry as their policies say, whatever they are told"),
        emulate: Not("callers are told nothing"),
        export: Tells,
    },
    Part {
        key: "services.*.lever",
        what: "what the operator does at",
        find: |system| services(system, |s| !s.lever.is_empty()),
        model: Not("nobody pulls the lever"),
        basins: Not("nobody pulls the lever"),
        emulate: Not("nobody pulls the lever"),
        export: Not("it is no configuration: `damper lever` pulls it"),
    },
    Part {
        key: "services.*.failure",
        what: "the failures of",
        find: |system| services(system, |s| s.failure > 0.0),
        model: Whole,
        basins: Not("no attempt fails by itself: the load that retries of failures add is missing"),
        emulate: Whole,
        export: Whole,
    },
    Part {
        key: "services.*.error_cost",
        what: "what a failure costs at",
        find: |system| services(system, |s| s.error_cost != 1.0),
        model: Not(
            "a failure takes as much work as a success: where much fails, capacity is another",
        ),
        basins: Not("no attempt fails by itself"),
        emulate: Whole,
        export: Whole,
    },
    Part {
        key: "services.*.on_abandon",
        what: "the skipping of abandoned work at",
        find: |system| services(system, |s| s.on_abandon != OnAbandon::Finish),
        model: Not("abandoned work is done all the same: hidden capacity may come out too low"),
        basins: Not(
            "abandoned work is done all the same: collapses may come out too frequent and too long",
        ),
        emulate: Whole,
        export: Whole,
    },
    Part {
        key: "services.*.contention",
        what: "the contention at",
        find: |system| services(system, |s| s.contention.alpha > 0.0 || s.contention.beta > 0.0),
        model: Not("workers do not slow each other down: all capacities come out too high"),
        basins: Not("workers do not slow each other down: capacity comes out too high"),
        emulate: Whole,
        export: Whole,
    },
    Part {
        key: "services.*.blocking",
        what: "workers that wait for the calls they make at",
        find: |system| {
            let calls = |s: &Service| {
                let caller = |c| system.caller_name(c) == s.name;
                system.policies.edges.iter().any(|e| caller(e.caller))
            };
            services(system, |s| s.blocking && s.workers.is_some() && calls(s))
        },
        model: Not("a worker is free again after its own work: capacity comes out too high"),
        basins: Not("a worker is free again after its own work: capacity comes out too high"),
        emulate: Whole,
        export: Whole,
    },
    mechanism!(
        health,
        "health",
        "the health checks of",
        Not(
            "all instances are in rotation: what is left never gets the load of what was taken out"
        ),
        Not(
            "all instances are in rotation: what is left never gets the load of what was taken out"
        ),
        Not("no instance is taken out of rotation"),
        Not("health checks and panic thresholds stay those of the mesh or the balancer")
    ),
    mechanism!(
        autoscale,
        "autoscale",
        "the autoscaler of",
        Not("capacities are those of the instances that it begins with"),
        Not("capacity is that of the instances that it begins with"),
        Not("it stays with the instances that it begins with"),
        NUMBERS
    ),
    mechanism!(
        pauses,
        "pauses",
        "the pauses of",
        Not("workers never pause: all capacities come out too high"),
        Not("workers never pause: capacity comes out too high"),
        Not("workers never pause"),
        NUMBERS
    ),
    mechanism!(
        start,
        "start",
        "the start of instances of",
        Not("instances are there and warm, and what a start asks of others is no load on them"),
        Not("instances are there and warm, and what a start asks of others is no load on them"),
        Not("instances are there and warm, and what a start asks of others is no load on them"),
        NUMBERS
    ),
    mechanism!(
        lease,
        "lease",
        "the leases of",
        Not("no lease runs out, and renewals are no load on whom they ask"),
        Not("no lease runs out, and renewals are no load on whom they ask"),
        Not("no lease runs out, and renewals are no load on whom they ask"),
        NUMBERS
    ),
    mechanism!(
        election,
        "election",
        "the elections of",
        Not("there is always a leader"),
        Not("there is always a leader"),
        Not("there is always a leader"),
        NUMBERS
    ),
    mechanism!(
        failover,
        "failover",
        "the failover of",
        Not("while it fails nothing is sent elsewhere: the load of the other is its own alone"),
        Not("while it fails nothing is sent elsewhere"),
        Not("while it fails nothing is sent elsewhere"),
        Not("it is not written: where load goes stays with the mesh or the balancer")
    ),
    mechanism!(
        pool,
        "pool",
        "the connection pools to",
        Not("load is spread evenly over the instances"),
        Not("load is spread evenly over the instances"),
        Not("callers choose an instance by `balance`"),
        Not("it is not written: pools stay those of the clients and the mesh")
    ),
    mechanism!(
        error_log,
        "error_log",
        "the error log of",
        Not("failures write nothing, and are no load on whom they write to"),
        Not("failures write nothing"),
        Not("failures write nothing, and are no load on whom they write to"),
        NUMBERS
    ),
    mechanism!(
        calls_as,
        "calls_as",
        "the class of the calls made by",
        Not(
            "calls keep the class of what they are made for: rejection by class is that of priority which is carried over"
        ),
        Not("classes are not told apart"),
        Not("calls keep the class of what they are made for"),
        Not("calls keep the class of what they are made for; the numbers beside losses, too")
    ),
    Part {
        key: "policies.*.deadline",
        what: "the deadline of",
        find: |system| calls(system, |p| p.deadline.is_some()),
        model: Not(
            "retries that would come after it are counted all the same: amplification may come out too high, hidden capacity too low",
        ),
        basins: Not("retries that would come after it are counted all the same"),
        emulate: Whole,
        export: Tells,
    },
    Part {
        key: "policies.*.deadline.travels",
        what: "deadlines that travel with",
        find: |system| calls(system, |p| p.deadline_travels),
        model: Less("its caller wastes no work at all: hidden capacity may come out too high"),
        basins: Less("its caller wastes no work at all"),
        emulate: Tells,
        export: Tells,
    },
    Part {
        key: "policies.*.retry.budget",
        what: "the retry budget of",
        find: |system| calls(system, |p| p.budget.kind != "none" && p.retry.limits.max() > 0),
        model: Less(
            "it bounds hidden capacity and the worst amplification; the solution retries without it, so that its rejections under overload may come out too low and its amplification too high",
        ),
        basins: Less(
            "it bounds the retries of a collapse, where everything fails; on the way there it is not felt",
        ),
        emulate: Tells,
        export: Tells,
    },
    Part {
        key: "policies.*.throttle",
        what: "the client-side throttle of",
        find: |system| {
            calls(system, |p| p.throttle.as_ref().is_some_and(|t| t.kind != "no-throttle"))
        },
        model: Not(
            "callers send all of their attempts: the load on the callee may come out too high, hidden capacity too low",
        ),
        basins: Not("callers send all of their attempts"),
        emulate: Tells,
        export: Tells,
    },
    Part {
        key: "policies.*.breaker",
        what: "the circuit breaker of",
        find: |system| {
            calls(system, |p| p.breaker.as_ref().is_some_and(|b| b.kind != "no-breaker"))
        },
        model: Not(
            "it never opens: the load on the callee may come out too high, hidden capacity too low",
        ),
        basins: Not("it never opens: collapses may come out too long"),
        emulate: Tells,
        export: Tells,
    },
    Part {
        key: "policies.*.retry.needs",
        what: "the time that a retry needs at",
        find: |system| {
            calls(system, |p| p.needs.0 > 0 && p.deadline.is_some() && p.retry.limits.max() > 0)
        },
        model: Not("retries that could not end before the deadline are counted all the same"),
        basins: Not("retries that could not end before the deadline are counted all the same"),
        emulate: Whole,
        export: Tells,
    },
    Part {
        key: "triggers.*.cache_flush",
        what: "the flush of caches by",
        find: |system| triggers(system, |kind| matches!(kind, ActionKind::CacheFlush { .. })),
        model: Whole,
        basins: Tells,
        emulate: Not("nothing is flushed, as caches are never cold"),
        export: Whole,
    },
    Part {
        key: "triggers.*.restart",
        what: "the restarts by",
        find: |system| triggers(system, |kind| matches!(kind, ActionKind::Restart { .. })),
        model: Whole,
        basins: Tells,
        emulate: Not("no server is restarted"),
        export: Whole,
    },
];
