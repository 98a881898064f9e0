//! Objects that are handed over for their methods: `new Callback() { void onFailure(…) { … } }`,
//! `object : Runnable { override fun run() { … } }`. Languages with closures write both.

use super::words;
use crate::tree::{Id, Kind, Tree};

/// Words of methods that are called for what failed.
const FAILED: &[&str] = &["failure", "error", "failed", "fail", "exception"];
/// Words of methods that are called with an answer, whatever it says.
const ANSWERED: &[&str] =
    &["response", "success", "result", "complete", "completed", "succeeded", "next", "reply"];
/// Methods of what is run as a whole.
const RUN: &[&str] =
    &["run", "call", "execute", "invoke", "apply", "accept", "operationComplete", "handle"];

/// The methods of an object that is written where it is handed over.
fn methods<'s>(tree: &Tree<'s>, arg: Id) -> Vec<(&'s str, Id)> {
    let class = match tree.kind(arg) {
        Kind::Class { .. } => arg,
        Kind::Call { args, new: true, .. } => match args.last() {
            Some(last) if matches!(tree.kind(last.value), Kind::Class { .. }) => last.value,
            _ => return Vec::new(),
        },
        _ => return Vec::new(),
    };
    let Kind::Class { body, .. } = tree.kind(class) else { return Vec::new() };
    let Kind::Block(all) = tree.kind(*body) else { return Vec::new() };
    let of = |id: &Id| match tree.kind(*id) {
        Kind::Function { name: Some(name), .. } => Some((*name, *id)),
        _ => None,
    };
    all.iter().filter_map(of).collect()
}

/// The method that is called if what it is handed to fails.
pub(super) fn on_failure(tree: &Tree<'_>, arg: Id) -> Option<Id> {
    methods(tree, arg).into_iter().find(|(name, _)| words::any(name, FAILED)).map(|(_, id)| id)
}

/// The method that is called with the answer.
pub(super) fn on_answer(tree: &Tree<'_>, arg: Id) -> Option<Id> {
    let answers = |name: &str| words::any(name, ANSWERED) && !words::any(name, FAILED);
    methods(tree, arg).into_iter().find(|(name, _)| answers(name)).map(|(_, id)| id)
}

/// The method that is run as a whole.
pub(super) fn task(tree: &Tree<'_>, arg: Id) -> Option<Id> {
    methods(tree, arg).into_iter().find(|(name, _)| RUN.contains(name)).map(|(_, id)| id)
}
