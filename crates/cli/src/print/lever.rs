//! What the lever did, and where it is: to be read by somebody who was just woken up.

use damper_proxy::admin::{Done, Entry, Status};

use super::{BOLD, DIM, colour, paint, rate};

/// Pulls that are shown.
const MOST: usize = 10;

fn whom(entry: &Entry) -> String {
    let classes = match &entry.classes[..] {
        [all] if all == "all" => "all classes".to_owned(),
        classes => classes.join(", "),
    };
    match &entry.caller {
        Some(caller) => format!("{classes} of caller {caller}"),
        None => classes,
    }
}

/// `03:30:00Z`, of a date and a time.
fn time(at: &str) -> &str {
    at.split_once('T').map_or(at, |(_, time)| time)
}

/// What a pull did.
pub(crate) fn pulled(done: &Done, admin: &str) -> String {
    let mut out = String::new();
    for entry in &done.changed {
        let hop = paint(BOLD, &entry.hop);
        out.push_str(&format!("{hop}: {} for {} (pull {})\n", entry.action, whom(entry), entry.id));
        if let Some(before) = entry.goodput_before_rps {
            out.push_str(&format!("  goodput before: {}, {}\n", rate(before), entry.state_before));
        }
        if let Some(reverts) = &entry.reverts_at {
            out.push_str(&format!("  reverts by itself at {}\n", time(reverts)));
        }
    }
    for hop in &done.already {
        out.push_str(&format!("{}: was there already\n", paint(BOLD, hop)));
    }
    out.push_str(&paint(DIM, &format!("how goodput answers: damper top --admin {admin}")));
    out.push('\n');
    out
}

/// Every lever, and who pulled it.
pub(crate) fn status(status: &Status) -> String {
    let mut out = String::new();
    for hop in &status.hops {
        let numbers = match (hop.load_rps, hop.goodput_rps) {
            (Some(load), Some(goodput)) => {
                format!("  load {}, goodput {}", rate(load), rate(goodput))
            }
            _ => String::new(),
        };
        let state = paint(colour(&hop.state), &hop.state);
        out.push_str(&format!(
            "{} ({})  {state}{numbers}\n",
            paint(BOLD, &hop.name),
            hop.direction
        ));
        if hop.lever.held.is_empty() {
            out.push_str("  open\n");
        }
        for held in &hop.lever.held {
            let caller =
                held.caller.as_ref().map_or(String::new(), |caller| format!(" of caller {caller}"));
            let position = paint(colour("vulnerable"), &held.position);
            out.push_str(&format!("  {}{caller}: {position}\n", held.classes.join(", ")));
        }
    }
    if status.journal.is_empty() {
        out.push_str("nobody has pulled it\n");
        return out;
    }
    out.push_str("\npulls, the last first\n");
    for entry in status.journal.iter().rev().take(MOST) {
        out.push_str(&journal(entry));
    }
    if let Some(more) = status.journal.len().checked_sub(MOST).filter(|more| *more > 0) {
        out.push_str(&paint(DIM, &format!("  and {more} before these (--json)")));
        out.push('\n');
    }
    out
}

fn journal(entry: &Entry) -> String {
    let mut out = format!(
        "  {:>3}  {}  {}: {} for {}, by {}: {}\n",
        entry.id,
        entry.at,
        entry.hop,
        entry.action,
        whom(entry),
        entry.who,
        entry.why
    );
    let mut notes = Vec::new();
    match (entry.goodput_before_rps, entry.goodput_after_rps) {
        (Some(before), Some(after)) => notes.push(format!(
            "goodput {} before, {} in the {:.0} s after",
            rate(before),
            rate(after),
            entry.after_s
        )),
        (None, Some(after)) => {
            notes.push(format!("goodput {} in the {:.0} s after", rate(after), entry.after_s));
        }
        _ => {}
    }
    if !entry.state_after.is_empty() && entry.state_after != entry.state_before {
        notes.push(format!("{} before, {} after", entry.state_before, entry.state_after));
    }
    match &entry.reverts_at {
        Some(_) if entry.reverted => notes.push("reverted by itself".to_owned()),
        Some(at) => notes.push(format!("for a time, until {}", time(at))),
        None => {}
    }
    if !notes.is_empty() {
        out.push_str(&paint(DIM, &format!("       {}", notes.join("; "))));
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use damper_proxy::admin::HopStatus;
    use damper_proxy::observe::view::{Held, LeverView};

    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    fn entry() -> Entry {
        Entry {
            id: 7,
            at: "2026-12-01T03:28:00Z".into(),
            hop: "db".into(),
            classes: vec!["low".into()],
            action: "throttle to 30%".into(),
            who: "ann".into(),
            why: "db overloaded, INC-42".into(),
            reverts_at: Some("2026-12-01T03:33:00Z".into()),
            goodput_before_rps: Some(5.2),
            goodput_after_rps: Some(180.4),
            after_s: 30.0,
            state_before: "metastable".into(),
            state_after: "vulnerable".into(),
            ..Entry::default()
        }
    }

    #[test]
    fn a_pull_says_what_it_did_and_when_it_ends() {
        let all =
            Entry { classes: vec!["all".into()], reverts_at: None, hop: "web".into(), ..entry() };
        let done = Done { changed: vec![entry(), all], already: vec!["cache".into()] };
        insta::assert_snapshot!(plain(&pulled(&done, "http://127.0.0.1:9901")));
    }

    #[test]
    fn a_status_shows_every_lever_and_the_last_pulls() {
        let held = |caller: Option<&str>, position: &str| Held {
            classes: vec!["low".into()],
            caller: caller.map(str::to_owned),
            position: position.into(),
        };
        let hop = |name: &str, state: &str, held| HopStatus {
            name: name.into(),
            direction: "inbound".into(),
            classes: vec!["high".into(), "low".into()],
            state: state.into(),
            load_rps: Some(280.0),
            goodput_rps: Some(5.2),
            lever: LeverView { held },
        };
        let fresh = HopStatus {
            load_rps: None,
            goodput_rps: None,
            ..hop("web -> db", "stable", Vec::new())
        };
        let mut journal: Vec<Entry> =
            (1..=11).map(|id| Entry { id, reverted: id == 10, ..entry() }).collect();
        journal.push(Entry {
            id: 12,
            caller: Some("batch".into()),
            goodput_before_rps: None,
            goodput_after_rps: None,
            reverts_at: None,
            state_after: String::new(),
            ..entry()
        });
        let status_of = |journal| Status {
            at: "2026-12-01T03:30:00Z".into(),
            hops: vec![
                hop(
                    "db",
                    "metastable",
                    vec![held(None, "throttled to 30%"), held(Some("batch"), "paused")],
                ),
                fresh.clone(),
            ],
            journal,
        };
        insta::assert_snapshot!(plain(&status(&status_of(journal))));
        assert!(plain(&status(&status_of(Vec::new()))).ends_with("nobody has pulled it\n"));
    }
}
