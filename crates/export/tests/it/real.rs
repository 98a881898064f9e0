//! What is written, run by the software it is for. `ENVOY`, `NGINX`, `HAPROXY` and `EXPORT_PYTHON` name
//! its programs, as `cargo xtask test` sets them; without one there is nobody to ask. Everything is
//! on the loopback interface, and ends with the test.

use std::path::Path;
use std::process::Command;

use damper_export::{Options, Written, export, format};

use crate::loopback::{End, Server, ask, folder, free_port, get, program, start, with_admin};
use crate::random;
use crate::round_trip::{HEADER, with};

const SYSTEM: &str = "damper: 1\nclasses: [high, normal, low]\nservices: {orders: {}}\nload: {high: 1/s, normal: 1/s, low: 1/s}\nrequests: {a: {calls: [orders]}}\npolicies:\n  orders:\n    timeout: 300ms\n    deadline: 20s\n    retry: {limit: {high: 3, normal: 1, low: 0}, backoff: {kind: exponential, base: 5ms, max: 20ms, jitter: full}}\n";

fn written(id: &str, server: u16, listen: u16, change: &str) -> Written {
    let text = SYSTEM.replace("deadline: 20s\n", &format!("deadline: 20s\n{change}"));
    let options = Options {
        plain: true,
        addresses: vec![("orders".into(), "127.0.0.1".into(), server)],
        listen: [listen, free_port()],
        ..Options::default()
    };
    export(&random::system(&text), format::find(id).unwrap(), &options)
}

/// Makes a command that runs what was written, from its folder.
type Runs<'a> = &'a dyn Fn(&Path, &Written) -> Command;

/// Attempts by class are those that were asked for, whatever ends them; an unknown class is the
/// lowest.
fn counts(id: &str, ends: &[(End, bool)], run: Runs<'_>) {
    for (end, retried) in ends {
        let server = Server::start(*end);
        let port = free_port();
        let folder = folder(id);
        let written = written(id, server.port, port, "");
        let _running = start(run(&folder, &written), port);
        for (class, limit) in [("high", 3), ("normal", 1), ("low", 0), ("other", 0)] {
            let status = ask(port, "orders", "GET", class);
            assert!(status >= 400, "{id}: {class}: {status}");
            let expected = if *retried { limit + 1 } else { 1 };
            assert_eq!(server.count(class), expected, "{id}: {class}");
        }
        std::fs::remove_dir_all(folder).unwrap();
    }
}

/// What must not be done twice is retried only where it was refused.
fn once(id: &str, run: Runs<'_>) {
    for (end, expected) in [(End::Status(503), 4), (End::Broken, 1), (End::Silent, 1)] {
        let server = Server::start(end);
        let port = free_port();
        let folder = folder(id);
        let written = written(id, server.port, port, "    idempotent: false\n");
        let _running = start(run(&folder, &written), port);
        ask(port, "orders", "GET", "high");
        assert_eq!(server.count("high"), expected, "{id}");
        std::fs::remove_dir_all(folder).unwrap();
    }
}

#[test]
#[ignore = "slow: needs Envoy"]
fn envoy_makes_the_attempts_that_were_asked_for() {
    let Some(envoy) = program("ENVOY") else { return };
    let run = |folder: &Path, written: &Written| {
        let file = folder.join("client.yaml");
        std::fs::write(&file, &written.files[0].text).unwrap();
        let mut command = Command::new(&envoy);
        command.args(["--use-dynamic-base-id", "--concurrency", "1", "--log-level", "off"]);
        command.arg("--config-path").arg(file);
        command
    };
    let ends = [End::Status(503), End::Status(500), End::Status(429), End::Broken, End::Silent];
    let mut ends: Vec<_> = ends.into_iter().map(|end| (end, true)).collect();
    ends.push((End::Status(404), false));
    counts("envoy", &ends, &run);
    once("envoy", &run);
}

#[test]
#[ignore = "slow: needs Envoy"]
fn envoy_takes_every_file() {
    let Some(envoy) = program("ENVOY") else { return };
    let system = random::system(include_str!("../systems/shop.yaml"));
    let options = Options { plain: true, ..Options::default() };
    let written = export(&system, format::find("envoy").unwrap(), &options);
    assert_eq!(written.files.len(), 4);
    let folder = folder("validate");
    for file in &written.files {
        let path = folder.join(&file.path);
        std::fs::write(&path, &file.text).unwrap();
        let output = Command::new(&envoy)
            .args(["--mode", "validate", "--log-level", "error", "--config-path"])
            .arg(&path)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {said}\n{}", file.path, file.text);
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// What a running Envoy says of its configuration is what was written, call by call.
#[test]
#[ignore = "slow: needs Envoy"]
fn a_dump_of_what_runs_is_what_was_written() {
    let Some(envoy) = program("ENVOY") else { return };
    let system = random::system(include_str!("../systems/shop.yaml"));
    let folder = folder("dump");
    let mut calls = 0;
    for caller in ["client", "web", "orders"] {
        let [listen, inbound, admin] = [(); 3].map(|()| free_port());
        let options = Options { plain: true, listen: [listen, inbound], ..Options::default() };
        let written = export(&system, format::find("envoy").unwrap(), &options);
        let name = format!("{caller}.yaml");
        let text = &written.files.iter().find(|file| file.path == name).unwrap().text;
        let path = folder.join(name);
        std::fs::write(&path, with_admin(text, admin)).unwrap();
        let mut command = Command::new(&envoy);
        command.args(["--use-dynamic-base-id", "--concurrency", "1", "--log-level", "off"]);
        command.arg("--config-path").arg(path);
        let _running = start(command, listen);
        let dump = get(admin, "/config_dump").unwrap();
        let readings = damper_config::read_tree(&[("dump.json".to_owned(), dump)]);
        let as_written = with(&system, &written.policies);
        let comparison = damper_export::compare(&as_written, &readings, Default::default(), HEADER);
        assert!(comparison.unknown.is_empty(), "{:?}", comparison.unknown);
        let mine = format!("{caller} -> ");
        for call in comparison.calls.iter().filter(|call| call.call.starts_with(&mine)) {
            assert!(call.known && call.differs.is_empty(), "{}: {:#?}", call.call, call.differs);
            calls += 1;
        }
    }
    assert_eq!(calls, system.policies.edges.len());
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
#[ignore = "slow: needs nginx"]
fn nginx_makes_the_attempts_that_were_asked_for() {
    let Some(nginx) = program("NGINX") else { return };
    let run = |folder: &Path, written: &Written| {
        std::fs::write(folder.join("client.conf"), &written.files[0].text).unwrap();
        let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .iter()
            .map(|kind| format!("{kind}_temp_path {};\n", folder.join(kind).display()))
            .collect();
        let main = format!(
            "daemon off; master_process off; pid {0}/pid; error_log {0}/error.log;\nevents {{}}\nhttp {{ access_log off;\n{temporary}include {0}/client.conf;\n}}\n",
            folder.display()
        );
        let file = folder.join("nginx.conf");
        std::fs::write(&file, main).unwrap();
        let with = |more: &[&str]| {
            let mut command = Command::new(&nginx);
            command.arg("-p").arg(folder).arg("-c").arg(&file).args(more);
            command
        };
        let output = with(&["-t"]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}\n{}", written.files[0].text);
        with(&[])
    };
    let ends = [End::Status(503), End::Status(500), End::Status(429), End::Broken, End::Silent];
    let mut ends: Vec<_> = ends.into_iter().map(|end| (end, true)).collect();
    ends.push((End::Status(404), false));
    counts("nginx", &ends, &run);
}

#[test]
#[ignore = "slow: needs HAProxy"]
fn haproxy_makes_the_attempts_that_were_asked_for() {
    let Some(haproxy) = program("HAPROXY") else { return };
    let run = |folder: &Path, written: &Written| {
        let file = folder.join("client.cfg");
        std::fs::write(&file, &written.files[0].text).unwrap();
        let output = Command::new(&haproxy).arg("-c").arg("-f").arg(&file).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}\n{}", written.files[0].text);
        let mut command = Command::new(&haproxy);
        command.arg("-db").arg("-f").arg(file);
        command
    };
    let ends = [End::Status(503), End::Status(500), End::Broken, End::Silent];
    let mut ends: Vec<_> = ends.into_iter().map(|end| (end, true)).collect();
    // 2.6 cannot retry a 429, which is said to be lost.
    ends.extend([(End::Status(429), false), (End::Status(404), false)]);
    counts("haproxy", &ends, &run);
    once("haproxy", &run);
}

#[test]
#[ignore = "slow: needs Python with grpcio"]
fn grpc_makes_the_attempts_that_were_asked_for() {
    let Some(python) = program("EXPORT_PYTHON") else { return };
    let of = |limit: u32, budget: &str| {
        let text = format!(
            "damper: 1\nservices: {{orders: {{}}}}\nload: 1/s\nrequests: {{a: {{calls: [orders]}}}}\npolicies:\n  orders: {{deadline: 10s, retry: {{limit: {limit}, backoff: {{kind: grpc-backoff, base: 5ms, max: 20ms}}, budget: {budget}}}}}\n"
        );
        let system = random::system(&text);
        export(&system, format::find("grpc").unwrap(), &Options::default()).files[0].text.clone()
    };
    let folder = folder("grpc");
    let script = folder.join("count.py");
    std::fs::write(&script, include_str!("count.py")).unwrap();
    // Calls of which every attempt fails, and how many attempts each makes.
    let attempts = |config: &str, calls: u32| -> Vec<u32> {
        let file = folder.join("config.json");
        std::fs::write(&file, config).unwrap();
        let output =
            Command::new(&python).arg(&script).arg(&file).arg(calls.to_string()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}\n{config}");
        serde_json::from_slice(&output.stdout).unwrap()
    };
    assert_eq!(attempts(&of(2, "none"), 3), [3, 3, 3]);
    assert_eq!(attempts(&of(0, "none"), 2), [1, 1]);
    // Five attempts at most, whatever was asked for.
    assert_eq!(attempts(&of(9, "none"), 1), [5]);
    // A bucket of 10 is left with 5 after five failures: two calls of three attempts make six.
    assert_eq!(
        attempts(&of(2, "{kind: token-bucket, max_tokens: 10, token_ratio: 0.1}"), 4),
        [3, 2, 1, 1]
    );
    std::fs::remove_dir_all(folder).unwrap();
}
