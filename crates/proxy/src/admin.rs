//! The admin port: metrics, health, state, and the lever, on a thread, a runtime, a listener and
//! file descriptors of its own, so that it answers while the data path is full.
//!
//! It is reached over loopback, or with a token. A browser that was led astray cannot pull the
//! lever: requests with an `Origin` are refused, a pull must be JSON, and without a token the
//! `Host` must be a loopback one.

mod answer;
mod guard;
mod levers;
mod listen;
mod pull;
mod token;

use std::net::{SocketAddr, TcpListener as StdListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread::JoinHandle;

use damper_tower::clock;
use tokio::sync::watch;

use crate::hop::Hops;
use crate::observe::otlp::Otlp;
use crate::observe::{Kind, Line, Log, Watch};

pub use levers::{Done, Entry, HopStatus, Levers, Problem, Status};
pub use pull::{Pull, Word};
pub use token::{Bad, Token};

/// Whether requests should be sent here, for `/readyz`. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Readiness(Arc<AtomicU8>);

/// Where a process is in its life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Life {
    /// Not yet.
    #[default]
    Starting,
    /// Requests are served.
    Ready,
    /// It finishes what it has; nothing new should come.
    Draining,
}

impl Life {
    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Ready => "ready",
            Self::Draining => "draining",
        }
    }
}

impl Readiness {
    /// Says where it is.
    pub fn set(&self, life: Life) {
        self.0.store(life as u8, Ordering::Relaxed);
    }

    /// Where it is.
    #[must_use]
    pub fn life(&self) -> Life {
        match self.0.load(Ordering::Relaxed) {
            0 => Life::Starting,
            1 => Life::Ready,
            _ => Life::Draining,
        }
    }
}

/// What the admin port needs.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The hops it shows.
    pub hops: Hops,
    /// What it asks for; nothing: only loopback is listened on.
    pub token: Option<Token>,
    /// Whether requests should be sent here.
    pub readiness: Readiness,
    /// Where pulls are logged.
    pub log: Option<Log>,
    /// Where positions of levers are kept over a restart; nothing: it opens them.
    pub state_file: Option<std::path::PathBuf>,
    /// What `/config` says. Values whose key sounds secret are not shown whatever they are.
    pub config: Arc<std::sync::RwLock<serde_json::Value>>,
}

/// Why there is no admin port.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It would be open to the network.
    #[error(
        "the admin port at {0} can be reached from outside, where whoever finds it could stop the \
         service: listen on a loopback address, or set a token"
    )]
    Open(SocketAddr),
    /// The listener, the thread or the runtime.
    #[error("the admin port: {0}")]
    Io(#[from] std::io::Error),
}

/// An admin port that answers until it is dropped.
#[derive(Debug)]
pub struct Running {
    address: SocketAddr,
    levers: Levers,
    watch: Watch,
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The levers that it pulls.
    #[must_use]
    pub const fn levers(&self) -> &Levers {
        &self.levers
    }

    /// What it watches by.
    #[must_use]
    pub const fn watch(&self) -> &Watch {
        &self.watch
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.stop.send(true);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Listens on an address and serves.
///
/// # Errors
/// See [`Error`].
pub fn serve(listen: SocketAddr, options: Options) -> Result<Running, Error> {
    if !listen.ip().is_loopback() && options.token.is_none() {
        return Err(Error::Open(listen));
    }
    serve_on(StdListener::bind(listen)?, options)
}

/// Serves on a listener that is there, and exports what the environment says
/// ([`Otlp::from_env`]); what it says and cannot be done is told in the log.
///
/// # Errors
/// See [`Error`].
pub fn serve_on(listener: StdListener, options: Options) -> Result<Running, Error> {
    let otlp = Otlp::from_env();
    if let (Err(error), Some(log)) = (&otlp, &options.log) {
        log.write(Kind::Life, || Line {
            message: "OTLP: nothing is exported",
            error: Some(error),
            ..Line::default()
        });
    }
    serve_exporting(listener, options, otlp.unwrap_or_default())
}

/// Serves on a listener that is there, and exports from the same thread.
///
/// # Errors
/// See [`Error`].
pub fn serve_exporting(
    listener: StdListener,
    options: Options,
    otlp: Option<Otlp>,
) -> Result<Running, Error> {
    let address = listener.local_addr()?;
    if !address.ip().is_loopback() && options.token.is_none() {
        return Err(Error::Open(address));
    }
    listener.set_nonblocking(true)?;
    // Everything that takes a file descriptor is taken now.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let reserve = listen::Reserve::new()?;
    let watch = Watch::new(options.hops.clone());
    watch.tick(clock::now());
    let (hops, log) = (options.hops.clone(), options.log.clone());
    let levers = match &options.state_file {
        Some(path) => Levers::kept(clock::now(), hops, watch.clone(), log, path),
        None => Levers::new(hops, watch.clone(), log),
    };
    let (stop, stopped) = watch::channel(false);
    let exporting = otlp.map(|otlp| {
        let (hops, log) = (options.hops.clone(), options.log.clone());
        hops.spans().switch_on();
        let spans = hops.spans().clone();
        otlp.run(hops, watch.clone(), spans, log)
    });
    let port = answer::Port { options, watch: watch.clone(), levers: levers.clone() };
    let thread = std::thread::Builder::new().name("damper-admin".to_owned()).spawn(move || {
        runtime.block_on(async {
            if let Some(exporting) = exporting {
                tokio::spawn(exporting);
            }
            listen::run(listener, reserve, Arc::new(port), stopped).await;
        });
        runtime.shutdown_background();
    })?;
    Ok(Running { address, levers, watch, stop, thread: Some(thread) })
}
