//! The contract matrix: each layer against each hazard of tower's contract.
//!
//! A row is a type that implements [`Row`], whose methods are the columns and have no defaults: an
//! empty cell does not compile. Time is paused, so nothing sleeps.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "contract/probe.rs"]
mod probe;
#[path = "contract/rows/mod.rs"]
mod rows;

/// The columns.
trait Row {
    /// Only the service that was made ready is called, and a clone is made ready on its own.
    async fn readied();
    /// How many attempts the inner service sees.
    async fn attempts();
    /// A dropped future gives everything back.
    async fn cancel();
    /// Whoever waits is woken, and nobody spins.
    async fn wakes();
    /// The inner error arrives as it was, and a refusal with its reason.
    async fn errors();
    /// The edges of the configuration: zero, one, the largest.
    async fn edges();
    /// The same as tower's own where it has the like, or as nothing where it should not act.
    async fn beside_tower();
}

macro_rules! matrix {
    ($($row:ident: $kind:ty,)*) => {
        $(
            mod $row {
                use super::*;
                matrix!(@cells $kind: readied attempts cancel wakes errors edges beside_tower);
            }
        )*
    };
    (@cells $kind:ty: $($cell:ident)*) => {
        $(
            #[tokio::test(start_paused = true)]
            async fn $cell() {
                <$kind as Row>::$cell().await;
            }
        )*
    };
}

matrix! {
    retry: rows::retry::Retry,
    hedge: rows::hedge::Hedge,
    breaker: rows::gates::Breaker,
    throttle: rows::gates::Throttle,
    outbound_limit: rows::door::Limit,
    admission: rows::door::Admission,
    lever: rows::lever::Lever,
    send: rows::propagate::Send,
    receive: rows::propagate::Receive,
    respond: rows::respond::Respond,
}
