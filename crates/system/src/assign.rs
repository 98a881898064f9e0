//! Changes from the command line: `services.db.queue=150`.

use crate::node::{Entry, Name, Node, Value, quoted};
use crate::problem::Draft;
use crate::read::nearest;
use crate::sections::control;
use crate::source::Span;

/// Steps of a path; also bounds how deep a change can nest.
const MAX_SEGMENTS: usize = 64;

/// One step of a path, with its place in the assignment.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Segment {
    pub(crate) kind: SegmentKind,
    pub(crate) span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SegmentKind {
    Key(String),
    Index(usize),
}

/// Splits an assignment into its path and the byte at which its value starts.
pub(crate) fn split(text: &str, source: u32) -> Result<(Vec<Segment>, usize), Draft> {
    let wrong = |at: usize, message: &str| {
        Draft::new(Span::new(source, at..at + 1), message).expected(
            "path=value such as `services.db.queue=150`; keys with `.`, `=` or `[` in quotes",
        )
    };
    let mut segments = Vec::new();
    let mut at = 0;
    loop {
        let rest = &text[at..];
        let (kind, length) = match rest.chars().next() {
            None => return Err(wrong(at, "the change ends before its `=`")),
            Some(quote @ ('"' | '\'')) => {
                let end =
                    rest[1..].find(quote).ok_or_else(|| wrong(at, "this quote is never closed"))?;
                (SegmentKind::Key(rest[1..=end].to_owned()), end + 2)
            }
            Some('[') => {
                let end =
                    rest.find(']').ok_or_else(|| wrong(at, "this bracket is never closed"))?;
                let index = rest[1..end].trim().parse();
                let index = index.map_err(|_| wrong(at, "this is not the index of a list"))?;
                (SegmentKind::Index(index), end + 1)
            }
            Some(_) => {
                let end = rest.find(['.', '[', '=']).unwrap_or(rest.len());
                let key = rest[..end].trim();
                if key.is_empty() {
                    return Err(wrong(at, "a key is missing here"));
                }
                (SegmentKind::Key(key.to_owned()), end)
            }
        };
        let span = Span::new(source, at..at + length);
        segments.push(Segment { kind, span });
        if segments.len() > MAX_SEGMENTS {
            return Err(wrong(at, "this path is too long"));
        }
        at += length;
        let gap = text[at..].len() - text[at..].trim_start().len();
        at += gap;
        match text[at..].chars().next() {
            Some('=') => return Ok((segments, at + 1)),
            Some('.') => at += 1,
            Some('[') => {}
            None => {
                return Err(wrong(at.saturating_sub(1), "the change ends before its `=`"));
            }
            Some(_) => return Err(wrong(at, "after a key comes `.`, `[` or `=`")),
        }
    }
}

/// Sections whose entries have names of the user's choice, and what such an entry is called.
const NAMED: [(&str, &str); 4] = [
    ("services", "service"),
    ("caches", "cache"),
    ("requests", "request"),
    ("triggers", "trigger"),
];

/// Puts `value` where the path leads, making mappings on the way.
pub(crate) fn apply(root: &mut Node, path: &[Segment], value: Node) -> Result<(), Draft> {
    names_something(root, path)?;
    let mut node = root;
    let mut control = false;
    for (i, segment) in path.iter().enumerate() {
        if control {
            spell_out(node);
        }
        control = matches!(&segment.kind, SegmentKind::Key(key) if control::stands_at(key));
        node = match &segment.kind {
            SegmentKind::Key(key) => {
                let in_policies =
                    i == 1 && matches!(&path[0].kind, SegmentKind::Key(k) if k == "policies");
                step(node, key, segment.span, in_policies)?
            }
            SegmentKind::Index(index) => item(node, *index, segment.span)?,
        };
    }
    *node = value;
    Ok(())
}

/// What stands where a path leads.
pub(crate) fn find<'v>(
    root: &'v serde_json::Value,
    path: &[Segment],
) -> Option<&'v serde_json::Value> {
    path.iter().try_fold(root, |value, segment| match &segment.kind {
        SegmentKind::Index(index) => value.get(index),
        SegmentKind::Key(key) => value.get(key).or_else(|| {
            let wanted = edge(key)?;
            value.as_object()?.iter().find(|(k, _)| edge(k) == Some(wanted)).map(|(_, v)| v)
        }),
    })
}

/// To change a part of something that is not there is a misspelt name; to add it, one assigns all
/// of it.
fn names_something(root: &Node, path: &[Segment]) -> Result<(), Draft> {
    let [Segment { kind: SegmentKind::Key(section), .. }, second, _, ..] = path else {
        return Ok(());
    };
    let SegmentKind::Key(name) = &second.kind else { return Ok(()) };
    let Some((_, what)) = NAMED.iter().find(|(s, _)| s == section) else { return Ok(()) };
    let Value::Map(sections) = &root.value else { return Ok(()) };
    let there = sections.iter().find(|e| e.key.text == *section).map(|e| &e.value.value);
    let names: Vec<&str> = match there {
        Some(Value::Map(entries)) => entries.iter().map(|e| e.key.text.as_str()).collect(),
        None | Some(Value::Null) => Vec::new(),
        Some(_) => return Ok(()),
    };
    if names.contains(&name.as_str()) {
        return Ok(());
    }
    Err(Draft::new(second.span, format!("there is no {what} {} to change", quoted(name)))
        .expected(format!("a name of the file, or `{section}.{name}={{…}}` to add it"))
        .suggest(nearest(name, names.iter().copied())))
}

/// A control by its name alone becomes a mapping that has room for its parameters.
fn spell_out(node: &mut Node) {
    if matches!(node.value, Value::Scalar { .. }) {
        let word = node.clone();
        let key = Name { text: "kind".to_owned(), span: word.span };
        node.value = Value::Map(vec![Entry { key, value: word }]);
    }
}

fn step<'n>(
    node: &'n mut Node,
    key: &str,
    span: Span,
    policy: bool,
) -> Result<&'n mut Node, Draft> {
    if matches!(node.value, Value::Null) {
        node.value = Value::Map(Vec::new());
    }
    let found = node.found();
    let Value::Map(entries) = &mut node.value else {
        return Err(Draft::new(span, format!("there is no key {} here", quoted(key)))
            .found(found)
            .expected("a path to a mapping")
            .also(node.span, "what stands there"));
    };
    let same = |e: &Entry| {
        e.key.text == key || policy && edge(&e.key.text).is_some_and(|a| Some(a) == edge(key))
    };
    let i = match entries.iter().position(same) {
        Some(i) => i,
        None => {
            entries.push(Entry {
                key: Name { text: key.to_owned(), span },
                value: Node { value: Value::Null, span },
            });
            entries.len() - 1
        }
    };
    Ok(&mut entries[i].value)
}

/// `a -> b` and `a->b` are the same policy.
fn edge(key: &str) -> Option<(&str, &str)> {
    key.split_once("->").map(|(a, b)| (a.trim(), b.trim()))
}

fn item(node: &mut Node, index: usize, span: Span) -> Result<&mut Node, Draft> {
    let found = node.found();
    let at = node.span;
    let Value::Seq(items) = &mut node.value else {
        return Err(Draft::new(span, "there is no list here")
            .found(found)
            .expected("a path to a list")
            .also(at, "what stands there"));
    };
    let length = items.len();
    match items.get_mut(index) {
        Some(item) => Ok(item),
        None => Err(Draft::new(span, "the list is shorter than that")
            .found(format!("a list of {length}"))
            .expected("an index that counts from 0")
            .also(at, "the list")
            .suggest(length.checked_sub(1).map(|last| format!("[{last}]")))),
    }
}
