//! The state of one run and its main loop.
//!
//! Requests, calls and attempts:
//!
//! - a **request** is an attempt of the client's own: the root of a call tree;
//! - a **call** belongs to the attempt that makes it and lives through all of its attempts;
//! - an **attempt** is at a service. When its call gives it up it becomes an orphan: the
//!   service does not know, finishes the work and replies to nobody.
//!
//! What happens at the same instant is worked off a stack (`ready`), so that neither deep
//! trees nor a million immediate retries recurse.

use std::sync::atomic::{AtomicBool, Ordering};

use damper_control::queue::{DropRule, Order, QueueOrder as _};
use damper_control::rate_limit::TokenBucket;
use damper_control::{Budget, Outcome};

use crate::arrivals::ArrivalProcess;
pub(crate) use crate::attempt::{Attempt, Call, Stage, who};
use crate::bursts::Bursting;
use crate::cache::CacheState;
use crate::calendar::{Calendar, NO_TIMER};
use crate::gates::{EdgeGates, Passes};
use crate::guard::{Guard, Guarded, Operator};
use crate::judge::{Counts, Judge};
use crate::lanes::Lanes;
use crate::mechanisms::{Away, Due, Fleet};
use crate::observe::Watch;
use crate::plan::{Plan, ServicePlan};
use crate::rng::{Purpose, Stream, Ziggurat};
use crate::run::{Conditions, Ending, Open};
use crate::slab::{NONE, Slab};
use crate::stats::{ClassStats, EdgeStats, Point, Series, ServicePoint, ServiceStats};

/// Events between two looks at whether to stop.
const BETWEEN_LOOKS: u64 = 1 << 16;

#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    /// A request of this class arrives.
    Arrival(u32),
    /// A bursty class goes on or off.
    Burst(u32),
    /// A worker has done its own work for this attempt.
    Worked(u32),
    /// The backoff of this call is over.
    Backoff(u32),
    /// The deadline (or a timeout without a lane) of this call.
    Timeout(u32),
    /// An attempt reaches its service.
    Deliver(u32),
    /// An action of the trigger begins or ends.
    Trigger,
    /// The operator pulls the lever of this service.
    Lever(u32),
    /// A mechanism of this instance or service is due.
    Mechanism(Due, u32),
}

/// What is to be done at this very instant.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ready {
    /// The current attempt of a call has ended: outcome, and what was behind it.
    Ended(u32, Outcome, Outcome),
    /// Send the next attempt of a call.
    Send(u32),
    /// A worker has done its work (services that take no time).
    Worked(u32),
}

/// One instance of a service: a queue and its workers.
#[derive(Clone, Debug)]
pub(crate) struct Station {
    pub(crate) busy: u32,
    /// Workers that serve now: those allotted to it, or none while it is down.
    pub(crate) workers: u32,
    pub(crate) allotted: u32,
    /// Why it does not serve (`mechanisms::down`).
    pub(crate) down: u8,
    pub(crate) waiting: u32,
    /// Head and tail of each list of the order.
    pub(crate) queues: Vec<(u32, u32)>,
    pub(crate) order: Order,
    pub(crate) rule: DropRule,
    /// What decides who is let in; `None`: only room does.
    pub(crate) guard: Option<Box<Guard>>,
    pub(crate) busy_area: f64,
    pub(crate) busy_since: u64,
}

/// What a trigger may change about a service.
#[derive(Clone, Debug)]
pub(crate) struct ServiceState {
    pub(crate) slowdown: f64,
    pub(crate) failure: f64,
    pub(crate) latency: u64,
    pub(crate) refuse: bool,
    /// Share of its workers that a trigger leaves.
    pub(crate) left: f64,
    pub(crate) limit: Option<TokenBucket>,
    pub(crate) operator: Option<Box<Operator>>,
    pub(crate) round_robin: u32,
    /// Its instances, if they differ.
    pub(crate) fleet: Option<Box<Fleet>>,
    /// Bursts of errors, if there are any.
    pub(crate) bursting: Option<Box<Bursting>>,
    pub(crate) away: Away,
    /// Index among the services with a capacity, for the series; `NONE`: has none.
    pub(crate) shown: u32,
}

pub(crate) struct World<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) watch: Watch<'a>,
    pub(crate) conditions: &'a Conditions,
    pub(crate) now: u64,
    pub(crate) calendar: Calendar<Event>,
    pub(crate) lanes: Lanes,
    pub(crate) ready: Vec<Ready>,
    pub(crate) attempts: Slab<Attempt>,
    pub(crate) calls: Slab<Call>,
    pub(crate) stations: Vec<Station>,
    pub(crate) services: Vec<ServiceState>,
    pub(crate) caches: Vec<CacheState>,
    pub(crate) budgets: Vec<Budget>,
    pub(crate) gates: Vec<EdgeGates>,
    /// What gates gave to attempts that are under way.
    pub(crate) passes: Slab<Passes>,
    /// Attempts let in by a guard.
    pub(crate) guarded: Slab<Guarded>,
    pub(crate) arrivals: Vec<ArrivalProcess>,
    /// Calendar handles of the next arrivals, by class.
    pub(crate) arrival_timers: Vec<u32>,
    pub(crate) service_stream: Stream,
    pub(crate) work_stream: Stream,
    pub(crate) control_stream: Stream,
    pub(crate) ziggurat: Ziggurat,
    pub(crate) trigger: crate::trigger::Schedule,
    /// Attempts waiting or in service at services with a capacity.
    pub(crate) backlog: u64,
    /// Calls in backoff.
    pub(crate) backing_off: u64,
    pub(crate) measuring: bool,
    pub(crate) class_stats: Vec<ClassStats>,
    pub(crate) service_stats: Vec<ServiceStats>,
    pub(crate) edge_stats: Vec<EdgeStats>,
    /// The current tick's share of the series.
    pub(crate) point: Point,
    pub(crate) series: Series,
    pub(crate) events: u64,
    /// Requests that arrived, warm-up included.
    pub(crate) requests: u64,
}

impl<'a> World<'a> {
    pub(crate) fn new(plan: &'a Plan, conditions: &'a Conditions, replication: u32) -> Self {
        let system = &plan.system;
        let seed = conditions.seed;
        let stream = |purpose| Stream::new(seed, replication, purpose, 0);
        let ziggurat = Ziggurat::new();
        let classes = system.classes.len();
        let mut shown = 0;
        let services: Vec<ServiceState> = system
            .services
            .iter()
            .zip(&plan.services)
            .enumerate()
            .map(|(i, (s, p))| ServiceState {
                slowdown: 1.0,
                failure: p.failure.max(if p.limited { conditions.error_floor } else { 0.0 }),
                latency: 0,
                refuse: false,
                left: 1.0,
                limit: s.rate_limit.and_then(|l| TokenBucket::try_new(l.rate, l.burst)),
                operator: p.levers.then(|| Box::new(Operator::new())),
                round_robin: 0,
                fleet: p.fleet.then(|| Box::new(Fleet::new(system, i, p))),
                bursting: conditions.bursts.filter(|_| p.limited).map(|bursts| {
                    Box::new(Bursting::new(bursts, seed, replication, i as u32, &ziggurat))
                }),
                away: Away::default(),
                shown: if p.limited {
                    shown += 1;
                    shown - 1
                } else {
                    NONE
                },
            })
            .collect();
        let mut stations = Vec::new();
        for p in &plan.services {
            let station = Station {
                busy: 0,
                workers: p.workers,
                allotted: p.workers,
                down: 0,
                waiting: 0,
                queues: vec![(NONE, NONE); p.order.lists()],
                order: p.order.clone(),
                rule: p.rule.clone(),
                guard: p.guard.clone().map(Box::new),
                busy_area: 0.0,
                busy_since: 0,
            };
            stations.extend(std::iter::repeat_n(station, p.instances as usize));
        }
        let arrivals: Vec<ArrivalProcess> = (0..classes)
            .map(|c| {
                let load = system.load[c].scaled(conditions.load_factors[c]);
                ArrivalProcess::new(load, system.arrivals, seed, replication, c as u32, &ziggurat)
            })
            .collect();
        let series = Series::new(system.experiment.interval.0, classes, shown as usize);
        let mut world = Self {
            plan,
            watch: Watch::default(),
            conditions,
            now: 0,
            calendar: Calendar::new(),
            lanes: Lanes::new(plan.lanes),
            ready: Vec::new(),
            attempts: Slab::new(),
            calls: Slab::new(),
            stations,
            services,
            caches: plan.caches.iter().map(|c| CacheState::warm(c.hot_keys)).collect(),
            budgets: plan.edges.iter().map(|e| e.budget.clone()).collect(),
            gates: plan.edges.iter().map(|e| e.gates.clone()).collect(),
            passes: Slab::new(),
            guarded: Slab::new(),
            arrivals,
            arrival_timers: vec![NO_TIMER; classes],
            service_stream: stream(Purpose::Service),
            work_stream: stream(Purpose::Work),
            control_stream: stream(Purpose::Control),
            ziggurat,
            trigger: crate::trigger::Schedule::new(plan, conditions),
            backlog: 0,
            backing_off: 0,
            measuring: false,
            class_stats: (0..classes).map(|_| ClassStats::new()).collect(),
            service_stats: system.services.iter().map(|_| ServiceStats::new(classes)).collect(),
            edge_stats: vec![EdgeStats::default(); plan.edges.len()],
            point: Point::default(),
            series,
            events: 0,
            requests: 0,
        };
        world.point = world.empty_point();
        world.prime();
        world
    }

    fn empty_point(&self) -> Point {
        let shown = self.services.iter().filter(|s| s.shown != NONE).count();
        Point {
            classes: vec![(0, 0); self.class_stats.len()],
            services: vec![ServicePoint::default(); shown],
            ..Point::default()
        }
    }

    fn prime(&mut self) {
        for class in 0..self.arrivals.len() {
            if let Some(at) = self.arrivals[class].switch(0, &self.ziggurat) {
                self.calendar.push(at, Event::Burst(class as u32));
            }
            self.schedule_arrival(class);
        }
        if let Some(at) = self.trigger.next() {
            self.calendar.push(at, Event::Trigger);
        }
        for s in 0..self.services.len() {
            self.schedule_pull(s);
        }
        self.prime_mechanisms();
    }

    pub(crate) fn schedule_arrival(&mut self, class: usize) {
        self.arrival_timers[class] = match self.arrivals[class].next() {
            Some(at) => self.calendar.push_timer(at.max(self.now), Event::Arrival(class as u32)),
            None => NO_TIMER,
        };
    }

    /// Runs until the judge has decided, the time is over, or `stop` is raised.
    pub(crate) fn run(&mut self, judge: &mut Judge, stop: &AtomicBool) -> Ending {
        let interval = self.plan.system.experiment.interval.0.max(1);
        let mut tick = interval;
        let warm_at = self.conditions.warmup;
        let end = self.conditions.end;
        loop {
            let (timer_at, timer_seq, lane) = self.lanes.peek();
            let (at, from_lane) = match self.calendar.peek() {
                Some((at, seq)) if (at, seq) < (timer_at, timer_seq) => (at, false),
                _ => (timer_at, lane != usize::MAX),
            };
            while at >= tick {
                // Nothing happens between here and `at`: close the interval that ends at `tick`.
                self.now = tick;
                if !self.measuring && tick > warm_at {
                    self.start_measuring();
                }
                let ending = self.tick(judge, tick - interval);
                tick += interval;
                if let Some(ending) = ending {
                    return ending;
                }
                if self.now >= end {
                    return Ending::TimeOver;
                }
                if stop.load(Ordering::Relaxed) {
                    return Ending::Interrupted;
                }
            }
            self.now = at;
            self.events += 1;
            if !self.measuring && at >= warm_at {
                self.start_measuring();
            }
            if from_lane {
                let call = self.lanes.head(lane);
                self.timed_out(call);
            } else if let Some((_, event)) = self.calendar.pop() {
                self.handle(event);
            }
            let asked = self.work_off(stop) || self.events.is_multiple_of(BETWEEN_LOOKS);
            if asked && stop.load(Ordering::Relaxed) {
                self.flush(tick - interval);
                return Ending::Interrupted;
            }
            if self.attempts.len() > self.conditions.most_open {
                self.flush(tick - interval);
                return Ending::TooManyOpen;
            }
        }
    }

    pub(crate) fn handle(&mut self, event: Event) {
        match event {
            Event::Arrival(class) => self.request_arrives(class as usize),
            Event::Worked(attempt) => {
                self.attempts[attempt].timer = NO_TIMER;
                self.worked(attempt);
            }
            Event::Backoff(call) => {
                self.calls[call].timer = NO_TIMER;
                self.backing_off -= 1;
                self.send(call);
            }
            Event::Timeout(call) => {
                self.calls[call].timer = NO_TIMER;
                self.timed_out(call);
            }
            Event::Deliver(attempt) => {
                self.attempts[attempt].timer = NO_TIMER;
                self.arrive(attempt);
            }
            Event::Burst(class) => {
                if let Some(at) = self.arrivals[class as usize].switch(self.now, &self.ziggurat) {
                    self.calendar.push(at, Event::Burst(class));
                }
                self.reschedule_arrival(class as usize);
            }
            Event::Trigger => self.trigger_changes(),
            Event::Lever(service) => self.pull_lever(service as usize),
            Event::Mechanism(due, who) => self.mechanism_due(due, who),
        }
    }

    /// Works off what happens at this very instant. `true`: that was so much that it was time to
    /// look whether to stop (a million retries without a delay, at each of several layers).
    #[inline]
    pub(crate) fn work_off(&mut self, stop: &AtomicBool) -> bool {
        let mut n = 0;
        while let Some(ready) = self.ready.pop() {
            n += 1;
            if n % BETWEEN_LOOKS == 0 && stop.load(Ordering::Relaxed) {
                return true;
            }
            match ready {
                Ready::Ended(call, outcome, cause) => self.attempt_ended(call, outcome, cause),
                Ready::Send(call) => self.send(call),
                Ready::Worked(attempt) => self.worked(attempt),
            }
        }
        n >= BETWEEN_LOOKS
    }

    pub(crate) fn reschedule_arrival(&mut self, class: usize) {
        let timer = self.arrival_timers[class];
        if timer != NO_TIMER {
            self.calendar.cancel(timer);
        }
        self.schedule_arrival(class);
    }

    /// Nothing has happened between the end of the warm-up and now.
    fn start_measuring(&mut self) {
        self.measuring = true;
        let at = self.conditions.warmup;
        for (station, s) in self.stations.iter_mut().enumerate() {
            let area = s.busy_area + f64::from(s.busy) * at.saturating_sub(s.busy_since) as f64;
            let service = self.plan.service_of[station] as usize;
            if let Some(fleet) = &mut self.services[service].fleet {
                fleet.scaling.area_starts_over(area);
            }
            if let Some(guard) = &mut s.guard {
                guard.area_starts_over(area);
            }
            (s.busy_area, s.busy_since) = (0.0, at);
        }
        for fleet in self.services.iter_mut().filter_map(|s| s.fleet.as_mut()) {
            fleet.account_there(at);
            fleet.there_area = 0.0;
        }
    }

    fn tick(&mut self, judge: &mut Judge, start: u64) -> Option<Ending> {
        let counts = Counts {
            offered: self.point.offered,
            good: self.point.good,
            ended: self.point.classes.iter().map(|c| c.0).sum(),
            backlog: self.backlog + self.backing_off,
            cold: self.cold_keys(),
            missing: self.missing_keys(),
        };
        self.flush(start);
        judge.tick(self.now, counts)
    }

    /// Adds the running point to the series.
    pub(crate) fn flush(&mut self, start: u64) {
        for (i, s) in self.services.iter().enumerate() {
            if s.shown != NONE {
                let p = &self.plan.services[i];
                let stations = p.first_station as usize..(p.first_station + p.instances) as usize;
                let waiting: u64 =
                    self.stations[stations].iter().map(|s| u64::from(s.waiting)).sum();
                self.point.services[s.shown as usize].queue = waiting;
            }
        }
        self.series.at(start).absorb(&self.point);
        self.point.clear();
    }

    /// Closes the books at the end of a run.
    pub(crate) fn close(&mut self) {
        for i in 0..self.stations.len() {
            self.account_busy(i);
        }
        for (s, p) in self.plan.services.iter().enumerate() {
            let stations = p.first_station as usize..(p.first_station + p.instances) as usize;
            self.service_stats[s].busy = self.stations[stations].iter().map(|s| s.busy_area).sum();
            if let Some(fleet) = &mut self.services[s].fleet {
                fleet.account_there(self.now);
                self.service_stats[s].there = fleet.there_area;
            }
        }
    }

    /// What is left open.
    pub(crate) fn open(&self) -> Open {
        let of = |p: &ServicePlan| {
            let stations = p.first_station as usize..(p.first_station + p.instances) as usize;
            self.stations[stations]
                .iter()
                .fold((0, 0), |sum, s| (sum.0 + u64::from(s.waiting), sum.1 + u64::from(s.busy)))
        };
        Open {
            attempts: self.attempts.len(),
            calls: self.calls.len(),
            timers: self.calendar.len() + self.lanes.busy(),
            backlog: self.backlog,
            backing_off: self.backing_off,
            stations: self.plan.services.iter().map(of).collect(),
            fetches: self.open_fetches(),
            controls: self.passes.len() + self.guarded.len(),
            budgets: self.budgets.clone(),
            orders: self.stations.iter().map(|s| s.order.clone()).collect(),
            most: (self.attempts.most(), self.calls.most()),
        }
    }

    /// Brings the time integral of busy workers up to now.
    #[inline]
    pub(crate) fn account_busy(&mut self, station: usize) {
        let s = &mut self.stations[station];
        s.busy_area += f64::from(s.busy) * (self.now - s.busy_since) as f64;
        s.busy_since = self.now;
    }
}

/// Draws from cumulative probabilities; `None` where they leave a remainder.
pub(crate) fn draw(table: &[(f64, u32)], u: f64) -> Option<u32> {
    table.iter().find(|(below, _)| u < *below).map(|(_, item)| *item)
}
