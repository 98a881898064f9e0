//! The whole way: inputs, two threads, counts, the result.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use crate::analysis::Analysis;
use crate::build::{self, Known};
use crate::collect::{Collector, Counts};
use crate::input::{self, Form, Input, Source};
use crate::learnt::{Learnt, Read};
use crate::names::Interner;
use crate::read::{self, Context, Metric, Seen, Sink};
use crate::span::Span;

/// Spans that go from one thread to the other at a time.
const BATCH: usize = 2_048;
/// Batches under way.
const BATCHES: usize = 16;
/// Metrics that are kept.
pub(crate) const MOST_METRICS: usize = 1_000_000;
/// What a Prometheus is asked for, seconds.
const HOUR: f64 = 3_600.0;
/// Notes about single inputs; what is more is only counted.
const MOST_NOTES: usize = 20;

/// What to learn from, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// Files and folders; `-` is standard input.
    pub paths: Vec<PathBuf>,
    /// Share of the traces that are recorded (head sampling), above 0 and up to 1.
    pub sampling: f64,
    /// Types of requests at most; the rarest are put together.
    pub types: usize,
    /// Spans held while their traces are not complete.
    pub open_spans: usize,
    /// Seconds that metrics cover, if it is known.
    pub over_s: Option<f64>,
    /// A Prometheus to ask.
    pub prometheus: Option<String>,
    /// The same metrics as they were earlier: only what was counted since then counts.
    pub since: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            paths: Vec::new(),
            sampling: 1.0,
            types: 20,
            open_spans: 4_000_000,
            over_s: None,
            prometheus: None,
            since: None,
        }
    }
}

/// Who watches, and may stop it.
pub struct Control<'a> {
    /// Raised: print what there is.
    pub stop: &'a AtomicBool,
    /// Bytes read, and bytes in all (0: not known).
    pub progress: &'a (dyn Fn(u64, u64) + Sync),
}

/// Why nothing was learnt.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LearnError {
    /// A path or an address that cannot be read.
    #[error("{name}: {error}")]
    Unreadable {
        /// Which.
        name: String,
        /// Why.
        error: std::io::Error,
    },
    /// Nothing in the inputs can be used.
    #[error(
        "nothing was learnt: {why}\n  traces are read as OTLP JSON, Jaeger JSON and Zipkin v2 JSON, metrics as Prometheus' text or answers of its API"
    )]
    Nothing {
        /// What was found instead.
        why: String,
    },
}

enum Message {
    Spans(Vec<Span>),
    Trace(Vec<Span>),
}

/// Sends what is read to the other thread.
struct Sender<'a> {
    to: SyncSender<Message>,
    batch: Vec<Span>,
    metrics: &'a mut Vec<Metric>,
    stop: &'a AtomicBool,
}

impl Sender<'_> {
    fn flush(&mut self) {
        if !self.batch.is_empty() {
            let batch = std::mem::replace(&mut self.batch, Vec::with_capacity(BATCH));
            // The other side only goes away with the whole program.
            let _ = self.to.send(Message::Spans(batch));
        }
    }
}

impl Sink for Sender<'_> {
    fn span(&mut self, span: Span) {
        self.batch.push(span);
        if self.batch.len() >= BATCH {
            self.flush();
        }
    }
    fn trace(&mut self, spans: Vec<Span>) {
        let _ = self.to.send(Message::Trace(spans));
    }
    fn metric(&mut self, metric: Metric) {
        if self.metrics.len() < MOST_METRICS {
            self.metrics.push(metric);
        }
    }
    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// What reading gave.
#[derive(Default)]
struct Reading {
    strings: Interner,
    seen: Seen,
    metrics: Vec<Metric>,
    notes: Vec<String>,
    more_notes: u64,
    partial: bool,
    inputs: u64,
}

impl Reading {
    fn note(&mut self, note: String) {
        if self.notes.len() < MOST_NOTES {
            self.notes.push(note);
        } else {
            self.more_notes += 1;
        }
    }
}

/// Reads everything and says what it shows.
///
/// # Errors
/// An input cannot be read at all, or nothing in them can be used.
pub fn learn(options: &Options, control: &Control<'_>) -> Result<Learnt, LearnError> {
    let sources = input::sources(&options.paths)
        .map_err(|(name, error)| LearnError::Unreadable { name, error })?;
    let total = input::total(&sources);
    let bytes = Arc::new(AtomicU64::new(0));
    let (to, from) = sync_channel(BATCHES);
    let most = options.open_spans;
    let (reading, collected) = std::thread::scope(|scope| {
        let collecting = scope.spawn(move || collect(&from, most));
        let reading = read_all(&sources, to, &bytes, total, control);
        (reading, collecting.join())
    });
    let mut reading = reading?;
    if let Some(path) = &options.since {
        let before = earlier(path, control)?;
        let anew = crate::metrics::since::subtract(&mut reading.metrics, &before);
        if anew > 0 {
            reading.note(format!(
                "{anew} counters are lower than in {}: they began anew in between, and count from there",
                path.display()
            ));
        }
    }
    if let Some(url) = &options.prometheus {
        (control.progress)(total, total);
        let over = options.over_s.unwrap_or(HOUR);
        crate::metrics::api::ask(url, over, &mut reading.metrics)
            .map_err(|(name, error)| LearnError::Unreadable { name, error })?;
        reading.inputs += 1;
    }
    let Ok((analysis, counts)) = collected else {
        let why = "the analysis came to an unexpected end; please report this".to_owned();
        return Err(LearnError::Nothing { why });
    };
    finish(options, reading, &analysis, counts, bytes.load(Ordering::Relaxed))
}

/// The metrics of an earlier scrape.
fn earlier(path: &std::path::Path, control: &Control<'_>) -> Result<Vec<Metric>, LearnError> {
    let about = |error| LearnError::Unreadable { name: path.display().to_string(), error };
    let bytes = Arc::new(AtomicU64::new(0));
    let input = Input::open(&Source::File(path.to_owned()), &bytes).map_err(about)?;
    let mut reading = Reading::default();
    // Spans of it would be of another time: nobody takes them.
    let (to, from) = sync_channel(BATCHES);
    drop(from);
    one(&path.display().to_string(), input, &to, 0, &bytes, control, &mut reading);
    if reading.metrics.is_empty() {
        let why = reading.notes.join("; ");
        let why = if why.is_empty() { "there are no metrics in it".to_owned() } else { why };
        return Err(about(std::io::Error::other(why)));
    }
    Ok(reading.metrics)
}

/// Learns from bytes: for fuzzing.
///
/// # Errors
/// Nothing in them can be used.
#[doc(hidden)]
pub fn learn_bytes(bytes: &[u8]) -> Result<Learnt, LearnError> {
    let options = Options::default();
    let control = Control { stop: &AtomicBool::new(false), progress: &|_, _| {} };
    let mut reading = Reading { inputs: 1, ..Reading::default() };
    let (to, from) = sync_channel(BATCHES);
    let count = Arc::new(AtomicU64::new(0));
    let input = Input::new(Box::new(std::io::Cursor::new(bytes.to_vec())));
    let about = |error| LearnError::Unreadable { name: "input".to_owned(), error };
    let input = input.map_err(about)?;
    let (analysis, counts) = std::thread::scope(|scope| {
        let collecting = scope.spawn(move || collect(&from, options.open_spans));
        one("input", input, &to, 0, &count, &control, &mut reading);
        drop(to);
        collecting.join()
    })
    .map_err(|_| about(std::io::Error::other("the analysis came to an unexpected end")))?;
    finish(&Options { over_s: Some(60.0), ..Options::default() }, reading, &analysis, counts, 0)
}

fn collect(from: &Receiver<Message>, most: usize) -> (Analysis, Counts) {
    let mut collector = Collector::new(most);
    while let Ok(message) = from.recv() {
        match message {
            Message::Spans(spans) => spans.into_iter().for_each(|span| collector.span(span)),
            Message::Trace(spans) => collector.trace(spans),
        }
    }
    collector.finish()
}

fn read_all(
    sources: &[Source],
    to: SyncSender<Message>,
    bytes: &Arc<AtomicU64>,
    total: u64,
    control: &Control<'_>,
) -> Result<Reading, LearnError> {
    let mut reading = Reading::default();
    for source in sources {
        if control.stop.load(Ordering::Relaxed) {
            reading.partial = true;
            break;
        }
        let name = source.name();
        let input = Input::open(source, bytes)
            .map_err(|error| LearnError::Unreadable { name: name.clone(), error })?;
        reading.inputs += 1;
        one(&name, input, &to, total, bytes, control, &mut reading);
    }
    Ok(reading)
}

/// One input, whatever is in it.
fn one(
    name: &str,
    input: Input,
    to: &SyncSender<Message>,
    total: u64,
    bytes: &Arc<AtomicU64>,
    control: &Control<'_>,
    reading: &mut Reading,
) {
    match input.form {
        Form::Json => json(name, input, to, total, bytes, control, reading),
        Form::Metrics => {
            if let Err(why) = crate::metrics::text::read(input, &mut reading.metrics) {
                reading.note(format!("{name}: {why}"));
                reading.partial = true;
            }
        }
        Form::Empty => reading.note(format!("{name}: empty")),
        Form::Unknown => reading.note(format!("{name}: neither JSON nor metrics; passed over")),
    }
}

fn json(
    name: &str,
    input: Input,
    to: &SyncSender<Message>,
    total: u64,
    bytes: &Arc<AtomicU64>,
    control: &Control<'_>,
    reading: &mut Reading,
) {
    let mut sink = Sender {
        to: to.clone(),
        batch: Vec::with_capacity(BATCH),
        metrics: &mut reading.metrics,
        stop: control.stop,
    };
    let mut context = Context {
        strings: std::mem::take(&mut reading.strings),
        sink: &mut sink,
        seen: reading.seen,
        buffer: String::new(),
    };
    let before = reading.seen.all();
    let watched = Watched { inner: input, bytes, total, control, next: 0 };
    let result = read::read(std::io::BufReader::with_capacity(1 << 16, watched), &mut context);
    let Context { strings, seen, .. } = context;
    sink.flush();
    (reading.strings, reading.seen) = (strings, seen);
    let used = reading.seen.all() - before;
    match result {
        _ if control.stop.load(Ordering::Relaxed) => reading.partial = true,
        Err(error) => {
            reading.partial = true;
            reading.note(format!(
                "{name}:{}:{}: {}; used what came before ({used} spans)",
                error.line(),
                error.column(),
                short(&error)
            ));
        }
        Ok(()) if used == 0 && reading.metrics.is_empty() => {
            reading.note(format!("{name}: JSON, but neither traces nor metrics that are known"));
        }
        Ok(()) => {}
    }
}

/// The message without its place, which stands before it.
fn short(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let text = text.split(" at line ").next().unwrap_or_default();
    match error.classify() {
        serde_json::error::Category::Eof => format!("cut off ({text})"),
        serde_json::error::Category::Io => format!("cannot be read on ({text})"),
        _ => text.to_owned(),
    }
}

/// Tells how far it is.
struct Watched<'a> {
    inner: Input,
    bytes: &'a AtomicU64,
    total: u64,
    control: &'a Control<'a>,
    next: u64,
}

/// Bytes between two looks at the progress.
const STEP: u64 = 4 << 20;

impl std::io::Read for Watched<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let done = self.bytes.load(Ordering::Relaxed);
        if done >= self.next {
            self.next = done + STEP;
            (self.control.progress)(done, self.total);
        }
        self.inner.read(into)
    }
}

fn finish(
    options: &Options,
    reading: Reading,
    analysis: &Analysis,
    counts: Counts,
    bytes: u64,
) -> Result<Learnt, LearnError> {
    let Reading { strings, seen, metrics, mut notes, more_notes, partial, inputs } = reading;
    if more_notes > 0 {
        notes.push(format!("{more_notes} more inputs have something wrong with them"));
    }
    if analysis.spans == 0 && metrics.is_empty() {
        let why =
            if notes.is_empty() { "there is no input".to_owned() } else { notes.join("\n  ") };
        return Err(LearnError::Nothing { why });
    }
    let formats = [("OTLP", seen.otlp), ("Jaeger", seen.jaeger), ("Zipkin", seen.zipkin)];
    let read = Read {
        inputs,
        bytes,
        formats: formats
            .iter()
            .filter(|(_, n)| *n > 0)
            .map(|(name, _)| (*name).to_owned())
            .collect(),
        traces: analysis.traces,
        spans: analysis.spans,
        sampling: options.sampling,
        partial,
        ..Read::default()
    };
    let known = Known { sampling: options.sampling.clamp(1e-9, 1.0), types: options.types };
    let families = crate::metrics::families(&metrics);
    let (edges, left_out) = crate::metrics::edges(&metrics);
    if analysis.spans == 0 && edges.is_empty() {
        let why = "there are metrics, but none that is known to count calls".to_owned();
        return Err(LearnError::Nothing { why });
    }
    if left_out > 0 {
        notes.push(format!("{left_out} values are of more calls than can be kept"));
    }
    let over_s = options.over_s.or(options.prometheus.as_ref().map(|_| HOUR));
    let mut learnt = if analysis.spans > 0 {
        let mut learnt = build::build(analysis, &strings, known, read);
        if !edges.is_empty() {
            with_metrics(&edges, over_s, &mut learnt);
        }
        learnt
    } else {
        let mut learnt = Learnt { read, ..Learnt::default() };
        build::metrics::build(&edges, over_s, &mut learnt);
        learnt
    };
    learnt.read.formats.extend(families);
    notes.extend(about(&seen, analysis, counts));
    notes.append(&mut learnt.notes);
    learnt.notes = notes;
    Ok(learnt)
}

/// Traces tell more, but counters count all there was.
fn with_metrics(edges: &crate::metrics::Edges, over_s: Option<f64>, learnt: &mut Learnt) {
    let mut counted = Learnt::default();
    build::metrics::build(edges, over_s, &mut counted);
    if let Some(load) = counted.load_rps {
        learnt.load_rps = Some(load);
        learnt.load_range_rps = None;
        learnt.read.seconds = counted.read.seconds;
        learnt.gaps.retain(|gap| gap.path != "load");
        learnt
            .notes
            .push("the load is that of the counters, all else that of the traces".to_owned());
    } else {
        learnt.notes.push(
            "the counters do not tell over which time they counted (--over): only traces are used"
                .to_owned(),
        );
    }
}

/// What was wrong, in sentences with their numbers.
fn about(seen: &Seen, analysis: &Analysis, counts: Counts) -> Vec<String> {
    let f = &analysis.faults;
    let skew = crate::write::duration(f.most_skew as f64 / 1e9);
    let sentences = [
        (seen.unusable, "spans without a trace, an id or a time, or too many in one trace, were left out".to_owned()),
        (seen.backwards, "spans end before they begin; they count as taking no time".to_owned()),
        (f.duplicates, "spans came twice".to_owned()),
        (f.clashes, "spans have the id of another one in their trace, and were left out".to_owned()),
        (f.missing_parents, "spans have a parent that is not in their trace; their calls count, their requests do not".to_owned()),
        (f.cycles, "spans are their own ancestors; the circle was cut".to_owned()),
        (f.skewed, format!("spans begin before the call that made them, at most by {skew}: clocks differ; only times within a service are used")),
        (f.cut, "spans reach out of the one above them in their service, and were cut".to_owned()),
        (f.nameless, "spans do not say which service they are of".to_owned()),
        (analysis.rootless, "traces have no root, so that no request is known".to_owned()),
        (counts.closed_early, "traces were closed before the end of the input, to bound memory (--open-spans)".to_owned()),
        (counts.late, "spans came after their trace was closed".to_owned()),
        (counts.too_many, "spans are of traces with more than a million, and were left out".to_owned()),
        (counts.repeated, "traces came twice; counted once".to_owned()),
        (analysis.left_out, "spans or calls are of more services than can be kept".to_owned()),
    ];
    sentences.into_iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect()
}
