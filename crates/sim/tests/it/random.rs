//! Small systems by chance: every control, every trigger, every kind of call, in any mixture.

use damper_control::admission::Admission;
use damper_control::concurrency::Limit;
use damper_control::gate::Gate;
use damper_control::lever::{Action as LeverAction, ClassSet, Level, Ramp};
use damper_control::queue::{DropRule, Order};
use damper_control::{
    Backoff, Budget, Growth, Jitter, Kind, Nanos, Pushback, Retry, RetryOn, registry,
};
use damper_system::model::*;
use proptest::prelude::*;

use crate::build::*;

/// A call tree before names: whom (by any number), how often, how likely, then what.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    target: usize,
    times: u32,
    chance: f64,
    steps: Vec<Vec<Tree>>,
}

/// The load ends here.
pub(crate) const LOAD_ENDS: Nanos = Nanos(8_000_000_000);

fn maybe<S: Strategy + 'static>(s: S) -> BoxedStrategy<Option<S::Value>>
where
    S::Value: Clone,
{
    prop_oneof![Just(None), s.prop_map(Some)].boxed()
}

fn tree() -> impl Strategy<Value = Tree> {
    let node = |steps| {
        (any::<u16>(), 1u32..3, prop_oneof![3 => Just(1.0), 1 => Just(0.5)], steps).prop_map(
            |(target, times, chance, steps)| Tree {
                target: usize::from(target),
                times,
                chance,
                steps,
            },
        )
    };
    node(Just(vec![]).boxed()).prop_recursive(3, 8, 2, move |inner| {
        node(prop::collection::vec(prop::collection::vec(inner, 1..3), 0..3).boxed())
    })
}

fn dist() -> impl Strategy<Value = Dist> {
    let mean = (1u64..60).prop_map(Nanos::from_millis);
    (mean, 0usize..8, 0.2f64..3.0).prop_map(|(mean, kind, cv)| match kind {
        0 => Dist::ZERO,
        1 => Dist::Deterministic(mean),
        2 => Dist::Exponential(mean),
        3 => Dist::Erlang { mean, stages: 3 },
        4 => Dist::Lognormal { mean, cv },
        5 => Dist::Hyperexponential { mean, cv: cv.max(1.0) },
        6 => Dist::Pareto { mean, alpha: 1.2 + cv },
        _ => Dist::Empirical(vec![(mean, 2.0), (Nanos(mean.0 * 3), 1.0)]),
    })
}

fn any_service() -> impl Strategy<Value = Service> {
    let capacity = (
        maybe(1u32..4),
        1u32..4,
        prop::sample::select(vec![Balance::RoundRobin, Balance::Random, Balance::LeastLoaded]),
        maybe((1.0f64..60.0, 1.0f64..20.0).prop_map(|(rate, burst)| RateLimit { rate, burst })),
        maybe(0u32..12),
        control::<Order>(Kind::Order),
        maybe(control::<DropRule>(Kind::Drop)),
    );
    let work = (
        dist(),
        prop::sample::select(vec![0.0, 0.0, 0.2, 1.0]),
        prop::sample::select(vec![0.0, 1.0, 4.0]),
        prop::sample::select(vec![OnAbandon::Finish, OnAbandon::Skip, OnAbandon::Cancel]),
        prop::sample::select(vec![(0.0, 0.0), (0.1, 0.05)]),
        any::<bool>(),
    );
    let doors = (
        maybe(control::<Admission>(Kind::Admission)),
        maybe(control::<Limit>(Kind::Concurrency)),
        maybe(Just(vec![0.5, 0.3, 0.2])),
        prop::sample::select(vec![None, Some(Pushback::Stop), Some(Pushback::After(MS(20)))]),
        prop::collection::vec(pull(), 0..3),
        prop::sample::select(vec![
            None,
            Some(Overloaded::default()),
            Some(Overloaded { queue: 0.0, cpu: 0.2, hold: MS(300) }),
        ]),
    );
    (capacity, work, doors).prop_map(|(capacity, work, doors)| {
        let (workers, instances, balance, rate_limit, queue, order, drop) = capacity;
        let (admission, concurrency, shares, pushback, lever, overloaded) = doors;
        let (service_time, failure, error_cost, on_abandon, (alpha, beta), blocking) = work;
        Service {
            workers,
            instances,
            balance,
            rate_limit,
            queue,
            order,
            drop,
            admission,
            concurrency,
            shares,
            pushback,
            lever,
            overloaded,
            service_time,
            failure,
            error_cost,
            on_abandon,
            contention: Contention { alpha, beta },
            blocking,
            ..service("s")
        }
    })
}

fn backoff() -> impl Strategy<Value = Backoff> {
    let growth = prop::sample::select(vec![
        Growth::None,
        Growth::Constant,
        Growth::Linear,
        Growth::Exponential(2.0),
    ]);
    let jitter = prop::sample::select(vec![
        Jitter::None,
        Jitter::Equal,
        Jitter::Full,
        Jitter::Decorrelated,
        Jitter::Exponential,
    ]);
    let plain = (growth, jitter, 0u64..80).prop_map(|(growth, jitter, base)| Backoff {
        growth,
        base: Nanos::from_millis(base),
        cap: Nanos::from_millis(200),
        jitter,
    });
    prop_oneof![plain, control::<Backoff>(Kind::Backoff).prop_map(|spec| spec.initial)]
}

/// Any control of a kind: each parameter at its default, or at either end of its range.
pub(crate) fn control<T: Made + Clone + std::fmt::Debug + 'static>(
    kind: Kind,
) -> impl Strategy<Value = Spec<T>> {
    let entries: Vec<_> = registry::of(kind).collect();
    let ends = prop::collection::vec(0u8..6, 12);
    (prop::sample::select(entries), ends).prop_map(|(entry, ends)| {
        let parameters = entry.parameters.iter().zip(ends).map(|(p, end)| match end {
            // Callers that wait for ever are still there when everything else has drained.
            _ if p.name == "max_wait" => 0.5,
            0 => p.min,
            1 if p.max < 1e6 => p.max,
            // As many as random services have shares.
            2 if p.name == "levels" => 3.0,
            _ => p.default,
        });
        let defaults = || Spec::new(entry, entry.defaults().collect()).unwrap();
        Spec::new(entry, parameters.collect()).unwrap_or_else(defaults)
    })
}

pub(crate) fn budget() -> impl Strategy<Value = Spec<Budget>> {
    prop_oneof![Just(Spec::none()), control::<Budget>(Kind::Budget)]
}

fn pull() -> impl Strategy<Value = Pull> {
    let action = prop::sample::select(vec![
        LeverAction::Open,
        LeverAction::Pause,
        LeverAction::Hold,
        LeverAction::Throttle(Level::Rate(20.0)),
        LeverAction::Throttle(Level::Share(0.5)),
        LeverAction::Ramp(Ramp {
            from: Level::Rate(1.0),
            to: Level::Rate(30.0),
            over: S(1),
            steps: 0,
        }),
    ]);
    (
        action,
        0u64..3000,
        prop::sample::select(vec![ClassSet::of(0), ClassSet::of(1), ClassSet::ALL]),
    )
        .prop_map(|(action, after, classes)| Pull { after: MS(after), classes, action })
}

fn any_policy() -> impl Strategy<Value = Policy> {
    let on = prop::collection::vec(any::<bool>(), 4).prop_map(|bits| {
        let all = [RetryOn::REJECTED, RetryOn::TIMED_OUT, RetryOn::FAILED, RetryOn::FAILED_BELOW];
        all.into_iter().zip(bits).filter(|(_, b)| *b).fold(RetryOn::NONE, |on, (o, _)| on | o)
    });
    let on = prop_oneof![Just(RetryOn::ALL), on];
    (
        maybe(prop::sample::select(vec![5u64, 50, 200, 1000]).prop_map(Nanos::from_millis)),
        maybe((1u64..2000).prop_map(Nanos::from_millis)),
        any::<bool>(),
        prop::collection::vec(0u32..3, 1..4),
        on,
        backoff(),
        budget(),
        (maybe(control::<Gate>(Kind::Throttle)), maybe(control::<Gate>(Kind::Breaker))),
        (any::<bool>(), any::<bool>()),
    )
        .prop_map(
            |(timeout, deadline, deadline_travels, limits, on, backoff, budget, gates, flags)| {
                Policy {
                    timeout,
                    deadline,
                    deadline_travels,
                    retry: Retry { limits: limits.into(), on, backoff },
                    budget,
                    throttle: gates.0,
                    breaker: gates.1,
                    idempotent: flags.0,
                    heeds_pushback: flags.1,
                    needs: MS(if flags.0 { 20 } else { 0 }),
                }
            },
        )
}

fn any_cache() -> impl Strategy<Value = Cache> {
    (any::<bool>(), prop::sample::select(vec![0.0, 0.6, 1.0]), 1u32..6, any::<bool>(), 0u32..4)
        .prop_map(|(through, hit_rate, hot_keys, always, store)| Cache {
            name: "cache".to_owned(),
            store: ServiceId(store),
            mode: if through { CacheMode::ReadThrough } else { CacheMode::LookAside },
            hit_rate,
            hot_keys,
            fill: if always { Fill::Always } else { Fill::InTime },
        })
}

fn any_action() -> impl Strategy<Value = Action> {
    let share = prop::sample::select(vec![0.2, 0.5, 1.0]);
    let class = prop_oneof![Just(None), Just(Some(0u8))];
    let kind = (0usize..9, prop::collection::vec(0u32..4, 1..3), share, any::<bool>(), class);
    (kind, 0u64..3000, 0u64..4000).prop_map(|((kind, some, share, flag, class), after, lasts)| {
        let services: Vec<_> = some.iter().map(|s| ServiceId(*s)).collect();
        let kind = match kind {
            0 | 1 => ActionKind::Outage { services, refuse: flag },
            2 => ActionKind::Slowdown { services, factor: 20.0 * share },
            3 => ActionKind::CapacityLoss { services, share },
            4 => ActionKind::ErrorRate { services, rate: share },
            5 => ActionKind::AddedLatency { services, latency: MS((200.0 * share) as u64) },
            6 => {
                let height =
                    if flag { Spike::Factor(6.0 * share - 1.2) } else { Spike::Rate(50.0 * share) };
                ActionKind::LoadSpike { class, height }
            }
            7 => ActionKind::Restart { services, gap: MS(u64::from(flag) * 100) },
            _ => ActionKind::CacheFlush { caches: some.iter().map(|c| CacheId(c % 2)).collect() },
        };
        let lasts = if matches!(kind, ActionKind::CacheFlush { .. }) { 0 } else { lasts };
        Action { kind, after: MS(after), lasts: MS(lasts) }
    })
}

/// One to three classes, one to four services, up to two caches; calls go from earlier services to
/// later ones, so that blocking workers cannot wait for each other in a circle. The load stops.
pub(crate) fn system() -> impl Strategy<Value = System> {
    made(true)
}

/// The same with calls to anybody, their own callers and themselves included: such a system can
/// lock up for good, but not lose anything.
pub(crate) fn tangled_system() -> impl Strategy<Value = System> {
    made(false)
}

fn made(ordered: bool) -> impl Strategy<Value = System> {
    let parts = (
        prop::collection::vec(any_service(), 1..5),
        prop::collection::vec(any_cache(), 0..3),
        prop::collection::vec(any_policy(), 1..6),
        prop::collection::vec(any_action(), 0..4),
    );
    let work = prop::collection::vec(
        prop::collection::vec(prop::collection::vec(tree(), 1..3), 1..3),
        1..3,
    );
    let bursty = Arrivals::Bursty { on: MS(300), off: MS(700), idle: 0.1 };
    let arrivals = prop::sample::select(vec![Arrivals::Poisson, Arrivals::Deterministic, bursty]);
    let load = prop::collection::vec(1.0f64..20.0, 1..4);
    (parts, work, arrivals, load, any::<u64>(), prop::bool::weighted(0.2)).prop_map(
        move |((services, mut caches, policies, actions), trees, arrivals, load, seed, routed)| {
            let classes = load.len();
            let n = services.len() as u32;
            caches.iter_mut().for_each(|c| c.store = ServiceId(c.store.0 % n));
            let mut system = single(service("s"), 1.0, Policy::default());
            system.classes = (0..classes).map(|c| format!("c{c}")).collect();
            system.services = services;
            system.caches = caches;
            system.arrivals = arrivals;
            system.users = vec![[1, 50, 65_536][seed as usize % 3]; classes];
            system.load = load
                .into_iter()
                .map(|r| Load::Profile(vec![(S(0), r), (LOAD_ENDS, r), (LOAD_ENDS, 0.0)]))
                .collect();
            system.work = if routed {
                routes(classes, n, ordered)
            } else {
                requests(&system, &trees, ordered)
            };
            system.policies.edges = edges(&system, &policies);
            system.triggers =
                vec![Trigger { name: "t".to_owned(), actions: within(actions, &system) }];
            let e = &mut system.experiment;
            (e.warmup, e.trigger_at, e.trigger, e.seed) = (S(0), S(2), Some(0), seed);
            // Far beyond what any backlog needs to drain.
            (e.watch, e.interval) = (S(100_000), S(10));
            system
        },
    )
}

/// Leaves out what an action cannot apply to.
fn within(actions: Vec<Action>, system: &System) -> Vec<Action> {
    let (services, caches) = (system.services.len() as u32, system.caches.len() as u32);
    let keep = |mut action: Action| {
        match &mut action.kind {
            ActionKind::Outage { services: list, .. }
            | ActionKind::Slowdown { services: list, .. }
            | ActionKind::CapacityLoss { services: list, .. }
            | ActionKind::ErrorRate { services: list, .. }
            | ActionKind::AddedLatency { services: list, .. }
            | ActionKind::Restart { services: list, .. } => {
                list.iter_mut().for_each(|s| s.0 %= services);
            }
            ActionKind::CacheFlush { caches: list } => list.retain(|c| c.0 < caches),
            ActionKind::LoadSpike { .. } => {}
        }
        action
    };
    actions.into_iter().map(keep).collect()
}

fn routes(classes: usize, n: u32, ordered: bool) -> Work {
    let first = |from: u32| if ordered { from + 1 } else { 0 };
    let row = |from: u32| (first(from)..n).map(|to| (ServiceId(to), 0.8 / f64::from(n))).collect();
    Work::Routes(Routes {
        entry: vec![vec![(ServiceId(0), 1.0)]; classes],
        rows: vec![(0..n).map(row).collect(); classes],
    })
}

fn requests(system: &System, trees: &[Vec<Vec<Tree>>], ordered: bool) -> Work {
    let share = 1.0 / trees.len() as f64;
    let each = trees.iter().map(|steps| RequestType {
        name: "r".to_owned(),
        share: vec![share; system.classes.len()],
        steps: steps.iter().map(|step| lower(system, None, step, ordered)).collect(),
    });
    Work::Requests(each.collect())
}

/// Calls of one step, to services after `from`; none where there is no such service.
fn lower(system: &System, from: Option<u32>, step: &[Tree], ordered: bool) -> Step {
    let first = from.map_or(0, |s| if ordered { s + 1 } else { 0 });
    let services = (first..system.services.len() as u32).map(|s| Target::Service(ServiceId(s)));
    let behind = |c: &usize| system.caches[*c].store.0 >= first;
    let caches = (0..system.caches.len()).filter(behind).map(|c| Target::Cache(CacheId(c as u32)));
    let targets: Vec<Target> = services.chain(caches).collect();
    let one = |tree: &Tree| {
        let target = *targets.get(tree.target % targets.len().max(1))?;
        let server = system.server_of(target).0;
        let steps: Vec<Step> =
            tree.steps.iter().map(|s| lower(system, Some(server), s, ordered)).collect();
        Some(Call { target, times: tree.times, chance: tree.chance, steps })
    };
    step.iter().filter_map(one).collect()
}

fn edges(system: &System, policies: &[Policy]) -> Vec<Edge> {
    let mut pairs = Vec::new();
    match &system.work {
        Work::Requests(types) => {
            for step in types.iter().flat_map(|t| &t.steps) {
                pairs_of(system, Caller::Client, step, &mut pairs);
            }
        }
        Work::Routes(routes) => {
            pairs.push((Caller::Client, Target::Service(ServiceId(0))));
            for (from, row) in routes.rows[0].iter().enumerate() {
                let caller = Caller::Service(ServiceId(from as u32));
                pairs.extend(row.iter().map(|(to, _)| (caller, Target::Service(*to))));
            }
        }
    }
    let edge = |(i, (caller, target)): (usize, &(Caller, Target))| Edge {
        caller: *caller,
        target: *target,
        policy: policies[i % policies.len()].clone(),
    };
    pairs.iter().enumerate().map(edge).collect()
}

fn pairs_of(system: &System, caller: Caller, step: &Step, pairs: &mut Vec<(Caller, Target)>) {
    for call in step {
        let server = system.server_of(call.target);
        let mut add = |pair| {
            if !pairs.contains(&pair) {
                pairs.push(pair);
            }
        };
        add((caller, call.target));
        if let Target::Cache(c) = call.target
            && system.caches[c.0 as usize].mode == CacheMode::ReadThrough
        {
            add((Caller::Cache(c), Target::Service(server)));
        }
        for below in &call.steps {
            pairs_of(system, Caller::Service(server), below, pairs);
        }
    }
}
