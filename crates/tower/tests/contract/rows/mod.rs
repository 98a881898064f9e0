//! The rows.

pub(crate) mod door;
pub(crate) mod gates;
pub(crate) mod hedge;
pub(crate) mod lever;
pub(crate) mod propagate;
pub(crate) mod respond;
pub(crate) mod retry;
