//! What is wrong with a configuration.

use std::fmt;

/// One thing that is wrong: where, what was found, what was expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The path of the field, such as `retry.limit.high` or `edges[2].host`.
    pub path: String,
    /// What stands there.
    pub found: String,
    /// What may stand there.
    pub expected: String,
    /// The nearest name, if a name was expected.
    pub nearest: Option<String>,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = if self.path.is_empty() { "the configuration" } else { &self.path };
        write!(f, "{path}: found {}, expected {}", self.found, self.expected)?;
        match &self.nearest {
            Some(name) => write!(f, "; did you mean `{name}`?"),
            None => Ok(()),
        }
    }
}

/// All that is wrong, at least one thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems(pub Vec<Problem>);

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, problem) in self.0.iter().enumerate() {
            if n > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

/// The longest piece of a configuration that is repeated in a message.
const MOST_SHOWN: usize = 40;

/// A text in quotes, cut to a bearable length and without line breaks.
pub(super) fn quoted(text: &str) -> String {
    let mut shown: String =
        text.chars().take(MOST_SHOWN).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(MOST_SHOWN).is_some() {
        shown.push('…');
    }
    format!("`{shown}`")
}

/// The name of `all` that is most like `name`, if any is like it.
pub(super) fn nearest<'a>(name: &str, all: impl Iterator<Item = &'a str>) -> Option<String> {
    // A longer text is no misspelling, and comparing it would take its square.
    if name.len() > 64 {
        return None;
    }
    all.map(|one| (strsim::normalized_damerau_levenshtein(name, one), one))
        .filter(|(likeness, _)| *likeness >= 0.5)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, one)| one.to_owned())
}
