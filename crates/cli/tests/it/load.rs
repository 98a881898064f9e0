//! `damper load`: what it would send, what it refuses, and what it counts.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

mod grpc;

use crate::output::holds;
use crate::program::{command, damper, finished, json, number};

/// Answers every request on every connection; its port.
fn server(reply: &'static str) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let (mut buffer, mut filled) = ([0; 4096], 0);
                while let Ok(read @ 1..) = stream.read(&mut buffer[filled..]) {
                    filled += read;
                    if buffer[..filled].ends_with(b"\r\n\r\n") {
                        filled = 0;
                        if stream.write_all(reply.as_bytes()).is_err() {
                            return;
                        }
                    }
                }
            });
        }
    });
    port
}

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
const BUSY: &str = "HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n";

#[test]
fn what_would_be_sent() {
    let local = ["load", "http://127.0.0.1:8080/search", "--rate", "300/s"];
    let mix = ["--class-mix", "high=20%,low=80%", "--dry-run"];
    holds("load-plan", &[local.as_slice(), &mix].concat());
    holds("load-plan-json", &[local.as_slice(), &mix, &["--json"]].concat());
    let owned = ["load", "http://192.0.2.7:80", "--rate", "100/s", "--i-own", "192.0.2.7=payments"];
    holds("load-plan-owner", &[owned.as_slice(), &["--dry-run", "--retry", "naive"]].concat());
    let tls = ["load", "https://127.0.0.1:8443", "--rate", "100/s", "--insecure", "--dry-run"];
    let said = damper(&tls).out;
    assert!(said.starts_with("https://127.0.0.1:8443: 100/s"), "{said}");
    assert!(said.contains("HTTP/2 or HTTP/1.1 over TLS"), "{said}");
    let file = "crates/cli/tests/it/systems/requests.yaml";
    let policy = ["--policy", "examples/retry-storm.yaml", "--edge", "client -> db", "--dry-run"];
    let target = ["load", "127.0.0.1:8080", "--rate", "90/s", "--requests", file];
    holds("load-plan-file", &[target.as_slice(), &policy].concat());
}

#[test]
fn what_is_refused() {
    let refused =
        |name: &str, args: &[&str]| holds(&format!("load-{name}"), &[&["load"], args].concat());
    let rate = ["--rate", "100/s"];
    refused("outside", &[&["http://192.0.2.7:80"], &rate[..]].concat());
    refused("other-owner", &[&["192.0.2.7:80", "--i-own", "192.0.2.8=me"], &rate[..]].concat());
    refused("no-owner", &[&["192.0.2.7:80", "--i-own", "192.0.2.7"], &rate[..]].concat());
    refused("no-port", &[&["http://127.0.0.1/"], &rate[..]].concat());
    refused("no-rate", &["http://127.0.0.1:1"]);
    refused("wrong-rate", &["http://127.0.0.1:1", "--rate", "100"]);
    refused("too-fast", &["http://127.0.0.1:1", "--rate", "60000/s"]);
    refused("too-many", &["http://127.0.0.1:1", "--rate", "40000/s", "--for", "1h"]);
    let policy = ["--policy", "examples/retry-storm.yaml", "--edge", "client -> bd"];
    refused("unknown-edge", &[&["http://127.0.0.1:1"], &rate[..], &policy].concat());
    let file = "crates/cli/tests/it/systems/requests-broken.yaml";
    refused("broken-file", &[&["127.0.0.1:1", "--requests", file], &rate[..]].concat());
}

#[test]
fn a_class_that_is_probably_misspelt_is_said() {
    let file = "crates/cli/tests/it/systems/requests.yaml";
    let of = |mix: &str| {
        let target = ["load", "127.0.0.1:8080", "--rate", "90/s", "--requests", file];
        damper(&[target.as_slice(), &["--class-mix", mix, "--dry-run"]].concat())
    };
    let ran = of("hihg=20%,low=80%");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.err.contains("the class `hihg` of --class-mix is none of the request file"));
    assert!(ran.err.contains("did you mean `high`?"), "{}", ran.err);
    for mix in ["high=20%,low=80%", "high=20%,batch=80%"] {
        assert_eq!(of(mix).err, "", "{mix}");
    }
}

#[test]
fn calls_that_cannot_be_made_are_refused() {
    for (args, why) in [
        (&["--insecure"][..], "for a target with https://"),
        (&["--descriptors", "shop.binpb"], "--grpc"),
        (&["--grpc", "--message", "{}"], "nothing says what the bodies are"),
        (&["--grpc", "--descriptors", "no-such-file.binpb"], "no-such-file.binpb"),
        (&["--grpc", "--descriptors", "examples/retry-storm.yaml"], "no set of descriptors"),
    ] {
        let ran = damper(&[&["load", "127.0.0.1:1", "--rate", "1/s"], args].concat());
        assert_eq!(ran.code, Some(2), "{args:?}");
        // What is printed may be broken into lines anywhere.
        let said: Vec<&str> = ran.err.split_whitespace().collect();
        assert!(said.join(" ").contains(why), "{args:?}: {}", ran.err);
    }
}

#[test]
fn a_page_is_written_that_shows_it() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("load.html").display().to_string();
    let target = format!("http://127.0.0.1:{}/", server(BUSY));
    let args = ["load", &target, "--rate", "200/s", "--for", "1s", "--html", &page, "--json"];
    let ran = damper(&args);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let result: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let page = std::fs::read_to_string(page).unwrap();
    for part in ["Percentiles", "Ends that were not good", "rejected", "What happened over time"] {
        assert!(page.contains(part), "{part}");
    }
    let requests = number(&result, "/total/requests");
    assert!(page.contains(&format!("<td>{requests}</td>")), "{requests}");
}

#[test]
fn what_was_recorded_becomes_a_request_file() {
    let curl = "curl -X PUT 'https://shop.example/cart?token=abc' -H 'Cookie: sid=1' -d '{}'";
    holds("load-from-curl", &["load", "--from-curl", curl]);
    holds("load-from-curl-unknown", &["load", "--from-curl", "curl -F a=b shop.example"]);
    holds("load-from-har-missing", &["load", "--from-har", "no-such-file.har"]);
}

#[test]
fn requests_are_counted_by_their_ends() {
    let target = format!("http://127.0.0.1:{}/", server(OK));
    let args = ["load", &target, "--rate", "500/s", "--for", "1s", "--arrivals", "even"];
    let result = json(&[args.as_slice(), &["--class-mix", "high=20%,low=80%"]].concat());
    let count = number(&result, "/total/requests");
    assert!((498.0..=500.0).contains(&count), "{count}");
    assert!((number(&result, "/total/ok") - count).abs() < 0.5, "{result}");
    assert!((number(&result, "/classes/0/requests") - 100.0).abs() < 2.0, "{result}");
    assert!((number(&result, "/total/attempts/ends/ok") - count).abs() < 0.5);
    assert!(number(&result, "/total/ok_ms/p50") <= number(&result, "/total/ok_ms/p99"));
}

#[test]
fn retries_are_attempts_and_no_requests() {
    let target = format!("http://127.0.0.1:{}/", server(BUSY));
    let args = ["load", &target, "--rate", "200/s", "--for", "500ms", "--retry", "naive"];
    let result = json(&[args.as_slice(), &["--limit", "3", "--threads", "2"]].concat());
    let requests = number(&result, "/total/requests");
    assert!(requests > 20.0, "{result}");
    assert!((number(&result, "/total/attempts/ends/rejected") - 4.0 * requests).abs() < 0.5);
    assert!((number(&result, "/total/attempts/per_request") - 4.0).abs() < 1e-9);
    assert!(number(&result, "/total/goodput_rps").abs() < 1e-9);
    assert!(number(&result, "/total/throughput_rps") > 3.0 * requests);
}

#[test]
fn callers_follow_a_policy_by_the_names_of_their_classes() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("system.yaml");
    let text = "damper: 1\nclasses: [high, low]\nload: {high: 1/s, low: 1/s}\n\
        services: {db: {workers: 1, service_time: 1ms}}\nrequests: {read: {calls: [db]}}\n\
        policies: {\"client -> db\": {timeout: 1s, retry: {limit: {high: 3, low: 0}}}}\n";
    std::fs::write(&file, text).unwrap();
    let target = format!("http://127.0.0.1:{}/", server(BUSY));
    let of = |mix: &str| {
        let args = ["load", &target, "--rate", "100/s", "--for", "300ms", "--json"];
        let policy = ["--policy", file.to_str().unwrap(), "--edge", "client -> db"];
        let ran = damper(&[&args[..], &policy, &["--class-mix", mix]].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let result: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
        (number(&result, "/total/attempts/per_request"), ran.err)
    };
    for (mix, attempts, said) in [
        ("low=100%", 1.0, ""),
        ("high=100%", 4.0, ""),
        ("tin=100%", 4.0, "by position, as no class has a name of the file's: tin as high"),
        ("tin=99%,high=1%", 1.0, "of the file's lowest class, low, as it does not know: tin"),
    ] {
        let (per_request, err) = of(mix);
        assert!((per_request - attempts).abs() < 0.5, "{mix}: {per_request}");
        assert!(err.contains(said) && said.is_empty() == err.is_empty(), "{mix}: {err}");
    }
}

#[test]
fn what_is_printed_adds_up() {
    let target = format!("http://127.0.0.1:{}/", server(OK));
    let ran = damper(&["load", &target, "--rate", "300/s", "--for", "300ms"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    for part in
        ["goodput", "ms from the intended start", "(1.00 per request, 0 retries)", "late (p50"]
    {
        assert!(ran.out.contains(part), "{part}: {}", ran.out);
    }
}

#[cfg(unix)]
#[test]
fn an_interrupted_load_prints_what_it_had() {
    let target = format!("http://127.0.0.1:{}/", server(OK));
    let child = command(&["load", &target, "--rate", "300/s", "--for", "60s", "--json"]);
    let child = { child }.spawn().unwrap();
    let pid = child.id().to_string();
    std::thread::sleep(std::time::Duration::from_millis(700));
    assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let ran = finished(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(130), "{}", ran.err);
    let result: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(result["partial"], true);
    assert!(number(&result, "/total/ok") > 0.0 && number(&result, "/seconds") < 50.0, "{result}");
}
