use super::*;
use proptest::prelude::*;

const FORGED: [(&str, &str); 10] = [
    ("x-damper-class", "high"),
    ("x-envoy-max-retries", "100"),
    ("x-envoy-retry-on", "5xx"),
    ("x-envoy-retry-grpc-on", "unavailable"),
    ("x-envoy-upstream-rq-per-try-timeout-ms", "1"),
    ("x-envoy-upstream-rq-timeout-ms", "1"),
    ("x-envoy-upstream-stream-duration-ms", "1"),
    ("x-envoy-attempt-count", "7"),
    ("x-deadline", "9"),
    ("baggage", "class=high,other=1"),
];
const REST: &str = r#""class": {"baggage": "class"}, "deadline": {"header": "x-deadline"}"#;

#[test]
fn a_stranger_has_no_say() {
    for (position, trust) in [("edge", ""), ("inbound", ""), ("inbound", r#", "trust": "none""#)] {
        let mut worker = worker(position, &format!("{REST}{trust}"));
        let (host, _, _) = ask(&mut worker, &FORGED);
        assert_eq!(host.header(headers::CLASS), Some("low"), "{position}{trust}");
        assert_eq!(host.header(headers::BAGGAGE), Some("other=1,class=low"));
        assert_eq!(host.request.len(), 2, "{:?}", host.request);
        assert_eq!(
            counted(&mut worker)[..2],
            [("distrusted_requests".to_owned(), 1), ("distrusted_headers".to_owned(), 10)]
        );
    }
}

#[test]
fn the_mesh_has_a_say() {
    let mut worker = worker("inbound", REST);
    let trusted = |host: &mut Fake, worker: &mut Worker| {
        worker.request(&mut Call::default(), host);
        host.header(headers::CLASS) == Some("high")
    };
    let mut host = Fake::asked(&FORGED);
    host.request.push(("x-envoy-internal".into(), b"true".to_vec()));
    assert!(trusted(&mut host, &mut worker));
    let mut host = Fake::asked(&FORGED);
    host.attributes.insert("connection.mtls".into(), vec![1]);
    assert!(trusted(&mut host, &mut worker));
    let mut host = Fake::asked(&FORGED);
    host.attributes.insert("connection.mtls".into(), vec![0]);
    assert!(!trusted(&mut host, &mut worker));
}

#[test]
fn named_sources_have_a_say() {
    let mut worker = worker("edge", r#""trust": ["10.0.0.0/8", "spiffe://mesh/ns/shop/"]"#);
    for (attribute, value, says) in [
        ("source.address", "10.1.2.3:4567", "high"),
        ("source.address", "11.1.2.3:4567", "low"),
        ("source.address", "nonsense", "low"),
        ("connection.uri_san_peer_certificate", "spiffe://mesh/ns/shop/sa/x", "high"),
        ("connection.uri_san_peer_certificate", "spiffe://mesh/ns/shops", "low"),
    ] {
        let mut host = Fake::asked(&FORGED);
        host.attributes.insert(attribute.into(), value.into());
        worker.request(&mut Call::default(), &mut host);
        assert_eq!(host.header(headers::CLASS), Some(says), "{value}");
    }
}

/// A gateway sends strangers' requests on with an outbound filter: what is written about trust holds
/// there, too, and only what is not written means the service itself.
#[test]
fn written_trust_holds_outbound() {
    for (trust, says) in
        [("", "high"), (r#", "trust": "mesh""#, "low"), (r#", "trust": "none""#, "low")]
    {
        let mut outbound = worker("outbound", &format!("{REST}{trust}"));
        let (host, _, _) = ask(&mut outbound, &FORGED);
        assert_eq!(host.header(headers::CLASS), Some(says), "{trust}");
    }
    let mut outbound = worker("outbound", &format!(r#"{REST}, "trust": "mesh""#));
    let mut host = Fake::asked(&FORGED);
    host.attributes.insert("connection.mtls".into(), vec![1]);
    outbound.request(&mut Call::default(), &mut host);
    assert_eq!(host.header(headers::CLASS), Some("high"));
}

/// Headers may be repeated: each of them counts, and none is lost.
#[test]
fn baggage_may_come_in_several_headers() {
    let baggage = |worker: &mut Worker, values: &[&str], internal: bool| {
        let mut sent: Vec<(&str, &str)> = values.iter().map(|value| ("baggage", *value)).collect();
        if internal {
            sent.push(("x-envoy-internal", "true"));
        }
        let (host, _, _) = ask(worker, &sent);
        let all = host.request.iter().filter(|(name, _)| name == "baggage");
        let all: Vec<String> =
            all.map(|(_, value)| String::from_utf8(value.clone()).unwrap()).collect();
        (all, host.header(headers::CLASS).unwrap().to_owned())
    };
    let mut worker = worker("inbound", r#""class": {"baggage": "class"}"#);
    let long = format!("a={}", "x".repeat(8188));
    for (sent, internal, found, class) in [
        (&["a=1", "b=2"][..], false, "a=1,b=2,class=low", "low"),
        (&["a=1", "class=high,b=2"], false, "a=1,b=2,class=low", "low"),
        (&["class=high", "class=high"], false, "class=low", "low"),
        (&[&long, "class=high"], false, "class=low", "low"),
        (&["class=high", &long], false, "class=low", "low"),
        (&[&long], false, "class=low", "low"),
        (&["a=1", "b=2"], true, "a=1,b=2,class=low", "low"),
    ] {
        let (all, found_class) = baggage(&mut worker, sent, internal);
        assert_eq!((all.join("|").as_str(), found_class.as_str()), (found, class), "{internal}");
    }
    // Who is trusted is heard in the second, and nothing of it is lost.
    let sent = ["a=1", "class=high,b=2"];
    let (all, class) = baggage(&mut worker, &sent, true);
    assert_eq!((all.as_slice(), class.as_str()), (&sent.map(String::from)[..], "high"));
}

#[test]
fn rules_see_all_baggage() {
    let rule =
        r#""class": {"match": [{"class": "high", "baggage": {"key": "user", "exact": "vip"}}]}"#;
    let mut worker = worker("edge", rule);
    let (host, _, _) = ask(&mut worker, &[("baggage", "a=1"), ("baggage", "user=vip")]);
    assert_eq!(host.header(headers::CLASS), Some("high"));
}

/// One important request and a flood with its id: what the service then sends out has the class of
/// what it is done for.
#[test]
fn an_id_from_outside_carries_no_class() {
    const TRACE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    for (by, id) in [("traceparent", TRACE), ("x-request-id", "request-one")] {
        let remember = format!(r#""remember": {{"by": "{by}"}}"#);
        let rest = format!(
            r#""class": {{{remember}, "match": [{{"class": "high", "path_prefix": "/pay"}}]}}"#
        );
        let mut edge = worker("edge", &rest);
        let mut outbound = worker("outbound", &format!(r#""class": {{{remember}}}"#));
        let mut shared = Fake::default();
        let mut ids = Vec::new();
        for (path, class) in [("/pay", "high"), ("/search", "low"), ("/search", "low")] {
            let mut come =
                Fake::asked(&[(":path", path), (by, id), (by, id), ("tracestate", "a=1")]);
            come.shared = std::mem::take(&mut shared.shared);
            edge.request(&mut Call::default(), &mut come);
            let fresh = come.header(by).unwrap().to_owned();
            assert_eq!(come.request.iter().filter(|(name, _)| name == by).count(), 1);
            assert_eq!(come.header("tracestate").is_none(), by == "traceparent");
            shared.shared = come.shared;
            // The application hands on what it got.
            shared.request = vec![(by.to_owned(), fresh.clone().into_bytes())];
            outbound.request(&mut Call::default(), &mut shared);
            assert_eq!(shared.header(headers::CLASS), Some(class), "{by} {path}");
            // What the stranger sent is known to nobody.
            shared.request = vec![(by.to_owned(), id.as_bytes().to_vec())];
            outbound.request(&mut Call::default(), &mut shared);
            assert_eq!(shared.header(headers::CLASS), Some("low"), "{by} {path}");
            ids.push(fresh);
        }
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), 3, "{ids:?}");
    }
}

/// At a gateway, what a stranger sends out is not recognised by an id that it has guessed.
#[test]
fn an_outbound_stranger_is_not_recognised() {
    let remember = r#""class": {"remember": {"by": "x-request-id"}}"#;
    let mut inbound = worker("inbound", remember);
    let mut host = Fake::asked(&[
        ("x-envoy-internal", "true"),
        ("x-damper-class", "high"),
        ("x-request-id", "request-one"),
    ]);
    inbound.request(&mut Call::default(), &mut host);
    assert_eq!(host.shared.len(), 1);
    for (trust, class) in [("", "high"), (r#", "trust": "mesh""#, "low")] {
        let mut outbound = worker("outbound", &format!("{remember}{trust}"));
        host.request = vec![("x-request-id".into(), b"request-one".to_vec())];
        outbound.request(&mut Call::default(), &mut host);
        assert_eq!(host.header(headers::CLASS), Some(class), "{trust}");
    }
}

/// A stranger with no class gets what the rules say, not more.
#[test]
fn rules_apply_to_strangers() {
    let mut worker =
        worker("edge", r#""class": {"match": [{"class": "high", "path_prefix": "/pay"}]}"#);
    for (path, class) in [("/pay/1", "high"), ("/search", "low")] {
        let (host, _, _) = ask(&mut worker, &[(":path", path), ("x-damper-class", "high")]);
        assert_eq!(host.header(headers::CLASS), Some(class));
    }
}

proptest! {
    /// Whatever a stranger sends: nothing panics, the class is that of the rules, and nothing of
    /// what is protected gets through.
    #[test]
    fn any_headers(sent in prop::collection::vec(
        (prop::sample::select(vec![
            "x-damper-class", "x-envoy-max-retries", "x-envoy-retry-on", "x-envoy-attempt-count",
            "baggage", "traceparent", "x-request-id", "x-deadline", ":path", ":authority", "x-tier",
        ]), prop::collection::vec(any::<u8>(), 0..200)), 0..12)
    ) {
        let rest = r#""class": {"baggage": "class", "remember": {"by": "traceparent"}}, "deadline": {"header": "x-deadline"}"#;
        let mut worker = worker("edge", rest);
        let request = sent.iter().map(|(n, v)| ((*n).to_owned(), v.clone())).collect();
        let mut host = Fake { request, ..Fake::default() };
        let mut call = Call::default();
        let verdict = worker.request(&mut call, &mut host);
        prop_assert_eq!(verdict, Verdict::Continue);
        prop_assert_eq!(host.header(headers::CLASS), Some("low"));
        prop_assert!(host.header(headers::MAX_RETRIES).is_none() && host.header(headers::ATTEMPTS).is_none());
        worker.answer(&mut call, &mut host);
        worker.end(&mut call, &mut host);
    }
}
