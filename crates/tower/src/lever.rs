//! The operator's lever before a service.

use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use damper_control::Who;
use damper_control::lever::{CallerLever, Change, Level, Lever, LeverState, Pulled, Record};
use damper_control::observe::Observe as _;
use tower_layer::Layer;
use tower_service::Service;

use crate::budget::lock;
use crate::clock;
use crate::error::{Error, Refusal};
use crate::identify::{ByHeader, Flow, Identify};
use crate::propagate::OrRefused;
use crate::stats::{Counters, Event};

/// A lever that layers obey and an operator pulls, by class and by caller. Clones are the same
/// lever.
#[derive(Clone, Debug, Default)]
pub struct SharedLever(Arc<Mutex<CallerLever>>);

impl SharedLever {
    /// Shares a lever.
    #[must_use]
    pub fn new(lever: Lever) -> Self {
        Self(Arc::new(Mutex::new(CallerLever::new(lever))))
    }

    /// Pulls it.
    pub fn pull(&self, change: Change<'_>) -> Pulled {
        lock(&self.0).pull(clock::now(), change)
    }

    /// Pulls it for one caller, whose requests have this flow. `None`:
    /// [as many callers as may be](CallerLever::MOST) are held back already.
    pub fn pull_for(&self, caller: Flow, change: Change<'_>) -> Option<Pulled> {
        lock(&self.0).pull_for(clock::now(), caller.0, change)
    }

    /// What `class` is let in to now.
    #[must_use]
    pub fn level(&self, class: u8) -> Level {
        lock(&self.0).all().level(clock::now(), class)
    }

    /// What `class` of this caller is let in to by the caller's own lever.
    #[must_use]
    pub fn level_for(&self, caller: Flow, class: u8) -> Level {
        lock(&self.0).level_of(clock::now(), caller.0, class)
    }

    /// Its position, to be written down.
    #[must_use]
    pub fn state(&self) -> LeverState {
        lock(&self.0).all().state(clock::now())
    }

    /// The position of a caller's own lever.
    #[must_use]
    pub fn state_for(&self, caller: Flow) -> LeverState {
        lock(&self.0).state_of(clock::now(), caller.0)
    }

    /// Callers that have a lever of their own.
    #[must_use]
    pub fn callers(&self) -> Vec<Flow> {
        lock(&self.0).callers().map(|(flow, _)| Flow(flow)).collect()
    }

    /// The changes that it remembers, the oldest first. Those for one caller are not among them.
    #[must_use]
    pub fn journal(&self) -> Vec<Record> {
        lock(&self.0).all().journal().cloned().collect()
    }

    /// What it shows, reading by reading.
    pub fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        lock(&self.0).observe(see);
    }

    fn admit(&self, who: Who) -> Result<(), damper_control::Refusal> {
        lock(&self.0).admit(clock::now(), who)
    }
}

/// Lets in what the lever lets in.
#[derive(Clone, Debug)]
pub struct LeverLayer<I = ByHeader> {
    lever: SharedLever,
    identify: I,
    counters: Counters,
}

impl LeverLayer {
    /// Obeys this lever.
    #[must_use]
    pub fn new(lever: SharedLever) -> Self {
        Self::with(lever, ByHeader::default())
    }
}

impl<I> LeverLayer<I> {
    /// The same with what tells whose request it is.
    #[must_use]
    pub fn with(lever: SharedLever, identify: I) -> Self {
        Self { lever, identify, counters: Counters::default() }
    }

    /// What it counts.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Its lever.
    #[must_use]
    pub fn lever(&self) -> &SharedLever {
        &self.lever
    }
}

impl<S, I: Clone> Layer<S> for LeverLayer<I> {
    type Service = LeverService<S, I>;

    fn layer(&self, inner: S) -> Self::Service {
        LeverService { inner, layer: self.clone() }
    }
}

/// The service of [`LeverLayer`].
#[derive(Clone, Debug)]
pub struct LeverService<S, I = ByHeader> {
    inner: S,
    layer: LeverLayer<I>,
}

impl<S, Req, I> Service<Req> for LeverService<S, I>
where
    S: Service<Req>,
    I: Identify<Req>,
{
    type Response = S::Response;
    type Error = Error<S::Error>;
    type Future = OrRefused<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx).map_err(Error::Inner)
    }

    fn call(&mut self, request: Req) -> Self::Future {
        let LeverLayer { lever, identify, counters } = &self.layer;
        let who = identify.who(&request);
        let class = who.class;
        counters.count(class, Event::Request);
        match lever.admit(who) {
            Ok(()) => {
                counters.count(class, Event::Attempt);
                OrRefused::inner(self.inner.call(request))
            }
            Err(refusal) => {
                counters.count(class, Event::Refused(refusal.reason));
                OrRefused::refused(Refusal::from_control(refusal))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use damper_control::lever::{Action, ClassSet};
    use http::{HeaderName, HeaderValue, Request};
    use std::convert::Infallible;

    #[tokio::test(start_paused = true)]
    async fn a_caller_by_its_header() {
        let by = ByHeader::default().with_flow(HeaderName::from_static("x-tenant"));
        let layer = LeverLayer::with(SharedLever::default(), by);
        let mut service =
            layer.layer(tower::service_fn(|_: Request<()>| async { Ok::<_, Infallible>(()) }));
        let mut send = |tenant: &'static str| {
            let mut request = Request::new(());
            request.headers_mut().insert("x-tenant", HeaderValue::from_static(tenant));
            service.call(request)
        };
        let (lever, flood) = (layer.lever(), Flow::named(b"flood"));
        let pause =
            Change { action: Action::Pause, classes: ClassSet::ALL, who: "me", why: "test" };
        assert_eq!(lever.pull_for(flood, pause), Some(Pulled::Changed));
        assert!(send("flood").await.is_err());
        assert!(send("other").await.is_ok());
        assert_eq!((lever.callers(), lever.level_for(flood, 0)), (vec![flood], Level::Share(0.0)));
        assert_eq!((lever.level(0), lever.state().groups.len()), (Level::Share(1.0), 0));
        assert_eq!(lever.state_for(flood).groups.len(), 1);
        let open = Change { action: Action::Open, ..pause };
        assert_eq!(lever.pull_for(flood, open), Some(Pulled::Changed));
        assert!(send("flood").await.is_ok() && lever.callers().is_empty());
    }
}
