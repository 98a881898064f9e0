//! How long what is measured, and at which pace.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use super::measure::{How, PART};
use super::{Arguments, BUSY, Bench, FORMS, LATE_MS, LIMITS, Point, WARMUP};

/// The same experiment at most so many times as slow.
const SLOWEST: u32 = 16;
/// A pace is kept with this share of the limits, so that no run is beyond them by chance.
const MARGIN: f64 = 0.9;
/// Seconds of a probe, warm-up and measured.
const PROBE: [u32; 2] = [2, 6];
/// The share of the time that is planned; the rest is for what takes longer than thought.
const PLANNED: f64 = 0.95;
/// The shortest warm-up: the buckets of an overloaded service are empty after about a second.
const SHORTEST_WARMUP: u32 = 4;
/// The fewest parts that make an interval worth its name.
const FEWEST_PARTS: u32 = 3;

/// A time as `15m` or `900s`.
pub(super) fn time(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is not a time such as 15m or 900s");
    let (number, unit) = text.split_at(text.len().saturating_sub(1));
    let number: u64 = number.parse().map_err(|_| wrong())?;
    let seconds = match unit {
        "s" => number,
        "m" => number.saturating_mul(60),
        _ => return Err(wrong()),
    };
    if (1..=86_400).contains(&seconds) { Ok(Duration::from_secs(seconds)) } else { Err(wrong()) }
}

/// How every point is run, and how often. Says what it chose.
pub(super) fn plan(
    bench: &Bench,
    arguments: &Arguments,
    points: usize,
    begun: Instant,
) -> Result<(How, u32)> {
    let (slower, overhead) = match (arguments.slower, arguments.within) {
        (Some(slower), None) => (slower, Duration::ZERO),
        (slower, _) => find_pace(bench, arguments.seed, slower)?,
    };
    let mut how = How { seed: arguments.seed, slower, warmup: WARMUP, seconds: arguments.seconds };
    let mut repeats = arguments.repeats;
    if let Some(within) = arguments.within {
        let left = within.mul_f64(PLANNED).saturating_sub(begun.elapsed());
        let each = left.as_secs_f64() / points as f64 - overhead.as_secs_f64();
        (how.warmup, how.seconds) = share(each / f64::from(slower)).with_context(|| {
            format!("{} s are too short for {points} points at 1/{slower}", within.as_secs())
        })?;
        // One long run gives more than several short ones, which all need a warm-up.
        repeats = 1;
    }
    println!(
        "chosen: {slower} times as slow as the file, {repeats} x {} s a point after {} s of warm-up",
        how.seconds, how.warmup
    );
    Ok((how, repeats))
}

/// Warm-up and measured seconds of so many together; `None`: too few for an interval.
fn share(seconds: f64) -> Option<(u32, u32)> {
    let all = seconds.max(0.0) as u32;
    let warmup = (all / 4).clamp(SHORTEST_WARMUP, WARMUP);
    // Whole parts only.
    let parts = all.saturating_sub(warmup) / PART;
    (parts >= FEWEST_PARTS).then_some((warmup, parts * PART))
}

/// How slow it must be for this machine to be in time at the heaviest point, and what a run takes
/// beside what was asked for.
fn find_pace(bench: &Bench, seed: u64, given: Option<u32>) -> Result<(u32, Duration)> {
    let heaviest = Point { form: FORMS[0], limits: LIMITS[1], low: 250, immediate: false };
    let [warmup, seconds] = PROBE;
    let mut slower = given.unwrap_or(1);
    loop {
        let begun = Instant::now();
        let probe = bench.live(&heaviest, How { seed, slower, warmup, seconds })?;
        let asked = Duration::from_secs(u64::from((warmup + seconds) * slower));
        let overhead = begun.elapsed().saturating_sub(asked);
        let (late, busy) = (probe.late_p99_ms, probe.busy);
        println!("pace 1/{slower}: sent {late:.1} ms late (p99), busy {:.0} %", busy * 100.0);
        if given.is_some() || (late <= LATE_MS * MARGIN && busy <= BUSY * MARGIN) {
            return Ok((slower, overhead));
        }
        if slower >= SLOWEST {
            bail!("this machine is saturated at a pace of 1/{slower}; run it when it is quiet");
        }
        slower = (slower + slower.div_ceil(2)).min(SLOWEST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_minutes_or_seconds() {
        assert_eq!(time("15m"), Ok(Duration::from_secs(900)));
        assert_eq!(time("90s"), Ok(Duration::from_secs(90)));
        for wrong in ["", "m", "15", "1h", "-1s", "0s", "9999999m"] {
            assert!(time(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn time_is_shared_in_whole_parts() {
        assert_eq!(share(36.9), Some((8, 27)));
        assert_eq!(share(18.0), Some((4, 12)));
        assert_eq!(share(13.0), Some((4, 9)));
        assert_eq!(share(12.9), None);
        assert_eq!(share(-3.0), None);
    }
}
