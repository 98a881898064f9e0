//! The Envoy filter: what it is told ([`Config`]), and what it does with a request ([`Worker`]).

mod account;
mod baggage;
mod check;
mod classify;
pub mod config;
pub mod counters;
pub mod headers;
mod host;
mod keys;
mod memory;
mod problem;
mod quiet;
mod rules;
pub mod schema;
#[cfg(test)]
mod testing;
mod trust;
mod view;
mod warn;
mod worker;

pub use check::read;
pub use config::Config;
pub use host::Host;
pub use problem::{Problem, Problems};
pub use warn::warnings;
pub use worker::{Call, Reply, TICK_MS, Verdict, Worker};
