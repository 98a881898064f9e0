//! The system file from the outside.
#![allow(missing_docs)]

mod examples;
