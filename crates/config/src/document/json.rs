//! JSON, also with comments and trailing commas, and one object per line.

use jsonc_parser::ast;
use jsonc_parser::common::Ranged as _;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use super::{Document, Entry, Lines, MAX_DEPTH, Node, Syntax, Trouble, Value};

/// The document of a text.
#[must_use]
pub fn parse(text: &str) -> (Vec<Document>, Vec<Trouble>) {
    let lines = Lines::of(text);
    // The parser goes down by recursion.
    if let Some(byte) = too_deep(text) {
        let why = format!("values are nested more than {MAX_DEPTH} deep");
        return (Vec::new(), vec![Trouble { line: lines.at(byte), why }]);
    }
    match parse_to_ast(text, &CollectOptions::default(), &ParseOptions::default()) {
        Ok(parsed) => {
            let root = parsed.value.as_ref().map(|value| node(value, &lines));
            (root.into_iter().map(|root| Document { syntax: Syntax::Json, root }).collect(), vec![])
        }
        Err(error) => {
            let line = lines.at(error.range().start);
            let why = format!("this is not valid JSON: {}", error.kind());
            (Vec::new(), vec![Trouble { line, why }])
        }
    }
}

/// The byte at which a text goes too deep.
fn too_deep(text: &str) -> Option<usize> {
    let (mut depth, mut quoted, mut escaped) = (0_usize, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'[' | b'{' if !quoted => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return Some(at);
                }
            }
            b']' | b'}' if !quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}

fn node(value: &ast::Value<'_>, lines: &Lines) -> Node {
    let range = value.range();
    let place = [lines.at(range.start), lines.at(range.end.saturating_sub(1).max(range.start))];
    let scalar = |text: &str, quoted| Value::Scalar { text: text.into(), quoted };
    let value = match value {
        ast::Value::NullKeyword(_) => Value::Null,
        ast::Value::BooleanLit(lit) => scalar(if lit.value { "true" } else { "false" }, false),
        ast::Value::NumberLit(lit) => scalar(lit.value, false),
        ast::Value::StringLit(lit) => scalar(&lit.value, true),
        ast::Value::Array(array) => {
            Value::List(array.elements.iter().map(|item| node(item, lines)).collect())
        }
        ast::Value::Object(object) => {
            let entry = |property: &ast::ObjectProp<'_>| Entry {
                key: property.name.as_str().into(),
                line: lines.at(property.range.start),
                value: node(&property.value, lines),
            };
            Value::Map(object.properties.iter().map(entry).collect())
        }
    };
    Node { value, lines: place }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_know_their_lines() {
        let (documents, troubles) =
            parse("// comment\n{\"a\": {\n  \"b\": [1, \"2\", true]},\n \"c\": null}");
        assert_eq!(troubles, []);
        let root = &documents[0].root;
        assert_eq!(root.lines, [2, 4]);
        assert_eq!(root.below("a.b").expect("b").lines, [3, 3]);
        assert_eq!(root.below("a.b").expect("b").items()[1].number(), Some(2.0));
        assert!(root.get("c").expect("c").is_null());
    }

    #[test]
    fn mistakes_and_depths_are_told() {
        assert_eq!(parse("{\n\"a\": }").1[0].line, 2);
        assert!(parse(&"[".repeat(100_000)).1[0].why.contains("deep"));
        assert!(parse("").0.is_empty());
    }
}
