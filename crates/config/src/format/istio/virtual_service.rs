//! VirtualService: the retries and the timeout of a route.

use super::{DEFAULT_WORDS, WHO, default_budget, default_on, is_kind, mesh_seen};
use crate::document::{Document, Entry, Node, Syntax};
use crate::failure::Failure;
use crate::format::Format;
use crate::format::envoy::vocabulary::conditions;
use crate::format::parts::{
    Object, drop_useless_attempt_timeout, envoy_delay, fact, from_retries, header_route, inert,
    ms_at, positive, span,
};
use crate::layer::{Attempts, Layer, Reach, Seat, Sourced};
use crate::name::Name;
use crate::reading::{Call, Reading, What};
use crate::units::words;

/// VirtualService.
pub const FORMAT: Format = Format {
    id: "istio-virtualservice",
    title: "Istio VirtualService",
    syntaxes: &[Syntax::Yaml, Syntax::Json],
    is: |_, document| is_kind(document, "networking.istio.io", "VirtualService"),
    read,
};

/// A destination of a route.
struct Target {
    name: Name,
    part: Option<String>,
    line: u32,
    share: Option<f64>,
}

fn read(_: &str, document: &Document, reading: &mut Reading) {
    let object = Object::of(document);
    let Some(spec) = object.root.get("spec") else { return };
    mesh_seen(spec.lines[0], reading);
    let gateways: Vec<_> = spec
        .get("gateways")
        .map_or(&[][..], Node::one_or_more)
        .iter()
        .filter_map(Node::text)
        .collect();
    let mut seats = Vec::new();
    if gateways.is_empty() || gateways.contains(&"mesh") {
        seats.push(Seat::Sidecar);
    }
    if gateways.iter().any(|gateway| *gateway != "mesh") {
        seats.push(Seat::Gateway);
    }
    for route in spec.get("http").map_or(&[][..], Node::items) {
        let targets = targets(route, &object);
        for seat in &seats {
            of_route(route, *seat, &targets, spec, &object, reading);
        }
        if seats.contains(&Seat::Gateway) {
            entry_calls(route, &targets, &object, reading);
        }
    }
}

fn of_route(
    route: &Node,
    seat: Seat,
    targets: &[Target],
    spec: &Node,
    object: &Object<'_>,
    reading: &mut Reading,
) {
    let timeout = positive(ms_at(route, "timeout", 0.0));
    // A route that only redirects, or whose destination is a delegate's.
    let hosts = spec.get("hosts").map_or(&[][..], Node::one_or_more).iter().filter_map(Node::text);
    let by_host: Vec<_> =
        hosts.filter_map(|host| object.host(host)).map(|name| (name, None)).collect();
    let whom: Vec<(Name, Option<String>)> = match targets {
        [] => by_host,
        _ => targets.iter().map(|one| (one.name.clone(), one.part.clone())).collect(),
    };
    let (caller, headers) = only_for(route, object);
    for (name, _) in &whom {
        header_route(reading, seat, [caller.as_ref(), Some(name)], None, &headers);
    }
    let Some(entry) = route.entry("retries") else {
        if let (Some(timeout), Some(written)) = (timeout, route.entry("timeout")) {
            for (name, _) in whom {
                let what = What::Timeout { attempt_ms: None, overall_ms: Some(timeout.value) };
                fact(reading, span(written), Some(name), what);
            }
        }
        return;
    };
    let whom = if whom.is_empty() {
        vec![(None, None)]
    } else {
        whom.into_iter().map(|(name, part)| (Some(name), part)).collect()
    };
    for (at, (callee, part)) in whom.into_iter().enumerate() {
        let mut layer = Layer::at(FORMAT.id, seat, span(entry));
        layer.callee = callee;
        layer.part = part;
        layer.reach = Reach::Route;
        layer.route = name_of(route);
        layer.caller.clone_from(&caller);
        layer.headers.clone_from(&headers);
        layer.timeout_ms.clone_from(&timeout);
        let mut said = Reading::default();
        fill(&mut layer, entry, &mut said);
        // Each mistake is told once, however many destinations and seats there are.
        if at == 0 && !reading.layers.iter().any(|one| one.lines == layer.lines) {
            reading.facts.append(&mut said.facts);
        }
        reading.layers.push(layer);
    }
}

/// Fills in what a `retries` block says.
pub(crate) fn fill(layer: &mut Layer, entry: &Entry, reading: &mut Reading) {
    let block = &entry.value;
    let attempts = block.loose_entry("attempts");
    layer.budget = Some(default_budget());
    layer.attempts = match attempts {
        Some(attempts) => from_retries(attempts),
        // A block without a number switches retries off.
        None => Sourced::written(Attempts::Count(1), entry.line),
    };
    let off = layer.attempts.value == Attempts::Count(1);
    let others = ["perTryTimeout", "retryOn", "retryRemoteLocalities"];
    if let Some(useless) = others.iter().find_map(|key| block.loose_entry(key)).filter(|_| off) {
        let why = format!("`{}` beside no attempts: Istio rejects this resource", useless.key);
        inert(reading, span(useless), layer.callee.clone(), why);
    }
    let listed = block.loose_entry("retryOn");
    layer.words = listed.map(|entry| words(&entry.value)).unwrap_or_default();
    let found = conditions(&layer.words, &[], true);
    let unknown =
        listed.into_iter().flat_map(|entry| found.unknown.iter().map(move |one| (one, entry)));
    for (word, entry) in unknown {
        let why = format!("`{word}` in retryOn: Envoy knows no such word");
        inert(reading, span(entry), layer.callee.clone(), why);
    }
    layer.on = match listed {
        Some(entry) if !layer.words.is_empty() => Sourced::written(found.on, entry.line),
        _ => {
            layer.words = DEFAULT_WORDS.map(str::to_owned).to_vec();
            default_on()
        }
    };
    layer.attempt_timeout_ms = positive(ms_at(block, "perTryTimeout", 0.0));
    if layer.attempt_timeout_ms.is_some() && !layer.on.value.contains(Failure::AttemptTimeout) {
        let why = "perTryTimeout ends an attempt, but no word of retryOn retries that".to_owned();
        let lines = block.loose_entry("perTryTimeout").map_or(layer.lines, span);
        inert(reading, lines, layer.callee.clone(), why.clone());
        layer.notes.push(why);
    }
    layer.delay = envoy_delay(ms_at(block, "backoff", 0.0), None, WHO);
    drop_useless_attempt_timeout(layer, reading);
}

/// The caller and the headers that a route is for, if all of its matches say the same.
fn only_for(route: &Node, object: &Object<'_>) -> (Option<Name>, Vec<(String, String)>) {
    let matches = route.get("match").map_or(&[][..], Node::items);
    let of = |one: &Node| {
        let app = one.text_at("sourceLabels.app").map(|app| Name::new(app, object.namespace));
        let headers = one.get("headers").map_or(&[][..], Node::entries).iter();
        let exact = headers.filter_map(|entry| {
            Some((entry.key.to_ascii_lowercase(), entry.value.text_at("exact")?.to_owned()))
        });
        (app, exact.collect::<Vec<_>>())
    };
    let mut all = matches.iter().map(of);
    let Some(first) = all.next() else { return (None, Vec::new()) };
    if all.all(|one| one == first) { first } else { (None, Vec::new()) }
}

fn name_of(route: &Node) -> Option<String> {
    let uri = route.get("match")?.items().first()?.get("uri");
    let path = uri.and_then(|uri| uri.entries().first()?.value.text());
    path.or_else(|| route.get("name")?.text()).map(str::to_owned)
}

fn target(destination: &Node, share: Option<f64>, object: &Object<'_>) -> Option<Target> {
    let host = destination.entry("host")?;
    let subset = destination.text_at("subset").map(str::to_owned);
    let port = destination.text_at("port.number").map(str::to_owned);
    Some(Target {
        name: object.host(host.value.text()?)?,
        part: subset.or(port),
        line: host.line,
        share,
    })
}

fn targets(route: &Node, object: &Object<'_>) -> Vec<Target> {
    let routes = route.get("route").map_or(&[][..], Node::items);
    let weight = |one: &Node| one.get("weight").and_then(Node::number).unwrap_or(0.0);
    let sum: f64 = routes.iter().map(weight).sum();
    let share = |one: &Node| (sum > 0.0 && routes.len() > 1).then(|| weight(one) / sum);
    routes.iter().filter_map(|one| target(one.get("destination")?, share(one), object)).collect()
}

fn entry_calls(route: &Node, targets: &[Target], object: &Object<'_>, reading: &mut Reading) {
    let mut add = |target: &Target, evidence: &str| {
        reading.calls.push(Call {
            caller: None,
            callee: target.name.clone(),
            line: target.line,
            evidence: evidence.to_owned(),
            count: target.share,
            protocol: Some("http"),
        });
    };
    targets.iter().for_each(|target| add(target, "route"));
    let mirrors = route.get("mirrors").map_or(&[][..], Node::items).iter();
    let mirrors = mirrors.filter_map(|one| one.get("destination")).chain(route.get("mirror"));
    for mirror in mirrors {
        if let Some(target) = target(mirror, None, object) {
            add(&target, "mirror");
        }
    }
}
