//! Connections of the admin port: few, short, and never without a file descriptor.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::fs::File;
use std::io;
use std::net::TcpListener as StdListener;
use std::sync::Arc;
use std::time::Duration;

use damper_tower::clock;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::answer::Port;

/// Connections at the same time. One more, and the oldest is closed: whoever holds connections
/// open locks nobody out.
const MOST: usize = 32;
/// But not before it had so long: whoever has sent a request is answered by then.
const SPARED: Duration = Duration::from_millis(100);
/// How long a connection may take in all.
const LONGEST: Duration = Duration::from_secs(30);
/// How long a request may take to be sent.
const HEAD: Duration = Duration::from_secs(5);
/// Bytes of a head.
const HEAD_BYTES: usize = 16 * 1024;
/// How often it looks at the hops, at least.
const TICK: Duration = Duration::from_secs(1);

/// A file descriptor that is held for later.
#[derive(Debug)]
enum Held {
    Nothing(#[expect(dead_code, reason = "held, not used")] File),
    /// A connection that was answered. Closing it would give its descriptor to whoever asks next.
    Answered(#[expect(dead_code, reason = "held, not used")] TcpStream),
}

/// File descriptors that are held so that a connection can be accepted when there are no others.
#[derive(Debug)]
pub(super) struct Reserve(Vec<Held>);

impl Reserve {
    /// As many as may be in use at the same time.
    const HELD: usize = 16;

    /// Takes them.
    pub(super) fn new() -> io::Result<Self> {
        let mut reserve = Self(Vec::with_capacity(Self::HELD));
        while reserve.0.len() < Self::HELD {
            reserve.0.push(Held::Nothing(File::open("/dev/null")?));
        }
        Ok(reserve)
    }

    /// Takes back what was given away, as far as there is any.
    fn refill(&mut self) {
        while self.0.len() < Self::HELD {
            let Ok(file) = File::open("/dev/null") else { return };
            self.0.push(Held::Nothing(file));
        }
    }

    /// Keeps the descriptor of a connection that was answered, if one is missing.
    fn keep(&mut self, answered: TcpStream) {
        if self.0.len() < Self::HELD {
            self.0.push(Held::Answered(answered));
        }
    }

    /// Gives one away. Whether there was one.
    fn release(&mut self) -> bool {
        self.0.pop().is_some()
    }
}

/// EMFILE and ENFILE: no file descriptor is left in this process, or in the system.
fn is_exhausted(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(24 | 23))
}

/// Serves until it is stopped.
pub(super) async fn run(
    listener: StdListener,
    mut reserve: Reserve,
    port: Arc<Port>,
    mut stopped: watch::Receiver<bool>,
) {
    let Ok(listener) = TcpListener::from_std(listener) else { return };
    let mut open: VecDeque<(Instant, AbortHandle)> = VecDeque::new();
    let (give_back, mut answered) = mpsc::channel::<TcpStream>(MOST);
    let mut tick = tokio::time::interval(TICK);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
    loop {
        let due = port.levers.next_due().map(clock_instant);
        tokio::select! {
            // What is rare comes first: no flood of connections keeps a pull from being undone.
            biased;
            _ = stopped.wait_for(|stop| *stop) => return,
            () = until(due) => port.levers.tick(clock::now()),
            _ = tick.tick() => {
                let now = clock::now();
                port.watch.tick(now);
                port.levers.tick(now);
                reserve.refill();
            }
            Some(stream) = answered.recv() => reserve.keep(stream),
            accepted = accept(&listener, &mut reserve) => {
                let Ok(stream) = accepted else {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                    reserve.refill();
                    continue;
                };
                open.retain(|(_, connection)| !connection.is_finished());
                if open.len() >= MOST && let Some((since, oldest)) = open.pop_front() {
                    tokio::time::sleep_until(since + SPARED).await;
                    oldest.abort();
                }
                let serving = connection(stream, port.clone(), give_back.clone());
                open.push_back((Instant::now(), tokio::spawn(serving).abort_handle()));
                // Before the next one is accepted: a flood is let in faster than it is answered.
                tokio::task::yield_now().await;
            }
        }
    }
}

fn clock_instant(at: damper_control::Nanos) -> Instant {
    Instant::now() + clock::duration(at.since(clock::now()))
}

async fn until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}

/// Accepts a connection, with a file descriptor of the reserve if there is no other. Others of
/// this process may be quicker to take what was released, so it tries with all of the reserve.
async fn accept(listener: &TcpListener, reserve: &mut Reserve) -> io::Result<TcpStream> {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return Ok(stream),
            Err(error) if is_exhausted(&error) && reserve.release() => {}
            Err(error) => return Err(error),
        }
    }
}

/// Answers one request, and gives the connection back when it has ended.
async fn connection(stream: TcpStream, port: Arc<Port>, give_back: mpsc::Sender<TcpStream>) {
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| {
        let port = port.clone();
        async move { Ok::<_, Infallible>(port.answer(request).await) }
    });
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(HEAD_BYTES)
        // Each answer ends its connection, so that none holds a descriptor for long.
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service)
        .without_shutdown();
    if let Ok(Ok(parts)) = tokio::time::timeout(LONGEST, serving).await {
        let mut stream = parts.io.into_inner();
        let _ = stream.shutdown().await;
        let _ = give_back.try_send(stream);
    }
}
