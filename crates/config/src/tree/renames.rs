//! What kustomizations call the objects of others: prefixes and suffixes of names, and namespaces.
//! An object that several kustomizations name differently keeps the name of its own file.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{Parsed, folder, join};
use crate::document::kustomize;
use crate::document::{Document, Entry, Node, Value};
use crate::reading::Reading;

/// Kustomizations that stand on each other.
const MAX_DEPTH: usize = 10;

/// How objects are called anew.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Names {
    prefix: String,
    suffix: String,
    namespace: Option<String>,
}

/// Kinds that keep their names and are in no namespace.
const KEPT: [&str; 3] = ["Namespace", "CustomResourceDefinition", "APIService"];

impl Names {
    /// What a kustomization says by itself.
    pub(super) fn of(root: &Node) -> Self {
        let text = |key: &str| root.text_at(key).unwrap_or_default().to_owned();
        Self {
            prefix: text("namePrefix"),
            suffix: text("nameSuffix"),
            namespace: root.text_at("namespace").map(str::to_owned),
        }
    }

    /// Those of a kustomization in another one.
    fn within(&self, outer: &Self) -> Self {
        Self {
            prefix: format!("{}{}", outer.prefix, self.prefix),
            suffix: format!("{}{}", self.suffix, outer.suffix),
            namespace: outer.namespace.clone().or_else(|| self.namespace.clone()),
        }
    }

    fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// Calls an object so.
    pub(super) fn put(&self, root: &mut Node) {
        let kind = root.get("kind").and_then(Node::text).unwrap_or_default().to_owned();
        if self.is_nothing() || kind.is_empty() || KEPT.contains(&kind.as_str()) {
            return;
        }
        if let Some(meta) = below(root, &["metadata"]) {
            self.name(meta, "name");
            if let Some(namespace) = &self.namespace {
                let line = meta.lines[0];
                let value = Node::scalar(namespace, true, line);
                if let Value::Map(entries) = &mut meta.value {
                    entries.retain(|entry| &*entry.key != "namespace");
                    entries.push(Entry { key: "namespace".into(), line, value });
                }
            }
        }
        // Those that are named are of the same kustomization, as a rule.
        match kind.as_str() {
            "Ingress" => self.backends(root),
            "HorizontalPodAutoscaler" => {
                if let Some(target) = below(root, &["spec", "scaleTargetRef"]) {
                    self.name(target, "name");
                }
            }
            _ => {}
        }
    }

    fn name(&self, node: &mut Node, key: &str) {
        if let Value::Map(entries) = &mut node.value
            && let Some(entry) = entries.iter_mut().find(|entry| &*entry.key == key)
            && let Value::Scalar { text, .. } = &mut entry.value.value
        {
            *text = format!("{}{text}{}", self.prefix, self.suffix).into();
        }
    }

    /// The services of an Ingress.
    fn backends(&self, node: &mut Node) {
        self.name(node, "serviceName");
        match &mut node.value {
            Value::List(items) => items.iter_mut().for_each(|item| self.backends(item)),
            Value::Map(entries) => {
                for entry in entries {
                    if &*entry.key == "service" {
                        self.name(&mut entry.value, "name");
                    }
                    self.backends(&mut entry.value);
                }
            }
            _ => {}
        }
    }
}

/// The value below keys.
fn below<'n>(node: &'n mut Node, keys: &[&str]) -> Option<&'n mut Node> {
    keys.iter().try_fold(node, |node, key| match &mut node.value {
        Value::Map(entries) => {
            entries.iter_mut().find(|entry| &*entry.key == *key).map(|entry| &mut entry.value)
        }
        _ => None,
    })
}

/// Calls all objects as the kustomizations say. Returns the places of the files that changed, and
/// what kustomizations could not say.
pub(super) fn apply(files: &mut [Parsed<'_>]) -> (Vec<usize>, Vec<(String, Reading)>) {
    let (mut said, mut open) = (BTreeMap::<usize, BTreeSet<Names>>::new(), Vec::new());
    let at: HashMap<&str, usize> =
        files.iter().enumerate().map(|(at, file)| (file.path, at)).collect();
    let mut inner = BTreeSet::new();
    for file in files.iter() {
        for base in bases(file, &at, files) {
            inner.insert(base);
        }
    }
    for (top, file) in files.iter().enumerate() {
        if root(file).is_some() && !inner.contains(&top) {
            walk(top, &at, files, &Names::default(), &mut said, 0);
        }
    }
    for (at, file) in files.iter().enumerate() {
        let Some(root) = root(file) else { continue };
        let differs = |leaf: &usize| said.get(leaf).is_some_and(|names| names.len() > 1);
        let key = ["namePrefix", "nameSuffix", "namespace"].iter().find_map(|key| root.entry(key));
        let Some(key) = key else { continue };
        let mut leaves = BTreeMap::new();
        walk(at, &self::index(files), files, &Names::default(), &mut leaves, 0);
        if leaves.keys().any(differs) {
            let why = "other kustomizations call the same objects differently: they are taken by the names of their files";
            let reading = Reading { open: vec![(key.line, why.to_owned())], ..Reading::default() };
            open.push((file.path.to_owned(), reading));
        }
    }
    let mut changed = Vec::new();
    for (at, names) in said {
        let mut names = names.into_iter();
        let (Some(only), None) = (names.next(), names.next()) else { continue };
        if let Some(file) = files.get_mut(at).filter(|_| !only.is_nothing()) {
            file.documents.iter_mut().for_each(|document| only.put(&mut document.root));
            changed.push(at);
        }
    }
    (changed, open)
}

fn index<'a>(files: &[Parsed<'a>]) -> HashMap<&'a str, usize> {
    files.iter().enumerate().map(|(at, file)| (file.path, at)).collect()
}

/// The root of a kustomization.
fn root<'f>(file: &'f Parsed<'_>) -> Option<&'f Node> {
    let document: &Document = file.documents.first()?;
    kustomize::is_kustomization(file.path, document).then_some(&document.root)
}

/// The kustomizations that one stands on.
fn bases(file: &Parsed<'_>, at: &HashMap<&str, usize>, files: &[Parsed<'_>]) -> Vec<usize> {
    let Some(root) = root(file) else { return Vec::new() };
    let resources = kustomize::read(root).resources.into_iter();
    let base = |resource: &str| {
        let path = join(folder(file.path), resource);
        let names = kustomize::NAMES.iter();
        let found = names.filter_map(|name| at.get(join(&path, name).as_str())).copied();
        found.into_iter().find(|at| files.get(*at).is_some())
    };
    resources.filter_map(base).collect()
}

/// Says of each file below a kustomization how its objects are called.
fn walk(
    top: usize,
    at: &HashMap<&str, usize>,
    files: &[Parsed<'_>],
    outer: &Names,
    said: &mut BTreeMap<usize, BTreeSet<Names>>,
    depth: usize,
) {
    let Some(file) = files.get(top).filter(|_| depth < MAX_DEPTH) else { return };
    let Some(root) = root(file) else { return };
    let names = Names::of(root).within(outer);
    for base in bases(file, at, files) {
        walk(base, at, files, &names, said, depth + 1);
    }
    for resource in kustomize::read(root).resources {
        if let Some(leaf) = at.get(join(folder(file.path), resource).as_str()) {
            said.entry(*leaf).or_default().insert(names.clone());
        }
    }
}
