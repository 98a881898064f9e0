//! How retries multiply along calls: the retry amplification factor (RAF).
//!
//! One tier of n retries whose attempts fail with probability p makes Σ_(i=0..n) p^i attempts of
//! each request; tiers multiply. Source: the retry amplification paper (arXiv 2608.25403); the
//! general graph is ours.

mod calls;
#[cfg(test)]
mod tests;

pub use calls::{Amplified, Call, CallError, Calls};

/// RAF of one tier: Σ_(i=0..n) p^i, the attempts of one request that is retried up to `limit`
/// times while each attempt fails with `failure`.
///
/// A failure probability outside 0 to 1, or that is not a number, counts as the nearer end or 0.
#[must_use]
pub fn tier(failure: f64, limit: u32) -> f64 {
    crate::node::Rejection::from_rejected(failure).attempts(limit)
}

/// RAF of a chain of tiers, each given as failure probability and limit: the product of theirs.
#[must_use]
pub fn chain(tiers: impl IntoIterator<Item = (f64, u32)>) -> f64 {
    tiers.into_iter().map(|(failure, limit)| tier(failure, limit)).product()
}

/// RAF of a chain when everything below fails: Π (k + 1) over its limits. Five layers of three
/// attempts make 243 of one request.
#[must_use]
pub fn worst(limits: impl IntoIterator<Item = u32>) -> f64 {
    limits.into_iter().map(|limit| f64::from(limit) + 1.0).product()
}
