//! What was learnt, with where each number comes from.

use serde::Serialize;

/// A number with its evidence.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Number {
    /// The value, in the unit that the field says.
    pub value: f64,
    /// Spans, calls or requests behind it.
    pub count: u64,
    /// 95 % interval.
    pub ci95: [f64; 2],
}

/// What was read.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Read {
    /// Inputs.
    pub inputs: u64,
    /// Bytes, uncompressed files as they are, compressed ones as packed.
    pub bytes: u64,
    /// Formats that were found.
    pub formats: Vec<String>,
    /// Traces.
    pub traces: u64,
    /// Spans.
    pub spans: u64,
    /// Requests: traces with a root, and messages.
    pub requests: u64,
    /// Seconds from the first request to the last.
    pub seconds: f64,
    /// Share of the traces that were recorded, as the user says.
    pub sampling: f64,
    /// Interrupted, or an input was cut off.
    pub partial: bool,
}

/// A distribution of times.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Time {
    /// Its name in the system file.
    pub dist: String,
    /// Mean in seconds.
    pub mean_s: Number,
    /// Standard deviation over mean, of those that have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cv: Option<f64>,
    /// Stages, of an Erlang distribution.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stages: Option<u32>,
    /// Values in seconds, of an empirical one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values_s: Vec<f64>,
    /// Largest difference between sample and fit, in shares.
    pub distance: f64,
    /// What to know about it.
    pub remarks: Vec<String>,
}

/// A service.
#[derive(Clone, Debug, Serialize)]
pub struct Service {
    /// Its name in the system file.
    pub name: String,
    /// What the measurements call it.
    pub original: String,
    /// It reports itself; otherwise only its callers do.
    pub instrumented: bool,
    /// Attempts that it received.
    pub attempts: u64,
    /// Service time; `None`: a gap.
    pub time: Option<Time>,
    /// Attempts that failed by themselves, as a share; `None`: a gap.
    pub failure: Option<Number>,
    /// Attempts that it turned away.
    pub rejected: u64,
    /// The most executions at once, and how many ran 99 % of the time at most.
    pub at_once: Option<[u64; 2]>,
    /// Remarks.
    pub remarks: Vec<String>,
}

/// Delays between attempts.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Backoff {
    /// `constant` or `exponential`.
    pub kind: String,
    /// First delay in seconds, before chance.
    pub base_s: f64,
    /// Growth.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub factor: Option<f64>,
    /// Bound in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_s: Option<f64>,
    /// `none`, `equal` or `full`.
    pub jitter: String,
    /// Delays behind it.
    pub count: u64,
    /// Mean delays in seconds before the first retry, the second, …
    pub means_s: Vec<f64>,
}

/// How one calls another.
#[derive(Clone, Debug, Serialize)]
pub struct Policy {
    /// Who: a service, or `client`.
    pub caller: String,
    /// Whom.
    pub callee: String,
    /// Calls.
    pub calls: u64,
    /// Attempts.
    pub attempts: u64,
    /// Attempts by number: first, first retry, …
    pub by_number: Vec<u64>,
    /// How retries were known: said by spans, seen to arrive, alike.
    pub evidence: [u64; 3],
    /// Calls that failed for good.
    pub failed: u64,
    /// Calls that were retried, and those of them that went well.
    pub retried: u64,
    /// See `retried`.
    pub rescued: u64,
    /// Retries after the first attempt; `None`: a gap.
    pub limit: Option<u32>,
    /// Delays; `None`: at once, or not known.
    pub backoff: Option<Backoff>,
    /// Enough delays were seen, and they were none.
    pub short_delays: bool,
    /// Ends that were retried.
    pub on: Vec<String>,
    /// Ends that were not, though the limit allowed it.
    pub not_on: Vec<String>,
    /// Ends that never came.
    pub never_seen: Vec<String>,
    /// Attempts with an end that is retried, below the limit, that were not retried.
    pub held_back: u64,
    /// How long an attempt may take, seconds.
    pub timeout_s: Option<Number>,
    /// The longest attempt, seconds.
    pub longest_s: f64,
    /// Messages: the caller does not wait.
    pub messages: bool,
}

/// One of the calls of a request.
#[derive(Clone, Debug, Serialize)]
pub struct Call {
    /// Whom.
    pub callee: String,
    /// Probability that it is made.
    pub chance: Number,
    /// Mean number in a row, of those that make it.
    pub times: Number,
    /// Calls to this callee overlap.
    pub at_once: bool,
    /// What the callee calls; the calls of a group are made at the same time.
    pub calls: Vec<Vec<Call>>,
}

/// A type of request.
#[derive(Clone, Debug, Serialize)]
pub struct Request {
    /// Its name in the system file.
    pub name: String,
    /// What the measurements call it.
    pub original: String,
    /// Share of the requests.
    pub share: Number,
    /// Requests that failed.
    pub failed: u64,
    /// It begins with a message.
    pub message: bool,
    /// What the client calls.
    pub calls: Vec<Vec<Call>>,
}

/// How retries multiply, at one service.
#[derive(Clone, Debug, Serialize)]
pub struct Amplification {
    /// The service.
    pub service: String,
    /// Attempts that it received.
    pub attempts: u64,
    /// Attempts that it would have received if nobody failed or retried.
    pub needed: f64,
    /// The one over the other.
    pub factor: f64,
    /// Share of the attempts that are retries of its own callers.
    pub retry_rate: f64,
    /// Of the calls to it that were retried, those that went well; `None`: none was.
    pub rescued: Option<Number>,
}

/// What could not be learnt.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Gap {
    /// Where it belongs in the system file, as `--set` writes it.
    pub path: String,
    /// Why, and what is known.
    pub why: String,
}

/// A system, as far as measurements show it.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Learnt {
    /// What was read.
    pub read: Read,
    /// Requests per second; `None`: a gap.
    pub load_rps: Option<Number>,
    /// The least and the most of ten parts of the time.
    pub load_range_rps: Option<[f64; 2]>,
    /// Services, callers before callees.
    pub services: Vec<Service>,
    /// Calls with what was seen of their policies.
    pub policies: Vec<Policy>,
    /// Types of requests, the most frequent first.
    pub requests: Vec<Request>,
    /// By service.
    pub amplification: Vec<Amplification>,
    /// What is missing.
    pub gaps: Vec<Gap>,
    /// What was wrong with the input, and what to know about the result.
    pub notes: Vec<String>,
}
