//! `damper plan` for people.

use damper_report::result::{Plan, PlanSetting};

use super::table::table;
use super::{BOLD, DIM, colour, count, line, paint, percent, provenance, rate};

/// Rows of the frontier that are printed; `--json` has all.
const MOST_ROWS: usize = 12;

/// Prints the verdict, the lines to write, the targets, the layers and the frontier.
pub(crate) fn plan(r: &Plan) {
    let (state, word) = if r.met { ("stable", "MET") } else { ("overloaded", "NOT MET") };
    line(&format!(
        "{}: {}: {}",
        paint(BOLD, &r.origin.system),
        paint(colour(state), word),
        r.verdict
    ));
    line("");
    write(r);
    line("");
    targets(r);
    line("");
    if r.met {
        layer(r);
    } else {
        clashes(r);
    }
    line("");
    layers(r);
    line("");
    frontier(r);
    line("");
    let searched = if r.exact {
        format!(
            "all {} up to a limit of {} compared",
            count(r.evaluations as usize, "setting"),
            r.max_limit
        )
    } else {
        format!(
            "{} compared, not all there are: a better one may exist",
            count(r.evaluations as usize, "setting")
        )
    };
    provenance(&r.origin, &searched);
}

fn write(r: &Plan) {
    if r.changes.is_empty() {
        line("Leave the limits of the file as they are.");
        return;
    }
    line(&paint(
        BOLD,
        if r.met { "Write under `policies:`" } else { "The nearest, under `policies:`" },
    ));
    for text in &r.lines {
        line(&format!("  {text}"));
    }
    line(&paint(DIM, "or, to try it,"));
    let quoted = |s: &String| {
        let plain = s.chars().all(|c| c.is_ascii_alphanumeric() || "._-=".contains(c));
        if plain { format!("--set {s}") } else { format!("--set '{s}'") }
    };
    let set: Vec<String> = r.changes.iter().map(quoted).collect();
    line(&format!("  {}", set.join(" ")));
}

/// One row for each measure, with the targets that bound it.
fn targets(r: &Plan) {
    let (a, b) = (&r.before, &r.after);
    let under = if r.at.is_empty() { String::new() } else { format!(" at {}", r.at.join(", ")) };
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut row = |field: &str, class: Option<&String>, name: String, values: [String; 2]| {
        let [before, after] = values;
        let of = r.targets.iter().filter(|t| t.field == field && t.class.as_ref() == class);
        let of: Vec<_> = of.collect();
        let wanted: Vec<String> = of.iter().map(|t| wanted(t, field)).collect();
        let state = match of.as_slice() {
            [] => "",
            all if all.iter().all(|t| t.met) => "met",
            _ => "MISSED",
        };
        rows.push(vec![name, wanted.join(", "), before, after, state.to_owned()]);
    };
    for class in r.before.rejection.keys() {
        let of = |s: &PlanSetting| percent(s.rejection.get(class).copied().unwrap_or_default());
        row("rejection", Some(class), format!("{class} rejected{under}"), [of(a), of(b)]);
    }
    let factor = |x: f64| format!("{x:.2}");
    row(
        "amplification",
        None,
        format!("amplification{under}"),
        [a, b].map(|s| factor(s.amplification)),
    );
    row(
        "worst_amplification",
        None,
        "amplification at worst".to_owned(),
        [a, b].map(|s| factor(s.worst_amplification)),
    );
    let share = |x: Option<f64>| x.map_or("–".to_owned(), nines);
    let faults = format!("of {} faults hidden", nines(r.transient));
    row("hides", None, faults, [a, b].map(|s| share(s.hides)));
    row(
        "availability",
        None,
        "available with these".to_owned(),
        [a, b].map(|s| share(s.availability)),
    );
    row("hidden_rps", None, "heals by itself below".to_owned(), [a, b].map(heals));
    table(&["", "wanted", "now", "then", ""], &rows);
}

fn wanted(target: &damper_report::result::PlanTarget, field: &str) -> String {
    let sign = if target.at_least { "≥" } else { "≤" };
    let share = matches!(field, "rejection" | "hides") || target.target.ends_with('%');
    let bound = match field {
        _ if share => nines(target.bound),
        "hidden_rps" => rate(target.bound),
        _ => format!("{:.2}", target.bound),
    };
    let of = if share && field == "hidden_rps" { " of advertised" } else { "" };
    format!("{sign} {bound}{of}")
}

fn heals(s: &PlanSetting) -> String {
    match (s.hidden_rps, s.advertised_rps) {
        (Some(hidden), _) => rate(hidden),
        (None, Some(advertised)) => format!("{} (no loop)", rate(advertised)),
        (None, None) => "–".to_owned(),
    }
}

fn layer(r: &Plan) {
    match r.layer.as_slice() {
        [] => {}
        [one] => line(&format!(
            "{one} is the one layer that should retry: it has the least amplification of all that meet the targets. Its retry covers what fails anywhere below it; retries in several layers multiply."
        )),
        calls => line(&format!(
            "The one layer that should retry: {}. It has the least amplification of all that meet the targets; retries in several layers multiply.",
            calls.join(", ")
        )),
    }
    if r.layer.is_empty() && r.after.retries == "no retries" {
        line("The targets ask for no retry at all.");
    } else if r.layer.is_empty() {
        let alone = |s: &&PlanSetting| s.met && s.layers.starts_with(|c: char| c.is_ascii_digit());
        let why = match r.layers.iter().find(alone) {
            Some(_) => "A single layer would meet the targets with more amplification",
            None => "No single layer meets the targets",
        };
        line(&format!("{why}. What retries: {}.", r.after.retries));
    }
}

fn clashes(r: &Plan) {
    line(&paint(BOLD, "What stands in the way"));
    for clash in &r.clashes {
        let field = r.targets.iter().find(|t| clash.targets.first() == Some(&t.target));
        match (clash.targets.as_slice(), clash.best, field) {
            ([one], Some(best), Some(target)) => {
                let best = match target.field.as_str() {
                    "rejection" | "hides" => nines(best),
                    "hidden_rps" if !target.target.ends_with('%') => rate(best),
                    "hidden_rps" => nines(best),
                    _ => format!("{best:.2}"),
                };
                line(&format!("  {one} alone: the best that any setting reaches is {best}"));
            }
            ([one], ..) => line(&format!("  {one} alone: no setting reaches it")),
            (all, ..) => line(&format!("  {} exclude each other", all.join(" and "))),
        }
    }
    let field = |name: &str| r.targets.iter().any(|t| !t.met && t.field == name);
    if field("rejection") {
        line(
            "No limit makes capacity: add some, turn load away before it is tried, or ask for less.",
        );
    }
    if field("hides") && field("worst_amplification") {
        line("What one retry more hides costs one attempt more at worst.");
    }
}

fn layers(r: &Plan) {
    line(&format!(
        "{} (the best of each choice; 1 is what the client calls)",
        paint(BOLD, "Where to retry")
    ));
    let rows: Vec<Vec<String>> = r.layers.iter().map(|s| row(r, s, &s.layers)).collect();
    table(&head("layer", r), &rows);
}

fn frontier(r: &Plan) {
    if r.frontier.len() < 2 {
        line("No limit changes how many transient faults are hidden.");
        return;
    }
    line(&format!(
        "{} (no other setting is better in availability, healing and amplification at once)",
        paint(BOLD, "What availability costs")
    ));
    let n = r.frontier.len();
    // Evenly, with both ends.
    let shown: Vec<usize> = if n <= MOST_ROWS {
        (0..n).collect()
    } else {
        (0..MOST_ROWS).map(|i| i * (n - 1) / (MOST_ROWS - 1)).collect()
    };
    let rows = shown.iter().map(|i| row(r, &r.frontier[*i], &r.frontier[*i].retries));
    table(&head("setting", r), &rows.collect::<Vec<_>>());
    if n > MOST_ROWS {
        line(&paint(DIM, &format!("  {MOST_ROWS} of {n}; --json has all")));
    }
}

fn head<'a>(first: &'a str, r: &Plan) -> Vec<&'a str> {
    let mut head = vec![first, "at worst", "faults hidden", "available", "heals below"];
    if r.targets.iter().any(|t| t.field == "rejection" || t.field == "amplification") {
        head.push("calls per request");
    }
    head.push("targets");
    head
}

fn row(r: &Plan, s: &PlanSetting, name: &str) -> Vec<String> {
    let share = |x: Option<f64>| x.map_or("–".to_owned(), nines);
    let mut row = vec![
        name.to_owned(),
        format!("{:.2}", s.worst_amplification),
        share(s.hides),
        share(s.availability),
        heals(s),
    ];
    if r.targets.iter().any(|t| t.field == "rejection" || t.field == "amplification") {
        row.push(format!("{:.2}", s.calls_per_request));
    }
    row.push(if s.met { "met" } else { "missed" }.to_owned());
    row
}

/// A share in percent with two digits of what is missing to a whole: `99.9975 %`.
fn nines(share: f64) -> String {
    let (percent, rest) = (100.0 * share, 100.0 * (1.0 - share));
    let small = rest.min(percent);
    if small <= 1e-8 {
        return format!("{percent:.0} %");
    }
    let digits = (1.0 - small.log10().floor()).clamp(1.0, 8.0) as usize;
    let text = format!("{percent:.digits$}");
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::nines;

    #[test]
    fn shares_keep_what_is_missing() {
        assert_eq!(nines(0.999_975_1), "99.9975 %");
        assert_eq!(nines(0.999), "99.9 %");
        assert_eq!(nines(0.5), "50 %");
        assert_eq!(nines(0.123_4), "12.3 %");
        assert_eq!(nines(0.001), "0.1 %");
        assert_eq!(nines(1.0), "100 %");
        assert_eq!(nines(0.0), "0 %");
        assert_eq!(nines(1.0 - 1e-12), "100 %");
    }
}
