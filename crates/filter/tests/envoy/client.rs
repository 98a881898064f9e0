//! A client with one connection.

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::{http1, http2};
use hyper::header::HeaderMap;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;

use crate::Protocol;

/// An answer.
#[derive(Clone, Debug)]
pub(crate) struct Got {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Got {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("-", |value| value.to_str().unwrap_or("?"))
    }
}

pub(crate) enum Client {
    Http1(http1::SendRequest<Full<Bytes>>, u16),
    Http2(http2::SendRequest<Full<Bytes>>, u16),
}

impl Client {
    pub(crate) async fn connect(port: u16, http2: bool) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).await.expect("a connection");
        let io = TokioIo::new(stream);
        if http2 {
            let (send, connection) =
                http2::handshake(TokioExecutor::new(), io).await.expect("a handshake");
            tokio::spawn(connection);
            Self::Http2(send, port)
        } else {
            let (send, connection) = http1::handshake(io).await.expect("a handshake");
            tokio::spawn(connection);
            Self::Http1(send, port)
        }
    }

    /// A request of the protocol: for gRPC it is one.
    pub(crate) async fn ask(
        &mut self,
        protocol: Protocol,
        path: &str,
        headers: &[(&str, &str)],
    ) -> Got {
        let mut headers = headers.to_vec();
        if protocol == Protocol::Grpc {
            headers.extend([("content-type", "application/grpc"), ("te", "trailers")]);
            return self.send("POST", path, &headers).await;
        }
        self.get(path, &headers).await
    }

    pub(crate) async fn get(&mut self, path: &str, headers: &[(&str, &str)]) -> Got {
        self.send("GET", path, headers).await
    }

    pub(crate) async fn send(&mut self, method: &str, path: &str, headers: &[(&str, &str)]) -> Got {
        // A connection may be closed between two requests, as HTTP allows.
        for _ in 0..10 {
            if let Some(got) = self.try_send(method, path, headers).await {
                return got;
            }
            let (port, http2) = match self {
                Self::Http1(_, port) => (*port, false),
                Self::Http2(_, port) => (*port, true),
            };
            *self = Self::connect(port, http2).await;
        }
        panic!("no answer to {method} {path}");
    }

    async fn try_send(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
    ) -> Option<Got> {
        let host =
            headers.iter().find(|(name, _)| *name == "host").map_or("callee", |(_, host)| host);
        let uri = if let Self::Http2(..) = self {
            format!("http://{host}{path}")
        } else {
            path.to_owned()
        };
        let mut request = Request::builder().method(method).uri(uri);
        if let Self::Http1(..) = self {
            request = request.header("host", host);
        }
        for (name, value) in headers.iter().filter(|(name, _)| *name != "host") {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(Bytes::new())).expect("a request");
        let response = match self {
            Self::Http1(send, _) => {
                send.ready().await.ok()?;
                send.send_request(request).await.ok()?
            }
            Self::Http2(send, _) => {
                send.ready().await.ok()?;
                send.send_request(request).await.ok()?
            }
        };
        got(response).await
    }
}

async fn got(response: Response<hyper::body::Incoming>) -> Option<Got> {
    let (head, body) = response.into_parts();
    let body = body.collect().await.ok()?.to_bytes();
    let body = String::from_utf8_lossy(&body).into_owned();
    Some(Got { status: head.status.as_u16(), headers: head.headers, body })
}
