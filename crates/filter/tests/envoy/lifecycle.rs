//! Listeners come and go under load, and no count goes with them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use serde_json::json;
use tokio::task::JoinSet;

use crate::attempts::backoff;
use crate::envoy::pause;
use crate::setup::free_port;
use crate::{Client, Listener, Protocol, Setup, Upstream, envoy, run};

fn plugin(limit: u32) -> String {
    format!(
        r#"{{"damper": 1, "position": "outbound", "retry": {{"limit": {limit}, "on": ["rejected"]}}}}"#
    )
}

/// The configuration of the plugin changes while there is load: the listener with the old one drains
/// and its virtual machine goes. Every request is counted, and none is lost.
#[test]
#[ignore = "slow: needs Envoy"]
fn a_listener_drains_under_load() {
    run(async {
        let upstream = Upstream::failing(Protocol::Http1).await;
        let folder = tempfile::tempdir().expect("a folder");
        let mut listener =
            Listener::new("out", "up", &plugin(1)).retry(json!({"retry_back_off": backoff()}));
        listener.port = free_port();
        let mut setup = Setup::new(&upstream, listener);
        setup.watched = Some(folder.path().join("listeners.json"));
        let Some(envoy) = envoy(&setup).await else { return };
        let (stop, sent) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let mut load = JoinSet::new();
        for _ in 0..6 {
            let (stop, sent, port) = (Arc::clone(&stop), Arc::clone(&sent), envoy.port("out"));
            load.spawn(async move {
                while !stop.load(Ordering::Relaxed) {
                    let mut client = Client::connect(port, false).await;
                    for _ in 0..10 {
                        assert_eq!(client.get("/x", &[]).await.status, 503, "the server's");
                        sent.fetch_add(1, Ordering::Relaxed);
                    }
                    pause(5).await;
                }
            });
        }
        for version in 2..=4 {
            pause(1500).await;
            setup.listeners[0].plugin = Some(plugin(version));
            envoy.change(&setup, &version.to_string());
        }
        // Load goes on until the old listeners are gone.
        pause(1500).await;
        envoy.has_drained().await;
        stop.store(true, Ordering::Relaxed);
        load.join_all().await;
        let updates = envoy.stats("listener_manager.listener_modified").await;
        assert_eq!(updates.values().sum::<u64>(), 3, "{updates:?}");
        let (sent, seen) = (sent.load(Ordering::Relaxed), upstream.seen().len() as u64);
        let requests = envoy.counter("outbound.class.default.requests").await;
        let attempts = envoy.counter("outbound.class.default.attempts").await;
        let unanswered = envoy.counter("outbound.class.default.unanswered").await;
        println!(
            "{sent} requests sent, {requests} counted, {seen} attempts seen, {attempts} counted"
        );
        assert!(sent > 200);
        // A request that met a closed connection is sent again.
        assert!(requests >= sent && requests - sent <= 20, "{requests} of {sent}");
        assert!(attempts <= seen && seen - attempts <= 20 + 4 * unanswered, "{attempts} of {seen}");
        assert!(!envoy.log().contains("panicked"), "{}", envoy.log());
    });
}
