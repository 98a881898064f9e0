//! Whether a candidate is a retry: what happens to it when the operation always fails, and when
//! it goes well at once.

use std::collections::HashSet;

use super::candidate::{Candidate, Shape};
use super::file::File;
use super::machine::{Cut, Fate, Machine, Plan, Trace, seen};
use super::words;
use crate::language::Language;
use crate::policy::{Confidence, Kind as PolicyKind};
use crate::tree::{Id, Kind, Tree};

/// Steps of one run.
const STEPS: u32 = 50_000;
/// Decisions that are turned around one at a time.
const FLIPS: usize = 6;

/// What was found of a candidate.
pub(super) struct Verdict {
    /// The run in which the operation always fails.
    pub(super) failing: Trace,
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
        if let Some(verdict) = judge_group(file, candidate, group, budget)
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
    let (trace, steps) = Machine::run(file, plan);
    budget.steps = budget.steps.saturating_sub(u64::from(steps));
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
    let fates: &[Fate] = match file.language {
        Language::Go => &[Fate::Bad],
        Language::Rust => &[Fate::Bad, Fate::Said],
        _ => &[Fate::Throws, Fate::Bad],
    };
    let mut plan = Plan {
        ops: group.iter().copied().collect(),
        fate: Fate::Good,
        subject: candidate.subject,
        recursive: candidate.recursive,
        entry: entry(file, candidate, group),
        arguments: candidate.recursive.and_then(|function| first_call(file, function)),
        flips: HashSet::new(),
        bump: 0.0,
        steps: STEPS,
    };
    let mut found: Option<(Trace, Plan)> = None;
    for fate in fates {
        plan.fate = *fate;
        plan.flips.clear();
        plan.bump = 0.0;
        if let Some(trace) = failing(file, candidate, &mut plan, budget) {
            let old = found.as_ref().map_or(0, |(trace, _)| trace.calls);
            let seen = found.as_ref().map_or(0, |(trace, _)| trace.seen);
            let handlers = found.as_ref().map_or(Vec::new(), |(trace, _)| trace.handlers.clone());
            if trace.calls > old {
                let mut trace = trace;
                trace.seen |= seen;
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
    let (leaves, domain) = succeeding(file, candidate, &plan, budget);
    let endless = matches!(trace.cut, Some(Cut::Endless | Cut::Depth))
        || (trace.cut == Some(Cut::Steps) && trace.calls > 20);
    let (attempts, depends) = count(file, &plan, &trace, endless, budget);
    let context = Context::new(file, candidate, group);
    let kind = kind_of(&context, &trace, leaves, domain, endless)?;
    let rank = rank(file, &context, group, &trace);
    let confidence = confidence(&context, &trace, endless);
    if plan.bump != 0.0 && !endless {
        trace.calls = trace.calls.max(2);
    }
    Some(Verdict { failing: trace, ops: group.to_vec(), kind, confidence, attempts, depends, rank })
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
    let mut outside = file
        .calls(name)
        .iter()
        .filter(|call| !file.within(**call, function) && file.callee(**call) == Some(function));
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
        plan.flips = HashSet::from([*id]);
        let turned = run(file, plan, budget);
        if repeated(candidate, &turned) {
            return Some(turned);
        }
    }
    plan.flips.clear();
    None
}

/// Whether success leaves without another call, and whether only the application knows that.
fn succeeding(
    file: &File<'_, '_>,
    candidate: &Candidate,
    failing: &Plan,
    budget: &mut Budget,
) -> (bool, bool) {
    let mut plan = failing.clone();
    plan.fate = Fate::Good;
    let done = |trace: &Trace| {
        trace.calls == 1
            && trace.cut.is_none()
            && (candidate.subject.is_none() || trace.rounds <= 1)
    };
    let trace = run(file, &plan, budget);
    let domain = trace.seen & seen::DOMAIN != 0;
    if done(&trace) {
        return (true, domain);
    }
    for (id, _) in trace.undecided.iter().take(FLIPS) {
        let mut turned = plan.clone();
        if !turned.flips.insert(*id) {
            continue;
        }
        let trace = run(file, &turned, budget);
        if done(&trace) {
            return (true, true);
        }
    }
    // Where it is known inside that it went well, the loop's own condition asks for it.
    let subject = candidate.subject.filter(|_| failing.fate == Fate::Throws);
    let Some(subject) = subject else { return (false, domain) };
    for (id, _) in trace.undecided.iter().take(FLIPS) {
        let mut turned = plan.clone();
        turned.flips.insert(*id);
        turned.flips.insert(subject);
        let trace = run(file, &turned, budget);
        if done(&trace) {
            return (true, true);
        }
    }
    (false, domain)
}

/// How many attempts there are, and what that depends on.
fn count(
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
    let other = run(file, &more, budget);
    if other.calls == trace.calls {
        return (Some(usual), None);
    }
    // A counter that begins at a default: the more it begins with, the fewer are left.
    if other.calls < trace.calls && trace.symbols.iter().any(|symbol| symbol.usual.is_some()) {
        return (Some(usual), None);
    }
    let symbol = trace.bounds[0];
    let extra = trace
        .symbols
        .get(usize::from(symbol) - 1)
        .map_or(0, |known| i64::from(trace.calls) - (known.witness + plan.bump) as i64);
    (Some(usual), Some((symbol, extra)))
}

/// What stands around a candidate.
struct Context {
    /// The text of the candidate, shortened.
    text: String,
    /// The operation's name.
    last: String,
    call: String,
    /// The name of the function around it.
    function: String,
    shape: Shape,
    parameter: bool,
    /// The result is closed at once: only whether there is one mattered.
    closed: bool,
    /// Whether something says that the operation leaves the process: its name, what it belongs
    /// to, that it is awaited, or the kinds of errors that are caught around it.
    outside: bool,
    /// Whether the lines around it, comments too, speak of trying again.
    said: bool,
    /// Only errors that the code itself makes are caught around it.
    mistake: bool,
}

impl Context {
    fn new(file: &File<'_, '_>, candidate: &Candidate, group: &[Id]) -> Self {
        let tree = file.tree;
        let call = group[0];
        let callee = match tree.kind(call) {
            Kind::Call { callee, .. } => *callee,
            _ => call,
        };
        let last = tree.last_name(callee).unwrap_or_default().to_owned();
        let function = tree
            .function_of(candidate.place)
            .or(candidate.recursive)
            .and_then(|function| file.function_name(function))
            .unwrap_or_default()
            .to_owned();
        let parameter = match tree.kind(callee) {
            Kind::Name(name) => tree
                .ancestors(call)
                .filter_map(|up| match tree.kind(up) {
                    Kind::Function { params, .. } => Some(params),
                    _ => None,
                })
                .any(|params| params.iter().any(|param| param.name == *name)),
            _ => false,
        };
        let closed = tree
            .parent(call)
            .is_some_and(|up| matches!(tree.kind(up), Kind::Field { name: "close", .. }));
        let handlers = tree.ancestors(call).find_map(|up| match tree.kind(up) {
            Kind::Try { handlers, .. } => Some(handlers),
            _ => None,
        });
        let mut types =
            handlers.into_iter().flatten().flat_map(|handler| &handler.types).peekable();
        let mistake = types.peek().is_some() && types.all(|ty| words::is_mistake(tree.source(*ty)));
        let awaited =
            tree.ancestors(call).take(3).any(|up| matches!(tree.kind(up), Kind::Await(_)));
        let caught = tree
            .ancestors(call)
            .filter_map(|up| match tree.kind(up) {
                Kind::Try { handlers, .. } => Some(handlers),
                _ => None,
            })
            .flatten()
            .flat_map(|handler| &handler.types)
            .any(|ty| words::is_outside_error(tree.source(*ty)));
        let path = tree.path(callee).unwrap_or_else(|| vec![&last]);
        let outside = awaited || caught || words::leaves_the_process(&path);
        let said = words::speaks_of_again(lines_around(tree, candidate.place, group));
        Self {
            outside,
            said,
            mistake,
            text: tree.source(candidate.place).chars().take(4000).collect(),
            last,
            call: file.brief(call, 200),
            function,
            shape: candidate.shape,
            parameter,
            closed,
        }
    }

    fn named(&self) -> bool {
        words::about_retry(&self.text) || words::about_retry(&self.function)
    }
}

/// The text of a candidate's lines, with the two above it; of a pair of calls from the first to
/// the second.
fn lines_around<'s>(tree: &Tree<'s>, place: Id, group: &[Id]) -> &'s str {
    let spans = group.iter().map(|id| tree.span(*id)).chain([tree.span(place)]);
    let start = spans.clone().map(|span| span.start as usize).min().unwrap_or(0);
    let end = spans.map(|span| span.end as usize).max().unwrap_or(start);
    let text = tree.text();
    let above = text[..start].rmatch_indices('\n').nth(2).map_or(0, |(at, _)| at);
    let mut end = end.min(start + 4000).min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(above..end).unwrap_or_default()
}

/// What kind of repetition it is; `None`: none that is reported.
fn kind_of(
    context: &Context,
    trace: &Trace,
    leaves: bool,
    domain: bool,
    endless: bool,
) -> Option<PolicyKind> {
    let strong = trace.seen & (seen::CAUGHT | seen::ERROR | seen::STATUS | seen::FLAG) != 0;
    let waits = trace.waits.iter().any(|wait| wait.after > 0);
    // What neither waits nor speaks of it has to reach out of the process, or be handed in: a
    // parser that looks again, or a second lookup in a table, has the form of a retry, too.
    let answered = trace.seen & (seen::STATUS | seen::FLAG) != 0;
    let evident = waits || context.named() || context.said || context.parameter || answered;
    if !evident && !context.outside {
        return None;
    }
    // The same call twice is so often something else that it has to reach out in any case.
    if context.shape == Shape::Repeat && !context.outside && !(context.said && strong) {
        return None;
    }
    // A mistake of the code itself passes only with other arguments; a person is asked again with
    // other words.
    if context.mistake && !waits || words::asks_a_person(&context.call) {
        return None;
    }
    if !leaves {
        // Success goes on: a stream that is opened again, or no retry at all.
        let stream = words::is_stream(&context.last) || words::is_stream(&context.function);
        return (endless && strong && waits && stream && context.shape == Shape::Endless)
            .then_some(PolicyKind::Reconnect);
    }
    let interrupted =
        words::has(&context.text, &["eintr", "interrupted =>", "errorkind::interrupted"]);
    if interrupted && !waits {
        return None;
    }
    if trace.collection && !(context.named() && waits) {
        return None;
    }
    // Again and again at once, with nothing that says so: it looks for something.
    let fails_outside = context.outside && trace.seen & (seen::CAUGHT | seen::ERROR) != 0;
    if endless && !waits && !context.named() && trace.clock.is_none() && !fails_outside {
        let conflict = words::has(&context.text, &["conflict", "version", "expected", "etag"]);
        return conflict.then_some(PolicyKind::Conflict);
    }
    // Spinning on shared memory, or after a signal.
    let spins = ["steal", "compare_exchange", "interrupted", "eintr", "atomic", "ordering::"];
    if endless && !waits && words::has(&context.text, &spins) {
        return None;
    }
    if words::has(
        &context.text,
        &["watcherror", "optimisticlock", "staledata", "stalestate", "concurrencyexception"],
    ) {
        return Some(PolicyKind::Conflict);
    }
    let question = words::is_question(&context.last);
    let consuming = words::is_consuming(&context.last);
    if consuming && !context.named() && !waits {
        return None;
    }
    if !strong && context.shape == Shape::Repeat && (question || !context.named()) {
        return None;
    }
    let told = context.shape == Shape::Repeat && trace.seen & seen::DOMAIN != 0;
    let told = told || (context.shape == Shape::Iterator && trace.seen & seen::FALSY != 0);
    if !strong && !told {
        if trace.seen & seen::FALSY == 0 {
            return None;
        }
        if question {
            return (words::is_probe(&context.call) && waits).then_some(PolicyKind::WaitForReady);
        }
        let conflict = words::has(
            &context.text,
            &["conflict", "version", "expected", "etag", "compare", "cas("],
        );
        if conflict && !waits {
            return Some(PolicyKind::Conflict);
        }
        if !(context.named() || (waits && !endless)) {
            return None;
        }
    }
    let probe = words::is_probe(&context.call) || words::is_probe(&context.function);
    if probe && waits && !context.parameter {
        return Some(PolicyKind::WaitForReady);
    }
    if context.closed && waits {
        return Some(PolicyKind::WaitForReady);
    }
    if domain && question && !context.named() {
        return None;
    }
    // Only a state of the application lets it go, and every answer but that is asked for again.
    if domain && waits && trace.seen & (seen::STATUS | seen::FLAG) == 0 && !context.named() {
        return None;
    }
    if context.shape == Shape::Repeat || context.shape == Shape::Recursion {
        let repair = words::has(
            &context.text,
            &[
                "refreshtoken",
                "refresh_token",
                "reauth",
                "relogin",
                "mkdir",
                "makedirs",
                "refresh()",
                "login(",
            ],
        );
        if repair && trace.calls == 2 {
            return Some(PolicyKind::Replay);
        }
        // Without a limit, a wait or a word of it, recursion walks a structure.
        if context.shape == Shape::Recursion && endless && !waits && !context.named() {
            return None;
        }
    }
    Some(PolicyKind::Retry)
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
    let verbs = [
        "fetch", "send", "get", "post", "put", "request", "call", "execute", "exec", "query",
        "publish", "connect", "download", "upload", "invoke", "do", "dial", "open", "save", "load",
        "write", "delete", "create", "push", "proceed", "deliver", "start", "run", "submit",
        "perform",
    ];
    if words::any(&context.last, &verbs) {
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
