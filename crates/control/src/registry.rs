//! The table of controls: what a system file may name.
//!
//! A control's module has its [`Entry`]; one line in the table of its family makes it available
//! by name, in the system file, in `damper schema`, in `damper controls`, in error messages and
//! in the docs.

use crate::entry::{Entry, Kind};
use crate::{admission, backoff, budget, concurrency, gate, lever, limits, overload, queue};

/// Every control, family by family.
const FAMILIES: &[&[&Entry]] = &[
    limits::ENTRIES,
    backoff::ENTRIES,
    budget::ENTRIES,
    gate::ENTRIES,
    admission::ENTRIES,
    concurrency::ENTRIES,
    queue::order::ENTRIES,
    queue::rule::ENTRIES,
    overload::ENTRIES,
    lever::ENTRIES,
];

/// Every control.
pub fn all() -> impl Iterator<Item = &'static Entry> {
    FAMILIES.iter().flat_map(|family| family.iter().copied())
}

/// The controls of one kind.
pub fn of(kind: Kind) -> impl Iterator<Item = &'static Entry> {
    all().filter(move |entry| entry.kind == kind)
}

/// The control of this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Entry> {
    all().find(|entry| entry.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::Build;
    use crate::observe::Observe;
    use std::collections::HashSet;
    use std::vec::Vec;

    /// Builds it and gives the names of what it shows; `None` if it refuses the values.
    fn build(entry: &Entry, values: &[f64]) -> Option<Vec<&'static str>> {
        let names = |control: &dyn Observe| {
            let mut names = Vec::new();
            control.observe(&mut |name, value| {
                assert!(value.is_finite(), "{} {name}", entry.name);
                names.push(name);
            });
            names
        };
        match entry.build {
            Build::Section => Some(entry.readings.iter().map(|r| r.name).collect()),
            Build::Backoff(f) => f(values).map(|_| Vec::new()),
            Build::Budget(f) => f(values).map(|c| names(&c)),
            Build::Gate(f) => f(values).map(|c| names(&c)),
            Build::Concurrency(f) => f(values).map(|c| names(&c)),
            Build::Order(f) => f(values).map(|c| names(&c)),
            Build::Drop(f) => f(values).map(|c| names(&c)),
            Build::Admission(f) => f(values).map(|c| names(&c)),
        }
    }

    #[test]
    fn every_control_builds_with_its_defaults_and_shows_what_it_says() {
        for entry in all() {
            let defaults: Vec<f64> = entry.defaults().collect();
            let shown = build(entry, &defaults);
            let said: Vec<&str> = entry.readings.iter().map(|r| r.name).collect();
            assert_eq!(shown.as_deref(), Some(said.as_slice()), "{}", entry.name);
        }
    }

    #[test]
    fn every_control_refuses_what_is_out_of_range_and_never_panics() {
        for entry in all() {
            if matches!(entry.build, Build::Section) {
                continue;
            }
            let defaults: Vec<f64> = entry.defaults().collect();
            let mut extra = defaults.clone();
            extra.push(1.0);
            assert!(build(entry, &extra).is_none(), "{}: one too many", entry.name);
            for (i, parameter) in entry.parameters.iter().enumerate() {
                assert!(
                    (parameter.min..=parameter.max).contains(&parameter.default),
                    "{}.{}",
                    entry.name,
                    parameter.name
                );
                let mut values = defaults.clone();
                values[i] = f64::NAN;
                assert!(build(entry, &values).is_none(), "{}.{} NaN", entry.name, parameter.name);
                for extreme in [parameter.min, parameter.max] {
                    values[i] = extreme;
                    build(entry, &values);
                }
                let below =
                    if parameter.min > 0.0 { parameter.min / 2.0 } else { parameter.min - 1.0 };
                values[i] = below;
                assert!(
                    build(entry, &values).is_none(),
                    "{}.{} {below}",
                    entry.name,
                    parameter.name
                );
            }
        }
    }

    #[test]
    fn names_are_unique_and_pages_are_written() {
        let mut names = HashSet::new();
        for entry in all() {
            assert!(names.insert(entry.name), "{} twice", entry.name);
            assert!(!entry.summary.is_empty() && !entry.summary.ends_with('.'), "{}", entry.name);
            for (what, text) in
                [("source", entry.source), ("rule", entry.rule), ("when", entry.when)]
            {
                assert!(!text.trim().is_empty(), "{}: no {what}", entry.name);
            }
            assert!(find(entry.name).is_some_and(|e| e.name == entry.name));
        }
        assert!(find("nothing of the kind").is_none());
    }
}
