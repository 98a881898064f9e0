//! Where requests go: endpoints, which of them is next, connections to them.

mod balance;
mod cluster;
mod connect;
mod directory;
mod pool;
mod reply;
mod send;

use damper_control::conditions::{Lost, Reset, Sent};

pub use cluster::Cluster;
pub use connect::Connector;
pub use directory::Directory;
pub use reply::Reply;
pub(crate) use send::Kept;
pub use send::{Forward, Tried};

use crate::body::BodyError;

/// Why an attempt has no reply.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// No address is known, or not yet.
    #[error("the upstream has no endpoint")]
    NoEndpoint,
    /// There are as many connections as there may be.
    #[error("all connections to the endpoint are in use")]
    Full,
    /// No connection could be made.
    #[error("no connection to the endpoint")]
    Connect(#[source] std::io::Error),
    /// None was made in time.
    #[error("no connection to the endpoint in time")]
    ConnectTimeout,
    /// The endpoint turned the stream away before it looked at it.
    #[error("the endpoint refused the stream")]
    RefusedStream,
    /// The endpoint is going away and has not looked at the request.
    #[error("the endpoint is going away")]
    GoAway,
    /// The connection broke before a reply. `written`: something of the request may have left.
    #[error("the connection to the endpoint broke")]
    Closed {
        /// Whether something of the request may have left.
        written: bool,
        /// What HTTP says.
        #[source]
        why: hyper::Error,
    },
    /// The body of the request broke off.
    #[error("the body of the request broke off")]
    Body(#[source] BodyError),
}

impl Fault {
    /// What it is to the controls.
    #[must_use]
    pub fn lost(&self) -> Lost {
        let (reset, sent) = match self {
            Self::NoEndpoint | Self::Full => (Reset::Overflow, Sent::Nothing),
            Self::Connect(_) => (Reset::ConnectFailure, Sent::Nothing),
            Self::ConnectTimeout => (Reset::ConnectTimeout, Sent::Nothing),
            Self::RefusedStream => (Reset::RefusedStream, Sent::Something),
            Self::GoAway => (Reset::GoAway, Sent::Something),
            Self::Closed { written: false, .. } => (Reset::Closed, Sent::Nothing),
            Self::Closed { written: true, .. } => (Reset::Closed, Sent::Something),
            Self::Body(_) => (Reset::Dropped, Sent::Something),
        };
        Lost { reset, sent }
    }

    /// What an error of HTTP means; `written`: something of the request may have left.
    fn by(why: hyper::Error, written: bool) -> Self {
        let mut next: Option<&(dyn std::error::Error + 'static)> = Some(&why);
        while let Some(error) = next {
            if let Some(body) = error.downcast_ref::<BodyError>() {
                return Self::Body(match body {
                    BodyError::TooLarge => BodyError::TooLarge,
                    BodyError::Stalled | BodyError::Broken(_) => BodyError::Stalled,
                });
            }
            if let Some(h2) = error.downcast_ref::<h2::Error>() {
                if h2.reason() == Some(h2::Reason::REFUSED_STREAM) {
                    return Self::RefusedStream;
                }
                // A stream above the last one that the endpoint looks at.
                if h2.is_go_away() && h2.is_remote() && h2.reason() == Some(h2::Reason::NO_ERROR) {
                    return Self::GoAway;
                }
            }
            next = error.source();
        }
        Self::Closed { written, why }
    }

    /// Whether the endpoint is to blame in a way that makes it look fast.
    fn is_refusal(&self) -> bool {
        !matches!(self, Self::NoEndpoint | Self::Full | Self::Body(_))
    }
}
