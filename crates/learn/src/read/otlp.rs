//! OpenTelemetry's JSON: resources, scopes, spans.

use serde::de::{MapAccess, SeqAccess};

use super::Context;
use super::json::{Fields, Into, Items, List, Object, Text, skip, whole};
use crate::attributes::{self, Facts, Says, kind};
use crate::names::{Sym, operation};
use crate::span::{Kind, Span, id, trace_id};

/// Spans that stand before their resource wait for it; at most so many.
const MOST_WAITING: usize = 1 << 20;

/// The list `resourceSpans`.
pub(super) struct Resources<'a, 'c>(pub(super) &'a mut Context<'c>);

impl Items for Resources<'_, '_> {
    fn item<'de, A: SeqAccess<'de>>(&mut self, list: &mut A) -> Result<bool, A::Error> {
        let mut one = Resource { context: self.0, service: None, waiting: Vec::new() };
        let found = list.next_element_seed(Object(&mut one))?.is_some();
        one.close();
        Ok(found)
    }
}

struct Resource<'a, 'c> {
    context: &'a mut Context<'c>,
    service: Option<Sym>,
    waiting: Vec<Span>,
}

impl Resource<'_, '_> {
    fn close(&mut self) {
        let service = self.service.unwrap_or(0);
        for mut span in std::mem::take(&mut self.waiting) {
            if span.service == 0 {
                span.service = service;
            }
            self.context.sink.span(span);
        }
    }
}

impl Fields for Resource<'_, '_> {
    fn field<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "resource" => {
                let mut facts = Facts::default();
                map.next_value_seed(Object(&mut OfResource(self.context, &mut facts)))?;
                self.service = facts.service.or(self.service);
                Ok(())
            }
            "scopeSpans"
            | "scope_spans"
            | "instrumentationLibrarySpans"
            | "instrumentation_library_spans" => map.next_value_seed(List(&mut Scopes(self))),
            _ => skip(map),
        }
    }
}

struct OfResource<'a, 'c>(&'a mut Context<'c>, &'a mut Facts);

impl Fields for OfResource<'_, '_> {
    fn field<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "attributes" => {
                map.next_value_seed(List(&mut Attributes { context: self.0, facts: self.1 }))
            }
            _ => skip(map),
        }
    }
}

struct Scopes<'r, 'a, 'c>(&'r mut Resource<'a, 'c>);

impl Items for Scopes<'_, '_, '_> {
    fn item<'de, A: SeqAccess<'de>>(&mut self, list: &mut A) -> Result<bool, A::Error> {
        Ok(list.next_element_seed(Object(self))?.is_some())
    }
}

impl Fields for Scopes<'_, '_, '_> {
    fn field<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "spans" => map.next_value_seed(List(&mut Spans(self.0))),
            _ => skip(map),
        }
    }
}

struct Spans<'r, 'a, 'c>(&'r mut Resource<'a, 'c>);

impl Items for Spans<'_, '_, '_> {
    fn item<'de, A: SeqAccess<'de>>(&mut self, list: &mut A) -> Result<bool, A::Error> {
        let Resource { context, service, waiting } = &mut *self.0;
        let mut one = OneSpan {
            context,
            span: Span::default(),
            facts: Facts::default(),
            text: Text::default(),
        };
        if list.next_element_seed(Object(&mut one))?.is_none() {
            return Ok(false);
        }
        let OneSpan { mut span, facts, .. } = one;
        span.service = facts.service.unwrap_or(0);
        facts.tell(&mut span);
        context.seen.otlp += 1;
        let Some(mut span) = context.checked(span) else { return Ok(!context.sink.stopped()) };
        if span.service == 0 {
            span.service = service.unwrap_or(0);
        }
        if service.is_some() || waiting.len() >= MOST_WAITING {
            context.sink.span(span);
        } else {
            waiting.push(span);
        }
        Ok(!context.sink.stopped())
    }
}

struct OneSpan<'a, 'c> {
    context: &'a mut Context<'c>,
    span: Span,
    facts: Facts,
    text: Text,
}

impl OneSpan<'_, '_> {
    fn text<'de, A: MapAccess<'de>>(&mut self, map: &mut A) -> Result<&str, A::Error> {
        map.next_value_seed(Into(&mut self.text))?;
        Ok(self.text.get())
    }
}

impl Fields for OneSpan<'_, '_> {
    fn field<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "traceId" | "trace_id" => self.span.trace = trace_id(self.text(map)?),
            "spanId" | "span_id" => self.span.id = id(self.text(map)?),
            "parentSpanId" | "parent_span_id" => self.span.parent = id(self.text(map)?),
            "name" => {
                map.next_value_seed(Into(&mut self.text))?;
                let name = self.text.get();
                self.span.attempt = name.starts_with("Attempt.");
                let name = operation(name, &mut self.context.buffer);
                self.span.name = self.context.strings.number(name);
            }
            "kind" => self.span.kind = kind(self.text(map)?).unwrap_or(Kind::Unspecified),
            "startTimeUnixNano" | "start_time_unix_nano" => {
                self.span.start = whole(map)?.unwrap_or(0);
            }
            "endTimeUnixNano" | "end_time_unix_nano" => self.span.end = whole(map)?.unwrap_or(0),
            "attributes" => {
                let mut list = Attributes { context: self.context, facts: &mut self.facts };
                map.next_value_seed(List(&mut list))?;
            }
            "status" => map.next_value_seed(Object(&mut Status(&mut self.facts)))?,
            _ => skip(map)?,
        }
        Ok(())
    }
}

struct Status<'a>(&'a mut Facts);

impl Fields for Status<'_> {
    fn field<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        if key != "code" {
            return skip(map);
        }
        let mut text = Text::default();
        map.next_value_seed(Into(&mut text))?;
        if matches!(text.get(), "2" | "STATUS_CODE_ERROR" | "ERROR" | "Error") {
            self.0.is_error();
        }
        Ok(())
    }
}

/// A list of keys and values.
struct Attributes<'a, 'c> {
    context: &'a mut Context<'c>,
    facts: &'a mut Facts,
}

impl Items for Attributes<'_, '_> {
    fn item<'de, A: SeqAccess<'de>>(&mut self, list: &mut A) -> Result<bool, A::Error> {
        let mut pair = Pair { key: Key::Unknown, value: None };
        if list.next_element_seed(Object(&mut pair))?.is_none() {
            return Ok(false);
        }
        if let (Key::Means(says), Some(value)) = (pair.key, pair.value) {
            self.facts.add(says, value.get(), &mut self.context.strings);
        }
        Ok(true)
    }
}

enum Key {
    /// Has not come yet.
    Unknown,
    /// Nothing that is read.
    Other,
    Means(Says),
}

struct Pair {
    key: Key,
    value: Option<Text>,
}

impl Fields for Pair {
    fn field<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "key" => {
                self.key = map.next_value_seed(KeyOf)?;
                Ok(())
            }
            "value" if !matches!(self.key, Key::Other) => {
                map.next_value_seed(Object(&mut Value(&mut self.value)))
            }
            _ => skip(map),
        }
    }
}

struct KeyOf;

impl<'de> serde::de::DeserializeSeed<'de> for KeyOf {
    type Value = Key;
    fn deserialize<D: serde::Deserializer<'de>>(self, from: D) -> Result<Key, D::Error> {
        struct Of;
        impl serde::de::Visitor<'_> for Of {
            type Value = Key;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("the key of an attribute")
            }
            fn visit_str<E: serde::de::Error>(self, key: &str) -> Result<Key, E> {
                Ok(attributes::meaning(key).map_or(Key::Other, Key::Means))
            }
        }
        from.deserialize_str(Of)
    }
}

/// `{"stringValue": …}` and its relatives.
struct Value<'a>(&'a mut Option<Text>);

impl Fields for Value<'_> {
    fn field<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "stringValue" | "intValue" | "doubleValue" | "boolValue" | "string_value"
            | "int_value" | "bool_value" => {
                let text = self.0.get_or_insert_with(Text::default);
                map.next_value_seed(Into(text))
            }
            // Headers are captured as lists of values.
            "arrayValue" => map.next_value_seed(Object(&mut Array(self.0))),
            _ => skip(map),
        }
    }
}

struct Array<'a>(&'a mut Option<Text>);

impl Fields for Array<'_> {
    fn field<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "values" => map.next_value_seed(List(&mut Elements(self.0))),
            _ => skip(map),
        }
    }
}

struct Elements<'a>(&'a mut Option<Text>);

impl Items for Elements<'_> {
    fn item<'de, A: SeqAccess<'de>>(&mut self, list: &mut A) -> Result<bool, A::Error> {
        Ok(list.next_element_seed(Object(&mut Value(self.0)))?.is_some())
    }
}
