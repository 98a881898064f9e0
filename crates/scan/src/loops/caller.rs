//! What one caller tells a function: numbers of its parameters, and of the fields of objects that
//! it is given.

use foldhash::HashMap;

use super::value::{Num, Value};
use crate::tree::Id;
use crate::value::Data;

/// What is told of one parameter.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Part {
    /// Its value: a finite number, a duration, a list of such, a truth, or nothing.
    Known(Data),
    /// It is given, and this is how: its value is not known.
    Open(String),
}

/// By the name of the parameter, or by that and a field: `options.retries`.
pub(crate) type Parts = Vec<(Box<str>, Part)>;

impl Part {
    /// Of a value, and how it is written.
    pub(crate) fn of(data: &Data, text: &str) -> Self {
        match data {
            Data::Number(number) | Data::Duration(number) if !number.is_finite() => {
                Self::Open(text.to_owned())
            }
            Data::Number(_) | Data::Duration(_) | Data::Bool(_) | Data::Null => {
                Self::Known(data.clone())
            }
            Data::List(all)
                if !all.is_empty() && all.iter().all(|one| num(&one.data).is_some()) =>
            {
                Self::Known(data.clone())
            }
            _ => Self::Open(text.to_owned()),
        }
    }

    /// Whether it says how often or how long: a number that is not nought, or one for each retry.
    pub(crate) fn is_number(&self) -> bool {
        match self {
            Self::Known(Data::Number(number) | Data::Duration(number)) => *number != 0.0,
            Self::Known(Data::List(_)) => true,
            _ => false,
        }
    }

    /// As the interpreter has it; `None`: it stands for itself.
    pub(super) fn value(&self) -> Option<Value> {
        let Self::Known(data) = self else { return None };
        Some(match data {
            Data::Bool(value) => Value::Bool(*value),
            Data::Null => Value::Null,
            Data::List(all) => {
                let all: Option<Vec<Value>> =
                    all.iter().map(|one| num(&one.data).map(Value::Num)).collect();
                Value::List(all?.into())
            }
            data => Value::Num(num(data)?),
        })
    }
}

/// A finite number or duration, as the interpreter has it.
fn num(data: &Data) -> Option<Num> {
    match data {
        Data::Number(number) if number.is_finite() => Some(Num::exact(*number)),
        Data::Duration(ms) if ms.is_finite() => Some(Num::ms(*ms)),
        _ => None,
    }
}

/// A caller of a function. Of a parameter of which it tells nothing the default holds.
#[derive(Clone, Debug)]
pub(super) struct Caller {
    /// The function, or the constructor.
    pub(super) function: Id,
    /// What it is told.
    pub(super) parts: HashMap<Box<str>, Part>,
}
