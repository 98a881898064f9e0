//! The side of the proxy that callers see.

pub(crate) mod connection;
mod form;
pub(crate) mod hygiene;
pub(crate) mod listener;
pub(crate) mod serve;
mod served;
pub(crate) mod tunnel;
