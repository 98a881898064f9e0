//! A scan for other programs and other places: SARIF, GitHub annotations, Markdown, and
//! the tables of the published study.

pub mod github;
pub mod html;
pub mod markdown;
pub mod sarif;
pub mod study;

use serde::{Deserialize, Serialize};

/// What a rule is, for formats that carry it along.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RuleText {
    /// Its name.
    pub id: String,
    /// `error`, `warning` or `note`.
    pub severity: String,
    /// What it finds, in one line.
    pub summary: String,
    /// What to do, in one line.
    pub fix: String,
    /// Its page, as Markdown.
    pub page: String,
}
