//! Finds the retry policies of source code: of libraries by their catalogue, of hand-rolled loops
//! by their shape. Every language is lowered to one [`tree`]; what follows is written once.

pub mod clients;
pub mod config;
pub mod factors;
mod helpers;
pub mod language;
pub mod library;
pub mod loops;
pub mod lower;
pub mod policy;
pub mod prefilter;
pub mod rules;
mod said;
pub mod scan;
pub mod scope;
mod service_config;
pub mod settings;
pub mod suppress;
pub mod tree;
pub mod value;
pub mod walk;
