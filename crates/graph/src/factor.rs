//! A layer on an edge, in numbers: at least so many attempts, at most so many, after which ends.

use damper_config::failure::Failure;
use damper_config::layer::{Attempts, Budget, Delay, Growth, Layer, Origin, Reach, Seat};
use damper_config::{Failures, Name};

use crate::waits::Waits;

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The file.
    pub path: String,
    /// The line, from 1.
    pub line: u32,
}

/// A layer that retries.
#[derive(Clone, Debug, PartialEq)]
pub struct Factor {
    /// What it is: `Istio, built in`, `tenacity`, `the policy of the file`.
    pub who: String,
    /// Where it is written, or where the thing stands whose default it is.
    pub place: Option<Place>,
    /// Whether a person wrote its number of attempts.
    pub written: bool,
    /// Whose calls; `None`: everybody's.
    pub caller: Option<Name>,
    /// Whether calls from outside come another way, which has layers of its own.
    pub inside: bool,
    /// To whom; `None`: to everybody.
    pub callee: Option<Name>,
    /// Where on the way it sits.
    pub seat: Seat,
    /// How specific it is.
    pub reach: Reach,
    /// At least so many attempts in total.
    pub low: u32,
    /// At most so many; `None`: no end, or none that can be told.
    pub high: Option<u32>,
    /// What it surely retries of what the callee itself ends.
    pub own: Failures,
    /// What it may retry of that.
    pub own_maybe: Failures,
    /// What it surely retries of what ended further down and comes up.
    pub below: Failures,
    /// What it may retry of that.
    pub below_maybe: Failures,
    /// What limits retries across requests.
    pub budget: Option<Budget>,
    /// The longest one attempt may take, in milliseconds.
    pub attempt_timeout_ms: Option<f64>,
    /// The longest all may take, in milliseconds.
    pub timeout_ms: Option<f64>,
    /// The waits between attempts.
    pub waits: Waits,
    /// Whether it stops when its caller gives the call up; `None`: not known.
    pub stops: Option<bool>,
    /// What bears on the numbers.
    pub notes: Vec<String>,
}

impl Factor {
    /// From a layer of configuration in a file.
    #[must_use]
    pub fn of_layer(layer: &Layer, path: &str) -> Self {
        let attempts = &layer.attempts;
        let (low, high) = match &attempts.value {
            Attempts::Unbounded => (u32::MAX, None),
            other => (other.low(), other.high()),
        };
        let place = match &attempts.from {
            Origin::Elsewhere { path, line } => Place { path: path.clone(), line: *line },
            Origin::Written(line) => Place { path: path.to_owned(), line: *line },
            _ => Place { path: path.to_owned(), line: layer.lines[0] },
        };
        let who = match &attempts.from {
            Origin::Default(who) => (*who).to_owned(),
            _ => layer.format.to_owned(),
        };
        let ms = |value: &Option<damper_config::Sourced<f64>>| value.as_ref().map(|one| one.value);
        Self {
            who,
            place: Some(place),
            written: matches!(attempts.from, Origin::Written(_) | Origin::Elsewhere { .. }),
            caller: layer.caller.clone(),
            inside: false,
            callee: layer.callee.clone(),
            seat: layer.seat,
            reach: layer.reach,
            low,
            high,
            own: layer.on.value,
            own_maybe: layer.on.value,
            below: layer.on.value,
            below_maybe: layer.on.value,
            budget: layer.budget.as_ref().map(|budget| budget.value.clone()),
            attempt_timeout_ms: ms(&layer.attempt_timeout_ms),
            timeout_ms: ms(&layer.timeout_ms),
            waits: waits(&layer.delay),
            stops: STOPS.iter().any(|start| layer.format.starts_with(start)).then_some(true),
            notes: layer.notes.clone(),
        }
    }

    /// Attempts after an end of this kind, at least and at most; `from_below`: it comes from
    /// further down.
    #[must_use]
    pub fn attempts(&self, kind: Failure, from_below: bool) -> (f64, f64) {
        let (surely, maybe) =
            if from_below { (self.below, self.below_maybe) } else { (self.own, self.own_maybe) };
        let low = if surely.contains(kind) { number(Some(self.low)) } else { 1.0 };
        let high = if maybe.contains(kind) { number(self.high) } else { 1.0 };
        let Some(all) = self.timeout_ms else { return (low, high.max(low)) };
        let one = self.takes_ms(kind);
        let least = self.waits.least_within(all, one, low);
        let most = self.waits.most_within(all, one, high.max(low));
        (low.min(least), high.max(low).min(most))
    }

    /// How long an attempt takes that ends in this way: the whole of its timeout, or no time that
    /// anybody could promise.
    #[must_use]
    pub fn takes_ms(&self, kind: Failure) -> f64 {
        match (kind, self.attempt_timeout_ms) {
            (Failure::AttemptTimeout, Some(one)) => one,
            _ => 0.0,
        }
    }

    /// The longest that one attempt or all of them may take, where that is bounded: who is below and
    /// stops with its caller has no more time than that.
    #[must_use]
    pub fn leaves_ms(&self) -> Option<f64> {
        let times = [self.attempt_timeout_ms, self.timeout_ms];
        times.into_iter().flatten().reduce(f64::min)
    }

    /// The most attempts after any end that may come.
    #[must_use]
    pub fn most(&self, from_below: bool) -> f64 {
        let each = damper_config::failure::ALL.into_iter();
        each.map(|kind| self.attempts(kind, from_below).1).fold(1.0, f64::max)
    }

    /// Attempts for each call while everything fails for long, given those for one request: a
    /// budget limits them.
    #[must_use]
    pub fn sustained(&self, attempts: f64) -> f64 {
        let cap = match &self.budget {
            None | Some(Budget::Concurrent { .. }) => f64::INFINITY,
            // A share of what is active, the retries themselves included.
            Some(Budget::ActiveShare { percent, .. }) => {
                let rest = 1.0 - percent / 100.0;
                if rest > 0.0 { 1.0 / rest } else { f64::INFINITY }
            }
            Some(Budget::RateShare { percent, .. }) => 1.0 + percent / 100.0,
            // Fed by successes alone: while everything fails nothing is left.
            Some(Budget::Tokens { .. } | Budget::Quota { .. }) => 1.0,
        };
        attempts.min(cap)
    }
}

/// Beginnings of formats whose software ends its attempts when the one who called it goes away:
/// Envoy in all its guises, Linkerd, and clients of gRPC.
const STOPS: [&str; 13] = [
    "envoy",
    "istio",
    "gateway-api",
    "contour",
    "cilium",
    "consul",
    "kuma",
    "emissary",
    "app-mesh",
    "open-service-mesh",
    "linkerd",
    "grpc",
    "envoy-gateway",
];

fn waits(delay: &Delay) -> Waits {
    let factor = match delay.growth {
        Growth::Exponential => delay.factor.unwrap_or(2.0),
        _ => 1.0,
    };
    Waits {
        base_ms: delay.base_ms.as_ref().map_or(0.0, |base| base.value),
        factor,
        cap_ms: delay.cap_ms.as_ref().map(|cap| cap.value),
        jitter: delay.jitter,
    }
}

fn number(attempts: Option<u32>) -> f64 {
    match attempts {
        None | Some(u32::MAX) => f64::INFINITY,
        Some(count) => f64::from(count.max(1)),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A layer with this many attempts in total after these ends.
    pub(crate) fn factor(attempts: u32, on: Failures) -> Factor {
        Factor {
            who: "a layer".to_owned(),
            place: None,
            written: true,
            caller: None,
            inside: false,
            callee: None,
            seat: Seat::Client,
            reach: Reach::Service,
            low: attempts,
            high: Some(attempts),
            own: on,
            own_maybe: on,
            below: on,
            below_maybe: on,
            budget: None,
            attempt_timeout_ms: None,
            timeout_ms: None,
            waits: Waits::default(),
            stops: None,
            notes: Vec::new(),
        }
    }

    #[test]
    fn a_layer_retries_what_it_says() {
        let three = factor(3, Failures::GATEWAY);
        assert_eq!(three.attempts(Failure::Unavailable, false), (3.0, 3.0));
        assert_eq!(three.attempts(Failure::TooMany, false), (1.0, 1.0));
    }
}
