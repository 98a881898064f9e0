//! Names that a file defines, and the nearest to one that it does not.

use std::collections::HashMap;

use super::{Reader, Val};
use crate::node::quoted;
use crate::schema::Names;
use crate::units::Mistake;

/// Names of one kind, in the order of the file.
#[derive(Debug, Default)]
pub(crate) struct NameList {
    list: Vec<String>,
    index: HashMap<String, usize>,
}

impl NameList {
    pub(crate) fn new(list: Vec<String>) -> Self {
        let index = list.iter().cloned().zip(0..).collect();
        Self { list, index }
    }

    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        self.index.get(name).copied()
    }
}

impl std::ops::Deref for NameList {
    type Target = [String];
    fn deref(&self) -> &[String] {
        &self.list
    }
}

/// What names the file defines.
#[derive(Debug, Default)]
pub(crate) struct Defined {
    pub(crate) classes: NameList,
    pub(crate) services: NameList,
    pub(crate) caches: NameList,
    pub(crate) triggers: NameList,
    pub(crate) metrics: NameList,
    pub(crate) levers: NameList,
}

impl Reader<'_> {
    /// The nearest of some names, if it is near and will be shown.
    pub(crate) fn near<'a>(
        &self,
        text: &str,
        names: impl Iterator<Item = &'a str>,
    ) -> Option<String> {
        if self.sink.is_full() {
            return None;
        }
        nearest(text, names)
    }

    pub(crate) fn name(&self, text: &str, names: Names) -> Result<Val, Mistake> {
        let (known, what) = match names {
            Names::Service => (&self.names.services, "service"),
            Names::Cache => (&self.names.caches, "cache"),
            Names::Trigger => (&self.names.triggers, "trigger"),
            Names::Metric => (&self.names.metrics, "metric"),
            Names::Lever => (&self.names.levers, "lever"),
            Names::ClassOrAll if text == "all" => return Ok(Val::All),
            _ => (&self.names.classes, "class"),
        };
        match known.find(text) {
            Some(i) => Ok(Val::Id(i)),
            None => Err(Mistake {
                message: format!("there is no {what} {}", quoted(text)),
                suggestion: self.near(text, known.iter().map(String::as_str)),
            }),
        }
    }
}

/// The nearest of some names, if it is near at all.
pub(crate) fn nearest<'a>(text: &str, names: impl Iterator<Item = &'a str>) -> Option<String> {
    if text.len() > 100 {
        return None;
    }
    let lower = text.to_lowercase();
    names
        .take(MAX_NAMES)
        .filter(|name| name.len().abs_diff(text.len()) <= MAX_DISTANCE)
        .map(|name| (strsim::damerau_levenshtein(&lower, &name.to_lowercase()), name))
        .filter(|(distance, name)| {
            let length = name.chars().count().max(lower.chars().count());
            let prefix = lower.get(..4).is_some_and(|p| name.starts_with(p));
            (*distance <= 1.max(length / 3) || prefix && *distance <= length / 2)
                && *distance < name.chars().count()
        })
        .min()
        .map(|(_, name)| name.to_owned())
}

/// The one of some names that a name of which any is possible was probably meant to be: a slip, and no
/// name beside it on purpose such as `p1` and `p2`.
#[must_use]
pub fn misspelt<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<String> {
    let bare = |name: &str| name.to_lowercase().replace(|c: char| c.is_ascii_digit(), "");
    let slip = |other: &&str| {
        name.chars().count() > 2
            && bare(name) != bare(other)
            && strsim::damerau_levenshtein(name, other) <= MOST_SLIPS
    };
    nearest(name, names.filter(slip))
}

/// Letters that are wrong in a name, more of which make another one.
const MOST_SLIPS: usize = 2;

/// Of how many names the nearest is looked for.
const MAX_NAMES: usize = 5_000;
const MAX_DISTANCE: usize = 20;
