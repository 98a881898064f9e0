//! Clients and server as two models. An attempt is a query, to which the server says at once
//! whether it has room; the reply comes as an event.

use std::collections::VecDeque;
use std::error::Error;
use std::time::Duration;

use compare_workload::{Arguments, Counts, QUEUE, RETRIES, Random, Slab, TIMEOUT};
use nexosim::model::{Context, Model, schedulable};
use nexosim::ports::{EventSinkReader, Output, SinkState, UniRequestor, event_slot};
use nexosim::simulation::{EventKey, Mailbox, SimInit};
use nexosim::time::MonotonicTime;
use serde::{Deserialize, Serialize};

#[derive(Default)]
struct Attempt {
    /// The timer; `None`: the client has gone.
    timer: Option<EventKey>,
    /// Attempts of the same request before this one.
    number: u8,
}

#[derive(Default)]
struct ClientState {
    workload: Option<(Arguments, Random)>,
    attempts: Slab<Attempt>,
    counts: Counts,
}

#[derive(Serialize, Deserialize)]
struct Clients {
    /// An attempt; the answer says whether the server took it.
    call: UniRequestor<u32, bool>,
    /// The counts, at the end.
    report: Output<Counts>,
    #[serde(skip)]
    state: ClientState,
}

#[Model]
impl Clients {
    #[nexosim(init)]
    async fn init(&mut self, cx: &Context<Self>) {
        let horizon = Duration::from_nanos(self.workload().0.horizon);
        cx.schedule_event(horizon, schedulable!(Self::finish), ()).expect("it is in the future");
        self.next_arrival(0, cx);
    }

    #[nexosim(schedulable)]
    async fn arrive(&mut self, now: u64, cx: &Context<Self>) {
        self.state.counts.events += 1;
        self.state.counts.requests += 1;
        self.next_arrival(now, cx);
        self.attempt(0, cx).await;
    }

    #[nexosim(schedulable)]
    async fn time_out(&mut self, id: u32, cx: &Context<Self>) {
        self.state.counts.events += 1;
        let attempt = self.state.attempts.get(id);
        attempt.timer = None;
        let next = attempt.number + 1;
        self.attempt(next, cx).await;
    }

    /// A reply from the server, whether or not somebody waits for it.
    fn reply(&mut self, id: u32) {
        let storm = self.workload().0.storm;
        let counts = &mut self.state.counts;
        counts.events += 2; // the server's, and this
        counts.served += 1;
        if let Some(timer) = self.state.attempts.get(id).timer.take() {
            timer.cancel();
            counts.good += 1;
        } else if storm {
            counts.wasted += 1;
        } else {
            counts.good += 1;
        }
        self.state.attempts.remove(id);
    }

    #[nexosim(schedulable)]
    async fn finish(&mut self) {
        let counts = self.state.counts;
        self.report.send(counts).await;
    }

    fn workload(&mut self) -> &mut (Arguments, Random) {
        self.state.workload.as_mut().expect("set in `run`")
    }

    fn next_arrival(&mut self, now: u64, cx: &Context<Self>) {
        let (arguments, random) = self.workload();
        let gap = random.arrival(now, arguments.storm);
        cx.schedule_event(Duration::from_nanos(gap), schedulable!(Self::arrive), now + gap)
            .expect("gaps are positive");
    }

    /// Makes attempts until the server takes one or the client gives up.
    async fn attempt(&mut self, first: u8, cx: &Context<Self>) {
        let storm = self.workload().0.storm;
        for number in first..=RETRIES {
            self.state.counts.attempts += 1;
            self.state.counts.events += 1; // the server's
            let id = self.state.attempts.insert(Attempt { timer: None, number });
            if self.call.send(id).await {
                if storm {
                    let timeout = Duration::from_nanos(TIMEOUT);
                    let timer = cx.schedule_keyed_event(timeout, schedulable!(Self::time_out), id);
                    self.state.attempts.get(id).timer = Some(timer.expect("it is in the future"));
                }
                return;
            }
            self.state.attempts.remove(id);
        }
    }
}

#[derive(Default)]
struct ServerState {
    random: Option<Random>,
    limit: usize,
    waiting: VecDeque<u32>,
    busy: bool,
}

#[derive(Serialize, Deserialize)]
struct Server {
    /// Replies.
    reply: Output<u32>,
    #[serde(skip)]
    state: ServerState,
}

#[Model]
impl Server {
    /// Takes an attempt if there is room.
    async fn call(&mut self, id: u32, cx: &Context<Self>) -> bool {
        if !self.state.busy {
            self.serve(id, cx);
        } else if self.state.waiting.len() < self.state.limit {
            self.state.waiting.push_back(id);
        } else {
            return false;
        }
        true
    }

    #[nexosim(schedulable)]
    async fn done(&mut self, id: u32, cx: &Context<Self>) {
        self.state.busy = false;
        if let Some(next) = self.state.waiting.pop_front() {
            self.serve(next, cx);
        }
        self.reply.send(id).await;
    }

    fn serve(&mut self, id: u32, cx: &Context<Self>) {
        self.state.busy = true;
        let random = self.state.random.as_mut().expect("set in `run`");
        let time = Duration::from_nanos(random.service());
        cx.schedule_event(time, schedulable!(Self::done), id).expect("it is positive");
    }
}

pub fn run(arguments: Arguments) -> Result<(), Box<dyn Error>> {
    let (clients_mailbox, server_mailbox) = (Mailbox::new(), Mailbox::new());
    let mut clients = Clients {
        call: UniRequestor::new(Server::call, &server_mailbox),
        report: Output::default(),
        state: ClientState {
            workload: Some((arguments, Random::new(arguments.seed))),
            ..ClientState::default()
        },
    };
    let mut server = Server {
        reply: Output::default(),
        state: ServerState {
            random: Some(Random::new(!arguments.seed)),
            limit: if arguments.storm { QUEUE } else { usize::MAX },
            ..ServerState::default()
        },
    };
    server.reply.connect(Clients::reply, &clients_mailbox);
    let (sink, mut report) = event_slot(SinkState::Enabled);
    clients.report.connect_sink(sink);
    let mut simulation = SimInit::with_num_threads(1)
        .add_model(clients, clients_mailbox, "clients")
        .add_model(server, server_mailbox, "server")
        .init(MonotonicTime::EPOCH)?;
    simulation.step_until(Duration::from_nanos(arguments.horizon))?;
    report.try_read().ok_or("the model did not report")?.print();
    Ok(())
}
