//! A worker: one thread with one runtime, which serves its share of the connections from the first
//! byte to the last. Workers share controls and nothing else.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{Instant, MissedTickBehavior};
use tokio_rustls::TlsAcceptor;

use crate::server::listener::{Gate, Listener, SWEEP};
use crate::sockets::Opened;
use crate::stack::{Controls, Route};
use crate::upstream::{Connector, Directory};

/// What a worker is told.
pub(crate) enum Command {
    /// These listeners, and no others; tell which could not begin.
    Set { given: Vec<Given>, failed: std::sync::mpsc::Sender<Failed> },
    /// No more connections; tell how many are left at the end.
    Drain { timeout: Duration, done: std::sync::mpsc::Sender<usize> },
}

/// A listener that a worker could not begin with.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) hop: String,
    pub(crate) address: SocketAddr,
    pub(crate) why: std::io::Error,
}

/// A listener for one worker.
pub(crate) struct Given {
    pub(crate) address: SocketAddr,
    /// Its socket, if the worker does not have it yet.
    pub(crate) socket: Option<Opened>,
    pub(crate) controls: Arc<Controls>,
    pub(crate) connector: Connector,
    pub(crate) gate: Arc<Gate>,
    pub(crate) tls: Option<TlsAcceptor>,
}

/// A worker as the proxy sees it. Dropped, it ends, and what it serves with it.
#[derive(Debug)]
pub(crate) struct Worker {
    commands: Option<UnboundedSender<Command>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Worker {
    /// Starts one. `first`: it looks after what only one has to do.
    pub(crate) fn start(index: usize, seed: u64) -> std::io::Result<Self> {
        let (commands, told) = unbounded_channel();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let thread =
            std::thread::Builder::new().name(format!("worker-{index}")).spawn(move || {
                runtime.block_on(work(told, index == 0, seed));
                runtime.shutdown_background();
            })?;
        Ok(Self { commands: Some(commands), thread: Some(thread) })
    }

    pub(crate) fn tell(&self, command: Command) {
        if let Some(commands) = &self.commands {
            // It only ends when it is told to.
            let _ = commands.send(command);
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.commands = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The listeners of one worker.
struct Work {
    first: bool,
    seed: u64,
    listeners: Vec<Arc<Listener>>,
    /// Those that accept no more.
    leaving: Vec<Arc<Listener>>,
    /// Whose names are being looked up.
    kept: Vec<std::sync::Weak<Directory>>,
}

async fn work(mut told: UnboundedReceiver<Command>, first: bool, seed: u64) {
    let mut work = Work { first, seed, listeners: vec![], leaving: vec![], kept: vec![] };
    let mut ticks = tokio::time::interval_at(Instant::now() + SWEEP, SWEEP);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            command = told.recv() => match command {
                None => return,
                Some(Command::Set { given, failed }) => work.set(given, &failed),
                Some(Command::Drain { timeout, done }) => {
                    let left = work.drain(timeout).await;
                    let _ = done.send(left);
                }
            },
            _ = ticks.tick() => work.sweep(),
        }
    }
}

impl Work {
    fn set(&mut self, given: Vec<Given>, failed: &std::sync::mpsc::Sender<Failed>) {
        let mut before = std::mem::take(&mut self.listeners);
        for Given { address, socket, controls, connector, gate, tls } in given {
            self.keep(&controls);
            let known = before.iter().position(|listener| listener.address == address);
            if let Some(at) = known {
                let listener = before.swap_remove(at);
                // With the same controls its pools are kept as well.
                let same = Arc::ptr_eq(&listener.route().controls, &controls);
                let route = (!same || connector.has_tls())
                    .then(|| Arc::new(Route::new(controls, connector, self.seed)));
                listener.set(route, tls);
                self.listeners.push(listener);
            } else if let Some(socket) = socket {
                let route = Arc::new(Route::new(controls, connector, self.seed));
                let hop = route.controls.hop.name().to_owned();
                match Listener::start(socket, address, route, gate, tls) {
                    Ok(listener) => self.listeners.push(listener),
                    // Nobody hears it who has waited long enough.
                    Err(why) => drop(failed.send(Failed { hop, address, why })),
                }
            }
        }
        before.iter().for_each(|listener| listener.close());
        self.leaving.extend(before);
    }

    /// One worker looks names up for all.
    fn keep(&mut self, controls: &Controls) {
        let directory = controls.directory();
        self.kept.retain(|kept| kept.strong_count() > 0);
        let known = self.kept.iter().any(|kept| kept.as_ptr() == Arc::as_ptr(directory));
        if self.first && directory.has_names() && !known {
            let directory = Arc::downgrade(directory);
            self.kept.push(directory.clone());
            tokio::spawn(Directory::keep(directory));
        }
    }

    fn sweep(&mut self) {
        self.listeners.iter().chain(&self.leaving).for_each(|listener| listener.sweep());
        self.leaving.retain(|listener| listener.open() > 0);
    }

    /// Waits for the end of what is under way; how many connections are left when there is no more
    /// time.
    async fn drain(&mut self, timeout: Duration) -> usize {
        /// How often it looks.
        const LOOK: Duration = Duration::from_millis(10);
        self.listeners.iter().for_each(|listener| listener.close());
        self.leaving.append(&mut self.listeners);
        let open = |all: &[Arc<Listener>]| all.iter().map(|l| l.open()).sum::<usize>();
        let end = Instant::now() + timeout;
        // Those that were waiting to be accepted come first.
        tokio::task::yield_now().await;
        loop {
            let left = open(&self.leaving);
            if left == 0 || Instant::now() >= end {
                self.leaving.iter().for_each(|listener| listener.abort());
                return left;
            }
            tokio::time::sleep(LOOK).await;
        }
    }
}
