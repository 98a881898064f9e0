//! A client of a few lines, so that nothing of ours is on both sides.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_else(|e| panic!("{e}: {}", self.body))
    }
}

pub(crate) fn raw(address: SocketAddr, request: &str) -> std::io::Result<Answer> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    stream.write_all(request.as_bytes())?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    let status = text.get(9..12).and_then(|status| status.parse().ok()).unwrap_or(0);
    let body = text.split_once("\r\n\r\n").map_or("", |(_, body)| body).to_owned();
    Ok(Answer { status, body })
}

pub(crate) fn get(address: SocketAddr, path: &str) -> Answer {
    raw(address, &format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n")).unwrap()
}

pub(crate) fn pull(address: SocketAddr, pull: &serde_json::Value) -> Answer {
    let body = pull.to_string();
    let head = "POST /lever HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
    raw(address, &format!("{head}content-length: {}\r\n\r\n{body}", body.len())).unwrap()
}
