//! Jaeger's JSON: traces with their spans, and the services behind them.

use std::collections::HashMap;

use serde::de::{MapAccess, SeqAccess};

use super::Context;
use super::json::{Fields, Into, Items, List, Object, Text, skip, whole};
use crate::attributes::{Facts, Says, meaning};
use crate::names::{Sym, operation};
use crate::span::{Span, id, trace_id};

/// Spans of one trace; what is more is counted and left out.
const MOST_SPANS: usize = 1 << 20;

/// What has been read of a trace: `{"traceID", "spans", "processes"}`.
#[derive(Default)]
pub(super) struct Trace {
    spans: Vec<Span>,
    /// Services by the name of their process.
    services: HashMap<Sym, Sym>,
}

impl Trace {
    /// Hands the trace on.
    pub(super) fn close(self, context: &mut Context<'_>) {
        let Self { mut spans, services } = self;
        for span in &mut spans {
            // Until now it had the name of its process.
            span.service = services.get(&span.service).copied().unwrap_or(0);
        }
        let Some(trace) = spans.first().map(|span| span.trace) else { return };
        if spans.iter().all(|span| span.trace == trace) {
            context.sink.trace(spans);
        } else {
            spans.into_iter().for_each(|span| context.sink.span(span));
        }
    }
}

/// A trace under way.
pub(super) struct Reading<'t, 'a, 'c> {
    pub(super) trace: &'t mut Trace,
    pub(super) context: &'a mut Context<'c>,
}

impl Fields for Reading<'_, '_, '_> {
    fn field<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "spans" => map.next_value_seed(List(self)),
            "processes" => map.next_value_seed(Object(&mut Processes(self))),
            _ => skip(map),
        }
    }
}

/// The list of its spans.
impl Items for Reading<'_, '_, '_> {
    fn item<'de, A: SeqAccess<'de>>(&mut self, list: &mut A) -> Result<bool, A::Error> {
        let context = &mut *self.context;
        let mut one =
            OneSpan { context, span: Span::default(), facts: Facts::default(), length: 0 };
        if list.next_element_seed(Object(&mut one))?.is_none() {
            return Ok(false);
        }
        let OneSpan { mut span, facts, length, .. } = one;
        span.end = span.start.saturating_add(length);
        facts.tell(&mut span);
        context.seen.jaeger += 1;
        if let Some(span) = context.checked(span) {
            if self.trace.spans.len() < MOST_SPANS {
                self.trace.spans.push(span);
            } else {
                context.seen.unusable += 1;
            }
        }
        Ok(!context.sink.stopped())
    }
}

struct OneSpan<'a, 'c> {
    context: &'a mut Context<'c>,
    span: Span,
    facts: Facts,
    length: u64,
}

impl Fields for OneSpan<'_, '_> {
    fn field<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        let mut text = Text::default();
        match key {
            "traceID" => {
                map.next_value_seed(Into(&mut text))?;
                self.span.trace = trace_id(text.get());
            }
            "spanID" => {
                map.next_value_seed(Into(&mut text))?;
                self.span.id = id(text.get());
            }
            "parentSpanID" => {
                map.next_value_seed(Into(&mut text))?;
                self.span.parent = id(text.get());
            }
            "operationName" => {
                map.next_value_seed(Into(&mut text))?;
                self.span.attempt = text.get().starts_with("Attempt.");
                let name = operation(text.get(), &mut self.context.buffer);
                self.span.name = self.context.strings.number(name);
            }
            "processID" => {
                map.next_value_seed(Into(&mut text))?;
                self.span.service = self.context.strings.number(text.get());
            }
            "startTime" => {
                self.span.start = whole(map)?.unwrap_or(0).saturating_mul(1_000);
            }
            "duration" => self.length = whole(map)?.unwrap_or(0).saturating_mul(1_000),
            "references" => map.next_value_seed(List(&mut References(&mut self.span)))?,
            "tags" => {
                let mut tags = Tags { context: self.context, facts: &mut self.facts };
                map.next_value_seed(List(&mut tags))?;
            }
            _ => skip(map)?,
        }
        Ok(())
    }
}

/// The spans that a span refers to. The first of the same trace is its parent.
struct References<'a>(&'a mut Span);

impl Items for References<'_> {
    fn item<'de, A: SeqAccess<'de>>(&mut self, list: &mut A) -> Result<bool, A::Error> {
        let mut one = Reference { trace: None, span: 0, child: true };
        if list.next_element_seed(Object(&mut one))?.is_none() {
            return Ok(false);
        }
        let same = one.trace.is_none_or(|t| self.0.trace == 0 || t == self.0.trace);
        if same && (self.0.parent == 0 || one.child) {
            self.0.parent = one.span;
        }
        Ok(true)
    }
}

struct Reference {
    trace: Option<u128>,
    span: u64,
    child: bool,
}

impl Fields for Reference {
    fn field<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        let mut text = Text::default();
        map.next_value_seed(Into(&mut text))?;
        match key {
            "traceID" => self.trace = Some(trace_id(text.get())),
            "spanID" => self.span = id(text.get()),
            "refType" => self.child = text.get() == "CHILD_OF",
            _ => {}
        }
        Ok(())
    }
}

struct Tags<'a, 'c> {
    context: &'a mut Context<'c>,
    facts: &'a mut Facts,
}

impl Items for Tags<'_, '_> {
    fn item<'de, A: SeqAccess<'de>>(&mut self, list: &mut A) -> Result<bool, A::Error> {
        let mut tag = Tag { says: None, unread: false, value: Text::default() };
        if list.next_element_seed(Object(&mut tag))?.is_none() {
            return Ok(false);
        }
        if let Some(says) = tag.says {
            self.facts.add(says, tag.value.get(), &mut self.context.strings);
        }
        Ok(true)
    }
}

struct Tag {
    says: Option<Says>,
    /// Its key has come, and is not read.
    unread: bool,
    value: Text,
}

impl Fields for Tag {
    fn field<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "key" => {
                let mut text = Text::default();
                map.next_value_seed(Into(&mut text))?;
                self.says = meaning(text.get());
                self.unread = self.says.is_none();
                Ok(())
            }
            "value" if !self.unread => map.next_value_seed(Into(&mut self.value)),
            _ => skip(map),
        }
    }
}

/// `{"p1": {"serviceName": …}}`
struct Processes<'r, 't, 'a, 'c>(&'r mut Reading<'t, 'a, 'c>);

impl Fields for Processes<'_, '_, '_, '_> {
    fn field<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        let mut name = Text::default();
        map.next_value_seed(Object(&mut Process(&mut name)))?;
        let process = self.0.context.strings.number(key);
        let service = self.0.context.strings.number(name.get());
        self.0.trace.services.insert(process, service);
        Ok(())
    }
}

struct Process<'a>(&'a mut Text);

impl Fields for Process<'_> {
    fn field<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "serviceName" => map.next_value_seed(Into(self.0)),
            _ => skip(map),
        }
    }
}
