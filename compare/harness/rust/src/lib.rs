//! What all the programs here share: one request to the server of the harness.

use std::io::{Error, Read as _, Write as _};
use std::net::TcpStream;

/// The address of the server, with a path that says how it fails.
pub fn url(path: &str) -> String {
    let base = std::env::var("HARNESS_URL").unwrap_or_default();
    base + path
}

/// Asks once, over a connection of its own. What is not 200 is an error.
pub fn fetch(path: &str) -> Result<String, Error> {
    let url = url(path);
    let address = url.strip_prefix("http://").unwrap_or(&url);
    let (host, path) = address.split_once('/').unwrap_or((address, ""));
    let mut stream = TcpStream::connect(host)?;
    write!(stream, "GET /{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n")?;
    let mut reply = String::new();
    stream.read_to_string(&mut reply)?;
    match reply.split(' ').nth(1) {
        Some("200") => Ok(reply),
        status => Err(Error::other(format!("status {status:?}"))),
    }
}
