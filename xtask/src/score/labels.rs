//! Labels of a repository.

use std::path::Path;

use anyhow::{Context as _, Result};
use serde::Deserialize;
use serde_json::Value;

/// A labelled repository.
#[derive(Deserialize)]
pub(crate) struct Repository {
    pub(crate) repo: String,
    /// Folders and files that were labelled; `None`: everything.
    pub(crate) roots: Option<Vec<String>>,
    /// Parts that were not.
    pub(crate) exclude: Option<Vec<String>>,
    pub(crate) sites: Vec<Site>,
}

/// A labelled place.
#[derive(Deserialize)]
pub(crate) struct Site {
    pub(crate) path: String,
    pub(crate) line: u32,
    pub(crate) end_line: u32,
    pub(crate) label: Label,
    pub(crate) scope: Option<String>,
    /// `library:<name>`, `hand-rolled`, `config:<format>`.
    pub(crate) kind: Option<String>,
    /// A number, `infinite` or `dynamic`.
    #[serde(default)]
    pub(crate) attempts_total: Value,
    #[serde(default)]
    pub(crate) attempts_default: Value,
    pub(crate) delay: Option<String>,
    pub(crate) base_delay_ms: Option<f64>,
    pub(crate) base_delay_default_ms: Option<f64>,
    pub(crate) jitter: Option<bool>,
    #[serde(default)]
    pub(crate) alt_ranges: Value,
    #[serde(default)]
    pub(crate) note: String,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Label {
    Retry,
    NotRetry,
    Ambiguous,
}

/// Lines to either side of a site that still belong to it.
const MARGIN: u32 = 3;

impl Repository {
    pub(crate) fn read(file: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
        serde_json::from_str(&text).with_context(|| file.display().to_string())
    }

    /// Whether a path was labelled.
    pub(crate) fn covers(&self, path: &str) -> bool {
        let under = |folder: &String| {
            let folder = folder.trim_end_matches('/');
            path == folder || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
        };
        self.roots.as_ref().is_none_or(|roots| roots.iter().any(under))
            && !self.exclude.as_ref().is_some_and(|exclude| exclude.iter().any(under))
    }

    /// Whether everything counts as production, whatever its path says.
    pub(crate) fn all_production(&self) -> bool {
        self.roots.is_some() && self.sites.iter().any(|site| site.group() == Some("config"))
    }
}

impl Site {
    /// `library`, `hand-rolled` or `config`.
    pub(crate) fn group(&self) -> Option<&str> {
        self.kind.as_deref().map(|kind| kind.split(':').next().unwrap_or(kind))
    }

    /// Whether lines of the same file belong to it.
    pub(crate) fn overlaps(&self, path: &str, line: u32, end_line: u32) -> bool {
        let near = |from: u32, to: u32| line <= to + MARGIN && from <= end_line + MARGIN;
        self.path == path
            && (near(self.line, self.end_line)
                || self.alternatives().any(|(from, to)| near(from, to)))
    }

    /// `[[from, to], …]` or `[{"line": …, "end_line": …}, …]`.
    fn alternatives(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let line = |value: &Value| value.as_u64().and_then(|line| u32::try_from(line).ok());
        self.alt_ranges.as_array().into_iter().flatten().filter_map(move |range| {
            let pair = match range {
                Value::Array(pair) => (line(pair.first()?)?, line(pair.last()?)?),
                other => (line(other.get("line")?)?, line(other.get("end_line")?)?),
            };
            Some(pair)
        })
    }
}
