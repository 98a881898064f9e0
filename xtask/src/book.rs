//! The docs as a book: its table of contents lists every page, and every link leads somewhere.
//!
//! Headings get the names that GitHub and mdbook give them, so that a link with `#name` works in
//! both.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::Result;

use crate::process::files;

/// The table of contents.
const SUMMARY: &str = "SUMMARY.md";

/// What is wrong with the book in `docs`.
pub(crate) fn offences(docs: &Path) -> Result<Vec<String>> {
    let mut pages = BTreeMap::new();
    for path in files(docs, ".md")? {
        pages.insert(normal(&path), fs::read_to_string(&path)?);
    }
    let mut offences = missing(docs, &pages);
    for (page, text) in &pages {
        let name = page.strip_prefix(normal(docs)).unwrap_or(page).display().to_string();
        for (line, target) in links(text) {
            if let Some(why) = broken(page, &target, &pages) {
                offences.push(format!("docs/{name}:{line}: {target}: {why}"));
            }
        }
    }
    Ok(offences)
}

/// Pages that the table of contents leaves out, or lists twice.
fn missing(docs: &Path, pages: &BTreeMap<PathBuf, String>) -> Vec<String> {
    let summary = normal(&docs.join(SUMMARY));
    let Some(text) = pages.get(&summary) else {
        return vec![format!("docs/{SUMMARY} is missing")];
    };
    let mut listed: BTreeMap<PathBuf, usize> = BTreeMap::new();
    for (_, target) in links(text) {
        *listed.entry(normal(&docs.join(target))).or_default() += 1;
    }
    let out = pages.keys().filter(|page| **page != summary).filter_map(|page| {
        let why = match listed.get(page) {
            None => "does not list it",
            Some(1) => return None,
            Some(_) => "lists it more than once",
        };
        let name = page.strip_prefix(normal(docs)).unwrap_or(page).display();
        Some(format!("docs/{name}: docs/{SUMMARY} {why}"))
    });
    out.collect()
}

/// Why a link of a page leads nowhere; `None`: it leads somewhere, or out of the repository.
fn broken(page: &Path, target: &str, pages: &BTreeMap<PathBuf, String>) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let file = match path {
        "" => page.to_owned(),
        path => normal(&page.parent().unwrap_or(page).join(path)),
    };
    if !file.exists() {
        return Some("there is no such file".to_owned());
    }
    let text = pages.get(&file).filter(|_| !anchor.is_empty())?;
    (!anchors(text).contains(anchor)).then(|| format!("the page has no heading `{anchor}`"))
}

/// A path without `.` and `..`.
fn normal(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}

/// The lines of a page outside its blocks of code, numbered from 1.
fn prose(page: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fence: Option<&str> = None;
    page.lines().enumerate().filter_map(move |(i, line)| {
        let text = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| text.starts_with(mark));
        match (fence, mark) {
            (None, None) => Some((i + 1, line)),
            (None, Some(mark)) => {
                let ticks = text.len() - text.trim_start_matches(&mark[..1]).len();
                fence = Some(&text[..ticks]);
                None
            }
            (Some(open), _) => {
                if text.trim_end() == open {
                    fence = None;
                }
                None
            }
        }
    })
}

/// Targets of the links of a page with their lines; what stands in `code` is none.
fn links(page: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (number, line) in prose(page) {
        let line = without_code(line);
        let mut rest = line.as_str();
        while let Some(at) = rest.find("](") {
            rest = &rest[at + 2..];
            let Some(end) = rest.find(')') else { break };
            // A title may stand behind the target.
            let target = rest[..end].split_whitespace().next().unwrap_or_default();
            found.push((number, target.trim_matches(['<', '>']).to_owned()));
            rest = &rest[end..];
        }
        // `[name]: target`
        if let Some((name, target)) = line.trim_start().split_once("]:")
            && name.starts_with('[')
            && !name.starts_with("[^")
            && let Some(target) = target.split_whitespace().next()
        {
            found.push((number, target.to_owned()));
        }
    }
    found
}

/// A line with what stands between single backticks taken out.
fn without_code(line: &str) -> String {
    let parts: Vec<&str> = line.split('`').collect();
    // An odd backtick opens nothing.
    let paired = parts.len() - usize::from(parts.len().is_multiple_of(2));
    let kept = parts.iter().enumerate().filter(|(i, _)| i.is_multiple_of(2) || *i >= paired);
    kept.map(|(_, part)| *part).collect()
}

/// The names of a page's headings, and of the anchors it sets itself.
fn anchors(page: &str) -> BTreeSet<String> {
    let mut times: BTreeMap<String, usize> = BTreeMap::new();
    let mut names = BTreeSet::new();
    for (_, line) in prose(page) {
        let hashes = line.len() - line.trim_start_matches('#').len();
        if (1..=6).contains(&hashes) && line[hashes..].starts_with(' ') {
            let name = slug(&line[hashes..]);
            let n = times.entry(name.clone()).or_default();
            names.insert(if *n == 0 { name } else { format!("{name}-{n}") });
            *n += 1;
        }
        for mark in ["id=\"", "name=\""] {
            let set = line.split(mark).skip(1).filter_map(|rest| rest.split('"').next());
            names.extend(set.map(str::to_owned));
        }
    }
    names
}

/// The name that a heading gets.
fn slug(heading: &str) -> String {
    // Of a link only its text counts.
    let mut text = heading.trim().trim_end_matches('#').trim().to_owned();
    while let Some(at) = text.find("](") {
        let Some(end) = text[at..].find(')') else { break };
        text.replace_range(at..=at + end, "");
    }
    let kept = text.to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::root;

    /// The book itself.
    #[test]
    fn the_book_is_whole() {
        assert_eq!(offences(&root().join("docs")).unwrap(), [""; 0]);
    }

    fn book(pages: &[(&str, &str)]) -> Vec<String> {
        let folder = std::env::temp_dir().join(format!("damper-book-{}", std::process::id()));
        let folder = folder.join(pages.len().to_string());
        fs::create_dir_all(folder.join("sub")).unwrap();
        for (name, text) in pages {
            fs::write(folder.join(name), text).unwrap();
        }
        let found = offences(&folder).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        found
    }

    #[test]
    fn what_is_missing_is_named() {
        let found = book(&[
            ("SUMMARY.md", "# Summary\n- [a](a.md)\n- [a again](a.md)\n- [gone](gone.md)\n"),
            ("a.md", "# One thing\n[b](sub/b.md#two-things) [c](#one-thing) [d](#nowhere)\n"),
            (
                "sub/b.md",
                "## Two things\n[up](../a.md#one)\n```\n[not](a-link.md)\n```\n`[nor](x)`",
            ),
        ]);
        assert_eq!(
            found,
            [
                "docs/a.md: docs/SUMMARY.md lists it more than once",
                "docs/sub/b.md: docs/SUMMARY.md does not list it",
                "docs/SUMMARY.md:4: gone.md: there is no such file",
                "docs/a.md:2: #nowhere: the page has no heading `nowhere`",
                "docs/sub/b.md:2: ../a.md#one: the page has no heading `one`",
            ]
        );
        assert_eq!(book(&[]), ["docs/SUMMARY.md is missing"]);
    }

    #[test]
    fn headings_are_named_as_on_github() {
        for (heading, name) in [
            (" `kind`: `token-bucket`", "kind-token-bucket"),
            (" What surprises people", "what-surprises-people"),
            (" A [link](x.md) in it", "a-link-in-it"),
            (" RAF & more, 100 %", "raf--more-100-"),
        ] {
            assert_eq!(slug(heading), name);
        }
        let twice = anchors("# A\n## A\n```\n# no\n```\n<a id=\"set\"></a>");
        assert_eq!(twice.into_iter().collect::<Vec<_>>(), ["a", "a-1", "set"]);
    }

    #[test]
    fn a_longer_fence_holds_a_shorter_one() {
        let page = "````\n```\n[no](x)\n````\n[yes](y \"title\")\n[ref]: z\n";
        assert_eq!(links(page), [(5, "y".to_owned()), (6, "z".to_owned())]);
        assert_eq!(without_code("a `b` c ` d"), "a  c  d");
    }
}
