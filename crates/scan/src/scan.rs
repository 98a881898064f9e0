//! A whole scan: every file read once, on all cores, and what was found in the order of the paths.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use damper_config::effective::{Effective, Versions, effective};
use rayon::prelude::*;

use crate::clients::{self, Client, Homes, Services};
use crate::config::Config;
use crate::language::Language;
use crate::library::{self, Manifests};
use crate::loops::{self, Helper, Home, Parts};
use crate::lower;
use crate::policy::{Policy, Scope};
use crate::prefilter;
use crate::rules::{self, Context, Finding, Links};
use crate::said::Said;
use crate::scope;
use crate::service_config;
use crate::settings::{self, Settings};
use crate::suppress::{self, Suppression};
use crate::tree::{Kind, Tree};
use crate::value::{Constants, Imports, Project, Values, folder_and_stem};
use crate::walk::{Found, Limits, Skipped, Walked, read, walk};

mod file;

pub use crate::helpers::Helpers;
pub use file::{Policies, policies};

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
    /// Whether to look in code for who calls whom, too. More files have to be parsed for that.
    pub calls: bool,
}

/// What is known besides a file.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known<'k> {
    /// Constants of the other files.
    pub project: Option<&'k Project>,
    /// Versions of packages.
    pub manifests: Option<&'k Manifests>,
    /// The services whose clients are looked for; `None`: clients are not looked for.
    pub services: Option<&'k Services>,
    /// Functions and classes of all files whose names say that they retry; `None`: not known yet, and nothing
    /// is said of those that are not among them.
    pub helpers: Option<&'k Helpers>,
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
    /// Files of configuration with something in them, by path.
    pub settings: Vec<Settings>,
    /// What applies when its files are taken together, those of each scope by themselves.
    pub effective: Vec<(Scope, Effective)>,
    /// Where the code of services is.
    pub homes: Homes,
    /// Files of configuration that were read.
    pub settings_read: u64,
    /// Clients in code whose own service nothing tells: the file, its scope, the client.
    pub homeless: Vec<(String, Scope, Client)>,
    /// What a person should know of.
    pub notes: Vec<String>,
    /// Whether it was interrupted.
    pub partial: bool,
}

impl Scan {
    /// What applies to every call that the configuration of these scopes knows.
    #[must_use]
    pub fn applies(&self, scopes: &[Scope]) -> Cow<'_, Effective> {
        if let [only] = scopes
            && let Some((_, known)) = self.effective.iter().find(|(scope, _)| scope == only)
        {
            return Cow::Borrowed(known);
        }
        let files = self.settings.iter().filter(|file| scopes.contains(&file.scope));
        let readings: Vec<_> =
            files.map(|file| (file.path.clone(), file.reading.clone())).collect();
        Cow::Owned(effective(&readings, Versions::default()))
    }
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
    /// Whether it was worth parsing.
    parsed: bool,
    /// What it calls that says it retries: another file may declare it.
    called: BTreeSet<String>,
    /// The same of what may be a helper of the repository.
    own_called: BTreeSet<String>,
    /// The functions of it that say so.
    declared: BTreeSet<String>,
    /// Those that were found to, and their file.
    helpers: Option<(Home, Vec<Helper>)>,
    /// Names of files and folders where such constants may be.
    near: BTreeSet<String>,
    /// What it says as configuration does.
    said: Said,
}

/// Scans.
///
/// # Errors
/// The threads cannot be started.
pub fn scan(options: &Options, control: Control<'_>) -> Result<Scan, rayon::ThreadPoolBuildError> {
    let walked = walk(&options.roots, &options.config.exclude, &options.limits, options.threads);
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(options.threads)
        .stack_size(STACK_BYTES)
        .build()?;
    let total = walked.files.len() as u64;
    let done = AtomicU64::new(0);
    let manifests = manifests(&walked);
    // Before the code, as it names the services whose clients are looked for.
    let operators =
        pool.install(|| settings::read(&walked.settings, &options.limits, control.stop));
    let readings = || operators.files.iter().map(|file| &file.reading);
    let services = options.calls.then(|| Services::of(readings())).filter(|all| !all.is_empty());
    let homes = Homes::of(readings());
    let services = services.as_ref();
    let first = Known { manifests: Some(&manifests), services, ..Known::default() };
    let work = |found: &Found| {
        if control.stop.load(Ordering::Relaxed) {
            return None;
        }
        let part = one(found, &options.limits, first);
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        if done.is_multiple_of(64) || done == total {
            (control.progress)(done, total);
        }
        Some(part)
    };
    let mut parts: Vec<_> = walked.files.iter().map(|_| None).collect();
    for (at, part) in pool.install(|| largest_first(&walked.files, |_| true, work)) {
        parts[at] = part;
    }
    pool.install(|| constants_of_others(&walked.files, &mut parts, &options.limits, control));
    // Once more where a number stands in another file, now that all of them are known.
    let (mut project, mut helpers) = (Project::new(), Helpers::default());
    for (found, part) in walked.files.iter().zip(&mut parts) {
        if let Some(Ok(part)) = part {
            project.add(&found.path, std::mem::take(&mut part.constants));
            helpers.declare(&mut part.declared);
            if let Some((home, own)) = part.helpers.take() {
                helpers.add(home, own);
            }
        }
    }
    // What helpers do is said by those who call them.
    let again = Known { project: Some(&project), helpers: Some(&helpers), ..first };
    let calls = |part: &Part| part.own_called.iter().any(|name| helpers.knows(name));
    let calling = |at: usize| matches!(&parts[at], Some(Ok(part)) if calls(part));
    let work = |found: &Found| match control.stop.load(Ordering::Relaxed) {
        true => Vec::new(),
        false => asks(found, &options.limits, again),
    };
    let asked = pool.install(|| largest_first(&walked.files, calling, work));
    let asked = asked.into_iter().flat_map(|(_, asked)| asked).collect();
    let unanswered = pool.install(|| helpers.ask(asked, &project));
    let again = Known { project: Some(&project), helpers: Some(&helpers), ..first };
    let more = |part: &Part| {
        let known = |name: &String| helpers.knows(name) || helpers.declares(name);
        part.open && part.file.is_some()
            || !part.called.is_empty()
            || part.own_called.iter().any(known)
    };
    let open = |at: usize| matches!(&parts[at], Some(Ok(part)) if more(part));
    let work = |found: &Found| {
        (!control.stop.load(Ordering::Relaxed)).then(|| one(found, &options.limits, again))
    };
    for (at, part) in pool.install(|| largest_first(&walked.files, open, work)) {
        parts[at] = part.or_else(|| parts[at].take());
    }
    let mut scan = Scan { skipped: walked.skipped, notes: walked.notes, ..Scan::default() };
    let mut in_code = Vec::new();
    for (found, part) in walked.files.iter().zip(parts) {
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
                in_code.extend(part.said.of_file(&found.path, &homes, &mut scan.homeless));
            }
        }
    }
    scan.notes.extend(unanswered);
    scan.settings_read = operators.read;
    scan.lines += operators.lines;
    scan.settings = operators.files;
    scan.settings.append(&mut in_code);
    scan.homes = homes;
    scan.settings.sort_by(|a, b| a.path.cmp(&b.path));
    scan.partial |= operators.partial;
    scan.effective = of_each_scope(&scan);
    scan.notes.extend(operators.notes);
    for (why, count) in operators.skipped {
        *scan.skipped.entry(why).or_default() += count;
    }
    let mut of_all = rules::of_scan(&scan);
    for finding in &mut of_all {
        let code = scan.files.iter().find(|file| file.path == finding.path);
        let suppressions = code.map(|file| &file.suppressions).or_else(|| {
            let file = scan.settings.iter().find(|file| file.path == finding.path);
            file.map(|file| &file.suppressions)
        });
        silence(suppressions.map_or(&[], Vec::as_slice), finding);
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

/// What applies in each scope: tests deploy other things than production.
fn of_each_scope(scan: &Scan) -> Vec<(Scope, Effective)> {
    let scopes: BTreeSet<_> = scan.settings.iter().map(|file| file.scope).collect();
    scopes.into_iter().map(|scope| (scope, scan.applies(&[scope]).into_owned())).collect()
}

/// Reads the constants of files without a policy that those with one may mean.
fn constants_of_others(
    files: &[Found],
    parts: &mut [Option<Result<Part, Skipped>>],
    limits: &Limits,
    control: Control<'_>,
) {
    let (mut names, mut folders) = (BTreeSet::new(), BTreeSet::new());
    for (found, part) in files.iter().zip(&mut *parts) {
        if let Some(Ok(part)) = part
            && !part.near.is_empty()
        {
            names.append(&mut part.near);
            folders.insert(folder_and_stem(&found.path).0);
        }
    }
    let asked = |path: &str| {
        let (folder, stem) = folder_and_stem(path);
        let last = folder.rsplit('/').next().unwrap_or(folder);
        // A package of Go is a folder.
        names.contains(stem)
            || folders.contains(folder)
            || path.ends_with(".go") && names.contains(last)
    };
    let wanted =
        |at: usize| matches!(&parts[at], Some(Ok(part)) if !part.parsed) && asked(&files[at].path);
    let work = |found: &Found| {
        if control.stop.load(Ordering::Relaxed) {
            return None;
        }
        let text = read(&found.file, limits).ok()?;
        lower::tree(found.language, &text).map(|tree| constants(&tree, found.language))
    };
    for (at, constants) in largest_first(files, wanted, work) {
        if let (Some(Ok(part)), Some(constants)) = (&mut parts[at], constants) {
            part.constants = constants;
        }
    }
}

/// Does something with some of the files, the largest first, so that no thread has much to do
/// when the others are done: what it gave, by the place of the file.
fn largest_first<T: Send>(
    files: &[Found],
    which: impl Fn(usize) -> bool,
    work: impl Fn(&Found) -> T + Sync,
) -> Vec<(usize, T)> {
    let mut order: Vec<usize> = (0..files.len()).filter(|at| which(*at)).collect();
    order.sort_by_key(|at| Reverse(files[*at].bytes));
    order.into_iter().par_bridge().map(|at| (at, work(&files[at]))).collect()
}

/// What a file says to others.
fn constants(tree: &Tree<'_>, language: Language) -> Constants {
    let mut constants = Constants::of(tree);
    constants.pauses = loops::pauses_of(tree, language);
    constants
}

/// The files, folders and classes that a file speaks of: the last parts of what it imports, and
/// names with a field that begin as a class does.
fn neighbours(tree: &Tree<'_>) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for id in tree.ids() {
        match tree.kind(id) {
            Kind::Import { module, item, .. } => {
                let parts = module.rsplit(['/', '.', ':', '\\']).filter(|part| !part.is_empty());
                names.extend(parts.take(2).map(str::to_owned));
                names.extend(item.map(str::to_owned));
            }
            Kind::Field { of, .. } => match tree.kind(*of) {
                Kind::Name(name) if name.starts_with(char::is_uppercase) => {
                    names.insert((*name).to_owned());
                }
                _ => {}
            },
            _ => {}
        }
    }
    names
}

fn silence(suppressions: &[Suppression], finding: &mut Finding) {
    let found = suppress::find(suppressions, finding.rule, &finding.hit);
    finding.silenced = found.map(|suppression| suppression.reason.clone());
}

fn manifests(walked: &Walked) -> Manifests {
    let mut manifests = Manifests::default();
    let limits = Limits { line_bytes: usize::MAX, ..Limits::default() };
    // Of two that speak of one package the outer one is heard: it comes last.
    for file in walked.manifests.iter().rev() {
        let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if let Ok(text) = read(file, &limits) {
            manifests.add(name, &text);
        }
    }
    for found in &walked.files {
        manifests.add_code(&found.path, found.language);
    }
    manifests
}

/// Which helpers of the repository a file calls, and what they are told.
fn asks(found: &Found, limits: &Limits, known: Known<'_>) -> Vec<(usize, Parts)> {
    let Ok(text) = read(&found.file, limits) else { return Vec::new() };
    let scope = scope::of(&found.path, &text);
    let source = Source { path: &found.path, language: found.language, text: &text, scope };
    let tree = lower::tree(found.language, &text);
    tree.map(|tree| file::asks(&tree, &source, known)).unwrap_or_default()
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
        parsed: false,
        called: BTreeSet::new(),
        own_called: BTreeSet::new(),
        declared: BTreeSet::new(),
        helpers: None,
        near: BTreeSet::new(),
        said: Said::of(scope),
    };
    let services = known.services.filter(|_| clients::worth(&text));
    // Its constants are read later, if a policy asks for them.
    if !(prefilter::runs(&found.path) && prefilter::worth(found.language, &text)) {
        if let Some(services) = services
            && let Some(tree) = lower::tree(found.language, &text)
        {
            part.said.clients = clients::find(&tree, found.language, services);
        }
        return Ok(part);
    }
    let tree = lower::tree(found.language, &text).ok_or(Skipped::Unparsed)?;
    part.parsed = true;
    part.broken = tree.broken();
    part.notes.extend(
        tree.too_deep().then(|| format!("{}: nested too deep, partly left out", found.path)),
    );
    let Policies { all: policies, open, left_out, called, own_called, helpers } =
        policies(&tree, &source, known);
    part.notes.extend((left_out > 0).then(|| {
        format!(
            "{}: {left_out} policies after the first {} are left out",
            found.path,
            file::MOST_POLICIES
        )
    }));
    if let Some(services) = services {
        part.said.clients = clients::find(&tree, found.language, services);
    }
    if service_config::worth(&text) {
        let imports = Imports::of(&tree);
        let said = service_config::find(&tree, &Values::new(&tree, &imports), &policies);
        part.said.add(said, &text);
    }
    part.open = open;
    // What it says to others is known after the first time.
    if known.project.is_none() {
        part.called = called;
        part.declared = library::unknown::declared(&tree);
        part.own_called = own_called;
        part.helpers = (!helpers.is_empty()).then(|| {
            let (path, text) = (found.path.clone(), text.clone());
            (Home { path, language: found.language, text }, helpers)
        });
        part.constants = constants(&tree, found.language);
    }
    part.findings = rules::of_file(&Context { tree: &tree, source: &source, policies: &policies });
    let (suppressions, wrong) = suppress::of(&text);
    part.findings.iter_mut().for_each(|finding| silence(&suppressions, finding));
    part.notes.extend(wrong.iter().map(|(line, why)| format!("{}:{line}: {why}", found.path)));
    if open && !policies.is_empty() {
        part.near = neighbours(&tree);
    }
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
