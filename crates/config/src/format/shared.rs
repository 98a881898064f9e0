//! What most formats need: counts that are retries or totals, durations with their lines, waits.

use crate::document::{Entry, Node, Value};
use crate::format::parts::span;
use crate::layer::{Attempts, Delay, Growth, Sourced};
use crate::units;

/// What a number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counted {
    /// Attempts after the first.
    Retries,
    /// All attempts.
    Total,
}

/// How much of an expression is kept.
const MOST_EXPRESSION: usize = 200;

/// Attempts in total from what is written; what is no number is open, between 1 and no end.
pub(crate) fn attempts(value: &Node, counted: Counted) -> Attempts {
    // A number may be written 2.0 by a tool that knows only floating point.
    let whole = value.number().filter(|number| number.fract() == 0.0 && number.abs() < 1e15);
    #[allow(clippy::cast_possible_truncation)]
    match whole.map(|number| number as i64) {
        Some(count) if counted == Counted::Total => Attempts::from_retries(count.max(1) - 1),
        Some(count) => Attempts::from_retries(count),
        None => unknown(value),
    }
}

/// A value that only running would tell.
pub(crate) fn unknown(value: &Node) -> Attempts {
    Attempts::Open { expression: expression(value), low: 1, high: None }
}

/// What is written at a place, for people.
pub(crate) fn expression(value: &Node) -> String {
    let text = value.open().or(value.text()).unwrap_or("what stands here");
    text.chars().take(MOST_EXPRESSION).collect()
}

/// As [`attempts`], with its line; where nobody wrote any, `default` in total.
pub(crate) fn attempts_or(
    entry: Option<&Entry>,
    counted: Counted,
    default: Attempts,
    who: &'static str,
) -> Sourced<Attempts> {
    match entry.filter(|entry| !entry.value.is_null()) {
        Some(entry) => Sourced::written(attempts(&entry.value, counted), entry.line),
        None => Sourced::default_of(default, who),
    }
}

/// From the first to the last line of some entries.
pub(crate) fn around<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Option<[u32; 2]> {
    let both = |a: [u32; 2], b: [u32; 2]| [a[0].min(b[0]), a[1].max(b[1])];
    entries.into_iter().map(span).reduce(both)
}

/// A duration with its line; a bare number counts in `bare_ms`.
pub(crate) fn ms(entry: Option<&Entry>, bare_ms: f64) -> Option<Sourced<f64>> {
    let entry = entry?;
    Some(Sourced::written(units::duration_of(&entry.value, bare_ms)?, entry.line))
}

/// As [`ms`], or what somebody's software does.
pub(crate) fn ms_or(
    entry: Option<&Entry>,
    bare_ms: f64,
    default: f64,
    who: &'static str,
) -> Option<Sourced<f64>> {
    match entry {
        Some(_) => ms(entry, bare_ms),
        None => Some(Sourced::default_of(default, who)),
    }
}

/// A number with its line.
pub(crate) fn number(entry: Option<&Entry>) -> Option<f64> {
    entry?.value.number()
}

/// The same wait each time; none where it is 0.
pub(crate) fn constant(base: Option<Sourced<f64>>) -> Delay {
    match base {
        Some(base) if base.value > 0.0 => {
            Delay { growth: Growth::Constant, base_ms: Some(base), ..Delay::none() }
        }
        Some(_) => Delay::none(),
        None => Delay { growth: Growth::Unknown, ..Delay::none() },
    }
}

/// A wait that grows by a factor; by 1 it does not.
pub(crate) fn exponential(
    base: Option<Sourced<f64>>,
    factor: f64,
    cap: Option<Sourced<f64>>,
) -> Delay {
    let growth = if factor == 1.0 { Growth::Constant } else { Growth::Exponential };
    Delay {
        growth,
        base_ms: base,
        factor: (growth == Growth::Exponential).then_some(factor),
        cap_ms: cap,
        jitter: false,
    }
}

/// Every map of a tree, the outer ones first, with the keys above it.
pub(crate) fn maps<'a>(node: &'a Node, see: &mut dyn FnMut(&'a Node)) {
    match &node.value {
        Value::Map(entries) => {
            see(node);
            entries.iter().for_each(|entry| maps(&entry.value, see));
        }
        Value::List(items) => items.iter().for_each(|item| maps(item, see)),
        _ => {}
    }
}

/// Whether an object is an Ingress of a class.
pub(crate) fn is_ingress_of(document: &crate::document::Document, class: &str) -> bool {
    let groups = ["networking.k8s.io", "extensions"];
    let root = &document.root;
    let notes = root.below("metadata.annotations");
    let note =
        notes.and_then(|notes| notes.get("kubernetes.io/ingress.class")).and_then(Node::text);
    groups.iter().any(|group| super::is_object(document, group, &["Ingress"]))
        && (root.text_at("spec.ingressClassName") == Some(class) || note == Some(class))
}

/// A JSON or YAML text that stands as a value, its lines counted in the file around it.
pub(crate) fn embedded(value: &Node) -> Option<Node> {
    let text = value.text()?;
    let syntax = match text.trim_start().chars().next()? {
        '{' | '[' => crate::document::Syntax::Json,
        _ if text.contains('\n') => crate::document::Syntax::Yaml,
        _ => return None,
    };
    super::parts::embedded(value, syntax).into_iter().next().map(|document| document.root)
}

/// Moves a tree down by lines, but not out of a place.
pub(crate) fn shift(node: &mut Node, down: u32, within: [u32; 2]) {
    let moved = |line: u32| line.saturating_add(down).clamp(within[0], within[1].max(within[0]));
    node.lines = node.lines.map(moved);
    match &mut node.value {
        Value::List(items) => items.iter_mut().for_each(|item| shift(item, down, within)),
        Value::Map(entries) => {
            for entry in entries {
                entry.line = moved(entry.line);
                shift(&mut entry.value, down, within);
            }
        }
        _ => {}
    }
}

/// What a text of a syntax says, for the tests of the formats.
#[cfg(test)]
pub(crate) fn reading(
    path: &str,
    syntax: crate::document::Syntax,
    text: &str,
) -> crate::reading::Reading {
    let (documents, troubles) = crate::document::parse(syntax, text);
    assert_eq!(troubles, []);
    super::read(path, &documents)
}

/// As [`reading`], of which only one format's layers are kept.
#[cfg(test)]
pub(crate) fn layers(
    format: &str,
    path: &str,
    syntax: crate::document::Syntax,
    text: &str,
) -> Vec<crate::layer::Layer> {
    let mut layers = reading(path, syntax, text).layers;
    layers.retain(|layer| layer.format == format);
    layers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Syntax, parse};

    #[test]
    fn a_text_inside_keeps_its_lines() {
        let at = |syntax, text: &str| {
            let root = parse(syntax, text).0.remove(0).root;
            let inner = embedded(&root.entries()[0].value).expect("embedded");
            inner.entry("b").expect("b").line
        };
        assert_eq!(at(Syntax::Yaml, "x: |\n  {\"a\": 1,\n   \"b\": 2}\n"), 3);
        assert_eq!(at(Syntax::Yaml, "x: '{\"b\": 2}'\n"), 1);
        assert_eq!(at(Syntax::Hcl, "x = <<EOT\n{\"a\": 1,\n \"b\": 2}\nEOT\n"), 3);
        assert_eq!(at(Syntax::Yaml, "x: |\n  a: 1\n  b: 2\n"), 3);
    }
}
