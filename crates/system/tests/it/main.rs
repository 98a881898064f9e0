//! The system file from the outside.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

mod changes;
mod controls;
mod docs;
mod drill;
mod examples;
mod lowering;
mod mistakes;
mod random;
mod schema;
mod sends;
mod warnings;

use damper_system::{Problems, System, SystemFile};

/// A small valid file with some of its sections replaced; an empty text removes one.
fn file(sections: &[(&str, &str)]) -> String {
    let defaults = [
        ("damper", "1"),
        ("classes", ""),
        ("services", "{db: {workers: 30, service_time: 100ms}}"),
        ("caches", ""),
        ("load", "270/s"),
        ("arrivals", ""),
        ("requests", "{read: {calls: [db]}}"),
    ];
    let said = |key: &str| sections.iter().find(|(k, _)| *k == key).map(|(_, v)| *v);
    let kept = defaults.map(|(key, value)| (key, said(key).unwrap_or(value)));
    let more = sections.iter().filter(|(key, _)| !defaults.iter().any(|(k, _)| k == key)).copied();
    kept.into_iter()
        .chain(more)
        .filter(|(_, value)| !value.is_empty())
        .map(|(key, value)| format!("{key}: {value}\n"))
        .collect()
}

fn lower(text: &str) -> Result<(System, Problems), Problems> {
    SystemFile::parse("system.yaml", text)?.lower_with_warnings()
}

/// The system of a valid file.
fn good(sections: &[(&str, &str)]) -> System {
    let text = file(sections);
    match lower(&text) {
        Ok((system, _)) => system,
        Err(problems) => panic!("{problems}"),
    }
}

/// The problems of a file that is not valid.
fn bad(text: &str) -> Problems {
    match lower(text) {
        Ok(_) => panic!("this is valid:\n{text}"),
        Err(problems) => problems,
    }
}
