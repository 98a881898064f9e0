//! A request: its class, whether it is let in, and what is told to whoever is next.

use damper_control::{Nanos, deadline};

use super::{Call, Reply, Verdict, Worker};
use crate::filter::baggage;
use crate::filter::classify::{self, Found};
use crate::filter::config::Position;
use crate::filter::counters::{Overall, PerClass};
use crate::filter::headers;
use crate::filter::host::Host;
use crate::filter::memory::{Fact, hash};
use crate::filter::rules::{MOST_MS, without_port};
use crate::filter::view::View;

/// Seconds after which a caller that the lever refused may try again, if the lever cannot tell.
const RETRY_AFTER_S: u64 = 5;

impl Worker {
    /// A request has come.
    pub fn request(&mut self, call: &mut Call, host: &mut impl Host) -> Verdict {
        let trusted = classify::trusted(&self.rules, host);
        if self.rules.position == Position::Lever {
            return Verdict::Reply(if trusted { self.pull(host) } else { not_yours() });
        }
        let mut view = View::new(host);
        if !trusted {
            classify::distrust(&self.rules, &mut view, &mut self.counters);
        }
        let carried = if trusted { classify::carried(&self.rules, &mut view) } else { None };
        let (recalled, id) = self.recall(&mut view, trusted, carried.is_none());
        let known = recalled.and_then(|fact| self.rules.hashed(fact.class));
        let class = match (carried, known) {
            (Some((class, _)), _) | (None, Some(class)) => class,
            (None, None) => classify::matched(&self.rules, &mut view),
        };
        call.class = class;
        if self.held & (1 << class) != 0
            && let Err(refusal) = self.lever.admit(self.now, class)
        {
            self.counters.add(class, PerClass::RefusedByLever, 1);
            return Verdict::Reply(held_back(refusal.earliest.map(|at| at.since(self.now))));
        }
        let mut deadline = Nanos::MAX;
        if self.rules.deadline.is_some() {
            match self.deadline(&mut view, recalled.map(|fact| fact.deadline)) {
                Some(at) => deadline = at,
                None => {
                    self.counters.add(class, PerClass::RefusedByDeadline, 1);
                    return Verdict::Reply(too_late());
                }
            }
        }
        if let (Some(memory), Some(id)) = (&self.rules.memory, id)
            && self.rules.position != Position::Outbound
            && (class != self.rules.default_class || deadline != Nanos::MAX)
        {
            let fact = Fact { class: hash(self.rules.name(class).as_bytes()), deadline };
            let is_default = class == self.rules.default_class;
            memory.keep(view.host, self.now, id, fact, is_default);
        }
        if !matches!(carried, Some((_, Found::Header))) {
            view.set(&self.rules.header, self.rules.name(class).as_bytes());
        }
        self.hand_on_baggage(&mut view, class, trusted);
        self.retries(call, &mut view);
        call.open = true;
        self.counters.add(class, PerClass::Requests, 1);
        Verdict::Continue
    }

    /// The id of the request if it is remembered by one, and what is remembered. A stranger's id is
    /// nobody's: what comes in gets a fresh one, and what goes out is not recognised by it.
    fn recall<H: Host>(
        &mut self,
        view: &mut View<'_, H>,
        trusted: bool,
        unknown: bool,
    ) -> (Option<Fact>, Option<u64>) {
        let Some(memory) = &self.rules.memory else { return (None, None) };
        let outbound = self.rules.position == Position::Outbound;
        if outbound && (!trusted || !unknown && self.rules.deadline.is_none()) {
            return (None, None);
        }
        let value = view.get(memory.header());
        if let Some(value) = &value
            && !outbound
            && !trusted
        {
            let fresh = memory.fresh(value, &mut self.rng);
            view.set(memory.header(), &fresh);
            if memory.header() == "traceparent" {
                // It is about the trace that ends here.
                view.remove("tracestate");
            }
            return (None, memory.id(&fresh));
        }
        let id = value.and_then(|value| memory.id(&value));
        if !outbound {
            return (None, id);
        }
        let fact = id.and_then(|id| memory.recall(view.host, self.now, id));
        let counter = if fact.is_some() { Overall::Remembered } else { Overall::Forgotten };
        self.counters.add_overall(counter, 1);
        (fact, id)
    }

    /// When the request is given up, and tells it to Envoy and to the next hop. [`Nanos::MAX`]: never.
    /// `None`: it is too late.
    fn deadline<H: Host>(&self, view: &mut View<'_, H>, recalled: Option<Nanos>) -> Option<Nanos> {
        let Some(rule) = &self.rules.deadline else { return Some(Nanos::MAX) };
        let told = view.get(&rule.header).and_then(|value| milliseconds(&value));
        let recalled = recalled.filter(|at| *at != Nanos::MAX);
        let told = told.or_else(|| rule.default_ms.filter(|_| recalled.is_none()));
        if told.is_none() && recalled.is_none() {
            return Some(Nanos::MAX);
        }
        let now = view.host.now();
        let told = told.map(|ms| now + Nanos::from_millis(ms.min(rule.max_ms)));
        let at = deadline::gives_up_at(now, None, told).into_iter().chain(recalled).min()?;
        let left = deadline::left(now, at, Nanos::from_millis(rule.margin_ms))?;
        // Less than a millisecond is nothing: Envoy takes a timeout of 0 for none.
        let ms = left.0 / 1_000_000;
        if ms == 0 {
            return None;
        }
        let text = ms.to_string();
        view.set(&rule.header, text.as_bytes());
        view.set(headers::TIMEOUT, text.as_bytes());
        Some(now + left)
    }

    fn hand_on_baggage<H: Host>(&self, view: &mut View<'_, H>, class: u8, trusted: bool) {
        let Some(key) = &self.rules.baggage else { return };
        let name = self.rules.name(class);
        let header = view.list(headers::BAGGAGE).unwrap_or_default();
        if baggage::get(&header, key) == Some(name.as_bytes()) {
            return;
        }
        // Where ours does not fit beside what a stranger sent, what the stranger sent goes.
        let stranger = || baggage::with(b"", key, Some(name)).filter(|_| !trusted);
        if let Some(with) = baggage::with(&header, key, Some(name)).or_else(stranger) {
            view.set(headers::BAGGAGE, &with);
        }
    }

    /// Finds the policy and tells Envoy how often it may retry, and after what.
    fn retries<H: Host>(&mut self, call: &mut Call, view: &mut View<'_, H>) {
        let mut policy = self.rules.policies.len() - 1;
        if !self.rules.edges.is_empty() || self.rules.pushback {
            let host = view.get(":authority").unwrap_or_default();
            if !self.rules.edges.is_empty() {
                let path = view.get(":path").unwrap_or_default();
                let fits = self.rules.edges.iter().position(|edge| edge.fits(&host, &path));
                policy = fits.unwrap_or(policy);
            }
            if self.rules.pushback {
                call.host = hash(without_port(&host));
            }
        }
        // At most 64 edges.
        call.policy = policy as u8;
        let rules = &self.rules.policies[policy];
        let account = &mut self.accounts[policy];
        let limit = rules.limits.as_ref().map(|limits| limits[usize::from(call.class)]);
        let mut granted = limit.unwrap_or(0);
        if rules.pushback && granted > 0 && self.quiet.is(call.host, call.class, self.now) {
            self.counters.add(call.class, PerClass::DeniedByPushback, granted.into());
            granted = 0;
        }
        if let Some(account) = account {
            let allowed = account.start(self.now, call.class, granted, &mut self.rng);
            if allowed < granted {
                let denied = granted - allowed;
                self.counters.add(call.class, PerClass::DeniedByBudget, denied.into());
            }
            granted = allowed;
        }
        if limit.is_some() {
            // At most 100.
            call.granted = Some(granted as u8);
            self.counters.add(call.class, PerClass::Granted, granted.into());
            number(granted, |text| view.set(headers::MAX_RETRIES, text));
        }
        if (granted > 0 || limit.is_none())
            && let Some(conditions) = &rules.conditions
        {
            for (name, value) in [
                (headers::RETRY_ON, &conditions.on),
                (headers::RETRY_GRPC_ON, &conditions.grpc_on),
                (headers::STATUS_CODES, &conditions.statuses),
            ] {
                if !value.is_empty() {
                    view.set(name, value.as_bytes());
                }
            }
        }
        if let Some(ms) = &rules.per_try_timeout_ms {
            view.set(headers::PER_TRY_TIMEOUT, ms.as_bytes());
        }
    }
}

/// A small number as text, without an allocation.
fn number(n: u32, give: impl FnOnce(&[u8])) {
    let digits = [(n / 100 % 10) as u8 + b'0', (n / 10 % 10) as u8 + b'0', (n % 10) as u8 + b'0'];
    let skip = if n >= 100 {
        0
    } else if n >= 10 {
        1
    } else {
        2
    };
    give(&digits[skip..]);
}

/// Milliseconds as a header says them.
fn milliseconds(value: &[u8]) -> Option<u64> {
    let value = value.trim_ascii();
    let digits = (1..=10).contains(&value.len()) && value.iter().all(u8::is_ascii_digit);
    let ms: u64 = std::str::from_utf8(value).ok().filter(|_| digits)?.parse().ok()?;
    Some(ms.min(MOST_MS))
}

/// The answer to a request that the lever holds back. `x-envoy-ratelimited` keeps Envoys on the way
/// from retrying it, and the pushback keeps gRPC from it.
fn held_back(wait: Option<Nanos>) -> Reply {
    let seconds = wait.map_or(RETRY_AFTER_S, |wait| wait.0.div_ceil(1_000_000_000).clamp(1, 60));
    Reply {
        status: 503,
        headers: vec![
            ("retry-after", seconds.to_string()),
            ("x-envoy-ratelimited", "true".into()),
            ("grpc-retry-pushback-ms", "-1".into()),
            (headers::REFUSED, "lever".into()),
        ],
        body: "held back by the operator\n".into(),
    }
}

/// The answer to who may not pull the lever, and not see where it is.
fn not_yours() -> Reply {
    Reply { status: 403, headers: Vec::new(), body: "`trust` does not name you\n".into() }
}

fn too_late() -> Reply {
    Reply {
        status: 504,
        headers: vec![
            ("x-envoy-ratelimited", "true".into()),
            ("grpc-retry-pushback-ms", "-1".into()),
            (headers::REFUSED, "deadline".into()),
        ],
        body: "the deadline has passed\n".into(),
    }
}
