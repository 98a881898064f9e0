//! `damper rules`.

use damper_scan::rules::{RULES, Rule, Severity};
use serde_json::{Value, json};

use crate::args::RulesArgs;
use crate::{exit, print};

pub(crate) fn run(args: &RulesArgs) -> anyhow::Result<u8> {
    if args.json {
        print::json(&Value::from_iter(RULES.iter().map(|rule| summary(rule))))?;
    } else {
        list();
    }
    Ok(exit::OK)
}

fn summary(rule: &Rule) -> Value {
    json!({
        "id": rule.id,
        "severity": rule.severity.name(),
        "summary": rule.summary,
        "fix": rule.fix,
    })
}

fn list() {
    let width = RULES.iter().map(|rule| rule.id.len()).max().unwrap_or_default();
    for rule in RULES {
        let id = print::paint(print::BOLD, &format!("{:<width$}", rule.id));
        // Padded before it is painted: colours have a length, too.
        let severity = format!("{:<7}", rule.severity.name());
        let severity = match rule.severity {
            Severity::Note => severity,
            Severity::Warning | Severity::Error => print::paint(print::BOLD, &severity),
        };
        print::line(&format!("{id}  {severity}  {}", rule.summary));
    }
    print::line("");
    print::line("damper explain RULE prints why, with examples and what to do.");
}
