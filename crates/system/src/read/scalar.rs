//! Values of simple kinds.

use damper_control::Nanos;

use super::{Reader, Val};
use crate::node::{Node, Value};
use crate::problem::Draft;
use crate::schema::Kind;
use crate::units::{self, Mistake};

impl Reader<'_> {
    pub(crate) fn scalar(&mut self, node: &Node, kind: &Kind) -> Option<Val> {
        match self.try_scalar(node, kind) {
            Ok(value) => Some(value),
            Err(mistake) => {
                self.error(
                    Draft::new(node.span, mistake.message)
                        .found(node.found())
                        .expected(kind.expected())
                        .suggest(mistake.suggestion),
                );
                None
            }
        }
    }

    /// One or several values.
    pub(crate) fn one_or_many(&mut self, node: &Node, kind: &Kind) -> Option<Vec<Val>> {
        match &node.value {
            Value::Seq(items) if items.is_empty() => {
                self.error(
                    Draft::new(node.span, "this list is empty")
                        .expected(format!("{}, or a list of them", kind.expected())),
                );
                None
            }
            // All items are read, so that each says what is wrong with it.
            Value::Seq(items) => {
                let values: Vec<_> = items.iter().map(|i| self.scalar(i, kind)).collect();
                values.into_iter().collect()
            }
            _ => self.scalar(node, kind).map(|v| vec![v]),
        }
    }

    pub(crate) fn try_scalar(&self, node: &Node, kind: &Kind) -> Result<Val, Mistake> {
        let Some(text) = node.scalar() else {
            return Err(Mistake::new(match &node.value {
                Value::Null => "a value is missing",
                Value::Map(_) => "this must not be a mapping",
                _ => "this must not be a list",
            }));
        };
        let above = |x: f64, zero: bool| {
            if zero || x > 0.0 {
                Ok(Val::Number(x))
            } else {
                Err(Mistake::new("this must be above zero"))
            }
        };
        let within = |x: f64, min: f64, max: f64| {
            if x < min {
                Err(Mistake::new("this number is too small"))
            } else if x > max {
                Err(Mistake::new("this number is too large"))
            } else {
                Ok(Val::Number(x))
            }
        };
        match kind {
            Kind::Text if text.trim().is_empty() => Err(Mistake::new("this text is empty")),
            Kind::Text => Ok(Val::Text(text.to_owned())),
            Kind::Name(names) => self.name(text, *names),
            Kind::Word(words) => match words.iter().find(|w| **w == text) {
                Some(word) => Ok(Val::Word(word)),
                None => Err(Mistake {
                    message: "this word is not known here".into(),
                    suggestion: self.near(text, words.iter().copied()),
                }),
            },
            Kind::Flag => match text {
                "true" => Ok(Val::Flag(true)),
                "false" => Ok(Val::Flag(false)),
                _ => Err(match text.to_ascii_lowercase().as_str() {
                    "yes" | "on" | "true" => {
                        Mistake::new("this is not a yes or no").suggest("true")
                    }
                    "no" | "off" | "false" => {
                        Mistake::new("this is not a yes or no").suggest("false")
                    }
                    _ => Mistake::new("this is not a yes or no"),
                }),
            },
            Kind::Duration { zero } => match units::duration(text)? {
                Nanos::ZERO if !zero => Err(Mistake::new("this must be above zero")),
                d => Ok(Val::Duration(d)),
            },
            Kind::Rate { zero } => above(units::rate(text)?, *zero),
            Kind::Share { zero } => above(units::share(text)?, *zero),
            Kind::Percent { max } => within(units::percent(text)?, 0.0, *max).map(|v| match v {
                Val::Number(x) => Val::Number(x / 100.0),
                v => v,
            }),
            Kind::Count { min, max } => match units::count(text)? {
                n if n < *min => Err(Mistake::new("this number is too small")),
                n if n > *max => Err(Mistake::new("this number is too large")),
                n => Ok(Val::Count(n)),
            },
            Kind::Size { min, max } => match units::size(text)? {
                n if n < *min => Err(Mistake::new("this size is too small")),
                n if n > *max => Err(Mistake::new("this size is too large")),
                n => Ok(Val::Count(n)),
            },
            Kind::Number { min, max } => within(units::number(text)?, *min, *max),
            Kind::Factor { min, max } => within(units::factor(text)?, *min, *max),
            Kind::Either(kinds) => self.either(node, text, kinds),
            _ => Err(Mistake::new("this must not be a single value")),
        }
    }

    /// The first alternative that fits; otherwise the mistake of the likeliest.
    fn either(&self, node: &Node, text: &str, kinds: &[Kind]) -> Result<Val, Mistake> {
        let mut mistakes = Vec::new();
        for kind in kinds {
            match self.try_scalar(node, kind) {
                Ok(value) => return Ok(value),
                Err(mistake) => mistakes.push((kind, mistake)),
            }
        }
        let digits = text.starts_with(|c: char| c.is_ascii_digit() || c == '-');
        let likely = mistakes
            .iter()
            .position(|(kind, m)| match kind {
                Kind::Word(_) | Kind::Name(_) => !digits && m.suggestion.is_some(),
                Kind::Section(_) | Kind::Tagged(_) | Kind::Keyed(_) | Kind::Map(..) => false,
                _ => digits,
            })
            .or_else(|| (!mistakes.is_empty()).then_some(0));
        match likely.map(|i| mistakes.swap_remove(i).1) {
            Some(mistake) => Err(mistake),
            None => Err(Mistake::new("nothing can stand here")),
        }
    }
}
