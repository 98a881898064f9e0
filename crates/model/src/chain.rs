//! Markov chains in continuous time: what a small service does exactly, without a simulator.
//!
//! [`Chain`] is a sparse generator. On it: the stationary law, expected hitting times, the slowest
//! mode, the law after some time, and the drift. The first two are computed by elimination in the
//! manner of Grassmann, Taksar and Heyman (Operations Research 1985): it adds and multiplies
//! numbers of one sign only, so that no digit is lost to cancellation, and a hitting time of
//! 10^200 seconds is as exact as one of a second. Ordinary elimination loses every digit, and then
//! the sign, at about 10^14.
//!
//! Three models are built on it:
//!
//! - [`Metafor`]: the published single-server chain (arXiv 2510.03551), as published;
//! - [`Exact`]: one service with its waiting retriers, to which the node models are held;
//! - [`Storm`]: escape and recovery of a service whose callers retry on time-outs; ours.

mod elimination;
pub mod exact;
mod generator;
mod hitting;
pub mod metafor;
mod spectrum;
mod stationary;
pub mod storm;
mod transient;

pub use exact::{Exact, ExactAnswer, ExactClass};
pub use generator::{Chain, Grid, Moves};
pub use hitting::{Expected, HittingTimes};
pub use metafor::{Metafor, MetaforClass, MetaforSummary};
pub use spectrum::SlowMode;
pub use stationary::{mean, variance};
pub use storm::{Storm, StormAnswer};

use thiserror::Error;

/// Why a chain could not be built or solved.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum ChainError {
    /// The problem is larger than what is solved here.
    #[error("{what}: {found} found, at most {limit} are solved; make the chain smaller")]
    TooLarge {
        /// What is counted.
        what: &'static str,
        /// How much there is.
        found: u64,
        /// How much there may be.
        limit: u64,
    },
    /// A parameter is out of its range.
    #[error("{name} is {found}, expected {expected}")]
    Parameter {
        /// The parameter.
        name: &'static str,
        /// Its value.
        found: f64,
        /// What it may be.
        expected: &'static str,
    },
    /// A rate is negative or not a number of a sensible size.
    #[error("the rate from state {from} to state {to} is {rate}, expected 0 to 1e100")]
    Rate {
        /// Where the move starts.
        from: usize,
        /// Where it leads.
        to: usize,
        /// The rate found.
        rate: f64,
    },
    /// A move or a question names a state that does not exist.
    #[error("state {state} does not exist, the chain has {states}")]
    NoSuchState {
        /// The state named.
        state: usize,
        /// How many there are.
        states: usize,
    },
    /// A state that has to be reached from everywhere is not.
    #[error("the target cannot be reached from state {from}")]
    Unreachable {
        /// A state from which no path leads there.
        from: usize,
    },
    /// A set of states is empty.
    #[error("the set of {what} states is empty")]
    Empty {
        /// Which set.
        what: &'static str,
    },
    /// A vector of probabilities is not one.
    #[error("the start is no probability law over the {states} states of the chain")]
    NotALaw {
        /// How many states there are.
        states: usize,
    },
    /// An iteration did not settle within its bound.
    #[error("{what} did not settle within {steps} steps")]
    NotSettled {
        /// What was computed.
        what: &'static str,
        /// How many steps were made.
        steps: usize,
    },
}

/// Refuses a number that is not finite or lies outside of `low..=high`.
fn within(
    name: &'static str,
    found: f64,
    low: f64,
    high: f64,
    expected: &'static str,
) -> Result<(), ChainError> {
    if found.is_finite() && (low..=high).contains(&found) {
        Ok(())
    } else {
        Err(ChainError::Parameter { name, found, expected })
    }
}
