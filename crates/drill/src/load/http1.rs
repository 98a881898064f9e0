//! Connections of HTTP/1.1, one task each.
//!
//! A load generator must cost less than what it measures: a request here is one write, one read, and
//! no timer of its own. A connection has a single timer, which is only set again when it fires and
//! the attempt that is under way by then has more time.

mod reply;

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use tokio::io::{AsyncRead as _, AsyncWrite as _, ReadBuf};
use tokio::time::{Instant, Sleep};

use self::reply::{Bad, Reader, Reply};
use super::end::{AttemptEnd, Ended, of_status};
use super::engine::{Call, Engine};
use super::tls::Stream;

/// What is read at once, in bytes, at first and at most.
const BUFFER: usize = 8 << 10;
const MOST_BUFFER: usize = 128 << 10;

/// Where an idle connection waits for its next call.
#[derive(Default)]
pub(super) struct Seat(Mutex<Place>);

#[derive(Default)]
struct Place {
    call: Option<Call>,
    waker: Option<Waker>,
    gone: bool,
}

impl Seat {
    fn place(&self) -> MutexGuard<'_, Place> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands it a call; back, if the connection has gone.
    pub(super) fn give(&self, call: Call) -> Result<(), Call> {
        let mut place = self.place();
        if place.gone {
            return Err(call);
        }
        place.call = Some(call);
        if let Some(waker) = place.waker.take() {
            drop(place);
            waker.wake();
        }
        Ok(())
    }

    fn take(&self, context: &Context<'_>) -> Option<Call> {
        let mut place = self.place();
        let call = place.call.take();
        if call.is_none() {
            place.waker = Some(context.waker().clone());
        }
        call
    }

    /// The connection goes: what it was given in that moment.
    pub(super) fn leave(&self) -> Option<Call> {
        let mut place = self.place();
        let call = place.call.take();
        place.gone = call.is_none();
        call
    }
}

/// Opens a connection for a call, and serves others on it as long as it lasts.
pub(super) async fn serve(engine: Arc<Engine>, first: Call) {
    let seat = Arc::new(Seat::default());
    let mut next = Some(first);
    let mut link = None;
    while let Some(mut call) = next.take() {
        call.begin(engine.now());
        let (ended, keeps) = one(&engine, &mut link, &call).await;
        if !keeps {
            link = None;
        }
        next = engine.ended(call, ended, link.is_some().then_some(&seat));
        if let (None, Some(open)) = (&next, &mut link) {
            next = open.idle(&seat).await;
            if next.is_none() {
                next = engine.leave(&seat);
                link = None;
            }
        }
    }
}

/// One attempt: how it ended, and whether the connection can be used again.
async fn one(engine: &Engine, link: &mut Option<Link>, call: &Call) -> (Ended, bool) {
    let Some(prepared) = engine.prepared(call) else {
        return (AttemptEnd::Failed.into(), link.is_some());
    };
    let gives_up = engine.gives_up(call);
    loop {
        let reused = link.is_some();
        let open = match link {
            Some(open) => open,
            None => match Link::open(engine, gives_up).await {
                Ok(open) => link.insert(open),
                Err(Lost::TimedOut) => return (Engine::late(call), false),
                Err(_) => return (AttemptEnd::Connection.into(), false),
            },
        };
        let wire = prepared.wire(call.number, &mut open.text);
        match open.exchange(&wire, prepared.is_head(), gives_up).await {
            Ok(reply) => {
                let end = of_status(reply.status, prepared.expect());
                return (reply.said.with(end), reply.keeps);
            }
            // The server closed an idle connection while this was on its way.
            Err(Lost::Stale) if reused && prepared.is_repeatable() && engine.sends_again(call) => {
                *link = None;
            }
            Err(Lost::TimedOut) => return (Engine::late(call), false),
            Err(Lost::Unreadable) => return (AttemptEnd::Failed.into(), false),
            Err(Lost::Stale | Lost::Broken) => return (AttemptEnd::Connection.into(), false),
        }
    }
}

/// Why there is no reply.
enum Lost {
    TimedOut,
    /// Closed before a byte of the reply.
    Stale,
    Broken,
    Unreadable,
}

/// A connection.
struct Link {
    stream: Stream,
    timer: Pin<Box<Sleep>>,
    buffer: Vec<u8>,
    begin: usize,
    end: usize,
    /// Where requests with placeholders are laid out.
    text: Vec<u8>,
}

impl Link {
    async fn open(engine: &Engine, gives_up: Instant) -> Result<Self, Lost> {
        let connected = Stream::open(engine.target, engine.tls.as_ref());
        let stream = match tokio::time::timeout_at(gives_up, connected).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(_)) => return Err(Lost::Broken),
            Err(_) => return Err(Lost::TimedOut),
        };
        Ok(Self {
            stream,
            timer: Box::pin(tokio::time::sleep_until(gives_up)),
            buffer: vec![0; BUFFER],
            begin: 0,
            end: 0,
            text: Vec::new(),
        })
    }

    /// Sends a request and reads its reply.
    async fn exchange(
        &mut self,
        wire: &[u8],
        is_head: bool,
        gives_up: Instant,
    ) -> Result<Reply, Lost> {
        self.send(wire, gives_up).await?;
        let mut reader = Reader::default();
        loop {
            match self.receive(gives_up).await {
                Ok(0) => {
                    let stale = reader.is_untouched() && self.begin == self.end;
                    return reader
                        .closed()
                        .map_err(|_| if stale { Lost::Stale } else { Lost::Broken });
                }
                Ok(_) => {}
                Err(Lost::Broken) if reader.is_untouched() => return Err(Lost::Stale),
                Err(lost) => return Err(lost),
            }
            let unread = self.buffer.get(self.begin..self.end).unwrap_or_default();
            let (taken, reply) = reader.read(unread, is_head).map_err(|bad| match bad {
                Bad::Unreadable => Lost::Unreadable,
                Bad::Cut => Lost::Broken,
            })?;
            self.begin += taken;
            if let Some(mut reply) = reply {
                // Bytes that nobody asked for: nothing that follows could be told apart.
                reply.keeps &= self.begin == self.end;
                return Ok(reply);
            }
        }
    }

    async fn send(&mut self, mut wire: &[u8], gives_up: Instant) -> Result<(), Lost> {
        while !wire.is_empty() {
            let Self { stream, timer, .. } = self;
            let sent = poll_fn(|context| {
                let sent = Pin::new(&mut *stream).poll_write(context, wire);
                or_late(sent, timer, gives_up, context)
            });
            match sent.await? {
                Ok(sent @ 1..) => wire = wire.get(sent..).unwrap_or_default(),
                // Its reply may have come before, or nothing ever.
                _ => return Err(Lost::Stale),
            }
        }
        // With TLS it may not have gone out yet.
        let Self { stream, timer, .. } = self;
        let gone = poll_fn(|context| {
            let gone = Pin::new(&mut *stream).poll_flush(context);
            or_late(gone, timer, gives_up, context)
        });
        gone.await?.map_err(|_| Lost::Stale)
    }

    /// Reads more into the buffer: how much.
    async fn receive(&mut self, gives_up: Instant) -> Result<usize, Lost> {
        if self.begin == self.end {
            (self.begin, self.end) = (0, 0);
        } else if self.end == self.buffer.len() {
            if self.begin > 0 {
                self.buffer.copy_within(self.begin..self.end, 0);
                (self.begin, self.end) = (0, self.end - self.begin);
            } else if self.buffer.len() < MOST_BUFFER {
                self.buffer.resize(self.buffer.len() * 2, 0);
            } else {
                return Err(Lost::Unreadable);
            }
        }
        let Self { stream, timer, buffer, end, .. } = self;
        let room = buffer.get_mut(*end..).unwrap_or_default();
        let more = poll_fn(|context| {
            let mut into = ReadBuf::new(room);
            let read = Pin::new(&mut *stream).poll_read(context, &mut into);
            or_late(read.map_ok(|()| into.filled().len()), timer, gives_up, context)
        });
        let more = more.await?.map_err(|_| Lost::Broken)?;
        self.end += more;
        Ok(more)
    }

    /// Waits for a call; `None`: the other side has closed.
    async fn idle(&mut self, seat: &Seat) -> Option<Call> {
        let Self { stream, buffer, .. } = self;
        poll_fn(|context| {
            if let Some(call) = seat.take(context) {
                return Poll::Ready(Some(call));
            }
            // Nothing has been asked, so that whatever comes ends it.
            let mut into = ReadBuf::new(buffer);
            Pin::new(&mut *stream).poll_read(context, &mut into).map(|_| None)
        })
        .await
    }
}

/// What has come of it, or that its time is over.
fn or_late<T>(
    polled: Poll<io::Result<T>>,
    timer: &mut Pin<Box<Sleep>>,
    gives_up: Instant,
    context: &mut Context<'_>,
) -> Poll<Result<io::Result<T>, Lost>> {
    if let Poll::Ready(done) = polled {
        return Poll::Ready(Ok(done));
    }
    if timer.deadline() > gives_up {
        timer.as_mut().reset(gives_up);
    }
    while timer.as_mut().poll(context).is_ready() {
        if timer.deadline() >= gives_up {
            return Poll::Ready(Err(Lost::TimedOut));
        }
        // It was set for an attempt that has ended since.
        timer.as_mut().reset(gives_up);
    }
    Poll::Pending
}
