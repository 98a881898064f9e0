//! The admin port over real sockets: while the data path is full, without file descriptors, and
//! against whoever holds connections open.
#![allow(missing_docs)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod ask;
mod cost;
mod deploy;
mod exhausted;
mod hostile;
mod overload;
mod prometheus;
