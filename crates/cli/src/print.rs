//! What people read. Colours only on a terminal (anstream strips them elsewhere).

mod amplification;
mod bar;
mod basins;
pub(crate) mod chart;
mod drill;
mod emulate;
mod headroom;
mod learn;
mod lever;
mod load;
mod map;
mod plan;
mod price;
mod rare;
mod scan;
mod simulate;
mod solve;
mod study;
pub(crate) mod table;
mod top;

use std::io::{IsTerminal, Write};

use anstyle::{AnsiColor, Style};
use damper_system::Problems;
use serde_json::Value;

pub(crate) use amplification::amplification;
pub(crate) use basins::basins;
pub(crate) use drill::drill;
pub(crate) use emulate::{emulated, emulation};
pub(crate) use headroom::headroom;
pub(crate) use learn::amplification as measured;
pub(crate) use lever::{pulled, status as lever_status};
pub(crate) use load::{load_plan, loaded};
pub(crate) use map::map;
pub(crate) use plan::plan;
pub(crate) use price::price;
pub(crate) use rare::rare;
pub(crate) use scan::{nothing as nothing_scanned, scan};
pub(crate) use simulate::simulate;
pub(crate) use solve::solve;
pub(crate) use study::study;
pub(crate) use top::top;

pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();

/// The colour of a state.
pub(crate) fn colour(state: &str) -> Style {
    let colour = match state {
        "stable" => AnsiColor::Green,
        "vulnerable" => AnsiColor::Yellow,
        "metastable" | "overloaded" => AnsiColor::Red,
        _ => return Style::new(),
    };
    colour.on_default().bold()
}

/// A styled piece of text.
pub(crate) fn paint(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

/// A line on standard output. A closed pipe ends the printing, not the program with a panic.
pub(crate) fn line(text: &str) {
    let _ = writeln!(anstream::stdout(), "{text}");
}

/// Text in lines of at most 90 characters, indented.
pub(crate) fn paragraph(text: &str) {
    let mut now = String::new();
    for word in text.split_whitespace() {
        if !now.is_empty() && now.chars().count() + 1 + word.chars().count() > 90 {
            line(&format!("  {now}"));
            now.clear();
        }
        if !now.is_empty() {
            now.push(' ');
        }
        now.push_str(word);
    }
    line(&format!("  {now}"));
}

/// A line on standard error.
pub(crate) fn note(text: &str) {
    let _ = writeln!(anstream::stderr(), "{text}");
}

/// What the file has and the answer does not take into account.
pub(crate) fn left_out(origin: &damper_report::result::Origin) {
    origin.left_out.iter().for_each(|left| note(&left.says));
}

/// A result as JSON.
pub(crate) fn json(value: &impl serde::Serialize) -> anyhow::Result<()> {
    let value: Value = serde_json::to_value(value)?;
    line(&serde_json::to_string_pretty(&value)?);
    Ok(())
}

/// One of several results as JSON, on a line of its own.
pub(crate) fn json_line(value: &impl serde::Serialize) -> anyhow::Result<()> {
    line(&serde_json::to_string(value)?);
    Ok(())
}

/// Problems of a file, with their places.
pub(crate) fn problems(problems: &Problems) {
    if !problems.is_empty() {
        let colour = std::io::stderr().is_terminal();
        note(problems.render(colour).trim_end());
    }
}

/// Why a command could not answer.
pub(crate) fn error(error: &anyhow::Error) {
    match error.downcast_ref::<Problems>() {
        Some(found) => problems(found),
        None => note(&format!("{} {error:#}", paint(colour("overloaded"), "error:"))),
    }
}

/// A rate with sensible digits: `297/s`, `12.3/s`.
pub(crate) fn rate(rps: f64) -> String {
    match rps {
        r if !r.is_finite() => "–".to_owned(),
        r if r >= 1000.0 => format!("{}/s", thousands(r.round() as u64)),
        r if r >= 100.0 => format!("{r:.0}/s"),
        r if r >= 10.0 => format!("{r:.1}/s"),
        r => format!("{r:.2}/s"),
    }
}

/// A count with separators: `12,345,678`.
pub(crate) fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A number of things: `1 replication`, `5 replications`.
pub(crate) fn count(n: usize, what: &str) -> String {
    format!("{} {what}{}", thousands(n as u64), if n == 1 { "" } else { "s" })
}

/// A share in percent: `98.3 %`, with more digits near a whole.
pub(crate) fn percent(share: f64) -> String {
    let p = share * 100.0;
    if p > 99.0 && p < 99.995 || p > 0.0 && p < 1.0 {
        format!("{p:.2} %")
    } else {
        format!("{p:.1} %")
    }
}

/// Seconds: `1.2 s`, `35 ms`.
pub(crate) fn seconds(s: f64) -> String {
    match s {
        s if s >= 100.0 => format!("{s:.0} s"),
        s if s >= 1.0 => format!("{s:.1} s"),
        s if s >= 0.001 => format!("{:.0} ms", s * 1e3),
        0.0 => "0".to_owned(),
        s => format!("{:.0} us", s * 1e6),
    }
}

/// Footer: where a result comes from.
pub(crate) fn provenance(origin: &damper_report::result::Origin, rest: &str) {
    for note in &origin.notes {
        line(&paint(DIM, &format!("note: {note}")));
    }
    let set = if origin.set.is_empty() {
        String::new()
    } else {
        format!(", with {}", origin.set.join(", "))
    };
    line(&paint(
        DIM,
        &format!("{}{set}; seed {}, {rest}, damper {}", origin.file, origin.seed, origin.version),
    ));
    if origin.partial {
        line(&paint(
            colour("vulnerable"),
            "interrupted: this is what had been measured until then",
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_for_people() {
        assert_eq!(rate(3000.4), "3,000/s");
        assert_eq!(rate(149.6), "150/s");
        assert_eq!(rate(12.345), "12.3/s");
        assert_eq!(rate(f64::NAN), "–");
        assert_eq!(thousands(1_234_567), "1,234,567");
        assert_eq!(percent(0.9999), "99.99 %");
        assert_eq!(percent(0.99999), "100.0 %");
        assert_eq!(percent(0.5), "50.0 %");
        assert_eq!(count(1, "call"), "1 call");
        assert_eq!(count(2, "call"), "2 calls");
        assert_eq!(seconds(0.0351), "35 ms");
    }
}
