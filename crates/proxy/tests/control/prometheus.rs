//! A real Prometheus scrapes the admin port: what it reads, what the dashboard asks it, and the
//! alert rules. `cargo xtask test` installs it; without it these tests say so and pass.

use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use damper_control::budget::GrpcTokenBucket;
use damper_control::concurrency::{Fixed, Limit, Limiter};
use damper_control::{Backoff, Budget, Retry, RetryOn};
use damper_proxy::admin::{self, Options};
use damper_proxy::hop::{Direction, Hops, Outlook};
use damper_proxy::meters::{MeterLayer, WaitLayer};
use damper_tower::{ByHeader, Door, DoorLayer, Http, LeverLayer, Policy, RespondLayer, RetryLayer};
use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::Full;
use serde_json::{Value, json};
use tower::{Layer as _, ServiceExt as _};

use crate::ask::{pull, raw};

fn observe() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/observe")
}

/// A program that the variable names.
fn program(variable: &str) -> Option<PathBuf> {
    let path = std::env::var_os(variable).map(PathBuf::from);
    if path.is_none() {
        println!("skipped: {variable} is not set");
    }
    path
}

#[test]
#[ignore = "slow: runs promtool over hours of series"]
fn every_alert_fires_when_it_should() {
    let Some(promtool) = program("PROMTOOL") else { return };
    for arguments in
        [&["check", "rules", "proxy-rules.yaml"], &["test", "rules", "proxy-rules_test.yaml"]]
    {
        let ran = Command::new(&promtool).args(arguments).current_dir(observe()).output().unwrap();
        let said = [ran.stdout, ran.stderr].concat();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&said));
    }
}

/// An inbound and an outbound hop on which everything that is counted happens.
fn traffic(hops: &Hops, ended: Arc<AtomicBool>) -> std::thread::JoinHandle<()> {
    let classes = || vec!["high".to_owned(), "low".to_owned()];
    let outlook = Outlook { gain: vec![2.0], capacity: Some(300.0) };
    let by = ByHeader::default().with_names(["high", "low"]);
    let inbound = hops.begin("db", Direction::Inbound, classes());
    let outbound = hops.begin("web -> db", Direction::Outbound, classes());
    let lever = LeverLayer::with(inbound.lever().clone(), by.clone());
    let limit = Limiter::try_new(Limit::from(Fixed::try_new(3).unwrap()), None).unwrap();
    let door =
        DoorLayer::with(Door::new().with_workers(2).with_limit(limit), Http::default(), by.clone());
    let retry = Retry { limits: [2, 1].into(), on: RetryOn::ALL, backoff: Backoff::NONE };
    let budget = Budget::from(GrpcTokenBucket::try_new(10, 0.5).unwrap());
    let retry = RetryLayer::with(Policy::new(retry), budget, Http::default(), by.clone());
    let (at_door, at_calls) = (inbound.meters().clone(), outbound.meters().clone());
    hops.install(vec![
        inbound.with_lever(&lever).with_door(&door).with_outlook(outlook.clone()),
        outbound.with_retry(&retry).with_outlook(outlook),
    ])
    .unwrap();
    let works = tower::service_fn(|_: Request<()>| async {
        tokio::time::sleep(Duration::from_millis(5)).await;
        Ok::<_, Infallible>(Response::new(()))
    });
    let served = door.layer(WaitLayer::new(at_door.clone(), by.clone()).layer(works));
    let served = RespondLayer::default().layer(lever.layer(RespondLayer::default().layer(served)));
    let served = MeterLayer::new(at_door, Http::default(), by.clone()).layer(served);
    let tries = Arc::new(std::sync::atomic::AtomicU32::new(0));
    let fails = tower::service_fn(move |_: Request<damper_tower::body::Replay<Full<Bytes>>>| {
        let number = tries.fetch_add(1, Ordering::Relaxed);
        let (odd, stop) = (!number.is_multiple_of(3), number % 9 == 1);
        async move {
            tokio::time::sleep(Duration::from_millis(5)).await;
            let mut response = Response::new(Full::<Bytes>::default());
            *response.status_mut() =
                if odd { StatusCode::INTERNAL_SERVER_ERROR } else { StatusCode::OK };
            if stop {
                response
                    .headers_mut()
                    .insert("grpc-retry-pushback-ms", HeaderValue::from_static("-1"));
            }
            Ok::<_, Infallible>(response)
        }
    });
    let called = retry.layer(WaitLayer::new(at_calls.clone(), by.clone()).layer(fails));
    let called = MeterLayer::new(at_calls, Http::default(), by).layer(called);
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            while !ended.load(Ordering::Relaxed) {
                for class in ["high", "low"].into_iter().cycle().take(6) {
                    let request = || Request::get("/").header("x-damper-class", class);
                    tokio::spawn(served.clone().oneshot(request().body(()).unwrap()));
                    let body = Full::<Bytes>::default();
                    tokio::spawn(called.clone().oneshot(request().body(body).unwrap()));
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        });
    })
}

/// A Prometheus that ends with the test.
struct Prometheus {
    child: Child,
    at: SocketAddr,
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Prometheus {
    fn start(program: &Path, folder: &Path, target: SocketAddr) -> Self {
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let rules = observe().canonicalize().unwrap();
        let rules = rules.display();
        let config = format!(
            "global: {{scrape_interval: 1s, evaluation_interval: 1s}}\n\
             rule_files: [\"{rules}/proxy-rules.yaml\", \"{rules}/rules.yaml\"]\n\
             scrape_configs:\n- job_name: damper\n  static_configs: [{{targets: [\"{target}\"]}}]\n"
        );
        std::fs::write(folder.join("prometheus.yaml"), config).unwrap();
        let child = Command::new(program)
            .arg(format!("--config.file={}", folder.join("prometheus.yaml").display()))
            .arg(format!("--storage.tsdb.path={}", folder.join("data").display()))
            .arg(format!("--web.listen-address={free}"))
            .arg("--log.level=error")
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        Self { child, at: free }
    }

    /// The series that an expression gives; an error if it is none.
    fn query(&self, expression: &str) -> std::io::Result<Vec<Value>> {
        let encoded: String = expression.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let head = format!("GET /api/v1/query?query={encoded} HTTP/1.0\r\nhost: localhost\r\n\r\n");
        let answer = raw(self.at, &head)?;
        let json: Value = serde_json::from_str(&answer.body).unwrap_or_default();
        if json["status"] != "success" {
            return Err(std::io::Error::other(answer.body));
        }
        Ok(json["data"]["result"].as_array().cloned().unwrap_or_default())
    }
}

/// Expressions of the dashboard, and of the rules: what is recorded, and what alerts.
fn expressions() -> (Vec<String>, Vec<String>) {
    let text = |name: &str| std::fs::read_to_string(observe().join(name)).unwrap();
    let dashboard: Value = serde_json::from_str(&text("grafana/proxy-dashboard.json")).unwrap();
    let rules: Value = serde_saphyr::from_str(&text("proxy-rules.yaml")).unwrap();
    let all = |value: &Value, key: &str| value[key].as_array().unwrap().clone();
    let expr = |value: &Value| value["expr"].as_str().unwrap().to_owned();
    let mut shown: Vec<String> = all(&dashboard, "panels")
        .iter()
        .flat_map(|panel| all(panel, "targets"))
        .map(|t| expr(&t))
        .collect();
    let mut alerts = Vec::new();
    for rule in all(&rules, "groups").iter().flat_map(|group| all(group, "rules")) {
        match rule["record"].as_str() {
            Some(_) => shown.push(expr(&rule)),
            None => alerts.push(expr(&rule)),
        }
    }
    (shown, alerts)
}

#[test]
#[ignore = "slow: runs Prometheus for some seconds"]
fn prometheus_reads_all_of_it_and_every_panel_shows_something() {
    let Some(program) = program("PROMETHEUS") else { return };
    let (hops, ended) = (Hops::default(), Arc::new(AtomicBool::new(false)));
    let data = traffic(&hops, ended.clone());
    let options = Options { hops, ..Options::default() };
    let port = admin::serve("127.0.0.1:0".parse().unwrap(), options).unwrap();
    let throttle = json!({
        "action": "throttle", "hop": "db", "classes": ["low"], "to": "20/s", "who": "a", "why": "b",
    });
    assert_eq!(pull(port.address(), &throttle).status, 200);
    let folder = tempfile::tempdir().unwrap();
    let prometheus = Prometheus::start(&program, folder.path(), port.address());
    let (shown, alerts) = expressions();
    assert!(shown.len() > 18 && alerts.len() > 6, "{} {}", shown.len(), alerts.len());
    // Rates need two scrapes, quantiles of waits some requests; a busy machine takes its time.
    let mut empty = shown.clone();
    // What the rules of the filter say holds for the proxy, too, an evaluation later.
    let ratio = "damper:amplification:ratio5m{position=\"proxy\", class=\"high\"} >= 1";
    empty.extend([ratio.to_owned(), "up == 1 and scrape_samples_scraped > 100".to_owned()]);
    for _ in 0..60 {
        std::thread::sleep(Duration::from_secs(1));
        empty.retain(|expression| {
            prometheus.query(expression).map_or(true, |series| series.is_empty())
        });
        if empty.is_empty() {
            break;
        }
    }
    assert!(empty.is_empty(), "nothing to show for {empty:#?}");
    for alert in &alerts {
        if let Err(error) = prometheus.query(alert) {
            panic!("{alert}: {error}");
        }
    }
    ended.store(true, Ordering::Relaxed);
    data.join().unwrap();
}
