//! Reads a configuration, and says all that is wrong with it in one go.

mod meaning;
mod shape;

use std::collections::BTreeMap;

use serde_json::Value;

use super::config::{Config, Lever};
pub(super) use meaning::ONLY_CLASS;

use super::problem::{Problem, Problems};

/// Longest configuration, in bytes.
const MOST_BYTES: usize = 256 * 1024;

/// Most problems that are told.
const MOST_PROBLEMS: usize = 20;

/// Reads a configuration.
///
/// # Errors
/// What is wrong with it, each with the path of its field.
pub fn read(bytes: &[u8]) -> Result<Config, Problems> {
    let whole = |found: String, expected: &str| {
        Problems(vec![Problem {
            path: String::new(),
            found,
            expected: expected.to_owned(),
            nearest: None,
        }])
    };
    if bytes.len() > MOST_BYTES {
        return Err(whole(format!("{} bytes", bytes.len()), "at most 262144 bytes"));
    }
    if bytes.trim_ascii().is_empty() {
        return Err(whole("nothing".to_owned(), "a configuration in JSON"));
    }
    let value: Value = serde_json::from_slice(bytes)
        .map_err(|error| whole(format!("no JSON ({error})"), "a configuration in JSON"))?;
    let mut problems = shape::check(&value);
    if problems.is_empty() {
        // What the table takes, the types take: a test holds them together.
        let config: Config = serde_json::from_value(value)
            .map_err(|error| whole(error.to_string(), "a configuration of the filter"))?;
        problems = meaning::check(&config);
        if problems.is_empty() {
            return Ok(config);
        }
    }
    problems.truncate(MOST_PROBLEMS);
    Err(Problems(problems))
}

/// Reads positions of the lever by class, as they stand behind the key `lever`.
///
/// # Errors
/// What is wrong with them.
pub(super) fn lever(bytes: &[u8], classes: &[String]) -> Result<BTreeMap<String, Lever>, Problems> {
    let whole = |found: String| {
        let expected =
            "positions by class in JSON, such as {\"low\": {\"throttle\": 0.5}}".to_owned();
        Problems(vec![Problem { path: "lever".into(), found, expected, nearest: None }])
    };
    if bytes.len() > MOST_BYTES {
        return Err(whole(format!("{} bytes", bytes.len())));
    }
    let value: Value =
        serde_json::from_slice(bytes).map_err(|error| whole(format!("no JSON ({error})")))?;
    let problems = shape::check_lever(&value, classes);
    if !problems.is_empty() {
        return Err(Problems(problems));
    }
    serde_json::from_value(value).map_err(|error| whole(error.to_string()))
}

#[cfg(test)]
mod tests;
