//! What a scan has found, as layers on the calls of a graph.

use damper_config::format::grpc;
use damper_config::layer::{Layer, Reach, Seat};
use damper_config::{Failures, Name};
use damper_graph::{Factor, Graph, Place, Waits};

use crate::clients::{Homes, bare};
use crate::policy::{Attempts, By, Confidence, Jitter, Kind, Policy, Scope, Setting};
use crate::scan::Scan;

/// The layers that a scan has found in these scopes. Of code it is often not known whose it is or
/// whom it calls: its place in the folders and the host in the call tell it. A layer of which
/// neither is known stands on no call; one of which only the caller is known may stand on any of
/// its calls, which is possible and not provable.
#[must_use]
pub fn factors(scan: &Scan, graph: &Graph, scopes: &[Scope]) -> Vec<Factor> {
    let places = Places { graph, homes: &scan.homes };
    let layers = damper_graph::found::factors(&scan.applies(scopes)).into_iter();
    let code = scan.files.iter().flat_map(|file| {
        let counts = |policy: &&Policy| {
            scopes.contains(&policy.scope)
                && matches!(policy.kind, Kind::Retry | Kind::Hedge)
                && policy.confidence > Confidence::Low
        };
        file.policies.iter().filter(counts).map(|policy| of_policy(policy, &file.path, &places))
    });
    let named = scan.settings.iter().filter(|file| scopes.contains(&file.scope));
    let named = named.flat_map(|file| {
        let layers = file.reading.layers.iter().filter(|layer| layer.retries());
        layers.filter_map(|layer| by_its_name(layer, &file.path, &places))
    });
    layers.chain(named).chain(code.flatten()).collect()
}

/// A layer of a framework has a name of its own, which is often that of the service that it calls:
/// possible, and not provable.
fn by_its_name(layer: &Layer, path: &str, places: &Places<'_>) -> Option<Factor> {
    let graph = places.graph;
    if layer.callee.is_some() || layer.seat != Seat::Client {
        return None;
    }
    if layer.format == grpc::FORMAT.id {
        return of_channel(layer, path, places);
    }
    // `instance orders`, as the format words it.
    let name = Name::new(layer.route.as_deref()?.split_whitespace().last()?, None);
    let callee = graph.nodes.get(graph.find(&name)?)?.name.clone();
    let mut factor = Factor::of_layer(layer, path);
    factor.caller = places.owner(path);
    factor.callee = Some(callee);
    (factor.own, factor.below) = (Failures::NONE, Failures::NONE);
    Some(factor)
}

/// A service config of gRPC is that of whose code or file it is, for the services that it names; one
/// that names none is for a channel, and it is not known whereto.
fn of_channel(layer: &Layer, path: &str, places: &Places<'_>) -> Option<Factor> {
    let graph = places.graph;
    let mut factor = Factor::of_layer(layer, path);
    factor.caller = places.owner(path);
    // `package.Service/Method, …`
    let named = layer.route.as_deref().and_then(|route| {
        let service = route.split([',', '/']).next()?.rsplit('.').next()?;
        graph.nodes.iter().find(|node| bare(&node.name.service) == bare(service))
    });
    factor.callee = named.map(|node| node.name.clone());
    if factor.callee.is_none() {
        factor.caller.as_ref()?;
        (factor.own, factor.below) = (Failures::NONE, Failures::NONE);
    }
    Some(factor)
}

fn of_policy(policy: &Policy, path: &str, places: &Places<'_>) -> Option<Factor> {
    let graph = places.graph;
    let caller = places.owner(path);
    let host = policy.call.as_ref().and_then(|call| call.host.as_deref());
    let named = host.and_then(|host| Name::of_host(host, None));
    let callee = named.filter(|name| graph.find(name).is_some());
    if caller.is_none() && callee.is_none() {
        return None;
    }
    let (low, high) = match &policy.attempts_total.value {
        Attempts::Count(count) => (*count, Some(*count)),
        Attempts::Infinite => (u32::MAX, None),
        Attempts::Dynamic { low, high, .. } => (low.unwrap_or(1), *high),
    };
    let who = match &policy.by {
        By::Library { package, .. } => package.clone(),
        By::HandRolled { shape } => format!("hand-rolled {shape}"),
    };
    let surely =
        if policy.catches_all && callee.is_some() { Failures::EVERY } else { Failures::NONE };
    let ms = |setting: &Option<Setting<f64>>| setting.as_ref().map(|setting| setting.value);
    // A loop's number follows from code that somebody wrote.
    let written = policy.attempts_total.from != crate::policy::From::Default;
    Some(Factor {
        who,
        place: Some(Place { path: path.to_owned(), line: policy.line }),
        written,
        caller,
        inside: false,
        callee,
        seat: Seat::Client,
        reach: Reach::Service,
        low,
        high,
        own: surely,
        own_maybe: Failures::EVERY,
        below: surely,
        below_maybe: Failures::EVERY,
        budget: None,
        attempt_timeout_ms: ms(&policy.attempt_timeout_ms),
        timeout_ms: ms(&policy.deadline_ms),
        waits: Waits {
            base_ms: policy.delay.base_ms.as_ref().map_or(0.0, |base| base.value),
            factor: policy.delay.factor.as_ref().map_or(1.0, |factor| factor.value),
            cap_ms: ms(&policy.delay.cap_ms),
            jitter: policy.delay.jitter.value != Jitter::None,
        },
        stops: None,
        notes: policy.notes.clone(),
    })
}

/// What tells whose code a file is.
struct Places<'p> {
    graph: &'p Graph,
    homes: &'p Homes,
}

impl Places<'_> {
    /// Builds say it first, then the names of folders.
    fn owner(&self, path: &str) -> Option<Name> {
        let built = self.homes.owner(path).filter(|name| self.graph.find(name).is_some());
        built.cloned().or_else(|| owner(path, self.graph))
    }
}

/// Whose code a file is: the deepest folder on its path that has the name of a service, with or
/// without `service` at its end.
fn owner(path: &str, graph: &Graph) -> Option<Name> {
    let folders: Vec<_> = path.split('/').map(bare).collect();
    let depth = |name: &Name| folders.iter().rposition(|folder| *folder == bare(&name.service));
    let names = graph.nodes.iter().map(|node| &node.name);
    names
        .filter_map(|name| Some((depth(name)?, name)))
        .max_by_key(|(depth, _)| *depth)
        .map(|(_, name)| name.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_tells_whose_code_it_is() {
        let mut graph = Graph::default();
        graph.node(&Name::new("checkout", None));
        graph.node(&Name::new("productcatalogservice", None));
        let of = |path: &str| owner(path, &graph).map(|name| name.service);
        assert_eq!(of("src/checkoutservice/main.go").as_deref(), Some("checkout"));
        assert_eq!(of("src/product-catalog/a.py").as_deref(), Some("productcatalogservice"));
        assert_eq!(of("src/product/retry.py"), None);
        assert_eq!(of("src/product-catalogservice/a.py").as_deref(), Some("productcatalogservice"));
    }
}
