//! Lists of what waits: joining, leaving at either end and from the middle cost a few loads.

use damper_control::queue::Side;

const NONE: u32 = u32::MAX;

#[derive(Debug)]
struct Node<T> {
    value: Option<T>,
    list: u32,
    before: u32,
    after: u32,
    /// Whether it is still in its list.
    linked: bool,
}

/// Lists whose members keep a number until they are freed.
#[derive(Debug)]
pub(super) struct Lists<T> {
    nodes: Vec<Node<T>>,
    free: Vec<u32>,
    /// The oldest and the newest of each list.
    ends: Vec<(u32, u32)>,
    linked: u32,
}

impl<T> Lists<T> {
    pub(super) fn new(lists: usize) -> Self {
        Self { nodes: Vec::new(), free: Vec::new(), ends: vec![(NONE, NONE); lists], linked: 0 }
    }

    /// Members of all lists.
    pub(super) fn len(&self) -> u32 {
        self.linked
    }

    /// Members, and those that were popped and not freed.
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.nodes.len() - self.free.len()
    }

    /// Joins a list as its newest. A list that there is not is the last.
    pub(super) fn push(&mut self, list: usize, value: T) -> u32 {
        let list = list.min(self.ends.len().saturating_sub(1));
        let newest = self.ends.get(list).map_or(NONE, |ends| ends.1);
        let node = Node {
            value: Some(value),
            list: list as u32,
            before: newest,
            after: NONE,
            linked: true,
        };
        let id = match self.free.pop() {
            Some(id) => {
                self.nodes[id as usize] = node;
                id
            }
            None => {
                self.nodes.push(node);
                (self.nodes.len() - 1) as u32
            }
        };
        match self.nodes.get_mut(newest as usize) {
            Some(newest) => newest.after = id,
            None => self.ends[list].0 = id,
        }
        self.ends[list].1 = id;
        self.linked += 1;
        id
    }

    /// Takes the oldest or the newest out of its list; it keeps its number.
    pub(super) fn pop(&mut self, list: usize, side: Side) -> Option<u32> {
        let (oldest, newest) = *self.ends.get(list)?;
        let id = match side {
            Side::Oldest => oldest,
            Side::Newest => newest,
        };
        (id != NONE).then(|| {
            self.unlink(id);
            id
        })
    }

    fn unlink(&mut self, id: u32) {
        let Some(node) = self.nodes.get_mut(id as usize).filter(|node| node.linked) else { return };
        node.linked = false;
        let (list, before, after) = (node.list as usize, node.before, node.after);
        match self.nodes.get_mut(before as usize) {
            Some(node) => node.after = after,
            None => self.ends[list].0 = after,
        }
        match self.nodes.get_mut(after as usize) {
            Some(node) => node.before = before,
            None => self.ends[list].1 = before,
        }
        self.linked -= 1;
    }

    pub(super) fn get(&self, id: u32) -> Option<&T> {
        self.nodes.get(id as usize)?.value.as_ref()
    }

    pub(super) fn get_mut(&mut self, id: u32) -> Option<&mut T> {
        self.nodes.get_mut(id as usize)?.value.as_mut()
    }

    /// Takes it out of its list if it is in one, and frees its number.
    pub(super) fn remove(&mut self, id: u32) -> Option<(usize, T)> {
        self.unlink(id);
        let node = self.nodes.get_mut(id as usize)?;
        let value = node.value.take()?;
        self.free.push(id);
        Some((node.list as usize, value))
    }

    /// Frees a number.
    pub(super) fn free(&mut self, id: u32) {
        let _ = self.remove(id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        /// The same as a double-ended queue for each list.
        #[test]
        fn lists_are_queues(steps in prop::collection::vec((0usize..3, 0u8..4, any::<u16>()), 0..200)) {
            let mut lists = Lists::new(3);
            let mut plain: [VecDeque<u32>; 3] = Default::default();
            let mut out = Vec::new();
            for (list, step, which) in steps {
                match step {
                    0 => {
                        let id = lists.push(list, which);
                        prop_assert!(!out.contains(&id), "a number in use is not given again");
                        plain[list].push_back(id);
                    }
                    1 => {
                        let id = lists.pop(list, Side::Oldest);
                        prop_assert_eq!(id, plain[list].pop_front());
                        out.extend(id);
                    }
                    2 => {
                        let id = lists.pop(list, Side::Newest);
                        prop_assert_eq!(id, plain[list].pop_back());
                        out.extend(id);
                    }
                    _ => {
                        let at = usize::from(which) % (plain[list].len() + 1);
                        if let Some(id) = plain[list].remove(at) {
                            prop_assert_eq!(lists.remove(id).map(|(l, _)| l), Some(list));
                            prop_assert!(lists.remove(id).is_none());
                        } else if let Some(id) = out.pop() {
                            lists.free(id);
                        }
                    }
                }
                prop_assert_eq!(lists.len() as usize, plain.iter().map(VecDeque::len).sum::<usize>());
                prop_assert_eq!(lists.held(), lists.len() as usize + out.len());
            }
        }
    }
}
