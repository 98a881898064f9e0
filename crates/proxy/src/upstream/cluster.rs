//! The endpoints of an upstream as one worker sees them: figures, pools, and who is next.
//!
//! Each worker has its own, so that its mutex is never fought over: it is there because futures may
//! move between threads in principle, and it is held for one step.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use damper_control::Nanos;
use damper_system::sidecar::{Protocol, Upstream};
use damper_tower::clock;
use hyper::client::conn::{http1, http2};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng as _;

use super::balance::{Candidate, Figures, Picker};
use super::connect::Connector;
use super::directory::Directory;
use super::pool::{Ages, Keep, Pool};
use crate::classify::Saturated;
use crate::meters::Meters;

/// Streams of one HTTP/2 connection before another is made: what servers allow at least (RFC 9113
/// asks for no less). Beyond it the HTTP library would queue them without a word.
pub(super) const STREAMS: u32 = 100;

/// The endpoints of an upstream.
#[derive(Debug)]
pub struct Cluster<B> {
    pub(super) protocol: Protocol,
    pub(super) connector: Connector,
    directory: Arc<Directory>,
    ages: Ages,
    most: u32,
    pub(super) saturated: Saturated,
    pub(super) meters: Meters,
    state: Mutex<State<B>>,
}

#[derive(Debug)]
struct State<B> {
    version: u64,
    hosts: Vec<Host<B>>,
    picker: Picker,
    chance: Xoshiro256PlusPlus,
    next_id: u64,
}

/// One endpoint.
#[derive(Debug)]
struct Host<B> {
    id: u64,
    address: SocketAddr,
    figures: Figures,
    out: bool,
    /// Connections that there are, of either kind.
    connections: u32,
    ones: Pool<http1::SendRequest<B>>,
    many: Vec<Many<B>>,
    /// Held while an HTTP/2 connection is made, so that requests that come together share one.
    gate: Arc<tokio::sync::Mutex<()>>,
    /// When a connection could not be made last.
    failed: Nanos,
}

/// An HTTP/2 connection.
#[derive(Debug)]
struct Many<B> {
    id: u64,
    sender: http2::SendRequest<B>,
    born: Nanos,
    open: u32,
}

impl<B> Candidate for Host<B> {
    fn figures(&self) -> &Figures {
        &self.figures
    }

    fn is_out(&self) -> bool {
        self.out
    }
}

impl<B> Keep for http1::SendRequest<B> {
    fn is_alive(&self) -> bool {
        !self.is_closed()
    }
}

/// A bit for an endpoint in the set of those that a call has tried.
fn bit(id: u64) -> u64 {
    1 << (id % 64)
}

impl<B> Cluster<B> {
    /// Of an upstream. `seed`: another one for each worker, so that they do not choose alike.
    #[must_use]
    pub fn new(
        upstream: &Upstream,
        connector: Connector,
        directory: Arc<Directory>,
        saturated: Saturated,
        meters: Meters,
        seed: u64,
    ) -> Self {
        let ages = Ages { order: upstream.order, max_age: upstream.max_age, idle: upstream.idle };
        let mut state = State {
            version: directory.version(),
            hosts: Vec::new(),
            picker: Picker::new(upstream.balance),
            chance: Xoshiro256PlusPlus::seed_from_u64(seed),
            next_id: 0,
        };
        state.replace(&directory.addresses(), ages);
        Self {
            protocol: upstream.protocol,
            connector,
            directory,
            ages,
            most: upstream.connections,
            saturated,
            meters,
            state: Mutex::new(state),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<B>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether there is more than one endpoint now.
    #[must_use]
    pub fn has_choice(&self) -> bool {
        self.lock().hosts.len() > 1
    }

    /// The endpoint for an attempt of a call that has `tried` some already.
    pub(super) fn pick(self: &Arc<Self>, tried: u64, now: Nanos) -> Option<Ticket<B>> {
        let mut state = self.lock();
        let version = self.directory.version();
        if state.version != version {
            state.version = version;
            let addresses = self.directory.addresses();
            state.replace(&addresses, self.ages);
        }
        let State { hosts, picker, chance, .. } = &mut *state;
        if tried != 0 {
            hosts.iter_mut().for_each(|host| host.out = tried & bit(host.id) != 0);
        }
        let mut at = picker.pick(hosts, now, chance);
        if tried != 0 {
            hosts.iter_mut().for_each(|host| host.out = false);
            // There is no other.
            at = at.or_else(|| picker.pick(hosts, now, chance));
        }
        let at = at?;
        let host = hosts.get_mut(at)?;
        host.figures.open += 1;
        let (id, address) = (host.id, host.address);
        drop(state);
        Some(Ticket { cluster: self.clone(), at, id, address, began: now, seen: false, many: None })
    }

    /// An idle connection for one request.
    pub(super) fn one(
        &self,
        ticket: &Ticket<B>,
        now: Nanos,
    ) -> Option<(http1::SendRequest<B>, Nanos)> {
        self.lock().host(ticket.at, ticket.id)?.ones.take(now)
    }

    /// A connection with room for another request; marks it in the ticket.
    pub(super) fn many(&self, ticket: &mut Ticket<B>, now: Nanos) -> Option<http2::SendRequest<B>> {
        let (max_age, most) = (self.ages.max_age, self.most);
        let mut state = self.lock();
        let host = state.host(ticket.at, ticket.id)?;
        // Its streams go on; it is closed when the last one has ended.
        host.many.retain(|m| !m.sender.is_closed() && now.since(m.born) < max_age);
        let full = host.connections >= most;
        let best = host.many.iter_mut().min_by_key(|m| m.open)?;
        if best.open >= STREAMS && !full {
            return None;
        }
        best.open += 1;
        ticket.many = Some(best.id);
        Some(best.sender.clone())
    }

    /// Room for another connection.
    pub(super) fn reserve(self: &Arc<Self>, ticket: &Ticket<B>) -> Option<Reserved<B>> {
        let mut state = self.lock();
        let host = state.host(ticket.at, ticket.id)?;
        if host.connections >= self.most {
            return None;
        }
        host.connections += 1;
        Some(Reserved { cluster: Arc::downgrade(self), id: ticket.id })
    }

    /// The place of a connection that has become a tunnel: it is there already, so there is room.
    pub(super) fn tunnel(self: &Arc<Self>, ticket: &Ticket<B>) -> Option<Reserved<B>> {
        self.lock().host(ticket.at, ticket.id)?.connections += 1;
        Some(Reserved { cluster: Arc::downgrade(self), id: ticket.id })
    }

    /// A connection for many requests was made.
    pub(super) fn add(&self, ticket: &mut Ticket<B>, sender: http2::SendRequest<B>, now: Nanos) {
        let mut state = self.lock();
        state.next_id += 1;
        let id = state.next_id;
        if let Some(host) = state.host(ticket.at, ticket.id) {
            host.many.push(Many { id, sender, born: now, open: 1 });
            ticket.many = Some(id);
        }
    }

    /// What is held while a connection is made, and when that failed last.
    pub(super) fn gate(&self, ticket: &Ticket<B>) -> Option<Arc<tokio::sync::Mutex<()>>> {
        Some(self.lock().host(ticket.at, ticket.id)?.gate.clone())
    }

    /// Whether a connection could not be made since then.
    pub(super) fn failed_since(&self, ticket: &Ticket<B>, then: Nanos) -> bool {
        self.lock().host(ticket.at, ticket.id).is_some_and(|host| host.failed >= then)
    }

    /// A connection could not be made.
    pub(super) fn failed(&self, ticket: &Ticket<B>, now: Nanos) {
        if let Some(host) = self.lock().host(ticket.at, ticket.id) {
            host.failed = now;
        }
    }

    /// A request is done with its connection.
    pub(super) fn put(
        &self,
        at: usize,
        id: u64,
        sender: http1::SendRequest<B>,
        born: Nanos,
        now: Nanos,
    ) {
        if let Some(host) = self.lock().host(at, id) {
            host.ones.put(now, sender, born);
        }
    }

    /// Closes connections that are too old or idle. To be called now and then.
    pub fn sweep(&self) {
        let now = clock::now();
        let max_age = self.ages.max_age;
        for host in &mut self.lock().hosts {
            host.ones.sweep(now);
            host.many.retain(|m| !m.sender.is_closed() && now.since(m.born) < max_age);
        }
    }

    /// Idle connections for one request each, over all endpoints.
    #[must_use]
    pub fn idle(&self) -> usize {
        self.lock().hosts.iter().map(|host| host.ones.len()).sum()
    }
}

impl<B> State<B> {
    /// An endpoint, looked for first where it was.
    fn host(&mut self, at: usize, id: u64) -> Option<&mut Host<B>> {
        if self.hosts.get(at).is_some_and(|host| host.id == id) {
            return self.hosts.get_mut(at);
        }
        self.hosts.iter_mut().find(|host| host.id == id)
    }

    /// These addresses from now on; what is known of those that stay is kept.
    fn replace(&mut self, addresses: &[SocketAddr], ages: Ages) {
        let mut before = std::mem::take(&mut self.hosts);
        for address in addresses {
            let known = before.iter().position(|host| host.address == *address);
            let host = known.map(|at| before.swap_remove(at)).unwrap_or_else(|| {
                self.next_id += 1;
                Host {
                    id: self.next_id,
                    address: *address,
                    figures: Figures::default(),
                    out: false,
                    connections: 0,
                    ones: Pool::new(ages),
                    many: Vec::new(),
                    gate: Arc::default(),
                    failed: Nanos::ZERO,
                }
            });
            self.hosts.push(host);
        }
    }
}

/// Room for one connection; dropped, it is free again.
#[derive(Debug)]
pub(super) struct Reserved<B> {
    cluster: Weak<Cluster<B>>,
    id: u64,
}

impl<B> Drop for Reserved<B> {
    fn drop(&mut self) {
        let Some(cluster) = self.cluster.upgrade() else { return };
        if let Some(host) = cluster.lock().host(usize::MAX, self.id) {
            host.connections = host.connections.saturating_sub(1);
        }
    }
}

/// How an attempt went at its endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It answered.
    Answered,
    /// It turned the attempt away, or could not be reached.
    Refused,
    /// It turned the attempt away and said OVERLOADED, or said so with its answer.
    Overloaded,
}

/// An attempt at an endpoint, until its reply is over.
#[derive(Debug)]
pub(super) struct Ticket<B> {
    pub(super) cluster: Arc<Cluster<B>>,
    pub(super) at: usize,
    pub(super) id: u64,
    pub(super) address: SocketAddr,
    began: Nanos,
    seen: bool,
    many: Option<u64>,
}

impl<B> Ticket<B> {
    /// Its bit in the set of endpoints that a call has tried.
    pub(super) fn bit(&self) -> u64 {
        bit(self.id)
    }

    /// What the endpoint did with it.
    pub(super) fn saw(&mut self, now: Nanos, verdict: Verdict, refused: bool) {
        self.seen = true;
        let took = now.since(self.began);
        let mut state = self.cluster.lock();
        let Some(host) = state.host(self.at, self.id) else { return };
        let figures = &mut host.figures;
        if refused {
            figures.refused(now, took);
        } else {
            figures.latency.saw(now, took);
        }
        let had = figures.overloaded_until > now;
        let has = verdict == Verdict::Overloaded;
        if has {
            figures.overloaded_until = now + Figures::WORD;
        } else if had && verdict == Verdict::Answered {
            // Whoever cannot be reached, or has no place left, has not taken its word back.
            figures.overloaded_until = Nanos::ZERO;
        }
        let recalls = verdict == Verdict::Answered && (had || self.cluster.saturated.any(now));
        if has || recalls {
            let until = if has { now + Figures::WORD } else { Nanos::ZERO };
            let endpoints = state.hosts.iter().map(|host| host.address);
            self.cluster.saturated.heard(self.address, until, endpoints);
        }
    }

    /// The connection it went by is not used by it any more.
    fn leave(&mut self, state: &mut State<B>) {
        let many = self.many.take();
        if let Some(host) = state.host(self.at, self.id) {
            host.figures.open = host.figures.open.saturating_sub(1);
            let used = host.many.iter_mut().find(|m| Some(m.id) == many);
            if let Some(used) = used {
                used.open = used.open.saturating_sub(1);
            }
        }
    }
}

impl<B> Drop for Ticket<B> {
    fn drop(&mut self) {
        let cluster = self.cluster.clone();
        let mut state = cluster.lock();
        if !self.seen
            && let Some(host) = state.host(self.at, self.id)
        {
            // Whoever waited went away: it took at least this long.
            let now = clock::now();
            host.figures.latency.saw(now, now.since(self.began));
        }
        self.leave(&mut state);
    }
}
