//! The Envoy beside each small server: what it is told, and where the program is.

mod bootstrap;
mod filter;
mod find;
mod policy;

use std::collections::BTreeMap;

use damper_system::System;
use damper_system::model::Caller;
use serde::Serialize;

pub(crate) use bootstrap::{Beside, bootstrap};
pub(crate) use filter::refused_by_filter;
pub use find::{NoEnvoy, find_envoy};
pub(crate) use policy::remarks;

/// An Envoy that runs beside a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Sidecar {
    /// Its service, or `client`.
    pub name: String,
    /// Its process.
    pub pid: u32,
    /// Envoy's own admin port.
    pub admin_port: u16,
    /// Where the server sends what it calls.
    pub outbound_port: u16,
    /// Where calls of the service arrive; the clients have none.
    pub inbound_port: Option<u16>,
}

/// Callees of a caller by the name under which it calls them, and the service behind each.
pub(crate) fn callees(system: &System, who: Caller) -> BTreeMap<String, String> {
    let edges = system.policies.edges.iter().filter(|edge| edge.caller == who);
    edges
        .map(|edge| {
            let service = &system.services[system.server_of(edge.target).0 as usize];
            (system.target_name(edge.target).to_owned(), service.name.clone())
        })
        .collect()
}
