//! Every pull with who, when, why, and how goodput answered.

use std::collections::VecDeque;

use damper_control::Nanos;
use serde::{Deserialize, Serialize};

use crate::observe::Watch;

/// Pulls that are remembered.
const MOST: usize = 256;
/// The span before a pull, and the longest after it, over which goodput is compared.
const BEFORE: Nanos = Nanos::from_secs(10);
const AFTER: Nanos = Nanos::from_secs(30);

/// A pull.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Its number, from 1.
    pub id: u64,
    /// When, in UTC.
    pub at: String,
    /// At which hop.
    pub hop: String,
    /// For which classes; `all`: for all.
    pub classes: Vec<String>,
    /// For one caller alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<String>,
    /// What was done, in words.
    pub action: String,
    /// By whom.
    pub who: String,
    /// Why.
    pub why: String,
    /// When it reverts, in UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverts_at: Option<String>,
    /// Whether it has reverted.
    #[serde(default)]
    pub reverted: bool,
    /// Successes in time per second of the hop, in the ten seconds before.
    pub goodput_before_rps: Option<f64>,
    /// The same after it, until thirty seconds after or the next pull at the hop.
    pub goodput_after_rps: Option<f64>,
    /// Over how many seconds that was.
    pub after_s: f64,
    /// The state of the hop before.
    pub state_before: String,
    /// The state after, at the end of that time.
    #[serde(default)]
    pub state_after: String,
}

#[derive(Debug)]
struct Kept {
    at: Nanos,
    /// Nothing more is noted of it.
    settled: bool,
    entry: Entry,
}

#[derive(Debug, Default)]
pub(super) struct Journal {
    kept: VecDeque<Kept>,
    last: u64,
}

impl Journal {
    /// Adds a pull, numbers it, and notes goodput before it.
    pub(super) fn push(&mut self, now: Nanos, mut entry: Entry, watch: &Watch) -> Entry {
        self.answer(now, watch);
        // What comes now is the answer to this pull, and no longer to the one before.
        for kept in self.kept.iter_mut().filter(|kept| kept.entry.hop == entry.hop) {
            kept.settled = true;
        }
        self.last += 1;
        entry.id = self.last;
        entry.goodput_before_rps =
            watch.goodput(&entry.hop, Nanos(now.0.saturating_sub(BEFORE.0)), now);
        if self.kept.len() == MOST {
            self.kept.pop_front();
        }
        self.kept.push_back(Kept { at: now, settled: false, entry: entry.clone() });
        entry
    }

    /// Notes goodput since the pulls.
    pub(super) fn answer(&mut self, now: Nanos, watch: &Watch) {
        for kept in self.kept.iter_mut().filter(|kept| !kept.settled) {
            let until = now.min(kept.at + AFTER);
            if let Some(goodput) = watch.goodput(&kept.entry.hop, kept.at, until) {
                kept.entry.goodput_after_rps = Some(goodput);
                kept.entry.after_s = until.since(kept.at).as_secs_f64();
                kept.entry.state_after = watch.state(&kept.entry.hop).word().to_owned();
            }
            kept.settled = now >= kept.at + AFTER;
        }
    }

    pub(super) fn reverted(&mut self, id: u64) {
        if let Some(kept) = self.kept.iter_mut().find(|kept| kept.entry.id == id) {
            kept.entry.reverted = true;
        }
    }

    pub(super) fn entries(&self) -> Vec<Entry> {
        self.kept.iter().map(|kept| kept.entry.clone()).collect()
    }
}
