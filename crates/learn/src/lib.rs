//! Learns a system file from measurements: traces of OpenTelemetry, Jaeger and Zipkin, and the
//! metrics of Istio, Linkerd, Envoy and gRPC.
//!
//! Traces are read as a stream on one thread, and put together and counted on another. What is
//! held does not grow with the input: strings are numbers, traces are closed when there is no more
//! room, counts are counts. [`learn()`] is the whole way; [`yaml`] writes what was learnt.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod analysis;
mod attributes;
mod build;
mod calls;
mod collect;
mod fit;
mod input;
mod learn;
pub mod learnt;
mod metrics;
mod names;
mod read;
mod shape;
mod span;
mod stats;
mod tally;
mod tree;
mod write;

#[doc(hidden)]
pub use learn::learn_bytes;
pub use learn::{Control, LearnError, Options, learn};
pub use learnt::Learnt;
pub use write::yaml;
