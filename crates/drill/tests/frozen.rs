//! A server that stands still for two seconds: the clock of the load goes on, and what callers would
//! have waited is what is measured.
//!
//! The server is a process of its own, this program again, stopped by SIGSTOP and continued by
//! SIGCONT.
#![allow(missing_docs)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::disallowed_types, reason = "a real server stands still in real time")]
#![cfg(unix)]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use damper_drill::load::{
    Ask, Bounds, End, Pattern, Protocol, Schedule, Sending, Stream, Summary, Target, send,
};
use damper_system::model::Load;

/// Tells this program that it is the server.
const SERVER: &str = "DAMPER_DRILL_TEST_SERVER";

fn answer(mut stream: TcpStream) {
    let (mut buffer, mut filled) = ([0; 4096], 0);
    while let Ok(read @ 1..) = stream.read(&mut buffer[filled..]) {
        filled += read;
        if buffer[..filled].ends_with(b"\r\n\r\n") {
            filled = 0;
            if stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").is_err() {
                return;
            }
        }
    }
}

fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// The server where it is told to be one, until its input ends; otherwise a check that it answers.
#[test]
fn the_server_answers() {
    let (listener, address) = listen();
    let serve = move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || answer(stream));
        }
    };
    std::thread::spawn(serve);
    if std::env::var_os(SERVER).is_some() {
        println!("\n{SERVER} {address}");
        std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
        return;
    }
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    let mut reply = [0; 15];
    stream.read_exact(&mut reply).unwrap();
    assert_eq!(&reply, b"HTTP/1.1 200 OK");
}

struct Server {
    child: Child,
    address: SocketAddr,
}

impl Server {
    fn start() -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "the_server_answers", "--nocapture"])
            .env(SERVER, "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut said = lines.map_while(Result::ok);
        let address = said.find_map(|line| line.strip_prefix(SERVER)?.trim().parse().ok());
        // Its output stays open, so that it can write what it likes.
        std::thread::spawn(move || said.count());
        Self { child, address: address.expect("the server says where it is") }
    }

    /// Before and after it: it takes effect between the two.
    fn signal(&self, signal: &str) -> (Instant, Instant) {
        let before = Instant::now();
        let status = Command::new("kill").args([signal, &self.child.id().to_string()]).status();
        assert!(status.unwrap().success());
        (before, Instant::now())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const RATE: f64 = 2000.0;
const LENGTH_S: f64 = 9.0;
const FROZEN: Duration = Duration::from_secs(2);

/// What must be read. The server stands still for `f` s out of `n`, and then works off at `c` per
/// second what has come at `r` per second. Who came `s` after the beginning waits `f - s (1 - r / c)`,
/// so that the share `(f - x) / (1 - r / c) / n` of all waits longer than `x`. A quantile `q` is
/// therefore `f - (1 - q) n (1 - r / c)`: 1.1 s (90 %) and 1.91 s (99 %) for an infinitely fast server,
/// and a little more for one that is only so many times as fast as the load.
fn quantile(q: f64, f: f64, times_as_fast: f64) -> f64 {
    f - (1.0 - q) * LENGTH_S * (1.0 - 1.0 / times_as_fast)
}

#[test]
#[ignore = "slow: nine seconds of load, two of them on a server that stands still"]
fn a_frozen_server_is_waited_for() {
    let server = Server::start();
    let target = Target::new(server.address, Protocol::Http1).unwrap();
    let stream = Stream { load: Load::Constant(RATE), kinds: vec![1.0] };
    let sending = Sending {
        schedule: Schedule::new(vec![stream], Pattern::Uniform, 1),
        target,
        asks: vec![vec![Ask { path: "/".into(), headers: Vec::new() }]],
        bounds: Bounds {
            in_flight: 10_000,
            connections: 8,
            time: Duration::from_secs_f64(LENGTH_S),
            ..Bounds::default()
        },
        warmup: Duration::ZERO,
        parts: 1,
        tunings: None,
        stop: None,
    };
    let load = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(send(sending)).unwrap()
    });
    std::thread::sleep(Duration::from_secs(3));
    let stopped = server.signal("-STOP");
    std::thread::sleep(FROZEN);
    let goes_on = server.signal("-CONT");
    let least_s = goes_on.0.duration_since(stopped.1).as_secs_f64();
    let most_s = goes_on.1.duration_since(stopped.0).as_secs_f64();
    let tally = load.join().unwrap();
    let row = tally.class(0);
    let expected = (RATE * LENGTH_S) as u64;
    // The last one may be due at the very end.
    assert!(row.total().abs_diff(expected) <= 1, "the load went on: {:?}", row.ends);
    assert_eq!(row.count(End::Ok), row.total(), "{:?}", row.ends);
    let latency = Summary::of(&row.all_us);
    let late = Summary::of(&tally.late_us);
    println!("frozen for {least_s:.3} to {most_s:.3} s: {latency:?}, sent late by {late:?}");
    // The server is at least four times as fast as the load; 20 ms are for a machine that is busy.
    for (q, read_ms) in [(0.90, latency.p90_ms), (0.99, latency.p99_ms)] {
        let (low, high) = (quantile(q, least_s, f64::INFINITY), quantile(q, most_s, 4.0));
        let read = read_ms / 1e3;
        assert!(read > low - 0.02 && read < high + 0.02, "{q}: {read} is not in {low}..{high}");
    }
    assert!(latency.p50_ms < latency.p90_ms / 10.0, "half of them met a server that answers");
    assert!(late.p99_ms < latency.p99_ms / 10.0, "what is late is the server, not the load");
}
