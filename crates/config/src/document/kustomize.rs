//! Kustomizations: patches merged onto objects, as far as values go.

use super::{Document, Entry, Node, Value};

/// What a kustomization says.
#[derive(Debug, Default)]
pub struct Kustomization<'a> {
    /// Files and folders with objects.
    pub resources: Vec<&'a str>,
    /// Patches that stand in files of their own, with whom they are for.
    pub files: Vec<(&'a str, Target<'a>)>,
    /// Patches that stand in the kustomization, as texts.
    pub inline: Vec<(&'a Node, Target<'a>)>,
    /// What is not read: generators, components.
    pub open: Vec<(u32, String)>,
}

/// Whom a patch is for; what is not said matches all.
#[derive(Clone, Copy, Debug, Default)]
pub struct Target<'a> {
    /// The kind.
    pub kind: Option<&'a str>,
    /// The name.
    pub name: Option<&'a str>,
}

/// Keys that change more than values.
const NOT_READ: [&str; 8] = [
    "components",
    "configMapGenerator",
    "secretGenerator",
    "helmCharts",
    "generators",
    "transformers",
    "replacements",
    "vars",
];

/// Reads a kustomization.
#[must_use]
pub fn read(root: &Node) -> Kustomization<'_> {
    let mut all = Kustomization::default();
    let items = |key: &str| root.get(key).map_or(&[][..], Node::items);
    for key in ["resources", "bases"] {
        all.resources.extend(items(key).iter().filter_map(Node::text));
    }
    for one in items("patchesStrategicMerge") {
        match one.text() {
            Some(text) if text.contains('\n') => all.inline.push((one, Target::default())),
            Some(path) => all.files.push((path, Target::default())),
            None => {}
        }
    }
    for key in ["patches", "patchesJson6902"] {
        for one in items(key) {
            let text = |path: &str| one.text_at(path);
            let target = Target { kind: text("target.kind"), name: text("target.name") };
            if let Some(path) = text("path") {
                all.files.push((path, target));
            } else if let Some(patch) = one.get("patch") {
                all.inline.push((patch, target));
            }
        }
    }
    for key in NOT_READ {
        if let Some(entry) = root.entry(key) {
            all.open.push((entry.line, format!("{key} of the kustomization are not read")));
        }
    }
    all
}

/// Applies the documents of a patch to an object; whether it was for it.
pub fn apply(object: &mut Node, patch: &Node, target: Target<'_>) -> bool {
    let text = |node: &Node, path: &str| node.text_at(path).map(str::to_owned);
    let own = (text(object, "kind"), text(object, "metadata.name"));
    let fits = |said: Option<&str>, own: &Option<String>| {
        said.is_none_or(|said| own.as_deref() == Some(said))
    };
    if !fits(target.kind, &own.0) || !fits(target.name, &own.1) {
        return false;
    }
    if let Value::List(operations) = &patch.value {
        // Only a patch that says whom it is for may be a list of operations.
        if target.kind.is_none() && target.name.is_none() {
            return false;
        }
        operations.iter().for_each(|operation| operate(object, operation));
        return true;
    }
    let aimed = target.kind.is_some() || target.name.is_some();
    let same = (text(patch, "kind"), text(patch, "metadata.name")) == own;
    if !same && !aimed {
        return false;
    }
    merge(object, patch);
    true
}

/// Keys by which items of a list are the same item.
const IDENTITY: [&str; 4] = ["name", "containerPort", "port", "mountPath"];

/// Merges a strategic patch. Lists of things with names are merged by their names.
fn merge(into: &mut Node, patch: &Node) {
    match (&mut into.value, &patch.value) {
        (Value::Map(entries), Value::Map(more)) => {
            for entry in more {
                let at = entries.iter().position(|one| one.key == entry.key);
                let removed = entry.value.is_null();
                match at.and_then(|at| entries.get_mut(at)) {
                    Some(_) if removed => {
                        let at = at.unwrap_or_default();
                        entries.remove(at);
                    }
                    Some(one) => {
                        if !matches!(entry.value.value, Value::Map(_)) {
                            one.line = entry.line;
                        }
                        merge(&mut one.value, &entry.value);
                    }
                    None if removed || &*entry.key == "$patch" => {}
                    None => entries.push(entry.clone()),
                }
            }
        }
        (Value::List(items), Value::List(more)) => {
            let identity = |node: &Node| {
                let key = IDENTITY.iter().find(|key| node.get(key).is_some())?;
                Some((*key, node.get(key)?.text()?.to_owned()))
            };
            if more.iter().any(|item| identity(item).is_none()) {
                into.clone_from(patch);
                return;
            }
            for item in more {
                let same = items.iter_mut().find(|one| identity(one) == identity(item));
                match same {
                    Some(one) => merge(one, item),
                    None => items.push(item.clone()),
                }
            }
        }
        _ => into.clone_from(patch),
    }
}

/// Applies one operation of JSON Patch.
fn operate(object: &mut Node, operation: &Node) {
    let (Some(kind), Some(path)) = (operation.text_at("op"), operation.text_at("path")) else {
        return;
    };
    let line = operation.lines[0];
    let mut parts: Vec<_> =
        path.split('/').skip(1).map(|part| part.replace("~1", "/").replace("~0", "~")).collect();
    let Some(last) = parts.pop() else { return };
    let mut at = object;
    for part in &parts {
        let next = match &mut at.value {
            Value::Map(entries) => {
                entries.iter_mut().find(|one| *one.key == **part).map(|one| &mut one.value)
            }
            Value::List(items) => part.parse::<usize>().ok().and_then(|at| items.get_mut(at)),
            _ => None,
        };
        let Some(next) = next else { return };
        at = next;
    }
    let value = operation.get("value").cloned();
    match (&mut at.value, kind, value) {
        (Value::Map(entries), "remove", _) => entries.retain(|one| *one.key != *last),
        (Value::Map(entries), "add" | "replace", Some(value)) => {
            entries.retain(|one| *one.key != *last);
            entries.push(Entry { key: last.into(), line, value });
        }
        (Value::List(items), "remove", _) => {
            if let Some(at) = last.parse::<usize>().ok().filter(|at| *at < items.len()) {
                items.remove(at);
            }
        }
        (Value::List(items), "add", Some(value)) => {
            let end = items.len();
            let at = if last == "-" { end } else { last.parse().unwrap_or(end).min(end) };
            items.insert(at, value);
        }
        (Value::List(items), "replace", Some(value)) => {
            if let Some(item) = last.parse::<usize>().ok().and_then(|at| items.get_mut(at)) {
                *item = value;
            }
        }
        _ => {}
    }
}

/// Names of kustomizations: what has another one is not built.
pub const NAMES: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// Whether a file is called as a kustomization is.
#[must_use]
pub fn is_named(path: &str) -> bool {
    NAMES.contains(&path.rsplit('/').next().unwrap_or(path))
}

/// Whether a file is a kustomization.
#[must_use]
pub fn is_kustomization(path: &str, document: &Document) -> bool {
    is_named(path)
        || document.root.text_at("kind") == Some("Kustomization")
            && document
                .root
                .text_at("apiVersion")
                .is_some_and(|v| v.starts_with("kustomize.config"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::yaml;

    fn node(text: &str) -> Node {
        yaml::parse(text).0.remove(0).root
    }

    const OBJECT: &str = "kind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 1\n  containers:\n  - {name: web, env: [{name: A, value: x}]}\n  - {name: side}\n  args: [a, b]\n";

    #[test]
    fn a_strategic_patch_merges_by_name() {
        let mut object = node(OBJECT);
        let patch = node(
            "kind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 3\n  containers: [{name: web, env: [{name: A, value: y}, {name: B, value: z}]}]\n  args: [c]\n",
        );
        assert!(apply(&mut object, &patch, Target::default()));
        assert_eq!(object.text_at("spec.replicas"), Some("3"));
        let containers = object.below("spec.containers").expect("containers").items();
        assert_eq!(containers.len(), 2);
        assert_eq!(containers[0].get("env").expect("env").items()[0].text_at("value"), Some("y"));
        assert_eq!(containers[0].get("env").expect("env").items().len(), 2);
        assert_eq!(object.below("spec.args").expect("args").items().len(), 1);
        let other = node("kind: Deployment\nmetadata: {name: other}\nspec: {replicas: 9}\n");
        assert!(!apply(&mut object, &other, Target::default()));
    }

    #[test]
    fn null_takes_away() {
        let mut object = node(OBJECT);
        let patch = node("kind: Deployment\nmetadata: {name: web}\nspec: {replicas: null}\n");
        apply(&mut object, &patch, Target::default());
        assert!(object.below("spec.replicas").is_none());
    }

    #[test]
    fn operations_change_what_they_point_to() {
        let mut object = node(OBJECT);
        let patch = node(
            "- {op: replace, path: /spec/replicas, value: 5}\n- {op: add, path: /spec/args/-, value: c}\n- {op: remove, path: /spec/containers/1}\n- {op: add, path: /metadata/a~1b, value: d}\n- {op: add, path: /none/at/all, value: d}\n",
        );
        let target = Target { kind: Some("Deployment"), name: Some("web") };
        assert!(apply(&mut object, &patch, target));
        assert_eq!(object.text_at("spec.replicas"), Some("5"));
        assert_eq!(object.below("spec.args").expect("args").items().len(), 3);
        assert_eq!(object.below("spec.containers").expect("containers").items().len(), 1);
        assert_eq!(object.get("metadata").and_then(|meta| meta.get("a/b")?.text()), Some("d"));
    }

    #[test]
    fn a_kustomization_says_what_it_takes() {
        let root = node(
            "resources: [a.yaml, ../base]\npatchesStrategicMerge: [p.yaml, \"kind: X\\nmetadata: {name: y}\"]\npatches:\n- {path: q.yaml, target: {kind: Service, name: web}}\n- patch: |\n    kind: X\nconfigMapGenerator: [{name: c}]\n",
        );
        let read = read(&root);
        assert_eq!(read.resources, ["a.yaml", "../base"]);
        assert_eq!(read.files.len(), 2);
        assert_eq!(read.files[1].1.kind, Some("Service"));
        assert_eq!(read.inline.len(), 2);
        assert_eq!(read.open[0].0, 7);
    }
}
