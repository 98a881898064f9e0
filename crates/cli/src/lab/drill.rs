//! The last rung: a drill on processes that really run, by `damper drill` itself.
//!
//! It is started as a program of its own, so that Ctrl-C reaches it as it would reach any drill,
//! and its way back is its own.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering;

use anyhow::{Context as _, bail};
use damper_report::result::drill::Drill;

use super::rungs::figure;
use super::stage::{Seen, Stage};
use crate::exit;
use crate::print::chart::Chart;
use crate::print::{percent, seconds, thousands};

/// The system file that the plan names, beside it.
const SYSTEM: (&str, &str) =
    ("1-collapse.yaml", include_str!("../../../../examples/lab/1-collapse.yaml"));
/// The phase in which it is left alone.
const ALONE: &str = "by itself";
/// Goodput below this share is down.
const DOWN: f64 = 0.5;
/// What it says of how long it takes, in seconds.
const ABOUT_S: u64 = 45;

pub(crate) fn drill(stage: &Stage<'_>) -> anyhow::Result<Seen> {
    // Nobody else's: whoever could write the plan would have their commands run.
    let folder = tempfile::Builder::new().prefix("damper-lab-").tempdir();
    let folder = folder.context("there is no folder for a drill")?;
    let plan = folder.path().join("6-drill.yaml");
    let write = |path: &PathBuf, text| {
        fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
    };
    write(&plan, stage.text)?;
    write(&folder.path().join(SYSTEM.0), SYSTEM.1)?;
    let program = std::env::current_exe().context("this program cannot be found")?;
    let mut command = Command::new(program);
    command.arg("drill").arg(&plan).arg("--keep-in").arg(folder.path().join("kept"));
    command.args(["--json", "--quiet", "--no-history", "--no-prediction"]);
    (stage.progress)("a drill on real processes, about 45 s", 0, ABOUT_S);
    let ran = command.stdin(Stdio::null()).stderr(Stdio::piped()).output();
    let ran = ran.context("damper drill cannot be started")?;
    if ran.status.code() == Some(i32::from(exit::INTERRUPTED)) {
        stage.stop.store(true, Ordering::Relaxed);
    }
    let Ok(record) = serde_json::from_slice::<Drill>(&ran.stdout) else {
        if stage.stop.load(Ordering::Relaxed) {
            return Ok(Seen { sentence: String::new(), figures: Vec::new(), holds: false });
        }
        bail!("damper drill: {}", String::from_utf8_lossy(&ran.stderr).trim());
    };
    (stage.show)(
        "200/s at processes that serve 300, silent for 2 s; then the lever",
        &chart(&record),
    );
    Ok(seen(&record))
}

fn chart(record: &Drill) -> Chart {
    let series = &record.series;
    Chart {
        offered: series.offered_rps.clone(),
        good: series.goodput_rps.clone(),
        length_s: series.offered_rps.len() as f64 * series.interval_s,
        trigger_s: record.trigger_s.map(|[from, to]| (from, to)),
    }
}

fn seen(record: &Drill) -> Seen {
    let alone = record.phases.iter().find(|p| p.name == ALONE);
    let share = alone.map_or(1.0, |p| p.good as f64 / p.offered.max(1) as f64);
    let mut figures = vec![figure(
        "good_share_alone",
        share,
        format!("{} good while it is left alone after the blip", percent(share)),
    )];
    // The plan pulls twice: the throttle, and the ramp.
    let healthy = record.levers.first().and_then(|l| l.healthy_after_s);
    if let Some(after) = healthy {
        figures.push(figure(
            "healthy_after_throttle_s",
            after,
            format!("throttled to 10 %, what is let in is served well after {}", seconds(after)),
        ));
    }
    if let Some(after) = record.recovery_s {
        figures.push(figure(
            "recovery_s",
            after,
            format!("all of the load is served well again {} after the blip", seconds(after)),
        ));
    }
    let shown = format!("{} requests lost from the blip until then", thousands(record.lost));
    figures.push(figure("lost", record.lost as f64, shown));
    if let Some(factor) = record.amplification {
        let shown = format!("{factor:.2} times the attempts per request of before, meanwhile");
        figures.push(figure("amplification", factor, shown));
    }
    let back = record.recovered == Some(true) && record.ended == "done";
    Seen {
        sentence:
            "Real processes stay down as the simulation did, and the lever brings them back: \
                   throttle until what is let in is served well, then ramp."
                .to_owned(),
        figures,
        holds: share < DOWN && back && healthy.is_some(),
    }
}

#[cfg(test)]
mod tests {
    use damper_report::result::drill::{DrillPhase, LeverResponse};

    use super::*;

    fn record() -> Drill {
        Drill {
            ended: "done".into(),
            recovered: Some(true),
            recovery_s: Some(21.0),
            lost: 2500,
            phases: vec![DrillPhase {
                name: ALONE.into(),
                offered: 1400,
                good: 3,
                ..DrillPhase::default()
            }],
            levers: vec![LeverResponse {
                action: "throttle to 10%".into(),
                healthy_after_s: Some(4.0),
                ..LeverResponse::default()
            }],
            ..Drill::default()
        }
    }

    #[test]
    fn what_it_shows_depends_on_what_was_measured() {
        assert!(seen(&record()).holds);
        let by_itself =
            vec![DrillPhase { name: ALONE.into(), offered: 9, good: 9, ..DrillPhase::default() }];
        assert!(!seen(&Drill { phases: by_itself, ..record() }).holds);
        assert!(!seen(&Drill { recovered: Some(false), ..record() }).holds);
        assert!(!seen(&Drill { levers: Vec::new(), ..record() }).holds);
        assert!(!seen(&Drill { ended: "aborted".into(), ..record() }).holds);
    }
}
