//! A proxy as a program: from its configuration to the signal that ends it.

use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use damper_system::Problems;
use damper_system::sidecar::{Endpoint, Sidecar, Way};
use damper_tower::clock;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::admin::{self, Life, Options, Readiness, Token};
use crate::notify::{self, Step};
use crate::observe::{Format, Log};
use crate::{Proxy, StartError};

/// What happens to a proxy that runs, for whoever tells people.
#[derive(Debug)]
pub enum Happened<'a> {
    /// It serves.
    Started {
        /// Its hops and where they listen.
        hops: &'a [(String, SocketAddr)],
        /// Threads that serve.
        workers: usize,
        /// Where the admin port listens.
        admin: Option<SocketAddr>,
    },
    /// Another configuration has taken over.
    Reloaded {
        /// Its hops and where they listen.
        hops: &'a [(String, SocketAddr)],
    },
    /// Another configuration is wrong; the one before goes on.
    Wrong(&'a Problems),
    /// Another configuration could not take over; the one before goes on.
    Refused(&'a StartError),
    /// It was told to end, and waits so long for what is under way.
    Draining(Duration),
}

/// Why a proxy did not run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Its configuration is wrong.
    #[error(transparent)]
    Wrong(#[from] Problems),
    /// It could not start.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The token of the admin port cannot be used.
    #[error(transparent)]
    Token(#[from] admin::Bad),
    /// The admin port could not be opened.
    #[error(transparent)]
    Admin(#[from] admin::Error),
    /// No runtime, or no signals.
    #[error("no runtime for signals")]
    Runtime(#[source] std::io::Error),
}

/// How a proxy ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// What was under way is over.
    Drained,
    /// So many connections were still open when the time was over.
    Left(usize),
    /// It was told to end twice.
    AtOnce,
}

/// Runs a proxy until SIGTERM or SIGINT; SIGHUP makes it read its configuration again. `given`:
/// sockets that are open already.
///
/// # Errors
/// The configuration is wrong, or an address is taken.
pub fn run(
    config: &Path,
    given: Vec<TcpListener>,
    tell: &mut dyn FnMut(Happened<'_>),
) -> Result<Ended, RunError> {
    let sidecar = Sidecar::read(config)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(RunError::Runtime)?;
    let ended = runtime.block_on(until_told(config, sidecar, given, tell));
    runtime.shutdown_background();
    ended
}

async fn until_told(
    config: &Path,
    mut sidecar: Sidecar,
    given: Vec<TcpListener>,
    tell: &mut dyn FnMut(Happened<'_>),
) -> Result<Ended, RunError> {
    // Before anything is served: a signal that comes early must not kill it.
    let listen = |kind| signal(kind).map_err(RunError::Runtime);
    let (mut hangup, mut end, mut interrupt) = (
        listen(SignalKind::hangup())?,
        listen(SignalKind::terminate())?,
        listen(SignalKind::interrupt())?,
    );
    let log = Log::stderr(Format::Text).map_err(RunError::Runtime)?;
    let token = match sidecar.admin.as_ref().and_then(|admin| admin.token_file.as_ref()) {
        Some(path) => Some(Token::from_file(path)?),
        None => None,
    };
    let mut proxy = Proxy::start_with(&sidecar, given, Some(log.clone()))?;
    let readiness = Readiness::default();
    let shown = Arc::new(RwLock::new(summary(&sidecar)));
    // It answers until all is over.
    let admin = match &sidecar.admin {
        Some(admin) => Some(admin::serve(
            admin.listen,
            Options {
                hops: proxy.hops().clone(),
                token,
                readiness: readiness.clone(),
                log: Some(log),
                state_file: admin.state_file.clone(),
                config: shown.clone(),
            },
        )?),
        None => None,
    };
    readiness.set(Life::Ready);
    tell(Happened::Started {
        hops: &hops(&proxy),
        workers: proxy.workers(),
        admin: admin.as_ref().map(admin::Running::address),
    });
    notify::tell(Step::Ready);
    loop {
        tokio::select! {
            Some(()) = hangup.recv() => {
                notify::tell(Step::Reloading);
                match Sidecar::read(config) {
                    Err(problems) => tell(Happened::Wrong(&problems)),
                    Ok(next) => match proxy.take_over(&next) {
                        Err(error) => tell(Happened::Refused(&error)),
                        Ok(()) => {
                            *shown.write().unwrap_or_else(PoisonError::into_inner) = summary(&next);
                            sidecar = next;
                            tell(Happened::Reloaded { hops: &hops(&proxy) });
                        }
                    },
                }
                notify::tell(Step::Ready);
            }
            () = either(&mut end, &mut interrupt) => break,
        }
    }
    notify::tell(Step::Stopping);
    readiness.set(Life::Draining);
    let (delay, timeout) =
        (clock::duration(sidecar.drain.delay), clock::duration(sidecar.drain.timeout));
    tell(Happened::Draining(timeout));
    let drained = tokio::task::spawn_blocking({
        move || {
            // It is not ready any more, and still accepts, until everybody knows.
            std::thread::sleep(delay);
            proxy.drain(timeout)
        }
    });
    tokio::select! {
        left = drained => Ok(match left {
            Ok(0) => Ended::Drained,
            Ok(left) => Ended::Left(left),
            Err(_) => Ended::AtOnce,
        }),
        () = either(&mut end, &mut interrupt) => Ok(Ended::AtOnce),
    }
}

async fn either(a: &mut Signal, b: &mut Signal) {
    tokio::select! {
        _ = a.recv() => {}
        _ = b.recv() => {}
    }
}

fn hops(proxy: &Proxy) -> Vec<(String, SocketAddr)> {
    proxy.addresses().map(|(name, address)| (name.to_owned(), address)).collect()
}

/// What `/config` shows: what runs, and no file that is secret.
fn summary(sidecar: &Sidecar) -> serde_json::Value {
    let hops = sidecar.listeners.iter().map(|listener| {
        let to = listener.upstream.to.iter().map(|endpoint| match endpoint {
            Endpoint::Address(address) => address.to_string(),
            Endpoint::Name(name, port) => format!("{name}:{port}"),
        });
        let way = match listener.way {
            Way::Inbound(_) => "inbound",
            Way::Outbound(_) => "outbound",
        };
        serde_json::json!({
            "hop": listener.name(),
            "way": way,
            "listen": listener.listen.to_string(),
            "upstream": to.collect::<Vec<_>>(),
            "tls": listener.tls.is_some(),
        })
    });
    serde_json::json!({
        "system": sidecar.system_file.display().to_string(),
        "name": sidecar.system.name,
        "hops": hops.collect::<Vec<_>>(),
    })
}
