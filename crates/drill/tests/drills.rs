//! Plans carried out on a small server of the test's own: what ends them, what is refused, and what a
//! record says of those who send.
#![allow(missing_docs)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::future::{Future, pending};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::time::Duration;

use damper_drill::{Consent, Drilling, Ended, Ledger, People, Places, Run, Searched};
use damper_system::{Drill, DrillFile};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::watch;

/// Answers all with a page of metrics; while there is a file at `broken`, with 503.
async fn server(broken: PathBuf) -> u16 {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let broken = broken.clone();
            tokio::spawn(async move {
                let (mut buffer, mut filled) = ([0; 4096], 0);
                while let Ok(read @ 1..) = stream.read(&mut buffer[filled..]).await {
                    filled += read;
                    if !buffer[..filled].ends_with(b"\r\n\r\n") {
                        continue;
                    }
                    filled = 0;
                    let word = if broken.exists() { "503 Busy" } else { "200 OK" };
                    let text = format!("HTTP/1.1 {word}\r\ncontent-length: 5\r\n\r\nup 0\n");
                    if stream.write_all(text.as_bytes()).await.is_err() {
                        return;
                    }
                }
            });
        }
    });
    port
}

/// Never answers.
struct Nobody;

impl People for Nobody {
    fn ask<'a>(&'a self, _: &'a str) -> Pin<Box<dyn Future<Output = Option<String>> + 'a>> {
        Box::pin(pending())
    }
}

struct Plan {
    folder: tempfile::TempDir,
    drill: Drill,
}

/// `{port}` is the server's, `{broken}` the file that breaks it.
async fn plan(rest: &str) -> Plan {
    let folder = tempfile::tempdir().unwrap();
    let broken = folder.path().join("broken");
    let port = server(broken.clone()).await;
    let text = format!(
        "drill: 1\ntarget: http://127.0.0.1:{port}/\ninterval: 100ms\n\
         recovered: {{hold: 300ms}}\n{}\n",
        rest.replace("{port}", &port.to_string())
            .replace("{broken}", &broken.display().to_string())
            .replace("{folder}", &folder.path().display().to_string())
    );
    let drill = DrillFile::parse("plan.yaml", &text).and_then(|file| file.lower());
    let drill = drill.unwrap_or_else(|problems| panic!("{problems}"));
    Plan { folder, drill }
}

async fn with<T>(plan: &Plan, what: impl AsyncFnOnce(Drilling<'_>) -> T) -> T {
    let mut ledger = ledger(plan.folder.path());
    let (_hold, stop) = watch::channel(false);
    let drilling = Drilling {
        drill: &plan.drill,
        system: plan.drill.plant.as_ref().map(|plant| &plant.system),
        places: &Places::default(),
        consent: &Consent::of(&plan.drill, &[]).unwrap(),
        ledger: &mut ledger,
        people: &Nobody,
        stop,
        say: &|_| {},
    };
    let done = tokio::time::timeout(Duration::from_secs(60), what(drilling)).await;
    done.expect("it must end by itself")
}

fn ledger(folder: &Path) -> Ledger {
    Ledger::open(&folder.join("undo.json"), None).unwrap()
}

async fn run(plan: &Plan) -> Result<Run, String> {
    let run = async |drilling: Drilling<'_>| damper_drill::run(drilling).await;
    with(plan, run).await.map_err(|error| error.to_string())
}

async fn search(plan: &Plan) -> Result<Searched, String> {
    let search = async |drilling: Drilling<'_>| damper_drill::search(drilling, None, &|_| {}).await;
    with(plan, search).await.map_err(|error| error.to_string())
}

#[tokio::test]
async fn an_abort_condition_holds_while_a_person_is_asked() {
    let plan = plan(
        "load: 100/s\ngood_within: 1us\nabort: [{goodput: 50%, for: 500ms}]\n\
         phases: [{load: 100%, over: 0s}, {ask: Is the pager on?}]",
    )
    .await;
    let run = run(&plan).await.unwrap();
    assert!(matches!(run.ended, Ended::Aborted(_)), "{:?}", run.ended);
}

#[tokio::test]
async fn a_lever_without_the_command_is_refused_wherever_it_is_pulled() {
    let rest = "load: 10/s\nlevers: {door: {open: 'true', throttle: 'true'}}\n";
    for (more, searches) in [
        ("phases: [{load: 100%}, {lever: door, pull: pause}]", false),
        (
            "triggers: {shut: {lever: door, pull: pause}}\n\
             phases: [{load: 100%}, {start: shut, for: 1s}]",
            false,
        ),
        (
            "triggers: {t: {start: 'true', stop: 'true'}}\nheadroom: {lever: door}\n\
             phases: [{load: 100%}]",
            true,
        ),
    ] {
        let plan = plan(&format!("{rest}{more}")).await;
        let refused = match searches {
            true => search(&plan).await.map(|_| ()),
            false => run(&plan).await.map(|_| ()),
        };
        let why = refused.expect_err("it would do nothing, and be believed");
        assert_eq!(why, "the lever door has no command for `pause`", "{more}");
    }
}

const SEARCH: &str = "load: 100/s\nbounds: {rate: 200/s}\n\
    triggers: {t: {start: 'touch {broken}', stop: 'rm -f {broken}'}}\n\
    metrics: {up: {scrape: 'http://127.0.0.1:{port}/', series: up}}\n\
    phases: [{load: 100%}]\n\
    headroom: {from: 50/s, to: 100/s, for: 100ms, ramp: 100ms, steady: 500ms, watch: 1s, drain: 1s}\n";

#[tokio::test]
async fn a_search_is_well_only_where_the_metric_is() {
    let mut plan = plan(SEARCH).await;
    let limit = damper_system::Limit::Above(0.5);
    plan.drill.recovered.metric = Some(damper_system::Watched { metric: 0, limit });
    let found = search(&plan).await.unwrap().hidden;
    assert!(found.ended_early.as_ref().unwrap().contains("it stays bad"), "{found:?}");
}

#[tokio::test]
async fn an_abort_condition_on_a_metric_ends_a_search() {
    let abort = "abort: [{metric: up, below: 0.5, for: 200ms}]";
    let plan = plan(&format!("{SEARCH}{abort}")).await;
    let found = search(&plan).await.unwrap().hidden;
    assert!(found.ended_early.as_ref().unwrap().contains("up below 0.5"), "{found:?}");
    assert!(found.probes.is_empty());
}

const STORM: &str = "load: 100/s\ncallers: naive\nretries: 3\n\
    triggers: {t: {start: 'touch {broken}', stop: 'rm -f {broken}'}}\n\
    phases: [{load: 100%, over: 0s}, {hold: 700ms}, {start: t, for: 700ms}, {recover: 5s}]\n\
    expect: [{amplification: 10x}, {recovery: 5s}]\n";

#[tokio::test]
async fn attempts_of_callers_that_retry_are_counted_where_no_server_does() {
    let plan = plan(&format!("{STORM}bounds: {{rate: 10000/s}}")).await;
    let record = run(&plan).await.unwrap().record;
    assert_eq!((record.amplification_by.as_str(), record.withheld), ("client", 0));
    // Four attempts for one while it is broken, and the way back to well is in it, too.
    let factor = record.amplification.unwrap();
    assert!((1.5..=4.2).contains(&factor), "{factor}");
    assert!(record.attempts > record.offered, "{} {}", record.attempts, record.offered);
    assert!(record.expectations.iter().all(|e| e.met == Some(true)), "{:?}", record.expectations);
}

#[tokio::test]
async fn where_the_bounds_cut_a_storm_off_nothing_good_is_known() {
    let plan = plan(&format!("{STORM}bounds: {{rate: 120/s}}")).await;
    let record = run(&plan).await.unwrap().record;
    assert!(record.withheld > 0);
    for e in &record.expectations {
        assert!(e.met.is_none() && e.measured.contains("held back"), "{e:?}");
    }
}

#[tokio::test]
async fn a_load_that_changes_is_bounded_at_its_peak() {
    let system = tempfile::tempdir().unwrap();
    let path = system.path().join("system.yaml");
    let text = "damper: 1\nservices: {a: {workers: 1, service_time: 1ms}}\n\
        requests: {r: {calls: [a]}}\nload: {burst: {base: 10/s, peak: 300/s, every: 10s, for: 1s}}\n";
    std::fs::write(&path, text).unwrap();
    let plan = plan(&format!(
        "system: {}\nbounds: {{rate: 200/s}}\nphases: [{{load: 100%}}]",
        path.display()
    ))
    .await;
    let why = run(&plan).await.unwrap_err();
    assert!(why.contains("the load reaches 300"), "{why}");
}

/// Ports at which the classes of requests were counted: by target, by path.
async fn counting(seen: std::sync::Arc<std::sync::Mutex<Vec<String>>>, name: &'static str) -> u16 {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let seen = seen.clone();
            tokio::spawn(async move {
                let (mut buffer, mut filled) = ([0; 4096], 0);
                while let Ok(read @ 1..) = stream.read(&mut buffer[filled..]).await {
                    filled += read;
                    let text = String::from_utf8_lossy(&buffer[..filled]).to_ascii_lowercase();
                    // A body is `{}` or nothing.
                    if !text.ends_with("\r\n\r\n") && !text.ends_with("{}") {
                        continue;
                    }
                    filled = 0;
                    let class = text.split("x-damper-class: ").nth(1).unwrap();
                    let class = class.lines().next().unwrap().trim().to_owned();
                    let line = text.lines().next().unwrap().replace(" http/1.1", "");
                    seen.lock().unwrap().push(format!("{name} {line} {class}"));
                    if stream
                        .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
                        .await
                        .is_err()
                    {
                        return;
                    }
                }
            });
        }
    });
    port
}

#[tokio::test]
async fn a_load_goes_to_several_targets_with_requests_from_a_file() {
    let seen = std::sync::Arc::default();
    let (web, pay) =
        (counting(std::sync::Arc::clone(&seen), "web").await, counting(seen.clone(), "pay").await);
    let requests = tempfile::NamedTempFile::new().unwrap();
    let text = "requests: 1\nclasses: [high, low]\nsend:\n\
        \x20 home: {path: /, weight: 3}\n\
        \x20 order: {path: /orders, method: POST, body: '{}', class: high}\n";
    std::fs::write(requests.path(), text).unwrap();
    let plan = plan(&format!(
        "load:\n\
         \x20 - {{rate: {{high: 100/s, low: 100/s}}, target: 'http://127.0.0.1:{web}/', requests: {}}}\n\
         \x20 - {{rate: {{high: 0/s, low: 50/s}}, target: 'http://127.0.0.1:{pay}/pay'}}\n\
         arrivals: even\nphases: [{{load: 100%, over: 0s}}, {{hold: 1s}}]",
        requests.path().display()
    ))
    .await;
    let record = run(&plan).await.unwrap().record;
    assert_eq!((record.load_rps, record.ended.as_str()), (250.0, "done"));
    assert!(record.target.contains(&web.to_string()) && record.target.contains(&pay.to_string()));
    let seen: Vec<String> = seen.lock().unwrap().clone();
    let count = |what: &str| seen.iter().filter(|line| *line == what).count() as f64;
    let [home, order, low] =
        ["web get / high", "web post /orders high", "web get / low"].map(count);
    let paid = count("pay get /pay low");
    assert!((home + order + low + paid - seen.len() as f64).abs() < 0.5, "nothing else: {seen:?}");
    // By their rates, whatever the machine lets through: two to one, and one to three.
    assert!((1.4..=2.6).contains(&((home + order) / paid)), "{home} {order} {paid}");
    assert!((1.4..=2.6).contains(&(low / paid)), "{low} {paid}");
    assert!((1.5..=6.0).contains(&(home / order)), "{home} {order}");
    let offered: u64 = record.classes.iter().map(|class| class.offered).sum();
    assert!(offered as usize >= seen.len(), "{offered} {}", seen.len());
    assert!(record.classes.iter().all(|class| class.p50_ms > 0.0), "{:?}", record.classes);
}

#[tokio::test]
async fn callers_follow_the_policy_of_a_system_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("system.yaml");
    let text = "damper: 1\nservices: {db: {workers: 1, service_time: 1ms}}\nload: 1/s\n\
        requests: {r: {calls: [db]}}\npolicies: {db: {retry: {limit: 2}}}\n";
    std::fs::write(&path, text).unwrap();
    let storm = STORM.replace("callers: naive\nretries: 3\n", "");
    let plan = plan(&format!(
        "{storm}bounds: {{rate: 10000/s}}\ncallers: {{edge: client -> db, file: {}}}",
        path.display()
    ))
    .await;
    let record = run(&plan).await.unwrap().record;
    // Three attempts for one while it is broken, and never a fourth.
    let factor = record.amplification.unwrap();
    assert!((1.3..=3.2).contains(&factor), "{factor}");
    assert!(record.attempts > record.offered, "{} {}", record.attempts, record.offered);
}
