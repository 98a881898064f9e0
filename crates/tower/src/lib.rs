//! Tower layers against retry storms.
//!
//! Client side: [`RetryLayer`], [`HedgeLayer`], [`GateLayer`] (breakers and throttles),
//! [`DoorLayer`] as a limit on outbound concurrency, [`SendLayer`] for class and deadline.
//! Server side: [`ReceiveLayer`], [`LeverLayer`], [`DoorLayer`] for admission and queueing,
//! [`RespondLayer`] to make a reply of a refusal.
//!
//! Every decision is that of a control of `damper-control`, the same that the simulator calls.
//!
//! # Contract
//!
//! - Only the service that was made ready is called; a layer that needs it later takes it out and
//!   leaves a clone in its place.
//! - All clones of a service share its controls.
//! - A future that is dropped gives back what it holds: permits, tokens, a place in a queue. Who
//!   waits for that is woken.
//! - Errors keep their type: [`Error`] is a refusal, a timeout, or the inner error.
//! - Nothing blocks but a mutex that is held for one step of a control.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod body;
pub mod budget;
pub mod classify;
pub mod clock;
pub mod door;
pub mod error;
pub mod gate;
pub mod headers;
pub mod identify;
pub mod lever;
pub mod propagate;
pub mod respond;
pub mod retry;
pub mod stats;
#[cfg(feature = "system")]
pub mod system;

pub use budget::SharedBudget;
pub use classify::{Classify, Grpc, Http};
pub use door::{Door, DoorLayer};
pub use error::{Error, Refusal, TimedOut};
pub use gate::GateLayer;
pub use identify::{ByHeader, Class, Deadline, Everyone, Flow, Idempotent, Identify};
pub use lever::{LeverLayer, SharedLever};
pub use propagate::{ReceiveLayer, SendLayer, Told};
pub use respond::RespondLayer;
pub use retry::hedge::HedgeLayer;
pub use retry::{Policy, RetryLayer};
pub use stats::{Counters, Event, Snapshot};
