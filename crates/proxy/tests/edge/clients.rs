//! Clients that other people wrote. `NGHTTP`, `H2LOAD`, `EXPORT_PYTHON` and `CHROMIUM` name them, as
//! `cargo xtask test` sets them; without one there is nobody to ask.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use crate::raw::{Does, Recorder, ok};
use crate::side::Sidecar;

fn program(variable: &str) -> Option<PathBuf> {
    let found = std::env::var_os(variable).map(PathBuf::from);
    if found.is_none() {
        eprintln!("skipped: {variable} is not set");
    }
    found
}

/// Runs it; what it printed.
fn output(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{command:?}: {}\n{said}\n{out}", output.status);
    out
}

/// A server that prints its port and ends with its input.
struct Peer {
    child: Child,
    port: u16,
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn peer(command: &mut Command) -> Peer {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let port = line.trim().parse().unwrap_or_else(|_| panic!("no port: {line}"));
    Peer { child, port }
}

/// A file of a test's own.
fn script(name: &str, text: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    (folder, path)
}

#[test]
#[ignore = "slow: needs curl"]
fn curl_works_through_it() {
    if Command::new("curl").arg("--version").output().is_err() {
        eprintln!("skipped: no curl");
        return;
    }
    let origin = Recorder::start(|request, _| {
        Does::Answers(match request.target() {
            "/echo" => ok(&request.body.len().to_string()),
            _ => ok("hello"),
        })
    });
    let sidecar = Sidecar::before(origin.port);
    let url = |path: &str| format!("http://127.0.0.1:{}{path}", sidecar.port());
    let curl = |arguments: &[&str]| {
        output(
            Command::new("curl")
                .args(["--silent", "--show-error", "--max-time", "20"])
                .args(arguments),
        )
    };
    assert_eq!(curl(&[&url("/")]), "hello");
    assert_eq!(curl(&[&url("/"), &url("/a"), &url("/b")]), "hellohellohello");
    assert_eq!(curl(&["--http1.0", &url("/")]), "hello");
    assert_eq!(curl(&["--http2-prior-knowledge", &url("/")]), "hello");
    let told = ["--output", "/dev/null", "--write-out", "%{http_code} %{http_version}"];
    assert_eq!(curl(&[&told[..], &["--head", &url("/")]].concat()), "200 1.1");
    assert_eq!(curl(&[&told[..], &["--http2-prior-knowledge", &url("/")]].concat()), "200 2");
    // Long enough for curl to ask first (Expect: 100-continue).
    let (_folder, file) = script("body", &"x".repeat(3_000_000));
    let body = format!("@{}", file.display());
    assert_eq!(curl(&["--data-binary", &body, &url("/echo")]), "3000000");
    let chunked = ["--header", "transfer-encoding: chunked", "--data-binary", &body];
    assert_eq!(curl(&[&chunked[..], &[&url("/echo")]].concat()), "3000000");
    let http2 = ["--http2-prior-knowledge", "--data-binary", &body];
    assert_eq!(curl(&[&http2[..], &[&url("/echo")]].concat()), "3000000");
}

#[test]
#[ignore = "slow: needs nghttp2's clients"]
fn nghttp_and_h2load_work_through_it() {
    let (Some(nghttp), Some(h2load)) = (program("NGHTTP"), program("H2LOAD")) else { return };
    let origin = Recorder::good();
    let sidecar = Sidecar::before(origin.port);
    let url = format!("http://127.0.0.1:{}/", sidecar.port());
    // Five times the same, at once, with padding and with a window of the smallest size.
    for arguments in [&["--no-dep", "-m5"][..], &["-b100"], &["-w10", "-W10"]] {
        output(Command::new(&nghttp).args(["--null-out", "--stat"]).args(arguments).arg(&url));
    }
    for arguments in [&["--h1"][..], &["-m10"]] {
        let said = output(Command::new(&h2load).args(["-n2000", "-c20"]).args(arguments).arg(&url));
        assert!(said.contains("2000 succeeded, 0 failed, 0 errored"), "{said}");
        assert!(said.contains("status codes: 2000 2xx"), "{said}");
    }
}

#[test]
#[ignore = "slow: needs Python with grpcio"]
fn grpc_works_through_it() {
    let Some(python) = program("EXPORT_PYTHON") else { return };
    let (_folder, file) = script("grpc_peer.py", include_str!("grpc_peer.py"));
    let server = peer(Command::new(&python).arg(&file).arg("serve"));
    for sidecar in [Sidecar::as_caller(server.port), Sidecar::calls(&[server.port])] {
        let port = sidecar.port().to_string();
        let said = output(Command::new(&python).arg(&file).args(["call", &port]));
        let said: serde_json::Value = serde_json::from_str(&said).unwrap();
        let expected = serde_json::json!({
            "reply": "hello", "first": "1", "last": "2",
            "failed": {"code": "FAILED_PRECONDITION", "details": "as asked", "trailers": "asked"},
            "slow": "DEADLINE_EXCEEDED", "unknown": "UNIMPLEMENTED",
            "out": 100, "in": 2_000_000, "both": "abc",
        });
        assert_eq!(said, expected);
    }
}

#[test]
#[ignore = "slow: needs a browser and Python"]
fn a_browser_works_through_it() {
    let Some(browser) = program("CHROMIUM") else { return };
    if Command::new("python3").arg("--version").output().is_err() {
        eprintln!("skipped: no Python");
        return;
    }
    let (folder, file) = script("page.py", include_str!("page.py"));
    let server = peer(Command::new("python3").arg(&file));
    let sidecar = Sidecar::before(server.port);
    let profile = format!("--user-data-dir={}", folder.path().join("profile").display());
    let look = || {
        output(
            Command::new(&browser)
                .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
                .args([&profile, "--virtual-time-budget=20000", "--timeout=20000", "--dump-dom"])
                .arg(format!("http://127.0.0.1:{}/", sidecar.port())),
        )
    };
    // The browser's own clock does not wait for WebSocket: now and then it prints a page that is not
    // yet through, which says nothing.
    let mut dom = look();
    for _ in 0..9 {
        if !dom.contains("<title>waiting</title>") {
            break;
        }
        dom = look();
    }
    assert!(dom.contains("fetched 20, posted 200000, socket hello"), "{dom}");
}
