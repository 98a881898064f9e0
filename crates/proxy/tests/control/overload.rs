//! A data path at many times its capacity, and an operator.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use damper_proxy::admin::{self, Options};
use damper_proxy::hop::{Direction, Hop, Hops, Outlook};
use damper_proxy::meters::{ClassSeen, MeterLayer, WaitLayer};
use damper_tower::{ByHeader, Door, DoorLayer, Event, Http, LeverLayer, RespondLayer, headers};
use http::{HeaderValue, Request, Response};
use serde_json::json;
use tower::{Layer as _, ServiceExt as _};

use crate::ask::{get, pull};

const CLASSES: [&str; 2] = ["high", "low"];

/// Callers of either class without patience between calls, before a service of four workers that
/// also burn the processor: the runtime of the data path never rests.
fn saturate(hops: &Hops, ended: Arc<AtomicBool>) -> std::thread::JoinHandle<()> {
    let hop = hops.begin("db", Direction::Inbound, CLASSES.map(str::to_owned).to_vec());
    let by = ByHeader::default().with_names(CLASSES);
    let lever = LeverLayer::with(hop.lever().clone(), by.clone());
    let door = Door::new().with_workers(4).with_queue(64);
    let door = DoorLayer::with(door, Http::default(), by.clone());
    let meters = hop.meters().clone();
    let outlook = Outlook { gain: vec![2.0], capacity: Some(400.0) };
    hops.install(vec![hop.with_lever(&lever).with_door(&door).with_outlook(outlook)]).unwrap();
    let works = tower::service_fn(|_: Request<()>| async {
        for _ in 0..20_000 {
            std::hint::spin_loop();
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
        Ok::<_, Infallible>(Response::new(()))
    });
    let inner = door.layer(WaitLayer::new(meters.clone(), by.clone()).layer(works));
    let inner = lever.layer(RespondLayer::default().layer(inner));
    let service = RespondLayer::default().layer(inner);
    let service = MeterLayer::new(meters, Http::default(), by).layer(service);
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let callers = (0..400).map(|i| {
                let (service, ended) = (service.clone(), ended.clone());
                tokio::spawn(async move {
                    while !ended.load(Ordering::Relaxed) {
                        let mut request = Request::new(());
                        let class = HeaderValue::from_static(CLASSES[i % 2]);
                        request.headers_mut().insert(headers::CLASS, class);
                        let _ = service.clone().oneshot(request).await;
                        tokio::task::yield_now().await;
                    }
                })
            });
            for caller in callers.collect::<Vec<_>>() {
                caller.await.unwrap();
            }
        });
    })
}

/// Waits until something is so, at most twenty seconds.
fn until(what: &str, mut is: impl FnMut() -> bool) {
    for _ in 0..400 {
        if is() {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("not within twenty seconds: {what}");
}

#[test]
#[ignore = "slow: seconds of full overload"]
fn the_lever_is_pulled_during_a_full_overload_and_reverts_by_itself() {
    let (hops, ended) = (Hops::default(), Arc::new(AtomicBool::new(false)));
    let data = saturate(&hops, ended.clone());
    let port = admin::serve(
        "127.0.0.1:0".parse().unwrap(),
        Options { hops: hops.clone(), ..Options::default() },
    );
    let port = port.unwrap();
    let at = port.address();
    let hop: Arc<Hop> = hops.find("db").unwrap();
    let refused = || hop.counts().iter().map(|(_, seen)| seen.refused()).sum::<u64>();
    until("the queue is full", || refused() > 1000);
    let seen = |class: usize| hop.meters().snapshot().classes[class].clone();
    std::thread::sleep(Duration::from_secs(3));

    let before = get(at, "/state").json();
    assert!(before["hops"][0]["all"]["came_rps"].as_f64().unwrap() > 500.0, "{before}");
    let answer = pull(
        at,
        &json!({
            "action": "pause", "classes": ["low"], "for": "4s", "who": "ann", "why": "a storm",
        }),
    );
    assert_eq!(answer.status, 200, "{}", answer.body);
    // From here on nobody of the low class works; who waits already still does.
    let admitted = || {
        let door = hop.counts().into_iter().find(|(name, _)| *name == "door").unwrap().1;
        (door.of(0, Event::Request), door.of(1, Event::Request))
    };
    let then = admitted();
    std::thread::sleep(Duration::from_secs(1));
    let now = admitted();
    assert_eq!(now.1, then.1, "the low class came to the door though it is paused");
    assert!(now.0 > then.0);
    assert!(seen(1).of(damper_control::Outcome::Shed) > 0);
    until("it reverts", || admitted().1 > now.1);
    let lever = get(at, "/lever").json();
    let journal = lever["journal"].as_array().unwrap();
    assert_eq!(journal.len(), 2, "{lever}");
    assert_eq!((&journal[0]["reverted"], &journal[1]["who"]), (&json!(true), &json!("damper")));
    assert!(journal[0]["goodput_before_rps"].as_f64().unwrap() > 0.0, "{lever}");
    assert!(journal[0]["goodput_after_rps"].as_f64().unwrap() > 0.0, "{lever}");
    assert!(get(at, "/metrics").body.contains("damper_requests_total{hop=\"db\""));
    ended.store(true, Ordering::Relaxed);
    data.join().unwrap();
    let left: u64 = hop.meters().snapshot().total(ClassSeen::in_flight);
    assert_eq!(left, 0);
}
