//! Layers from a system file: the controls that the simulator runs, built from the same section.
//!
//! [`Calls`] are the policy of an edge, for the client that makes its calls; [`Serves`] is what
//! stands before one instance of a service.

use damper_control::Nanos;
use damper_control::admission::RateLimit;
use damper_control::gate::Gate;
use damper_system::System;
use damper_system::model::Spec;
use tower_layer::Layer;

use crate::budget::SharedBudget;
use crate::classify::{Http, PUSHBACK_CAP};
use crate::door::{Door, DoorLayer, DoorService};
use crate::gate::{GateLayer, GateService};
use crate::identify::ByHeader;
use crate::propagate::{SendLayer, SendService};
use crate::retry::{Policy, Repeat, RetryLayer, RetryService};

/// A name that the system file does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown(pub String);

impl std::fmt::Display for Unknown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the system has no {}", self.0)
    }
}

impl std::error::Error for Unknown {}

/// Whose request it is, by the classes of a system: their names or numbers. A request that does
/// not say has the lowest class.
#[must_use]
pub fn identify(system: &System) -> ByHeader {
    let lowest = u8::try_from(system.classes.len().saturating_sub(1)).unwrap_or(u8::MAX);
    ByHeader::default().with_names(system.classes.iter().map(String::as_str)).with_default(lowest)
}

/// How the calls of an edge are made.
#[derive(Clone, Debug)]
pub struct Calls {
    /// Limits, backoff, timeouts.
    pub policy: Policy,
    /// The budget of the edge.
    pub budget: SharedBudget,
    /// Refuses attempts to a callee that fails. Open where the file has none.
    pub breaker: Gate,
    /// Slows or refuses the caller's own attempts. Open where the file has none.
    pub throttle: Gate,
    /// How replies are read.
    pub classify: Http,
    identify: ByHeader,
}

/// The service of [`Calls::service`].
pub type Client<S> = RetryService<GateService<GateService<SendService<S>>>>;

impl Calls {
    /// The policy of the edge that the file writes as `caller -> callee`.
    ///
    /// # Errors
    /// No request of the system makes such a call.
    pub fn of(system: &System, edge: &str) -> Result<Self, Unknown> {
        let unknown = || Unknown(format!("call \"{edge}\""));
        let policy = &system.edge_named(edge).ok_or_else(unknown)?.policy;
        let gate = |spec: &Option<Spec<Gate>>| {
            spec.as_ref().map_or(Gate::OPEN, |spec| spec.initial.clone())
        };
        let heeds = policy.heeds_pushback;
        Ok(Self {
            policy: Policy {
                attempt_timeout: policy.timeout,
                timeout: policy.deadline,
                needs: policy.needs,
                repeat: if policy.idempotent { Repeat::Always } else { Repeat::Never },
                tells_deadline: policy.deadline_travels,
                ..Policy::new(policy.narrowed_retry())
            },
            budget: SharedBudget::new(policy.budget.initial.clone()),
            breaker: gate(&policy.breaker),
            throttle: gate(&policy.throttle),
            classify: Http::default().with_pushback_cap(PUSHBACK_CAP).with_pushback(heeds),
            identify: identify(system),
        })
    }

    /// The layers, the outermost first: retries, then for each attempt the breaker, the throttle
    /// and the headers.
    #[must_use]
    pub fn layers(&self) -> (RetryLayer, GateLayer, GateLayer, SendLayer) {
        let (classify, identify) = (self.classify, self.identify.clone());
        (
            RetryLayer::with(self.policy.clone(), self.budget.clone(), classify, identify.clone()),
            GateLayer::with(self.breaker.clone(), classify, identify.clone()),
            GateLayer::with(self.throttle.clone(), classify, identify.clone()),
            SendLayer::new(identify).with_deadline(self.policy.tells_deadline),
        )
    }

    /// A client that makes its calls like this.
    pub fn service<S>(&self, inner: S) -> Client<S> {
        let (retry, breaker, throttle, send) = self.layers();
        retry.layer(breaker.layer(throttle.layer(send.layer(inner))))
    }
}

/// What stands before one instance of a service.
#[derive(Debug)]
pub struct Serves {
    /// Its door.
    pub door: Door,
    identify: ByHeader,
}

impl Serves {
    /// What the file has for this service. `below`: the budgets of the calls that it makes, whose
    /// word OVERLOADED it passes on.
    ///
    /// # Errors
    /// The system has no such service.
    pub fn of(
        system: &System,
        service: &str,
        below: impl IntoIterator<Item = SharedBudget>,
    ) -> Result<Self, Unknown> {
        let found = system.services.iter().find(|s| s.name == service);
        let service = found.ok_or_else(|| Unknown(format!("service \"{service}\"")))?;
        let mut door = Door::new()
            .with_guard(service.guard(system.listens()))
            .with_order(service.order_with_shares())
            .with_drop_rule(service.drop_rule())
            .with_workers(service.workers.unwrap_or(u32::MAX))
            .with_queue(service.queue.unwrap_or(Door::MOST_QUEUE))
            .with_pushback(service.pushback)
            .with_below(below);
        // A service that is told the deadline does not begin what it cannot end.
        if service.workers.is_some() {
            door = door.with_needs(Nanos(service.service_time.mean().0));
        }
        let rate = service.rate_limit.map(|limit| {
            let instances = f64::from(service.instances.max(1));
            // One bucket for all instances is a share of it for each of many processes.
            RateLimit::try_new(limit.rate / instances, (limit.burst / instances).max(1.0) as u32)
        });
        if let Some(limit) = rate.flatten() {
            door = door.with_rate_limit(limit);
        }
        Ok(Self { door, identify: identify(system) })
    }

    /// The door as a layer.
    #[must_use]
    pub fn layer(self) -> DoorLayer {
        DoorLayer::with(self.door, Http::default(), self.identify)
    }

    /// A service behind its door.
    pub fn service<S>(self, inner: S) -> DoorService<S> {
        self.layer().layer(inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Event;
    use damper_control::{Outcome, Reason};
    use damper_system::SystemFile;
    use http::{Request, Response};
    use http_body_util::Full;
    use std::convert::Infallible;
    use tower::ServiceExt as _;

    const FILE: &str = "\
damper: 1
name: shop
classes: [high, low]
services:
  front: {}
  db: {workers: 1, queue: 2, service_time: 10ms, rate_limit: {rate: 1000/s, burst: 100}, pushback: 3s}
load: {high: 10/s, low: 10/s}
requests:
  get: {calls: [{front: [db]}]}
policies:
  db:
    timeout: 50ms
    retry:
      limit: {high: 3, low: 1}
      backoff: {kind: exponential, base: 10ms, factor: 2, max: 40ms, jitter: none}
      budget: {kind: token-bucket, max_tokens: 10, token_ratio: 0.1}
";

    fn system() -> System {
        SystemFile::parse("shop.yaml", FILE).unwrap().lower().unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn an_edge_becomes_its_layers() {
        let calls = Calls::of(&system(), "front -> db").unwrap();
        let (retry, breaker, throttle, send) = calls.layers();
        type Sent = Request<crate::body::Replay<Full<bytes::Bytes>>>;
        let told = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        let hears = told.clone();
        let failing = tower::service_fn(move |request: Sent| {
            hears.lock().unwrap().push(request.headers()[crate::headers::CLASS].clone());
            async {
                let mut response = Response::new(Full::<bytes::Bytes>::default());
                *response.status_mut() = http::StatusCode::INTERNAL_SERVER_ERROR;
                Ok::<_, Infallible>(response)
            }
        });
        let client = retry.layer(breaker.layer(throttle.layer(send.layer(failing))));
        let started = tokio::time::Instant::now();
        for (class, wait) in [("0", 10 + 20 + 40), ("low", 0)] {
            let mut request = Request::new(Full::<bytes::Bytes>::default());
            let value = http::HeaderValue::from_static(class);
            request.headers_mut().insert(crate::headers::CLASS, value);
            let before = started.elapsed();
            let _ = client.clone().oneshot(request).await.unwrap();
            assert_eq!((started.elapsed() - before).as_millis(), wait, "{class}");
        }
        let seen = retry.counters().snapshot();
        assert_eq!((seen.of(0, Event::Attempt), seen.of(1, Event::Attempt)), (4, 1));
        // Four failures left six tokens, the fifth leaves half: the low class gets none.
        assert_eq!(seen.of(1, Event::Refused(Reason::BudgetExhausted)), 1);
        let names = told.lock().unwrap().clone();
        assert_eq!(
            names,
            ["high", "high", "high", "high", "low"],
            "as what was exported matches it"
        );
        assert!(Calls::of(&system(), "db -> front").is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn a_service_that_says_stop_is_asked_once() {
        for (pushback, attempts) in [("stop", 1), ("none", 4)] {
            let file = FILE.replace("pushback: 3s", &format!("pushback: {pushback}"));
            let file = file.replace("    timeout: 50ms\n", "");
            let system = SystemFile::parse("shop.yaml", &file).unwrap().lower().unwrap();
            let calls = Calls::of(&system, "front -> db").unwrap();
            let (retry, breaker, throttle, send) = calls.layers();
            let busy = tower::service_fn(|_: Request<crate::body::Replay<Full<bytes::Bytes>>>| {
                std::future::pending::<Result<Response<Full<bytes::Bytes>>, Infallible>>()
            });
            let door = Serves::of(&system, "db", []).unwrap().layer();
            let server = crate::RespondLayer::default().layer(door.layer(busy));
            let client = retry.layer(breaker.layer(throttle.layer(send.layer(server))));
            let request = |class: u8| {
                let mut request = Request::new(Full::<bytes::Bytes>::default());
                request.extensions_mut().insert(crate::Class(class));
                request
            };
            // One works and two wait: there is no place for another.
            for _ in 0..3 {
                tokio::spawn(client.clone().oneshot(request(1)));
                tokio::task::yield_now().await;
            }
            let reply = client.clone().oneshot(request(0)).await.unwrap();
            assert_eq!(reply.status(), http::StatusCode::SERVICE_UNAVAILABLE);
            let seen = retry.counters().snapshot();
            assert_eq!(seen.of(0, Event::Attempt), attempts, "{pushback}");
            let stopped = seen.of(0, Event::Refused(Reason::PushedBack));
            assert_eq!(stopped, u64::from(pushback == "stop"));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_service_gets_its_door() {
        let serves = Serves::of(&system(), "db", []).unwrap();
        let layer = serves.layer();
        let inner = tower::service_fn(|_: Request<()>| async {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
            Ok::<_, Infallible>(Response::new(()))
        });
        let calls: Vec<_> =
            (0..5).map(|_| tokio::spawn(layer.layer(inner).oneshot(Request::new(())))).collect();
        let mut full = 0;
        for call in calls {
            if let Err(error) = call.await.unwrap() {
                let refusal = error.refusal().unwrap();
                assert_eq!((refusal.reason, refusal.class), (Reason::QueueFull, 1));
                let wait = refusal.retry_after().unwrap().as_secs_f64();
                assert!((3.0..=4.5).contains(&wait), "{wait}");
                full += 1;
            }
        }
        assert_eq!(full, 2);
        let seen = layer.counters().snapshot();
        assert_eq!(seen.of(1, Event::Ended(Outcome::Rejected)), 2);
        assert!(Serves::of(&system(), "nothing", []).is_err());
    }
}
