//! What a kind is called in messages and in the docs.

use super::{Kind, Names};
use crate::sections::control::{noun, section_name};

impl Kind {
    /// What a problem says was expected.
    pub(crate) fn expected(&self) -> String {
        match self {
            Self::Text => "a text".into(),
            Self::Name(names) => names.expected().into(),
            Self::Word(words) => list(words),
            Self::Flag => "`true` or `false`".into(),
            Self::Duration { zero: true } => "a duration such as `5ms` or `2s`".into(),
            Self::Duration { zero: false } => "a duration above zero such as `5ms` or `2s`".into(),
            Self::Rate { zero: true } => "a rate such as `300/s`".into(),
            Self::Rate { zero: false } => "a rate above zero such as `300/s`".into(),
            Self::Share { zero: true } => "a percentage such as `20%`".into(),
            Self::Share { zero: false } => "a percentage above zero such as `20%`".into(),
            Self::Percent { max } => {
                format!("a percentage up to {}% such as `20%`", grouped(*max as u64))
            }
            Self::Count { min, max } if min == max => format!("`{min}`"),
            Self::Count { min, max } if *max == u64::MAX => {
                format!("a whole number, at least {min}")
            }
            Self::Count { min, max } => {
                format!("a whole number from {min} to {}", grouped(*max))
            }
            Self::Size { min, max } => {
                format!("a size such as `64KiB`, from {} to {}", size(*min), size(*max))
            }
            Self::Number { min, max } => {
                format!("a number from {min} to {}", grouped(*max as u64))
            }
            Self::Factor { min, max } => {
                format!("a factor such as `3x`, from {min} to {}", grouped(*max as u64))
            }
            Self::Either(kinds) => {
                let kinds: Vec<String> = kinds.iter().map(Self::expected).collect();
                kinds.join(", or ")
            }
            Self::List(_) => "a list".into(),
            Self::OneOrMany(kind) => format!("{}, or a list of them", kind.expected()),
            Self::Pair(a, b) => format!("a list of two: {}, {}", a.expected(), b.expected()),
            Self::Section(section) | Self::Optional(section) => {
                let keys: Vec<&str> = section.keys.iter().map(|k| k.name).collect();
                format!("a mapping with {}", commas(&keys))
            }
            Self::Keyed(tagged) => {
                let keys: Vec<&str> = tagged.variants.iter().map(|v| v.name).collect();
                format!("a mapping with {}", list(&keys))
            }
            Self::Tagged(tagged) => {
                let first = tagged.section.keys.first().map_or("", |k| k.name);
                format!("a mapping with `{first}`")
            }
            Self::Map(names, _) => format!("a mapping from {}", names.plural()),
            Self::Control(of) => {
                format!("the name of a {}, or a mapping with `kind`", noun(*of))
            }
            Self::Steps => "a list of calls".into(),
        }
    }

    /// What the docs call it.
    pub(crate) fn docs(&self) -> String {
        match self {
            Self::Text => "text".into(),
            Self::Name(names) => names.expected().trim_start_matches("the ").into(),
            Self::Word(words) => {
                words.iter().map(|w| format!("`{w}`")).collect::<Vec<_>>().join(", ")
            }
            Self::Flag => "`true`, `false`".into(),
            Self::Duration { zero: true } => "duration".into(),
            Self::Duration { zero: false } => "duration > 0".into(),
            Self::Rate { zero: true } => "rate".into(),
            Self::Rate { zero: false } => "rate > 0".into(),
            Self::Share { zero: true } => "percentage".into(),
            Self::Share { zero: false } => "percentage > 0".into(),
            Self::Percent { max } => format!("percentage up to {}%", grouped(*max as u64)),
            Self::Count { min, max } if min == max => format!("`{min}`"),
            Self::Count { min, max } if *max == u64::MAX => format!("count ≥ {min}"),
            Self::Count { min, max } => format!("count {min} to {}", grouped(*max)),
            Self::Size { min, max } => format!("size {} to {}", size(*min), size(*max)),
            Self::Number { min, max } => format!("number {min} to {}", grouped(*max as u64)),
            Self::Factor { min, max } => format!("factor {min} to {}", grouped(*max as u64)),
            Self::Either(kinds) => kinds.iter().map(Self::docs).collect::<Vec<_>>().join(" or "),
            Self::List(kind) => format!("list of {}", kind.docs()),
            Self::OneOrMany(kind) => format!("{}, or a list", kind.docs()),
            Self::Pair(a, b) => format!("[{}, {}]", a.docs(), b.docs()),
            Self::Section(s) | Self::Optional(s) => link(s.name),
            Self::Tagged(tagged) | Self::Keyed(tagged) => link(tagged.section.name),
            Self::Map(names, kind) => format!("{} → {}", names.plural(), kind.docs()),
            Self::Control(of) => link(section_name(*of)),
            // Told in prose, before the tables.
            Self::Steps => "[calls](#requests)".into(),
        }
    }
}

fn link(name: &str) -> String {
    format!("[{name}](#{name})")
}

impl Names {
    pub(crate) fn expected(self) -> &'static str {
        match self {
            Self::Service => "the name of a service",
            Self::Cache => "the name of a cache",
            Self::Class => "the name of a class",
            Self::Trigger => "the name of a trigger",
            Self::Request => "the name of a request type",
            Self::Policy => "`default`, a callee, or `caller -> callee`",
            Self::ClassOrAll => "`all` or the name of a class",
            Self::ServiceOrEntry => "`entry` or the name of a service",
            Self::Host => "the name or address of a host",
            Self::Header => "the name of a header",
            Self::Metric => "the name of a metric",
            Self::Lever => "the name of a lever",
            Self::Attribute => "the name of an attribute",
        }
    }

    pub(crate) fn plural(self) -> &'static str {
        match self {
            Self::Service => "service names",
            Self::Cache => "cache names",
            Self::Class => "class names",
            Self::Trigger => "trigger names",
            Self::Request => "request names",
            Self::Policy => "`default`, callees, or `caller -> callee`",
            Self::ClassOrAll => "`all` or class names",
            Self::ServiceOrEntry => "`entry` or service names",
            Self::Host => "hosts",
            Self::Header => "header names",
            Self::Metric => "metric names",
            Self::Lever => "lever names",
            Self::Attribute => "attribute names",
        }
    }
}

/// `a`, `b`, `c`.
pub(crate) fn commas<S: AsRef<str>>(words: &[S]) -> String {
    let quoted: Vec<String> = words.iter().map(|w| format!("`{}`", w.as_ref())).collect();
    quoted.join(", ")
}

/// `a`, `b` or `c`.
pub(crate) fn list<S: AsRef<str>>(words: &[S]) -> String {
    let quoted: Vec<String> = words.iter().map(|w| format!("`{}`", w.as_ref())).collect();
    join(&quoted)
}

pub(crate) fn join(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} or {last}", most.join(", ")),
    }
}

/// 1_000_000.
pub(crate) fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push('_');
        }
        out.push(c);
    }
    out
}

/// 64KiB.
pub(crate) fn size(bytes: u64) -> String {
    let units = crate::units::SIZES.iter().rev();
    let unit = units.copied().find(|(_, size)| bytes >= *size && bytes.is_multiple_of(*size));
    let (name, size) = unit.unwrap_or(("B", 1));
    format!("{}{name}", bytes / size)
}
