//! The policies of one file: those of libraries, those that are written by hand, and which of them
//! say the same.

use std::collections::BTreeSet;

use super::{Known, Source};
use crate::library;
use crate::loops::{self, Helper, Parts};
use crate::policy::{Policy, Scope};
use crate::tree::{Id, Kind, LoopForm, Span, Tree};
use crate::value::{Imports, Values};

/// More policies than this of one file are left out: each is held against the whole file.
pub(super) const MOST_POLICIES: usize = 2_000;

/// What one file has.
#[derive(Debug)]
pub struct Policies {
    /// Its policies, by line.
    pub all: Vec<Policy>,
    /// Whether other files could say more of them.
    pub open: bool,
    /// How many were left out, because there are too many.
    pub left_out: usize,
    /// What it calls or gives a number of retries that another file may declare.
    pub called: BTreeSet<String>,
    /// What it calls that may be a helper of the repository.
    pub(crate) own_called: BTreeSet<String>,
    /// What retries as it is told: other files may call it.
    pub(crate) helpers: Vec<Helper>,
}

/// The policies of one file.
#[must_use]
pub fn policies(tree: &Tree<'_>, source: &Source<'_>, known: Known<'_>) -> Policies {
    let imports = Imports::of(tree);
    let values = values(tree, &imports, source, known);
    let context = context(&values, source, known);
    let mut all = library::find(tree, &context);
    let of_libraries = all.len();
    let by_hand = loops::find_with(tree, source.language, Some(&values));
    let own = match known.helpers {
        Some(_) => Vec::new(),
        None => loops::helpers_of(tree, &by_hand),
    };
    for found in by_hand {
        let iterated = iterated(tree, &values, found.sites.place);
        let taken = all[..of_libraries].iter_mut().any(|library| {
            let by_name = iterated.is_some_and(|span| of_line(library, span));
            if by_name {
                library.also.push([found.policy.line, found.policy.end_line]);
                library.call = library.call.take().or_else(|| found.policy.call.clone());
            }
            by_name || says_again(&found.policy, library)
        });
        if !taken {
            all.push(found.policy);
        }
    }
    let (mut called, mut own_called) = (BTreeSet::new(), BTreeSet::new());
    if let Some(helpers) = known.helpers {
        let within =
            |one: &Policy, other: &Policy| one.line <= other.end_line && other.line <= one.end_line;
        let unknown = library::unknown::find(tree, &context, helpers, &all).into_iter();
        let alone: Vec<_> =
            unknown.filter(|one| !all.iter().any(|other| within(one, other))).collect();
        all.extend(alone);
    } else {
        called = library::unknown::called(tree, &context);
        own_called = library::unknown::own_called(tree);
    }
    all.sort_by_key(|policy| (policy.line, policy.end_line));
    let left_out = all.len().saturating_sub(MOST_POLICIES);
    all.truncate(MOST_POLICIES);
    for policy in &mut all {
        policy.delay.forget_absurd();
        library::end_by_deadline(policy, false, 0.0);
        policy.scope = source.scope;
        if policy.scope == Scope::Production && in_tests(tree, policy) {
            policy.scope = Scope::Test;
        }
    }
    Policies { all, open: values.wants_project(), left_out, called, own_called, helpers: own }
}

/// Which helpers of the repository a file calls, and what they are told.
pub(super) fn asks(tree: &Tree<'_>, source: &Source<'_>, known: Known<'_>) -> Vec<(usize, Parts)> {
    let Some(helpers) = known.helpers else { return Vec::new() };
    let imports = Imports::of(tree);
    let values = values(tree, &imports, source, known);
    library::unknown::asks(tree, &context(&values, source, known), helpers)
}

fn values<'t, 's>(
    tree: &'t Tree<'s>,
    imports: &'t Imports<'s>,
    source: &Source<'t>,
    known: Known<'t>,
) -> Values<'t, 's> {
    let values = Values::new(tree, imports);
    match known.project {
        Some(project) => values.with_project(project, source.path),
        None => values,
    }
}

fn context<'v, 't, 's>(
    values: &'v Values<'t, 's>,
    source: &Source<'_>,
    known: Known<'v>,
) -> library::Context<'v, 't, 's> {
    library::Context {
        language: source.language,
        values,
        manifests: known.manifests,
        scope: source.scope,
    }
}

/// Whether a loop says again what a library's policy says: the library's iterator is its head.
fn says_again(found: &Policy, library: &Policy) -> bool {
    found.line <= library.line
        && library.end_line <= found.end_line
        && library.line <= found.line + 1
}

/// What a loop goes through, if that is a variable of this file: where it was made.
fn iterated(tree: &Tree<'_>, values: &Values<'_, '_>, place: Id) -> Option<Span> {
    let Kind::Loop { form: LoopForm::Each { over, .. }, .. } = tree.kind(place) else {
        return None;
    };
    let mut over = *over;
    while let Kind::Unary { of, .. } = tree.kind(over) {
        over = *of;
    }
    let made = values.definition(over)?;
    matches!(tree.kind(made), Kind::Call { .. }).then(|| tree.span(made))
}

/// Whether a policy was made there.
fn of_line(policy: &Policy, made: Span) -> bool {
    !policy.implicit && made.line == policy.line && made.end_line == policy.end_line
}

/// Whether a policy stands in a part of a file that is only built for tests.
fn in_tests(tree: &Tree<'_>, policy: &Policy) -> bool {
    let around = |id: &Id| {
        let span = tree.span(*id);
        span.line <= policy.line && policy.end_line <= span.end_line
    };
    tree.touching(policy.line, policy.end_line).filter(around).any(|id| {
        let (Kind::Function { decorators, .. } | Kind::Class { decorators, .. }) = tree.kind(id)
        else {
            return false;
        };
        decorators.iter().any(|decorator| {
            let text = tree.source(*decorator);
            let text = text.trim_start_matches(['#', '[', '@']);
            ["test", "cfg(test)", "tokio::test", "Test", "Fact", "Theory", "TestMethod"].iter().any(
                |word| {
                    text.strip_prefix(word)
                        .is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric()))
                },
            )
        })
    })
}
