//! A network that is not there: streams with delays, partitions, resets and half-open connections, all
//! drawn from one seed, in the paused time of a runtime with one thread.
//!
//! It behaves as TCP does: bytes come in order and are not lost while a connection lives. A
//! partition holds them back, a reset loses what is on its way, and of a half-open connection
//! neither side hears anything any more.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::{Buf as _, Bytes};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::mpsc;
use tokio::time::{Instant, Sleep};

/// The network; clones are the same one.
#[derive(Clone)]
pub(crate) struct Net(Arc<Mutex<State>>);

struct State {
    chance: Xoshiro256PlusPlus,
    /// How long a packet travels, in microseconds.
    delay_us: (u64, u64),
    /// Until when nothing arrives.
    cut: Option<Instant>,
    /// Until when nobody listens.
    down: Option<Instant>,
    hosts: Vec<mpsc::UnboundedSender<Io>>,
    wires: Vec<Arc<Mutex<Wire>>>,
}

#[derive(Default)]
struct Wire {
    ways: [Way; 2],
    reset: bool,
    half_open: bool,
}

/// One direction.
#[derive(Default)]
struct Way {
    /// When what arrives; nothing is the end.
    packets: VecDeque<(Instant, Bytes)>,
    last: Option<Instant>,
    reader: Option<Waker>,
    /// Whoever would read it has gone.
    unread: bool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap()
}

/// Numbers of a seed, for everything else that is drawn in a run.
pub(crate) struct Draw(Xoshiro256PlusPlus);

impl Draw {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// From `from` to below `to`.
    pub(crate) fn between(&mut self, from: u64, to: u64) -> u64 {
        from + self.0.next_u64() % (to - from).max(1)
    }

    pub(crate) fn ms(&mut self, from: u64, to: u64) -> Duration {
        Duration::from_millis(self.between(from, to))
    }

    /// True in so many of a hundred.
    pub(crate) fn percent(&mut self, percent: u64) -> bool {
        self.between(0, 100) < percent
    }
}

impl Net {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Arc::new(Mutex::new(State {
            chance: Xoshiro256PlusPlus::seed_from_u64(seed ^ 0x6e65_7477_6f72_6b21),
            delay_us: (50, 500),
            cut: None,
            down: None,
            hosts: Vec::new(),
            wires: Vec::new(),
        })))
    }

    /// A host, and the connections that are made to it.
    pub(crate) fn host(&self) -> (usize, mpsc::UnboundedReceiver<Io>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        let mut state = lock(&self.0);
        state.hosts.push(sender);
        (state.hosts.len() - 1, receiver)
    }

    /// Connects to a host, after a way there and back.
    pub(crate) async fn connect(&self, host: usize) -> io::Result<Io> {
        let arrives = lock(&self.0).arrival(None) + Duration::from_micros(50);
        tokio::time::sleep_until(arrives).await;
        let mut state = lock(&self.0);
        let refused = || io::Error::from(io::ErrorKind::ConnectionRefused);
        if state.down.is_some_and(|until| Instant::now() < until) {
            return Err(refused());
        }
        let wire = Arc::new(Mutex::new(Wire::default()));
        state.wires.retain(|wire| Arc::strong_count(wire) > 1);
        state.wires.push(wire.clone());
        let io = |side| Io { net: self.clone(), wire: wire.clone(), side, timer: None };
        let (near, far) = (io(0), io(1));
        let host = state.hosts.get(host).cloned();
        // An end that is dropped says so to the other, by this very state.
        drop(state);
        host.ok_or_else(refused)?.send(far).map_err(|_| refused())?;
        Ok(near)
    }

    /// From now on packets travel so long.
    pub(crate) fn delay(&self, from: Duration, to: Duration) {
        let us = |time: Duration| time.as_micros() as u64;
        lock(&self.0).delay_us = (us(from), us(to));
    }

    /// Nothing arrives for so long.
    pub(crate) fn cut(&self, time: Duration) {
        lock(&self.0).cut = Some(Instant::now() + time);
    }

    /// Nobody listens for so long, and what was open is reset.
    pub(crate) fn down(&self, time: Duration) {
        lock(&self.0).down = Some(Instant::now() + time);
        self.reset_all();
    }

    /// Resets all connections.
    pub(crate) fn reset_all(&self) {
        let wires = lock(&self.0).wires.clone();
        wires.iter().for_each(|wire| reset(wire));
    }

    /// Resets one connection, by a number that is drawn.
    pub(crate) fn reset_one(&self, drawn: u64) {
        if let Some(wire) = self.one(drawn) {
            reset(&wire);
        }
    }

    /// From now on neither side of one connection hears the other.
    pub(crate) fn silence_one(&self, drawn: u64) {
        if let Some(wire) = self.one(drawn) {
            lock(&wire).half_open = true;
        }
    }

    fn one(&self, drawn: u64) -> Option<Arc<Mutex<Wire>>> {
        let state = lock(&self.0);
        let count = state.wires.len() as u64;
        state.wires.get(drawn.checked_rem(count)? as usize).cloned()
    }
}

fn reset(wire: &Mutex<Wire>) {
    let readers = {
        let mut wire = lock(wire);
        wire.reset = true;
        wire.ways.each_mut().map(|way| way.reader.take())
    };
    readers.into_iter().flatten().for_each(Waker::wake);
}

impl State {
    /// When something that is sent now arrives: after what was sent before it.
    fn arrival(&mut self, last: Option<Instant>) -> Instant {
        let (from, to) = self.delay_us;
        let delay = from + self.chance.next_u64() % (to.saturating_sub(from) + 1);
        let now = Instant::now();
        let sent = self.cut.map_or(now, |until| until.max(now));
        let arrives = sent + Duration::from_micros(delay);
        last.map_or(arrives, |last| last.max(arrives))
    }
}

/// One end of a connection.
pub(crate) struct Io {
    net: Net,
    wire: Arc<Mutex<Wire>>,
    side: usize,
    timer: Option<Pin<Box<Sleep>>>,
}

impl Io {
    fn send(&self, bytes: Bytes) -> io::Result<()> {
        let mut wire = lock(&self.wire);
        if wire.reset {
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        let half_open = wire.half_open;
        let way = &mut wire.ways[self.side];
        if half_open {
            return Ok(());
        }
        if way.unread {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let arrives = lock(&self.net.0).arrival(way.last);
        way.last = Some(arrives);
        way.packets.push_back((arrives, bytes));
        let reader = way.reader.take();
        drop(wire);
        reader.into_iter().for_each(Waker::wake);
        Ok(())
    }
}

impl std::fmt::Debug for Io {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Io").field("side", &self.side).finish_non_exhaustive()
    }
}

impl Drop for Io {
    fn drop(&mut self) {
        let _ = self.send(Bytes::new());
        lock(&self.wire).ways[1 - self.side].unread = true;
    }
}

impl AsyncRead for Io {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        loop {
            let mut wire = lock(&this.wire);
            if wire.reset {
                return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
            }
            let half_open = wire.half_open;
            let way = &mut wire.ways[1 - this.side];
            // A reset is heard at once, whatever is waited for.
            way.reader = Some(cx.waker().clone());
            if half_open {
                return Poll::Pending;
            }
            let Some((arrives, bytes)) = way.packets.front_mut() else { return Poll::Pending };
            if *arrives <= Instant::now() {
                let n = bytes.len().min(buffer.remaining());
                buffer.put_slice(&bytes[..n]);
                bytes.advance(n);
                // The end stays, so that whoever reads again sees it again.
                if n > 0 && bytes.is_empty() {
                    way.packets.pop_front();
                }
                this.timer = None;
                return Poll::Ready(Ok(()));
            }
            let timer = this.timer.insert(Box::pin(tokio::time::sleep_until(*arrives)));
            std::task::ready!(timer.as_mut().poll(cx));
        }
    }
}

impl AsyncWrite for Io {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if !bytes.is_empty() {
            self.send(Bytes::copy_from_slice(bytes))?;
        }
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.send(Bytes::new()))
    }
}
