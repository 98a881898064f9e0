//! The report as its readers see it: hostile values, and a real browser.
#![allow(missing_docs, unreachable_pub, dead_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

mod browser;
mod chromium;
mod hostile;
mod page;
mod samples;
mod sarif;
mod scan;
mod solutions;
