//! Reads the configuration of a system: what its operators wrote about retries, timeouts, budgets
//! and limits, in every format of [`format::FORMATS`], and what applies after defaults.
//!
//! A file becomes [`document`]s, whose values know their lines. A format turns them into a
//! [`Reading`]: layers that retry, facts that bear on them, and who calls whom. What several files
//! say together is worked out in [`effective`].

pub mod document;
pub mod effective;
pub mod failure;
pub mod format;
pub mod layer;
pub mod name;
mod ours;
pub mod reading;
pub mod tree;
pub mod units;
mod worth;

pub use document::{Document, Node, Syntax, Value};
pub use failure::{Failure, Failures};
pub use layer::{Attempts, Budget, Delay, Layer, Origin, Sourced};
pub use name::Name;
pub use reading::Reading;
pub use tree::{read_tree, read_tree_with};
pub use worth::worth;
