//! Upstreams that are dead, slow, silent, that reset and that close: calls end in time, and none that
//! must not be made twice is.

use std::time::{Duration, Instant};

use crate::raw::{self, Does, Recorder, exchange, ok, status};
use crate::side::Sidecar;

/// Attempts of a call of the highest class, as the policy of [`Sidecar::calls`] has it.
const ATTEMPTS: usize = 3;

/// Sends one request; its status, 0 if there is no reply.
fn ask(port: u16, method: &str, path: &str, headers: &str) -> u16 {
    let text = format!(
        "{method} {path} HTTP/1.1\r\nhost: back\r\n{headers}content-length: 2\r\nconnection: close\r\n\r\nxy"
    );
    let answer = exchange(port, text.as_bytes(), Duration::from_secs(20));
    answer.statuses.first().copied().unwrap_or(0)
}

#[test]
fn a_dead_upstream_is_an_error_at_once() {
    let sidecar = Sidecar::calls(&[crate::side::free_port()]);
    for method in ["GET", "POST"] {
        let status = ask(sidecar.port(), method, "/", "");
        assert!(matches!(status, 502..=504), "{method}: {status}");
    }
}

#[test]
fn one_that_is_dead_beside_one_that_is_not_costs_no_call() {
    let origin = Recorder::good();
    let sidecar = Sidecar::calls(&[crate::side::free_port(), origin.port]);
    for number in 0..20 {
        // Nothing was sent to the dead one, so this is safe for every method.
        let method = ["GET", "POST"][number % 2];
        assert_eq!(ask(sidecar.port(), method, "/", ""), 200, "{method} {number}");
    }
    assert_eq!(origin.count(), 20);
}

#[test]
fn slow_and_silent_upstreams_are_given_up_in_time() {
    for does in [Does::Silent, Does::Waits(Duration::from_secs(3), ok("late"))] {
        for (method, attempts) in [("GET", ATTEMPTS), ("POST", 1)] {
            let this = does.clone();
            let origin = Recorder::start(move |_, _| this.clone());
            let sidecar = Sidecar::calls(&[origin.port]);
            let status = ask(sidecar.port(), method, "/", "x-damper-class: high\r\n");
            assert_eq!(status, 504, "{method} {does:?}");
            raw::eventually("all attempts arrive", || origin.count() >= attempts);
            assert_eq!(origin.count(), attempts, "{method} {does:?}");
        }
    }
}

#[test]
fn upstreams_that_break_off_are_tried_again_only_where_that_is_safe() {
    for does in [Does::Closes, Does::Resets] {
        for (method, attempts) in [("GET", ATTEMPTS), ("PUT", ATTEMPTS), ("POST", 1)] {
            let this = does.clone();
            let origin = Recorder::start(move |_, _| this.clone());
            let sidecar = Sidecar::calls(&[origin.port]);
            let status = ask(sidecar.port(), method, "/", "x-damper-class: high\r\n");
            assert!(matches!(status, 502 | 503), "{method} {does:?}: {status}");
            assert_eq!(origin.count(), attempts, "{method} {does:?}");
        }
    }
}

/// The other side closes a connection just when the next request goes over it.
#[test]
fn a_connection_that_was_closed_meanwhile_loses_nothing() {
    let origin = Recorder::start(|_, _| Does::AnswersAndCloses(ok("ok")));
    let sidecar = Sidecar::calls(&[origin.port]);
    let mut good = 0;
    for number in 0..100 {
        let method = ["GET", "POST"][number % 2];
        let status = ask(sidecar.port(), method, &format!("/{number}"), "");
        assert!(status == 200 || method == "POST", "{method} {number}: {status}");
        good += usize::from(status == 200);
    }
    let seen = origin.seen();
    for number in 0..100 {
        let path = format!("/{number}");
        let count = seen.requests.iter().filter(|request| request.target() == path).count();
        assert!(count <= 1 + usize::from(number % 2 == 0), "{path} arrived {count} times");
    }
    assert!(good >= 90, "{good} of 100");
}

#[test]
fn a_reply_that_breaks_off_is_not_passed_on_as_whole() {
    let part = b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\npart".to_vec();
    let chunk = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\npart\r\n".to_vec();
    for reply in [part, chunk] {
        let origin = Recorder::start(move |_, _| Does::AnswersAndCloses(reply.clone()));
        let sidecar = Sidecar::calls(&[origin.port]);
        let request = b"GET / HTTP/1.1\r\nhost: back\r\n\r\n";
        let answer = exchange(sidecar.port(), request, Duration::from_secs(5));
        assert!(answer.closed, "{}", answer.text());
        assert!(answer.statuses.is_empty() || answer.statuses == [502], "{}", answer.text());
        assert_eq!(origin.count(), 1, "its head was passed on, so it cannot be tried again");
    }
}

#[test]
fn push_back_is_obeyed() {
    let origin = Recorder::start(|_, number| {
        Does::Answers(if number == 0 { status(503, "retry-after: 1\r\n") } else { ok("ok") })
    });
    let sidecar = Sidecar::calls(&[origin.port]);
    let begun = Instant::now();
    assert_eq!(ask(sidecar.port(), "GET", "/", "x-damper-class: high\r\n"), 200);
    assert!(begun.elapsed() >= Duration::from_millis(990), "after {:?}", begun.elapsed());
    assert_eq!(origin.count(), 2);
    for stop in ["grpc-retry-pushback-ms: -1\r\n", "retry-after: 86400\r\n"] {
        let origin = Recorder::start(move |_, _| Does::Answers(status(503, stop)));
        let sidecar = Sidecar::calls(&[origin.port]);
        assert_eq!(ask(sidecar.port(), "GET", "/", "x-damper-class: high\r\n"), 503);
        assert_eq!(origin.count(), 1, "{stop}");
    }
}
