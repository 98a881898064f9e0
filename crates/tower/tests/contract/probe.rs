//! An inner service that notices when its contract is broken, and what all rows ask of a layer.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Response};
use http_body::Body;
use http_body_util::{BodyExt as _, Full};
use tower::{Layer, Service, ServiceExt as _};

/// The error of the inner service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Boom(pub(crate) u32);

impl std::fmt::Display for Boom {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "boom {}", self.0)
    }
}

impl std::error::Error for Boom {}

/// What the inner service does with one call.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    after: Duration,
    status: u16,
    headers: Vec<(&'static str, &'static str)>,
    error: Option<Boom>,
}

pub(crate) const NEVER: Duration = Duration::from_secs(1_000_000);

impl Answer {
    pub(crate) fn status(status: u16) -> Self {
        Self { after: Duration::ZERO, status, headers: Vec::new(), error: None }
    }

    pub(crate) fn error(n: u32) -> Self {
        Self { error: Some(Boom(n)), ..Self::status(200) }
    }

    pub(crate) fn never() -> Self {
        Self::status(200).after(NEVER)
    }

    /// A gRPC reply that is only trailers.
    pub(crate) fn grpc(status: &'static str) -> Self {
        Self::status(200).with("grpc-status", status)
    }

    pub(crate) fn after(self, after: Duration) -> Self {
        Self { after, ..self }
    }

    pub(crate) fn with(mut self, name: &'static str, value: &'static str) -> Self {
        self.headers.push((name, value));
        self
    }
}

/// What the inner service saw of one call.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) at: tokio::time::Instant,
}

#[derive(Debug, Default)]
struct State {
    script: VecDeque<Answer>,
    calls: Vec<Call>,
    open: u32,
    most_open: u32,
    dropped: u32,
    closed: bool,
    waiting: Vec<Waker>,
    polls: u32,
}

/// The inner service. It panics if it is called without having been made ready; a clone of it is
/// not ready.
#[derive(Debug, Default)]
pub(crate) struct Probe {
    state: Arc<Mutex<State>>,
    ready: bool,
}

impl Clone for Probe {
    fn clone(&self) -> Self {
        Self { state: self.state.clone(), ready: false }
    }
}

impl Probe {
    /// Answers with these, one after the other, and then with 200.
    pub(crate) fn new(script: impl IntoIterator<Item = Answer>) -> Self {
        let probe = Self::default();
        probe.state.lock().unwrap().script = script.into_iter().collect();
        probe
    }

    pub(crate) fn calls(&self) -> Vec<Call> {
        self.state.lock().unwrap().calls.clone()
    }

    pub(crate) fn attempts(&self) -> usize {
        self.state.lock().unwrap().calls.len()
    }

    /// Calls that run now.
    pub(crate) fn open(&self) -> u32 {
        self.state.lock().unwrap().open
    }

    pub(crate) fn most_open(&self) -> u32 {
        self.state.lock().unwrap().most_open
    }

    /// Calls whose future was dropped before its end.
    pub(crate) fn dropped(&self) -> u32 {
        self.state.lock().unwrap().dropped
    }

    /// How often it was asked whether it is ready.
    pub(crate) fn polls(&self) -> u32 {
        self.state.lock().unwrap().polls
    }

    /// Is not ready from now on, or is again.
    pub(crate) fn close(&self, closed: bool) {
        let wakers = {
            let mut state = self.state.lock().unwrap();
            state.closed = closed;
            std::mem::take(&mut state.waiting)
        };
        wakers.into_iter().for_each(Waker::wake);
    }
}

/// A body that ends with trailers.
pub(crate) type Streamed = http_body_util::combinators::WithTrailers<
    Full<Bytes>,
    std::future::Ready<Option<Result<HeaderMap, std::convert::Infallible>>>,
>;

/// The inner service as gRPC streams its replies: each ends with this status.
pub(crate) fn streaming(
    probe: Probe,
    status: &'static str,
) -> tower::util::MapResponse<Probe, impl Fn(Response<Full<Bytes>>) -> Response<Streamed> + Clone> {
    tower::util::MapResponse::new(probe, move |reply: Response<Full<Bytes>>| {
        let mut trailers = HeaderMap::new();
        trailers.insert(damper_tower::headers::GRPC_STATUS, HeaderValue::from_static(status));
        reply.map(|body| body.with_trailers(std::future::ready(Some(Ok(trailers)))))
    })
}

struct Running {
    state: Arc<Mutex<State>>,
    done: bool,
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut state = self.state.lock().unwrap();
        state.open -= 1;
        state.dropped += u32::from(!self.done);
    }
}

type Boxed<T> = Pin<Box<dyn Future<Output = T> + std::marker::Send>>;

impl<B> Service<Request<B>> for Probe
where
    B: Body<Data = Bytes> + std::marker::Send + 'static,
    B::Error: std::fmt::Debug + std::marker::Send,
{
    type Response = Response<Full<Bytes>>;
    type Error = Boom;
    type Future = Boxed<Result<Self::Response, Boom>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Boom>> {
        let mut state = self.state.lock().unwrap();
        state.polls += 1;
        if state.closed {
            state.waiting.push(cx.waker().clone());
            return Poll::Pending;
        }
        self.ready = true;
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        assert!(std::mem::take(&mut self.ready), "called without having been made ready");
        let answer = {
            let mut state = self.state.lock().unwrap();
            state.open += 1;
            state.most_open = state.most_open.max(state.open);
            state.script.pop_front().unwrap_or_else(|| Answer::status(200))
        };
        let running = Running { state: self.state.clone(), done: false };
        let at = tokio::time::Instant::now();
        let (parts, body) = request.into_parts();
        let index = {
            let mut state = self.state.lock().unwrap();
            state.calls.push(Call { headers: parts.headers, body: Bytes::new(), at });
            state.calls.len() - 1
        };
        Box::pin(async move {
            // Whole: its fields alone would be copies.
            let mut running = running;
            let body = body.collect().await.unwrap().to_bytes();
            running.state.lock().unwrap().calls[index].body = body;
            if answer.after > Duration::ZERO {
                tokio::time::sleep(answer.after).await;
            }
            running.done = true;
            if let Some(boom) = answer.error {
                return Err(boom);
            }
            let mut response = Response::new(Full::default());
            *response.status_mut() = http::StatusCode::from_u16(answer.status).unwrap();
            for (name, value) in answer.headers {
                response.headers_mut().insert(name, HeaderValue::from_static(value));
            }
            Ok(response)
        })
    }
}

/// A request of a class.
pub(crate) fn get(class: u8) -> Request<Full<Bytes>> {
    let mut request = Request::new(Full::default());
    request.extensions_mut().insert(damper_tower::Class(class));
    request
}

/// A request that must not be sent twice, with a body.
pub(crate) fn post(body: &'static str) -> Request<Full<Bytes>> {
    let mut request = Request::new(Full::new(Bytes::from_static(body.as_bytes())));
    *request.method_mut() = Method::POST;
    request
}

pub(crate) fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Makes a service ready and calls it.
pub(crate) async fn send<S>(
    service: &mut S,
    request: Request<Full<Bytes>>,
) -> Result<S::Response, S::Error>
where
    S: Service<Request<Full<Bytes>>>,
{
    service.ready().await?.call(request).await
}

/// Polls once.
pub(crate) fn poll_once<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// The column `readied` for any layer: the probe panics where it is broken.
pub(crate) async fn readied<L>(layer: &L)
where
    L: Layer<Probe>,
    L::Service: Service<Request<Full<Bytes>>> + Clone,
    <L::Service as Service<Request<Full<Bytes>>>>::Error: std::fmt::Debug,
{
    let probe = Probe::default();
    let mut service = layer.layer(probe.clone());
    probe.close(true);
    {
        let mut ready = pin!(service.ready());
        assert!(poll_once(ready.as_mut()).is_pending(), "ready before its inner service");
        probe.close(false);
    }
    // Made ready, then cloned: the clone has to be made ready itself, and does not take it away.
    service.ready().await.unwrap();
    let mut clone = service.clone();
    let first = service.call(get(0));
    clone.ready().await.unwrap();
    let second = clone.call(get(0));
    let (first, second) = tokio::join!(first, second);
    first.unwrap();
    second.unwrap();
    // Readied twice is ready once.
    service.ready().await.unwrap();
    service.ready().await.unwrap();
    service.call(get(0)).await.unwrap();
    assert_eq!(probe.attempts(), 3);
}

/// The column `wakes` as far as every layer has it: readiness that comes later wakes its task, and
/// nobody asks again before.
pub(crate) async fn wakes<L>(layer: &L)
where
    L: Layer<Probe>,
    L::Service: Service<Request<Full<Bytes>>> + std::marker::Send + 'static,
    <L::Service as Service<Request<Full<Bytes>>>>::Future: std::marker::Send,
    <L::Service as Service<Request<Full<Bytes>>>>::Response: std::marker::Send,
    <L::Service as Service<Request<Full<Bytes>>>>::Error: std::fmt::Debug + std::marker::Send,
{
    let probe = Probe::default();
    probe.close(true);
    let mut service = layer.layer(probe.clone());
    let task = tokio::spawn(async move { send(&mut service, get(0)).await.map(|_| ()) });
    tokio::time::sleep(ms(50)).await;
    assert_eq!((probe.polls(), probe.attempts()), (1, 0), "it spins or does not wait");
    probe.close(false);
    task.await.unwrap().unwrap();
    assert_eq!((probe.polls(), probe.attempts()), (2, 1));
}

/// The column `cancel` as far as every layer has it: a dropped future drops the inner one.
pub(crate) async fn cancel<L>(layer: &L)
where
    L: Layer<Probe>,
    L::Service: Service<Request<Full<Bytes>>>,
    <L::Service as Service<Request<Full<Bytes>>>>::Error: std::fmt::Debug,
{
    let probe = Probe::new([Answer::never()]);
    let mut service = layer.layer(probe.clone());
    service.ready().await.unwrap();
    {
        let mut call = Box::pin(service.call(get(0)));
        assert!(poll_once(call.as_mut()).is_pending());
        assert_eq!(probe.open(), 1);
    }
    assert_eq!((probe.open(), probe.dropped()), (0, 1));
    // Called and never polled is dropped as well.
    service.ready().await.unwrap();
    drop(service.call(get(0)));
    assert_eq!((probe.open(), probe.dropped()), (0, 2));
    assert!(send(&mut service, get(0)).await.is_ok(), "it goes on");
}

/// Makes a service ready.
pub(crate) async fn ready<S>(service: &mut S)
where
    S: Service<Request<Full<Bytes>>>,
    S::Error: std::fmt::Debug,
{
    service.ready().await.unwrap();
}
