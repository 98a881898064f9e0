//! The text that Prometheus scrapes (exposition format 0.0.4).

#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use super::collect::{Labels, collect};
use super::log::Log;
use super::watch::Watch;
use crate::hop::Hops;

/// All that is counted, as it is now.
#[must_use]
pub fn scrape(hops: &Hops, watch: &Watch, log: Option<&Log>) -> String {
    let mut out = String::new();
    for family in collect(hops, watch, log) {
        let name = &family.name;
        let _ = writeln!(out, "# HELP {name} {}\n# TYPE {name} {}", family.help, family.kind);
        for sample in &family.samples {
            out.push_str(&sample.name);
            labels(&mut out, &sample.labels);
            // Rust writes NaN as Prometheus does, and infinities otherwise.
            let _ = match sample.value {
                f64::INFINITY => writeln!(out, " +Inf"),
                f64::NEG_INFINITY => writeln!(out, " -Inf"),
                value => writeln!(out, " {value}"),
            };
        }
    }
    out
}

fn labels(out: &mut String, labels: &Labels) {
    for (at, (name, value)) in labels.0.iter().enumerate() {
        let _ = write!(out, "{}{name}=\"", if at == 0 { '{' } else { ',' });
        for c in value.chars() {
            match c {
                '\\' => out.push_str("\\\\"),
                '"' => out.push_str("\\\""),
                '\n' => out.push_str("\\n"),
                c => out.push(c),
            }
        }
        out.push('"');
    }
    if !labels.0.is_empty() {
        out.push('}');
    }
}
