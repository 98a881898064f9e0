//! Service times, failures, and how much ran at once.

use crate::fit::{self, Family};
use crate::learnt::{Number, Time};
use crate::stats::{Moments, Sample, share_interval};
use crate::tally::{Execution, Service};

/// Executions of the quiet part that a fit needs.
const FEWEST_QUIET: usize = 200;
/// Times that grow by more than this when it is busy have waits in them.
const INFLATED: f64 = 1.1;

/// What runs at once: the most, and the bound of 99 % of the time.
pub(super) fn at_once(executions: &[Execution]) -> Option<[u64; 2]> {
    if executions.is_empty() {
        return None;
    }
    let mut changes: Vec<(u64, i64)> = Vec::with_capacity(executions.len() * 2);
    for e in executions {
        changes.extend([(e.start, 1), (e.end, -1)]);
    }
    // Ends first: what follows on something does not overlap it.
    changes.sort_unstable();
    let (mut now, mut most, mut since) = (0_i64, 0_i64, changes.first()?.0);
    let mut time_at: Vec<u64> = Vec::new();
    for (at, change) in changes {
        let level = now.max(0) as usize;
        if time_at.len() <= level {
            time_at.resize(level + 1, 0);
        }
        time_at[level] += at - since;
        since = at;
        now += change;
        most = most.max(now);
    }
    let total: u64 = time_at.iter().sum();
    let mut left = total - total / 100;
    let p99 = time_at.iter().position(|time| {
        let reached = *time >= left;
        left = left.saturating_sub(*time);
        reached
    });
    Some([most.max(1) as u64, p99.unwrap_or(0).max(1) as u64])
}

/// The service time of one that reports itself.
pub(super) fn time(service: &Service, whole: bool) -> Option<Time> {
    if service.own.count == 0 {
        return None;
    }
    let mut remarks = Vec::new();
    let (mut moments, mut sample) = (service.own, service.sample.sorted());
    // What a sample of traces shows at once is not what ran at once.
    if whole && let Some(quiet) = quiet(&service.executions) {
        if quiet.busy.mean > INFLATED * quiet.moments.mean {
            remarks.push(format!(
                "of the quieter part of {}: when it is busy it takes {:.1} times as long, which is waiting",
                service.own.count,
                quiet.busy.mean / quiet.moments.mean
            ));
            (moments, sample) = (quiet.moments, quiet.sample.sorted());
        }
    } else {
        remarks.push("waits in its own queue are part of it".to_owned());
    }
    Some(of(&sample, &moments, remarks))
}

/// The time of one that only its callers tell of.
pub(super) fn as_seen(moments: &Moments, sample: &Sample) -> Option<Time> {
    let remark = "as its callers see it, with the way there and back, and its own waits";
    (moments.count > 0).then(|| of(&sample.sorted(), moments, vec![remark.to_owned()]))
}

fn of(sorted: &[f64], moments: &Moments, remarks: Vec<String>) -> Time {
    let fitted = fit::fit(sorted, moments.mean, moments.cv());
    let (mut cv, mut stages, mut values_s) = (None, None, Vec::new());
    let dist = match fitted.family {
        Family::Deterministic => "deterministic",
        Family::Exponential => "exponential",
        Family::Erlang { stages: n } => {
            stages = Some(n);
            "erlang"
        }
        Family::Lognormal { cv: c } => {
            cv = Some(c);
            "lognormal"
        }
        Family::Hyperexponential { cv: c } => {
            cv = Some(c);
            "hyperexponential"
        }
        Family::Empirical(values) => {
            values_s = values;
            "empirical"
        }
    };
    let mean_s = Number { value: moments.mean, count: moments.count, ci95: moments.interval() };
    Time { dist: dist.to_owned(), mean_s, cv, stages, values_s, distance: fitted.distance, remarks }
}

struct Quiet {
    moments: Moments,
    sample: Sample,
    busy: Moments,
}

/// Executions that began while little else ran, and while much did. How much runs when one
/// begins says nothing about how long its work takes, but all about how long it waits.
fn quiet(executions: &[Execution]) -> Option<Quiet> {
    let mut starts: Vec<&Execution> = executions.iter().collect();
    starts.sort_unstable_by_key(|e| e.start);
    let mut ends: Vec<u64> = executions.iter().map(|e| e.end).collect();
    ends.sort_unstable();
    let mut over = 0;
    let levels: Vec<usize> = starts
        .iter()
        .enumerate()
        .map(|(began, e)| {
            while ends.get(over).is_some_and(|end| *end <= e.start) {
                over += 1;
            }
            began.saturating_sub(over)
        })
        .collect();
    let mut sorted = levels.clone();
    sorted.sort_unstable();
    let (low, high) = (sorted.get(sorted.len() / 4)?, sorted.get(sorted.len() * 3 / 4)?);
    let mut quiet = Quiet {
        moments: Moments::default(),
        sample: Sample::new(20_000),
        busy: Moments::default(),
    };
    for (e, level) in starts.iter().zip(&levels).filter(|(e, _)| e.counts) {
        let own = e.own as f64 / 1e9;
        if level <= low {
            quiet.moments.add(own);
            quiet.sample.add(own);
        }
        if level >= high {
            quiet.busy.add(own);
        }
    }
    (quiet.moments.count as usize >= FEWEST_QUIET).then_some(quiet)
}

/// Attempts that fail by themselves, of those that were let in.
pub(super) fn failure(service: &Service) -> Option<Number> {
    let let_in = service.entries - service.rejected;
    (let_in > 0).then(|| Number {
        value: service.failed as f64 / let_in as f64,
        count: let_in,
        ci95: share_interval(service.failed, let_in),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn execution(start: u64, end: u64) -> Execution {
        Execution { start, end, own: end - start, counts: true }
    }

    #[test]
    fn what_runs_at_once() {
        assert_eq!(at_once(&[]), None);
        let chain: Vec<Execution> = (0..10).map(|n| execution(n * 10, n * 10 + 10)).collect();
        assert_eq!(at_once(&chain), Some([1, 1]));
        let mut pile = chain;
        pile.extend((0..5).map(|_| execution(50, 51)));
        // A hundredth of the time is above the second number.
        assert_eq!(at_once(&pile), Some([6, 1]));
        assert_eq!(at_once(&[execution(0, 100), execution(50, 100)]), Some([2, 2]));
    }

    #[test]
    fn waits_are_taken_out_where_they_show() {
        // One worker, work of 10, arrivals in pairs: the second waits for the first.
        let mut service = Service::new();
        let mut room = usize::MAX;
        for n in 0..1_000_u64 {
            let at = n * 100_000_000;
            for wait in [0, 10_000_000] {
                let end = at + wait + 10_000_000;
                let end_as = crate::span::End::Success;
                service.entry(at + wait / 10_000_000, end, end - at, end_as, &mut room);
            }
        }
        let learnt = time(&service, true).unwrap();
        assert!((learnt.mean_s.value - 0.01).abs() < 1e-6, "{learnt:?}");
        assert!(learnt.remarks[0].contains("2.0 times as long"), "{learnt:?}");
        // Without all traces it cannot be told.
        let learnt = time(&service, false).unwrap();
        assert!((learnt.mean_s.value - 0.015).abs() < 1e-6, "{learnt:?}");
    }
}
