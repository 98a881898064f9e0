//! Every schedule of a few calls through retries, a budget and a door.
//!
//! What is concurrent here are futures that share their controls: which is polled next, when the
//! service behind answers, when a caller leaves, when the service is not ready. All orders of
//! these are tried, not drawn: a schedule is replayed from its beginning, and the next one differs
//! from it in its last choice that has an alternative left. A future is polled only after it was
//! woken, so that a wake-up that is lost leaves a call behind that never ends.
//!
//! Threads can meet only where a mutex is taken; every order of what happens under that of a door is
//! in `src/door/tests.rs`, and the atomics of budgets are checked by loom where they are made
//! (`damper-control`, `tests/loom_shared.rs`).
#![allow(missing_docs)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

use bytes::Bytes;
use damper_control::budget::GrpcTokenBucket;
use damper_control::shared::DepositBudget;
use damper_control::{Backoff, Budget, Nanos, Reason, RetryOn};
use damper_tower::body::Replay;
use damper_tower::{Door, DoorLayer, Error, Event, Policy, RetryLayer, SharedBudget};
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use tower::{Layer as _, Service};

/// One attempt at the service behind.
#[derive(Debug, Default)]
struct Attempt {
    call: usize,
    answer: Option<u16>,
    waker: Option<Waker>,
    over: bool,
}

/// The service behind: it answers when the schedule says so.
#[derive(Debug, Default)]
struct Behind {
    attempts: Vec<Attempt>,
    most_open: usize,
    shut: bool,
    waiting: Vec<Waker>,
}

impl Behind {
    fn open(&self) -> usize {
        self.attempts.iter().filter(|attempt| !attempt.over).count()
    }
}

#[derive(Clone, Debug, Default)]
struct Ready(Arc<Mutex<Behind>>);

struct Answer {
    behind: Arc<Mutex<Behind>>,
    attempt: usize,
}

impl Future for Answer {
    type Output = Result<Response<Full<Bytes>>, Infallible>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut behind = self.behind.lock().unwrap();
        let attempt = &mut behind.attempts[self.attempt];
        let Some(status) = attempt.answer else {
            attempt.waker = Some(cx.waker().clone());
            return Poll::Pending;
        };
        let mut response = Response::new(Full::default());
        *response.status_mut() = StatusCode::from_u16(status).unwrap();
        Poll::Ready(Ok(response))
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        self.behind.lock().unwrap().attempts[self.attempt].over = true;
    }
}

impl Service<Request<Replay<Full<Bytes>>>> for Ready {
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = Answer;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        let mut behind = self.0.lock().unwrap();
        if behind.shut {
            behind.waiting.push(cx.waker().clone());
            return Poll::Pending;
        }
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Replay<Full<Bytes>>>) -> Answer {
        let call = request.headers()["x-call"].to_str().unwrap().parse().unwrap();
        let mut behind = self.0.lock().unwrap();
        behind.attempts.push(Attempt { call, ..Attempt::default() });
        behind.most_open = behind.open().max(behind.most_open);
        Answer { behind: self.0.clone(), attempt: behind.attempts.len() - 1 }
    }
}

#[derive(Default)]
struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

type Ended = Result<u16, Option<Reason>>;

enum Call {
    Outside,
    Runs(Pin<Box<dyn Future<Output = Ended>>>),
    Ended(Ended),
    Left,
}

/// What may happen next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Start(usize),
    Poll(usize),
    Leave(usize),
    Answer(usize, u16),
    Shut,
    Reopen,
}

/// What is tried.
#[derive(Clone, Copy)]
struct Scene {
    calls: usize,
    /// Retries after the first attempt.
    limit: u32,
    workers: u32,
    queue: u32,
    budget: fn() -> SharedBudget,
    /// The most retries that the budget may grant, by the number of good replies.
    most_retries: fn(usize) -> usize,
    /// How often a caller may leave, and the service be shut.
    leaves: u32,
    shuts: u32,
}

struct Stage {
    scene: Scene,
    behind: Ready,
    retry: RetryLayer,
    door: DoorLayer,
    calls: Vec<Call>,
    woken: Vec<Arc<Flag>>,
    left: u32,
    shut: u32,
}

impl Stage {
    fn new(scene: Scene) -> Self {
        let policy = Policy::new(damper_control::Retry {
            limits: [scene.limit].into(),
            on: RetryOn::ALL,
            backoff: Backoff::NONE,
        });
        Self {
            scene,
            behind: Ready::default(),
            retry: RetryLayer::new(policy, (scene.budget)()),
            door: DoorLayer::new(Door::new().with_workers(scene.workers).with_queue(scene.queue)),
            calls: (0..scene.calls).map(|_| Call::Outside).collect(),
            woken: (0..scene.calls).map(|_| Arc::default()).collect(),
            left: 0,
            shut: 0,
        }
    }

    /// Everything that can happen now. Calls are alike, so they start in their order.
    fn possible(&self) -> Vec<Act> {
        let mut acts = Vec::new();
        let behind = self.behind.0.lock().unwrap();
        for (index, call) in self.calls.iter().enumerate() {
            match call {
                Call::Outside => {
                    if !behind.shut {
                        acts.push(Act::Start(index));
                    }
                    break;
                }
                Call::Runs(_) => {
                    if self.woken[index].0.load(Ordering::Relaxed) {
                        acts.push(Act::Poll(index));
                    }
                    if self.left < self.scene.leaves {
                        acts.push(Act::Leave(index));
                    }
                }
                Call::Ended(_) | Call::Left => {}
            }
        }
        for (index, attempt) in behind.attempts.iter().enumerate() {
            if !attempt.over && attempt.answer.is_none() {
                acts.extend([Act::Answer(index, 200), Act::Answer(index, 503)]);
            }
        }
        if behind.shut {
            acts.push(Act::Reopen);
        } else if self.shut < self.scene.shuts && behind.open() > 0 {
            acts.push(Act::Shut);
        }
        acts
    }

    fn act(&mut self, act: Act) {
        match act {
            Act::Start(index) => {
                let mut service = self.retry.layer(self.door.layer(self.behind.clone()));
                let waker = Waker::from(self.woken[index].clone());
                let ready = service.poll_ready(&mut Context::from_waker(&waker));
                assert!(matches!(ready, Poll::Ready(Ok(()))));
                let mut request = Request::new(Full::default());
                request.headers_mut().insert("x-call", index.into());
                let future = service.call(request);
                self.calls[index] = Call::Runs(Box::pin(async move {
                    let refused = |error: Error<Error<Infallible>>| match error {
                        Error::Inner(error) => error.refusal().map(|refusal| refusal.reason),
                        _ => None,
                    };
                    future.await.map(|reply| reply.status().as_u16()).map_err(refused)
                }));
                self.woken[index].0.store(true, Ordering::Relaxed);
            }
            Act::Poll(index) => {
                self.woken[index].0.store(false, Ordering::Relaxed);
                let waker = Waker::from(self.woken[index].clone());
                let Call::Runs(future) = &mut self.calls[index] else { unreachable!() };
                if let Poll::Ready(end) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
                    self.calls[index] = Call::Ended(end);
                }
            }
            Act::Leave(index) => {
                self.left += 1;
                self.calls[index] = Call::Left;
            }
            Act::Answer(index, status) => {
                let waker = {
                    let mut behind = self.behind.0.lock().unwrap();
                    let attempt = &mut behind.attempts[index];
                    attempt.answer = Some(status);
                    attempt.waker.take()
                };
                waker.into_iter().for_each(Waker::wake);
            }
            Act::Shut => {
                self.shut += 1;
                self.behind.0.lock().unwrap().shut = true;
            }
            Act::Reopen => {
                let waiting = {
                    let mut behind = self.behind.0.lock().unwrap();
                    behind.shut = false;
                    std::mem::take(&mut behind.waiting)
                };
                waiting.into_iter().for_each(Waker::wake);
            }
        }
    }

    /// What holds after each step.
    fn check(&self, history: &[Act]) {
        let behind = self.behind.0.lock().unwrap();
        assert!(behind.most_open <= self.scene.workers as usize, "{history:?}");
        for call in 0..self.scene.calls {
            let attempts = behind.attempts.iter().filter(|attempt| attempt.call == call).count();
            assert!(attempts <= self.scene.limit as usize + 1, "{history:?}");
        }
        let load = self.door.load();
        assert!(load.working <= self.scene.workers && load.waiting <= self.scene.queue);
        assert!(
            load.waiting == 0 || load.working == self.scene.workers,
            "somebody waits before a free place: {history:?}"
        );
    }

    /// What holds when nothing can happen any more.
    fn finish(&self, history: &[Act]) {
        for call in &self.calls {
            let over = matches!(call, Call::Ended(_) | Call::Left);
            assert!(over, "a call never ends: {history:?}");
        }
        let load = self.door.load();
        assert_eq!((load.working, load.waiting), (0, 0), "a place is lost: {history:?}");
        let behind = self.behind.0.lock().unwrap();
        assert_eq!(behind.open(), 0, "{history:?}");
        let good = behind.attempts.iter().filter(|attempt| attempt.answer == Some(200)).count();
        let seen = self.retry.counters().snapshot();
        let retries = seen.of(0, Event::Retry) as usize;
        assert!(retries <= (self.scene.most_retries)(good), "{retries} retries: {history:?}");
        assert_eq!(seen.of(0, Event::Request), self.scene.calls as u64);
        for call in self.calls.iter().enumerate() {
            if let (index, Call::Ended(end)) = call {
                let last = behind.attempts.iter().rfind(|attempt| attempt.call == index);
                match end {
                    Ok(status) => {
                        assert_eq!(last.and_then(|a| a.answer), Some(*status), "{history:?}");
                    }
                    Err(reason) => assert_eq!(*reason, Some(Reason::QueueFull), "{history:?}"),
                }
            }
        }
    }
}

/// Tries every schedule; how many there are, and how many of them had retries and refusals.
fn explore(scene: Scene) -> [usize; 3] {
    let mut path: Vec<usize> = Vec::new();
    let mut counts = [0; 3];
    loop {
        let mut stage = Stage::new(scene);
        let (mut widths, mut history) = (Vec::new(), Vec::new());
        loop {
            let acts = stage.possible();
            if acts.is_empty() {
                break;
            }
            if widths.len() == path.len() {
                path.push(0);
            }
            let act = acts[path[widths.len()]];
            widths.push(acts.len());
            history.push(act);
            stage.act(act);
            stage.check(&history);
        }
        stage.finish(&history);
        let seen = stage.retry.counters().snapshot();
        let refused = |call: &Call| matches!(call, Call::Ended(Err(_)));
        counts[0] += 1;
        counts[1] += usize::from(seen.of(0, Event::Retry) > 0);
        counts[2] += usize::from(stage.calls.iter().any(refused));
        loop {
            let Some(last) = path.pop() else { return counts };
            if last + 1 < widths[path.len()] {
                path.push(last + 1);
                break;
            }
        }
    }
}

fn tokens() -> SharedBudget {
    Budget::from(GrpcTokenBucket::try_new(4, 0.1).unwrap()).into()
}

/// Each retry follows a failure that took one of four tokens and left more than two; a good reply
/// gives a tenth of one.
fn by_tokens(good: usize) -> usize {
    if good == 0 { 1 } else { 2 }
}

/// One retry in all, and no deposits. Its reserve is there anew in each window, and the windows follow
/// each other from the start of the process: the first must not end while schedules are tried.
fn one() -> SharedBudget {
    DepositBudget::try_new(0, 1, Nanos::from_secs(3600), 1).unwrap().into()
}

#[test]
fn two_calls_with_retries_before_a_busy_door() {
    let scene = Scene {
        calls: 2,
        limit: 1,
        workers: 1,
        queue: 1,
        budget: tokens,
        most_retries: by_tokens,
        leaves: 1,
        shuts: 0,
    };
    let [schedules, retried, _] = explore(scene);
    assert!(schedules > 1000 && retried > 100, "{schedules} schedules, {retried} with retries");
}

#[test]
fn three_calls_of_which_one_finds_no_place() {
    let scene = Scene {
        calls: 3,
        limit: 0,
        workers: 1,
        queue: 1,
        budget: SharedBudget::default,
        most_retries: |_| 0,
        leaves: 1,
        shuts: 0,
    };
    let [schedules, _, refused] = explore(scene);
    assert!(schedules > 1000 && refused > 100, "{schedules} schedules, {refused} with refusals");
}

/// A retry that was granted waits for the service, and its caller may leave meanwhile.
const UNREADY: Scene = Scene {
    calls: 1,
    limit: 2,
    workers: 1,
    queue: 0,
    budget: one,
    most_retries: |_| 1,
    leaves: 1,
    shuts: 2,
};

#[test]
fn a_service_that_is_not_ready_for_a_retry() {
    let [schedules, retried, _] = explore(UNREADY);
    assert!(schedules > 50 && retried > 10, "{schedules} schedules, {retried} with retries");
}

#[test]
#[ignore = "slow: some hundred thousand schedules"]
fn a_service_that_is_not_ready_for_the_retries_of_two() {
    let scene = Scene { calls: 2, limit: 1, workers: 2, shuts: 1, ..UNREADY };
    let [schedules, retried, _] = explore(scene);
    assert!(schedules > 1000 && retried > 100, "{schedules} schedules, {retried} with retries");
}

#[test]
#[ignore = "slow: some hundred thousand schedules"]
fn three_calls_with_retries() {
    let scene = Scene {
        calls: 3,
        limit: 1,
        workers: 1,
        queue: 2,
        budget: tokens,
        most_retries: by_tokens,
        leaves: 0,
        shuts: 0,
    };
    let [schedules, retried, _] = explore(scene);
    assert!(schedules > 10_000 && retried > 1000, "{schedules} schedules, {retried} with retries");
}
