//! What people read about a control: its page in `docs/controls/`, and `damper controls NAME`.

use alloc::format;
use alloc::string::{String, ToString as _};

use super::{Entry, Unit};
use crate::Nanos;
use crate::observe::Metric;

impl Unit {
    /// A value of a parameter as the system file writes it.
    #[must_use]
    pub fn show(self, x: f64) -> String {
        match self {
            Self::Percent => format!("{x}%"),
            Self::Duration => Nanos::from_secs_f64(x).to_string(),
            Self::Rate => format!("{x}/s"),
            Self::Flag => if x == 0.0 { "false" } else { "true" }.to_string(),
            Self::Count | Self::Number => format!("{x}"),
        }
    }
}

impl Entry {
    /// Its page, in Markdown.
    #[must_use]
    pub fn page(&self) -> String {
        let mut page = format!("# {}\n\n{}.\n\n", self.name, capital(self.summary));
        let (kind, place) = (self.kind.name(), self.kind.place());
        page.push_str(&format!("- Kind: {kind} (`{place}` in a system file)\n"));
        page.push_str(&format!("- Source: {}\n", self.source));
        page.push_str(&format!("\n## Rule\n\n```text\n{}\n```\n", self.rule.trim_end()));
        page.push_str(&format!("\n## When to use it\n\n{}\n", self.when));
        if !self.parameters.is_empty() {
            page.push_str(
                "\n## Parameters\n\n| name | unit | default | range | |\n|---|---|---|---|---|\n",
            );
            for p in self.parameters {
                let range = if p.unit == Unit::Flag {
                    String::new()
                } else if p.max < 1e15 {
                    format!("{} to {}", p.unit.show(p.min), p.unit.show(p.max))
                } else {
                    format!("at least {}", p.unit.show(p.min))
                };
                let (name, unit, default) = (p.name, p.unit.name(), p.unit.show(p.default));
                page.push_str(&format!(
                    "| `{name}` | {unit} | `{default}` | {range} | {} |\n",
                    p.doc
                ));
            }
        }
        if !self.traps.is_empty() {
            page.push_str("\n## Traps\n\n");
            for trap in self.traps {
                page.push_str(&format!("- {trap}\n"));
            }
        }
        if !self.readings.is_empty() {
            page.push_str("\n## What it shows\n\n| name | | |\n|---|---|---|\n");
            for r in self.readings {
                let metric = match r.metric {
                    Metric::Counter => "counter",
                    Metric::Gauge => "gauge",
                };
                page.push_str(&format!("| `{}` | {metric} | {} |\n", r.name, r.doc));
            }
        }
        page
    }
}

/// With a capital letter, unless it begins with a name that has its own spelling.
fn capital(text: &str) -> String {
    let mut letters = text.chars();
    // gRPC spells itself with a small letter before its capitals.
    let spelt = letters.clone().nth(1).is_some_and(char::is_uppercase);
    match letters.next() {
        _ if spelt => text.into(),
        Some(first) => format!("{}{}", first.to_uppercase(), letters.as_str()),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;

    #[test]
    fn values_look_as_in_a_file() {
        for (unit, x, text) in [
            (Unit::Percent, 20.0, "20%"),
            (Unit::Duration, 0.1, "100ms"),
            (Unit::Rate, 0.5, "0.5/s"),
            (Unit::Flag, 1.0, "true"),
            (Unit::Count, 10.0, "10"),
            (Unit::Number, 0.1, "0.1"),
        ] {
            assert_eq!(unit.show(x), text);
        }
    }

    #[test]
    fn a_page_says_it_all() {
        let entry = registry::find("token-bucket").unwrap();
        let page = entry.page();
        for text in [
            "# token-bucket\n",
            "`policies.NAME.retry.budget`",
            "gRFC A6",
            "| `max_tokens` | count | `10` | 1 to 1000 |",
            "| `denied` | counter |",
        ] {
            assert!(page.contains(text), "{text}\n{page}");
        }
    }
}
