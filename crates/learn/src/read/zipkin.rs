//! Zipkin's JSON, version 2: a list of spans, or of traces that are lists of spans.

use serde::de::MapAccess;

use super::Context;
use super::json::{Fields, Into, Object, Text, skip, whole};
use crate::attributes::{Facts, Says, kind, meaning};
use crate::names::operation;
use crate::span::{Kind, Span, id, trace_id};

/// What has been read of a span.
#[derive(Default)]
pub(super) struct Part {
    span: Span,
    facts: Facts,
    length: u64,
}

impl Part {
    /// Hands the span on, if it is one.
    pub(super) fn close(self, context: &mut Context<'_>) {
        let Self { mut span, facts, length } = self;
        if span.trace == 0 || span.id == 0 {
            return;
        }
        span.end = span.start.saturating_add(length);
        facts.tell(&mut span);
        // What has no kind is local, by the format's definition.
        if span.kind == Kind::Unspecified {
            span.kind = Kind::Internal;
        }
        context.seen.zipkin += 1;
        if let Some(span) = context.checked(span) {
            context.sink.span(span);
        }
    }
}

/// A span under way.
pub(super) struct Reading<'p, 'a, 'c> {
    pub(super) part: &'p mut Part,
    pub(super) context: &'a mut Context<'c>,
}

impl Fields for Reading<'_, '_, '_> {
    fn field<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        let mut text = Text::default();
        match key {
            "traceId" => {
                map.next_value_seed(Into(&mut text))?;
                self.part.span.trace = trace_id(text.get());
            }
            "id" => {
                map.next_value_seed(Into(&mut text))?;
                self.part.span.id = id(text.get());
            }
            "parentId" => {
                map.next_value_seed(Into(&mut text))?;
                self.part.span.parent = id(text.get());
            }
            "name" => {
                map.next_value_seed(Into(&mut text))?;
                self.part.span.attempt = text.get().starts_with("attempt.");
                let name = operation(text.get(), &mut self.context.buffer);
                self.part.span.name = self.context.strings.number(name);
            }
            "kind" => {
                map.next_value_seed(Into(&mut text))?;
                self.part.span.kind = kind(text.get()).unwrap_or(Kind::Unspecified);
            }
            "timestamp" => self.part.span.start = whole(map)?.unwrap_or(0).saturating_mul(1_000),
            "duration" => self.part.length = whole(map)?.unwrap_or(0).saturating_mul(1_000),
            "shared" => {
                map.next_value_seed(Into(&mut text))?;
                self.part.span.shared = text.get() == "true";
            }
            "localEndpoint" => {
                map.next_value_seed(Object(&mut Endpoint(&mut text)))?;
                self.part.span.service = self.context.strings.number(text.get());
            }
            "remoteEndpoint" => {
                map.next_value_seed(Object(&mut Endpoint(&mut text)))?;
                self.part.facts.add(Says::Peer(1), text.get(), &mut self.context.strings);
            }
            "tags" => {
                let mut tags = Tags { context: self.context, facts: &mut self.part.facts };
                map.next_value_seed(Object(&mut tags))?;
            }
            _ => skip(map)?,
        }
        Ok(())
    }
}

struct Endpoint<'a>(&'a mut Text);

impl Fields for Endpoint<'_> {
    fn field<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "serviceName" => map.next_value_seed(Into(self.0)),
            _ => skip(map),
        }
    }
}

struct Tags<'a, 'c> {
    context: &'a mut Context<'c>,
    facts: &'a mut Facts,
}

impl Fields for Tags<'_, '_> {
    fn field<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        let Some(says) = meaning(key) else { return skip(map) };
        let mut text = Text::default();
        map.next_value_seed(Into(&mut text))?;
        // A text of an error may be empty, and is one all the same.
        let value = if says == Says::Error && text.get().is_empty() { "true" } else { text.get() };
        self.facts.add(says, value, &mut self.context.strings);
        Ok(())
    }
}
