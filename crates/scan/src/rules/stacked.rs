//! Retries around retries in one process: their attempts multiply.

mod clients;

use std::collections::HashMap;

use super::words::usual_attempts;
use super::{Check, Finding, Hit, Rule, Severity};
use crate::policy::{Kind as Repetition, Policy};
use crate::scan::{FileFindings, Scan};
use crate::tree::{Id, Kind, Span, Tree};

pub(super) static RULE: Rule = Rule {
    id: "stacked-retries",
    severity: Severity::Error,
    summary: "A retry around a retry: their attempts multiply",
    fix: "let one of them retry, the one nearest to who knows whether it is still wanted",
    check: Check::All(check),
};

/// How many functions deep a stack is followed.
const DEPTH: u32 = 4;
/// Functions in other files are found by name; one that so many have says nothing.
const SAME_NAME: usize = 1;
/// Calls of one policy that are followed.
const CALLS: usize = 200;

/// Who calls whom in one file, as far as stacked retries ask.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Links {
    functions: Vec<Function>,
    /// By policy: the functions that it calls again and again.
    calls: Vec<Vec<Called>>,
}

#[derive(Clone, Debug, PartialEq)]
struct Function {
    name: String,
    calls: Vec<Called>,
    /// Policies inside, by their place in the file's list.
    policies: Vec<usize>,
}

/// A call by its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Called {
    name: String,
    /// Whether it is called by the name alone or on the object itself: it is likely this file's.
    own: bool,
}

impl Called {
    fn own(name: String) -> Self {
        Self { name, own: true }
    }
}

/// Names that say nothing of what is called. On another object they are not followed.
const GENERIC: &[&str] = &[
    "add",
    "apply",
    "call",
    "close",
    "commit",
    "connect",
    "create",
    "delete",
    "do",
    "exec",
    "execute",
    "fetch",
    "find",
    "get",
    "handle",
    "init",
    "insert",
    "invoke",
    "list",
    "load",
    "main",
    "new",
    "open",
    "perform",
    "post",
    "process",
    "publish",
    "put",
    "query",
    "read",
    "receive",
    "request",
    "retry",
    "run",
    "save",
    "send",
    "set",
    "start",
    "stop",
    "submit",
    "update",
    "wait",
    "with_retry",
    "withretry",
    "write",
];

fn is_generic(name: &str) -> bool {
    name.len() <= 3 || GENERIC.contains(&name.to_ascii_lowercase().as_str())
}

impl Links {
    /// The links of one file.
    #[must_use]
    pub fn of(tree: &Tree<'_>, policies: &[Policy]) -> Self {
        if policies.is_empty() {
            return Self::default();
        }
        let mut calls = vec![Vec::new(); policies.len()];
        let mut functions = Vec::new();
        for id in tree.ids() {
            let Kind::Function { name, decorators, body, .. } = tree.kind(id) else { continue };
            let name = name.or_else(|| variable_of(tree, id));
            let decorating = |policy: &Policy| {
                decorators.iter().any(|decorator| within(policy, tree.span(*decorator)))
            };
            let called = called_in(tree, *body);
            let mut inside = Vec::new();
            for (at, policy) in policies.iter().enumerate() {
                if decorating(policy) {
                    calls[at].extend(called.iter().cloned());
                    // What is written in the body is inside of it.
                    calls[at].extend(name.map(inner).map(Called::own));
                } else if within(policy, tree.span(*body)) {
                    inside.push(at);
                }
            }
            if let Some(name) = name {
                if policies.iter().any(decorating) {
                    functions.push(Function {
                        name: inner(name),
                        calls: called.clone(),
                        policies: inside.clone(),
                    });
                    let outer = (0..policies.len()).filter(|at| decorating(&policies[*at]));
                    inside.extend(outer);
                }
                functions.push(Function { name: name.to_owned(), calls: called, policies: inside });
            }
        }
        functions.extend(clients::all(tree, policies).into_iter().map(|(owner, policies)| {
            Function { name: clients::name(&owner), calls: Vec::new(), policies }
        }));
        for (at, policy) in policies.iter().enumerate() {
            if calls[at].is_empty() {
                calls[at] = called_between(tree, policy);
            }
            calls[at].sort_unstable();
            calls[at].dedup();
            calls[at].truncate(CALLS);
        }
        Self { functions, calls }
    }
}

/// `const load = () => …`: the name under which a function is called that has none itself.
fn variable_of<'s>(tree: &Tree<'s>, function: Id) -> Option<&'s str> {
    match tree.kind(tree.parent(function)?) {
        Kind::Let { target, value: Some(value), .. } if *value == function => {
            match tree.kind(*target) {
                Kind::Name(name) => Some(name),
                _ => None,
            }
        }
        _ => None,
    }
}

/// What a decorator wraps has the name of the function, but is not what others call.
fn inner(name: &str) -> String {
    format!("{name} (inside)")
}

fn within(policy: &Policy, span: Span) -> bool {
    span.line <= policy.line && policy.end_line <= span.end_line
}

fn called_in(tree: &Tree<'_>, from: Id) -> Vec<Called> {
    let mut all = Vec::new();
    for id in tree.walk(from) {
        add_call(tree, id, &mut all);
    }
    all.sort_unstable();
    all.dedup();
    all
}

fn called_between(tree: &Tree<'_>, policy: &Policy) -> Vec<Called> {
    let mut all = Vec::new();
    for id in tree.touching(policy.line, policy.end_line) {
        let span = tree.span(id);
        if policy.line <= span.line && span.end_line <= policy.end_line {
            add_call(tree, id, &mut all);
        }
    }
    all
}

/// The function that is called, and functions that are handed over by name.
fn add_call(tree: &Tree<'_>, id: Id, all: &mut Vec<Called>) {
    let Kind::Call { callee, args, .. } = tree.kind(id) else { return };
    let own = match tree.kind(*callee) {
        Kind::Field { of, .. } => {
            matches!(tree.kind(*of), Kind::Name("self" | "this" | "cls" | "Self"))
        }
        _ => true,
    };
    all.extend(tree.last_name(*callee).map(|name| Called { name: name.to_owned(), own }));
    // What is called on a client that retries.
    let owner = tree.path(*callee).and_then(|path| clients::owner(&path));
    all.extend(owner.map(|owner| Called::own(clients::name(owner))));
    let handed = args.iter().filter(|arg| arg.name.is_none());
    all.extend(handed.filter_map(|arg| {
        let path = tree.path(arg.value)?;
        Some(Called { name: path.last()?.to_string(), own: path.len() == 1 })
    }));
}

/// Whether one of two policies is the loop that the other, a call of a helper, runs: then they are
/// one and the same.
fn is_run_by(outer: &Policy, file: &FileFindings, inner: &Policy) -> bool {
    outer
        .runs
        .as_ref()
        .is_some_and(|runs| runs.path == file.path && runs.lines == [inner.line, inner.end_line])
}

fn check(scan: &Scan, findings: &mut Vec<Finding>) {
    let mut by_name: HashMap<&str, Vec<(usize, &Function)>> = HashMap::new();
    for (at, file) in scan.files.iter().enumerate() {
        for function in &file.links.functions {
            by_name.entry(&function.name).or_default().push((at, function));
        }
    }
    for (at, file) in scan.files.iter().enumerate() {
        for (index, policy) in file.policies.iter().enumerate() {
            if policy.kind != Repetition::Retry {
                continue;
            }
            let mut search = Search { scan, by_name: &by_name, best: None, seen: Vec::new() };
            search.nested(file, policy);
            let calls = file.links.calls.get(index).map_or(&[][..], Vec::as_slice);
            search.calls(at, calls, DEPTH, (at, index));
            if let Some((inner_file, inner)) = search.best {
                findings.push(finding(file, policy, inner_file, inner));
            }
        }
    }
}

struct Search<'s> {
    scan: &'s Scan,
    by_name: &'s HashMap<&'s str, Vec<(usize, &'s Function)>>,
    /// The inner policy with most attempts.
    best: Option<(&'s FileFindings, &'s Policy)>,
    seen: Vec<*const Function>,
}

impl<'s> Search<'s> {
    /// Policies that are written inside the lines of this one.
    fn nested(&mut self, file: &'s FileFindings, outer: &Policy) {
        for inner in &file.policies {
            let inside = outer.line < inner.line && inner.end_line <= outer.end_line;
            if inside && inner.kind == Repetition::Retry && !is_run_by(outer, file, inner) {
                self.keep(file, inner);
            }
        }
    }

    fn calls(&mut self, from: usize, names: &[Called], depth: u32, outer: (usize, usize)) {
        if depth == 0 {
            return;
        }
        for Called { name, own } in names {
            let Some(all) = self.by_name.get(name.as_str()) else { continue };
            let generic = is_generic(name);
            if generic && !own {
                continue;
            }
            let here: Vec<_> = all.iter().filter(|(file, _)| *file == from).collect();
            let language = self.scan.files[from].language;
            let there =
                || all.iter().filter(|(file, _)| self.scan.files[*file].language == language);
            // In this file, or the only one with this name anywhere.
            let found: Vec<_> = if here.len() == 1 {
                here
            } else if here.is_empty() && there().count() <= SAME_NAME && !generic {
                there().collect()
            } else {
                continue;
            };
            for (file, function) in found {
                let this = std::ptr::from_ref(*function);
                if self.seen.contains(&this) {
                    continue;
                }
                self.seen.push(this);
                let in_file = &self.scan.files[*file];
                for inner in &function.policies {
                    // What a call asks for stands in place of what its client does by itself.
                    let instead = in_file.policies[*inner].implicit
                        && clients::is_name(&function.name)
                        && in_file.policies[*inner].by == self.outer(outer).by;
                    if (*file, *inner) != outer
                        && !instead
                        && !is_run_by(self.outer(outer), in_file, &in_file.policies[*inner])
                        && in_file.policies[*inner].kind == Repetition::Retry
                    {
                        self.keep(in_file, &in_file.policies[*inner]);
                    }
                }
                self.calls(*file, &function.calls, depth - 1, outer);
            }
        }
    }

    fn outer(&self, (file, policy): (usize, usize)) -> &'s Policy {
        &self.scan.files[file].policies[policy]
    }

    fn keep(&mut self, file: &'s FileFindings, policy: &'s Policy) {
        let attempts = |policy: &Policy| usual_attempts(policy).unwrap_or(2);
        let better = self.best.is_none_or(|(_, best)| attempts(policy) > attempts(best));
        if attempts(policy) > 1 && better {
            self.best = Some((file, policy));
        }
    }
}

fn finding(
    file: &FileFindings,
    outer: &Policy,
    inner_file: &FileFindings,
    inner: &Policy,
) -> Finding {
    let place = if file.path == inner_file.path {
        format!("line {}", inner.line)
    } else {
        format!("{}:{}", inner_file.path, inner.line)
    };
    let product = match (usual_attempts(outer), usual_attempts(inner)) {
        (Some(u32::MAX), _) | (_, Some(u32::MAX)) => "without an end".to_owned(),
        (Some(outer), Some(inner)) => {
            format!("{outer} × {inner} = {} calls", u64::from(outer) * u64::from(inner))
        }
        _ => "their product is not known, as one is set at run time".to_owned(),
    };
    let message = format!("the retry of {place} is inside this one: {product} for one request");
    let hit = Hit::at(outer, RULE.severity, message);
    Finding::new(RULE.id, &file.path, file.scope, file.print_of(outer), hit)
}

#[cfg(test)]
mod tests;
