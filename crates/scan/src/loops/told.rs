//! What one caller tells a function: numbers of its parameters, and of the fields of objects that
//! it is given.

use foldhash::HashMap;

use super::value::{Num, Value};
use crate::tree::Id;
use crate::value::Data;

/// What is told of one parameter.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Part {
    /// Its value.
    Known(Data),
    /// It is given, and this is how: its value is not known.
    Open(String),
}

/// What a function is told. Of a parameter of which nothing stands here the default holds.
#[derive(Clone, Debug)]
pub(super) struct Told {
    /// The function, or the constructor.
    pub(super) function: Id,
    /// By the name of the parameter, or by that and a field: `options.retries`.
    pub(super) parts: HashMap<Box<str>, Part>,
}

impl Told {
    /// A value that is told, as the interpreter has it; `None`: it stands for itself.
    pub(super) fn value(data: &Data) -> Option<Value> {
        Some(match data {
            Data::Number(number) => Value::Num(Num::exact(*number)),
            Data::Duration(ms) => Value::Num(Num::ms(*ms)),
            Data::Bool(value) => Value::Bool(*value),
            Data::Null => Value::Null,
            _ => return None,
        })
    }
}
