//! `damper scan --study`, for people.

use std::fmt::Write as _;

use damper_report::result::study::{Bucket, Share, Study};

use super::{BOLD, DIM, colour, count, paint, percent, thousands};

/// Width of a bar.
const BAR: usize = 30;
/// Names of one table.
const NAMES: usize = 12;

pub(crate) fn study(study: &Study) -> String {
    let mut out = String::new();
    let policies = if study.policies == 1 { "policy" } else { "policies" };
    let _ = writeln!(
        out,
        "{}: {} {policies} in {} of them, in production code; {} left out",
        paint(BOLD, &count(study.projects.len(), "project")),
        thousands(study.policies),
        thousands(study.projects_with_policies),
        count(usize::try_from(study.duplicates).unwrap_or(usize::MAX), "duplicate")
    );
    let of_policies = [&study.over_five_retries, &study.immediate, &study.jittered];
    shares(&mut out, "projects with", study.anti_patterns.iter());
    shares(&mut out, "policies with", of_policies.into_iter());
    buckets(&mut out, "attempts in total", &study.attempts);
    buckets(&mut out, "kind of delay", &study.delays);
    buckets(&mut out, "who retries", &study.by);
    buckets(&mut out, "language", &study.languages);
    if study.projects.len() > 1 {
        let name = |name: &str| name.chars().count();
        let width = study.projects.iter().map(|p| name(&p.name)).max().unwrap_or(0).max(7);
        let head = format!(
            "{:width$}  {:>9}  {:>12}  {:>8}  rules",
            "project", "files", "lines", "policies"
        );
        let _ = writeln!(out, "\n{}", paint(DIM, &head));
        for project in &study.projects {
            let line = format!(
                "{:width$}  {:>9}  {:>12}  {:>8}  {}",
                project.name,
                thousands(project.files),
                thousands(project.lines),
                thousands(project.policies),
                project.rules.join(" ")
            );
            let _ = writeln!(out, "{}", line.trim_end());
        }
    }
    if study.partial {
        let said = "interrupted: this is what had been found until then";
        let _ = writeln!(out, "{}", paint(colour("vulnerable"), said));
    }
    out
}

fn shares<'s>(out: &mut String, of: &str, shares: impl Iterator<Item = &'s Share> + Clone) {
    let width = shares.clone().map(|share| share.name.chars().count()).max().unwrap_or(0);
    let width = width.max(of.len());
    let head = format!("{of:width$}  {:>13}  {:>8}  {:>9}", "", "share", "published");
    let _ = writeln!(out, "\n{}", paint(DIM, &head));
    for share in shares {
        let print = |share: Option<f64>| share.map_or("–".to_owned(), percent);
        let number = format!("{} of {}", thousands(share.count), thousands(share.of));
        let _ = writeln!(
            out,
            "{:width$}  {number:>13}  {:>8}  {:>9}",
            share.name,
            print(share.share),
            print(share.published)
        );
    }
}

fn buckets(out: &mut String, name: &str, buckets: &[Bucket]) {
    let most = buckets.iter().map(|bucket| bucket.count).max().unwrap_or(0).max(1);
    let shown = &buckets[..buckets.len().min(NAMES)];
    let width = shown.iter().map(|bucket| bucket.name.chars().count()).max().unwrap_or(0);
    let width = width.max(name.len());
    let _ = writeln!(out, "\n{}", paint(DIM, &format!("{name:width$}  {:>8}", "policies")));
    for bucket in shown {
        // At least one block for what occurs.
        let length = (bucket.count as f64 / most as f64 * BAR as f64).ceil() as usize;
        let line = format!(
            "{:width$}  {:>8}  {}",
            bucket.name,
            thousands(bucket.count),
            "█".repeat(length)
        );
        let _ = writeln!(out, "{}", line.trim_end());
    }
    let rest: u64 = buckets.iter().skip(NAMES).map(|bucket| bucket.count).sum();
    if rest > 0 {
        let _ = writeln!(out, "{:width$}  {:>8}", "others", thousands(rest));
    }
}
