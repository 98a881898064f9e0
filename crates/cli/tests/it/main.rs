//! The program as its users run it: the real binary, in the root of the repository.
#![allow(missing_docs)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod basins;
#[path = "../../../report/tests/it/chromium.rs"]
#[allow(dead_code, clippy::print_stderr)]
mod chromium;
mod examples;
mod gates;
mod html;
#[cfg(unix)]
mod interrupt;
mod json;
mod output;
mod plan;
mod program;
mod scan;
