//! Damper beside other tools: the same work, on the same machine, in one run.

pub(crate) mod control;
pub(crate) mod sim;
