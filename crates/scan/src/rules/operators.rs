//! Rules for what operators write. They look at layers as they take effect: with the budgets and
//! timeouts that other files add, and with the defaults of the software.

pub(super) mod beyond_timeout;
pub(super) mod budget_tighter;
pub(super) mod ejection;
pub(super) mod fixed_retries;
pub(super) mod inert;
pub(super) mod mesh_on_library;
pub(super) mod queue;
pub(super) mod slow_removed;
pub(super) mod unlimited_retries;
pub(super) mod unsafe_methods;
pub(super) mod without_budget;

use std::collections::BTreeSet;

use damper_config::layer::{Attempts, Layer};
use damper_config::reading::{Fact, What};

use super::{Finding, Hit, Rule, Severity};
use crate::scan::Scan;
use crate::settings::Settings;

/// A layer that somebody wrote, as it takes effect.
pub(super) struct Seen<'s> {
    pub(super) file: &'s Settings,
    pub(super) layer: &'s Layer,
}

impl Seen<'_> {
    /// What a rule says of it.
    pub(super) fn finding(&self, rule: &Rule, severity: Severity, message: String) -> Finding {
        at(self.file, self.layer.lines, rule, severity, message)
    }

    /// `4 attempts to orders`, `attempts without end`.
    pub(super) fn words(&self) -> String {
        let attempts = match &self.layer.attempts.value {
            Attempts::Count(1) => "1 attempt".to_owned(),
            Attempts::Count(count) => format!("{count} attempts"),
            Attempts::Unbounded => "attempts without end".to_owned(),
            Attempts::Open { expression, .. } => format!("`{expression}` attempts"),
        };
        match &self.layer.callee {
            Some(callee) => format!("{attempts} to {callee}"),
            None => attempts,
        }
    }
}

/// A finding at lines of a file of configuration.
pub(super) fn at(
    file: &Settings,
    [line, end_line]: [u32; 2],
    rule: &Rule,
    severity: Severity,
    message: String,
) -> Finding {
    let hit = Hit { severity, line, end_line, message };
    Finding::new(rule.id, &file.path, file.scope, file.print([line, end_line]), hit)
}

/// Every layer that retries and that somebody wrote, once for each place.
pub(super) fn layers(scan: &Scan) -> Vec<Seen<'_>> {
    let mut places = BTreeSet::new();
    let mut all = Vec::new();
    let mut add = |file, layer: &'_ Layer| -> bool {
        let file: &Settings = file;
        layer.retries() && !layer.implicit && places.insert((file.path.clone(), layer.lines))
    };
    for hop in scan.effective.iter().flat_map(|(_, effective)| &effective.hops) {
        for applied in &hop.layers {
            let Some(path) = &applied.path else { continue };
            let file = scan.settings.iter().find(|file| file.path == *path);
            if let Some(file) = file.filter(|file| add(file, &applied.layer)) {
                all.push(Seen { file, layer: &applied.layer });
            }
        }
    }
    // Those of which nobody knows whom they call.
    for file in &scan.settings {
        for layer in &file.reading.layers {
            if add(file, layer) {
                all.push(Seen { file, layer });
            }
        }
    }
    all
}

/// Every fact, with what holds for a part of the instances only.
pub(super) fn facts(scan: &Scan) -> impl Iterator<Item = (&Settings, &Fact, &What)> {
    scan.settings.iter().flat_map(|file| {
        file.reading.facts.iter().map(move |fact| {
            let what = match &fact.what {
                What::Part { what, .. } => what,
                what => what,
            };
            (file, fact, what)
        })
    })
}

/// `1.5 s`, `250 ms`.
pub(super) fn time(ms: f64) -> String {
    if ms >= 1000.0 { format!("{} s", ms / 1000.0) } else { format!("{ms} ms") }
}
