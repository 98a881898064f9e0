//! How `damper learn --amplification` looks.

use damper_learn::Learnt;

use super::table::rows;
use super::{percent, thousands};

/// A table of services; `worst`: what their policies make possible, by name.
pub(crate) fn amplification(learnt: &Learnt, worst: Option<&[(String, f64)]>) -> String {
    let mut head =
        vec!["service", "attempts", "needed", "amplified", "retries", "well after retry"];
    if worst.is_some() {
        head.push("at worst");
    }
    let table: Vec<Vec<String>> = learnt
        .amplification
        .iter()
        .map(|row| {
            let mut cells = vec![
                row.service.clone(),
                thousands(row.attempts),
                thousands(row.needed.round() as u64),
                format!("{:.2}", row.factor),
                percent(row.retry_rate),
                row.rescued.as_ref().map_or("–".to_owned(), |r| percent(r.value)),
            ];
            if let Some(worst) = worst {
                let found = worst.iter().find(|(name, _)| *name == row.service);
                cells.push(found.map_or("–".to_owned(), |(_, worst)| format!("{worst:.2}")));
            }
            cells
        })
        .collect();
    let mut out = rows(&head, &table);
    out.push_str(
        "\namplified: attempts received, over those needed if nothing failed\n\
         retries: share of the attempts that repeat an earlier one of the same call\n\
         well after retry: of the calls that were retried, those that went well in the end\n",
    );
    if worst.is_some() {
        out.push_str("at worst: what the limits of the file allow, if everything fails\n");
    }
    out
}
