//! `.damper.yaml`: what a repository wants of a scan.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use thiserror::Error;

use crate::policy::Scope;
use crate::rules::{self, Severity};

/// Its name, in the folder that is scanned or one above it.
pub const FILE: &str = ".damper.yaml";

/// The largest configuration that is read, in bytes.
const LARGEST: u64 = 1 << 20;

/// What a repository wants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// Globs of paths that are left out, as in `.gitignore`.
    pub exclude: Vec<String>,
    /// How bad a rule is here; `None`: off.
    pub severities: BTreeMap<&'static str, Option<Severity>>,
    /// From which severity on a scan fails.
    pub fail_on: Option<Severity>,
    /// Where findings count; none: in production.
    pub scopes: Vec<Scope>,
    /// A file of known findings, from the folder of the configuration.
    pub baseline: Option<PathBuf>,
}

/// What is wrong with a configuration.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// It cannot be read.
    #[error("{0}: {1}")]
    Read(String, std::io::Error),
    /// It is too large.
    #[error("{0}: larger than {LARGEST} bytes")]
    TooLarge(String),
    /// It is not what it should be.
    #[error("{0}: {1}")]
    Syntax(String, String),
    /// A word that is not known.
    #[error("{file}: {what} `{found}` is not known, expected {expected}")]
    Word {
        /// The file.
        file: String,
        /// What it should be.
        what: &'static str,
        /// What is written.
        found: String,
        /// What it may be.
        expected: String,
    },
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Written {
    scan: WrittenScan,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct WrittenScan {
    exclude: Vec<String>,
    rules: BTreeMap<String, String>,
    fail_on: Option<String>,
    scopes: Vec<String>,
    baseline: Option<PathBuf>,
}

/// Scopes by the words of a configuration.
const SCOPES: &[(&str, Scope)] = &[
    ("production", Scope::Production),
    ("test", Scope::Test),
    ("docs", Scope::Docs),
    ("example", Scope::Example),
    ("generated", Scope::Generated),
];

/// The scope with this name.
#[must_use]
pub fn scope_of_name(name: &str) -> Option<Scope> {
    SCOPES.iter().find(|(word, _)| *word == name).map(|(_, scope)| *scope)
}

/// Looks for a configuration in a folder and those above it, up to the root of its checkout.
#[must_use]
pub fn look(from: &Path) -> Option<PathBuf> {
    let from = std::path::absolute(from).ok()?;
    for folder in from.ancestors() {
        let file = folder.join(FILE);
        if file.is_file() {
            return Some(file);
        }
        if folder.join(".git").exists() {
            return None;
        }
    }
    None
}

/// Reads a configuration.
///
/// # Errors
/// It cannot be read, or something in it is not known.
pub fn read(file: &Path) -> Result<Config, ConfigError> {
    let shown = file.display().to_string();
    let fail = |error| ConfigError::Read(shown.clone(), error);
    if fs::metadata(file).map_err(fail)?.len() > LARGEST {
        return Err(ConfigError::TooLarge(shown));
    }
    let text = fs::read_to_string(file).map_err(fail)?;
    parse(&shown, &text)
}

/// Understands a configuration; `file` is how it is called in errors.
///
/// # Errors
/// Something in it is not known.
pub fn parse(file: &str, text: &str) -> Result<Config, ConfigError> {
    let written: Written = serde_saphyr::from_str(text)
        .map_err(|error| ConfigError::Syntax(file.to_owned(), error.to_string()))?;
    let WrittenScan { exclude, rules: levels, fail_on, scopes, baseline } = written.scan;
    let word = |what, found: &str, expected: &str| ConfigError::Word {
        file: file.to_owned(),
        what,
        found: found.to_owned(),
        expected: expected.to_owned(),
    };
    let mut config = Config { exclude, baseline, ..Config::default() };
    for (name, level) in levels {
        let Some(rule) = rules::find(&name) else {
            let near = rules::nearest(&name).unwrap_or("one of `damper rules`");
            return Err(word("rule", &name, near));
        };
        let severity = match level.as_str() {
            "off" => None,
            level => Some(
                Severity::of_name(level)
                    .ok_or_else(|| word("level", level, "off, note, warning or error"))?,
            ),
        };
        config.severities.insert(rule.id, severity);
    }
    if let Some(level) = fail_on {
        let severity = Severity::of_name(&level);
        config.fail_on =
            Some(severity.ok_or_else(|| word("level", &level, "note, warning or error"))?);
    }
    for name in scopes {
        let scope = scope_of_name(&name);
        config.scopes.push(
            scope.ok_or_else(|| {
                word("scope", &name, "production, test, docs, example or generated")
            })?,
        );
    }
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_is_understood() {
        let text = "scan:\n  exclude: [legacy/]\n  rules: {no-backoff: error, budget-absent: 'off'}\n  \
                    fail_on: warning\n  scopes: [production, test]\n";
        let config = parse(FILE, text).expect("fine");
        assert_eq!(config.exclude, ["legacy/"]);
        assert_eq!(config.severities["no-backoff"], Some(Severity::Error));
        assert_eq!(config.severities["budget-absent"], None);
        assert_eq!(config.fail_on, Some(Severity::Warning));
        assert_eq!(config.scopes, [Scope::Production, Scope::Test]);
        assert_eq!(parse(FILE, "").expect("empty"), Config::default());
    }

    #[test]
    fn mistakes_name_what_was_expected() {
        let error = |text: &str| parse(FILE, text).expect_err("wrong").to_string();
        assert_eq!(
            error("scan: {rules: {no-backof: error}}"),
            ".damper.yaml: rule `no-backof` is not known, expected no-backoff"
        );
        assert_eq!(
            error("scan: {fail_on: high}"),
            ".damper.yaml: level `high` is not known, expected note, warning or error"
        );
        assert!(error("scan: {exlude: []}").contains("exlude"), "{}", error("scan: {exlude: []}"));
    }
}
