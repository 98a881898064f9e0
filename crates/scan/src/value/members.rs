//! What a repository usually gives to fields that count attempts or say how long to wait: defaults
//! of constructors, functions and objects of defaults, fields of classes.

use super::eval::Values;
use super::project::Constants;
use super::{Data, Trust, Value};
use crate::tree::{Id, Kind, Tree};

/// Parts of names of such fields, in lower case.
const WORDS: &[&str] = &[
    "retry", "retries", "attempt", "tries", "backoff", "delay", "wait", "interval", "sleep",
    "pause", "cooldown",
];
/// So many functions of a file are looked at.
const MOST: usize = 64;
/// A longer list has no wait for each retry.
const MOST_WAITS: usize = 32;

/// Whether a field of this name counts attempts or says how long to wait.
pub(super) fn is_quantity(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    WORDS.iter().any(|word| lower.contains(word))
}

/// The defaults of the parameters of constructors, and what functions of defaults give.
pub(super) fn collect(all: &mut Constants, tree: &Tree<'_>, values: &Values<'_, '_>) {
    let mut seen = 0;
    for id in tree.ids() {
        let Kind::Function { name: Some(name), params, body, .. } = tree.kind(id) else { continue };
        let class = tree.class_of(id).and_then(|class| match tree.kind(class) {
            Kind::Class { name, .. } => *name,
            _ => None,
        });
        // `int getMaxRetries() { return property("a", 3).get(); }`.
        if params.is_empty()
            && is_quantity(name)
            && name.to_ascii_lowercase().starts_with("get")
            && let (Some(class), Some(value)) = (class, returned(tree, *body))
        {
            add(all, format!("{class}.{name}"), values.of(value));
            continue;
        }
        let makes = matches!(*name, "__init__" | "constructor" | "init") || class == Some(name);
        // As Go makes an object of its defaults: `NewClient`.
        let news = class.is_none() && name.strip_prefix("New").is_some_and(begins_upper);
        let gives = name.to_ascii_lowercase().contains("default") || news;
        if !makes && !gives {
            continue;
        }
        seen += 1;
        if seen > MOST {
            return;
        }
        if let (true, Some(class)) = (makes, class) {
            for param in params.iter().filter(|param| is_quantity(param.name)) {
                let Some(default) = param.default else { continue };
                add(all, format!("{class}.{}", param.name), values.of(default));
            }
        }
        if gives {
            for (key, value) in given(tree, values, *body) {
                add(all, format!("{name}().{key}"), value);
            }
        }
    }
}

/// What a function gives of which that is all.
fn returned(tree: &Tree<'_>, body: Id) -> Option<Id> {
    let only = match tree.kind(body) {
        Kind::Block(all) => match all[..] {
            [only] => only,
            _ => return None,
        },
        _ => body,
    };
    match tree.kind(only) {
        Kind::Return(value) => *value,
        _ => None,
    }
}

/// Whether a name begins as one of Go that others may use.
fn begins_upper(name: &str) -> bool {
    name.is_empty() || name.starts_with(char::is_uppercase)
}

/// The entries of objects that are written in a function of defaults.
fn given(tree: &Tree<'_>, values: &Values<'_, '_>, body: Id) -> Vec<(String, Value)> {
    let mut out = Vec::new();
    for id in tree.walk_here(body).take(400) {
        let Kind::Record { entries, .. } = tree.kind(id) else { continue };
        for entry in entries {
            if let Some(key) = entry.key.as_deref().filter(|key| is_quantity(key)) {
                out.push((key.to_owned(), values.of(entry.value)));
            }
        }
    }
    out
}

fn add(all: &mut Constants, key: String, value: Value) {
    if is_number(&value) {
        all.names.entry(key.into()).or_insert(value.at_most(Trust::Usual));
    }
}

/// Whether a value is a number or a duration, or a list of such: a wait for each retry.
fn is_number(value: &Value) -> bool {
    match &value.data {
        Data::List(all) => !all.is_empty() && all.len() <= MOST_WAITS && all.iter().all(is_one),
        _ => is_one(value),
    }
}

fn is_one(value: &Value) -> bool {
    matches!(value.data, Data::Number(_) | Data::Duration(_)) && !value.random
}

/// A name of a field as its property, its parameter and itself have it in common: `_maxRetries`,
/// `MaxRetries`.
pub(super) fn common_name(name: &str) -> String {
    let name = name.trim_start_matches('_');
    let mut chars = name.chars();
    match chars.next() {
        // A constant stays as it is.
        Some(first) if chars.clone().any(char::is_lowercase) => {
            first.to_lowercase().chain(chars).collect()
        }
        _ => name.to_owned(),
    }
}

/// What a file says of fields that count or wait, by their names.
pub(super) fn of(constants: &Constants) -> Vec<(&str, Value)> {
    let mut out = Vec::new();
    for (key, value) in &constants.names {
        if let Some((_, field)) = key.rsplit_once('.') {
            if is_quantity(field) && is_number(value) {
                out.push((field, value.clone()));
            }
        } else if key.to_ascii_lowercase().contains("default")
            && let Data::Record(entries) = &value.data
        {
            let entries =
                entries.iter().filter(|(field, one)| is_quantity(field) && is_number(one));
            out.extend(entries.map(|(field, one)| (field.as_str(), one.clone())));
        }
    }
    out
}
