//! The configuration of the sidecar (`damper proxy --config FILE`): where it listens, whose
//! requests it takes and whose calls it makes, and where they go. How they are controlled is in
//! the system file that it names.
//!
//! It is read by the same tables as the system file: all mistakes in one go, each with its place,
//! what was expected and the nearest right name.

mod lower;
mod place;
pub(crate) mod tables;
#[cfg(test)]
mod tests;

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use damper_control::Nanos;

use crate::document::{Document, Format};
use crate::model::System;
use crate::problem::Problems;

static FORMAT: Format = Format {
    most: 1 << 20,
    what: "a proxy configuration (YAML, UTF-8)",
    like: "a file such as those in examples/proxy",
};

/// A sidecar as its configuration describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Sidecar {
    /// The system file, as it is found from here.
    pub system_file: PathBuf,
    /// What the system file describes.
    pub system: System,
    /// Threads that serve; `None`: as many as there are cores, up to four.
    pub workers: Option<u32>,
    /// The admin port; `None`: there is none.
    pub admin: Option<Admin>,
    /// How it ends.
    pub drain: Drain,
    /// Inbound and outbound listeners, in the order of the file; at least one.
    pub listeners: Vec<Listener>,
}

/// The admin port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admin {
    /// Where it listens.
    pub listen: SocketAddr,
    /// A file with the token that callers must show; there is one if `listen` is not loopback.
    pub token_file: Option<PathBuf>,
    /// A file in which positions of levers are kept over a restart.
    pub state_file: Option<PathBuf>,
}

/// How a sidecar ends on SIGTERM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drain {
    /// It is not ready any more, but still accepts.
    pub delay: Nanos,
    /// Requests that are under way then have this long.
    pub timeout: Nanos,
}

/// Which way requests go through a listener.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Way {
    /// From callers elsewhere to the service beside the sidecar: its name in the system file.
    Inbound(String),
    /// From the service beside it to a callee: `caller -> callee` in the system file.
    Outbound(String),
}

/// One listener: an inbound or outbound hop.
#[derive(Clone, Debug, PartialEq)]
pub struct Listener {
    /// Which way, and the name in the system file.
    pub way: Way,
    /// Where it listens.
    pub listen: SocketAddr,
    /// Where requests go.
    pub upstream: Upstream,
    /// Whose class, deadline and attempt headers are believed.
    pub trust: Trust,
    /// How long a request may take here; `None`: as long as its deadline lets it.
    pub timeout: Option<Nanos>,
    /// The header that tells the flows apart, for fair queues.
    pub flow: Option<String>,
    /// The header with a user's rank among those of a class, 0 to 127.
    pub rank: Option<String>,
    /// Which calls may be made twice (outbound).
    pub repeat: Repeat,
    /// TLS towards callers; `None`: plain.
    pub tls: Option<Tls>,
    /// What strangers may use of it.
    pub limits: Limits,
}

/// Which calls may be made twice after work may have been done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// Those whose method is idempotent, or that carry `Idempotency-Key`.
    ByMethod,
    /// Those that the policy of the system file says (`idempotent`).
    ByPolicy,
}

/// Whose headers are believed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// Nobody's.
    None,
    /// Those of peers on this machine.
    Loopback,
    /// Everybody's.
    All,
    /// Those of these networks.
    Networks(Vec<Network>),
}

/// A network such as `10.0.0.0/8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    /// Its first address.
    pub base: IpAddr,
    /// How many leading bits are those of the network.
    pub bits: u8,
}

/// A key pair for TLS, as PEM files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tls {
    /// The chain of certificates, its own first.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
    /// Callers must show a certificate that one of these has signed; `None`: they need none.
    pub client_ca: Option<PathBuf>,
}

/// TLS towards a callee.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientTls {
    /// The certificates of those who may have signed the callee's, as a PEM file.
    pub ca: PathBuf,
    /// The name that its certificate must have.
    pub name: String,
    /// The certificate and key that are shown to it.
    pub identity: Option<(PathBuf, PathBuf)>,
}

/// What strangers may use of a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections at the same time.
    pub connections: u32,
    /// Requests at the same time, of all connections.
    pub requests: u32,
    /// Headers of a request.
    pub headers: u32,
    /// Bytes of a request's head.
    pub head: u64,
    /// Bytes of a request's body; `None`: no limit.
    pub body: Option<u64>,
    /// How long the head of a request may take.
    pub head_timeout: Nanos,
    /// How long a body may stand still.
    pub body_timeout: Nanos,
    /// How long a connection may have no request.
    pub idle: Nanos,
    /// Requests at the same time of one HTTP/2 connection.
    pub streams: u32,
}

/// Where a listener's requests go.
#[derive(Clone, Debug, PartialEq)]
pub struct Upstream {
    /// Addresses and names.
    pub to: Vec<Endpoint>,
    /// What it speaks.
    pub protocol: Protocol,
    /// Which endpoint is next.
    pub balance: Balance,
    /// TLS; `None`: plain.
    pub tls: Option<ClientTls>,
    /// How long a connection may take to be made.
    pub connect_timeout: Nanos,
    /// After what time names are looked up again.
    pub refresh: Nanos,
    /// Connections to one endpoint, of each worker.
    pub connections: u32,
    /// Which idle connection is next.
    pub order: PoolOrder,
    /// No connection is used longer than this.
    pub max_age: Nanos,
    /// A connection that was idle for this long is closed.
    pub idle: Nanos,
}

/// Where an endpoint is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Endpoint {
    /// An address.
    Address(SocketAddr),
    /// A name that is looked up: each of its addresses is an endpoint.
    Name(String, u16),
}

/// What is spoken with an upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// What the caller speaks.
    AsCaller,
    /// HTTP/1.1.
    Http1,
    /// HTTP/2; without TLS by prior knowledge.
    Http2,
}

/// Which endpoint is next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Balance {
    /// One after the other.
    RoundRobin,
    /// The one with the fewest requests under way.
    LeastRequest,
    /// The cheaper of two by chance, by peak EWMA of latency times requests under way.
    P2c,
}

/// Which idle connection is next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolOrder {
    /// The one that was used the longest ago.
    Lru,
    /// The one that was used last.
    Mru,
}

impl Sidecar {
    /// Reads a configuration and the system file that it names.
    ///
    /// # Errors
    /// All mistakes of the file, or of the system file.
    pub fn read(path: &Path) -> Result<Self, Problems> {
        let document = Document::read(path, &FORMAT)?;
        Self::lower(&document, &|path| crate::SystemFile::read(path)?.lower())
    }

    /// Reads a text. Files that it names are looked for from `base`; `system` reads the system
    /// file.
    ///
    /// # Errors
    /// All mistakes of the text, or what `system` says.
    pub fn parse(
        name: &str,
        text: &str,
        base: &Path,
        system: &dyn Fn(&Path) -> Result<System, Problems>,
    ) -> Result<Self, Problems> {
        Self::lower(&Document::parse(name, text, base.to_path_buf(), &FORMAT)?, system)
    }

    fn lower(
        document: &Document,
        system: &dyn Fn(&Path) -> Result<System, Problems>,
    ) -> Result<Self, Problems> {
        let mut reader = document.reader();
        let sidecar = lower::lower(&mut reader, document.root(), document.base(), system)?;
        document.conclude(reader, sidecar).map(|(sidecar, _)| sidecar)
    }
}

impl Listener {
    /// The name of the hop: the service, or `caller -> callee`.
    #[must_use]
    pub fn name(&self) -> &str {
        match &self.way {
            Way::Inbound(name) | Way::Outbound(name) => name,
        }
    }
}

impl Trust {
    /// Whether this peer is believed.
    #[must_use]
    pub fn believes(&self, peer: IpAddr) -> bool {
        let peer = peer.to_canonical();
        match self {
            Self::None => false,
            Self::Loopback => peer.is_loopback(),
            Self::All => true,
            Self::Networks(networks) => networks.iter().any(|network| network.contains(peer)),
        }
    }
}

impl Network {
    /// Whether an address belongs to it.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        let same = |a: u128, b: u128, width: u32| {
            let host = width.saturating_sub(u32::from(self.bits));
            host >= width || (a ^ b) >> host == 0
        };
        match (self.base, address) {
            (IpAddr::V4(a), IpAddr::V4(b)) => same(a.to_bits().into(), b.to_bits().into(), 32),
            (IpAddr::V6(a), IpAddr::V6(b)) => same(a.to_bits(), b.to_bits(), 128),
            _ => false,
        }
    }
}
