//! Whether a candidate is a retry: what happens to it when the operation always fails, and when
//! it goes well at once.

mod content;
mod context;
mod count;
mod goes_on;
mod kind;
mod resets;
mod slower;
mod steps;

use foldhash::{HashSet, HashSetExt as _};

use super::candidate::{Candidate, Shape, advances, pages, turns};
use super::file::File;
use super::machine::{Cut, Fate, Machine, Plan, Trace, seen};
use super::words;
use crate::language::Language;
use crate::policy::{Confidence, Kind as PolicyKind};
use crate::tree::{Id, Kind};
use context::Context;
use count::{count, hands_on_a_count};
use kind::kind_of;
use resets::resets;
use slower::slower;

/// Steps of one run.
const STEPS: u32 = 50_000;
/// And of one in which the operation goes well: whether it is called again is all that is asked.
const CALLS_OF_SUCCESS: u32 = 3;
/// Decisions that are turned around one at a time.
const FLIPS: usize = 6;

/// What was found of a candidate.
pub(super) struct Verdict {
    /// The run in which the operation always fails.
    pub(super) failing: Trace,
    /// Another, whose waits are the schedule.
    pub(super) slower: Option<Trace>,
    /// The calls that are the operation.
    pub(super) ops: Vec<Id>,
    pub(super) kind: PolicyKind,
    pub(super) confidence: Confidence,
    /// Attempts if nobody says otherwise; `None`: without end.
    pub(super) attempts: Option<u32>,
    /// What the number depends on: its place among the symbols, and how many more attempts than
    /// that there are.
    pub(super) depends: Option<(u16, i64)>,
    /// How good an operation it is.
    pub(super) rank: u32,
}

/// The work that one file may take.
pub(super) struct Budget {
    pub(super) steps: u64,
}

/// The best operation of a candidate.
pub(super) fn judge(
    file: &File<'_, '_>,
    candidate: &Candidate,
    budget: &mut Budget,
) -> Option<Verdict> {
    let mut best: Option<Verdict> = None;
    for group in &candidate.groups {
        if budget.steps == 0 {
            break;
        }
        let verdict = judge_group(file, candidate, group, budget)
            .or_else(|| steps::judge(file, candidate, group, budget));
        if let Some(verdict) = verdict
            && best.as_ref().is_none_or(|known| better(&verdict, known))
        {
            best = Some(verdict);
        }
    }
    best
}

fn better(one: &Verdict, other: &Verdict) -> bool {
    let retry = |verdict: &Verdict| u32::from(verdict.kind == PolicyKind::Retry);
    (retry(one), one.rank) > (retry(other), other.rank)
}

fn run(file: &File<'_, '_>, plan: &Plan, budget: &mut Budget) -> Trace {
    let (mut trace, steps) = Machine::run(file, plan);
    budget.steps = budget.steps.saturating_sub(u64::from(steps));
    if plan.batch && trace.rounds > 0 && trace.calls > trace.rounds {
        let each = trace.calls.div_ceil(trace.rounds);
        trace.waits.iter_mut().for_each(|wait| wait.after = wait.after.div_ceil(each));
        trace.calls = trace.rounds;
    }
    trace
}

/// Whether the operation was repeated because it failed.
fn repeated(candidate: &Candidate, trace: &Trace) -> bool {
    if candidate.subject.is_some() {
        trace.rounds >= 2 || (trace.rounds >= 1 && trace.calls > trace.rounds && trace.calls >= 2)
    } else {
        trace.calls >= 2
    }
}

fn judge_group(
    file: &File<'_, '_>,
    candidate: &Candidate,
    group: &[Id],
    budget: &mut Budget,
) -> Option<Verdict> {
    // What runs cannot change is asked first: they take most of the time.
    let context = Context::new(file, candidate, group);
    if context.never() {
        return None;
    }
    let resets = candidate.subject.is_some() && resets(file, candidate.place);
    if candidate.subject.is_some() && !resets && advances(file, candidate.place, group) {
        return None;
    }
    let ops: HashSet<Id> = group.iter().copied().collect();
    let inner = in_inner_loop(file, candidate, &ops);
    let fates: &[Fate] = match file.language {
        Language::Go if inner => &[Fate::Bad],
        _ if inner => &[Fate::Throws, Fate::Bad],
        // A status is looked at where there is no error.
        Language::Go if words::has(&context.text, &["status"]) => &[Fate::Bad, Fate::Said],
        // `ok, err := condition()`: not yet, and no error either.
        Language::Go if context.parameter && context.named() => &[Fate::Bad, Fate::Said],
        Language::Go => &[Fate::Bad],
        Language::Rust => &[Fate::Bad, Fate::Said],
        _ => &[Fate::Throws, Fate::Bad],
    };
    let mut plan = Plan {
        ops,
        fate: Fate::Good,
        subject: candidate.subject,
        recursive: candidate.recursive,
        entry: entry(file, candidate, group),
        arguments: candidate.recursive.and_then(|function| first_call(file, function)),
        flips: HashSet::new(),
        bump: 0.0,
        defaults: true,
        hints: true,
        batch: inner,
        steps: STEPS,
        calls: u32::MAX,
    };
    let mut found: Option<(Trace, Plan)> = None;
    for fate in fates {
        plan.fate = *fate;
        plan.flips.clear();
        plan.bump = 0.0;
        if let Some(trace) = failing(file, candidate, &mut plan, budget) {
            let old = found.as_ref().map_or(0, |(trace, _)| trace.calls);
            let noticed = found.as_ref().map_or(0, |(trace, _)| trace.seen);
            let handlers = found.as_ref().map_or(Vec::new(), |(trace, _)| trace.handlers.clone());
            // What is only empty says less than what was caught.
            let caught = noticed & seen::CAUGHT != 0;
            let weaker = caught && trace.seen & !(seen::FALSY | seen::DOMAIN) == 0;
            // What goes on at once and uncounted is another way than the one that is counted.
            let runaway = trace.cut == Some(Cut::Endless)
                && trace.waits.is_empty()
                && found.as_ref().is_some_and(|(known, _)| {
                    known.cut.is_none() && known.counted && !known.waits.is_empty()
                });
            if trace.calls > old && !weaker && !runaway {
                let mut trace = trace;
                trace.seen |= noticed;
                if trace.handlers.is_empty() {
                    trace.handlers = handlers;
                }
                found = Some((trace, plan.clone()));
            } else if let Some((known, _)) = &mut found {
                known.seen |= trace.seen;
            }
        }
    }
    let (mut trace, plan) = found?;
    if inner && trace.rounds < 2 {
        return None;
    }
    // The next page, unless a failure is handled in between, or the server said when to ask again.
    let handled = trace.seen & seen::CAUGHT != 0 || goes_on::is_told(&trace);
    let unnoticed = trace.seen & !(seen::FALSY | seen::DOMAIN) == 0;
    let goes_on =
        || pages(file, candidate.place, group) || unnoticed && turns(file, candidate.place, group);
    if !handled && !resets && goes_on() {
        return None;
    }
    let Success { leaves, domain, related, waits } = succeeding(file, candidate, &plan, budget);
    // What was caught failed, whatever is made of the answer afterwards.
    let domain = domain && !(candidate.shape == Shape::Repeat && trace.seen & seen::CAUGHT != 0);
    let endless = matches!(trace.cut, Some(Cut::Endless | Cut::Depth))
        || (trace.cut == Some(Cut::Steps) && trace.calls > 20);
    let (attempts, depends) = count(file, &plan, &trace, endless, budget);
    if leaves && !related && !context.may_be_unrelated(&trace) {
        return None;
    }
    // What failed is tried again, and after what went well it goes on to the next.
    let next = !leaves && resets && !waits && !endless && context.named()
        || !leaves && goes_on::after_what_failed(file, candidate, group, &trace, (endless, waits));
    let content = content::decides(file, &context, group, &trace, endless);
    let kind = kind_of(&context, &trace, leaves || next, domain, (endless, content))?;
    let awaits = domain && !content && content::is_awaited(file, candidate, group, &trace);
    if kind == PolicyKind::Retry && awaits {
        return None;
    }
    let rank = rank(file, &context, group, &trace);
    let counts = hands_on_a_count(file, candidate);
    let confidence = confidence(&context, &trace, endless && !counts);
    if plan.bump != 0.0 && !endless {
        trace.calls = trace.calls.max(2);
    }
    let slower = slower(file, candidate, &plan, &trace, budget);
    let ops = group.to_vec();
    Some(Verdict { failing: trace, slower, ops, kind, confidence, attempts, depends, rank })
}

/// Where a run begins: at the same call before the loop, if there is one in a block around it.
fn entry(file: &File<'_, '_>, candidate: &Candidate, group: &[Id]) -> Id {
    let tree = file.tree;
    let Some(subject) = candidate.subject else { return candidate.entry };
    let start = tree.span(subject).start;
    let mut inner = subject;
    for up in tree.ancestors(subject) {
        match tree.kind(up) {
            Kind::Block(all) => {
                let at = all.iter().position(|id| *id == inner).unwrap_or(0);
                let before = all[..at].iter().find(|id| {
                    group.iter().any(|op| tree.span(*op).start < start && file.within(*op, **id))
                });
                if let Some(before) = before {
                    return *before;
                }
            }
            Kind::Function { .. } | Kind::Loop { .. } => break,
            _ => {}
        }
        inner = up;
    }
    subject
}

/// The one call of a function from outside of it.
fn first_call(file: &File<'_, '_>, function: Id) -> Option<Id> {
    let name = file.function_name(function)?;
    // What is called alike and given something else belongs to another: `worker.do(job)`.
    let means = |call: Id| file.callee(call) == Some(function) && file.takes(function, call);
    let calls = file.calls(name).iter();
    let mut outside = calls.filter(|call| !file.within(**call, function) && means(**call));
    let first = outside.next()?;
    // Several callers may say different things.
    outside.next().is_none().then_some(*first)
}

/// The run in which the operation always fails, if it is repeated in it.
fn failing(
    file: &File<'_, '_>,
    candidate: &Candidate,
    plan: &mut Plan,
    budget: &mut Budget,
) -> Option<Trace> {
    let trace = run(file, plan, budget);
    if repeated(candidate, &trace) {
        return Some(trace);
    }
    // Limits that are usually 0 or 1 leave no room: with a few more it may repeat.
    if !trace.symbols.is_empty() && trace.calls > 0 {
        plan.bump = 3.0;
        let more = run(file, plan, budget);
        if repeated(candidate, &more) {
            return Some(more);
        }
        plan.bump = 0.0;
    }
    for (id, _) in trace.undecided.iter().take(FLIPS) {
        plan.flips.clear();
        plan.flips.insert(*id);
        let turned = run(file, plan, budget);
        if repeated(candidate, &turned) {
            return Some(turned);
        }
    }
    plan.flips.clear();
    None
}

/// Whether an operation stands in a loop inside of the one that is looked at.
fn in_inner_loop(file: &File<'_, '_>, candidate: &Candidate, ops: &HashSet<Id>) -> bool {
    let Some(subject) = candidate.subject else { return false };
    ops.iter().filter(|op| file.within(**op, subject)).any(|op| {
        let mut between = file.tree.ancestors(*op).take_while(|up| *up != subject);
        between.any(|up| matches!(file.tree.kind(up), Kind::Loop { .. }))
    })
}

/// What happens when the operation goes well at once.
struct Success {
    /// It leaves without another call.
    leaves: bool,
    /// Only the application knows that it went well.
    domain: bool,
    /// What it gave decides: otherwise it leaves if something else lets it.
    related: bool,
    /// It waits though it went well.
    waits: bool,
}

/// Whether success leaves without another call, and what decides that.
fn succeeding(
    file: &File<'_, '_>,
    candidate: &Candidate,
    failing: &Plan,
    budget: &mut Budget,
) -> Success {
    let mut plan = failing.clone();
    plan.fate = Fate::Good;
    let inner = in_inner_loop(file, candidate, &failing.ops);
    if !inner {
        plan.calls = CALLS_OF_SUCCESS;
    }
    let done = |trace: &Trace| {
        // All of an inner loop is one attempt.
        let once = trace.calls == 1 || (inner && trace.calls >= 1 && trace.rounds == 1);
        once && trace.cut.is_none() && (candidate.subject.is_none() || trace.rounds <= 1)
    };
    let trace = run(file, &plan, budget);
    let waits = trace.waits.iter().any(|wait| wait.after > 0);
    let of = |leaves, domain, related| Success { leaves, domain, related, waits };
    let domain = trace.seen & seen::DOMAIN != 0;
    if done(&trace) {
        return of(true, domain, true);
    }
    let ways_out = ways_out(file, &trace);
    for id in &ways_out {
        let mut turned = plan.clone();
        if !turned.flips.insert(*id) {
            continue;
        }
        let one = run(file, &turned, budget);
        if done(&one) {
            return of(true, true, trace.about.contains(id));
        }
    }
    // Where it is known inside that it went well, the loop's own condition asks for it.
    let subject = candidate.subject.filter(|_| failing.fate == Fate::Throws);
    let Some(subject) = subject else { return of(false, domain, false) };
    for id in &ways_out {
        let mut turned = plan.clone();
        turned.flips.insert(*id);
        turned.flips.insert(subject);
        let one = run(file, &turned, budget);
        if done(&one) {
            return of(true, true, trace.about.contains(&subject));
        }
    }
    of(false, domain, false)
}

/// The decisions that are turned around to see whether success leaves: those first that may.
fn ways_out(file: &File<'_, '_>, trace: &Trace) -> Vec<Id> {
    let out = |id: Id| {
        file.tree.walk_here(id).any(|at| {
            matches!(file.tree.kind(at), Kind::Break { .. } | Kind::Return(_) | Kind::Loop { .. })
        })
    };
    let mut all: Vec<Id> = trace.undecided.iter().map(|(id, _)| *id).collect();
    all.sort_by_key(|id| !out(*id));
    all.truncate(FLIPS);
    all
}

fn rank(file: &File<'_, '_>, context: &Context, group: &[Id], trace: &Trace) -> u32 {
    let tree = file.tree;
    let mut rank = 0;
    if context.parameter {
        rank += 8;
    }
    let awaited = group.iter().any(|call| {
        tree.parent(*call).is_some_and(|up| {
            matches!(tree.kind(up), Kind::Await(_) | Kind::Return(_) | Kind::Propagate(_))
        })
    });
    if awaited {
        rank += 4;
    }
    let verbs = &[
        "fetch", "send", "get", "post", "put", "request", "call", "execute", "exec", "query",
        "publish", "connect", "download", "upload", "invoke", "do", "dial", "open", "save", "load",
        "write", "delete", "create", "push", "proceed", "deliver", "start", "run", "submit",
        "perform",
    ];
    if words::any(&context.last, verbs) {
        rank += 3;
    }
    if trace.seen & (seen::CAUGHT | seen::ERROR | seen::STATUS | seen::FLAG) != 0 {
        rank += 4;
    }
    rank
}

fn confidence(context: &Context, trace: &Trace, endless: bool) -> Confidence {
    let strong = trace.seen & (seen::CAUGHT | seen::ERROR | seen::STATUS | seen::FLAG) != 0;
    let waits = trace.waits.iter().any(|wait| wait.after > 0);
    let points = u32::from(strong) * 2
        + u32::from(waits)
        + u32::from(context.named())
        + u32::from(context.outside)
        + u32::from(!endless)
        + u32::from(context.parameter);
    match points {
        0..=2 => Confidence::Low,
        3 => Confidence::Medium,
        _ => Confidence::High,
    }
}
