//! What `damper scan --study` prints: the tables of the published study of retry policies.

use serde::{Deserialize, Serialize};

/// Projects with their policies, counted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Study {
    /// Version of Damper.
    pub version: String,
    /// Whether it was interrupted: what follows is what had been found until then.
    pub partial: bool,
    /// The projects, as the user named them.
    pub projects: Vec<Project>,
    /// Projects with at least one policy: shares of projects are shares of these.
    pub projects_with_policies: u64,
    /// Policies that are counted: written by somebody, in production, of kind `retry`.
    pub policies: u64,
    /// Policies that are left out because the same lines stand elsewhere in their project.
    pub duplicates: u64,
    /// Share of projects by anti-pattern.
    pub anti_patterns: Vec<Share>,
    /// Policies with more than five retries, of those whose attempts are known.
    pub over_five_retries: Share,
    /// Policies that try again without a wait.
    pub immediate: Share,
    /// Policies whose waits are spread.
    pub jittered: Share,
    /// Policies by attempts in total, the first included.
    pub attempts: Vec<Bucket>,
    /// Policies by kind of delay.
    pub delays: Vec<Bucket>,
    /// Policies by who retries: a library by its name, or `hand-rolled`.
    pub by: Vec<Bucket>,
    /// Policies by language.
    pub languages: Vec<Bucket>,
}

/// One project.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Project {
    /// As the user named it.
    pub name: String,
    /// Files that were read.
    pub files: u64,
    /// Their lines.
    pub lines: u64,
    /// Files that were left out.
    pub skipped: u64,
    /// Policies that are counted.
    pub policies: u64,
    /// Policies left out because the same lines stand elsewhere in it.
    pub duplicates: u64,
    /// The rules that found something, by name.
    pub rules: Vec<String>,
}

/// So many of so many.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Share {
    /// What is counted.
    pub name: String,
    /// So many.
    pub count: u64,
    /// Of so many.
    pub of: u64,
    /// The share, from 0 to 1; `None` of nothing.
    pub share: Option<f64>,
    /// What the published study found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<f64>,
}

/// How often a value occurs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bucket {
    /// The value.
    pub name: String,
    /// How often.
    pub count: u64,
}

impl Share {
    /// A share with its name.
    #[must_use]
    pub fn new(name: &str, count: u64, of: u64, published: Option<f64>) -> Self {
        let share = (of > 0).then(|| count as f64 / of as f64);
        Self { name: name.to_owned(), count, of, share, published }
    }
}
