//! What is found: a retry policy, each of its settings with where it comes from.

use serde::{Deserialize, Serialize};

use crate::language::Language;

/// A retry policy at a place.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Policy {
    /// First line, from 1.
    pub line: u32,
    /// Last line.
    pub end_line: u32,
    /// The language.
    #[serde(serialize_with = "by_name")]
    pub language: Language,
    /// Who retries: a library, or the code itself.
    pub by: By,
    /// What kind of repetition it is.
    pub kind: Kind,
    /// Attempts in total, the first included.
    pub attempts_total: Setting<Attempts>,
    /// The wait between attempts.
    pub delay: Delay,
    /// The longest the whole may take, in milliseconds.
    pub deadline_ms: Option<Setting<f64>>,
    /// The longest one attempt may take, in milliseconds.
    pub attempt_timeout_ms: Option<Setting<f64>>,
    /// What is retried: exceptions, status codes, predicates, as written or as the default is.
    pub retries_on: Setting<Vec<String>>,
    /// Whether that is everything that can fail.
    pub catches_all: bool,
    /// What limits retries across requests, if anything does.
    pub budget: Option<Setting<String>>,
    /// Whether a breaker stands around it.
    pub breaker: bool,
    /// Whether a server's `Retry-After` or the like decides about the wait.
    pub pushback: bool,
    /// What is called again.
    pub call: Option<Call>,
    /// Where the code is used.
    pub scope: Scope,
    /// How sure it is.
    pub confidence: Confidence,
    /// Whether nothing is set here: the library retries by its defaults.
    pub implicit: bool,
    /// What could not be known, and why.
    pub notes: Vec<String>,
    /// Further ranges of lines that describe the same policy: where its numbers are.
    pub also: Vec<[u32; 2]>,
    /// The loop that a call of a helper runs: it is no second policy around or inside of this one.
    pub runs: Option<Loop>,
}

/// A loop that stands elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Loop {
    /// Its file, from the root of the scan.
    pub path: String,
    /// Its first and last line.
    pub lines: [u32; 2],
}

fn by_name<S: serde::Serializer>(language: &Language, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_str(language.name())
}

/// Who retries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum By {
    /// A library: its entry in the catalogue.
    Library {
        /// The entry, such as `py-tenacity`.
        id: String,
        /// The package, such as `tenacity`.
        package: String,
    },
    /// The code itself.
    HandRolled {
        /// Its form, such as `counted-loop` or `recursion`.
        shape: String,
    },
}

/// What kind of repetition it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The same operation again after a failure.
    Retry,
    /// A long-lived stream is connected again; success does not end it.
    Reconnect,
    /// Waits until something is there, at start.
    WaitForReady,
    /// Reads again and writes again after a conflict of versions.
    Conflict,
    /// Repairs the cause and repeats once.
    Replay,
    /// A second copy after slowness, not after a failure.
    Hedge,
}

/// A value with where it comes from.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Setting<T> {
    /// The value.
    pub value: T,
    /// Where it comes from.
    pub from: From,
}

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum From {
    /// Somebody wrote it, at this line of the same file.
    Written(u32),
    /// Somebody wrote it in another file.
    Elsewhere {
        /// The file, from the root of the scan.
        path: String,
        /// The line.
        line: u32,
    },
    /// Nobody wrote it: the library does it so, in the version that is installed if that is known.
    Default,
    /// It follows from the code.
    Derived,
}

/// How many attempts.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Attempts {
    /// So many, the first included.
    Count(u32),
    /// No end.
    Infinite,
    /// Not known before it runs.
    Dynamic {
        /// What decides, as written.
        expression: String,
        /// At least so many.
        low: Option<u32>,
        /// At most so many, if that can be told: the default of a parameter is not a bound.
        high: Option<u32>,
        /// What it is if nobody says otherwise: the default of a parameter or a variable.
        usual: Option<u32>,
    },
}

/// The wait between attempts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Delay {
    /// How it grows.
    pub kind: Setting<DelayKind>,
    /// The first wait before its jitter, in milliseconds.
    pub base_ms: Option<Setting<f64>>,
    /// By what it grows.
    pub factor: Option<Setting<f64>>,
    /// The longest single wait, in milliseconds.
    pub cap_ms: Option<Setting<f64>>,
    /// How it is spread.
    pub jitter: Setting<Jitter>,
    /// The waits as far as they can be told (without jitter; at most 16), in milliseconds.
    pub schedule_ms: Vec<f64>,
}

/// How a wait grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DelayKind {
    /// No wait.
    None,
    /// Always the same.
    Constant,
    /// By a fixed amount.
    Linear,
    /// By a factor; Fibonacci too.
    Exponential,
    /// By a power of the attempt's number.
    Polynomial,
    /// The server says.
    ServerDirected,
    /// Not known before it runs, or a list that follows no rule.
    Dynamic,
}

/// How a wait is spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Jitter {
    /// Not at all.
    None,
    /// From 0 to the wait.
    Full,
    /// From half the wait to the wait.
    Equal,
    /// Something is added or taken away.
    Additive,
    /// From the last wait.
    Decorrelated,
    /// Random in another way.
    Random,
    /// Not known.
    Unknown,
}

/// What is called again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Call {
    /// As written, shortened.
    pub text: String,
    /// The host or the service, where it is written.
    pub host: Option<String>,
    /// The method: `GET`, `SendEmail`.
    pub method: Option<String>,
    /// Whether it may be done twice; `None`: not known.
    pub idempotent: Option<bool>,
    /// Whether the call itself has a timeout; `None`: not known.
    pub timeout: Option<bool>,
}

/// Where code is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// It runs for users.
    Production,
    /// It tests.
    Test,
    /// It explains.
    Docs,
    /// It shows how.
    Example,
    /// A program wrote it.
    Generated,
}

/// How sure a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Confidence {
    /// It may be one.
    Low,
    /// Probably.
    Medium,
    /// It is.
    High,
}

impl<T> Setting<T> {
    /// Written at a line.
    pub fn written(value: T, line: u32) -> Self {
        Self { value, from: From::Written(line) }
    }

    /// The default of a library.
    pub fn default_of(value: T) -> Self {
        Self { value, from: From::Default }
    }

    /// It follows from the code.
    pub fn derived(value: T) -> Self {
        Self { value, from: From::Derived }
    }
}

impl Delay {
    /// Without waits that no clock can measure: what is computed from absurd numbers is not known.
    pub(crate) fn forget_absurd(&mut self) {
        let measurable = |ms: f64| ms.is_finite() && (0.0..=MOST_MS).contains(&ms);
        let number = |setting: &Option<Setting<f64>>| {
            setting.as_ref().is_none_or(|setting| measurable(setting.value))
        };
        if !number(&self.base_ms) || !self.schedule_ms.iter().copied().all(measurable) {
            self.kind.value = DelayKind::Dynamic;
            self.base_ms = None;
            self.factor = None;
            self.schedule_ms.clear();
        }
        if !number(&self.cap_ms) {
            self.cap_ms = None;
        }
        if self.factor.as_ref().is_some_and(|factor| !factor.value.is_finite()) {
            self.factor = None;
        }
    }
}

/// A thousand years.
const MOST_MS: f64 = 3.2e13;

impl Policy {
    /// Takes what is not known of it from a list of waits that it is given, one for each retry;
    /// `text` is how the list is written.
    pub(crate) fn waits_as_given(&mut self, waits: &[f64], text: &str) {
        let unknown = matches!(self.attempts_total.value, Attempts::Dynamic { usual: None, .. });
        let [first, rest @ ..] = waits else { return };
        if !unknown || self.delay.kind.value != DelayKind::Dynamic || self.delay.base_ms.is_some() {
            return;
        }
        let all = u32::try_from(waits.len()).unwrap_or(u32::MAX).saturating_add(1);
        self.attempts_total.value = Attempts::Dynamic {
            expression: format!("one after each wait of {text}, if it goes through them"),
            low: Some(1),
            high: None,
            usual: Some(all),
        };
        let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1.0);
        let ratio = rest.first().map_or(1.0, |second| second / first);
        let steady = waits.windows(2).all(|pair| near(pair[1], pair[0] * ratio));
        self.delay.kind.value = match (steady, rest.len()) {
            (true, _) if near(ratio, 1.0) => DelayKind::Constant,
            (true, 2..) if *first > 0.0 => DelayKind::Exponential,
            _ => DelayKind::Dynamic,
        };
        if self.delay.kind.value == DelayKind::Exponential {
            self.delay.factor = Some(Setting::derived(ratio));
        }
        self.delay.base_ms = Some(Setting::derived(*first));
        self.delay.schedule_ms = waits.to_vec();
    }
}
