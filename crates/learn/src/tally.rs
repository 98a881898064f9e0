//! What is counted of services and of calls between them.

use crate::calls::{Attempt, Call, Evidence};
use crate::span::End;
use crate::stats::{Moments, Sample};

/// Values kept of each distribution.
const KEPT: usize = 20_000;
/// Executions of all services whose times are kept, to see how many run at once.
const MOST_INTERVALS: usize = 6_000_000;
/// Attempts of one call that are told apart.
pub(crate) const MOST_ATTEMPTS: usize = 32;
/// Retries whose delays are told apart.
pub(crate) const MOST_DELAYS: usize = 8;

/// One execution: begin, end, and own time in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Execution {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) own: u64,
    /// It counts for the service time.
    pub(crate) counts: bool,
}

/// What a service did.
#[derive(Clone, Debug)]
pub(crate) struct Service {
    /// Attempts that it worked on, or turned away.
    pub(crate) entries: u64,
    /// Its own time of those that went well, seconds.
    pub(crate) own: Moments,
    pub(crate) sample: Sample,
    pub(crate) executions: Vec<Execution>,
    pub(crate) rejected: u64,
    pub(crate) failed: u64,
    pub(crate) downstream: u64,
}

impl Service {
    pub(crate) fn new() -> Self {
        Self {
            entries: 0,
            own: Moments::default(),
            sample: Sample::new(KEPT),
            executions: Vec::new(),
            rejected: 0,
            failed: 0,
            downstream: 0,
        }
    }

    /// One attempt that it worked on. `room`: executions that may still be kept.
    pub(crate) fn entry(&mut self, start: u64, end: u64, own: u64, end_as: End, room: &mut usize) {
        self.entries += 1;
        match end_as {
            End::Rejected => self.rejected += 1,
            End::Failed | End::TimedOut => self.failed += 1,
            End::Downstream => self.downstream += 1,
            End::Success => {
                self.own.add(own as f64 / 1e9);
                self.sample.add(own as f64 / 1e9);
            }
        }
        if end_as != End::Rejected && *room > 0 {
            *room -= 1;
            let counts = end_as == End::Success;
            self.executions.push(Execution { start, end, own, counts });
        }
    }

    /// Room for executions of all services.
    pub(crate) const ROOM: usize = MOST_INTERVALS;
}

/// Delays before the retries of one number.
#[derive(Clone, Debug)]
pub(crate) struct Delay {
    pub(crate) moments: Moments,
    pub(crate) sample: Sample,
}

/// What was seen of the calls from one to another.
#[derive(Clone, Debug)]
pub(crate) struct Edge {
    pub(crate) calls: u64,
    pub(crate) attempts: u64,
    /// Attempts by number: first, first retry, …
    pub(crate) by_number: [u64; MOST_ATTEMPTS],
    /// Retries by how they are known: told, beneath, by likeness.
    pub(crate) evidence: [u64; 3],
    /// Attempts that ended badly and were retried, by end.
    pub(crate) retried: [u64; 4],
    /// The last attempts of calls that failed, by end and number.
    pub(crate) given_up: [[u64; MOST_ATTEMPTS]; 4],
    /// Calls with more than one attempt, and those of them that went well.
    pub(crate) retried_calls: u64,
    pub(crate) rescued: u64,
    pub(crate) failed_calls: u64,
    pub(crate) delays: Vec<Delay>,
    /// How long attempts took that their caller gave up, seconds.
    pub(crate) timeouts: Moments,
    pub(crate) timeout_sample: Sample,
    /// The longest attempt of all.
    pub(crate) longest: f64,
    /// How long attempts took that went well, as their caller saw it, seconds.
    pub(crate) took: Moments,
    pub(crate) took_sample: Sample,
    pub(crate) transparent: u64,
    /// Messages, for which nobody waits.
    pub(crate) messages: u64,
    /// Calls whose caller's view was seen.
    pub(crate) seen_by_caller: u64,
}

impl Edge {
    pub(crate) fn new() -> Self {
        Self {
            calls: 0,
            attempts: 0,
            by_number: [0; MOST_ATTEMPTS],
            evidence: [0; 3],
            retried: [0; 4],
            given_up: [[0; MOST_ATTEMPTS]; 4],
            retried_calls: 0,
            rescued: 0,
            failed_calls: 0,
            delays: Vec::new(),
            timeouts: Moments::default(),
            timeout_sample: Sample::new(1_000),
            longest: 0.0,
            took: Moments::default(),
            took_sample: Sample::new(1_000),
            transparent: 0,
            messages: 0,
            seen_by_caller: 0,
        }
    }

    pub(crate) fn call(&mut self, call: &Call) {
        self.calls += 1;
        self.messages += u64::from(call.message);
        self.seen_by_caller += u64::from(call.attempts.iter().all(|a| a.seen_by_caller));
        // A call whose first attempts are in another trace begins with the number it tells.
        let first = call.attempts.first().and_then(|a| a.resends).unwrap_or(0);
        let last = call.attempts.len().saturating_sub(1);
        let mut number = usize::from(first);
        for (n, attempt) in call.attempts.iter().enumerate() {
            self.attempt(attempt, number.min(MOST_ATTEMPTS - 1), n == last);
            let next = call.attempts.get(n + 1);
            if let Some(next) = next {
                self.delay(number, attempt, next);
                number += 1;
            }
        }
        let failed = call.end_as().is_bad();
        self.failed_calls += u64::from(failed);
        if number > 0 {
            self.retried_calls += 1;
            self.rescued += u64::from(!failed);
        }
    }

    fn attempt(&mut self, attempt: &Attempt, number: usize, last: bool) {
        self.attempts += 1;
        self.transparent += u64::from(attempt.transparent);
        self.by_number[number] += 1;
        let evidence = match attempt.evidence {
            Evidence::First => None,
            Evidence::Told => Some(0),
            Evidence::Beneath => Some(1),
            Evidence::Likeness => Some(2),
        };
        if let Some(kind) = evidence {
            self.evidence[kind] += 1;
        }
        let took = attempt.end.saturating_sub(attempt.start) as f64 / 1e9;
        self.longest = self.longest.max(took);
        if attempt.end_as == End::Success && attempt.seen_by_caller {
            self.took.add(took);
            self.took_sample.add(took);
        }
        if attempt.end_as == End::TimedOut && attempt.seen_by_caller {
            self.timeouts.add(took);
            self.timeout_sample.add(took);
        }
        let Some(bad) = bad(attempt.end_as) else { return };
        if last {
            self.given_up[bad][number] += 1;
        } else {
            self.retried[bad] += 1;
        }
    }

    /// The delay between two attempts, if both were seen by their caller.
    fn delay(&mut self, number: usize, before: &Attempt, after: &Attempt) {
        if number >= MOST_DELAYS || !before.seen_by_caller || !after.seen_by_caller {
            return;
        }
        if after.evidence == Evidence::Beneath {
            // Made up of the callee's spans: the way there and back is part of it.
            return;
        }
        while self.delays.len() <= number {
            let empty = Delay { moments: Moments::default(), sample: Sample::new(2_000) };
            self.delays.push(empty);
        }
        let seconds = after.start.saturating_sub(before.end) as f64 / 1e9;
        self.delays[number].moments.add(seconds);
        self.delays[number].sample.add(seconds);
    }

    pub(crate) fn absorb(&mut self, other: &Self) {
        self.calls += other.calls;
        self.attempts += other.attempts;
        let add = |a: &mut [u64], b: &[u64]| a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
        add(&mut self.by_number, &other.by_number);
        add(&mut self.evidence, &other.evidence);
        add(&mut self.retried, &other.retried);
        for (mine, theirs) in self.given_up.iter_mut().zip(&other.given_up) {
            add(mine, theirs);
        }
        self.retried_calls += other.retried_calls;
        self.rescued += other.rescued;
        self.failed_calls += other.failed_calls;
        for (n, delay) in other.delays.iter().enumerate() {
            match self.delays.get_mut(n) {
                Some(mine) => {
                    mine.moments.absorb(&delay.moments);
                    mine.sample.absorb(&delay.sample);
                }
                None => self.delays.push(delay.clone()),
            }
        }
        self.timeouts.absorb(&other.timeouts);
        self.timeout_sample.absorb(&other.timeout_sample);
        self.longest = self.longest.max(other.longest);
        self.took.absorb(&other.took);
        self.took_sample.absorb(&other.took_sample);
        self.transparent += other.transparent;
        self.messages += other.messages;
        self.seen_by_caller += other.seen_by_caller;
    }

    /// Retries: attempts that are not the first of their call.
    pub(crate) fn retries(&self) -> u64 {
        self.by_number[1..].iter().sum()
    }

    /// The most retries that one call made.
    pub(crate) fn most_retries(&self) -> usize {
        self.by_number.iter().rposition(|n| *n > 0).unwrap_or(0)
    }
}

fn bad(end: End) -> Option<usize> {
    End::BAD.iter().position(|bad| *bad == end)
}
