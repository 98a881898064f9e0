//! Kustomizations: what their patches change is said by the files of the patches.

use std::collections::HashMap;

use super::{Parsed, folder, join, renames};
use crate::document::kustomize::{self, Target};
use crate::document::{Document, Node, Syntax};
use crate::format;
use crate::format::parts::{embedded, shift_lines};
use crate::layer::{Layer, Origin, Sourced};
use crate::reading::Reading;

/// Lines of one file within the numbers of all files of a kustomization.
const FILE: u32 = 1 << 20;
/// Kustomizations that stand on each other.
const MAX_BASES: usize = 10;

/// Numbers lines so that they also say which file they are of.
#[derive(Default)]
struct Places {
    files: Vec<String>,
    patches: Vec<usize>,
}

impl Places {
    /// The number of a file; `None`: there are too many.
    fn number(&mut self, path: &str) -> Option<u32> {
        let at = self.files.iter().position(|known| known == path).unwrap_or_else(|| {
            self.files.push(path.to_owned());
            self.files.len() - 1
        });
        u32::try_from(at).ok().filter(|at| *at < u32::MAX / FILE)
    }

    /// The same node with lines that also say the file.
    fn place(&mut self, node: &Node, path: &str) -> Option<Node> {
        let number = self.number(path)?;
        let mut node = node.clone();
        shift_lines(&mut node, number * FILE);
        Some(node)
    }

    fn of(&self, line: u32) -> (usize, u32) {
        ((line / FILE) as usize, line % FILE)
    }

    fn patched(&self, line: u32) -> bool {
        self.patches.contains(&self.of(line).0)
    }

    fn path(&self, file: usize) -> &str {
        self.files.get(file).map_or("", String::as_str)
    }
}

/// Whether a document may be one that a kustomization names: itself, an object, a list of changes.
/// Definitions of resources are large, and nothing that is read here.
pub(super) fn takes_part(path: &str, document: &Document) -> bool {
    let root = &document.root;
    kustomize::is_named(path)
        || root.get("kind").is_some_and(|kind| kind.text() != Some("CustomResourceDefinition"))
        || root.items().first().is_some_and(|item| item.get("op").is_some())
        || root.get("metadata").is_some()
}

/// What the patches of all kustomizations change, by the file of the patch.
pub(super) fn read(files: &[Parsed<'_>]) -> Vec<(String, Reading)> {
    let by_path: HashMap<&str, &Parsed<'_>> = files.iter().map(|file| (file.path, file)).collect();
    let mut all = Vec::new();
    for file in files {
        let Some(root) = kustomization(file) else { continue };
        let said = kustomize::read(root);
        if !said.open.is_empty() {
            all.push((
                file.path.to_owned(),
                Reading { open: said.open.clone(), ..Reading::default() },
            ));
        }
        if said.files.is_empty() && said.inline.is_empty() {
            continue;
        }
        let mut places = Places::default();
        let mut objects = Vec::new();
        gather(file, &by_path, &mut places, &mut objects, 0);
        let patches = patches(file, root, &by_path, &mut places);
        for object in &mut objects {
            let mut touched = false;
            for (patch, target) in &patches {
                touched |= kustomize::apply(object, patch, *target);
            }
            if touched {
                // A patch is for the object as its file calls it; what it says is of the new name.
                renames::Names::of(root).put(object);
                let document = Document { syntax: Syntax::Yaml, root: object.clone() };
                let reading = format::read(file.path, &[document]);
                all.extend(relocate(reading, &places, file.path));
            }
        }
    }
    all
}

fn kustomization<'a>(file: &'a Parsed<'_>) -> Option<&'a Node> {
    let document = file.documents.first()?;
    kustomize::is_kustomization(file.path, document).then_some(&document.root)
}

/// The patches of a kustomization with numbered lines.
fn patches<'a>(
    file: &'a Parsed<'_>,
    root: &'a Node,
    by_path: &HashMap<&str, &'a Parsed<'_>>,
    places: &mut Places,
) -> Vec<(Node, Target<'a>)> {
    let said = kustomize::read(root);
    let mut all = Vec::new();
    for (path, target) in said.files {
        let path = join(folder(file.path), path);
        let Some(patch) = by_path.get(path.as_str()) else { continue };
        for document in &patch.documents {
            if let Some(node) = places.place(&document.root, &path) {
                all.push((node, target));
            }
        }
        note(places, &path);
    }
    for (node, target) in said.inline {
        for document in embedded(node, Syntax::Yaml) {
            if let Some(node) = places.place(&document.root, file.path) {
                all.push((node, target));
            }
        }
        note(places, file.path);
    }
    all
}

/// Notes that a file holds patches.
fn note(places: &mut Places, path: &str) {
    if let Some(at) = places.files.iter().position(|known| known == path) {
        places.patches.push(at);
    }
}

/// The objects that a kustomization stands on.
fn gather(
    file: &Parsed<'_>,
    by_path: &HashMap<&str, &Parsed<'_>>,
    places: &mut Places,
    objects: &mut Vec<Node>,
    depth: usize,
) {
    let Some(root) = kustomization(file).filter(|_| depth < MAX_BASES) else { return };
    for resource in kustomize::read(root).resources {
        let path = join(folder(file.path), resource);
        let base = kustomize::NAMES.iter().find_map(|name| by_path.get(join(&path, name).as_str()));
        if let Some(base) = base {
            gather(base, by_path, places, objects, depth + 1);
        } else if let Some(found) = by_path.get(path.as_str()) {
            for document in &found.documents {
                objects.extend(places.place(&document.root, &path));
            }
        }
    }
}

/// What a patched object says that it does not say without the patch, each at the patch's file.
fn relocate(reading: Reading, places: &Places, whose: &str) -> Vec<(String, Reading)> {
    let mut all: Vec<(String, Reading)> = Vec::new();
    let formats = reading.formats;
    let mut put = |file: usize, add: &mut dyn FnMut(&mut Reading)| {
        let path = places.path(file);
        let at = all.iter().position(|(known, _)| known == path).unwrap_or_else(|| {
            let empty = Reading { formats: formats.clone(), ..Reading::default() };
            all.push((path.to_owned(), empty));
            all.len() - 1
        });
        if let Some((_, reading)) = all.get_mut(at) {
            add(reading);
        }
    };
    for mut layer in reading.layers {
        let lines = written(&mut layer);
        let changed = lines.iter().chain(&layer.lines).copied().find(|line| places.patched(*line));
        let Some(line) = changed else { continue };
        let home = places.of(line).0;
        let inside = layer
            .lines
            .map(|line| places.of(line))
            .map(|(file, line)| (file == home).then_some(line));
        let (_, own) = places.of(line);
        layer.lines = match inside {
            [Some(first), Some(last)] => [first, last],
            _ => [own, own],
        };
        rehome(&mut layer, home, places);
        layer.notes.push(format!("as patched by {whose}"));
        put(home, &mut |reading| reading.layers.push(layer.clone()));
    }
    for mut fact in reading.facts {
        if places.patched(fact.lines[0]) {
            let home = places.of(fact.lines[0]).0;
            fact.lines = fact.lines.map(|line| places.of(line).1);
            put(home, &mut |reading| reading.facts.push(fact.clone()));
        }
    }
    for mut call in reading.calls {
        if places.patched(call.line) {
            let (home, line) = places.of(call.line);
            call.line = line;
            put(home, &mut |reading| reading.calls.push(call.clone()));
        }
    }
    all
}

fn origins(layer: &mut Layer) -> Vec<&mut Origin> {
    fn of<T>(sourced: Option<&mut Sourced<T>>) -> Option<&mut Origin> {
        sourced.map(|sourced| &mut sourced.from)
    }
    let all = [
        Some(&mut layer.attempts.from),
        Some(&mut layer.on.from),
        of(layer.delay.base_ms.as_mut()),
        of(layer.delay.cap_ms.as_mut()),
        of(layer.attempt_timeout_ms.as_mut()),
        of(layer.timeout_ms.as_mut()),
        of(layer.budget.as_mut()),
    ];
    all.into_iter().flatten().collect()
}

/// The lines at which somebody wrote values of a layer.
fn written(layer: &mut Layer) -> Vec<u32> {
    let lines = origins(layer).into_iter().filter_map(|origin| match origin {
        Origin::Written(line) => Some(*line),
        _ => None,
    });
    lines.collect()
}

/// Says of each value which file it is from, seen from a file.
fn rehome(layer: &mut Layer, home: usize, places: &Places) {
    for origin in origins(layer) {
        if let Origin::Written(line) = origin {
            let (file, line) = places.of(*line);
            *origin = if file == home {
                Origin::Written(line)
            } else {
                Origin::Elsewhere { path: places.path(file).to_owned(), line }
            };
        }
    }
}
