//! `damper simulate` for people.

use damper_report::result::{ControlResult, Simulate};

use super::table::table;
use super::{BOLD, colour, count, line, paint, percent, provenance, rate, seconds, thousands};
use crate::convert::ordered;

/// Prints the verdict and the tables by class and by service.
pub(crate) fn simulate(r: &Simulate) {
    let run = &r.run;
    let state = paint(colour(&run.state), &run.state.to_uppercase());
    let cause = if r.trigger.is_empty() { String::new() } else { format!(" after {}", r.trigger) };
    line(&format!("{}: {state} at {}{cause}", paint(BOLD, &r.origin.system), rate(run.load_rps)));
    let recovery = match run.recovery_s {
        Some(0.0) if !r.trigger.is_empty() => {
            "recovered as soon as the trigger had gone; ".to_owned()
        }
        Some(s) if !r.trigger.is_empty() => {
            let recovers = if run.projected { "on its way: would be back" } else { "recovered" };
            format!("{recovers} {} after the trigger had gone; ", seconds(s))
        }
        _ => String::new(),
    };
    line(&format!("  {recovery}{}", run.reason));
    if run.replications > 1 && !r.trigger.is_empty() {
        line(&format!("  {} of {} replications recovered", run.recovered, run.replications));
    }
    line("");
    let classes: Vec<Vec<String>> = ordered(&run.class_order, &run.classes)
        .map(|(name, c)| {
            vec![
                name.to_owned(),
                thousands(c.offered),
                thousands(c.good),
                thousands(c.rejected),
                thousands(c.timed_out),
                thousands(c.failed),
                thousands(c.shed),
                format!(
                    "{} ({}–{})",
                    percent(c.rejection),
                    percent(c.rejection_ci95[0]),
                    percent(c.rejection_ci95[1])
                ),
                seconds(c.latency_p50_s),
                seconds(c.latency_p99_s),
            ]
        })
        .collect();
    table(
        &[
            "class",
            "offered",
            "good",
            "rejected",
            "timed out",
            "failed",
            "shed",
            "not good (95 %)",
            "p50",
            "p99",
        ],
        &classes,
    );
    line("");
    let services: Vec<Vec<String>> = ordered(&run.service_order, &run.services)
        .map(|(name, s)| {
            vec![
                name.to_owned(),
                thousands(s.attempts),
                format!("{:.2}", s.amplification),
                percent(s.utilisation),
                percent(s.wasted),
                thousands(s.served),
                thousands(s.rejected),
                thousands(s.shed),
                thousands(s.abandoned),
                thousands(s.dropped),
                thousands(s.failed + s.failed_below),
                seconds(s.queue_delay_p99_s),
            ]
        })
        .collect();
    table(
        &[
            "service",
            "attempts",
            "amplified",
            "utilised",
            "wasted",
            "served",
            "rejected",
            "shed",
            "for nobody",
            "dropped",
            "failed",
            "queue p99",
        ],
        &services,
    );
    controls(r);
    line("");
    let success =
        run.calls_per_success.map_or("no success".to_owned(), |c| format!("{c:.2} per success"));
    line(&format!(
        "  calls per request {:.2} ({success}; a healthy system needs {:.2})",
        run.calls_per_request, run.floor_calls_per_request
    ));
    line("");
    provenance(
        &r.origin,
        &format!(
            "{}, {} s measured, {} events",
            count(run.replications as usize, "replication"),
            thousands(run.measured_s.round() as u64),
            thousands(run.events)
        ),
    );
}

/// What each control refused, where there is any but a limit.
fn controls(r: &Simulate) {
    if r.run.controls.iter().all(|c| c.key == "limit") {
        return;
    }
    let row = |c: &ControlResult| {
        let refused = if c.refused == 0 { "never".to_owned() } else { thousands(c.refused) };
        vec![c.place.clone(), c.key.clone(), c.name.clone(), refused]
    };
    let rows: Vec<Vec<String>> = r.run.controls.iter().map(row).collect();
    line("");
    table(&["control of", "key", "control", "refused"], &rows);
}
