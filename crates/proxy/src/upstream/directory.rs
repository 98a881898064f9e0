//! The addresses of an upstream: those that the configuration has, and those that its names have.
//!
//! `getaddrinfo` tells no lifetimes, so names are looked up again after a fixed time. A name that
//! is not found keeps the addresses it had: a resolver that is down is no reason to stop.

use std::net::{SocketAddr, ToSocketAddrs as _};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use damper_system::sidecar::{Endpoint, Upstream};
use damper_tower::clock;
use tokio::time::Instant;

/// The most addresses of one upstream.
const MOST: usize = 4096;

/// Addresses that change, for all workers.
#[derive(Debug)]
pub struct Directory {
    to: Vec<Endpoint>,
    refresh: Duration,
    known: Mutex<Known>,
    /// Moves on with each change, so that a worker sees one without the lock.
    version: AtomicU64,
}

#[derive(Debug, Default)]
struct Known {
    /// What each of `to` stands for now.
    each: Vec<Vec<SocketAddr>>,
    all: Arc<[SocketAddr]>,
}

impl Directory {
    /// With the addresses that need no looking up.
    #[must_use]
    pub fn new(upstream: &Upstream) -> Self {
        let each = upstream.to.iter().map(|endpoint| match endpoint {
            Endpoint::Address(address) => vec![*address],
            Endpoint::Name(..) => Vec::new(),
        });
        let mut known = Known { each: each.collect(), all: Arc::from([]) };
        known.gather();
        Self {
            to: upstream.to.clone(),
            refresh: clock::duration(upstream.refresh),
            known: Mutex::new(known),
            version: AtomicU64::new(1),
        }
    }

    /// Which edition of the addresses it is.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// All addresses, each once.
    #[must_use]
    pub fn addresses(&self) -> Arc<[SocketAddr]> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).all.clone()
    }

    /// Whether names have to be looked up.
    #[must_use]
    pub fn has_names(&self) -> bool {
        self.to.iter().any(|endpoint| matches!(endpoint, Endpoint::Name(..)))
    }

    /// What one of `to` stands for from now on.
    fn learn(&self, at: usize, mut addresses: Vec<SocketAddr>) {
        addresses.sort_unstable();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        match known.each.get_mut(at) {
            Some(before) if !addresses.is_empty() && *before != addresses => *before = addresses,
            _ => return,
        }
        known.gather();
        drop(known);
        self.version.fetch_add(1, Ordering::Release);
    }

    /// Looks all names up at the same time: one that takes long keeps none of the others waiting.
    async fn look_up(&self) {
        let mut asked = tokio::task::JoinSet::new();
        for (at, name, port) in self.names() {
            let name = name.to_owned();
            asked.spawn(async move {
                (at, tokio::net::lookup_host((name, port)).await.map(Iterator::collect))
            });
        }
        while let Some(told) = asked.join_next().await {
            if let Ok((at, Ok(found))) = told {
                self.learn(at, found);
            }
        }
    }

    fn names(&self) -> impl Iterator<Item = (usize, &str, u16)> {
        self.to.iter().enumerate().filter_map(|(at, endpoint)| match endpoint {
            Endpoint::Name(name, port) => Some((at, name.as_str(), *port)),
            Endpoint::Address(_) => None,
        })
    }

    /// Knows what another knows of the same names, so that they need not be looked up again first.
    pub(crate) fn learn_from(&self, other: &Self) {
        for (at, endpoint) in self.to.iter().enumerate() {
            let Some(there) = other.to.iter().position(|known| known == endpoint) else { continue };
            let known = other.known.lock().unwrap_or_else(PoisonError::into_inner);
            let addresses = known.each.get(there).cloned().unwrap_or_default();
            drop(known);
            self.learn(at, addresses);
        }
    }

    /// Looks up the names of which nothing is known, all at the same time, and waits for the
    /// answers at most so long: who serves before that has nowhere to send a request.
    pub(crate) fn first<'a>(all: impl Iterator<Item = &'a Arc<Self>>, most: Duration) {
        let (tell, told) = std::sync::mpsc::channel();
        for directory in all {
            for (at, name, port) in directory.names() {
                let known = directory.known.lock().unwrap_or_else(PoisonError::into_inner);
                let is_known = known.each.get(at).is_some_and(|known| !known.is_empty());
                drop(known);
                if is_known {
                    continue;
                }
                let (name, tell, directory) = (name.to_owned(), tell.clone(), directory.clone());
                // A thread, since `getaddrinfo` waits; without one it is looked up later.
                let _ = std::thread::Builder::new().name("look-up".to_owned()).spawn(move || {
                    if let Ok(found) = (name.as_str(), port).to_socket_addrs() {
                        directory.learn(at, found.collect());
                    }
                    let _ = tell.send(());
                });
            }
        }
        drop(tell);
        let end = Instant::now() + most;
        while told.recv_timeout(end.saturating_duration_since(Instant::now())).is_ok() {}
    }

    /// Looks names up until the directory is gone.
    pub async fn keep(directory: Weak<Self>) {
        loop {
            let wait = {
                let Some(directory) = directory.upgrade() else { return };
                directory.look_up().await;
                // Until there is anything, it is worth more to know soon.
                let soon = Duration::from_secs(1).min(directory.refresh);
                if directory.addresses().is_empty() { soon } else { directory.refresh }
            };
            tokio::time::sleep(wait).await;
        }
    }
}

impl Known {
    fn gather(&mut self) {
        let mut all: Vec<SocketAddr> = Vec::new();
        for address in self.each.iter().flatten() {
            if all.len() < MOST && !all.contains(address) {
                all.push(*address);
            }
        }
        self.all = all.into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use damper_control::Nanos;
    use damper_system::sidecar::{Balance, PoolOrder, Protocol};

    fn upstream(to: Vec<Endpoint>) -> Upstream {
        Upstream {
            to,
            protocol: Protocol::AsCaller,
            balance: Balance::P2c,
            tls: None,
            connect_timeout: Nanos::from_secs(1),
            refresh: Nanos::from_secs(30),
            connections: 4,
            order: PoolOrder::Lru,
            max_age: Nanos::from_secs(60),
            idle: Nanos::from_secs(60),
        }
    }

    #[test]
    fn a_name_that_is_lost_keeps_its_addresses() {
        let address = |port| SocketAddr::from(([10, 0, 0, 1], port));
        let to = vec![Endpoint::Address(address(1)), Endpoint::Name("db".into(), 2)];
        let directory = Directory::new(&upstream(to));
        assert_eq!((&*directory.addresses(), directory.has_names()), (&[address(1)][..], true));
        let version = directory.version();
        directory.learn(1, vec![address(3), address(1), address(2)]);
        assert_eq!(*directory.addresses(), [address(1), address(2), address(3)], "each once");
        assert_eq!(directory.version(), version + 1);
        directory.learn(1, vec![address(1), address(2), address(3)]);
        directory.learn(1, Vec::new());
        assert_eq!(directory.version(), version + 1, "nothing is new");
        directory.learn(1, vec![address(4)]);
        assert_eq!(*directory.addresses(), [address(1), address(4)]);
    }

    #[test]
    fn what_is_known_of_a_name_is_known_at_once() {
        let name = |name: &str| Endpoint::Name(name.into(), 80);
        let before = Directory::new(&upstream(vec![name("a"), name("b")]));
        let address = SocketAddr::from(([10, 0, 0, 1], 80));
        before.learn(1, vec![address]);
        let after = Directory::new(&upstream(vec![name("b"), name("c")]));
        after.learn_from(&before);
        assert_eq!(*after.addresses(), [address]);
        let fresh = Arc::new(Directory::new(&upstream(vec![name("localhost")])));
        Directory::first(std::iter::once(&fresh), Duration::from_secs(20));
        assert!(!fresh.addresses().is_empty());
    }

    #[tokio::test]
    async fn names_are_looked_up() {
        let directory =
            Arc::new(Directory::new(&upstream(vec![Endpoint::Name("localhost".into(), 80)])));
        directory.look_up().await;
        assert!(directory.addresses().iter().any(|a| a.ip().is_loopback() && a.port() == 80));
        let weak = Arc::downgrade(&directory);
        drop(directory);
        Directory::keep(weak).await;
    }
}
