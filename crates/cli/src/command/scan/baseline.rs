//! A baseline: the findings that were there when somebody began to use the gate.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, ensure};
use damper_report::result::scan::{Finding, Scan};
use serde::{Deserialize, Serialize};

/// The largest baseline that is read, in bytes.
const LARGEST: u64 = 256 << 20;
/// The form of the file.
const VERSION: u32 = 1;

/// The file.
#[derive(Debug, Serialize, Deserialize)]
struct Written {
    version: u32,
    findings: Vec<Entry>,
}

/// A known finding. Its line is for people: it is told by its fingerprint, which stays the same
/// wherever its lines move to in the file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Entry {
    path: String,
    line: u32,
    rule: String,
    fingerprint: String,
}

/// What was known.
#[derive(Debug)]
pub(crate) struct Baseline(Vec<Entry>);

impl Baseline {
    /// Reads a file.
    pub(crate) fn read(file: &Path) -> anyhow::Result<Self> {
        let name = || format!("baseline {}", file.display());
        let size = fs::metadata(file).with_context(name)?.len();
        ensure!(size <= LARGEST, "{}: larger than {LARGEST} bytes", name());
        let text = fs::read_to_string(file).with_context(name)?;
        let written: Written = serde_json::from_str(&text).with_context(name)?;
        ensure!(
            written.version == VERSION,
            "{}: version {}, expected {VERSION}; write it anew with --write-baseline",
            name(),
            written.version
        );
        Ok(Self(written.findings))
    }

    /// Marks what is known, each entry for one finding, and counts the entries whose finding is
    /// gone. `covered` tells whether a path was looked at: what was not is not gone.
    pub(crate) fn mark(&self, scan: &mut Scan, covered: impl Fn(&str) -> bool) {
        let mut open = BTreeMap::<(&str, &str), u64>::new();
        for entry in self.0.iter().filter(|entry| covered(&entry.path)) {
            *open.entry((&entry.rule, &entry.fingerprint)).or_default() += 1;
        }
        for finding in scan.findings.iter_mut().filter(|finding| finding.silenced.is_none()) {
            let left = open.get_mut(&(finding.rule.as_str(), finding.fingerprint.as_str()));
            if let Some(left) = left.filter(|left| **left > 0) {
                *left -= 1;
                finding.known = true;
            }
        }
        // Of a scan that was stopped nobody knows what is gone.
        scan.stale = if scan.partial { 0 } else { open.values().sum() };
    }
}

/// Writes what counts now, known or not, and says how many those are.
pub(crate) fn write(file: &Path, scan: &Scan) -> anyhow::Result<usize> {
    let entry = |finding: &Finding| Entry {
        path: finding.path.clone(),
        line: finding.line,
        rule: finding.rule.clone(),
        fingerprint: finding.fingerprint.clone(),
    };
    let counts = scan.findings.iter().filter(|finding| finding.silenced.is_none());
    let mut findings: Vec<_> = counts.map(entry).collect();
    findings.sort();
    let count = findings.len();
    let mut text = serde_json::to_string_pretty(&Written { version: VERSION, findings })?;
    text.push('\n');
    fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))?;
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(print: &str) -> Finding {
        Finding {
            rule: "no-backoff".to_owned(),
            path: "a.py".to_owned(),
            fingerprint: print.to_owned(),
            ..Finding::default()
        }
    }

    #[test]
    fn each_entry_knows_one_finding() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("b.json");
        let before =
            Scan { findings: vec![finding("1"), finding("1"), finding("2")], ..Scan::default() };
        assert_eq!(write(&file, &before).unwrap(), 3);
        let baseline = Baseline::read(&file).unwrap();
        let findings = vec![finding("1"), finding("3"), finding("1"), finding("1")];
        let mut now = Scan { findings, ..Scan::default() };
        baseline.mark(&mut now, |_| true);
        let known: Vec<_> = now.findings.iter().map(|finding| finding.known).collect();
        assert_eq!(known, [true, false, true, false], "the third of its kind is new");
        assert_eq!(now.stale, 1, "2 is gone");
        let mut elsewhere = Scan::default();
        baseline.mark(&mut elsewhere, |path| path == "b.py");
        assert_eq!(elsewhere.stale, 0, "nobody has looked");
    }

    #[test]
    fn another_form_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("b.json");
        fs::write(&file, "{\"version\": 2, \"findings\": []}").unwrap();
        let error = Baseline::read(&file).unwrap_err().to_string();
        assert!(error.ends_with("version 2, expected 1; write it anew with --write-baseline"));
    }
}
