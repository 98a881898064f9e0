//! Constants of the other files of a repository.

use std::collections::HashMap;
use std::sync::Arc;

use super::eval::Values;
use super::imports::Imports;
use super::members;
use super::pauses::{Pauses, PausesByName};
use super::{Data, Place, Trust, Value};
use crate::tree::{Id, Kind, Tree};

/// A file keeps so many constants, and a value so many parts.
const MOST: usize = 512;
const PARTS: usize = 64;
/// Longer texts are no settings.
const LONGEST: usize = 128;

/// What a file defines at its top: `MAX`, `Settings.max`, `config` (a record).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Constants {
    pub(super) names: HashMap<Box<str>, Value>,
    /// What its functions give that say how long to wait.
    pub(crate) pauses: PausesByName,
}

impl Constants {
    /// Reads them.
    #[must_use]
    pub fn of(tree: &Tree<'_>) -> Self {
        let imports = Imports::of(tree);
        let values = Values::new(tree, &imports);
        let mut all = Self::default();
        all.collect(tree, &values, tree.root(), "", 0);
        members::collect(&mut all, tree, &values);
        all
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty() && self.pauses.is_empty()
    }

    fn collect(
        &mut self,
        tree: &Tree<'_>,
        values: &Values<'_, '_>,
        at: Id,
        class: &str,
        depth: u32,
    ) {
        if depth > 8 || self.names.len() >= MOST {
            return;
        }
        let (target, value) = match tree.kind(at) {
            Kind::Block(all) | Kind::Other(all) => {
                for id in all {
                    self.collect(tree, values, *id, class, depth + 1);
                }
                return;
            }
            Kind::Class { name: Some(name), body, .. } => {
                self.collect(tree, values, *body, name, depth + 1);
                return;
            }
            Kind::Let { target, value: Some(value), .. } => (*target, *value),
            Kind::Assign { op: None, target, value } => (*target, *value),
            _ => return,
        };
        let targets: Vec<(Id, Id)> = match (tree.kind(target), tree.kind(value)) {
            (Kind::List(names), Kind::List(all)) if names.len() == all.len() => {
                names.iter().copied().zip(all.iter().copied()).collect()
            }
            _ => vec![(target, value)],
        };
        for (target, value) in targets {
            let name = match tree.path(target).as_deref() {
                Some([name]) => *name,
                // `module.exports = {…}`, `exports.X = 3`
                Some(["module", "exports"]) => "",
                Some(["exports", name] | ["module", "exports", name]) => name,
                _ => continue,
            };
            let Some(value) = compact(values.of(value), 0) else { continue };
            let key = if class.is_empty() { name.to_owned() } else { format!("{class}.{name}") };
            if name.is_empty()
                && let Data::Record(entries) = &value.data
            {
                for (key, value) in entries {
                    self.names.entry(key.as_str().into()).or_insert_with(|| value.clone());
                }
            }
            // A name that is set twice is no constant.
            match self.names.get_mut(key.as_str()) {
                Some(known) if known.data != value.data => {
                    known.data = Data::Unknown(String::new());
                }
                Some(_) => {}
                None => {
                    self.names.insert(key.into(), value);
                }
            }
        }
    }

    /// The value of a path of names: `["config", "retry", "max"]`.
    fn find(&self, parts: &[&str]) -> Option<Value> {
        for taken in (1..=parts.len().min(2)).rev() {
            let Some(found) = self.names.get(parts[..taken].join(".").as_str()) else { continue };
            let mut at = found;
            let mut trust = found.trust;
            for part in &parts[taken..] {
                at = at.entry(part)?;
                trust = trust.max(at.trust);
            }
            return at.is_known().then(|| at.clone().at_most(trust));
        }
        None
    }
}

/// Only what can be a setting, and little of it.
fn compact(mut value: Value, depth: u32) -> Option<Value> {
    value.data = match value.data {
        Data::Text(text) if text.len() > LONGEST => return None,
        Data::Unknown(_) => return None,
        Data::List(_) | Data::Record(_) if depth > 3 => return None,
        Data::List(all) if all.len() > PARTS => return None,
        Data::List(all) => Data::List(
            all.into_iter().map(|value| compact(value, depth + 1)).collect::<Option<_>>()?,
        ),
        Data::Record(all) => Data::Record(
            all.into_iter()
                .take(PARTS)
                .filter_map(|(key, value)| Some((key, compact(value, depth + 1)?)))
                .collect(),
        ),
        data => data,
    };
    Some(value)
}

/// The constants of all files of a repository, by path.
#[derive(Clone, Debug, Default)]
pub struct Project {
    files: HashMap<Arc<str>, Constants>,
    /// Paths by the name of their file without its extension, or of their folder for `index`,
    /// `__init__` and `mod`.
    by_stem: HashMap<Box<str>, Vec<Arc<str>>>,
    /// Paths by folder.
    by_folder: HashMap<Box<str>, Vec<Arc<str>>>,
    /// `Class.NAME` to the files that define it.
    by_member: HashMap<Box<str>, Vec<Arc<str>>>,
    /// Names of fields that count or wait, to the files and what they say of them.
    fields: HashMap<Box<str>, Vec<(Arc<str>, Value)>>,
    /// Functions that say how long to wait, to the files that have them.
    by_pause: HashMap<Box<str>, Vec<Arc<str>>>,
}

impl Project {
    /// No files yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a file; `path` is from the root of the repository, with `/`.
    pub fn add(&mut self, path: &str, constants: Constants) {
        if constants.is_empty() {
            return;
        }
        let path: Arc<str> = path.into();
        let (folder, stem) = split(&path);
        self.by_stem.entry(stem.into()).or_default().push(path.clone());
        self.by_folder.entry(folder.into()).or_default().push(path.clone());
        for name in constants.names.keys().filter(|name| name.contains('.')) {
            self.by_member.entry(name.clone()).or_default().push(path.clone());
        }
        for (field, value) in members::of(&constants) {
            let field = members::common_name(field).into();
            self.fields.entry(field).or_default().push((path.clone(), value));
        }
        for name in constants.pauses.keys() {
            self.by_pause.entry(name.clone()).or_default().push(path.clone());
        }
        self.files.insert(path, constants);
    }

    /// How many files have constants.
    #[must_use]
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Whether no file has any.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// What `item` of `module` is, imported by the file `from`; its place names the other file.
    #[must_use]
    pub fn resolve(&self, from: &str, module: &str, item: &str) -> Option<Value> {
        let parts: Vec<&str> = item.split('.').collect();
        self.resolve_path(from, Some(module), &parts)
    }

    /// The same for a path of names; without a module it is looked for in the same folder and,
    /// with its class, everywhere.
    pub(super) fn resolve_path(
        &self,
        from: &str,
        module: Option<&str>,
        parts: &[&str],
    ) -> Option<Value> {
        if let Some(module) = module {
            let mut segments = module_segments(from, module);
            for path in self.candidates(from, &segments) {
                if let Some(value) = self.in_file(path, parts) {
                    return Some(value);
                }
            }
            // `from app import config`, then `config.MAX`.
            if let [first, rest @ ..] = parts
                && !rest.is_empty()
            {
                segments.push((*first).to_owned());
                for path in self.candidates(from, &segments) {
                    if let Some(value) = self.in_file(path, rest) {
                        return Some(value);
                    }
                }
            }
        } else {
            let (folder, _) = split(from);
            for path in self.by_folder.get(folder).into_iter().flatten() {
                if path.as_ref() != from
                    && same_language(path, from)
                    && let Some(value) = self.in_file(path, parts)
                {
                    return Some(value);
                }
            }
        }
        // A class that is defined once is found wherever it is.
        if let [.., class, name] = parts
            && let Some([only]) =
                self.by_member.get(format!("{class}.{name}").as_str()).map(Vec::as_slice)
        {
            return self.in_file(only, &[class, name]);
        }
        None
    }

    /// What a field of this name usually is: what all that declare it say, or those nearest to the
    /// file that asks.
    pub(super) fn field(&self, from: &str, name: &str) -> Option<Value> {
        let all = self.fields.get(members::common_name(name).as_str())?;
        let all: Vec<_> = all.iter().filter(|(path, _)| same_language(path, from)).collect();
        let agreed = |all: &[&(Arc<str>, Value)]| {
            let (path, value) = all.first()?;
            let same = all.iter().all(|(_, other)| other.data == value.data);
            let place = Place { path: Some(path.clone()), line: value.place.line };
            same.then(|| value.clone().placed(place).at_most(Trust::Usual))
        };
        let near = |path: &str| common_prefix(path, from);
        let nearest = all.iter().map(|(path, _)| near(path)).max()?;
        let close: Vec<_> = all.iter().copied().filter(|(path, _)| near(path) == nearest).collect();
        agreed(&all).or_else(|| agreed(&close))
    }

    /// What the function of this name gives that is nearest to the file that asks, if one is.
    pub(super) fn pauses(&self, from: &str, name: &str) -> Option<&Pauses> {
        let all = self.by_pause.get(name)?.iter().filter(|path| same_language(path, from));
        let mut all: Vec<_> = all.map(|path| (common_prefix(path, from), path)).collect();
        all.sort_by_key(|found| std::cmp::Reverse(found.0));
        match all[..] {
            [(near, _), (other, _), ..] if near == other => None,
            [(_, path), ..] => self.files.get(path)?.pauses.get(name),
            [] => None,
        }
    }

    fn in_file(&self, path: &Arc<str>, parts: &[&str]) -> Option<Value> {
        let value = self.files.get(path)?.find(parts)?;
        let line = value.place.line;
        Some(value.placed(Place { path: Some(path.clone()), line }))
    }

    /// The files a module may be, nearest first: those whose path ends as the module does.
    fn candidates(&self, from: &str, segments: &[String]) -> Vec<&Arc<str>> {
        let Some(last) = segments.last() else { return Vec::new() };
        let mut found: Vec<(usize, &Arc<str>)> = Vec::new();
        let stems = self.by_stem.get(last.as_str()).into_iter().flatten();
        // A Go package is a folder.
        let folders = self
            .by_folder
            .iter()
            .filter(|(folder, _)| split_last(folder) == last)
            .flat_map(|(_, paths)| paths)
            .filter(|path| path.ends_with(".go"));
        for path in stems.chain(folders).take(256) {
            if !same_language(path, from) {
                continue;
            }
            let (folder, stem) = split(path);
            let whole = format!("{folder}/{stem}");
            let matching = whole
                .rsplit('/')
                .filter(|part| !part.is_empty())
                .zip(segments.iter().rev())
                .take_while(|(a, b)| a == b)
                .count();
            let folder_matching =
                folder.rsplit('/').zip(segments.iter().rev()).take_while(|(a, b)| a == b).count();
            let near = common_prefix(path, from).min(99);
            found.push((matching.max(folder_matching) * 100 + near, path));
        }
        found.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(b.1)));
        found.into_iter().take(16).map(|(_, path)| path).collect()
    }
}

/// Folder and name without extension; `index` and the like stand for their folder.
pub(crate) fn split(path: &str) -> (&str, &str) {
    let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
    let stem = file.split_once('.').map_or(file, |(stem, _)| stem);
    if matches!(stem, "index" | "__init__" | "mod") && !folder.is_empty() {
        let (up, name) = folder.rsplit_once('/').unwrap_or(("", folder));
        return (up, name);
    }
    (folder, stem)
}

fn split_last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn common_prefix(a: &str, b: &str) -> usize {
    a.split('/').zip(b.split('/')).take_while(|(a, b)| a == b).count()
}

fn same_language(a: &str, b: &str) -> bool {
    let group = |path: &str| match path.rsplit('.').next().unwrap_or_default() {
        "ts" | "tsx" | "js" | "jsx" | "mjs" | "cjs" | "mts" | "cts" => "js".to_owned(),
        "java" | "kt" | "kts" => "jvm".to_owned(),
        "py" | "pyi" => "py".to_owned(),
        other => other.to_owned(),
    };
    group(a) == group(b)
}

/// The parts of a module's name; relative ones are joined to the folder of the file.
fn module_segments(from: &str, module: &str) -> Vec<String> {
    let mut base: Vec<String> = Vec::new();
    let mut rest = module;
    let folder = from.rsplit_once('/').map_or("", |(folder, _)| folder);
    if module.starts_with("./") || module.starts_with("../") || module == "." || module == ".." {
        base = folder.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect();
    } else if module.starts_with('.') {
        // `..config` of Python: one dot is the folder itself.
        let dots = module.bytes().take_while(|b| *b == b'.').count();
        base = folder.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect();
        base.truncate(base.len().saturating_sub(dots - 1));
        rest = &module[dots..];
    }
    let slashes = rest.contains('/');
    let parts = rest.split(|c: char| c == '/' || c == ':' || c == '\\' || (!slashes && c == '.'));
    for part in parts {
        match part {
            "" | "." | "crate" | "self" | "@" | "~" => {}
            ".." | "super" => {
                base.pop();
            }
            _ => {
                let stem = [".js", ".ts", ".mjs", ".cjs", ".tsx"]
                    .iter()
                    .find_map(|ending| part.strip_suffix(ending))
                    .unwrap_or(part);
                base.push(stem.to_owned());
            }
        }
    }
    if base.last().is_some_and(|last| last == "index") {
        base.pop();
    }
    base
}
