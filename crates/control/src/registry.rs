//! The table of controls: what a system file may name, with parameters, units and defaults.
//!
//! One row makes a control available by name, in the system file, in `damper schema` and in
//! error messages.

use crate::Budget;
use crate::budget::{EnvoyRetryBudget, GrpcTokenBucket};

/// The unit of a parameter, as the system file writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unit {
    /// A whole number.
    Count,
    /// A number without a unit.
    Number,
    /// A percentage, written `20%`; the constructor sees 20.0.
    Percent,
}

/// One parameter of a control.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its key in the system file.
    pub name: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// The published default.
    pub default: f64,
    /// What it does and which values are allowed.
    pub doc: &'static str,
}

/// A retry budget that a system file can name.
#[derive(Clone, Copy, Debug)]
pub struct BudgetEntry {
    /// Its `kind:` in the system file.
    pub name: &'static str,
    /// One line for people.
    pub summary: &'static str,
    /// Where the rule comes from.
    pub source: &'static str,
    /// Its parameters, in the order that [`BudgetEntry::build`] takes them.
    pub parameters: &'static [Parameter],
    /// Makes one in its initial state; `None` if a value is out of its documented range.
    pub build: fn(&[f64]) -> Option<Budget>,
}

/// Every retry budget, by name.
pub const BUDGETS: &[BudgetEntry] = &[
    BudgetEntry {
        name: "token-bucket",
        summary: "gRPC's retry throttle: failures drain it, successes refill it; no retries at half or below",
        source: "gRFC A6 (retryThrottling)",
        parameters: &[
            Parameter {
                name: "max_tokens",
                unit: Unit::Count,
                default: GrpcTokenBucket::DEFAULT_MAX_TOKENS as f64,
                doc: "tokens when full, 1 to 1000",
            },
            Parameter {
                name: "token_ratio",
                unit: Unit::Number,
                default: GrpcTokenBucket::DEFAULT_TOKEN_RATIO,
                doc: "tokens that a success adds, at least 0.001",
            },
        ],
        build: |p| match p {
            [max, ratio] => GrpcTokenBucket::try_new(whole(*max)?, *ratio).map(Budget::from),
            _ => None,
        },
    },
    BudgetEntry {
        name: "envoy",
        summary: "Envoy's retry budget: concurrent retries as a share of concurrent requests, with its published accounting (envoy#30205)",
        source: "Envoy CircuitBreakers.Thresholds.RetryBudget",
        parameters: &[
            Parameter {
                name: "percent",
                unit: Unit::Percent,
                default: EnvoyRetryBudget::DEFAULT_PERCENT,
                doc: "retries as a share of active and pending requests, 0 % to 100 %",
            },
            Parameter {
                name: "min_retry_concurrency",
                unit: Unit::Count,
                default: EnvoyRetryBudget::DEFAULT_MIN_RETRY_CONCURRENCY as f64,
                doc: "retries always allowed at the same time",
            },
        ],
        build: |p| match p {
            [percent, floor] => {
                EnvoyRetryBudget::try_new(*percent, whole(*floor)?).map(Budget::from)
            }
            _ => None,
        },
    },
];

fn whole(x: f64) -> Option<u32> {
    (x >= 0.0 && x <= f64::from(u32::MAX) && f64::from(x as u32) == x).then_some(x as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn every_budget_builds_with_its_defaults_and_refuses_a_wrong_count() {
        for entry in BUDGETS {
            let defaults: Vec<f64> = entry.parameters.iter().map(|p| p.default).collect();
            assert!((entry.build)(&defaults).is_some(), "{}", entry.name);
            assert!((entry.build)(&[]).is_none(), "{}", entry.name);
            assert!((entry.build)(&[f64::NAN, f64::NAN]).is_none(), "{}", entry.name);
        }
    }
}
