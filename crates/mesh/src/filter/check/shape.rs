//! Whether every key is known and every value is of its kind, by the table of keys.

use serde_json::{Map, Value};

use super::MOST_PROBLEMS;
use crate::filter::keys::{Key, Kind, LEVER, ROOT, Section};
use crate::filter::problem::{Problem, nearest, quoted};

/// What is wrong.
pub(super) fn check(value: &Value) -> Vec<Problem> {
    // Names of classes are known before the rest is read, so that a misspelt one has its nearest.
    let classes = value.get("classes").and_then(Value::as_array);
    let classes: Vec<String> = match classes {
        Some(names) => names.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        None => vec![super::meaning::ONLY_CLASS.to_owned()],
    };
    let mut shape = Shape { classes, problems: Vec::new() };
    shape.value("", value, &Kind::Object(&ROOT));
    shape.problems
}

/// What is wrong with positions of the lever.
pub(super) fn check_lever(value: &Value, classes: &[String]) -> Vec<Problem> {
    let mut shape = Shape { classes: classes.to_vec(), problems: Vec::new() };
    shape.value("lever", value, &Kind::ByClass(&Kind::One(&LEVER)));
    shape.problems
}

struct Shape {
    classes: Vec<String>,
    problems: Vec<Problem>,
}

impl Shape {
    fn problem(&mut self, path: &str, found: String, expected: String, nearest: Option<String>) {
        if self.problems.len() <= MOST_PROBLEMS {
            self.problems.push(Problem { path: path.to_owned(), found, expected, nearest });
        }
    }

    fn value(&mut self, path: &str, value: &Value, kind: &Kind) {
        match (kind, value) {
            (Kind::Word(words), Value::String(word)) => {
                self.name(path, word, words.iter().copied());
            }
            (Kind::Class, Value::String(word)) => self.class(path, word),
            (Kind::Text(rule), Value::String(text)) => {
                if text.len() > rule.most || !(rule.valid)(text) {
                    self.problem(path, quoted(text), rule.what.to_owned(), None);
                }
            }
            (Kind::Whole { min, max }, Value::Number(number)) => {
                if !number.as_u64().is_some_and(|n| (*min..=*max).contains(&n)) {
                    self.problem(path, number.to_string(), expected(kind), None);
                }
            }
            (Kind::Number { min, max }, Value::Number(number)) => {
                if !number.as_f64().is_some_and(|n| (*min..=*max).contains(&n)) {
                    self.problem(path, number.to_string(), expected(kind), None);
                }
            }
            (Kind::Flag, Value::Bool(_)) => {}
            (Kind::List { of, least, most }, Value::Array(items)) => {
                if items.len() < *least || items.len() > *most {
                    self.problem(path, format!("{} items", items.len()), expected(kind), None);
                }
                for (n, item) in items.iter().take(*most).enumerate() {
                    self.value(&format!("{path}[{n}]"), item, of);
                }
            }
            (Kind::Object(section), Value::Object(map)) => {
                self.object(path, map, section.keys, &[]);
            }
            (Kind::One(section), Value::Object(map)) => {
                self.object(path, map, section.keys, &[]);
                if map.len() != 1 {
                    self.problem(path, format!("{} keys", map.len()), expected(kind), None);
                }
            }
            (Kind::ByClass(of), Value::Object(map)) => {
                for (class, value) in map.iter().take(MOST_PROBLEMS + self.classes.len()) {
                    let at = join(path, class);
                    self.class(&at, class);
                    self.value(&at, value, of);
                }
            }
            (Kind::Tagged { tag, variants }, Value::Object(map)) => {
                self.tagged(path, map, tag, variants);
            }
            (Kind::Either(kinds), _) => match kinds.iter().find(|kind| form_fits(kind, value)) {
                Some(kind) => self.value(path, value, kind),
                None => self.problem(path, form(value), expected(kind), None),
            },
            _ => self.problem(path, form(value), expected(kind), None),
        }
    }

    fn name<'a>(&mut self, path: &str, word: &str, all: impl Iterator<Item = &'a str> + Clone) {
        if !all.clone().any(|one| one == word) {
            self.problem(path, quoted(word), one_of(all.clone()), nearest(word, all));
        }
    }

    fn class(&mut self, path: &str, word: &str) {
        let classes = std::mem::take(&mut self.classes);
        let all = classes.iter().map(String::as_str);
        if !all.clone().any(|one| one == word) {
            let expected = format!("a class of `classes` ({})", one_of(all.clone()));
            self.problem(path, quoted(word), expected, nearest(word, all));
        }
        self.classes = classes;
    }

    fn object(&mut self, path: &str, map: &Map<String, Value>, keys: &[Key], besides: &[&str]) {
        for (name, value) in map.iter().take(MOST_PROBLEMS + keys.len()) {
            match keys.iter().find(|key| key.name == *name) {
                Some(key) => self.value(&join(path, name), value, &key.kind),
                None if besides.contains(&name.as_str()) => {}
                None => {
                    let all = || keys.iter().map(|key| key.name).chain(besides.iter().copied());
                    let expected = format!("a key of {}", one_of(all()));
                    let near = nearest(name, all());
                    self.problem(&join(path, name), "an unknown key".into(), expected, near);
                }
            }
        }
        for key in keys.iter().filter(|key| key.required && !map.contains_key(key.name)) {
            self.problem(&join(path, key.name), "nothing".into(), expected(&key.kind), None);
        }
    }

    fn tagged(&mut self, path: &str, map: &Map<String, Value>, tag: &str, variants: &[Section]) {
        let names = variants.iter().map(|variant| variant.name);
        let at = join(path, tag);
        match map.get(tag) {
            Some(Value::String(word)) => match variants.iter().find(|v| v.name == *word) {
                Some(variant) => self.object(path, map, variant.keys, &[tag]),
                None => self.name(&at, word, names),
            },
            Some(other) => self.problem(&at, form(other), one_of(names), None),
            None => self.problem(&at, "nothing".into(), one_of(names), None),
        }
    }
}

fn join(path: &str, name: &str) -> String {
    // A name comes from a stranger.
    let name: String =
        name.chars().take(64).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if path.is_empty() { name } else { format!("{path}.{name}") }
}

fn one_of<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

/// Whether the form in JSON is that of the kind.
fn form_fits(kind: &Kind, value: &Value) -> bool {
    match kind {
        Kind::Word(_) | Kind::Text(_) | Kind::Class => value.is_string(),
        Kind::Whole { .. } | Kind::Number { .. } => value.is_number(),
        Kind::Flag => value.is_boolean(),
        Kind::List { .. } => value.is_array(),
        Kind::Object(_) | Kind::ByClass(_) | Kind::Tagged { .. } | Kind::One(_) => {
            value.is_object()
        }
        Kind::Either(kinds) => kinds.iter().any(|kind| form_fits(kind, value)),
    }
}

/// What stands there, in a few words.
fn form(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => quoted(text),
        Value::Array(_) => "a list".into(),
        Value::Object(_) => "an object".into(),
    }
}

/// What may stand there, in a few words.
fn expected(kind: &Kind) -> String {
    match kind {
        Kind::Word(words) => format!("one of {}", one_of(words.iter().copied())),
        Kind::Text(rule) => rule.what.to_owned(),
        Kind::Class => "a class of `classes`".into(),
        Kind::Whole { min, max } if min == max => format!("{min}"),
        Kind::Whole { min, max } => format!("a whole number from {min} to {max}"),
        Kind::Number { min, max } => format!("a number from {min} to {max}"),
        Kind::Flag => "true or false".into(),
        Kind::List { least: 0, most, .. } => format!("a list of at most {most}"),
        Kind::List { least, most, .. } => format!("a list of {least} to {most}"),
        Kind::Object(section) => format!("an object with {}", keys(section)),
        Kind::One(section) => format!("an object with exactly one of {}", keys(section)),
        Kind::ByClass(of) => format!("an object that gives a class of `classes` {}", expected(of)),
        Kind::Tagged { tag, variants } => {
            format!("an object with `{tag}`: {}", one_of(variants.iter().map(|v| v.name)))
        }
        Kind::Either(kinds) => kinds.iter().map(expected).collect::<Vec<_>>().join(", or "),
    }
}

fn keys(section: &Section) -> String {
    one_of(section.keys.iter().map(|key| key.name))
}
