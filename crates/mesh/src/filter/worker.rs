//! What one worker thread of Envoy does with the requests that it gets.

mod answer;
mod request;
mod tick;

use damper_control::Nanos;
use damper_control::lever::Lever;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng as _;

use super::account::Account;
use super::config::{Config, Lever as Pull};
use super::counters::Counters;
use super::quiet::Quiet;
use super::rules::{self, Rules};

/// One worker thread. Time is that of the last [`Worker::tick`]: asking Envoy for each request
/// would cost more than it is worth.
#[derive(Clone, Debug)]
pub struct Worker {
    rules: Rules,
    accounts: Vec<Option<Account>>,
    quiet: Quiet,
    written_lever: std::collections::BTreeMap<String, Pull>,
    lever: Lever,
    /// Classes that the lever can hold back, as bits.
    held: u16,
    /// What was last read from shared data.
    shared_lever: Option<Vec<u8>>,
    counters: Counters,
    rng: Xoshiro256PlusPlus,
    now: Nanos,
    ticks: u32,
    /// Whether what comes in is told OVERLOADED.
    overloaded: bool,
}

/// What a worker keeps of a request until it has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Call {
    class: u8,
    policy: u8,
    /// A hash of the host, if it matters.
    host: u64,
    /// Whether it was let through and has not ended.
    open: bool,
    /// How many retries Envoy was told; `None`: the route decides.
    granted: Option<u8>,
}

/// What becomes of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It goes on.
    Continue,
    /// It is answered at once.
    Reply(Reply),
}

/// An answer that the filter gives itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The HTTP status; Envoy makes a gRPC status of it for gRPC.
    pub status: u32,
    /// Headers.
    pub headers: Vec<(&'static str, String)>,
    /// The body.
    pub body: String,
}

/// How often [`Worker::tick`] is to be called, in milliseconds.
pub const TICK_MS: u64 = 100;
/// Every so many ticks shared data is looked at.
const SHARED_TICKS: u32 = 5;
/// Where the lever is in shared data.
const LEVER_KEY: &str = "damper.lever";
/// Where outbound tells inbound until when what is below is overloaded.
const OVERLOADED_KEY: &str = "damper.overloaded";

impl Worker {
    /// A worker that starts at `now` (since 1970). `seed` is for the draws of budgets.
    #[must_use]
    pub fn new(config: &Config, now: Nanos, seed: u64) -> Self {
        let rules = Rules::new(config);
        let (lever, held) = rules::lever(&config.lever, &rules.classes, now);
        Self {
            accounts: rules.accounts(),
            quiet: Quiet::default(),
            written_lever: config.lever.clone(),
            lever,
            held,
            shared_lever: None,
            counters: Counters::new(rules.classes.len()),
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
            now,
            ticks: 0,
            overloaded: false,
            rules,
        }
    }

    /// The names of the classes, the highest first.
    #[must_use]
    pub fn classes(&self) -> &[String] {
        &self.rules.classes
    }

    /// What was counted.
    pub fn counters(&mut self) -> &mut Counters {
        &mut self.counters
    }
}

#[cfg(test)]
mod tests;
