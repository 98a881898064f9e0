//! The calls of a trace: which attempts belong to one call, and how each ended.

use crate::names::Sym;
use crate::span::{End, Kind, Span};
use crate::tree::{NONE, Role, Tree};

/// How it is known that an attempt is a retry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Evidence {
    /// It is the first.
    First,
    /// The span says so: a count of resends, an attempt of gRPC.
    Told,
    /// A call was seen to reach its callee more than once.
    Beneath,
    /// The same call as one before that had failed.
    Likeness,
}

/// One attempt.
#[derive(Clone, Debug)]
pub(crate) struct Attempt {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) end_as: End,
    /// The entry that it made, if it was seen there.
    pub(crate) entry: u32,
    pub(crate) evidence: Evidence,
    /// Retries before it, as its span says.
    pub(crate) resends: Option<u16>,
    pub(crate) transparent: bool,
    /// The caller's view of it was seen, so that its end is the caller's.
    pub(crate) seen_by_caller: bool,
}

/// A call with all its attempts.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    /// The service that was reached; 0 if none was seen.
    pub(crate) service: Sym,
    /// Whom the caller's span names; 0 if it does not.
    pub(crate) peer: Sym,
    /// The operation of the caller's span.
    pub(crate) name: Sym,
    pub(crate) attempts: Vec<Attempt>,
    /// The caller hands a message over.
    pub(crate) message: bool,
    /// Begin and end of a span around all attempts, if there is one.
    pub(crate) around: Option<(u64, u64)>,
}

impl Call {
    pub(crate) fn start(&self) -> u64 {
        let first = self.attempts.first().map_or(0, |a| a.start);
        self.around.map_or(first, |(start, _)| start.min(first))
    }

    pub(crate) fn end(&self) -> u64 {
        let last = self.attempts.iter().map(|a| a.end).max().unwrap_or(0);
        self.around.map_or(last, |(_, end)| end.max(last))
    }

    pub(crate) fn end_as(&self) -> End {
        self.attempts.last().map_or(End::Success, |a| a.end_as)
    }

    fn same_target(&self, other: &Self) -> bool {
        let known = |a: Sym, b: Sym| a != 0 && a == b;
        (known(self.service, other.service) || known(self.peer, other.peer))
            && (self.name == other.name || self.name == 0 || other.name == 0)
    }
}

/// Calls of one entry that a retry is looked for among, counted from the last.
const LOOK_BACK: usize = 64;
/// Clocks of a service count microseconds in two of the formats.
const ROUNDING: u64 = 2_000;
/// Calls within calls of the same service.
const MOST_NESTED: usize = 8;

/// The calls of each entry of a trace.
#[derive(Debug)]
pub(crate) struct Calls {
    /// By entry, in the order of their start.
    pub(crate) of: Vec<Vec<Call>>,
}

struct Children {
    first: Vec<u32>,
    next: Vec<u32>,
}

impl Children {
    fn of(&self, at: u32) -> impl Iterator<Item = u32> + '_ {
        let from = self.first.get(at as usize).copied().unwrap_or(NONE);
        std::iter::successors((from != NONE).then_some(from), |at| {
            let next = self.next[*at as usize];
            (next != NONE).then_some(next)
        })
    }
}

impl Calls {
    pub(crate) fn new(tree: &Tree) -> Self {
        let count = tree.spans.len();
        let mut below = Children { first: vec![NONE; count], next: vec![NONE; count] };
        for at in (0..count).rev() {
            if matches!(tree.role[at], Role::Call | Role::Entry)
                && let Some(head) = below.first.get_mut(tree.call[at] as usize)
            {
                below.next[at] = std::mem::replace(head, at as u32);
            }
        }
        let mut candidates: Vec<Vec<Call>> = vec![Vec::new(); count];
        for at in 0..count {
            match tree.role[at] {
                // The outermost call of an entry.
                Role::Call if tree.call[at] == NONE => {
                    // A root that calls is a client that nobody calls: its calls are its own.
                    let owner = if tree.entry[at] == NONE { at as u32 } else { tree.entry[at] };
                    // Under a torn root it is not known whose calls these are.
                    if tree.entry[at] != NONE || is_root(tree, at) {
                        resolve(tree, &below, at as u32, 0, &mut candidates[owner as usize]);
                    }
                }
                // Nobody told of the call, but it arrived.
                Role::Entry if tree.call[at] == NONE && !is_message(&tree.spans[at]) => {
                    let owner = tree.entry.get(tree.parent[at] as usize).copied();
                    if let Some(list) = owner.and_then(|o| candidates.get_mut(o as usize)) {
                        list.push(unseen(tree, at as u32));
                    }
                }
                _ => {}
            }
        }
        let mut calls = Self { of: vec![Vec::new(); count] };
        // Callees first: how an attempt ended depends on what was below it.
        for at in tree.order.iter().rev() {
            let mut found = std::mem::take(&mut candidates[*at as usize]);
            if !found.is_empty() {
                found.sort_by_key(|call| (call.start(), call.service, call.peer));
                for attempt in found.iter_mut().flat_map(|c| &mut c.attempts) {
                    calls.settle(tree, attempt);
                }
                calls.of[*at as usize] = join(found);
            }
        }
        calls
    }

    /// How an entry ended, with where its failure came from.
    pub(crate) fn entry_end(&self, tree: &Tree, entry: u32) -> End {
        let own = tree.spans[entry as usize].end_as;
        let below = |calls: &Vec<Call>| calls.iter().any(|call| call.end_as().is_bad());
        match own {
            End::Failed | End::TimedOut | End::Rejected
                if self.of.get(entry as usize).is_some_and(below) =>
            {
                End::Downstream
            }
            own => own,
        }
    }

    /// Puts what the callee knows to what the caller saw.
    fn settle(&self, tree: &Tree, attempt: &mut Attempt) {
        let Some(callee) = tree.spans.get(attempt.entry as usize) else { return };
        let theirs = self.entry_end(tree, attempt.entry);
        let late = callee.length() > (attempt.end - attempt.start).saturating_add(ROUNDING);
        attempt.end_as = match attempt.end_as {
            // The callee went on: nobody waited for it any more.
            End::Failed if attempt.seen_by_caller && late => End::TimedOut,
            End::Failed | End::Rejected if theirs == End::Downstream => End::Downstream,
            End::Failed if theirs.is_bad() => theirs,
            End::Success if !attempt.seen_by_caller => theirs,
            known => known,
        };
    }
}

fn is_root(tree: &Tree, at: usize) -> bool {
    tree.parent[at] == NONE && !tree.torn[at]
}

/// Work on a message: whoever sent it does not wait.
pub(crate) fn is_message(span: &Span) -> bool {
    span.kind == Kind::Consumer
}

/// A call that was only seen where it arrived.
fn unseen(tree: &Tree, entry: u32) -> Call {
    let span = &tree.spans[entry as usize];
    Call {
        service: span.service,
        peer: 0,
        name: span.name,
        attempts: vec![Attempt {
            start: span.start,
            end: span.end,
            end_as: span.end_as,
            entry,
            evidence: told(span),
            resends: span.resends,
            transparent: false,
            seen_by_caller: false,
        }],
        message: false,
        around: None,
    }
}

fn told(span: &Span) -> Evidence {
    if span.resends.is_some_and(|n| n > 0) { Evidence::Told } else { Evidence::First }
}

/// What one of the caller's spans stands for: a call, several, or an attempt.
fn resolve(tree: &Tree, below: &Children, at: u32, depth: usize, out: &mut Vec<Call>) {
    let nested: Vec<u32> = below.of(at).filter(|b| tree.role[*b as usize] == Role::Call).collect();
    if nested.is_empty() || depth >= MOST_NESTED {
        single(tree, below, at, out);
        return;
    }
    let mut inner = Vec::new();
    for one in &nested {
        resolve(tree, below, *one, depth + 1, &mut inner);
    }
    let outer = &tree.spans[at as usize];
    let marked = nested.iter().all(|n| tree.spans[*n as usize].attempt);
    let alike = inner.windows(2).all(|w| w[0].same_target(&w[1]) || marked);
    let failed_but_last =
        inner.iter().rev().skip(1).all(|call| call.end_as().is_bad() || call.attempts.is_empty());
    if inner.len() == 1 || marked || alike && failed_but_last {
        // The outer span is the call, the inner ones are its attempts.
        let mut whole = Call {
            service: inner.iter().map(|c| c.service).find(|s| *s != 0).unwrap_or(0),
            peer: inner.iter().map(|c| c.peer).find(|p| *p != 0).unwrap_or(outer.peer),
            name: outer.name,
            attempts: Vec::new(),
            message: false,
            around: Some((outer.start, outer.end)),
        };
        for call in inner {
            for mut attempt in call.attempts {
                if !whole.attempts.is_empty() && attempt.evidence == Evidence::First {
                    attempt.evidence = if marked { Evidence::Told } else { Evidence::Beneath };
                }
                whole.attempts.push(attempt);
            }
        }
        out.push(whole);
    } else {
        // It wraps calls of their own.
        out.append(&mut inner);
    }
}

/// A caller's span without others below it: one attempt, or as many as arrived.
fn single(tree: &Tree, below: &Children, at: u32, out: &mut Vec<Call>) {
    let span = &tree.spans[at as usize];
    let message = span.kind == Kind::Producer;
    let mut entries: Vec<u32> = below
        .of(at)
        .filter(|b| tree.role[*b as usize] == Role::Entry && !is_message(&tree.spans[*b as usize]))
        .collect();
    let attempt = |start, end, end_as, entry, evidence| Attempt {
        start,
        end,
        end_as,
        entry,
        evidence,
        resends: span.resends,
        transparent: span.transparent,
        seen_by_caller: true,
    };
    let call = |service, attempts| Call {
        service,
        peer: span.peer,
        name: span.name,
        attempts,
        message,
        around: None,
    };
    if entries.len() <= 1 {
        let entry = entries.pop().unwrap_or(NONE);
        let service = tree.spans.get(entry as usize).map_or(0, |s| s.service);
        let evidence = match tree.spans.get(entry as usize) {
            Some(callee) if told(span) == Evidence::First => told(callee),
            _ => told(span),
        };
        out.push(call(service, vec![attempt(span.start, span.end, span.end_as, entry, evidence)]));
        return;
    }
    // It arrived several times, at each service that it arrived at.
    entries.sort_by_key(|e| {
        let s = &tree.spans[*e as usize];
        (s.service, s.start)
    });
    for group in
        entries.chunk_by(|a, b| tree.spans[*a as usize].service == tree.spans[*b as usize].service)
    {
        let last = group.len() - 1;
        let attempts = group.iter().enumerate().map(|(n, entry)| {
            let callee = &tree.spans[*entry as usize];
            let evidence = if n == 0 { Evidence::First } else { Evidence::Beneath };
            let end_as = match (n == last, callee.end_as) {
                (true, _) => span.end_as,
                // It was sent again, so it did not go well.
                (false, End::Success) => End::Failed,
                (false, bad) => bad,
            };
            let from = if n == 0 { span.start } else { callee.start.max(span.start) };
            let to = if n == last { span.end } else { callee.end.clamp(from, span.end.max(from)) };
            attempt(from, to.max(from), end_as, *entry, evidence)
        });
        out.push(call(tree.spans[group[0] as usize].service, attempts.collect()));
    }
}

/// Puts attempts that are spans beside each other into one call.
fn join(found: Vec<Call>) -> Vec<Call> {
    let mut calls: Vec<Call> = Vec::with_capacity(found.len());
    for mut next in found {
        let resends = next.attempts.first().and_then(|a| a.resends).filter(|n| *n > 0);
        let earlier = calls.iter_mut().rev().take(LOOK_BACK).find(|call| {
            let before = call.end() <= next.start().saturating_add(ROUNDING);
            call.same_target(&next)
                && call.end_as().is_bad()
                && before
                && resends.is_none_or(|n| {
                    let last = call.attempts.last().and_then(|a| a.resends).unwrap_or(0);
                    n > last
                })
        });
        match earlier {
            Some(call) => {
                if let Some(first) = next.attempts.first_mut()
                    && first.evidence == Evidence::First
                {
                    first.evidence = Evidence::Likeness;
                }
                call.attempts.append(&mut next.attempts);
                call.service = if call.service == 0 { next.service } else { call.service };
                call.peer = if call.peer == 0 { next.peer } else { call.peer };
            }
            None => calls.push(next),
        }
    }
    calls
}
