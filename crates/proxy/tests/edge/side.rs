//! A sidecar as a process of its own, so that its memory, its processor time and its file descriptors
//! are its own: this test program starts itself once more.

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

use damper_proxy::Proxy;
use damper_system::sidecar;

/// Names the configuration of a child.
const CONFIG: &str = "DAMPER_EDGE_CONFIG";
/// What a child prints before its port.
const SAYS: &str = "edge: listening at ";

const SYSTEM: &str = "
damper: 1
classes: [high, low]
services: {front: {}, back: {}}
load: {high: 1/s, low: 1/s}
requests: {get: {calls: [{front: [back]}]}}
policies:
  back:
    timeout: 500ms
    deadline: 5s
    retry:
      limit: {high: 2, low: 1}
      backoff: {kind: exponential, base: 5ms, factor: 2, max: 20ms, jitter: full}
      budget: {kind: token-bucket, max_tokens: 100, token_ratio: 0.1}
";

/// The child: serves what its configuration says, until its input ends.
#[test]
#[ignore = "slow: it is what the other tests start"]
fn a_child_that_serves() {
    let Some(path) = std::env::var_os(CONFIG) else { return };
    let config = sidecar::Sidecar::read(Path::new(&path)).unwrap();
    let proxy = Proxy::start(&config, Vec::new()).unwrap();
    let (_, address) = proxy.addresses().next().unwrap();
    println!("\n{SAYS}{}", address.port());
    let _ = std::io::stdin().read(&mut [0]);
}

/// A child, until it is dropped.
pub(crate) struct Sidecar {
    child: Child,
    port: u16,
    _input: ChildStdin,
    _folder: tempfile::TempDir,
}

impl Drop for Sidecar {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Sidecar {
    /// Before a service at this port, without controls that would refuse.
    pub(crate) fn before(port: u16) -> Self {
        Self::limited(port, "{}")
    }

    /// The same with limits for strangers. The service speaks HTTP/1.1, whatever callers speak.
    pub(crate) fn limited(port: u16, limits: &str) -> Self {
        Self::inbound(port, "http1", limits)
    }

    /// Before a service that speaks what callers speak.
    pub(crate) fn as_caller(port: u16) -> Self {
        Self::inbound(port, "as-caller", "{}")
    }

    fn inbound(port: u16, protocol: &str, limits: &str) -> Self {
        let upstream = format!("{{to: \"127.0.0.1:{port}\", protocol: {protocol}}}");
        Self::start(&format!(
            "inbound: [{{service: back, listen: \"127.0.0.1:0\", upstream: {upstream}, limits: {limits}}}]"
        ))
    }

    /// For the calls of `front` to `back` at these ports.
    pub(crate) fn calls(ports: &[u16]) -> Self {
        let to: Vec<String> = ports.iter().map(|port| format!("\"127.0.0.1:{port}\"")).collect();
        Self::start(&format!(
            "outbound: [{{call: front -> back, listen: \"127.0.0.1:0\", upstream: [{}], trust: all}}]",
            to.join(", ")
        ))
    }

    fn start(hops: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("system.yaml"), SYSTEM).unwrap();
        let file = folder.path().join("sidecar.yaml");
        std::fs::write(&file, format!("proxy: 1\nsystem: system.yaml\nworkers: 1\n{hops}\n"))
            .unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "side::a_child_that_serves", "--ignored", "--nocapture"])
            .env(CONFIG, &file)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let port = lines.find_map(|line| line.strip_prefix(SAYS)?.parse().ok());
        Self { port: port.expect("it listens"), child, _input: input, _folder: folder }
    }

    /// Where it listens.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Bytes of its memory that are in the machine's.
    pub(crate) fn resident(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches("kB").trim().parse::<u64>().unwrap() << 10
    }

    /// Time of the processor that it has had, in milliseconds.
    pub(crate) fn cpu_ms(&self) -> u64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
        // User and system time, in hundredths of a second.
        [11, 12].map(|n| fields[n].parse::<u64>().unwrap()).iter().sum::<u64>() * 10
    }

    /// Lets it open so many files at most; whether that could be done.
    pub(crate) fn limit_files(&self, most: u32) -> bool {
        Command::new("prlimit")
            .args([&format!("--pid={}", self.child.id()), &format!("--nofile={most}:{most}")])
            .status()
            .is_ok_and(|status| status.success())
    }

    /// Whether its process is still there.
    pub(crate) fn is_running(&self) -> bool {
        std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()))
            .is_ok_and(|stat| !stat.rsplit(')').next().unwrap_or_default().starts_with(" Z"))
    }
}

/// A port that nobody listens at.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}
