//! One POST on a connection of its own.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http::header::{CONTENT_TYPE, HOST};
use http_body_util::Full;
use tokio::net::TcpStream;

use super::Otlp;
use crate::io::Io;

/// How long it may take in all.
const PATIENCE: Duration = Duration::from_secs(5);

/// Posts JSON below an endpoint.
pub(super) async fn post(to: &Otlp, path: &str, body: &serde_json::Value) -> io::Result<()> {
    match tokio::time::timeout(PATIENCE, exchange(to, path, body)).await {
        Ok(result) => result,
        Err(_) => Err(io::ErrorKind::TimedOut.into()),
    }
}

async fn exchange(to: &Otlp, path: &str, body: &serde_json::Value) -> io::Result<()> {
    let endpoint = &to.endpoint;
    let host = endpoint.host().unwrap_or_default().trim_matches(['[', ']']);
    let stream = TcpStream::connect((host, endpoint.port_u16().unwrap_or(4318))).await?;
    let io = match &to.tls {
        None => Io::plain(stream),
        Some(tls) => Io::client(tls.connect(stream, false).await?),
    };
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(io).await.map_err(io::Error::other)?;
    let target = format!("{}{path}", endpoint.path().trim_end_matches('/'));
    let authority = endpoint.authority().map_or(host, http::uri::Authority::as_str);
    let request = Request::post(target)
        .header(HOST, authority)
        .header(CONTENT_TYPE, "application/json")
        .body(Full::new(Bytes::from(serde_json::to_vec(body)?)))
        .map_err(io::Error::other)?;
    let driven = tokio::spawn(connection);
    let answer = sender.send_request(request).await.map_err(io::Error::other)?;
    let status = answer.status();
    driven.abort();
    if status.is_success() {
        return Ok(());
    }
    Err(io::Error::other(format!("it answers {status}")))
}
