//! The tables of the published study.

use super::{cell, name_cell, section, table};
use crate::format;
use crate::html::El;
use crate::result::study::{Bucket, Share, Study};
use crate::svg::rows::{Row, Rows};

/// Projects in the table; the rest is counted.
const PROJECTS: usize = 500;
/// Names in a chart; the rest is added up.
const NAMES: usize = 12;

/// The part; nothing if there is no policy to count.
pub(crate) fn part(study: &Study) -> Option<El> {
    if study.policies == 0 {
        return None;
    }
    let lead = "Counted as the published study of 200 repositories did: production code, what \
                somebody wrote, the same lines once in a project. The mark on a bar is what it \
                found.";
    let patterns = shares(
        "anti-patterns",
        "Projects with an anti-pattern",
        study.anti_patterns.iter().collect(),
    );
    let policies = shares(
        "policy-shares",
        "Policies that …",
        vec![&study.over_five_retries, &study.immediate, &study.jittered],
    );
    let mut part = section("study", "Beside the published study")
        .child(El::new("p").class("lead").text(lead))
        .child(patterns)
        .child(policies)
        .child(counts("attempts", "Attempts in total", "policies", &study.attempts))
        .child(counts("delays", "Kind of delay", "policies", &study.delays))
        .child(counts("retried-by", "Who retries", "policies", &top(&study.by)));
    if study.languages.len() > 1 {
        part.push(counts("languages", "Language", "policies", &study.languages));
    }
    Some(part)
}

/// The projects, if there are several.
pub(crate) fn projects(study: &Study) -> Option<El> {
    if study.projects.is_empty() {
        return None;
    }
    let rows = study.projects.iter().take(PROJECTS).map(|project| {
        vec![
            name_cell(&project.name),
            cell(format::count(project.files)),
            cell(format::count(project.lines)),
            cell(format::count(project.skipped)),
            cell(format::count(project.policies)),
            cell(format::count(project.rules.len() as u64)),
        ]
    });
    let columns = ["project", "files", "lines", "left out", "policies", "rules that fired"];
    let mut part = section("projects", "Projects").child(table("projects", &columns, rows));
    if study.projects.len() > PROJECTS {
        part.push(El::new("p").class("note").text(format!(
            "{} more are not shown; --json has all of them.",
            format::count((study.projects.len() - PROJECTS) as u64)
        )));
    }
    Some(part)
}

fn shares(id: &'static str, title: &str, shares: Vec<&Share>) -> El {
    let rows = shares.iter().map(|share| Row {
        name: share.name.clone(),
        fraction: share.share.unwrap_or(0.0),
        text: match share.share {
            Some(value) => format!("{} ({} of {})", format::percent(value), share.count, share.of),
            None => format::NONE.to_owned(),
        },
        before: share.published,
    });
    let description = shares
        .iter()
        .map(|share| {
            let value = share.share.map_or(format::NONE.to_owned(), format::percent);
            let published = share
                .published
                .map_or(String::new(), |value| format!(", published {}", format::percent(value)));
            format!("{}: {value}{published}", share.name)
        })
        .collect::<Vec<_>>()
        .join("; ");
    Rows {
        id,
        title: title.to_owned(),
        aside: "share, and the published one".to_owned(),
        description,
        rows: rows.collect(),
    }
    .draw()
}

fn counts(id: &'static str, title: &str, aside: &str, buckets: &[Bucket]) -> El {
    let all: u64 = buckets.iter().map(|bucket| bucket.count).sum();
    let most = buckets.iter().map(|bucket| bucket.count).max().unwrap_or(0).max(1);
    let rows = buckets.iter().map(|bucket| Row {
        name: bucket.name.clone(),
        fraction: bucket.count as f64 / most as f64,
        text: match bucket.count {
            0 => "0".to_owned(),
            count => format!(
                "{} ({})",
                format::count(count),
                format::percent(count as f64 / all.max(1) as f64)
            ),
        },
        before: None,
    });
    let description = buckets
        .iter()
        .map(|bucket| format!("{}: {}", bucket.name, bucket.count))
        .collect::<Vec<_>>()
        .join(", ");
    Rows { id, title: title.to_owned(), aside: aside.to_owned(), description, rows: rows.collect() }
        .draw()
}

/// The most frequent names, and the others together.
fn top(buckets: &[Bucket]) -> Vec<Bucket> {
    let mut shown: Vec<_> = buckets.iter().take(NAMES).cloned().collect();
    let rest: u64 = buckets.iter().skip(NAMES).map(|bucket| bucket.count).sum();
    if rest > 0 {
        shown.push(Bucket { name: "others".to_owned(), count: rest });
    }
    shown
}
