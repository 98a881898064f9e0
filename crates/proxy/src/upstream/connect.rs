//! Makes connections to endpoints.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use damper_system::sidecar::Upstream;
use damper_tower::clock;
use http_body::Body;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio::net::TcpStream;

use super::Fault;
use super::cluster::STREAMS;
use crate::body::BodyError;
use crate::io::Io;
use crate::tls::{TlsError, ToUpstream};

/// Headers of a reply: what an upstream may send is its owner's affair, but not without end.
const REPLY_HEADERS: usize = 256;
const REPLY_HEAD: usize = 256 << 10;
/// An HTTP/2 connection that does not answer a ping is dead.
const PING_EVERY: Duration = Duration::from_secs(20);
const PING_WAIT: Duration = Duration::from_secs(10);

/// What may come of one stream before somebody reads it, in bytes.
const WINDOW: u32 = 256 << 10;

/// How connections are made.
#[derive(Clone, Debug)]
pub struct Connector {
    timeout: Duration,
    tls: Option<ToUpstream>,
    /// A network that is not there, in place of the machine's; ports are its hosts.
    #[cfg(test)]
    net: Option<SimulatedNet>,
}

#[cfg(test)]
#[derive(Clone)]
struct SimulatedNet(crate::simulated::net::Net);

#[cfg(test)]
impl std::fmt::Debug for SimulatedNet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a network that is not there")
    }
}

impl Connector {
    /// As an upstream has it.
    ///
    /// # Errors
    /// Its certificates cannot be read.
    pub fn new(upstream: &Upstream) -> Result<Self, TlsError> {
        let tls = upstream.tls.as_ref().map(ToUpstream::new).transpose()?;
        Ok(Self {
            timeout: clock::duration(upstream.connect_timeout),
            tls,
            #[cfg(test)]
            net: None,
        })
    }

    /// The same over a network that is not there.
    #[cfg(test)]
    pub(crate) fn over(mut self, net: crate::simulated::net::Net) -> Self {
        self.net = Some(SimulatedNet(net));
        self
    }

    /// Whether it uses certificates, which may be others when they are read again.
    #[must_use]
    pub fn has_tls(&self) -> bool {
        self.tls.is_some()
    }

    async fn stream(&self, to: SocketAddr, http2: bool) -> Result<Io, Fault> {
        let made = async {
            #[cfg(test)]
            if let Some(SimulatedNet(net)) = &self.net {
                let io = net.connect(usize::from(to.port())).await?;
                return Ok(Io::Simulated(hyper_util::rt::TokioIo::new(io)));
            }
            let stream = TcpStream::connect(to).await?;
            crate::io::prepare(&stream);
            match &self.tls {
                None => Ok(Io::plain(stream)),
                Some(tls) => Ok(Io::client(tls.connect(stream, http2).await?)),
            }
        };
        match tokio::time::timeout(self.timeout, made).await {
            Err(_) => Err(Fault::ConnectTimeout),
            Ok(made) => made.map_err(Fault::Connect),
        }
    }

    /// A connection for one request at a time. `held` is dropped when it is gone.
    pub(super) async fn http1<B>(
        &self,
        to: SocketAddr,
        held: impl Send + 'static,
    ) -> Result<http1::SendRequest<B>, Fault>
    where
        B: Body<Data = Bytes, Error = BodyError> + Send + 'static,
    {
        let stream = self.stream(to, false).await?;
        let made = http1::Builder::new()
            .max_headers(REPLY_HEADERS)
            .max_buf_size(REPLY_HEAD)
            .handshake(stream)
            .await;
        let (sender, connection) = made.map_err(|why| Fault::by(why, false))?;
        tokio::spawn(async move {
            // How it ends is told to whoever has a request on it.
            let _ = connection.with_upgrades().await;
            drop(held);
        });
        Ok(sender)
    }

    /// A connection for many requests at the same time.
    pub(super) async fn http2<B>(
        &self,
        to: SocketAddr,
        held: impl Send + 'static,
    ) -> Result<http2::SendRequest<B>, Fault>
    where
        B: Body<Data = Bytes, Error = BodyError> + Send + Unpin + 'static,
    {
        let stream = self.stream(to, true).await?;
        let made = http2::Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .keep_alive_interval(PING_EVERY)
            .keep_alive_timeout(PING_WAIT)
            .max_header_list_size(REPLY_HEAD as u32)
            .initial_stream_window_size(WINDOW)
            // Replies that nobody reads must not stop the others.
            .initial_connection_window_size(WINDOW * STREAMS)
            .handshake(stream)
            .await;
        let (sender, connection) = made.map_err(|why| Fault::by(why, false))?;
        tokio::spawn(async move {
            let _ = connection.await;
            drop(held);
        });
        Ok(sender)
    }
}
