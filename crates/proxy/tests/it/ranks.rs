//! DAGOR between processes: the rank of a user and the level of a callee travel in headers.

use std::sync::Arc;
use std::time::Duration;

use damper_control::Reason;
use damper_tower::Event;
use http::{HeaderValue, StatusCode};
use tokio::sync::Semaphore;

use crate::backend::{Backend, echo, reply};
use crate::{Got, SYSTEM, get, inbound, outbound, start};

const RANKED: &str = "    rank: X-Rank\n    flow: X-User\n";

/// The door of `db` with this admission rule.
fn system(rule: &str) -> String {
    SYSTEM.replace(
        "db: {workers: 2, queue: 2}",
        &format!("db: {{workers: 1, queue: 100, admission: {rule}}}"),
    )
}

/// What the service behind it was told, line by line.
fn told(got: &Got) -> Vec<String> {
    let lines = String::from_utf8_lossy(&got.body).lines().map(str::to_owned).collect::<Vec<_>>();
    lines.into_iter().filter(|line| line.starts_with("x-rank: ")).collect()
}

#[tokio::test]
async fn a_rank_is_believed_of_those_whose_class_is_and_passed_on() {
    let backend = Backend::start(|_, request| async move { echo(&request) }).await;
    for (trust, said, passed) in [
        ("loopback", &[("x-rank", "5")][..], Some("x-rank: 5")),
        ("loopback", &[("x-rank", "128")], None),
        ("loopback", &[("x-rank", "nobody")], None),
        ("loopback", &[], None),
        ("none", &[("x-rank", "5")], None),
    ] {
        let config = inbound(backend.address, &format!("    trust: {trust}\n{RANKED}"));
        let proxy = start(&config, &system("dagor"));
        let at = proxy.address("db").unwrap();
        let got = get(at, said).await;
        assert_eq!(told(&got), passed.into_iter().collect::<Vec<_>>(), "{trust} {said:?}");
        assert_eq!(got.headers.get("x-damper-level").unwrap(), "2047", "everybody comes in");
        // Who is told apart by the flow has a rank for all services behind this one, of a stranger
        // as well.
        let user = [("x-user", "ann")];
        let with: Vec<_> = said.iter().copied().chain(user).collect();
        let rank = |got: &Got| -> u32 { told(got)[0][8..].parse().unwrap() };
        let (first, second) = (rank(&get(at, &with).await), rank(&get(at, &with).await));
        assert!(first == second && first < 128, "{trust} {said:?}: {first}, {second}");
    }
}

#[tokio::test]
async fn a_door_whose_rule_tells_nothing_tells_nothing() {
    let backend = Backend::start(|_, _| async {
        let mut answer = reply(200, "");
        // Of another door, behind this service.
        answer.headers_mut().insert("x-damper-level", HeaderValue::from_static("3"));
        answer
    });
    let proxy = start(&inbound(backend.await.address, ""), SYSTEM);
    let got = get(proxy.address("db").unwrap(), &[]).await;
    assert!(!got.headers.contains_key("x-damper-level"), "{:?}", got.headers);
}

#[tokio::test]
async fn in_overload_the_level_falls_and_is_told_with_refusals_as_well() {
    let open = Arc::new(Semaphore::new(0));
    let backend = Backend::start({
        let open = open.clone();
        move |_, _| {
            let open = open.clone();
            async move {
                let _ = open.acquire().await;
                tokio::time::sleep(Duration::from_millis(5)).await;
                reply(200, "")
            }
        }
    })
    .await;
    let config = inbound(backend.address, &format!("    trust: loopback\n{RANKED}"));
    let rule = "{kind: dagor, window: 1h, requests: 20, target: 1ms, alpha: 50%}";
    let proxy = start(&config, &system(rule));
    let at = proxy.address("db").unwrap();
    let ask = |rank: u32, class: &'static str| async move {
        get(at, &[("x-damper-class", class), ("x-rank", &rank.to_string())]).await
    };
    let all: Vec<_> = (0..20).map(|rank| tokio::spawn(ask(rank, "low"))).collect();
    while backend.requests() == 0 {
        tokio::task::yield_now().await;
    }
    open.close();
    for one in all {
        assert_eq!(one.await.unwrap().status, StatusCode::OK);
    }
    // Half of the twenty, which were 128 to 147, go.
    let refused = ask(127, "low").await;
    assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(refused.headers.get("x-damper-refused").unwrap(), "shed");
    let level: u32 = refused.headers["x-damper-level"].to_str().unwrap().parse().unwrap();
    assert!((128..147).contains(&level), "{level}");
    for (rank, class) in [(127, "high"), (0, "low")] {
        assert_eq!(ask(rank, class).await.status, StatusCode::OK, "{class} {rank}");
    }
}

#[tokio::test]
async fn callers_do_not_send_what_the_callee_would_turn_away() {
    let backend = Backend::start(|_, _| async {
        let mut answer = reply(200, "");
        // The low class up to rank 2.
        answer.headers_mut().insert("x-damper-level", HeaderValue::from_static("130"));
        answer
    })
    .await;
    let config = outbound(&[backend.address], "    rank: x-rank\n", "");
    let proxy = start(&config, SYSTEM);
    let at = proxy.address("front -> db").unwrap();
    let ask = async |class: &'static str, rank: &str| {
        get(at, &[("x-damper-class", class), ("x-rank", rank)]).await
    };
    assert_eq!(ask("low", "3").await.status, StatusCode::OK, "nothing was heard yet");
    let refused = ask("low", "3").await;
    assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(refused.headers.get("x-damper-refused").unwrap(), "shed");
    assert_eq!(backend.requests(), 1, "it was not sent, and not tried again");
    let counts = proxy.hops().find("front -> db").unwrap().counts();
    let sent = &counts.iter().find(|(layer, _)| *layer == "send").unwrap().1;
    let shed = Event::Refused(Reason::Shed);
    assert_eq!([0, 1].map(|class| sent.of(class, shed)), [0, 1], "of low, and counted");
    assert_eq!(ask("low", "2").await.status, StatusCode::OK);
    assert_eq!(ask("high", "127").await.status, StatusCode::OK);
    // What it said is believed for a second, else whoever is turned away never hears anything else.
    tokio::time::sleep(Duration::from_millis(1100)).await;
    assert_eq!(ask("low", "3").await.status, StatusCode::OK);
    assert_eq!(backend.requests(), 4);
}
