//! Which services of call trees depend on which: whether s̄ of one can change what comes to it.
//!
//! What comes to a service depends on the rejections of those above it, of those asked before it,
//! and, where a call is repeated for what failed below, of all below that call. If no service comes
//! back to itself that way over another, they can be solved one after another, and each has one
//! answer: what a service serves grows with s̄ on the side of its queue, and falls with s̄ on the
//! side of its calls, repeated or not. (With u the probability that what is below a call succeeds,
//! attempts × u = u (1 + q + … + q^k) falls as u falls, since q is 1 - u or a part of it.) That a
//! repeated call repeats its own success breaks the last: a service that is asked several times
//! below a call that is repeated counts as one that depends on itself.

use damper_control::Outcome;
use damper_system::System;
use damper_system::model::{Caller, RequestType, ServiceId, Step};

use super::nodes;
use crate::node::Node;

/// Whether some service depends on itself in a way that may have several answers.
pub(super) fn on_themselves(system: &System, types: &[RequestType]) -> bool {
    let n = system.services.len();
    let mut depends = Depends {
        system,
        rejects: system.services.iter().map(|s| !matches!(nodes::of(s), Node::Unlimited)).collect(),
        on: vec![Set::new(n); n],
        places: vec![0; n],
    };
    for kind in types {
        depends.walk(Caller::Client, &kind.steps, &Set::new(n), false);
    }
    depends.has_loop()
}

/// Services, one bit each.
#[derive(Clone)]
struct Set(Vec<u64>);

impl Set {
    fn new(n: usize) -> Self {
        Self(vec![0; n.div_ceil(64)])
    }

    fn add(&mut self, i: usize) {
        self.0[i / 64] |= 1 << (i % 64);
    }

    fn has(&self, i: usize) -> bool {
        self.0[i / 64] >> (i % 64) & 1 == 1
    }

    fn add_all(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a |= b);
    }
}

struct Depends<'a> {
    system: &'a System,
    /// By service; one that rejects nothing changes nothing for others.
    rejects: Vec<bool>,
    /// By service: those that what comes to it depends on. Itself, if it may have several answers.
    on: Vec<Set>,
    /// Calls to each service, those in a row as two.
    places: Vec<u32>,
}

impl Depends<'_> {
    /// `before`: what it depends on that these steps are reached. `row`: whether they are below
    /// calls in a row.
    fn walk(&mut self, caller: Caller, steps: &[Step], before: &Set, row: bool) {
        let mut before = before.clone();
        for step in steps {
            let mut through = Set::new(self.rejects.len());
            for call in step {
                let server = self.system.server_of(call.target).0 as usize;
                let row = row || call.times > 1;
                self.places[server] = self.places[server].saturating_add(1 + u32::from(row));
                let callee = Caller::Service(ServiceId(server as u32));
                let mut below = Set::new(self.rejects.len());
                self.collect(&call.steps, &mut below);
                let policy = self.system.edge(caller, call.target).map(|e| &e.policy);
                let repeats = policy.is_some_and(|p| {
                    let on = p.retry.on;
                    let on = if p.idempotent { on } else { on.for_unsafe_calls() };
                    p.retry.limits.max() > 0 && on.contains(Outcome::FailedBelow)
                });
                let mut on = before.clone();
                // The next call of a row is made if this one succeeded, with all below it.
                if repeats || call.times > 1 {
                    on.add_all(&below);
                }
                self.on[server].add_all(&on);
                if self.rejects[server] {
                    on.add(server);
                    through.add(server);
                }
                self.walk(callee, &call.steps, &on, row);
                through.add_all(&below);
            }
            before.add_all(&through);
        }
    }

    fn collect(&self, steps: &[Step], into: &mut Set) {
        for call in steps.iter().flatten() {
            let server = self.system.server_of(call.target).0 as usize;
            if self.rejects[server] {
                into.add(server);
            }
            self.collect(&call.steps, into);
        }
    }

    fn has_loop(&self) -> bool {
        let n = self.rejects.len();
        let several = |i: usize| self.on[i].has(i) && self.places[i] > 1;
        if (0..n).any(|i| self.rejects[i] && several(i)) {
            return true;
        }
        // Services are taken away as soon as all they depend on have been.
        let on =
            |i: usize| (0..n).filter(move |j| self.rejects[*j] && *j != i && self.on[i].has(*j));
        let mut waits: Vec<usize> = (0..n).map(|i| on(i).count()).collect();
        let mut free: Vec<usize> = (0..n).filter(|i| self.rejects[*i] && waits[*i] == 0).collect();
        let mut taken = 0;
        while let Some(j) = free.pop() {
            taken += 1;
            for i in (0..n).filter(|i| self.rejects[*i] && *i != j && self.on[*i].has(j)) {
                waits[i] -= 1;
                if waits[i] == 0 {
                    free.push(i);
                }
            }
        }
        taken < self.rejects.iter().filter(|r| **r).count()
    }
}

#[cfg(test)]
mod tests {
    use damper_system::SystemFile;
    use damper_system::model::Work;

    use super::*;

    fn loops(calls: &str, on: &str) -> bool {
        let text = format!(
            "
damper: 1
services: {{top: {{}}, a: {{rate_limit: 9/s}}, b: {{rate_limit: 9/s}}, c: {{rate_limit: 9/s}}}}
load: 1/s
requests: {{r: {{calls: {calls}}}}}
policies: {{default: {{retry: {{limit: 1, on: {on}}}}}}}
"
        );
        let system = SystemFile::parse("test.yaml", &text).unwrap().lower().unwrap();
        let Work::Requests(types) = &system.work else { panic!("trees") };
        on_themselves(&system, types)
    }

    #[test]
    fn services_that_come_back_to_themselves_are_found() {
        let own = "[rejected]";
        let below = "[rejected, downstream]";
        for (calls, on, expected) in [
            // One after another, and one below another.
            ("[{top: [{a: [b]}, c]}]", own, false),
            // What fails at c repeats a.
            ("[{top: [{a: [b]}, c]}]", below, true),
            // Only c is full enough to reject: it repeats itself, and has one answer.
            ("[{top: [c]}]", below, false),
            // Asked again in the same attempt, and c between may fail after the first.
            ("[{top: [a, c, a]}]", own, true),
            ("[{top: [{c: {times: 3}}]}]", own, false),
            ("[{top: [{c: {times: 3}}]}]", below, true),
            ("[{parallel: [a, b]}]", own, false),
        ] {
            assert_eq!(loops(calls, on), expected, "{calls} with {on}");
        }
    }
}
