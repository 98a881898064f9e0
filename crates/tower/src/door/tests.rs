//! Every order of what two or three requests can do at a door.
//!
//! Each operation of [`Core`] is one critical section, so any interleaving of threads is a
//! sequence of operations. The sequences are all tried, not drawn.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Wake, Waker};

use damper_control::queue::{AdaptiveLifo, Fifo, Lifo, Order, Priority};
use damper_control::{Nanos, Outcome, Who};

use super::core::{Came, Core, Heard, Wakes, Work};
use crate::clock::chance;

#[derive(Default)]
struct Bell(AtomicU32);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// What a request is doing, as its future knows.
enum Client {
    Outside,
    Waits(u32),
    Works(Work),
    Done,
}

/// What one request may do in one step.
#[derive(Clone, Copy, Debug)]
enum Step {
    Come,
    /// Its future is polled.
    Poll,
    /// Its future is dropped, wherever it is.
    Drop,
    /// Its work is done.
    Finish,
}

struct Scene {
    core: Core,
    clients: Vec<Client>,
    bells: Vec<Arc<Bell>>,
    now: u64,
}

impl Scene {
    fn new(order: Order, clients: usize) -> Self {
        let mut core = Core::new(order, chance());
        (core.workers, core.queue) = (1, 8);
        Self {
            core,
            clients: (0..clients).map(|_| Client::Outside).collect(),
            bells: (0..clients).map(|_| Arc::new(Bell::default())).collect(),
            now: 0,
        }
    }

    /// Whether the step is one that this client can do now.
    fn step(&mut self, client: usize, step: Step) -> bool {
        self.now += 1;
        let now = Nanos(self.now);
        let mut wakes = Wakes::default();
        let before = std::mem::replace(&mut self.clients[client], Client::Done);
        let (after, possible) = match (before, step) {
            (Client::Outside, Step::Come) => {
                let who = Who::of(client as u8);
                match self.core.come(now, who, None, &mut wakes).unwrap() {
                    Came::Works(work) => (Client::Works(work), true),
                    Came::Waits(id) => (Client::Waits(id), true),
                }
            }
            (Client::Waits(id), Step::Poll) => {
                let waker = Waker::from(self.bells[client].clone());
                match self.core.hear(id, &waker) {
                    Heard::Waits => (Client::Waits(id), true),
                    Heard::Works(work) => (Client::Works(work), true),
                    Heard::Refused(_) => (Client::Done, true),
                }
            }
            (Client::Waits(id), Step::Drop) => {
                self.core.give_up(now, id, None, &mut wakes);
                (Client::Done, true)
            }
            (Client::Works(work), Step::Drop | Step::Finish) => {
                let outcome = matches!(step, Step::Finish).then_some(Outcome::Success);
                self.core.leave(now, work, outcome, &mut wakes);
                (Client::Done, true)
            }
            (other, _) => (other, false),
        };
        self.clients[client] = after;
        wakes.wake();
        possible
    }

    fn check(&self, history: &[(usize, Step)]) {
        let known = self.clients.iter().filter(|c| matches!(c, Client::Works(_))).count();
        let inside =
            self.clients.iter().filter(|c| matches!(c, Client::Works(_) | Client::Waits(_)));
        assert!(self.core.working <= 1, "more than one works: {history:?}");
        assert!(known <= self.core.working as usize, "{history:?}");
        let idle = self.core.working == 0 && self.core.waiting() > 0;
        assert!(!idle, "somebody waits before a free place: {history:?}");
        if inside.count() == 0 {
            assert_eq!((self.core.working, self.core.lists.held()), (0, 0), "lost: {history:?}");
        }
    }

    /// Polls whoever was woken, and lets all who work finish: everybody must come through.
    fn finish(&mut self, history: &[(usize, Step)]) {
        for _ in 0..3 * self.clients.len() {
            for client in 0..self.clients.len() {
                self.step(client, Step::Finish);
                if self.bells[client].0.swap(0, Ordering::Relaxed) > 0 {
                    self.step(client, Step::Poll);
                }
            }
        }
        for (client, state) in self.clients.iter().enumerate() {
            let stuck = matches!(state, Client::Waits(_) | Client::Works(_));
            assert!(!stuck, "client {client} was never woken: {history:?}");
        }
        assert_eq!((self.core.working, self.core.waiting(), self.core.lists.held()), (0, 0, 0));
    }
}

const STEPS: [Step; 4] = [Step::Come, Step::Poll, Step::Drop, Step::Finish];

/// Runs a history; `None` if some step of it is not possible.
fn run(order: &Order, clients: usize, history: &[(usize, Step)]) -> Option<Scene> {
    let mut scene = Scene::new(order.clone(), clients);
    for (at, (client, step)) in history.iter().enumerate() {
        if !scene.step(*client, *step) {
            return None;
        }
        scene.check(&history[..=at]);
    }
    Some(scene)
}

/// All histories up to a length; how many there were.
fn explore(order: &Order, clients: usize, longest: usize) -> u64 {
    let (mut open, mut tried) = (vec![Vec::new()], 0);
    while let Some(history) = open.pop() {
        let Some(mut scene) = run(order, clients, &history) else { continue };
        tried += 1;
        if history.len() < longest {
            for client in 0..clients {
                for step in STEPS {
                    open.push([history.as_slice(), &[(client, step)]].concat());
                }
            }
        }
        // A future that was polled once is woken; one that never was is polled by its task.
        for client in 0..clients {
            scene.step(client, Step::Poll);
        }
        scene.finish(&history);
    }
    tried
}

#[test]
fn no_place_is_lost_whoever_leaves_when() {
    let orders = [
        Order::Fifo(Fifo::default()),
        Order::Lifo(Lifo::default()),
        Order::Priority(Priority::default()),
    ];
    for order in orders {
        let tried = explore(&order, 3, 7);
        assert!(tried > 5_000, "{tried} histories");
    }
}

#[test]
fn adaptive_lifo_serves_the_newest_when_it_is_full_and_loses_nobody() {
    let order = AdaptiveLifo::try_new(25.0, 0).map(Order::from).unwrap();
    assert!(explore(&order, 3, 6) > 1_000);
}
