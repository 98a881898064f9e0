//! What the policies of a system ask for, call by call.

use damper_control::Nanos;
use damper_system::System;
use damper_system::model::{Policy, Service};

/// Everything that is asked for.
#[derive(Clone, Debug)]
pub(crate) struct Asked<'a> {
    /// The name of the system.
    pub(crate) name: String,
    /// Every call.
    pub(crate) edges: Vec<Edge<'a>>,
    /// Every service that a call leads to.
    pub(crate) services: Vec<&'a Service>,
    /// Calls to a service by a caller that has another call to it already.
    pub(crate) twice: Vec<Edge<'a>>,
}

/// A call and its policy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge<'a> {
    /// Its place in the policies of the system.
    pub(crate) at: usize,
    /// Who calls.
    pub(crate) caller: &'a str,
    /// The service that answers.
    pub(crate) server: &'a Service,
    /// How.
    pub(crate) policy: &'a Policy,
    /// Priority classes, the highest first.
    pub(crate) classes: &'a [String],
    /// How many calls of this caller that want the filter stand before it.
    pub(crate) nth: usize,
}

/// A class, or several that are treated alike, on a call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Lane<'a> {
    /// The class; `None`: every class that no other lane is for.
    pub(crate) class: Option<&'a str>,
    /// Retries after the first attempt.
    pub(crate) limit: u32,
}

impl Lane<'_> {
    /// What is written for it of an object with this name: `orders-high`.
    pub(crate) fn named(self, base: &str) -> String {
        self.class.map_or_else(|| base.to_owned(), |class| format!("{base}-{class}"))
    }
}

/// How long an attempt and a whole call may take. The first is only there if it is shorter.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Times {
    /// One attempt.
    pub(crate) attempt: Option<Nanos>,
    /// All of them.
    pub(crate) overall: Option<Nanos>,
}

impl<'a> Asked<'a> {
    /// The calls of a system, or those that a filter names.
    pub(crate) fn of(system: &'a System, only: &[(String, String)]) -> Self {
        let mut asked = Self {
            // It stands in comments: on one line.
            name: system.name.chars().filter(|c| !c.is_control()).take(100).collect(),
            edges: Vec::new(),
            services: Vec::new(),
            twice: Vec::new(),
        };
        for (at, edge) in system.policies.edges.iter().enumerate() {
            let caller = system.caller_name(edge.caller);
            let Some(server) = system.services.get(system.server_of(edge.target).0 as usize) else {
                continue;
            };
            let named = |(from, to): &(String, String)| {
                from == caller && (*to == server.name || to == system.target_name(edge.target))
            };
            if !only.is_empty() && !only.iter().any(named) {
                continue;
            }
            let known = |one: &Edge<'_>| one.caller == caller && one.server.name == server.name;
            if asked.edges.iter().any(known) {
                let (policy, classes) = (&edge.policy, system.classes.as_slice());
                asked.twice.push(Edge { at, caller, server, policy, classes, nth: 0 });
                continue;
            }
            if !asked.services.iter().any(|one| one.name == server.name) {
                asked.services.push(server);
            }
            let policy = &edge.policy;
            let nth = asked.by(caller).filter(|edge| crate::format::wants_filter(edge)).count();
            asked.edges.push(Edge { at, caller, server, policy, classes: &system.classes, nth });
        }
        asked
    }

    /// Who calls, each once, in the order of the file.
    pub(crate) fn callers(&self) -> Vec<&'a str> {
        let mut all: Vec<&'a str> = Vec::new();
        for edge in &self.edges {
            if !all.contains(&edge.caller) {
                all.push(edge.caller);
            }
        }
        all
    }

    /// Who is called, each once.
    pub(crate) fn callees(&self) -> Vec<&'a str> {
        self.services.iter().map(|service| service.name.as_str()).collect()
    }

    /// The calls of one caller.
    pub(crate) fn by<'b>(&'b self, caller: &'b str) -> impl Iterator<Item = &'b Edge<'a>> + 'b {
        self.edges.iter().filter(move |edge| edge.caller == caller)
    }

    /// The calls to one service.
    pub(crate) fn to<'b>(&'b self, callee: &'b str) -> impl Iterator<Item = &'b Edge<'a>> + 'b {
        self.edges.iter().filter(move |edge| edge.server.name == callee)
    }
}

impl<'a> Edge<'a> {
    /// As the system file writes it.
    pub(crate) fn name(&self) -> String {
        format!("{} -> {}", self.caller, self.server.name)
    }

    /// One of its lanes, in words.
    pub(crate) fn lane_name(&self, lane: Lane<'_>) -> String {
        lane.class.map_or_else(|| self.name(), |class| format!("{} of class {class}", self.name()))
    }

    /// What one of its lanes is called in a file beside the caller, which has those of all its calls.
    pub(crate) fn beside(&self, lane: Lane<'_>) -> String {
        lane.named(&format!("{}-{}", self.caller, self.server.name))
    }

    /// Retries after the first attempt, by class. Where nothing is retried there are none.
    pub(crate) fn limits(&self) -> Vec<u32> {
        let retry = &self.policy.retry;
        let on = self.on();
        let limit = |class: usize| match u8::try_from(class) {
            Ok(class) if !on.is_empty() => retry.limits.limit(class),
            _ => 0,
        };
        (0..self.classes.len()).map(limit).collect()
    }

    /// The same in words: `3`, or `gold 3, silver 1`.
    pub(crate) fn limits_in_words(&self) -> String {
        let limits = self.limits();
        match limits.first() {
            Some(first) if limits.iter().all(|limit| limit == first) => first.to_string(),
            _ => {
                let each = self.classes.iter().zip(&limits);
                let each: Vec<String> =
                    each.map(|(class, limit)| format!("{class} {limit}")).collect();
                each.join(", ")
            }
        }
    }

    /// Which ends are retried.
    pub(crate) fn on(&self) -> damper_control::RetryOn {
        let on = self.policy.retry.on;
        if self.policy.idempotent { on } else { on.for_unsafe_calls() }
    }

    /// The least limit of any class.
    pub(crate) fn least(&self) -> u32 {
        self.limits().into_iter().min().unwrap_or(0)
    }

    /// The greatest limit of any class.
    pub(crate) fn most(&self) -> u32 {
        self.limits().into_iter().max().unwrap_or(0)
    }

    /// Lanes by class: those that differ from the lowest class, and one for the rest, last.
    pub(crate) fn lanes(&self) -> Vec<Lane<'a>> {
        let limits = self.limits();
        let last = limits.last().copied().unwrap_or(0);
        let classes: &'a [String] = self.classes;
        let mut lanes: Vec<Lane<'a>> = classes
            .iter()
            .zip(&limits)
            .filter(|(_, limit)| **limit != last)
            .map(|(class, limit)| Lane { class: Some(class.as_str()), limit: *limit })
            .collect();
        lanes.push(Lane { class: None, limit: last });
        lanes
    }

    /// The times of a call with so many retries: without a retry the first bound is the only one.
    pub(crate) fn times(&self, limit: u32) -> Times {
        let Policy { timeout, deadline, .. } = *self.policy;
        match (timeout, deadline) {
            (attempt, overall) if limit == 0 => {
                Times { attempt: None, overall: earlier(attempt, overall) }
            }
            (Some(attempt), Some(overall)) if attempt >= overall => {
                Times { attempt: None, overall: Some(overall) }
            }
            (attempt, overall) => Times { attempt, overall },
        }
    }

    /// What a callee says to those that it turns away, if the caller heeds it.
    pub(crate) fn pushback(&self) -> Option<damper_control::Pushback> {
        self.server.pushback.filter(|_| self.policy.heeds_pushback && self.most() > 0)
    }
}

/// The calls of others to the services that some calls lead to.
pub(crate) fn others(system: &System, only: &[(String, String)]) -> Vec<(String, String)> {
    if only.is_empty() {
        return Vec::new();
    }
    let chosen = Asked::of(system, only);
    let callee = |edge: &&Edge<'_>| chosen.callees().contains(&edge.server.name.as_str());
    let other = |edge: &&Edge<'_>| !chosen.edges.iter().any(|one| one.at == edge.at);
    let name = |edge: &Edge<'_>| (edge.caller.to_owned(), edge.server.name.clone());
    Asked::of(system, &[]).edges.iter().filter(callee).filter(other).map(name).collect()
}

/// The earlier of two bounds; `None`: no bound.
pub(crate) fn earlier(a: Option<Nanos>, b: Option<Nanos>) -> Option<Nanos> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
