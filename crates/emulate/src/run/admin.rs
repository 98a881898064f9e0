//! The admin port of an emulation: state, counts and triggers over HTTP, on the loopback
//! interface.

use std::convert::Infallible;
use std::net::Ipv4Addr;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::{Error, Handle};
use crate::lever::Pull;

/// Opens the port and serves it.
pub(super) async fn open(handle: Handle) -> Result<u16, Error> {
    let open = || Error::io("opening the admin port");
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.map_err(open())?;
    let port = listener.local_addr().map_err(open())?.port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let handle = handle.clone();
            tokio::spawn(async move {
                let service = service_fn(move |request| {
                    let handle = handle.clone();
                    async move { Ok::<_, Infallible>(answer(&handle, request).await) }
                });
                let connection = hyper::server::conn::http1::Builder::new()
                    .timer(TokioTimer::new())
                    .serve_connection(TokioIo::new(stream), service);
                // How a connection ends is its caller's affair.
                let _ = connection.await;
            });
        }
    });
    Ok(port)
}

async fn answer(handle: &Handle, request: Request<Incoming>) -> Response<Full<Bytes>> {
    let (head, body) = request.into_parts();
    let path = head.uri.path().trim_end_matches('/');
    let (status, value) = match (&head.method, path) {
        (&Method::GET, "") => (StatusCode::OK, json!(handle.state())),
        (&Method::GET, "/counts") => match handle.counts().await {
            Ok(counts) => (StatusCode::OK, json!(counts)),
            Err(error) => problem(StatusCode::BAD_GATEWAY, &error.to_string()),
        },
        (&Method::GET, "/lever") => (StatusCode::OK, json!(handle.levers())),
        (&Method::POST, "/lever") => {
            // Pages of other origins can send anything but this type without asking first.
            let json = head.headers.get(CONTENT_TYPE).is_some_and(|t| t == "application/json");
            if json { lever(handle, body).await } else { not_json() }
        }
        (&Method::POST, path) if path.starts_with("/trigger/") => command(handle, path).await,
        _ => problem(
            StatusCode::NOT_FOUND,
            "there are GET /, GET /counts, GET and POST /lever, POST /trigger/NAME and \
             POST /trigger/NAME/stop",
        ),
    };
    let mut text = format!("{value:#}");
    text.push('\n');
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// No pull is longer.
const MAX_PULL: usize = 16 << 10;

fn not_json() -> (StatusCode, Value) {
    problem(StatusCode::UNSUPPORTED_MEDIA_TYPE, "a pull has `content-type: application/json`")
}

/// Pulls a lever.
async fn lever(handle: &Handle, body: Incoming) -> (StatusCode, Value) {
    let wrong = |why: &str| problem(StatusCode::BAD_REQUEST, why);
    let Ok(body) = Limited::new(body, MAX_PULL).collect().await else {
        return wrong("a pull is not longer than 16 KiB");
    };
    let pull: Pull = match serde_json::from_slice(&body.to_bytes()) {
        Ok(pull) => pull,
        Err(why) => return wrong(&why.to_string()),
    };
    match handle.pull(&pull).await {
        Ok(doors) => (StatusCode::OK, json!({"pulled": doors, "action": pull.action})),
        Err(why) => wrong(&why),
    }
}

async fn command(handle: &Handle, path: &str) -> (StatusCode, Value) {
    let name = path.trim_start_matches("/trigger/");
    let (done, what) = match name.strip_suffix("/stop") {
        Some(name) => match handle.stop_trigger(name).await {
            Some(was) => (Some(()), json!({"stopped": name, "was_active": was})),
            None => (None, Value::Null),
        },
        None => (handle.trigger(name).await, json!({"started": name})),
    };
    if done.is_some() {
        return (StatusCode::OK, what);
    }
    let names = handle.state().triggers.join(", ");
    let there = if names.is_empty() { "the file has none".to_owned() } else { names };
    problem(StatusCode::NOT_FOUND, &format!("no such trigger; there are: {there}"))
}

fn problem(status: StatusCode, why: &str) -> (StatusCode, Value) {
    (status, json!({"error": why}))
}
