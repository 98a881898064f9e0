//! Traces, one after another, into what is known of the system.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::calls::{Call, Calls, is_message};
use crate::names::Sym;
use crate::shape::{CLIENT, Callee, Seen, Shape};
use crate::span::{Kind, Span};
use crate::tally::{Edge, Service};
use crate::tree::{Faults, NONE, Role, Tree};

/// Who calls: `None` is the client.
pub(crate) type Caller = Option<Sym>;

/// Services and callees; what is more is counted, and left out.
const MOST_SERVICES: usize = 5_000;
const MOST_EDGES: usize = 10_000;
/// Different entry operations; what is more is one kind.
const MOST_OPERATIONS: usize = 1_000;
/// Different sets of calls of one operation.
const MOST_VARIANTS: usize = 64;
/// Arrivals that are kept, to see how their rate changes.
const MOST_ARRIVALS: usize = 4_000_000;

/// An entry operation: who is called (0: not known), and what for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Operation {
    pub(crate) service: Sym,
    pub(crate) name: Sym,
    /// It works on messages.
    pub(crate) message: bool,
}

/// Requests of one operation, by which calls they make.
#[derive(Debug, Default)]
pub(crate) struct Kinds {
    pub(crate) requests: u64,
    pub(crate) failed: u64,
    /// By a hash of the set of calls. 0: those that failed, and what is too much.
    pub(crate) variants: BTreeMap<u64, Shape>,
}

/// What is known of a system.
#[derive(Debug, Default)]
pub(crate) struct Analysis {
    pub(crate) traces: u64,
    pub(crate) spans: u64,
    /// Traces without a root from which a request can be told.
    pub(crate) rootless: u64,
    pub(crate) faults: Faults,
    /// When requests began.
    pub(crate) arrivals: Vec<u64>,
    pub(crate) requests: u64,
    pub(crate) services: HashMap<Sym, Service>,
    pub(crate) edges: HashMap<(Caller, Callee), Edge>,
    pub(crate) kinds: HashMap<Operation, Kinds>,
    /// Names that callers have for services, with how often.
    aliases: HashMap<Sym, HashMap<Sym, u64>>,
    /// Executions kept so far.
    kept: usize,
    pub(crate) left_out: u64,
}

impl Analysis {
    /// One trace.
    pub(crate) fn trace(&mut self, spans: Vec<Span>) {
        if spans.is_empty() {
            return;
        }
        self.traces += 1;
        self.spans += spans.len() as u64;
        let tree = Tree::new(spans, &mut self.faults);
        let calls = Calls::new(&tree);
        for list in &calls.of {
            for call in list {
                if call.peer != 0 && call.service != 0 && self.aliases.len() < MOST_SERVICES {
                    let names = self.aliases.entry(call.peer).or_default();
                    *names.entry(call.service).or_default() += 1;
                }
            }
        }
        let mut rooted = false;
        for at in 0..tree.spans.len() {
            match tree.role[at] {
                Role::Entry => {
                    self.entry(&tree, &calls, at);
                    let root = tree.parent[at] == NONE && !tree.torn[at];
                    if root || is_message(&tree.spans[at]) {
                        rooted = true;
                        let call = arrival(&tree, &calls, at);
                        self.request(&tree, &calls, at, &[call]);
                    }
                }
                Role::Outside => {
                    rooted = true;
                    self.request(&tree, &calls, at, &calls.of[at]);
                }
                Role::Call if tree.parent[at] == NONE && !tree.torn[at] => {
                    rooted = true;
                    self.request(&tree, &calls, at, &calls.of[at]);
                }
                _ => {}
            }
        }
        self.rootless += u64::from(!rooted);
    }

    /// A service has worked on an attempt.
    fn entry(&mut self, tree: &Tree, calls: &Calls, at: usize) {
        let span = &tree.spans[at];
        if !self.services.contains_key(&span.service) && self.services.len() >= MOST_SERVICES {
            self.left_out += 1;
            return;
        }
        let end_as = calls.entry_end(tree, at as u32);
        let own = own_time(span, &calls.of[at]);
        let service = self.services.entry(span.service).or_insert_with(Service::new);
        let mut room = Service::ROOM.saturating_sub(self.kept);
        service.entry(span.start, span.end, own, end_as, &mut room);
        self.kept = Service::ROOM - room;
        for call in &calls.of[at] {
            self.edge(Some(span.service), call);
        }
    }

    fn edge(&mut self, caller: Caller, call: &Call) {
        let key = (caller, self.callee(call));
        if !self.edges.contains_key(&key) && self.edges.len() >= MOST_EDGES {
            self.left_out += 1;
            return;
        }
        self.edges.entry(key).or_insert_with(Edge::new).call(call);
    }

    /// Whom a call went to, as far as it is known by now.
    fn callee(&self, call: &Call) -> Callee {
        if call.service != 0 {
            return Callee::Service(call.service);
        }
        if call.peer == 0 {
            return Callee::Operation(call.name);
        }
        self.known(Callee::Peer(call.peer))
    }

    /// A peer that is a service under another name.
    pub(crate) fn known(&self, callee: Callee) -> Callee {
        let Callee::Peer(peer) = callee else { return callee };
        if let Some(names) = self.aliases.get(&peer) {
            let all: u64 = names.values().sum();
            let most = names.iter().max_by_key(|(service, n)| (**n, **service));
            if let Some((service, n)) = most
                && n * 10 >= all * 9
            {
                return Callee::Service(*service);
            }
        }
        if self.services.contains_key(&peer) { Callee::Service(peer) } else { callee }
    }

    /// A request, with what its client calls.
    fn request(&mut self, tree: &Tree, calls: &Calls, root: usize, made: &[Call]) {
        let span = &tree.spans[root];
        self.requests += 1;
        if self.arrivals.len() < MOST_ARRIVALS {
            self.arrivals.push(span.start);
        }
        for call in made {
            self.edge(None, call);
        }
        let well = made.iter().all(|call| !call.end_as().is_bad());
        let operation = operation(tree, root, made);
        let variant = if well { self.variant(calls, made) } else { 0 };
        let full = self.kinds.len() >= MOST_OPERATIONS && !self.kinds.contains_key(&operation);
        let operation =
            if full { Operation { service: 0, name: 0, message: false } } else { operation };
        let mut kinds = self.kinds.remove(&operation).unwrap_or_default();
        kinds.requests += 1;
        kinds.failed += u64::from(!well);
        let crowded = kinds.variants.len() >= MOST_VARIANTS;
        let variant = if crowded && !kinds.variants.contains_key(&variant) { 0 } else { variant };
        let shape = kinds.variants.entry(variant).or_insert_with(Shape::new);
        // Executions still to be looked at, with their place.
        let mut open: Vec<(u32, &[Call])> = vec![(CLIENT, made)];
        let mut ends = vec![well];
        while let (Some((place, made)), Some(well)) = (open.pop(), ends.pop()) {
            let seen: Vec<Seen> = made
                .iter()
                .map(|call| Seen {
                    callee: self.callee(call),
                    start: call.start(),
                    end: call.end(),
                    bad: call.end_as().is_bad(),
                })
                .collect();
            let places = shape.execution(place, well, &seen);
            for (call, place) in made.iter().zip(places) {
                let Some(place) = place else { continue };
                for attempt in call.attempts.iter().filter(|a| a.entry != NONE) {
                    open.push((place, &calls.of[attempt.entry as usize]));
                    ends.push(!calls.entry_end(tree, attempt.entry).is_bad());
                }
            }
        }
        self.kinds.insert(operation, kinds);
    }

    /// A hash of the set of calls of a request, whatever their number and order.
    fn variant(&self, calls: &Calls, made: &[Call]) -> u64 {
        let mut set: HashSet<u64> = HashSet::new();
        let mut open: Vec<(u64, &[Call])> = vec![(1, made)];
        while let Some((above, made)) = open.pop() {
            for call in made {
                let callee = match self.callee(call) {
                    Callee::Service(s) => u64::from(s) << 2,
                    Callee::Peer(p) => u64::from(p) << 2 | 1,
                    Callee::Operation(o) => u64::from(o) << 2 | 2,
                };
                let path = mix(above ^ mix(callee + 1));
                set.insert(path);
                for attempt in call.attempts.iter().filter(|a| a.entry != NONE) {
                    open.push((path, &calls.of[attempt.entry as usize]));
                }
            }
        }
        // A sum does not depend on the order; 0 is kept for what has no variant.
        set.into_iter().fold(0_u64, u64::wrapping_add).max(1)
    }
}

fn mix(mut z: u64) -> u64 {
    z = z.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// The request that a service received from outside, as a call of the client.
fn arrival(tree: &Tree, calls: &Calls, at: usize) -> Call {
    let span = &tree.spans[at];
    Call {
        service: span.service,
        peer: 0,
        name: span.name,
        attempts: vec![crate::calls::Attempt {
            start: span.start,
            end: span.end,
            end_as: calls.entry_end(tree, at as u32),
            entry: at as u32,
            evidence: if span.resends.is_some_and(|n| n > 0) {
                crate::calls::Evidence::Told
            } else {
                crate::calls::Evidence::First
            },
            resends: span.resends,
            transparent: false,
            seen_by_caller: false,
        }],
        message: false,
        around: None,
    }
}

fn operation(tree: &Tree, root: usize, made: &[Call]) -> Operation {
    let span = &tree.spans[root];
    let reached = || {
        let attempts = made.iter().flat_map(|call| &call.attempts);
        attempts.filter_map(|a| tree.spans.get(a.entry as usize)).next()
    };
    match tree.role[root] {
        Role::Entry => Operation {
            service: span.service,
            name: span.name,
            message: span.kind == Kind::Consumer,
        },
        // The callee knows better what it was asked for than a client that says `GET`.
        Role::Call => match reached() {
            Some(entry) => Operation { service: entry.service, name: entry.name, message: false },
            None => Operation { service: 0, name: span.name, message: false },
        },
        _ => Operation { service: 0, name: span.name, message: false },
    }
}

/// The time of an execution in which none of its calls was under way. What lies between two
/// attempts of a call is a wait, and no work.
fn own_time(span: &Span, calls: &[Call]) -> u64 {
    let mut covered = 0;
    let mut until = span.start;
    // In the order of their start.
    for call in calls {
        let from = call.start().clamp(until, span.end);
        let to = call.end().clamp(from, span.end);
        covered += to - from;
        until = until.max(to);
    }
    span.length().saturating_sub(covered)
}
