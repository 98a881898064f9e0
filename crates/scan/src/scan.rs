//! A whole scan: every file read once, on all cores, and what was found in the order of the paths.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rayon::prelude::*;

use crate::config::Config;
use crate::language::Language;
use crate::lower;
use crate::policy::{Policy, Scope};
use crate::rules::{self, Context, Finding, Links};
use crate::scope;
use crate::suppress::{self, Suppression};
use crate::tree::Tree;
use crate::walk::{Found, Limits, Skipped, read, walk};

/// What finds policies in a file.
type Finder = fn(&Tree<'_>, &Source<'_>) -> Vec<Policy>;

/// All that find policies. Where two find the same lines, the first one has it.
const FINDERS: &[Finder] = &[];

/// Trees are walked by recursion: so much stack holds [`crate::tree::MAX_DEPTH`] levels of it.
const STACK_BYTES: usize = 64 << 20;

/// What to scan, and how.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Folders and files.
    pub roots: Vec<PathBuf>,
    /// Bounds.
    pub limits: Limits,
    /// Threads; 0: one for each core.
    pub threads: usize,
    /// What the repository wants.
    pub config: Config,
}

/// A file as the finders see it.
#[derive(Clone, Copy, Debug)]
pub struct Source<'s> {
    /// Its path from the root, with `/`.
    pub path: &'s str,
    /// Its language.
    pub language: Language,
    /// Its text.
    pub text: &'s str,
    /// Where it is used.
    pub scope: Scope,
}

/// A file with something in it.
#[derive(Clone, Debug, PartialEq)]
pub struct FileFindings {
    /// Its path from the root, with `/`.
    pub path: String,
    /// Its language.
    pub language: Language,
    /// Where it is used.
    pub scope: Scope,
    /// The policies in it, by line.
    pub policies: Vec<Policy>,
    /// A number for the lines of each policy.
    pub prints: Vec<u64>,
    /// Who calls whom.
    pub links: Links,
    /// What is silenced in it.
    pub suppressions: Vec<Suppression>,
}

impl FileFindings {
    /// The number for the lines of one of its policies.
    #[must_use]
    pub fn print_of(&self, policy: &Policy) -> u64 {
        let at = self.policies.iter().position(|one| std::ptr::eq(one, policy));
        at.and_then(|at| self.prints.get(at)).copied().unwrap_or_default()
    }
}

/// A finished scan.
#[derive(Clone, Debug, Default)]
pub struct Scan {
    /// Files with something in them, by path.
    pub files: Vec<FileFindings>,
    /// What is wrong, by path and line.
    pub findings: Vec<Finding>,
    /// Files read.
    pub read: u64,
    /// Their lines.
    pub lines: u64,
    /// Files and lines by language.
    pub languages: BTreeMap<Language, [u64; 2]>,
    /// Files whose syntax had errors: what stands near them may be missing.
    pub broken: u64,
    /// Files left out, by reason.
    pub skipped: BTreeMap<Skipped, u64>,
    /// What a person should know of.
    pub notes: Vec<String>,
    /// Whether it was interrupted.
    pub partial: bool,
}

/// How a scan is watched and stopped.
#[derive(Clone, Copy)]
pub struct Control<'c> {
    /// Stops it soon, with what it has.
    pub stop: &'c AtomicBool,
    /// Told now and then how many files of how many are done.
    pub progress: &'c (dyn Fn(u64, u64) + Sync),
}

/// One file's part.
struct Part {
    file: Option<FileFindings>,
    findings: Vec<Finding>,
    language: Language,
    lines: u64,
    broken: bool,
    notes: Vec<String>,
}

/// Scans.
///
/// # Errors
/// The threads cannot be started.
pub fn scan(options: &Options, control: Control<'_>) -> Result<Scan, rayon::ThreadPoolBuildError> {
    let walked = walk(&options.roots, &options.config.exclude, &options.limits);
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(options.threads)
        .stack_size(STACK_BYTES)
        .build()?;
    let total = walked.files.len() as u64;
    let done = AtomicU64::new(0);
    let parts: Vec<_> = pool.install(|| {
        walked
            .files
            .par_iter()
            .map(|found| {
                if control.stop.load(Ordering::Relaxed) {
                    return None;
                }
                let part = one(found, &options.limits);
                let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                if done.is_multiple_of(64) || done == total {
                    (control.progress)(done, total);
                }
                Some(part)
            })
            .collect()
    });
    let mut scan = Scan { skipped: walked.skipped, notes: walked.notes, ..Scan::default() };
    for part in parts {
        match part {
            None => scan.partial = true,
            Some(Err(why)) => *scan.skipped.entry(why).or_default() += 1,
            Some(Ok(part)) => {
                scan.read += 1;
                scan.lines += part.lines;
                scan.broken += u64::from(part.broken);
                let of_language = scan.languages.entry(part.language).or_default();
                of_language[0] += 1;
                of_language[1] += part.lines;
                scan.files.extend(part.file);
                scan.findings.extend(part.findings);
                scan.notes.extend(part.notes);
            }
        }
    }
    let mut of_all = rules::of_scan(&scan);
    for finding in &mut of_all {
        let file = scan.files.iter().find(|file| file.path == finding.path);
        silence(file.map_or(&[], |file| &file.suppressions), finding);
    }
    scan.findings.append(&mut of_all);
    scan.findings.retain_mut(|finding| match options.config.severities.get(finding.rule) {
        Some(None) => false,
        Some(Some(severity)) => {
            finding.hit.severity = *severity;
            true
        }
        None => true,
    });
    scan.findings.sort_by(|a, b| (&a.path, a.hit.line, a.rule).cmp(&(&b.path, b.hit.line, b.rule)));
    Ok(scan)
}

fn silence(suppressions: &[Suppression], finding: &mut Finding) {
    let found = suppress::find(suppressions, finding.rule, &finding.hit);
    finding.silenced = found.map(|suppression| suppression.reason.clone());
}

fn one(found: &Found, limits: &Limits) -> Result<Part, Skipped> {
    let text = read(&found.file, limits)?;
    let scope = scope::of(&found.path, &text);
    let source = Source { path: &found.path, language: found.language, text: &text, scope };
    let lines = text.bytes().filter(|byte| *byte == b'\n').count() as u64
        + u64::from(!text.is_empty() && !text.ends_with('\n'));
    let mut part = Part {
        file: None,
        findings: Vec::new(),
        language: found.language,
        lines,
        broken: false,
        notes: Vec::new(),
    };
    let tree = lower::tree(found.language, &text).ok_or(Skipped::Unparsed)?;
    part.broken = tree.broken();
    part.notes.extend(
        tree.too_deep().then(|| format!("{}: nested too deep, partly left out", found.path)),
    );
    let policies = policies(&tree, &source);
    part.findings = rules::of_file(&Context { tree: &tree, source: &source, policies: &policies });
    let (suppressions, wrong) = suppress::of(&text);
    part.findings.iter_mut().for_each(|finding| silence(&suppressions, finding));
    part.notes.extend(wrong.iter().map(|(line, why)| format!("{}:{line}: {why}", found.path)));
    if !policies.is_empty() {
        let links = Links::of(&tree, &policies);
        part.file = Some(FileFindings {
            path: found.path.clone(),
            language: found.language,
            scope,
            prints: policies
                .iter()
                .map(|policy| rules::print_of(&text, policy.line, policy.end_line))
                .collect(),
            policies,
            links,
            suppressions,
        });
    }
    Ok(part)
}

/// The policies of one file, by line.
#[must_use]
pub fn policies(tree: &Tree<'_>, source: &Source<'_>) -> Vec<Policy> {
    let mut all: Vec<Policy> = Vec::new();
    for find in FINDERS {
        let known = all.len();
        for policy in find(tree, source) {
            let taken = all[..known].iter().any(|first| covers(&policy, first));
            if !taken {
                all.push(policy);
            }
        }
    }
    all.sort_by_key(|policy| (policy.line, policy.end_line));
    all
}

/// Whether a later finding says again what an earlier one says: a loop of which a library's
/// iterator is the head.
fn covers(later: &Policy, first: &Policy) -> bool {
    later.line <= first.line && first.end_line <= later.end_line && first.line <= later.line + 1
}
