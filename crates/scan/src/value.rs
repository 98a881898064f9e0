//! What an expression is worth at its place.
//!
//! [`Values`] follows names through local variables, parameters, module constants, class
//! attributes, environment look-ups and configuration objects, in this file and, through a
//! [`Project`], in others. It does not run code: what it cannot tell is [`Data::Unknown`] with the
//! expression as written.

mod arithmetic;
mod bindings;
mod calls;
mod definition;
mod eval;
mod imports;
mod members;
mod pauses;
mod project;
mod random;
mod resolve;
mod units;

use std::sync::Arc;

pub use eval::{Environment, Values};
pub use imports::{Imported, Imports, Qualified};
pub(crate) use pauses::{Pause, Pauses, PausesByName};
pub(crate) use project::split as folder_and_stem;
pub use project::{Constants, Project};
pub use units::{Unit, duration_text};

/// A value with how sure it is and where it is written.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    /// What it is.
    pub data: Data,
    /// How sure it is.
    pub trust: Trust,
    /// Whether chance has a part in it.
    pub random: bool,
    /// Where it is written.
    pub place: Place,
}

/// What a value is.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// `None`, `null`, `nil`.
    Null,
    /// `true`, `false`.
    Bool(bool),
    /// A number without a unit; infinite where no limit is meant.
    Number(f64),
    /// A duration in milliseconds.
    Duration(f64),
    /// Between two numbers, both included: chance decides, or a test that is not known.
    Interval {
        /// The lowest; `-inf`: not known.
        low: f64,
        /// The highest; `inf`: not known.
        high: f64,
        /// Whether these are milliseconds.
        duration: bool,
    },
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Value>),
    /// An object: keys and values, in the order they are written.
    Record(Vec<(String, Value)>),
    /// Not known: the expression as written, shortened.
    Unknown(String),
}

/// How sure a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trust {
    /// It is so.
    Exact,
    /// It is so if nobody says otherwise: the default of a parameter.
    Usual,
    /// It is so if the environment does not say otherwise.
    Environment,
}

/// Where a value is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Another file; `None`: this one.
    pub path: Option<Arc<str>>,
    /// The line, from 1.
    pub line: u32,
}

/// An unknown expression keeps so many characters.
const SHOWN: usize = 80;

impl Value {
    /// Exact, written at this line of this file.
    #[must_use]
    pub fn exact(data: Data, line: u32) -> Self {
        Self { data, trust: Trust::Exact, random: false, place: Place { path: None, line } }
    }

    /// Not known.
    #[must_use]
    pub fn unknown(text: &str, line: u32) -> Self {
        let mut short: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if let Some((end, _)) = short.char_indices().nth(SHOWN) {
            short.truncate(end);
            short.push('…');
        }
        Self::exact(Data::Unknown(short), line)
    }

    /// The same, no surer than this.
    #[must_use]
    pub fn at_most(mut self, trust: Trust) -> Self {
        self.trust = self.trust.max(trust);
        self
    }

    /// The same, written at another place.
    #[must_use]
    pub fn placed(mut self, place: Place) -> Self {
        self.place = place;
        self
    }

    /// Whether anything is known.
    #[must_use]
    pub fn is_known(&self) -> bool {
        !matches!(self.data, Data::Unknown(_))
    }

    /// A single number that is certain, without a unit.
    #[must_use]
    pub fn exact_number(&self) -> Option<f64> {
        if self.trust == Trust::Exact { self.number() } else { None }
    }

    /// A single number, certain or usual, without a unit; a text of digits too.
    #[must_use]
    pub fn number(&self) -> Option<f64> {
        match &self.data {
            Data::Number(number) => Some(*number),
            Data::Text(text) => units::number_text(text),
            _ => None,
        }
    }

    /// A single duration in milliseconds; a number without a unit is one of `bare`.
    #[must_use]
    pub fn millis(&self, bare: Unit) -> Option<f64> {
        match &self.data {
            Data::Duration(ms) => Some(*ms),
            Data::Number(number) => Some(number * bare.millis()),
            Data::Text(text) => duration_text(text, bare),
            _ => None,
        }
    }

    /// The lowest and highest in milliseconds, of a single duration both the same.
    #[must_use]
    pub fn millis_between(&self, bare: Unit) -> Option<(f64, f64)> {
        match self.data {
            Data::Interval { low, high, duration: true } => Some((low, high)),
            Data::Interval { low, high, duration: false } => {
                Some((low * bare.millis(), high * bare.millis()))
            }
            _ => self.millis(bare).map(|ms| (ms, ms)),
        }
    }

    /// Whether it counts as true; `None`: not known.
    #[must_use]
    pub fn truth(&self) -> Option<bool> {
        match &self.data {
            Data::Null => Some(false),
            Data::Bool(value) => Some(*value),
            Data::Number(value) | Data::Duration(value) => Some(*value != 0.0),
            Data::Text(text) => Some(!text.is_empty()),
            Data::List(all) => Some(!all.is_empty()),
            Data::Record(_) => Some(true),
            Data::Interval { .. } | Data::Unknown(_) => None,
        }
    }

    /// The entry of a record, or the element of a list that this number names.
    #[must_use]
    pub fn entry(&self, key: &str) -> Option<&Value> {
        match &self.data {
            Data::Record(entries) => {
                entries.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value)
            }
            Data::List(all) => all.get(key.parse::<usize>().ok()?),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
