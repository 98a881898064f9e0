use super::*;

const LIMITS: &str = r#""retry": {"limit": {"high": 5, "low": 1}}"#;

#[test]
fn the_class_sets_the_limit() {
    let mut worker = worker("outbound", LIMITS);
    for (headers, class, limit) in [
        (&[("x-damper-class", "high")][..], "high", "5"),
        (&[("x-damper-class", "low")], "low", "1"),
        (&[("x-damper-class", "HIGH")], "low", "1"),
        (&[], "low", "1"),
    ] {
        let (host, _, verdict) = ask(&mut worker, headers);
        assert_eq!(verdict, Verdict::Continue);
        assert_eq!(host.header(headers::MAX_RETRIES), Some(limit), "{headers:?}");
        assert_eq!(host.header(headers::CLASS), Some(class), "{headers:?}");
    }
    assert_eq!(
        counted(&mut worker),
        [
            ("class.high.requests".to_owned(), 1),
            ("class.high.retries_granted".to_owned(), 5),
            ("class.low.requests".to_owned(), 3),
            ("class.low.retries_granted".to_owned(), 3),
        ]
    );
}

/// What a request costs: one header asked for and one set, if it carries its class.
#[test]
fn a_request_asks_its_host_twice() {
    let mut worker = worker("outbound", LIMITS);
    let (host, mut call, _) = ask(&mut worker, &[("x-damper-class", "high"), (":authority", "a")]);
    assert_eq!(host.calls, 2);
    let host = answer(&mut worker, &mut call, &[("x-envoy-attempt-count", "3")]);
    assert_eq!(host.calls, 1);
    assert_eq!(of(&mut worker, 0, PerClass::Attempts), 3);
}

/// Whoever may not be retried was tried once: there is nothing to ask.
#[test]
fn an_answer_without_retries_asks_nothing() {
    let mut worker = worker("outbound", r#""retry": {"limit": {"high": 5}}"#);
    let (host, mut call, _) = ask(&mut worker, &[("x-damper-class", "low")]);
    assert_eq!(host.calls, 2);
    assert_eq!(answer(&mut worker, &mut call, &[("x-envoy-attempt-count", "1")]).calls, 0);
    assert_eq!(of(&mut worker, 1, PerClass::Attempts), 1);
}

#[test]
fn the_first_rule_that_fits_decides() {
    let rules = r#""class": {"baggage": "class", "match": [
        {"class": "high", "path_prefix": "/pay", "method": "POST", "host": "shop"},
        {"class": "high", "header": {"name": "x-tier", "exact": "gold"}},
        {"class": "high", "header": {"name": "x-plan", "prefix": "pro"}},
        {"class": "high", "header": {"name": "x-there"}},
        {"class": "high", "baggage": {"key": "user", "exact": "vip"}}]}"#;
    let mut worker = worker("outbound", rules);
    let pay = [(":path", "/pay/1"), (":method", "POST"), (":authority", "shop:80")];
    for (headers, class) in [
        (&pay[..], "high"),
        (&[(":path", "/pay/1"), (":method", "GET"), (":authority", "shop")], "low"),
        (&[("x-tier", "gold")], "high"),
        (&[("x-tier", "golden")], "low"),
        (&[("x-plan", "pro-2")], "high"),
        (&[("x-there", "")], "high"),
        (&[("baggage", "user=vip;p=1")], "high"),
        (&[("baggage", "user=me, class=high")], "high"),
        (&[("x-damper-class", "low"), ("x-tier", "gold")], "low"),
    ] {
        let (host, _, _) = ask(&mut worker, headers);
        assert_eq!(host.header(headers::CLASS), Some(class), "{headers:?}");
        let baggage = host.header(headers::BAGGAGE).unwrap();
        assert!(baggage.ends_with(&format!("class={class}")), "{baggage}");
    }
}

#[test]
fn edges_have_their_own_limits_and_conditions() {
    let mut worker = worker(
        "outbound",
        r#""retry": {"limit": {"high": 5, "low": 1}, "on": ["rejected"], "status_codes": [503], "per_try_timeout_ms": 250},
           "edges": [{"host": "search", "path_prefix": "/slow", "retry": {"limit": 0}},
                     {"host": "*.far", "retry": {"limit": {"high": 2}, "on": ["5xx"], "per_try_timeout_ms": 900}}]"#,
    );
    let mut told = |authority: &str, path: &str, class: &str| {
        let (host, _, _) = ask(
            &mut worker,
            &[(":authority", authority), (":path", path), ("x-damper-class", class)],
        );
        let get = |name: &str| host.header(name).unwrap_or("-").to_owned();
        [headers::MAX_RETRIES, headers::RETRY_ON, headers::STATUS_CODES, headers::PER_TRY_TIMEOUT]
            .map(get)
            .join(" ")
    };
    let usual = "refused-stream,retriable-status-codes 503 250";
    assert_eq!(told("search:80", "/", "high"), format!("5 {usual}"));
    assert_eq!(told("search:80", "/slow", "high"), "0 - - 250", "no retries, so no conditions");
    assert_eq!(told("a.far", "/", "high"), "2 5xx - 900");
    assert_eq!(told("a.far", "/", "low"), "0 - - 900", "a class that is not named has none");
    assert_eq!(told("other", "/", "low"), format!("1 {usual}"));
}

#[test]
fn a_route_without_a_word_stays_as_it_is() {
    let mut worker = worker("outbound", "");
    let (host, mut call, _) = ask(&mut worker, &[("x-damper-class", "high")]);
    assert_eq!(host.request.len(), 1);
    answer(&mut worker, &mut call, &[("x-envoy-attempt-count", "2")]);
    assert_eq!(of(&mut worker, 0, PerClass::Attempts), 2);
}

/// The application forwards `traceparent` and nothing of ours.
#[test]
fn a_trace_carries_the_class_through_an_application() {
    const TRACE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    const NEXT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-1111111111111111-01";
    const OTHER: &str = "00-5bf92f3577b34da6a3ce929d0e0e4736-1111111111111111-01";
    let remember = r#""class": {"remember": {"by": "traceparent", "capacity": 64}}"#;
    let mut inbound = worker("inbound", &format!(r#"{remember}, "trust": "mesh""#));
    let mut outbound = worker("outbound", remember);
    let come =
        |class| [("x-envoy-internal", "true"), ("x-damper-class", class), ("traceparent", TRACE)];

    let (low, _, _) = ask(&mut inbound, &come("low"));
    assert!(low.shared.is_empty(), "the default class needs no memory");

    let (mut high, _, _) = ask(&mut inbound, &come("high"));
    high.request = vec![("traceparent".into(), NEXT.into())];
    outbound.request(&mut Call::default(), &mut high);
    assert_eq!(high.header(headers::CLASS), Some("high"));

    high.request = vec![("traceparent".into(), OTHER.into())];
    outbound.request(&mut Call::default(), &mut high);
    assert_eq!(high.header(headers::CLASS), Some("low"));
    let counted = counted(&mut outbound);
    assert_eq!(counted[..2], [("remembered".to_owned(), 1), ("forgotten".to_owned(), 1)]);
}

/// Both sides know the classes by name, whatever their order.
#[test]
fn a_remembered_class_has_a_name() {
    let mut host = Fake::asked(&[
        ("x-envoy-internal", "true"),
        ("x-damper-class", "high"),
        ("x-request-id", "request-one"),
    ]);
    let remember = r#""class": {"remember": {"by": "x-request-id"}}"#;
    worker("inbound", remember).request(&mut Call::default(), &mut host);
    for (classes, found) in [
        (r#"["top", "high", "low"]"#, "high"),
        (r#"["low", "high"]"#, "high"),
        (r#"["top", "low"]"#, "low"),
    ] {
        let json = format!(
            r#"{{"damper": 1, "position": "outbound", "classes": {classes}, "default_class": "low", {remember}}}"#
        );
        let config = read(json.as_bytes()).unwrap();
        let mut outbound = Worker::new(&config, Nanos::from_secs(1_700_000_000), 7);
        host.request = vec![("x-request-id".into(), b"request-one".to_vec())];
        outbound.request(&mut Call::default(), &mut host);
        assert_eq!(host.header(headers::CLASS), Some(found), "{classes}");
    }
}

#[test]
fn deadlines_get_shorter_at_each_hop() {
    let deadline = r#""deadline": {"header": "x-deadline", "margin_ms": 5, "default_ms": 900, "max_ms": 1000}"#;
    let mut worker = worker("outbound", deadline);
    for (told, left) in [
        ("100", Some("95")),
        ("5000", Some("995")),
        ("", Some("895")),
        ("x", Some("895")),
        ("5", None),
        ("0", None),
    ] {
        let (host, _, verdict) = ask(&mut worker, &[("x-deadline", told)]);
        if let Some(left) = left {
            assert_eq!(verdict, Verdict::Continue);
            assert_eq!(host.header("x-deadline"), Some(left), "{told}");
            assert_eq!(host.header(headers::TIMEOUT), Some(left), "{told}");
        } else {
            assert!(matches!(verdict, Verdict::Reply(Reply { status: 504, .. })), "{told}");
        }
    }
    assert_eq!(of(&mut worker, 1, PerClass::RefusedByDeadline), 2);
}

/// An application forwards the header that it got and not what is left of it.
#[test]
fn time_in_the_application_counts() {
    let rest =
        r#""class": {"remember": {"by": "x-request-id"}}, "deadline": {"header": "x-deadline"}"#;
    let (mut inbound, mut outbound) = (worker("inbound", rest), worker("outbound", rest));
    let start = Nanos::from_secs(1_700_000_000);
    let mut host = Fake::asked(&[
        ("x-envoy-internal", "true"),
        ("x-request-id", "request-one"),
        ("x-deadline", "100"),
    ]);
    host.now = start;
    inbound.request(&mut Call::default(), &mut host);
    assert_eq!(host.header("x-deadline"), Some("100"));
    host.now = start + Nanos::from_millis(30);
    outbound.request(&mut Call::default(), &mut host);
    assert_eq!(host.header("x-deadline"), Some("70"));
    host.now = start + Nanos::from_millis(100);
    let verdict = outbound.request(&mut Call::default(), &mut host);
    assert!(matches!(verdict, Verdict::Reply(Reply { status: 504, .. })));
}
