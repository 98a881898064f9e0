//! A connection that has changed its protocol: bytes in both directions.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use http::{Response, StatusCode};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, MissedTickBehavior};

use crate::upstream::Kept;

/// Joins both sides if the reply agrees to change the protocol. `held` is dropped at the end. A
/// tunnel in which nothing moves for `idle`, in neither direction, ends by twice that time.
pub(crate) fn join<B>(
    caller: Option<OnUpgrade>,
    response: &mut Response<B>,
    held: impl Send + 'static,
    idle: Duration,
) -> bool {
    let Some(caller) = caller else { return false };
    if response.status() != StatusCode::SWITCHING_PROTOCOLS {
        return false;
    }
    let callee = hyper::upgrade::on(&mut *response);
    let place = response.extensions_mut().remove::<Kept>();
    tokio::spawn(async move {
        if let (Ok(caller), Ok(callee)) = (caller.await, callee.await) {
            carry(TokioIo::new(caller), TokioIo::new(callee), idle).await;
        }
        drop((held, place));
    });
    true
}

/// Until one side ends it, or nothing moves.
async fn carry<A, B>(caller: A, callee: B, idle: Duration)
where
    A: AsyncRead + AsyncWrite + Unpin,
    B: AsyncRead + AsyncWrite + Unpin,
{
    let moved = Arc::new(AtomicBool::new(false));
    let mut caller = Moves { inner: caller, moved: moved.clone() };
    let mut callee = Moves { inner: callee, moved: moved.clone() };
    let copied = tokio::io::copy_bidirectional(&mut caller, &mut callee);
    tokio::pin!(copied);
    let mut looks = tokio::time::interval_at(Instant::now() + idle, idle);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            // How it ends is the affair of both sides.
            _ = &mut copied => return,
            _ = looks.tick() => if !moved.swap(false, Ordering::Relaxed) {
                return;
            },
        }
    }
}

/// Marks that something came.
struct Moves<I> {
    inner: I,
    moved: Arc<AtomicBool>,
}

impl<I: AsyncRead + Unpin> AsyncRead for Moves<I> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.inner).poll_read(cx, buf);
        if polled.is_ready() {
            self.moved.store(true, Ordering::Relaxed);
        }
        polled
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for Moves<I> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    #[tokio::test(start_paused = true)]
    async fn a_tunnel_lasts_while_something_moves() {
        let (mut caller, near) = tokio::io::duplex(64);
        let (far, mut callee) = tokio::io::duplex(64);
        let idle = Duration::from_secs(60);
        let carried = tokio::spawn(carry(near, far, idle));
        let mut byte = [0];
        for _ in 0..10 {
            tokio::time::sleep(Duration::from_secs(50)).await;
            callee.write_all(b"x").await.unwrap();
            caller.read_exact(&mut byte).await.unwrap();
            assert!(!carried.is_finished());
        }
        let began = Instant::now();
        assert_eq!(caller.read(&mut byte).await.unwrap(), 0, "its other side is closed");
        carried.await.unwrap();
        assert!(began.elapsed() <= idle * 2);
    }
}
