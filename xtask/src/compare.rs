//! Damper beside other tools: the same work, on the same core, in one run.

pub(crate) mod sim;
