//! What is wrong with a policy, with the numbers. A rule fires on facts that were read, never on
//! what is merely absent from our knowledge.
//!
//! A rule is one file here with its [`Rule`], one line in [`RULES`], and one page in
//! `docs/rules/` whose examples are its tests.

mod aggressive;
mod answers;
mod beyond_deadline;
mod blocking_sleep;
mod budget_absent;
mod budget_inert;
mod catch_all;
mod deadlines;
mod expensive_error;
mod fixed_numbers;
mod missing_jitter;
mod mru_pool;
mod no_backoff;
mod no_coordination;
mod no_timeout;
mod not_idempotent;
mod operators;
mod overload_retried;
pub mod pages;
mod pushback_ignored;
mod sites;
mod stacked;
mod unbounded;
mod words;

pub use stacked::Links;

use crate::policy::{Confidence, Kind as Repetition, Policy, Scope};
use crate::scan::{Scan, Source};
use crate::tree::Tree;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Good to know.
    Note,
    /// It makes an overload worse.
    Warning,
    /// It makes an outage.
    Error,
}

impl Severity {
    /// As it is printed.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }

    /// The severity with this name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        [Self::Note, Self::Warning, Self::Error].into_iter().find(|one| one.name() == name)
    }
}

/// A rule.
#[derive(Debug)]
pub struct Rule {
    /// Its name, which is also that of its page.
    pub id: &'static str,
    /// How bad it is as a rule; a finding may be milder.
    pub severity: Severity,
    /// What it finds, in one line.
    pub summary: &'static str,
    /// What to do, in one line.
    pub fix: &'static str,
    /// What it looks at.
    pub check: Check,
}

/// What a rule looks at.
#[derive(Clone, Copy, Debug)]
pub enum Check {
    /// One policy at a time.
    Policy(fn(&Context<'_>, &Policy, &mut Vec<Hit>)),
    /// A file.
    File(fn(&Context<'_>, &mut Vec<Hit>)),
    /// Everything that was found.
    All(fn(&Scan, &mut Vec<Finding>)),
}

/// All rules, in the order of their pages.
pub const RULES: &[&Rule] = &[
    &no_backoff::RULE,
    &missing_jitter::RULE,
    &aggressive::RULE,
    &unbounded::RULE,
    &stacked::RULE,
    &catch_all::RULE,
    &not_idempotent::RULE,
    &no_timeout::RULE,
    &beyond_deadline::RULE,
    &pushback_ignored::RULE,
    &overload_retried::RULE,
    &budget_absent::RULE,
    &budget_inert::RULE,
    &expensive_error::RULE,
    &blocking_sleep::RULE,
    &mru_pool::RULE,
    &fixed_numbers::RULE,
    &no_coordination::RULE,
    &operators::without_budget::RULE,
    &operators::budget_tighter::RULE,
    &operators::fixed_retries::RULE,
    &operators::unlimited_retries::RULE,
    &operators::beyond_timeout::RULE,
    &operators::unsafe_methods::RULE,
    &operators::mesh_on_library::RULE,
    &operators::inert::RULE,
    &operators::slow_removed::RULE,
    &operators::queue::RULE,
    &operators::ejection::RULE,
];

/// A file as the rules see it.
#[derive(Clone, Copy, Debug)]
pub struct Context<'c> {
    /// Its tree.
    pub tree: &'c Tree<'c>,
    /// Its path, text and scope.
    pub source: &'c Source<'c>,
    /// Its policies.
    pub policies: &'c [Policy],
}

/// What a rule says of a place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// How bad it is here.
    pub severity: Severity,
    /// First line.
    pub line: u32,
    /// Last line.
    pub end_line: u32,
    /// What is wrong, with the numbers.
    pub message: String,
}

impl Hit {
    /// At the lines of a policy.
    #[must_use]
    pub fn at(policy: &Policy, severity: Severity, message: String) -> Self {
        Self { severity, line: policy.line, end_line: policy.end_line, message }
    }
}

/// What a rule says, with its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The rule.
    pub rule: &'static str,
    /// The file.
    pub path: String,
    /// Where it is used.
    pub scope: Scope,
    /// What is wrong and where.
    pub hit: Hit,
    /// The same for as long as the lines stay the same, wherever they move to in the file.
    pub fingerprint: u64,
    /// Why somebody has silenced it.
    pub silenced: Option<String>,
}

impl Finding {
    /// A finding in a file; `print` is that of its lines.
    #[must_use]
    pub fn new(rule: &'static str, path: &str, scope: Scope, print: u64, hit: Hit) -> Self {
        let fingerprint = fnv(fnv(print, rule.as_bytes()), path.as_bytes());
        Self { rule, path: path.to_owned(), scope, hit, fingerprint, silenced: None }
    }
}

/// A number for lines of a text, the same wherever they move to. Space at their ends does not
/// count: moving code into a block changes nothing.
#[must_use]
pub fn print_of(text: &str, line: u32, end_line: u32) -> u64 {
    let lines = text.lines().skip(line.saturating_sub(1) as usize);
    let lines = lines.take((end_line + 1).saturating_sub(line) as usize);
    lines.fold(FNV_OFFSET, |print, line| fnv(fnv(print, line.trim().as_bytes()), b"\n"))
}

/// FNV-1a, as baselines have to outlive versions of the standard library's hash.
fn fnv(from: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(from, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(FNV_PRIME))
}

const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;

/// The rule with this name.
#[must_use]
pub fn find(id: &str) -> Option<&'static Rule> {
    RULES.iter().copied().find(|rule| rule.id == id)
}

/// The rule whose name is nearest to this, if one is near.
#[must_use]
pub fn nearest(id: &str) -> Option<&'static str> {
    let near =
        RULES.iter().map(|rule| (strsim::damerau_levenshtein(rule.id, id), rule.id)).min()?;
    (near.0 <= 3).then_some(near.1)
}

/// What the rules say of one file.
#[must_use]
pub fn of_file(context: &Context<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut hits = Vec::new();
    for rule in RULES {
        match rule.check {
            Check::Policy(check) => {
                let retries = |policy: &&Policy| {
                    matches!(policy.kind, Repetition::Retry | Repetition::Reconnect)
                        // What may be no retry at all is listed, and not judged.
                        && policy.confidence > Confidence::Low
                };
                for policy in context.policies.iter().filter(retries) {
                    check(context, policy, &mut hits);
                }
            }
            Check::File(check) => check(context, &mut hits),
            Check::All(_) => {}
        }
        findings.extend(hits.drain(..).map(|hit| {
            let Source { path, scope, text, .. } = *context.source;
            let print = print_of(text, hit.line, hit.end_line);
            Finding::new(rule.id, path, scope, print, hit)
        }));
    }
    findings
}

/// What the rules say of everything together.
pub fn of_scan(scan: &Scan) -> Vec<Finding> {
    let mut findings = Vec::new();
    for rule in RULES {
        if let Check::All(check) = rule.check {
            check(scan, &mut findings);
        }
    }
    findings
}

/// What one rule says of texts, for the tests beside the rules: `3 warning: …`.
#[cfg(test)]
fn said(rule: &Rule, files: &[(&str, &str)]) -> Vec<String> {
    use crate::language::Language;
    use crate::{lower, scan};
    let mut all = Scan::default();
    let mut findings = Vec::new();
    for (path, text) in files {
        let extension = path.rsplit('.').next().unwrap_or_default();
        let language = Language::of_extension(extension).expect("a language");
        let tree = lower::tree(language, text).expect("a tree");
        let source = Source { path, language, text, scope: Scope::Production };
        let policies = scan::policies(&tree, &source, scan::Known::default()).all;
        findings.extend(of_file(&Context { tree: &tree, source: &source, policies: &policies }));
        let links = Links::of(&tree, &policies);
        all.files.push(scan::FileFindings {
            path: (*path).to_owned(),
            language,
            scope: Scope::Production,
            prints: vec![0; policies.len()],
            policies,
            links,
            suppressions: Vec::new(),
        });
    }
    findings.extend(of_scan(&all));
    let of_rule = findings.into_iter().filter(|finding| finding.rule == rule.id);
    of_rule
        .map(|finding| {
            let Hit { severity, line, message, .. } = finding.hit;
            format!("{line} {}: {message}", severity.name())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_has_a_name_of_its_own() {
        let mut names: Vec<_> = RULES.iter().map(|rule| rule.id).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), RULES.len());
    }

    #[test]
    fn a_fingerprint_moves_with_its_lines() {
        let finding = |text: &str, line| print_of(text, line, line);
        let here = finding("a\nb\n", 2);
        assert_eq!(finding("x\ny\n  b\n", 3), here, "moved and indented");
        assert_ne!(finding("a\nc\n", 2), here, "changed");
    }
}
