//! `damper map --rare` for people.

use damper_report::lasting;
use damper_report::result::{Lasting, Rare, RarePoint};

use super::table::table;
use super::{BOLD, count, line, paint, percent, provenance, rate, seconds, thousands};

/// Prints how often it collapses by chance.
pub(crate) fn rare(r: &Rare) {
    let along = r.x.as_ref().map_or(String::new(), |x| format!(", along {}", x.path));
    let system = paint(BOLD, &r.origin.system);
    line(&format!("{system}: collapses by chance, with no trigger{along}"));
    line("");
    let rows: Vec<Vec<String>> = r.points.iter().map(|p| row(r, p)).collect();
    let first = r.x.as_ref().map_or("load", |x| x.path.as_str());
    table(&[first, "within a day", "95 % interval", "mean time", "of which last"], &rows);
    line("");
    for point in &r.points {
        if let Some(why) = &point.nothing {
            line(&format!("  at {}: {why}", value(r, point)));
        }
    }
    if let [only] = &r.points[..] {
        levels(only);
    }
    let window = r.points.iter().map(|p| p.window_s).fold(0.0, f64::max);
    line(&format!(
        "  a collapse: less than half of what was offered over {} was good; it lasts if it is not \
         back within the watch of the file",
        seconds(window)
    ));
    let cut: u64 = r.points.iter().map(|p| p.cut).sum();
    if cut > 0 {
        let copies = count(cut as usize, "copy").replace("copys", "copies");
        line(&format!("  {copies} neither back nor collapsed after a long time count as back"));
    }
    line("");
    let trials: u64 = r.points.iter().map(|p| p.trials).sum();
    let simulated: f64 = r.points.iter().map(|p| p.simulated_s).sum();
    let replications = r.points.iter().map(|p| p.replications).max().unwrap_or(0);
    let rest = format!(
        "{}, {} copies, {} simulated",
        count(replications as usize, "independent result"),
        thousands(trials),
        told(Some(simulated))
    );
    provenance(&r.origin, &rest);
}

fn value(r: &Rare, p: &RarePoint) -> String {
    match (&r.x, p.value) {
        (Some(x), Some(value)) => format!("{value}{}", x.unit),
        _ => rate(p.load_rps),
    }
}

fn row(r: &Rare, p: &RarePoint) -> Vec<String> {
    let first = value(r, p);
    if p.nothing.is_some() {
        return vec![first, "–".to_owned()];
    }
    let [low, high] = p.per_day_ci95;
    if p.mean_s.is_none() {
        return vec![first, "none seen".to_owned(), format!("below {}", probability(high))];
    }
    vec![
        first,
        probability(p.per_day),
        format!("{} to {}", probability(low), probability(high)),
        told(p.mean_s),
        p.lasting.map_or("–".to_owned(), percent),
    ]
}

/// A probability in two digits: `3.1e-5`, `0.42`, `1 - 2e-9` is `1`.
fn probability(p: f64) -> String {
    if p >= 0.1 { format!("{p:.2}") } else { format!("{p:.1e}") }
}

fn told(s: Option<f64>) -> String {
    lasting(&Lasting { seconds: s, ..Lasting::default() })
}

/// The way up.
fn levels(p: &RarePoint) {
    if p.levels.is_empty() {
        return;
    }
    let rows: Vec<Vec<String>> = p
        .levels
        .iter()
        .map(|l| vec![l.backlog.to_string(), percent(l.onwards), percent(l.collapsed)])
        .collect();
    line(&format!(
        "  healthy at a backlog of {}; the first level is crossed {:.2} times a second",
        p.healthy_backlog, p.crossings_per_s
    ));
    table(&["from a backlog of", "reach the next", "collapse"], &rows);
    line("");
}
