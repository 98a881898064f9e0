//! Results as the experiments would give them, for tests and for looking at.

use damper_report::result::{
    ClassResult, Graph, GraphEdge, Headroom, Loop, Node, Origin, Remedy, Series, ServiceResult,
    ServiceSeries, Simulate, Simulation,
};

/// One service of 300/s, timeout 1 s, one retry, an outage of 2 s at a load of 270/s.
pub fn retry_storm() -> Headroom {
    Headroom {
        origin: origin("retry-storm", "examples/retry-storm.yaml"),
        trigger: "outage of db for 2s".into(),
        trigger_name: "blip".into(),
        advertised_rps: Some(299.4),
        advertised_ci95: Some([296.8, 301.7]),
        hidden_rps: Some(150.2),
        hidden_ci95: Some([147.1, 152.9]),
        load_rps: 270.0,
        exposure: Some(0.798),
        state: "vulnerable".into(),
        sustaining_loop: Some(Loop {
            caller: "client".into(),
            service: "db".into(),
            kind: "retries".into(),
            amplification: 1.99,
            wasted: 0.983,
            summary: "Every call to db waits longer than its caller's timeout of 1 s, so client \
                      gives up, tries again, and puts a second attempt into the same queue: 537 \
                      attempts/s arrive at a service of 300/s. 98.3 % of the served work had no \
                      caller any more."
                .into(),
        }),
        amplification: 1.99,
        remedies: remedies(),
        graph: Graph {
            nodes: vec![
                node("client", "client", None, None),
                node("db", "service", Some(300.0), Some(1.99)),
            ],
            edges: vec![edge("client", "db", &[1], Some(537.0), true)],
        },
        shown: Some(storm_run(&["db"], 270.0, 300.0, 1.99, 182)),
        shown_load_rps: 270.0,
        replications: 8,
        simulated_requests: 4_812_440,
        cost: None,
    }
}

/// Five layers of three attempts over a store of 3,000/s.
pub fn five_layers() -> Headroom {
    let names = ["client", "edge", "orders", "pricing", "inventory", "store"];
    let mut nodes = vec![node("client", "client", None, None)];
    let mut edges = Vec::new();
    for (depth, pair) in names.windows(2).enumerate() {
        let amplification = 3_f64.powi(depth as i32 + 1);
        let capacity = (pair[1] == "store").then_some(3000.0);
        nodes.push(node(pair[1], "service", capacity, Some(amplification)));
        edges.push(edge(pair[0], pair[1], &[2], Some(100.0 * amplification), true));
    }
    let mut result = retry_storm();
    result.origin = origin("five-layers", "examples/five-layers.yaml");
    result.origin.notes = vec!["`store` is the only service with a capacity.".into()];
    result.trigger = "outage of store for 30s".into();
    result.advertised_rps = Some(2990.0);
    result.advertised_ci95 = Some([2971.0, 3004.0]);
    result.hidden_rps = Some(12.4);
    result.hidden_ci95 = Some([11.9, 12.8]);
    result.load_rps = 1000.0;
    result.exposure = Some(79.6);
    result.amplification = 243.0;
    if let Some(held) = &mut result.sustaining_loop {
        held.caller = "inventory".into();
        held.service = "store".into();
        held.amplification = 243.0;
        held.summary =
            "Three attempts at each of five layers multiply to 243 attempts at store.".into();
    }
    result.graph = Graph { nodes, edges };
    result.shown = Some(storm_run(&["store"], 1000.0, 3000.0, 243.0, 240));
    result.shown_load_rps = 1000.0;
    for remedy in &mut result.remedies {
        remedy.hidden_rps = remedy.hidden_rps.map(|h| h * 6.6);
        remedy.hidden_ci95 = remedy.hidden_ci95.map(|ci| ci.map(|h| h * 6.6));
        remedy.advertised_rps = Some(2990.0);
    }
    result
}

/// Call trees of a hotel site, two classes, run once.
pub fn hotel() -> Simulate {
    let services = [
        ("frontend", None, 1.31),
        ("search", Some(93.6), 2.64),
        ("geo", Some(110.0), 1.4),
        ("rate", Some(120.0), 1.12),
        ("reservation", Some(130.0), 1.02),
        ("profile", Some(210.0), 3.9),
        ("recommendation", Some(140.0), 1.0),
        ("user", Some(60.0), 1.0),
    ];
    let mut nodes = vec![node("client", "client", None, None)];
    nodes.extend(services.map(|(name, capacity, a)| node(name, "service", capacity, Some(a))));
    nodes.push(node("memcached-profile", "cache", Some(5000.0), Some(3.9)));
    let edges = vec![
        edge("client", "frontend", &[0, 0], Some(393.0), false),
        edge("frontend", "search", &[5, 1], Some(247.0), true),
        edge("search", "geo", &[5, 1], Some(131.0), false),
        edge("search", "rate", &[5, 1], Some(104.0), false),
        edge("frontend", "reservation", &[5, 1], Some(98.0), false),
        edge("frontend", "profile", &[5, 1], Some(612.0), true),
        edge("frontend", "recommendation", &[5, 1], Some(117.0), false),
        edge("frontend", "user", &[5, 1], Some(3.0), false),
        edge("profile", "memcached-profile", &[0, 0], Some(590.0), false),
    ];
    let names: Vec<&str> = services.iter().map(|s| s.0).collect();
    let mut run = storm_run(&names, 270.0, 300.0, 1.74, 150);
    run.state = "metastable".into();
    Simulate {
        origin: origin("hotel-reservation", "examples/hotel-reservation.yaml"),
        trigger: "capacity of search falls to 50% for 10s".into(),
        run,
        graph: Graph { nodes, edges },
    }
}

/// A healthy run without a trigger.
pub fn calm() -> Simulate {
    let mut run = storm_run(&["api", "db"], 120.0, 1e9, 1.0, 60);
    run.state = "stable".into();
    run.recovery_s = None;
    run.reason = "Goodput stayed above 99 % of the offered load.".into();
    run.series.trigger_s = None;
    Simulate {
        origin: origin("calm", "calm.yaml"),
        trigger: String::new(),
        run,
        graph: Graph {
            nodes: vec![
                node("client", "client", None, None),
                node("api", "service", None, Some(1.0)),
                node("db", "service", Some(300.0), Some(1.01)),
            ],
            edges: vec![
                edge("client", "api", &[0], Some(120.0), false),
                edge("api", "db", &[3], Some(121.0), false),
            ],
        },
    }
}

fn origin(system: &str, file: &str) -> Origin {
    Origin {
        system: system.into(),
        version: "0.1.0".into(),
        seed: 1,
        file: file.into(),
        set: Vec::new(),
        partial: false,
        notes: Vec::new(),
        left_out: Vec::new(),
    }
}

fn node(name: &str, kind: &str, capacity_rps: Option<f64>, amplification: Option<f64>) -> Node {
    Node { name: name.into(), kind: kind.into(), capacity_rps, amplification, ..Node::default() }
}

fn edge(from: &str, to: &str, limit: &[u32], rate: Option<f64>, in_loop: bool) -> GraphEdge {
    GraphEdge {
        from: from.into(),
        to: to.into(),
        calls: 1.0,
        limit: limit.to_vec(),
        timeout_s: Some(1.0),
        attempts_rps: rate,
        in_loop,
        multiplies: None,
    }
}

fn remedies() -> Vec<Remedy> {
    let remedy =
        |name: &str, set: &[&str], hidden: Option<f64>, after: f64, verdict: &str| Remedy {
            name: name.into(),
            set: set.iter().map(|s| (*s).to_owned()).collect(),
            hidden_rps: hidden,
            hidden_ci95: hidden.map(|h| [h - 3.1, h + 2.8]),
            at_least: false,
            advertised_rps: Some(299.4),
            success_before: 0.999_9,
            success_after: after,
            price_ci95: [after - 0.999_9 - 0.000_2, after - 0.999_9 + 0.000_2],
            verdict: verdict.into(),
            cost: None,
        };
    vec![
        remedy(
            "work of callers that have gone is cancelled",
            &["services.db.on_abandon=cancel"],
            None,
            0.999_9,
            "breaks the loop: no work is wasted",
        ),
        remedy(
            "ratio budget of 10 %",
            &["policies.default.retry.budget={kind: ratio, ratio: 10%}"],
            Some(271.8),
            0.999_87,
            "bounds it",
        ),
        remedy(
            "token bucket (gRPC), 100 tokens, ratio 0.1",
            &[
                "policies.default.retry.budget={kind: token-bucket, max_tokens: 100, token_ratio: 0.1}",
            ],
            Some(288.4),
            0.999_85,
            "bounds it",
        ),
        remedy(
            "queue bounded to what can be served in time",
            &["services.db.queue=270"],
            Some(281.3),
            0.999_6,
            "bounds it: refuses instead of letting wait",
        ),
        remedy("no retry", &["policies.default.retry.limit=0"], Some(296.1), 0.99, "breaks it"),
        remedy(
            "last in, first out",
            &["services.db.order=lifo"],
            Some(244.0),
            0.999_9,
            "serves the fresh, starves the old",
        ),
        remedy(
            "timeout of 3 s",
            &["policies.default.timeout=3s"],
            Some(176.5),
            0.999_9,
            "moves it: takes a longer outage to start",
        ),
        remedy(
            "timeout of 300 ms",
            &["policies.default.timeout=300ms"],
            Some(149.1),
            0.994_2,
            "worse: gives up sooner, retries sooner",
        ),
        remedy(
            "exponential backoff with full jitter, alone",
            &[
                "policies.default.retry.backoff={kind: exponential, base: 100ms, factor: 2, max: 10s, jitter: full}",
            ],
            Some(151.0),
            0.999_9,
            "only reschedules it",
        ),
    ]
}

/// A storm by arithmetic: offered load, an outage of 2 s at 60 s, a queue that outgrows the
/// timeout, attempts twice the load from then on.
fn storm_run(
    names: &[&str],
    load: f64,
    capacity: f64,
    amplification: f64,
    seconds: u32,
) -> Simulation {
    let outage = if amplification > 100.0 { 30.0 } else { 2.0 };
    let mut series =
        Series { interval_s: 1.0, trigger_s: Some([60.0, 60.0 + outage]), ..Series::default() };
    let (mut queue, mut service) = (0.0_f64, ServiceSeries::default());
    for second in 0..seconds {
        let t = f64::from(second);
        let wave = ((t * 12.9898).sin() * 43_758.547).fract() * 0.06;
        let offered = load * (1.0 + wave);
        let late = queue / capacity > 1.0;
        let attempts = if late { offered * amplification } else { offered };
        let served =
            if (60.0..60.0 + outage).contains(&t) { 0.0 } else { capacity.min(queue + attempts) };
        queue = (queue + attempts - served).max(0.0);
        let waiting = queue.max(1.0 + wave * 20.0).max(0.0);
        series.t_s.push(t);
        series.offered_rps.push(offered);
        series.attempts_rps.push(attempts);
        series.goodput_rps.push(if served == 0.0 {
            0.0
        } else if late {
            load * 0.006
        } else {
            served.min(offered)
        });
        series.throughput_rps.push(served);
        service.attempts_rps.push(attempts);
        service.queue.push(waiting as u64);
        service.queue_delay_s.push((served > 0.0).then_some(0.02 + queue / capacity));
        service.rejected_rps.push(0.0);
        service.wasted.push(if late { 0.98 } else { 0.0 });
    }
    for (place, name) in names.iter().enumerate() {
        let mut own = service.clone();
        own.queue.iter_mut().for_each(|q| *q /= 1 + place as u64);
        series.services.insert((*name).to_owned(), own);
    }
    let class = |offered: u64, good: u64| ClassResult {
        offered,
        good,
        rejected: 0,
        timed_out: offered - good - 250,
        failed: 0,
        shed: 0,
        unfinished: 250,
        rejection: 0.651,
        rejection_ci95: [0.64, 0.662],
        latency_p50_s: 0.021,
        latency_p99_s: 0.948,
    };
    Simulation {
        state: "metastable".into(),
        recovery_s: None,
        projected: false,
        reason: "Goodput stayed under 5 % of the offered load, and the backlog grows.".into(),
        load_rps: load,
        replications: 8,
        recovered: 0,
        measured_s: 1216.0,
        events: 12_884_901,
        classes: [
            ("high".to_owned(), class(164_160, 60_250)),
            ("low".to_owned(), class(164_031, 51_004)),
        ]
        .into(),
        class_order: vec!["high".into(), "low".into()],
        services: names
            .iter()
            .map(|name| {
                let result = ServiceResult {
                    attempts: 571_204,
                    amplification: 1.74,
                    wasted: 0.643,
                    utilisation: 0.997,
                    served: 117_260,
                    rejected: 0,
                    shed: 0,
                    shed_by_class: Default::default(),
                    abandoned: 211_394,
                    dropped: 0,
                    failed: 4_320,
                    failed_below: 0,
                    queue_delay_mean_s: 41.2,
                    queue_delay_p99_s: 97.5,
                    queue_max: 28_451,
                };
                ((*name).to_owned(), result)
            })
            .collect(),
        service_order: names.iter().map(|n| (*n).to_owned()).collect(),
        calls_per_request: 1.74,
        calls_per_success: Some(5.13),
        floor_calls_per_request: 1.0,
        series,
        controls: Vec::new(),
    }
}

/// Thirty services that call each other in every way: fans, long calls, cycles, themselves.
pub fn tangle() -> Simulate {
    let name = |i: usize| format!("service-{i}");
    let mut result = calm();
    result.origin = origin("tangle", "tangle.yaml");
    result.graph.nodes = vec![node("client", "client", None, None)];
    result.graph.nodes.extend((0..30).map(|i| {
        let amplification = 1.0 + (i * i % 17) as f64;
        node(
            &name(i),
            if i % 9 == 8 { "cache" } else { "service" },
            Some(100.0 * (i + 1) as f64),
            Some(amplification),
        )
    }));
    let mut edges = vec![edge("client", "service-0", &[2, 0], Some(500.0), false)];
    edges.extend((1..30).map(|i| {
        edge(&name((i - 1) / 3), &name(i), &[i as u32 % 4], Some(500.0 / i as f64), i % 7 == 0)
    }));
    edges.extend(
        [(0, 25), (1, 17), (2, 2), (17, 5), (26, 8), (12, 3)]
            .map(|(a, b)| edge(&name(a), &name(b), &[1], Some(40.0), false)),
    );
    result.graph.edges = edges;
    result
}
