//! Finds the retry policies of source code: of libraries by their catalogue, of hand-rolled loops
//! by their shape. Every language is lowered to one [`tree`]; what follows is written once.

pub mod language;
pub mod loops;
pub mod lower;
pub mod policy;
pub mod tree;
