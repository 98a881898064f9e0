//! Requests: how they arrive, and how they end.

use damper_control::Outcome;

use crate::observe::Happened;
use crate::slab::NONE;
use crate::world::{Attempt, World, draw};

impl World<'_> {
    pub(crate) fn request_arrives(&mut self, class: usize) {
        self.arrivals[class].arrived(self.now, &self.ziggurat);
        self.schedule_arrival(class);
        self.requests += 1;
        self.point.offered += 1;
        if self.measuring {
            self.class_stats[class].offered += 1;
        }
        let roots = &self.plan.roots[class];
        let node = match roots.as_slice() {
            [] => return,
            [(_, only)] => *only,
            many => draw(many, self.work_stream.unit()).unwrap_or(many[many.len() - 1].1),
        };
        let request = self.attempts.insert(Attempt {
            class: class as u8,
            flow: user(self.requests, self.plan.system.users.get(class).copied().unwrap_or(1)),
            since: self.now,
            ..Attempt::new(NONE, node)
        });
        self.watch.see(self.now, Happened::Request { attempt: request, root: node });
        self.next_step(request);
    }

    /// The request behind a root attempt has ended.
    pub(crate) fn request_ended(&mut self, request: u32, cause: Outcome) {
        let Attempt { class, since, .. } = self.attempts[request];
        self.watch.see(self.now, Happened::RequestEnded { attempt: request, outcome: cause });
        self.attempts.free(request);
        let class = usize::from(class);
        let latency = self.now - since;
        let late = cause == Outcome::Success && self.conditions.good_within < latency;
        let cause = if late { Outcome::TimedOut } else { cause };
        let good = cause == Outcome::Success;
        let point = &mut self.point;
        point.good += u64::from(good);
        point.classes[class].0 += 1;
        point.classes[class].1 += u64::from(good);
        if since >= self.conditions.warmup {
            let stats = &mut self.class_stats[class];
            stats.ended[cause.index()] += 1;
            stats.late += u64::from(late);
            if good {
                crate::stats::record(&mut stats.latency_us, latency);
            }
        }
    }
}

/// The user behind the n-th request: evenly spread, without a draw of its own, so that naming
/// users changes nothing else.
fn user(n: u64, users: u32) -> u16 {
    let mixed = n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    ((mixed * u64::from(users)) >> 32) as u16
}
