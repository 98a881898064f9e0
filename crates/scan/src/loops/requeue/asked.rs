//! An item that says itself how often it was tried, and is put back while that is below a limit:
//! `if (message.retryCount < max) queue.publish(message)`. Who counts it is elsewhere.

use super::back::{Back, puts};
use super::counter::{Counter, MOST, counts_tries};
use super::{FAILED, finding, limit, number, way_on};
use crate::loops::file::File;
use crate::loops::helper::HOLDERS;
use crate::loops::words;
use crate::loops::{Finding, Sites};
use crate::policy::Attempts;
use crate::tree::{Id, Kind, Op, Tree};

/// Calls that send something to where it is taken from, if they say that it is tried again.
const SENDS: &[&str] =
    &["publish", "send", "enqueue", "schedule", "queue", "push", "put", "produce", "dispatch"];
/// What says so.
const AGAIN: &[&str] = &["retry", "retries", "again", "requeue", "delayed", "delay", "schedule"];

/// What is put back so, but for the questions of which `known` speaks.
pub(super) fn find(file: &File<'_, '_>, known: &[Finding]) -> Vec<Finding> {
    let tree = file.tree;
    let mut out = Vec::new();
    for at in tree.ids() {
        if out.len() >= MOST {
            break;
        }
        let Kind::If { test, then, otherwise } = tree.kind(at) else { continue };
        if let Some(found) = judge(file, at, *test, (*then, *otherwise))
            && !known.iter().any(|one| touches(&one.sites, at, file))
        {
            out.push(found);
        }
    }
    out
}

/// Whether a finding is of this question, or of what hangs on it.
fn touches(sites: &Sites, question: Id, file: &File<'_, '_>) -> bool {
    [sites.place, sites.operation]
        .iter()
        .any(|id| file.within(*id, question) || file.within(question, *id))
}

fn judge(
    file: &File<'_, '_>,
    at: Id,
    test: Id,
    (then, otherwise): (Id, Option<Id>),
) -> Option<Finding> {
    let tree = file.tree;
    let (field, item) = tree.walk_here(test).find_map(|id| match tree.kind(id) {
        Kind::Field { of, name } if counts_tries(name) => match tree.kind(*of) {
            Kind::Name(item) if !matches!(*item, "this" | "self" | "cls") => Some((id, *item)),
            _ => None,
        },
        _ => None,
    })?;
    let path = file.squeezed(field);
    let (limit, op) = limit(file, test, &path)?;
    if is_of_another_item(tree, limit, field) {
        return None;
    }
    let function = tree.function_of(at)?;
    if !words::has(tree.source(function), FAILED) {
        return None;
    }
    let back = |within: Id| put_back(file, within, item);
    let (_, back) =
        way_on(file, at, (then, otherwise), back, |rest| rest.iter().find_map(|id| back(*id)))?;
    let known = number(file, limit).filter(|limit| (0.0..=1000.0).contains(limit));
    let usual = known.map(|limit| limit as u32 + 1);
    let attempts = Attempts::Dynamic {
        expression: format!("{} {} {}", file.brief(field, 40), sign(op), file.brief(limit, 40)),
        low: Some(1),
        high: usual.map(|usual| usual + 1),
        usual,
    };
    let name = tree.last_name(field)?.to_owned();
    let counter =
        Counter { at: field, function, name, path: path.clone(), kept: path, handed: false };
    Some(finding(file, &counter, at, attempts, &back))
}

/// Whether a limit is the same count of another item: `a.retries > b.retries` only asks which of two
/// was tried more often. `config.retries` is a limit.
fn is_of_another_item(tree: &Tree<'_>, limit: Id, field: Id) -> bool {
    let name = tree.last_name(field);
    tree.walk_here(limit).any(|id| match tree.kind(id) {
        Kind::Field { of, .. } if tree.last_name(id) == name => match tree.kind(*of) {
            Kind::Name(of) => !matches!(*of, "this" | "self" | "cls") && !words::any(of, HOLDERS),
            _ => false,
        },
        _ => false,
    })
}

/// How a comparison is written.
fn sign(op: Op) -> &'static str {
    match op {
        Op::Less => "<",
        Op::AtMost => "<=",
        Op::Greater => ">",
        _ => ">=",
    }
}

/// Where the item itself is sent to be taken again.
fn put_back(file: &File<'_, '_>, within: Id, item: &str) -> Option<Back> {
    let tree = file.tree;
    let at = tree.walk_here(within).find(|id| match tree.kind(*id) {
        Kind::Call { callee, args, .. } => {
            let text = tree.last_name(*callee).unwrap_or_default();
            let says = puts(file, *callee) || words::any(text, SENDS) && words::any(text, AGAIN);
            says && args.iter().any(|arg| is_item(tree, arg.value, item))
        }
        _ => false,
    })?;
    Some(Back { at, due: None, at_once: false })
}

/// Whether an argument is the item, or one of a list with it.
fn is_item(tree: &Tree<'_>, id: Id, item: &str) -> bool {
    match tree.kind(id) {
        Kind::Name(name) => *name == item,
        Kind::Unary { of, .. } => is_item(tree, *of, item),
        Kind::List(all) => all.iter().any(|one| is_item(tree, *one, item)),
        _ => false,
    }
}
