//! The controls of the system file are those that run.

use std::sync::Arc;

use damper_control::Reason;
use damper_control::lever::{Action, Change, ClassSet, Pulled};
use damper_tower::Event;
use http::StatusCode;
use tokio::sync::Semaphore;

use crate::backend::{Backend, echo, reply};
use crate::{SYSTEM, get, inbound, outbound, start};

fn refusals(proxy: &damper_proxy::Proxy, hop: &str, layer: &str, class: u8, reason: Reason) -> u64 {
    let counts = proxy.hops().find(hop).unwrap().counts();
    let (_, seen) = counts.iter().find(|(name, _)| *name == layer).unwrap();
    seen.of(class, Event::Refused(reason))
}

#[tokio::test]
async fn attempts_are_one_more_than_the_limit_of_the_class() {
    let backend = Backend::always(500).await;
    let proxy = start(&outbound(&[backend.address], "", ""), SYSTEM);
    let at = proxy.address("front -> db").unwrap();
    let mut before = 0;
    for (class, attempts) in [("high", 4), ("low", 2), ("0", 4), ("1", 2), ("unknown", 2)] {
        let got = get(at, &[("x-damper-class", class)]).await;
        assert_eq!(got.status, StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!(backend.requests() - before, attempts, "{class}");
        before = backend.requests();
    }
}

#[tokio::test]
async fn a_budget_that_is_empty_refuses() {
    let backend = Backend::always(500).await;
    let system = SYSTEM.replace(
        "limit: {high: 3, low: 1}",
        "limit: {high: 3, low: 1}, budget: {kind: token-bucket, max_tokens: 10, token_ratio: 0.1}",
    );
    let proxy = start(&outbound(&[backend.address], "", ""), &system);
    let at = proxy.address("front -> db").unwrap();
    // Each failure takes a token, and a retry needs more than half of ten: the four attempts of the
    // first call leave six, the one of the second leaves five.
    for attempts in [4, 5, 6] {
        get(at, &[("x-damper-class", "high")]).await;
        assert_eq!(backend.requests(), attempts);
    }
    assert_eq!(refusals(&proxy, "front -> db", "retry", 0, Reason::BudgetExhausted), 2);
}

#[tokio::test]
async fn the_door_sheds_the_low_class_first() {
    let open = Arc::new(Semaphore::new(0));
    let backend = Backend::start({
        let open = open.clone();
        move |_, _| {
            let open = open.clone();
            async move {
                let _ = open.acquire().await;
                reply(200, "")
            }
        }
    })
    .await;
    let system = SYSTEM.replace(
        "db: {workers: 2, queue: 2}",
        "db: {workers: 2, admission: {kind: priority-by-queue, initial_factor: 1, max_factor: 4}}",
    );
    let proxy = start(&inbound(backend.address, "    trust: loopback\n"), &system);
    let at = proxy.address("db").unwrap();
    let door = proxy.hops().find("db").unwrap();
    let shed = |class| refusals(&proxy, "db", "door", class, Reason::Shed);
    // One after the other, in turn. Two work and five wait: half of what comes would have to go,
    // which is all of the low class. With eight waiting it would be the turn of the high one.
    let mut sent = Vec::new();
    for n in 1..=14 {
        let class = if n % 2 == 1 { "high" } else { "low" };
        sent.push(tokio::spawn(async move { get(at, &[("x-damper-class", class)]).await }));
        let met = || {
            let load = door.load().unwrap();
            u64::from(load.working + load.waiting) + shed(0) + shed(1)
        };
        while met() < n {
            tokio::task::yield_now().await;
        }
    }
    assert_eq!((shed(0), shed(1)), (0, 4));
    open.close();
    for (n, got) in sent.into_iter().enumerate() {
        let got = got.await.unwrap();
        let refused = n % 2 == 1 && n >= 7;
        let status = if refused { 503 } else { 200 };
        assert_eq!(got.status.as_u16(), status, "number {n}");
        assert_eq!(got.headers.contains_key("x-damper-refused"), refused);
    }
}

#[tokio::test]
async fn a_queue_that_is_full_refuses_at_once() {
    let open = Arc::new(Semaphore::new(0));
    let backend = Backend::start({
        let open = open.clone();
        move |_, _| {
            let open = open.clone();
            async move {
                let _ = open.acquire().await;
                reply(200, "")
            }
        }
    })
    .await;
    let proxy = start(&inbound(backend.address, ""), SYSTEM);
    let at = proxy.address("db").unwrap();
    let waiting: Vec<_> = (0..4).map(|_| tokio::spawn(get(at, &[]))).collect();
    let door = proxy.hops().find("db").unwrap();
    while door.load().map(|load| (load.working, load.waiting)) != Some((2, 2)) {
        tokio::task::yield_now().await;
    }
    let got = get(at, &[]).await;
    assert_eq!(got.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(got.headers["x-damper-refused"], "queue-full");
    open.close();
    for got in waiting {
        assert_eq!(got.await.unwrap().status, StatusCode::OK);
    }
    assert_eq!(backend.requests(), 4, "what was refused was never sent");
}

#[tokio::test]
async fn a_stranger_has_no_class_and_no_deadline() {
    let backend = Backend::start(|_, request| async move { echo(&request) }).await;
    for (trust, believed) in
        [("none", false), ("[192.0.2.0/24]", false), ("loopback", true), ("[127.0.0.0/8]", true)]
    {
        let proxy = start(&inbound(backend.address, &format!("    trust: {trust}\n")), SYSTEM);
        let at = proxy.address("db").unwrap();
        let forged = [("x-damper-class", "high"), ("x-damper-deadline-ms", "60000")];
        let got = get(at, &forged).await;
        let text = String::from_utf8(got.body.to_vec()).unwrap();
        assert_eq!(text.contains("x-damper-class: high"), believed, "{trust}: {text}");
        assert_eq!(text.contains("x-damper-deadline-ms"), believed, "{trust}: {text}");
        let classes = proxy.hops().find("db").unwrap().meters().snapshot().classes;
        let came: Vec<u64> = classes.iter().map(|class| class.came).collect();
        assert_eq!(came, if believed { [1, 0] } else { [0, 1] }, "{trust}");
    }
}

#[tokio::test]
async fn what_is_left_of_the_time_goes_on_and_ends_the_wait() {
    let backend = Backend::start(|n, request| async move {
        if n == 0 {
            return echo(&request);
        }
        std::future::pending().await
    })
    .await;
    let proxy = start(&inbound(backend.address, "    timeout: 300ms\n"), SYSTEM);
    let at = proxy.address("db").unwrap();
    let got = get(at, &[]).await;
    let text = String::from_utf8(got.body.to_vec()).unwrap();
    let left = text.lines().find_map(|line| line.strip_prefix("x-damper-deadline-ms: "));
    assert!((200..=300).contains(&left.unwrap().parse().unwrap()), "{text}");
    assert_eq!(get(at, &[]).await.status, StatusCode::GATEWAY_TIMEOUT);
}

#[tokio::test]
async fn the_lever_refuses_what_it_is_pulled_for() {
    let backend = Backend::always(200).await;
    let proxy = start(&inbound(backend.address, "    trust: loopback\n"), SYSTEM);
    let at = proxy.address("db").unwrap();
    let hop = proxy.hops().find("db").unwrap();
    let change = Change { action: Action::Pause, classes: ClassSet::of(1), who: "o", why: "w" };
    assert_eq!(hop.lever().pull(change), Pulled::Changed);
    assert_eq!(get(at, &[("x-damper-class", "high")]).await.status, StatusCode::OK);
    let got = get(at, &[("x-damper-class", "low")]).await;
    assert_eq!(
        (got.status.as_u16(), &got.headers["x-damper-refused"]),
        (503, &"lever".parse().unwrap())
    );
    assert_eq!(backend.requests(), 1);
}
