//! `damper learn`: what it prints, its exit codes, and a Prometheus that it asks.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Stdio;

use serde_json::Value;

use crate::output::holds;
use crate::program::{command, damper, finished, json, number};

const TRACES: &str = "examples/learn/traces.json";
const METRICS: &str = "examples/learn/metrics.txt";

#[test]
fn what_is_printed() {
    holds("learn", &["learn", TRACES]);
    holds("learn-metrics", &["learn", METRICS, "--over", "1h"]);
    holds(
        "learn-amplification",
        &["learn", TRACES, "--amplification", "--graph", "examples/learn/truth.yaml"],
    );
    holds("learn-nothing", &["learn", "Cargo.toml"]);
    holds("learn-no-file", &["learn", "no-such-file.json"]);
    holds("learn-share", &["learn", TRACES, "--sampling", "0.1"]);
}

#[test]
fn what_is_learnt_is_a_system_file() {
    let folder = tempfile::tempdir().unwrap();
    for (name, args) in [("t.yaml", vec![TRACES]), ("m.yaml", vec![METRICS, "--over", "1h"])] {
        let file = folder.path().join(name);
        let file = file.to_str().unwrap();
        let ran = damper(&[&["learn", "--output", file], args.as_slice()].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let checked = damper(&["check", file]);
        assert_eq!(checked.code, Some(0), "{}", checked.err);
        assert!(checked.err.contains("is not known"), "{}", checked.err);
        let filled = damper(&["check", file, "--set", "services.store.workers=20"]);
        assert!(!filled.err.contains("services.store.workers"), "{}", filled.err);
    }
}

#[test]
fn programs_get_everything() {
    let args =
        ["learn", TRACES, "--amplification", "--graph", "examples/learn/truth.yaml", "--json"];
    let ran = damper(&args);
    let found: Value = serde_json::from_str(&ran.out).unwrap();
    let store = found["amplification"].as_array().unwrap().iter().find(|s| s["service"] == "store");
    assert!((number(store.unwrap(), "/worst") - 3.0).abs() < 1e-9);
    assert_eq!(number(&json(&["learn", TRACES]), "/read/traces"), 60.0);
}

/// The head of the example, through standard input.
fn cut(args: &[&str]) -> (Option<i32>, String) {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read(root.join(TRACES)).unwrap();
    let mut child =
        command(&[&["learn", "-"], args].concat()).stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(&text[..text.len() / 2]).unwrap();
    let ran = finished(child.wait_with_output().unwrap());
    (ran.code, ran.err)
}

#[test]
fn a_part_is_learnt_and_said_to_be_one() {
    let (code, err) = cut(&[]);
    assert_eq!(code, Some(0), "{err}");
    assert!(err.contains("standard input:") && err.contains("cut off"), "{err}");
    assert_eq!(cut(&["--strict"]).0, Some(1));
}

/// Answers every query with one value of the metric that it asks for.
fn prometheus(listener: TcpListener, answers: usize) {
    for stream in listener.incoming().take(answers) {
        let mut stream = stream.unwrap();
        let mut head = Vec::new();
        let mut buffer = [0; 4096];
        while !head.windows(4).any(|w| w == b"\r\n\r\n") {
            let n = stream.read(&mut buffer).unwrap();
            if n == 0 {
                return;
            }
            head.extend_from_slice(&buffer[..n]);
        }
        let asked = String::from_utf8_lossy(&head);
        let result = if asked.contains("istio_requests_total%5B60s%5D")
            || asked.contains("istio_requests_total[60s]")
        {
            r#"{"metric":{"reporter":"source","source_workload":"gateway","destination_workload":"orders","response_code":"200"},"value":[1700000000,"600"]}"#
        } else {
            ""
        };
        let body = format!(
            r#"{{"status":"success","data":{{"resultType":"vector","result":[{result}]}}}}"#
        );
        let answer = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(answer.as_bytes()).unwrap();
    }
}

#[test]
fn a_prometheus_is_asked() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    // The thread ends with the test: there may be fewer queries than it waits for.
    std::thread::spawn(move || prometheus(listener, 1_000));
    let ran = damper(&["learn", "--prometheus", &address, "--over", "1min"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.out.contains("load: 10/s"), "{}", ran.out);
    let ran = damper(&["learn", "--prometheus", "https://example.org"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("open a tunnel"), "{}", ran.err);
}

/// Of two scrapes only what was counted between them counts.
#[test]
fn counters_count_since_an_earlier_scrape() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let file = folder.path().join(name);
        std::fs::write(&file, text).unwrap();
        file.to_str().unwrap().to_owned()
    };
    let before = write(
        "before.json",
        r#"{"stats":[{"name":"cluster.orders.upstream_rq_total","value":1000},{"name":"cluster.orders.upstream_rq_retry","value":900},{"histograms":{}}]}"#,
    );
    let after = write(
        "after.txt",
        "cluster.orders.upstream_rq_total: 1130\ncluster.orders.upstream_rq_retry: 930\n",
    );
    let ran = damper(&["learn", &after, "--since", &before, "--over", "10s", "--json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let learnt: Value = serde_json::from_str(&ran.out).unwrap();
    let rows = learnt["amplification"].as_array().unwrap();
    let orders = rows.iter().find(|row| row["service"] == "orders").unwrap();
    assert_eq!((number(orders, "/attempts"), number(orders, "/needed")), (130.0, 100.0));
}
