//! The formats: one file here, one line in [`FORMATS`], one section of `docs/export.md`, tests
//! beside it.

mod envoy;
mod envoy_gateway;
mod filter;
mod gateway_api;
mod grpc;
mod haproxy;
pub mod implicit;
mod inbound;
mod istio;
mod linkerd;
mod merged;
mod nginx;
mod parts;
mod resilience4j;
mod route;
mod shared;

pub(crate) use filter::{serves as filter_serves, unfit, wanted as wants_filter};
pub(crate) use istio::CLIENT;
pub(crate) use merged::{OneServer, one_server};
pub(crate) use shared::{LONGEST, ms_words};

use crate::Options;
use crate::asked::Asked;
use crate::loss::Draft;

/// A format.
#[derive(Debug)]
pub struct Format {
    /// Its id, as the command line names it.
    pub id: &'static str,
    /// What people call it.
    pub title: &'static str,
    /// What is written, in one line.
    pub summary: &'static str,
    /// Whether one object is for all callers of a service: the calls of some of them cannot be
    /// written without those of the others.
    pub(crate) per_callee: bool,
    /// Whether Damper's filter is written with it.
    pub(crate) filter: bool,
    pub(crate) write: Writer,
}

/// Writes everything that is asked for.
pub(crate) type Writer = fn(&Asked<'_>, &Options) -> Draft;

/// All formats.
pub const FORMATS: &[&Format] = &[
    &envoy::FORMAT,
    &istio::FORMAT,
    &linkerd::FORMAT,
    &gateway_api::FORMAT,
    &envoy_gateway::FORMAT,
    &grpc::FORMAT,
    &nginx::FORMAT,
    &haproxy::FORMAT,
    &resilience4j::FORMAT,
];

/// A format by its id.
#[must_use]
pub fn find(id: &str) -> Option<&'static Format> {
    FORMATS.iter().copied().find(|format| format.id == id)
}
