//! What executions of services call: the call trees of requests, laid over each other.

use std::collections::HashMap;

/// Whom a call goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Callee {
    /// A service that reports spans.
    Service(u32),
    /// One that only its callers tell of.
    Peer(u32),
    /// One that even they do not name: it is called after their operation.
    Operation(u32),
}

/// Nodes of one tree; what is more is left out and counted.
const MOST_NODES: usize = 4_096;
/// Levels that a system file allows, less a margin for what the client calls.
const MOST_LEVELS: u32 = 30;
/// Different callees of one node.
const MOST_CHILDREN: usize = 64;

/// A place in a call tree.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) callee: Callee,
    pub(crate) children: Vec<u32>,
    level: u32,
    /// Executions that went well, so that they made all calls that they make.
    done: u64,
    /// Executions of its caller that made calls to it and ended later, with how many they made.
    made: u64,
    made_calls: u64,
    /// Executions of its caller that failed with a call to it, after which nothing was called.
    failed_at: u64,
    /// Sum of its positions among the calls of its caller.
    positions: f64,
    /// Two calls of it in one execution: at the same time, one after another.
    itself: [u64; 2],
    /// The same of a pair of children.
    pairs: HashMap<(u32, u32), [u64; 2]>,
    pub(crate) left_out: u64,
}

/// Call trees of one kind of request, laid over each other.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    pub(crate) places: Vec<Place>,
}

/// The place of the client.
pub(crate) const CLIENT: u32 = 0;

/// One call as the shape sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) callee: Callee,
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) bad: bool,
}

impl Place {
    fn new(callee: Callee, level: u32) -> Self {
        Self {
            callee,
            level,
            children: Vec::new(),
            done: 0,
            made: 0,
            made_calls: 0,
            failed_at: 0,
            positions: 0.0,
            itself: [0; 2],
            pairs: HashMap::new(),
            left_out: 0,
        }
    }

    fn position(&self) -> f64 {
        self.positions / (self.made + self.failed_at).max(1) as f64
    }
}

/// What a call is in the system file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Step {
    pub(crate) place: u32,
    /// Executions that would have made it, and how many did.
    pub(crate) could: u64,
    pub(crate) did: u64,
    /// Calls of those that made it.
    pub(crate) times: f64,
    /// Executions behind `times`.
    pub(crate) counted: u64,
    /// Calls to the same callee overlap.
    pub(crate) at_once: bool,
}

impl Shape {
    pub(crate) fn new() -> Self {
        Self { places: vec![Place::new(Callee::Peer(0), 0)] }
    }

    /// The place of a callee below another; `None` if there is no room.
    fn child(&mut self, parent: u32, callee: Callee) -> Option<u32> {
        let above = &self.places[parent as usize];
        let known = above.children.iter().find(|c| self.places[**c as usize].callee == callee);
        if let Some(known) = known {
            return Some(*known);
        }
        let full = self.places.len() >= MOST_NODES
            || above.children.len() >= MOST_CHILDREN
            || above.level >= MOST_LEVELS;
        if full {
            self.places[parent as usize].left_out += 1;
            return None;
        }
        let level = above.level + 1;
        let number = self.places.len() as u32;
        self.places.push(Place::new(callee, level));
        self.places[parent as usize].children.push(number);
        Some(number)
    }

    /// One execution of a place, with its calls by start. Returns their places.
    pub(crate) fn execution(&mut self, at: u32, well: bool, calls: &[Seen]) -> Vec<Option<u32>> {
        self.places[at as usize].done += u64::from(well);
        let places: Vec<Option<u32>> = calls.iter().map(|c| self.child(at, c.callee)).collect();
        // The call that ended the execution: the last that failed.
        let fatal = if well { None } else { calls.iter().rposition(|c| c.bad) };
        let fatal = fatal.and_then(|n| places[n]);
        if !well && fatal.is_none() {
            // Failed by itself, at a point that is not known: says nothing about its calls.
            return places;
        }
        let mut order: Vec<(u32, usize, u64)> = Vec::new();
        for (n, place) in places.iter().enumerate() {
            let Some(place) = place else { continue };
            match order.iter_mut().find(|(known, ..)| known == place) {
                Some((_, _, times)) => *times += 1,
                None => order.push((*place, n, 1)),
            }
        }
        for (position, (place, _, times)) in order.iter().enumerate() {
            let p = &mut self.places[*place as usize];
            p.positions += position as f64;
            if fatal == Some(*place) {
                p.failed_at += 1;
            } else {
                p.made += 1;
                p.made_calls += times;
            }
        }
        self.overlaps(at, calls, &places, &order);
        places
    }

    fn overlaps(
        &mut self,
        at: u32,
        calls: &[Seen],
        places: &[Option<u32>],
        order: &[(u32, usize, u64)],
    ) {
        // Only neighbours are compared, so that an execution costs what it has calls.
        let mut until = 0;
        for (n, place) in places.iter().enumerate() {
            let before = n.checked_sub(1).and_then(|b| places[b]);
            if let (Some(place), Some(before)) = (place, before)
                && *place == before
            {
                let apart = usize::from(calls[n].start >= calls[n - 1].end);
                self.places[*place as usize].itself[apart] += 1;
            }
        }
        for pair in order.windows(2) {
            let ((a, from, _), (b, to, _)) = (pair[0], pair[1]);
            until = until.max(calls[from].end);
            let apart = usize::from(calls[to].start >= calls[from].end.min(until));
            let key = (a.min(b), a.max(b));
            self.places[at as usize].pairs.entry(key).or_default()[apart] += 1;
        }
    }

    /// The calls of a place in their order; those of a group are made at the same time.
    pub(crate) fn steps(&self, at: u32) -> Vec<Vec<Step>> {
        let place = &self.places[at as usize];
        let mut order = place.children.clone();
        order.sort_by(|a, b| {
            let position = |at: u32| self.places[at as usize].position();
            position(*a).total_cmp(&position(*b)).then(a.cmp(b))
        });
        // Whoever failed at a call had made, or left out, all that come before it.
        let mut later: u64 = 0;
        let mut could: Vec<u64> = order
            .iter()
            .rev()
            .map(|child| {
                later += self.places[*child as usize].failed_at;
                place.done + later
            })
            .collect();
        could.reverse();
        let mut groups: Vec<Vec<Step>> = Vec::new();
        let mut before: Option<u32> = None;
        for (child, could) in order.into_iter().zip(could) {
            let c = &self.places[child as usize];
            let did = c.made + c.failed_at;
            if did == 0 {
                continue;
            }
            let step = Step {
                place: child,
                could: could.max(did),
                did,
                times: if c.made > 0 { c.made_calls as f64 / c.made as f64 } else { 1.0 },
                counted: c.made,
                at_once: c.itself[0] > c.itself[1],
            };
            let together = before.is_some_and(|b| {
                let key = (b.min(child), b.max(child));
                place.pairs.get(&key).is_some_and(|[together, apart]| together > apart)
            });
            match groups.last_mut() {
                Some(group) if together => group.push(step),
                _ => groups.push(vec![step]),
            }
            before = Some(child);
        }
        groups
    }

    /// Lays another over this one, with its callees renamed.
    pub(crate) fn absorb(&mut self, other: &Self, rename: &impl Fn(Callee) -> Callee) {
        let mut to: Vec<Option<u32>> = vec![None; other.places.len()];
        to[0] = Some(CLIENT);
        // Parents have smaller numbers than their children.
        for (from, place) in other.places.iter().enumerate() {
            let Some(at) = to[from] else { continue };
            for child in &place.children {
                let callee = rename(other.places[*child as usize].callee);
                to[*child as usize] = self.child(at, callee);
            }
            let mine = &mut self.places[at as usize];
            mine.done += place.done;
            mine.made += place.made;
            mine.made_calls += place.made_calls;
            mine.failed_at += place.failed_at;
            mine.positions += place.positions;
            mine.left_out += place.left_out;
            for n in 0..2 {
                mine.itself[n] += place.itself[n];
            }
            for ((a, b), counts) in &place.pairs {
                if let (Some(a), Some(b)) = (to[*a as usize], to[*b as usize]) {
                    let pair = mine.pairs.entry((a.min(b), a.max(b))).or_default();
                    for n in 0..2 {
                        pair[n] += counts[n];
                    }
                }
            }
        }
    }

    /// Executions of the client's place that went well: requests.
    pub(crate) fn done(&self) -> u64 {
        self.places[CLIENT as usize].done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(callee: u32, start: u64, end: u64, bad: bool) -> Seen {
        Seen { callee: Callee::Service(callee), start, end, bad }
    }

    #[test]
    fn optional_calls_and_repeated_ones_are_counted() {
        let mut shape = Shape::new();
        for n in 0..100 {
            let mut calls = vec![seen(1, 0, 10, false)];
            if n % 5 == 0 {
                calls.push(seen(2, 10, 20, false));
            }
            calls.extend([seen(3, 20, 30, false), seen(3, 30, 40, false)]);
            shape.execution(CLIENT, true, &calls);
        }
        let steps: Vec<Step> = shape.steps(CLIENT).into_iter().flatten().collect();
        let told: Vec<(u64, u64, f64)> = steps.iter().map(|s| (s.did, s.could, s.times)).collect();
        assert_eq!(told, [(100, 100, 1.0), (20, 100, 1.0), (100, 100, 2.0)]);
        assert!(steps.iter().all(|s| !s.at_once));
    }

    #[test]
    fn what_a_failure_prevented_is_not_held_against_later_calls() {
        let mut shape = Shape::new();
        for n in 0..100 {
            if n % 10 == 0 {
                shape.execution(CLIENT, false, &[seen(1, 0, 10, true)]);
            } else {
                shape.execution(CLIENT, true, &[seen(1, 0, 10, false), seen(2, 10, 20, false)]);
            }
        }
        let steps: Vec<Step> = shape.steps(CLIENT).into_iter().flatten().collect();
        let told: Vec<(u64, u64)> = steps.iter().map(|s| (s.did, s.could)).collect();
        assert_eq!(told, [(100, 100), (90, 90)]);
    }

    #[test]
    fn calls_at_the_same_time_are_a_group() {
        let mut shape = Shape::new();
        for _ in 0..10 {
            let calls = [seen(1, 0, 10, false), seen(2, 1, 9, false), seen(3, 10, 20, false)];
            shape.execution(CLIENT, true, &calls);
        }
        let sizes: Vec<usize> = shape.steps(CLIENT).iter().map(Vec::len).collect();
        assert_eq!(sizes, [2, 1]);
    }

    #[test]
    fn a_tree_has_an_end() {
        let mut shape = Shape::new();
        let mut at = CLIENT;
        for n in 0..100 {
            let Some(next) = shape.execution(at, true, &[seen(n % 2, 0, 1, false)])[0] else {
                assert_eq!(n, MOST_LEVELS);
                return;
            };
            at = next;
        }
        panic!("no end");
    }
}
