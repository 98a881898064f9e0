//! Reload and end.

use std::sync::Arc;
use std::time::Duration;

use http::{Method, StatusCode};
use tokio::sync::Semaphore;

use crate::backend::{Backend, reply};
use crate::{Client, SYSTEM, get, inbound, request, sidecar, start};

/// Answers with its name when it may.
async fn gated(name: &'static str) -> (Backend, Arc<Semaphore>) {
    let open = Arc::new(Semaphore::new(0));
    let gate = open.clone();
    let backend = Backend::start(move |_, _| {
        let gate = gate.clone();
        async move {
            let _ = gate.acquire().await;
            reply(200, name)
        }
    })
    .await;
    (backend, open)
}

async fn came(backend: &Backend, requests: usize) {
    while backend.requests() < requests {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_reload_drops_nothing_and_takes_open_connections_along() {
    let (old, open) = gated("old").await;
    let (new, other) = gated("new").await;
    other.close();
    let mut proxy = start(&inbound(old.address, ""), SYSTEM);
    let at = proxy.address("db").unwrap();
    let mut idle = Client::connect(at).await;
    let waiting = tokio::spawn(async move { get(at, &[]).await });
    came(&old, 1).await;
    proxy.take_over(&sidecar(&inbound(new.address, ""), SYSTEM)).unwrap();
    assert_eq!(proxy.address("db"), Some(at), "port 0 stays what it became");
    // Each worker hears of it by itself, a moment later: until then the old one is asked.
    let hears = tokio::spawn(async move { idle.send(request(Method::GET, &[], "")).await });
    while new.requests() == 0 && old.requests() == 1 {
        tokio::task::yield_now().await;
    }
    open.close();
    let got = hears.await.unwrap().unwrap();
    let asked = if new.requests() == 1 { "new" } else { "old" };
    assert_eq!(got.body, asked);
    assert_eq!(get(at, &[]).await.body, "new");
    assert_eq!(waiting.await.unwrap().body, "old", "it ended where it began");
}

#[tokio::test]
async fn what_has_not_changed_keeps_its_controls_and_counts() {
    let backend = Backend::always(200).await;
    let config = inbound(backend.address, "");
    let mut proxy = start(&config, SYSTEM);
    let at = proxy.address("db").unwrap();
    let mut client = Client::connect(at).await;
    client.send(request(Method::GET, &[], "")).await.unwrap();
    let before = proxy.hops().find("db").unwrap();
    proxy.take_over(&sidecar(&config, SYSTEM)).unwrap();
    assert!(Arc::ptr_eq(&before, &proxy.hops().find("db").unwrap()));
    client.send(request(Method::GET, &[], "")).await.unwrap();
    assert_eq!(backend.connections(), 1, "the pool is the same");
    let changed = SYSTEM.replace("queue: 2", "queue: 3");
    proxy.take_over(&sidecar(&config, &changed)).unwrap();
    let after = proxy.hops().find("db").unwrap();
    assert!(!Arc::ptr_eq(&before, &after));
    let counted = |hop: &damper_proxy::hop::Hop| hop.meters().snapshot().total(|class| class.came);
    assert_eq!(counted(&after), 2);
}

#[tokio::test]
async fn a_configuration_that_cannot_be_served_changes_nothing() {
    let backend = Backend::always(200).await;
    let config = inbound(backend.address, "");
    let mut proxy = start(&config, SYSTEM);
    let at = proxy.address("db").unwrap();
    let held = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = held.local_addr().unwrap();
    let other = config.replace("127.0.0.1:0", &taken.to_string());
    let error = proxy.take_over(&sidecar(&other, SYSTEM)).unwrap_err();
    assert!(error.to_string().contains(&taken.to_string()), "{error}");
    assert_eq!(get(at, &[]).await.status, StatusCode::OK);
    drop(held);
    proxy.take_over(&sidecar(&other, SYSTEM)).unwrap();
    assert_eq!(get(taken, &[]).await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_reload_moves_a_listener_to_all_addresses_and_back() {
    let backend = Backend::always(200).await;
    for workers in [1, 2] {
        let config =
            inbound(backend.address, "").replace("workers: 2", &format!("workers: {workers}"));
        let mut proxy = start(&config, SYSTEM);
        let at = proxy.address("db").unwrap();
        let other = std::net::SocketAddr::from(([127, 0, 0, 2], at.port()));
        let moved = |ip: &str| config.replace("127.0.0.1:0", &format!("{ip}:{}", at.port()));
        for (ip, elsewhere) in [("127.0.0.1", false), ("0.0.0.0", true), ("127.0.0.1", false)] {
            proxy.take_over(&sidecar(&moved(ip), SYSTEM)).unwrap();
            assert_eq!(get(at, &[]).await.status, StatusCode::OK, "{workers}: {ip}");
            // The socket before it is closed a moment later.
            while tokio::net::TcpStream::connect(other).await.is_ok() != elsewhere {
                tokio::task::yield_now().await;
            }
        }
    }
}

#[tokio::test]
async fn a_port_of_ones_own_that_cannot_be_shared_is_said_with_what_to_do() {
    let backend = Backend::always(200).await;
    let given = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let at = given.local_addr().unwrap();
    let config = |ip: &str| {
        inbound(backend.address, "").replace("127.0.0.1:0", &format!("{ip}:{}", at.port()))
    };
    let sockets = vec![given];
    let mut proxy =
        damper_proxy::Proxy::start(&sidecar(&config("127.0.0.1"), SYSTEM), sockets).unwrap();
    let why = proxy.take_over(&sidecar(&config("0.0.0.0"), SYSTEM)).unwrap_err().to_string();
    assert!(why.contains("`db` of this proxy still has the port"), "{why}");
    assert!(why.contains("restart the proxy"), "{why}");
    assert_eq!(get(at, &[]).await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_given_socket_is_there_after_a_reload_that_failed() {
    let backend = Backend::always(200).await;
    let config = inbound(backend.address, "");
    let bind = || std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let (given, held) = (bind(), bind());
    let (at, taken) = (given.local_addr().unwrap(), held.local_addr().unwrap());
    // As systemd does.
    let _kept = given.try_clone().unwrap();
    let mut proxy = damper_proxy::Proxy::start(&sidecar(&config, SYSTEM), vec![given]).unwrap();
    let moved = config.replace("127.0.0.1:0", &at.to_string());
    let other = format!(
        "{moved}outbound:\n  - call: front -> db\n    listen: {taken}\n    upstream: {}\n",
        backend.address
    );
    assert!(proxy.take_over(&sidecar(&other, SYSTEM)).is_err());
    proxy.take_over(&sidecar(&moved, SYSTEM)).unwrap();
    assert_eq!(get(at, &[]).await.status, StatusCode::OK);
}

#[tokio::test]
async fn at_the_end_what_is_under_way_is_answered() {
    let (backend, open) = gated("late").await;
    let proxy = start(&inbound(backend.address, ""), SYSTEM);
    let at = proxy.address("db").unwrap();
    let mut idle = Client::connect(at).await;
    // It has had a request: what comes later could come over another connection.
    open.add_permits(1);
    idle.send(request(Method::GET, &[], "")).await.unwrap();
    assert_eq!(open.forget_permits(1), 1);
    let waiting = tokio::spawn(async move { get(at, &[]).await });
    came(&backend, 2).await;
    let drained = tokio::task::spawn_blocking(move || proxy.drain(Duration::from_secs(20)));
    // Nobody listens any more, and a connection without a request is closed.
    while tokio::net::TcpStream::connect(at).await.is_ok() {
        tokio::task::yield_now().await;
    }
    while idle.send(request(Method::GET, &[], "")).await.is_ok() {}
    open.close();
    let got = waiting.await.unwrap();
    assert_eq!((got.status, &got.body[..]), (StatusCode::OK, &b"late"[..]));
    assert_eq!(got.headers.get("connection").unwrap(), "close");
    assert_eq!(drained.await.unwrap(), 0);
}

#[tokio::test]
async fn who_does_not_end_is_left_after_a_time() {
    let (backend, _open) = gated("never").await;
    let proxy = start(&inbound(backend.address, ""), SYSTEM);
    let at = proxy.address("db").unwrap();
    let waiting = tokio::spawn(async move {
        Client::connect(at).await.send(request(Method::GET, &[], "")).await.is_err()
    });
    came(&backend, 1).await;
    let left = tokio::task::spawn_blocking(move || proxy.drain(Duration::from_millis(50))).await;
    assert_eq!(left.unwrap(), 1);
    assert!(waiting.await.unwrap(), "its connection is closed");
}
