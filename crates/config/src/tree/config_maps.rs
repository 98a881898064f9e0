//! Variables that a workload takes from a ConfigMap beside it.

use std::collections::HashMap;

use super::{Parsed, folder};
use crate::document::{Document, Entry, Node, Value};

/// Data of ConfigMaps by their folder and name.
type Maps = HashMap<(String, String), Vec<(Box<str>, Node)>>;

/// Whether a document has such variables, or takes them.
pub(super) fn takes_part(document: &Document) -> bool {
    let root = &document.root;
    match root.get("kind").and_then(Node::text) {
        Some("ConfigMap") => true,
        Some(_) => refers(root),
        None => false,
    }
}

/// Whether something below takes a variable from a ConfigMap.
fn refers(node: &Node) -> bool {
    match &node.value {
        Value::List(items) => items.iter().any(refers),
        Value::Map(entries) => entries.iter().any(|entry| {
            matches!(&*entry.key, "envFrom" | "configMapKeyRef") || refers(&entry.value)
        }),
        _ => false,
    }
}

/// Writes into the environment of containers what `envFrom` and `configMapKeyRef` take from
/// ConfigMaps of the same folder. The lines are those of the reference. Returns the places of the
/// files that it changed.
pub(super) fn fill_in(files: &mut [Parsed<'_>]) -> Vec<usize> {
    let mut maps = Maps::new();
    for file in files.iter() {
        for document in &file.documents {
            let root = &document.root;
            if root.get("kind").and_then(Node::text) != Some("ConfigMap") {
                continue;
            }
            let Some(name) = root.text_at("metadata.name") else { continue };
            let data = root.get("data").map_or(&[][..], Node::entries).iter();
            let data = data
                .filter(|entry| entry.value.text().is_some_and(|text| !text.contains('\n')))
                .map(|entry| (entry.key.clone(), entry.value.clone()));
            let key = (folder(file.path).to_owned(), name.to_owned());
            maps.entry(key).or_default().extend(data);
        }
    }
    if maps.is_empty() {
        return Vec::new();
    }
    let mut changed = Vec::new();
    for (at, file) in files.iter_mut().enumerate() {
        let folder = folder(file.path).to_owned();
        for document in &mut file.documents {
            if document.root.get("kind").is_some() && refers(&document.root) {
                containers(&mut document.root, &folder, &maps);
                changed.push(at);
            }
        }
    }
    changed.dedup();
    changed
}

fn containers(node: &mut Node, folder: &str, maps: &Maps) {
    match &mut node.value {
        Value::List(items) => items.iter_mut().for_each(|item| containers(item, folder, maps)),
        Value::Map(entries) => {
            for entry in entries {
                if &*entry.key == "containers" {
                    if let Value::List(items) = &mut entry.value.value {
                        items.iter_mut().for_each(|item| container(item, folder, maps));
                    }
                } else {
                    containers(&mut entry.value, folder, maps);
                }
            }
        }
        _ => {}
    }
}

fn container(container: &mut Node, folder: &str, maps: &Maps) {
    let map = |name: &str| maps.get(&(folder.to_owned(), name.to_owned()));
    let mut more = Vec::new();
    for from in container.get("envFrom").map_or(&[][..], Node::items) {
        let name = from.text_at("configMapRef.name");
        for (key, value) in name.and_then(map).into_iter().flatten() {
            more.push(variable(key, value, from.lines[0]));
        }
    }
    let Value::Map(entries) = &mut container.value else { return };
    let env = entries.iter_mut().find(|entry| &*entry.key == "env");
    if let Some(Value::List(variables)) = env.map(|entry| &mut entry.value.value) {
        for one in variables {
            let reference = one.below("valueFrom.configMapKeyRef");
            let found = reference.and_then(|reference| {
                let key = reference.get("key")?.text()?;
                let (_, value) = map(reference.get("name")?.text()?)?
                    .iter()
                    .find(|(known, _)| **known == *key)?;
                Some(variable(one.get("name")?.text()?, value, one.lines[0]))
            });
            if let Some(found) = found {
                *one = found;
            }
        }
    }
    if more.is_empty() {
        return;
    }
    match entries.iter_mut().find(|entry| &*entry.key == "env") {
        Some(Entry { value: Node { value: Value::List(list), .. }, .. }) => list.extend(more),
        _ => {
            let line = more.first().map_or(0, |one| one.lines[0]);
            let value = Node { value: Value::List(more), lines: [line, line] };
            entries.push(Entry { key: "env".into(), line, value });
        }
    }
}

/// `{name, value}` at a line.
fn variable(name: &str, value: &Node, line: u32) -> Node {
    let mut value = value.clone();
    value.lines = [line, line];
    let name = Node::scalar(name, true, line);
    let entry = |key: &str, value| Entry { key: key.into(), line, value };
    let entries = vec![entry("name", name), entry("value", value)];
    Node { value: Value::Map(entries), lines: [line, line] }
}
