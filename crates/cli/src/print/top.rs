//! A proxy as it is now: a table for each hop.

use std::collections::BTreeMap;

use damper_proxy::observe::view::{ClassView, HopView, StateView};

use super::table::rows;
use super::{BOLD, DIM, colour, paint, rate, seconds, thousands};

const HEAD: [&str; 11] = [
    "class",
    "load",
    "goodput",
    "throughput",
    "attempts",
    "x",
    "refused",
    "wait p99",
    "p50",
    "p99",
    "open",
];

/// The whole screen.
pub(crate) fn top(state: &StateView, admin: &str) -> String {
    let mut out = format!("{}  {admin}  {}  {}\n", paint(BOLD, "damper top"), state.at, state.life);
    if state.hops.is_empty() {
        out.push_str("\nno hops: the proxy has no listener yet\n");
    }
    for hop in &state.hops {
        out.push('\n');
        out.push_str(&one(hop));
    }
    out
}

fn one(hop: &HopView) -> String {
    let state = paint(colour(&hop.state), &hop.state);
    let mut out =
        format!("{} ({})  {state}{}\n", paint(BOLD, &hop.name), hop.direction, reason(hop));
    let mut classes: Vec<&ClassView> = hop.classes.iter().collect();
    if classes.len() != 1 {
        classes.push(&hop.all);
    }
    let table: Vec<Vec<String>> = classes.into_iter().map(class).collect();
    out.push_str(&rows(&HEAD, &table));
    for (what, by) in [("refused", &hop.all.refused_rps), ("retries withheld", &hop.all.denied_rps)]
    {
        if !by.is_empty() {
            out.push_str(&format!("  {what}: {}\n", reasons(by)));
        }
    }
    if hop.all.success_after_retry_rps > 0.0 {
        out.push_str(&format!("  saved by a retry: {}\n", rate(hop.all.success_after_retry_rps)));
    }
    if let (Some(working), Some(waiting)) = (hop.working, hop.waiting) {
        let limit = hop.limit.map_or(String::new(), |limit| format!(", limit {limit}"));
        out.push_str(&format!("  door: {working} work, {waiting} wait{limit}\n"));
    }
    for held in &hop.lever.held {
        let caller = held.caller.as_ref().map_or(String::new(), |caller| format!(" of {caller}"));
        let text = format!("  lever: {}{caller} {}", held.classes.join(", "), held.position);
        out.push_str(&paint(colour("vulnerable"), &text));
        out.push('\n');
    }
    out
}

/// What the state follows from.
fn reason(hop: &HopView) -> String {
    let (Some(gain), load) = (hop.loop_gain, hop.all.load_rps) else {
        return paint(DIM, "  no load");
    };
    let worst = gain * load;
    let Some(capacity) = hop.capacity_rps else {
        return paint(
            DIM,
            &format!("  loop gain {gain:.2} × load {}; capacity not known", rate(load)),
        );
    };
    let sign = if worst > capacity { ">" } else { "≤" };
    paint(
        DIM,
        &format!(
            "  loop gain {gain:.2} × load {} = {} {sign} capacity {}",
            rate(load),
            rate(worst),
            rate(capacity)
        ),
    )
}

fn reasons(by: &BTreeMap<String, f64>) -> String {
    let mut all: Vec<(&String, &f64)> = by.iter().collect();
    all.sort_by(|a, b| b.1.total_cmp(a.1));
    let all: Vec<String> = all.iter().map(|(why, at)| format!("{why} {}", rate(**at))).collect();
    all.join(", ")
}

fn class(class: &ClassView) -> Vec<String> {
    let or_none =
        |value: Option<f64>, show: fn(f64) -> String| value.map_or_else(|| "–".to_owned(), show);
    vec![
        class.name.clone(),
        rate(class.load_rps),
        rate(class.goodput_rps),
        rate(class.throughput_rps),
        rate(class.attempts_rps),
        or_none(class.amplification, |x| format!("{x:.2}")),
        rate(class.refused_rps.values().fold(0.0, |sum, rate| sum + rate)),
        or_none(class.queue_delay_p99_s, seconds),
        or_none(class.p50_s, seconds),
        or_none(class.p99_s, seconds),
        thousands(class.in_flight),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use damper_proxy::observe::view::{Held, LeverView};

    fn state() -> StateView {
        let class = |name: &str, load: f64, good: f64| ClassView {
            name: name.into(),
            load_rps: load,
            came_rps: 2.0 * load,
            goodput_rps: good,
            throughput_rps: good + 10.0,
            attempts_rps: 2.0 * load,
            amplification: (load > 0.0).then_some(2.0),
            in_flight: 1234,
            p50_s: Some(0.9),
            p99_s: None,
            queue_delay_p99_s: Some(0.035),
            ..ClassView::default()
        };
        let refused = [("lever", 120.0), ("queue-full", 300.0)];
        let all = ClassView {
            refused_rps: refused.map(|(why, rate)| (why.to_owned(), rate)).into(),
            denied_rps: [("budget-exhausted".to_owned(), 40.0)].into(),
            success_after_retry_rps: 1.5,
            ..class("all", 280.0, 5.0)
        };
        let db = HopView {
            name: "db".into(),
            direction: "inbound".into(),
            state: "metastable".into(),
            window_s: 5.0,
            all,
            classes: vec![class("high", 140.0, 5.0), class("low", 140.0, 0.0)],
            loop_gain: Some(2.0),
            capacity_rps: Some(300.0),
            working: Some(30),
            waiting: Some(1000),
            limit: Some(64),
            lever: LeverView {
                held: vec![Held {
                    classes: vec!["low".into()],
                    caller: None,
                    position: "paused".into(),
                }],
            },
            ..HopView::default()
        };
        let web = HopView {
            name: "web -> db".into(),
            direction: "outbound".into(),
            state: "stable".into(),
            classes: vec![class("default", 0.0, 0.0)],
            ..HopView::default()
        };
        let hops = vec![db, web];
        StateView {
            at: "2026-12-01T03:30:00Z".into(),
            version: "0".into(),
            life: "ready".into(),
            hops,
        }
    }

    #[test]
    fn a_screen_has_a_table_for_each_hop() {
        let text = top(&state(), "http://127.0.0.1:9901");
        insta::assert_snapshot!(anstream::adapter::strip_str(&text).to_string());
        let none = StateView { hops: Vec::new(), ..state() };
        assert!(top(&none, "x").contains("no hops"));
    }
}
