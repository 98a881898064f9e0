//! `damper scan --amplification` for people.

use damper_report::amplification_between as between;
use damper_report::result::amplification::{Amplification, AmplifyingLayer};

use super::{BOLD, DIM, count, paint, percent};

/// Layers on no call that are listed.
const MOST_UNPLACED: usize = 10;

/// The worst ways with their layers, services, changes.
pub(crate) fn amplification(r: &Amplification) -> String {
    let mut out = Vec::new();
    let calls = count(r.graph.edges.len(), "call");
    out.push(format!(
        "{}: {}, {calls}{}",
        paint(BOLD, &r.source),
        count(r.graph.nodes.len(), "service"),
        match r.assumed_calls {
            0 => String::new(),
            assumed => format!(" ({assumed} taken to be made once a request: nobody says)"),
        }
    ));
    out.push(String::new());
    ways(r, &mut out);
    services(r, &mut out);
    changes(r, &mut out);
    if !r.unplaced.is_empty() {
        out.push(format!("{} on no call of this graph:", count(r.unplaced.len(), "layer")));
        for layer in r.unplaced.iter().take(MOST_UNPLACED) {
            out.push(format!("  {}  {}", self::layer(layer), paint(DIM, &layer.call)));
        }
        if r.unplaced.len() > MOST_UNPLACED {
            out.push(format!("  and {} more (--json)", r.unplaced.len() - MOST_UNPLACED));
        }
        out.push(String::new());
    }
    out.extend(r.notes.iter().map(|note| format!("note: {note}")));
    out.join("\n")
}

fn ways(r: &Amplification, out: &mut Vec<String>) {
    if r.ways.is_empty() {
        out.push("No way multiplies a request.".to_owned());
        out.push(String::new());
        return;
    }
    for way in &r.ways {
        out.push(paint(BOLD, &way.services.join(" -> ")));
        out.push(format!(
            "  one request, worst case: {}   while all fails: {}   at {} failing: {}",
            paint(BOLD, &between(&way.worst)),
            between(&way.sustained),
            percent(r.failure),
            between(&way.expected),
        ));
        for layer in &way.layers {
            out.push(format!("  {:<40} {}", layer.call, self::layer(layer)));
        }
        out.push(String::new());
    }
}

/// `×3 Istio, built in (default) retries.yaml:12, at most 20 % …`.
fn layer(layer: &AmplifyingLayer) -> String {
    let by = if layer.written { "" } else { " (default)" };
    let place = layer.place.as_ref().map(|place| format!("  {}", paint(DIM, place)));
    let budget = layer.budget.as_ref().map(|budget| format!("  budget: {budget}"));
    format!(
        "×{} {}{by}{}{}",
        between(&layer.attempts),
        layer.who,
        place.unwrap_or_default(),
        budget.unwrap_or_default()
    )
}

fn services(r: &Amplification, out: &mut Vec<String>) {
    let amplified: Vec<_> =
        r.services.iter().filter(|service| service.worst.high != Some(1.0)).collect();
    if amplified.is_empty() {
        return;
    }
    out.push(paint(BOLD, "Heals by itself below (everything failing, budgets acting)"));
    for service in amplified {
        let hidden = match service.capacity_rps {
            Some(capacity) => format!("{}/s of {capacity}/s", between(&service.hidden)),
            None => format!("{} of its capacity", between(&service.hidden)),
        };
        out.push(format!("  {:<30} {hidden}", service.service));
    }
    out.push(String::new());
}

fn changes(r: &Amplification, out: &mut Vec<String>) {
    let Some(limit) = r.limit else { return };
    if r.met {
        out.push(format!("Every way is at or under {limit}."));
    } else {
        out.push(paint(
            BOLD,
            &format!("The fewest changes that bring every way to {limit} or less"),
        ));
        for change in &r.changes {
            out.push(format!(
                "  {:<40} {} instead of {}  {}",
                change.layer.call,
                count(change.attempts as usize, "attempt"),
                between(&change.layer.attempts),
                paint(DIM, change.layer.place.as_deref().unwrap_or(&change.layer.who)),
            ));
        }
    }
    out.push(String::new());
}
