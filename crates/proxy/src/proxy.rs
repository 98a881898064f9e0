//! A proxy that runs: its workers, its hops, and how another configuration takes over.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use damper_system::System;
use damper_system::model::Caller;
use damper_system::sidecar::{Listener, Sidecar, Way};
use damper_tower::system::Unknown;
use damper_tower::{SharedBudget, clock};
use tokio::time::Instant;

use crate::hop::{Direction, Hops, SameName};
use crate::observe::{Kind, Line, Log};
use crate::server::listener::Gate;
use crate::sockets;
use crate::stack::{Controls, Draft};
use crate::tls::{TlsError, acceptor};
use crate::upstream::{Connector, Directory};
use crate::worker::{Command, Failed, Given, Worker};

/// Why a proxy does not start, or does not take a configuration over.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Its address cannot be listened at.
    #[error("cannot listen at {address} for `{hop}`{}", advice(.own.as_deref()))]
    Listen {
        /// The hop.
        hop: String,
        /// Where.
        address: SocketAddr,
        /// A hop of this proxy that has the port until the reload is over.
        own: Option<String>,
        /// Why not.
        #[source]
        why: io::Error,
    },
    /// A thread could not be started.
    #[error("cannot start a worker")]
    Worker(#[source] io::Error),
    /// The system file does not have what a listener names.
    #[error(transparent)]
    Unknown(#[from] Unknown),
    /// A certificate or key cannot be used.
    #[error("TLS of `{hop}`")]
    Tls {
        /// The hop.
        hop: String,
        /// Why not.
        #[source]
        why: TlsError,
    },
    /// Two hops have one name.
    #[error(transparent)]
    SameName(#[from] SameName),
}

/// What to do where a port is one's own.
fn advice(own: Option<&str>) -> String {
    let held = |own| {
        format!(
            ": `{own}` of this proxy still has the port, on a socket that cannot be shared; restart \
             the proxy, or reload once with another port in between"
        )
    };
    own.map(held).unwrap_or_default()
}

/// Workers when the configuration does not say how many: a sidecar is there for the service beside
/// it, which needs cores as well.
const WORKERS: usize = 4;

/// How long a start or a reload waits for names that it does not know.
const FIRST_LOOK: Duration = Duration::from_secs(2);

/// How long a start or a reload waits to hear which listeners could not begin.
const SETTLE: Duration = Duration::from_secs(2);

/// A listener that runs.
struct Running {
    listener: Listener,
    address: SocketAddr,
    controls: Arc<Controls>,
    gate: Arc<Gate>,
}

/// A proxy that runs. Dropped, it ends at once.
pub struct Proxy {
    workers: Vec<Worker>,
    hops: Hops,
    running: Vec<Running>,
    system: System,
    /// Sockets that came from elsewhere and are not used yet.
    given: Vec<TcpListener>,
    log: Option<Log>,
}

impl std::fmt::Debug for Proxy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Proxy").field("hops", &self.hops).finish_non_exhaustive()
    }
}

/// How many workers a configuration asks for.
fn workers(sidecar: &Sidecar) -> usize {
    match sidecar.workers {
        Some(workers) => workers.max(1) as usize,
        None => std::thread::available_parallelism().map_or(1, usize::from).min(WORKERS),
    }
}

impl Proxy {
    /// Starts one. `given`: sockets that are open already, from systemd; those whose address a
    /// listener has are used for it.
    ///
    /// # Errors
    /// An address is taken, or there is nothing of a name in the system file.
    pub fn start(sidecar: &Sidecar, given: Vec<TcpListener>) -> Result<Self, StartError> {
        Self::start_with(sidecar, given, None)
    }

    /// The same with a log for what goes wrong.
    ///
    /// # Errors
    /// As [`Proxy::start`].
    pub fn start_with(
        sidecar: &Sidecar,
        given: Vec<TcpListener>,
        log: Option<Log>,
    ) -> Result<Self, StartError> {
        let seed = clock::now().0;
        let workers = (0..workers(sidecar))
            .map(|index| Worker::start(index, seed ^ (index as u64) << 32))
            .collect::<io::Result<Vec<_>>>()
            .map_err(StartError::Worker)?;
        let mut proxy = Self {
            workers,
            hops: Hops::default(),
            running: Vec::new(),
            system: sidecar.system.clone(),
            given,
            log,
        };
        match proxy.change(sidecar)?.into_iter().next() {
            None => Ok(proxy),
            Some(Failed { hop, address, why }) => {
                Err(StartError::Listen { hop, address, own: None, why })
            }
        }
    }

    /// Its hops, for whoever shows them or pulls their levers.
    #[must_use]
    pub const fn hops(&self) -> &Hops {
        &self.hops
    }

    /// Threads that serve.
    #[must_use]
    pub fn workers(&self) -> usize {
        self.workers.len()
    }

    /// Where a hop listens.
    #[must_use]
    pub fn address(&self, hop: &str) -> Option<SocketAddr> {
        self.running.iter().find(|r| r.listener.name() == hop).map(|r| r.address)
    }

    /// Where each hop listens.
    pub fn addresses(&self) -> impl Iterator<Item = (&str, SocketAddr)> {
        self.running.iter().map(|running| (running.listener.name(), running.address))
    }

    /// Another configuration takes over. Open connections stay, requests that are under way end as
    /// they began; what has not changed keeps its controls, pools and sockets. A worker that cannot
    /// begin with a socket is told in the log; others serve.
    ///
    /// # Errors
    /// As [`Proxy::start`]; nothing has changed then.
    pub fn take_over(&mut self, sidecar: &Sidecar) -> Result<(), StartError> {
        for Failed { hop, address, why } in self.change(sidecar)? {
            if let Some(log) = &self.log {
                let message = format!("a worker cannot listen at {address}");
                log.write_at(clock::now(), Kind::System, || Line {
                    hop: Some(&hop),
                    message: &message,
                    error: Some(&why),
                    ..Line::default()
                });
            }
        }
        Ok(())
    }

    /// The same; gives the listeners with which a worker could not begin.
    fn change(&mut self, sidecar: &Sidecar) -> Result<Vec<Failed>, StartError> {
        let count = self.workers.len();
        // What can be wrong comes before what changes anything.
        let mut tls = Vec::new();
        for listener in &sidecar.listeners {
            let wrong = |why| StartError::Tls { hop: listener.name().to_owned(), why };
            let connector = Connector::new(&listener.upstream).map_err(wrong)?;
            tls.push((connector, listener.tls.as_ref().map(acceptor).transpose().map_err(wrong)?));
        }
        let mut sockets = Vec::new();
        let mut opened = Vec::new();
        for listener in &sidecar.listeners {
            match self.running.iter().find(|r| same_place(r, listener)) {
                Some(running) => sockets.push((running.address, None)),
                None => {
                    let own = self.leaving(sidecar, listener.listen);
                    let (address, all) =
                        self.open(listener, count, own.is_some()).map_err(|why| {
                            StartError::Listen {
                                hop: listener.name().to_owned(),
                                address: listener.listen,
                                own: own.filter(|_| why.kind() == io::ErrorKind::AddrInUse),
                                why,
                            }
                        })?;
                    opened.push(address);
                    sockets.push((address, Some(all)));
                }
            }
        }
        let directories: Vec<_> = sidecar.listeners.iter().map(|l| self.directory(l)).collect();
        Directory::first(directories.iter(), FIRST_LOOK);
        let made = self.controls(sidecar, &directories)?;
        let mut running = Vec::new();
        let mut given: Vec<Vec<Given>> = (0..count).map(|_| Vec::new()).collect();
        for (((listener, controls), (address, all)), (connector, tls)) in
            sidecar.listeners.iter().zip(made).zip(sockets).zip(tls)
        {
            let before = self.running.iter().find(|r| r.address == address);
            let gate = match before {
                Some(before) => before.gate.clone(),
                None => {
                    let meters = controls.hop.meters().clone();
                    Arc::new(Gate::new(&listener.limits, meters))
                }
            };
            gate.set(&listener.limits, controls.hop.meters().clone());
            let mut all = all.map(Vec::into_iter);
            for given in &mut given {
                given.push(Given {
                    address,
                    socket: all.as_mut().and_then(Iterator::next),
                    controls: controls.clone(),
                    connector: connector.clone(),
                    gate: gate.clone(),
                    tls: tls.clone(),
                });
            }
            running.push(Running { listener: listener.clone(), address, controls, gate });
        }
        let used = |socket: &TcpListener| {
            let at = socket.local_addr().ok();
            opened.iter().any(|address| Some(*address) == at)
        };
        self.given.retain(|socket| !used(socket));
        self.running = running;
        self.system = sidecar.system.clone();
        let (failed, told) = channel();
        for (worker, given) in self.workers.iter().zip(given) {
            worker.tell(Command::Set { given, failed: failed.clone() });
        }
        drop(failed);
        let end = Instant::now() + SETTLE;
        let next = || told.recv_timeout(end.saturating_duration_since(Instant::now())).ok();
        Ok(std::iter::from_fn(next).collect())
    }

    /// The hop that has this port at an address that is another for the kernel only if both share it,
    /// and that a configuration does not have any more.
    fn leaving(&self, next: &Sidecar, address: SocketAddr) -> Option<String> {
        let overlaps = |other: SocketAddr| {
            let any = address.ip().is_unspecified() || other.ip().is_unspecified();
            any && other.port() == address.port()
        };
        let stays = |running: &Running| next.listeners.iter().any(|l| same_place(running, l));
        let leaving = self.running.iter().find(|r| overlaps(r.address) && !stays(r));
        leaving.map(|running| running.listener.name().to_owned())
    }

    /// Sockets for a listener: one that was given, or new ones. `beside`: a listener that leaves has
    /// its port.
    fn open(
        &self,
        listener: &Listener,
        count: usize,
        beside: bool,
    ) -> io::Result<(SocketAddr, Vec<sockets::Opened>)> {
        let given = self
            .given
            .iter()
            .find(|socket| socket.local_addr().is_ok_and(|address| address == listener.listen));
        match given {
            // It is used up when all else is well.
            Some(given) => sockets::share(given.try_clone()?, count),
            None if beside => sockets::bind_beside(listener.listen, count),
            None => sockets::bind(listener.listen, count),
        }
    }

    /// The controls of each listener, in the order of the configuration. The hops are in force
    /// when it returns.
    fn controls(
        &self,
        sidecar: &Sidecar,
        directories: &[Arc<Directory>],
    ) -> Result<Vec<Arc<Controls>>, StartError> {
        let mut made: Vec<Made> = Vec::with_capacity(sidecar.listeners.len());
        // The calls first: the doors pass on the word of their budgets.
        let mut order: Vec<usize> = (0..sidecar.listeners.len()).collect();
        let inbound = |listener: &Listener| matches!(listener.way, Way::Inbound(_));
        order.sort_by_key(|at| sidecar.listeners.get(*at).is_some_and(inbound));
        for at in order {
            let Some(listener) = sidecar.listeners.get(at) else { continue };
            let below = made.iter().filter(|m| m.calls_for(listener));
            let kept = below.clone().all(|m| matches!(m.what, What::Kept(_)));
            let before = self.running.iter().find(|r| r.listener == *listener);
            let before = before.filter(|_| kept && self.system == sidecar.system);
            let what = match before {
                Some(running) => What::Kept(running.controls.clone()),
                None => {
                    let budgets = below.filter_map(|m| m.budget.clone()).collect();
                    What::New(Box::new(self.draft(sidecar, listener, budgets)?))
                }
            };
            let budget = match &what {
                What::Kept(controls) => controls.budget(),
                What::New(draft) => draft.budget(),
            };
            let caller = caller(&sidecar.system, listener);
            made.push(Made { at, what, budget, caller });
        }
        made.sort_by_key(|m| m.at);
        let (mut hops, mut rests) = (Vec::new(), Vec::new());
        for Made { what, .. } in made {
            let (hop, rest) = match what {
                What::Kept(controls) => (controls.hop.clone(), Ok(controls)),
                What::New(draft) => {
                    let (hop, rest) = draft.split();
                    (Arc::new(hop), Err(rest))
                }
            };
            hops.push(hop);
            rests.push(rest);
        }
        let hops = self.hops.put(hops)?;
        let all = rests.into_iter().zip(hops.iter()).zip(directories);
        Ok(all
            .map(|((rest, hop), directory)| match rest {
                Ok(kept) => kept,
                Err(rest) => Arc::new(rest.with(hop.clone(), directory.clone(), self.log.clone())),
            })
            .collect())
    }

    fn draft(
        &self,
        sidecar: &Sidecar,
        listener: &Listener,
        below: Vec<SharedBudget>,
    ) -> Result<Draft, StartError> {
        let direction = match listener.way {
            Way::Inbound(_) => Direction::Inbound,
            Way::Outbound(_) => Direction::Outbound,
        };
        let hop = self.hops.begin(listener.name(), direction, sidecar.system.classes.clone());
        Ok(Draft::new(hop, &sidecar.system, listener, below)?)
    }

    /// The addresses of an upstream; names that were looked up need not be looked up again.
    fn directory(&self, listener: &Listener) -> Arc<Directory> {
        let (to, refresh) = (&listener.upstream.to, listener.upstream.refresh);
        let known = self.running.iter().find(|running| {
            let upstream = &running.listener.upstream;
            upstream.to == *to && upstream.refresh == refresh
        });
        match known {
            Some(running) => running.controls.directory().clone(),
            None => {
                let directory = Directory::new(&listener.upstream);
                for running in &self.running {
                    directory.learn_from(running.controls.directory());
                }
                Arc::new(directory)
            }
        }
    }

    /// Accepts no more, waits for what is under way, and ends. How many connections were left when
    /// there was no more time.
    #[must_use]
    pub fn drain(self, timeout: Duration) -> usize {
        let (done, left) = std::sync::mpsc::channel();
        for worker in &self.workers {
            worker.tell(Command::Drain { timeout, done: done.clone() });
        }
        drop(done);
        // A worker that is busy may be a little late.
        let end = Instant::now() + timeout + Duration::from_secs(2);
        let mut sum = 0;
        for _ in &self.workers {
            let wait = end.saturating_duration_since(Instant::now());
            sum += left.recv_timeout(wait).unwrap_or(0);
        }
        sum
    }
}

/// The service that makes the calls of a listener; clients are none.
fn caller(system: &System, listener: &Listener) -> Option<String> {
    let Way::Outbound(call) = &listener.way else { return None };
    match system.edge_named(call)?.caller {
        caller @ Caller::Service(_) => Some(system.caller_name(caller).to_owned()),
        _ => None,
    }
}

/// The controls of a listener on the way to being in force.
struct Made {
    at: usize,
    what: What,
    budget: Option<SharedBudget>,
    /// The service that makes its calls.
    caller: Option<String>,
}

enum What {
    Kept(Arc<Controls>),
    New(Box<Draft>),
}

impl Made {
    /// Whether these are calls that the service of a listener makes.
    fn calls_for(&self, listener: &Listener) -> bool {
        matches!(&listener.way, Way::Inbound(service) if self.caller.as_ref() == Some(service))
    }
}

/// Whether a listener of a new configuration is this one: port 0 stays what it became.
fn same_place(running: &Running, listener: &Listener) -> bool {
    let asked = running.listener.listen == listener.listen;
    let same = asked && (listener.listen.port() != 0 || running.listener.way == listener.way);
    same || running.address == listener.listen
}

#[cfg(test)]
mod tests;
