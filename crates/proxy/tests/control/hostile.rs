//! Whoever holds connections open, or sends what is too long.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use damper_proxy::admin::{self, Options, Token};
use damper_proxy::hop::{Direction, Hop};
use serde_json::json;

use crate::ask::{get, pull, raw};

fn port(options: Options) -> admin::Running {
    let hop = Hop::new("db", Direction::Inbound, vec!["one".into()]);
    options.hops.install(vec![hop]).unwrap();
    admin::serve("127.0.0.1:0".parse().unwrap(), options).unwrap()
}

#[test]
fn who_holds_connections_open_locks_nobody_out() {
    let port = port(Options::default());
    let mut held: Vec<TcpStream> = Vec::new();
    for _ in 0..200 {
        let mut stream = TcpStream::connect(port.address()).unwrap();
        stream.write_all(b"GET /state HTTP/1.1\r\nhost: local").unwrap();
        held.push(stream);
    }
    let answer = pull(port.address(), &json!({"action": "pause", "who": "a", "why": "b"}));
    assert_eq!(answer.status, 200, "{}", answer.body);
    // The oldest were closed, not all.
    let mut first = held.remove(0);
    first.set_read_timeout(Some(std::time::Duration::from_secs(20))).unwrap();
    let mut rest = Vec::new();
    let ended = first.read_to_end(&mut rest);
    assert!(ended.is_err() || rest.is_empty() || rest.starts_with(b"HTTP/1.1 4"), "{ended:?}");
}

#[test]
fn what_is_too_long_is_refused() {
    let port = port(Options::default());
    let long = "x".repeat(64 * 1024);
    let head = format!("GET /state HTTP/1.1\r\nhost: localhost\r\nx: {long}\r\n\r\n");
    let refused = raw(port.address(), &head).map_or(431, |answer| answer.status);
    assert!(refused >= 400 || refused == 0, "{refused}");
    let answer = pull(port.address(), &json!({"action": "pause", "who": long, "why": "b"}));
    assert_eq!(answer.status, 400, "{}", answer.body);
    assert_eq!(get(port.address(), "/state").status, 200);
    assert!(port.levers().journal().is_empty());
}

#[test]
fn it_is_not_open_to_the_network() {
    let open = admin::serve("0.0.0.0:0".parse().unwrap(), Options::default()).unwrap_err();
    assert!(open.to_string().contains("set a token"), "{open}");
    let token = Token::new("0123456789abcdef0123").unwrap();
    let port = port(Options { token: Some(token), ..Options::default() });
    assert_eq!(get(port.address(), "/state").status, 401);
    assert_eq!(get(port.address(), "/healthz").status, 200);
    let with =
        "GET /state HTTP/1.1\r\nhost: x\r\nauthorization: Bearer 0123456789abcdef0123\r\n\r\n";
    assert_eq!(raw(port.address(), with).unwrap().status, 200);
    let page = "POST /lever HTTP/1.1\r\nhost: x\r\norigin: http://evil.example\r\ncontent-length: 2\r\n\r\n{}";
    assert_eq!(raw(port.address(), page).unwrap().status, 403);
}

#[test]
fn it_ends_when_it_is_dropped() {
    let port = port(Options::default());
    let at = port.address();
    assert_eq!(get(at, "/healthz").status, 200);
    drop(port);
    assert!(TcpStream::connect(at).is_err());
}
