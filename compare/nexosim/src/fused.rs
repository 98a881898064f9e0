//! Clients and server in one model: no message between models, retries in a loop.

use std::collections::VecDeque;
use std::error::Error;
use std::time::Duration;

use compare_workload::{Arguments, Counts, QUEUE, RETRIES, Random, Slab, TIMEOUT};
use nexosim::model::{Context, Model, schedulable};
use nexosim::ports::{EventSinkReader, Output, SinkState, event_slot};
use nexosim::simulation::{EventKey, Mailbox, SimInit};
use nexosim::time::MonotonicTime;
use serde::{Deserialize, Serialize};

#[derive(Default)]
struct Attempt {
    /// The client's timer; `None`: it has gone.
    timer: Option<EventKey>,
    /// Attempts of the same request before this one.
    number: u8,
}

#[derive(Default)]
struct State {
    workload: Option<(Arguments, Random)>,
    attempts: Slab<Attempt>,
    waiting: VecDeque<u32>,
    busy: bool,
    counts: Counts,
}

#[derive(Serialize, Deserialize)]
struct Station {
    /// The counts, at the end.
    report: Output<Counts>,
    /// What a snapshot would have to hold; none is taken here.
    #[serde(skip)]
    state: State,
}

#[Model]
impl Station {
    fn new(arguments: Arguments) -> Self {
        let workload = Some((arguments, Random::new(arguments.seed)));
        Self { report: Output::default(), state: State { workload, ..State::default() } }
    }

    #[nexosim(init)]
    async fn init(&mut self, cx: &Context<Self>) {
        let horizon = Duration::from_nanos(self.workload().0.horizon);
        cx.schedule_event(horizon, schedulable!(Self::finish), ()).expect("it is in the future");
        self.next_arrival(0, cx);
    }

    #[nexosim(schedulable)]
    fn arrive(&mut self, now: u64, cx: &Context<Self>) {
        self.state.counts.events += 1;
        self.state.counts.requests += 1;
        self.next_arrival(now, cx);
        self.attempt(0, cx);
    }

    #[nexosim(schedulable)]
    fn time_out(&mut self, id: u32, cx: &Context<Self>) {
        self.state.counts.events += 1;
        let attempt = self.state.attempts.get(id);
        attempt.timer = None;
        let next = attempt.number + 1;
        self.attempt(next, cx);
    }

    #[nexosim(schedulable)]
    fn reply(&mut self, id: u32, cx: &Context<Self>) {
        let counts = &mut self.state.counts;
        counts.events += 1;
        counts.served += 1;
        if !self.state.workload.as_ref().is_some_and(|(a, _)| a.storm) {
            counts.good += 1;
        } else if let Some(timer) = self.state.attempts.get(id).timer.take() {
            timer.cancel();
            counts.good += 1;
        } else {
            counts.wasted += 1;
        }
        self.state.attempts.remove(id);
        self.state.busy = false;
        if let Some(next) = self.state.waiting.pop_front() {
            self.serve(next, cx);
        }
    }

    #[nexosim(schedulable)]
    async fn finish(&mut self) {
        let counts = self.state.counts;
        self.report.send(counts).await;
    }

    fn workload(&mut self) -> &mut (Arguments, Random) {
        self.state.workload.as_mut().expect("set in `new`")
    }

    fn next_arrival(&mut self, now: u64, cx: &Context<Self>) {
        let (arguments, random) = self.workload();
        let gap = random.arrival(now, arguments.storm);
        cx.schedule_event(Duration::from_nanos(gap), schedulable!(Self::arrive), now + gap)
            .expect("gaps are positive");
    }

    /// Makes attempts until the server takes one or the client gives up.
    fn attempt(&mut self, first: u8, cx: &Context<Self>) {
        let storm = self.workload().0.storm;
        for number in first..=RETRIES {
            self.state.counts.attempts += 1;
            if storm && self.state.busy && self.state.waiting.len() >= QUEUE {
                continue;
            }
            let id = self.state.attempts.insert(Attempt { timer: None, number });
            if storm {
                let timeout = Duration::from_nanos(TIMEOUT);
                let timer = cx.schedule_keyed_event(timeout, schedulable!(Self::time_out), id);
                self.state.attempts.get(id).timer = Some(timer.expect("it is in the future"));
            }
            if self.state.busy {
                self.state.waiting.push_back(id);
            } else {
                self.serve(id, cx);
            }
            return;
        }
    }

    fn serve(&mut self, id: u32, cx: &Context<Self>) {
        self.state.busy = true;
        let time = Duration::from_nanos(self.workload().1.service());
        cx.schedule_event(time, schedulable!(Self::reply), id).expect("it is positive");
    }
}

pub fn run(arguments: Arguments) -> Result<(), Box<dyn Error>> {
    let mut station = Station::new(arguments);
    let (sink, mut report) = event_slot(SinkState::Enabled);
    station.report.connect_sink(sink);
    let mut simulation = SimInit::with_num_threads(1)
        .add_model(station, Mailbox::new(), "station")
        .init(MonotonicTime::EPOCH)?;
    simulation.step_until(Duration::from_nanos(arguments.horizon))?;
    report.try_read().ok_or("the model did not report")?.print();
    Ok(())
}
