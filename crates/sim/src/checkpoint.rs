//! States that are kept, and gone on from with other chance: what splitting needs.
//!
//! A copy of a world has everything that its future depends on: what waits, what is under way,
//! timers, what controls remember, and the streams of chance where they stand. Reseeded, it goes on
//! differently from here; that the next arrival and the services under way are already drawn
//! belongs to the state.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::observe::Watch;
use crate::plan::Plan;
use crate::rng::{Purpose, Stream};
use crate::run::Conditions;
use crate::stats::{ClassStats, Series, ServiceStats};
use crate::world::World;

/// What one interval of a run showed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pulse {
    /// Requests that arrived.
    pub(crate) offered: u64,
    /// Good replies.
    pub(crate) good: u64,
}

/// When somebody looks at a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// After an event.
    Event,
    /// At the end of an interval.
    Interval(Pulse),
}

impl<'a> World<'a> {
    /// A world that keeps no statistics, so that copies of it are cheap. Conditions whose warm-up
    /// never ends go with it.
    pub(crate) fn lean(plan: &'a Plan, conditions: &'a Conditions, replication: u32) -> Self {
        let mut world = Self::new(plan, conditions, replication);
        let classes = world.class_stats.len();
        world.class_stats = (0..classes).map(|_| ClassStats::lean()).collect();
        world.service_stats.iter_mut().for_each(|s| *s = ServiceStats::lean(classes));
        // One point that takes all.
        let shown = world.point.services.len();
        world.series = Series::new(u64::MAX, classes, shown);
        world
    }

    /// A copy of the state between two events.
    pub(crate) fn checkpoint(&self) -> Self {
        debug_assert!(self.ready.is_empty(), "in the middle of an event");
        Self {
            plan: self.plan,
            watch: Watch::default(),
            conditions: self.conditions,
            now: self.now,
            calendar: self.calendar.clone(),
            lanes: self.lanes.clone(),
            ready: Vec::new(),
            attempts: self.attempts.clone(),
            calls: self.calls.clone(),
            stations: self.stations.clone(),
            services: self.services.clone(),
            caches: self.caches.clone(),
            budgets: self.budgets.clone(),
            gates: self.gates.clone(),
            passes: self.passes.clone(),
            guarded: self.guarded.clone(),
            arrivals: self.arrivals.clone(),
            arrival_timers: self.arrival_timers.clone(),
            service_stream: self.service_stream.clone(),
            work_stream: self.work_stream.clone(),
            control_stream: self.control_stream.clone(),
            ziggurat: self.ziggurat.clone(),
            trigger: self.trigger.clone(),
            backlog: self.backlog,
            backing_off: self.backing_off,
            measuring: self.measuring,
            class_stats: self.class_stats.clone(),
            service_stats: self.service_stats.clone(),
            edge_stats: self.edge_stats.clone(),
            point: self.point.clone(),
            series: self.series.clone(),
            events: 0,
            requests: 0,
        }
    }

    /// From here on chance is another's.
    pub(crate) fn reseed(&mut self, seed: u64) {
        let stream = |purpose, index| Stream::new(seed, 0, purpose, index);
        self.service_stream = stream(Purpose::Service, 0);
        self.work_stream = stream(Purpose::Work, 0);
        self.control_stream = stream(Purpose::Control, 0);
        for (class, process) in self.arrivals.iter_mut().enumerate() {
            process.reseed(stream(Purpose::Arrivals, class as u32));
        }
    }

    /// What waits to be served, and what waits to be sent again.
    pub(crate) fn level(&self) -> u64 {
        self.backlog + self.backing_off
    }

    /// Goes on until `look` has an answer. `None`: stopped from outside, nothing happens any more,
    /// or there are more open attempts than are simulated.
    pub(crate) fn advance<T>(
        &mut self,
        stop: &AtomicBool,
        mut look: impl FnMut(&Self, Look) -> Option<T>,
    ) -> Option<T> {
        let interval = self.plan.system.experiment.interval.0.max(1);
        let mut tick = (self.now / interval + 1) * interval;
        loop {
            let (timer_at, timer_seq, lane) = self.lanes.peek();
            let (at, from_lane) = match self.calendar.peek() {
                Some((at, seq)) if (at, seq) < (timer_at, timer_seq) => (at, false),
                _ => (timer_at, lane != usize::MAX),
            };
            while at >= tick {
                self.now = tick;
                let pulse = Pulse { offered: self.point.offered, good: self.point.good };
                self.flush(0);
                tick += interval;
                if let Some(answer) = look(self, Look::Interval(pulse)) {
                    return Some(answer);
                }
                if stop.load(Ordering::Relaxed) || at == u64::MAX {
                    return None;
                }
            }
            self.now = at;
            self.events += 1;
            if from_lane {
                let call = self.lanes.head(lane);
                self.timed_out(call);
            } else if let Some((_, event)) = self.calendar.pop() {
                self.handle(event);
            }
            let long = self.work_off(stop);
            if (long && stop.load(Ordering::Relaxed))
                || self.attempts.len() > self.conditions.most_open
            {
                return None;
            }
            if let Some(answer) = look(self, Look::Event) {
                return Some(answer);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use damper_system::SystemFile;

    use super::*;

    const FILES: [&str; 3] = [
        include_str!("../../../examples/retry-storm.yaml"),
        include_str!("../../../examples/lookaside-cache.yaml"),
        include_str!("../../../examples/hotel-reservation.yaml"),
    ];

    /// Runs for some time and tells what came of it.
    fn go_on(world: &mut World<'_>, until: u64) -> (u64, u64, u64, u64, Vec<Pulse>) {
        let mut seen = Vec::new();
        let stop = AtomicBool::new(false);
        world.advance(&stop, |world, look| {
            if let Look::Interval(pulse) = look {
                seen.push(pulse);
            }
            (world.now >= until).then_some(())
        });
        (world.now, world.level(), world.attempts.len() as u64, world.calls.len() as u64, seen)
    }

    fn plan(text: &str) -> Plan {
        let mut file = SystemFile::parse("x.yaml", text).unwrap();
        file.set("experiment.interval=100ms").unwrap();
        Plan::new(&file.lower().unwrap())
    }

    /// A copy goes on exactly as what it was taken from, whatever the original does meanwhile.
    #[test]
    fn a_copy_goes_on_as_its_original() {
        for text in FILES {
            let plan = plan(text);
            let conditions = Conditions { trigger_at: 2_000_000_000, ..Conditions::of(&plan) };
            let mut original = World::lean(&plan, &conditions, 3);
            go_on(&mut original, 2_500_000_000);
            let mut copy = original.checkpoint();
            let theirs = go_on(&mut original, 6_000_000_000);
            assert_eq!(go_on(&mut copy, 6_000_000_000), theirs);
        }
    }

    /// Reseeded copies differ from each other, and each is the same again.
    #[test]
    fn a_reseeded_copy_goes_its_own_way() {
        let plan = plan(FILES[0]);
        let conditions = Conditions { trigger: None, ..Conditions::of(&plan) };
        let mut world = World::lean(&plan, &conditions, 0);
        go_on(&mut world, 2_000_000_000);
        let from = |seed| {
            let mut copy = world.checkpoint();
            copy.reseed(seed);
            go_on(&mut copy, 5_000_000_000)
        };
        assert_eq!(from(1), from(1));
        assert_ne!(from(1).4, from(2).4);
    }

    /// The lean engine and the usual one see the same requests.
    #[test]
    fn a_lean_world_does_what_a_run_does() {
        let plan = plan(FILES[0]);
        let conditions = Conditions { trigger: None, end: 5_000_000_000, ..Conditions::of(&plan) };
        let stop = AtomicBool::new(false);
        let run = crate::run::run(&plan, &conditions, 7, &stop);
        let seen = go_on(&mut World::lean(&plan, &conditions, 7), 5_000_000_000).4;
        let theirs: Vec<Pulse> =
            run.series.points.iter().map(|p| Pulse { offered: p.offered, good: p.good }).collect();
        assert_eq!(seen, theirs[..seen.len()]);
        assert!(seen.len() >= 49);
    }
}
