//! `examples/retry-storm.yaml` at a third of its size: it collapses with the retries that everybody
//! writes, and heals with the sidecar in between, whichever budget that has.

use std::time::Duration;

use tokio::time::Instant;

use crate::backend::{Backend, Capacity};
use crate::caller::{Wanted, good, load, naive};
use crate::side::{Hop, Sidecar};

/// A third of the example's workers, and of its load.
const WORKERS: usize = 10;
const SERVICE_TIME: Duration = Duration::from_millis(100);
const LOAD: f64 = 90.0;
const TIMEOUT: Duration = Duration::from_secs(1);
/// The outage begins, in seconds, and lasts.
const TRIGGER: u64 = 6;
const OUTAGE: Duration = Duration::from_secs(2);
/// When the load ends, and from when on it is judged.
const END: u32 = 80;
const JUDGED: usize = 70;

/// Every budget. Those that are a share of the load bound the loop up to a load of capacity /
/// (1 + share), which at nine tenths of the capacity is a share of a tenth; what they grant beside it
/// was chosen for larger systems than this.
const BUDGETS: &[(&str, &str)] = &[
    ("token-bucket", ""),
    ("aws-standard", ""),
    ("aws-2026", ""),
    ("per-minute", ""),
    ("arb", ""),
    ("retry-guard", ""),
    ("finagle", ", percent: 5%, min_per_second: 1"),
    ("tower", ", percent: 5%, min_per_second: 1"),
    ("linkerd", ", percent: 5%, min_per_second: 1"),
    ("deposit", ", percent: 5%, min_per_second: 1"),
    ("google", ", percent: 5%"),
    ("envoy", ", percent: 5%, min_retry_concurrency: 1"),
    ("ratio", ", percent: 5%, min_retry_concurrency: 1"),
    ("failsafe", ", max_rate: 5%, min_concurrency: 1"),
];

/// One service and one kind of request for each budget, so that all are hops of one sidecar.
fn system(slower: u32) -> String {
    let mut text = "damper: 1\nservices:\n".to_owned();
    let each = |line: &dyn Fn(usize, &(&str, &str)) -> String| -> String {
        BUDGETS.iter().enumerate().map(|(n, budget)| line(n, budget)).collect()
    };
    text += &each(&|n, _| format!("  db{n}: {{workers: 10, service_time: {}ms}}\n", 100 * slower));
    text += "load: 90/s\nrequests:\n";
    let share = 100.0 / BUDGETS.len() as f64;
    text += &each(&|n, _| format!("  q{n}: {{share: {share}%, calls: [db{n}]}}\n"));
    text += "policies:\n";
    text += &each(&|n, (name, more)| {
        format!(
            "  \"client -> db{n}\": {{timeout: {slower}s, retry: {{limit: 1, budget: {{kind: {name}{more}}}}}}}\n"
        )
    });
    text
}

#[test]
fn every_budget_is_tried() {
    let known = damper_control::registry::of(damper_control::Kind::Budget);
    for entry in known.filter(|entry| entry.name != "none") {
        assert!(BUDGETS.iter().any(|(name, _)| *name == entry.name), "{} is missing", entry.name);
    }
}

#[test]
#[ignore = "slow: a storm takes a minute"]
fn it_collapses_without_the_sidecar_and_heals_with_it() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let slower = crate::slower();
        let capacity =
            Capacity { workers: WORKERS, service_time: SERVICE_TIME * slower, queue: None };
        let at = |second: usize| second * slower as usize;
        let mut backends = Vec::new();
        for _ in 0..=BUDGETS.len() {
            backends.push(Backend::start(capacity).await);
        }
        let hop = |(n, backend): (usize, &Backend)| Hop {
            what: format!("call: \"client -> db{n}\""),
            upstream: backend.port,
        };
        let hops: Vec<Hop> = backends[..BUDGETS.len()].iter().enumerate().map(hop).collect();
        let sidecar = Sidecar::start(&system(slower), &hops);
        let alone = naive(backends[BUDGETS.len()].port, TIMEOUT * slower, 2).await;
        let from = Instant::now() + Duration::from_secs(TRIGGER) * slower;
        backends.iter().for_each(|backend| backend.outage(from, OUTAGE * slower));
        let mut loads = Vec::new();
        for n in 0..=BUDGETS.len() {
            let port = if n < BUDGETS.len() { sidecar.port(n) } else { alone };
            loads.push(tokio::spawn(load(Wanted {
                port,
                rates: vec![("default", LOAD / f64::from(slower))],
                seconds: END * slower,
                patience: Duration::from_secs(5) * slower,
                seed: n as u64 + 1,
            })));
        }
        let mut wrong = Vec::new();
        let mut late = 0;
        for (n, one) in loads.into_iter().enumerate() {
            let tally = one.await.unwrap();
            late = late.max(tally.late_us.value_at_quantile(0.99));
            let name = BUDGETS.get(n).map_or("without the sidecar", |budget| budget.0);
            let before = good(&tally, 0, at(2), at(TRIGGER as usize - 1));
            let after = good(&tally, 0, at(JUDGED), at(END as usize));
            let attempts = backends[n].attempts() as f64 / tally.class(0).total() as f64;
            println!(
                "{name:<20} good before {:.1} %, at the end {:.1} %, {attempts:.2} attempts each",
                before * 100.0,
                after * 100.0
            );
            if before < 0.99 {
                wrong.push(format!("{name}: {before:.3} good before anything happened"));
            }
            let collapsed = n == BUDGETS.len();
            if if collapsed { after > 0.2 } else { after < 0.95 } {
                wrong.push(format!("{name}: {after:.3} good at the end"));
            }
        }
        println!("sent {:.1} ms late (p99)", late as f64 / 1e3);
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    });
}
