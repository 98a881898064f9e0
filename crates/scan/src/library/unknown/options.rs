//! Options of libraries that the catalogue does not know, told by their names: a number of retries
//! that is given to something imported which no file of the scan declares.

use super::{MOST, is_own, is_own_crate, unknown_policy};
use crate::language::Language;
use crate::library::{Context, call};
use crate::loops::words_of;
use crate::policy::{Attempts, Policy};
use crate::tree::{Arg, Entry, Id, Kind, Tree};
use crate::value::Trust;

/// The word that makes a name one of a number of retries, with nothing else but [`BESIDE`].
const RETRIES: &[&str] = &["retry", "retries"];
/// Words that change nothing of it: `max_retry_attempts`, `setConnectRetries`.
const BESIDE: &[&str] = &[
    "allowed",
    "api",
    "attempts",
    "client",
    "connect",
    "connection",
    "count",
    "default",
    "http",
    "limit",
    "max",
    "maximum",
    "n",
    "network",
    "num",
    "number",
    "of",
    "request",
    "set",
    "times",
    "total",
    "with",
];
/// A callee that begins or ends with such a word writes down, shows, asks or checks the number, and
/// retries nothing.
const TELLS: &[&str] = &[
    "add",
    "argument",
    "assert",
    "asserts",
    "column",
    "debug",
    "dict",
    "equal",
    "error",
    "event",
    "exception",
    "expect",
    "extra",
    "field",
    "format",
    "gauge",
    "info",
    "log",
    "logger",
    "merge",
    "metric",
    "metrics",
    "mock",
    "model",
    "object",
    "option",
    "param",
    "print",
    "prop",
    "props",
    "record",
    "replace",
    "schema",
    "signature",
    "span",
    "stats",
    "stub",
    "trace",
    "track",
    "update",
    "validate",
    "warn",
    "warning",
];
/// Names are followed to where they are made so often.
const HOPS: usize = 8;

/// A number of retries that something is given.
struct Given<'s> {
    /// The call or the literal that it is given to.
    whole: Id,
    /// The name of the option, as written.
    option: &'s str,
    value: Id,
    /// What it is given to, by the name that it was imported as, and from where.
    to: &'s str,
    module: String,
}

/// Whether a name is that of a number of retries: `maxRetries`, `retry_attempts`, and not
/// `retry_delay` or `retried`.
pub(super) fn counts(name: &str) -> bool {
    let words = words_of(name);
    let retries = words.iter().filter(|word| RETRIES.contains(&&***word)).count();
    retries == 1 && words.iter().all(|word| RETRIES.contains(&&**word) || BESIDE.contains(&&**word))
}

/// The names of what is given such a number: another file may declare it.
pub(super) fn names(tree: &Tree<'_>, context: &Context<'_, '_, '_>) -> Vec<String> {
    all(tree, context).map(|given| given.to.to_owned()).collect()
}

/// Those that none of the files declares, as policies; what a library of the catalogue has said of
/// the same place is in `known`.
pub(super) fn find(
    tree: &Tree<'_>,
    context: &Context<'_, '_, '_>,
    declared: impl Fn(&str) -> bool,
    known: impl Fn(Id) -> bool,
) -> Vec<Policy> {
    let mut all: Vec<Policy> = all(tree, context)
        .filter(|given| !declared(given.to) && !known(given.whole))
        .filter_map(|given| policy(tree, context, &given))
        .collect();
    all.dedup_by_key(|policy| policy.line);
    all
}

fn all<'a, 's>(
    tree: &'a Tree<'s>,
    context: &'a Context<'_, '_, 's>,
) -> impl Iterator<Item = Given<'s>> + 'a {
    tree.ids().filter_map(|id| given(tree, context, id))
}

/// What a call or a literal is given, if that is a number of retries for something imported.
fn given<'s>(tree: &Tree<'s>, context: &Context<'_, '_, 's>, id: Id) -> Option<Given<'s>> {
    let (callee, (option, value)) = match tree.kind(id) {
        Kind::Call { callee, args, .. } => (*callee, argument(tree, *callee, args)?),
        Kind::Record { ty: Some(ty), entries } => (*ty, entry(tree, entries, 0)?),
        Kind::Assign { op: None, target, value } => match tree.kind(*target) {
            Kind::Field { of, name } if counts(name) => (*of, (*name, *value)),
            _ => return None,
        },
        _ => return None,
    };
    let (to, module) = origin(tree, context, id, callee)?;
    let tells = |name: &str| {
        let words = words_of(name);
        [words.first(), words.last()].into_iter().flatten().any(|word| TELLS.contains(&&**word))
    };
    if tells(to) || tree.last_name(callee).is_some_and(tells) {
        return None;
    }
    let own = is_own(&module)
        || is_own_crate(&module)
        || context.manifests.is_some_and(|manifests| manifests.is_own(&module, context.language));
    (!own).then_some(Given { whole: id, option, value, to, module })
}

/// The number among arguments: by its keyword, in an object of options, or alone if the method is
/// called so.
fn argument<'s>(tree: &Tree<'s>, callee: Id, args: &[Arg<'s>]) -> Option<(&'s str, Id)> {
    if let Kind::Field { name, .. } = tree.kind(callee)
        && let [only] = args
        && only.name.is_none()
        && counts(name)
    {
        return Some((*name, only.value));
    }
    args.iter().find_map(|arg| match (arg.name, tree.kind(arg.value)) {
        (Some(name), _) if counts(name) => Some((name, arg.value)),
        (_, Kind::Record { ty: None, entries }) => entry(tree, entries, 0),
        _ => None,
    })
}

/// The number in an object, or in an object of it: `{ retry: { retries: 3 } }`.
fn entry<'s>(tree: &Tree<'s>, entries: &[Entry<'s>], depth: u8) -> Option<(&'s str, Id)> {
    entries.iter().find_map(|entry_| match tree.kind(entry_.value) {
        Kind::Record { ty: None, entries } if depth == 0 => entry(tree, entries, 1),
        _ => {
            let key = match entry_.key.as_ref()? {
                std::borrow::Cow::Borrowed(key) => *key,
                std::borrow::Cow::Owned(_) => return None,
            };
            counts(key).then_some((key, entry_.value))
        }
    })
}

/// What is called at the bottom of a chain, and the module that it comes from: of
/// `Client::builder().max_retries(3)` that of `Client`, of `super().__init__(retries=3)` that of
/// the base.
fn origin<'s>(
    tree: &Tree<'s>,
    context: &Context<'_, '_, 's>,
    at: Id,
    callee: Id,
) -> Option<(&'s str, String)> {
    let (values, imports) = (context.values, context.values.imports());
    let mut here = callee;
    for _ in 0..HOPS {
        if let Some(found) = imports.qualify(tree, here) {
            let name = found.path.last().copied().or_else(|| tree.last_name(here))?;
            return Some((name, found.module.into_owned()));
        }
        here = match tree.kind(here) {
            Kind::Call { callee, .. } => *callee,
            Kind::Field { of, .. } => *of,
            Kind::Await(of) | Kind::Propagate(of) | Kind::Unary { of, .. } => *of,
            Kind::Name("super") => tree.ancestors(at).find_map(|up| match tree.kind(up) {
                Kind::Class { bases, .. } => bases.first().copied(),
                _ => None,
            })?,
            Kind::Name(_) if tree.is_parameter(here) => return None,
            Kind::Name(name) => match values.definition(here).filter(|made| *made != here) {
                Some(made) => made,
                // `using` names no class.
                None if context.language == Language::CSharp
                    && name.starts_with(|c: char| c.is_ascii_uppercase()) =>
                {
                    return Some((*name, (*name).to_owned()));
                }
                None => return None,
            },
            _ => return None,
        };
    }
    None
}

fn policy(tree: &Tree<'_>, context: &Context<'_, '_, '_>, given: &Given<'_>) -> Option<Policy> {
    let Given { whole, option, value, to, module } = given;
    let known = context.values.of(*value);
    // What another file says of a field of that name is not told here.
    let told = known.trust == Trust::Exact || known.place.path.is_none();
    let number = match known.number().filter(|_| told) {
        Some(number) if (1.0..=MOST).contains(&number) && number.fract() == 0.0 => {
            Some(number as u32)
        }
        Some(_) => return None,
        // A setting; what a function is handed is for those who call it.
        None if is_setting(tree, *value) && !matches!(tree.kind(*whole), Kind::Record { .. }) => {
            None
        }
        None => return None,
    };
    let exact = number.filter(|_| known.trust == Trust::Exact);
    let attempts = Attempts::Dynamic {
        expression: match number {
            Some(number) => format!("{option} {number}, with or without the first"),
            None => tree.source(*value).chars().take(60).collect(),
        },
        low: Some(exact.unwrap_or(1)),
        high: exact.map(|number| number + 1),
        usual: number.map(|number| number + 1),
    };
    let span = tree.span(*value);
    let mut policy = unknown_policy(context, module.clone(), attempts);
    policy.line = span.line;
    policy.end_line = span.end_line;
    policy.call = call::wrapped(tree, *whole, false);
    policy.notes = vec![format!(
        "the catalogue does not know {to} of {module}, and no file of the scan declares it: \
         {option} says that it retries"
    )];
    Some(policy)
}

/// Whether a value is a setting that says itself that it counts retries: `settings.max_retries`,
/// `env("MAX_RETRIES")`.
pub(super) fn is_setting(tree: &Tree<'_>, value: Id) -> bool {
    match tree.kind(value) {
        Kind::Field { name, .. } => counts(name),
        Kind::Index { at, .. } => matches!(tree.kind(*at), Kind::Text(text) if counts(text)),
        Kind::Call { args, .. } => {
            args.iter().any(|arg| matches!(tree.kind(arg.value), Kind::Text(text) if counts(text)))
        }
        _ => false,
    }
}
