//! Messages that two readers could read in two ways (RFC 9112, 9110, 9113): each is refused, or
//! arrives as the one request that the standards make of it.
//!
//! Every input hides a request for `/smuggled` where a careless reader would find one. The service
//! behind must never see it.

use std::io::Write as _;
use std::time::Duration;

use crate::raw::{self, Does, Recorder, exchange};
use crate::side::Sidecar;

/// What must become of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Must {
    /// An error of the client's (or 501, 505) or no reply at all; the connection is closed; nothing
    /// arrives.
    Refuse,
    /// As many requests arrive as it has, with this body in the first.
    Pass(usize, &'static str),
    /// Standards leave the choice between the two.
    Either(&'static str),
    /// The same; whoever lets it pass closes the connection after it.
    Once(&'static str),
}

use Must::{Either, Once, Pass, Refuse};

/// An input: a name, the section that decides, the bytes, and what must become of them.
type Row = (&'static str, &'static str, &'static [u8], Must);

const HIDDEN: &str = "/smuggled";

/// Framing.
const LENGTHS: &[Row] = &[
    (
        "a request as it should be",
        "RFC 9112, 6.3",
        b"POST /fine HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\nhello",
        Pass(1, "hello"),
    ),
    (
        "two requests one after the other",
        "RFC 9112, 9.3.2",
        b"GET /fine HTTP/1.1\r\nhost: a\r\n\r\nGET /fine HTTP/1.1\r\nhost: a\r\n\r\n",
        Pass(2, ""),
    ),
    (
        "chunks as they should be",
        "RFC 9112, 7.1",
        b"POST /fine HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        Pass(1, "hello"),
    ),
    (
        "a length, then chunks",
        "RFC 9112, 6.3 (3)",
        b"POST /fine HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n23\r\nGET /smuggled HTTP/1.1\r\nhost: a\r\n\r\n\r\n0\r\n\r\n",
        Once("GET /smuggled HTTP/1.1\r\nhost: a\r\n\r\n"),
    ),
    (
        "chunks, then a length",
        "RFC 9112, 6.3 (3)",
        b"POST /fine HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\ncontent-length: 60\r\n\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nhost: a\r\n\r\n",
        Once(""),
    ),
    (
        "two lengths that differ",
        "RFC 9112, 6.3 (5)",
        b"POST /fine HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\ncontent-length: 38\r\n\r\nGET /smuggled HTTP/1.1\r\nhost: a\r\n\r\n",
        Refuse,
    ),
    (
        "a list of lengths that differ",
        "RFC 9112, 6.3 (5)",
        b"POST /fine HTTP/1.1\r\nhost: a\r\ncontent-length: 0, 38\r\n\r\nGET /smuggled HTTP/1.1\r\nhost: a\r\n\r\n",
        Refuse,
    ),
    (
        "two lengths that are the same",
        "RFC 9110, 8.6",
        b"POST /fine HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\ncontent-length: 5\r\n\r\nhello",
        Either("hello"),
    ),
    (
        "a list of the same length",
        "RFC 9110, 8.6",
        b"POST /fine HTTP/1.1\r\nhost: a\r\ncontent-length: 5, 5\r\n\r\nhello",
        Either("hello"),
    ),
    (
        "a length with a sign",
        "RFC 9110, 8.6",
        b"POST /fine HTTP/1.1\r\nhost: a\r\ncontent-length: +5\r\n\r\nhello",
        Refuse,
    ),
    (
        "a negative length",
        "RFC 9110, 8.6",
        b"POST /fine HTTP/1.1\r\nhost: a\r\ncontent-length: -1\r\n\r\nGET /smuggled HTTP/1.1\r\nhost: a\r\n\r\n",
        Refuse,
    ),
    (
        "a length in base 16",
        "RFC 9110, 8.6",
        b"POST /fine HTTP/1.1\r\nhost: a\r\ncontent-length: 0x5\r\n\r\nhello",
        Refuse,
    ),
    (
        "a length with a space in it",
        "RFC 9110, 8.6",
        b"POST /fine HTTP/1.1\r\nhost: a\r\ncontent-length: 0 5\r\n\r\nhello",
        Refuse,
    ),
    (
        "an empty length",
        "RFC 9110, 8.6",
        b"POST /fine HTTP/1.1\r\nhost: a\r\ncontent-length: \r\n\r\nGET /smuggled HTTP/1.1\r\nhost: a\r\n\r\n",
        Refuse,
    ),
    (
        "a length beyond any number",
        "RFC 9110, 8.6",
        b"POST /fine HTTP/1.1\r\nhost: a\r\ncontent-length: 18446744073709551617\r\n\r\nx",
        Refuse,
    ),
];

/// Transfer codings and chunks.
const CHUNKS: &[Row] = &[
    (
        "chunked is not last",
        "RFC 9112, 6.3 (4)",
        b"POST /fine HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked, identity\r\n\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nhost: a\r\n\r\n",
        Refuse,
    ),
    (
        "a coding that nobody knows",
        "RFC 9112, 6.1",
        b"POST /fine HTTP/1.1\r\nhost: a\r\ntransfer-encoding: xchunked\r\n\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nhost: a\r\n\r\n",
        Refuse,
    ),
    (
        "a coding before chunked",
        "RFC 9112, 6.1",
        b"POST /fine HTTP/1.1\r\nhost: a\r\ntransfer-encoding: gzip, chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        Refuse,
    ),
    (
        "chunked twice",
        "RFC 9112, 6.1",
        b"POST /fine HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked, chunked\r\n\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nhost: a\r\n\r\n",
        Refuse,
    ),
    (
        "chunked, and another line that is not",
        "RFC 9112, 6.3 (4)",
        b"POST /fine HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\ntransfer-encoding: identity\r\n\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nhost: a\r\n\r\n",
        Refuse,
    ),
    (
        "chunked behind a vertical tab",
        "RFC 9110, 5.5",
        b"POST /fine HTTP/1.1\r\nhost: a\r\ntransfer-encoding: \x0bchunked\r\n\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nhost: a\r\n\r\n",
        Refuse,
    ),
    (
        "chunked in quotes",
        "RFC 9112, 6.1",
        b"POST /fine HTTP/1.1\r\nhost: a\r\ntransfer-encoding: \"chunked\"\r\n\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nhost: a\r\n\r\n",
        Refuse,
    ),
    (
        "chunks in HTTP/1.0",
        "RFC 9112, 6.1",
        b"POST /fine HTTP/1.0\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nhost: a\r\n\r\n",
        Refuse,
    ),
    (
        "a chunk whose size has a prefix",
        "RFC 9112, 7.1",
        b"POST /fine HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n0x5\r\nhello\r\n0\r\n\r\n",
        Refuse,
    ),
    (
        "a chunk of negative size",
        "RFC 9112, 7.1",
        b"POST /fine HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n-5\r\nhello\r\n0\r\n\r\n",
        Refuse,
    ),
    (
        "a chunk whose size overflows",
        "RFC 9112, 7.1",
        b"POST /fine HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n10000000000000005\r\nhello\r\n0\r\n\r\n",
        Refuse,
    ),
    (
        "a chunk without a size",
        "RFC 9112, 7.1",
        b"POST /fine HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n\r\nhello\r\n0\r\n\r\n",
        Refuse,
    ),
    (
        "a chunk that is longer than it says",
        "RFC 9112, 7.1",
        b"POST /fine HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n3\r\nhello\r\n0\r\n\r\n",
        Refuse,
    ),
    (
        "a line feed alone after a chunk's size",
        "RFC 9112, 7.1",
        b"POST /fine HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n5\nhello\r\n0\r\n\r\n",
        Refuse,
    ),
    (
        "a line feed alone in a chunk's extension",
        "RFC 9112, 7.1.1",
        b"POST /fine HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n2;\nxx\r\n4c\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nhost: a\r\n\r\n0\r\n\r\n",
        Refuse,
    ),
    (
        "a chunk with an extension",
        "RFC 9112, 7.1.1",
        b"POST /fine HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n5;name=value\r\nhello\r\n0\r\n\r\n",
        Either("hello"),
    ),
    (
        "trailers that say a length",
        "RFC 9110, 6.5.1",
        b"POST /fine HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\ncontent-length: 60\r\nx-damper-class: high\r\n\r\n",
        Either("hello"),
    ),
];

/// Lines and names.
const LINES: &[Row] = &[
    (
        "a space before the colon",
        "RFC 9112, 5.1",
        b"POST /fine HTTP/1.1\r\nhost: a\r\ntransfer-encoding : chunked\r\ncontent-length: 5\r\n\r\nhello",
        Refuse,
    ),
    (
        "a tab before the colon",
        "RFC 9112, 5.1",
        b"GET /fine HTTP/1.1\r\nhost: a\r\nx-one\t: 1\r\n\r\n",
        Refuse,
    ),
    (
        "a folded line",
        "RFC 9112, 5.2",
        b"POST /fine HTTP/1.1\r\nhost: a\r\nx-one: 1\r\n transfer-encoding: chunked\r\ncontent-length: 5\r\n\r\nhello",
        Refuse,
    ),
    (
        "a space before the first header",
        "RFC 9112, 2.2",
        b"GET /fine HTTP/1.1\r\n host: b\r\nhost: a\r\n\r\n",
        Refuse,
    ),
    (
        "a header without a name",
        "RFC 9110, 5.1",
        b"GET /fine HTTP/1.1\r\nhost: a\r\n: value\r\n\r\n",
        Refuse,
    ),
    (
        "a line without a colon",
        "RFC 9112, 5",
        b"GET /fine HTTP/1.1\r\nhost: a\r\nno colon here\r\n\r\n",
        Refuse,
    ),
    (
        "a zero byte in a value",
        "RFC 9110, 5.5",
        b"GET /fine HTTP/1.1\r\nhost: a\r\nx-one: 1\x002\r\n\r\n",
        Refuse,
    ),
    (
        "a carriage return alone in a value",
        "RFC 9112, 2.2",
        b"GET /fine HTTP/1.1\r\nhost: a\r\nx-one: 1\rtransfer-encoding: chunked\r\n\r\n",
        Refuse,
    ),
    (
        "lines that end in a line feed alone",
        "RFC 9112, 2.2",
        b"GET /fine HTTP/1.1\nhost: a\n\n",
        Either(""),
    ),
    (
        "a length behind a line feed alone",
        "RFC 9112, 2.2",
        b"POST /fine HTTP/1.1\r\nhost: a\r\nx-one: 1\ncontent-length: 5\r\n\r\nhello",
        Either("hello"),
    ),
    (
        "an empty line before the request",
        "RFC 9112, 2.2",
        b"\r\nGET /fine HTTP/1.1\r\nhost: a\r\n\r\n",
        Either(""),
    ),
    (
        "a name with a letter that is none",
        "RFC 9110, 5.6.2",
        b"GET /fine HTTP/1.1\r\nhost: a\r\nx(one): 1\r\n\r\n",
        Refuse,
    ),
];

/// The first line, and the host.
const TARGETS: &[Row] = &[
    (
        "no host",
        "RFC 9112, 3.2",
        b"GET /fine HTTP/1.1\r\n\r\n",
        Refuse,
    ),
    (
        "two hosts",
        "RFC 9112, 3.2",
        b"GET /fine HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n",
        Refuse,
    ),
    (
        "a host that is none",
        "RFC 9112, 3.2",
        b"GET /fine HTTP/1.1\r\nhost: a b/c@d\r\n\r\n",
        Refuse,
    ),
    (
        "a target with a host of its own",
        "RFC 9112, 3.2.2",
        b"GET http://b/fine HTTP/1.1\r\nhost: a\r\n\r\n",
        Either(""),
    ),
    (
        "a target that is a host",
        "RFC 9112, 3.2.3",
        b"GET a:80 HTTP/1.1\r\nhost: a:80\r\n\r\n",
        Refuse,
    ),
    (
        "a tunnel",
        "RFC 9110, 9.3.6",
        b"CONNECT a:80 HTTP/1.1\r\nhost: a:80\r\n\r\nGET /smuggled HTTP/1.1\r\nhost: a\r\n\r\n",
        Refuse,
    ),
    (
        "a target with a space",
        "RFC 9112, 3",
        b"GET /fine /smuggled HTTP/1.1\r\nhost: a\r\n\r\n",
        Refuse,
    ),
    (
        "a version that is none",
        "RFC 9112, 2.3",
        b"GET /fine HTTP/1.2x\r\nhost: a\r\n\r\n",
        Refuse,
    ),
    (
        "another major version",
        "RFC 9110, 15.6.6",
        b"GET /fine HTTP/3.1\r\nhost: a\r\n\r\n",
        Refuse,
    ),
    (
        "a version in lower case",
        "RFC 9112, 2.3",
        b"GET /fine http/1.1\r\nhost: a\r\n\r\n",
        Refuse,
    ),
    (
        "no version",
        "RFC 9112, 3",
        b"GET /fine\r\nhost: a\r\n\r\n",
        Refuse,
    ),
    (
        "a method that is none",
        "RFC 9110, 9.1",
        b"GE{T /fine HTTP/1.1\r\nhost: a\r\n\r\n",
        Refuse,
    ),
    (
        "a fragment",
        "RFC 9112, 3.2",
        b"GET /fine#/../smuggled HTTP/1.1\r\nhost: a\r\n\r\n",
        Either(""),
    ),
    (
        "an upgrade to HTTP/2 in clear text",
        "RFC 9113, 3.1",
        b"GET /fine HTTP/1.1\r\nhost: a\r\nconnection: upgrade, http2-settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABkAAQAAP__\r\n\r\n",
        Either(""),
    ),
];

/// Silence that means that nothing more will come.
const QUIET: Duration = Duration::from_millis(400);

fn try_rows(rows: &[Row]) {
    let origin = Recorder::good();
    let sidecar = Sidecar::before(origin.port);
    let mut wrong = Vec::new();
    for (name, section, bytes, must) in rows {
        origin.take();
        let answer = exchange(sidecar.port(), bytes, QUIET);
        let seen = origin.take();
        let refused = seen.requests.is_empty()
            && answer.statuses.iter().all(|status| (400..=505).contains(status) && *status != 502)
            && answer.closed;
        let passed = |count: usize, body: &str| {
            seen.requests.len() == count
                && answer.statuses == vec![200; count]
                && seen.requests[0].body == body.as_bytes()
                && seen.requests.iter().all(|request| request.target() == "/fine")
                && seen.requests.iter().all(clean)
        };
        let right = match must {
            Refuse => refused,
            Pass(count, body) => passed(*count, body),
            Either(body) => refused || passed(1, body),
            Once(body) => refused || passed(1, body) && answer.closed,
        };
        let hidden = seen.requests.iter().any(|request| request.first.contains(HIDDEN));
        // A request whose body breaks off may have begun to arrive.
        let begun = seen.left.iter().all(|left| left.starts_with(b"POST /fine HTTP/1.1\r\n"));
        if !right || hidden || !begun {
            let statuses = &answer.statuses;
            wrong.push(format!(
                "{name} ({section}): {must:?}, but statuses {statuses:?}, closed {}, arrived {seen:?}",
                answer.closed
            ));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
    // Whatever came before, it still serves.
    let answer = exchange(sidecar.port(), rows_of_a_good_one(), QUIET);
    assert_eq!(answer.statuses, [200], "{}", answer.text());
}

fn rows_of_a_good_one() -> &'static [u8] {
    b"GET /fine HTTP/1.1\r\nhost: a\r\n\r\n"
}

/// What arrives can be read in one way only.
fn clean(request: &raw::Message) -> bool {
    let count = |wanted: &str| request.headers.iter().filter(|(name, _)| name == wanted).count();
    count("content-length") + count("transfer-encoding") <= 1
        && count("host") == 1
        && count("upgrade") == 0
        && count("http2-settings") == 0
        && request.header("transfer-encoding").is_none_or(|coding| coding == "chunked")
}

#[test]
fn lengths_that_can_be_read_in_two_ways() {
    try_rows(LENGTHS);
}

#[test]
fn codings_and_chunks_that_can_be_read_in_two_ways() {
    try_rows(CHUNKS);
}

#[test]
fn lines_that_can_be_read_in_two_ways() {
    try_rows(LINES);
}

#[test]
fn targets_that_can_be_read_in_two_ways() {
    try_rows(TARGETS);
}

/// A server that answers more than it was asked for: what is left over is no reply to whoever is next.
#[test]
fn a_reply_too_many_reaches_nobody() {
    let evil = b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil";
    let origin = Recorder::start(move |request, _| match request.target() {
        "/two" => Does::Answers([raw::ok("one"), evil.to_vec()].concat()),
        _ => Does::Answers(raw::ok("ok")),
    });
    let sidecar = Sidecar::before(origin.port);
    for _ in 0..20 {
        for path in ["/two", "/fine"] {
            let ask = format!("GET {path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
            let answer = exchange(sidecar.port(), ask.as_bytes(), raw::SOON);
            assert!(!answer.text().contains("evil"), "{}", answer.text());
        }
    }
}

/// Replies whose end can be read in two ways are not passed on as if they were whole.
#[test]
fn replies_that_can_be_read_in_two_ways() {
    let rows: &[(&str, &[u8])] = &[
        ("two lengths", b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 4\r\n\r\nevil"),
        ("a negative length", b"HTTP/1.1 200 OK\r\ncontent-length: -4\r\n\r\nevil"),
        (
            "a chunk whose size is none",
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\nevil\r\n0\r\n\r\n",
        ),
        ("no reply at all", b"SSH-2.0-evil\r\n"),
    ];
    for (name, reply) in rows {
        let origin = Recorder::start(move |_, _| Does::AnswersAndCloses(reply.to_vec()));
        let sidecar = Sidecar::before(origin.port);
        let mut stream = raw::connect(sidecar.port());
        stream.write_all(b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").unwrap();
        let answer = raw::read(&mut stream, raw::SOON);
        let whole = answer.statuses == [200];
        assert!(!whole && !answer.text().contains("evil"), "{name}: {}", answer.text());
    }
}
