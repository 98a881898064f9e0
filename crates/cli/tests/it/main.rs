//! The program as its users run it: the real binary, in the root of the repository.
#![allow(missing_docs)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod basins;
#[path = "../../../report/tests/it/chromium.rs"]
#[allow(dead_code, clippy::print_stderr)]
mod chromium;
#[cfg(unix)]
#[allow(clippy::disallowed_types)]
mod drill;
#[cfg(unix)]
#[allow(clippy::disallowed_types, clippy::print_stderr)]
mod emulate;
mod examples;
mod export;
mod gates;
mod html;
#[cfg(unix)]
mod interrupt;
mod json;
mod lab;
mod learn;
mod lever;
mod load;
mod map;
mod output;
mod plan;
mod price;
mod program;
#[cfg(unix)]
mod proxy;
mod scan;
