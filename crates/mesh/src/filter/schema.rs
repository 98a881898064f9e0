//! The JSON Schema of the configuration, and the tables of `docs/filter.md`.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::counters::{OVERALL, PER_CLASS};
use super::keys::{Key, Kind, ROOT, Section};

/// The JSON Schema (draft 7); `docs/filter.schema.json` is a copy.
#[must_use]
pub fn json_schema() -> Value {
    let mut out = Map::new();
    out.insert("$schema".into(), "http://json-schema.org/draft-07/schema#".into());
    out.insert("title".into(), "Configuration of Damper's Envoy filter".into());
    if let Value::Object(mut root) = object(ROOT.keys, &[]) {
        out.append(&mut root);
    }
    Value::Object(out)
}

fn object(keys: &[Key], besides: &[(&str, Value)]) -> Value {
    let mut properties = Map::new();
    let mut required: Vec<&str> = besides.iter().map(|(name, _)| *name).collect();
    for (name, value) in besides {
        properties.insert((*name).into(), value.clone());
    }
    for key in keys {
        let mut value = schema(&key.kind);
        if let Value::Object(map) = &mut value {
            map.insert("description".into(), key.doc.into());
        }
        properties.insert(key.name.into(), value);
        if key.required {
            required.push(key.name);
        }
    }
    let mut out =
        json!({"type": "object", "additionalProperties": false, "properties": properties});
    if !required.is_empty() {
        out["required"] = json!(required);
    }
    out
}

fn schema(kind: &Kind) -> Value {
    match kind {
        Kind::Word(words) => json!({"enum": words}),
        Kind::Text(rule) => {
            json!({"type": "string", "pattern": rule.pattern, "maxLength": rule.most})
        }
        Kind::Class => json!({"type": "string"}),
        Kind::Whole { min, max } => json!({"type": "integer", "minimum": min, "maximum": max}),
        Kind::Number { min, max } => json!({"type": "number", "minimum": min, "maximum": max}),
        Kind::Flag => json!({"type": "boolean"}),
        Kind::List { of, least, most } => {
            json!({"type": "array", "minItems": least, "maxItems": most, "items": schema(of)})
        }
        Kind::Object(section) => object(section.keys, &[]),
        Kind::One(section) => {
            let mut out = object(section.keys, &[]);
            out["minProperties"] = json!(1);
            out["maxProperties"] = json!(1);
            out
        }
        Kind::ByClass(of) => json!({"type": "object", "additionalProperties": schema(of)}),
        Kind::Tagged { tag, variants } => {
            let each = |v: &Section| object(v.keys, &[(tag, json!({"const": v.name}))]);
            json!({"oneOf": variants.iter().map(each).collect::<Vec<_>>()})
        }
        Kind::Either(kinds) => json!({"anyOf": kinds.iter().map(schema).collect::<Vec<_>>()}),
    }
}

/// The tables of keys in Markdown, one for each object.
#[must_use]
pub fn reference() -> String {
    let mut sections: Vec<(String, &[Key])> = vec![("The configuration".into(), ROOT.keys)];
    let mut out = String::new();
    let mut next = 0;
    while next < sections.len() {
        let (title, keys) = sections[next].clone();
        next += 1;
        // Infallible: it is a string.
        let _ = writeln!(out, "### {title}\n\n| key | value | meaning |\n|---|---|---|");
        for key in keys {
            let must = if key.required { " (required)" } else { "" };
            let value = words(&key.kind, &mut sections);
            let _ = writeln!(out, "| `{}`{must} | {value} | {} |", key.name, key.doc);
        }
        out.push('\n');
    }
    out
}

/// What may stand there; objects on the way are put on the list of what is still to be written.
fn words(kind: &Kind, sections: &mut Vec<(String, &'static [Key])>) -> String {
    let mut link = |title: String, keys: &'static [Key]| {
        if !sections.iter().any(|(known, _)| *known == title) {
            sections.push((title.clone(), keys));
        }
        title
    };
    match kind {
        Kind::Word(all) => all.iter().map(|w| format!("`{w}`")).collect::<Vec<_>>().join(", "),
        Kind::Text(rule) => rule.what.to_owned(),
        Kind::Class => "a class".into(),
        Kind::Whole { min, max } if min == max => format!("`{min}`"),
        Kind::Whole { min, max } => format!("whole number, {min} to {max}"),
        Kind::Number { min, max } => format!("number, {min} to {max}"),
        Kind::Flag => "`true` or `false`".into(),
        Kind::List { of, most, .. } => format!("list, at most {most}: {}", words(of, sections)),
        Kind::Object(section) => link(format!("`{}`", section.name), section.keys),
        Kind::One(section) => {
            format!("one key of {}", link(format!("`{}`", section.name), section.keys))
        }
        Kind::ByClass(of) => format!("by class: {}", words(of, sections)),
        Kind::Tagged { tag, variants } => {
            let each = variants.iter().map(|v| link(format!("`{tag}`: `{}`", v.name), v.keys));
            each.collect::<Vec<_>>().join(", or ")
        }
        Kind::Either(kinds) => {
            kinds.iter().map(|kind| words(kind, sections)).collect::<Vec<_>>().join("; or ")
        }
    }
}

/// The tables of counters in Markdown.
#[must_use]
pub fn counters() -> String {
    let mut out = String::from("| counter | counts |\n|---|---|\n");
    for (name, doc) in PER_CLASS {
        let _ = writeln!(out, "| `wasmcustom.damper.POSITION.class.CLASS.{name}` | {doc} |");
    }
    for (name, doc) in OVERALL {
        let _ = writeln!(out, "| `wasmcustom.damper.POSITION.{name}` | {doc} |");
    }
    out
}
