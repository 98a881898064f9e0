use super::*;

fn let_in(worker: &mut Worker, class: &str, n: usize) -> usize {
    (0..n).filter(|_| ask(worker, &[("x-damper-class", class)]).2 == Verdict::Continue).count()
}

#[test]
fn classes_are_held_back_apart() {
    let mut worker = worker("outbound", r#""lever": {"low": {"throttle": 0.25}}"#);
    assert_eq!(let_in(&mut worker, "low", 400), 100);
    assert_eq!(let_in(&mut worker, "high", 400), 400);
    assert_eq!(of(&mut worker, 1, PerClass::RefusedByLever), 300);
}

#[test]
fn a_refusal_is_one_that_nobody_retries() {
    let mut worker = worker("outbound", r#""lever": {"low": {"pause": true}}"#);
    let Verdict::Reply(reply) = ask(&mut worker, &[]).2 else { panic!("let in") };
    let names: Vec<&str> = reply.headers.iter().map(|(name, _)| *name).collect();
    assert_eq!((reply.status, names[0], names[1]), (503, "retry-after", "x-envoy-ratelimited"));
    assert_eq!(let_in(&mut worker, "high", 1), 1);
}

#[test]
fn a_ramp_opens_with_time() {
    let mut worker = worker(
        "inbound",
        r#""trust": "none", "lever": {"low": {"ramp": {"from": 0, "to": 1, "over_s": 10}}}"#,
    );
    let start = 1_700_000_000;
    for (after_s, share) in [(0, 0), (5, 50), (10, 100)] {
        worker.tick(&mut Fake { now: Nanos::from_secs(start + after_s), ..Fake::default() });
        let found = let_in(&mut worker, "low", 100);
        assert!(found.abs_diff(share) <= 1, "{found} after {after_s} s");
    }
}

/// An operator pulls it at one listener, and all workers follow.
#[test]
fn it_is_pulled_at_run_time() {
    let (mut desk, mut worker) =
        (worker("lever", ""), worker("outbound", r#""lever": {"low": {"throttle": 1}}"#));
    let mut host = Fake { now: Nanos::from_secs(1_700_000_001), ..Fake::default() };
    let mut pull = |host: &mut Fake, value: Option<&str>| {
        host.request = value
            .map(|v| ("x-damper-lever".to_owned(), v.as_bytes().to_vec()))
            .into_iter()
            .collect();
        let Verdict::Reply(reply) = desk.request(&mut Call::default(), host) else { panic!() };
        (reply.status, reply.body)
    };
    assert_eq!(pull(&mut host, None), (200, "as configured\n".into()));
    assert_eq!(pull(&mut host, Some(r#"{"low": {"pause": true}}"#)).0, 200);
    assert_eq!(pull(&mut host, None).1, "{\"low\": {\"pause\": true}}\n");
    let follow = |host: &mut Fake, worker: &mut Worker| {
        (0..SHARED_TICKS).for_each(|_| worker.tick(host));
        let_in(worker, "low", 10)
    };
    assert_eq!(follow(&mut host, &mut worker), 0);
    let (status, body) = pull(&mut host, Some(r#"{"lwo": {"pause": true}}"#));
    assert_eq!(status, 400);
    assert!(body.contains("lever.lwo") && body.contains("`low`"), "{body}");
    assert_eq!(follow(&mut host, &mut worker), 0, "what is wrong changes nothing");
    assert_eq!(pull(&mut host, Some("")).0, 200);
    assert_eq!(follow(&mut host, &mut worker), 10, "as configured");
    host.shared.insert(LEVER_KEY.into(), b"12345678nonsense".to_vec());
    assert_eq!(follow(&mut host, &mut worker), 10);
    assert!(counted(&mut worker).contains(&("lever_problems".to_owned(), 1)));
}

/// What is written about trust holds for the lever, too.
#[test]
fn only_who_is_trusted_pulls_it() {
    for (trust, address, status) in [
        ("", "203.0.113.9:80", 200),
        (r#""trust": ["10.0.0.0/8"]"#, "10.1.2.3:80", 200),
        (r#""trust": ["10.0.0.0/8"]"#, "203.0.113.9:80", 403),
        (r#""trust": "mesh""#, "203.0.113.9:80", 403),
        (r#""trust": "none""#, "10.1.2.3:80", 403),
    ] {
        for headers in [&[("x-damper-lever", r#"{"low": {"pause": true}}"#)][..], &[]] {
            let mut desk = worker("lever", trust);
            let mut host = Fake::asked(headers);
            host.attributes.insert("source.address".into(), address.into());
            let Verdict::Reply(reply) = desk.request(&mut Call::default(), &mut host) else {
                panic!("let through")
            };
            assert_eq!(reply.status, status, "{trust} {address}");
            let pulled = status == 200 && !headers.is_empty();
            assert_eq!(host.shared.contains_key(LEVER_KEY), pulled, "{trust} {address}");
        }
    }
}
