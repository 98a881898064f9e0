//! Each condition against each end, as published.

use super::*;
use crate::{Outcome, RetryOn};
use std::string::ToString;
use std::vec::Vec;

const RESETS: [Reset; 10] = [
    Reset::ConnectFailure,
    Reset::ConnectTimeout,
    Reset::RefusedStream,
    Reset::GoAway,
    Reset::Closed,
    Reset::TimedOut,
    Reset::DeadlineOver,
    Reset::Overflow,
    Reset::Dropped,
    Reset::Http3PostConnect,
];

fn statuses(on: Conditions) -> Vec<u16> {
    (0..=999).filter(|s| on.retries(&Reply::Answer(Answer::http(*s)))).collect()
}

fn codes(on: Conditions) -> Vec<u8> {
    let answer = |s| Reply::Answer(Answer::grpc(s));
    GrpcStatus::ALL.into_iter().filter(|s| on.retries(&answer(*s))).map(GrpcStatus::code).collect()
}

fn resets(on: Conditions) -> Vec<Reset> {
    let lost = |r| Reply::lost(r, Sent::Something);
    RESETS.into_iter().filter(|r| on.retries(&lost(*r))).collect()
}

fn envoy(list: &str) -> Conditions {
    Conditions::parse(list).unwrap()
}

fn code(code: &str, status: u16) -> Reply<'_> {
    Reply::Answer(Answer { code: Some(code), ..Answer::http(status) })
}

#[test]
fn envoys_words_by_status() {
    assert_eq!(statuses(envoy("5xx")), (500..600).collect::<Vec<_>>());
    assert_eq!(statuses(envoy("gateway-error")), [502, 503, 504]);
    assert_eq!(statuses(envoy("retriable-4xx")), [409], "and no other");
    let listed = envoy("retriable-status-codes").with_statuses(StatusSet::EMPTY.with(425));
    assert_eq!(statuses(listed), [425]);
    for none in
        ["reset", "reset-before-request", "connect-failure", "refused-stream", "unavailable"]
    {
        assert_eq!(statuses(envoy(none)), [], "{none}");
    }
}

#[test]
fn envoys_words_without_a_reply() {
    use Reset::*;
    let any =
        [ConnectFailure, ConnectTimeout, RefusedStream, GoAway, Closed, TimedOut, Http3PostConnect];
    for all in ["5xx", "gateway-error", "reset"] {
        assert_eq!(resets(envoy(all)), any, "{all}");
    }
    assert_eq!(resets(envoy("connect-failure")), [ConnectFailure, ConnectTimeout]);
    assert_eq!(resets(envoy("refused-stream")), [RefusedStream, GoAway]);
    assert_eq!(resets(envoy("http3-post-connect-failure")), [Http3PostConnect]);
    assert_eq!(resets(envoy("unavailable")), [], "only a status in headers");
    let before = envoy("reset-before-request");
    assert_eq!(resets(before), []);
    assert!(before.retries(&Reply::lost(Closed, Sent::Nothing)));
}

#[test]
fn nothing_overrides_the_end_of_a_call_or_a_limit_of_ones_own() {
    let all = WORDS.iter().fold(Conditions::AWS_STANDARD, |all, (_, one)| all | *one);
    let all = all | Conditions::grpc(GrpcSet::XDS) | Conditions::TIMEOUT;
    for reset in [Reset::DeadlineOver, Reset::Overflow, Reset::Dropped] {
        for sent in [Sent::Nothing, Sent::Something] {
            assert!(!all.retries(&Reply::lost(reset, sent)), "{reset:?}");
        }
    }
    let committed = |answer| Reply::Answer(Answer { committed: true, ..answer });
    assert!(!all.retries(&committed(Answer::http(503))));
    assert!(!all.retries(&committed(Answer::grpc(GrpcStatus::Unavailable))));
}

#[test]
fn a_ratelimited_reply_asks_one_condition_only() {
    let reply = |s| Reply::Answer(Answer { ratelimited: true, ..Answer::http(s) });
    assert!(!envoy("5xx,gateway-error").retries(&reply(503)));
    assert!(envoy("envoy-ratelimited").retries(&reply(429)));
    assert!(envoy("5xx,envoy-ratelimited").retries(&reply(503)));
    assert!(!envoy("envoy-ratelimited").retries(&Reply::Answer(Answer::http(429))));
    let overloaded = Answer { overloaded: true, ..Answer::http(503) };
    assert!(envoy("5xx").retries(&Reply::Answer(overloaded)), "no such rule any more");
}

#[test]
fn grpc_retries_its_list_and_takes_a_lost_reply_for_unavailable() {
    let five = [1, 4, 8, 13, 14];
    assert_eq!(codes(Conditions::grpc(GrpcSet::XDS)), five);
    let words = "cancelled,deadline-exceeded,internal,resource-exhausted,unavailable";
    assert_eq!(codes(envoy(words)), five);
    let only = Conditions::grpc(GrpcSet::EMPTY.with(GrpcStatus::Unavailable));
    assert_eq!(codes(only), [14]);
    assert!(only.retries(&Reply::lost(Reset::Closed, Sent::Something)));
    let other = Conditions::grpc(GrpcSet::EMPTY.with(GrpcStatus::Internal));
    assert!(!other.retries(&Reply::lost(Reset::Closed, Sent::Something)));
    assert!(GrpcSet::EMPTY.with(GrpcStatus::Ok).is_empty(), "success is never retried");
}

#[test]
fn grpc_statuses_by_code_and_by_name_in_any_case() {
    for (code, status) in (0u32..).zip(GrpcStatus::ALL) {
        assert_eq!(GrpcStatus::from_code(code), Some(status));
        assert_eq!(GrpcStatus::parse(status.name()), Some(status));
        assert_eq!(GrpcStatus::parse(&status.name().to_lowercase()), Some(status));
        assert_eq!(GrpcStatus::parse(&code.to_string()), Some(status));
    }
    for no in ["17", "-1", "", "BROKEN"] {
        assert_eq!(GrpcStatus::parse(no), None, "{no:?}");
    }
}

#[test]
fn aws_knows_throttling_by_its_code_alone() {
    let standard = Conditions::AWS_STANDARD;
    assert_eq!(statuses(standard), [500, 502, 503, 504]);
    assert_eq!(statuses(Conditions::AWS_LEGACY), [429, 500, 502, 503, 504, 509]);
    for name in THROTTLING_CODES {
        assert!(Conditions::AWS_THROTTLING.retries(&code(name, 400)), "{name}");
        assert_eq!(code(name, 400).outcome(), Outcome::Rejected, "{name}");
    }
    for name in TRANSIENT_CODES {
        assert!(Conditions::AWS_TRANSIENT.retries(&code(name, 400)), "{name}");
    }
    for name in ["AccessDenied", "throttling", "", "Throttling "] {
        assert!(!standard.retries(&code(name, 400)), "{name:?}");
    }
    let both = ErrorClass::of("PriorRequestNotComplete").unwrap();
    assert!(both.transient && both.throttling);
    let modeled = Answer { modeled: true, ..Answer::http(409) };
    assert!(standard.retries(&Reply::Answer(modeled)));
    assert_eq!(resets(standard).len(), 7, "all that goes wrong with a connection");
}

#[test]
fn linkerd_retries_timeouts_and_refused_streams_but_no_lost_connection() {
    let on = Conditions::linkerd(StatusSet::parse("5xx").unwrap(), GrpcSet::EMPTY);
    assert_eq!(resets(on), [Reset::RefusedStream, Reset::GoAway, Reset::TimedOut]);
    assert_eq!(statuses(on), (500..600).collect::<Vec<_>>());
}

#[test]
fn an_unsafe_call_is_retried_only_if_no_work_was_done() {
    let on = (envoy("5xx,reset,refused-stream,envoy-ratelimited") | Conditions::AWS_STANDARD)
        .with_grpc(GrpcSet::XDS)
        .for_unsafe_calls();
    use Reset::*;
    assert_eq!(resets(on), [ConnectFailure, ConnectTimeout, RefusedStream, GoAway]);
    assert!(on.retries(&Reply::lost(Closed, Sent::Nothing)));
    assert_eq!(statuses(on), []);
    assert!(on.retries(&Reply::Answer(Answer { overloaded: true, ..Answer::http(503) })));
    assert!(on.retries(&Reply::Answer(Answer { ratelimited: true, ..Answer::http(429) })));
    assert!(codes(on).is_empty(), "RESOURCE_EXHAUSTED can also be a reply that became too large");
    let exhausted = Answer { overloaded: true, ..Answer::grpc(GrpcStatus::ResourceExhausted) };
    assert!(on.retries(&Reply::Answer(exhausted)), "but not if the server says why");
    assert!(on.retries(&code("SlowDown", 503)));
    assert!(!(on | envoy("5xx")).retries(&Reply::lost(Closed, Sent::Something)), "it sticks");
}

#[test]
fn methods_by_the_rfc() {
    for method in ["GET", "HEAD", "OPTIONS", "TRACE"] {
        assert!(is_safe(method) && is_idempotent(method), "{method}");
    }
    for method in ["PUT", "DELETE"] {
        assert!(!is_safe(method) && is_idempotent(method), "{method}");
    }
    for method in ["POST", "PATCH", "CONNECT", "get", "", "MOVE"] {
        assert!(!is_safe(method) && !is_idempotent(method), "{method}");
    }
}

#[test]
fn every_end_has_an_outcome() {
    use Outcome::*;
    let http = |s| Reply::Answer(Answer::http(s)).outcome();
    for (status, outcome) in [
        (200, Success),
        (304, Success),
        (400, Failed),
        (408, Failed),
        (425, Rejected),
        (429, Rejected),
        (500, Failed),
        (502, FailedBelow),
        (503, Failed),
        (504, FailedBelow),
        (0, Failed),
        (999, Failed),
    ] {
        assert_eq!(http(status), outcome, "{status}");
    }
    let lost = |r, s| Reply::lost(r, s).outcome();
    for (reset, nothing, something) in [
        (Reset::ConnectFailure, Rejected, Rejected),
        (Reset::ConnectTimeout, TimedOut, TimedOut),
        (Reset::RefusedStream, Rejected, Rejected),
        (Reset::GoAway, Rejected, Rejected),
        (Reset::Closed, Rejected, Failed),
        (Reset::TimedOut, TimedOut, TimedOut),
        (Reset::DeadlineOver, TimedOut, TimedOut),
        (Reset::Overflow, Rejected, Rejected),
        (Reset::Dropped, Shed, Shed),
        (Reset::Http3PostConnect, Rejected, Failed),
    ] {
        assert_eq!(lost(reset, Sent::Nothing), nothing, "{reset:?}");
        assert_eq!(lost(reset, Sent::Something), something, "{reset:?}");
    }
    let grpc = |s| Reply::Answer(Answer::grpc(s)).outcome();
    assert_eq!(grpc(GrpcStatus::Ok), Success);
    assert_eq!(grpc(GrpcStatus::ResourceExhausted), Rejected);
    assert_eq!(grpc(GrpcStatus::DeadlineExceeded), TimedOut);
    assert_eq!(grpc(GrpcStatus::Unavailable), Failed);
}

#[test]
fn a_bad_request_is_a_failure_that_does_not_blame_the_callee() {
    let blames = |s| Reply::Answer(Answer::http(s)).blames_request();
    assert!(blames(400) && blames(404) && blames(409));
    assert!(!blames(200) && !blames(408) && !blames(429) && !blames(500) && !blames(503));
    let of = |s| Reply::Answer(Answer::grpc(s)).blames_request();
    let blamed: Vec<u8> =
        GrpcStatus::ALL.into_iter().filter(|s| of(*s)).map(GrpcStatus::code).collect();
    assert_eq!(blamed, [1, 3, 5, 6, 7, 9, 11, 12, 16]);
    assert!(!code("SlowDown", 400).blames_request());
    assert!(!Reply::lost(Reset::Closed, Sent::Something).blames_request());
    assert!(!RetryOn::BEFORE_WORK.contains(Outcome::Failed));
}

#[test]
fn lists_are_read_with_exact_errors() {
    assert_eq!(envoy(" 5xx ,,reset,"), Conditions::FIVE_XX | Conditions::RESET);
    assert!(envoy("").is_empty());
    for (name, conditions) in WORDS {
        assert_eq!(envoy(name), conditions, "{name}");
        assert!(!conditions.is_empty(), "{name}");
    }
    let error = Conditions::parse("5xx, gateway_error,reset").unwrap_err();
    assert_eq!((error.word, error.at), ("gateway_error", 5));
    assert_eq!(
        error.to_string(),
        "`gateway_error` at byte 5 is not a condition that Envoy knows, such as 5xx, \
         connect-failure or unavailable"
    );
    assert_eq!(Conditions::parse_leniently("5xx, gateway_error,reset"), envoy("5xx,reset"));
    assert!(Conditions::parse("5XX").is_err(), "words are in lower case");
}

#[test]
fn statuses_are_read_with_exact_errors() {
    let set = StatusSet::parse("429, 502-504,1xx").unwrap();
    let all: Vec<u16> = (0..1000).filter(|s| set.contains(*s)).collect();
    assert_eq!(all, (100..200).chain([429, 502, 503, 504]).collect::<Vec<_>>());
    assert_eq!(StatusSet::parse("gateway-error").unwrap(), StatusSet::EMPTY.with_range(502, 504));
    assert_eq!(StatusSet::parse(""), Ok(StatusSet::EMPTY));
    for no in ["99", "600", "504-502", "6xx", "5x", "+50", "500-", "0500", "fail"] {
        let list = std::format!("500,{no}");
        let error = StatusSet::parse(&list).unwrap_err();
        assert_eq!((error.word, error.at), (no, 4));
    }
    let header = Conditions::statuses_leniently("503, x, 70000,409");
    assert_eq!(header, StatusSet::EMPTY.with(503).with(409));
    assert_eq!(StatusSet::EMPTY.with(99).with(600), StatusSet::EMPTY);
    assert_eq!(StatusSet::EMPTY.with_range(0, u16::MAX), StatusSet::EMPTY.with_range(100, 599));
}
