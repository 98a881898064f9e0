//! Endpoints: which is next, which is left out, which connections are used again.

use http::StatusCode;

use crate::backend::{Backend, reply};
use crate::{Client, SYSTEM, get, inbound, outbound, request, start};

#[tokio::test]
async fn a_retry_goes_to_another_endpoint_where_there_is_one() {
    for balance in ["round-robin", "least-request", "p2c"] {
        let bad = Backend::always(500).await;
        let good = Backend::always(200).await;
        let config = outbound(&[bad.address, good.address], "", &format!(", balance: {balance}"));
        let proxy = start(&config, SYSTEM);
        let at = proxy.address("front -> db").unwrap();
        for n in 0..20 {
            let got = get(at, &[("x-damper-class", "low")]).await;
            assert_eq!(got.status, StatusCode::OK, "{balance}, call {n}");
        }
        assert_eq!(good.requests(), 20, "{balance}");
        assert!(bad.requests() > 0, "{balance}: it was never asked");
    }
}

#[tokio::test]
async fn one_endpoint_is_asked_again_where_there_is_no_other() {
    let backend =
        Backend::start(|n, _| async move { reply(if n == 0 { 500 } else { 200 }, "") }).await;
    let proxy = start(&outbound(&[backend.address], "", ""), SYSTEM);
    let got = get(proxy.address("front -> db").unwrap(), &[]).await;
    assert_eq!((got.status, backend.requests()), (StatusCode::OK, 2));
}

#[tokio::test]
async fn nothing_is_retried_when_all_endpoints_say_that_they_are_overloaded() {
    let overloaded = |_: usize, _| async {
        let mut response = reply(503, "");
        response.headers_mut().insert("x-damper-overloaded", "1".parse().unwrap());
        response
    };
    let (a, b) = (Backend::start(overloaded).await, Backend::start(overloaded).await);
    let proxy = start(&outbound(&[a.address, b.address], "", ""), SYSTEM);
    let at = proxy.address("front -> db").unwrap();
    let class = [("x-damper-class", "high")];
    assert_eq!(get(at, &class).await.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(a.requests() + b.requests(), 2, "the second said so, too");
    get(at, &class).await;
    assert_eq!(a.requests() + b.requests(), 3, "now it is known of both");
}

#[tokio::test]
async fn who_cannot_be_reached_costs_an_attempt_and_no_call() {
    let gone = Backend::always(200).await.address;
    // A port where nobody listens: bound and let go.
    let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let nobody = socket.local_addr().unwrap();
    drop(socket);
    let proxy = start(&outbound(&[nobody, gone], "", ", balance: round-robin"), SYSTEM);
    let at = proxy.address("front -> db").unwrap();
    for _ in 0..4 {
        let post = request(http::Method::POST, &[], "once");
        assert_eq!(crate::send(at, post).await.status, StatusCode::OK);
    }
    let proxy = start(&outbound(&[nobody], "", ""), SYSTEM);
    let got = get(proxy.address("front -> db").unwrap(), &[]).await;
    assert_eq!(got.status, StatusCode::SERVICE_UNAVAILABLE);
}

#[tokio::test]
async fn connections_are_used_again_until_they_are_old() {
    let backend = Backend::always(200).await;
    for (more, connections) in [("", 1), ("\n      max_age: 1us", 10)] {
        let before = backend.connections();
        let config = inbound(backend.address, "").replace("workers: 2", "workers: 1").replace(
            &format!("upstream: {}", backend.address),
            &format!("upstream:\n      to: {}{more}", backend.address),
        );
        let proxy = start(&config, SYSTEM);
        let mut client = Client::connect(proxy.address("db").unwrap()).await;
        for _ in 0..10 {
            let got = client.send(request(http::Method::GET, &[], "")).await.unwrap();
            assert_eq!(got.status, StatusCode::OK);
        }
        assert_eq!(backend.connections() - before, connections, "{more}");
    }
}

#[tokio::test]
async fn a_name_is_looked_up() {
    let backend = Backend::always(200).await;
    let to = format!("localhost:{}", backend.address.port());
    let config = inbound(backend.address, "").replace(&backend.address.to_string(), &to);
    let proxy = start(&config, SYSTEM);
    let at = proxy.address("db").unwrap();
    let got = get(at, &[]).await;
    assert_eq!(got.status, StatusCode::OK, "it is known before anything is served");
}
