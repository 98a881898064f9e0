//! A process without a file descriptor left, whose lever is pulled.

#![cfg(unix)]

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::SocketAddr;
use std::process::{Command, Stdio};

use damper_proxy::admin::{self, Options};
use damper_proxy::hop::{Direction, Hop, Hops};
use serde_json::json;

use crate::ask::{get, pull, raw};

/// The process: it has 64 descriptors and takes all that the admin port leaves.
#[test]
#[ignore = "slow: the other half of the next test, which starts it"]
fn takes_every_descriptor() {
    if std::env::var_os("DAMPER_TEST_EXHAUSTED").is_none() {
        return;
    }
    let hops = Hops::default();
    hops.install(vec![Hop::new("db", Direction::Inbound, vec!["one".into()])]).unwrap();
    let port = admin::serve("127.0.0.1:0".parse().unwrap(), Options { hops, ..Options::default() });
    let port = port.unwrap();
    let mut taken = Vec::new();
    let mut take = move || {
        while let Ok(file) = std::fs::File::open("/dev/null") {
            taken.push(file);
        }
        taken.len()
    };
    println!("\nport {} taken {}", port.address(), take());
    std::io::stdout().flush().unwrap();
    // What becomes free is taken again, as an accept loop does that backs off when it fails.
    std::thread::spawn(move || {
        loop {
            take();
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    });
    // It ends with its parent.
    let _ = std::io::stdin().lock().read_line(&mut String::new());
}

#[test]
fn the_lever_is_pulled_without_a_file_descriptor_left() {
    let mut child = Command::new("sh")
        .args(["-c", "ulimit -n 64; exec \"$0\" --exact exhausted::takes_every_descriptor --ignored --nocapture"])
        .arg(std::env::current_exe().unwrap())
        .env("DAMPER_TEST_EXHAUSTED", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let line = lines.find_map(|line| line.unwrap().strip_prefix("port ").map(str::to_owned));
    let line = line.expect("the process says its port");
    let (address, taken) = line.split_once(" taken ").unwrap();
    let address: SocketAddr = address.parse().unwrap();
    assert!(taken.parse::<u32>().unwrap() > 10, "{line}");
    for _ in 0..50 {
        let answer = pull(address, &json!({"action": "pause", "who": "ann", "why": "full"}));
        assert_eq!(answer.status, 200, "{}", answer.body);
    }
    assert_eq!(get(address, "/lever").json()["hops"][0]["lever"]["held"][0]["position"], "paused");
    let metrics = raw(address, "GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    assert!(
        metrics
            .body
            .contains("damper_lever_share{hop=\"db\",direction=\"inbound\",class=\"one\"} 0\n")
    );
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
}
