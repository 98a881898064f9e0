//! Route tables of Envoy. A policy of a route replaces that of its virtual host, whole.

use std::collections::BTreeSet;

use super::cluster::{Clusters, named};
use super::{FORMAT, WHO, policy};
use crate::document::{Entry, Node};
use crate::format::parts::{
    drop_useless_attempt_timeout, exact_headers, fact, header_route, inert, ms_at, span,
};
use crate::layer::{Layer, Reach, Seat, Sourced};
use crate::name::Name;
use crate::reading::{Call, Reading, What};

/// Where a route table stands.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// The seat of the proxy.
    pub(crate) seat: Seat,
    /// Whose proxy it is, where that is known.
    pub(crate) caller: Option<Name>,
    /// The format whose layers these are.
    pub(crate) format: &'static str,
    /// The timeout of a route that says none; `None`: none.
    pub(crate) timeout: Option<(f64, &'static str)>,
}

impl Default for Place {
    fn default() -> Self {
        Self {
            seat: Seat::Sidecar,
            caller: None,
            format: FORMAT.id,
            timeout: Some((15_000.0, WHO)),
        }
    }
}

/// Reads a virtual host.
pub(crate) fn host(host: &Node, place: &Place, clusters: &Clusters, reading: &mut Reading) {
    let shared = host.loose_entry("retry_policy");
    let hedge = host.loose("hedge_policy");
    let mut said = BTreeSet::new();
    let routes = host.loose("routes").map_or(&[][..], Node::items);
    for route in routes {
        let Some(action) = route.loose("route") else { continue };
        let action = Action { route, node: action };
        let own = action.node.loose_entry("retry_policy");
        let own_hedge = action.node.loose("hedge_policy").or(hedge);
        let headers = exact_headers(route.below("match.headers"));
        for target in action.targets(place, clusters, reading) {
            let seat = match target.cluster {
                Some(name) if name.starts_with("inbound|") => Seat::Inbound,
                _ => place.seat,
            };
            let between = [place.caller.as_ref(), target.callee.as_ref()];
            header_route(reading, seat, between, None, &headers);
            let lookup = target.cluster.and_then(|name| clusters.get(name));
            let budget = lookup.and_then(|known| known.budget.clone());
            let Some(entry) = own.or(shared) else {
                action.bare_timeout(target.callee, reading);
                continue;
            };
            let timeout = action.timeout(place);
            let of_route = own.is_some();
            let key = (target.callee.clone(), timeout.as_ref().map(|ms| ms.value.to_bits()));
            if !of_route && !said.insert(key) {
                continue;
            }
            let mut layer = Layer::at(place.format, seat, span(entry));
            layer.caller.clone_from(&place.caller);
            layer.callee = target.callee;
            layer.reach = if of_route { Reach::Route } else { Reach::Service };
            layer.route = of_route.then(|| action.name()).flatten();
            layer.headers.clone_from(&headers);
            layer.timeout_ms = timeout;
            layer.budget = budget;
            policy::fill(&mut layer, &entry.value, own_hedge, reading);
            drop_useless_attempt_timeout(&mut layer, reading);
            reading.layers.push(layer);
        }
    }
    let all_own = || {
        !routes.is_empty()
            && routes
                .iter()
                .filter_map(|route| route.loose("route"))
                .all(|action| action.loose("retry_policy").is_some())
    };
    if let Some(entry) = shared.filter(|_| all_own()) {
        let why = "every route has a retry policy of its own, which replaces this one".to_owned();
        inert(reading, span(entry), None, why);
    }
    if let Some(entry) = shared.filter(|_| routes.is_empty()) {
        // A patch of a virtual host, or one whose routes come from elsewhere.
        let mut layer = Layer::at(place.format, place.seat, span(entry));
        layer.caller.clone_from(&place.caller);
        layer.timeout_ms = place.timeout.map(|(ms, who)| Sourced::default_of(ms, who));
        policy::fill(&mut layer, &entry.value, hedge, reading);
        drop_useless_attempt_timeout(&mut layer, reading);
        reading.layers.push(layer);
    }
}

/// Reads one route that stands alone, as a patch has it.
pub(crate) fn patch(route: &Node, place: &Place, reading: &mut Reading) {
    let Some(action) = route.loose("route") else { return };
    let Some(entry) = action.loose_entry("retry_policy") else { return };
    let of = Action { route, node: action };
    let mut layer = Layer::at(place.format, place.seat, span(entry));
    layer.caller.clone_from(&place.caller);
    layer.callee = action.text_at("cluster").and_then(named);
    layer.reach = Reach::Route;
    layer.route = of.name();
    layer.timeout_ms = of.timeout(place);
    policy::fill(&mut layer, &entry.value, action.loose("hedge_policy"), reading);
    drop_useless_attempt_timeout(&mut layer, reading);
    reading.layers.push(layer);
}

struct Action<'a> {
    route: &'a Node,
    node: &'a Node,
}

struct Target<'a> {
    cluster: Option<&'a str>,
    callee: Option<Name>,
}

impl<'a> Action<'a> {
    /// The clusters it goes to, each once, with a call to each.
    fn targets(
        &self,
        place: &Place,
        clusters: &Clusters,
        reading: &mut Reading,
    ) -> Vec<Target<'a>> {
        let mut all = Vec::new();
        let mut add = |entry: &'a Entry, share: Option<f64>, answer: bool| {
            let cluster = entry.value.text();
            let callee = cluster.and_then(|name| match clusters.get(name) {
                Some(known) => known.name.clone(),
                None => named(name),
            });
            let from_outside = place.caller.is_none() && place.seat == Seat::Gateway;
            if let Some(callee) = callee.clone().filter(|_| from_outside || place.caller.is_some())
            {
                reading.calls.push(Call {
                    caller: place.caller.clone(),
                    callee,
                    line: entry.line,
                    evidence: if answer { "route" } else { "mirror" }.to_owned(),
                    count: share,
                    protocol: Some("http"),
                });
            }
            if answer && !all.iter().any(|one: &Target<'_>| one.callee == callee) {
                all.push(Target { cluster, callee });
            }
        };
        if let Some(entry) = self.node.loose_entry("cluster") {
            add(entry, None, true);
        }
        let weighted = self.node.below("weighted_clusters.clusters").map_or(&[][..], Node::items);
        let weight = |one: &Node| one.loose("weight").and_then(Node::number).unwrap_or(0.0);
        let sum: f64 = weighted.iter().map(weight).sum();
        for one in weighted {
            if let Some(entry) = one.loose_entry("name") {
                add(entry, (sum > 0.0).then(|| weight(one) / sum), true);
            }
        }
        for one in self.node.loose("request_mirror_policies").map_or(&[][..], Node::items) {
            if let Some(entry) = one.loose_entry("cluster") {
                add(entry, None, false);
            }
        }
        if all.is_empty() {
            all.push(Target { cluster: None, callee: None });
        }
        all
    }

    fn name(&self) -> Option<String> {
        let by = self.route.loose("match")?;
        let paths = ["prefix", "path", "path_separated_prefix", "safe_regex.regex"];
        let path = paths.iter().find_map(|key| by.text_at(key));
        path.or_else(|| self.route.text_at("name")).map(str::to_owned)
    }

    /// The time for all attempts.
    fn timeout(&self, place: &Place) -> Option<Sourced<f64>> {
        let written = ms_at(self.node, "timeout", 0.0);
        match written {
            Some(ms) => (ms.value > 0.0).then_some(ms),
            None => place.timeout.map(|(ms, who)| Sourced::default_of(ms, who)),
        }
    }

    fn bare_timeout(&self, callee: Option<Name>, reading: &mut Reading) {
        let Some(entry) = self.node.loose_entry("timeout") else { return };
        let Some(ms) = crate::units::duration_of(&entry.value, 0.0).filter(|ms| *ms > 0.0) else {
            return;
        };
        let what = What::Timeout { attempt_ms: None, overall_ms: Some(ms) };
        fact(reading, span(entry), callee, what);
    }
}
