//! The operator's lever.

use damper_control::lever::{Action, Change, ClassSet, Level, Pulled, Ramp};
use damper_control::{Nanos, Reason};
use damper_tower::{Error, Event, LeverLayer, SharedLever};
use tower::Layer as _;

use crate::Row;
use crate::probe::{self, Answer, Boom, Probe, get, ms, send};

pub(crate) struct Lever;

fn pull(lever: &SharedLever, action: Action, classes: ClassSet) {
    let change = Change { action, classes, who: "operator", why: "a test" };
    assert_eq!(lever.pull(change), Pulled::Changed);
}

fn layer() -> LeverLayer {
    LeverLayer::new(SharedLever::default())
}

async fn through(layer: &LeverLayer, class: u8, calls: usize) -> usize {
    let probe = Probe::default();
    let mut service = layer.layer(probe.clone());
    for _ in 0..calls {
        let _ = send(&mut service, get(class)).await;
    }
    probe.attempts()
}

impl Row for Lever {
    async fn readied() {
        probe::readied(&layer()).await;
    }

    async fn attempts() {
        let layer = layer();
        assert_eq!(through(&layer, 1, 10).await, 10);
        pull(layer.lever(), Action::Throttle(Level::Share(0.1)), ClassSet::from_class(1));
        assert_eq!((through(&layer, 1, 100).await, through(&layer, 0, 100).await), (10, 100));
        pull(layer.lever(), Action::Pause, ClassSet::ALL);
        assert_eq!(through(&layer, 0, 100).await, 0);
        let (from, to) = (Level::Share(0.0), Level::Share(1.0));
        let ramp = Ramp { from, to, over: Nanos::from_secs(10), steps: 0 };
        pull(layer.lever(), Action::Ramp(ramp), ClassSet::ALL);
        tokio::time::sleep(ms(5000)).await;
        assert_eq!(through(&layer, 0, 100).await, 50);
        tokio::time::sleep(ms(5000)).await;
        assert_eq!(through(&layer, 0, 100).await, 100);
        let seen = layer.counters().snapshot();
        assert_eq!(seen.total(Event::Refused(Reason::Lever)), 90 + 100 + 50);
        assert_eq!(layer.lever().journal().len(), 3);
    }

    async fn cancel() {
        probe::cancel(&layer()).await;
    }

    async fn wakes() {
        probe::wakes(&layer()).await;
    }

    async fn errors() {
        let layer = layer();
        let mut service = layer.layer(Probe::new([Answer::error(5)]));
        assert_eq!(send(&mut service, get(0)).await.unwrap_err(), Error::Inner(Boom(5)));
        pull(layer.lever(), Action::Throttle(Level::Rate(0.5)), ClassSet::ALL);
        let error = send(&mut service, get(3)).await.unwrap_err();
        let refusal = error.refusal().unwrap();
        assert_eq!((refusal.reason, refusal.class), (Reason::Lever, 3));
        assert_eq!(refusal.retry_after(), Some(ms(2000)), "when one will be let in");
    }

    async fn edges() {
        let lever = SharedLever::default();
        let nobody =
            Change { action: Action::Pause, classes: ClassSet::ALL, who: "", why: "no name" };
        assert_eq!(lever.pull(nobody), Pulled::Invalid);
        let none = Change { classes: ClassSet::NONE, who: "operator", ..nobody };
        assert_eq!(lever.pull(none), Pulled::Invalid);
        let layer = LeverLayer::new(lever.clone());
        assert_eq!(through(&layer, 0, 3).await, 3);
        pull(&lever, Action::Pause, ClassSet::of(255));
        assert_eq!((through(&layer, 200, 3).await, through(&layer, 0, 3).await), (0, 3));
        // Its position goes over a restart.
        let again = damper_control::lever::Lever::new().restore(Nanos::ZERO, &lever.state());
        assert_eq!(SharedLever::new(again).level(200), Level::Share(0.0));
    }

    async fn beside_tower() {
        // tower has none: an open one must be as nothing.
        let script = || [Answer::status(500), Answer::error(1)];
        let mut ours = layer().layer(Probe::new(script()));
        let mut theirs = Probe::new(script());
        for _ in 0..3 {
            let a = send(&mut ours, get(0)).await.map(|r| r.status()).map_err(Error::into_inner);
            let b = send(&mut theirs, get(0)).await.map(|r| r.status()).map_err(Some);
            assert_eq!(a, b);
        }
    }
}
