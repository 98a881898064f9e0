//! Asking a server what its methods take (`grpc.reflection.v1`, and `v1alpha` where only that is
//! there).

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::{Buf as _, Bytes};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue, TE};
use hyper::{Method, Request, Uri};
use hyper_util::rt::{TokioExecutor, TokioIo};
use prost_reflect::prost::{self, Message as _};
use prost_reflect::prost_types::{FileDescriptorProto, FileDescriptorSet};

use super::super::client::message;
use super::super::target::{Protocol, Target};
use super::super::tls::{Stream, Tls};
use super::Methods;

/// Why a server does not say what its methods take.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoReflection {
    /// It does not know the service.
    #[error("the server has no reflection (grpc.reflection.v1): --descriptors FILE says the same")]
    NotThere,
    /// It cannot be reached, or says something else.
    #[error("the server does not say what its methods take: {0}")]
    Failed(String),
}

/// The versions of the service, which are the same but for their name.
const VERSIONS: [&str; 2] = ["v1", "v1alpha"];
/// No answer is longer, and no more questions are asked.
const MOST_BYTES: usize = 16 << 20;
const MOST_FILES: usize = 10_000;
const PATIENCE: Duration = Duration::from_secs(10);
/// The status of a method that is not there.
const UNIMPLEMENTED: &str = "12";

#[derive(Clone, PartialEq, prost::Message)]
#[prost(prost_path = "prost_reflect::prost")]
struct Question {
    #[prost(string, tag = "3")]
    file: String,
    #[prost(string, tag = "4")]
    symbol: String,
    #[prost(string, optional, tag = "7")]
    services: Option<String>,
}

#[derive(Clone, PartialEq, prost::Message)]
#[prost(prost_path = "prost_reflect::prost")]
struct Answer {
    #[prost(message, optional, tag = "4")]
    files: Option<Files>,
    #[prost(message, optional, tag = "6")]
    services: Option<Services>,
    #[prost(message, optional, tag = "7")]
    error: Option<Wrong>,
}

#[derive(Clone, PartialEq, prost::Message)]
#[prost(prost_path = "prost_reflect::prost")]
struct Files {
    #[prost(bytes = "vec", repeated, tag = "1")]
    file: Vec<Vec<u8>>,
}

#[derive(Clone, PartialEq, prost::Message)]
#[prost(prost_path = "prost_reflect::prost")]
struct Services {
    #[prost(message, repeated, tag = "1")]
    service: Vec<Service>,
}

#[derive(Clone, PartialEq, prost::Message)]
#[prost(prost_path = "prost_reflect::prost")]
struct Service {
    #[prost(string, tag = "1")]
    name: String,
}

#[derive(Clone, PartialEq, prost::Message)]
#[prost(prost_path = "prost_reflect::prost")]
struct Wrong {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    message: String,
}

/// The methods of a server, as it says itself.
///
/// # Errors
/// It cannot be reached, has no reflection, or does not say all that is needed, within 10 s.
pub async fn reflect(
    target: Target,
    tls: Option<&Tls>,
    authority: &str,
) -> Result<Methods, NoReflection> {
    let tls = tls.map(|tls| tls.clone().offering(&[Protocol::Grpc]));
    let asked = async {
        for version in VERSIONS {
            let server = Server { target, tls: tls.as_ref(), authority, version };
            match server.methods().await {
                Err(NoReflection::NotThere) => {}
                answered => return answered,
            }
        }
        Err(NoReflection::NotThere)
    };
    let late = || failed("no answer within 10 s");
    tokio::time::timeout(PATIENCE, asked).await.unwrap_or_else(|_| Err(late()))
}

fn failed(why: impl ToString) -> NoReflection {
    NoReflection::Failed(why.to_string())
}

struct Server<'a> {
    target: Target,
    tls: Option<&'a Tls>,
    authority: &'a str,
    version: &'static str,
}

impl Server<'_> {
    async fn methods(&self) -> Result<Methods, NoReflection> {
        let list = Question { services: Some(String::new()), ..Question::default() };
        let services = self.ask(&[list]).await?.into_iter().find_map(|answer| answer.services);
        let services = services.ok_or_else(|| failed("it lists no services"))?;
        let of = |service: Service| Question { symbol: service.name, ..Question::default() };
        let mut questions: Vec<Question> = services.service.into_iter().map(of).collect();
        let mut files: BTreeMap<String, FileDescriptorProto> = BTreeMap::new();
        // Some send what a file imports along with it, others wait to be asked.
        while !questions.is_empty() {
            let before = files.len();
            for answer in self.ask(&questions).await? {
                for bytes in answer.files.unwrap_or_default().file {
                    let file = FileDescriptorProto::decode(bytes.as_slice()).map_err(failed)?;
                    files.insert(file.name().to_owned(), file);
                }
            }
            let imported = files.values().flat_map(|file| &file.dependency);
            let mut missing: Vec<&String> =
                imported.filter(|name| !files.contains_key(*name)).collect();
            missing.sort_unstable();
            missing.dedup();
            if files.len() == before || files.len() > MOST_FILES {
                return Err(failed("it does not say what its files import"));
            }
            let of = |name: &String| Question { file: name.clone(), ..Question::default() };
            questions = missing.into_iter().map(of).collect();
        }
        let set = FileDescriptorSet { file: files.into_values().collect() };
        Methods::read(&set.encode_to_vec()).map_err(failed)
    }

    /// Asks all at once, on a connection of its own; the answers, without those that say that
    /// something is not there.
    async fn ask(&self, questions: &[Question]) -> Result<Vec<Answer>, NoReflection> {
        let stream = Stream::open(self.target, self.tls).await.map_err(failed)?;
        let (mut sender, connection) =
            hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
                .await
                .map_err(failed)?;
        let driven = tokio::spawn(connection);
        let answered = async {
            let response = sender.send_request(self.request(questions)?).await.map_err(failed)?;
            let mut headers = response.headers().clone();
            let body = Limited::new(response.into_body(), MOST_BYTES).collect().await;
            let body = body.map_err(failed)?;
            headers.extend(body.trailers().cloned().unwrap_or_default());
            well(&headers)?;
            answers(body.to_bytes())
        };
        let answered = answered.await;
        driven.abort();
        answered
    }

    fn request(&self, questions: &[Question]) -> Result<Request<Full<Bytes>>, NoReflection> {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        let path =
            format!("/grpc.reflection.{}.ServerReflection/ServerReflectionInfo", self.version);
        let uri = Uri::builder().scheme(scheme).authority(self.authority).path_and_query(path);
        let mut body = Vec::new();
        for question in questions {
            let framed = message(&question.encode_to_vec()).ok_or_else(|| failed("too long"))?;
            body.extend_from_slice(&framed);
        }
        let mut request = Request::new(Full::new(Bytes::from(body)));
        *request.uri_mut() = uri.build().map_err(failed)?;
        *request.method_mut() = Method::POST;
        *request.version_mut() = hyper::Version::HTTP_2;
        let headers = request.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
        headers.insert(TE, HeaderValue::from_static("trailers"));
        Ok(request)
    }
}

/// Whether a reply is one of gRPC that went well.
fn well(headers: &HeaderMap) -> Result<(), NoReflection> {
    let said = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    match said("grpc-status") {
        Some("0") => Ok(()),
        Some(UNIMPLEMENTED) => Err(NoReflection::NotThere),
        Some(code) => {
            let message = said("grpc-message").unwrap_or_default();
            Err(failed(format!("status {code} {message}")))
        }
        None => Err(failed("what answers does not speak gRPC")),
    }
}

/// The messages of a reply.
fn answers(mut body: Bytes) -> Result<Vec<Answer>, NoReflection> {
    let mut answers = Vec::new();
    while body.remaining() >= 5 {
        let (compressed, length) = (body.get_u8(), body.get_u32() as usize);
        if compressed != 0 || length > body.remaining() {
            return Err(failed("an answer that is compressed or cut off"));
        }
        let answer = Answer::decode(body.split_to(length)).map_err(failed)?;
        // A service may be listed whose file nobody has; its calls are then not to be had.
        if answer.error.is_none() {
            answers.push(answer);
        }
    }
    Ok(answers)
}
