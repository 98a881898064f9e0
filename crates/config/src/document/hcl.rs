//! HCL, the language of Terraform and Consul. A block `resource "kind" "name" { … }` becomes the
//! maps `resource`, `kind`, `name`, as in Terraform's JSON; expressions that are not written out
//! are [`Value::Open`].

use hcl_edit::Span as _;
use hcl_edit::expr::{Expression, ObjectKey};
use hcl_edit::structure::{Block, BlockLabel, Body, Structure};

use super::{Document, Entry, Lines, MAX_DEPTH, Node, Syntax, Trouble, Value};

/// How much of an expression is kept.
const MOST_EXPRESSION: usize = 200;

/// The document of a text.
#[must_use]
pub fn parse(text: &str) -> (Vec<Document>, Vec<Trouble>) {
    match hcl_edit::parser::parse_body(text) {
        Ok(body) => {
            let from = Source { text, lines: Lines::of(text) };
            let root = from.body(&body, [1, from.lines.at(text.len())], 0);
            (vec![Document { syntax: Syntax::Hcl, root }], Vec::new())
        }
        Err(error) => {
            let line = u32::try_from(error.location().line()).unwrap_or(u32::MAX);
            let why = format!("this is not valid HCL: {}", error.message());
            (Vec::new(), vec![Trouble { line, why }])
        }
    }
}

struct Source<'a> {
    text: &'a str,
    lines: Lines,
}

impl Source<'_> {
    fn place(&self, span: Option<std::ops::Range<usize>>, above: [u32; 2]) -> [u32; 2] {
        let Some(span) = span else { return above };
        let first = self.lines.at(span.start);
        [first, self.lines.at(span.end.saturating_sub(1)).max(first)]
    }

    /// As written, in one line, cut where it is long.
    fn open(&self, span: Option<std::ops::Range<usize>>) -> Value {
        let text = span.and_then(|span| self.text.get(span)).unwrap_or_default();
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        Value::Open(text.chars().take(MOST_EXPRESSION).collect::<String>().into())
    }

    fn body(&self, body: &Body, place: [u32; 2], depth: usize) -> Node {
        let entries = body.iter().map(|structure| match structure {
            Structure::Attribute(attribute) => {
                let place = self.place(attribute.span(), place);
                let value = self.expression(&attribute.value, place, depth + 1);
                Entry { key: attribute.key.as_str().into(), line: place[0], value }
            }
            Structure::Block(block) => self.block(block, place, depth + 1),
        });
        Node { value: Value::Map(entries.collect()), lines: place }
    }

    fn block(&self, block: &Block, above: [u32; 2], depth: usize) -> Entry {
        let lines = self.place(block.span(), above);
        let value = if depth < MAX_DEPTH {
            self.body(&block.body, lines, depth)
        } else {
            Node { value: Value::Open("too deep".into()), lines }
        };
        let wrap = |value: Node, label: &BlockLabel| {
            let entry = Entry { key: label.as_str().into(), line: lines[0], value };
            Node { value: Value::Map(vec![entry]), lines }
        };
        // Nobody needs more than two labels; a hundred would be a hundred maps.
        let value = block.labels.iter().take(4).rev().fold(value, wrap);
        Entry { key: block.ident.as_str().into(), line: lines[0], value }
    }

    fn expression(&self, expression: &Expression, above: [u32; 2], depth: usize) -> Node {
        let lines = self.place(expression.span(), above);
        let scalar = |text: &str, quoted| Value::Scalar { text: text.into(), quoted };
        let value = match expression {
            _ if depth >= MAX_DEPTH => Value::Open("too deep".into()),
            Expression::Null(_) => Value::Null,
            Expression::Bool(truth) => scalar(if *truth.value() { "true" } else { "false" }, false),
            Expression::Number(number) => scalar(&number.value().to_string(), false),
            Expression::String(text) => scalar(text, true),
            Expression::Array(items) => Value::List(
                items.iter().map(|item| self.expression(item, lines, depth + 1)).collect(),
            ),
            Expression::Object(object) => {
                let entry = |(key, value): (&ObjectKey, &hcl_edit::expr::ObjectValue)| {
                    let value = self.expression(value.expr(), lines, depth + 1);
                    let (key, span) = match key {
                        ObjectKey::Ident(name) => (name.as_str(), name.span()),
                        ObjectKey::Expression(key) => (key.as_str().unwrap_or("?"), key.span()),
                    };
                    let line = self.place(span, value.lines)[0];
                    Entry { key: key.into(), line, value }
                };
                Value::Map(object.iter().map(entry).collect())
            }
            // What stands in it is for a format to read: JSON stays JSON around interpolations.
            Expression::HeredocTemplate(heredoc) => {
                let span = heredoc.template.span();
                let text = span.clone().and_then(|span| self.text.get(span)).unwrap_or_default();
                return Node { value: scalar(text, true), lines: self.place(span, lines) };
            }
            Expression::Parenthesis(inner) => {
                return self.expression(inner.inner(), lines, depth + 1);
            }
            Expression::UnaryOp(operation) => match negative(operation) {
                Some(text) => scalar(&text, false),
                None => self.open(expression.span()),
            },
            // The text that these give is the value that they are given.
            Expression::FuncCall(call)
                if matches!(call.name.name.as_str(), "jsonencode" | "yamlencode") =>
            {
                match call.args.iter().next() {
                    Some(value) => return self.expression(value, lines, depth + 1),
                    None => Value::Null,
                }
            }
            _ => self.open(expression.span()),
        };
        Node { value, lines }
    }
}

fn negative(operation: &hcl_edit::expr::UnaryOp) -> Option<String> {
    match (operation.operator.value(), &operation.expr) {
        (hcl_edit::expr::UnaryOperator::Neg, Expression::Number(number)) => {
            Some(format!("-{}", number.value()))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_and_attributes_know_their_lines() {
        let (documents, troubles) = parse(
            "resource \"aws_sqs_queue\" \"q\" {\n  delay = -1\n  redrive_policy = jsonencode({\n    maxReceiveCount = 4\n    \"a\" : var.b\n  })\n  name = \"x-${var.y}\"\n  nested { x = [1, true, null] }\n  text = <<EOT\n{\"a\": \"${b}\"}\nEOT\n}\n",
        );
        assert_eq!(troubles, []);
        let queue = documents[0].root.below("resource.aws_sqs_queue.q").expect("queue");
        assert_eq!(queue.lines, [1, 12]);
        let policy = queue.entry("redrive_policy").expect("policy");
        let count = policy.value.entry("maxReceiveCount").expect("count");
        assert_eq!((count.line, count.value.integer()), (4, Some(4)));
        assert_eq!(policy.value.get("a").and_then(Node::open), Some("var.b"));
        assert_eq!(queue.get("name").and_then(Node::open), Some("\"x-${var.y}\""));
        assert_eq!(queue.get("delay").and_then(Node::integer), Some(-1));
        assert_eq!(queue.below("nested.x").expect("x").items()[1].truth(), Some(true));
        assert_eq!(queue.text_at("text"), Some("{\"a\": \"${b}\"}\n"));
    }

    #[test]
    fn mistakes_and_depths_are_told() {
        assert_eq!(parse("a = 1\nb = }\n").1[0].line, 2);
        for deep in ["[", "(", "!", "-", "a ? b : ", "a { ", "{ a = ", "\"${", "f(", "1 + "] {
            assert!(!parse(&format!("a = {}", deep.repeat(20_000))).1.is_empty(), "{deep}");
        }
    }
}
