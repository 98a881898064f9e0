//! What the admin port answers.

use std::time::Duration;

use bytes::Bytes;
use damper_tower::clock;
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue, WWW_AUTHENTICATE};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use serde::Serialize;
use serde_json::{Value, json};

use super::levers::{Levers, Problem};
use super::pull::Pull;
use super::{Options, guard};
use crate::hop::Hop;
use crate::observe::view::{HopView, StateView};
use crate::observe::{Watch, prometheus, wall};

type Answer = Response<Full<Bytes>>;

/// Bytes of a pull.
const MOST_BODY: usize = 16 * 1024;
/// How long a pull may take to be sent.
const BODY: Duration = Duration::from_secs(5);

/// The paths, and what they accept.
const PATHS: [(&str, &str, &str); 6] = [
    ("/metrics", "GET", "for Prometheus"),
    ("/healthz", "GET", "200 while the process lives"),
    ("/readyz", "GET", "200 while requests should be sent here"),
    ("/state", "GET", "every hop, as JSON"),
    ("/lever", "GET, POST", "positions and journal; a pull"),
    ("/config", "GET", "what is in force, without secrets"),
];

#[derive(Debug)]
pub(super) struct Port {
    pub(super) options: Options,
    pub(super) watch: Watch,
    pub(super) levers: Levers,
}

fn reply(status: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> Answer {
    let mut answer = Response::new(Full::new(body.into()));
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert("x-content-type-options", HeaderValue::from_static("nosniff"));
    answer
}

fn json(status: StatusCode, value: &impl Serialize) -> Answer {
    let text = serde_json::to_vec_pretty(value).unwrap_or_default();
    reply(status, "application/json", text)
}

fn problem(status: StatusCode, why: &str) -> Answer {
    let mut answer = json(status, &json!({ "error": why }));
    if status == StatusCode::UNAUTHORIZED {
        answer.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    answer
}

impl Port {
    pub(super) async fn answer<B>(&self, request: Request<B>) -> Answer
    where
        B: http_body::Body<Data: Send> + Send,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let (head, body) = request.into_parts();
        let token = self.options.token.as_ref();
        if let Err((status, why)) = guard::admit(token, &head.method, &head.uri, &head.headers) {
            return problem(status, why);
        }
        let path = head.uri.path();
        let Some((_, allowed, _)) = PATHS.iter().find(|(known, ..)| *known == path) else {
            let paths: Vec<_> = PATHS
                .iter()
                .map(
                    |(path, allowed, what)| json!({"path": path, "methods": allowed, "what": what}),
                )
                .collect();
            return json(
                StatusCode::NOT_FOUND,
                &json!({"error": "there is no such path", "paths": paths}),
            );
        };
        if !allowed.split(", ").any(|method| method == head.method.as_str()) {
            let mut answer = problem(StatusCode::METHOD_NOT_ALLOWED, "not this method");
            answer.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
            return answer;
        }
        match path {
            "/metrics" => {
                let log = self.options.log.as_ref();
                let text = prometheus::scrape(&self.options.hops, &self.watch, log);
                reply(StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", text)
            }
            "/healthz" => reply(StatusCode::OK, "text/plain", "alive\n"),
            "/readyz" => {
                let life = self.options.readiness.life();
                let ready = life == super::Life::Ready;
                let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
                reply(status, "text/plain", format!("{}\n", life.word()))
            }
            "/state" => json(StatusCode::OK, &self.state()),
            "/config" => {
                let config = self.options.config.read();
                let config = config.map_or(Value::Null, |config| without_secrets(&config));
                json(StatusCode::OK, &config)
            }
            _ if head.method == Method::POST => self.pull(body).await,
            _ => json(StatusCode::OK, &self.levers.status()),
        }
    }

    fn state(&self) -> StateView {
        StateView {
            at: wall::now(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            life: self.options.readiness.life().word().to_owned(),
            hops: self.views(),
        }
    }

    fn views(&self) -> Vec<HopView> {
        let view = |hop: &std::sync::Arc<Hop>| {
            let lever = self.levers.view(hop);
            self.watch.view(hop).map(|view| HopView { lever, ..view })
        };
        self.options.hops.list().iter().filter_map(view).collect()
    }

    async fn pull<B>(&self, body: B) -> Answer
    where
        B: http_body::Body,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let body = tokio::time::timeout(BODY, Limited::new(body, MOST_BODY).collect()).await;
        let Ok(Ok(body)) = body else {
            return problem(StatusCode::BAD_REQUEST, "the body is too long, or was not sent");
        };
        let pull: Pull = match serde_json::from_slice(&body.to_bytes()) {
            Ok(pull) => pull,
            Err(error) => return problem(StatusCode::BAD_REQUEST, &format!("the pull: {error}")),
        };
        match self.levers.pull(clock::now(), &pull) {
            Ok(done) => json(StatusCode::OK, &done),
            Err(wrong) => {
                let status = match wrong {
                    Problem::Wrong(_) => StatusCode::BAD_REQUEST,
                    Problem::NoHop(_) => StatusCode::NOT_FOUND,
                    Problem::Full(_) => StatusCode::CONFLICT,
                };
                problem(status, &wrong.to_string())
            }
        }
    }
}

/// A configuration in which what sounds secret is not shown. Whoever makes it leaves secrets out;
/// this is for the key that somebody adds and does not think of.
fn without_secrets(value: &Value) -> Value {
    const SECRET: [&str; 6] = ["token", "secret", "password", "authorization", "cookie", "private"];
    match value {
        Value::Object(map) => {
            let shown = map.iter().map(|(key, value)| {
                let lower = key.to_ascii_lowercase();
                let secret = SECRET.iter().any(|word| lower.contains(word)) && !value.is_null();
                (key.clone(), if secret { "not shown".into() } else { without_secrets(value) })
            });
            Value::Object(shown.collect())
        }
        Value::Array(items) => items.iter().map(without_secrets).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests;
