//! The order in which a network is solved: every service after its callers, loops together.

use std::ops::Range;

use super::routing::Routing;

/// All services, grouped into the strongly connected parts of the routing, callers first; within
/// a part, too, a service comes after its callers as far as that can be, so that a round of the
/// iteration in place carries most of its news.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Order {
    pub(super) nodes: Vec<u32>,
    /// Where each part ends in `nodes`.
    ends: Vec<usize>,
}

impl Order {
    /// Of the routes that any class takes.
    pub(super) fn of(routing: &Routing) -> Self {
        let all: Vec<u32> = (0..u32::try_from(routing.nodes()).unwrap_or(u32::MAX)).collect();
        Self::within(routing, &all, |_, _| true)
    }

    /// Of the routes among `members` that `keep` lets through: caller and edge.
    ///
    /// Tarjan's algorithm along the edges backwards, which gives the parts in topological order:
    /// a part is complete when all its callers are. Without recursion, since a path may be long.
    pub(super) fn within(
        routing: &Routing,
        members: &[u32],
        keep: impl Fn(usize, usize) -> bool,
    ) -> Self {
        const NEW: u32 = u32::MAX;
        let mut index = vec![NEW; routing.nodes()];
        let mut low = vec![0_u32; routing.nodes()];
        let mut waiting = vec![false; routing.nodes()];
        // When all callers of a service that were new at its turn had been done.
        let mut finished = vec![0_u32; routing.nodes()];
        let mut done = 0;
        let (mut stack, mut path): (Vec<u32>, Vec<(u32, usize)>) = (Vec::new(), Vec::new());
        let mut order = Self { nodes: Vec::with_capacity(members.len()), ends: Vec::new() };
        let mut count = 0;
        for &root in members {
            if index[root as usize] != NEW {
                continue;
            }
            path.push((root, routing.into(root as usize).start));
            while let Some((node, edge)) = path.last_mut() {
                let v = *node as usize;
                if index[v] == NEW {
                    (index[v], low[v], waiting[v]) = (count, count, true);
                    count += 1;
                    stack.push(*node);
                }
                if *edge < routing.into(v).end {
                    let (e, w) = (*edge, routing.caller(*edge));
                    *edge += 1;
                    if !keep(w, e) {
                        continue;
                    }
                    if index[w] == NEW {
                        path.push((routing.caller_index(e), routing.into(w).start));
                    } else if waiting[w] {
                        low[v] = low[v].min(index[w]);
                    }
                    continue;
                }
                path.pop();
                finished[v] = done;
                done += 1;
                if let Some(&(above, _)) = path.last() {
                    low[above as usize] = low[above as usize].min(low[v]);
                }
                if low[v] == index[v] {
                    let begin = order.nodes.len();
                    while let Some(member) = stack.pop() {
                        waiting[member as usize] = false;
                        order.nodes.push(member);
                        if member as usize == v {
                            break;
                        }
                    }
                    order.nodes[begin..].sort_unstable_by_key(|&node| finished[node as usize]);
                    order.ends.push(order.nodes.len());
                }
            }
        }
        order
    }

    /// The parts, callers first.
    pub(super) fn parts(&self) -> impl DoubleEndedIterator<Item = Range<usize>> + '_ {
        (0..self.ends.len()).map(|n| if n == 0 { 0 } else { self.ends[n - 1] }..self.ends[n])
    }
}

/// Whether a part is a loop: more than one service, or one that calls itself.
pub(super) fn is_loop(routing: &Routing, part: &[u32]) -> bool {
    match part {
        [one] => routing.into(*one as usize).any(|e| routing.caller(e) == *one as usize),
        _ => true,
    }
}
