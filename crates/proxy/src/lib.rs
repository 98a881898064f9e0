//! The sidecar: what stands before a service and beside its calls, with the controls of a system
//! file, for programs that cannot be changed.
//!
//! ```text
//! caller ─▶ server ─▶ lever ─▶ door ──────────────────────────────▶ upstream   inbound
//! caller ─▶ server ─▶ lever ─▶ retry ─▶ breaker ─▶ throttle ─▶ send ─▶ upstream   outbound
//! ```
//!
//! Each worker is a thread with a runtime, sockets, pools and balancing of its own; the controls
//! are shared by all.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod admin;
pub mod body;
pub mod classify;
pub mod hop;
mod io;
pub mod meters;
mod notify;
pub mod observe;
pub mod outflow;
mod proxy;
pub mod run;
mod server;
#[cfg(test)]
mod simulated;
mod sockets;
pub mod stack;
pub mod tls;
pub mod upstream;
mod worker;

pub use proxy::{Proxy, StartError};
pub use sockets::given as given_sockets;
