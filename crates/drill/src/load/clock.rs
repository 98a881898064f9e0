//! Waiting for an instant more finely than a timer's tick.
//!
//! Tokio's timers tick once a millisecond, and a schedule that is kept to a millisecond sends in
//! bursts of one. Linux has timers that are exact to some microseconds and can be waited for like a
//! socket; elsewhere the tick has to do.

use tokio::time::Instant;

/// An alarm for one who waits.
#[derive(Debug)]
pub(super) struct Alarm {
    #[cfg(target_os = "linux")]
    fine: Option<fine::Timer>,
}

impl Alarm {
    /// Within a runtime.
    pub(super) fn new() -> Self {
        Self {
            #[cfg(target_os = "linux")]
            fine: fine::Timer::new(),
        }
    }

    /// Waits until `at`, or a little longer; it may also end sooner, now and then.
    pub(super) async fn at(&self, at: Instant) {
        #[cfg(target_os = "linux")]
        if let Some(fine) = &self.fine {
            let left = at.saturating_duration_since(Instant::now());
            // The tick is there for a clock that has been stopped by a test.
            tokio::select! {
                biased;
                () = fine.wait(left) => {}
                () = tokio::time::sleep_until(at) => {}
            }
            return;
        }
        tokio::time::sleep_until(at).await;
    }
}

#[cfg(target_os = "linux")]
mod fine {
    use std::os::fd::OwnedFd;
    use std::time::Duration;

    use rustix::time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
        timerfd_settime,
    };
    use tokio::io::Interest;
    use tokio::io::unix::AsyncFd;

    /// What is due within this is due together: waking costs more than it is worth.
    const LEAST: Duration = Duration::from_micros(64);

    #[derive(Debug)]
    pub(super) struct Timer(AsyncFd<OwnedFd>);

    impl Timer {
        pub(super) fn new() -> Option<Self> {
            let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
            let timer = timerfd_create(TimerfdClockId::Monotonic, flags).ok()?;
            // What is said against it is a descriptor that changes or closes under it, which an
            // owned one cannot; the other way is `unsafe`.
            #[expect(deprecated, reason = "sound for an owned descriptor")]
            let made = AsyncFd::with_interest(timer, Interest::READABLE);
            made.ok().map(Self)
        }

        pub(super) async fn wait(&self, left: Duration) {
            let left = left.max(LEAST);
            let value = Timespec {
                tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
                tv_nsec: left.subsec_nanos().into(),
            };
            let none = Timespec { tv_sec: 0, tv_nsec: 0 };
            let times = Itimerspec { it_interval: none, it_value: value };
            if timerfd_settime(&self.0, TimerfdTimerFlags::empty(), &times).is_err() {
                std::future::pending::<()>().await;
            }
            // The next setting forgets that it has fired, so that it need not be read.
            match self.0.readable().await {
                Ok(mut ready) => ready.clear_ready(),
                Err(_) => std::future::pending().await,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_stopped_clock_goes_on() {
        let (alarm, begun) = (Alarm::new(), Instant::now());
        let at = begun + Duration::from_secs(3600);
        while Instant::now() < at {
            alarm.at(at).await;
        }
        assert!(begun.elapsed() >= Duration::from_secs(3600));
    }

    #[tokio::test]
    async fn an_alarm_goes_off_again_and_again() {
        let (alarm, begun) = (Alarm::new(), Instant::now());
        for n in 1..=20 {
            let at = begun + Duration::from_micros(300) * n;
            while Instant::now() < at {
                alarm.at(at).await;
            }
        }
        assert!(begun.elapsed() >= Duration::from_micros(6000));
    }
}
