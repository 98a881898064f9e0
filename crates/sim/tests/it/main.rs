//! The engine against closed forms and worked values.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod build;
mod controls;
mod determinism;
mod ends;
mod extremes;
mod mechanisms;
mod osdi22;
mod properties;
mod queues;
mod random;
mod storms;
mod triggers;
