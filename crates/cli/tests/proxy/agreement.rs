//! The same system file in `damper simulate` and through `damper proxy`: goodput, amplification and
//! hidden capacity of both, side by side.
//!
//! `cargo xtask live proxy` runs it and writes `docs/proxy-agreement.md` (`DAMPER_PAGE` names the
//! file).

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use damper_drill::load::Tally;
use serde_json::Value;
use tokio::time::Instant;

use crate::backend::{Backend, Capacity};
use crate::caller::{Wanted, good, load};
use crate::side::{Hop, Sidecar};
use crate::slower;

/// The relative difference that is allowed.
const AIM: f64 = 0.10;
const WORKERS: usize = 10;
/// Per second, at the pace of the file.
const CAPACITY: f64 = 100.0;
const SERVICE_TIME: Duration = Duration::from_millis(100);

/// A queue that fills, two classes, and everything that a policy has.
const FULL: Case = Case {
    name: "a short queue, retries by class with backoff and a token bucket",
    service: "workers: 10, service_time: T100, queue: 20",
    policy: "timeout: T2000, retry: {limit: {high: 3, low: 1}, backoff: {kind: exponential, base: T50, factor: 2, max: T400, jitter: full}, budget: {kind: token-bucket, max_tokens: 100, token_ratio: 0.1}}",
    queue: Some(20),
};
/// The same with nothing that bounds retries over all calls.
const FREE: Case = Case {
    name: "a short queue, retries by class with backoff and no budget",
    service: FULL.service,
    policy: "timeout: T2000, retry: {limit: {high: 3, low: 1}, backoff: {kind: exponential, base: T50, factor: 2, max: T400, jitter: full}}",
    queue: FULL.queue,
};
/// `examples/retry-storm.yaml` at a third of its size.
const STORM: Case = Case {
    name: "the retry storm: one retry after a timeout of a second",
    service: "workers: 10, service_time: T100",
    policy: "timeout: T1000, retry: {limit: 1}",
    queue: None,
};
/// The same where only the important third may retry.
const CLASSES: Case = Case {
    name: "the retry storm, with retries for high alone",
    service: STORM.service,
    policy: "timeout: T1000, retry: {limit: {high: 1, low: 0}}",
    queue: None,
};

/// One policy before one service.
#[derive(Clone, Copy)]
struct Case {
    name: &'static str,
    service: &'static str,
    policy: &'static str,
    queue: Option<usize>,
}

/// Loads beside the capacity of 100/s, where goodput and amplification are compared.
const LOADS: [f64; 5] = [50.0, 80.0, 100.0, 120.0, 150.0];
/// Loads among which the live hidden capacity is looked for: shares of the predicted one.
const STEPS: [f64; 11] = [0.7, 0.8, 0.85, 0.9, 0.94, 0.98, 1.02, 1.06, 1.1, 1.2, 1.3];
/// Seconds of a run with a short queue: to settle, and measured.
const SETTLE: usize = 5;
const MEASURED: u32 = 40;
/// The trigger of a storm, how long it is watched, and from when on it is judged.
const TRIGGER: u64 = 5;
const OUTAGE: Duration = Duration::from_secs(2);
const WATCHED: u32 = 70;
const JUDGED: usize = 58;

impl Case {
    /// The system file with so many services that are alike, each with a third of its load in high,
    /// at a pace.
    fn system(&self, count: usize, rate: f64, slower: u32) -> String {
        let each = |line: &dyn Fn(usize) -> String| -> String { (0..count).map(line).collect() };
        let (high, low) = (rate / 3.0, rate / 1.5);
        let share = 100.0 / count as f64;
        let text = format!(
            "damper: 1\nclasses: [high, low]\nservices:\n{}load: {{high: {high}/s, low: {low}/s}}\nrequests:\n{}policies:\n{}triggers:\n  blip: [{{outage: db0, for: T2000}}]\nexperiment: {{warmup: {SETTLE}s, trigger_at: 30s, watch: 120s, seed: 1}}\n",
            each(&|n| format!("  db{n}: {{{}}}\n", self.service)),
            each(&|n| format!("  q{n}: {{share: {share}%, calls: [db{n}]}}\n")),
            each(&|n| format!("  \"client -> db{n}\": {{{}}}\n", self.policy)),
        );
        // `T100` is 100 ms at the pace of the file.
        [2000, 1000, 400, 100, 50]
            .iter()
            .fold(text, |text, ms| text.replace(&format!("T{ms}"), &format!("{}ms", ms * slower)))
    }
}

/// What `damper WORDS --json` says of a system.
fn damper(system: &str, words: &[&str]) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("system.yaml");
    std::fs::write(&file, system).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_damper"))
        .args([words[0], file.to_str().unwrap(), "--json"])
        .args(&words[1..])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words:?}: {said}\n{system}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Goodput per second and attempts per request.
#[derive(Clone, Copy, Debug)]
struct Figures {
    goodput: f64,
    amplification: f64,
}

fn simulated(case: Case, rate: f64) -> Figures {
    // Without its trigger, and for long enough that chance is small beside what is allowed.
    let said = damper(
        &case.system(1, rate, 1),
        &["simulate", "--set", "triggers={}", "--set", "experiment.watch=600s"],
    );
    let of = |key: &str| -> f64 {
        let classes = said["classes"].as_object().unwrap().values();
        classes.map(|class| class[key].as_f64().unwrap()).sum()
    };
    let attempts = said["services"]["db0"]["attempts"].as_f64().unwrap();
    let offered = of("offered");
    Figures { goodput: rate * of("good") / offered, amplification: attempts / offered }
}

/// The same loads, live, all at the same time.
async fn live(case: Case) -> Vec<(Figures, f64)> {
    let capacity =
        Capacity { workers: WORKERS, service_time: SERVICE_TIME * slower(), queue: case.queue };
    let (backends, sidecar) = start(case, capacity, LOADS.len()).await;
    let begun = Instant::now();
    let loads: Vec<_> = LOADS
        .iter()
        .enumerate()
        .map(|(n, rate)| tokio::spawn(load(wanted(sidecar.port(n), *rate, MEASURED, n))))
        .collect();
    tokio::time::sleep_until(begun + Duration::from_secs(SETTLE as u64) * slower()).await;
    let before: Vec<u64> = backends.iter().map(Backend::attempts).collect();
    tokio::time::sleep_until(begun + Duration::from_secs(u64::from(MEASURED)) * slower()).await;
    let after: Vec<u64> = backends.iter().map(Backend::attempts).collect();
    let mut figures = Vec::new();
    for (n, one) in loads.into_iter().enumerate() {
        let tally = one.await.unwrap();
        let (ok, all) = counted(&tally, SETTLE, MEASURED as usize);
        let seconds = f64::from(MEASURED) - SETTLE as f64;
        let attempts = (after[n] - before[n]) as f64;
        // Shares, so that what chance made of the load does not count.
        let found = Figures { goodput: LOADS[n] * ok / all, amplification: attempts / all };
        figures.push((found, all / seconds));
    }
    figures
}

/// Good replies, and all, of both classes.
fn counted(tally: &Tally, from: usize, to: usize) -> (f64, f64) {
    let (from, to) = (from * slower() as usize, to * slower() as usize);
    let of = |class: usize| -> (f64, f64) {
        let all: u64 = tally.parts[from..to].iter().map(|p| p[class].iter().sum::<u64>()).sum();
        (good(tally, class, from, to) * all as f64, all as f64)
    };
    let (high, low) = (of(0), of(1));
    (high.0 + low.0, high.1 + low.1)
}

async fn start(case: Case, capacity: Capacity, count: usize) -> (Vec<Backend>, Sidecar) {
    let mut backends = Vec::new();
    for _ in 0..count {
        backends.push(Backend::start(capacity).await);
    }
    let hop = |(n, backend): (usize, &Backend)| Hop {
        what: format!("call: \"client -> db{n}\""),
        upstream: backend.port,
    };
    let hops: Vec<Hop> = backends.iter().enumerate().map(hop).collect();
    let sidecar = Sidecar::start(&case.system(count, 100.0, slower()), &hops);
    (backends, sidecar)
}

fn wanted(port: u16, rate: f64, seconds: u32, n: usize) -> Wanted {
    let slow = f64::from(slower());
    Wanted {
        port,
        rates: vec![("high", rate / slow / 3.0), ("low", rate / slow / 1.5)],
        seconds: seconds * slower(),
        patience: Duration::from_secs(10) * slower(),
        seed: 100 + n as u64,
    }
}

/// What the model says of the hidden capacity.
fn predicted_hidden(case: Case) -> f64 {
    let said = damper(&case.system(1, 40.0, 1), &["headroom", "--no-remedies"]);
    said["hidden_rps"].as_f64().unwrap()
}

/// The highest load that healed, and the lowest that did not.
async fn live_hidden(case: Case, predicted: f64) -> (f64, f64) {
    let capacity =
        Capacity { workers: WORKERS, service_time: SERVICE_TIME * slower(), queue: case.queue };
    let (backends, sidecar) = start(case, capacity, STEPS.len()).await;
    let from = Instant::now() + Duration::from_secs(TRIGGER) * slower();
    backends.iter().for_each(|backend| backend.outage(from, OUTAGE * slower()));
    let rate = |step: f64| (step * predicted).min(0.98 * CAPACITY);
    let loads: Vec<_> = STEPS
        .iter()
        .enumerate()
        .map(|(n, step)| tokio::spawn(load(wanted(sidecar.port(n), rate(*step), WATCHED, n))))
        .collect();
    let (mut heals, mut fails) = (0.0, f64::INFINITY);
    for (one, step) in loads.into_iter().zip(STEPS) {
        let tally = one.await.unwrap();
        let (ok, all) = counted(&tally, JUDGED, WATCHED as usize);
        println!("  {:.1}/s: {:.1} % good at the end", rate(step), 100.0 * ok / all);
        if ok / all >= 0.9 {
            heals = f64::max(heals, rate(step));
        } else {
            fails = f64::min(fails, rate(step));
        }
    }
    (heals, fails)
}

#[test]
#[ignore = "slow: several minutes of load"]
fn what_is_simulated_is_what_is_deployed() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let mut page = HEAD.to_owned();
    let mut wrong = Vec::new();
    let mut check = |what: String, live: f64, simulated: f64| -> f64 {
        let difference = live / simulated - 1.0;
        if difference.abs() > AIM {
            wrong.push(format!("{what}: {live:.2} live, {simulated:.2} simulated"));
        }
        difference * 100.0
    };
    for case in [FULL, FREE] {
        let found = runtime.block_on(live(case));
        let _ = write!(page, "\n## {}\n{TABLE}", title(case.name));
        for (rate, (live, offered)) in LOADS.into_iter().zip(found) {
            let simulated = simulated(case, rate);
            let name = format!("{} at {rate}/s", case.name);
            let good = check(format!("goodput, {name}"), live.goodput, simulated.goodput);
            let attempts = check(
                format!("amplification, {name}"),
                live.amplification,
                simulated.amplification,
            );
            let _ = writeln!(
                page,
                "| {rate:.0} | {offered:.1} | {:.1} | {:.1} | {good:+.1} % | {:.3} | {:.3} | {attempts:+.1} % |",
                live.goodput, simulated.goodput, live.amplification, simulated.amplification,
            );
        }
    }
    let _ = write!(page, "\n## Hidden capacity\n{HIDDEN}");
    for case in [STORM, CLASSES] {
        println!("{}", case.name);
        let predicted = predicted_hidden(case);
        let (heals, fails) = runtime.block_on(live_hidden(case, predicted));
        let live = if fails.is_finite() { f64::midpoint(heals, fails) } else { heals };
        let difference = check(format!("hidden capacity, {}", case.name), live, predicted);
        let _ = writeln!(
            page,
            "| {} | {predicted:.1} | {heals:.1} | {fails:.1} | {difference:+.1} % |",
            case.name
        );
    }
    println!("{page}");
    if let Some(path) = std::env::var_os("DAMPER_PAGE") {
        std::fs::write(Path::new(&path), &page).unwrap();
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn title(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

const HEAD: &str = "\
<!-- @generated by `cargo xtask live proxy` -->
# The sidecar and the simulator, side by side

Is what is simulated what is deployed? The same system file is given to `damper simulate` and to
`damper proxy`. Live, an open-loop load of Poisson arrivals (`damper-drill`) goes through an outbound
hop of the sidecar to a service with ten workers that take 100 ms each, first in, first out, which
does not notice that callers have gone: it does 100 requests per second. A third of the load has
the class `high`. Everything is on one machine, on the loopback interface, and all loads of a table
run at the same time, each with a hop and a service of its own.

Goodput is good replies per second of the load that was asked for, amplification is attempts that
arrive at the service per request. The aim is a difference of at most 10 %; the test that writes this
page fails beyond it. Live figures are one run of 35 s, simulated ones of 10 minutes.
";

const TABLE: &str = "
| load/s | sent/s | goodput, live | simulated | difference | amplification, live | simulated | difference |
|---:|---:|---:|---:|---:|---:|---:|---:|
";

const HIDDEN: &str = "
`damper headroom` bisects for the highest load from which the system recovers after an outage of two
seconds. Live, eleven loads around that are tried at the same time and watched for a minute after
the trigger; beside the prediction stand the highest that healed and the lowest that did not, and the
difference is that of the middle between them.

| policy | predicted/s | heals/s | does not/s | difference |
|---|---:|---:|---:|---:|
";
