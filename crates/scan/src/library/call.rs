//! What is called again.

use crate::policy::Call;
use crate::tree::{Id, Kind, Tree};

/// A text is shortened to so many characters.
const SHOWN: usize = 80;

/// The call that a policy wraps: of a decorator the function, else the first call in the first
/// closure that is given.
pub(super) fn wrapped(tree: &Tree<'_>, id: Id, decorator: bool) -> Option<Call> {
    if decorator {
        let function = tree.parent(id)?;
        let Kind::Function { name, body, .. } = tree.kind(function) else { return None };
        let mut call = first_call(tree, *body).unwrap_or_default();
        call.text = (*name)?.to_owned();
        return Some(call);
    }
    let Kind::Call { callee, args, .. } = tree.kind(id) else { return None };
    for arg in args {
        if let Kind::Function { body, .. } = tree.kind(arg.value) {
            return first_call(tree, *body);
        }
    }
    let named = args.iter().find(|arg| {
        arg.name.is_none() && matches!(tree.kind(arg.value), Kind::Name(_) | Kind::Field { .. })
    });
    match (named, tree.kind(*callee)) {
        (Some(arg), _) => Some(Call { text: short(tree.source(arg.value)), ..Call::default() }),
        (None, Kind::Field { of, .. }) if matches!(tree.kind(*of), Kind::Call { .. }) => {
            Some(describe(tree, *of))
        }
        _ => None,
    }
}

fn first_call(tree: &Tree<'_>, body: Id) -> Option<Call> {
    let found = tree.walk_here(body).find(|id| {
        matches!(tree.kind(*id), Kind::Call { callee, .. }
            if !tree.last_name(*callee).is_some_and(is_talk))
    })?;
    Some(describe(tree, found))
}

/// Logging and the like is not what is retried.
fn is_talk(name: &str) -> bool {
    matches!(
        name.to_ascii_lowercase().as_str(),
        "log"
            | "debug"
            | "info"
            | "warn"
            | "warning"
            | "error"
            | "print"
            | "println"
            | "printf"
            | "len"
            | "str"
            | "format"
    )
}

/// A call with what its name and arguments tell.
pub(super) fn describe(tree: &Tree<'_>, id: Id) -> Call {
    let mut call = Call { text: short(tree.source(id)), ..Call::default() };
    let Kind::Call { callee, args, .. } = tree.kind(id) else { return call };
    if let Some(name) = tree.last_name(*callee) {
        let upper = name.to_ascii_uppercase();
        call.idempotent = match upper.as_str() {
            "GET" | "HEAD" | "OPTIONS" | "PUT" | "DELETE" => Some(true),
            "POST" | "PATCH" => Some(false),
            _ => None,
        };
        call.method = Some(if call.idempotent.is_some() { upper } else { name.to_owned() });
    }
    for arg in args {
        if arg.name.is_some_and(|name| name.to_ascii_lowercase().contains("timeout")) {
            call.timeout = Some(true);
        }
        if let (Kind::Text(text), None) = (tree.kind(arg.value), &call.host) {
            call.host = host(text);
        }
    }
    call
}

fn host(text: &str) -> Option<String> {
    let rest = text.split_once("://").map(|(_, rest)| rest)?;
    let host = rest.split(['/', '?', '#', '{', '$']).next()?;
    let host = host.rsplit('@').next()?;
    (!host.is_empty() && host.len() <= 253).then(|| host.to_owned())
}

fn short(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
