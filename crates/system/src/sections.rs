//! One module for each section of the file: its table, and how it becomes the model.

pub(crate) mod caches;
pub(crate) mod calls;
pub(crate) mod control;
pub(crate) mod experiment;
pub(crate) mod gaps;
pub(crate) mod lever;
pub(crate) mod load;
pub(crate) mod mechanisms;
pub(crate) mod merge;
pub(crate) mod policies;
pub(crate) mod retry_parts;
pub(crate) mod root;
pub(crate) mod routes;
pub(crate) mod service_time;
pub(crate) mod services;
pub(crate) mod trace;
pub(crate) mod triggers;
pub(crate) mod users;
pub(crate) mod warnings;
