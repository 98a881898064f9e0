//! What became of a load, as its page has it.

use std::time::Duration;

use damper_drill::load::{AttemptEnd, End, Row, Summary, Tally, Timeline};
use damper_report::result::Origin;
use damper_report::result::load::{LatencyCurve, Load, LoadClass, LoadSeries};

use super::outcome::{Class, Outcome};
use crate::args::LoadArgs;

/// Widths of intervals, in milliseconds.
const WIDTHS: [u64; 12] = [10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 30_000, 60_000];
/// About so many of them are drawn.
const POINTS: u64 = 200;

/// The width of an interval for a load of this length.
pub(super) fn width(length: Duration) -> Duration {
    let exact = length.as_millis() as u64 / POINTS;
    let fits = WIDTHS.into_iter().find(|width| *width >= exact);
    Duration::from_millis(fits.unwrap_or(exact))
}

pub(super) fn page(
    args: &LoadArgs,
    outcome: &Outcome,
    tally: &Tally,
    timeline: &Timeline,
    warmup: Duration,
) -> Load {
    let shown = &outcome.load;
    let rows: Vec<Row> = (0..shown.classes.len()).map(|class| tally.class(class)).collect();
    let mut all = Row::default();
    rows.iter().for_each(|row| all.absorb(row));
    let file = args.requests.as_ref().map(|file| file.display().to_string());
    let curve = |name: &str, histogram| LatencyCurve {
        name: name.to_owned(),
        points: Summary::curve(histogram).into_iter().map(|(q, ms)| [q, ms]).collect(),
    };
    let mut curves = vec![curve("good replies", &all.ok_us)];
    if all.ok_us != all.all_us {
        curves.push(curve("all that was sent", &all.all_us));
    }
    Load {
        origin: Origin {
            system: shown.target.clone(),
            file: file.unwrap_or_default(),
            version: shown.version.to_owned(),
            seed: shown.seed,
            partial: outcome.partial,
            ..Origin::default()
        },
        owner: shown.owner.clone(),
        protocol: shown.protocol.to_owned(),
        arrivals: format!("{} arrivals", shown.arrivals),
        callers: shown.callers.clone(),
        rate_rps: shown.rate_rps,
        seconds: outcome.seconds,
        classes: outcome.classes.iter().zip(&rows).map(|(of, row)| class(of, row)).collect(),
        total: class(&outcome.total, &all),
        late_p50_ms: outcome.late_ms.p50,
        late_p99_ms: outcome.late_ms.p99,
        withheld: outcome.withheld,
        series: series(timeline, warmup, outcome.seconds),
        curves: curves.into_iter().filter(|curve| !curve.points.is_empty()).collect(),
    }
}

fn class(of: &Class, row: &Row) -> LoadClass {
    let times = |count: u64, summary: Summary| match count {
        // Where there was none, zeros would be fast ones.
        0 => Vec::new(),
        _ => vec![summary.p50_ms, summary.p90_ms, summary.p99_ms, summary.p999_ms, summary.max_ms],
    };
    LoadClass {
        name: of.class.clone(),
        requests: of.requests,
        ends: End::ALL.into_iter().map(|end| (end.name().to_owned(), row.count(end))).collect(),
        goodput_rps: of.goodput_rps,
        throughput_rps: of.throughput_rps,
        attempts: of.attempts.total,
        retries: of.attempts.retries,
        attempt_ends: AttemptEnd::ALL
            .into_iter()
            .map(|end| (end.name().replace('_', " "), row.attempts[end as usize]))
            .collect(),
        good_ms: times(row.ok_us.len(), Summary::of(&row.ok_us)),
        sent_ms: times(row.all_us.len(), Summary::of(&row.all_us)),
    }
}

/// From the end of the warm-up to the end of the load; what came in later stands in the tables.
fn series(timeline: &Timeline, warmup: Duration, seconds: f64) -> LoadSeries {
    let width = timeline.width().as_secs_f64();
    let skipped = (warmup.as_secs_f64() / width).ceil() as usize;
    let first = skipped as f64 * width - warmup.as_secs_f64();
    let whole = ((seconds - first) / width + 1e-9).floor().max(0.0) as usize;
    let all = timeline.intervals();
    let taken: Vec<_> = all.into_iter().skip(skipped).take(whole).collect();
    let rates = |of: &dyn Fn(&damper_drill::load::Interval) -> u64| -> Vec<f64> {
        taken.iter().map(|interval| of(interval) as f64 / width).collect()
    };
    let bad = End::ALL.into_iter().filter(|end| *end != End::Ok);
    LoadSeries {
        t_s: (0..taken.len()).map(|i| first + (i as f64 + 0.5) * width).collect(),
        interval_s: width,
        offered_rps: rates(&|interval| interval.due),
        goodput_rps: rates(&|interval| interval.good),
        throughput_rps: rates(&|interval| {
            interval.ends.iter().sum::<u64>() - interval.ends[End::NotSent as usize]
        }),
        attempts_rps: rates(&|interval| interval.attempts),
        ends_rps: bad
            .map(|end| (end.name().to_owned(), rates(&|interval| interval.ends[end as usize])))
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_of_any_length_has_some_hundred_points() {
        let of = |seconds: u64| width(Duration::from_secs(seconds)).as_millis();
        assert_eq!([of(1), of(10), of(60), of(3600)], [10, 50, 500, 30_000]);
        assert_eq!(of(100_000), 500_000);
    }
}
