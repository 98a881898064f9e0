//! A listener in one worker: it accepts connections, knows those that are open, and ends those
//! whose callers do nothing.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use damper_system::sidecar::Limits;
use damper_tower::clock;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio_rustls::TlsAcceptor;

use super::connection::{self, Peer};
use crate::io::Io;
use crate::meters::{Meters, Overall};
use crate::sockets::Opened;
use crate::stack::Route;

/// The route of a listener, exchanged by a reload.
#[derive(Debug)]
pub(crate) struct RouteCell(Mutex<Arc<Route>>);

impl RouteCell {
    pub(crate) fn new(route: Arc<Route>) -> Self {
        Self(Mutex::new(route))
    }

    pub(crate) fn load(&self) -> Arc<Route> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn store(&self, route: Arc<Route>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = route;
    }
}

/// So many at the same time, and no more.
#[derive(Debug)]
struct Bound {
    open: AtomicU32,
    most: AtomicU32,
}

impl Bound {
    const fn new(most: u32) -> Self {
        Self { open: AtomicU32::new(0), most: AtomicU32::new(most) }
    }

    /// Whether there was room for one more.
    fn enter(&self) -> bool {
        let room = self.open.fetch_add(1, Ordering::Relaxed) < self.most.load(Ordering::Relaxed);
        if !room {
            self.leave();
        }
        room
    }

    fn leave(&self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// How many connections and requests a listener has, over all workers.
#[derive(Debug)]
pub(crate) struct Gate {
    connections: Bound,
    requests: Bound,
    meters: Mutex<Meters>,
}

impl Gate {
    pub(crate) fn new(limits: &Limits, meters: Meters) -> Self {
        Self {
            connections: Bound::new(limits.connections),
            requests: Bound::new(limits.requests),
            meters: Mutex::new(meters),
        }
    }

    /// So many, counted by these meters, from now on.
    pub(crate) fn set(&self, limits: &Limits, meters: Meters) {
        self.connections.most.store(limits.connections, Ordering::Relaxed);
        self.requests.most.store(limits.requests, Ordering::Relaxed);
        *self.meters.lock().unwrap_or_else(PoisonError::into_inner) = meters;
    }

    pub(crate) fn enter(self: &Arc<Self>) -> Option<Place> {
        let meters = self.meters.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if !self.connections.enter() {
            meters.count(Overall::RefusedConnections);
            return None;
        }
        meters.count(Overall::Accepted);
        Some(Place { gate: self.clone(), meters })
    }
}

/// The place of a connection; dropped, it is free.
#[derive(Debug)]
pub(crate) struct Place {
    gate: Arc<Gate>,
    /// Those that have counted it when it came.
    meters: Meters,
}

impl Place {
    /// Whether there was room for one more request; [`Place::end`] makes room again.
    pub(super) fn begin(&self) -> bool {
        self.gate.requests.enter()
    }

    pub(super) fn end(&self) {
        self.gate.requests.leave();
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.gate.connections.leave();
        self.meters.count(Overall::Closed);
    }
}

/// A connection as the sweep remembers it.
struct Watched {
    peer: Weak<Peer>,
    task: AbortHandle,
    requests: u32,
    /// Sweeps in a row without a request, and of these with part of one.
    idle: u32,
    head: u32,
    /// Sweeps in a row in which its caller read nothing of what waits.
    stuck: u32,
    /// Sweeps in a row in which nothing came of its reply.
    quiet: u32,
}

/// A listener in one worker.
pub(crate) struct Listener {
    pub(crate) address: SocketAddr,
    route: Arc<RouteCell>,
    gate: Arc<Gate>,
    /// Its socket came from elsewhere, and outlives it there.
    lent: bool,
    serving: Mutex<Serving>,
    peers: Mutex<Vec<Watched>>,
    close: Notify,
}

/// What changes with the configuration.
#[derive(Clone)]
struct Serving {
    builder: Arc<auto::Builder<TokioExecutor>>,
    limits: Limits,
    tls: Option<TlsAcceptor>,
}

/// How often connections are looked at.
pub(crate) const SWEEP: Duration = Duration::from_secs(1);
/// How many sweeps a connection that was told to end has for it.
const GRACE: u32 = 2;

pub(crate) fn builder(limits: &Limits) -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    let head = usize::try_from(limits.head).unwrap_or(usize::MAX);
    builder
        .http1()
        .timer(TokioTimer::new())
        // The sweep watches heads, without a timer for each.
        .header_read_timeout(None)
        .max_headers(limits.headers as usize)
        .max_buf_size(head.max(8 << 10));
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(limits.streams)
        .max_header_list_size(u32::try_from(limits.head).unwrap_or(u32::MAX))
        // What strangers may make it hold, of each stream and each connection.
        .initial_stream_window_size(256 << 10)
        .initial_connection_window_size(1 << 20)
        .max_send_buf_size(256 << 10)
        // Streams that are reset before they are looked at: above it the connection ends.
        .max_pending_accept_reset_streams(20)
        .max_local_error_reset_streams(256)
        .keep_alive_interval(Duration::from_secs(30))
        .keep_alive_timeout(Duration::from_secs(10));
    builder
}

impl Listener {
    /// Begins to accept.
    pub(crate) fn start(
        Opened { socket, lent }: Opened,
        address: SocketAddr,
        route: Arc<Route>,
        gate: Arc<Gate>,
        tls: Option<TlsAcceptor>,
    ) -> std::io::Result<Arc<Self>> {
        let socket = TcpListener::from_std(socket)?;
        let limits = route.controls.listener.limits;
        let serving = Serving { builder: Arc::new(builder(&limits)), limits, tls };
        let listener = Arc::new(Self {
            address,
            route: Arc::new(RouteCell::new(route)),
            gate,
            lent,
            serving: Mutex::new(serving),
            peers: Mutex::default(),
            close: Notify::new(),
        });
        tokio::spawn(listener.clone().accept(socket));
        Ok(listener)
    }

    /// Requests go this way from now on, those of open connections as well; the certificates are
    /// those for new connections.
    pub(crate) fn set(&self, route: Option<Arc<Route>>, tls: Option<TlsAcceptor>) {
        let mut serving = self.serving.lock().unwrap_or_else(PoisonError::into_inner);
        serving.tls = tls;
        let Some(route) = route else { return };
        let limits = route.controls.listener.limits;
        if serving.limits != limits {
            serving.builder = Arc::new(builder(&limits));
            serving.limits = limits;
        }
        drop(serving);
        self.route.store(route);
    }

    pub(crate) fn route(&self) -> Arc<Route> {
        self.route.load()
    }

    fn peers(&self) -> MutexGuard<'_, Vec<Watched>> {
        self.peers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn accept(self: Arc<Self>, socket: TcpListener) {
        loop {
            tokio::select! {
                biased;
                () = self.close.notified() => break,
                accepted = socket.accept() => match accepted {
                    Ok((stream, address)) => self.take(stream, address),
                    // Out of files, most likely: some will be closed soon.
                    Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
                },
            }
        }
        if self.lent {
            // Its owner has it still, and whoever comes next accepts those that wait.
            return;
        }
        // Those that wait to be accepted would be reset with the socket.
        let Ok(socket) = socket.into_std() else { return };
        while let Ok((stream, address)) = socket.accept() {
            let ready = stream.set_nonblocking(true).and_then(|()| TcpStream::from_std(stream));
            if let Ok(stream) = ready {
                self.take(stream, address);
            }
        }
        self.peers().iter().filter_map(|w| w.peer.upgrade()).for_each(|peer| peer.stop());
    }

    fn take(self: &Arc<Self>, stream: TcpStream, address: SocketAddr) {
        let Some(place) = self.gate.enter() else { return };
        crate::io::prepare(&stream);
        let peer = Arc::new(Peer::new(address, place));
        let serving = self.serving.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (route, served) = (self.route.clone(), peer.clone());
        let task = tokio::spawn(async move {
            let io = match &serving.tls {
                None => Io::plain(stream),
                Some(tls) => {
                    let wait = clock::duration(serving.limits.head_timeout);
                    match tokio::time::timeout(wait, tls.accept(stream)).await {
                        Ok(Ok(stream)) => Io::server(stream),
                        _ => return,
                    }
                }
            };
            connection::run(io, served, route, &serving.builder).await;
        });
        let watched = Watched {
            peer: Arc::downgrade(&peer),
            task: task.abort_handle(),
            requests: 0,
            idle: 0,
            head: 0,
            stuck: 0,
            quiet: 0,
        };
        self.peers().push(watched);
    }

    /// Ends connections whose callers do nothing for too long.
    pub(crate) fn sweep(&self) {
        let limits = self.serving.lock().unwrap_or_else(PoisonError::into_inner).limits;
        let sweeps = |span| {
            let span = clock::duration(span).as_secs_f64() / SWEEP.as_secs_f64();
            span.ceil().clamp(1.0, f64::from(u32::MAX / 2)) as u32
        };
        let (idle, head) = (sweeps(limits.idle), sweeps(limits.head_timeout));
        let still = sweeps(limits.body_timeout);
        self.peers().retain_mut(|watched| {
            let Some(peer) = watched.peer.upgrade() else { return false };
            watched.stuck = if peer.is_stuck() { watched.stuck + 1 } else { 0 };
            watched.quiet = if peer.is_quiet() { watched.quiet + 1 } else { 0 };
            peer.streams.sweep(still, idle);
            if watched.stuck > still || watched.quiet > idle {
                watched.task.abort();
                return true;
            }
            if peer.is_busy() || peer.requests() != watched.requests {
                watched.requests = peer.requests();
                (watched.idle, watched.head) = (0, 0);
                return true;
            }
            // What has become a tunnel is no connection with requests any more.
            if watched.task.is_finished() {
                return true;
            }
            watched.idle += 1;
            watched.head = if peer.is_in_head() { watched.head + 1 } else { 0 };
            if watched.idle >= idle + GRACE || watched.head >= head + GRACE {
                watched.task.abort();
            } else if watched.idle >= idle || watched.head >= head {
                peer.stop();
            }
            true
        });
        self.route().sweep();
    }

    /// Accepts no more, and ends connections when what is under way on them is over.
    pub(crate) fn close(&self) {
        self.close.notify_one();
        self.peers().iter().filter_map(|w| w.peer.upgrade()).for_each(|peer| peer.stop());
    }

    /// Connections that are open, tunnels among them.
    pub(crate) fn open(&self) -> usize {
        let mut peers = self.peers();
        peers.retain(|watched| watched.peer.strong_count() > 0);
        peers.len()
    }

    /// Ends all connections at once.
    pub(crate) fn abort(&self) {
        self.peers().iter().for_each(|watched| watched.task.abort());
    }
}
