//! Reads spans, whatever wrote them.
//!
//! Every format is read as a stream: nothing is held but the span under way (of Jaeger: the trace
//! under way, since its services stand behind its spans).

mod document;
mod jaeger;
mod json;
mod otlp;
mod zipkin;

use std::io::Read;

use crate::names::Interner;
use crate::span::Span;

pub(crate) use document::Metric;

/// What is read goes here.
pub(crate) trait Sink {
    /// A span.
    fn span(&mut self, span: Span);
    /// All spans of a trace, which will not come again.
    fn trace(&mut self, spans: Vec<Span>);
    /// A value of a saved answer of Prometheus.
    fn metric(&mut self, metric: Metric);
    /// Whether to stop.
    fn stopped(&self) -> bool {
        false
    }
}

/// What a reader needs beside its input.
pub(crate) struct Context<'a> {
    pub(crate) strings: Interner,
    pub(crate) sink: &'a mut dyn Sink,
    /// Which formats were seen, and spans that could not be used.
    pub(crate) seen: Seen,
    /// For names of operations.
    pub(crate) buffer: String,
}

/// What the readers counted.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    /// Spans of OpenTelemetry.
    pub(crate) otlp: u64,
    /// Of Jaeger.
    pub(crate) jaeger: u64,
    /// Of Zipkin.
    pub(crate) zipkin: u64,
    /// Without a trace, an id or a time.
    pub(crate) unusable: u64,
    /// That end before they begin.
    pub(crate) backwards: u64,
}

impl Seen {
    /// Spans of all formats.
    pub(crate) fn all(&self) -> u64 {
        self.otlp + self.jaeger + self.zipkin
    }
}

impl Context<'_> {
    /// Hands a span on, if it can be used.
    pub(crate) fn checked(&mut self, mut span: Span) -> Option<Span> {
        if span.trace == 0 || span.id == 0 || span.start == 0 {
            self.seen.unusable += 1;
            return None;
        }
        if span.end < span.start {
            self.seen.backwards += u64::from(span.end != 0);
            span.end = span.start;
        }
        Some(span)
    }
}

/// Reads all documents of an input, as far as it is right.
///
/// # Errors
/// It is not JSON, or is cut off; what came before has been handed on.
pub(crate) fn read(input: impl Read, context: &mut Context<'_>) -> Result<(), serde_json::Error> {
    let mut json = serde_json::Deserializer::from_reader(input);
    // The end is looked for between documents: within one it is a mistake.
    while json.end().is_err() {
        serde::de::DeserializeSeed::deserialize(document::Document(context), &mut json)?;
    }
    Ok(())
}
