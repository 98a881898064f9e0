//! Keys that are joined with dots and hold indices (`a.b[0].c`), made into maps and lists.

use std::collections::HashMap;

use super::{Entry, MAX_DEPTH, Node, Value};

/// Steps of all keys of one tree: a step costs far more than the two letters that write it.
pub const MAX_STEPS: usize = 400_000;

/// A tree that grows by dotted keys.
#[derive(Default)]
pub struct Tree {
    steps: usize,
    value: Option<Node>,
    line: u32,
    children: Vec<(Box<str>, Self)>,
    index: HashMap<Box<str>, usize>,
}

impl Tree {
    /// Puts a value below a path; the last one wins. False: the path is too deep, or the tree full.
    pub fn put(&mut self, path: &[&str], line: u32, value: Node) -> bool {
        self.steps = self.steps.saturating_add(path.len());
        if path.len() >= MAX_DEPTH || self.steps > MAX_STEPS {
            return false;
        }
        let mut at = self;
        for step in path {
            let place = match at.index.get(*step) {
                Some(place) => *place,
                None => {
                    let place = at.children.len();
                    at.index.insert((*step).into(), place);
                    at.children.push(((*step).into(), Self { line, ..Self::default() }));
                    place
                }
            };
            let Some((_, child)) = at.children.get_mut(place) else { return false };
            at = child;
        }
        at.value = Some(value);
        at.line = line;
        true
    }

    /// The tree as a node. What is both a value and a map has its value below the empty key.
    #[must_use]
    pub fn into_node(self, line: u32) -> Node {
        let Self { value, children, .. } = self;
        if children.is_empty() {
            return value.unwrap_or(Node { value: Value::Null, lines: [line, line] });
        }
        let list = children.iter().all(|(key, _)| index_of(key).is_some()) && value.is_none();
        let mut entries: Vec<Entry> = value
            .map(|value| Entry { key: "".into(), line, value })
            .into_iter()
            .chain(children.into_iter().map(|(key, child)| {
                let line = child.line;
                Entry { key, line, value: child.into_node(line) }
            }))
            .collect();
        let first = entries.iter().map(|entry| entry.line).min().unwrap_or(line);
        let last = entries.iter().map(|entry| entry.value.lines[1]).max().unwrap_or(line);
        let value = if list {
            entries.sort_by_key(|entry| index_of(&entry.key));
            Value::List(entries.into_iter().map(|entry| entry.value).collect())
        } else {
            Value::Map(entries)
        };
        Node { value, lines: [first, last.max(first)] }
    }
}

fn index_of(step: &str) -> Option<u64> {
    step.strip_prefix('[')?.strip_suffix(']')?.parse().ok()
}

/// The steps of a dotted key. What stands in quotes or in brackets holds no dots; a key with a
/// slash outside of quotes is one step, as MicroProfile writes classes.
#[must_use]
pub fn steps(key: &str) -> Vec<&str> {
    let mut steps = Vec::new();
    let (mut from, mut quoted, mut bracket) = (0, false, false);
    let mut push = |from: usize, to: usize| {
        let step = key.get(from..to).unwrap_or_default();
        let step = step.strip_prefix('"').and_then(|step| step.strip_suffix('"')).unwrap_or(step);
        let number = |step: &str| step.bytes().all(|byte| byte.is_ascii_digit());
        // `[name]` is a name, `[0]` an index.
        let step = match step.strip_prefix('[').and_then(|step| step.strip_suffix(']')) {
            Some(name) if !number(name) => name,
            _ => step,
        };
        if !step.is_empty() {
            steps.push(step);
        }
    };
    for (at, byte) in key.bytes().enumerate() {
        match byte {
            b'"' => quoted = !quoted,
            _ if quoted => {}
            b'/' => return vec![key],
            b'[' if !bracket => {
                push(from, at);
                (from, bracket) = (at, true);
            }
            b']' if bracket => {
                push(from, at + 1);
                (from, bracket) = (at + 1, false);
            }
            b'.' if !bracket => {
                push(from, at);
                from = at + 1;
            }
            _ => {}
        }
    }
    push(from, key.len());
    if steps.is_empty() { vec![key] } else { steps }
}

/// A map whose dotted keys are written out, as Spring reads YAML. Maps in lists, too.
#[must_use]
pub fn expand(node: &Node) -> Node {
    match &node.value {
        Value::Map(_) => {
            let mut tree = Tree::default();
            fill(&mut tree, &mut Vec::new(), node);
            let mut out = tree.into_node(node.lines[0]);
            out.lines = node.lines;
            if out.is_null() { node.clone() } else { out }
        }
        Value::List(items) => {
            Node { value: Value::List(items.iter().map(expand).collect()), lines: node.lines }
        }
        _ => node.clone(),
    }
}

fn fill<'a>(tree: &mut Tree, path: &mut Vec<&'a str>, node: &'a Node) {
    for entry in node.entries() {
        let steps = steps(&entry.key);
        let added = steps.len();
        path.extend(steps);
        if entry.value.entries().is_empty() {
            tree.put(path, entry.line, expand(&entry.value));
        } else {
            fill(tree, path, &entry.value);
        }
        path.truncate(path.len() - added);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_cut_at_their_dots() {
        assert_eq!(steps("a.b-c[0].d"), ["a", "b-c", "[0]", "d"]);
        assert_eq!(steps("x.\"C.m\".retry"), ["x", "C.m", "retry"]);
        assert_eq!(steps("x[C.m].retry"), ["x", "C.m", "retry"]);
        assert_eq!(steps("a.B/m/Retry/delay"), ["a.B/m/Retry/delay"]);
        assert_eq!(steps("..."), ["..."]);
    }

    #[test]
    fn a_tree_has_maps_and_lists() {
        let mut tree = Tree::default();
        for (line, key) in ["a.b[1].x", "a.b[0].x", "a.b[0].y", "a.c", "a.c.d"].iter().enumerate() {
            let line = u32::try_from(line).expect("line") + 1;
            assert!(tree.put(&steps(key), line, Node::scalar(key, false, line)));
        }
        let root = tree.into_node(1);
        let items = root.below("a.b").expect("list").items();
        assert_eq!(items[0].text_at("y"), Some("a.b[0].y"));
        assert_eq!(items[1].lines, [1, 1]);
        assert_eq!(root.below("a.c.d").and_then(Node::text), Some("a.c.d"));
        assert_eq!(root.lines, [1, 5]);
    }
}
