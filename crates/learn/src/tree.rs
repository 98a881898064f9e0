//! One trace as a tree: who is below whom, and which side of a call each span is.
//!
//! Nothing here recurses: a trace may be a chain of a million spans.

use std::collections::HashMap;

use crate::span::{Kind, Span};

/// No span.
pub(crate) const NONE: u32 = u32::MAX;

/// What a span is in its trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// A service works on one attempt.
    Entry,
    /// A caller's view of a call, or of one attempt of it.
    Call,
    /// Work within a service, which stands for nothing by itself.
    Inner,
    /// The root of what comes from outside: not a service that is called.
    Outside,
}

/// What was wrong with traces.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Faults {
    /// The same span twice.
    pub(crate) duplicates: u64,
    /// Different spans with the same id.
    pub(crate) clashes: u64,
    /// Spans whose parent is not in the trace.
    pub(crate) missing_parents: u64,
    /// Spans that are their own ancestors.
    pub(crate) cycles: u64,
    /// Spans of a called service that begin before the caller's: clocks that differ.
    pub(crate) skewed: u64,
    /// The largest of these differences, nanoseconds.
    pub(crate) most_skew: u64,
    /// Spans that reach out of the span above them in the same service, and were cut.
    pub(crate) cut: u64,
    /// Spans that do not say which service they are of.
    pub(crate) nameless: u64,
}

/// A trace.
#[derive(Debug)]
pub(crate) struct Tree {
    /// By their start.
    pub(crate) spans: Vec<Span>,
    pub(crate) parent: Vec<u32>,
    pub(crate) role: Vec<Role>,
    /// Parents before children, in the order of their start.
    pub(crate) order: Vec<u32>,
    /// The entry (or outside) that a span belongs to: itself, if it is one.
    pub(crate) entry: Vec<u32>,
    /// The nearest call above it within its service; of an entry, the call that made it.
    pub(crate) call: Vec<u32>,
    /// Roots whose parent is missing.
    pub(crate) torn: Vec<bool>,
}

impl Tree {
    /// Makes a tree of the spans of one trace.
    pub(crate) fn new(mut spans: Vec<Span>, faults: &mut Faults) -> Self {
        spans.sort_by_key(|s| (s.start, std::cmp::Reverse(s.end), s.id, !s.calls()));
        let places = unique(&mut spans, faults);
        let (mut parent, torn) = parents(&spans, &places, faults);
        cut_cycles(&mut parent, faults);
        let order = breadth_first(&parent);
        let count = spans.len();
        let mut tree = Self {
            spans,
            parent,
            role: vec![Role::Inner; count],
            order,
            entry: vec![NONE; count],
            call: vec![NONE; count],
            torn,
        };
        tree.sides(faults);
        tree
    }

    fn sides(&mut self, faults: &mut Faults) {
        for i in 0..self.order.len() {
            let at = self.order[i] as usize;
            let parent = self.parent[at];
            let role = self.role_of(at);
            self.role[at] = role;
            let above = |of: &[u32]| of.get(parent as usize).copied().unwrap_or(NONE);
            let (entry, call) = (above(&self.entry), above(&self.call));
            (self.entry[at], self.call[at]) = match role {
                Role::Entry => (at as u32, call_of(parent, call, &self.role)),
                Role::Outside => (at as u32, NONE),
                Role::Call | Role::Inner => (entry, call_of(parent, call, &self.role)),
            };
            faults.nameless += u64::from(self.spans[at].service == 0);
            if parent != NONE {
                self.clip(at, parent as usize, faults);
            }
        }
    }

    fn role_of(&self, at: usize) -> Role {
        let span = &self.spans[at];
        let above = self.spans.get(self.parent[at] as usize);
        match (span.kind, above) {
            (Kind::Server | Kind::Consumer, _) => Role::Entry,
            (Kind::Client | Kind::Producer, _) => Role::Call,
            (_, Some(above)) if above.service != span.service => Role::Entry,
            (_, Some(_)) => Role::Inner,
            // Kinds are told here, and this is none that serves: a user, a load generator, a job.
            (Kind::Internal, None) if !self.torn[at] => Role::Outside,
            (Kind::Internal, None) => Role::Inner,
            (Kind::Unspecified, None) => Role::Entry,
        }
    }

    /// Within a service clocks agree: what reaches out of its parent did not wait for it, or was
    /// not waited for. Across services the caller's clock is right.
    fn clip(&mut self, at: usize, parent: usize, faults: &mut Faults) {
        let (from, to) = (self.spans[parent].start, self.spans[parent].end);
        let same = self.spans[parent].service == self.spans[at].service;
        let span = &mut self.spans[at];
        if same && self.role[at] != Role::Entry {
            if span.start < from || span.end > to {
                faults.cut += 1;
                span.start = span.start.clamp(from, to);
                span.end = span.end.clamp(from, to);
            }
        } else if span.start < from && self.role[at] == Role::Entry {
            faults.skewed += 1;
            faults.most_skew = faults.most_skew.max(from - span.start);
        }
    }
}

/// The call that a span is made by: its parent, if that is one, else the one above that.
fn call_of(parent: u32, above: u32, role: &[Role]) -> u32 {
    match role.get(parent as usize) {
        Some(Role::Call) => parent,
        Some(Role::Inner) => above,
        _ => NONE,
    }
}

/// Where the spans of an id are: the caller's and the callee's, which Zipkin lets share one.
type Places = HashMap<u64, [u32; 2]>;

/// Takes out what is there twice.
fn unique(spans: &mut Vec<Span>, faults: &mut Faults) -> Places {
    let mut places: Places = HashMap::with_capacity(spans.len());
    let mut kept: Vec<Span> = Vec::with_capacity(spans.len());
    for span in spans.drain(..) {
        let side = usize::from(!span.calls());
        let at = places.entry(span.id).or_insert([NONE, NONE]);
        let clash = match (at[side], at[1 - side]) {
            (NONE, NONE) => None,
            // Both sides of one call.
            (NONE, other) => {
                let other = &kept[other as usize];
                let sides = side == 1 && span.kind == Kind::Server
                    || side == 0 && other.kind == Kind::Server;
                (!sides).then_some(other)
            }
            (same, _) => Some(&kept[same as usize]),
        };
        match clash {
            Some(other) if other.start == span.start && other.service == span.service => {
                faults.duplicates += 1;
            }
            Some(_) => faults.clashes += 1,
            None => {
                at[side] = kept.len() as u32;
                kept.push(span);
            }
        }
    }
    *spans = kept;
    places
}

fn parents(spans: &[Span], places: &Places, faults: &mut Faults) -> (Vec<u32>, Vec<bool>) {
    let mut torn = vec![false; spans.len()];
    let mut find = |at: usize, span: &Span| {
        // The callee's side of a shared id is below the caller's.
        if let Some([caller, callee]) = places.get(&span.id)
            && *callee == at as u32
            && *caller != NONE
        {
            return *caller;
        }
        if span.parent == 0 {
            return NONE;
        }
        match places.get(&span.parent) {
            None => {
                faults.missing_parents += 1;
                torn[at] = true;
                NONE
            }
            Some([NONE, one]) | Some([one, NONE]) => *one,
            // A caller of the same service is below the callee's side.
            Some([caller, callee]) => {
                let above = |at: u32| &spans[at as usize];
                let own = span.service == above(*caller).service
                    && span.service != above(*callee).service;
                if own { *caller } else { *callee }
            }
        }
    };
    let parents = spans.iter().enumerate().map(|(at, span)| find(at, span)).collect();
    (parents, torn)
}

/// A span that is its own ancestor becomes a root.
fn cut_cycles(parent: &mut [u32], faults: &mut Faults) {
    // 0: not seen; else the walk that saw it.
    let mut seen = vec![0_u32; parent.len()];
    for start in 0..parent.len() {
        let walk = start as u32 + 1;
        let mut at = start;
        while seen[at] == 0 {
            seen[at] = walk;
            let up = parent[at];
            if up == NONE {
                break;
            }
            if seen[up as usize] == walk {
                parent[at] = NONE;
                faults.cycles += 1;
                break;
            }
            at = up as usize;
        }
    }
}

/// Parents before children; children in the order of their numbers.
fn breadth_first(parent: &[u32]) -> Vec<u32> {
    let mut first = vec![NONE; parent.len()];
    let mut next = vec![NONE; parent.len()];
    let mut order = Vec::with_capacity(parent.len());
    for at in (0..parent.len()).rev() {
        if let Some(head) = first.get_mut(parent[at] as usize) {
            next[at] = std::mem::replace(head, at as u32);
        }
    }
    order.extend((0..parent.len()).filter(|at| parent[*at] == NONE).map(|at| at as u32));
    let mut done = 0;
    while let Some(at) = order.get(done).copied() {
        done += 1;
        let mut child = first[at as usize];
        while child != NONE {
            order.push(child);
            child = next[child as usize];
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(id: u64, parent: u64, service: u32, kind: Kind, start: u64, end: u64) -> Span {
        Span { trace: 1, id, parent, service, kind, start, end, ..Span::default() }
    }

    fn tree(spans: Vec<Span>) -> (Tree, Faults) {
        let mut faults = Faults::default();
        let tree = Tree::new(spans, &mut faults);
        assert_eq!(tree.order.len(), tree.spans.len());
        (tree, faults)
    }

    fn at(tree: &Tree, id: u64) -> usize {
        tree.spans.iter().position(|s| s.id == id).unwrap()
    }

    #[test]
    fn an_entry_is_below_the_call_past_what_is_between() {
        let (t, _) = tree(vec![
            span(1, 0, 1, Kind::Server, 0, 100),
            span(2, 1, 1, Kind::Internal, 10, 90),
            span(3, 2, 1, Kind::Client, 20, 80),
            span(4, 3, 2, Kind::Server, 30, 70),
        ]);
        assert_eq!(t.role[at(&t, 2)], Role::Inner);
        assert_eq!(t.entry[at(&t, 3)] as usize, at(&t, 1));
        assert_eq!(t.call[at(&t, 3)], NONE);
        assert_eq!(t.call[at(&t, 4)] as usize, at(&t, 3));
    }

    #[test]
    fn without_kinds_a_change_of_service_is_a_call() {
        let (t, _) = tree(vec![
            span(1, 0, 1, Kind::Unspecified, 0, 100),
            span(2, 1, 1, Kind::Unspecified, 10, 90),
            span(3, 2, 2, Kind::Unspecified, 20, 80),
        ]);
        let roles: Vec<Role> = [1, 2, 3].map(|id| t.role[at(&t, id)]).into();
        assert_eq!(roles, [Role::Entry, Role::Inner, Role::Entry]);
    }

    #[test]
    fn shared_ids_are_both_sides_of_a_call() {
        let (t, faults) = tree(vec![
            span(1, 0, 1, Kind::Server, 0, 100),
            span(2, 1, 1, Kind::Client, 10, 90),
            span(2, 1, 2, Kind::Server, 20, 80),
            span(3, 2, 2, Kind::Client, 30, 40),
        ]);
        assert_eq!(faults.clashes + faults.duplicates, 0);
        assert_eq!(t.parent, [NONE, 0, 1, 2]);
    }

    #[test]
    fn faults_are_counted_and_leave_a_tree() {
        let (t, faults) = tree(vec![
            span(1, 2, 1, Kind::Server, 0, 100),
            span(2, 1, 1, Kind::Client, 10, 90),
            span(3, 3, 1, Kind::Client, 10, 90),
            span(4, 99, 1, Kind::Server, 10, 90),
            span(4, 99, 1, Kind::Server, 10, 90),
            span(4, 99, 1, Kind::Server, 11, 90),
            span(5, 4, 1, Kind::Client, 5, 95),
            span(6, 5, 2, Kind::Server, 2, 12),
        ]);
        assert_eq!(faults.cycles, 2);
        assert_eq!(faults.missing_parents, 1);
        assert_eq!((faults.duplicates, faults.clashes), (1, 1));
        // The first span is below the second once the circle is cut, and begins before it.
        assert_eq!((faults.cut, faults.skewed, faults.most_skew), (1, 2, 10));
        assert!(t.torn[at(&t, 4)]);
    }
}
