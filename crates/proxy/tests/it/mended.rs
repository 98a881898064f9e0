//! What callers and callees may do that once held a place for ever, or was told to nobody.

use std::time::Duration;

use bytes::Bytes;
use damper_proxy::Proxy;
use damper_proxy::meters::Overall;
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::backend::{Backend, echo, reply};
use crate::{Client, SYSTEM, get, inbound, outbound, request, start};

fn overall(proxy: &Proxy, hop: &str, what: Overall) -> u64 {
    proxy.hops().find(hop).unwrap().meters().snapshot().overall[what as usize]
}

#[tokio::test]
async fn a_request_on_its_way_is_answered_though_nothing_is_accepted_any_more() {
    let backend = Backend::always(200).await;
    let proxy = start(&inbound(backend.address, ""), SYSTEM);
    let at = proxy.address("db").unwrap();
    // Accepted or about to be, and its request comes a moment after the end began.
    let mut connections = Vec::new();
    for _ in 0..8 {
        connections.push(TcpStream::connect(at).await.unwrap());
    }
    let drained = tokio::task::spawn_blocking(move || proxy.drain(Duration::from_secs(20)));
    while TcpStream::connect(at).await.is_ok() {
        tokio::task::yield_now().await;
    }
    for mut stream in connections {
        stream.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
        let mut got = String::new();
        stream.read_to_string(&mut got).await.unwrap();
        assert!(got.starts_with("HTTP/1.1 200") && got.contains("connection: close"), "{got}");
    }
    assert_eq!(drained.await.unwrap(), 0);
}

#[tokio::test]
async fn a_caller_that_gives_no_window_holds_no_connection_of_the_upstream() {
    let backend = Backend::start(|_, _| async { reply(200, &"x".repeat(1 << 20)) }).await;
    let config = inbound(backend.address, "    limits: {body_timeout: 1s}\n")
        .replace("workers: 2", "workers: 1")
        .replace(
            &format!("upstream: {}", backend.address),
            &format!("upstream: {{to: \"{}\", connections: 1, protocol: http1}}", backend.address),
        );
    let proxy = start(&config, SYSTEM);
    let at = proxy.address("db").unwrap();
    let io = TokioIo::new(TcpStream::connect(at).await.unwrap());
    let mut builder = hyper::client::conn::http2::Builder::new(TokioExecutor::new());
    // A window that the reply does not fit in, and that nobody opens.
    builder.initial_stream_window_size(1).initial_connection_window_size(1);
    let (mut sender, connection) = builder.handshake(io).await.unwrap();
    tokio::spawn(connection);
    let ask = Request::builder().uri(format!("http://{at}/"));
    let unread = sender.send_request(ask.body(Full::<Bytes>::default()).unwrap()).await.unwrap();
    assert_eq!(unread.status(), StatusCode::OK);
    assert_eq!(get(at, &[]).await.status, StatusCode::SERVICE_UNAVAILABLE, "it has the only one");
    while get(at, &[]).await.status != StatusCode::OK {
        tokio::task::yield_now().await;
    }
    assert!(unread.into_body().collect().await.is_err(), "its stream is ended");
}

#[tokio::test]
async fn time_in_the_queue_is_no_time_for_the_service() {
    let backend = Backend::start(|n, request| async move {
        if n == 0 {
            tokio::time::sleep(Duration::from_millis(400)).await;
        }
        echo(&request)
    })
    .await;
    let system = SYSTEM.replace("db: {workers: 2, queue: 2}", "db: {workers: 1, queue: 2}");
    let proxy = start(&inbound(backend.address, "    timeout: 10s\n"), &system);
    let at = proxy.address("db").unwrap();
    let first = tokio::spawn(async move { get(at, &[]).await });
    while backend.requests() == 0 {
        tokio::task::yield_now().await;
    }
    let got = get(at, &[]).await;
    first.await.unwrap();
    let text = String::from_utf8(got.body.to_vec()).unwrap();
    let left = text.lines().find_map(|line| line.strip_prefix("x-damper-deadline-ms: ")).unwrap();
    let hop = proxy.hops().find("db").unwrap();
    let waited = hop.meters().snapshot().classes[1].wait.sum_s() * 1000.0;
    assert!(waited > 1.0, "{waited} ms");
    assert!(left.parse::<f64>().unwrap() <= 10_000.0 - waited, "{left}, {waited} ms");
}

#[tokio::test]
async fn a_deadline_that_does_not_travel_is_taken_out() {
    let backend = Backend::start(|_, request| async move { echo(&request) }).await;
    for (travels, told) in [("true", true), ("false", false)] {
        let system = SYSTEM.replace(
            "{timeout: 2s,",
            &format!("{{timeout: 2s, deadline: {{total: 5s, travels: {travels}}},"),
        );
        let proxy = start(&outbound(&[backend.address], "", ""), &system);
        let got = get(proxy.address("front -> db").unwrap(), &[("x-damper-deadline-ms", "900")]);
        let text = String::from_utf8(got.await.body.to_vec()).unwrap();
        assert_eq!(text.contains("x-damper-deadline-ms"), told, "{travels}: {text}");
    }
}

#[tokio::test]
async fn the_door_hears_of_requests_that_took_too_long() {
    let backend = Backend::start(|_, _| std::future::pending()).await;
    let proxy = start(&inbound(backend.address, "    timeout: 50ms\n"), SYSTEM);
    let at = proxy.address("db").unwrap();
    assert_eq!(get(at, &[]).await.status, StatusCode::GATEWAY_TIMEOUT);
    let counts = proxy.hops().find("db").unwrap().counts();
    let (_, door) = counts.iter().find(|(name, _)| *name == "door").unwrap();
    let late = damper_tower::Event::Ended(damper_control::Outcome::TimedOut);
    assert_eq!((door.total(late), door.total(damper_tower::Event::Abandoned)), (1, 0));
}

#[tokio::test]
async fn attempts_and_connections_to_the_upstream_are_counted() {
    let backend = Backend::always(200).await;
    let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let nobody = socket.local_addr().unwrap();
    drop(socket);
    let inbound = inbound(backend.address, "").replace("workers: 2", "workers: 1");
    for (hop, config, attempts) in
        [("db", inbound, 3), ("front -> db", outbound(&[backend.address], "", ""), 3)]
    {
        let proxy = start(&config, SYSTEM);
        let mut client = Client::connect(proxy.address(hop).unwrap()).await;
        for _ in 0..attempts {
            client.send(request(Method::GET, &[], "")).await.unwrap();
        }
        let counted = |what| overall(&proxy, hop, what);
        assert_eq!((counted(Overall::Connected), counted(Overall::Reused)), (1, 2), "{hop}");
        let seen = proxy.hops().find(hop).unwrap().meters().snapshot();
        assert_eq!(seen.total(|class| class.attempt.count()), attempts, "{hop}");
    }
    let proxy = start(&outbound(&[nobody], "", ""), SYSTEM);
    get(proxy.address("front -> db").unwrap(), &[]).await;
    assert_eq!(overall(&proxy, "front -> db", Overall::ConnectFailed), 2, "it was tried twice");
}

#[tokio::test]
async fn a_retry_says_so_in_either_way() {
    let backend = Backend::always(200).await;
    let proxy = start(&inbound(backend.address, "    trust: loopback\n"), SYSTEM);
    let at = proxy.address("db").unwrap();
    for (header, value) in [
        ("grpc-previous-rpc-attempts", "1"),
        ("x-envoy-attempt-count", "2"),
        ("x-envoy-attempt-count", "0"),
        ("x-envoy-attempt-count", "many"),
    ] {
        get(at, &[(header, value)]).await;
    }
    let seen = proxy.hops().find("db").unwrap().meters().snapshot();
    assert_eq!((seen.total(|class| class.came), seen.total(|class| class.retries)), (4, 2));
}

#[tokio::test]
async fn headers_are_counted_over_http2_as_well() {
    let backend = Backend::always(200).await;
    let proxy = start(&inbound(backend.address, "    limits: {headers: 10}\n"), SYSTEM);
    let at = proxy.address("db").unwrap();
    let io = TokioIo::new(TcpStream::connect(at).await.unwrap());
    let made = hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await;
    let (mut sender, connection) = made.unwrap();
    tokio::spawn(connection);
    for (headers, status) in [(8, 200), (11, 431)] {
        let mut ask = Request::builder().uri(format!("http://{at}/"));
        for n in 0..headers {
            ask = ask.header(format!("x-{n}"), "1");
        }
        let ask = ask.body(Full::<Bytes>::default()).unwrap();
        assert_eq!(sender.send_request(ask).await.unwrap().status().as_u16(), status);
    }
}

#[tokio::test]
async fn a_byte_now_and_then_is_no_body() {
    let backend = Backend::start(|_, request| async move {
        let _ = request.into_body().collect().await;
        reply(200, "")
    })
    .await;
    let proxy = start(&inbound(backend.address, "    limits: {body_timeout: 1s}\n"), SYSTEM);
    let mut stream = TcpStream::connect(proxy.address("db").unwrap()).await.unwrap();
    stream.write_all(b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1000\r\n\r\n").await.unwrap();
    let (mut read, mut write) = stream.split();
    let trickle = async {
        while write.write_all(b"x").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let mut got = [0; 12];
    tokio::select! {
        read = read.read_exact(&mut got) => { read.unwrap(); }
        () = trickle => {}
    }
    assert_eq!(&got, b"HTTP/1.1 408");
}

#[tokio::test]
async fn an_answer_that_makes_no_sense_is_not_asked_for_again() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let asked = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let seen = asked.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let seen = seen.clone();
            tokio::spawn(async move {
                let mut buffer = vec![0; 4096];
                let answers: [&[u8]; 2] =
                    [b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", b"nonsense\r\n\r\n"];
                for answer in answers {
                    if stream.read(&mut buffer).await.unwrap_or(0) == 0 {
                        return;
                    }
                    seen.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                    let _ = stream.write_all(answer).await;
                }
            });
        }
    });
    let config = inbound(address, "").replace("workers: 2", "workers: 1");
    let proxy = start(&config, SYSTEM);
    let mut client = Client::connect(proxy.address("db").unwrap()).await;
    for status in [StatusCode::OK, StatusCode::BAD_GATEWAY] {
        let got = client.send(request(Method::GET, &[], "")).await.unwrap();
        assert_eq!(got.status, status);
    }
    assert_eq!(asked.load(std::sync::atomic::Ordering::SeqCst), 2, "it had the request");
}
