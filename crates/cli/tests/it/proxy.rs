//! `damper proxy` as a process: what it says, signals, exit codes.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

use crate::program::damper;

const SYSTEM: &str = "\
damper: 1
services: {db: {workers: 4, queue: 4}}
load: 1/s
requests: {get: {calls: [db]}}
";

/// Answers every connection once, with its name.
fn backend(name: &'static str) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut buffer = [0; 1024];
            if stream.read(&mut buffer).unwrap_or(0) > 0 {
                let answer = format!(
                    "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{name}",
                    name.len()
                );
                let _ = stream.write_all(answer.as_bytes());
            }
        }
    });
    port
}

fn config(port: u16) -> String {
    format!(
        "proxy: 1\nsystem: system.yaml\nworkers: 1\nadmin: {{listen: 127.0.0.1:0}}\n\
         inbound: [{{service: db, listen: 127.0.0.1:0, upstream: 127.0.0.1:{port}}}]\n"
    )
}

fn ask(port: u16, path: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut got = String::new();
    stream.read_to_string(&mut got).unwrap();
    got
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([name, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

/// Lines until one contains this, with it.
fn until(lines: &mut impl Iterator<Item = String>, word: &str) -> Vec<String> {
    let mut read = Vec::new();
    for line in lines {
        let found = line.contains(word);
        read.push(line);
        if found {
            return read;
        }
    }
    panic!("{word} never came: {read:#?}");
}

#[test]
fn it_serves_reloads_and_ends() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("proxy.yaml");
    let write = |text: &str| std::fs::write(&path, text).unwrap();
    std::fs::write(folder.path().join("system.yaml"), SYSTEM).unwrap();
    write(&config(backend("one")));
    let mut child = Command::new(env!("CARGO_BIN_EXE_damper"))
        .args(["proxy", "--config"])
        .arg(&path)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let said = until(&mut lines, "ready");
    let port = |name: &str| -> u16 {
        let line = said.iter().find(|line| line.contains(name)).unwrap();
        line.rsplit_once(':').unwrap().1.trim().parse().unwrap()
    };
    let (db, admin) = (port("db: "), port("admin: "));
    assert!(ask(db, "/").ends_with("one"));
    assert!(ask(admin, "/readyz").starts_with("HTTP/1.1 200"));
    assert!(ask(admin, "/metrics").contains("damper_"));

    write("proxy: 1\nsystem: system.yaml\ninbound: [{service: dbx}]\n");
    signal(&child, "-HUP");
    let said = until(&mut lines, "goes on").join("\n");
    assert!(said.contains("did you mean `db`?"), "{said}");
    assert!(ask(db, "/").ends_with("one"));

    write(&config(backend("two")));
    signal(&child, "-HUP");
    until(&mut lines, "reloaded");
    // Its worker hears of it a moment later.
    while !ask(db, "/").ends_with("two") {}

    // From the loopback interface to all, on the same port.
    write(
        &config(backend("three"))
            .replace("listen: 127.0.0.1:0, up", &format!("listen: 0.0.0.0:{db}, up")),
    );
    signal(&child, "-HUP");
    until(&mut lines, "reloaded");
    while !ask(db, "/").ends_with("three") {}

    signal(&child, "-TERM");
    assert_eq!(child.wait().unwrap().code(), Some(0));
    until(&mut lines, "draining");
}

#[test]
fn what_is_wrong_is_said_before_anything_runs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("proxy.yaml");
    std::fs::write(folder.path().join("system.yaml"), SYSTEM).unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let good = config(1);
    let address = taken.local_addr().unwrap().to_string();
    for (text, check, code, word) in [
        (good.as_str(), true, 0, "inbound db: 127.0.0.1:0 -> 127.0.0.1:1"),
        (&good.replace("upstream", "upstraem"), true, 2, "did you mean `upstream`?"),
        (
            &good.replace(
                "service: db, listen: 127.0.0.1:0",
                &format!("service: db, listen: '{address}'"),
            ),
            false,
            2,
            &address,
        ),
    ] {
        std::fs::write(&path, text).unwrap();
        let path = path.to_str().unwrap();
        let mut args = vec!["proxy", "--config", path];
        args.extend(check.then_some("--check"));
        let run = damper(&args);
        let said = format!("{}{}", run.out, run.err);
        assert_eq!(run.code, Some(code), "{said}");
        assert!(said.contains(word), "{said}");
    }
}
