//! The short run of the tests.

use std::path::PathBuf;

use anyhow::{Result, bail};

use super::measure::{How, Live};
use super::{AIM, BUSY, Bench, FORMS, LATE_MS, LIMITS, Point, Predicted, describe, persistently};
use crate::compare;
use crate::steps::Done;

/// Seconds of each run, warm-up and measured.
const TIME: [u32; 2] = [3, 6];
/// How many times as slow it is tried: slower if the machine did not keep the pace before.
const PACES: [u32; 3] = [2, 4, 8];

/// The heaviest point with and without class limits, and the lightest.
///
/// A run on a machine that does not keep its pace shows the machine, not the system: what is not
/// as predicted is then measured again, slower, and on a machine that keeps no pace it is left
/// open. On a machine that was in time the first figures stand.
pub(crate) fn quick(damper: PathBuf) -> Result<Done> {
    if compare::envoy().is_err() {
        return Ok(Done::Skipped("no Envoy".into()));
    }
    let bench = Bench::new(damper, false)?;
    let mut why = String::new();
    for slower in PACES {
        match at_pace(&bench, slower)? {
            Seen::AsPredicted(note) => return Ok(Done::Noted(note)),
            Seen::Otherwise { what, saturated: false } => bail!("{what}"),
            Seen::Otherwise { what, saturated: true } => {
                println!("the machine did not keep 1/{slower}: {what}");
                why = what;
            }
        }
    }
    Ok(Done::Skipped(format!("this machine is too busy to tell: {why}")))
}

enum Seen {
    AsPredicted(String),
    Otherwise { what: String, saturated: bool },
}

fn at_pace(bench: &Bench, slower: u32) -> Result<Seen> {
    let at = |limits, low| Point { form: FORMS[0], limits, low, immediate: false };
    let [warmup, seconds] = TIME;
    let mut notes = Vec::new();
    let mut high = Vec::new();
    let mut saturated = false;
    for point in [at(LIMITS[0], 250), at(LIMITS[1], 250), at(LIMITS[0], 50)] {
        let live = persistently(|| bench.live(&point, How { seed: 1, slower, warmup, seconds }))?;
        // Busy cores alone do not change what is rejected; requests that are late do.
        saturated |= live.late_p99_ms > LATE_MS;
        let (predicted, ..) = bench.predict(&point)?;
        if let Some(what) = differs(&live, &predicted) {
            return Ok(Seen::Otherwise {
                what: format!("{}: {what}", describe(&point)),
                saturated,
            });
        }
        notes.push(format!("{:.2}/{:.2}", live.rejection[0], live.rejection[1]));
        high.push(live.rejection[0]);
    }
    if high[0] >= high[1] {
        let what =
            format!("class limits did not help the high class: {:.3} and {:.3}", high[0], high[1]);
        return Ok(Seen::Otherwise { what, saturated });
    }
    Ok(Seen::AsPredicted(format!("rejection of high/low at 1/{slower}: {}", notes.join(", "))))
}

/// Whether a run shows the machine more than the system.
pub(super) fn is_saturated(live: &Live) -> bool {
    live.late_p99_ms > LATE_MS || live.busy > BUSY
}

/// What is further from the prediction than chance allows: four standard errors of the counts,
/// what buckets may have held at the start of the measurement (a second's worth), and the aim
/// beside them, since the prediction is one of a long run.
fn differs(live: &Live, predicted: &Predicted) -> Option<String> {
    for (class, name) in ["high", "low"].into_iter().enumerate() {
        if live.requests[class] == 0 {
            return Some(format!("no request of {name} was sent"));
        }
        let (is, should) = (live.rejection[class], predicted.rejection[class]);
        // Draws of this class, and of the load that all share a capacity with.
        let of = |requests: u64| 1.0 / requests.max(1) as f64;
        let all = of(live.requests.iter().sum());
        let served = 1.0 - should;
        let error = (should * served * of(live.requests[class]) + served * served * all).sqrt();
        let bound = 4.0 * error + served / f64::from(TIME[1]) + AIM;
        if (is - should).abs() > bound {
            return Some(format!(
                "{name} is rejected in {is:.3} of the requests, not in {should:.3} ± {bound:.3}"
            ));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_one_beyond_chance() {
        let predicted = Predicted { rejection: [0.16, 0.6], ..Predicted::default() };
        let live =
            |high, low| Live { rejection: [high, low], requests: [300, 1500], ..Live::default() };
        assert_eq!(differs(&live(0.15, 0.6), &predicted), None);
        assert!(differs(&live(0.6, 0.6), &predicted).unwrap().contains("high"));
        assert!(differs(&live(0.15, 0.3), &predicted).unwrap().contains("low"));
        assert!(differs(&Live::default(), &predicted).is_some(), "no requests at all");
    }
}
