use std::time::Duration;

use damper_control::{Nanos, Outcome};
use damper_tower::clock;
use http::{HeaderMap, HeaderValue};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::*;
use crate::hop::Direction;

fn attributes(of: &Value) -> Vec<(&str, &str)> {
    let all = of["attributes"].as_array().unwrap().iter();
    all.map(|one| (one["key"].as_str().unwrap(), one["value"]["stringValue"].as_str().unwrap()))
        .collect()
}

/// A collector that answers so many requests, and gives their paths and bodies.
async fn collector(listener: TcpListener, requests: usize) -> Vec<(String, Value)> {
    let mut got = Vec::new();
    for _ in 0..requests {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut text = Vec::new();
        let (head, length) = loop {
            let mut some = [0; 4096];
            let n = stream.read(&mut some).await.unwrap();
            text.extend_from_slice(&some[..n]);
            let so_far = String::from_utf8_lossy(&text).into_owned();
            if let Some((head, _)) = so_far.split_once("\r\n\r\n") {
                let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
                break (head.to_owned(), length.unwrap().parse::<usize>().unwrap());
            }
        };
        let begins = head.len() + 4;
        while text.len() < begins + length {
            let mut some = [0; 65536];
            let n = stream.read(&mut some).await.unwrap();
            text.extend_from_slice(&some[..n]);
        }
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}").await.unwrap();
        assert!(head.contains("content-type: application/json"), "{head}");
        let path = head.split(' ').nth(1).unwrap().to_owned();
        got.push((path, serde_json::from_slice(&text[begins..]).unwrap()));
    }
    got
}

#[tokio::test]
async fn metrics_and_spans_come_to_a_collector() {
    let hops = Hops::default();
    let hop = hops.begin("db", Direction::Inbound, vec!["high".into(), "low".into()]);
    hops.install(vec![hop]).unwrap();
    hops.spans().switch_on();
    let meters = hops.find("db").unwrap().meters().clone();
    let mut headers = HeaderMap::new();
    let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    headers.insert("traceparent", HeaderValue::from_static(parent));
    let now = clock::now();
    let done = meters.traced(now, 0, false, &mut headers);
    done.end(now + Nanos::from_millis(3), Outcome::Success, None);
    drop(meters.traced(now, 1, false, &mut headers));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}/otlp/", listener.local_addr().unwrap());
    let exporter = Otlp::to(&endpoint, "shop").unwrap().every(Duration::from_millis(1));
    let watch = Watch::new(hops.clone());
    let exporting = tokio::spawn(exporter.run(hops.clone(), watch, hops.spans().clone(), None));
    let got = collector(listener, 2).await;
    exporting.abort();
    assert_eq!((got[0].0.as_str(), got[1].0.as_str()), ("/otlp/v1/metrics", "/otlp/v1/traces"));
    let metrics = &got[0].1["resourceMetrics"][0];
    assert!(attributes(&metrics["resource"]).contains(&("service.name", "shop")));
    let metrics = metrics["scopeMetrics"][0]["metrics"].as_array().unwrap();
    let find = |name: &str| metrics.iter().find(|metric| metric["name"] == name).unwrap();
    let requests = &find("damper_requests_total")["sum"];
    assert_eq!(
        (&requests["isMonotonic"], &requests["aggregationTemporality"]),
        (&true.into(), &2.into())
    );
    let point = &requests["dataPoints"][0];
    assert_eq!(point["asDouble"], 1.0);
    assert_eq!(attributes(point), [("hop", "db"), ("direction", "inbound"), ("class", "high")]);
    let duration = &find("damper_request_duration_seconds")["histogram"]["dataPoints"][0];
    let (counts, bounds) = (&duration["bucketCounts"], &duration["explicitBounds"]);
    let (counts, bounds) = (counts.as_array().unwrap(), bounds.as_array().unwrap());
    assert_eq!((counts.len(), &duration["count"]), (bounds.len() + 1, &"1".into()));
    // 3 ms are in the bucket that ends at 4.194304 ms, and in no other.
    let full: Vec<usize> = (0..counts.len()).filter(|at| counts[*at] == "1").collect();
    assert_eq!(full.len(), 1);
    assert_eq!(bounds[full[0]], 0.004_194_304);
    let spans = got[1].1["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap();
    assert_eq!(spans.len(), 2);
    assert_eq!(spans[0]["traceId"], "4bf92f3577b34da6a3ce929d0e0e4736");
    assert_eq!(
        (&spans[0]["parentSpanId"], &spans[0]["name"]),
        (&"00f067aa0ba902b7".into(), &"db".into())
    );
    // The span of the first was written into the headers, which the second took over.
    assert_eq!(spans[1]["parentSpanId"], spans[0]["spanId"]);
    assert_eq!(attributes(&spans[1]), [("damper.class", "low"), ("damper.outcome", "abandoned")]);
    assert_eq!((&spans[0]["status"]["code"], &spans[1]["status"]["code"]), (&0.into(), &2.into()));
    let time = |of: &Value, key: &str| of[key].as_str().unwrap().parse::<u64>().unwrap();
    let took = time(&spans[0], "endTimeUnixNano") - time(&spans[0], "startTimeUnixNano");
    assert_eq!(took, 3_000_000);
}

#[tokio::test]
async fn a_collector_that_is_away_is_no_error_of_the_proxy() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
    drop(listener);
    assert!(send::post(&endpoint, "/v1/metrics", &Value::Null).await.is_err());
}

#[test]
fn only_what_it_can_do_is_taken() {
    for wrong in ["", "https://collector:4318", "collector:4318", "/v1", "http://"] {
        assert!(Otlp::to(wrong, "x").is_none(), "{wrong}");
    }
    assert!(Otlp::to("http://[::1]:4318/", "x").is_some());
}
