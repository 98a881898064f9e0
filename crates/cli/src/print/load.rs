//! A load: what is to be sent, and what became of it.

use super::table::table;
use super::{BOLD, DIM, colour, line, paint, percent, rate, seconds, thousands};
use crate::command::load::{Attempts, Outcome, Replies, Shown, Times};

/// What would be sent where.
pub(crate) fn load_plan(plan: &Shown) {
    head(plan);
    line("");
    let mut columns = vec!["request"];
    columns.extend(plan.classes.iter().map(|class| class.class.as_str()));
    let rows: Vec<Vec<String>> = plan
        .requests
        .iter()
        .map(|kind| {
            let shares = kind.shares.iter().map(|share| rate(share * plan.rate_rps));
            [kind.request.clone()].into_iter().chain(shares).collect()
        })
        .collect();
    table(&columns, &rows);
    line("");
    line(&format!(
        "callers {}; at most {} connections, {} requests under way, {}, {} requests, retries included",
        plan.callers,
        thousands(plan.connections.into()),
        thousands(plan.in_flight.into()),
        rate(plan.max_rate_rps),
        thousands(plan.max_requests),
    ));
    line(if plan.reflected {
        "the server was asked what its methods take, and no request was sent"
    } else {
        "nothing was sent"
    });
}

fn head(plan: &Shown) {
    let target = paint(BOLD, &plan.target);
    let owner = plan.owner.as_ref().map_or_else(String::new, |owner| format!(" (of {owner})"));
    let mut before = String::new();
    if plan.ramp_s > 0.0 {
        before.push_str(&format!(", after a rise of {}", seconds(plan.ramp_s)));
    }
    if plan.warmup_s > 0.0 {
        before.push_str(&format!(", after a warm-up of {}", seconds(plan.warmup_s)));
    }
    line(&format!(
        "{target}{owner}: {} for {}{before}, {} arrivals, {}, seed {}",
        rate(plan.rate_rps),
        seconds(plan.for_s),
        plan.arrivals,
        plan.protocol,
        plan.seed
    ));
}

/// What became of it.
pub(crate) fn loaded(outcome: &Outcome) {
    head(&outcome.load);
    line("");
    let all = (outcome.classes.len() > 1).then_some(&outcome.total);
    let classes = || outcome.classes.iter().chain(all);
    let rows: Vec<Vec<String>> = classes()
        .map(|c| {
            let counts =
                [c.requests, c.ok, c.rejected, c.failed, c.timed_out, c.connection, c.not_sent];
            let mut row = vec![c.class.clone()];
            row.extend(counts.map(thousands));
            row.push(rate(c.goodput_rps));
            row.push(rate(c.throughput_rps));
            row
        })
        .collect();
    let columns = [
        "class",
        "requests",
        "ok",
        "rejected",
        "failed",
        "timed out",
        "connection",
        "not sent",
        "goodput",
        "throughput",
    ];
    table(&columns, &rows);
    line("");
    let rows: Vec<Vec<String>> = classes()
        .flat_map(|c| {
            [
                (format!("{}, good", c.class), &c.ok_ms, c.ok),
                (format!("{}, all sent", c.class), &c.all_ms, c.requests - c.not_sent),
            ]
        })
        .map(|(name, times, count)| {
            let times = [times.p50, times.p90, times.p99, times.p999, times.max];
            // Where there was none, 0.00 would be a fast one.
            let of = |ms: f64| if count == 0 { "-".to_owned() } else { format!("{ms:.2}") };
            [name].into_iter().chain(times.map(of)).collect()
        })
        .collect();
    table(&["ms from the intended start", "p50", "p90", "p99", "p99.9", "max"], &rows);
    line("");
    attempts(&outcome.total.attempts, outcome.withheld);
    if let Some(Replies { messages, bytes }) = outcome.total.received {
        let (messages, bytes) = (thousands(messages), thousands(bytes));
        line(&format!("replies read to their end: {messages} messages, {bytes} bytes"));
    }
    let Times { p50, p99, .. } = outcome.late_ms;
    line(&format!("requests were sent {p50:.2} / {p99:.2} ms late (p50 / p99)"));
    let (sent, asked) = (outcome.total.requests - outcome.total.not_sent, outcome.total.requests);
    if sent < asked {
        let share = percent(1.0 - sent as f64 / asked as f64);
        line(&paint(
            colour("vulnerable"),
            &format!(
                "{share} of the load was not sent: as much as may be was under way (--in-flight)"
            ),
        ));
    }
    if outcome.partial {
        let text = format!(
            "interrupted after {}: this is what had been measured",
            seconds(outcome.seconds)
        );
        line(&paint(colour("vulnerable"), &text));
    }
    line(&paint(DIM, &format!("damper {}", outcome.load.version)));
}

fn attempts(attempts: &Attempts, withheld: u64) {
    let ends: Vec<String> = attempts
        .ends
        .iter()
        .filter(|(_, count)| **count > 0)
        .map(|(name, count)| format!("{} {}", thousands(*count), name.replace('_', " ")))
        .collect();
    let withheld = match withheld {
        0 => String::new(),
        some => {
            format!("; {} retries were not sent: beyond the bounds of the load", thousands(some))
        }
    };
    line(&format!(
        "attempts: {} ({:.2} per request, {} retries): {}{withheld}",
        thousands(attempts.total),
        attempts.per_request,
        thousands(attempts.retries),
        ends.join(", ")
    ));
}
