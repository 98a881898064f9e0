//! Who calls whom, which layers retry each call, and what they multiply to along a path.
//!
//! A graph comes from a system file ([`system`]) or from configuration ([`found`]); layers from
//! both and from code are put on its edges ([`attach`]). [`bound`] multiplies them, [`change`]
//! looks for the fewest changes that bring every path under a limit.

pub mod attach;
pub mod bound;
pub mod change;
pub mod factor;
pub mod found;
pub mod graph;
pub mod system;
pub mod waits;
pub mod way;

pub use bound::{Amplification, Interval};
pub use factor::{Factor, Place};
pub use graph::{Edge, Graph, Node};
pub use waits::Waits;
pub use way::{Way, Ways};
