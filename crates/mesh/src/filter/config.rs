//! The configuration as it is written in JSON.
//!
//! These types hold what was written and nothing else: names of classes are not resolved, edges are
//! not merged with what stands above them. [`super::read`] checks a text and gives one of them;
//! whoever makes a configuration fills them in and serialises them.

mod form;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The version of the format.
pub const VERSION: u32 = 1;

/// A configuration of the filter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Config {
    /// The version of the format: [`VERSION`].
    pub damper: u32,
    /// Where the filter stands.
    pub position: Position,
    /// Priority classes, the highest first. None: one class, `default`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<String>,
    /// The class of what nothing else says; the lowest if it is not written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_class: Option<String>,
    /// How the class of a request is found.
    #[serde(default, skip_serializing_if = "ClassSource::is_default")]
    pub class: ClassSource,
    /// Whose word about the class and about retries counts. It depends on the position if it is not
    /// written: `mesh`, `none` at the edge, outbound that of the service, and that of whoever reaches
    /// the lever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust: Option<Trust>,
    /// Retries to whatever no edge names.
    #[serde(default, skip_serializing_if = "Retry::is_empty")]
    pub retry: Retry,
    /// What differs by destination; the first that fits is taken.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub edges: Vec<Edge>,
    /// Deadlines that travel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Deadline>,
    /// The operator's lever by class.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub lever: BTreeMap<String, Lever>,
}

impl Config {
    /// A configuration that says nothing but where the filter stands.
    #[must_use]
    pub fn new(position: Position) -> Self {
        Self {
            damper: VERSION,
            position,
            classes: Vec::new(),
            default_class: None,
            class: ClassSource::default(),
            trust: None,
            retry: Retry::default(),
            edges: Vec::new(),
            deadline: None,
            lever: BTreeMap::new(),
        }
    }

    /// The JSON that Envoy's `configuration` takes.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Maps have names as keys and numbers are finite or null: there is nothing to fail.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// Where the filter stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Position {
    /// Before the service: what comes in.
    Inbound,
    /// Behind the service: what it calls.
    Outbound,
    /// Before everything, facing strangers.
    Edge,
    /// On a listener for operators, where the lever is pulled.
    Lever,
}

impl Position {
    /// The word for it, also in the names of counters.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Inbound => "inbound",
            Self::Outbound => "outbound",
            Self::Edge => "edge",
            Self::Lever => "lever",
        }
    }
}

/// How the class of a request is found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClassSource {
    /// The header that carries the class from hop to hop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
    /// The key of W3C `baggage` that carries it, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baggage: Option<String>,
    /// Whether outbound requests are recognised by what the application forwards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remember: Option<Remember>,
    /// Rules for requests that carry no class; the first that fits decides.
    #[serde(default, rename = "match", skip_serializing_if = "Vec::is_empty")]
    pub matches: Vec<Match>,
}

impl ClassSource {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// What an application forwards that tells which inbound request an outbound one belongs to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Remember {
    /// The header.
    pub by: RememberBy,
    /// Most requests that are remembered at a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<u32>,
    /// How long, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expiry_s: Option<u32>,
}

/// A header that applications forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RememberBy {
    /// The trace id of W3C trace context.
    Traceparent,
    /// Envoy's request id.
    XRequestId,
}

/// A rule: all that is named must fit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Match {
    /// The class of what fits.
    pub class: String,
    /// What the path begins with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_prefix: Option<String>,
    /// The method.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// The host, without its port; `*.` at the start stands for any subdomain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// A header and what it says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<HeaderMatch>,
    /// A key of `baggage` and what it says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baggage: Option<BaggageMatch>,
}

/// A header and its value.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HeaderMatch {
    /// The name of the header.
    pub name: String,
    /// Its value; none: that it is there is enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exact: Option<String>,
    /// What its value begins with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
}

/// A key of `baggage` and its value.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BaggageMatch {
    /// The key.
    pub key: String,
    /// Its value.
    pub exact: String,
}

/// Whose word counts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged, try_from = "serde_json::Value")]
pub enum Trust {
    /// `none` or `mesh`.
    Word(TrustWord),
    /// Networks (`10.0.0.0/8`) and beginnings of the peer's SPIFFE id (`spiffe://mesh/ns/shop/`).
    Sources(Vec<String>),
}

/// Whose word counts, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrustWord {
    /// Nobody's.
    None,
    /// That of requests that Envoy calls internal, and of peers with a certificate; and outbound
    /// that of the service itself.
    Mesh,
}

/// Retries to a destination.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Retry {
    /// Retries after the first attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
    /// What is retried: `rejected`, `failed`, `timeout`, or Envoy's own words. None: what the route
    /// says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<Vec<String>>,
    /// The statuses of a rejection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status_codes: Option<Vec<u16>>,
    /// The timeout of one attempt, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_try_timeout_ms: Option<u32>,
    /// The backoff that the route has. A filter cannot set it; it is compared with the capacity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backoff: Option<Backoff>,
    /// What the destination can do, in requests per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity_per_s: Option<f64>,
    /// How many retries there are over all requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    /// Whether OVERLOADED in answers is believed. None: where an edge names the destination.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overloaded: Option<bool>,
    /// Whether a destination that asks for time gets no retries until then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pushback: Option<bool>,
}

impl Retry {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Retries after the first attempt, for all or by class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged, try_from = "serde_json::Value")]
pub enum Limit {
    /// The same for every class.
    All(u32),
    /// By class; one that is not named has none.
    ByClass(BTreeMap<String, u32>),
}

/// A backoff as Envoy has it: uniform up to a bound that doubles.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Backoff {
    /// The bound of the first delay, in milliseconds.
    pub base_ms: u32,
    /// The bound that no delay exceeds; ten times the base if it is not written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_ms: Option<u32>,
}

/// A retry budget. What is not written has the default of the control.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", try_from = "form::BudgetForm")]
pub enum Budget {
    /// gRPC's throttle.
    TokenBucket {
        /// Tokens when full.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_tokens: Option<u32>,
        /// Tokens that a success adds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        token_ratio: Option<f64>,
    },
    /// A share of requests.
    Ratio {
        /// Retries as a share of requests.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        percent: Option<f64>,
        /// Retries per second that are always allowed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        min_per_s: Option<u32>,
    },
    /// Adaptive Retry Budgeting.
    Arb {
        /// The share when nothing fails.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_percent: Option<f64>,
        /// What is left of it when everything fails, or after OVERLOADED.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        min_percent: Option<f64>,
        /// Time constant of the averages, in milliseconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        memory_ms: Option<u32>,
        /// How long OVERLOADED cuts it, in milliseconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hold_ms: Option<u32>,
    },
}

/// What differs for a destination. What is not written is as above.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Edge {
    /// The host, without its port; `*.` at the start stands for any subdomain.
    pub host: String,
    /// What the path begins with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_prefix: Option<String>,
    /// What is different.
    #[serde(default, skip_serializing_if = "Retry::is_empty")]
    pub retry: Retry,
}

/// A deadline that travels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Deadline {
    /// The header with the milliseconds that are left.
    pub header: String,
    /// What is taken off for the way, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margin_ms: Option<u32>,
    /// What a request without one gets, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_ms: Option<u32>,
    /// The most that a request gets, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_ms: Option<u32>,
}

/// A position of the lever.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lever {
    /// Lets in this share.
    Throttle(f64),
    /// Lets in nothing (`true`) or all (`false`).
    Pause(bool),
    /// Goes from one share to another.
    Ramp(Ramp),
}

/// A ramp of the lever.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ramp {
    /// The share that is let in at its start.
    pub from: f64,
    /// The share that is let in at its end.
    pub to: f64,
    /// How long it takes, in seconds.
    pub over_s: u32,
}
