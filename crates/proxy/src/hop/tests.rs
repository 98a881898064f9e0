use super::*;
use damper_control::lever::{Action, Change, ClassSet, Level};
use damper_control::{Nanos, Outcome};
use damper_tower::Event;
use http::Request;
use std::convert::Infallible;
use tower_layer::Layer as _;
use tower_service::Service as _;

fn classes() -> Vec<String> {
    vec!["high".into(), "low".into()]
}

/// A configuration in which one request comes to the lever.
async fn configured(hops: &Hops) -> Arc<Hop> {
    let hop = hops.begin("db", Direction::Inbound, classes());
    let lever = LeverLayer::new(hop.lever().clone());
    hop.meters().request(Nanos(1), 0, false).end(Nanos(2), Outcome::Success, None);
    let service = tower::service_fn(|_: Request<()>| async { Ok::<_, Infallible>(()) });
    let _ = lever.layer(service).call(Request::new(())).await;
    hops.install(vec![hop.with_lever(&lever)]).unwrap()[0].clone()
}

#[tokio::test(start_paused = true)]
async fn a_reload_keeps_the_lever_and_every_count() {
    let hops = Hops::default();
    let first = configured(&hops).await;
    let pause = Change { action: Action::Pause, classes: ClassSet::of(1), who: "me", why: "test" };
    let _ = first.lever().pull(pause);
    // More often than layers are kept apart.
    for _ in 0..100 {
        configured(&hops).await;
    }
    let now = hops.find("db").unwrap();
    assert_eq!(now.lever().level(1), Level::Share(0.0));
    assert_eq!(now.meters().snapshot().classes[0].came, 101);
    let counts = now.counts();
    assert_eq!((counts.len(), counts[0].0), (1, layer::LEVER));
    assert_eq!(counts[0].1.total(Event::Request), 101);
}

#[tokio::test(start_paused = true)]
async fn other_classes_begin_new_counts_but_keep_the_lever() {
    let hops = Hops::default();
    let first = configured(&hops).await;
    let pause = Change { action: Action::Pause, classes: ClassSet::ALL, who: "me", why: "test" };
    let _ = first.lever().pull(pause);
    let other = hops.begin("db", Direction::Inbound, vec!["default".into()]);
    assert_eq!(other.lever().level(0), Level::Share(0.0));
    assert_eq!(other.meters().snapshot().classes.len(), 1);
    assert!(other.counts().is_empty());
}

#[test]
fn names_are_unique_and_gains_have_a_last() {
    let hops = Hops::default();
    let hop = || Hop::new("db", Direction::Inbound, classes());
    assert_eq!(hops.install(vec![hop(), hop()]).unwrap_err(), SameName("db".into()));
    assert!(hops.list().is_empty());
    let outlook = Outlook { gain: vec![4.0, 2.0], capacity: None };
    assert_eq!((outlook.gain(0), outlook.gain(7)), (4.0, 2.0));
    assert_eq!(Outlook::default().gain(0), 1.0);
}
