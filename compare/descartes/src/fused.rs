//! Clients and server in one component: no message between components, retries in a loop. An
//! attempt's number is free again when both its reply and its timer are through.

use std::collections::VecDeque;
use std::error::Error;

use compare_workload::{Arguments, Counts, QUEUE, RETRIES, Random, Slab, TIMEOUT};
use descartes_core::{Component, Executor, Key, Scheduler, Simulation, SimulationConfig};

use crate::nanos;

struct Attempt {
    /// Attempts of the same request before this one.
    number: u8,
    answered: bool,
    timed_out: bool,
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Arrive,
    TimeOut(u32),
    Reply(u32),
}

struct Station {
    arguments: Arguments,
    random: Random,
    now: u64,
    attempts: Slab<Attempt>,
    waiting: VecDeque<u32>,
    busy: bool,
    counts: Counts,
}

impl Station {
    fn arrive(&mut self, me: Key<Event>, scheduler: &mut Scheduler) {
        self.counts.requests += 1;
        let gap = self.random.arrival(self.now, self.arguments.storm);
        self.now += gap;
        scheduler.schedule(nanos(gap), me, Event::Arrive);
        self.attempt(0, me, scheduler);
    }

    /// Makes attempts until the server takes one or the client gives up.
    fn attempt(&mut self, first: u8, me: Key<Event>, scheduler: &mut Scheduler) {
        let storm = self.arguments.storm;
        for number in first..=RETRIES {
            self.counts.attempts += 1;
            if storm && self.busy && self.waiting.len() >= QUEUE {
                continue;
            }
            let attempt = Attempt { number, answered: false, timed_out: !storm };
            let id = self.attempts.insert(attempt);
            if storm {
                scheduler.schedule(nanos(TIMEOUT), me, Event::TimeOut(id));
            }
            if self.busy {
                self.waiting.push_back(id);
            } else {
                self.serve(id, me, scheduler);
            }
            return;
        }
    }

    fn time_out(&mut self, id: u32, me: Key<Event>, scheduler: &mut Scheduler) {
        let attempt = self.attempts.get(id);
        if attempt.answered {
            self.attempts.remove(id);
            return;
        }
        attempt.timed_out = true;
        let next = attempt.number + 1;
        self.attempt(next, me, scheduler);
    }

    fn reply(&mut self, id: u32, me: Key<Event>, scheduler: &mut Scheduler) {
        self.counts.served += 1;
        let storm = self.arguments.storm;
        let attempt = self.attempts.get(id);
        attempt.answered = true;
        if storm && attempt.timed_out {
            self.counts.wasted += 1;
        } else {
            self.counts.good += 1;
        }
        if attempt.timed_out {
            self.attempts.remove(id);
        }
        self.busy = false;
        if let Some(next) = self.waiting.pop_front() {
            self.serve(next, me, scheduler);
        }
    }

    fn serve(&mut self, id: u32, me: Key<Event>, scheduler: &mut Scheduler) {
        self.busy = true;
        scheduler.schedule(nanos(self.random.service()), me, Event::Reply(id));
    }
}

impl Component for Station {
    type Event = Event;

    fn process_event(&mut self, me: Key<Event>, event: &Event, scheduler: &mut Scheduler) {
        self.counts.events += 1;
        match *event {
            Event::Arrive => self.arrive(me, scheduler),
            Event::TimeOut(id) => self.time_out(id, me, scheduler),
            Event::Reply(id) => self.reply(id, me, scheduler),
        }
    }
}

pub fn run(arguments: Arguments) -> Result<(), Box<dyn Error>> {
    let mut simulation = Simulation::new(SimulationConfig { seed: arguments.seed });
    let mut random = Random::new(arguments.seed);
    let first = random.arrival(0, arguments.storm);
    let me = simulation.add_component(Station {
        arguments,
        random,
        now: first,
        attempts: Slab::default(),
        waiting: VecDeque::new(),
        busy: false,
        counts: Counts::default(),
    });
    simulation.schedule(nanos(first), me, Event::Arrive);
    simulation.execute(Executor::timed(nanos(arguments.horizon)));
    let station: Station = simulation.remove_component(me).ok_or("the component has gone")?;
    station.counts.print();
    Ok(())
}
