//! Hits, misses and false positives.

use std::collections::BTreeMap;

use serde_json::Value;

use super::labels::{Label, Repository, Site};

/// A finding, as far as scoring asks.
struct Found<'v> {
    path: &'v str,
    line: u32,
    end_line: u32,
    value: &'v Value,
}

impl<'v> Found<'v> {
    fn of(value: &'v Value) -> Option<Self> {
        let line = |key: &str| value.get(key)?.as_u64().and_then(|line| u32::try_from(line).ok());
        Some(Self {
            path: value.get("path")?.as_str()?,
            line: line("line")?,
            end_line: line("end_line")?,
            value,
        })
    }

    fn text(&self, pointer: &str) -> &'v str {
        self.value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
    }

    fn shown(&self) -> String {
        format!(
            "{}:{}-{} {} {} attempts={} delay={} base={} jitter={}",
            self.path,
            self.line,
            self.end_line,
            self.text("/by"),
            self.text("/name"),
            self.value
                .pointer("/attempts/total")
                .filter(|total| !total.is_null())
                .map_or_else(|| self.text("/attempts/kind").to_owned(), Value::to_string),
            self.text("/delay/kind"),
            self.value.pointer("/delay/base_ms").map_or_else(String::new, Value::to_string),
            self.text("/delay/jitter"),
        )
    }
}

/// How one attribute did: right, and told at all.
#[derive(Clone, Copy, Default)]
pub(crate) struct Share {
    right: u32,
    of: u32,
}

impl Share {
    fn add(&mut self, right: bool) {
        self.right += u32::from(right);
        self.of += 1;
    }

    fn plus(&mut self, other: Self) {
        self.right += other.right;
        self.of += other.of;
    }

    fn value(self) -> f64 {
        if self.of == 0 { 1.0 } else { f64::from(self.right) / f64::from(self.of) }
    }
}

/// One repository.
#[derive(Default)]
pub(crate) struct Tally {
    name: String,
    /// By group: sites found, of all.
    recall: BTreeMap<String, Share>,
    /// Findings that hit, of those that count.
    precision: Share,
    /// By group of the finding.
    precision_by: BTreeMap<String, Share>,
    attributes: BTreeMap<&'static str, Share>,
    details: Vec<String>,
}

impl Tally {
    pub(crate) fn of(repository: &Repository, found: &[Value]) -> Self {
        let all_production = repository.all_production();
        let mut tally = Self { name: repository.repo.clone(), ..Self::default() };
        let found: Vec<_> = found
            .iter()
            .filter_map(Found::of)
            .filter(|found| repository.covers(found.path))
            .filter(|found| found.text("/kind") == "retry")
            // As the rules do: what may be no retry at all is listed, and not judged.
            .filter(|found| found.text("/confidence") != "low")
            .filter(|found| found.value.get("implicit") != Some(&Value::Bool(true)))
            .collect();
        let production = |scope: &str| all_production || scope == "production";
        let sites: Vec<_> = repository.sites.iter().collect();
        for site in sites.iter().filter(|site| site.label == Label::Retry) {
            if site.scope.as_deref() != Some("production") {
                continue;
            }
            let hits: Vec<_> = found
                .iter()
                .filter(|f| site.overlaps(f.path, f.line, f.end_line) || also(site, f))
                .collect();
            let group = site.group().unwrap_or("?").to_owned();
            tally.recall.entry(group.clone()).or_default().add(!hits.is_empty());
            // The one that covers the site's own lines best speaks for it.
            let best = hits
                .iter()
                .min_by_key(|f| f.line.abs_diff(site.line) + f.end_line.abs_diff(site.end_line));
            match best {
                None => tally.details.push(format!(
                    "missed {}:{}-{} ({group}) {}",
                    site.path, site.line, site.end_line, site.note
                )),
                Some(hit) => tally.attributes_of(site, hit),
            }
        }
        for one in found.iter().filter(|one| production(one.text("/scope"))) {
            let touches = |label: Label| {
                sites.iter().any(|site| {
                    site.label == label
                        && (site.overlaps(one.path, one.line, one.end_line) || also(site, one))
                })
            };
            let hit = touches(Label::Retry);
            if !hit && touches(Label::Ambiguous) {
                continue;
            }
            tally.precision.add(hit);
            tally.precision_by.entry(one.text("/by").to_owned()).or_default().add(hit);
            if !hit {
                let on = if touches(Label::NotRetry) { "not-retry" } else { "nothing" };
                tally.details.push(format!("false positive on {on}: {}", one.shown()));
            }
        }
        tally
    }

    fn attributes_of(&mut self, site: &Site, hit: &Found<'_>) {
        let mut check = |what: &'static str, right: bool, expected: &str| {
            self.attributes.entry(what).or_default().add(right);
            if !right {
                self.details.push(format!(
                    "{what} should be {expected}: {} ({})",
                    hit.shown(),
                    site.note
                ));
            }
        };
        let kind = hit.text("/attempts/kind");
        let total = hit.value.pointer("/attempts/total").and_then(Value::as_u64);
        let usual = hit.value.pointer("/attempts/usual").and_then(Value::as_u64);
        if !site.attempts_total.is_null() {
            let right = match (&site.attempts_total, site.attempts_total.as_u64()) {
                (_, Some(expected)) => total == Some(expected) || usual == Some(expected),
                (Value::String(word), _) if word == "dynamic" => {
                    kind == "dynamic"
                        || (total.is_some() && total == site.attempts_default.as_u64())
                }
                (Value::String(word), _) => kind == word,
                _ => true,
            };
            check("attempts", right, &site.attempts_total.to_string());
        }
        if let Some(expected) = &site.delay {
            let delay = hit.text("/delay/kind");
            let right = delay == expected || (expected == "dynamic" && delay == "polynomial");
            check("delay", right, expected);
        }
        if let Some(expected) = site.base_delay_ms.or(site.base_delay_default_ms) {
            let base = hit.value.pointer("/delay/base_ms").and_then(Value::as_f64);
            let right =
                base.is_some_and(|base| (base - expected).abs() <= 0.01 * expected.max(1.0));
            check("base", right, &expected.to_string());
        }
        if let Some(expected) = site.jitter {
            let jitter = !matches!(hit.text("/delay/jitter"), "none" | "unknown" | "");
            check("jitter", jitter == expected, &expected.to_string());
        }
    }
}

/// Whether other lines of the finding belong to the site.
fn also(site: &Site, found: &Found<'_>) -> bool {
    let ranges = found.value.get("also").and_then(Value::as_array);
    ranges.into_iter().flatten().any(|range| {
        let line = |at: usize| range.get(at)?.as_u64().and_then(|line| u32::try_from(line).ok());
        match (line(0), line(1)) {
            (Some(from), Some(to)) => site.overlaps(found.path, from, to),
            _ => false,
        }
    })
}

/// All repositories.
#[derive(Default)]
pub(crate) struct Report {
    pub(crate) repositories: Vec<Tally>,
}

impl Report {
    pub(crate) fn add(&mut self, tally: Tally) {
        self.repositories.push(tally);
    }

    pub(crate) fn precision(&self) -> f64 {
        self.sum(|tally| tally.precision).value()
    }

    pub(crate) fn recall(&self) -> f64 {
        self.sum(|tally| all(&tally.recall)).value()
    }

    fn sum(&self, of: impl Fn(&Tally) -> Share) -> Share {
        let mut sum = Share::default();
        self.repositories.iter().for_each(|tally| sum.plus(of(tally)));
        sum
    }

    pub(crate) fn print(&self, details: bool) {
        println!("{:<44} {:>9} {:>9}", "repository", "precision", "recall");
        for tally in &self.repositories {
            println!(
                "{:<44} {:>9} {:>9}",
                tally.name,
                shown(tally.precision),
                shown(all(&tally.recall))
            );
            if details {
                tally.details.iter().for_each(|line| println!("    {line}"));
            }
        }
        println!();
        println!("precision {}", shown(self.sum(|tally| tally.precision)));
        for by in ["library", "hand-rolled", "config"] {
            let of = |tally: &Tally| tally.precision_by.get(by).copied().unwrap_or_default();
            println!("  {by:<12} {}", shown(self.sum(of)));
        }
        println!("recall    {}", shown(self.sum(|tally| all(&tally.recall))));
        for by in ["library", "hand-rolled", "config"] {
            let of = |tally: &Tally| tally.recall.get(by).copied().unwrap_or_default();
            println!("  {by:<12} {}", shown(self.sum(of)));
        }
        let mean = |of: &dyn Fn(&Tally) -> Share| {
            let shares = self.repositories.iter().map(of).filter(|share| share.of > 0);
            let values: Vec<_> = shares.map(Share::value).collect();
            100.0 * values.iter().sum::<f64>() / values.len().max(1) as f64
        };
        println!(
            "mean over repositories: precision {:.1} %, recall {:.1} %",
            mean(&|tally| tally.precision),
            mean(&|tally| all(&tally.recall))
        );
        for what in ["attempts", "delay", "base", "jitter"] {
            let of = |tally: &Tally| tally.attributes.get(what).copied().unwrap_or_default();
            println!("{what:<14} {}", shown(self.sum(of)));
        }
    }
}

fn all(shares: &BTreeMap<String, Share>) -> Share {
    let mut sum = Share::default();
    shares.values().for_each(|share| sum.plus(*share));
    sum
}

fn shown(share: Share) -> String {
    if share.of == 0 {
        return "–".to_owned();
    }
    format!("{}/{} {:.1} %", share.right, share.of, 100.0 * share.value())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn repository(sites: Value) -> Repository {
        serde_json::from_value(json!({"repo": "a/b", "roots": null, "sites": sites}))
            .expect("labels")
    }

    fn policy(path: &str, line: u32, end_line: u32) -> Value {
        json!({"path": path, "line": line, "end_line": end_line, "kind": "retry", "by": "library",
            "scope": "production", "attempts": {"kind": "count", "total": 3},
            "delay": {"kind": "constant", "base_ms": 100.0, "jitter": "none"}})
    }

    #[test]
    fn hits_misses_and_false_positives_are_counted() {
        let retry = json!({"path": "a.py", "line": 10, "end_line": 12, "label": "retry",
            "scope": "production", "kind": "library:x", "attempts_total": 4, "delay": "constant",
            "base_delay_ms": 100, "jitter": false});
        let missed = json!({"path": "b.py", "line": 1, "end_line": 1, "label": "retry",
            "scope": "production", "kind": "hand-rolled"});
        let unclear = json!({"path": "c.py", "line": 5, "end_line": 5, "label": "ambiguous",
            "scope": "production"});
        let labels = repository(json!([retry, missed, unclear]));
        let found = [
            policy("a.py", 15, 15), // three lines below: a hit
            policy("a.py", 16, 16), // four lines: none
            policy("c.py", 5, 5),   // counts neither way
        ];
        let tally = Tally::of(&labels, &found);
        assert_eq!((tally.precision.right, tally.precision.of), (1, 2));
        assert_eq!((tally.recall["library"].right, tally.recall["hand-rolled"].right), (1, 0));
        assert_eq!(tally.attributes["attempts"].right, 0);
        assert_eq!(tally.attributes["base"].right, 1);
    }
}
