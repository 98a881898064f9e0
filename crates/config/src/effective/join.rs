//! What other files add to a layer: budgets, timeouts, conditions.

use super::select::{Fact, World, is_mesh_default};
use super::{Applied, concerns, family, implicit};
use crate::failure::Failure;
use crate::format::envoy::cluster;
use crate::format::istio;
use crate::layer::{Attempts, Budget, Layer, Origin, Reach, Seat, Sourced};
use crate::name::Name;
use crate::reading::What;

/// Joins into a layer what is said elsewhere. What its own file says stays.
pub(super) fn join(applied: &mut Applied, callee: &Name, world: &World<'_>) {
    let path = applied.path.clone();
    let layer = &mut applied.layer;
    of_istio(layer, world);
    if replaceable(layer.budget.as_ref())
        && let Some((budget, from)) = budget(layer, callee, world, path.as_deref())
    {
        layer.budget = Some(Sourced { value: budget, from });
    }
    if layer.budget.is_none() && ENVOYS.contains(&family(layer.format)) && proxied(layer) {
        layer.budget = Some(cluster::budget(None));
    }
    if replaceable(layer.timeout_ms.as_ref())
        && let Some((ms, from)) = timeout(layer, callee, world, path.as_deref())
    {
        layer.timeout_ms = Some(Sourced { value: ms, from });
    }
    if let (Some(attempt), Some(overall)) = (&layer.attempt_timeout_ms, &layer.timeout_ms)
        && attempt.value >= overall.value
        && family(layer.format) != "dapr"
    {
        let note = "the timeout of one attempt is not shorter than that of all: it never acts";
        layer.notes.push(note.to_owned());
        layer.attempt_timeout_ms = None;
    }
}

/// Software that leaves Envoy's limit of three retries at once as it is.
const ENVOYS: [&str; 6] = ["envoy", "contour", "emissary", "consul", "kuma", "cilium"];

/// Software in which what names nobody is for everybody. Elsewhere it is for a target that is no
/// service, such as a route.
const GENERAL: [&str; 4] = ["istio", "kuma", "contour", "emissary"];

/// Whether a proxy retries, and not Envoy for a call of its own.
fn proxied(layer: &Layer) -> bool {
    matches!(layer.seat, Seat::Sidecar | Seat::Gateway | Seat::Inbound)
}

/// Whether nobody wrote a value, so that another file may say it.
fn replaceable<T>(value: Option<&Sourced<T>>) -> bool {
    value.is_none_or(|value| matches!(value.from, Origin::Default(_) | Origin::Derived))
}

/// Where a fact comes from, seen from a file.
fn origin(fact: &Fact<'_>, path: Option<&str>) -> Origin {
    let line = fact.fact.lines[0];
    if path == Some(fact.path) {
        Origin::Written(line)
    } else {
        Origin::Elsewhere { path: fact.path.to_owned(), line }
    }
}

/// Facts that can concern a layer: about its part of the callee, about the callee, about all.
fn in_order<'a, 'w>(
    layer: &'a Layer,
    callee: &'a Name,
    world: &'a World<'w>,
) -> impl Iterator<Item = (&'a What, &'a Fact<'w>)> + 'a {
    let mine = |fact: &&Fact<'_>| concerns(fact.formats, layer.format);
    let parts = world.about(callee).filter(mine).filter_map(|fact| match &fact.fact.what {
        What::Part { part, what } if layer.part.as_ref() == Some(part) => Some((&**what, fact)),
        _ => None,
    });
    let whole = world.about(callee).filter(mine).map(|fact| (&fact.fact.what, fact));
    let general = world.general().iter().filter(mine).map(|fact| (&fact.fact.what, fact));
    let general = general.filter(|_| GENERAL.contains(&family(layer.format)));
    parts.chain(whole).chain(general)
}

fn budget(
    layer: &Layer,
    callee: &Name,
    world: &World<'_>,
    path: Option<&str>,
) -> Option<(Budget, Origin)> {
    in_order(layer, callee, world).find_map(|(what, fact)| match what {
        What::Retries(budget) => Some((budget.clone(), origin(fact, path))),
        _ => None,
    })
}

fn timeout(
    layer: &Layer,
    callee: &Name,
    world: &World<'_>,
    path: Option<&str>,
) -> Option<(f64, Origin)> {
    // A layer of a route has said its timeout with the route, also by not saying it; what others
    // say of the callee is for their own routes.
    if layer.reach == Reach::Route && family(layer.format) != "kuma" {
        return None;
    }
    in_order(layer, callee, world).find_map(|(what, fact)| match what {
        What::Timeout { overall_ms: Some(ms), .. } => Some((*ms, origin(fact, path))),
        _ => None,
    })
}

/// What Istio puts in where a route leaves something out, by its version and by its mesh.
fn of_istio(layer: &mut Layer, world: &World<'_>) {
    // Both that read such routes here make two retries where the route says no number.
    let who = if world.has_mesh(istio::MESH) {
        Some(istio::WHO)
    } else {
        world.has_envoy_gateway().then_some("Envoy Gateway")
    };
    if let (Some(who), "gateway-api", Attempts::Open { low: 1, high: None, .. }) =
        (who, layer.format, &layer.attempts.value)
    {
        layer.attempts = Sourced::default_of(Attempts::Count(3), who);
    }
    if layer.on.from != Origin::Default(istio::WHO) || layer.seat == Seat::Inbound {
        return;
    }
    let of_mesh = world.everywhere().iter().filter(|said| is_mesh_default(said.layer));
    let written = of_mesh.filter_map(|said| match said.layer.on.from {
        Origin::Written(line) => Some((said, line)),
        _ => None,
    });
    if let Some((said, line)) = written.into_iter().next() {
        let from = Origin::Elsewhere { path: said.path.to_owned(), line };
        layer.on = Sourced { value: said.layer.on.value, from };
        layer.words.clone_from(&said.layer.words);
    } else if implicit::retries_503(world.versions) {
        layer.on.value.insert(Failure::Unavailable);
        layer.words.push("503".to_owned());
        layer.notes.push("before 1.24 Istio retries 503, whatever the method".to_owned());
    }
}
