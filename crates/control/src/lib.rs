//! Every retry and overload control of Damper as a state machine without I/O.
//!
//! The crate is `no_std` with `alloc`. Time comes in as [`Nanos`], randomness as a
//! [`rand_core::Rng`]; nothing here reads a clock, draws entropy, blocks or allocates
//! on a decision. One implementation therefore serves the simulator, the tower
//! layers, the sidecar and the Envoy filter, and a seed replays any storm.
//!
//! Three things are kept apart: the *algorithm* (a state machine here), its
//! *enforcement* (who waits, who is refused) and the *adapter* (tower, proxy-wasm, …).
//!
//! ```
//! use damper_control::{
//!     Backoff, Budget, Jitter, Nanos, Outcome, Retry, RetryBudget, RetryOn, RetryState,
//!     budget::{Attempt, GrpcTokenBucket},
//! };
//! # struct Zero;
//! # impl rand_core::TryRng for Zero {
//! #     type Error = core::convert::Infallible;
//! #     fn try_next_u32(&mut self) -> Result<u32, Self::Error> { Ok(0) }
//! #     fn try_next_u64(&mut self) -> Result<u64, Self::Error> { Ok(0) }
//! #     fn try_fill_bytes(&mut self, b: &mut [u8]) -> Result<(), Self::Error> { b.fill(0); Ok(()) }
//! # }
//! # let mut rng = Zero;
//! let retry = Retry {
//!     limits: [5, 1].into(), // retries after the first attempt: class 0 (highest), class 1
//!     on: RetryOn::REJECTED | RetryOn::TIMED_OUT,
//!     backoff: Backoff::exponential(Nanos::from_millis(25), 2.0, Nanos::from_millis(250), Jitter::Full),
//! };
//! let mut budget = Budget::from(GrpcTokenBucket::try_new(10, 0.1).unwrap());
//! let mut state = RetryState::default();
//! budget.settle(Nanos::ZERO, Attempt::first(1), Outcome::Rejected, true, &mut rng);
//! let wait = retry.decide(&mut state, &mut budget, 1, Outcome::Rejected, Nanos::ZERO, None, &mut rng);
//! assert!(wait.is_ok());
//! budget.settle(Nanos::ZERO, state.attempt(1), Outcome::Rejected, true, &mut rng);
//! let refused = retry.decide(&mut state, &mut budget, 1, Outcome::Rejected, Nanos::ZERO, None, &mut rng);
//! assert!(refused.is_err(), "class 1 has one retry");
//! ```
#![no_std]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod admission;
pub mod backoff;
pub mod budget;
mod chance;
pub mod concurrency;
pub mod conditions;
pub mod deadline;
pub mod entry;
mod family;
pub mod gate;
pub mod guard;
pub mod lever;
pub mod limits;
pub mod observe;
pub mod outcome;
pub mod overload;
pub mod pushback;
pub mod queue;
pub mod rate_limit;
pub mod refusal;
pub mod registry;
pub mod retry;
#[cfg(target_has_atomic = "64")]
pub mod shared;
#[cfg(test)]
mod testing;
pub mod time;
pub mod who;

pub use backoff::{Backoff, Drawn, Growth, Jitter};
pub use budget::{Budget, RetryBudget};
pub use conditions::Conditions;
pub use entry::{Entry, Kind};
pub use limits::RetryLimits;
pub use outcome::{Outcome, RetryOn};
pub use pushback::Pushback;
pub use refusal::{Reason, Refusal};
pub use retry::{Failure, Retry, RetryState};
pub use time::Nanos;
pub use who::Who;
