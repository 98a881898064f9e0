//! Connections that are kept, each to one instance (one link).
//!
//! The loop: of a burst of calls those over the slow link come back last. A pool that uses the most
//! recent connection first then prefers the slow link, and keeps it slow. The cure on record is
//! the other end of the list.

use std::collections::VecDeque;

use damper_system::model::{Pool, PoolOrder};

use crate::rng::Stream;

/// The connections of a pool that all callers share.
#[derive(Clone, Debug)]
pub(crate) struct Connections {
    pool: Pool,
    /// Idle ones, the most recent at the back: instance, and when it was opened.
    idle: VecDeque<(u32, u64)>,
    /// When those in use were opened, by instance. Which is which does not matter.
    used: Vec<VecDeque<u64>>,
}

impl Connections {
    pub(crate) fn new(pool: Pool, instances: usize) -> Self {
        Self { pool, idle: VecDeque::new(), used: vec![VecDeque::new(); instances] }
    }

    /// A connection for an attempt, and whether it had to be opened.
    pub(crate) fn take(
        &mut self,
        now: u64,
        first: u32,
        rotation: &[u32],
        stream: &mut Stream,
    ) -> (u32, bool) {
        loop {
            let idle = match self.pool.order {
                PoolOrder::MostRecent => self.idle.pop_back(),
                PoolOrder::LeastRecent => self.idle.pop_front(),
            };
            let Some((station, born)) = idle else {
                break;
            };
            let old = self.pool.max_age.is_some_and(|age| now - born > age.0);
            if !old && rotation.contains(&station) {
                self.used[(station - first) as usize].push_back(born);
                return (station, false);
            }
        }
        let station = rotation[stream.below(rotation.len() as u32) as usize];
        self.used[(station - first) as usize].push_back(now);
        (station, true)
    }

    /// An attempt is over. A connection whose attempt was given up is closed.
    pub(crate) fn give_back(&mut self, station: u32, first: u32, closed: bool) {
        let born = self.used[(station - first) as usize].pop_front();
        if let Some(born) = born.filter(|_| !closed) {
            self.idle.push_back((station, born));
        }
    }
}

#[cfg(test)]
mod tests {
    use damper_control::Nanos;

    use super::*;
    use crate::rng::Purpose;

    fn pool(order: PoolOrder, max_age: Option<u64>) -> Connections {
        let mut c = Connections::new(Pool { order, max_age: max_age.map(Nanos) }, 3);
        let mut stream = Stream::new(1, 0, Purpose::Work, 0);
        // Three are opened, one to each instance, and come back in order.
        for station in 10..13 {
            assert_eq!(c.take(station.into(), 10, &[station], &mut stream), (station, true));
        }
        for station in 10..13 {
            c.give_back(station, 10, false);
        }
        c
    }

    fn next(c: &mut Connections, now: u64) -> (u32, bool) {
        c.take(now, 10, &[10, 11, 12], &mut Stream::new(1, 0, Purpose::Work, 0))
    }

    #[test]
    fn the_order_says_which_is_next() {
        assert_eq!(next(&mut pool(PoolOrder::MostRecent, None), 20), (12, false));
        assert_eq!(next(&mut pool(PoolOrder::LeastRecent, None), 20), (10, false));
    }

    /// Opened at 10, 11 and 12; at 22 those of 10 and 11 are more than ten old.
    #[test]
    fn an_old_connection_is_closed_in_place_of_used() {
        let mut c = pool(PoolOrder::LeastRecent, Some(10));
        assert_eq!(next(&mut c, 22), (12, false));
        assert!(next(&mut c, 22).1, "none is left");
    }

    #[test]
    fn a_connection_is_closed_when_its_attempt_is_given_up_or_its_instance_is_gone() {
        let mut c = pool(PoolOrder::MostRecent, None);
        let (station, _) = next(&mut c, 20);
        c.give_back(station, 10, true);
        assert_eq!(next(&mut c, 20), (11, false));
        let mut stream = Stream::new(1, 0, Purpose::Work, 0);
        assert_eq!(c.take(20, 10, &[12], &mut stream), (12, true), "10 is not in rotation");
    }
}
