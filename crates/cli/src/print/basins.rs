//! `damper solve --basins` for people.

use damper_report::lasting;
use damper_report::result::{Basins, Lasting, Plane, PlanePoint};

use super::table::table;
use super::{BOLD, line, paint, percent, provenance, rate, seconds};

/// Prints the basins, or why there are none.
pub(crate) fn basins(r: &Basins) {
    line(&format!("{}: basins at {}", paint(BOLD, &r.origin.system), rate(r.load_rps)));
    line("");
    if let Some(why) = &r.nothing {
        line(&format!("  {why}"));
    }
    if let Some(plane) = &r.plane {
        one(plane);
    }
    line("");
    let states = r.plane.as_ref().and_then(|p| Some((p.states?, p.scale?)));
    let counted = match states {
        Some((states, scale)) if scale < 1.0 => {
            format!("{states} states at {scale:.2} of its size")
        }
        Some((states, _)) => format!("{states} states"),
        None => "no chain".to_owned(),
    };
    provenance(&r.origin, &counted);
}

fn one(p: &Plane) {
    line(&format!(
        "  {} gets {} first attempts of {} it can serve; callers wait {} and try {} more times",
        p.service,
        rate(p.arrivals_rps),
        rate(p.capacity_rps),
        seconds(p.timeout_s),
        number(p.retries),
    ));
    line("");
    let row = |name: &str, at: Option<PlanePoint>, none: &str| match at {
        Some(at) => vec![name.to_owned(), number(at.queue), number(at.waiting)],
        None => vec![name.to_owned(), none.to_owned(), String::new()],
    };
    let endless = p.tipping.is_some() && p.room.is_none();
    let mut rows = vec![
        row("healthy", p.healthy, "nowhere"),
        row("tips at", p.tipping, "nowhere"),
        row("collapsed", p.collapsed, if endless { "grows" } else { "nowhere" }),
    ];
    rows.extend(p.trigger.as_ref().map(|t| row("after the trigger", Some(t.left), "")));
    table(&["rests", "attempts", "retries to come"], &rows);
    line("");
    if let (Some(edge), Some(_)) = (p.boundary.first(), p.tipping) {
        line(&format!(
            "  heals from a queue of up to {} when nothing waits to be retried",
            number(edge.queue)
        ));
    } else if p.healthy.is_some() {
        line(&format!("  heals from every state: hidden capacity is {}", rate(p.hidden_rps)));
    }
    let say = |what: &str, duration: &Option<Lasting>| {
        if let Some(duration) = duration {
            line(&format!("  {what}: {}", lasting(duration)));
        }
    };
    say("from health into collapse, by chance", &p.collapse_after);
    say("from collapse back to health, by chance", &p.escape_after);
    if let Some(after) = &p.trigger {
        let fluid = after.fluid_recovery_s.map_or("does not".to_owned(), seconds);
        line(&format!(
            "  recovers after {}: {} (a fluid without chance: {fluid})",
            after.trigger,
            lasting(&after.recovery)
        ));
    }
    if let Some(share) = p.collapsed_share {
        line(&format!("  share of time on the side of collapse: {}", percent(share)));
    }
    if let Some(mixing) = p.mixing_s {
        let told = Lasting { seconds: Some(mixing), ..Lasting::default() };
        let modes: Vec<String> = p.slowest_modes_per_s.iter().map(|r| format!("{r:.2e}")).collect();
        line(&format!(
            "  mixing time: {}; slowest modes: {} per s",
            lasting(&told),
            modes.join(", ")
        ));
    }
}

/// Counts in three digits.
fn number(value: f64) -> String {
    if value >= 100.0 { format!("{value:.0}") } else { format!("{value:.1}") }
}
