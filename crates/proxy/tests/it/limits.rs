//! What strangers may use.

use http::{Method, StatusCode};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::backend::Backend;
use crate::{Client, SYSTEM, get, inbound, request, send, start};

async fn raw(to: std::net::SocketAddr, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(to).await.unwrap();
    stream.write_all(bytes).await.unwrap();
    let mut got = Vec::new();
    let _ = stream.read_to_end(&mut got).await;
    String::from_utf8_lossy(&got).into_owned()
}

#[tokio::test]
async fn a_body_that_is_too_large_is_refused() {
    let backend = Backend::start(|_, request| async move {
        use http_body_util::BodyExt as _;
        let _ = request.into_body().collect().await;
        crate::backend::reply(200, "")
    })
    .await;
    let proxy = start(&inbound(backend.address, "    limits: {body: 8B}\n"), SYSTEM);
    let at = proxy.address("db").unwrap();
    assert_eq!(send(at, request(Method::POST, &[], "12345678")).await.status, StatusCode::OK);
    let got = send(at, request(Method::POST, &[], "123456789")).await;
    assert_eq!(got.status, StatusCode::PAYLOAD_TOO_LARGE);
    assert_eq!(backend.requests(), 1, "its head says so, and nobody was asked");
    let chunked = b"POST / HTTP/1.1\r\nhost: a\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n5\r\n12345\r\n5\r\n12345\r\n0\r\n\r\n";
    let got = raw(at, chunked).await;
    assert!(got.starts_with("HTTP/1.1 413"), "{got}");
}

#[tokio::test]
async fn a_head_that_is_too_large_is_refused() {
    let backend = Backend::always(200).await;
    let proxy = start(&inbound(backend.address, "    limits: {headers: 10, head: 8KiB}\n"), SYSTEM);
    let at = proxy.address("db").unwrap();
    let many: String = (0..12).map(|n| format!("x-{n}: 1\r\n")).collect();
    let long = format!("x: {}\r\n", "1".repeat(9000));
    for headers in [many, long] {
        let got = raw(at, format!("GET / HTTP/1.1\r\nhost: a\r\n{headers}\r\n").as_bytes()).await;
        assert!(got.starts_with("HTTP/1.1 431"), "{got}");
    }
    assert_eq!(backend.requests(), 0);
}

#[tokio::test]
async fn there_are_so_many_connections_and_no_more() {
    let backend = Backend::always(200).await;
    let proxy = start(&inbound(backend.address, "    limits: {connections: 2}\n"), SYSTEM);
    let at = proxy.address("db").unwrap();
    let mut kept = Vec::new();
    for _ in 0..2 {
        let mut client = Client::connect(at).await;
        client.send(request(Method::GET, &[], "")).await.unwrap();
        kept.push(client);
    }
    let got = raw(at, b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").await;
    assert_eq!(got, "", "it is closed without a word");
    let seen = proxy.hops().find("db").unwrap().meters().snapshot().overall;
    let counted = |what| seen[what as usize];
    use damper_proxy::meters::Overall;
    assert_eq!(
        [Overall::Accepted, Overall::RefusedConnections, Overall::Closed].map(counted),
        [2, 1, 0]
    );
    drop(kept.pop());
    // Its place is free when the proxy has seen its end.
    let mut got = String::new();
    while got.is_empty() {
        got = raw(at, b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").await;
    }
    assert!(got.starts_with("HTTP/1.1 200"), "{got}");
}

#[tokio::test]
async fn there_are_so_many_requests_and_no_more() {
    let (open, wait) = tokio::sync::watch::channel(false);
    let backend = Backend::start(move |_, _| {
        let mut wait = wait.clone();
        async move {
            let _ = wait.wait_for(|open| *open).await;
            crate::backend::reply(200, "")
        }
    })
    .await;
    let proxy = start(&inbound(backend.address, "    limits: {requests: 2}\n"), SYSTEM);
    let at = proxy.address("db").unwrap();
    let waiting = [tokio::spawn(get(at, &[])), tokio::spawn(get(at, &[]))];
    while backend.requests() < 2 {
        tokio::task::yield_now().await;
    }
    let got = get(at, &[]).await;
    assert_eq!(got.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(got.headers["x-damper-refused"], "concurrency-limited");
    assert_eq!(backend.requests(), 2, "nobody was asked");
    let seen = proxy.hops().find("db").unwrap().meters().snapshot().overall;
    assert_eq!(seen[damper_proxy::meters::Overall::RefusedRequests as usize], 1);
    open.send(true).unwrap();
    for one in waiting {
        assert_eq!(one.await.unwrap().status, StatusCode::OK);
    }
    // Their places are free.
    assert_eq!(get(at, &[]).await.status, StatusCode::OK);
}

#[tokio::test]
async fn whoever_does_not_finish_a_head_is_sent_away() {
    let backend = Backend::always(200).await;
    let limits = "    limits: {head_timeout: 1s}\n";
    let proxy = start(&inbound(backend.address, limits), SYSTEM);
    let at = proxy.address("db").unwrap();
    // One byte short of a head: it ends because the proxy ends it.
    let got = raw(at, b"GET / HTTP/1.1\r\nhost: a\r\n").await;
    assert!(!got.starts_with("HTTP/1.1 200"), "{got}");
    assert_eq!(get(at, &[]).await.status, StatusCode::OK);
}

#[tokio::test]
async fn nobody_tunnels_through_it() {
    let backend = Backend::always(200).await;
    let proxy = start(&inbound(backend.address, ""), SYSTEM);
    let at = proxy.address("db").unwrap();
    let got = raw(at, b"CONNECT a:1 HTTP/1.1\r\nhost: a:1\r\nconnection: close\r\n\r\n").await;
    assert!(got.starts_with("HTTP/1.1 405"), "{got}");
    assert_eq!(backend.requests(), 0);
}

#[tokio::test]
async fn whoever_does_not_read_is_sent_away() {
    // More than the buffers of two sockets hold.
    let backend =
        Backend::start(|_, _| async move { crate::backend::reply(200, &"x".repeat(32 << 20)) })
            .await;
    let limits = "    limits: {body_timeout: 1s, idle: 1s}\n";
    let proxy = start(&inbound(backend.address, limits), SYSTEM);
    let at = proxy.address("db").unwrap();
    let mut stream = TcpStream::connect(at).await.unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
    let hop = proxy.hops().find("db").unwrap();
    let closed = damper_proxy::meters::Overall::Closed as usize;
    while hop.meters().snapshot().overall[closed] == 0 {
        tokio::task::yield_now().await;
    }
    drop(stream);
    // One who reads, however long it takes, is not.
    let got = get(at, &[]).await;
    assert_eq!(got.body.len(), 32 << 20);
}
