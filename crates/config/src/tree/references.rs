//! Objects that say something for others: what one says of whom is written into the one that says
//! what, so that each value keeps its file and its line.

use std::collections::HashMap;

use super::Parsed;
use crate::document::{Document, Entry, Node, Value};

/// Kinds that take part.
const KINDS: [&str; 6] = [
    "VirtualService",
    "HTTPRoute",
    "RouteRetryFilter",
    "RouteTimeoutFilter",
    "MeshHTTPRoute",
    "MeshRetry",
];

/// The key under which a filter finds the services behind the routes that name it.
pub(crate) const BACKENDS: &str = "$backends";
/// The key that says that a reference has come from one to a route.
pub(crate) const ROUTE: &str = "$route";

/// Values that are written into one object at most.
const MOST: usize = 1_000;

/// Whether a document is referred to, or refers to another.
pub(super) fn takes_part(document: &Document) -> bool {
    kind(&document.root).is_some_and(|kind| KINDS.contains(&kind))
}

fn kind(root: &Node) -> Option<&str> {
    root.get("kind").or(root.get("type"))?.text()
}

fn name(root: &Node) -> Option<&str> {
    root.text_at("metadata.name").or_else(|| root.text_at("name"))
}

/// An object by its kind, namespace and name. Where one side says no namespace, both are in one.
type Key = (String, String, String);

fn key(kind: &str, namespace: Option<&str>, name: &str) -> Key {
    (kind.to_owned(), namespace.unwrap_or_default().to_owned(), name.to_owned())
}

/// What is written into objects.
#[derive(Default)]
struct Said {
    /// Hosts and gateways of routes for those that they delegate to.
    delegates: HashMap<Key, Vec<Entry>>,
    /// Backends of routes for the filters that they name.
    backends: HashMap<Key, Vec<Node>>,
    /// Destinations of Kuma's routes.
    routes: HashMap<String, Vec<Node>>,
}

/// Writes it. Returns the places of the files that changed.
pub(super) fn fill_in(files: &mut [Parsed<'_>]) -> Vec<usize> {
    let mut said = Said::default();
    for document in files.iter().flat_map(|file| &file.documents) {
        match kind(&document.root) {
            Some("VirtualService") => delegates(&document.root, &mut said),
            Some("HTTPRoute") => backends(&document.root, &mut said),
            Some("MeshHTTPRoute") => {
                if let Some(name) = name(&document.root) {
                    let to = document.root.below("spec.to").map_or(&[][..], Node::items);
                    let targets = to.iter().filter_map(|one| one.get("targetRef")).cloned();
                    said.routes.entry(name.to_owned()).or_default().extend(targets.take(MOST));
                }
            }
            _ => {}
        }
    }
    let mut changed = Vec::new();
    for (at, file) in files.iter_mut().enumerate() {
        for document in &mut file.documents {
            if put(&mut document.root, &said) {
                changed.push(at);
            }
        }
    }
    changed.dedup();
    changed
}

fn delegates(root: &Node, said: &mut Said) {
    let namespace = root.text_at("metadata.namespace");
    let Some(spec) = root.get("spec") else { return };
    for route in spec.get("http").map_or(&[][..], Node::items) {
        let Some(name) = route.text_at("delegate.name") else { continue };
        let whose = route.text_at("delegate.namespace").or(namespace);
        let known = said.delegates.entry(key("VirtualService", whose, name)).or_default();
        for what in ["hosts", "gateways"] {
            let Some(entry) = spec.entry(what) else { continue };
            match known.iter_mut().find(|one| &*one.key == what) {
                Some(Entry { value: Node { value: Value::List(items), .. }, .. }) => {
                    let more = entry.value.one_or_more().iter();
                    let more: Vec<_> = more
                        .filter(|one| !items.iter().any(|known| known.text() == one.text()))
                        .cloned()
                        .collect();
                    items.extend(more.into_iter().take(MOST.saturating_sub(items.len())));
                }
                Some(_) => {}
                None => known.push(entry.clone()),
            }
        }
    }
}

fn backends(root: &Node, said: &mut Said) {
    let namespace = root.text_at("metadata.namespace");
    for rule in root.below("spec.rules").map_or(&[][..], Node::items) {
        for filter in rule.get("filters").map_or(&[][..], Node::items) {
            let (Some(kind), Some(name)) =
                (filter.text_at("extensionRef.kind"), filter.text_at("extensionRef.name"))
            else {
                continue;
            };
            let known = said.backends.entry(key(kind, namespace, name)).or_default();
            for backend in rule.get("backendRefs").map_or(&[][..], Node::items) {
                if known.len() < MOST && !known.contains(backend) {
                    known.push(backend.clone());
                }
            }
        }
    }
}

/// Writes into one object what others say for it; whether anything was.
fn put(root: &mut Node, said: &Said) -> bool {
    let Some(own) = kind(root).map(str::to_owned) else { return false };
    let named = name(root).map(|name| key(&own, root.text_at("metadata.namespace"), name));
    let line = root.get("spec").map_or(root.lines[0], |spec| spec.lines[0]);
    let Value::Map(entries) = &mut root.value else { return false };
    let Some(spec) = entries.iter_mut().find(|entry| &*entry.key == "spec") else { return false };
    let spec = &mut spec.value;
    match own.as_str() {
        "VirtualService" => {
            let more = named.and_then(|named| said.delegates.get(&named));
            let mut any = false;
            for entry in more.into_iter().flatten() {
                any |= add(spec, entry.clone(), line);
            }
            any
        }
        "RouteRetryFilter" | "RouteTimeoutFilter" => {
            let more = named.and_then(|named| said.backends.get(&named));
            more.is_some_and(|more| {
                let value = Node { value: Value::List(more.clone()), lines: [line, line] };
                add(spec, Entry { key: BACKENDS.into(), line, value }, line)
            })
        }
        "MeshRetry" => of_routes(spec, &said.routes),
        _ => false,
    }
}

/// Adds an entry that is not there, at a line.
fn add(node: &mut Node, mut entry: Entry, line: u32) -> bool {
    let Value::Map(entries) = &mut node.value else { return false };
    if entries.iter().any(|one| one.key == entry.key) {
        return false;
    }
    place(&mut entry.value, line);
    entry.line = line;
    entries.push(entry);
    true
}

/// Puts a value with all in it at one line.
fn place(node: &mut Node, line: u32) {
    node.lines = [line, line];
    match &mut node.value {
        Value::List(items) => items.iter_mut().for_each(|item| place(item, line)),
        Value::Map(entries) => {
            for entry in entries {
                entry.line = line;
                place(&mut entry.value, line);
            }
        }
        _ => {}
    }
}

/// Puts the destinations of a route in the place of the route.
fn of_routes(spec: &mut Node, routes: &HashMap<String, Vec<Node>>) -> bool {
    let Value::Map(entries) = &mut spec.value else { return false };
    let Some(to) = entries.iter_mut().find(|entry| &*entry.key == "to") else { return false };
    let Value::List(items) = &mut to.value.value else { return false };
    let mut all = Vec::new();
    let mut changed = false;
    for item in items.iter() {
        let reference = item.get("targetRef");
        let of_route = reference.filter(|one| one.text_at("kind") == Some("MeshHTTPRoute"));
        let targets = of_route.and_then(|one| routes.get(one.text_at("name")?));
        let Some((reference, targets)) = reference.zip(targets) else {
            all.push(item.clone());
            continue;
        };
        let line = reference.lines[0];
        for target in targets {
            let mut item = item.clone();
            let mut target = target.clone();
            let name = Node::scalar(reference.text_at("name").unwrap_or_default(), true, line);
            add(&mut target, Entry { key: ROUTE.into(), line, value: name }, line);
            place(&mut target, line);
            if let Value::Map(entries) = &mut item.value
                && let Some(one) = entries.iter_mut().find(|one| &*one.key == "targetRef")
            {
                one.value = target;
            }
            all.push(item);
            changed = true;
        }
    }
    if changed {
        *items = all;
    }
    changed
}
