//! Finds the policies of libraries, by the catalogue.

mod call;
mod catalogue;
mod closure;
mod decorated;
mod given;
mod grown;
mod keys;
mod manifests;
mod names;
mod parts;
mod read;
mod schedule;
mod seek;
pub(crate) mod unknown;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry as MapEntry;

use foldhash::{HashMap, HashMapExt as _, HashSet, HashSetExt as _};

pub use manifests::Manifests;
pub(crate) use schedule::end_by_deadline;
pub(crate) use seek::Seek;

use crate::language::Language;
use crate::policy::{Attempts, Policy, Scope};
use crate::tree::{Id, Kind, Tree};
use crate::value::Values;

use catalogue::{Ecosystem, Entry, Shape, Silent};
use given::Given;

/// What is known besides the tree.
#[derive(Clone, Copy, Debug)]
pub struct Context<'c, 't, 's> {
    /// The language of the file.
    pub language: Language,
    /// Its values and imports.
    pub values: &'c Values<'t, 's>,
    /// Which versions are installed, if it is known.
    pub manifests: Option<&'c Manifests>,
    /// Where the code is used.
    pub scope: Scope,
}

/// How a name stands in code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Call,
    Method,
    Decorator,
    Record,
    Base,
    Set,
    Keys,
}

/// A name that is looked for.
struct Wanted<'e> {
    entry: &'e Entry,
    shape: &'e Shape,
    form: Form,
    name: &'e str,
}

/// A place that is a library's, with what it gives.
struct Match<'e> {
    entry: &'e Entry,
    shape: &'e Shape,
    form: Form,
    id: Id,
    given: Given,
}

/// The policies of libraries in a file, in the order of their lines. A file that cannot be judged
/// because the catalogue is broken has none; a test keeps the catalogue whole.
#[must_use]
pub fn find(tree: &Tree<'_>, context: &Context<'_, '_, '_>) -> Vec<Policy> {
    let Some(ecosystem) = Ecosystem::of(context.language) else { return Vec::new() };
    let Ok(entries) = ecosystem.entries() else { return Vec::new() };
    let active: Vec<&Entry> = entries
        .iter()
        .filter(|entry| names::active(entry, context.values, context.language))
        .collect();
    if active.is_empty() {
        return Vec::new();
    }
    let wanted = by_last_name(&active);
    let mut matches = matches(tree, context, &wanted);
    matches.extend(keys::matches(tree, context, &active, &matches));
    let matched: HashSet<Id> = matches.iter().map(|found| found.id).collect();
    // By their lines, and in their order.
    let mut policies: BTreeMap<(u32, u32), (usize, Policy)> = BTreeMap::new();
    let judged = matches.iter().filter_map(|found| Some((found, judge(found, context, &matched)?)));
    for (found, policy) in decorated::joined(tree, judged.collect()) {
        let close = names::closeness(found.entry, context.values);
        match policies.entry((policy.line, policy.end_line)) {
            // Two entries for one place: the closer one, or the one that says more.
            MapEntry::Occupied(mut same) => {
                let (as_close, other) = same.get_mut();
                if (*as_close, written(other)) < (close, written(&policy)) {
                    (*as_close, *other) = (close, policy);
                }
            }
            MapEntry::Vacant(place) => {
                place.insert((close, policy));
            }
        }
    }
    policies.into_values().map(|(_, policy)| policy).collect()
}

fn by_last_name<'e>(active: &[&'e Entry]) -> HashMap<&'e str, Vec<Wanted<'e>>> {
    let mut all: HashMap<&str, Vec<Wanted<'_>>> = HashMap::new();
    for entry in active {
        for shape in &entry.shapes {
            let lists = [
                (Form::Call, &shape.call),
                (Form::Method, &shape.method),
                (Form::Decorator, &shape.decorator),
                (Form::Record, &shape.record),
                (Form::Base, &shape.base),
                (Form::Set, &shape.set),
            ];
            for (form, list) in lists {
                for name in list {
                    // A module that is itself called has any name.
                    let last = match names::segments(name).last() {
                        Some(last) if *last != "default" && !last.starts_with('*') => last,
                        _ => "",
                    };
                    all.entry(last).or_default().push(Wanted { entry, shape, form, name });
                }
            }
        }
    }
    all
}

fn matches<'e>(
    tree: &Tree<'_>,
    context: &Context<'_, '_, '_>,
    wanted: &HashMap<&str, Vec<Wanted<'e>>>,
) -> Vec<Match<'e>> {
    let mut all = Vec::new();
    let mut decorators = HashSet::new();
    for id in tree.ids() {
        if let Kind::Function { decorators: list, .. } | Kind::Class { decorators: list, .. } =
            tree.kind(id)
        {
            decorators.extend(list.iter().copied());
        }
    }
    for id in tree.ids() {
        let decorator = decorators.contains(&id);
        let (name, forms): (Id, &[Form]) = match tree.kind(id) {
            Kind::Call { callee, .. } if decorator => (*callee, &[Form::Decorator]),
            Kind::Call { callee, .. } => (*callee, &[Form::Call, Form::Method]),
            Kind::Record { ty: Some(ty), .. } => (*ty, &[Form::Record, Form::Call]),
            Kind::Name(_) | Kind::Field { .. } if decorator => (id, &[Form::Decorator]),
            Kind::Assign { op: None, target, .. } => (*target, &[Form::Set]),
            Kind::Class { bases, .. } => {
                for base in bases {
                    all.extend(one(tree, context, wanted, id, *base, &[Form::Base]));
                }
                continue;
            }
            _ => continue,
        };
        all.extend(one(tree, context, wanted, id, name, forms));
    }
    all
}

fn one<'e>(
    tree: &Tree<'_>,
    context: &Context<'_, '_, '_>,
    wanted: &HashMap<&str, Vec<Wanted<'e>>>,
    id: Id,
    name: Id,
    forms: &[Form],
) -> Vec<Match<'e>> {
    let name = names::without_types(tree, name);
    let Some(last) = tree.last_name(name) else { return Vec::new() };
    let lists = [wanted.get(last), wanted.get("")];
    let mut all: Vec<Match<'_>> = Vec::new();
    for one in lists.into_iter().flatten().flatten() {
        if !forms.contains(&one.form) || all.iter().any(|found| found.entry.id == one.entry.id) {
            continue;
        }
        let fits = match one.form {
            Form::Method => {
                matches!(tree.kind(name), Kind::Field { .. })
                    && (one.shape.free
                        || names::imported(one.entry, context.values)
                            && context.values.imports().qualify(tree, name).is_none_or(|found| {
                                one.entry
                                    .imports
                                    .iter()
                                    .any(|import| found.module.starts_with(import.as_str()))
                            }))
            }
            _ => names::is_named(one.entry, one.shape, one.name, name, context.values),
        };
        if fits {
            let mut given = match tree.kind(id) {
                Kind::Class { body, .. } if one.form == Form::Base => Given::of_class(tree, *body),
                Kind::Assign { value, .. } => Given::of_assignment(context.values, *value),
                _ => Given::of(context.values, id, &one.entry.own_methods()),
            };
            if one.form == Form::Method {
                given.receiver(tree, name);
            }
            if one.shape.decorated {
                given.add_decorators(context.values, id);
            }
            if one.shape.configured {
                given.add_closures(context.values, id);
            }
            all.push(Match { entry: one.entry, shape: one.shape, form: one.form, id, given });
        }
    }
    all
}

/// The policy of a match, if it is one.
fn judge(
    found: &Match<'_>,
    context: &Context<'_, '_, '_>,
    matched: &HashSet<Id>,
) -> Option<Policy> {
    let values = context.values;
    let needs = &found.shape.needs;
    if !needs.is_empty() && !needs.iter().any(|path| found.given.has_needed(values, path)) {
        return None;
    }
    let mut policy = read::policy(found.entry, &found.given, found.id, context, matched)?;
    if written(&policy) == 0 {
        match found.shape.silent {
            Silent::Policy => {}
            // A version that does nothing by itself.
            Silent::Implicit if policy.attempts_total.value == Attempts::Count(1) => return None,
            Silent::Implicit => {
                policy.implicit = true;
                policy.confidence = crate::policy::Confidence::Low;
            }
            Silent::Skip => return None,
        }
    }
    policy.call = call::wrapped(values.tree(), found.id, found.form == Form::Decorator);
    Some(policy)
}

/// How many settings somebody wrote.
fn written(policy: &Policy) -> usize {
    use crate::policy::From;
    let set = |from: &From| usize::from(!matches!(from, From::Default | From::Derived));
    let maybe = |setting: &Option<crate::policy::Setting<f64>>| {
        setting.as_ref().map_or(0, |setting| set(&setting.from))
    };
    set(&policy.attempts_total.from)
        + set(&policy.delay.kind.from)
        + maybe(&policy.delay.base_ms)
        + maybe(&policy.delay.factor)
        + maybe(&policy.delay.cap_ms)
        + set(&policy.delay.jitter.from)
        + maybe(&policy.deadline_ms)
        + set(&policy.retries_on.from)
}

#[cfg(test)]
mod tests;
