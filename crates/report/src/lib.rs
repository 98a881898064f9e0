//! One result format (JSON) and one self-contained HTML report with SVG charts.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod result;
