//! A system file as real processes on this machine: one small server for each service, one for
//! the clients, an Envoy beside each, and the triggers of the file on command.
#![allow(clippy::disallowed_types, reason = "real processes live in real time")]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod client;
mod clock;
mod counts;
mod draw;
mod envoy;
mod keep;
mod lever;
mod notes;
mod order;
mod run;
mod serve;
mod slow;
mod tree;
mod trigger;
pub mod wire;

pub use counts::{Called, Counts, Ends, Received};
pub use envoy::{NoEnvoy, Sidecar, find_envoy};
pub use keep::keep;
pub use lever::Pull;
pub use run::{Emulation, Error, Handle, Options, Retries, Running, State};
pub use serve::{Role, Serve, serve};
pub use slow::slow_down;
pub use trigger::{Active, Condition, Surge};
pub use wire::Protocol;
