//! Which endpoint is next. One file for each way; all see the same figures of an endpoint.

mod ewma;
mod least_request;
mod p2c;
mod round_robin;

use damper_control::Nanos;
use damper_system::sidecar::Balance;
use rand_core::Rng;

pub(crate) use ewma::PeakEwma;

/// What is known of an endpoint.
#[derive(Clone, Debug, Default)]
pub(crate) struct Figures {
    /// Requests that are under way.
    pub(crate) open: u32,
    /// How long replies take, and what refusals cost.
    pub(crate) latency: PeakEwma,
    /// Until when its word OVERLOADED holds.
    pub(crate) overloaded_until: Nanos,
    /// Until when it is known to refuse.
    pub(crate) refuses_until: Nanos,
}

impl Figures {
    /// How long a word of an endpoint about itself is believed.
    pub(crate) const WORD: Nanos = Nanos::from_secs(1);

    /// It refused, or could not be reached, after this time.
    pub(crate) fn refused(&mut self, now: Nanos, after: Nanos) {
        self.latency.refused(now, after);
        self.refuses_until = now + Self::WORD;
    }
}

/// An endpoint to choose from.
pub(crate) trait Candidate {
    fn figures(&self) -> &Figures;
    /// It had an attempt of the same call, and there is another that had none.
    fn is_out(&self) -> bool;
}

/// A way to choose, with what it remembers.
#[derive(Debug)]
pub(crate) enum Picker {
    RoundRobin(round_robin::RoundRobin),
    LeastRequest(least_request::LeastRequest),
    P2c(p2c::P2c),
}

impl Picker {
    pub(crate) fn new(balance: Balance) -> Self {
        match balance {
            Balance::RoundRobin => Self::RoundRobin(round_robin::RoundRobin::default()),
            Balance::LeastRequest => Self::LeastRequest(least_request::LeastRequest::default()),
            Balance::P2c => Self::P2c(p2c::P2c),
        }
    }

    /// The place of the endpoint that is next; `None`: there is none, or all are out.
    pub(crate) fn pick<C: Candidate>(
        &mut self,
        from: &[C],
        now: Nanos,
        chance: &mut impl Rng,
    ) -> Option<usize> {
        match self {
            Self::RoundRobin(way) => way.pick(from),
            Self::LeastRequest(way) => way.pick(from, now),
            Self::P2c(way) => way.pick(from, now, chance),
        }
    }
}

#[cfg(test)]
mod tests;
