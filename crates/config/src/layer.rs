//! A layer that retries, as it takes effect: attempts in total, waits, timeouts, conditions, budget.

use serde::Serialize;

use crate::failure::Failures;
use crate::name::Name;

/// A layer that retries calls, or a place that switches retries off (one attempt).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Layer {
    /// The format, an id of [`crate::format::FORMATS`].
    pub format: &'static str,
    /// First and last line of what says so.
    pub lines: [u32; 2],
    /// Whose calls it retries; `None`: everybody's.
    pub caller: Option<Name>,
    /// Calls to whom; `None`: to everybody.
    pub callee: Option<Name>,
    /// The route, the method or the rule within it, as written.
    pub route: Option<String>,
    /// Request headers that its route matches exactly, with their values, such as one of a priority
    /// class.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<(String, String)>,
    /// The part of the callee it is for, where the format knows parts: a subset, a port.
    pub part: Option<String>,
    /// Where on the way it sits: layers in different seats multiply, in the same seat the most
    /// specific one applies.
    pub seat: Seat,
    /// How specific it is.
    pub reach: Reach,
    /// Attempts in total, the first included.
    pub attempts: Sourced<Attempts>,
    /// The wait between attempts.
    pub delay: Delay,
    /// The longest one attempt may take, in milliseconds.
    pub attempt_timeout_ms: Option<Sourced<f64>>,
    /// The longest all attempts with their waits may take, in milliseconds.
    pub timeout_ms: Option<Sourced<f64>>,
    /// What is retried.
    pub on: Sourced<Failures>,
    /// What is retried, in the format's words.
    pub words: Vec<String>,
    /// Which requests are retried.
    pub methods: Methods,
    /// What limits retries across requests.
    pub budget: Option<Sourced<Budget>>,
    /// Whether a second attempt starts while the first still runs.
    pub hedges: bool,
    /// Whether the server's word decides the wait (`Retry-After`, reset headers, gRPC pushback).
    pub pushback: bool,
    /// Whether nobody wrote anything: the format does it so.
    pub implicit: bool,
    /// What could not be known, and traps that bear on the numbers.
    pub notes: Vec<String>,
}

/// A value with where it comes from.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sourced<T> {
    /// The value.
    pub value: T,
    /// Where it comes from.
    pub from: Origin,
}

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// Somebody wrote it, at this line of the same file.
    Written(u32),
    /// Somebody wrote it in another file.
    Elsewhere {
        /// The file, from the root of the scan.
        path: String,
        /// The line.
        line: u32,
    },
    /// Nobody wrote it; who does it so, such as `Istio, built in`.
    Default(&'static str),
    /// It follows from other values.
    Derived,
}

/// How many attempts.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Attempts {
    /// So many, the first included.
    Count(u32),
    /// No end.
    Unbounded,
    /// Not known here: a template, the number of endpoints.
    Open {
        /// What decides, as written.
        expression: String,
        /// At least so many.
        low: u32,
        /// At most so many, where that can be told.
        high: Option<u32>,
    },
}

/// The wait between attempts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Delay {
    /// How it grows.
    pub growth: Growth,
    /// The first wait before its jitter, in milliseconds.
    pub base_ms: Option<Sourced<f64>>,
    /// By what it grows.
    pub factor: Option<f64>,
    /// The longest single wait, in milliseconds.
    pub cap_ms: Option<Sourced<f64>>,
    /// Whether it is spread.
    pub jitter: bool,
}

/// How a wait grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Growth {
    /// No wait.
    None,
    /// Always the same.
    Constant,
    /// By a factor.
    Exponential,
    /// Not known.
    Unknown,
}

/// Where on the way of a call a layer sits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Seat {
    /// The outermost: a workflow, a job, a queue that delivers again.
    Workflow,
    /// The caller's code or the library in it.
    Client,
    /// The proxy beside the caller, or the library that stands in for it.
    Sidecar,
    /// A gateway between both.
    Gateway,
    /// The proxy beside the callee.
    Inbound,
}

/// How specific a layer is; the greater wins in one seat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reach {
    /// What the format does where nobody says anything.
    BuiltIn,
    /// The whole mesh, the whole process.
    Everything,
    /// A namespace, a profile.
    Group,
    /// A service.
    Service,
    /// A route, a method, a port.
    Route,
}

/// Which requests are retried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Methods {
    /// All of them, also those that must not be done twice.
    All,
    /// Those that may be done twice, and others only while nothing was sent.
    Idempotent,
    /// These.
    Listed(Vec<String>),
}

/// What limits retries across requests.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Budget {
    /// So many retries at once, whatever the load (Envoy `max_retries`).
    Concurrent {
        /// Retries at once; `None`: a limit that never acts.
        limit: Option<u32>,
    },
    /// A share of the requests that are active (Envoy `retry_budget`).
    ActiveShare {
        /// Percent, 0 to 100.
        percent: f64,
        /// Retries at once that are always allowed.
        min_concurrent: u32,
    },
    /// A share of the requests of a window (Linkerd, Gateway API).
    RateShare {
        /// Percent, 0 to 100.
        percent: f64,
        /// Retries per second that are always allowed.
        min_per_s: f64,
        /// The window, in milliseconds.
        window_ms: f64,
    },
    /// Tokens: a failure takes one, a success gives a part of one (gRPC).
    Tokens {
        /// The bucket.
        max: f64,
        /// What a success gives.
        ratio: f64,
    },
    /// Tokens: a retry takes some, a success gives them back (AWS).
    Quota {
        /// The bucket.
        max: f64,
        /// What a retry takes.
        cost: f64,
    },
}

impl<T> Sourced<T> {
    /// Written at a line.
    pub fn written(value: T, line: u32) -> Self {
        Self { value, from: Origin::Written(line) }
    }

    /// What somebody's software does where nobody says anything.
    pub fn default_of(value: T, who: &'static str) -> Self {
        Self { value, from: Origin::Default(who) }
    }

    /// It follows from other values.
    pub fn derived(value: T) -> Self {
        Self { value, from: Origin::Derived }
    }
}

impl Delay {
    /// No wait at all, and nothing to say about it.
    #[must_use]
    pub fn none() -> Self {
        Self { growth: Growth::None, base_ms: None, factor: None, cap_ms: None, jitter: false }
    }
}

impl Attempts {
    /// In total, from a number of retries; a negative number is no end where the format says so.
    #[must_use]
    pub fn from_retries(retries: i64) -> Self {
        Self::Count(u32::try_from(retries.max(0)).unwrap_or(u32::MAX).saturating_add(1))
    }

    /// At least so many.
    #[must_use]
    pub fn low(&self) -> u32 {
        match self {
            Self::Count(count) => *count,
            Self::Unbounded => u32::MAX,
            Self::Open { low, .. } => *low,
        }
    }

    /// At most so many; `None`: no end, or none that can be told.
    #[must_use]
    pub fn high(&self) -> Option<u32> {
        match self {
            Self::Count(count) => Some(*count),
            Self::Unbounded => None,
            Self::Open { high, .. } => *high,
        }
    }
}

impl Layer {
    /// A layer of which nothing is known but where it stands: one attempt, nothing retried.
    #[must_use]
    pub fn at(format: &'static str, seat: Seat, lines: [u32; 2]) -> Self {
        Self {
            format,
            lines,
            caller: None,
            callee: None,
            route: None,
            headers: Vec::new(),
            part: None,
            seat,
            reach: Reach::Service,
            attempts: Sourced::derived(Attempts::Count(1)),
            delay: Delay::none(),
            attempt_timeout_ms: None,
            timeout_ms: None,
            on: Sourced::derived(Failures::NONE),
            words: Vec::new(),
            methods: Methods::All,
            budget: None,
            hedges: false,
            pushback: false,
            implicit: false,
            notes: Vec::new(),
        }
    }

    /// Whether it retries anything.
    #[must_use]
    pub fn retries(&self) -> bool {
        self.attempts.value.high() != Some(1) && !self.on.value.is_empty()
    }
}
