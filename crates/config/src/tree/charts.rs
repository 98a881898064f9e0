//! The Helm charts of a repository with their values. A chart in the `charts` folder of another is
//! filled in with what that one says under its name, and with its `global`.

use std::collections::HashMap;

use super::{file_name, folder};
use crate::document::{self, Entry, Node, Syntax, Value, helm};

/// A chart of the repository.
struct Chart {
    name: String,
    values: Option<Node>,
}

/// All charts, by their folder.
pub(super) struct Charts {
    by_folder: HashMap<String, Chart>,
}

/// Charts in charts that are followed.
const MAX_PARENTS: usize = 8;

/// Whether a file is a part of a chart that others are filled in from.
pub(super) fn is_part(path: &str) -> bool {
    matches!(file_name(path), "Chart.yaml" | "values.yaml" | "values.yml")
}

impl Charts {
    /// From the files of a repository that [`is_part`] lets through.
    pub(super) fn of<'f>(files: impl Iterator<Item = (&'f str, &'f str)>) -> Self {
        let root = |text: &str| document::parse(Syntax::Yaml, text).0.into_iter().next();
        let (charts, values): (Vec<_>, Vec<_>) =
            files.partition(|(path, _)| file_name(path) == "Chart.yaml");
        let mut by_folder = HashMap::new();
        for (path, text) in charts {
            let name = root(text).and_then(|one| Some(one.root.get("name")?.text()?.to_owned()));
            let fallback = file_name(folder(path));
            let name = name.unwrap_or_else(|| fallback.to_owned());
            by_folder.insert(folder(path).to_owned(), Chart { name, values: None });
        }
        for (path, text) in values {
            if let Some(chart) = by_folder.get_mut(folder(path)) {
                chart.values = root(text).map(|one| one.root);
            }
        }
        let mut charts = Self { by_folder };
        charts.hand_down();
        charts
    }

    /// Puts what a chart says of a chart in it into that one's values, the outermost first.
    fn hand_down(&mut self) {
        let mut folders: Vec<_> = self.by_folder.keys().cloned().collect();
        folders.sort_by_key(|folder| (folder.len(), folder.clone()));
        for inner in folders {
            let Some((outer, own)) = inner.rsplit_once("charts/") else { continue };
            let outer = outer.trim_end_matches('/');
            if own.contains('/') || inner.matches("charts/").count() > MAX_PARENTS {
                continue;
            }
            let Some(parent) = self.by_folder.get(outer).and_then(|one| one.values.as_ref()) else {
                continue;
            };
            let name = self.by_folder.get(&inner).map_or(own, |chart| chart.name.as_str());
            let said = [name, own].iter().find_map(|name| parent.get(name)).cloned();
            let global = parent.get("global").cloned();
            let Some(chart) = self.by_folder.get_mut(&inner) else { continue };
            let empty = Node { value: Value::Map(Vec::new()), lines: [1, 1] };
            let values = chart.values.get_or_insert(empty);
            if let Some(said) = said {
                over(values, &said);
            }
            if let Some(value) = global {
                let line = value.lines[0];
                let more = Value::Map(vec![Entry { key: "global".into(), line, value }]);
                over(values, &Node { value: more, lines: [line, line] });
            }
        }
    }

    /// The chart whose template a file is.
    pub(super) fn around(&self, path: &str) -> Option<helm::Chart<'_>> {
        let at = |(at, _): (usize, &str)| self.by_folder.get(path.get(..at)?);
        let chart = path.match_indices("/templates/").filter_map(at).last();
        let root = || self.by_folder.get("").filter(|_| path.starts_with("templates/"));
        let chart = chart.or_else(root)?;
        Some(helm::Chart { name: &chart.name, values: chart.values.as_ref() })
    }
}

/// Writes values over others: maps are merged, `null` takes away, all else is replaced.
fn over(values: &mut Node, said: &Node) {
    let (Value::Map(entries), Value::Map(more)) = (&mut values.value, &said.value) else {
        values.clone_from(said);
        return;
    };
    for entry in more {
        match entries.iter().position(|one| one.key == entry.key) {
            Some(at) if entry.value.is_null() => {
                entries.remove(at);
            }
            Some(at) => {
                if let Some(one) = entries.get_mut(at) {
                    over(&mut one.value, &entry.value);
                }
            }
            None => entries.push(entry.clone()),
        }
    }
}
