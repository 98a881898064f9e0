//! Libraries that the catalogue does not know, told by names that no file of the scan declares: a
//! call of something that says it retries and is given what to do, or a number of retries that is
//! given as an option.

mod asked;
mod options;
mod own;

use std::collections::BTreeSet;

use super::{Context, call};
use crate::helpers::Helpers;
use crate::loops::{Parts, words_of};
use crate::policy::{
    Attempts, By, Confidence, Delay, DelayKind, From, Jitter, Kind as PolicyKind, Policy, Setting,
};
use crate::tree::{Arg, Id, Kind, Tree};

/// What all of them begin with.
const BEGIN: &[u8] = b"retr";
/// What a name has in it that says it retries.
const SAY: &[&str] = &["retry", "retries", "retrying", "retryable"];
/// A first word that makes of it something else: what asks, tells, shows, or only makes ready.
const NOT_FIRST: &[&str] = &[
    "add",
    "after",
    "before",
    "build",
    "calculate",
    "can",
    "cancel",
    "check",
    "compute",
    "configure",
    "count",
    "create",
    "describe",
    "disable",
    "emit",
    "enable",
    "expect",
    "find",
    "get",
    "handle",
    "has",
    "is",
    "list",
    "log",
    "make",
    "max",
    "mock",
    "new",
    "next",
    "no",
    "not",
    "of",
    "on",
    "parse",
    "record",
    "register",
    "remove",
    "render",
    "reset",
    "resolve",
    "schedule",
    "select",
    "set",
    "should",
    "show",
    "stop",
    "stub",
    "test",
    "track",
    "use",
    "verify",
    "watch",
    "when",
];
/// A last word that makes of it a thing.
const NOT_LAST: &[&str] = &[
    "action",
    "actions",
    "after",
    "attempt",
    "attempts",
    "builder",
    "button",
    "config",
    "context",
    "count",
    "counter",
    "data",
    "delay",
    "dialog",
    "error",
    "errors",
    "event",
    "exception",
    "handler",
    "info",
    "interceptor",
    "interval",
    "label",
    "limit",
    "listener",
    "message",
    "metrics",
    "middleware",
    "observer",
    "options",
    "params",
    "plugin",
    "policy",
    "predicate",
    "props",
    "queue",
    "reason",
    "result",
    "screen",
    "settings",
    "snackbar",
    "state",
    "status",
    "strategy",
    "template",
    "time",
    "timer",
    "view",
];
/// How the import of a file of one's own begins.
const OWN: &[&str] = &[".", "/", "@/", "~"];
/// The same in Rust, as the first part of a path.
const OWN_CRATE: &[&str] = &["crate", "super", "self"];
/// More attempts than this are no number of attempts.
const MOST: f64 = 100.0;

/// The names of this file's functions and classes that say so, or that may be given a number of
/// retries.
pub(crate) fn declared(tree: &Tree<'_>) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let worth = may_count(tree.text());
    for id in tree.ids() {
        let name = match tree.kind(id) {
            Kind::Function { name: Some(name), .. } | Kind::Class { name: Some(name), .. } => name,
            Kind::Let { target, value: Some(_), .. } | Kind::Assign { target, .. } => {
                match tree.last_name(*target) {
                    Some(name) => name,
                    None => continue,
                }
            }
            _ => continue,
        };
        if says(name) || worth && makes(tree, id) {
            names.insert((*name).to_owned());
        }
    }
    names
}

/// Whether a file may declare something that is given a number of retries.
fn may_count(text: &str) -> bool {
    ["retr", "Retr", "RETR"].iter().any(|word| text.contains(word))
}

/// Whether something that may be called is made there.
fn makes(tree: &Tree<'_>, id: Id) -> bool {
    match tree.kind(id) {
        Kind::Let { value: Some(value), .. } | Kind::Assign { value, .. } => {
            matches!(tree.kind(*value), Kind::Function { .. } | Kind::Class { .. })
        }
        _ => true,
    }
}

/// The names that a file calls so, or gives such a number: another file may declare them.
pub(crate) fn called(tree: &Tree<'_>, context: &Context<'_, '_, '_>) -> BTreeSet<String> {
    if !may_count(tree.text()) {
        return BTreeSet::new();
    }
    let helpers = tree.ids().filter_map(|id| helper(tree, id));
    let mut names: BTreeSet<_> = helpers.map(|helper| helper.name.to_owned()).collect();
    names.extend(options::names(tree, context));
    names.extend(asked::names(tree));
    names.extend(own::of_packages(tree));
    names
}

/// The names of helpers that a file calls, if the repository has such.
pub(crate) fn own_called(tree: &Tree<'_>) -> BTreeSet<String> {
    if may_count(tree.text()) { own::names(tree) } else { BTreeSet::new() }
}

/// Which helpers of the repository a file calls, and what they are told.
pub(crate) fn asks(
    tree: &Tree<'_>,
    context: &Context<'_, '_, '_>,
    helpers: &Helpers,
) -> Vec<(usize, Parts)> {
    if may_count(tree.text()) { own::asks(tree, context, helpers) } else { Vec::new() }
}

/// The calls of helpers that none of the files declares, and the numbers of retries given to what
/// none declares, as policies. Of the places of `known` the catalogue has spoken.
pub(crate) fn find(
    tree: &Tree<'_>,
    context: &Context<'_, '_, '_>,
    helpers: &Helpers,
    known: &[Policy],
) -> Vec<Policy> {
    if !may_count(tree.text()) {
        return Vec::new();
    }
    let all = tree.ids().filter_map(|id| helper(tree, id));
    let unknown = all.filter(|helper| !helpers.declares(helper.name));
    let mut found: Vec<_> = unknown.filter_map(|helper| policy(tree, context, &helper)).collect();
    found.extend(own::find(tree, context, helpers));
    let said = |id: Id| {
        let span = tree.span(id);
        let here = |line: u32| span.line <= line && line <= span.end_line;
        let near = |one: &Policy| {
            one.line <= span.end_line && span.line <= one.end_line
                || matches!(one.attempts_total.from, From::Written(line) if here(line))
        };
        known.iter().any(near) || found.iter().any(near)
    };
    let given = options::find(tree, context, |name| helpers.declares(name), said);
    let asked = asked::find(tree, context, said);
    found.extend(given);
    for policy in asked {
        let known = |one: &Policy| one.line <= policy.end_line && policy.line <= one.end_line;
        if !found.iter().any(known) {
            found.push(policy);
        }
    }
    found
}

/// Whether a name says that what it is given is retried.
fn says(name: &str) -> bool {
    let begins = |part: &[u8]| part.eq_ignore_ascii_case(BEGIN);
    if !name.as_bytes().windows(BEGIN.len()).any(begins) {
        return false;
    }
    let words = words_of(name);
    let word =
        |at: Option<&Box<str>>, list: &[&str]| at.is_some_and(|word| list.contains(&&**word));
    // `RetryOnError` retries, and a `RetryError` is what came of it.
    let on = words.len().checked_sub(2).is_some_and(|at| &*words[at] == "on");
    words.iter().any(|word| SAY.contains(&&**word))
        && !word(words.first(), NOT_FIRST)
        && (on || !word(words.last(), NOT_LAST))
}

/// A call of something whose name says that it retries, that is given a function.
struct Helper<'t, 's> {
    call: Id,
    callee: Id,
    name: &'s str,
    args: &'t [Arg<'s>],
}

fn helper<'t, 's>(tree: &'t Tree<'s>, id: Id) -> Option<Helper<'t, 's>> {
    let Kind::Call { callee, args, new: false } = tree.kind(id) else { return None };
    let name = tree.last_name(*callee).filter(|name| says(name))?;
    // What a function is handed is not its own: whoever hands it over says what it is.
    if tree.is_parameter(*callee) {
        return None;
    }
    let work = |value: Id| match tree.kind(value) {
        Kind::Function { name: None, params, .. } => params.len() <= 2,
        _ => false,
    };
    let given = args.iter().any(|arg| work(arg.value));
    given.then_some(Helper { call: id, callee: *callee, name, args })
}

fn policy(
    tree: &Tree<'_>,
    context: &Context<'_, '_, '_>,
    helper: &Helper<'_, '_>,
) -> Option<Policy> {
    let Helper { call: id, callee, name, args } = *helper;
    let imported = context.values.imports().qualify(tree, callee);
    let module = imported.as_ref().map_or("", |imported| &imported.module);
    if is_own(module) || is_own_crate(module) {
        return None;
    }
    let package = if module.is_empty() { name } else { module }.to_owned();
    let span = tree.span(id);
    let given = number(tree, args);
    let attempts = Attempts::Dynamic {
        expression: match given {
            Some(given) => format!("{given}, with or without the first, by {name}"),
            None => format!("decided by {name}"),
        },
        low: Some(given.unwrap_or(1)),
        high: given.map(|given| given + 1),
        usual: given,
    };
    let mut policy = unknown_policy(context, package, attempts);
    policy.line = span.line;
    policy.end_line = span.end_line;
    policy.call = call::wrapped(tree, id, false);
    policy.notes = vec![format!(
        "no file of the scan declares {name}, and the catalogue does not know it: its name says \
         that it retries what it is given"
    )];
    Some(policy)
}

/// Whether a module is of this repository, though its file was not read.
fn is_own(module: &str) -> bool {
    OWN.iter().any(|own| module.starts_with(own))
}

fn is_own_crate(module: &str) -> bool {
    OWN_CRATE.contains(&module.split([':', '.', '/']).next().unwrap_or_default())
}

/// A policy of which only the attempts are known, of no place yet.
fn unknown_policy(context: &Context<'_, '_, '_>, package: String, attempts: Attempts) -> Policy {
    Policy {
        line: 0,
        end_line: 0,
        language: context.language,
        by: By::Library { id: "unknown".into(), package },
        kind: PolicyKind::Retry,
        attempts_total: Setting::derived(attempts),
        delay: Delay {
            kind: Setting::derived(DelayKind::Dynamic),
            base_ms: None,
            factor: None,
            cap_ms: None,
            jitter: Setting::derived(Jitter::Unknown),
            schedule_ms: Vec::new(),
        },
        deadline_ms: None,
        attempt_timeout_ms: None,
        retries_on: Setting::derived(Vec::new()),
        catches_all: false,
        budget: None,
        breaker: false,
        pushback: false,
        call: None,
        scope: context.scope,
        confidence: Confidence::Medium,
        implicit: false,
        notes: Vec::new(),
        also: Vec::new(),
        runs: None,
    }
}

/// The number of attempts or of retries among what a call is given, if only one number may be it.
fn number(tree: &Tree<'_>, args: &[Arg<'_>]) -> Option<u32> {
    let whole = |id: Id| match tree.kind(id) {
        Kind::Number(value) if (1.0..=MOST).contains(value) && value.fract() == 0.0 => {
            Some(*value as u32)
        }
        _ => None,
    };
    let mut all = args.iter().filter_map(|arg| whole(arg.value));
    all.next().filter(|_| all.next().is_none())
}
