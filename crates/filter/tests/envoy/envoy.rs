//! Envoy as a process of the test.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use crate::{Client, Setup};

/// Where Envoy and the plugin are; `None`: there is no Envoy to ask.
pub(crate) fn programs() -> Option<(PathBuf, PathBuf)> {
    let Some(envoy) = std::env::var_os("ENVOY") else {
        eprintln!("skipped: ENVOY is not set");
        return None;
    };
    let plugin = std::env::var_os("DAMPER_FILTER").map_or_else(
        || {
            PathBuf::from(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/../../target/filter/damper-filter.wasm"
            ))
        },
        PathBuf::from,
    );
    assert!(plugin.is_file(), "{}: run `cargo xtask filter`", plugin.display());
    Some((envoy.into(), plugin))
}

/// A running Envoy with two worker threads; it ends with this.
pub(crate) struct Envoy {
    child: Child,
    folder: TempDir,
    plugin: String,
    admin: u16,
    ports: BTreeMap<String, u16>,
}

/// Starts Envoy. `None`: there is none.
pub(crate) async fn envoy(setup: &Setup) -> Option<Envoy> {
    let (_, plugin) = programs()?;
    envoy_with(setup, &plugin).await
}

/// Starts Envoy with another plugin.
pub(crate) async fn envoy_with(setup: &Setup, plugin: &Path) -> Option<Envoy> {
    let (program, _) = programs()?;
    let plugin = plugin.display().to_string();
    let folder = tempfile::tempdir().expect("a folder");
    let bootstrap = folder.path().join("envoy.json");
    fs::write(&bootstrap, setup.bootstrap(&plugin).to_string()).expect("a file");
    if let Some(file) = &setup.watched {
        fs::write(file, setup.watched_listeners(&plugin, "1").to_string()).expect("a file");
    }
    let log = fs::File::create(folder.path().join("log")).expect("a file");
    let child = Command::new(program)
        .args(["--concurrency", "2", "--disable-hot-restart", "--log-level", "warn"])
        .args(["--drain-time-s", "2", "--parent-shutdown-time-s", "3"])
        .arg("--admin-address-path")
        .arg(folder.path().join("admin"))
        .arg("--config-path")
        .arg(&bootstrap)
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .expect("Envoy runs");
    let mut envoy = Envoy { child, folder, plugin, admin: 0, ports: BTreeMap::new() };
    envoy.wait_until_ready(setup.listeners.len()).await;
    Some(envoy)
}

impl Envoy {
    async fn wait_until_ready(&mut self, listeners: usize) {
        for _ in 0..300 {
            if let Ok(Some(status)) = self.child.try_wait() {
                panic!("Envoy ended: {status}\n{}", self.log());
            }
            let admin = fs::read_to_string(self.folder.path().join("admin")).unwrap_or_default();
            if let Some(port) = admin.rsplit(':').next().and_then(|port| port.trim().parse().ok()) {
                self.admin = port;
                self.read_ports().await;
                if self.ports.len() >= listeners {
                    return;
                }
            }
            pause(100).await;
        }
        panic!("Envoy is not ready\n{}", self.log());
    }

    async fn read_ports(&mut self) {
        let body = self.admin("GET", "/listeners").await;
        for line in body.lines() {
            if let Some((name, address)) = line.split_once("::")
                && let Some(port) = address.rsplit(':').next().and_then(|port| port.parse().ok())
            {
                self.ports.insert(name.to_owned(), port);
            }
        }
    }

    pub(crate) fn port(&self, listener: &str) -> u16 {
        self.ports[listener]
    }

    /// What Envoy's admin port says.
    pub(crate) async fn admin(&self, method: &str, path: &str) -> String {
        Client::connect(self.admin, false).await.send(method, path, &[]).await.body
    }

    /// Envoy's stats whose names contain `part`, when the plugin has handed over what it has counted:
    /// when they have not changed for a while.
    pub(crate) async fn stats(&self, part: &str) -> BTreeMap<String, u64> {
        let mut last = self.read_stats(part).await;
        for _ in 0..100 {
            pause(400).await;
            let now = self.read_stats(part).await;
            if now == last {
                break;
            }
            last = now;
        }
        last
    }

    async fn read_stats(&self, part: &str) -> BTreeMap<String, u64> {
        let body = self.admin("GET", "/stats").await;
        let lines = body.lines().filter_map(|line| line.split_once(": "));
        lines
            .filter(|(name, _)| name.contains(part))
            .filter_map(|(name, value)| Some((name.to_owned(), value.parse().ok()?)))
            .collect()
    }

    /// Waits until no listener drains any more.
    pub(crate) async fn has_drained(&self) {
        const DRAINING: &str = "listener_manager.total_listeners_draining";
        for _ in 0..600 {
            if self.read_stats(DRAINING).await.values().all(|listeners| *listeners == 0) {
                return;
            }
            pause(100).await;
        }
        panic!("listeners still drain\n{}", self.log());
    }

    /// A counter of the plugin, such as `outbound.class.high.requests`.
    pub(crate) async fn counter(&self, name: &str) -> u64 {
        let full = format!("wasmcustom.damper.{name}");
        self.stats(&full).await.get(&full).copied().unwrap_or_else(|| panic!("no counter {full}"))
    }

    /// A counter of the cluster `up`.
    pub(crate) async fn upstream_counter(&self, name: &str) -> u64 {
        let full = format!("cluster.up.{name}");
        self.stats(&full).await.get(&full).copied().unwrap_or_else(|| panic!("no counter {full}"))
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// Gives Envoy other listeners while it runs.
    pub(crate) fn change(&self, setup: &Setup, version: &str) {
        let file = setup.watched.as_ref().expect("a watched file");
        let new = file.with_extension("new");
        fs::write(&new, setup.watched_listeners(&self.plugin, version).to_string())
            .expect("a file");
        fs::rename(&new, file).expect("a file");
    }
}

impl Drop for Envoy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits.
pub(crate) async fn pause(milliseconds: u64) {
    tokio::time::sleep(Duration::from_millis(milliseconds)).await;
}
