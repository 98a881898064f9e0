//! The sidecar as it is deployed: the program, with a configuration.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// `damper proxy`, until this is dropped.
pub(crate) struct Sidecar {
    child: Child,
    ports: Vec<u16>,
    _folder: tempfile::TempDir,
}

impl Drop for Sidecar {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One hop: its system, what it is, and where it goes.
pub(crate) struct Hop {
    /// `service: NAME`, or `call: "A -> B"`.
    pub(crate) what: String,
    pub(crate) upstream: u16,
}

impl Sidecar {
    /// One process with these hops, all of one system file.
    pub(crate) fn start(system: &str, hops: &[Hop]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let ports: Vec<u16> = hops.iter().map(|_| free_port()).collect();
        let of = |kind: &str, word: &str| {
            let hops = hops.iter().zip(&ports).filter(|(hop, _)| hop.what.starts_with(word));
            let lines: String = hops
                .map(|(Hop { what, upstream }, port)| {
                    format!(
                        "  - {{{what}, listen: \"127.0.0.1:{port}\", upstream: \"127.0.0.1:{upstream}\", trust: all}}\n"
                    )
                })
                .collect();
            if lines.is_empty() { String::new() } else { format!("{kind}:\n{lines}") }
        };
        let text = format!(
            "proxy: 1\nsystem: system.yaml\nworkers: 1\n{}{}",
            of("inbound", "service"),
            of("outbound", "call")
        );
        fs::write(folder.path().join("system.yaml"), system).unwrap();
        let file = folder.path().join("sidecar.yaml");
        fs::write(&file, &text).unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_damper"))
            .args(["proxy", "--config"])
            .arg(&file)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            // It logs what it refuses, and here it refuses a lot.
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let sidecar = Self { child, ports, _folder: folder };
        let begun = Instant::now();
        while sidecar.ports.iter().any(|port| TcpStream::connect(("127.0.0.1", *port)).is_err()) {
            assert!(begun.elapsed() < Duration::from_secs(20), "it does not listen:\n{text}");
            std::thread::sleep(Duration::from_millis(20));
        }
        sidecar
    }

    /// Where a hop listens.
    pub(crate) fn port(&self, hop: usize) -> u16 {
        self.ports[hop]
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}
