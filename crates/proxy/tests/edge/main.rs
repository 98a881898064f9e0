//! The sidecar against the world: clients and servers that are slow, broken or mean harm, and those that
//! other people wrote. Everything is on the loopback interface, bounded, and ends with its test.
#![allow(missing_docs)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::disallowed_types, reason = "sockets are read with patience")]
#![allow(clippy::print_stderr, reason = "a test that is skipped says so")]

mod attacks;
mod clients;
mod faults;
mod frames;
mod raw;
mod side;
mod smuggling;
