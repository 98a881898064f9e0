//! One instance of a service: workers, and the queue before them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use damper_control::Nanos;
use tokio::sync::oneshot;

use crate::clock::Clock;

/// Workers and a queue, first in, first out.
#[derive(Debug)]
pub(crate) struct Station {
    inner: Mutex<Inner>,
    /// Attempts that may wait.
    room: usize,
    clock: Clock,
}

#[derive(Debug)]
struct Inner {
    workers: u32,
    busy: u32,
    queue: VecDeque<Waiting>,
}

#[derive(Debug)]
struct Waiting {
    since: Nanos,
    turn: oneshot::Sender<Slot>,
}

/// There is no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Full;

/// A worker, until it is given back.
///
/// The clock of a runtime ticks in milliseconds. A worker that took up the next attempt only when
/// its timer has fired would lose part of one each time, and its service capacity with it. So
/// `start` is when the worker was free by the service times, not by the timer.
#[derive(Debug)]
pub(crate) struct Slot {
    /// When the work begins.
    pub(crate) start: Nanos,
    /// Workers busy when it was taken up, this one included.
    pub(crate) busy: u32,
    station: Option<Arc<Station>>,
}

impl Station {
    pub(crate) fn new(workers: u32, room: usize, clock: Clock) -> Arc<Self> {
        let inner = Inner { workers, busy: 0, queue: VecDeque::new() };
        Arc::new(Self { inner: Mutex::new(inner), room, clock })
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a worker.
    pub(crate) async fn enter(self: &Arc<Self>, now: Nanos) -> Result<Slot, Full> {
        let turn = {
            let mut inner = self.lock();
            if inner.busy < inner.workers {
                inner.busy += 1;
                return Ok(Slot { start: now, busy: inner.busy, station: Some(self.clone()) });
            }
            if inner.queue.len() >= self.room {
                return Err(Full);
            }
            let (turn, waits) = oneshot::channel();
            inner.queue.push_back(Waiting { since: now, turn });
            waits
        };
        turn.await.map_err(|_| Full)
    }

    /// Attempts queued and in service.
    pub(crate) fn load(&self) -> usize {
        let inner = self.lock();
        inner.queue.len() + inner.busy as usize
    }

    /// From now on there are so many workers; those at work finish.
    pub(crate) fn set_workers(self: &Arc<Self>, workers: u32, now: Nanos) {
        self.lock().workers = workers;
        self.pull(now);
    }

    /// Free workers take up what waits.
    fn pull(self: &Arc<Self>, free_since: Nanos) {
        loop {
            let (turn, slot) = {
                let mut inner = self.lock();
                if inner.busy >= inner.workers {
                    return;
                }
                let Some(next) = inner.queue.pop_front() else { return };
                inner.busy += 1;
                let start = free_since.max(next.since);
                (next.turn, Slot { start, busy: inner.busy, station: Some(self.clone()) })
            };
            // Who no longer waits gives the worker back unused, without another pull: this loop
            // goes on.
            if let Err(mut unused) = turn.send(slot) {
                unused.station = None;
                self.lock().busy -= 1;
            }
        }
    }
}

impl Slot {
    /// The worker is free as of `at`.
    pub(crate) fn release(mut self, at: Nanos) {
        self.give_back(at);
    }

    fn give_back(&mut self, at: Nanos) {
        if let Some(station) = self.station.take() {
            station.lock().busy -= 1;
            station.pull(at);
        }
    }
}

impl Drop for Slot {
    /// Work that was cancelled.
    fn drop(&mut self) {
        if let Some(now) = self.station.as_ref().map(|station| station.clock.now()) {
            self.give_back(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Nanos = Nanos::from_millis;

    #[tokio::test]
    async fn one_waits_and_the_next_is_rejected() {
        let station = Station::new(1, 1, Clock::start());
        let first = station.enter(MS(0)).await.unwrap();
        let waits = tokio::spawn({
            let station = station.clone();
            async move { station.enter(MS(1)).await }
        });
        tokio::task::yield_now().await;
        assert_eq!(station.enter(MS(2)).await.err(), Some(Full));
        assert_eq!(station.load(), 2);
        first.release(MS(10));
        let second = waits.await.unwrap().unwrap();
        assert_eq!((second.start, second.busy), (MS(10), 1));
        second.release(MS(20));
        assert_eq!(station.load(), 0);
    }

    #[tokio::test]
    async fn who_has_left_is_passed_over() {
        let station = Station::new(1, 9, Clock::start());
        let first = station.enter(MS(0)).await.unwrap();
        let enter = |station: Arc<Station>| tokio::spawn(async move { station.enter(MS(1)).await });
        let leaves = enter(station.clone());
        let stays = enter(station.clone());
        tokio::task::yield_now().await;
        leaves.abort();
        assert!(leaves.await.is_err());
        first.release(MS(5));
        assert_eq!(stays.await.unwrap().unwrap().start, MS(5));
        assert_eq!(station.load(), 0, "dropped slots are free");
    }

    #[tokio::test]
    async fn an_outage_makes_all_wait_and_ends() {
        let station = Station::new(2, 9, Clock::start());
        station.set_workers(0, MS(0));
        let waits = tokio::spawn({
            let station = station.clone();
            async move { station.enter(MS(1)).await }
        });
        tokio::task::yield_now().await;
        assert_eq!(station.load(), 1);
        station.set_workers(2, MS(50));
        assert_eq!(waits.await.unwrap().unwrap().start, MS(50));
    }
}
