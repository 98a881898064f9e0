//! A server that writes down when each request came, and how far from a schedule that was.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use serde::Serialize;

use crate::process::program;

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 2\r\n\r\nok";

/// How much later than on the schedule requests came, in milliseconds.
#[derive(Clone, Serialize)]
pub(super) struct Lateness {
    pub(super) p50_ms: f64,
    pub(super) p99_ms: f64,
    pub(super) max_ms: f64,
    /// Requests that it is about.
    pub(super) requests: usize,
}

pub(super) struct Sink {
    pub(super) port: u16,
    seen: Arc<Mutex<Vec<f64>>>,
}

impl Sink {
    /// It ends when it is dropped and its connections have ended; what it has written down is asked
    /// for once.
    pub(super) fn start(core: Option<usize>) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        let seen: Arc<Mutex<Vec<f64>>> = Arc::default();
        let all = seen.clone();
        if let Some(core) = core {
            // Threads that begin later are where this one is.
            let pid = std::process::id().to_string();
            let done =
                program("taskset").args(["-a", "-c", "-p", &core.to_string(), &pid]).output();
            if !done.is_ok_and(|output| output.status.success()) {
                bail!("this program cannot be bound to a core");
            }
        }
        let begun = Instant::now();
        listener.set_nonblocking(true)?;
        thread::spawn(move || look(&listener, &all, begun));
        Ok(Self { port, seen })
    }

    /// Beside a schedule with even distances, which begins where it is earliest for all. The first
    /// half second, in which connections are made, does not count.
    pub(super) fn lateness(&self, rate: f64) -> Option<Lateness> {
        // The last connections are being closed.
        thread::sleep(Duration::from_millis(300));
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone();
        seen.sort_by(f64::total_cmp);
        lateness(&seen, rate)
    }
}

fn lateness(seen: &[f64], rate: f64) -> Option<Lateness> {
    let first = seen.first()?;
    let seen: Vec<f64> = seen.iter().copied().filter(|at| *at > first + 0.5).collect();
    let off = |(n, at): (usize, &f64)| at - n as f64 / rate;
    let begin = seen.iter().enumerate().map(off).fold(f64::INFINITY, f64::min);
    let mut late: Vec<f64> = seen.iter().enumerate().map(|pair| off(pair) - begin).collect();
    late.sort_by(f64::total_cmp);
    let at = |q: f64| late.get((late.len() as f64 * q) as usize).map(|s| s * 1e3);
    Some(Lateness {
        p50_ms: at(0.5)?,
        p99_ms: at(0.99)?,
        max_ms: late.last()? * 1e3,
        requests: late.len(),
    })
}

/// Looks at all connections by turns and never sleeps: a thread for each would be woken for each
/// request, which at tens of thousands per second takes longer than there is.
fn look(listener: &TcpListener, all: &Arc<Mutex<Vec<f64>>>, begun: Instant) {
    let mut open: Vec<Connection> = Vec::new();
    loop {
        while let Ok((stream, _)) = listener.accept() {
            let plain = stream.set_nonblocking(true).and_then(|()| stream.set_nodelay(true));
            if plain.is_ok() {
                open.push(Connection { stream, buffer: [0; 4096], filled: 0, seen: Vec::new() });
            }
        }
        if open.is_empty() {
            // Nobody will ask any more.
            if Arc::strong_count(all) == 1 {
                return;
            }
            thread::sleep(Duration::from_millis(1));
        }
        open.retain_mut(|connection| {
            let stays = connection.serve(begun);
            if !stays {
                let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
                all.append(&mut connection.seen);
            }
            stays
        });
    }
}

struct Connection {
    stream: TcpStream,
    buffer: [u8; 4096],
    filled: usize,
    /// When requests came, in seconds.
    seen: Vec<f64>,
}

impl Connection {
    /// Answers what is there. Whether the connection goes on.
    fn serve(&mut self, begun: Instant) -> bool {
        let Self { stream, buffer, filled, seen } = self;
        match stream.read(&mut buffer[*filled..]) {
            Ok(read @ 1..) => *filled += read,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return true,
            _ => return false,
        }
        let now = begun.elapsed().as_secs_f64();
        while let Some(end) = buffer[..*filled].windows(4).position(|four| four == b"\r\n\r\n") {
            buffer.copy_within(end + 4..*filled, 0);
            *filled -= end + 4;
            seen.push(now);
            // So short that the kernel takes all of it.
            if stream.write_all(ANSWER).is_err() {
                return false;
            }
        }
        *filled < buffer.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lateness_is_beside_the_earliest() {
        // Every millisecond; for 20 ms nothing is sent, and then all of it at once.
        let at = |n: i32| f64::from(if (1000..1020).contains(&n) { 1020 } else { n }) / 1e3;
        let late = lateness(&(0..2000).map(at).collect::<Vec<_>>(), 1000.0).unwrap();
        assert!(
            late.p50_ms.abs() < 1e-6 && late.requests == 1499,
            "{} {}",
            late.p50_ms,
            late.requests
        );
        assert!((late.max_ms - 20.0).abs() < 1e-6, "{}", late.max_ms);
        // A generator that is slower than it says is later and later.
        let slow: Vec<f64> = (0..2000).map(|n| f64::from(n) / 900.0).collect();
        assert!(lateness(&slow, 1000.0).unwrap().p99_ms > 150.0);
        assert!(lateness(&[], 1.0).is_none());
    }
}
