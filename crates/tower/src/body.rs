//! Request bodies that can be sent again, and reply bodies whose end is seen.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

/// What all attempts of one call share of its request body.
#[derive(Debug)]
struct Shared<B> {
    /// What is not read yet; `None` while an attempt has it, or if there is nothing left.
    rest: Option<Pin<Box<B>>>,
    /// What was read, for the next attempt.
    read: Vec<Bytes>,
    trailers: Option<HeaderMap>,
    /// Bytes that may still be kept.
    room: usize,
    /// Everything was read.
    complete: bool,
    /// More than fits was read, or reading failed: it cannot be sent again.
    lost: bool,
}

/// The request body of a call, kept up to a bound while the first attempt streams it.
#[derive(Debug)]
pub(crate) struct Kept<B>(Option<Arc<Mutex<Shared<B>>>>);

fn lock<B>(shared: &Mutex<Shared<B>>) -> MutexGuard<'_, Shared<B>> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<B: Body<Data = Bytes>> Kept<B> {
    /// What each kept frame costs of the bound beside its bytes, so that many small ones are
    /// bounded, too. Empty ones carry nothing and are not kept.
    const FRAME: usize = 16;

    /// Keeps at most `bound` bytes of a body.
    pub(crate) fn new(body: B, bound: usize) -> Self {
        if body.is_end_stream() {
            return Self(None);
        }
        let lost = body.size_hint().lower() > bound as u64;
        Self(Some(Arc::new(Mutex::new(Shared {
            rest: Some(Box::pin(body)),
            read: Vec::new(),
            trailers: None,
            room: bound,
            complete: false,
            lost,
        }))))
    }

    /// Whether it can be sent again now that the attempt before is over. It cannot while its
    /// transport still holds what was not read.
    pub(crate) fn is_whole(&self) -> bool {
        self.0.as_ref().is_none_or(|shared| {
            let shared = lock(shared);
            !shared.lost && (shared.complete || shared.rest.is_some())
        })
    }

    /// Whether it can be sent again beside the attempt that has it now.
    pub(crate) fn is_complete(&self) -> bool {
        self.0.as_ref().is_none_or(|shared| {
            let shared = lock(shared);
            shared.complete && !shared.lost
        })
    }

    /// The body for the next attempt. The one of the attempt before must be gone, unless it is
    /// [complete](Kept::is_complete).
    pub(crate) fn send(&self) -> Replay<B> {
        let Some(shared) = &self.0 else { return Replay::empty() };
        let rest = lock(shared).rest.take();
        Replay { whole: None, shared: Some(shared.clone()), rest, at: 0, trailers: false }
    }
}

/// The request body of one attempt.
#[derive(Debug)]
pub struct Replay<B> {
    /// A body that is never sent again.
    whole: Option<Pin<Box<B>>>,
    shared: Option<Arc<Mutex<Shared<B>>>>,
    rest: Option<Pin<Box<B>>>,
    /// How many of the kept frames were sent.
    at: usize,
    trailers: bool,
}

impl<B> Replay<B> {
    const fn empty() -> Self {
        Self { whole: None, shared: None, rest: None, at: 0, trailers: false }
    }
}

impl<B> Default for Replay<B> {
    /// No body.
    fn default() -> Self {
        Self::empty()
    }
}

impl<B: Body<Data = Bytes>> Replay<B> {
    /// A body that is sent once, with nothing kept.
    pub(crate) fn once(body: B) -> Self {
        if body.is_end_stream() {
            return Self::empty();
        }
        let mut replay = Self::empty();
        replay.whole = Some(Box::pin(body));
        replay
    }
}

impl<B> Drop for Replay<B> {
    fn drop(&mut self) {
        if let (Some(shared), Some(rest)) = (&self.shared, self.rest.take()) {
            lock(shared).rest = Some(rest);
        }
    }
}

impl<B: Body<Data = Bytes>> Body for Replay<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let this = &mut *self;
        if let Some(body) = &mut this.whole {
            return body.as_mut().poll_frame(cx);
        }
        let Some(shared) = &this.shared else { return Poll::Ready(None) };
        let kept = lock(shared);
        if let Some(frame) = kept.read.get(this.at) {
            this.at += 1;
            return Poll::Ready(Some(Ok(Frame::data(frame.clone()))));
        }
        if kept.complete {
            let trailers = kept.trailers.clone().filter(|_| !this.trailers);
            this.trailers = true;
            return Poll::Ready(trailers.map(|t| Ok(Frame::trailers(t))));
        }
        let Some(rest) = &mut this.rest else { return Poll::Ready(None) };
        // Nobody else reads the rest while this attempt has it.
        drop(kept);
        let frame = std::task::ready!(rest.as_mut().poll_frame(cx));
        let mut kept = lock(shared);
        match &frame {
            None => {
                kept.complete = true;
                this.trailers = true;
            }
            Some(Err(_)) => kept.lost = true,
            Some(Ok(frame)) => {
                if let Some(data) = frame.data_ref() {
                    let size = data.len() + Kept::<B>::FRAME;
                    if kept.lost || data.len() > kept.room {
                        kept.lost = true;
                        kept.read = Vec::new();
                    } else if !data.is_empty() {
                        kept.room = kept.room.saturating_sub(size);
                        kept.read.push(data.clone());
                        this.at += 1;
                    }
                } else if let Some(trailers) = frame.trailers_ref() {
                    kept.trailers = Some(trailers.clone());
                    kept.complete = true;
                    this.trailers = true;
                }
                kept.complete |= rest.is_end_stream();
            }
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        if let Some(body) = &self.whole {
            return body.is_end_stream();
        }
        let Some(shared) = &self.shared else { return true };
        let kept = lock(shared);
        let sent = self.at == kept.read.len() && (self.trailers || kept.trailers.is_none());
        // A body that was lost keeps nothing, and only its rest knows its end.
        sent && (kept.complete || self.rest.as_ref().is_some_and(Body::is_end_stream))
    }

    fn size_hint(&self) -> SizeHint {
        if let Some(body) = &self.whole {
            return body.size_hint();
        }
        let Some(shared) = &self.shared else { return SizeHint::with_exact(0) };
        let kept = lock(shared);
        let again: u64 = kept.read.iter().skip(self.at).map(|data| data.len() as u64).sum();
        let rest = match (&self.rest, kept.complete) {
            (Some(rest), false) => rest.size_hint(),
            _ => SizeHint::with_exact(0),
        };
        let mut hint = SizeHint::new();
        if let Some(upper) = rest.upper() {
            hint.set_upper(upper.saturating_add(again));
        }
        hint.set_lower(rest.lower().saturating_add(again));
        hint
    }
}

/// What waits for the end of a reply body. Dropped without having been called, nobody saw it.
pub trait Tail {
    /// The body is over; `None`: it had no trailers.
    fn end(self, trailers: Option<&HeaderMap>);

    /// It broke off.
    fn broke(self);
}

pin_project! {
    /// A reply body whose end is seen.
    #[derive(Debug)]
    pub struct Watched<B, T> {
        #[pin]
        inner: B,
        tail: Option<T>,
    }
}

impl<B, T> Watched<B, T> {
    /// `None`: its end was known with its head.
    pub(crate) fn new(inner: B, tail: Option<T>) -> Self {
        Self { inner, tail }
    }
}

impl<B: Body, T: Tail> Body for Watched<B, T> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let this = self.project();
        let frame = std::task::ready!(this.inner.poll_frame(cx));
        let over = match &frame {
            None => true,
            Some(Ok(frame)) => frame.is_trailers(),
            Some(Err(_)) => true,
        };
        if over && let Some(tail) = this.tail.take() {
            match &frame {
                Some(Err(_)) => tail.broke(),
                Some(Ok(frame)) => tail.end(frame.trailers_ref()),
                None => tail.end(None),
            }
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

impl<B: Default, T> Default for Watched<B, T> {
    fn default() -> Self {
        Self::new(B::default(), None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::{BodyExt as _, Full, StreamBody, combinators::BoxBody};
    use std::convert::Infallible;

    fn frames(parts: &[&'static str]) -> BoxBody<Bytes, Infallible> {
        let frames: Vec<_> =
            parts.iter().map(|p| Ok(Frame::data(Bytes::from_static(p.as_bytes())))).collect();
        let mut frames = frames.into_iter();
        StreamBody::new(futures(move || frames.next())).boxed()
    }

    fn futures<T>(next: impl FnMut() -> Option<T>) -> impl futures_core::Stream<Item = T> {
        struct Iter<F>(F);
        impl<T, F: FnMut() -> Option<T> + Unpin> futures_core::Stream for Iter<F> {
            type Item = T;
            fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<T>> {
                Poll::Ready((self.0)())
            }
        }
        Iter(Box::new(next))
    }

    async fn text(body: Replay<BoxBody<Bytes, Infallible>>) -> String {
        String::from_utf8(body.collect().await.unwrap().to_bytes().to_vec()).unwrap()
    }

    #[tokio::test]
    async fn what_fits_is_sent_again_whole_or_after_a_part() {
        let kept = Kept::new(frames(&["ab", "cd", "ef"]), 100);
        let mut first = kept.send();
        assert_eq!(first.frame().await.unwrap().unwrap().into_data().unwrap(), "ab");
        assert!(!kept.is_whole() && !kept.is_complete(), "its rest is not back");
        drop(first);
        assert!(kept.is_whole() && !kept.is_complete());
        assert_eq!(text(kept.send()).await, "abcdef");
        assert!(kept.is_complete());
        assert_eq!(text(kept.send()).await, "abcdef");
    }

    #[tokio::test]
    async fn what_does_not_fit_is_streamed_once() {
        let kept = Kept::new(frames(&["ab", "cd"]), 3);
        assert!(kept.is_whole(), "nobody knows its size yet");
        assert_eq!(text(kept.send()).await, "abcd");
        assert!(!kept.is_whole() && !kept.is_complete());
        let known = Kept::new(Full::new(Bytes::from_static(b"abcd")), 3);
        assert!(!known.is_whole());
        assert_eq!(known.send().collect().await.unwrap().to_bytes(), "abcd");
        let fits = Kept::new(Full::new(Bytes::from_static(b"abcd")), 4);
        assert!(fits.is_whole());
        assert_eq!(fits.send().size_hint().exact(), Some(4));
    }

    #[tokio::test]
    async fn many_small_frames_are_bounded() {
        let kept = Kept::new(frames(&["a", "b", "c"]), 20);
        assert_eq!(text(kept.send()).await, "abc");
        assert!(!kept.is_whole(), "the first costs 17 of 20, the second leaves nothing");
    }

    #[tokio::test]
    async fn empty_frames_are_passed_on_and_not_kept() {
        let held = |kept: &Kept<_>| lock(kept.0.as_ref().unwrap()).read.len();
        let kept = Kept::new(frames(&[""; 1000]), 20);
        let mut first = kept.send();
        for _ in 0..1000 {
            assert_eq!(first.frame().await.unwrap().unwrap().into_data().unwrap(), "");
        }
        assert_eq!(held(&kept), 0);
        assert!(first.frame().await.is_none());
        assert!(kept.is_complete(), "nothing was lost with them");
        let between = Kept::new(frames(&["", "ab", "", "c", ""]), 100);
        assert_eq!(text(between.send()).await, "abc");
        assert_eq!(held(&between), 2);
        assert_eq!(text(between.send()).await, "abc");
    }
}
