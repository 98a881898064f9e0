//! Mistakes by name: sections that replace those of a valid file.

/// Each mistake with its name; the rendering of all is in `snapshots/`.
pub(crate) fn sections() -> Vec<(&'static str, Vec<(&'static str, &'static str)>)> {
    let two = ("classes", "[high, low]");
    let loads = ("load", "{high: 50/s, low: 250/s}");
    let web = ("services", "{web: {}, db: {workers: 30, service_time: 100ms}}");
    let tree = ("requests", "{read: {calls: [{web: [db]}]}}");
    let caches = ("caches", "{users: {store: db, hit_rate: 90%, hot_keys: 1000}}");
    let cached = ("requests", "{read: {calls: [users]}}");
    vec![
        // The top of the file.
        ("version-unknown", vec![("damper", "2")]),
        ("version-missing", vec![("damper", "")]),
        ("section-unknown", vec![("polices", "{}")]),
        ("section-missing", vec![("load", ""), ("services", "")]),
        ("classes-not-a-list", vec![("classes", "high")]),
        ("classes-twice", vec![("classes", "[a, a]"), ("load", "{a: 1/s}")]),
        ("classes-reserved", vec![("classes", "[all, burst]"), ("load", "1/s")]),
        (
            "classes-too-many",
            vec![
                ("classes", "[a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q]"),
                ("load", "1/s"),
            ],
        ),
        ("services-empty", vec![("services", "{}"), ("requests", "{r: {calls: [x]}}")]),
        ("service-name-reserved", vec![("services", "{client: {}, db: {}}")]),
        ("service-name-malformed", vec![("services", "{\"my db\": {}, db: {}}")]),
        (
            "service-and-cache-share-a-name",
            vec![("caches", "{db: {store: db, hit_rate: 1%, hot_keys: 1}}")],
        ),
        ("neither-requests-nor-routes", vec![("requests", "")]),
        ("requests-and-routes", vec![("routes", "{all: {entry: {db: 100%}}}")]),
        // Services.
        ("service-key-unknown", vec![("services", "{db: {wrokers: 3}}")]),
        ("service-not-a-mapping", vec![("services", "{db: 30}")]),
        ("workers-zero", vec![("services", "{db: {workers: 0}}")]),
        ("workers-a-word", vec![("services", "{db: {workers: unlimitd}}")]),
        ("queue-negative", vec![("services", "{db: {workers: 1, queue: -1}}")]),
        ("queue-in-thousands", vec![("services", "{db: {workers: 1, queue: 10k}}")]),
        ("order-unknown", vec![("services", "{db: {workers: 1, order: filo}}")]),
        ("failure-without-percent", vec![("services", "{db: {failure: 0.05}}")]),
        ("failure-above-all", vec![("services", "{db: {failure: 120%}}")]),
        ("error-cost-a-percentage", vec![("services", "{db: {error_cost: 150%}}")]),
        ("blocking-yes", vec![("services", "{db: {workers: 1, blocking: yes}}")]),
        ("service-time-without-unit", vec![("services", "{db: {workers: 1, service_time: 100}}")]),
        ("service-time-in-minutes", vec![("services", "{db: {workers: 1, service_time: 2m}}")]),
        ("service-time-too-long", vec![("services", "{db: {workers: 1, service_time: 9999h}}")]),
        (
            "distribution-unknown",
            vec![("services", "{db: {service_time: {dist: lognorm, mean: 1ms, cv: 2}}}")],
        ),
        ("distribution-unnamed", vec![("services", "{db: {service_time: {mean: 1ms}}}")]),
        (
            "distribution-incomplete",
            vec![("services", "{db: {service_time: {dist: lognormal, mean: 1ms}}}")],
        ),
        (
            "distribution-key-of-another",
            vec![("services", "{db: {service_time: {dist: exponential, mean: 1ms, cv: 2}}}")],
        ),
        (
            "hyperexponential-too-even",
            vec![(
                "services",
                "{db: {service_time: {dist: hyperexponential, mean: 1ms, cv: 0.5}}}",
            )],
        ),
        (
            "pareto-without-mean",
            vec![("services", "{db: {service_time: {dist: pareto, mean: 1ms, alpha: 1}}}")],
        ),
        ("empirical-weights", vec![("services", "{db: {service_time: [[1ms, 0], [2ms, 0]]}}")]),
        ("empirical-pair", vec![("services", "{db: {service_time: [[1ms, 2, 3], 5]}}")]),
        ("rate-limit-without-unit", vec![("services", "{db: {rate_limit: 93.6}}")]),
        ("rate-limit-rps", vec![("services", "{db: {rate_limit: {rate: 93.6rps, burst: 0}}}")]),
        ("rate-limit-zero", vec![("services", "{db: {rate_limit: 0/s}}")]),
        // Caches.
        (
            "cache-store-unknown",
            vec![("caches", "{users: {store: dbb, hit_rate: 90%, hot_keys: 10}}")],
        ),
        ("cache-incomplete", vec![("caches", "{users: {store: db}}")]),
        (
            "cache-too-many-keys",
            vec![("caches", "{users: {store: db, hit_rate: 90%, hot_keys: 60_000_000}}")],
        ),
        // Load.
        ("load-of-several-classes", vec![two, ("load", "300/s")]),
        ("load-of-an-unknown-class", vec![two, ("load", "{high: 50/s, lo: 250/s}")]),
        ("load-zero", vec![("load", "0/s")]),
        ("load-per-parsec", vec![("load", "300/parsec")]),
        (
            "load-two-shapes",
            vec![(
                "load",
                "{ramp: {from: 1/s, to: 2/s, over: 1s}, burst: {base: 1/s, peak: 2/s, every: 1s, for: 1s}}",
            )],
        ),
        ("load-steps-back", vec![("load", "{steps: [{at: 10s, rate: 1/s}, {at: 5s, rate: 2/s}]}")]),
        (
            "load-burst-outlasts-period",
            vec![("load", "{burst: {base: 1/s, peak: 2/s, every: 1s, for: 2s}}")],
        ),
        ("load-trace-missing", vec![("load", "{trace: no-such-file.csv}")]),
        ("arrivals-unknown", vec![("arrivals", "poison")]),
        ("arrivals-bursty-incomplete", vec![("arrivals", "{bursty: {on: 1s}}")]),
        // Requests.
        ("call-unknown", vec![("requests", "{read: {calls: [bd]}}")]),
        ("call-not-in-a-list", vec![web, ("requests", "{read: {calls: web}}")]),
        ("call-body-not-a-list", vec![web, ("requests", "{read: {calls: [{web: {db: [db]}}]}}")]),
        ("call-two-keys", vec![web, ("requests", "{read: {calls: [{web: [], db: []}]}}")]),
        ("call-times-zero", vec![("requests", "{read: {calls: [{db: {times: 0}}]}}")]),
        ("calls-empty", vec![("requests", "{read: {calls: []}}")]),
        (
            "parallel-in-parallel",
            vec![web, ("requests", "{read: {calls: [{parallel: [web, {parallel: [db, db]}]}]}}")],
        ),
        ("parallel-empty", vec![("requests", "{read: {calls: [{parallel: []}]}}")]),
        (
            "shares-short",
            vec![("requests", "{a: {share: 50%, calls: [db]}, b: {share: 40%, calls: [db]}}")],
        ),
        (
            "shares-above",
            vec![
                two,
                loads,
                ("requests", "{a: {share: {high: 110%, low: 20%}, calls: [db]}, b: {calls: [db]}}"),
            ],
        ),
        (
            "shares-missing",
            vec![("requests", "{a: {calls: [db]}, b: {calls: [db]}, c: {share: 5%, calls: [db]}}")],
        ),
        ("requests-not-a-mapping", vec![("requests", "[db]")]),
        // Routes.
        ("routes-entry-missing", vec![("requests", ""), ("routes", "{all: {db: {db: 10%}}}")]),
        ("routes-entry-short", vec![("requests", ""), ("routes", "{all: {entry: {db: 90%}}}")]),
        (
            "routes-row-above",
            vec![
                web,
                ("requests", ""),
                ("routes", "{all: {entry: {web: 100%}, web: {db: 60%, web: 50%}}}"),
            ],
        ),
        (
            "routes-never-end",
            vec![
                web,
                ("requests", ""),
                ("routes", "{all: {entry: {web: 100%}, web: {db: 100%}, db: {web: 100%}}}"),
            ],
        ),
        (
            "routes-to-a-cache",
            vec![caches, ("requests", ""), ("routes", "{all: {entry: {users: 100%}}}")],
        ),
        (
            "routes-of-one-class",
            vec![two, loads, ("requests", ""), ("routes", "{high: {entry: {db: 100%}}}")],
        ),
        (
            "routes-all-and-a-class",
            vec![
                two,
                loads,
                ("requests", ""),
                ("routes", "{all: {entry: {db: 100%}}, low: {entry: {db: 100%}}}"),
            ],
        ),
        // Policies.
        ("policy-of-nobody", vec![("policies", "{defualt: {timeout: 1s}}")]),
        ("policy-callee-unknown", vec![("policies", "{\"client -> dv\": {timeout: 1s}}")]),
        ("policy-caller-unknown", vec![("policies", "{\"clint -> db\": {timeout: 1s}}")]),
        (
            "policy-caller-look-aside",
            vec![caches, cached, ("policies", "{\"users -> db\": {timeout: 1s}}")],
        ),
        (
            "policy-twice",
            vec![("policies", "\n  client -> db: {timeout: 1s}\n  client->db: {timeout: 2s}")],
        ),
        ("policy-key-unknown", vec![("policies", "{db: {time_out: 1s, retries: 3}}")]),
        ("timeout-zero", vec![("policies", "{db: {timeout: 0s}}")]),
        ("timeout-empty", vec![("policies", "{db: {timeout: }}")]),
        ("limit-of-an-unknown-class", vec![("policies", "{db: {retry: {limit: {high: 3}}}}")]),
        ("limit-too-large", vec![("policies", "{db: {retry: {limit: 2_000_000}}}")]),
        ("on-unknown", vec![("policies", "{db: {retry: {limit: 1, on: [reject, timeouts]}}}")]),
        ("backoff-a-word", vec![("policies", "{db: {retry: {backoff: exponential}}}")]),
        ("backoff-without-kind", vec![("policies", "{db: {retry: {backoff: {base: 1ms}}}}")]),
        ("backoff-without-base", vec![("policies", "{db: {retry: {backoff: {kind: linear}}}}")]),
        (
            "backoff-key-of-another",
            vec![(
                "policies",
                "{default: {retry: {backoff: {kind: constant, base: 1ms}}}, db: {retry: {backoff: {factor: 2}}}}",
            )],
        ),
        (
            "backoff-max-below-base",
            vec![(
                "policies",
                "{db: {retry: {backoff: {kind: exponential, base: 1s, max: 500ms}}}}",
            )],
        ),
        ("budget-unknown", vec![("policies", "{db: {retry: {budget: {kind: tokenbucket}}}}")]),
        ("budget-a-list", vec![("policies", "{db: {retry: {budget: [envoy]}}}")]),
        (
            "budget-key-of-another",
            vec![("policies", "{db: {retry: {budget: {kind: envoy, max_tokens: 10}}}}")],
        ),
        (
            "budget-out-of-range",
            vec![("policies", "{db: {retry: {budget: {kind: token-bucket, max_tokens: 5000}}}}")],
        ),
        ("budget-without-kind", vec![("policies", "{db: {retry: {budget: {max_tokens: 10}}}}")]),
        (
            "backoff-published-jitter",
            vec![("policies", "{db: {retry: {backoff: {kind: grpc-backoff, jitter: full}}}}")],
        ),
        ("breaker-unknown", vec![("policies", "{db: {breaker: beraker}}")]),
        ("throttle-of-a-breaker", vec![("policies", "{db: {throttle: breaker}}")]),
        ("needs-a-number", vec![("policies", "{db: {retry: {needs: 20}}}")]),
        ("admission-unknown", vec![("services", "{db: {workers: 1, admission: everyone}}")]),
        (
            "concurrency-zero",
            vec![("services", "{db: {workers: 1, concurrency: {kind: fixed, limit: 0}}}")],
        ),
        ("order-none", vec![("services", "{db: {workers: 1, order: none}}")]),
        (
            "shares-of-limit-above",
            vec![("services", "{db: {workers: 1, shares: {default: 120%}}}")],
        ),
        ("shares-a-number", vec![("services", "{db: {workers: 1, shares: 20%}}")]),
        (
            "shares-without-levels",
            vec![(
                "services",
                "{db: {workers: 9, order: {kind: fair, levels: 2}, shares: {default: 50%}}}",
            )],
        ),
        ("pushback-a-number", vec![("services", "{db: {pushback: 5}}")]),
        ("overloaded-always", vec![("services", "{db: {overloaded: always}}")]),
        ("lever-empty", vec![("services", "{db: {lever: []}}")]),
        ("lever-two-actions", vec![("services", "{db: {lever: {pause: all, open: all}}}")]),
        ("lever-without-rate", vec![("services", "{db: {lever: {throttle: all}}}")]),
        (
            "lever-ramp-of-two-kinds",
            vec![("services", "{db: {lever: {ramp: all, from: 10/s, to: 100%, over: 1s}}}")],
        ),
        ("users-zero", vec![("users", "0")]),
        ("users-of-nobody", vec![("users", "{nobody: 3}")]),
        // Triggers.
        ("trigger-empty", vec![("triggers", "{blip: []}")]),
        ("trigger-kind-unknown", vec![("triggers", "{blip: [{outrage: db, for: 2s}]}")]),
        ("trigger-without-kind", vec![("triggers", "{blip: [{for: 2s}]}")]),
        (
            "trigger-two-kinds",
            vec![("triggers", "{blip: [{outage: db, slowdown: db, factor: 2, for: 2s}]}")],
        ),
        ("trigger-without-length", vec![("triggers", "{blip: [{outage: db}]}")]),
        ("trigger-service-unknown", vec![("triggers", "{blip: [{outage: [db, dbb], for: 2s}]}")]),
        ("trigger-service-twice", vec![("triggers", "{blip: [{outage: [db, db], for: 2s}]}")]),
        (
            "trigger-rate-not-a-percentage",
            vec![("triggers", "{blip: [{error_rate: db, rate: 5/s, for: 2s}]}")],
        ),
        ("spike-without-height", vec![("triggers", "{blip: [{load_spike: all, for: 2s}]}")]),
        (
            "spike-two-heights",
            vec![("triggers", "{blip: [{load_spike: all, factor: 2, rate: 3/s, for: 2s}]}")],
        ),
        (
            "flush-with-length",
            vec![caches, cached, ("triggers", "{blip: [{cache_flush: users, for: 2s}]}")],
        ),
        ("flush-of-a-service", vec![("triggers", "{blip: [{cache_flush: db}]}")]),
        ("restart-at-a-share", vec![("triggers", "{deploy: [{restart: db, rate: 5%}]}")]),
        // Mechanisms.
        ("mechanism-a-word", vec![("services", "{db: {health: yes}}")]),
        ("mechanism-key-unknown", vec![("services", "{db: {health: {timout: 1s}}}")]),
        (
            "lease-over-before-it-is-renewed",
            vec![("services", "{db: {lease: {from: db, every: 20s, lasts: 20s}}}")],
        ),
        (
            "lease-from-nobody",
            vec![("services", "{db: {lease: {from: bd, every: 1s, lasts: 2s}}}")],
        ),
        (
            "autoscale-starts-outside",
            vec![("services", "{db: {instances: 40, autoscale: {max: 30}}}")],
        ),
        ("error-log-of-itself", vec![("services", "{db: {error_log: {to: db}}}")]),
        (
            "error-logs-in-a-circle",
            vec![("services", "{a: {error_log: {to: db}}, db: {error_log: {to: a}}}")],
        ),
        ("pool-without-order", vec![("services", "{db: {instances: 2, pool: {}}}")]),
        ("calls-as-nobody", vec![("services", "{db: {calls_as: hihg}}")]),
        // Experiment.
        ("trigger-before-warmup", vec![("experiment", "{warmup: 60s, trigger_at: 30s}")]),
        (
            "trigger-not-defined",
            vec![
                ("triggers", "{blip: [{outage: db, for: 2s}]}"),
                ("experiment", "{trigger: blib}"),
            ],
        ),
        ("experiment-too-long", vec![("experiment", "{watch: 10_000_000s}")]),
        ("hold-longer-than-watch", vec![("experiment", "{watch: 10s, hold: 20s, interval: 11s}")]),
        (
            "vary-a-class-without-load",
            vec![two, ("load", "{high: 1/s, low: 0/s}"), ("experiment", "{vary: low}")],
        ),
        ("seed-fraction", vec![("experiment", "{seed: 1.5, replications: 0, recovered_at: 0%}")]),
        // Gaps.
        ("gaps-not-a-list", vec![("gaps", "{services.db.workers: unknown}")]),
        (
            "gaps-malformed",
            vec![("gaps", "[{path: services.db.workers}, {path: 'a[', why: x}, {way: x, why: x}]")],
        ),
        // Several at once, in the order of the file.
        (
            "several",
            vec![
                ("services", "{db: {workers: many, queue: 1.5}}"),
                ("load", "270"),
                tree,
                ("experiment", "{wachted: 1s}"),
            ],
        ),
    ]
}
