//! From counts to what a system file says.

pub(crate) mod metrics;
mod policies;
mod requests;
mod services;

use std::collections::HashMap;

use crate::analysis::{Analysis, Caller, Operation};
use crate::learnt::{Amplification, Gap, Learnt, Number, Read, Service};
use crate::names::{Interner, Names};
use crate::shape::Callee;
use crate::stats::{Moments, Sample, rate_interval, share_interval};
use crate::tally::Edge;

/// Numbers that the user knows and measurements do not.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known {
    /// Share of the traces that are recorded.
    pub(crate) sampling: f64,
    /// Types of requests at most.
    pub(crate) types: usize,
}

/// Names of the system file for what measurements call otherwise.
pub(crate) struct Naming<'a> {
    strings: &'a Interner,
    callees: HashMap<Callee, String>,
    requests: Names,
}

impl Naming<'_> {
    fn callee(&self, callee: Callee) -> &str {
        self.callees.get(&callee).map_or("unknown", String::as_str)
    }

    fn original(&self, callee: Callee) -> &str {
        match callee {
            Callee::Service(s) | Callee::Peer(s) | Callee::Operation(s) => self.strings.text(s),
        }
    }

    fn caller(&self, caller: Caller) -> &str {
        caller.map_or("client", |service| self.callee(Callee::Service(service)))
    }

    fn request(&mut self, operation: Option<Operation>) -> (String, String) {
        let Some(Operation { service, name, .. }) = operation else {
            return (self.requests.give("other"), "all other operations".to_owned());
        };
        let text = self.strings.text(name);
        let original = match self.strings.text(service) {
            "" => text.to_owned(),
            service => format!("{text} at {service}"),
        };
        (self.requests.give(text), original)
    }
}

/// What measurements show.
pub(crate) fn build(analysis: &Analysis, strings: &Interner, known: Known, read: Read) -> Learnt {
    let mut edges: HashMap<(Caller, Callee), Edge> = HashMap::new();
    for ((caller, callee), edge) in &analysis.edges {
        let key = (*caller, analysis.known(*callee));
        edges.entry(key).or_insert_with(Edge::new).absorb(edge);
    }
    let order = callees(analysis, &edges, strings);
    let mut given = Names::default();
    let mut naming = Naming { strings, callees: HashMap::new(), requests: Names::default() };
    for callee in &order {
        let name = given.give(naming.original(*callee));
        naming.callees.insert(*callee, name);
    }
    let mut learnt = Learnt { read, ..Learnt::default() };
    learnt.read.requests = analysis.requests;
    load(analysis, known, &mut learnt);
    if learnt.load_rps.is_none() {
        let why = "requests at two different times are needed to tell a rate".to_owned();
        learnt.gaps.push(Gap { path: "load".to_owned(), why });
    }
    let kinds = requests::kinds(analysis, known.types.max(1));
    let (types, left_out) = requests::requests(&kinds, &mut naming);
    learnt.requests = types;
    let known_calls: u64 = learnt.requests.iter().map(|r| r.share.count).sum();
    let silent = analysis.requests.saturating_sub(known_calls);
    if silent > analysis.requests / 100 {
        learnt.notes.push(format!("{silent} requests were not seen to call anything; left out"));
    }
    if left_out > 0 {
        learnt.notes.push(format!(
            "{left_out} calls do not fit into call trees of 30 levels and 4,096 places, and are left out"
        ));
    }
    for callee in &order {
        let service = service(analysis, &edges, &naming, *callee, known);
        gaps_of(&service, &mut learnt.gaps);
        learnt.services.push(service);
    }
    let mut keys: Vec<&(Caller, Callee)> = edges.keys().collect();
    keys.sort_by_key(|(caller, callee)| {
        let at = |c: Callee| order.iter().position(|o| *o == c);
        (caller.and_then(|s| at(Callee::Service(s))), at(*callee))
    });
    for key in keys {
        let (caller, callee) = (naming.caller(key.0), naming.callee(key.1));
        let policy = policies::policy(caller.to_owned(), callee.to_owned(), &edges[key]);
        gaps_of_call(&policy, key.0.is_none() && policy.attempts == policy.calls, &mut learnt);
        learnt.policies.push(policy);
    }
    amplification(&edges, &naming, &order, &mut learnt);
    learnt
}

/// Services first that report themselves, then the rest; each by its name.
fn callees(
    analysis: &Analysis,
    edges: &HashMap<(Caller, Callee), Edge>,
    strings: &Interner,
) -> Vec<Callee> {
    let called = edges.keys().flat_map(|(caller, callee)| {
        [Some(*callee), caller.map(Callee::Service)].into_iter().flatten()
    });
    let mut all: Vec<Callee> =
        analysis.services.keys().map(|s| Callee::Service(*s)).chain(called).collect();
    let text = |callee: &Callee| match callee {
        Callee::Service(s) => (0, strings.text(*s)),
        Callee::Peer(s) => (1, strings.text(*s)),
        Callee::Operation(s) => (2, strings.text(*s)),
    };
    all.sort_by(|a, b| text(a).cmp(&text(b)).then(a.cmp(b)));
    all.dedup();
    all
}

fn load(analysis: &Analysis, known: Known, learnt: &mut Learnt) {
    let mut arrivals = analysis.arrivals.clone();
    arrivals.sort_unstable();
    let (Some(first), Some(last)) = (arrivals.first(), arrivals.last()) else { return };
    let seconds = (last - first) as f64 / 1e9;
    learnt.read.seconds = seconds;
    if arrivals.len() < 2 || seconds <= 0.0 {
        return;
    }
    // Arrivals that are counted but not kept came in the same time, or later: then it is not
    // known how long it was.
    let kept = arrivals.len() as u64;
    let rate = |count: f64| count / seconds / known.sampling;
    let [low, high] = rate_interval(kept, seconds * known.sampling);
    learnt.load_rps =
        Some(Number { value: rate((kept - 1) as f64), count: kept, ci95: [low, high] });
    let mut parts = [0_u64; 10];
    for at in &arrivals {
        let part = ((at - first) as f64 / 1e9 / seconds * 10.0) as usize;
        parts[part.min(9)] += 1;
    }
    let of = |count: u64| rate(count as f64 * 10.0);
    let range = [
        of(parts.iter().copied().min().unwrap_or(0)),
        of(parts.iter().copied().max().unwrap_or(0)),
    ];
    learnt.load_range_rps = Some(range);
}

fn service(
    analysis: &Analysis,
    edges: &HashMap<(Caller, Callee), Edge>,
    naming: &Naming<'_>,
    callee: Callee,
    known: Known,
) -> Service {
    let to_it = || edges.iter().filter(|((_, to), _)| *to == callee).map(|(_, edge)| edge);
    let attempts: u64 = to_it().map(|edge| edge.attempts).sum();
    let tally = match callee {
        Callee::Service(s) => analysis.services.get(&s),
        _ => None,
    };
    let mut remarks = Vec::new();
    if matches!(callee, Callee::Operation(_)) {
        remarks.push("named after the operation: its callers do not say whom they call".to_owned());
    }
    let (mut took, mut sample) = (Moments::default(), Sample::new(20_000));
    let mut rejected = 0;
    for edge in to_it() {
        took.absorb(&edge.took);
        sample.absorb(&edge.took_sample);
        rejected += edge.retried[0] + edge.given_up[0].iter().sum::<u64>();
    }
    let (mut failed, mut ended) = (0, 0);
    for edge in to_it() {
        failed += edge.retried[2] + edge.given_up[2].iter().sum::<u64>();
        ended += edge.attempts;
    }
    let as_seen = || Number {
        value: failed as f64 / ended as f64,
        count: ended,
        ci95: share_interval(failed, ended),
    };
    let whole = known.sampling >= 1.0;
    Service {
        name: naming.callee(callee).to_owned(),
        original: naming.original(callee).to_owned(),
        instrumented: tally.is_some(),
        attempts: attempts.max(tally.map_or(0, |t| t.entries)),
        time: match tally {
            Some(tally) => services::time(tally, whole),
            None => services::as_seen(&took, &sample),
        },
        failure: match tally {
            Some(tally) => services::failure(tally),
            None => (ended > 0).then(as_seen),
        },
        rejected,
        at_once: tally.and_then(|t| services::at_once(&t.executions)),
        remarks,
    }
}

/// Traces show no limits.
fn gaps_of(service: &Service, gaps: &mut Vec<Gap>) {
    let name = &service.name;
    let path = |key: &str| format!("services.{}.{key}", quoted(name));
    let seen = match service.at_once {
        Some([most, _]) => format!("{most} ran at once, so workers and queue hold at least that"),
        None => "it does not report itself".to_owned(),
    };
    gaps.push(Gap {
        path: path("workers"),
        why: format!(
            "how many attempts it works on at the same time does not show in traces; {seen}"
        ),
    });
    let turned_away = match service.rejected {
        0 => "it turned nothing away, so no bound of it was reached".to_owned(),
        n => format!("it turned {n} attempts away: a full queue, or a rate limit"),
    };
    gaps.push(Gap {
        path: path("queue"),
        why: format!("how many may wait does not show in traces; {turned_away}"),
    });
    if service.time.is_none() {
        let why = "no attempt at it went well, so that its time is not known".to_owned();
        gaps.push(Gap { path: path("service_time"), why });
    }
}

fn gaps_of_call(policy: &crate::learnt::Policy, arrival: bool, learnt: &mut Learnt) {
    let call = format!("{} -> {}", policy.caller, policy.callee);
    let path = |key: &str| format!("policies.\"{call}\".{key}");
    let mut gap = |key: &str, why: String| learnt.gaps.push(Gap { path: path(key), why });
    if policy.limit.is_none() {
        let why = match (policy.failed, arrival) {
            (0, true) => "what its callers do outside of the traces is not known".to_owned(),
            (0, false) => {
                format!("none of {} calls failed, so that nothing was retried", policy.calls)
            }
            (n, _) => format!("only {n} calls failed, and none was retried: too few to tell"),
        };
        gap("retry.limit", why);
    }
    if policy.timeout_s.is_none() {
        let longest = crate::write::duration(policy.longest_s);
        gap(
            "timeout",
            format!("no attempts were given up after the same time; the longest took {longest}"),
        );
    }
    if policy.limit.is_some_and(|limit| limit > 0) && policy.backoff.is_none() {
        let why = match (policy.evidence, policy.short_delays) {
            (_, true) => None,
            ([0, _, 0], _) => Some("the retries were made out of sight of the caller's spans"),
            _ => Some("too few retries to tell how long it waits"),
        };
        if let Some(why) = why {
            gap("retry.backoff", why.to_owned());
        }
    }
    if policy.limit.is_some_and(|limit| limit > 0) && policy.on.is_empty() {
        let why = "attempts were made again, and none of those before them was seen to fail";
        gap("retry.on", why.to_owned());
    }
    if policy.held_back > 0 {
        let n = policy.held_back;
        gap(
            "retry.budget",
            format!(
                "{n} attempts were not retried though others of their kind were: a budget, a deadline, or requests of another kind"
            ),
        );
    }
}

fn amplification(
    edges: &HashMap<(Caller, Callee), Edge>,
    naming: &Naming<'_>,
    order: &[Callee],
    learnt: &mut Learnt,
) {
    let needed = requests::needed(&learnt.requests, learnt.read.requests as f64);
    for callee in order {
        let to_it = || edges.iter().filter(|((_, to), _)| to == callee).map(|(_, edge)| edge);
        let sum = |of: &dyn Fn(&Edge) -> u64| to_it().map(of).sum::<u64>();
        let attempts = sum(&|e| e.attempts);
        let needs = needed.get(naming.callee(*callee)).copied().unwrap_or(0.0);
        if attempts == 0 || needs <= 0.0 {
            continue;
        }
        let (retried, rescued) = (sum(&|e| e.retried_calls), sum(&|e| e.rescued));
        learnt.amplification.push(Amplification {
            service: naming.callee(*callee).to_owned(),
            attempts,
            needed: needs,
            factor: attempts as f64 / needs,
            retry_rate: sum(&Edge::retries) as f64 / attempts as f64,
            rescued: (retried > 0).then(|| Number {
                value: rescued as f64 / retried as f64,
                count: retried,
                ci95: share_interval(rescued, retried),
            }),
        });
    }
}

/// A key of a path, in quotes if it has a dot.
fn quoted(name: &str) -> String {
    if name.contains('.') { format!("\"{name}\"") } else { name.to_owned() }
}
