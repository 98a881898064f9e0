//! What `damper scan` prints.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What `damper scan` found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Scan {
    /// Version of Damper.
    pub version: String,
    /// What was scanned, as the user named it.
    pub roots: Vec<String>,
    /// Whether it was interrupted: what follows is what had been found until then.
    pub partial: bool,
    /// Where code counts: `production` unless somebody asks for more.
    pub scopes: Vec<String>,
    /// The retry policies in these scopes, by path and line.
    pub policies: Vec<FoundPolicy>,
    /// What is wrong in these scopes, by path and line.
    pub findings: Vec<Finding>,
    /// What was found and is not listed.
    pub unlisted: Unlisted,
    /// Entries of the baseline whose finding is gone.
    pub stale: u64,
    /// How much was read.
    pub coverage: Coverage,
    /// What of configuration in these scopes could not be read, the worst first.
    #[serde(default)]
    pub unread: Unread,
    /// What a person should know of.
    pub notes: Vec<String>,
}

/// What was found and is not listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unlisted {
    /// Policies in other scopes.
    pub policies_elsewhere: u64,
    /// Findings in other scopes.
    pub findings_elsewhere: u64,
    /// Policies that nobody wrote: the library retries by itself.
    pub implicit_policies: u64,
}

/// What of configuration could not be read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unread {
    /// Files with mistakes in them: what stands near these is not read.
    pub broken_files: u64,
    /// Files with mistakes that do not look like configuration that is read here.
    pub other_broken_files: u64,
    /// Values that are filled in by something that does not run here, such as a template.
    pub unresolved: u64,
    /// How many of these stand in a policy or beside one.
    pub unresolved_in_policies: u64,
    /// The places, the worst first; not more than [`Unread::PLACES`].
    pub places: Vec<UnreadPlace>,
}

/// A place of configuration that could not be read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnreadPlace {
    /// The file.
    pub path: String,
    /// The line.
    pub line: u32,
    /// `broken`, `unresolved-in-policy` or `unresolved`.
    pub kind: String,
    /// What is wrong, or the expression that stands there.
    pub what: String,
}

impl Unread {
    /// Places that are listed.
    pub const PLACES: usize = 1000;

    /// Puts more behind it.
    pub fn join(&mut self, more: Self) {
        self.broken_files += more.broken_files;
        self.other_broken_files += more.other_broken_files;
        self.unresolved += more.unresolved;
        self.unresolved_in_policies += more.unresolved_in_policies;
        self.places.extend(more.places);
        let rank = |kind: &str| KINDS.iter().position(|one| *one == kind);
        self.places.sort_by(|a, b| {
            (rank(&a.kind), &a.path, a.line).cmp(&(rank(&b.kind), &b.path, b.line))
        });
        self.places.truncate(Self::PLACES);
    }

    /// In one line; `None`: all was read.
    #[must_use]
    pub fn sentence(&self) -> Option<String> {
        let files = |count: u64| format!("{count} {}", if count == 1 { "file" } else { "files" });
        let mut parts = Vec::new();
        if self.broken_files > 0 {
            let files = files(self.broken_files);
            parts.push(format!("{files} of configuration with mistakes, not read near them"));
        }
        if self.other_broken_files > 0 {
            parts.push(format!("{} of other data with mistakes", files(self.other_broken_files)));
        }
        if self.unresolved > 0 {
            parts.push(format!(
                "{} {} not resolved, {} of them in policies",
                self.unresolved,
                if self.unresolved == 1 { "value" } else { "values" },
                self.unresolved_in_policies
            ));
        }
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    /// Places that bear on what was found: mistakes, and values in policies.
    pub fn telling(&self) -> impl Iterator<Item = &UnreadPlace> {
        self.places.iter().filter(|place| place.kind != KINDS[2])
    }
}

impl UnreadPlace {
    /// The place and what is there, in one line.
    #[must_use]
    pub fn sentence(&self) -> String {
        let word = if self.kind == KINDS[0] { "not read" } else { "not resolved" };
        format!("{word}: {}:{}: {}", self.path, self.line, self.what)
    }
}

/// Kinds of places, the worst first.
const KINDS: [&str; 3] = ["broken", "unresolved-in-policy", "unresolved"];

/// How much was read, and what was not.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Coverage {
    /// Files read.
    pub files: u64,
    /// Their lines.
    pub lines: u64,
    /// By language.
    pub languages: BTreeMap<String, LanguageCoverage>,
    /// Files whose syntax had errors: what stands near them may be missing.
    pub broken: u64,
    /// Files left out, by reason.
    pub skipped: BTreeMap<String, u64>,
}

/// How much of one language was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LanguageCoverage {
    /// Files.
    pub files: u64,
    /// Lines.
    pub lines: u64,
}

/// A loop that a call of a helper runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Runs {
    /// Its file, from the root of the scan.
    pub path: String,
    /// Its first and last line.
    pub lines: [u32; 2],
}

/// A retry policy at a place.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FoundPolicy {
    /// The file, from the root of the scan.
    pub path: String,
    /// First line.
    pub line: u32,
    /// Last line.
    pub end_line: u32,
    /// Other lines that describe the same policy.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<[u32; 2]>,
    /// The loop that a call of a helper runs: the same policy, with the numbers of this call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs: Option<Runs>,
    /// The language.
    pub language: String,
    /// `library` or `hand-rolled`.
    pub by: String,
    /// The package, or the form of the loop.
    pub name: String,
    /// The entry of the catalogue, of a library.
    pub catalogue: Option<String>,
    /// `retry`, `reconnect`, `wait-for-ready`, `conflict`, `replay`, `hedge`.
    pub kind: String,
    /// Attempts in total, the first included.
    pub attempts: FoundAttempts,
    /// The wait between attempts.
    pub delay: FoundDelay,
    /// The longest the whole may take.
    pub deadline_ms: Option<FoundNumber>,
    /// The longest one attempt may take.
    pub attempt_timeout_ms: Option<FoundNumber>,
    /// What is retried.
    pub retries_on: Vec<String>,
    /// Whether that is everything that can fail.
    pub catches_all: bool,
    /// What limits retries across requests.
    pub budget: Option<String>,
    /// Whether a breaker stands around it.
    pub breaker: bool,
    /// Whether a server's word decides about the wait.
    pub pushback: bool,
    /// What is called again.
    pub call: Option<FoundCall>,
    /// Whether nobody wrote anything: the library retries by itself.
    pub implicit: bool,
    /// `production`, `test`, `docs`, `example`, `generated`.
    pub scope: String,
    /// `high`, `medium`, `low`.
    pub confidence: String,
    /// What could not be known, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The same for the same lines, wherever they stand.
    #[serde(default)]
    pub fingerprint: String,
}

/// A number with where it comes from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FoundNumber {
    /// The number.
    pub value: f64,
    /// `written` (with a line), `default` or `derived`.
    pub from: String,
}

/// How many attempts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FoundAttempts {
    /// So many; `None`: endless, or not known before it runs.
    pub total: Option<u32>,
    /// `count`, `infinite` or `dynamic`.
    pub kind: String,
    /// What decides, if it is not known.
    pub expression: Option<String>,
    /// At least so many.
    pub low: Option<u32>,
    /// At most so many; `None`: no bound is known.
    pub high: Option<u32>,
    /// What it is if nobody says otherwise.
    pub usual: Option<u32>,
    /// `written` (with a line), `default` or `derived`.
    pub from: String,
}

/// The wait between attempts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FoundDelay {
    /// `none`, `constant`, `linear`, `exponential`, `polynomial`, `server-directed`, `dynamic`.
    pub kind: String,
    /// The first wait before its jitter.
    pub base_ms: Option<f64>,
    /// By what it grows.
    pub factor: Option<f64>,
    /// The longest single wait.
    pub cap_ms: Option<f64>,
    /// `none`, `full`, `equal`, `additive`, `decorrelated`, `random`, `unknown`.
    pub jitter: String,
    /// The waits as far as they can be told, without jitter.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub schedule_ms: Vec<f64>,
    /// `written` (with a line), `default` or `derived`.
    pub from: String,
}

/// What is called again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FoundCall {
    /// As written, shortened.
    pub text: String,
    /// The host or the service.
    pub host: Option<String>,
    /// The method.
    pub method: Option<String>,
    /// Whether it may be done twice.
    pub idempotent: Option<bool>,
    /// Whether it has a timeout of its own.
    pub timeout: Option<bool>,
}

/// Something that is wrong.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// The rule.
    pub rule: String,
    /// `error`, `warning` or `note`.
    pub severity: String,
    /// The file.
    pub path: String,
    /// First line.
    pub line: u32,
    /// Last line.
    pub end_line: u32,
    /// What is wrong, with the numbers.
    pub message: String,
    /// Why it matters, in one line.
    #[serde(default)]
    pub why: String,
    /// What to do.
    pub fix: String,
    /// Where the code is used.
    pub scope: String,
    /// The same for as long as its lines stay the same, wherever they move to in the file.
    pub fingerprint: String,
    /// Why somebody has silenced it, in a comment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silenced: Option<String>,
    /// Whether the baseline has it.
    #[serde(default)]
    pub known: bool,
    /// The lines, if they can be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frame: Option<Frame>,
}

/// Lines of a file around a finding.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frame {
    /// The number of the first line that is shown.
    pub first: u32,
    /// The lines, without tabs and control characters, cut where they are long.
    pub lines: Vec<String>,
    /// How many lines of the finding follow that are not shown.
    pub more: u32,
}

/// Severities, the worst first.
pub const SEVERITIES: [&str; 3] = ["error", "warning", "note"];

/// The place of a severity in [`SEVERITIES`]; what is not known stands last.
#[must_use]
pub fn rank(severity: &str) -> usize {
    SEVERITIES.iter().position(|one| *one == severity).unwrap_or(SEVERITIES.len())
}

impl Finding {
    /// Whether it is neither silenced nor known.
    #[must_use]
    pub fn counts(&self) -> bool {
        self.silenced.is_none() && !self.known
    }
}
