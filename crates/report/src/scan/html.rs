//! A scan or a study as one self-contained page.

use crate::format;
use crate::html::El;
use crate::page;
use crate::result::scan::{Coverage, SEVERITIES, Scan, UnreadPlace};
use crate::result::study::Study;
use crate::section::{findings, policies, study, verdict};

/// Places of what could not be read that are listed.
const PLACES: usize = 50;

/// The page of a scan: its findings with their lines, its policies, and the tables of the study
/// for this one repository.
#[must_use]
pub fn page(scan: &Scan, tables: &Study) -> String {
    let name = scan.roots.join(" ");
    let counted = scan.findings.iter().filter(|finding| finding.counts());
    let mut by = [0_usize; SEVERITIES.len()];
    for finding in counted {
        if let Some(at) = SEVERITIES.iter().position(|one| *one == finding.severity) {
            by[at] += 1;
        }
    }
    let sentence = match by.iter().sum() {
        0 => "Nothing to find fault with".to_owned(),
        1 => "1 finding".to_owned(),
        count => format!("{} findings", format::count(count as u64)),
    };
    let facts = [
        ("errors", format::count(by[0] as u64)),
        ("warnings", format::count(by[1] as u64)),
        ("notes", format::count(by[2] as u64)),
        ("policies", format::count(scan.policies.len() as u64)),
        ("files read", format::count(scan.coverage.files)),
        ("lines", format::count(scan.coverage.lines)),
    ];
    let mut parts: Vec<El> = Vec::new();
    parts.extend(verdict::partial(scan.partial));
    parts.push(head(
        "Scan",
        &name,
        &format!("{sentence} in {} code.", scan.scopes.join(", ")),
        &facts,
    ));
    parts.extend(findings::part(scan));
    parts.extend(policies::part(&scan.policies));
    parts.extend(study::part(tables));
    let telling = scan.unread.telling().take(PLACES).map(UnreadPlace::sentence);
    let notes: Vec<_> = scan.notes.iter().cloned().chain(telling).collect();
    parts.push(origin(&scan.version, &notes, coverage(scan)));
    page::page(&title("Scan", &name), parts)
}

/// The page of a study.
#[must_use]
pub fn study_page(tables: &Study) -> String {
    let name = match tables.projects.as_slice() {
        [one] => one.name.clone(),
        many => format!("{} projects", many.len()),
    };
    let facts = [
        ("projects", format::count(tables.projects.len() as u64)),
        ("with policies", format::count(tables.projects_with_policies)),
        ("policies", format::count(tables.policies)),
        ("duplicates left out", format::count(tables.duplicates)),
        ("lines", format::count(tables.projects.iter().map(|project| project.lines).sum())),
    ];
    let sentence = format!(
        "{} retry policies that somebody wrote, in production code.",
        format::count(tables.policies)
    );
    let mut parts: Vec<El> = Vec::new();
    parts.extend(verdict::partial(tables.partial));
    parts.push(head("Study", &name, &sentence, &facts));
    parts.extend(study::part(tables));
    parts.extend(study::projects(tables));
    parts.push(origin(&tables.version, &[], Vec::new()));
    page::page(&title("Study", &name), parts)
}

fn title(kind: &str, name: &str) -> String {
    format!("{kind}: {} – Damper", format::clip(name, 80))
}

fn head(kind: &'static str, name: &str, sentence: &str, facts: &[(&str, String)]) -> El {
    let kicker = El::new("h1")
        .child(El::new("span").text(kind))
        .text(" ")
        .child(El::new("span").class("system").text(format::clip(name, 200)));
    let fact = |(name, value): &(&str, String)| {
        El::new("div")
            .child(El::new("dt").text(*name))
            .child(El::new("dd").class("value").text(value.clone()))
    };
    El::new("header")
        .child(kicker)
        .child(El::new("p").class("verdict").text(sentence))
        .child(El::new("dl").class("facts").children(facts.iter().map(fact)))
}

/// What was read and what was not.
fn coverage(scan: &Scan) -> Vec<(String, String)> {
    let Coverage { languages, broken, skipped, .. } = &scan.coverage;
    let mut all: Vec<_> = languages
        .iter()
        .map(|(name, of)| {
            let files = if of.files == 1 { "file" } else { "files" };
            let read =
                format!("{} {files}, {} lines", format::count(of.files), format::count(of.lines));
            (name.clone(), read)
        })
        .collect();
    if *broken > 0 {
        all.push(("with syntax errors".to_owned(), format::count(*broken)));
    }
    all.extend(
        skipped.iter().map(|(why, count)| (format!("left out: {why}"), format::count(*count))),
    );
    let silenced = scan.findings.iter().filter(|finding| finding.silenced.is_some()).count();
    let known = scan.findings.iter().filter(|finding| finding.known).count();
    for (name, count) in [
        ("silenced", silenced as u64),
        ("known (baseline)", known as u64),
        ("gone from the baseline", scan.stale),
        ("policies elsewhere", scan.unlisted.policies_elsewhere),
        ("implicit policies", scan.unlisted.implicit_policies),
        ("configuration with mistakes", scan.unread.broken_files),
        ("other data with mistakes", scan.unread.other_broken_files),
        ("values not resolved", scan.unread.unresolved),
    ] {
        if count > 0 {
            all.push((name.to_owned(), format::count(count)));
        }
    }
    all
}

fn origin(version: &str, notes: &[String], facts: Vec<(String, String)>) -> El {
    let fact = |(name, value): (String, String)| {
        El::new("div").child(El::new("dt").text(name)).child(El::new("dd").text(value))
    };
    let first = ("damper".to_owned(), version.to_owned());
    let facts = [first].into_iter().chain(facts).map(fact);
    let mut footer = El::new("footer")
        .attr("id", "provenance")
        .child(El::new("h2").text("What was read"))
        .child(El::new("dl").class("origin").children(facts));
    if !notes.is_empty() {
        footer.push(El::new("h3").text("Notes"));
        let items = notes.iter().map(|note| El::new("li").text(note.clone()));
        footer.push(El::new("ul").children(items));
    }
    footer
}
