//! The settings that are priced: every budget of the registry over its parameters.

use damper_control::entry::{Build, Entry, Kind, Parameter, Unit};
use damper_control::{Nanos, registry};

/// A setting of the retry budget.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// As the system file writes it: `{kind: envoy, percent: 20%, min_retry_concurrency: 3}`.
    pub written: String,
    /// The name of the control; for the two that the others are measured against `none`, and
    /// empty for no retries at all.
    pub control: String,
    /// Whether it is what its source ships.
    pub default: bool,
    /// Fields of the policy of every call that retries.
    pub fields: Vec<String>,
}

/// No bound on retries: where the gain is zero, and the price.
pub(super) const UNLIMITED: &str = "none";

/// Values of a budget's parameters to be combined; parameters that are not named keep their
/// defaults.
struct Range {
    control: &'static str,
    values: &'static [(&'static str, &'static [f64])],
}

const PERCENT: (&str, &[f64]) = ("percent", &[1.0, 2.0, 5.0, 10.0, 20.0, 50.0]);
const FLOOR: (&str, &[f64]) = ("min_retry_concurrency", &[0.0, 3.0, 30.0]);
const PER_SECOND: (&str, &[f64]) = ("min_per_second", &[1.0, 10.0]);
const QUOTA: (&str, &[f64]) = ("quota", &[50.0, 500.0, 5000.0]);

/// What is asked of each budget. One that has no row is tried with each of its parameters at a
/// quarter, at half, at twice and at four times its default.
const RANGES: &[Range] = &[
    Range {
        control: "token-bucket",
        values: &[("max_tokens", &[4.0, 10.0, 100.0, 1000.0]), ("token_ratio", &[0.01, 0.1, 1.0])],
    },
    Range { control: "envoy", values: &[PERCENT, FLOOR] },
    Range { control: "ratio", values: &[PERCENT, FLOOR] },
    Range { control: "aws-standard", values: &[QUOTA, ("retry_cost", &[1.0, 5.0, 14.0])] },
    Range { control: "aws-2026", values: &[QUOTA, ("retry_cost", &[1.0, 5.0, 14.0])] },
    Range { control: "finagle", values: &[PERCENT, PER_SECOND] },
    Range { control: "tower", values: &[PERCENT, PER_SECOND] },
    Range { control: "linkerd", values: &[PERCENT, PER_SECOND] },
    Range { control: "deposit", values: &[PERCENT, PER_SECOND] },
    Range { control: "google", values: &[PERCENT, ("window", &[10.0, 120.0])] },
    Range { control: "per-minute", values: &[("retries", &[0.0, 6.0, 60.0, 600.0, 6000.0])] },
    Range {
        control: "failsafe",
        values: &[
            ("max_rate", &[1.0, 2.0, 5.0, 10.0, 20.0, 50.0]),
            ("min_concurrency", &[0.0, 3.0, 30.0]),
        ],
    },
    Range {
        control: "arb",
        values: &[("max_percent", &[5.0, 10.0, 20.0, 50.0]), ("min_percent", &[1.0, 5.0])],
    },
    Range {
        control: "retry-guard",
        values: &[("min_gain", &[10.0, 50.0, 90.0]), ("max_failures", &[1.0, 5.0, 20.0])],
    },
];

/// The two that everything is measured against: unlimited retries, and none.
pub(super) fn references() -> [Setting; 2] {
    let of = |written: &str, control: &str, field: &str| Setting {
        written: written.to_owned(),
        control: control.to_owned(),
        default: false,
        fields: vec![field.to_owned()],
    };
    [of("no budget", UNLIMITED, "retry.budget={kind: none}"), of("no retries", "", "retry.limit=0")]
}

/// A setting as a user writes it: `{kind: envoy, percent: 20%}`.
pub(super) fn written(text: &str) -> Setting {
    let parts = || {
        let inner = text.trim().trim_start_matches('{').trim_end_matches('}');
        inner.split(',').filter_map(|part| part.split_once(':')).map(|(k, v)| (k.trim(), v.trim()))
    };
    let control = parts().find(|(key, _)| *key == "kind").map_or(text, |(_, name)| name);
    // What is left out is the default, and what is written may be it.
    let default = registry::find(control).is_some_and(|entry| {
        parts().filter(|(key, _)| *key != "kind").all(|(key, value)| {
            let parameter = entry.parameters.iter().find(|p| p.name == key);
            parameter.is_some_and(|p| quantity(p, p.default) == value)
        })
    });
    Setting {
        written: text.to_owned(),
        control: control.to_owned(),
        default,
        fields: vec![format!("retry.budget={text}")],
    }
}

/// Every setting of these budgets, or of all if none is named, in the order of the registry.
pub(super) fn over_ranges(only: &[String]) -> Vec<Setting> {
    registry::of(Kind::Budget)
        .filter(|e| e.name != UNLIMITED && (only.is_empty() || only.iter().any(|n| n == e.name)))
        .flat_map(of_entry)
        .collect()
}

fn of_entry(entry: &Entry) -> Vec<Setting> {
    let combinations = match RANGES.iter().find(|r| r.control == entry.name) {
        Some(range) => combined(entry, range),
        None => one_by_one(entry),
    };
    let mut settings: Vec<Setting> = Vec::new();
    for values in combinations {
        let setting = setting(entry, &values);
        if builds(entry, &values) && !settings.contains(&setting) {
            settings.push(setting);
        }
    }
    settings
}

/// The defaults, then the product of all values.
fn combined(entry: &Entry, range: &Range) -> Vec<Vec<f64>> {
    let mut all = vec![entry.defaults().collect::<Vec<f64>>()];
    for (name, values) in range.values {
        let Some(at) = entry.parameters.iter().position(|p| p.name == *name) else { continue };
        let with = |value: f64, of: &Vec<f64>| {
            let mut values = of.clone();
            values[at] = value;
            values
        };
        let default = entry.parameters[at].default;
        let values = std::iter::once(default).chain(values.iter().copied());
        all = values
            .flat_map(|v| all.iter().map(move |of| with(v, of)).collect::<Vec<_>>())
            .collect();
    }
    all
}

fn one_by_one(entry: &Entry) -> Vec<Vec<f64>> {
    let defaults: Vec<f64> = entry.defaults().collect();
    let mut all = vec![defaults.clone()];
    for (at, parameter) in entry.parameters.iter().enumerate() {
        if parameter.unit == Unit::Flag {
            continue;
        }
        for factor in [0.25, 0.5, 2.0, 4.0] {
            let scaled = (parameter.default * factor).clamp(parameter.min, parameter.max);
            let mut values = defaults.clone();
            values[at] = if parameter.unit == Unit::Count { scaled.round() } else { scaled };
            all.push(values);
        }
    }
    all
}

fn builds(entry: &Entry, values: &[f64]) -> bool {
    matches!(entry.build, Build::Budget(build) if build(values).is_some())
}

fn setting(entry: &Entry, values: &[f64]) -> Setting {
    let mut written = format!("{{kind: {}", entry.name);
    for (parameter, value) in entry.parameters.iter().zip(values) {
        // What nobody changes is left out, unless it is all that there is to tell.
        let told = RANGES
            .iter()
            .find(|r| r.control == entry.name)
            .is_none_or(|r| r.values.iter().any(|(name, _)| *name == parameter.name));
        if told {
            written.push_str(&format!(", {}: {}", parameter.name, quantity(parameter, *value)));
        }
    }
    written.push('}');
    Setting {
        fields: vec![format!("retry.budget={written}")],
        written,
        control: entry.name.to_owned(),
        default: entry.defaults().eq(values.iter().copied()),
    }
}

/// A parameter's value as the system file writes it.
fn quantity(parameter: &Parameter, value: f64) -> String {
    match parameter.unit {
        Unit::Percent => format!("{value}%"),
        Unit::Duration => Nanos::from_secs_f64(value).to_string(),
        Unit::Rate => format!("{value}/s"),
        Unit::Flag => (value != 0.0).to_string(),
        _ => format!("{value}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_budget_is_priced_at_its_default_and_around_it() {
        let all = over_ranges(&[]);
        for entry in registry::of(Kind::Budget).filter(|e| e.name != UNLIMITED) {
            let of: Vec<&Setting> = all.iter().filter(|s| s.control == entry.name).collect();
            assert!(of.len() >= 5, "{}: {}", entry.name, of.len());
            assert_eq!(of.iter().filter(|s| s.default).count(), 1, "{}", entry.name);
        }
        assert!(all.iter().all(|s| s.control != UNLIMITED));
    }

    /// A misspelt name would be left out without a word.
    #[test]
    fn ranges_name_controls_and_parameters_that_exist() {
        for range in RANGES {
            let entry = registry::find(range.control).unwrap();
            assert_eq!(entry.kind, Kind::Budget, "{}", range.control);
            for (name, values) in range.values {
                let p = entry.parameters.iter().find(|p| p.name == *name);
                let p = p.unwrap_or_else(|| panic!("{}.{name}", range.control));
                assert!(
                    values.iter().all(|v| (p.min..=p.max).contains(v)),
                    "{}.{name}",
                    entry.name
                );
            }
        }
    }

    #[test]
    fn a_budget_without_a_row_is_tried_around_its_default() {
        let entry = registry::find("google").unwrap();
        let tried = one_by_one(entry);
        assert_eq!(tried.len(), 1 + 2 * 4);
        assert!(tried.contains(&vec![2.5, 120.0]) && tried.contains(&vec![10.0, 480.0]));
    }

    #[test]
    fn settings_are_what_a_system_file_reads() {
        let mut settings = over_ranges(&[]);
        settings.extend(references());
        settings.push(written("{kind: envoy, percent: 7%}"));
        let text = "
damper: 1
name: t
services: {db: {workers: 1, service_time: 1ms}}
load: 1/s
requests: {q: {calls: [db]}}
policies: {\"client -> db\": {timeout: 1s, retry: {limit: 1}}}
";
        for setting in settings {
            let mut file = damper_system::SystemFile::parse("t.yaml", text).unwrap();
            for field in &setting.fields {
                file.set(&format!("policies.\"client -> db\".{field}")).unwrap();
            }
            let system = file.lower().unwrap_or_else(|e| panic!("{}: {e:?}", setting.written));
            let budget = &system.policies.edges[0].policy.budget;
            if !setting.control.is_empty() {
                assert_eq!(budget.kind, setting.control);
            }
        }
    }

    #[test]
    fn what_somebody_writes_may_be_a_default() {
        let default = |text: &str| written(text).default;
        assert!(default("{kind: envoy, percent: 20%, min_retry_concurrency: 3}"));
        assert!(default("{kind: envoy}") && default("{kind: envoy, percent: 20%}"));
        assert!(default("{ kind: finagle , ttl: 10s }"));
        assert!(!default("{kind: envoy, percent: 10%}") && !default("{kind: nobody}"));
    }

    #[test]
    fn only_what_is_named() {
        let some = over_ranges(&["envoy".to_owned()]);
        assert!(some.len() == 18 && some.iter().all(|s| s.control == "envoy"));
        let default = some.iter().find(|s| s.default).unwrap();
        assert_eq!(default.written, "{kind: envoy, percent: 20%, min_retry_concurrency: 3}");
    }
}
