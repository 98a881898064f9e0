//! Timeouts that stand in code: those of one attempt, and the one around all of them.

use super::sites::{inside, name_of, place};
use crate::language::Language;
use crate::policy::Policy;
use crate::tree::{Id, Kind, Tree};
use crate::value::{Imports, Unit, Values};

/// A call that bounds a time.
struct Bound {
    /// How it is called, or ends.
    name: &'static str,
    /// Which argument says how long.
    at: usize,
    /// The unit of a number.
    unit: Unit,
}

const fn bound(name: &'static str, at: usize, unit: Unit) -> Bound {
    Bound { name, at, unit }
}

const PYTHON: &[Bound] = &[
    bound("asyncio.timeout", 0, Unit::S),
    bound("async_timeout.timeout", 0, Unit::S),
    bound("asyncio.wait_for", 1, Unit::S),
    bound("anyio.fail_after", 0, Unit::S),
    bound("anyio.move_on_after", 0, Unit::S),
    bound("trio.fail_after", 0, Unit::S),
    bound("trio.move_on_after", 0, Unit::S),
];
const GO: &[Bound] = &[bound("context.WithTimeout", 1, Unit::Ns)];
const KOTLIN: &[Bound] =
    &[bound("withTimeout", 0, Unit::Ms), bound("withTimeoutOrNull", 0, Unit::Ms)];
const RUST: &[Bound] = &[bound("tokio.time.timeout", 0, Unit::S), bound("timeout", 0, Unit::S)];
const SCRIPT: &[Bound] = &[bound("AbortSignal.timeout", 0, Unit::Ms)];
const CSHARP: &[Bound] = &[
    bound("CancellationTokenSource", 0, Unit::Ms),
    bound("CancelAfter", 0, Unit::Ms),
    bound("WaitAsync", 0, Unit::Ms),
];
const JAVA: &[Bound] = &[bound("timeout", 0, Unit::Ms)];

fn bounds(language: Language) -> &'static [Bound] {
    match language {
        Language::Python => PYTHON,
        Language::Go => GO,
        Language::Kotlin => KOTLIN,
        Language::Rust => RUST,
        Language::JavaScript | Language::TypeScript | Language::Tsx => SCRIPT,
        Language::CSharp => CSHARP,
        Language::Java => JAVA,
        Language::Ruby | Language::Php => &[],
    }
}

/// What stands in the code, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Found {
    /// The longest one attempt may take.
    pub(super) attempt_ms: Option<f64>,
    /// The longest the whole may take: the nearest bound around it.
    pub(super) around_ms: Option<f64>,
}

/// The timeouts of a policy.
pub(super) fn find(tree: &Tree<'_>, language: Language, policy: &Policy) -> Found {
    // To follow values costs more than to see that there is no timeout in the file.
    let last = |bound: &Bound| bound.name.rsplit('.').next().unwrap_or(bound.name);
    if !bounds(language).iter().any(|bound| tree.text().contains(last(bound))) {
        return Found::default();
    }
    let Some(place) = place(tree, policy) else { return Found::default() };
    let imports = Imports::of(tree);
    let values = Values::new(tree, &imports);
    let all = inside(tree, policy);
    let mut attempt: Vec<f64> =
        all.iter().filter_map(|id| millis(tree, language, &values, *id)).collect();
    attempt.extend(all.iter().filter_map(|id| keyword(tree, language, &values, *id)));
    // Several may belong to several calls: the shortest is the least that an attempt may take.
    let attempt_ms = attempt.into_iter().reduce(f64::min);
    Found { attempt_ms, around_ms: around(tree, language, &values, place) }
}

/// The bound of a call, if it is one.
fn millis(tree: &Tree<'_>, language: Language, values: &Values<'_, '_>, id: Id) -> Option<f64> {
    let Kind::Call { callee, args, .. } = tree.kind(id) else { return None };
    let name = name_of(tree, *callee)?;
    let bound = bounds(language)
        .iter()
        .find(|bound| name == bound.name || name.ends_with(&format!(".{}", bound.name)))?;
    let named = args.iter().find(|arg| arg.name == Some("timeout"));
    let arg = named.or_else(|| args.get(bound.at))?;
    values.of(arg.value).millis(bound.unit).filter(|ms| ms.is_finite() && *ms > 0.0)
}

/// `timeout=2` of Python's clients, in seconds.
fn keyword(tree: &Tree<'_>, language: Language, values: &Values<'_, '_>, id: Id) -> Option<f64> {
    let Kind::Call { args, .. } = tree.kind(id) else { return None };
    let arg = args.iter().find(|arg| arg.name == Some("timeout"))?;
    let ms = (language == Language::Python).then(|| values.of(arg.value).millis(Unit::S))??;
    (ms.is_finite() && ms > 0.0).then_some(ms)
}

/// The nearest bound around a place, in its function: a `with`, a call that is given the code, or
/// a statement before it.
fn around(tree: &Tree<'_>, language: Language, values: &Values<'_, '_>, place: Id) -> Option<f64> {
    let within = |id: Id| tree.walk_here(id).find_map(|id| millis(tree, language, values, id));
    let mut below = place;
    for up in tree.ancestors(place) {
        let found = match tree.kind(up) {
            Kind::With { items, .. } => items.iter().find_map(|item| within(*item)),
            Kind::Call { .. } => millis(tree, language, values, up),
            // A context, a signal or a token that is made before is the deadline of what uses it.
            Kind::Block(all) if HANDED.contains(&language) => {
                let before = all.iter().take_while(|id| **id != below);
                let made = before.filter(|id| match tree.kind(**id) {
                    Kind::Let { target, .. } | Kind::Assign { target, .. } => {
                        uses(tree, place, *target)
                    }
                    _ => false,
                });
                made.filter_map(|id| within(*id)).last()
            }
            Kind::Function { name: Some(_), .. } => return None,
            _ => None,
        };
        if found.is_some() {
            return found;
        }
        below = up;
    }
    None
}

/// Languages in which a deadline is a value that is handed to calls.
const HANDED: &[Language] =
    &[Language::Go, Language::CSharp, Language::JavaScript, Language::TypeScript, Language::Tsx];

/// Whether one of the names that are set here is used there.
fn uses(tree: &Tree<'_>, there: Id, target: Id) -> bool {
    let names = |id: Id| match tree.kind(id) {
        Kind::Name(name) => Some(*name),
        _ => None,
    };
    let set: Vec<&str> = tree.walk(target).filter_map(names).collect();
    tree.walk(there).filter_map(names).any(|name| set.contains(&name))
}
