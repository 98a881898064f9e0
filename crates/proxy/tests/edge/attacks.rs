//! Clients that mean harm: slow, many, large, or against the protocol. The service behind stays up for
//! others, the sidecar keeps a bounded memory, and what it refuses never arrives.

use std::io::Write as _;
use std::net::TcpStream;
use std::time::Duration;

use crate::frames::{
    CONTINUATION, Connection, DATA, END_HEADERS, END_STREAM, Ended, GOAWAY, GOOD, HEADERS, PING,
    RST_STREAM, SETTINGS, WINDOW_UPDATE, ended, fields, frame,
};
use crate::raw::{self, Recorder, exchange};
use crate::side::Sidecar;

/// Memory that an attack may cost. Buffers of many connections and the allocator's reserve are in it;
/// an attack that is kept without bound costs far more.
const MEMORY: u64 = 96 << 20;

/// Limits that are reached soon.
const LIMITS: &str = "{connections: 300, head_timeout: 1s, body_timeout: 1s, idle: 60s, headers: 50, head: 16KiB, body: 64KiB}";

/// Whoever asks properly is served.
fn serves(sidecar: &Sidecar) -> bool {
    let request = b"GET /fine HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
    exchange(sidecar.port(), request, raw::SOON).statuses == [200]
}

/// What an attack costs and leaves behind is bounded.
fn survives(sidecar: &Sidecar, before: u64, what: &str) {
    assert!(serves(sidecar), "{what}: nobody is served any more");
    let after = sidecar.resident();
    assert!(after < before + MEMORY, "{what}: {} MiB more", (after - before) >> 20);
}

#[test]
#[ignore = "slow: waits for time-outs"]
fn slow_heads_and_slow_bodies_are_closed() {
    let origin = Recorder::good();
    let sidecar = Sidecar::limited(origin.port, LIMITS);
    let before = sidecar.resident();
    let starts: [&[u8]; 3] = [
        b"",
        b"GET /slow HTTP/1.1\r\nhost: a\r\nx-one: ",
        b"POST /slow HTTP/1.1\r\nhost: a\r\ncontent-length: 1000\r\n\r\nx",
    ];
    let mut slow: Vec<TcpStream> = (0..200).map(|_| raw::connect(sidecar.port())).collect();
    for (number, stream) in slow.iter_mut().enumerate() {
        stream.write_all(starts[number % 3]).unwrap();
    }
    // Heads that go on, one letter at a time, but never end.
    for _ in 0..20 {
        assert!(serves(&sidecar));
        std::thread::sleep(Duration::from_millis(100));
        for (number, stream) in slow.iter_mut().enumerate() {
            if number % 3 == 1 {
                let _ = stream.write_all(b"x");
            }
        }
    }
    for (number, stream) in slow.iter_mut().enumerate() {
        // One that never said anything may stay as long as an idle connection may.
        if number % 3 != 0 {
            let answer = raw::read(stream, raw::SOON);
            assert!(answer.closed, "{number}: {}", answer.text());
            assert_ne!(answer.statuses, [200], "{number}");
        }
    }
    survives(&sidecar, before, "slow clients");
    let arrived = origin.seen().requests;
    assert!(arrived.iter().all(|request| request.target() == "/fine"), "{arrived:?}");
}

#[test]
fn heads_and_bodies_beyond_their_limits_are_refused() {
    let origin = Recorder::good();
    let sidecar = Sidecar::limited(origin.port, LIMITS);
    let before = sidecar.resident();
    let many = "x-one: 1\r\n".repeat(51);
    let long = format!("x-one: {}\r\n", "x".repeat(64 << 10));
    let huge = format!("x-one: {}\r\n", "x".repeat(8 << 20));
    let path = "x".repeat(64 << 10);
    let rows = [
        (format!("GET / HTTP/1.1\r\nhost: a\r\n{many}\r\n"), &[431, 400][..]),
        (format!("GET / HTTP/1.1\r\nhost: a\r\n{long}\r\n"), &[431, 400][..]),
        (format!("GET / HTTP/1.1\r\nhost: a\r\n{huge}\r\n"), &[431, 400][..]),
        (format!("GET /{path} HTTP/1.1\r\nhost: a\r\n\r\n"), &[414, 431, 400][..]),
        (format!("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: {}\r\n\r\n", 65 << 10), &[413][..]),
    ];
    for (request, statuses) in rows {
        let answer = exchange(sidecar.port(), request.as_bytes(), Duration::from_secs(3));
        let shown = &request[..request.len().min(60)];
        // A refusal may be cut off by a reset, as the rest of the request is not read.
        let refused = answer.statuses.first().is_none_or(|status| statuses.contains(status));
        assert!(refused && answer.closed, "{shown}: {:?}", answer.statuses);
    }
    assert_eq!(origin.count(), 0, "{:?}", origin.seen().requests);
    // One whose length nobody knows before.
    let mut stream = raw::connect(sidecar.port());
    stream.write_all(b"POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n").unwrap();
    let chunk = format!("4000\r\n{}\r\n", "x".repeat(0x4000));
    for _ in 0..6 {
        let _ = stream.write_all(chunk.as_bytes());
    }
    let _ = stream.write_all(b"0\r\n\r\n");
    let answer = raw::read(&mut stream, raw::SOON);
    assert_ne!(answer.statuses, [200]);
    assert_eq!(origin.count(), 0, "it arrived as a whole");
    survives(&sidecar, before, "large requests");
}

#[test]
fn a_flood_of_connections_leaves_room_for_others() {
    let origin = Recorder::good();
    let sidecar = Sidecar::limited(origin.port, LIMITS);
    let before = sidecar.resident();
    let idle: Vec<TcpStream> = (0..400).map(|_| raw::connect(sidecar.port())).collect();
    // More than may be open: whoever comes now is closed at once.
    let refused = exchange(sidecar.port(), b"GET /fine HTTP/1.1\r\nhost: a\r\n\r\n", raw::SOON);
    assert!(refused.closed && refused.statuses != [200], "{:?}", refused.statuses);
    drop(idle);
    raw::eventually("it serves again", || serves(&sidecar));
    survives(&sidecar, before, "a flood of connections");
}

#[test]
#[ignore = "slow: thousands of connections"]
fn thousands_of_idle_connections_cost_little() {
    const COUNT: u64 = 3000;
    let origin = Recorder::good();
    let sidecar = Sidecar::limited(origin.port, "{connections: 8000, idle: 60s}");
    assert!(serves(&sidecar));
    let before = sidecar.resident();
    let mut idle = Vec::new();
    for number in 0..COUNT {
        let mut stream = raw::connect(sidecar.port());
        // Half of them have had a request.
        if number % 2 == 0 {
            stream.write_all(b"GET /fine HTTP/1.1\r\nhost: a\r\n\r\n").unwrap();
        }
        idle.push(stream);
        // They are to be many, and not all at once: there are not as many places upstream.
        if number % 100 == 99 {
            raw::eventually("all are answered", || origin.count() as u64 > number / 2);
        }
    }
    assert!(serves(&sidecar));
    let each = (sidecar.resident() - before) / COUNT;
    assert!(each < 40 << 10, "{each} bytes for each of them");
    drop(idle);
    raw::eventually("it serves again", || serves(&sidecar));
}

#[test]
#[ignore = "slow: counts the processor's time over seconds"]
fn without_file_descriptors_it_waits_and_goes_on() {
    let origin = Recorder::good();
    let sidecar = Sidecar::limited(origin.port, "{connections: 8000, idle: 60s}");
    assert!(serves(&sidecar));
    if !sidecar.limit_files(64) {
        eprintln!("skipped: no prlimit");
        return;
    }
    let idle: Vec<TcpStream> = (0..300).map(|_| raw::connect(sidecar.port())).collect();
    std::thread::sleep(Duration::from_millis(500));
    let begun = sidecar.cpu_ms();
    std::thread::sleep(Duration::from_secs(2));
    let spent = sidecar.cpu_ms() - begun;
    assert!(spent < 600, "{spent} ms of 2 s spent on what cannot be accepted");
    assert!(sidecar.is_running(), "it ended");
    drop(idle);
    raw::eventually("it serves again", || serves(&sidecar));
}

/// Opens a stream with a request as it should be.
fn open(stream: u32) -> Vec<u8> {
    frame(HEADERS, END_STREAM | END_HEADERS, stream, &fields(&GOOD))
}

#[test]
fn frames_as_they_should_be_are_served() {
    let origin = Recorder::good();
    let sidecar = Sidecar::limited(origin.port, LIMITS);
    let mut connection = Connection::open(sidecar.port());
    for stream in [1, 3, 5] {
        connection.send(&open(stream));
    }
    let frames = connection.frames(Duration::from_secs(1));
    for stream in [1, 3, 5] {
        assert_eq!(ended(&frames, stream, connection.is_closed()), Ended::Reply, "{frames:?}");
    }
    assert_eq!(origin.count(), 3);
}

/// CVE-2023-44487: streams that are opened and reset at once cost the server a request each.
#[test]
fn a_rapid_reset_is_ended() {
    const STREAMS: u32 = 20_000;
    let origin = Recorder::good();
    let sidecar = Sidecar::limited(origin.port, LIMITS);
    let before = sidecar.resident();
    let mut connection = Connection::open(sidecar.port());
    let mut sent = 0;
    for number in 0..STREAMS / 100 {
        let mut bytes = Vec::new();
        for n in 0..100 {
            let stream = 1 + 2 * (number * 100 + n);
            bytes.extend(open(stream));
            bytes.extend(frame(RST_STREAM, 0, stream, &8u32.to_be_bytes()));
        }
        if !connection.send(&bytes) {
            break;
        }
        sent += 100;
    }
    let frames = connection.frames(Duration::from_secs(2));
    let ended = connection.is_closed() || frames.iter().any(|frame| frame.0 == GOAWAY);
    assert!(ended, "the connection is still open after {sent} resets");
    let arrived = origin.count();
    assert!(arrived < 2000, "{arrived} of {sent} requests that nobody wants arrived");
    survives(&sidecar, before, "a rapid reset");
}

/// Fields without end in CONTINUATION frames.
#[test]
fn fields_without_end_are_ended() {
    let origin = Recorder::good();
    let sidecar = Sidecar::limited(origin.port, LIMITS);
    let before = sidecar.resident();
    let mut connection = Connection::open(sidecar.port());
    connection.send(&frame(HEADERS, END_STREAM, 1, &fields(&GOOD)));
    let more = frame(CONTINUATION, 0, 1, &fields(&[("x-one", &"x".repeat(16_000))]));
    let mut sent = 0usize;
    while sent < 64 << 20 && connection.send(&more) {
        sent += more.len();
    }
    let frames = connection.frames(Duration::from_secs(2));
    assert!(connection.is_closed() || frames.iter().any(|f| f.0 == GOAWAY), "{sent} bytes taken");
    assert_eq!(origin.count(), 0);
    survives(&sidecar, before, "fields without end");
}

/// Frames that are against the protocol, or are a flood of what has to be answered.
#[test]
fn frames_against_the_protocol_end_their_connection() {
    let long = |kind: u8, stream: u32| {
        let mut head = frame(kind, 0, stream, &[]);
        head[..3].copy_from_slice(&[0xff, 0xff, 0xff]);
        head.extend(vec![0; 1 << 20]);
        head
    };
    let rows: Vec<(&str, Vec<u8>)> = vec![
        ("a frame of 16 MiB", long(DATA, 1)),
        ("a head of 16 MiB", long(HEADERS, 1)),
        ("data of no stream", frame(DATA, END_STREAM, 0, b"x")),
        ("data of a stream that was never opened", frame(DATA, END_STREAM, 1, b"x")),
        ("an even stream", open(2)),
        ("a window of nothing", frame(WINDOW_UPDATE, 0, 0, &0u32.to_be_bytes())),
        (
            "a window that overflows",
            frame(WINDOW_UPDATE, 0, 0, &0x7fff_ffff_u32.to_be_bytes()).repeat(2),
        ),
        ("settings of seven bytes", frame(SETTINGS, 0, 0, &[0; 7])),
        ("a ping of seven bytes", frame(PING, 0, 0, &[0; 7])),
        (
            "fields that are none",
            frame(HEADERS, END_STREAM | END_HEADERS, 1, &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff]),
        ),
        (
            "another frame among fields",
            [frame(HEADERS, END_STREAM, 1, &fields(&GOOD)), frame(PING, 0, 0, &[0; 8])].concat(),
        ),
    ];
    let origin = Recorder::good();
    let sidecar = Sidecar::limited(origin.port, LIMITS);
    let before = sidecar.resident();
    for (name, bytes) in rows {
        let mut connection = Connection::open(sidecar.port());
        connection.send(&bytes);
        let frames = connection.frames(Duration::from_secs(2));
        let over = connection.is_closed() || frames.iter().any(|frame| frame.0 == GOAWAY);
        assert!(over, "{name}: {frames:?}");
    }
    assert_eq!(origin.count(), 0, "{:?}", origin.seen().requests);
    survives(&sidecar, before, "frames against the protocol");
}

#[test]
fn floods_of_what_has_to_be_answered_are_bounded() {
    let rows: Vec<(&str, Vec<u8>)> = vec![
        ("pings", frame(PING, 0, 0, &[0; 8])),
        ("settings", frame(SETTINGS, 0, 0, &[0, 4, 0, 1, 0, 0])),
        ("windows", frame(WINDOW_UPDATE, 0, 0, &1u32.to_be_bytes())),
        ("priorities", frame(2, 0, 1, &[0, 0, 0, 0, 1])),
    ];
    let origin = Recorder::good();
    let sidecar = Sidecar::limited(origin.port, LIMITS);
    let before = sidecar.resident();
    for (name, one) in rows {
        let mut connection = Connection::open(sidecar.port());
        let many = one.repeat(1000);
        // Nothing is read meanwhile: answers have to be kept, or the connection ended.
        for _ in 0..100 {
            connection.send(&many);
            if connection.is_closed() {
                break;
            }
        }
        survives(&sidecar, before, name);
    }
}

/// Requests over HTTP/2 that could become two over HTTP/1.1, or none that there are.
#[test]
fn fields_that_would_be_others_in_http1_are_refused() {
    let with = |more: &[(&'static str, &'static str)]| [&GOOD[..], more].concat();
    let instead = |name: &'static str, value: &'static str| {
        let mut all = GOOD.to_vec();
        all.iter_mut().filter(|field| field.0 == name).for_each(|field| field.1 = value);
        all
    };
    let hidden = "/ HTTP/1.1\r\nhost: a\r\n\r\nGET /smuggled";
    let rows: Vec<(&str, Vec<(&str, &str)>)> = vec![
        ("a line end in a value", with(&[("x-one", "1\r\ntransfer-encoding: chunked")])),
        ("a line feed in a value", with(&[("x-one", "1\nx-damper-class: high")])),
        ("a zero byte in a value", with(&[("x-one", "1\x002")])),
        ("a line end in a name", with(&[("x\r\none", "1")])),
        ("a colon in a name", with(&[("transfer-encoding: chunked", "1")])),
        ("a name in upper case", with(&[("X-One", "1")])),
        ("a transfer coding", with(&[("transfer-encoding", "chunked")])),
        ("a connection", with(&[("connection", "upgrade")])),
        ("an upgrade", with(&[("upgrade", "h2c")])),
        ("a line end in a path", instead(":path", hidden)),
        ("a space in a path", instead(":path", "/fine HTTP/1.1")),
        ("a path that does not begin", instead(":path", "fine")),
        ("an empty path", instead(":path", "")),
        ("a request line as a method", instead(":method", "GET /smuggled HTTP/1.1\r\n")),
        ("an authority with a line end", instead(":authority", "a\r\nx-one: 1")),
        ("no path", GOOD[..3].to_vec()),
        ("no method", GOOD[1..].to_vec()),
        ("two paths", with(&[(":path", "/smuggled")])),
        ("a status", with(&[(":status", "200")])),
        ("a length that is not so", with(&[("content-length", "5")])),
        ("two lengths", with(&[("content-length", "0"), ("content-length", "5")])),
        ("another host", with(&[("host", "b")])),
    ];
    let origin = Recorder::good();
    let sidecar = Sidecar::limited(origin.port, LIMITS);
    let mut wrong = Vec::new();
    for (name, all) in rows {
        origin.take();
        let mut connection = Connection::open(sidecar.port());
        connection.send(&frame(HEADERS, END_STREAM | END_HEADERS, 1, &fields(&all)));
        let end = connection.end_of(1);
        let seen = origin.take();
        let harmless = seen.requests.iter().all(|request| {
            request.target() == "/fine"
                && request.header("transfer-encoding").is_none()
                && request.headers.iter().filter(|(name, _)| name == "host").count() == 1
                && request.header("host") == Some("a")
                && request.header("x-one").is_none()
                && request.header("upgrade").is_none()
        });
        if end == Ended::Open || !harmless || seen.requests.len() > 1 || !seen.left.is_empty() {
            wrong.push(format!("{name}: {end:?}, arrived {seen:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
}
