//! `gaps:`: what whoever wrote the file could not find out.

use crate::assign::{self, Segment, SegmentKind};
use crate::node::{Node, Value};
use crate::problem::Draft;
use crate::read::{Fields, Reader, Val};
use crate::schema::{Kind, Section, required};

pub(crate) static GAP: Section = Section {
    name: "gap",
    doc: "Something that is not known. It warns until there is a value at its path.",
    keys: &[
        required("path", Kind::Text, "where the value belongs, as `--set` writes it"),
        required("why", Kind::Text, "why it is not known, and what is"),
    ],
};

/// Warns of every gap that is still one.
pub(crate) fn check(reader: &mut Reader<'_>, fields: &Fields<'_>, root: &Node) {
    let Some(node) = fields.node("gaps") else { return };
    let Value::Seq(items) = &node.value else {
        reader.error(
            Draft::new(node.span, "this must be a list")
                .found(node.found())
                .expected("a list of gaps, each with a `path` and `why`"),
        );
        return;
    };
    for item in items {
        let Some(gap) = reader.section(item, &GAP, item.span) else { continue };
        let (path, why) = (reader.value(&gap, "path"), reader.value(&gap, "why"));
        let (Some(Val::Text(path)), Some(Val::Text(why))) = (path, why) else { continue };
        let at = gap.span("path");
        let Ok((segments, _)) = assign::split(&format!("{path}="), at.source) else {
            reader.error(
                Draft::new(at, "this is not the path of a value")
                    .expected("a path such as `services.db.workers`"),
            );
            continue;
        };
        if !filled(root, &segments) {
            reader.warn(
                Draft::new(at, format!("`{path}` is not known: {why}"))
                    .found("no value")
                    .expected("a value there, which fills this gap"),
            );
        }
    }
}

/// Whether there is a value, for a policy also in a less specific one.
fn filled(root: &Node, path: &[Segment]) -> bool {
    let keys: Vec<&SegmentKind> = path.iter().map(|segment| &segment.kind).collect();
    if exists(root, &keys) {
        return true;
    }
    let [SegmentKind::Key(first), SegmentKind::Key(call), rest @ ..] = keys.as_slice() else {
        return false;
    };
    let callee = call.split("->").last().unwrap_or(call).trim();
    first == "policies"
        && [callee, "default"].into_iter().any(|policy| {
            let (first, policy) =
                (SegmentKind::Key(first.clone()), SegmentKind::Key(policy.to_owned()));
            exists(root, &[&[&first, &policy], rest].concat())
        })
}

fn exists(root: &Node, path: &[&SegmentKind]) -> bool {
    let mut at = root;
    for step in path {
        let next = match (step, &at.value) {
            (SegmentKind::Key(key), _) => at.child(key).map(|entry| &entry.value),
            (SegmentKind::Index(index), Value::Seq(items)) => items.get(*index),
            (SegmentKind::Index(_), _) => None,
        };
        let Some(next) = next else { return false };
        at = next;
    }
    !matches!(at.value, Value::Null)
}
