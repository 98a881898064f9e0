//! `damper emulate`: real processes, which do what the file says and leave nothing behind.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// An emulation that runs until this is dropped, which kills it without a word.
struct Running {
    child: Child,
    out: BufReader<std::process::ChildStdout>,
    state: Value,
    _file: tempfile::TempDir,
}

fn start(text: &str, arguments: &[&str]) -> Running {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("system.yaml");
    std::fs::write(&file, text).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_damper"))
        .arg("emulate")
        .arg(&file)
        .arg("--json")
        .args(arguments)
        .env("TMPDIR", folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    let state = serde_json::from_str(&line).expect("a line of JSON when it runs");
    Running { child, out, state, _file: folder }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Running {
    fn port(&self, of: &str) -> u16 {
        self.state[of].as_u64().unwrap() as u16
    }

    /// One request over a connection of its own: status and body.
    fn http(&self, port: u16, method: &str, path: &str, class: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: test\r\nx-damper-class: {class}\r\n\
             connection: close\r\ncontent-length: 0\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        let status = reply.split(' ').nth(1).unwrap().parse().unwrap();
        (status, reply.split_once("\r\n\r\n").map_or("", |(_, body)| body).to_owned())
    }

    fn request(&self, class: &str) -> u16 {
        self.http(self.port("entry_port"), "GET", "/request", class).0
    }

    fn post(&self, path: &str) -> u16 {
        self.http(self.port("admin_port"), "POST", path, "").0
    }

    fn counts(&self, server: &str) -> Value {
        let (status, body) = self.http(self.port("admin_port"), "GET", "/counts", "");
        assert_eq!(status, 200, "{body}");
        let all: Value = serde_json::from_str(&body).unwrap();
        let found = all.as_array().unwrap().iter().find(|c| c["name"] == server);
        found.unwrap_or_else(|| panic!("no {server} in {body}")).clone()
    }

    /// Every process of it.
    fn pids(&self) -> Vec<u64> {
        let mut pids = vec![u64::from(self.child.id())];
        pids.extend(self.state["keeper_pid"].as_u64());
        for process in self.state["processes"].as_array().unwrap() {
            pids.push(process["pid"].as_u64().unwrap());
            pids.extend(process["sidecar"]["pid"].as_u64());
        }
        pids
    }
}

fn lives(pid: u64) -> bool {
    let signal = Command::new("kill").args(["-0", &pid.to_string()]).stderr(Stdio::null()).status();
    signal.unwrap().success()
}

fn is_gone(pids: &[u64]) -> bool {
    let patience = Instant::now();
    while pids.iter().any(|pid| lives(*pid)) {
        if patience.elapsed() > Duration::from_secs(60) {
            return false;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    true
}

/// What the tests with Envoy start it with; `None`: there is no Envoy to test with.
fn envoy() -> Option<String> {
    let envoy = std::env::var("ENVOY").ok();
    if envoy.is_none() {
        eprintln!("skipped: ENVOY is not set");
    }
    envoy
}

const FAILS: &str = "
damper: 1
classes: [high, low]
services: {web: {}, db: {failure: 100%, workers: 4, service_time: 0s}}
load: {high: 20/s, low: 40/s}
arrivals: deterministic
requests: {r: {calls: [{web: [db]}]}}
policies:
  \"web -> db\":
    retry:
      limit: {high: 5, low: 1}
      on: [failed]
      backoff: {kind: exponential, base: 1ms, max: 5ms, jitter: full}
";

#[test]
fn attempts_are_one_more_than_the_limit_of_the_class() {
    let run = start(FAILS, &["--without-envoy"]);
    for (class, requests) in [("high", 20), ("low", 30)] {
        (0..requests).for_each(|_| assert_eq!(run.request(class), 500));
    }
    let db = run.counts("db");
    for (class, requests, limit) in [(0, 20, 5), (1, 30, 1)] {
        let received = &db["received"][class];
        assert_eq!(received["first"], requests);
        assert_eq!(received["retries"], requests * limit);
        assert_eq!(received["ends"]["failed"], requests * (limit + 1));
    }
    let web = run.counts("web");
    assert_eq!(web["called"][0]["calls"], 20);
    assert_eq!(web["called"][0]["attempts"], 120);
    assert_eq!(web["received"][1]["ends"]["downstream"], 30);
}

#[test]
fn a_rate_limit_rejects_what_exceeds_its_burst() {
    let text = "
damper: 1
services: {web: {}, db: {rate_limit: {rate: 1/h, burst: 7}}}
load: 1/s
requests: {r: {calls: [web, {db: {times: 2}}]}}
";
    let run = start(text, &["--without-envoy"]);
    let ends: Vec<u16> = (0..6).map(|_| run.request("default")).collect();
    assert_eq!(ends, [200, 200, 200, 503, 503, 503], "seven tokens are three requests and a half");
    let db = run.counts("db");
    assert_eq!(db["received"][0]["ends"]["rejected"], 3);
    assert_eq!(db["received"][0]["ends"]["success"], 7);
}

/// Pulls the lever: the status.
fn pull(run: &Running, content: &str, body: &str) -> u16 {
    let mut stream = TcpStream::connect(("127.0.0.1", run.port("admin_port"))).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let head = format!(
        "POST /lever HTTP/1.1\r\nhost: test\r\ncontent-type: {content}\r\nconnection: close\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    reply.split(' ').nth(1).unwrap().parse().unwrap()
}

#[test]
fn the_lever_holds_a_class_back_at_the_door_of_a_service() {
    let text = "
damper: 1
classes: [high, low]
services: {web: {}, db: {workers: 4, service_time: 0s}}
load: {high: 1/s, low: 1/s}
requests: {r: {calls: [{web: [db]}]}}
";
    let run = start(text, &["--without-envoy"]);
    let json = "application/json";
    let pause =
        r#"{"action": "pause", "hop": "db", "classes": ["low"], "who": "t", "why": "test"}"#;
    assert_eq!(pull(&run, "text/plain", pause), 415, "what any page could send");
    assert_eq!(run.request("low"), 200);
    assert_eq!(pull(&run, json, pause), 200);
    assert_eq!((run.request("low"), run.request("high")), (429, 200));
    assert_eq!(run.counts("db")["received"][1]["ends"]["shed"], 1);
    let (_, levers) = run.http(run.port("admin_port"), "GET", "/lever", "");
    assert!(levers.contains("\"why\": \"test\""), "{levers}");
    let open = r#"{"action": "open", "hop": "db", "who": "t", "why": "test"}"#;
    assert_eq!(pull(&run, json, open), 200);
    assert_eq!(run.request("low"), 200);
    for wrong in [
        r#"{"action": "pause", "hop": "dbb", "who": "t", "why": "test"}"#,
        r#"{"action": "pause", "who": "t", "why": " "}"#,
        r#"{"action": "pause", "clases": ["low"], "who": "t", "why": "test"}"#,
    ] {
        assert_eq!(pull(&run, json, wrong), 400, "{wrong}");
    }
}

const TRIGGERS: &str = "
damper: 1
services: {web: {}, db: {workers: 2, service_time: 1ms, rate_limit: {rate: 1000/s, burst: 1000}}}
load: 10/s
requests: {r: {calls: [{web: [db]}]}}
triggers:
  refuse: [{outage: db, mode: refuse, for: 10min}]
  errors: [{error_rate: db, rate: 100%, for: 10min}]
  slow: [{slowdown: db, factor: 1000x, for: 10min}]
  far: [{added_latency: db, latency: 700ms, for: 10min}]
  short: [{error_rate: db, rate: 100%, for: 50ms}]
";

fn triggers_move_what_they_should(arguments: &[&str]) {
    let run = start(TRIGGERS, arguments);
    assert_eq!(run.request("default"), 200);
    for (trigger, status) in [("refuse", 503), ("errors", 500)] {
        assert_eq!(run.post(&format!("/trigger/{trigger}")), 200);
        assert_eq!(run.request("default"), status, "{trigger}");
        assert_eq!(run.post(&format!("/trigger/{trigger}/stop")), 200);
        assert_eq!(run.request("default"), 200, "after {trigger}");
    }
    for (trigger, least) in [("slow", 1000), ("far", 700)] {
        assert_eq!(run.post(&format!("/trigger/{trigger}")), 200);
        // A sleep can be longer than asked for, never shorter.
        let begun = Instant::now();
        assert_eq!(run.request("default"), 200);
        assert!(begun.elapsed() >= Duration::from_millis(least), "{trigger}");
        assert_eq!(run.post(&format!("/trigger/{trigger}/stop")), 200);
    }
    assert_eq!(run.post("/trigger/short"), 200);
    let until = Instant::now() + Duration::from_secs(60);
    while run.request("default") != 200 {
        assert!(Instant::now() < until, "a trigger ends by itself");
    }
    assert_eq!(run.post("/trigger/nothing"), 404);
    assert_eq!(run.http(run.port("admin_port"), "GET", "/", "").0, 200);
}

#[test]
fn triggers_move_servers() {
    triggers_move_what_they_should(&["--without-envoy"]);
}

#[test]
fn who_goes_away_takes_no_answer_with_him() {
    let run = start(FAILS, &["--without-envoy"]);
    for _ in 0..50 {
        // Asked, and gone before the answer is there.
        let mut stream = TcpStream::connect(("127.0.0.1", run.port("admin_port"))).unwrap();
        stream.write_all(b"GET /counts HTTP/1.1\r\nhost: test\r\n\r\n").unwrap();
        drop(stream);
    }
    for requests in 1..=3 {
        assert_eq!(run.request("high"), 500);
        let db = run.counts("db");
        assert_eq!(db["received"][0]["first"], requests, "what is counted now, not before");
    }
}

const BRIEF: &str = "
damper: 1
services: {web: {}, db: {workers: 4, service_time: 1ms}}
load: 200/s
requests: {r: {calls: [{web: [db]}]}}
triggers:
  brief: [{slowdown: db, factor: 2x, for: 200ms}, {error_rate: web, rate: 10%, for: 10ms}]
";

#[test]
fn a_trigger_that_ends_keeps_no_load_waiting() {
    // It ends when the load does, so that counts are asked for and triggers told at once.
    for after in ["800ms", "790ms", "990ms"] {
        let arguments = ["--without-envoy", "--load", "--for", "1s", "--trigger-after", after];
        let mut run = start(BRIEF, &arguments);
        let outcome = ended(&mut run);
        assert_eq!(outcome["partial"], false);
        assert!(outcome["classes"][0]["ok"].as_u64().unwrap() > 0, "{outcome}");
    }
}

/// Waits for the end, but not for ever, and reads what came of the load.
fn ended(run: &mut Running) -> Value {
    let until = Instant::now() + Duration::from_secs(120);
    let code = loop {
        if let Some(status) = run.child.try_wait().unwrap() {
            break status.code();
        }
        assert!(Instant::now() < until, "it does not end");
        std::thread::sleep(Duration::from_millis(20));
    };
    let mut rest = String::new();
    run.out.read_to_string(&mut rest).unwrap();
    assert!(matches!(code, Some(0 | 130)), "{code:?}: {rest}");
    serde_json::from_str(&rest).unwrap()
}

#[test]
fn parts_of_a_load_add_up() {
    let arguments = ["--without-envoy", "--load", "--warmup", "200ms", "--for", "2s"];
    let mut run = start(FAILS, &[&arguments[..], &["--parts", "3"]].concat());
    let outcome = ended(&mut run);
    let parts = outcome["parts"].as_array().unwrap();
    assert_eq!(parts.len(), 3);
    for class in 0..2 {
        let requests = |of: &Value| of["classes"][class]["requests"].as_u64().unwrap();
        assert_eq!(parts.iter().map(requests).sum::<u64>(), requests(&outcome));
        assert!(parts.iter().all(|part| requests(part) > 0));
    }
}

#[test]
fn a_word_ends_a_load_whatever_triggers_do() {
    let load = ["--without-envoy", "--load", "--for", "10min"];
    let mut run = start(BRIEF, &load);
    for signal in ["-TERM", "-INT"] {
        let pids = run.pids();
        for _ in 0..20 {
            assert_eq!(run.post("/trigger/brief"), 200);
        }
        let sent = Command::new("kill").args([signal, &run.child.id().to_string()]).status();
        assert!(sent.unwrap().success());
        assert_eq!(ended(&mut run)["partial"], true, "{signal}");
        assert!(is_gone(&pids), "{pids:?}");
        if signal == "-TERM" {
            run = start(BRIEF, &load);
        }
    }
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "processes are looked for as Linux has them")]
fn nothing_is_left_when_the_parent_is_killed() {
    let mut run = start(FAILS, &["--without-envoy"]);
    let pids = run.pids();
    assert_eq!(pids.len(), 4, "this process, the clients, two services");
    run.child.kill().unwrap();
    run.child.wait().unwrap();
    assert!(is_gone(&pids), "{pids:?}");
}

#[test]
fn it_ends_by_itself_and_says_how_the_load_went() {
    let mut run = start(FAILS, &["--without-envoy", "--load", "--for", "1s"]);
    let mut rest = String::new();
    run.out.read_to_string(&mut rest).unwrap();
    assert_eq!(run.child.wait().unwrap().code(), Some(0));
    let outcome: Value = serde_json::from_str(&rest).unwrap();
    // Even arrivals: every 50 and 25 ms, the first after one such time.
    for (class, requests) in [(0, 19..=20), (1, 39..=40)] {
        let class = &outcome["classes"][class];
        assert!(requests.contains(&class["requests"].as_u64().unwrap()), "{class}");
        assert_eq!(class["requests"], class["failed"]);
        assert_eq!(class["rejection"], 1.0);
    }
    assert!(is_gone(&run.pids()));
}

#[test]
#[ignore = "slow: needs Envoy"]
fn envoy_makes_as_many_attempts_as_the_class_has() {
    let Some(envoy) = envoy() else { return };
    for protocol in ["http1", "http2", "grpc"] {
        let arguments = ["--static-policy", "--envoy", &envoy, "--protocol", protocol];
        let load = ["--load", "--for", "3s"];
        let mut run = start(FAILS, &[&arguments[..], &load[..]].concat());
        let mut rest = String::new();
        run.out.read_to_string(&mut rest).unwrap();
        let outcome: Value = serde_json::from_str(&rest).unwrap();
        let web = outcome["counts"].as_array().unwrap().iter().find(|c| c["name"] == "web");
        for (class, limit) in [(0, 5), (1, 1)] {
            let called = &web.unwrap()["called"][class];
            let calls = called["calls"].as_u64().unwrap();
            assert!(calls > 20, "{protocol}: {called}");
            assert_eq!(called["attempts"], calls * (limit + 1), "{protocol}: {called}");
            assert_eq!(called["ends"]["failed"], calls, "{protocol}: {called}");
        }
        assert_eq!(outcome["classes"][0]["failed"], outcome["classes"][0]["requests"]);
    }
}

#[test]
#[ignore = "slow: needs Envoy"]
fn triggers_move_servers_behind_envoy() {
    let Some(envoy) = envoy() else { return };
    triggers_move_what_they_should(&["--static-policy", "--envoy", &envoy]);
}

#[test]
#[ignore = "slow: needs Envoy"]
fn no_envoy_and_no_file_is_left_when_the_parent_is_killed() {
    let Some(envoy) = envoy() else { return };
    let mut run = start(FAILS, &["--static-policy", "--envoy", &envoy]);
    assert_eq!(run.request("high"), 500);
    let pids = run.pids();
    assert_eq!(pids.len(), 8, "and the keeper, and three Envoys");
    let folders = |run: &Running| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(run._file.path()).unwrap();
        entries.map(|e| e.unwrap().path()).filter(|p| p.is_dir()).collect()
    };
    assert_eq!(folders(&run).len(), 1, "the configuration of the Envoys");
    run.child.kill().unwrap();
    run.child.wait().unwrap();
    assert!(is_gone(&pids), "{pids:?}");
    assert_eq!(folders(&run), Vec::<PathBuf>::new());
}

#[test]
#[ignore = "slow: needs Envoy"]
fn it_ends_when_an_envoy_does() {
    let Some(envoy) = envoy() else { return };
    let mut run = start(FAILS, &["--static-policy", "--envoy", &envoy]);
    let sidecar = run.state["processes"][1]["sidecar"]["pid"].as_u64().unwrap();
    assert!(Command::new("kill").args(["-9", &sidecar.to_string()]).status().unwrap().success());
    assert_eq!(run.child.wait().unwrap().code(), Some(2));
    assert!(is_gone(&run.pids()));
}

#[test]
#[ignore = "slow: needs Envoy"]
fn no_envoy_is_left_when_the_keeper_is_killed() {
    let Some(envoy) = envoy() else { return };
    let mut run = start(FAILS, &["--static-policy", "--envoy", &envoy]);
    let keeper = run.state["keeper_pid"].as_u64().unwrap();
    assert!(Command::new("kill").args(["-9", &keeper.to_string()]).status().unwrap().success());
    assert_eq!(run.child.wait().unwrap().code(), Some(2));
    assert!(is_gone(&run.pids()), "{:?}", run.pids());
    let mut left = std::fs::read_dir(run._file.path()).unwrap().map(|e| e.unwrap().path());
    assert!(left.all(|path| path.is_file()), "the folder of the run is gone");
}

const REJECTS: &str = "
damper: 1
classes: [high, low]
services: {web: {}, db: {rate_limit: {rate: 1/h, burst: 1}}}
load: {high: 20/s, low: 40/s}
arrivals: deterministic
requests: {r: {calls: [{web: [db]}]}}
policies:
  \"web -> db\":
    retry:
      limit: {high: 5, low: 1}
      on: [rejected]
      backoff: {kind: exponential, base: 1ms, max: 5ms, jitter: full}
";

#[test]
#[ignore = "slow: needs Envoy and the filter"]
fn the_filter_makes_as_many_attempts_as_the_class_has() {
    let Some(envoy) = envoy() else { return };
    let Some(filter) = std::env::var("DAMPER_FILTER").ok() else {
        eprintln!("skipped: DAMPER_FILTER is not set");
        return;
    };
    for protocol in ["http1", "http2", "grpc"] {
        let arguments = ["--filter", &filter, "--envoy", &envoy, "--protocol", protocol];
        let mut run = start(REJECTS, &[&arguments[..], &["--load", "--for", "3s"]].concat());
        let mut rest = String::new();
        run.out.read_to_string(&mut rest).unwrap();
        let outcome: Value = serde_json::from_str(&rest).unwrap();
        let web = outcome["counts"].as_array().unwrap().iter().find(|c| c["name"] == "web");
        for (class, limit) in [(0, 5), (1, 1)] {
            let called = &web.unwrap()["called"][class];
            let number = |key: &str| called[key].as_u64().unwrap();
            let good = called["ends"]["success"].as_u64().unwrap();
            assert!(number("calls") > 20 && good <= 1, "{protocol}: {called}");
            // The one token of the bucket ends one call early.
            let all = number("calls") * (limit + 1);
            assert!(
                (all - good * limit..=all).contains(&number("attempts")),
                "{protocol}: {called}"
            );
        }
    }
}
