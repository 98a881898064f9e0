//! Calls of a helper that another place of the repository declares, with numbers of their own: what
//! is retried, and how often, is said here and not where the loop is.

use std::collections::BTreeSet;

use super::{MOST, is_own, is_own_crate, number, says, unknown_policy};
use crate::helpers::{Helpers, Meant};
use crate::library::{Context, call};
use crate::loops::{Helper, Part, Parts, is_helper_name, is_quantity, words_of};
use crate::policy::{Attempts, By, Loop, Policy};
use crate::tree::{Arg, Id, Kind, Tree};
use crate::value::Data;

/// What such a policy is called.
const SHAPE: &str = "helper";
/// So much of an argument is shown.
const SHOWN: usize = 60;

/// What a function says that tells how long to wait.
const WAITS: &[&str] = &["backoff", "delay", "duration", "interval", "sleep", "wait"];
/// Where a test waits until something holds.
const TESTS: &[&str] = &["test", "tests", "testing", "testutil", "testutils"];

/// What helpers are called in a package whose name says that they retry: `retryx.Do`.
const PLAIN: &[&str] = &["Do", "DoWithData", "DoValue", "Run", "Call", "Exec", "Execute", "With"];

/// A call of a helper, and what it is given to do.
struct Used<'t, 's> {
    call: Id,
    name: &'s str,
    args: &'t [Arg<'s>],
    work: Option<usize>,
    /// Whether it decorates what is done.
    decorates: bool,
}

/// The names of such helpers: another file may declare them.
pub(super) fn names(tree: &Tree<'_>) -> BTreeSet<String> {
    tree.ids().filter_map(|id| named(tree, id)).map(|used| used.name.to_owned()).collect()
}

/// Those of them that only the name of their package tells.
pub(super) fn of_packages(tree: &Tree<'_>) -> BTreeSet<String> {
    let mut names = names(tree);
    names.retain(|name| PLAIN.contains(&name.as_str()));
    names
}

/// Which helpers are called, and what they are told.
pub(super) fn asks(
    tree: &Tree<'_>,
    context: &Context<'_, '_, '_>,
    helpers: &Helpers,
) -> Vec<(usize, Parts)> {
    let used = tree.ids().filter_map(|id| named(tree, id));
    let meant = used.filter_map(|used| meant(tree, context, helpers, &used));
    meant.map(|(meant, parts)| (meant.at, parts)).collect()
}

/// The calls of those that are declared, as policies.
pub(super) fn find(
    tree: &Tree<'_>,
    context: &Context<'_, '_, '_>,
    helpers: &Helpers,
) -> Vec<Policy> {
    let mut all = Vec::new();
    for id in tree.ids() {
        let Some(mut used) = named(tree, id) else { continue };
        used.work = used.args.iter().position(|arg| is_work(tree, context, arg.value));
        if let Some((meant, parts)) = meant(tree, context, helpers, &used) {
            let repeats = || matches!(helpers.told(meant.at, &Parts::new()), Some(Some(_)));
            match helpers.told(meant.at, &parts) {
                Some(Some(policy)) => {
                    all.push(as_called(tree, context, meant, policy.clone(), &used));
                    continue;
                }
                // It is told not to try again.
                Some(None) if repeats() => continue,
                _ => {}
            }
        }
        let known = says(used.name) && helpers.declares(used.name);
        let told = used.args.len() >= 2 && is_told_numbers(tree, context, &used)
            || used.decorates && number_of(context, used.args).is_some();
        let counts = (known || is_of_own_package(tree, context, &used)) && told;
        all.extend(counts.then(|| unknown(tree, context, &used)));
    }
    all
}

/// Whether the package of this repository that a helper is of has a name that says so.
fn is_of_own_package(tree: &Tree<'_>, context: &Context<'_, '_, '_>, used: &Used<'_, '_>) -> bool {
    let Kind::Call { callee, .. } = tree.kind(used.call) else { return false };
    let found = context.values.imports().qualify(tree, *callee);
    PLAIN.contains(&used.name)
        && found.is_some_and(|found| {
            context.manifests.is_some_and(|all| all.is_own(&found.module, context.language))
        })
}

/// A call, or the making of an object, whose name says that it retries.
fn named<'t, 's>(tree: &'t Tree<'s>, id: Id) -> Option<Used<'t, 's>> {
    let Kind::Call { callee, args, .. } = tree.kind(id) else { return None };
    let name = tree.last_name(*callee)?;
    let owner = || match tree.kind(*callee) {
        Kind::Field { of, .. } => {
            tree.last_name(*of).is_some_and(|of| says(of) || of.starts_with("retry"))
        }
        _ => false,
    };
    if !(is_helper_name(name) || PLAIN.contains(&name) && owner()) {
        return None;
    }
    let of_tests = |part: &&str| TESTS.iter().any(|word| part.eq_ignore_ascii_case(word));
    if args.is_empty()
        || tree.is_parameter(*callee)
        || tree.path(*callee).is_some_and(|path| path.iter().any(of_tests))
    {
        return None;
    }
    let decorates = tree.parent(id).is_some_and(|up| match tree.kind(up) {
        Kind::Function { decorators, .. } => decorators.contains(&id),
        _ => false,
    });
    Some(Used { call: id, name, args, work: None, decorates })
}

/// Whether a number is among what is given besides the work.
fn is_told_numbers(tree: &Tree<'_>, context: &Context<'_, '_, '_>, used: &Used<'_, '_>) -> bool {
    let made = matches!(tree.kind(used.call), Kind::Call { new: true, .. });
    let Some(work) = used.work.filter(|_| !made) else { return false };
    let mut others = used.args.iter().enumerate().filter(|(at, _)| *at != work);
    others.any(|(_, arg)| is_own_number(tree, context, arg.value))
}

/// Whether an argument is something to do: a closure, here or under a name of this file.
fn is_work(tree: &Tree<'_>, context: &Context<'_, '_, '_>, id: Id) -> bool {
    let made = context.values.definition(id).unwrap_or(id);
    match tree.kind(made) {
        Kind::Function { params, .. } => params.len() <= 2 && !tree.is_parameter(id),
        _ => false,
    }
}

/// Whether an argument says how often or how long: a number, a duration, an object of such, or a
/// function that says how long to wait. What is only handed on says nothing.
fn is_own_number(tree: &Tree<'_>, context: &Context<'_, '_, '_>, id: Id) -> bool {
    if tree.is_parameter(id) {
        return false;
    }
    let made = context.values.definition(id).unwrap_or(id);
    match tree.kind(made) {
        // Of two functions the second may as well do something.
        Kind::Function { .. } => {
            let text = tree.source(made).to_ascii_lowercase();
            WAITS.iter().any(|word| text.contains(word))
        }
        Kind::Record { entries, .. } => entries.iter().any(|entry| {
            entry.key.as_deref().is_some_and(is_quantity)
                || is_own_number(tree, context, entry.value)
        }),
        Kind::Unary { of, .. } => is_own_number(tree, context, *of),
        _ => {
            let value = context.values.of(id);
            let is_one = |data: &Data| {
                matches!(data, Data::Duration(_))
                    || matches!(data, Data::Number(number) if *number >= 1.0)
            };
            match &value.data {
                // A wait for each retry.
                Data::List(all) => !all.is_empty() && all.iter().all(|one| is_one(&one.data)),
                Data::Record(entries) => {
                    entries.iter().any(|(key, one)| is_quantity(key) && is_one(&one.data))
                }
                // A policy that is set elsewhere: `image.Retry`.
                Data::Unknown(_) => match tree.kind(id) {
                    Kind::Field { name, .. } => says(name) || super::options::counts(name),
                    _ => false,
                },
                data => is_one(data),
            }
        }
    }
}

/// The helper that a call means, and what it is told: how often, or how long after.
fn meant<'h>(
    tree: &Tree<'_>,
    context: &Context<'_, '_, '_>,
    helpers: &'h Helpers,
    used: &Used<'_, '_>,
) -> Option<(Meant<'h>, Parts)> {
    let Kind::Call { callee, .. } = tree.kind(used.call) else { return None };
    let path = context.values.path().unwrap_or_default();
    let module = context.values.imports().qualify(tree, *callee).map(|found| found.module);
    let may = |path: &str| module.as_ref().is_none_or(|module| is_of(context, module, path));
    let meant = helpers.find(used.name, path, context.language, may)?;
    if meant.path == path && meant.helper.has(tree.span(used.call).line) {
        return None;
    }
    Some((meant, parts(tree, context, meant.helper, used)?))
}

/// What a helper does, as the policy of a call.
fn as_called(
    tree: &Tree<'_>,
    context: &Context<'_, '_, '_>,
    Meant { helper, path, .. }: Meant<'_>,
    policy: Policy,
    used: &Used<'_, '_>,
) -> Policy {
    let span = tree.span(used.call);
    let mut policy = policy;
    policy.notes.push(format!("{} of {path} does it", used.name));
    if let Some((waits, text)) = waits_given(tree, context, used.args) {
        policy.waits_as_given(&waits, &text);
    }
    Policy {
        by: By::HandRolled { shape: SHAPE.to_owned() },
        line: span.line,
        end_line: span.end_line,
        language: context.language,
        also: Vec::new(),
        runs: Some(Loop { path: path.to_owned(), lines: helper.runs }),
        call: match used.work {
            Some(work) => call::wrapped(tree, used.args[work].value, false),
            None if helper.is_handed => None,
            None => policy.call.clone(),
        },
        ..policy
    }
}

/// A list of durations among what a call is given, in milliseconds, and how it is written.
fn waits_given(
    tree: &Tree<'_>,
    context: &Context<'_, '_, '_>,
    args: &[Arg<'_>],
) -> Option<(Vec<f64>, String)> {
    args.iter().find_map(|arg| {
        let Data::List(all) = context.values.of(arg.value).data else { return None };
        let waits: Option<Vec<f64>> = all
            .iter()
            .map(|one| match one.data {
                Data::Duration(ms) => Some(ms),
                _ => None,
            })
            .collect();
        let text = tree.source(arg.value).chars().take(SHOWN).collect();
        waits.filter(|waits| !waits.is_empty()).map(|waits| (waits, text))
    })
}

/// Whether a module that is imported may be the file.
fn is_of(context: &Context<'_, '_, '_>, module: &str, path: &str) -> bool {
    if is_own(module) || is_own_crate(module) {
        return true;
    }
    if context.manifests.is_some_and(|manifests| manifests.is_own(module, context.language)) {
        return true;
    }
    let mut parts = module.split(['/', '.', ':', '\\']).filter(|part| !part.is_empty());
    let last = parts.next_back().unwrap_or(module);
    path.rsplit('/').take(2).any(|part| part.split('.').next() == Some(last))
}

/// What a call tells of each parameter, if it says itself how often or how long.
fn parts(
    tree: &Tree<'_>,
    context: &Context<'_, '_, '_>,
    helper: &Helper,
    used: &Used<'_, '_>,
) -> Option<Parts> {
    let mut parts = Parts::new();
    let (mut numbers, mut open) = (false, false);
    for (at, arg) in used.args.iter().enumerate() {
        if arg.spread {
            return None;
        }
        let Some(param) = helper.param(at, arg.name) else { continue };
        let value = context.values.of(arg.value);
        if let Data::Record(entries) = &value.data {
            for (key, entry) in entries {
                let part = Part::of(&entry.data, key);
                numbers |= param.is_number && part.is_number();
                parts.push((format!("{}.{key}", param.name).into(), part));
            }
            continue;
        }
        let text: String = tree.source(arg.value).chars().take(SHOWN).collect();
        let part = Part::of(&value.data, &text);
        numbers |= param.is_number && part.is_number();
        open |= param.is_number
            && !param.is_optional
            && matches!(part, Part::Open(_))
            && is_setting(tree, arg.value);
        parts.push((param.name.clone(), part));
    }
    (numbers || open && helper.is_handed && used.args.len() >= 2).then_some(parts)
}

/// Whether something is set elsewhere, and not handed on by whoever calls: `config.retries`.
fn is_setting(tree: &Tree<'_>, id: Id) -> bool {
    match tree.kind(id) {
        Kind::Field { of, .. } => !matches!(tree.kind(*of), Kind::Name("self" | "this")),
        Kind::Call { .. } => true,
        Kind::Binary { left, right, .. } => is_setting(tree, *left) || is_setting(tree, *right),
        Kind::Unary { of, .. } => is_setting(tree, *of),
        _ => false,
    }
}

/// A call of a helper whose loop is not understood.
fn unknown(tree: &Tree<'_>, context: &Context<'_, '_, '_>, used: &Used<'_, '_>) -> Policy {
    let Used { call: id, name, args, work, decorates } = *used;
    let given = number(tree, args);
    let usual = number_of(context, args).or(given);
    let attempts = Attempts::Dynamic {
        expression: match given {
            Some(given) => format!("{given}, with or without the first, by {name}"),
            None => format!("decided by {name}"),
        },
        low: Some(given.unwrap_or(1)),
        high: given.map(|given| given + 1),
        usual,
    };
    let span = tree.span(id);
    let mut policy = unknown_policy(context, String::new(), attempts);
    policy.by = By::HandRolled { shape: SHAPE.to_owned() };
    policy.line = span.line;
    policy.end_line = span.end_line;
    policy.delay.base_ms = first_wait(context, args).map(crate::policy::Setting::derived);
    policy.call = match work {
        Some(work) => call::wrapped(tree, args[work].value, false),
        None if decorates => call::wrapped(tree, id, true),
        None => None,
    };
    if let Some((waits, text)) = waits_given(tree, context, args) {
        policy.waits_as_given(&waits, &text);
    }
    policy.notes = vec![format!("{name} of this repository retries what it is given")];
    policy
}

/// How often it tries in all, as a named argument or an object with such an entry says: one of
/// retries has the first attempt beside it.
fn number_of(context: &Context<'_, '_, '_>, args: &[Arg<'_>]) -> Option<u32> {
    let whole = |key: &str, data: &Data| match data {
        Data::Number(number) if (1.0..=MOST).contains(number) && number.fract() == 0.0 => {
            let words = words_of(key);
            let retries = words.iter().any(|word| matches!(&**word, "retries" | "retry"));
            Some(*number as u32 + u32::from(retries))
        }
        _ => None,
    };
    let counts =
        |key: &str| super::options::counts(key) || words_of(key).iter().any(|w| is_attempts(w));
    args.iter().find_map(|arg| {
        let value = context.values.of(arg.value);
        match (&value.data, arg.name) {
            (Data::Record(entries), _) => {
                entries.iter().find_map(|(key, one)| whole(key, &one.data).filter(|_| counts(key)))
            }
            (data, Some(name)) if counts(name) => whole(name, data),
            _ => None,
        }
    })
}

/// The first wait, as an object says that is given: `{Delay: time.Second}`.
fn first_wait(context: &Context<'_, '_, '_>, args: &[Arg<'_>]) -> Option<f64> {
    args.iter().find_map(|arg| {
        let Data::Record(entries) = context.values.of(arg.value).data else { return None };
        entries.iter().find_map(|(key, one)| match one.data {
            Data::Duration(ms) => {
                let words = words_of(key);
                let any = |list: &[&str]| words.iter().any(|word| list.contains(&&**word));
                (any(WAITS) && !any(&["max", "maximum", "limit"])).then_some(ms)
            }
            _ => None,
        })
    })
}

/// Whether a word is one of attempts.
fn is_attempts(word: &str) -> bool {
    matches!(word, "attempts" | "tries")
}
