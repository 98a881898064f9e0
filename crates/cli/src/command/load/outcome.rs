//! What became of a load, for people and for programs.

use std::collections::BTreeMap;

use damper_drill::load::{AttemptEnd, End, Row, Summary, Tally};
use serde::Serialize;

use super::plan::Shown;

/// What became of a load.
#[derive(Debug, Serialize)]
pub(crate) struct Outcome {
    pub(crate) load: Shown,
    /// Measured, without the warm-up.
    pub(crate) seconds: f64,
    pub(crate) partial: bool,
    pub(crate) classes: Vec<Class>,
    pub(crate) total: Class,
    /// How much later than intended requests were sent.
    pub(crate) late_ms: Times,
    /// Retries that the bounds of the load did not let.
    pub(crate) withheld: u64,
}

/// The requests of a class.
#[derive(Debug, Serialize)]
pub(crate) struct Class {
    pub(crate) class: String,
    pub(crate) requests: u64,
    pub(crate) ok: u64,
    pub(crate) in_time: u64,
    pub(crate) rejected: u64,
    pub(crate) failed: u64,
    pub(crate) timed_out: u64,
    pub(crate) connection: u64,
    pub(crate) not_sent: u64,
    /// Good replies in time, per second.
    pub(crate) goodput_rps: f64,
    /// Replies of any kind, per second.
    pub(crate) throughput_rps: f64,
    pub(crate) attempts: Attempts,
    /// What came in replies of gRPC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) received: Option<Replies>,
    /// From the intended start, of good replies.
    pub(crate) ok_ms: Times,
    /// The same of all that was sent.
    pub(crate) all_ms: Times,
}

/// What came in replies that were read to their end.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Replies {
    pub(crate) messages: u64,
    pub(crate) bytes: u64,
}

/// Attempts by their ends.
#[derive(Debug, Serialize)]
pub(crate) struct Attempts {
    pub(crate) total: u64,
    pub(crate) retries: u64,
    pub(crate) per_request: f64,
    pub(crate) ends: BTreeMap<&'static str, u64>,
}

/// A histogram in a few numbers, in milliseconds.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Times {
    pub(crate) p50: f64,
    pub(crate) p90: f64,
    pub(crate) p99: f64,
    pub(crate) p999: f64,
    pub(crate) max: f64,
}

impl Times {
    fn of(s: Summary) -> Self {
        Self { p50: s.p50_ms, p90: s.p90_ms, p99: s.p99_ms, p999: s.p999_ms, max: s.max_ms }
    }
}

impl Outcome {
    pub(crate) fn new(load: &Shown, tally: &Tally, seconds: f64, partial: bool) -> Self {
        let rows: Vec<Row> = (0..load.classes.len()).map(|class| tally.class(class)).collect();
        let mut sum = Row::default();
        rows.iter().for_each(|row| sum.absorb(row));
        let names = load.classes.iter().map(|class| class.class.as_str());
        let class = |name, row: &Row| Class::new(name, row, seconds, load.is_grpc);
        Self {
            load: load.clone(),
            seconds,
            partial,
            classes: names.zip(&rows).map(|(name, row)| class(name, row)).collect(),
            total: class("all", &sum),
            late_ms: Times::of(Summary::of(&tally.late_us)),
            withheld: tally.withheld,
        }
    }
}

impl Class {
    fn new(name: &str, row: &Row, seconds: f64, is_grpc: bool) -> Self {
        let total: u64 = row.attempts.iter().sum();
        let ends = AttemptEnd::ALL.into_iter();
        let per_second = |n: u64| if seconds > 0.0 { n as f64 / seconds } else { 0.0 };
        Self {
            class: name.to_owned(),
            requests: row.total(),
            ok: row.count(End::Ok),
            in_time: row.in_time,
            rejected: row.count(End::Rejected),
            failed: row.count(End::Failed),
            timed_out: row.count(End::TimedOut),
            connection: row.count(End::Connection),
            not_sent: row.count(End::NotSent),
            goodput_rps: per_second(row.in_time),
            throughput_rps: per_second(row.replies()),
            attempts: Attempts {
                total,
                retries: row.retries,
                per_request: total as f64 / (row.total() - row.count(End::NotSent)).max(1) as f64,
                ends: ends.map(|end| (end.name(), row.attempts[end as usize])).collect(),
            },
            received: is_grpc
                .then_some(Replies { messages: row.received.messages, bytes: row.received.bytes }),
            ok_ms: Times::of(Summary::of(&row.ok_us)),
            all_ms: Times::of(Summary::of(&row.all_us)),
        }
    }
}
