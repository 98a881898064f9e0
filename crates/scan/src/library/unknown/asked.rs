//! Methods that are asked by name for a number of retries, of an object of which it is not known where
//! it is from: `self.session.get(url, retries=3)`, `client.post(url, { retries: 3 })`; and classes
//! of the repository whose objects are: `new Queue({ retries: 3 })`. What does it is not understood,
//! or behind it.

use std::borrow::Cow;

use super::options::{counts, is_setting};
use super::{MOST, unknown_policy};
use crate::library::Context;
use crate::loops::words_of;
use crate::policy::{Attempts, By, Call, Policy};
use crate::tree::{Id, Kind, Tree};

/// What such a policy is called.
const SHAPE: &str = "helper";
/// Methods that reach out. Others of such a name only keep the number.
const REACH_OUT: &[&str] = &[
    "call", "connect", "delete", "download", "execute", "fetch", "get", "get_json", "head",
    "invoke", "open", "patch", "post", "publish", "put", "query", "request", "send", "submit",
    "upload",
];

/// The last word of the name of a class whose objects do something.
const WORKERS: &[&str] = &[
    "client",
    "dispatcher",
    "downloader",
    "executor",
    "fetcher",
    "http",
    "job",
    "pool",
    "queue",
    "requester",
    "runner",
    "scheduler",
    "sender",
    "session",
    "stack",
    "task",
    "throttler",
    "transport",
    "uploader",
    "worker",
];

/// The names of the methods that a file asks so.
pub(super) fn names(tree: &Tree<'_>) -> Vec<String> {
    tree.ids().filter_map(|id| asked(tree, id)).map(|(method, ..)| method.to_owned()).collect()
}

/// The calls of a file, as policies; of the places of `known` the catalogue has spoken.
pub(super) fn find(
    tree: &Tree<'_>,
    context: &Context<'_, '_, '_>,
    known: impl Fn(Id) -> bool,
) -> Vec<Policy> {
    let all = tree.ids().filter(|id| !known(*id));
    all.filter_map(|id| policy(tree, context, id)).collect()
}

fn policy(tree: &Tree<'_>, context: &Context<'_, '_, '_>, id: Id) -> Option<Policy> {
    let (method, option, value) = asked(tree, id)?;
    let Kind::Call { callee, .. } = tree.kind(id) else { return None };
    let number = match context.values.of(value).number() {
        _ if says_when(option) => None,
        Some(number) if (1.0..=MOST).contains(&number) && number.fract() == 0.0 => {
            Some(number as u32)
        }
        // What a function is handed is for those who call it.
        _ if is_setting(tree, context.values.definition(value).unwrap_or(value)) => None,
        _ => return None,
    };
    let attempts = Attempts::Dynamic {
        expression: match number {
            Some(number) => format!("{option} {number}, with or without the first"),
            None if says_when(option) => format!("decided by {method}"),
            None => tree.source(value).chars().take(60).collect(),
        },
        low: Some(number.unwrap_or(1)),
        high: number.map(|number| number + 1),
        usual: number.map(|number| number + 1),
    };
    let span = tree.span(id);
    let mut policy = unknown_policy(context, String::new(), attempts);
    policy.by = By::HandRolled { shape: SHAPE.to_owned() };
    policy.line = span.line;
    policy.end_line = span.end_line;
    let text: String = tree.source(*callee).chars().take(80).collect();
    policy.call = Some(Call { text, method: Some(method.to_owned()), ..Call::default() });
    policy.notes = vec![format!("{method} is asked for {option}: what it does is not here")];
    Some(policy)
}

/// What is called, the option, and what it is given.
fn asked<'s>(tree: &Tree<'s>, id: Id) -> Option<(&'s str, &'s str, Id)> {
    let Kind::Call { callee, args, new } = tree.kind(id) else { return None };
    let name = match (tree.kind(*callee), new) {
        (Kind::Field { name, .. }, false)
            if REACH_OUT.iter().any(|known| name.eq_ignore_ascii_case(known)) =>
        {
            *name
        }
        (Kind::Name(name) | Kind::Field { name, .. }, true) if works(name) => *name,
        _ => return None,
    };
    let mut named = args.iter().filter_map(|arg| Some((arg.name?, arg.value)));
    if let Some((option, value)) = named.find(|(name, _)| counts(name)) {
        return Some((name, option, value));
    }
    // An object of options, written here or under a name of this file.
    args.iter().find_map(|arg| {
        let Kind::Record { ty: None, entries } = tree.kind(arg.value) else { return None };
        let such = |wanted: fn(&str) -> bool| {
            entries.iter().find_map(|entry| match &entry.key {
                Some(Cow::Borrowed(key)) if wanted(key) => Some((name, *key, entry.value)),
                _ => None,
            })
        };
        such(counts).or_else(|| such(says_when))
    })
}

/// Whether an option says after which answers it is tried again: `retryCodes: [429, 503]`.
fn says_when(option: &str) -> bool {
    let words = words_of(option);
    matches!(&words[..], [retry, what]
        if &**retry == "retry" && matches!(&**what, "codes" | "statuses" | "on"))
}

/// Whether the name of a class says that its objects do something, and keep no numbers only.
fn works(name: &str) -> bool {
    words_of(name).last().is_some_and(|last| WORKERS.contains(&&**last))
}
