//! An emulation that runs.

use damper_emulate::State;

use super::{BOLD, DIM, line, paint};
use crate::command::emulate::{Outcome, Times};
use crate::print::table::table;

/// Processes, ports, what is done otherwise, and how to command it.
pub(crate) fn emulation(state: &State) {
    let retries = match state.retries {
        "servers" => "retries by the servers themselves",
        "envoy" => "retries by Envoy, routes that match the class",
        _ => "retries by Envoy with Damper's filter",
    };
    let processes = state.processes.len();
    let name = paint(BOLD, &state.system);
    line(&format!("{name}: {processes} servers, {retries}, seed {}", state.seed));
    line("");
    let port = |port: Option<u16>| port.map_or_else(String::new, |port| port.to_string());
    let rows: Vec<Vec<String>> = state
        .processes
        .iter()
        .map(|p| {
            let side = p.sidecar.as_ref();
            vec![
                p.name.clone(),
                p.pid.to_string(),
                p.port.to_string(),
                port(side.and_then(|s| s.inbound_port)),
                port(side.map(|s| s.outbound_port)),
                side.map_or_else(String::new, |s| {
                    format!("http://127.0.0.1:{} (process {})", s.admin_port, s.pid)
                }),
            ]
        })
        .collect();
    if state.keeper_pid.is_some() {
        table(&["server", "process", "port", "inbound", "outbound", "admin of its Envoy"], &rows);
    } else {
        let rows: Vec<Vec<String>> = rows.into_iter().map(|r| r[..3].to_vec()).collect();
        table(&["server", "process", "port"], &rows);
    }
    if !state.notes.is_empty() {
        line("");
        line(&paint(DIM, "done otherwise than the file says:"));
        for note in &state.notes {
            line(&format!("  {note}"));
        }
    }
    line("");
    line(&format!("load:  http://127.0.0.1:{}/request", state.entry_port));
    line(&format!("admin: http://127.0.0.1:{}", state.admin_port));
    for trigger in &state.triggers {
        line(&format!(
            "       curl -X POST http://127.0.0.1:{}/trigger/{trigger}",
            state.admin_port
        ));
    }
}

/// What came of the load.
pub(crate) fn emulated(outcome: &Outcome) {
    line("");
    let times = |t: &Times| format!("{:.1} / {:.1}", t.p50, t.p99);
    let rows: Vec<Vec<String>> = outcome
        .classes
        .iter()
        .map(|c| {
            let counts = [c.requests, c.ok, c.rejected, c.failed, c.timed_out, c.connection];
            let mut row = vec![c.class.clone()];
            row.extend(counts.map(|n| n.to_string()));
            row.push(c.not_sent.to_string());
            row.push(format!("{:.1} %", c.rejection * 100.0));
            row.push(times(&c.ok_ms));
            row
        })
        .collect();
    let head = [
        "class",
        "requests",
        "ok",
        "rejected",
        "failed",
        "timed out",
        "connection",
        "not sent",
        "not ok",
        "p50 / p99 ms",
    ];
    table(&head, &rows);
    line("");
    let rows: Vec<Vec<String>> = outcome
        .counts
        .iter()
        .map(|c| {
            let sum = |of: fn(&damper_emulate::Received) -> u64| {
                c.received.iter().map(of).sum::<u64>().to_string()
            };
            vec![
                c.name.clone(),
                c.attempts().to_string(),
                sum(|r| r.retries),
                sum(|r| r.ends.success),
                sum(|r| r.ends.rejected),
                sum(|r| r.ends.failed),
                sum(|r| r.ends.downstream),
                sum(|r| r.abandoned),
            ]
        })
        .collect();
    let head = [
        "server",
        "attempts",
        "retries",
        "success",
        "rejected",
        "failed",
        "downstream",
        "abandoned",
    ];
    table(&head, &rows);
    line("");
    line(&format!(
        "{:.1} s; {:.2} calls per request, {:.2} per success, at services with a capacity",
        outcome.seconds, outcome.calls_per_request, outcome.calls_per_success
    ));
    let busy = outcome.machine_busy.map_or_else(String::new, |busy| {
        format!("; the machine was busy for {:.0} % of it", busy * 100.0)
    });
    line(&format!("requests were sent {} ms late (p50 / p99){busy}", times(&outcome.late_ms)));
    if outcome.partial {
        line("interrupted: this is what had been measured");
    }
}
