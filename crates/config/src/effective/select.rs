//! Which layers apply to a hop.

use std::collections::HashMap;

use super::hops::Found;
use super::{Applied, Bearing, Caller, Hop, Versions, concerns, family, implicit};
use crate::format::linkerd::service_profile::PROFILE;
use crate::format::{dapr, envoy_gateway, istio, kuma};
use crate::layer::{Layer, Reach, Seat};
use crate::name::Name;
use crate::reading::{Reading, What};

/// Seats, the outermost first.
const SEATS: [Seat; 5] =
    [Seat::Workflow, Seat::Client, Seat::Sidecar, Seat::Gateway, Seat::Inbound];

/// A layer with its file.
#[derive(Clone, Copy)]
pub(super) struct Said<'a> {
    pub(super) path: &'a str,
    pub(super) layer: &'a Layer,
}

/// A fact with its file and the formats of that.
#[derive(Clone, Copy)]
pub(super) struct Fact<'a> {
    pub(super) path: &'a str,
    pub(super) formats: &'a [&'static str],
    pub(super) fact: &'a crate::reading::Fact,
}

/// All that was said, to be looked up by callee.
pub(super) struct World<'a> {
    layers: HashMap<&'a str, Vec<Said<'a>>>,
    everywhere: Vec<Said<'a>>,
    facts: HashMap<&'a str, Vec<Fact<'a>>>,
    general: Vec<Fact<'a>>,
    meshes: Vec<&'static str>,
    /// Who is in Istio's ambient mesh, and who is behind a waypoint.
    ambient: Vec<(&'static str, &'a Name)>,
    envoy_gateway: bool,
    /// Services with a profile of Linkerd.
    profiled: Vec<&'a Name>,
    /// Applications of Dapr.
    apps: Vec<&'a str>,
    pub(super) versions: Versions,
}

impl<'a> World<'a> {
    pub(super) fn of(readings: &'a [(String, Reading)], versions: Versions) -> Self {
        let mut world = Self {
            layers: HashMap::new(),
            everywhere: Vec::new(),
            facts: HashMap::new(),
            general: Vec::new(),
            meshes: Vec::new(),
            ambient: Vec::new(),
            envoy_gateway: false,
            profiled: Vec::new(),
            apps: Vec::new(),
            versions,
        };
        for (path, reading) in readings {
            for layer in &reading.layers {
                let said = Said { path, layer };
                match &layer.callee {
                    Some(callee) => world.layers.entry(&callee.service).or_default().push(said),
                    None => world.everywhere.push(said),
                }
            }
            for fact in &reading.facts {
                let found = Fact { path, formats: &reading.formats, fact };
                match (&fact.what, &fact.about) {
                    (What::Mesh { format: format @ (istio::AMBIENT | istio::WAYPOINT) }, about) => {
                        world.ambient.extend(about.as_ref().map(|about| (*format, about)));
                    }
                    (What::Mesh { format }, _) => world.meshes.push(format),
                    (What::Inert { .. }, _) => {}
                    (_, Some(name)) => world.facts.entry(&name.service).or_default().push(found),
                    (_, None) => world.general.push(found),
                }
            }
            world.envoy_gateway |= reading.formats.contains(&envoy_gateway::FORMAT.id);
            let with_dapr = reading.formats.contains(&dapr::FORMAT.id);
            for service in &reading.services {
                if service.labels.iter().any(|(key, _)| key == PROFILE) {
                    world.profiled.push(&service.name);
                }
                if with_dapr && service.labels.is_empty() {
                    world.apps.push(&service.name.service);
                }
            }
        }
        world
    }

    /// What applies to a hop.
    pub(super) fn hop(&self, found: Found) -> Hop {
        let mut layers = Vec::new();
        // A proxy retries requests, not what it passes through as bytes.
        let requests = !matches!(found.protocol, Some("sql" | "cache" | "queue"));
        for seat in SEATS {
            let applied = self.seat(seat, &found);
            let proxied = matches!(seat, Seat::Sidecar | Seat::Gateway | Seat::Inbound);
            layers.extend(applied.into_iter().filter(|_| requests || !proxied));
        }
        if found.caller == Caller::Anyone && found.entered {
            inside(&mut layers);
        }
        for applied in &mut layers {
            super::join::join(applied, &found.callee, self);
        }
        let facts = self.about(&found.callee).filter(|found| bears(&found.fact.what));
        let facts = facts
            .map(|one| Bearing { path: one.path.to_owned(), fact: one.fact.clone() })
            .collect();
        Hop { caller: found.caller, callee: found.callee, protocol: found.protocol, layers, facts }
    }

    /// Facts about a callee.
    pub(super) fn about<'b>(&'b self, callee: &'b Name) -> impl Iterator<Item = &'b Fact<'a>> + 'b {
        let about = self.facts.get(callee.service.as_str()).map_or(&[][..], Vec::as_slice).iter();
        about.filter(move |one| one.fact.about.as_ref().is_none_or(|name| name.matches(callee)))
    }

    /// Facts about everybody.
    pub(super) fn general(&self) -> &[Fact<'a>] {
        &self.general
    }

    /// Layers that name nobody.
    pub(super) fn everywhere(&self) -> &[Said<'a>] {
        &self.everywhere
    }

    pub(super) fn has_envoy_gateway(&self) -> bool {
        self.envoy_gateway
    }

    pub(super) fn has_mesh(&self, format: &str) -> bool {
        self.meshes.contains(&format)
    }

    /// The layers of a seat: the most specific of each software, or what it does by itself.
    fn seat(&self, seat: Seat, hop: &Found) -> Vec<Applied> {
        let mut all: Vec<Said<'a>> = self
            .layers
            .get(hop.callee.service.as_str())
            .map_or(&[][..], Vec::as_slice)
            .iter()
            .chain(&self.everywhere)
            .filter(|said| said.layer.seat == seat && self.applies(said.layer, hop))
            .copied()
            .collect();
        self.linkerd(&mut all, &hop.callee);
        if matches!(seat, Seat::Sidecar | Seat::Inbound) && self.passes_no_proxy(hop) {
            all.retain(|said| !matches!(family(said.layer.format), "istio" | "gateway-api"));
        }
        // A patch changes what was made of everything else.
        let patch = |said: &Said<'_>| said.layer.format == istio::envoy_filter::FORMAT.id;
        if all.iter().any(patch) {
            all.retain(|said| patch(said) || family(said.layer.format) != "istio");
        }
        let mut families: Vec<&'static str> =
            all.iter().map(|said| family(said.layer.format)).collect();
        families.sort_unstable();
        families.dedup();
        let mut applied = Vec::new();
        for one in families {
            let of = || all.iter().filter(|said| family(said.layer.format) == one);
            let most = of().map(|said| said.layer.reach).max();
            // A reader of one file has settled precedence within it.
            let files: Vec<_> =
                of().filter(|said| Some(said.layer.reach) == most).map(|said| said.path).collect();
            applied.extend(
                of().filter(|said| {
                    Some(said.layer.reach) == most || one == "envoy" && files.contains(&said.path)
                })
                .map(|said| Applied {
                    path: Some(said.path.to_owned()),
                    layer: said.layer.clone(),
                }),
            );
        }
        self.implicit(seat, hop, &mut applied);
        applied
    }

    fn applies(&self, layer: &Layer, hop: &Found) -> bool {
        let callee = match &layer.callee {
            Some(callee) => callee.matches(&hop.callee),
            None => self.reaches(layer, hop),
        };
        let caller = match (&layer.caller, &hop.caller) {
            (None, _) => true,
            (Some(said), Caller::Service(name)) => said.matches(name),
            (Some(_), _) => false,
        };
        // What comes in from outside passes a gateway, not a caller's sidecar.
        let way = match layer.seat {
            Seat::Sidecar => hop.caller != Caller::Outside,
            _ => true,
        };
        let gateway = layer.seat != Seat::Gateway
            || !matches!(hop.caller, Caller::Service(_))
            || layer.caller.is_some();
        callee && caller && way && gateway
    }

    /// Whether a layer that names nobody is for a hop.
    fn reaches(&self, layer: &Layer, hop: &Found) -> bool {
        if let Some(route) =
            layer.route.as_deref().filter(|_| family(layer.format) == "gateway-api")
        {
            // A policy names routes, or a gateway with all of its routes.
            return match route.split_once(' ') {
                Some(("Gateway" | "ListenerSet", _)) => {
                    hop.evidence.iter().any(|evidence| evidence.contains("Route "))
                }
                _ => hop.evidence.iter().any(|evidence| evidence == route),
            };
        }
        match layer.seat {
            Seat::Gateway => concerns(&hop.formats, layer.format),
            Seat::Sidecar | Seat::Inbound => match family(layer.format) {
                "istio" => layer.reach == Reach::Everything,
                "kuma" => layer.reach != Reach::Route,
                "dapr" => {
                    let mine =
                        |name: &str| matches!(name, "DefaultAppRetryPolicy" | dapr::BUILT_IN);
                    layer.route.as_deref().is_none_or(mine)
                        && layer.seat == Seat::Sidecar
                        && self.is_app(&hop.callee)
                }
                _ => false,
            },
            _ => false,
        }
    }

    fn is_app(&self, callee: &Name) -> bool {
        let target = |said: &&Said<'_>| said.layer.format == dapr::FORMAT.id;
        let layers = self.layers.get(callee.service.as_str());
        self.apps.contains(&callee.service.as_str())
            || layers.is_some_and(|all| all.iter().any(|said| target(&said)))
    }

    /// Whether a service, or its whole namespace, is said to be so.
    fn is(&self, what: &str, name: &Name) -> bool {
        self.ambient.iter().any(|(format, about)| {
            let whole = about.service == istio::ALL && about.namespace == name.namespace;
            *format == what && (whole || about.matches(name))
        })
    }

    /// Whether the one who calls has no proxy of Istio's beside it: an unknown caller is taken for a
    /// neighbour of the callee.
    fn is_ambient(&self, hop: &Found) -> bool {
        let caller = match &hop.caller {
            Caller::Service(name) => name,
            Caller::Anyone => &hop.callee,
            Caller::Outside => return false,
        };
        self.is(istio::AMBIENT, caller)
    }

    /// Whether a call in the ambient mesh goes through no waypoint: then nobody looks at requests.
    fn passes_no_proxy(&self, hop: &Found) -> bool {
        self.is_ambient(hop) && !self.is(istio::WAYPOINT, &hop.callee)
    }

    /// A profile switches the annotations off, whatever it says itself.
    fn linkerd(&self, all: &mut Vec<Said<'a>>, callee: &Name) {
        if self.profiled.iter().any(|name| name.matches(callee)) {
            all.retain(|said| said.layer.format != "linkerd-annotations");
        }
    }

    fn implicit(&self, seat: Seat, hop: &Found, applied: &mut Vec<Applied>) {
        let families: Vec<_> = applied.iter().map(|known| family(known.layer.format)).collect();
        let said = |one: &str| families.contains(&one);
        let mut more = Vec::new();
        let outside = hop.caller == Caller::Outside;
        if self.has_mesh(istio::MESH) && !said("istio") {
            match seat {
                // A waypoint retries what routes say; without one it does as a proxy beside the
                // callee.
                Seat::Sidecar if !outside && !self.is_ambient(hop) => {
                    more.push(implicit::istio(seat));
                }
                Seat::Gateway if outside && !said("gateway-api") && self.at_istios_gateway(hop) => {
                    // The default of the mesh is also that of its gateways.
                    match self.everywhere.iter().find(|said| is_mesh_default(said.layer)) {
                        Some(mesh) => {
                            let layer = Layer { seat, ..mesh.layer.clone() };
                            applied.push(Applied { path: Some(mesh.path.to_owned()), layer });
                        }
                        None => more.push(implicit::istio(seat)),
                    }
                }
                // A host of the world has no proxy beside it.
                Seat::Inbound
                    if !implicit::retries_503(self.versions)
                        && hop.protocol != Some("grpc")
                        && !hop.callee.service.contains('.')
                        && !self.passes_no_proxy(hop) =>
                {
                    more.push(implicit::istio_inbound());
                }
                _ => {}
            }
        }
        if seat == Seat::Sidecar && !outside {
            if self.has_mesh(kuma::FORMAT.id) && !said("kuma") {
                more.push(implicit::kuma());
            }
            let mine = |known: &Applied| family(known.layer.format) == "dapr";
            let named = applied.iter().any(|known| {
                let instead = known.layer.route.as_deref() == Some(dapr::BUILT_IN);
                mine(known) && (known.layer.callee.is_some() || instead)
            });
            if self.has_mesh(dapr::FORMAT.id) && self.is_app(&hop.callee) && !named {
                let mut layer = implicit::dapr();
                if said("dapr") {
                    layer.notes.push("multiplies with the default policy".to_owned());
                }
                more.push(layer);
            }
        }
        applied.extend(more.into_iter().map(|layer| Applied { path: None, layer }));
    }

    /// Whether a call comes in by a gateway of Istio's.
    fn at_istios_gateway(&self, hop: &Found) -> bool {
        hop.formats.iter().any(|format| family(format) == "istio")
    }
}

/// Leaves out what is for calls from outside: the gateway of a mesh stands beside the proxies of its
/// callers, not before them, and who comes through it is a hop of its own.
fn inside(layers: &mut Vec<Applied>) {
    let beside = |one: &&Applied| one.layer.seat == Seat::Sidecar;
    let families: Vec<_> =
        layers.iter().filter(beside).map(|one| family(one.layer.format)).collect();
    layers.retain(|one| {
        one.layer.seat != Seat::Gateway || !families.contains(&family(one.layer.format))
    });
}

/// Whether a layer is what a mesh of Istio's does by default.
pub(super) fn is_mesh_default(layer: &Layer) -> bool {
    layer.format == istio::MESH && layer.seat == Seat::Sidecar
}

/// Facts that are told beside a hop; budgets and timeouts are joined into its layers.
fn bears(what: &What) -> bool {
    match what {
        What::Part { what, .. } => bears(what),
        What::Requests { .. }
        | What::Queue { .. }
        | What::Ejection { .. }
        | What::HealthCheck { .. }
        | What::Autoscaling { .. }
        | What::RateLimit { .. } => true,
        What::Retries(_) | What::Timeout { .. } | What::Inert { .. } | What::Mesh { .. } => false,
    }
}
