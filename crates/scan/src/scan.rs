//! A whole scan: every file read once, on all cores, and what was found in the order of the paths.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rayon::prelude::*;

use crate::config::Config;
use crate::language::Language;
use crate::library::{self, Manifests};
use crate::loops;
use crate::lower;
use crate::policy::{Policy, Scope};
use crate::prefilter;
use crate::rules::{self, Context, Finding, Links};
use crate::scope;
use crate::suppress::{self, Suppression};
use crate::tree::{Id, Kind, Tree};
use crate::value::{Constants, Imports, Project, Values};
use crate::walk::{Found, Limits, Skipped, Walked, read, walk};

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

/// What is known besides a file.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known<'k> {
    /// Constants of the other files.
    pub project: Option<&'k Project>,
    /// Versions of packages.
    pub manifests: Option<&'k Manifests>,
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
    constants: Constants,
    /// Whether constants of other files could say more.
    open: bool,
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
    let manifests = manifests(&walked);
    let first = Known { project: None, manifests: Some(&manifests) };
    let mut parts: Vec<_> = pool.install(|| {
        let each = walked.files.par_iter().map(|found| {
            if control.stop.load(Ordering::Relaxed) {
                return None;
            }
            let part = one(found, &options.limits, first);
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            if done.is_multiple_of(64) || done == total {
                (control.progress)(done, total);
            }
            Some(part)
        });
        each.collect()
    });
    // Once more where a number stands in another file, now that all of them are known.
    let mut project = Project::new();
    for (found, part) in walked.files.iter().zip(&mut parts) {
        if let Some(Ok(part)) = part {
            project.add(&found.path, std::mem::take(&mut part.constants));
        }
    }
    let again = Known { project: Some(&project), manifests: Some(&manifests) };
    pool.install(|| {
        walked.files.par_iter().zip(&mut parts).for_each(|(found, part)| {
            let open = matches!(part, Some(Ok(part)) if part.open && part.file.is_some());
            if open && !control.stop.load(Ordering::Relaxed) {
                *part = Some(one(found, &options.limits, again));
            }
        });
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

fn manifests(walked: &Walked) -> Manifests {
    let mut manifests = Manifests::default();
    let limits = Limits { line_bytes: usize::MAX, ..Limits::default() };
    for file in &walked.manifests {
        let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if let Ok(text) = read(file, &limits) {
            manifests.add(name, &text);
        }
    }
    manifests
}

fn one(found: &Found, limits: &Limits, known: Known<'_>) -> Result<Part, Skipped> {
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
        constants: Constants::default(),
        open: false,
    };
    // Constants of a file without a policy are asked for only if they stand in a line of their own.
    if !prefilter::worth(found.language, &text) {
        return Ok(part);
    }
    let tree = lower::tree(found.language, &text).ok_or(Skipped::Unparsed)?;
    part.broken = tree.broken();
    part.notes.extend(
        tree.too_deep().then(|| format!("{}: nested too deep, partly left out", found.path)),
    );
    let (policies, open) = policies(&tree, &source, known);
    part.open = open;
    part.constants = Constants::of(&tree);
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

/// The policies of one file, by line, and whether other files could say more of them.
#[must_use]
pub fn policies(tree: &Tree<'_>, source: &Source<'_>, known: Known<'_>) -> (Vec<Policy>, bool) {
    let imports = Imports::of(tree);
    let mut values = Values::new(tree, &imports);
    if let Some(project) = known.project {
        values = values.with_project(project, source.path);
    }
    let context = library::Context {
        language: source.language,
        values: &values,
        manifests: known.manifests,
        scope: source.scope,
    };
    let mut all = library::find(tree, &context);
    let of_libraries = all.len();
    for found in loops::find(tree, source.language) {
        let taken = all[..of_libraries].iter().any(|library| says_again(&found.policy, library));
        if !taken {
            all.push(found.policy);
        }
    }
    for policy in &mut all {
        policy.delay.forget_absurd();
        policy.scope = source.scope;
        if policy.scope == Scope::Production && in_tests(tree, policy) {
            policy.scope = Scope::Test;
        }
    }
    all.sort_by_key(|policy| (policy.line, policy.end_line));
    (all, values.wants_project())
}

/// Whether a loop says again what a library's policy says: the library's iterator is its head.
fn says_again(found: &Policy, library: &Policy) -> bool {
    found.line <= library.line
        && library.end_line <= found.end_line
        && library.line <= found.line + 1
}

/// Whether a policy stands in a part of a file that is only built for tests.
fn in_tests(tree: &Tree<'_>, policy: &Policy) -> bool {
    let around = |id: &Id| {
        let span = tree.span(*id);
        span.line <= policy.line && policy.end_line <= span.end_line
    };
    tree.touching(policy.line, policy.end_line).filter(around).any(|id| {
        let (Kind::Function { decorators, .. } | Kind::Class { decorators, .. }) = tree.kind(id)
        else {
            return false;
        };
        decorators.iter().any(|decorator| {
            let text = tree.source(*decorator);
            let text = text.trim_start_matches(['#', '[', '@']);
            ["test", "cfg(test)", "tokio::test", "Test", "Fact", "Theory", "TestMethod"].iter().any(
                |word| {
                    text.strip_prefix(word)
                        .is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric()))
                },
            )
        })
    })
}
