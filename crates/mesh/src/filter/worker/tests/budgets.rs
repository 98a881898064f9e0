use super::*;
use proptest::prelude::*;

fn drive(worker: &mut Worker, requests: usize, answer_with: &[(&str, &str)]) -> (u32, u32) {
    let (mut granted, mut none) = (0, 0);
    for _ in 0..requests {
        let (host, mut call, _) =
            ask(worker, &[(":authority", "callee"), ("x-damper-class", "high")]);
        let limit: u32 = host.header(headers::MAX_RETRIES).unwrap().parse().unwrap();
        granted += limit;
        none += u32::from(limit == 0);
        let attempts = (limit + 1).to_string();
        let mut headers = answer_with.to_vec();
        headers.push(("x-envoy-attempt-count", &attempts));
        answer(worker, &mut call, &headers);
    }
    (granted, none)
}

/// Each budget refuses under an outage, and counts it.
#[test]
fn each_budget_refuses_in_an_outage() {
    for (budget, most) in [
        (r#"{"kind": "token-bucket", "max_tokens": 10}"#, 10),
        (r#"{"kind": "ratio", "percent": 20, "min_per_s": 0}"#, 25),
        (r#"{"kind": "arb"}"#, 30),
    ] {
        let rest = format!(r#""retry": {{"limit": 5, "budget": {budget}}}"#);
        let mut worker = worker("outbound", &rest);
        let (granted, none) = drive(&mut worker, 100, &[(":status", "503")]);
        assert!(granted <= most, "{budget}: {granted} retries");
        assert!(none >= 80, "{budget}: {none} requests without retries");
        let denied = of(&mut worker, 0, PerClass::DeniedByBudget);
        assert_eq!(denied, u64::from(500 - granted), "{budget}");
    }
}

#[test]
fn without_failures_no_budget_is_in_the_way() {
    for budget in [
        r#"{"kind": "token-bucket", "max_tokens": 10}"#,
        r#"{"kind": "ratio", "percent": 20, "min_per_s": 1}"#,
    ] {
        let rest = format!(r#""retry": {{"limit": 5, "budget": {budget}}}"#);
        let mut worker = worker("outbound", &rest);
        for _ in 0..100 {
            let (host, mut call, _) = ask(&mut worker, &[("x-damper-class", "high")]);
            assert_eq!(host.header(headers::MAX_RETRIES), Some("5"), "{budget}");
            answer(&mut worker, &mut call, &[(":status", "200"), ("x-envoy-attempt-count", "1")]);
        }
        assert_eq!(of(&mut worker, 0, PerClass::DeniedByBudget), 0);
    }
}

#[test]
fn overloaded_from_below_is_heard_and_passed_on() {
    let arb = r#""retry": {"limit": 5, "budget": {"kind": "arb"}}, "edges": [{"host": "callee"}]"#;
    let (mut outbound, mut inbound) = (worker("outbound", arb), worker("inbound", ""));
    let (_, mut call, _) = ask(&mut outbound, &[(":authority", "callee")]);
    let said =
        [(":status", "503"), ("x-envoy-attempt-count", "1"), ("x-damper-overloaded", "true")];
    answer(&mut outbound, &mut call, &said);
    let (host, _, _) = ask(&mut outbound, &[(":authority", "callee")]);
    assert_eq!(host.header(headers::MAX_RETRIES), Some("0"));

    let mut shared = Fake { now: Nanos::from_secs(1_700_000_000), ..Fake::default() };
    outbound.tick(&mut shared);
    inbound.tick(&mut shared);
    let (_, mut call, _) = ask(&mut inbound, &[("x-envoy-internal", "true")]);
    let host = answer(&mut inbound, &mut call, &[(":status", "200")]);
    assert_eq!(host.response.len(), 2, "callers are told: {:?}", host.response);
    // Nobody says it again.
    shared.now = shared.now + Nanos::from_secs(3);
    for _ in 0..5 {
        inbound.tick(&mut shared);
    }
    let (_, mut call, _) = ask(&mut inbound, &[("x-envoy-internal", "true")]);
    assert_eq!(answer(&mut inbound, &mut call, &[(":status", "200")]).response.len(), 1);
}

/// Whoever answers could cut our retries, and those of our callers: only who is named is believed.
#[test]
fn overloaded_is_believed_of_destinations_that_are_named() {
    for (authority, key, heard) in [
        ("callee:80", "", true),
        ("elsewhere", "", false),
        ("elsewhere", r#", "overloaded": true"#, true),
        ("callee", r#", "overloaded": false"#, false),
    ] {
        let mut outbound = worker(
            "outbound",
            &format!(
                r#""retry": {{"limit": 5, "budget": {{"kind": "arb"}}{key}}}, "edges": [{{"host": "callee"}}]"#
            ),
        );
        let to = [(":authority", authority)];
        let (_, mut call, _) = ask(&mut outbound, &to);
        let said =
            [(":status", "503"), ("x-envoy-attempt-count", "1"), ("x-damper-overloaded", "true")];
        answer(&mut outbound, &mut call, &said);
        let mut shared = Fake { now: Nanos::from_secs(1_700_000_000), ..Fake::default() };
        outbound.tick(&mut shared);
        assert_eq!(!shared.shared.is_empty(), heard, "{authority}{key}");
        let told = counted(&mut outbound).iter().any(|(name, _)| name == "overloaded");
        assert_eq!(told, heard, "{authority}{key}");
    }
}

/// Strangers do not learn that the service is overloaded.
#[test]
fn overloaded_is_not_told_at_the_edge() {
    for (position, told) in [("inbound", true), ("edge", false)] {
        let mut worker = worker(position, "");
        let now = Nanos::from_secs(1_700_000_000);
        let mut shared = Fake { now, ..Fake::default() };
        let until = now + Nanos::from_secs(1);
        shared.shared.insert(OVERLOADED_KEY.into(), until.0.to_le_bytes().to_vec());
        worker.tick(&mut shared);
        let (_, mut call, _) = ask(&mut worker, &[]);
        let host = answer(&mut worker, &mut call, &[(":status", "200")]);
        assert_eq!(host.response.len() == 2, told, "{position}");
    }
}

#[test]
fn a_host_that_asks_for_time_gets_no_retries_until_then() {
    for (header, value, wait_s) in [
        ("retry-after", "3", 3),
        ("grpc-retry-pushback-ms", "2000", 2),
        ("grpc-retry-pushback-ms", "-1", 1),
    ] {
        let mut worker =
            worker("outbound", r#""retry": {"limit": {"high": 5, "low": 1}, "pushback": true}"#);
        let told = |worker: &mut Worker, authority: &str| {
            let (host, call, _) =
                ask(worker, &[(":authority", authority), ("x-damper-class", "high")]);
            (host.header(headers::MAX_RETRIES).unwrap().to_owned(), call)
        };
        let (limit, mut call) = told(&mut worker, "callee:80");
        assert_eq!(limit, "5");
        let said = [(":status", "503"), (header, value), ("x-envoy-attempt-count", "1")];
        answer(&mut worker, &mut call, &said);
        assert_eq!(told(&mut worker, "callee").0, "0");
        assert_eq!(told(&mut worker, "another").0, "5");
        assert_eq!(of(&mut worker, 0, PerClass::DeniedByPushback), 5);
        let start = 1_700_000_000;
        for (at, limit) in [(wait_s - 1, "0"), (wait_s, "5")] {
            worker.tick(&mut Fake { now: Nanos::from_secs(start + at), ..Fake::default() });
            assert_eq!(told(&mut worker, "callee").0, limit, "{header}: {value} after {at} s");
        }
    }
}

/// A destination that sheds low does not take the retries of high; and what says nothing about the
/// destination is not minded.
#[test]
fn pushback_does_not_turn_priorities_round() {
    let wait = ("retry-after", "30");
    for (class, said, high, low) in [
        ("low", &[(":status", "503"), wait][..], "5", "0"),
        ("high", &[(":status", "503"), wait], "0", "0"),
        ("high", &[(":status", "429"), wait], "0", "0"),
        ("high", &[(":status", "200"), ("grpc-status", "14"), wait], "0", "0"),
        ("high", &[(":status", "200"), wait], "5", "1"),
        ("high", &[(":status", "200"), ("grpc-status", "0"), wait], "5", "1"),
        ("high", &[(":status", "301"), wait], "5", "1"),
        ("low", &[(":status", "503"), ("x-damper-refused", "lever"), wait], "5", "1"),
        ("high", &[(":status", "503"), ("x-damper-refused", "lever"), wait], "5", "1"),
    ] {
        let mut worker =
            worker("outbound", r#""retry": {"limit": {"high": 5, "low": 1}, "pushback": true}"#);
        let of_class = |worker: &mut Worker, class| {
            let (host, call, _) =
                ask(worker, &[(":authority", "callee"), ("x-damper-class", class)]);
            (host.header(headers::MAX_RETRIES).unwrap().to_owned(), call)
        };
        let (_, mut call) = of_class(&mut worker, class);
        answer(&mut worker, &mut call, said);
        assert_eq!(of_class(&mut worker, "high").0, high, "{class} {said:?}");
        assert_eq!(of_class(&mut worker, "low").0, low, "{class} {said:?}");
    }
}

#[test]
fn attempts_come_from_the_header_or_from_the_books() {
    let mut worker = worker("outbound", r#""retry": {"limit": 5}"#);
    let (_, mut call, _) = ask(&mut worker, &[]);
    let mut host = Fake::default();
    host.attributes.insert("upstream.request_attempt_count".into(), 4u64.to_le_bytes().to_vec());
    worker.answer(&mut call, &mut host);
    assert_eq!(of(&mut worker, 1, PerClass::Attempts), 4);
    for nonsense in ["0", "99999", "x", ""] {
        let (_, mut call, _) = ask(&mut worker, &[]);
        answer(&mut worker, &mut call, &[("x-envoy-attempt-count", nonsense)]);
        // A second answer and an end after an answer are nothing new.
        answer(&mut worker, &mut call, &[("x-envoy-attempt-count", "9")]);
        worker.end(&mut call, &mut Fake::default());
        let counted = counted(&mut worker);
        assert!(counted.contains(&("attempts_unknown".to_owned(), 1)), "{counted:?}");
        assert!(counted.contains(&("class.low.attempts".to_owned(), 1)), "{counted:?}");
    }
    let (_, mut call, _) = ask(&mut worker, &[]);
    worker.end(&mut call, &mut Fake::default());
    assert_eq!(of(&mut worker, 1, PerClass::Unanswered), 1);
}

/// Where the route does not set the header, it is that of whoever answered.
#[test]
fn who_answers_does_not_say_how_many_attempts_there_were() {
    let budget = r#", "budget": {"kind": "ratio", "percent": 100, "min_per_s": 0}"#;
    for (budget, books, counted) in
        [("", None, 6), ("", Some(3u64), 6), (budget, None, 2), (budget, Some(2), 2)]
    {
        let mut worker = worker("outbound", &format!(r#""retry": {{"limit": 5{budget}}}"#));
        let (_, mut call, _) = ask(&mut worker, &[]);
        let mut host = Fake::default();
        host.answered(&[(":status", "503"), ("x-envoy-attempt-count", "900")]);
        if let Some(books) = books {
            let bytes = books.to_le_bytes().to_vec();
            host.attributes.insert("upstream.request_attempt_count".into(), bytes);
        }
        worker.answer(&mut call, &mut host);
        assert_eq!(of(&mut worker, 1, PerClass::Attempts), counted, "{budget} {books:?}");
    }
}

/// One that says fewer than there were does not get retries for nothing.
#[test]
fn who_answers_does_not_hide_attempts() {
    let mut worker = worker(
        "outbound",
        r#""retry": {"limit": 5, "budget": {"kind": "ratio", "percent": 20, "min_per_s": 0}}"#,
    );
    let mut granted = 0;
    for _ in 0..100 {
        let (host, mut call, _) = ask(&mut worker, &[]);
        let limit: u64 = host.header(headers::MAX_RETRIES).unwrap().parse().unwrap();
        granted += limit;
        let mut host = Fake::default();
        host.answered(&[(":status", "503"), ("x-envoy-attempt-count", "1")]);
        let bytes = (limit + 1).to_le_bytes().to_vec();
        host.attributes.insert("upstream.request_attempt_count".into(), bytes);
        worker.answer(&mut call, &mut host);
    }
    assert_eq!(granted, 20);
}

/// Whom Envoy tells that a request with so many attempts has ended; 99: nobody knows.
fn end(worker: &mut Worker, call: &mut Call, attempts: u64) {
    let mut host = Fake::default();
    if attempts != 99 {
        let bytes = attempts.to_le_bytes().to_vec();
        host.attributes.insert("upstream.request_attempt_count".into(), bytes);
    }
    worker.end(call, &mut host);
}

/// The destination hangs and callers give up: no answer ever comes, and still each budget refuses.
#[test]
fn each_budget_refuses_when_callers_give_up() {
    for (budget, most) in [
        (r#"{"kind": "token-bucket", "max_tokens": 10}"#, 10),
        (r#"{"kind": "ratio", "percent": 20, "min_per_s": 0}"#, 25),
        (r#"{"kind": "arb"}"#, 30),
    ] {
        for told in [true, false] {
            let rest = format!(
                r#""retry": {{"limit": 5, "on": ["timeout"], "per_try_timeout_ms": 10, "budget": {budget}}}"#
            );
            let mut worker = worker("outbound", &rest);
            let mut granted = 0;
            for _ in 0..100 {
                let (host, mut call, _) = ask(&mut worker, &[("x-damper-class", "high")]);
                let limit: u64 = host.header(headers::MAX_RETRIES).unwrap().parse().unwrap();
                granted += limit;
                end(&mut worker, &mut call, if told { limit + 1 } else { 99 });
            }
            assert!(granted <= most, "{budget} {told}: {granted} retries");
            let denied = of(&mut worker, 0, PerClass::DeniedByBudget);
            assert_eq!(denied, 500 - granted, "{budget} {told}");
        }
    }
}

/// A caller that leaves before the first attempt, or where timeouts are not retried, says nothing
/// about the destination.
#[test]
fn leaving_early_is_no_failure() {
    for (on, attempts, left) in [("timeout", 0, 5), ("rejected", 1, 5), ("timeout", 1, 0)] {
        let rest = format!(
            r#""retry": {{"limit": 5, "on": ["{on}"], "budget": {{"kind": "token-bucket", "max_tokens": 10}}}}"#
        );
        let mut worker = worker("outbound", &rest);
        for _ in 0..10 {
            let (_, mut call, _) = ask(&mut worker, &[]);
            end(&mut worker, &mut call, attempts);
        }
        assert_eq!(of(&mut worker, 1, PerClass::Attempts), attempts * 10);
        let (host, _, _) = ask(&mut worker, &[]);
        assert_eq!(host.header(headers::MAX_RETRIES), Some(&*left.to_string()), "{on} {attempts}");
    }
}

proptest! {
    /// Answered or given up, told or not, in any order: retries are at most the share of requests,
    /// and once those that requests in flight were allowed.
    #[test]
    fn the_share_holds_however_requests_end(
        asks in prop::collection::vec((0u64..=5, 0usize..20, 0u8..3), 1..300)
    ) {
        let mut worker = worker(
            "outbound",
            r#""retry": {"limit": 5, "budget": {"kind": "ratio", "percent": 20, "min_per_s": 0}}"#,
        );
        let mut flying: Vec<(Call, u64, u64, u8)> = Vec::new();
        let (mut requests, mut retries, mut out, mut most_out) = (0.0, 0, 0, 0);
        for (used, in_flight, how) in asks {
            let (host, call, _) = ask(&mut worker, &[]);
            let granted: u64 = host.header(headers::MAX_RETRIES).unwrap().parse().unwrap();
            requests += 1.0;
            out += granted;
            most_out = most_out.max(out);
            flying.push((call, granted, used.min(granted), how));
            while flying.len() > in_flight {
                let (mut call, granted, used, how) = flying.remove(0);
                out -= granted;
                retries += used;
                match how {
                    0 => {
                        let attempts = (used + 1).to_string();
                        answer(&mut worker, &mut call, &[("x-envoy-attempt-count", &attempts)]);
                    }
                    1 => end(&mut worker, &mut call, used + 1),
                    _ => end(&mut worker, &mut call, 99),
                }
            }
        }
        let bound = requests * 0.2 + most_out as f64;
        prop_assert!(retries as f64 <= bound, "{} of {} requests, bound {}", retries, requests, bound);
    }
}
