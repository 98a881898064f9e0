//! What many formats share: where a value stands, counts of retries, facts and calls.

use std::collections::HashSet;

pub(crate) use crate::document::yaml::shift as shift_lines;
use crate::document::{Document, Entry, Node, parse};
use crate::format::shared::{Counted, attempts, ms, shift};
use crate::layer::{Attempts, Delay, Growth, Seat, Sourced};
use crate::name::Name;
use crate::reading::{Call, Fact, HeaderRoute, Reading, What};
use crate::{Layer, Syntax};

/// First and last line of a key with its value.
pub(crate) fn span(entry: &Entry) -> [u32; 2] {
    [entry.line, entry.value.lines[1].max(entry.line)]
}

/// The entry below keys that are joined with dots.
pub(crate) fn entry_below<'a>(node: &'a Node, path: &str) -> Option<&'a Entry> {
    match path.rsplit_once('.') {
        Some((above, key)) => node.below(above)?.loose_entry(key),
        None => node.loose_entry(path),
    }
}

/// A duration below keys, with its line.
pub(crate) fn ms_at(node: &Node, path: &str, bare_ms: f64) -> Option<Sourced<f64>> {
    ms(entry_below(node, path), bare_ms)
}

/// A timeout of which zero means none.
pub(crate) fn positive(ms: Option<Sourced<f64>>) -> Option<Sourced<f64>> {
    ms.filter(|ms| ms.value > 0.0)
}

/// Attempts in total from an entry that counts retries; a template is open.
pub(crate) fn from_retries(entry: &Entry) -> Sourced<Attempts> {
    Sourced::written(attempts(&entry.value, Counted::Retries), entry.line)
}

/// Attempts in total from an entry that counts all of them.
pub(crate) fn from_attempts(entry: &Entry) -> Sourced<Attempts> {
    Sourced::written(attempts(&entry.value, Counted::Total), entry.line)
}

/// A wait that grows by two with full jitter from 25 ms to ten times its base, as Envoy does.
pub(crate) fn envoy_delay(
    base: Option<Sourced<f64>>,
    cap: Option<Sourced<f64>>,
    who: &'static str,
) -> Delay {
    let base = base.unwrap_or_else(|| Sourced::default_of(25.0, who));
    let cap = cap.unwrap_or_else(|| Sourced::default_of(base.value * 10.0, who));
    Delay {
        growth: Growth::Exponential,
        base_ms: Some(base),
        factor: Some(2.0),
        cap_ms: Some(cap),
        jitter: true,
    }
}

/// Adds a fact.
pub(crate) fn fact(reading: &mut Reading, lines: [u32; 2], about: Option<Name>, what: What) {
    reading.facts.push(Fact { lines, about, what });
}

/// Adds that something is written which never acts.
pub(crate) fn inert(reading: &mut Reading, lines: [u32; 2], about: Option<Name>, why: String) {
    fact(reading, lines, about, What::Inert { why });
}

/// Adds a call over HTTP.
pub(crate) fn call(
    reading: &mut Reading,
    caller: Option<Name>,
    callee: Name,
    line: u32,
    evidence: &str,
) {
    reading.calls.push(Call {
        caller,
        callee,
        line,
        evidence: evidence.to_owned(),
        count: None,
        protocol: Some("http"),
    });
}

/// Headers of a list that have to have a value: `name` with `value`, or with `string_match.exact`
/// and the older `exact_match` of Envoy. What is matched in another way is left out.
pub(crate) fn exact_headers(list: Option<&Node>) -> Vec<(String, String)> {
    let exact = |one: &Node| {
        let plain = one.text_at("type").is_none_or(|kind| kind == "Exact");
        let value = ["value", "string_match.exact", "exact_match"];
        let value = value.iter().find_map(|key| one.text_at(key)).filter(|_| plain)?;
        Some((one.text_at("name")?.to_ascii_lowercase(), value.to_owned()))
    };
    list.map_or(&[][..], Node::items).iter().filter_map(exact).collect()
}

/// Notes that requests with these headers take a route of their own.
pub(crate) fn header_route(
    reading: &mut Reading,
    seat: Seat,
    [caller, callee]: [Option<&Name>; 2],
    object: Option<String>,
    headers: &[(String, String)],
) {
    if headers.is_empty() {
        return;
    }
    let (caller, callee) = (caller.cloned(), callee.cloned());
    reading.routes.push(HeaderRoute { caller, callee, seat, object, headers: headers.to_vec() });
}

/// An object of Kubernetes.
#[derive(Clone, Copy)]
pub(crate) struct Object<'a> {
    /// Its root.
    pub(crate) root: &'a Node,
    /// `metadata.name`.
    pub(crate) name: Option<&'a str>,
    /// `metadata.namespace`.
    pub(crate) namespace: Option<&'a str>,
}

impl<'a> Object<'a> {
    pub(crate) fn of(document: &'a Document) -> Self {
        Self::at(&document.root)
    }

    /// The same of its root. An object whose name is still to be made goes by what that begins with.
    pub(crate) fn at(root: &'a Node) -> Self {
        let text = |key| root.below("metadata").and_then(|meta| meta.get(key)?.text());
        let name = text("name").or_else(|| text("generateName"));
        Self { root, name, namespace: text("namespace") }
    }

    pub(crate) fn kind(&self) -> &'a str {
        self.root.get("kind").and_then(Node::text).unwrap_or_default()
    }

    /// Its name as a service's.
    pub(crate) fn own(&self) -> Option<Name> {
        self.name.map(|name| Name::new(name, self.namespace))
    }

    /// A host as it is meant here.
    pub(crate) fn host(&self, host: &str) -> Option<Name> {
        Name::of_host(host, self.namespace)
    }

    /// Its annotations.
    pub(crate) fn annotations(&self) -> &'a [Entry] {
        self.root.below("metadata.annotations").map_or(&[], Node::entries)
    }

    /// An annotation by its whole name.
    pub(crate) fn annotation(&self, name: &str) -> Option<&'a Entry> {
        self.annotations().iter().find(|entry| &*entry.key == name)
    }

    /// The name behind a reference `{name, namespace}`.
    pub(crate) fn reference(&self, reference: &Node) -> Option<Name> {
        let name = reference.get("name")?.text()?;
        let namespace = reference.get("namespace").and_then(Node::text).or(self.namespace);
        Some(Name::new(name, namespace))
    }
}

/// The services behind an Ingress, each once, with the line that names it.
pub(crate) fn ingress_backends(object: &Object<'_>) -> Vec<(Name, u32)> {
    let Some(spec) = object.root.get("spec") else { return Vec::new() };
    let rules = spec.get("rules").map_or(&[][..], Node::items).iter();
    let paths = rules.flat_map(|rule| rule.below("http.paths").map_or(&[][..], Node::items));
    let backends = paths.filter_map(|path| path.get("backend"));
    let backends = backends.chain(spec.get("defaultBackend")).chain(spec.get("backend"));
    let mut known: HashSet<Name> = HashSet::new();
    let mut all = Vec::new();
    for backend in backends {
        let name = backend.below("service.name").or_else(|| backend.get("serviceName"));
        let Some((text, line)) = name.and_then(|name| Some((name.text()?, name.lines[0]))) else {
            continue;
        };
        let name = Name::new(text, object.namespace);
        if known.insert(name.clone()) {
            all.push((name, line));
        }
    }
    all
}

/// The group of a Kubernetes object: `batch` of `batch/v1`, empty for `v1`.
pub(crate) fn group(document: &Document) -> Option<&str> {
    let version = document.root.get("apiVersion")?.text()?;
    document.root.get("kind")?.text()?;
    Some(version.rsplit_once('/').map_or("", |(group, _)| group))
}

/// The documents of a text that stands in a value, with the lines of the file it stands in.
pub(crate) fn embedded(node: &Node, syntax: Syntax) -> Vec<Document> {
    let Some(text) = node.text() else { return Vec::new() };
    let (mut documents, _) = parse(syntax, text);
    // The place of a block text is that of its first line, not of its mark.
    let down = node.lines[0].saturating_sub(1);
    for document in &mut documents {
        shift(&mut document.root, down, node.lines);
    }
    documents
}

/// Drops a timeout of one attempt that is not shorter than that of all, as Envoy does.
pub(crate) fn drop_useless_attempt_timeout(layer: &mut Layer, reading: &mut Reading) {
    let (Some(attempt), Some(overall)) = (&layer.attempt_timeout_ms, &layer.timeout_ms) else {
        return;
    };
    if attempt.value >= overall.value {
        let why = format!(
            "the timeout of one attempt ({} ms) is not shorter than that of all ({} ms): it is dropped",
            attempt.value, overall.value
        );
        let line = match attempt.from {
            crate::Origin::Written(line) => [line, line],
            _ => layer.lines,
        };
        inert(reading, line, layer.callee.clone(), why.clone());
        layer.notes.push(why);
        layer.attempt_timeout_ms = None;
    }
}
