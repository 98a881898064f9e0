use std::time::Duration;

use damper_control::{Nanos, Outcome};
use damper_tower::clock;
use http::{HeaderMap, HeaderValue};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::*;
use crate::hop::Direction;

fn attributes(of: &Value) -> Vec<(&str, &str)> {
    let all = of["attributes"].as_array().unwrap().iter();
    all.map(|one| (one["key"].as_str().unwrap(), one["value"]["stringValue"].as_str().unwrap()))
        .collect()
}

trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}

/// A collector that answers so many requests, and gives their paths and bodies.
async fn collector(
    listener: TcpListener,
    tls: Option<tokio_rustls::TlsAcceptor>,
    requests: usize,
) -> Vec<(String, Value)> {
    let mut got = Vec::new();
    for _ in 0..requests {
        let (stream, _) = listener.accept().await.unwrap();
        let mut stream: Box<dyn Stream> = match &tls {
            None => Box::new(stream),
            Some(tls) => Box::new(tls.accept(stream).await.unwrap()),
        };
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
        stream.flush().await.unwrap();
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
    let exporter = Otlp::to(&endpoint, "shop", None).unwrap().every(Duration::from_millis(1));
    let watch = Watch::new(hops.clone());
    let exporting = tokio::spawn(exporter.run(hops.clone(), watch, hops.spans().clone(), None));
    let got = collector(listener, None, 2).await;
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
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let otlp = Otlp::to(&endpoint, "shop", None).unwrap();
    assert!(send::post(&otlp, "/v1/metrics", &Value::Null).await.is_err());
}

/// A folder with a certificate for `localhost` that it is its own authority of, and who shows it.
fn certificate() -> (tempfile::TempDir, tokio_rustls::TlsAcceptor) {
    let folder = tempfile::tempdir().unwrap();
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let [certificate, key] = ["ca.pem", "key.pem"].map(|name| folder.path().join(name));
    std::fs::write(&certificate, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    let tls = damper_system::sidecar::Tls { certificate, key, client_ca: None };
    (folder, crate::tls::acceptor(&tls).unwrap())
}

#[tokio::test]
async fn over_tls_it_goes_to_whom_it_believes_and_to_nobody_else() {
    let (folder, tls) = certificate();
    let (other, _) = certificate();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let to = |host: &str, folder: &tempfile::TempDir| {
        let ca = folder.path().join("ca.pem");
        Otlp::to(&format!("https://{host}:{port}/otlp"), "shop", Some(&ca)).unwrap()
    };
    let collecting = tokio::spawn({
        let tls = tls.clone();
        async move {
            // Two that do not believe it, and one that does.
            for _ in 0..2 {
                let (stream, _) = listener.accept().await.unwrap();
                assert!(tls.accept(stream).await.is_err());
            }
            collector(listener, Some(tls), 1).await
        }
    });
    let body = serde_json::json!({"a": 1});
    for wrong in [to("localhost", &other), to("127.0.0.1", &folder)] {
        let error = send::post(&wrong, "/v1/metrics", &body).await.unwrap_err();
        assert!(error.to_string().contains("certificate"), "{error}");
    }
    send::post(&to("localhost", &folder), "/v1/metrics", &body).await.unwrap();
    assert_eq!(collecting.await.unwrap(), [("/otlp/v1/metrics".to_owned(), body)]);
}

#[test]
fn only_what_it_can_do_is_taken() {
    for wrong in ["", "grpc://collector:4317", "collector:4318", "/v1", "http://", "https://"] {
        let why = Otlp::to(wrong, "x", None).unwrap_err();
        assert!(matches!(why, Unusable::Address(_)), "{wrong}: {why}");
    }
    assert!(Otlp::to("http://[::1]:4318/", "x", None).is_ok());
    let gone = Path::new("no-such-file.pem");
    let why = Otlp::to("https://[::1]:4318/", "x", Some(gone)).unwrap_err().to_string();
    assert!(why.contains("no-such-file.pem"), "{why}");
}
