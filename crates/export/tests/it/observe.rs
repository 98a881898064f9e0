//! The alerts and the dashboard of `deploy/observe`, read by Prometheus: the rules by promtool and with
//! series made by hand; and everything that is watched with the names that Envoy gives it, scraped
//! from two Envoys with the filter. `PROMETHEUS`, `PROMTOOL`, `ENVOY` and `DAMPER_FILTER` name the
//! programs and the filter, as `cargo xtask test` sets them.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use damper_export::{Options, export, format};
use damper_mesh::filter::counters::PER_CLASS;
use serde_json::Value;

use crate::deploy::{panels, root, rules, yaml};
use crate::loopback::{
    End, Running, Server, ask, folder, free_port, get, program, start, with_admin,
};
use crate::random;

/// Names of alerts in the expected samples of a test.
fn fired(test: &Value) -> Vec<String> {
    let of = |key: &str| test[key].as_array().cloned().unwrap_or_default();
    let samples = of("promql_expr_test")
        .into_iter()
        .flat_map(|one| one["exp_samples"].as_array().cloned().unwrap_or_default());
    let name = |sample: Value| {
        let rest = sample["labels"].as_str()?.split_once("alertname=\"")?.1.to_owned();
        Some(rest.split('"').next()?.to_owned())
    };
    samples.filter_map(name).collect()
}

/// In the first test all is well and nothing fires; in the others each alert fires once at least.
#[test]
fn every_alert_has_series_that_fire_it() {
    let file = yaml("observe/rules_test.yaml");
    let tests = file["tests"].as_array().unwrap();
    assert!(fired(&tests[0]).is_empty());
    assert!(tests[0]["promql_expr_test"][0]["expr"].as_str().unwrap().starts_with("ALERTS{"));
    let fired: BTreeSet<String> = tests.iter().flat_map(fired).collect();
    let all: BTreeSet<String> = rules("alert").into_iter().map(|(name, _)| name).collect();
    assert_eq!(fired, all);
}

#[test]
#[ignore = "slow: needs Prometheus"]
fn promtool_takes_the_rules_and_the_series_fire_what_they_should() {
    let Some(promtool) = program("PROMTOOL") else { return };
    for (what, file) in [("check", "rules.yaml"), ("test", "rules_test.yaml")] {
        let output = Command::new(&promtool)
            .args([what, "rules", file])
            .current_dir(root().join("observe"))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned()
            + &String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{what} {file}: {said}");
        assert!(said.contains("SUCCESS"), "{what} {file}: {said}");
    }
}

/// What is made only when something happens that does not happen here: it has no data, and the
/// reason is this.
const UNSEEN: [(&str, &str); 1] = [("damper_configuration_errors", "no configuration is refused")];

/// A system whose calls fail, with a budget at the edge that lets a storm through and one behind
/// `web` that is used up at once.
const SYSTEM: &str = "damper: 1\nclasses: [high, low]\nservices: {web: {}, orders: {}}\nload: {high: 1/s, low: 1/s}\nrequests: {a: {calls: [{web: [orders]}]}}\npolicies:\n  default: {timeout: 2s, deadline: 20s}\n  \"client -> web\": {retry: {limit: 3, backoff: {kind: exponential, base: 5ms, max: 10ms, jitter: full}, budget: {kind: deposit, percent: 100%, min_per_second: 1000, ttl: 10s}}}\n  \"web -> orders\": {retry: {limit: {high: 2, low: 1}, backoff: {kind: exponential, base: 5ms, max: 10ms, jitter: full}, budget: {kind: token-bucket, max_tokens: 10, token_ratio: 0.1}}}\n";

/// The Envoy beside a caller, as it is exported, with an admin port; for the callers that are asked.
fn envoys(folder: &Path, server: u16, callers: &[(&str, u16, u16)]) -> Option<Vec<Running>> {
    let envoy = program("ENVOY")?;
    let filter = program("DAMPER_FILTER")?;
    let system = random::system(SYSTEM);
    let mut all = Vec::new();
    for (caller, listen, admin) in callers {
        let address = |name: &str| (name.to_owned(), "127.0.0.1".to_owned(), server);
        let options = Options {
            addresses: vec![address("web"), address("orders")],
            listen: [*listen, free_port()],
            numbers: false,
            ..Options::default()
        };
        let written = export(&system, format::find("envoy").unwrap(), &options);
        let name = format!("{caller}.yaml");
        let text = &written.files.iter().find(|file| file.path == name).unwrap().text;
        let text = text.replace("/etc/damper/damper-filter.wasm", &filter.display().to_string());
        let path = folder.join(name);
        std::fs::write(&path, with_admin(&text, *admin)).unwrap();
        let mut command = Command::new(&envoy);
        command.args(["--use-dynamic-base-id", "--concurrency", "1", "--log-level", "off"]);
        command.arg("--config-path").arg(path);
        all.push(start(command, *listen));
    }
    Some(all)
}

/// How many series an expression gives.
fn series(prometheus: u16, expression: &str) -> usize {
    let mut query = String::new();
    for byte in expression.bytes() {
        let _ = write!(query, "%{byte:02x}");
    }
    let body = get(prometheus, &format!("/api/v1/query?query={query}")).unwrap_or_default();
    let Ok(answer) = serde_json::from_str::<Value>(&body) else { return 0 };
    assert_ne!(answer["status"], "error", "{expression}: {answer}");
    answer["data"]["result"].as_array().map_or(0, Vec::len)
}

/// An alert that gives a value whether it holds or not.
fn without_bounds(expression: &str) -> String {
    let bounds = [" > ", " < ", " == "];
    // A week in steps of five minutes has none yet after one.
    let expression = expression.replace("[7d:5m]", "[7d:15s]");
    bounds.iter().fold(expression, |text, bound| text.replace(bound, &format!("{bound}bool ")))
}

/// Everything that has to have data: what is asked for, by the name of what asks.
fn wanted() -> Vec<(String, String)> {
    let expr = |rule: &Value| rule["expr"].as_str().unwrap().to_owned();
    let mut all: Vec<(String, String)> =
        rules("record").iter().map(|(name, rule)| (name.clone(), expr(rule))).collect();
    // What the record itself gives, too: it is what the others ask for.
    all.extend(rules("record").into_iter().map(|(name, _)| (format!("{name}, recorded"), name)));
    let alert = |(name, rule): &(String, Value)| (name.clone(), without_bounds(&expr(rule)));
    all.extend(rules("alert").iter().map(alert));
    all.extend(panels().into_iter().map(|panel| ("a panel".to_owned(), panel)));
    for position in ["edge", "outbound"] {
        for (counter, _) in PER_CLASS {
            for class in ["high", "low"] {
                let name = format!("damper_{position}_class_{class}_{counter}");
                all.push(("the filter".to_owned(), name));
            }
        }
    }
    all
}

#[test]
#[ignore = "slow: needs Prometheus and Envoy, and takes a minute"]
fn what_is_watched_has_data_in_prometheus() {
    let Some(prometheus) = program("PROMETHEUS") else { return };
    let server = Server::start(End::Status(503));
    let folder = folder("prometheus");
    let [edge, behind, edge_admin, behind_admin, port] = [(); 5].map(|()| free_port());
    let callers = [("client", edge, edge_admin), ("web", behind, behind_admin)];
    let Some(_envoys) = envoys(&folder, server.port, &callers) else { return };
    let config = format!(
        "global: {{scrape_interval: 1s, evaluation_interval: 1s}}\nrule_files: [{}]\nscrape_configs:\n- job_name: envoy\n  metrics_path: /stats/prometheus\n  static_configs: [{{targets: ['127.0.0.1:{edge_admin}', '127.0.0.1:{behind_admin}']}}]\n",
        root().join("observe/rules.yaml").display()
    );
    let file = folder.join("prometheus.yml");
    std::fs::write(&file, config).unwrap();
    let mut command = Command::new(prometheus);
    command.current_dir(&folder).arg(format!("--config.file={}", file.display()));
    command.arg(format!("--storage.tsdb.path={}", folder.join("data").display()));
    command.arg(format!("--web.listen-address=127.0.0.1:{port}"));
    let _prometheus = start(command, port);
    let over = AtomicBool::new(false);
    let mut missing = Vec::new();
    let mut firing = false;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                for class in ["high", "low"] {
                    ask(edge, "web", "GET", class);
                    ask(behind, "orders", "GET", class);
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        // Two steps of 15 s for a rate, and the 30 s that the alert waits for.
        for _ in 0..90 {
            std::thread::sleep(Duration::from_secs(1));
            missing = wanted();
            missing.retain(|(_, expression)| series(port, expression) == 0);
            let storm =
                "ALERTS{alertname=\"RetryStateGauge\",alertstate=\"firing\",position=\"edge\"}";
            firing = series(port, storm) > 0;
            if missing.is_empty() && firing {
                break;
            }
        }
        over.store(true, Ordering::Relaxed);
    });
    let metrics = get(edge_admin, "/stats/prometheus").unwrap_or_default();
    let ours: Vec<&str> = metrics.lines().filter(|line| line.starts_with("damper")).collect();
    assert!(missing.is_empty(), "no data: {missing:#?}\n{ours:#?}");
    assert!(firing, "nothing fires: {ours:#?}");
    for (name, why) in UNSEEN {
        assert_eq!(series(port, name), 0, "{name}: it is not true that {why}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}
