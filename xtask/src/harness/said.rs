//! What `damper scan` says of the number of attempts in one file.

use std::fmt;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};
use serde::Deserialize;
use serde_json::Value;

use crate::process::output;

/// Attempts as they are said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Attempts {
    /// So many.
    Exact(u64),
    /// No end.
    Infinite,
    /// From so many up to so many; `None`: no bound. What it usually is, if that is known.
    Between(u64, Option<u64>, Option<u64>),
}

impl fmt::Display for Attempts {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact(count) => write!(out, "{count}"),
            Self::Infinite => write!(out, "infinite"),
            Self::Between(low, high, usual) => {
                write!(out, "{low}..")?;
                high.map_or(Ok(()), |high| write!(out, "{high}"))?;
                usual.map_or(Ok(()), |usual| write!(out, " (usually {usual})"))
            }
        }
    }
}

impl Attempts {
    /// The larger of two policies of which none is inside the other.
    fn or(self, other: Self) -> Self {
        let (low, high, usual) = self.bounds();
        let (other_low, other_high, other_usual) = other.bounds();
        match (self, other) {
            (Self::Exact(a), Self::Exact(b)) => Self::Exact(a.max(b)),
            (Self::Infinite, _) | (_, Self::Infinite) => Self::Infinite,
            _ => Self::Between(
                low.max(other_low),
                high.zip(other_high).map(|(a, b)| a.max(b)),
                usual.zip(other_usual).map(|(a, b)| a.max(b)),
            ),
        }
    }

    fn bounds(self) -> (u64, Option<u64>, Option<u64>) {
        match self {
            Self::Exact(count) => (count, Some(count), Some(count)),
            Self::Infinite => (1, None, None),
            Self::Between(low, high, usual) => (low, high, usual),
        }
    }
}

/// What is said of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Said {
    /// Attempts for one request; one if no retry was found.
    pub(super) attempts: Attempts,
    /// The entries of the catalogue, or forms of loops.
    pub(super) by: Vec<String>,
    /// Why the count is not known, if it is not.
    pub(super) why: Vec<String>,
}

#[derive(Deserialize)]
struct Policy {
    name: String,
    catalogue: Option<String>,
    #[serde(default)]
    implicit: bool,
    attempts: Written,
    #[serde(default)]
    notes: Vec<String>,
    #[serde(default)]
    line: u32,
    #[serde(default)]
    end_line: u32,
    #[serde(default)]
    runs: Option<Runs>,
}

#[derive(Deserialize)]
struct Runs {
    lines: [u32; 2],
}

#[derive(Deserialize)]
struct Written {
    total: Option<u64>,
    kind: String,
    expression: Option<String>,
    low: Option<u64>,
    high: Option<u64>,
    usual: Option<u64>,
}

#[derive(Deserialize)]
struct Printed {
    policies: Vec<Policy>,
    findings: Vec<Finding>,
}

#[derive(Deserialize)]
struct Finding {
    rule: String,
    message: String,
}

impl Said {
    /// Asks `damper`, which also reads the manifest beside the file.
    pub(super) fn ask(mut damper: Command, file: &Path, manifest: &Path) -> Result<Self> {
        damper.args(["scan", "--json", "--quiet", "--fail-on", "never", "--scope", "all"]);
        let text = output(damper.arg("--implicit").arg(file).arg(manifest))?;
        Self::read(serde_json::from_str(&text)?).with_context(|| file.display().to_string())
    }

    fn read(printed: Value) -> Result<Self> {
        let mut printed: Printed = serde_json::from_value(printed)?;
        // What nobody wrote holds where nobody wrote anything else for the same library.
        let written: Vec<String> = printed
            .policies
            .iter()
            .filter(|policy| !policy.implicit)
            .filter_map(|policy| policy.catalogue.clone())
            .collect();
        printed.policies.retain(|policy| {
            !policy.implicit || !policy.catalogue.as_ref().is_some_and(|id| written.contains(id))
        });
        // The loop of a helper, whose call says how often.
        let run: Vec<_> = printed
            .policies
            .iter()
            .filter_map(|one| one.runs.as_ref())
            .map(|runs| runs.lines)
            .collect();
        printed.policies.retain(|policy| !run.contains(&[policy.line, policy.end_line]));
        let all = printed.policies.iter().map(|policy| policy.attempts.read());
        let largest = all.collect::<Result<Vec<_>>>()?.into_iter();
        let largest = largest.reduce(Attempts::or).unwrap_or(Attempts::Exact(1));
        // Policies multiply where the rule says so, and only there: that is what a person reads.
        let stacked = printed.findings.iter().filter(|one| one.rule == "stacked-retries");
        let stacked = stacked.filter_map(|one| calls(&one.message)).max();
        let unknown = printed.policies.iter().filter(|policy| policy.attempts.kind == "dynamic");
        let why = unknown.flat_map(|policy| {
            let expression = policy.attempts.expression.iter();
            expression.chain(&policy.notes).filter(|text| !text.is_empty()).cloned()
        });
        let by = printed.policies.iter();
        let by = by.map(|policy| policy.catalogue.clone().unwrap_or_else(|| policy.name.clone()));
        Ok(Self {
            attempts: stacked.map_or(largest, Attempts::Exact),
            why: why.collect(),
            by: by.collect(),
        })
    }
}

/// The product in `3 × 4 = 12 calls for one request`.
fn calls(message: &str) -> Option<u64> {
    let (_, rest) = message.split_once(" = ")?;
    rest.split(' ').next()?.parse().ok()
}

impl Written {
    fn read(&self) -> Result<Attempts> {
        Ok(match self.kind.as_str() {
            "count" => Attempts::Exact(self.total.context("a count without a number")?),
            "infinite" => Attempts::Infinite,
            // Something is always asked once.
            _ => Attempts::Between(self.low.unwrap_or(1), self.high, self.usual),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn policy(attempts: Value) -> Value {
        json!({"name": "tenacity", "catalogue": "py-tenacity", "attempts": attempts})
    }

    fn said(policies: &[Value], findings: &[Value]) -> Said {
        Said::read(json!({"policies": policies, "findings": findings})).unwrap()
    }

    #[test]
    fn no_policy_is_one_attempt() {
        assert_eq!(said(&[], &[]).attempts, Attempts::Exact(1));
    }

    #[test]
    fn of_several_the_largest_counts() {
        let three = policy(json!({"kind": "count", "total": 3}));
        let four = policy(json!({"kind": "count", "total": 4}));
        let some = policy(json!({"kind": "dynamic", "low": 1, "high": 5, "expression": "n"}));
        let endless = policy(json!({"kind": "infinite"}));
        assert_eq!(said(&[three.clone(), four], &[]).attempts, Attempts::Exact(4));
        let between = said(&[three.clone(), some], &[]);
        assert_eq!(between.attempts, Attempts::Between(3, Some(5), None));
        assert_eq!(between.why, ["n"]);
        assert_eq!(said(&[three, endless], &[]).attempts, Attempts::Infinite);
    }

    #[test]
    fn what_is_written_stands_in_for_what_a_library_does_by_itself() {
        let mut silent = policy(json!({"kind": "count", "total": 4}));
        silent["implicit"] = json!(true);
        let two = policy(json!({"kind": "count", "total": 2}));
        assert_eq!(said(&[silent.clone(), two], &[]).attempts, Attempts::Exact(2));
        assert_eq!(said(&[silent], &[]).attempts, Attempts::Exact(4));
    }

    #[test]
    fn a_product_that_is_named_is_what_is_said() {
        let four = policy(json!({"kind": "count", "total": 4}));
        let finding = json!({"rule": "stacked-retries",
            "message": "the retry of line 3 is inside this one: 4 × 4 = 16 calls for one request"});
        let all = [four.clone(), four.clone(), four];
        assert_eq!(said(&all, &[finding]).attempts, Attempts::Exact(16));
    }

    #[test]
    fn as_they_are_printed() {
        let all = [
            Attempts::Exact(3),
            Attempts::Infinite,
            Attempts::Between(1, None, Some(4)),
            Attempts::Between(2, Some(7), None),
        ];
        let all = all.map(|one| one.to_string());
        assert_eq!(all, ["3", "infinite", "1.. (usually 4)", "2..7"]);
    }
}
