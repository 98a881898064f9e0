//! One result format (JSON) and one self-contained HTML report with SVG charts.
//!
//! [`result`] is what `--json` prints. [`headroom_html`], [`simulate_html`] and [`solve_html`] turn
//! it into a page that can be mailed, put into a ticket, printed, and read without a network:
//!
//! ```
//! use damper_report::{headroom_html, result::Headroom};
//!
//! let result = Headroom { state: "vulnerable".into(), load_rps: 270.0, ..Headroom::default() };
//! let page = headroom_html(&result);
//! assert!(page.starts_with("<!doctype html>"));
//! ```
//!
//! The charts are drawn here, in Rust, as SVG with classes: they follow the theme and the
//! width of the reader's screen, have a title, a description and a table of their numbers,
//! and give single values on hover and to the arrow keys. A plotting crate (`plotters` was
//! looked at) draws finished pictures in fixed colours, which can do none of that; what is
//! needed of one is a scale and some paths. The one script of the page is ours and only adds
//! exploration: without it everything can be read.
//!
//! Limits: names are drawn from left to right, graphs of more than 60 nodes become a table,
//! lines are thinned to the pixels of a wide screen (smallest and largest value of each
//! column are kept).
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]
#![cfg_attr(test, allow(clippy::float_cmp))]

mod amplification;
mod basins;
mod drill;
mod format;
mod graph;
mod headroom;
mod html;
mod load;
mod map;
mod page;
mod price;
pub mod result;
pub mod scan;
mod section;
mod simulate;
mod solve;
mod svg;
mod thin;

pub use amplification::{amplification_html, between as amplification_between};
pub use basins::{basins_html, lasting};
pub use drill::{drill_html, drill_markdown};
pub use headroom::headroom_html;
pub use load::load_html;
pub use map::map_html;
pub use price::price_html;
pub use simulate::simulate_html;
pub use solve::solve_html;
