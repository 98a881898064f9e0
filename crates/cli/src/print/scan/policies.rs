//! Every policy in a line of a table.

use std::fmt::Write as _;

use damper_report::result::scan::FoundPolicy;
use damper_report::scan::markdown::attempts;

use super::super::{DIM, paint, seconds};
use super::plain;

/// The longest cell.
const WIDEST: usize = 48;
const HEAD: [&str; 7] = ["policy", "by", "attempts", "delay", "jitter", "timeout", "scope"];

pub(super) fn table(out: &mut String, policies: &[FoundPolicy]) {
    if policies.is_empty() {
        return;
    }
    let rows: Vec<_> = policies.iter().map(row).collect();
    let width = |column: usize| {
        let cells = rows.iter().map(|row: &[String; 7]| row[column].chars().count());
        cells.chain([HEAD[column].len()]).max().unwrap_or(0)
    };
    let widths: Vec<_> = (0..HEAD.len()).map(width).collect();
    let line = |cells: &[String]| {
        let mut line = String::new();
        for (cell, width) in cells.iter().zip(&widths) {
            let _ = write!(line, "{cell:width$}  ");
        }
        line.trim_end().to_owned()
    };
    let _ = writeln!(out, "{}", paint(DIM, &line(&HEAD.map(str::to_owned))));
    for row in &rows {
        let _ = writeln!(out, "{}", line(row));
    }
    out.push('\n');
}

fn row(policy: &FoundPolicy) -> [String; 7] {
    let ms = |ms: f64| seconds(ms / 1e3);
    let delay = &policy.delay;
    let mut wait = delay.kind.clone();
    if let Some(base) = delay.base_ms {
        let _ = write!(wait, " {}", ms(base));
        if let Some(factor) = delay.factor.filter(|factor| *factor != 1.0) {
            let _ = write!(wait, " ×{factor}");
        }
        if let Some(cap) = delay.cap_ms {
            let _ = write!(wait, " to {}", ms(cap));
        }
    }
    let implicit = if policy.implicit { " (implicit)" } else { "" };
    let timeout = policy.attempt_timeout_ms.as_ref().or(policy.deadline_ms.as_ref());
    [
        format!("{}:{}", plain(&policy.path), policy.line),
        clip(&format!("{}{implicit}", policy.name)),
        clip(&attempts(policy)),
        wait,
        if delay.kind == "none" { "–".to_owned() } else { delay.jitter.clone() },
        timeout.map_or("–".to_owned(), |timeout| ms(timeout.value)),
        policy.scope.clone(),
    ]
}

fn clip(text: &str) -> String {
    let text = plain(text);
    if text.chars().count() <= WIDEST {
        return text;
    }
    text.chars().take(WIDEST - 1).chain(['…']).collect()
}
