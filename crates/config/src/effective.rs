//! What several files say together: who calls whom, which layers retry those calls, and where each
//! of their values comes from.
//!
//! Layers in different seats multiply. In one seat the most specific one applies; what the software
//! does where nobody says anything comes last, and is made here, because only all files together
//! say that nobody said anything.

mod hops;
mod implicit;
mod join;
mod select;

use serde::Serialize;

use crate::layer::Layer;
use crate::name::Name;
use crate::reading::{Fact, Reading};

/// Versions that decide about defaults; what is not said is taken for the newest.
#[derive(Clone, Copy, Debug, Default)]
pub struct Versions {
    /// Istio's; before 1.24 it retried 503, whatever the method.
    pub istio: Option<(u32, u32)>,
}

/// What applies.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Effective {
    /// Every caller with every callee that is known, in order.
    pub hops: Vec<Hop>,
}

/// A caller and a callee.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Hop {
    /// Who calls.
    pub caller: Caller,
    /// Who is called.
    pub callee: Name,
    /// Over what, where a call says so.
    pub protocol: Option<&'static str>,
    /// The layers that apply, the outermost first. Several in one seat and of one format hold for
    /// different routes, unless a note says that they multiply.
    pub layers: Vec<Applied>,
    /// What limits the calls or the callee.
    pub facts: Vec<Bearing>,
}

/// Who calls.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Caller {
    /// Somebody outside, through an entry point.
    Outside,
    /// Anybody: no file says who.
    Anyone,
    /// A service.
    Service(Name),
}

/// A layer that applies.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Applied {
    /// The file that says so; `None`: nobody does.
    pub path: Option<String>,
    /// The layer, with what other files add to it.
    pub layer: Layer,
}

/// A fact that bears on a hop.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bearing {
    /// The file that says so.
    pub path: String,
    /// The fact.
    pub fact: Fact,
}

/// What applies to every call that the readings know of. Paths are those of the files.
#[must_use]
pub fn effective(readings: &[(String, Reading)], versions: Versions) -> Effective {
    let world = select::World::of(readings, versions);
    let hops = hops::all(readings).into_iter().map(|found| world.hop(found)).collect();
    Effective { hops }
}

/// The software of a format: its own layers and facts go together. A format that is not listed is
/// its own.
fn family(format: &'static str) -> &'static str {
    const FAMILIES: &[(&str, &str)] = &[
        ("istio", "istio"),
        ("envoy-gateway", "gateway-api"),
        ("gateway-api", "gateway-api"),
        ("envoy", "envoy"),
        ("linkerd", "linkerd"),
        ("contour", "contour"),
        ("cilium", "cilium"),
        ("consul", "consul"),
        ("kuma", "kuma"),
        ("emissary", "emissary"),
        ("app-mesh", "app-mesh"),
        ("open-service-mesh", "open-service-mesh"),
        ("dapr", "dapr"),
    ];
    let known = FAMILIES.iter().find(|(prefix, _)| format.starts_with(prefix));
    known.map_or(format, |(_, family)| family)
}

/// Whether what a file of some formats says can concern a layer of a format.
fn concerns(formats: &[&'static str], layer: &'static str) -> bool {
    let layer = family(layer);
    formats.iter().any(|format| {
        let format = family(format);
        // Istio reads the Gateway API, too.
        format == layer || format == "gateway-api" && layer == "istio"
    })
}

#[cfg(test)]
mod tests;
