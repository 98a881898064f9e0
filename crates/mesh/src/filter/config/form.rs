//! Values whose form says what they are.
//!
//! What `serde` derives for these keeps a copy of anything that may come, which takes a tenth of the
//! plugin's size. The form is known before: it was checked.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Error, Value, from_value};

use super::{Budget, Limit, Trust};

impl TryFrom<Value> for Trust {
    type Error = Error;

    fn try_from(value: Value) -> Result<Self, Error> {
        if value.is_string() {
            from_value(value).map(Self::Word)
        } else {
            from_value(value).map(Self::Sources)
        }
    }
}

impl TryFrom<Value> for Limit {
    type Error = Error;

    fn try_from(value: Value) -> Result<Self, Error> {
        if value.is_number() {
            from_value(value).map(Self::All)
        } else {
            from_value::<BTreeMap<String, u32>>(value).map(Self::ByClass)
        }
    }
}

/// Any budget, with the fields of all.
#[derive(Deserialize)]
pub(super) struct BudgetForm {
    kind: String,
    max_tokens: Option<u32>,
    token_ratio: Option<f64>,
    percent: Option<f64>,
    min_per_s: Option<u32>,
    max_percent: Option<f64>,
    min_percent: Option<f64>,
    memory_ms: Option<u32>,
    hold_ms: Option<u32>,
}

impl TryFrom<BudgetForm> for Budget {
    type Error = String;

    fn try_from(form: BudgetForm) -> Result<Self, String> {
        let BudgetForm { kind, max_tokens, token_ratio, percent, min_per_s, .. } = form;
        let BudgetForm { max_percent, min_percent, memory_ms, hold_ms, .. } = form;
        match kind.as_str() {
            "token-bucket" => Ok(Self::TokenBucket { max_tokens, token_ratio }),
            "ratio" => Ok(Self::Ratio { percent, min_per_s }),
            "arb" => Ok(Self::Arb { max_percent, min_percent, memory_ms, hold_ms }),
            _ => Err(kind),
        }
    }
}
