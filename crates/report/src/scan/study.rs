//! The tables of the published study, for one repository or many: what is counted as it did
//! (production code, what somebody wrote, the same lines once in a project).

use std::collections::{BTreeMap, BTreeSet};

use crate::result::scan::{FoundPolicy, Scan};
use crate::result::study::{Bucket, Project, Share, Study};

/// Anti-patterns of the published study with the rule that finds each, and the share of projects
/// with policies that it found there.
const PUBLISHED: [(&str, &str, f64); 5] = [
    ("no-backoff", "no backoff", 0.609),
    ("missing-jitter", "missing jitter", 0.957),
    ("aggressive-retry", "aggressive retry", 0.304),
    ("fixed-numbers", "static configuration", 1.0),
    ("no-coordination", "no coordination across services", 1.0),
];
/// Its shares of policies: more than five retries, no wait, and one of 113 with jitter.
const PUBLISHED_OVER_FIVE: f64 = 0.438;
const PUBLISHED_IMMEDIATE: f64 = 0.310;
const PUBLISHED_JITTERED: f64 = 1.0 / 113.0;

/// Columns of the histogram of attempts: up to which total, and its name.
const ATTEMPTS: [(u32, &str); 9] = [
    (1, "1"),
    (2, "2"),
    (3, "3"),
    (4, "4"),
    (5, "5"),
    (6, "6"),
    (10, "7–10"),
    (20, "11–20"),
    (u32::MAX, "over 20"),
];
const ENDLESS: &str = "no end";
const NOT_KNOWN: &str = "not known";

/// The tables over scans, each of one project with its name.
#[must_use]
pub fn study(version: &str, scans: &[(String, &Scan)]) -> Study {
    let mut study = Study { version: version.to_owned(), ..Study::default() };
    let mut counted: Vec<&FoundPolicy> = Vec::new();
    for (name, scan) in scans {
        let (policies, duplicates) = policies(scan);
        study.partial |= scan.partial;
        study.projects.push(Project {
            name: name.clone(),
            files: scan.coverage.files,
            lines: scan.coverage.lines,
            skipped: scan.coverage.skipped.values().sum(),
            policies: policies.len() as u64,
            duplicates,
            rules: rules(scan),
        });
        counted.extend(policies);
    }
    let sum = |of: fn(&Project) -> u64| study.projects.iter().map(of).sum();
    study.policies = sum(|project| project.policies);
    study.duplicates = sum(|project| project.duplicates);
    let with: Vec<_> = study.projects.iter().filter(|project| project.policies > 0).collect();
    study.projects_with_policies = with.len() as u64;
    study.anti_patterns = anti_patterns(&with);

    let totals: Vec<_> = counted.iter().map(|policy| total(policy)).collect();
    let known = totals.iter().flatten().count() as u64;
    let over = totals.iter().flatten().filter(|total| **total > 6).count() as u64;
    study.over_five_retries =
        Share::new("more than five retries", over, known, Some(PUBLISHED_OVER_FIVE));
    let of_all = |name: &str, fits: fn(&FoundPolicy) -> bool, published| {
        let count = counted.iter().filter(|policy| fits(policy)).count() as u64;
        Share::new(name, count, counted.len() as u64, Some(published))
    };
    study.immediate =
        of_all("no wait between attempts", |p| p.delay.kind == "none", PUBLISHED_IMMEDIATE);
    study.jittered = of_all("waits are spread", jittered, PUBLISHED_JITTERED);
    study.attempts = histogram(&counted, &totals);
    study.delays = by_count(counted.iter().map(|policy| policy.delay.kind.as_str()));
    study.by = by_count(counted.iter().map(|policy| {
        if policy.by == "library" { policy.name.as_str() } else { policy.by.as_str() }
    }));
    study.languages = by_count(counted.iter().map(|policy| policy.language.as_str()));
    study
}

/// The policies that count, and how many are left out because the same lines were there before.
fn policies(scan: &Scan) -> (Vec<&FoundPolicy>, u64) {
    let mut seen = BTreeSet::new();
    let mut duplicates = 0;
    let counts = |policy: &&FoundPolicy| {
        // The published study counted code.
        let code = policy.by != "configuration";
        code && policy.scope == "production" && policy.kind == "retry" && !policy.implicit
    };
    let mut once = |policy: &&FoundPolicy| {
        let new = policy.fingerprint.is_empty() || seen.insert(policy.fingerprint.clone());
        duplicates += u64::from(!new);
        new
    };
    let policies = scan.policies.iter().filter(counts).filter(&mut once).collect();
    (policies, duplicates)
}

/// What somebody has silenced or a baseline knows is there all the same.
fn rules(scan: &Scan) -> Vec<String> {
    let found = scan.findings.iter().filter(|finding| finding.scope == "production");
    let names: BTreeSet<_> = found.map(|finding| finding.rule.clone()).collect();
    names.into_iter().collect()
}

/// The published ones, then every other that was found, the most frequent first.
fn anti_patterns(projects: &[&Project]) -> Vec<Share> {
    let of = projects.len() as u64;
    let count = |rule: &str| {
        projects.iter().filter(|project| project.rules.iter().any(|one| one == rule)).count() as u64
    };
    let mut shares: Vec<_> = PUBLISHED
        .iter()
        .map(|(rule, name, published)| Share::new(name, count(rule), of, Some(*published)))
        .collect();
    let names: BTreeSet<_> = projects.iter().flat_map(|project| &project.rules).collect();
    let other = names.into_iter().filter(|rule| !PUBLISHED.iter().any(|(one, ..)| one == rule));
    let mut other: Vec<_> = other.map(|rule| Share::new(rule, count(rule), of, None)).collect();
    other.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.name.cmp(&b.name)));
    shares.extend(other);
    shares
}

/// Attempts in total; no end is the largest number; `None`: not known. What a parameter is if
/// nobody says otherwise counts as known.
fn total(policy: &FoundPolicy) -> Option<u32> {
    let attempts = &policy.attempts;
    match attempts.kind.as_str() {
        "infinite" => Some(u32::MAX),
        _ => attempts.total.or(attempts.usual),
    }
}

fn jittered(policy: &FoundPolicy) -> bool {
    policy.delay.kind != "none" && !matches!(policy.delay.jitter.as_str(), "none" | "unknown" | "")
}

/// Every column, empty ones too, so that two studies can be laid side by side.
fn histogram(policies: &[&FoundPolicy], totals: &[Option<u32>]) -> Vec<Bucket> {
    let names = ATTEMPTS.iter().map(|(_, name)| *name).chain([ENDLESS, NOT_KNOWN]);
    let mut buckets: Vec<_> =
        names.map(|name| Bucket { name: name.to_owned(), count: 0 }).collect();
    for (policy, total) in policies.iter().zip(totals) {
        let at = match total {
            None => ATTEMPTS.len() + 1,
            Some(_) if policy.attempts.kind == "infinite" => ATTEMPTS.len(),
            Some(total) => {
                ATTEMPTS.iter().position(|(up_to, _)| total <= up_to).unwrap_or(ATTEMPTS.len())
            }
        };
        buckets[at].count += 1;
    }
    buckets
}

/// The most frequent first.
fn by_count<'a>(names: impl Iterator<Item = &'a str>) -> Vec<Bucket> {
    let mut counts = BTreeMap::<&str, u64>::new();
    for name in names {
        *counts.entry(name).or_default() += 1;
    }
    let mut buckets: Vec<_> =
        counts.into_iter().map(|(name, count)| Bucket { name: name.to_owned(), count }).collect();
    buckets.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.name.cmp(&b.name)));
    buckets
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::scan::{Finding, FoundAttempts, FoundDelay};

    fn policy(print: &str, total: Option<u32>, delay: &str, jitter: &str) -> FoundPolicy {
        let kind = if total.is_some() { "count" } else { "infinite" };
        FoundPolicy {
            scope: "production".to_owned(),
            kind: "retry".to_owned(),
            by: "hand-rolled".to_owned(),
            language: "go".to_owned(),
            fingerprint: print.to_owned(),
            attempts: FoundAttempts { total, kind: kind.to_owned(), ..Default::default() },
            delay: FoundDelay {
                kind: delay.to_owned(),
                jitter: jitter.to_owned(),
                ..Default::default()
            },
            ..FoundPolicy::default()
        }
    }

    fn finding(rule: &str) -> Finding {
        Finding { rule: rule.to_owned(), scope: "production".to_owned(), ..Finding::default() }
    }

    #[test]
    fn two_projects_by_hand() {
        let first = Scan {
            policies: vec![
                policy("a", Some(6), "none", "none"),
                policy("a", Some(6), "none", "none"),
                policy("b", Some(7), "exponential", "full"),
                FoundPolicy { implicit: true, ..policy("c", Some(3), "none", "none") },
                FoundPolicy { scope: "test".to_owned(), ..policy("d", Some(3), "none", "none") },
                FoundPolicy {
                    kind: "reconnect".to_owned(),
                    ..policy("e", Some(3), "none", "none")
                },
            ],
            findings: vec![finding("no-backoff"), finding("no-backoff"), finding("catch-all")],
            ..Scan::default()
        };
        let second = Scan {
            policies: vec![policy("a", None, "constant", "none")],
            findings: vec![finding("missing-jitter")],
            ..Scan::default()
        };
        let empty = Scan::default();
        let scans =
            [("one".to_owned(), &first), ("two".to_owned(), &second), ("three".to_owned(), &empty)];
        let study = study("1", &scans);
        // a (6 attempts, the same lines once), b (7) and the endless one of the second project.
        assert_eq!((study.policies, study.duplicates, study.projects_with_policies), (3, 1, 2));
        // Six attempts are five retries: only 7 and no end are more.
        assert_eq!((study.over_five_retries.count, study.over_five_retries.of), (2, 3));
        assert_eq!((study.immediate.count, study.jittered.count), (1, 1));
        let shares: Vec<_> =
            study.anti_patterns.iter().map(|s| (s.name.as_str(), s.share)).collect();
        assert_eq!(
            shares,
            [
                ("no backoff", Some(0.5)),
                ("missing jitter", Some(0.5)),
                ("aggressive retry", Some(0.0)),
                ("static configuration", Some(0.0)),
                ("no coordination across services", Some(0.0)),
                ("catch-all", Some(0.5)),
            ]
        );
        let filled: Vec<_> = study
            .attempts
            .iter()
            .filter(|bucket| bucket.count > 0)
            .map(|bucket| bucket.name.as_str())
            .collect();
        assert_eq!(filled, ["6", "7–10", "no end"]);
    }

    #[test]
    fn nothing_has_no_shares() {
        let study = study("1", &[]);
        assert_eq!(study.immediate.share, None);
        assert_eq!(study.anti_patterns[0].share, None);
    }
}
