//! A whole repository: charts and kustomizations are known by their files, and what one file says
//! is read with what the others put into it.

mod charts;
mod config_maps;
mod overlays;
pub(crate) mod references;
mod renames;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use rayon::prelude::*;

use crate::Reading;
use crate::document::{self, Document, Syntax, Trouble, helm, kustomize};
use crate::format;
use crate::ours::looks_ours;
use crate::reading::Broken;
use charts::Charts;

/// A file whose values others may need.
struct Parsed<'a> {
    path: &'a str,
    documents: Vec<Document>,
    open: Vec<(u32, String)>,
}

/// A file that was read by itself.
struct Single {
    reading: Reading,
    documents: Option<Vec<Document>>,
    open: Vec<(u32, String)>,
}

/// The folder of a path; empty for the root.
fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// A path from a folder, without `.` and `..`.
pub(crate) fn join(folder: &str, path: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// The name of a file.
fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// What each file of a repository says, in the order of the files. Paths are from the root of the
/// repository, with `/`; each comes with its text.
#[must_use]
pub fn read_tree(files: &[(String, String)]) -> Vec<(String, Reading)> {
    let paths: Vec<&str> = files.iter().map(|(path, _)| path.as_str()).collect();
    read_tree_with(&paths, |at| files.get(at).map(|(_, text)| Cow::Borrowed(text.as_str())))
}

/// As [`read_tree`], with texts that are asked for when they are needed: each once, from several
/// threads, and dropped as soon as it is parsed. Files without a text are left out.
pub fn read_tree_with<'t>(
    paths: &[&str],
    text: impl Fn(usize) -> Option<Cow<'t, str>> + Sync,
) -> Vec<(String, Reading)> {
    // Charts go first: other files are filled in from them.
    let early: HashMap<usize, Cow<'t, str>> = (0..paths.len())
        .filter(|at| paths.get(*at).is_some_and(|path| charts::is_part(path)))
        .filter_map(|at| Some((at, text(at)?)))
        .collect();
    let charts =
        Charts::of(early.iter().filter_map(|(at, text)| Some((*paths.get(*at)?, &**text))));
    let overlaid = paths.iter().any(|path| kustomize::is_named(path));
    let one = |(at, path): (usize, &&str)| {
        let text = match early.get(&at) {
            Some(known) => Cow::Borrowed(&**known),
            None => text(at)?,
        };
        single(path, &text, &charts, overlaid)
    };
    let singles: Vec<_> = paths.par_iter().enumerate().map(one).collect();
    drop(early);
    let (mut readings, mut kept, mut at_of_kept) = (Vec::new(), Vec::new(), Vec::new());
    for (path, single) in paths.iter().zip(singles) {
        let Some(Single { reading, documents, open }) = single else { continue };
        if let Some(documents) = documents {
            at_of_kept.push(readings.len());
            kept.push(Parsed { path, documents, open });
        }
        readings.push(((*path).to_owned(), reading));
    }
    let mut changed = config_maps::fill_in(&mut kept);
    changed.extend(references::fill_in(&mut kept));
    let mut patches = overlays::read(&kept);
    let (renamed, open) = renames::apply(&mut kept);
    changed.extend(renamed);
    patches.extend(open);
    changed.sort_unstable();
    changed.dedup();
    for at in changed {
        let known = at_of_kept.get(at).and_then(|at| readings.get_mut(*at));
        if let (Some(file), Some((_, reading))) = (kept.get(at), known) {
            let broken = reading.broken.take();
            *reading = Reading { broken, ..said(file.path, &file.documents, &file.open) };
        }
    }
    put_patches(&mut readings, patches);
    readings
}

/// Adds what kustomizations change.
fn put_patches(readings: &mut [(String, Reading)], patches: Vec<(String, Reading)>) {
    let at: HashMap<String, usize> =
        readings.iter().enumerate().map(|(at, (path, _))| (path.clone(), at)).collect();
    let mut cleared = HashSet::new();
    for (path, more) in patches {
        let Some(at) = at.get(&path) else { continue };
        let Some((_, reading)) = readings.get_mut(*at) else { continue };
        // A patch says nothing by itself: what it leaves out is not left to defaults.
        if !more.formats.is_empty() && cleared.insert(*at) {
            reading.layers.clear();
            reading.facts.clear();
            reading.calls.clear();
        }
        add(reading, more);
    }
}

/// What documents say by themselves.
fn said(path: &str, documents: &[Document], open: &[(u32, String)]) -> Reading {
    let mut reading = format::read(path, documents);
    if !reading.formats.is_empty() {
        reading.open.extend(open.iter().cloned());
    }
    reading
}

/// Reads one file, and keeps its values if other files may need them.
fn single(path: &str, text: &str, charts: &Charts, overlaid: bool) -> Option<Single> {
    let (syntax, Text { documents, open, troubles }) = parse(path, text, charts)?;
    let mut reading = said(path, &documents, &open);
    if !troubles.is_empty() {
        let ours = !reading.formats.is_empty() || looks_ours(syntax, text);
        let mistakes = troubles.into_iter().map(|trouble| (trouble.line, trouble.why)).collect();
        reading.broken = Some(Broken { ours, mistakes });
    }
    let kept = syntax == Syntax::Yaml
        && documents.iter().any(|document| {
            overlaid && overlays::takes_part(path, document)
                || config_maps::takes_part(document)
                || references::takes_part(document)
        });
    Some(Single { reading, documents: kept.then_some(documents), open })
}

fn add(reading: &mut Reading, more: Reading) {
    for id in more.formats {
        if !reading.formats.contains(&id) {
            reading.formats.push(id);
        }
    }
    reading.layers.extend(more.layers);
    reading.facts.extend(more.facts);
    reading.services.extend(more.services);
    reading.calls.extend(more.calls);
    reading.routes.extend(more.routes);
    reading.builds.extend(more.builds);
    reading.open.extend(more.open);
}

/// A text as values.
#[derive(Default)]
struct Text {
    documents: Vec<Document>,
    open: Vec<(u32, String)>,
    troubles: Vec<Trouble>,
}

impl From<helm::Filled> for Text {
    fn from(filled: helm::Filled) -> Self {
        let helm::Filled { documents, open, troubles } = filled;
        Self { documents, open, troubles }
    }
}

fn parse(path: &str, text: &str, charts: &Charts) -> Option<(Syntax, Text)> {
    let syntaxes = Syntax::of_path(path);
    let syntax = *syntaxes.first()?;
    let template = syntax == Syntax::Yaml && text.contains("{{");
    if let Some(chart) = charts.around(path).filter(|_| template) {
        let mut filled = helm::documents(text, &chart);
        // Not the file is wrong, but what was put in for what nobody can know before it runs.
        for trouble in filled.troubles.drain(..) {
            let why = format!("filled in from the chart, {}", trouble.why);
            filled.open.push((trouble.line, why));
        }
        filled.open.sort();
        return Some((syntax, filled.into()));
    }
    let (mut documents, mut troubles) = match syntax {
        Syntax::Yaml => document::yaml::parse_each(text),
        _ => document::parse(syntax, text),
    };
    for other in syntaxes.iter().skip(1) {
        // Which of them it is shows in what a format recognises.
        documents.extend(document::parse(*other, text).0);
        troubles.clear();
    }
    if template && !troubles.is_empty() {
        // A template of something else, such as an operator's.
        return Some((syntax, helm::documents(text, &helm::Chart::default()).into()));
    }
    Some((syntax, Text { documents, open: Vec::new(), troubles }))
}

#[cfg(test)]
mod tests;
