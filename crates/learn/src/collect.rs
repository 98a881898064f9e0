//! Puts spans together that belong to one trace, in bounded memory.

use std::collections::{HashMap, HashSet, VecDeque};

use crate::analysis::Analysis;
use crate::span::Span;

/// Spans of one trace; what is more is left out and counted.
const MOST_OF_A_TRACE: usize = 1 << 20;
/// Traces that are remembered once they are closed.
const MOST_REMEMBERED: usize = 4_000_000;

/// Traces under way.
#[derive(Debug, Default)]
pub(crate) struct Collector {
    pub(crate) analysis: Analysis,
    open: HashMap<u128, Vec<Span>>,
    /// Traces in the order in which they were opened.
    order: VecDeque<u128>,
    closed: HashSet<u128>,
    spans: usize,
    most_spans: usize,
    pub(crate) counts: Counts,
}

/// What the collector had to do.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    /// Traces that were closed before the end of the input, because there was no more room.
    pub(crate) closed_early: u64,
    /// Spans that came after their trace was closed.
    pub(crate) late: u64,
    /// Spans of traces that are too large.
    pub(crate) too_many: u64,
    /// Traces that came twice.
    pub(crate) repeated: u64,
}

impl Collector {
    pub(crate) fn new(most_spans: usize) -> Self {
        Self { most_spans: most_spans.max(1), ..Self::default() }
    }

    /// A span of any trace.
    pub(crate) fn span(&mut self, span: Span) {
        if self.closed.contains(&span.trace) {
            self.counts.late += 1;
            return;
        }
        let trace = span.trace;
        let spans = self.open.entry(trace).or_insert_with(|| {
            self.order.push_back(trace);
            Vec::new()
        });
        if spans.len() >= MOST_OF_A_TRACE {
            self.counts.too_many += 1;
            return;
        }
        spans.push(span);
        self.spans += 1;
        if self.spans > self.most_spans {
            self.close_oldest();
        }
    }

    /// All spans of a trace.
    pub(crate) fn trace(&mut self, spans: Vec<Span>) {
        let Some(trace) = spans.first().map(|s| s.trace) else { return };
        if self.open.contains_key(&trace) {
            spans.into_iter().for_each(|span| self.span(span));
        } else if self.remember(trace) {
            self.analysis.trace(spans);
        } else {
            self.counts.repeated += 1;
        }
    }

    /// Whether the trace is new.
    fn remember(&mut self, trace: u128) -> bool {
        if self.closed.len() >= MOST_REMEMBERED {
            return !self.closed.contains(&trace);
        }
        self.closed.insert(trace)
    }

    /// Makes room: the traces that were opened first are probably over.
    fn close_oldest(&mut self) {
        while self.spans > self.most_spans / 2 {
            let Some(trace) = self.order.pop_front() else { return };
            if let Some(spans) = self.open.remove(&trace) {
                self.spans -= spans.len();
                self.counts.closed_early += 1;
                self.remember(trace);
                self.analysis.trace(spans);
            }
        }
    }

    /// The input is at its end.
    pub(crate) fn finish(mut self) -> (Analysis, Counts) {
        while let Some(trace) = self.order.pop_front() {
            if let Some(spans) = self.open.remove(&trace) {
                self.analysis.trace(spans);
            }
        }
        (self.analysis, self.counts)
    }
}
