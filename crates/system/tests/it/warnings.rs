//! What a file may say but probably does not mean.

use crate::{file, lower};

#[test]
fn warnings() {
    let two = ("classes", "[high, low]");
    let loads = ("load", "{high: 50/s, low: 100/s}");
    let bounded = ("services", "{db: {workers: 30, service_time: 100ms, queue: 100}}");
    for (name, sections) in [
        ("warn-nothing", vec![bounded, ("policies", "{db: {timeout: 1s, retry: {limit: 1}}}")]),
        ("warn-queue-too-long", vec![("policies", "{db: {timeout: 1s}}")]),
        ("warn-no-timeout", vec![bounded, ("policies", "{default: {retry: {limit: 3}}}")]),
        (
            "warn-class-limits-at-once",
            vec![
                two,
                loads,
                bounded,
                ("policies", "{db: {timeout: 1s, retry: {limit: {high: 5, low: 1}}}}"),
            ],
        ),
        (
            "warn-class-limits-brief",
            vec![
                two,
                loads,
                bounded,
                (
                    "policies",
                    "{db: {timeout: 1s, retry: {limit: {high: 5, low: 1}, backoff: {kind: constant, base: 1ms}}}}",
                ),
            ],
        ),
        (
            "warn-mechanisms-without-effect",
            vec![(
                "services",
                "{db: {workers: 30, service_time: 100ms, queue: 100, balance: random, pool: {order: mru}, start: {calls: 3}}}",
            )],
        ),
        ("warn-overload", vec![bounded, ("load", "{ramp: {from: 100/s, to: 900/s, over: 10s}}")]),
        (
            "warn-overload-behind-a-cache",
            vec![
                bounded,
                ("caches", "{c: {store: db, hit_rate: 50%, hot_keys: 10}}"),
                ("load", "700/s"),
                ("requests", "{r: {calls: [c]}}"),
            ],
        ),
        (
            "warn-overload-routes",
            vec![
                bounded,
                ("requests", ""),
                ("routes", "{all: {entry: {db: 100%}, db: {db: 50%}}}"),
            ],
        ),
        (
            "warn-unused",
            vec![
                ("services", "{db: {}, idle: {}}"),
                ("caches", "{c: {store: db, hit_rate: 50%, hot_keys: 10}}"),
                ("policies", "{idle: {timeout: 1s}, \"db -> db\": {timeout: 2s}}"),
            ],
        ),
        (
            "warn-without-workers",
            vec![(
                "services",
                "{db: {queue: 10, order: lifo, blocking: true, contention: {alpha: 1%}}}",
            )],
        ),
        ("warn-overloaded-without-workers", vec![("services", "{db: {overloaded: {cpu: 50%}}}")]),
        (
            "warn-adaptive-lifo-without-limit",
            vec![("services", "{db: {workers: 30, service_time: 100ms, order: adaptive-lifo}}")],
        ),
        (
            "warn-fair-beside-a-limit",
            vec![("services", "{db: {workers: 30, service_time: 100ms, order: fair, queue: 100}}")],
        ),
        (
            "warn-shares-of-nothing",
            vec![(
                "services",
                "{db: {workers: 30, service_time: 100ms, queue: 100, shares: {default: 50%}}}",
            )],
        ),
        (
            "warn-budget-without-retries",
            vec![bounded, ("policies", "{db: {retry: {budget: arb}}}")],
        ),
        (
            "warn-overloaded-unheard",
            vec![(
                "services",
                "{db: {workers: 30, service_time: 100ms, queue: 100, overloaded: {queue: 50%}}}",
            )],
        ),
        (
            "warn-deadline-too-close",
            vec![bounded, ("policies", "{db: {timeout: 1s, deadline: 1s, retry: {limit: 1}}}")],
        ),
        (
            "warn-nothing-to-lose",
            vec![
                ("services", "{db: {}}"),
                ("triggers", "{loss: {capacity_loss: db, share: 50%, for: 2s}}"),
            ],
        ),
        (
            "warn-fill-of-read-through",
            vec![
                bounded,
                (
                    "caches",
                    "{c: {store: db, mode: read-through, hit_rate: 50%, hot_keys: 10, fill: always}}",
                ),
                ("requests", "{r: {calls: [c]}}"),
            ],
        ),
        (
            "warn-gaps",
            vec![
                bounded,
                ("policies", "{default: {timeout: 1s}}"),
                (
                    "gaps",
                    "[{path: services.db.queue, why: filled}, {path: 'services.db.rate_limit', why: traces show none}, {path: 'policies.\"client -> db\".timeout', why: filled by default}, {path: 'policies.\"client -> db\".retry.limit', why: nothing failed}]",
                ),
            ],
        ),
    ] {
        let (_, problems) = lower(&file(&sections)).unwrap_or_else(|p| panic!("{name}: {p}"));
        assert!(!problems.has_errors());
        insta::assert_snapshot!(name, problems.render(false));
    }
}
