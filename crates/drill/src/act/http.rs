//! A request over HTTP/1.1 with a short answer.

use bytes::Bytes;
use damper_system::Url;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue};
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;

/// No answer is longer: all statistics of a large Envoy are less.
const MAX_ANSWER: usize = 32 << 20;
/// So much of a bad answer is shown.
const SHOWN: usize = 200;

/// Sends it and reads the answer.
///
/// # Errors
/// In words: no connection, a status of 300 or more, an answer that is too long.
pub(crate) async fn request(
    method: &str,
    url: &str,
    body: Option<&Value>,
    token: Option<&str>,
) -> Result<String, String> {
    let words = |error: &dyn std::fmt::Display| error.to_string();
    let place = Url::parse(url).map_err(str::to_owned)?;
    let stream = TcpStream::connect((place.host.as_str(), place.port)).await;
    let stream = stream.map_err(|e| words(&e))?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(|e| words(&e))?;
    tokio::spawn(async move {
        // How it ends shows in the answer.
        let _ = connection.await;
    });
    let text = body.map(Value::to_string).unwrap_or_default();
    let mut request = Request::new(Full::new(Bytes::from(text)));
    *request.method_mut() = Method::from_bytes(method.as_bytes()).map_err(|e| words(&e))?;
    *request.uri_mut() = place.path.parse().map_err(|e: hyper::http::uri::InvalidUri| words(&e))?;
    let headers = request.headers_mut();
    headers.insert(HOST, HeaderValue::from_str(&place.authority()).map_err(|e| words(&e))?);
    if body.is_some() {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    }
    if let Some(token) = token {
        let value = HeaderValue::from_str(&format!("Bearer {token}"));
        let mut value = value.map_err(|_| "the token has characters that no header can have")?;
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
    let response = sender.send_request(request).await.map_err(|e| words(&e))?;
    let status = response.status();
    let body = Limited::new(response.into_body(), MAX_ANSWER).collect().await;
    let body = body.map_err(|e| words(&e))?.to_bytes();
    let text = String::from_utf8_lossy(&body).into_owned();
    if status.as_u16() < 300 {
        return Ok(text);
    }
    let shown: String = text.trim().chars().take(SHOWN).collect();
    Err(format!("it answered {status}: {shown}"))
}
