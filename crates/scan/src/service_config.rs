//! gRPC's service config in code: as a text, or as values that are built as its JSON is.

use damper_config::Reading;
use damper_config::document::{Entry, Node, Value as Written};
use damper_config::format::grpc;

use crate::policy::Policy;
use crate::tree::{Arg, Id, Kind, Tree};
use crate::value::{Data, Value, Values};

/// The key that every service config with retries has.
const KEY: &str = "methodConfig";
/// Nesting of values that are built in code.
const DEPTH: usize = 24;

/// Whether a text may have a service config in it.
pub(crate) fn worth(text: &str) -> bool {
    text.contains(KEY)
}

/// What the service configs of a file say. What a policy of the catalogue says already is left out.
pub(crate) fn find(tree: &Tree<'_>, values: &Values<'_, '_>, policies: &[Policy]) -> Reading {
    let mut all = Reading::default();
    if !worth(tree.text()) {
        return all;
    }
    for id in tree.ids() {
        let mut found = match tree.kind(id) {
            Kind::Text(text) if text.contains(KEY) && text.contains('{') => of_text(tree, id, text),
            Kind::Record { entries, .. }
                if entries.iter().any(|entry| entry.key.as_deref() == Some(KEY)) =>
            {
                built(tree, values, id, 0).map(|root| grpc::of_root(&root)).unwrap_or_default()
            }
            Kind::Call { args, .. }
                if pairs(tree, id, args).is_some_and(|all| has_key(tree, &all)) =>
            {
                built(tree, values, id, 0).map(|root| grpc::of_root(&root)).unwrap_or_default()
            }
            _ => continue,
        };
        let span = tree.span(id);
        let known = |policy: &Policy| {
            policy.line <= span.end_line
                && span.line <= policy.end_line
                && matches!(&policy.by, crate::policy::By::Library { .. })
        };
        if policies.iter().any(known) && !found.layers.is_empty() {
            // The catalogue reads the first method.
            found.layers.remove(0);
        }
        if found.layers.is_empty() && found.facts.is_empty() {
            continue;
        }
        all.formats = found.formats;
        all.layers.append(&mut found.layers);
        all.facts.append(&mut found.facts);
    }
    all
}

/// A text with the line at which its content begins.
fn of_text(tree: &Tree<'_>, id: Id, text: &str) -> Reading {
    let content = text.trim_start();
    let first = content.lines().next().unwrap_or_default().trim_end();
    let source = tree.source(id);
    // A text with escapes is not written as it is; then it stands in one line, as a rule.
    let before = source.find(first).and_then(|at| source.get(..at)).unwrap_or_default();
    let down = u32::try_from(before.matches('\n').count()).unwrap_or_default();
    grpc::of_text(content, tree.span(id).line.saturating_add(down))
}

/// Names of functions that make a map of keys and values in turn, by whose they are.
const MAPS: &[&str] = &["Map", "ImmutableMap"];
/// Names of functions that make a list.
const LISTS: &[&str] = &["asList", "listOf", "singletonList", "newArrayList"];

/// Keys and values of a call that makes a map.
fn pairs(tree: &Tree<'_>, call: Id, args: &[Arg<'_>]) -> Option<Vec<(Id, Id)>> {
    let Kind::Call { callee, .. } = tree.kind(call) else { return None };
    let path = tree.path(*callee)?;
    let (last, whose) = (path.last()?, path.len().checked_sub(2).and_then(|at| path.get(at)));
    if *last == "of" && whose.is_some_and(|whose| MAPS.contains(whose)) {
        let pairs = args.chunks_exact(2);
        return Some(
            pairs.filter_map(|two| Some((two.first()?.value, two.get(1)?.value))).collect(),
        );
    }
    // Kotlin's `"a" to b`.
    let infix = |arg: &Arg<'_>| match tree.kind(arg.value) {
        Kind::Binary { left, right, .. } => Some((*left, *right)),
        Kind::Call { callee, args, .. } => match (tree.kind(*callee), args.as_slice()) {
            (Kind::Field { of, name: "to" }, [value]) => Some((*of, value.value)),
            (Kind::Name("to"), [key, value]) => Some((key.value, value.value)),
            _ => None,
        },
        _ => None,
    };
    matches!(*last, "mapOf" | "hashMapOf").then(|| args.iter().filter_map(infix).collect())
}

fn has_key(tree: &Tree<'_>, pairs: &[(Id, Id)]) -> bool {
    pairs.iter().any(|(key, _)| matches!(tree.kind(*key), Kind::Text(text) if text == KEY))
}

/// Values that are built in code, as far as they are known.
fn built(tree: &Tree<'_>, values: &Values<'_, '_>, id: Id, depth: usize) -> Option<Node> {
    if depth > DEPTH {
        return None;
    }
    let span = tree.span(id);
    let lines = [span.line, span.end_line];
    let below = |id: Id| built(tree, values, id, depth + 1);
    let entry = |key: &str, value: Id| {
        let line = tree.span(value).line;
        Some(Entry { key: key.into(), line, value: below(value)? })
    };
    let value = match tree.kind(id) {
        Kind::Record { entries, .. } => Written::Map(
            entries.iter().filter_map(|one| entry(one.key.as_deref()?, one.value)).collect(),
        ),
        Kind::List(items) => Written::List(items.iter().filter_map(|item| below(*item)).collect()),
        Kind::Call { callee, args, .. } => {
            if let Some(pairs) = pairs(tree, id, args) {
                let text = |key: Id| match tree.kind(key) {
                    Kind::Text(text) => Some(text.clone()),
                    _ => None,
                };
                let entries = pairs.iter().filter_map(|(key, value)| entry(&text(*key)?, *value));
                Written::Map(entries.collect())
            } else {
                let path = tree.path(*callee)?;
                let of =
                    path.ends_with(&["List", "of"]) || path.ends_with(&["ImmutableList", "of"]);
                let list = of || path.last().is_some_and(|last| LISTS.contains(last));
                if !list {
                    return known(&values.of(id));
                }
                Written::List(args.iter().filter_map(|arg| below(arg.value)).collect())
            }
        }
        _ => return known(&values.of(id)),
    };
    Some(Node { value, lines })
}

/// A value that was worked out.
fn known(value: &Value) -> Option<Node> {
    let line = value.place.line;
    let scalar = |text: &str, quoted| Some(Node::scalar(text, quoted, line));
    match &value.data {
        Data::Text(text) => scalar(text, true),
        Data::Number(number) => scalar(&number.to_string(), false),
        Data::Bool(truth) => scalar(if *truth { "true" } else { "false" }, false),
        Data::List(items) => {
            let items = items.iter().filter_map(known).collect();
            Some(Node { value: Written::List(items), lines: [line, line] })
        }
        Data::Record(entries) => {
            let entry = |(key, value): &(String, Value)| {
                Some(Entry {
                    key: key.as_str().into(),
                    line: value.place.line,
                    value: known(value)?,
                })
            };
            let entries = entries.iter().filter_map(entry).collect();
            Some(Node { value: Written::Map(entries), lines: [line, line] })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::Language;
    use crate::lower;
    use crate::value::Imports;

    fn of(language: Language, text: &str) -> Vec<(u32, Option<u32>)> {
        let tree = lower::tree(language, text).expect("a tree");
        let imports = Imports::of(&tree);
        let reading = find(&tree, &Values::new(&tree, &imports), &[]);
        let layers = reading.layers.iter();
        layers.map(|layer| (layer.lines[0], layer.attempts.value.high())).collect()
    }

    const POLICY: &str = r#""retryPolicy": {"maxAttempts": 4, "initialBackoff": "0.1s",
      "maxBackoff": "1s", "backoffMultiplier": 2, "retryableStatusCodes": ["UNAVAILABLE"]}"#;

    #[test]
    fn a_text_is_read_with_its_lines() {
        let text = format!(
            "package p\nvar o = grpc.WithDefaultServiceConfig(`{{\n  \"methodConfig\": [{{\"name\": [{{}}],\n    {POLICY}}}]}}`)\n"
        );
        assert_eq!(of(Language::Go, &text), [(4, Some(4))]);
        let text = format!(
            "options = [('grpc.service_config', '''\n{{\"methodConfig\": [{{\n{POLICY}}}]}}''')]\n"
        );
        assert_eq!(of(Language::Python, &text), [(3, Some(4))]);
    }

    #[test]
    fn values_that_are_built_are_read() {
        let text = "const c = {'grpc.service_config': JSON.stringify({ methodConfig: [{ name: [{}],\n  retryPolicy: { maxAttempts: 4, initialBackoff: '0.1s', maxBackoff: '1s', backoffMultiplier: 2, retryableStatusCodes: ['UNAVAILABLE'] } }] })};\n";
        assert_eq!(of(Language::JavaScript, text), [(2, Some(4))]);
        let text = "class A {\n Object c = b.defaultServiceConfig(Map.of(\"methodConfig\", List.of(Map.of(\"name\", List.of(Map.of()),\n  \"retryPolicy\", Map.of(\"maxAttempts\", 4.0, \"initialBackoff\", \"0.1s\", \"maxBackoff\", \"1s\", \"backoffMultiplier\", 2.0, \"retryableStatusCodes\", List.of(\"UNAVAILABLE\"))))));\n}\n";
        assert_eq!(of(Language::Java, text), [(3, Some(4))]);
    }

    #[test]
    fn what_gives_no_config_says_nothing() {
        assert_eq!(of(Language::Python, "x = {'methodConfig': f()}\ny = 'methodConfig'\n"), []);
    }
}
