//! What is sent: requests with placeholders, and their form on the wire.

use std::ops::RangeInclusive;

use bytes::Bytes;
use hyper::header::{CONTENT_LENGTH, HOST, HeaderName, HeaderValue, TRANSFER_ENCODING};
use hyper::{Method, Uri};

use super::grpc::Takes;
use super::send::{Ask, Error};
use super::text::{BadText, Filling, Text};

/// One request of a load, with placeholders.
#[derive(Clone, Debug)]
pub struct Request {
    /// The method.
    pub method: Method,
    /// The path with the query, from `/` on.
    pub path: Text,
    /// Headers beside those of the protocol.
    pub headers: Vec<(HeaderName, Text)>,
    /// The body; `None`: no body, and with gRPC an empty message.
    pub body: Option<Text>,
    /// With gRPC: the message that the body, which is JSON, becomes, or the messages; `None`: it is
    /// sent as it is.
    pub message: Option<Takes>,
    /// Statuses that are good; none: 200 to 299. gRPC has a status of its own, which must be OK.
    pub expect: Vec<RangeInclusive<u16>>,
}

impl Request {
    /// GET of a path.
    #[must_use]
    pub fn get(path: impl Into<String>) -> Self {
        Self {
            method: Method::GET,
            path: Text::literal(path),
            headers: Vec::new(),
            body: None,
            message: None,
            expect: Vec::new(),
        }
    }
}

impl From<Ask> for Request {
    fn from(ask: Ask) -> Self {
        let text = |value: &HeaderValue| Text::literal(String::from_utf8_lossy(value.as_bytes()));
        let headers = ask.headers.iter().map(|(name, value)| (name.clone(), text(value)));
        Self { headers: headers.collect(), ..Self::get(ask.path) }
    }
}

/// A header with its value.
///
/// # Errors
/// The name is not one of a header, or a control character is in the value.
pub fn header(name: &str, value: Text) -> Result<(HeaderName, Text), BadText> {
    match HeaderName::from_bytes(name.as_bytes()) {
        Ok(name) if value.is_plain() => Ok((name, value)),
        _ => Err(BadText::Control),
    }
}

/// The longest request that is sent.
const MOST_BYTES: usize = 16 << 20;

/// A request that was looked through, and laid out once if nothing is filled in.
pub(super) struct Prepared {
    request: Request,
    authority: String,
    class: String,
    seed: u64,
    /// The whole of it on an HTTP/1.1 connection.
    fixed: Option<Bytes>,
    /// The message of a call, if nothing is filled into it.
    message: Option<Bytes>,
}

/// The parts of a request, filled in.
pub(super) struct Filled {
    pub(super) method: Method,
    pub(super) uri: Uri,
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
    pub(super) body: Bytes,
}

impl Prepared {
    pub(super) fn new(
        request: Request,
        authority: &str,
        class: &str,
        seed: u64,
    ) -> Result<Self, Error> {
        let class = class.to_owned();
        let mut new = Self {
            request,
            authority: authority.to_owned(),
            class,
            seed,
            fixed: None,
            message: None,
        };
        let refused = |why: &str| Error::BadRequest(why.to_owned());
        let Request { path, headers, .. } = &new.request;
        for (name, value) in headers {
            if !value.is_plain() {
                return Err(refused(&format!("a control character in the header {name}")));
            }
            if [CONTENT_LENGTH, TRANSFER_ENCODING].contains(name) {
                return Err(refused(&format!("{name} follows from the body, and is not given")));
            }
        }
        let filling = new.filling(0);
        let mut sample = Vec::new();
        path.fill(filling, 0, &mut sample);
        if !path.is_plain() || !sample.starts_with(b"/") || sample.contains(&b' ') {
            let shown: String = String::from_utf8_lossy(&sample).chars().take(80).collect();
            return Err(refused(&format!("`{shown}` is not a path, which begins with `/`")));
        }
        sample.clear();
        new.lay_out(0, &mut sample);
        if sample.len() > MOST_BYTES {
            return Err(refused("a request is longer than 16 MiB"));
        }
        if let Some(takes) = &new.request.message {
            let mut json = Vec::new();
            new.fill_body(0, &mut json);
            let message = takes.encode(&json);
            let message =
                message.ok_or_else(|| refused("its body is not the message of the call"))?;
            if message.len() > MOST_BYTES {
                return Err(refused("the messages of a call are longer than 16 MiB"));
            }
            if new.request.body.as_ref().is_none_or(|body| body.fixed().is_some()) {
                new.message = Some(message.into());
            }
        }
        if new.request.is_fixed() {
            new.fixed = Some(sample.into());
        }
        Ok(new)
    }

    fn filling(&self, number: u64) -> Filling<'_> {
        Filling { seed: self.seed, number, class: &self.class }
    }

    /// Whether the reply has no body whatever it says.
    pub(super) fn is_head(&self) -> bool {
        self.request.method == Method::HEAD
    }

    /// Whether it may be sent again on a new connection if an idle one was closed under it
    /// (RFC 9110, 9.2.2).
    pub(super) fn is_repeatable(&self) -> bool {
        self.request.method.is_idempotent()
    }

    pub(super) fn expect(&self) -> &[RangeInclusive<u16>] {
        &self.request.expect
    }

    /// The whole of the `number`th request on an HTTP/1.1 connection.
    pub(super) fn wire(&self, number: u64, buffer: &mut Vec<u8>) -> Bytes {
        if let Some(fixed) = &self.fixed {
            return fixed.clone();
        }
        buffer.clear();
        self.lay_out(number, buffer);
        Bytes::copy_from_slice(buffer)
    }

    fn lay_out(&self, number: u64, into: &mut Vec<u8>) {
        let filling = self.filling(number);
        let Request { method, path, headers, body, .. } = &self.request;
        into.extend_from_slice(method.as_str().as_bytes());
        into.push(b' ');
        path.fill(filling, 0, into);
        into.extend_from_slice(b" HTTP/1.1\r\n");
        if !headers.iter().any(|(name, _)| *name == HOST) {
            into.extend_from_slice(b"host: ");
            into.extend_from_slice(self.authority.as_bytes());
            into.extend_from_slice(b"\r\n");
        }
        for (salt, (name, value)) in (1..).zip(headers) {
            into.extend_from_slice(name.as_str().as_bytes());
            into.extend_from_slice(b": ");
            value.fill(filling, salt, into);
            into.extend_from_slice(b"\r\n");
        }
        let mut filled = Vec::new();
        if let Some(body) = body {
            body.fill(filling, BODY, &mut filled);
            into.extend_from_slice(format!("content-length: {}\r\n", filled.len()).as_bytes());
        }
        into.extend_from_slice(b"\r\n");
        into.extend_from_slice(&filled);
    }

    /// The parts of the `number`th request; `None` if what was filled in does not fit.
    pub(super) fn parts(&self, number: u64, tls: bool) -> Option<Filled> {
        let filling = self.filling(number);
        let mut text = Vec::new();
        let Request { method, path, headers, .. } = &self.request;
        path.fill(filling, 0, &mut text);
        let uri = Uri::builder()
            .scheme(if tls { "https" } else { "http" })
            .authority(self.authority.as_str())
            .path_and_query(text.as_slice())
            .build()
            .ok()?;
        let mut values = Vec::with_capacity(headers.len());
        for (salt, (name, value)) in (1..).zip(headers) {
            text.clear();
            value.fill(filling, salt, &mut text);
            values.push((name.clone(), HeaderValue::from_bytes(&text).ok()?));
        }
        let body = self.body(number)?;
        Some(Filled { method: method.clone(), uri, headers: values, body })
    }

    /// Whether its body is laid out as messages of gRPC.
    pub(super) fn is_message(&self) -> bool {
        self.request.message.is_some()
    }

    /// The body of the `number`th request, as the messages that it becomes; `None` if it is none.
    fn body(&self, number: u64) -> Option<Bytes> {
        if let Some(message) = &self.message {
            return Some(message.clone());
        }
        let mut text = Vec::new();
        self.fill_body(number, &mut text);
        match &self.request.message {
            Some(takes) => takes.encode(&text).map(Into::into),
            None => Some(text.into()),
        }
    }

    fn fill_body(&self, number: u64, into: &mut Vec<u8>) {
        match &self.request.body {
            Some(body) => body.fill(self.filling(number), BODY, into),
            // The message in which nothing is said.
            None if self.request.message.is_some() => into.extend_from_slice(b"{}"),
            None => {}
        }
    }
}

/// Tells what is drawn for a body from what is drawn for the rest.
const BODY: u64 = 0xb0d1;

impl Request {
    fn is_fixed(&self) -> bool {
        let texts = self.headers.iter().map(|(_, value)| value).chain(&self.body);
        self.path.fixed().is_some() && texts.into_iter().all(|text| text.fixed().is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prepared(request: Request) -> Result<Prepared, Error> {
        Prepared::new(request, "shop:80", "high", 1)
    }

    fn text(text: &str) -> Text {
        Text::parse(text, |_| None).unwrap()
    }

    #[test]
    fn a_request_on_the_wire() {
        let request = Request {
            method: Method::POST,
            path: text("/orders/{{counter}}"),
            headers: vec![(HeaderName::from_static("x-class"), text("{{class}}"))],
            body: Some(text("{\"n\": {{counter}}}")),
            message: None,
            expect: Vec::new(),
        };
        let prepared = prepared(request).unwrap();
        let wire = prepared.wire(12, &mut Vec::new());
        let expected = "POST /orders/12 HTTP/1.1\r\nhost: shop:80\r\nx-class: high\r\n\
                        content-length: 9\r\n\r\n{\"n\": 12}";
        assert_eq!(std::str::from_utf8(&wire).unwrap(), expected);
        let parts = prepared.parts(12, false).unwrap();
        assert_eq!(parts.uri, "http://shop:80/orders/12");
        assert_eq!(parts.body, "{\"n\": 12}");
        assert!(!prepared.is_repeatable());
    }

    #[test]
    fn a_host_of_its_own_goes_before_the_target() {
        let mut request = Request::get("/");
        request.headers.push((HOST, Text::literal("other")));
        let wire = prepared(request).unwrap().wire(0, &mut Vec::new());
        assert_eq!(wire, "GET / HTTP/1.1\r\nhost: other\r\n\r\n");
    }

    #[test]
    fn what_would_be_another_request_is_refused() {
        for path in ["", "x", "/a b", "/a\r\nx: y"] {
            assert!(prepared(Request::get(path)).is_err(), "{path:?}");
        }
        for (name, value) in [("x-a", "b\r\nc: d"), ("content-length", "3")] {
            let mut request = Request::get("/");
            request.headers.push((HeaderName::from_static(name), Text::literal(value)));
            assert!(prepared(request).is_err(), "{name}");
        }
    }
}
