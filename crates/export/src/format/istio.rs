//! Istio: a VirtualService and a DestinationRule for each service that is called, and a WasmPlugin
//! for each caller whose calls need the filter.

use damper_control::backoff::Jitter;
use damper_control::{Backoff, Nanos};

use super::parts::{
    Ejection, EnvoyBudget, Keeper, consecutive, ejects, envoy_budget, envoy_conditions, envoy_wait,
    envoys_budget,
};
use super::shared::{
    BREAKERS, Can, Conditions, DOORS, LONGEST, down_ms, no_controls, unsaid, up, up_ms, whole_ms,
};
use super::{Format, filter};
use crate::Options;
use crate::asked::{Asked, Edge, Lane};
use crate::loss::{Change, Draft, Side, instead};
use crate::tree::{Map, yaml};
use crate::wait::{self, of_ms};

/// VirtualService, DestinationRule, WasmPlugin.
pub(super) const FORMAT: Format = Format {
    id: "istio",
    title: "Istio",
    summary: "VirtualService and DestinationRule for each callee, WasmPlugin where the filter is needed",
    per_callee: true,
    filter: true,
    write,
};

/// The name of the outside in a system file; its calls come through a gateway.
pub(crate) const CLIENT: &str = "client";
/// The gateway that such calls come through.
pub(crate) const GATEWAY: &str = "damper-gateway";
/// Where the filter's module is fetched.
pub(crate) const IMAGE: &str = "oci://registry.example/damper-filter:0.1.0";

fn write(asked: &Asked<'_>, options: &Options) -> Draft {
    let mut draft = Draft::default();
    for callee in asked.callees() {
        let edges: Vec<&Edge<'_>> = asked.to(callee).collect();
        let host = format!("{callee}.{}.svc.cluster.local", options.namespace);
        let (inside, outside): (Vec<_>, Vec<_>) =
            edges.iter().copied().partition(|edge| edge.caller != CLIENT);
        let mut documents = Vec::new();
        documents.extend(virtual_service(callee, &host, &inside, options, &mut draft));
        documents.extend(virtual_service(callee, &host, &outside, options, &mut draft));
        let (budget, marks) = one_budget(&edges, options, &mut draft);
        let (share, other) =
            if budget.is_some() { (marks, Vec::new()) } else { (Vec::new(), marks) };
        if let Some(first) = documents.first_mut().filter(|_| !other.is_empty()) {
            // No rule of Envoy's stands for it.
            *first = std::mem::take(first).headed(other);
        }
        let rule = (budget, share);
        documents.extend(destination_rule(callee, &host, &edges, rule, options, &mut draft));
        draft.claim(format!("{callee}.yaml"), format!("calls to {callee}"));
        draft.file(format!("{callee}.yaml"), yaml(&documents));
    }
    for caller in asked.callers() {
        let edges: Vec<&Edge<'_>> = asked.by(caller).collect();
        if let Some(config) = filter::config(&edges, names(&edges), options) {
            draft.claim(format!("{caller}-filter.yaml"), format!("the filter of {caller}"));
            let place = place(caller, options, &mut draft);
            draft.file(format!("{caller}-filter.yaml"), yaml(&[plugin(caller, &config, &place)]));
            draft.note(&format!(
                "{caller}-filter.yaml loads Damper's filter from {IMAGE}: put your registry in its \
                 place; --plain writes it without"
            ));
        }
    }
    if asked.edges.iter().any(|edge| edge.caller == CLIENT) {
        draft.note(
            "calls of the client come through a gateway: name it in `gateways` in place of \
             `damper-gateway`",
        );
    }
    draft.note(
        "Istio retries twice wherever no file says otherwise: a call that is not in the system \
         file still makes 3 attempts, unless `meshConfig.defaultHttpRetryPolicy: {attempts: 0}`",
    );
    draft.note(
        "`retries.backoff` and `retryBudget` are newer than Istio 1.24, which drops them without a \
         word",
    );
    draft.note(
        "the proxy beside a service retries twice what it could not begin to send to it: \
         `meshConfig.defaultInboundHttpRetryPolicy: {}` switches that off",
    );
    draft
}

/// Where the filter of a caller is applied: a plugin selects pods of its own namespace alone.
fn place(caller: &str, options: &Options, draft: &mut Draft) -> Options {
    let mut place = options.clone();
    if caller == CLIENT {
        let namespace = options.gateway_namespace.as_ref().unwrap_or(&options.namespace);
        place.namespace.clone_from(namespace);
        draft.note(&format!(
            "the plugin of calls from outside is in the namespace {namespace} and selects pods \
             labelled `istio: ingressgateway` there: --gateway-namespace names another"
        ));
    }
    place
}

/// By which names the filter is asked. Who comes through a gateway may ask for a public host: a
/// single call needs no name.
fn names(edges: &[&Edge<'_>]) -> filter::Names {
    match edges {
        [edge] if edge.caller == CLIENT => filter::Names::Any,
        _ => filter::Names::Cluster,
    }
}

/// Name and namespace.
pub(crate) fn meta(name: &str, options: &Options) -> Map {
    Map::new().with("name", name).with("namespace", options.namespace.as_str())
}

/// An object.
pub(crate) fn object(version: &str, kind: &str, name: &str, options: &Options) -> Map {
    Map::new().with("apiVersion", version).with("kind", kind).with("metadata", meta(name, options))
}

/// A VirtualService for calls that pass the same kind of proxy.
fn virtual_service(
    callee: &str,
    host: &str,
    edges: &[&Edge<'_>],
    options: &Options,
    draft: &mut Draft,
) -> Option<Map> {
    let outside = edges.first()?.caller == CLIENT;
    let mut routes = Vec::new();
    for edge in edges {
        let filtered = filter::serves(edge, options);
        let conditions = envoy_conditions(edge, draft);
        let (base, wait_marks) = base(edge, draft);
        let mut marks = conditions.marks.clone();
        marks.extend(wait_marks);
        marks.extend(whole_ms(edge, conditions.most, draft));
        let can = Can { breaker: consecutive(edge).is_some(), travels: filtered, heeds: false };
        marks.extend(unsaid(edge, can, draft));
        for (at, lane) in edge.lanes().into_iter().enumerate() {
            let marks = if at == 0 { std::mem::take(&mut marks) } else { Vec::new() };
            let own = edges.len() > 1;
            routes.push(route(edge, lane, host, own, &conditions, base, marks, options));
        }
    }
    if edges.len() > 1 {
        // Without a route for all others, callers that are not in the file would find none.
        let destination = Map::new().with("destination", Map::new().with("host", host));
        routes.push(
            Map::new()
                .with("name", format!("others-{callee}"))
                .with("route", vec![destination])
                .with("retries", Map::new().with("attempts", 0_u32))
                .noted(["Callers that are not in the system file.".to_owned()]),
        );
    }
    let gateway = if outside { GATEWAY } else { "mesh" };
    let name = if outside { format!("{callee}-{CLIENT}") } else { callee.to_owned() };
    let who = if outside { " from outside" } else { "" };
    draft.claim(format!("VirtualService {name}"), format!("calls to {callee}{who}"));
    let spec =
        Map::new().with("hosts", vec![host]).with("gateways", vec![gateway]).with("http", routes);
    let object = object("networking.istio.io/v1", "VirtualService", &name, options)
        .headed([
            format!("Calls to {callee}, made by `damper export istio`."),
            format!("The class of a request is in the header {}.", options.class_header),
        ])
        .with("spec", spec);
    Some(object)
}

/// The first wait, in whole milliseconds. The longest is ten times as long, whatever was asked.
fn base(edge: &Edge<'_>, draft: &mut Draft) -> (u64, Vec<String>) {
    let backoff = &edge.policy.retry.backoff;
    let doubling = wait::doubling(backoff, edge.most());
    let base = up(doubling.base_ms);
    // Up to so many retries the bound of ten times the base is not reached.
    let same_cap = doubling.cap_ms == base as f64 * 10.0
        || edge.most() <= 1
        || (doubling.cap_ms < base as f64 * 10.0
            && doubling.cap_ms >= base as f64 * 2.0_f64.powi(edge.most().min(60) as i32 - 1));
    if doubling.differs.is_none() && same_cap && doubling.base_ms == base as f64 {
        return (base, Vec::new());
    }
    if edge.most() == 0 {
        return (base, Vec::new());
    }
    if doubling.differs.is_none() {
        let (marks_wait, marks) = envoy_cap(edge, base, draft);
        return (marks_wait, marks);
    }
    let (_, marks) = envoy_wait(edge, draft);
    (base, marks)
}

fn envoy_cap(edge: &Edge<'_>, base: u64, draft: &mut Draft) -> (u64, Vec<String>) {
    let asked = wait::words(&edge.policy.retry.backoff);
    let written = format!("from {} up to ten times that", of_ms(base as f64));
    let why = "A VirtualService says the first wait alone; the longest is ten times as long.";
    let first = Nanos::from_millis(base);
    let longest = Nanos::from_millis(base.saturating_mul(10));
    let jitter = Jitter::Full;
    let what = instead(Side::Other, asked, written, why)
        .so(edge.at, Change::Backoff(Backoff::exponential(first, 2.0, longest, jitter)));
    (base, vec![draft.lose(&edge.name(), "backoff", what)])
}

#[allow(clippy::too_many_arguments)] // what a call adds and what a lane adds
fn route(
    edge: &Edge<'_>,
    lane: Lane<'_>,
    host: &str,
    own: bool,
    conditions: &Conditions,
    base: u64,
    marks: Vec<String>,
    options: &Options,
) -> Map {
    let mut by = Map::new();
    if own {
        by.put("sourceLabels", Map::new().with("app", edge.caller));
    }
    if let Some(class) = lane.class {
        let exact = Map::new().with("exact", class);
        by.put("headers", Map::new().with(&options.class_header, exact));
    }
    let retries = lane.limit > 0 && !conditions.is_empty();
    let times = edge.times(if retries { lane.limit } else { 0 });
    let name = [Some(edge.caller), Some(edge.server.name.as_str()), lane.class];
    let name: Vec<&str> = name.into_iter().flatten().collect();
    let destination = Map::new().with("destination", Map::new().with("host", host));
    let retry = if retries {
        let mut words: Vec<String> =
            conditions.words.iter().map(|word| (*word).to_owned()).collect();
        words.extend(conditions.statuses.iter().map(ToString::to_string));
        Map::new()
            .with("attempts", lane.limit.min(i32::MAX as u32))
            .with_some(
                "perTryTimeout",
                times.attempt.map(|t| format!("{}ms", up_ms(t.min(LONGEST)))),
            )
            .with("retryOn", words.join(","))
            .with("backoff", format!("{base}ms"))
    } else {
        // Nothing beside it, or Istio rejects the resource; without it there were two retries.
        Map::new().with("attempts", 0_u32)
    };
    Map::new()
        .with("name", name.join("-"))
        .with_some("match", by.some().map(|by| vec![by]))
        .with("route", vec![destination])
        .with_some("timeout", times.overall.map(|t| format!("{}ms", down_ms(t.min(LONGEST)))))
        .with("retries", retry)
        .noted(marks)
}

/// One budget for all callers: the least of those that have one.
pub(crate) fn one_budget(
    edges: &[&Edge<'_>],
    options: &Options,
    draft: &mut Draft,
) -> (Option<(f64, u32)>, Vec<String>) {
    let mut marks = Vec::new();
    let mut found = Vec::new();
    for edge in edges.iter().filter(|edge| edge.most() > 0) {
        let (budget, mine) = envoy_budget(edge, Keeper::of(edge, true, options), draft);
        marks.extend(mine);
        let share = match budget {
            EnvoyBudget::Share { percent, least } => Some((percent, least)),
            EnvoyBudget::Unlimited => None,
        };
        found.push((edge.at, edge.name(), share));
    }
    let shares = found.iter().filter_map(|(.., share)| *share);
    let least = shares.reduce(|(p, n), (q, m)| (p.min(q), n.min(m)));
    if let Some((percent, at_least)) = least {
        for (at, name, share) in
            found.iter().filter(|(.., share)| *share != Some((percent, at_least)))
        {
            let words = |(p, n): (f64, u32)| format!("{p} % of the requests at once, at least {n}");
            let asked = share.map_or_else(|| "no budget of Envoy's".to_owned(), words);
            let why = "One rule is for all callers of a service: it has the least budget.";
            let change = envoys_budget(percent, at_least);
            let what = instead(Side::Fewer, asked, words((percent, at_least)), why);
            let what = change.into_iter().fold(what, |what, change| what.so(*at, change));
            marks.push(draft.lose(name, "budget", what));
        }
    }
    (least, marks)
}

fn destination_rule(
    callee: &str,
    host: &str,
    edges: &[&Edge<'_>],
    (least, marks): (Option<(f64, u32)>, Vec<String>),
    options: &Options,
    draft: &mut Draft,
) -> Option<Map> {
    let mut policy = Map::new();
    if let Some((percent, at_least)) = least {
        let budget = Map::new().with("percent", percent).with("minRetryConcurrency", at_least);
        policy = policy.with("retryBudget", budget).noted(marks);
    }
    let mut breakers = edges.iter().filter_map(|edge| Some((edge, consecutive(edge)?)));
    let strictest = breakers.by_ref().min_by_key(|(_, ejection)| ejection.failures);
    if let Some((of, ejection)) = strictest {
        let marks: Vec<String> =
            edges.iter().filter_map(|edge| ejected(edge, of, ejection, draft)).collect();
        let outlier = Map::new()
            .with("consecutive5xxErrors", ejection.failures)
            .with("baseEjectionTime", format!("{}ms", up(ejection.first_s * 1e3)))
            .with("maxEjectionPercent", 100_u32);
        policy = policy.with("outlierDetection", outlier).noted(marks);
    }
    let service = edges.first()?.server;
    let at_once = service
        .concurrency
        .as_ref()
        .filter(|limit| limit.kind == "fixed")
        .and_then(|limit| limit.parameters.first().copied());
    if let Some(limit) = at_once {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let limit = limit.clamp(1.0, 2_147_483_646.0) as u32;
        let why = "It is a limit of each caller's proxy, not of the service's.";
        let asked = format!("{limit} at once at each instance");
        let written = format!("{limit} at once from each caller");
        let what = instead(Side::Wider, asked, written, why).unmeasured(DOORS);
        let mark = draft.lose(callee, "concurrency", what);
        let http = Map::new().with("http2MaxRequests", limit);
        policy = policy.with("connectionPool", Map::new().with("http", http)).noted([mark]);
    }
    let why = "Istio's own resources have no such filter: `damper export envoy` writes it for the \
               proxy beside the service, and an EnvoyFilter brings it there.";
    let mut bare = service.clone();
    if at_once.is_some() {
        bare.concurrency = None;
    }
    let controls = no_controls(&bare, why, false, draft);
    if policy.is_empty() && controls.is_empty() {
        return None;
    }
    let spec =
        Map::new().with("host", host).noted(controls).with_some("trafficPolicy", policy.some());
    Some(object("networking.istio.io/v1", "DestinationRule", callee, options).with("spec", spec))
}

/// What a caller has lost by a rule that ejects hosts for all callers: `of` is the one whose breaker it
/// is. A breaker of another kind is said to be lost with its call.
fn ejected(
    edge: &Edge<'_>,
    of: &Edge<'_>,
    ejection: Ejection,
    draft: &mut Draft,
) -> Option<String> {
    let words = |one: Ejection| format!("hosts out after {} failures in a row", one.failures);
    let own = consecutive(edge);
    if own == Some(ejection) {
        return Some(ejects(edge, ejection, draft));
    }
    let other = edge.policy.breaker.as_ref().is_some_and(|one| one.kind != "no-breaker");
    if own.is_none() && other {
        return None;
    }
    let why = "One rule is for all callers of a service: it has the breaker that opens first.";
    let asked = own.map_or_else(|| "no breaker".to_owned(), words);
    let what = instead(Side::Fewer, asked, words(ejection), why)
        .so(edge.at, Change::Breaker(of.policy.breaker.clone()))
        .unmeasured(BREAKERS);
    Some(draft.lose(&edge.name(), "breaker", what))
}

/// The labels of a caller's pods; calls from outside come through Istio's own gateway.
fn labels(caller: &str) -> Map {
    if caller == CLIENT {
        Map::new().with("istio", "ingressgateway")
    } else {
        Map::new().with("app", caller)
    }
}

fn plugin(caller: &str, config: &serde_json::Value, options: &Options) -> Map {
    let spec = Map::new()
        .with("selector", Map::new().with("matchLabels", labels(caller)))
        .with("url", IMAGE)
        .with("pluginName", "damper-outbound")
        .with("failStrategy", "FAIL_OPEN")
        .with("match", vec![Map::new().with("mode", "CLIENT")])
        .with("pluginConfig", crate::tree::of_json(config));
    object("extensions.istio.io/v1alpha1", "WasmPlugin", &format!("damper-{caller}"), options)
        .with("spec", spec)
}
