//! How the attempts of the proxy ended: gRPC by its status, everything else by that of HTTP.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use damper_control::conditions::{Lost, Reset, Sent};
use damper_control::{Nanos, Outcome};
use damper_system::model::Policy;
use damper_tower::classify::{Chain, Fault as FaultOf, PUSHBACK_CAP, Seen};
use damper_tower::{Classify, Grpc, Http, Told, clock, headers};
use http::{HeaderMap, Response};

use crate::body::BodyError;
use crate::upstream::Fault;

/// Finds what the upstream or the body of the request says along the sources of an error.
#[derive(Clone, Copy, Debug, Default)]
pub struct Along;

/// The most sources that are followed.
const DEPTH: usize = 16;

impl<E: std::error::Error + 'static> FaultOf<E> for Along {
    fn lost(&self, error: &E) -> Lost {
        let mut next: Option<&(dyn std::error::Error + 'static)> = Some(error);
        for _ in 0..DEPTH {
            let Some(error) = next else { break };
            if error.is::<BodyError>() {
                // The caller's fault, and its body cannot come again.
                return Lost { reset: Reset::Dropped, sent: Sent::Something };
            }
            if let Some(fault) = error.downcast_ref::<Fault>() {
                return fault.lost();
            }
            next = error.source();
        }
        Chain.lost(error)
    }
}

/// Until when every endpoint of a cluster says that it is overloaded, for all workers: what one of
/// them heard from an endpoint is known to the others.
#[derive(Clone, Debug, Default)]
pub struct Saturated(Arc<Words>);

#[derive(Debug, Default)]
struct Words {
    /// The end of the first word that ends, if each endpoint has one; otherwise zero.
    all: AtomicU64,
    /// The end of the last one.
    any: AtomicU64,
    each: Mutex<Vec<(SocketAddr, Nanos)>>,
    told: Told,
}

impl Saturated {
    /// An endpoint said that it is overloaded, which holds until then; or, with [`Nanos::ZERO`],
    /// that it is not. `endpoints`: those that there are.
    pub(crate) fn heard(
        &self,
        from: SocketAddr,
        until: Nanos,
        endpoints: impl Iterator<Item = SocketAddr>,
    ) {
        let mut each = self.0.each.lock().unwrap_or_else(PoisonError::into_inner);
        let of = |address: SocketAddr| {
            let known = each.iter().find(|(known, _)| *known == address);
            let known = known.map_or(Nanos::ZERO, |(_, until)| *until);
            (address, if address == from { until } else { known })
        };
        let now: Vec<_> = endpoints.map(of).collect();
        let ends = || now.iter().map(|(_, until)| until.0);
        self.0.all.store(ends().min().unwrap_or(0), Ordering::Relaxed);
        self.0.any.store(ends().max().unwrap_or(0), Ordering::Relaxed);
        *each = now;
    }

    /// Whom the callee lets in, as the last endpoint said that did.
    pub(crate) fn told(&self) -> &Told {
        &self.0.told
    }

    /// Whether there is no endpoint that is not overloaded.
    #[must_use]
    pub fn holds(&self, now: Nanos) -> bool {
        now.0 < self.0.all.load(Ordering::Relaxed)
    }

    /// Whether there is one that is.
    pub(crate) fn any(&self, now: Nanos) -> bool {
        now.0 < self.0.any.load(Ordering::Relaxed)
    }
}

/// Reads replies of either protocol.
#[derive(Clone, Debug)]
pub struct Reads {
    http: Http<Along>,
    grpc: Grpc<Along>,
    saturated: Saturated,
}

impl Default for Reads {
    fn default() -> Self {
        Self::new(true, Saturated::default())
    }
}

impl Reads {
    /// As a policy has it; nothing is retried while all endpoints say OVERLOADED.
    #[must_use]
    pub fn of(policy: &Policy, saturated: Saturated) -> Self {
        Self::new(policy.heeds_pushback, saturated)
    }

    fn new(heeds: bool, saturated: Saturated) -> Self {
        Self {
            http: Http::default()
                .with_fault(Along)
                .with_pushback_cap(PUSHBACK_CAP)
                .with_pushback(heeds),
            grpc: Grpc::default()
                .with_fault(Along)
                .with_pushback_cap(PUSHBACK_CAP)
                .with_pushback(heeds),
            saturated,
        }
    }
}

impl<B, E: std::error::Error + 'static> Classify<Response<B>, E> for Reads {
    fn classify(&self, end: Result<&Response<B>, &E>) -> Seen {
        let mut seen = match end {
            Ok(response) if headers::is_grpc(response.headers()) => self.grpc.classify(end),
            _ => self.http.classify(end),
        };
        if seen.eligible && self.saturated.holds(clock::now()) {
            seen.eligible = false;
        }
        seen
    }

    fn trailers(&self, trailers: Option<&HeaderMap>) -> Outcome {
        // Only a reply of gRPC is waited for.
        Classify::<Response<B>, E>::trailers(&self.grpc, trailers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_worker_heard_the_others_know() {
        let [a, b] = [1, 2].map(|port| SocketAddr::from(([127, 0, 0, 1], port)));
        let saturated = Saturated::default();
        let heard = |from, until| saturated.heard(from, Nanos(until), [a, b].into_iter());
        heard(a, 10);
        assert!(!saturated.holds(Nanos(5)) && saturated.any(Nanos(5)));
        // Said to another worker, which knows nothing of the first.
        heard(b, 12);
        assert!(saturated.holds(Nanos(9)) && !saturated.holds(Nanos(10)));
        heard(a, 0);
        assert!(!saturated.holds(Nanos(5)) && saturated.any(Nanos(11)));
        saturated.heard(b, Nanos(20), std::iter::once(b));
        assert!(saturated.holds(Nanos(15)), "the other is no endpoint any more");
    }
}
