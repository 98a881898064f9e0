//! The JSON Schema that editors complete from (draft 7, which they all know).

use damper_control::Kind as Of;
use serde_json::{Map, Value, json};

use super::{Key, Kind, Names, Presence, Section, Tagged};
use crate::requests::REQUESTS;
use crate::sections::calls::CALL;
use crate::sections::control::{entries, may_be_none, names, parameter_kind, section_name};
use crate::sections::root::{NAME_PATTERN, ROOT};
use crate::sidecar::tables::SIDECAR;

const NUMBER: &str = r"[0-9][0-9_]*(\.[0-9][0-9_]*)?";
const TIME: &str = "(ns|us|ms|s|min|h)";

/// The JSON Schema of a system file. `damper schema` prints it; `docs/system.schema.json` is a
/// copy.
#[must_use]
pub fn json_schema() -> Value {
    let mut schema = Schema { definitions: Map::new() };
    let root = schema.section(&ROOT);
    let exclusive = json!([{"required": ["requests"]}, {"required": ["routes"]}]);
    let calls = schema.calls();
    schema.definitions.insert("calls".into(), calls);
    schema.document("Damper system file", root, Some(exclusive))
}

/// The JSON Schema of the configuration of the sidecar. `damper schema proxy` prints it;
/// `docs/proxy.schema.json` is a copy.
#[must_use]
pub fn sidecar_schema() -> Value {
    let mut schema = Schema { definitions: Map::new() };
    let root = schema.section(&SIDECAR);
    let some = json!([{"required": ["inbound"]}, {"required": ["outbound"]}]);
    let mut document = schema.document("Damper proxy configuration", root, None);
    document["anyOf"] = some;
    document
}

/// The JSON Schema of a request file. `docs/requests.schema.json` is a copy.
#[must_use]
pub fn request_schema() -> Value {
    of("Damper request file", &REQUESTS)
}

/// The JSON Schema of another file that is read by tables of its own.
pub(crate) fn of(title: &str, root: &Section) -> Value {
    let mut schema = Schema { definitions: Map::new() };
    let root = schema.section(root);
    let mut out = Map::new();
    out.insert("$schema".into(), "http://json-schema.org/draft-07/schema#".into());
    out.insert("title".into(), title.into());
    if let Value::Object(mut root) = root {
        out.append(&mut root);
    }
    out.insert("definitions".into(), Value::Object(schema.definitions));
    Value::Object(out)
}

struct Schema {
    definitions: Map<String, Value>,
}

impl Schema {
    /// What is around a root.
    fn document(self, title: &str, mut root: Value, one_of: Option<Value>) -> Value {
        let mut out = Map::new();
        out.insert("$schema".into(), "http://json-schema.org/draft-07/schema#".into());
        out.insert("title".into(), title.into());
        if let Some(root) = root.as_object_mut() {
            out.append(root);
        }
        if let Some(one_of) = one_of {
            out.insert("oneOf".into(), one_of);
        }
        out.insert("definitions".into(), Value::Object(self.definitions));
        Value::Object(out)
    }

    fn kind(&mut self, kind: &Kind) -> Value {
        match kind {
            Kind::Text => json!({"type": ["string", "number", "boolean"]}),
            Kind::Name(_) => json!({"type": ["string", "number"]}),
            Kind::Word(words) => json!({"enum": words}),
            Kind::Flag => json!({"type": "boolean"}),
            Kind::Duration { zero } => {
                let text = pattern(&format!("{NUMBER} ?{TIME}"));
                if *zero { json!({"anyOf": [text, {"const": 0}]}) } else { text }
            }
            Kind::Rate { .. } => pattern(&format!("{NUMBER} ?/ ?{TIME}")),
            Kind::Share { .. } | Kind::Percent { .. } => pattern(&format!("{NUMBER} ?%")),
            Kind::Count { min, max } => {
                let mut number = json!({"type": "integer", "minimum": min});
                if *max < u64::MAX {
                    number["maximum"] = json!(max);
                }
                json!({"anyOf": [number, pattern("[0-9]+(_[0-9]+)+")]})
            }
            Kind::Size { .. } => pattern(&format!("{NUMBER} ?(B|KiB|MiB|GiB)")),
            Kind::Number { min, max } => {
                let number = json!({"type": "number", "minimum": min, "maximum": max});
                json!({"anyOf": [number, pattern("[0-9]+(_[0-9]+)+")]})
            }
            Kind::Factor { min, max } => {
                json!({"anyOf": [{"type": "number", "minimum": min, "maximum": max}, pattern(&format!("{NUMBER} ?x"))]})
            }
            Kind::Either(kinds) => {
                json!({"anyOf": kinds.iter().map(|k| self.kind(k)).collect::<Vec<_>>()})
            }
            Kind::List(kind) => json!({"type": "array", "minItems": 1, "items": self.kind(kind)}),
            Kind::OneOrMany(kind) => {
                let one = self.kind(kind);
                json!({"anyOf": [one, {"type": "array", "minItems": 1, "items": one}]})
            }
            Kind::Pair(a, b) => {
                json!({"type": "array", "minItems": 2, "maxItems": 2, "items": [self.kind(a), self.kind(b)]})
            }
            Kind::Section(section) => self.reference(section.name, |s| s.section(section)),
            Kind::Optional(section) => {
                json!({"anyOf": [self.reference(section.name, |s| s.section(section)), {"type": "null"}]})
            }
            Kind::Tagged(tagged) => self.reference(tagged.section.name, |s| s.tagged(tagged)),
            Kind::Keyed(tagged) => self.reference(tagged.section.name, |s| s.keyed(tagged)),
            Kind::Map(names, kind) => {
                let values = self.kind(kind);
                json!({"type": "object", "propertyNames": names_pattern(*names), "additionalProperties": values})
            }
            Kind::Control(of) => self.reference(section_name(*of), |s| s.control(*of)),
            Kind::Steps => json!({"$ref": "#/definitions/calls"}),
        }
    }

    /// A definition by its name, made when first needed.
    fn reference(&mut self, name: &str, make: impl FnOnce(&mut Self) -> Value) -> Value {
        if !self.definitions.contains_key(name) {
            self.definitions.insert(name.to_owned(), Value::Null);
            let made = make(self);
            self.definitions.insert(name.to_owned(), made);
        }
        json!({"$ref": format!("#/definitions/{name}")})
    }

    fn section(&mut self, section: &Section) -> Value {
        let mut properties = Map::new();
        let mut required = Vec::new();
        for key in section.keys {
            properties.insert(key.name.into(), self.key(key));
            if matches!(key.presence, Presence::Required) {
                required.push(key.name);
            }
        }
        object(section.doc, properties, &required)
    }

    fn key(&mut self, key: &Key) -> Value {
        let kind = self.kind(&key.kind);
        // Beside a `$ref` draft 7 ignores everything.
        let mut schema = if kind.get("$ref").is_some() { json!({"allOf": [kind]}) } else { kind };
        let mut doc = key.doc.to_owned();
        match key.presence {
            Presence::Required | Presence::Default("") | Presence::Otherwise("") => {}
            Presence::Default(text) => {
                if let Ok(parsed) = crate::yaml::parse(text, 0, 0) {
                    schema["default"] = parsed.root.to_json();
                }
            }
            Presence::Otherwise(text) => doc.push_str(&format!(" (left out: {text})")),
        }
        schema["description"] = doc.into();
        schema
    }

    fn tagged(&mut self, tagged: &Tagged) -> Value {
        let Some(tag) = tagged.section.keys.first() else {
            return Value::Bool(true);
        };
        if tagged.partial {
            // Another policy may have what is missing here.
            let mut schema = self.section(tagged.section);
            if let Some(schema) = schema.as_object_mut() {
                schema.remove("required");
            }
            return schema;
        }
        let variants = tagged.variants.iter().map(|variant| {
            let mut properties = Map::new();
            let word = json!({"const": variant.name, "description": tag.doc});
            properties.insert(tag.name.into(), word);
            self.properties(tagged, variant.needs, &mut properties);
            self.properties(tagged, variant.may, &mut properties);
            let required: Vec<&str> = [tag.name].iter().chain(variant.needs).copied().collect();
            object(tagged.section.doc, properties, &required)
        });
        json!({"oneOf": variants.collect::<Vec<_>>()})
    }

    fn keyed(&mut self, tagged: &Tagged) -> Value {
        let variants = tagged.variants.iter().map(|variant| {
            let mut properties = Map::new();
            self.properties(tagged, &[variant.name], &mut properties);
            self.properties(tagged, variant.needs, &mut properties);
            self.properties(tagged, variant.may, &mut properties);
            let required: Vec<&str> = [variant.name].iter().chain(variant.needs).copied().collect();
            object(tagged.section.doc, properties, &required)
        });
        json!({"oneOf": variants.collect::<Vec<_>>()})
    }

    fn properties(&mut self, tagged: &Tagged, names: &[&str], into: &mut Map<String, Value>) {
        for name in names {
            if let Some(key) = tagged.section.key(name) {
                let schema = self.key(key);
                into.insert((*name).to_owned(), schema);
            }
        }
    }

    fn control(&mut self, of: Of) -> Value {
        let mut kinds = Vec::new();
        for entry in entries(of) {
            let mut properties = Map::new();
            let kind = json!({"const": entry.name, "description": entry.summary});
            properties.insert("kind".into(), kind);
            for p in entry.parameters {
                let mut value = self.kind(&parameter_kind(p));
                let default = p.unit.show(p.default);
                value["description"] = format!("{} (left out: {default})", p.doc).into();
                properties.insert(p.name.into(), value);
            }
            kinds.push(object(entry.summary, properties, &[]));
        }
        if may_be_none(of) {
            kinds.push(json!({"type": "object", "properties": {"kind": {"const": "none"}}, "additionalProperties": false}));
        }
        kinds.push(json!({"enum": names(of)}));
        json!({"anyOf": kinds})
    }

    fn calls(&mut self) -> Value {
        let body = self.reference(CALL.name, |s| s.section(&CALL));
        let calls = json!({"$ref": "#/definitions/calls"});
        let one = json!({"anyOf": [
            {"type": ["string", "number"]},
            {"type": "object", "minProperties": 1, "maxProperties": 1,
             "additionalProperties": {"anyOf": [{"type": "null"}, calls, body]}},
        ]});
        let parallel = json!({"type": "object", "required": ["parallel"], "additionalProperties": false,
            "properties": {"parallel": {"type": "array", "minItems": 1, "items": one,
                "description": "calls made at the same time"}}});
        json!({
            "description": "Calls, one after another: a name, `{name: [its calls]}`, `{name: {times: 3}}`, or `{parallel: [...]}`.",
            "type": ["array", "null"],
            "items": {"anyOf": [parallel, one]},
        })
    }
}

fn object(doc: &str, properties: Map<String, Value>, required: &[&str]) -> Value {
    // A section of which nothing is required may be empty.
    let kind = if required.is_empty() { json!(["object", "null"]) } else { json!("object") };
    json!({
        "description": doc,
        "type": kind,
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

fn pattern(pattern: &str) -> Value {
    json!({"type": "string", "pattern": format!("^{pattern}$")})
}

fn names_pattern(names: Names) -> Value {
    match names {
        Names::Policy => json!({"pattern": format!("^{NAME_PATTERN}( *-> *{NAME_PATTERN})?$")}),
        // An address of IPv6 has colons.
        Names::Host => json!({"pattern": "^[A-Za-z0-9:_.-]+$"}),
        Names::Header => json!({"pattern": "^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,256}$"}),
        _ => json!({"pattern": format!("^{NAME_PATTERN}$")}),
    }
}
