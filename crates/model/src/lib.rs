//! The analytic side of Damper: an answer in milliseconds beside the simulator's.
//!
//! Source of the equations: DiffTry, "prioritising requests by retries" (arXiv 2610.20567); the
//! retry amplification paper (arXiv 2608.25403); Bronson et al., HotOS '21.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod amplification;
pub mod chain;
pub mod hidden;
pub mod network;
pub mod node;
pub mod plan;
pub mod system;
