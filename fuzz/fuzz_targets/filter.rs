//! Any bytes as a configuration of the filter, and any bytes as the headers of a request to it; a zero
//! byte stands between the two. No panic; a stranger at the edge has no say.
#![no_main]

use std::collections::BTreeMap;

use damper_control::Nanos;
use damper_mesh::filter::config::{Position, Trust, TrustWord};
use damper_mesh::filter::{Call, Host, Verdict, Worker, read, warnings};
use libfuzzer_sys::fuzz_target;

/// Headers, the same for the request and its answer.
#[derive(Default)]
struct Fake {
    headers: Vec<(String, Vec<u8>)>,
    shared: BTreeMap<String, Vec<u8>>,
    now: u64,
}

impl Host for Fake {
    fn request_header(&mut self, name: &str) -> Option<Vec<u8>> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.clone())
    }
    fn request_headers(&mut self) -> Vec<(String, Vec<u8>)> {
        self.headers.clone()
    }
    fn set_request_header(&mut self, name: &str, value: &[u8]) {
        self.remove_request_header(name);
        self.headers.push((name.to_owned(), value.to_vec()));
    }
    fn remove_request_header(&mut self, name: &str) {
        self.headers.retain(|(n, _)| n != name);
    }
    fn response_header(&mut self, name: &str) -> Option<Vec<u8>> {
        self.request_header(name)
    }
    fn set_response_header(&mut self, _: &str, _: &[u8]) {}
    fn attribute(&mut self, path: &[&str]) -> Option<Vec<u8>> {
        self.request_header(&path.join("."))
    }
    fn now(&mut self) -> Nanos {
        self.now = self.now.saturating_add(7_000_000);
        Nanos(self.now)
    }
    fn shared(&mut self, key: &str) -> Option<Vec<u8>> {
        self.shared.get(key).cloned()
    }
    fn set_shared(&mut self, key: &str, value: &[u8]) {
        self.shared.insert(key.to_owned(), value.to_vec());
    }
}

fuzz_target!(|data: &[u8]| {
    let mut parts = data.splitn(2, |b| *b == 0);
    let config = match read(parts.next().unwrap_or_default()) {
        Ok(config) => config,
        Err(problems) => {
            assert!(!problems.0.is_empty() && problems.0.len() <= 20);
            assert!(problems.to_string().len() < 100_000);
            return;
        }
    };
    // Not the same in every bit: what is read of a long fraction may differ in its last place.
    assert!(read(config.to_json().as_bytes()).is_ok());
    let _ = warnings(&config);
    let mut host = Fake::default();
    for line in parts.next().unwrap_or_default().split(|b| *b == b'\n').take(64) {
        let colon = line.iter().skip(1).position(|b| *b == b':').map(|at| at + 1);
        let (name, value) = line.split_at(colon.unwrap_or(line.len()));
        let name = String::from_utf8_lossy(name).to_ascii_lowercase();
        host.headers.push((name, value.get(1..).unwrap_or_default().to_vec()));
    }
    let mut worker = Worker::new(&config, Nanos::ZERO, 7);
    let sent = host.headers.clone();
    for _ in 0..8 {
        host.headers.clone_from(&sent);
        let mut call = Call::default();
        let verdict = worker.request(&mut call, &mut host);
        let nobody = matches!(config.trust, None | Some(Trust::Word(TrustWord::None)));
        if config.position == Position::Edge && nobody && verdict == Verdict::Continue {
            let limit = host.request_header("x-envoy-max-retries");
            let limit = limit.map(|l| String::from_utf8(l).expect("ours").parse::<u32>());
            assert!(limit.is_none_or(|limit| limit.expect("a number") <= 100));
            assert!(host.request_header("x-envoy-attempt-count").is_none());
        }
        worker.answer(&mut call, &mut host);
        worker.end(&mut call, &mut host);
        worker.tick(&mut host);
    }
    let mut counted = 0;
    worker.counters().drain(|_, n| counted += n);
    assert!(counted < 1_000_000);
    assert!(host.shared.len() <= 8);
});
