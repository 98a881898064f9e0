//! How many attempts there are, and what their number depends on.

use super::{Budget, run};
use crate::loops::candidate::Candidate;
use crate::loops::file::File;
use crate::loops::machine::{Plan, Trace};
use crate::loops::words;
use crate::tree::{Id, Kind, Op};

/// How many attempts there are, and what that depends on.
pub(super) fn count(
    file: &File<'_, '_>,
    plan: &Plan,
    trace: &Trace,
    endless: bool,
    budget: &mut Budget,
) -> (Option<u32>, Option<(u16, i64)>) {
    if endless {
        return (None, None);
    }
    let usual = if plan.bump == 0.0 {
        trace.calls
    } else {
        let mut plain = plan.clone();
        plain.bump = 0.0;
        run(file, &plain, budget).calls
    };
    if trace.bounds.is_empty() {
        return (Some(usual), None);
    }
    let mut more = plan.clone();
    more.bump = plan.bump + 2.0;
    let mut other = run(file, &more, budget);
    let defaults = trace.symbols.iter().filter(|symbol| symbol.usual.is_some()).count();
    if other.calls == trace.calls && (1..trace.symbols.len()).contains(&defaults) {
        // What it begins with and where it ends may have moved together.
        more.defaults = false;
        other = run(file, &more, budget);
    }
    if other.calls == trace.calls {
        return (Some(usual), None);
    }
    // A counter that begins at a default: the more it begins with, the fewer are left.
    if other.calls < trace.calls && trace.symbols.iter().any(|symbol| symbol.usual.is_some()) {
        return (Some(usual), None);
    }
    let symbol = limit(trace, more.defaults);
    let extra = trace.symbols.get(usize::from(symbol) - 1).map_or(0, |known| {
        i64::from(trace.calls).saturating_sub((known.witness + plan.bump) as i64)
    });
    (Some(usual), Some((symbol, extra)))
}

/// The unknown number that limits the attempts: of several that were compared the one that is called
/// so. One with a default may be what a counter begins with.
fn limit(trace: &Trace, defaults: bool) -> u16 {
    let named = |symbol: &&u16| {
        let known = trace.symbols.get(usize::from(**symbol) - 1);
        known.is_some_and(|known| {
            words::about_retry(&known.text) && (defaults || known.usual.is_none())
        })
    };
    trace.bounds.iter().find(named).copied().unwrap_or(trace.bounds[0])
}

/// Whether a function that calls itself hands on a count of its attempts, whoever looks at it.
pub(super) fn hands_on_a_count(file: &File<'_, '_>, candidate: &Candidate) -> bool {
    let tree = file.tree;
    let Some(function) = candidate.recursive else { return false };
    let Some(name) = file.function_name(function) else { return false };
    let counts = |id: Id| match tree.kind(id) {
        Kind::Step { of, .. } => tree.last_name(*of).is_some_and(words::about_retry),
        Kind::Binary { op: Op::Add | Op::Subtract, left, .. } => {
            tree.last_name(*left).is_some_and(words::about_retry)
        }
        _ => false,
    };
    file.calls(name).iter().filter(|call| file.within(**call, function)).any(|call| {
        matches!(tree.kind(*call), Kind::Call { args, .. } if args.iter().any(|arg| counts(arg.value)))
    })
}
