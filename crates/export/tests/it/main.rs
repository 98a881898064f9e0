//! Exports as their users see them: written, read again, run by the real software.
#![allow(missing_docs)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

mod deploy;
mod filter;
mod finds;
mod loopback;
mod observe;
mod random;
mod real;
mod round_trip;
mod schemas;
mod snapshots;
