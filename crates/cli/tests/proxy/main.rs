//! `damper proxy` between real load and a service of limited capacity: storms that heal, important
//! requests that stay served, and predictions that hold.
//!
//! Everything is on the loopback interface, bounded in rate and time, and ends with its test.
//! `DAMPER_SLOWER=N` makes all of it N times as slow, rates and times alike, for a machine that cannot
//! keep the pace.
#![allow(missing_docs)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]
#![allow(clippy::disallowed_types, reason = "load is sent in real time")]

mod agreement;
mod backend;
mod caller;
mod overload;
mod side;
mod storm;

/// How many times as slow everything is.
fn slower() -> u32 {
    std::env::var("DAMPER_SLOWER").map_or(1, |slower| slower.parse().expect("a whole number"))
}
