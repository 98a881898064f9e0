//! A connection, plain or with TLS, as hyper wants one.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use socket2::{SockRef, TcpKeepalive};
use tokio::net::TcpStream;
use tokio_rustls::{client, server};

/// A connection. That with TLS is boxed: most are plain, and it is large.
#[derive(Debug)]
pub(crate) enum Io {
    Plain(TokioIo<TcpStream>),
    Client(Box<TokioIo<client::TlsStream<TcpStream>>>),
    Server(Box<TokioIo<server::TlsStream<TcpStream>>>),
    #[cfg(test)]
    Simulated(TokioIo<crate::simulated::net::Io>),
}

impl Io {
    pub(crate) fn plain(stream: TcpStream) -> Self {
        Self::Plain(TokioIo::new(stream))
    }

    pub(crate) fn client(stream: client::TlsStream<TcpStream>) -> Self {
        Self::Client(Box::new(TokioIo::new(stream)))
    }

    pub(crate) fn server(stream: server::TlsStream<TcpStream>) -> Self {
        Self::Server(Box::new(TokioIo::new(stream)))
    }
}

/// The other side of a connection that says nothing is asked whether it is there, and one that does
/// not answer, or takes nothing of what was sent, is gone: a machine that lost its power must hold
/// no place for ever.
const PROBE: Duration = Duration::from_secs(30);
const PROBE_EVERY: Duration = Duration::from_secs(10);
const PROBES: u32 = 3;
const UNANSWERED: Duration = Duration::from_secs(60);

/// Sets what every connection needs.
pub(crate) fn prepare(stream: &TcpStream) {
    // Without this a message may wait for the acknowledgement of the one before it.
    let _ = stream.set_nodelay(true);
    let socket = SockRef::from(stream);
    let probes = TcpKeepalive::new().with_time(PROBE).with_interval(PROBE_EVERY);
    let _ = socket.set_tcp_keepalive(&probes.with_retries(PROBES));
    #[cfg(target_os = "linux")]
    let _ = socket.set_tcp_user_timeout(Some(UNANSWERED));
}

/// The same call on whichever it is.
macro_rules! each {
    ($io:expr, $of:ident => $call:expr) => {
        match &mut *$io {
            Io::Plain(io) => {
                let $of = Pin::new(io);
                $call
            }
            Io::Client(io) => {
                let $of = Pin::new(&mut **io);
                $call
            }
            Io::Server(io) => {
                let $of = Pin::new(&mut **io);
                $call
            }
            #[cfg(test)]
            Io::Simulated(io) => {
                let $of = Pin::new(io);
                $call
            }
        }
    };
}

impl Read for Io {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        each!(self, io => io.poll_read(cx, buf))
    }
}

impl Write for Io {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        each!(self, io => io.poll_write(cx, buf))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        each!(self, io => io.poll_flush(cx))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        each!(self, io => io.poll_shutdown(cx))
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Plain(io) => io.is_write_vectored(),
            Self::Client(io) => io.is_write_vectored(),
            Self::Server(io) => io.is_write_vectored(),
            #[cfg(test)]
            Self::Simulated(io) => io.is_write_vectored(),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        each!(self, io => io.poll_write_vectored(cx, bufs))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_connection_finds_out_that_its_other_side_is_gone() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        prepare(&stream);
        let socket = SockRef::from(&stream);
        assert!(stream.nodelay().unwrap() && socket.keepalive().unwrap());
        assert_eq!(socket.tcp_keepalive_time().unwrap(), PROBE);
        #[cfg(target_os = "linux")]
        assert_eq!(socket.tcp_user_timeout().unwrap(), Some(UNANSWERED));
    }
}
