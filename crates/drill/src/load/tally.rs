//! How requests ended, and how long they took.

use hdrhistogram::Histogram;

use super::end::{AttemptEnd, Ended};
use super::grpc::Received;
use super::schedule::Arrival;

/// How a request ended, as its sender sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// A good reply.
    Ok,
    /// Refused: 429, 503, or UNAVAILABLE, RESOURCE_EXHAUSTED.
    Rejected,
    /// Any other reply that is not good.
    Failed,
    /// No reply in time, by its own patience or by the word of the server (504, DEADLINE_EXCEEDED).
    TimedOut,
    /// No connection, or one that broke.
    Connection,
    /// Not sent, since as many as may be were under way.
    NotSent,
}

/// How many ends of requests there are.
pub(super) const ENDS: usize = 6;

impl End {
    /// All of them, in the order of [`Row::ends`].
    pub const ALL: [Self; ENDS] =
        [Self::Ok, Self::Rejected, Self::Failed, Self::TimedOut, Self::Connection, Self::NotSent];

    /// What it is called.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Rejected => "rejected",
            Self::Failed => "failed",
            Self::TimedOut => "timed out",
            Self::Connection => "connection",
            Self::NotSent => "not sent",
        }
    }
}

/// The longest latency that is kept apart, in microseconds: an hour.
const LONGEST_US: u64 = 3_600_000_000;

/// Requests of one class and kind.
#[derive(Clone, Debug)]
pub struct Row {
    /// By [`End::ALL`].
    pub ends: [u64; ENDS],
    /// Latency of good replies from the intended start, in microseconds.
    pub ok_us: Histogram<u64>,
    /// Latency of all ends but those not sent.
    pub all_us: Histogram<u64>,
    /// Good replies in time: goodput.
    pub in_time: u64,
    /// How the attempts of these requests ended, by [`AttemptEnd::ALL`]; there are more of them than
    /// requests only if callers retry.
    pub attempts: [u64; 7],
    /// Attempts that were not the first of their request.
    pub retries: u64,
    /// Of gRPC: what came in replies that were read to their end.
    pub received: Received,
}

impl Default for Row {
    fn default() -> Self {
        Self {
            ends: [0; ENDS],
            ok_us: histogram(),
            all_us: histogram(),
            in_time: 0,
            attempts: [0; 7],
            retries: 0,
            received: Received::default(),
        }
    }
}

fn histogram() -> Histogram<u64> {
    let made = Histogram::new_with_max(LONGEST_US, 3);
    made.unwrap_or_else(|_| unreachable!("an hour with three digits is what a histogram can hold"))
}

impl Row {
    /// How many ended like this.
    #[must_use]
    pub fn count(&self, end: End) -> u64 {
        self.ends[end as usize]
    }

    /// All requests, those not sent included.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.ends.iter().sum()
    }

    /// Replies of any kind, good or not: throughput.
    #[must_use]
    pub fn replies(&self) -> u64 {
        [AttemptEnd::Ok, AttemptEnd::Rejected, AttemptEnd::Shed, AttemptEnd::Failed]
            .map(|end| self.attempts[end as usize])
            .iter()
            .sum()
    }

    /// Adds another row to this one.
    pub fn absorb(&mut self, other: &Self) {
        self.ends.iter_mut().zip(other.ends).for_each(|(a, b)| *a += b);
        self.attempts.iter_mut().zip(other.attempts).for_each(|(a, b)| *a += b);
        self.in_time += other.in_time;
        self.retries += other.retries;
        self.received.add(other.received);
        // Both have the same bounds.
        let _ = self.ok_us.add(&other.ok_us);
        let _ = self.all_us.add(&other.all_us);
    }

    fn record(&mut self, end: End, latency_us: u64) {
        self.ends[end as usize] += 1;
        let latency = latency_us.clamp(1, LONGEST_US);
        if end == End::NotSent {
            return;
        }
        self.all_us.saturating_record(latency);
        if end == End::Ok {
            self.ok_us.saturating_record(latency);
        }
    }
}

/// All requests of a run.
#[derive(Clone, Debug)]
pub struct Tally {
    /// By class, by kind.
    pub rows: Vec<Vec<Row>>,
    /// By part of the measured time, by class: ends as in [`Row::ends`].
    pub parts: Vec<Vec<[u64; ENDS]>>,
    /// How much later than intended requests were sent, in microseconds: the delay of the sender
    /// itself. Where it grows, the machine is saturated, and latencies say more about that than
    /// about the target.
    pub late_us: Histogram<u64>,
    /// Retries that the policy of the callers would have sent and the bounds of the load did not let.
    pub withheld: u64,
}

/// A histogram in a few numbers, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Summary {
    /// Half are below.
    pub p50_ms: f64,
    /// 90 % are below.
    pub p90_ms: f64,
    /// 99 % are below.
    pub p99_ms: f64,
    /// 99.9 % are below.
    pub p999_ms: f64,
    /// The largest.
    pub max_ms: f64,
}

impl Summary {
    /// Of a histogram of microseconds; zeros if it is empty.
    #[must_use]
    pub fn of(histogram: &Histogram<u64>) -> Self {
        if histogram.is_empty() {
            return Self::default();
        }
        let at = |q: f64| histogram.value_at_quantile(q) as f64 / 1e3;
        Self {
            p50_ms: at(0.5),
            p90_ms: at(0.9),
            p99_ms: at(0.99),
            p999_ms: at(0.999),
            max_ms: histogram.max() as f64 / 1e3,
        }
    }
}

impl Summary {
    /// Quantiles with the latency below which that share is, in milliseconds: from the first to the
    /// longest, ten times as dense for each further nine, as far as there are requests to tell.
    #[must_use]
    pub fn curve(histogram: &Histogram<u64>) -> Vec<(f64, f64)> {
        const STEPS: i32 = 20;
        let all = histogram.len();
        if all == 0 {
            return Vec::new();
        }
        let last = (all as f64).log10().max(0.0);
        let steps = (last * f64::from(STEPS)).floor() as i32;
        let at = |step: i32| 1.0 - 10_f64.powf(-f64::from(step) / f64::from(STEPS));
        let point = |quantile: f64| (quantile, histogram.value_at_quantile(quantile) as f64 / 1e3);
        (0..=steps).map(|step| point(at(step))).collect()
    }
}

impl Tally {
    pub(super) fn new(classes: usize, kinds: usize, parts: usize) -> Self {
        Self {
            rows: vec![vec![Row::default(); kinds]; classes],
            parts: vec![vec![[0; 6]; classes]; parts],
            late_us: histogram(),
            withheld: 0,
        }
    }

    pub(super) fn record_attempt(&mut self, of: &Arrival, ended: impl Into<Ended>, retry: bool) {
        if let Some(row) = self.row(of) {
            let ended = ended.into();
            row.attempts[ended.end as usize] += 1;
            row.retries += u64::from(retry);
            row.received.add(ended.received);
        }
    }

    pub(super) fn record_in_time(&mut self, of: &Arrival) {
        if let Some(row) = self.row(of) {
            row.in_time += 1;
        }
    }

    fn row(&mut self, of: &Arrival) -> Option<&mut Row> {
        self.rows.get_mut(of.class)?.get_mut(of.kind)
    }

    /// By class, without the histograms: ends, and good replies in time.
    pub(super) fn by_class(&self) -> (Vec<[u64; ENDS]>, Vec<u64>) {
        let sum = |rows: &Vec<Row>| {
            let mut ends = [0; ENDS];
            for row in rows {
                ends.iter_mut().zip(row.ends).for_each(|(a, b)| *a += b);
            }
            (ends, rows.iter().map(|row| row.in_time).sum::<u64>())
        };
        self.rows.iter().map(sum).unzip()
    }

    /// Puts beside it what was counted of other kinds of requests of the same classes.
    pub fn beside(&mut self, other: Self) {
        for (mine, theirs) in self.rows.iter_mut().zip(other.rows) {
            mine.extend(theirs);
        }
        for (mine, theirs) in self.parts.iter_mut().flatten().zip(other.parts.iter().flatten()) {
            mine.iter_mut().zip(theirs).for_each(|(a, b)| *a += b);
        }
        // Both have the same bounds.
        let _ = self.late_us.add(&other.late_us);
        self.withheld += other.withheld;
    }

    /// Adds what was counted at the same time by another sender of the same classes and kinds.
    pub fn absorb(&mut self, other: &Self) {
        for (mine, theirs) in self.rows.iter_mut().flatten().zip(other.rows.iter().flatten()) {
            mine.absorb(theirs);
        }
        for (mine, theirs) in self.parts.iter_mut().flatten().zip(other.parts.iter().flatten()) {
            mine.iter_mut().zip(theirs).for_each(|(a, b)| *a += b);
        }
        // Both have the same bounds.
        let _ = self.late_us.add(&other.late_us);
        self.withheld += other.withheld;
    }

    pub(super) fn record(&mut self, of: &Arrival, part: usize, end: End, latency_us: u64) {
        let Some(row) = self.row(of) else { return };
        row.record(end, latency_us);
        if let Some(ends) = self.parts.get_mut(part).and_then(|part| part.get_mut(of.class)) {
            ends[end as usize] += 1;
        }
    }

    pub(super) fn record_late(&mut self, late_us: u64) {
        self.late_us.saturating_record(late_us.clamp(1, LONGEST_US));
    }

    /// All kinds of a class together.
    #[must_use]
    pub fn class(&self, class: usize) -> Row {
        let mut sum = Row::default();
        self.rows.get(class).into_iter().flatten().for_each(|row| sum.absorb(row));
        sum
    }
}

#[cfg(test)]
mod tests {
    use damper_control::Nanos;

    use super::*;

    #[test]
    fn ends_are_apart_and_latencies_are_of_what_was_sent() {
        let mut tally = Tally::new(1, 2, 2);
        let of = |kind| Arrival { at: Nanos::ZERO, class: 0, kind };
        for (i, end) in End::ALL.into_iter().enumerate() {
            tally.record(&of(i % 2), i / 4, end, 1000 * (i as u64 + 1));
        }
        tally.record(&of(9), 0, End::Ok, 1);
        let row = tally.class(0);
        assert_eq!(row.ends, [1; 6]);
        assert_eq!(tally.parts, [[[1, 1, 1, 1, 0, 0]], [[0, 0, 0, 0, 1, 1]]]);
        assert_eq!((row.ok_us.len(), row.all_us.len()), (1, 5));
        assert!((Summary::of(&row.all_us).max_ms - 5.0).abs() < 0.01);
        assert_eq!(Summary::of(&histogram()), Summary::default());
        assert_eq!(row.count(End::NotSent), 1);
    }

    #[test]
    fn what_two_senders_counted_adds_up() {
        let of = Arrival { at: Nanos::ZERO, class: 0, kind: 0 };
        let one = || {
            let mut tally = Tally::new(1, 1, 1);
            tally.record_attempt(&of, AttemptEnd::Shed, false);
            tally.record_attempt(&of, AttemptEnd::Ok, true);
            tally.record(&of, 0, End::Ok, 3000);
            tally.record_in_time(&of);
            tally.record_late(7);
            tally.withheld += 1;
            tally
        };
        let (mut sum, other) = (one(), one());
        sum.absorb(&other);
        let row = sum.class(0);
        assert_eq!((row.ends[0], row.in_time, row.retries, row.replies()), (2, 2, 2, 4));
        assert_eq!(row.attempts, [2, 0, 2, 0, 0, 0, 0]);
        assert_eq!((row.ok_us.len(), sum.late_us.len(), sum.withheld), (2, 2, 2));
        assert_eq!(sum.parts, [[[2, 0, 0, 0, 0, 0]]]);
        assert_eq!(sum.by_class(), (vec![[2, 0, 0, 0, 0, 0]], vec![2]));
    }
}
