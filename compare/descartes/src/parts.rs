//! Clients and server as two components that exchange events. An attempt's number is free
//! again when both its answer and its timer are through.

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
enum ClientEvent {
    Arrive,
    TimeOut(u32),
    Rejected(u32),
    Reply(u32),
}

struct Clients {
    arguments: Arguments,
    random: Random,
    now: u64,
    server: Key<ServerEvent>,
    attempts: Slab<Attempt>,
    counts: Counts,
}

impl Clients {
    fn attempt(&mut self, number: u8, me: Key<ClientEvent>, scheduler: &mut Scheduler) {
        if number > RETRIES {
            return;
        }
        self.counts.attempts += 1;
        let storm = self.arguments.storm;
        let id = self.attempts.insert(Attempt { number, answered: false, timed_out: !storm });
        if storm {
            scheduler.schedule(nanos(TIMEOUT), me, ClientEvent::TimeOut(id));
        }
        scheduler.schedule_now(self.server, ServerEvent::Attempt(id, me));
    }

    /// Notes the answer; true if somebody still waits for it.
    fn answer(&mut self, id: u32) -> bool {
        let attempt = self.attempts.get(id);
        attempt.answered = true;
        let gone = attempt.timed_out;
        if gone {
            self.attempts.remove(id);
        }
        !gone
    }
}

impl Component for Clients {
    type Event = ClientEvent;

    fn process_event(
        &mut self,
        me: Key<ClientEvent>,
        event: &ClientEvent,
        scheduler: &mut Scheduler,
    ) {
        self.counts.events += 1;
        match *event {
            ClientEvent::Arrive => {
                self.counts.requests += 1;
                let gap = self.random.arrival(self.now, self.arguments.storm);
                self.now += gap;
                scheduler.schedule(nanos(gap), me, ClientEvent::Arrive);
                self.attempt(0, me, scheduler);
            }
            ClientEvent::TimeOut(id) => {
                let attempt = self.attempts.get(id);
                if attempt.answered {
                    self.attempts.remove(id);
                } else {
                    attempt.timed_out = true;
                    let next = attempt.number + 1;
                    self.attempt(next, me, scheduler);
                }
            }
            ClientEvent::Rejected(id) => {
                let next = self.attempts.get(id).number + 1;
                if self.answer(id) {
                    self.attempt(next, me, scheduler);
                }
            }
            ClientEvent::Reply(id) => {
                self.counts.served += 1;
                if self.answer(id) || !self.arguments.storm {
                    self.counts.good += 1;
                } else {
                    self.counts.wasted += 1;
                }
            }
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum ServerEvent {
    Attempt(u32, Key<ClientEvent>),
    Done(u32, Key<ClientEvent>),
}

struct Server {
    random: Random,
    limit: usize,
    waiting: VecDeque<(u32, Key<ClientEvent>)>,
    busy: bool,
    events: u64,
}

impl Component for Server {
    type Event = ServerEvent;

    fn process_event(
        &mut self,
        me: Key<ServerEvent>,
        event: &ServerEvent,
        scheduler: &mut Scheduler,
    ) {
        self.events += 1;
        match *event {
            ServerEvent::Attempt(id, client) => {
                if !self.busy {
                    self.busy = true;
                    let done = ServerEvent::Done(id, client);
                    scheduler.schedule(nanos(self.random.service()), me, done);
                } else if self.waiting.len() < self.limit {
                    self.waiting.push_back((id, client));
                } else {
                    scheduler.schedule_now(client, ClientEvent::Rejected(id));
                }
            }
            ServerEvent::Done(id, client) => {
                scheduler.schedule_now(client, ClientEvent::Reply(id));
                self.busy = false;
                if let Some((id, client)) = self.waiting.pop_front() {
                    self.busy = true;
                    let done = ServerEvent::Done(id, client);
                    scheduler.schedule(nanos(self.random.service()), me, done);
                }
            }
        }
    }
}

pub fn run(arguments: Arguments) -> Result<(), Box<dyn Error>> {
    let mut simulation = Simulation::new(SimulationConfig { seed: arguments.seed });
    let server = simulation.add_component(Server {
        random: Random::new(!arguments.seed),
        limit: if arguments.storm { QUEUE } else { usize::MAX },
        waiting: VecDeque::new(),
        busy: false,
        events: 0,
    });
    let mut random = Random::new(arguments.seed);
    let first = random.arrival(0, arguments.storm);
    let clients = simulation.add_component(Clients {
        arguments,
        random,
        now: first,
        server,
        attempts: Slab::default(),
        counts: Counts::default(),
    });
    simulation.schedule(nanos(first), clients, ClientEvent::Arrive);
    simulation.execute(Executor::timed(nanos(arguments.horizon)));
    let server: Server = simulation.remove_component(server).ok_or("the server has gone")?;
    let clients: Clients = simulation.remove_component(clients).ok_or("the clients have gone")?;
    let mut counts = clients.counts;
    counts.events += server.events;
    counts.print();
    Ok(())
}
