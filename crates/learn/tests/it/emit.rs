//! Traces of our own making: a simulated system whose every attempt is recorded, as OpenTelemetry,
//! Jaeger or Zipkin would have it.

use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::atomic::AtomicBool;

use damper_control::Outcome;
use damper_sim::{Conditions, Happened, Observer, Plan, run_observed};
use damper_system::{System, model::Work};

/// A format of traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// One object for some spans, a line each.
    Otlp,
    /// The same with the names of old.
    OldOtlp,
    /// The answer of its API.
    Jaeger,
    /// A list of spans; both sides of a call share an id.
    Zipkin,
}

/// A span of a run.
#[derive(Clone, Debug)]
pub(crate) struct Span {
    trace: u64,
    id: u64,
    parent: u64,
    /// The service, or the client.
    pub(crate) service: Option<u32>,
    side: Side,
    name: u32,
    start: u64,
    end: Option<u64>,
    outcome: Outcome,
    resends: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    /// The client's own, around a request.
    Root,
    Caller,
    Callee,
}

#[derive(Debug)]
struct Call {
    parent: usize,
    service: u32,
    attempts: u32,
    current: usize,
}

/// Records a run.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    pub(crate) spans: Vec<Span>,
    /// The span of an attempt or a request.
    attempts: HashMap<u32, usize>,
    calls: HashMap<u32, Call>,
    traces: u64,
    /// Requests that ended.
    pub(crate) ended: u64,
}

impl Recorder {
    fn open(&mut self, span: Span) -> usize {
        self.spans.push(Span { id: self.spans.len() as u64 + 1, ..span });
        self.spans.len() - 1
    }
}

impl Observer for Recorder {
    fn see(&mut self, at: u64, what: Happened) {
        match what {
            Happened::Request { attempt, root } => {
                self.traces += 1;
                let span = self.open(Span {
                    trace: self.traces,
                    id: 0,
                    parent: 0,
                    service: None,
                    side: Side::Root,
                    name: root,
                    start: at,
                    end: None,
                    outcome: Outcome::Success,
                    resends: 0,
                });
                self.attempts.insert(attempt, span);
            }
            Happened::RequestEnded { attempt, outcome } => {
                self.ended += 1;
                self.close(at, attempt, outcome);
            }
            Happened::Called { call, parent, service } => {
                let parent = self.attempts[&parent];
                self.calls.insert(call, Call { parent, service, attempts: 0, current: 0 });
            }
            Happened::Sent { call, attempt } => {
                let Call { parent, service, attempts, .. } = self.calls[&call];
                let (above, trace) = (self.spans[parent].clone(), self.spans[parent].trace);
                let sent = self.open(Span {
                    trace,
                    id: 0,
                    parent: above.id,
                    service: above.service,
                    side: Side::Caller,
                    name: service,
                    start: at,
                    end: None,
                    outcome: Outcome::Success,
                    resends: attempts,
                });
                let call = self.calls.get_mut(&call).unwrap();
                (call.current, call.attempts) = (sent, attempts + 1);
                if let Some(attempt) = attempt {
                    let span = self.open(Span {
                        trace,
                        id: 0,
                        parent: sent as u64 + 1,
                        service: Some(service),
                        side: Side::Callee,
                        name: service,
                        start: at,
                        end: None,
                        outcome: Outcome::Success,
                        resends: 0,
                    });
                    self.attempts.insert(attempt, span);
                }
            }
            Happened::Ended { call, outcome } => {
                let span = &mut self.spans[self.calls[&call].current];
                (span.end, span.outcome) = (Some(at), outcome);
            }
            Happened::Left { attempt, outcome } => {
                self.close(at, attempt, outcome.unwrap_or(Outcome::TimedOut));
            }
        }
    }
}

impl Recorder {
    fn close(&mut self, at: u64, attempt: u32, outcome: Outcome) {
        if let Some(span) = self.attempts.remove(&attempt) {
            (self.spans[span].end, self.spans[span].outcome) = (Some(at), outcome);
        }
    }
}

/// How to record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct How {
    pub(crate) format: Format,
    /// Spans say which attempt they are.
    pub(crate) tells_resends: bool,
    /// The client's spans are recorded, too.
    pub(crate) client: bool,
}

/// Runs a system for so many requests, from its start.
pub(crate) fn record(system: &System, requests: u64) -> Recorder {
    let plan = Plan::new(system);
    let length = (requests as f64 / system.total_load() * 1e9) as u64;
    let conditions = Conditions { end: length, ..Conditions::of(&plan) };
    let mut recorder = Recorder::default();
    let _ = run_observed(&plan, &conditions, 0, &AtomicBool::new(false), &mut recorder);
    recorder
}

/// Writes what was recorded.
pub(crate) fn write(
    recorder: &Recorder,
    system: &System,
    how: How,
    out: &mut dyn Write,
) -> io::Result<()> {
    let names = Names::new(system, recorder);
    // What is still under way at the end of a run would be torn.
    let under_way: std::collections::HashSet<u64> =
        recorder.spans.iter().filter(|s| s.end.is_none()).map(|s| s.trace).collect();
    let mut spans: Vec<&Span> =
        recorder.spans.iter().filter(|s| !under_way.contains(&s.trace)).collect();
    if !how.client {
        spans.retain(|s| s.service.is_some() || s.side == Side::Callee);
    }
    // As they come from the processes that end them.
    spans.sort_by_key(|s| (s.end, s.id));
    match how.format {
        Format::Otlp | Format::OldOtlp => otlp(&spans, &names, how, out),
        Format::Jaeger => jaeger(&spans, &names, how, out),
        Format::Zipkin => zipkin(&spans, &names, how, out),
    }
}

struct Names<'a> {
    recorded: &'a [Span],
    services: Vec<String>,
    requests: Vec<String>,
    roots: Vec<u32>,
}

impl<'a> Names<'a> {
    fn new(system: &System, recorder: &'a Recorder) -> Self {
        let mut roots: Vec<u32> =
            recorder.spans.iter().filter(|s| s.side == Side::Root).map(|s| s.name).collect();
        roots.sort_unstable();
        roots.dedup();
        let requests = match &system.work {
            Work::Requests(requests) => requests.iter().map(|r| r.name.clone()).collect(),
            Work::Routes(_) => vec!["request".to_owned()],
        };
        let services = system.services.iter().map(|s| s.name.clone()).collect();
        Self { recorded: &recorder.spans, services, requests, roots }
    }

    fn service(&self, of: &Span) -> &str {
        of.service.map_or("shop-users", |s| &self.services[s as usize])
    }

    fn operation(&self, of: &Span) -> String {
        match of.side {
            Side::Root => {
                let at = self.roots.iter().position(|r| *r == of.name).unwrap();
                self.requests.get(at).cloned().unwrap_or_default()
            }
            Side::Caller => format!("call {}", self.services[of.name as usize]),
            Side::Callee => format!("serve {}", self.services[of.name as usize]),
        }
    }
}

/// The id above a span as it is written; 0: none.
fn parent(span: &Span, names: &Names<'_>, how: How) -> u64 {
    let Some(above) = span.parent.checked_sub(1).map(|at| &names.recorded[at as usize]) else {
        return 0;
    };
    match above.side {
        // Without the client's spans the callee's side of its calls is the root.
        _ if !how.client && above.service.is_none() => 0,
        Side::Callee if how.format == Format::Zipkin => written(above, how),
        _ => above.id,
    }
}

/// The id of a span as it is written: to Zipkin both sides of a call have that of the caller's.
fn written(span: &Span, how: How) -> u64 {
    let shared = span.side == Side::Callee && how.format == Format::Zipkin;
    if shared { span.parent } else { span.id }
}

fn status(span: &Span) -> Option<u32> {
    match span.outcome {
        Outcome::Success => Some(200),
        Outcome::Rejected => Some(503),
        Outcome::Shed => Some(429),
        Outcome::Failed => Some(500),
        Outcome::TimedOut => None,
        _ => Some(502),
    }
}

/// 1 January 2024, so that numbers look like those of a clock.
const EPOCH: u64 = 1_704_067_200_000_000_000;

fn otlp(spans: &[&Span], names: &Names<'_>, how: How, out: &mut dyn Write) -> io::Result<()> {
    let scope =
        if how.format == Format::Otlp { "scopeSpans" } else { "instrumentationLibrarySpans" };
    for batch in spans.chunks(64) {
        write!(out, "{{\"resourceSpans\":[")?;
        let mut by: Vec<&&Span> = batch.iter().collect();
        by.sort_by_key(|s| s.service);
        for (n, group) in by.chunk_by(|a, b| a.service == b.service).enumerate() {
            let comma = if n > 0 { "," } else { "" };
            write!(
                out,
                "{comma}{{\"resource\":{{\"attributes\":[{{\"key\":\"service.name\",\"value\":{{\"stringValue\":\"{}\"}}}}]}},\"{scope}\":[{{\"scope\":{{\"name\":\"damper\"}},\"spans\":[",
                names.service(group[0])
            )?;
            for (n, span) in group.iter().enumerate() {
                let comma = if n > 0 { "," } else { "" };
                write!(out, "{comma}")?;
                otlp_span(span, names, how, out)?;
            }
            write!(out, "]}}]}}")?;
        }
        writeln!(out, "]}}")?;
    }
    Ok(())
}

fn otlp_span(span: &Span, names: &Names<'_>, how: How, out: &mut dyn Write) -> io::Result<()> {
    let kind = match span.side {
        Side::Root => 1,
        Side::Callee => 2,
        Side::Caller => 3,
    };
    write!(
        out,
        "{{\"traceId\":\"{:032x}\",\"spanId\":\"{:016x}\",\"parentSpanId\":\"",
        span.trace, span.id
    )?;
    match parent(span, names, how) {
        0 => {}
        parent => write!(out, "{parent:016x}")?,
    }
    write!(
        out,
        "\",\"name\":\"{}\",\"kind\":{kind},\"startTimeUnixNano\":\"{}\",\"endTimeUnixNano\":\"{}\",\"attributes\":[",
        names.operation(span),
        EPOCH + span.start,
        EPOCH + span.end.unwrap_or(0)
    )?;
    let mut first = true;
    let mut attribute = |key: &str, value: String| {
        let comma = if std::mem::take(&mut first) { "" } else { "," };
        write!(out, "{comma}{{\"key\":\"{key}\",\"value\":{{{value}}}}}")
    };
    if span.side == Side::Caller {
        let peer = &names.services[span.name as usize];
        attribute("server.address", format!("\"stringValue\":\"{peer}\""))?;
        if how.tells_resends && span.resends > 0 {
            attribute("http.request.resend_count", format!("\"intValue\":\"{}\"", span.resends))?;
        }
    }
    match status(span) {
        Some(code) => attribute("http.response.status_code", format!("\"intValue\":\"{code}\""))?,
        None => attribute("error.type", "\"stringValue\":\"timeout\"".to_owned())?,
    }
    let code = if span.outcome == Outcome::Success { "" } else { "\"code\":2" };
    write!(out, "],\"status\":{{{code}}}}}")
}

fn jaeger(spans: &[&Span], names: &Names<'_>, how: How, out: &mut dyn Write) -> io::Result<()> {
    let mut by = spans.to_vec();
    by.sort_by_key(|s| (s.trace, s.id));
    write!(out, "{{\"data\":[")?;
    for (n, trace) in by.chunk_by(|a, b| a.trace == b.trace).enumerate() {
        let comma = if n > 0 { ",\n" } else { "" };
        write!(out, "{comma}{{\"traceID\":\"{:x}\",\"spans\":[", trace[0].trace)?;
        let mut services: Vec<&str> = Vec::new();
        for (n, span) in trace.iter().enumerate() {
            let service = names.service(span);
            if !services.contains(&service) {
                services.push(service);
            }
            let process = services.iter().position(|s| *s == service).unwrap();
            let comma = if n > 0 { "," } else { "" };
            write!(
                out,
                "{comma}{{\"traceID\":\"{:x}\",\"spanID\":\"{:x}\",\"operationName\":\"{}\",\"references\":[",
                span.trace,
                span.id,
                names.operation(span)
            )?;
            match parent(span, names, how) {
                0 => {}
                parent => write!(
                    out,
                    "{{\"refType\":\"CHILD_OF\",\"traceID\":\"{:x}\",\"spanID\":\"{parent:x}\"}}",
                    span.trace
                )?,
            }
            let kind = match span.side {
                Side::Root => "internal",
                Side::Callee => "server",
                Side::Caller => "client",
            };
            let start = (EPOCH + span.start) / 1_000;
            let end = (EPOCH + span.end.unwrap_or(0)) / 1_000;
            write!(
                out,
                "],\"startTime\":{start},\"duration\":{},\"tags\":[{{\"key\":\"span.kind\",\"type\":\"string\",\"value\":\"{kind}\"}}",
                end - start
            )?;
            match status(span) {
                Some(code) => write!(
                    out,
                    ",{{\"key\":\"http.status_code\",\"type\":\"int64\",\"value\":{code}}}"
                )?,
                None => write!(
                    out,
                    ",{{\"key\":\"error.type\",\"type\":\"string\",\"value\":\"timeout\"}}"
                )?,
            }
            if span.side == Side::Caller && how.tells_resends && span.resends > 0 {
                write!(
                    out,
                    ",{{\"key\":\"http.request.resend_count\",\"type\":\"int64\",\"value\":{}}}",
                    span.resends
                )?;
            }
            if span.outcome != Outcome::Success {
                write!(out, ",{{\"key\":\"error\",\"type\":\"bool\",\"value\":true}}")?;
            }
            write!(out, "],\"processID\":\"p{process}\"}}")?;
        }
        write!(out, "],\"processes\":{{")?;
        for (n, service) in services.iter().enumerate() {
            let comma = if n > 0 { "," } else { "" };
            write!(out, "{comma}\"p{n}\":{{\"serviceName\":\"{service}\"}}")?;
        }
        write!(out, "}}}}")?;
    }
    writeln!(out, "]}}")
}

fn zipkin(spans: &[&Span], names: &Names<'_>, how: How, out: &mut dyn Write) -> io::Result<()> {
    write!(out, "[")?;
    for (n, span) in spans.iter().enumerate() {
        let comma = if n > 0 { ",\n" } else { "" };
        let id = written(span, how);
        let kind = match span.side {
            Side::Root => "",
            Side::Callee => "\"kind\":\"SERVER\",",
            Side::Caller => "\"kind\":\"CLIENT\",",
        };
        write!(
            out,
            "{comma}{{\"traceId\":\"{:016x}\",\"id\":\"{id:016x}\",{kind}\"name\":\"{}\",",
            span.trace,
            names.operation(span)
        )?;
        if span.side == Side::Callee {
            write!(out, "\"shared\":true,")?;
        }
        // The callee's side has the parent of the caller's.
        let of = if span.side == Side::Callee { &names.recorded[id as usize - 1] } else { span };
        match parent(of, names, how) {
            0 => {}
            parent => write!(out, "\"parentId\":\"{parent:016x}\",")?,
        }
        let start = (EPOCH + span.start) / 1_000;
        let end = (EPOCH + span.end.unwrap_or(0)) / 1_000;
        write!(
            out,
            "\"timestamp\":{start},\"duration\":{},\"localEndpoint\":{{\"serviceName\":\"{}\"}},",
            end - start,
            names.service(span)
        )?;
        if span.side == Side::Caller {
            let peer = &names.services[span.name as usize];
            write!(out, "\"remoteEndpoint\":{{\"serviceName\":\"{peer}\"}},")?;
        }
        write!(out, "\"tags\":{{")?;
        match status(span) {
            Some(code) => write!(out, "\"http.status_code\":\"{code}\"")?,
            None => write!(out, "\"error\":\"timeout\"")?,
        }
        if span.side == Side::Caller && how.tells_resends && span.resends > 0 {
            write!(out, ",\"http.request.resend_count\":\"{}\"", span.resends)?;
        }
        write!(out, "}}}}")?;
    }
    writeln!(out, "]")
}
