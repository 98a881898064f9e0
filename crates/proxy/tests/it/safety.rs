//! No request is lost, and none is sent twice where that is not safe.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::{Method, StatusCode};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::{Client, SYSTEM, inbound, outbound, request, start};

/// A server that answers the first request of a connection and closes it, without a word, when it
/// has read another one. Gives what it has read.
async fn closes_on_the_second() -> (std::net::SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let read = Arc::<AtomicUsize>::default();
    let seen = read.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let seen = seen.clone();
            tokio::spawn(async move {
                for turn in 0..2 {
                    let mut buffer = vec![0; 4096];
                    if stream.read(&mut buffer).await.unwrap_or(0) == 0 {
                        return;
                    }
                    seen.fetch_add(1, Ordering::SeqCst);
                    if turn == 0 {
                        let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
                        stream.write_all(answer).await.unwrap();
                    }
                }
            });
        }
    });
    (address, read)
}

#[tokio::test]
async fn a_post_on_a_connection_that_closes_is_not_sent_twice() {
    let (address, read) = closes_on_the_second().await;
    let config = inbound(address, "").replace("workers: 2", "workers: 1");
    let proxy = start(&config, SYSTEM);
    let mut client = Client::connect(proxy.address("db").unwrap()).await;
    let first = client.send(request(Method::POST, &[], "one")).await.unwrap();
    assert_eq!(first.status, StatusCode::OK);
    let second = client.send(request(Method::POST, &[], "two")).await.unwrap();
    assert_eq!(second.status, StatusCode::BAD_GATEWAY);
    assert_eq!(read.load(Ordering::SeqCst), 2, "each was read once");
}

#[tokio::test]
async fn a_get_on_a_connection_that_closes_is_sent_again() {
    let (address, read) = closes_on_the_second().await;
    let config = inbound(address, "").replace("workers: 2", "workers: 1");
    let proxy = start(&config, SYSTEM);
    let mut client = Client::connect(proxy.address("db").unwrap()).await;
    for _ in 0..2 {
        let got = client.send(request(Method::GET, &[], "")).await.unwrap();
        assert_eq!(got.status, StatusCode::OK);
    }
    assert_eq!(read.load(Ordering::SeqCst), 3, "the second on a connection of its own");
    let seen = proxy.hops().find("db").unwrap().meters().snapshot().overall;
    assert_eq!(seen[damper_proxy::meters::Overall::Resent as usize], 1);
}

#[tokio::test]
async fn a_policy_repeats_a_post_only_if_it_is_told_to() {
    for (more, headers, attempts) in [
        ("", vec![], 1),
        ("", vec![("idempotency-key", "7")], 4),
        ("    repeat: by-policy\n", vec![], 4),
    ] {
        let backend = crate::backend::Backend::always(500).await;
        let proxy = start(&outbound(&[backend.address], more, ""), SYSTEM);
        let mut headers = headers;
        headers.push(("x-damper-class", "high"));
        let post = request(Method::POST, &headers, "body");
        crate::send(proxy.address("front -> db").unwrap(), post).await;
        assert_eq!(backend.requests(), attempts, "{more}{headers:?}");
    }
}

#[tokio::test]
async fn the_body_of_each_attempt_is_whole() {
    use http_body_util::BodyExt as _;
    let backend = crate::backend::Backend::start(|n, request| async move {
        let body = request.into_body().collect().await.unwrap().to_bytes();
        let text = String::from_utf8(body.to_vec()).unwrap();
        crate::backend::reply(if n < 2 { 429 } else { 200 }, &text)
    })
    .await;
    let proxy = start(&outbound(&[backend.address], "", ""), SYSTEM);
    let post = request(Method::POST, &[("x-damper-class", "high")], "all of it");
    let got = crate::send(proxy.address("front -> db").unwrap(), post).await;
    assert_eq!((got.status.as_u16(), &got.body[..]), (200, &b"all of it"[..]));
    assert_eq!(backend.requests(), 3, "a refusal before any work may be sent again");
}
