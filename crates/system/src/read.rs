//! Reads nodes against the tables and collects what is wrong.

use std::collections::HashMap;

use damper_control::Nanos;

use crate::node::{Entry, Name, Node, Value, quoted};
use crate::problem::{Draft, Sink};
use crate::schema::{Key, Kind, Names, Presence, Section, Tagged, Variant, words};
use crate::source::Span;
use crate::units::{self, Mistake};

/// A value of a simple kind.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Val {
    Text(String),
    Word(&'static str),
    Flag(bool),
    Duration(Nanos),
    /// Rates per second, shares (20 % is 0.2), numbers and factors.
    Number(f64),
    Count(u64),
    /// Index among the names of its kind.
    Id(usize),
    /// `all`.
    All,
}

/// Names of one kind, in the order of the file.
#[derive(Debug, Default)]
pub(crate) struct NameList {
    list: Vec<String>,
    index: HashMap<String, usize>,
}

impl NameList {
    pub(crate) fn new(list: Vec<String>) -> Self {
        let index = list.iter().cloned().zip(0..).collect();
        Self { list, index }
    }

    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        self.index.get(name).copied()
    }
}

impl std::ops::Deref for NameList {
    type Target = [String];
    fn deref(&self) -> &[String] {
        &self.list
    }
}

/// What names the file defines.
#[derive(Debug, Default)]
pub(crate) struct Defined {
    pub(crate) classes: NameList,
    pub(crate) services: NameList,
    pub(crate) caches: NameList,
    pub(crate) triggers: NameList,
}

/// The context of reading: problems and names.
pub(crate) struct Reader<'s> {
    pub(crate) sink: Sink<'s>,
    pub(crate) names: Defined,
}

/// The keys that were found of a section.
pub(crate) struct Fields<'n> {
    /// Where the section stands, for what is missing.
    pub(crate) at: Span,
    found: Vec<(&'static Key, &'n Entry)>,
}

impl<'n> Fields<'n> {
    pub(crate) fn entry(&self, name: &str) -> Option<&'n Entry> {
        self.found
            .iter()
            .find(|(key, _)| key.name == name)
            .map(|(_, entry)| *entry)
    }

    pub(crate) fn node(&self, name: &str) -> Option<&'n Node> {
        self.entry(name).map(|e| &e.value)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.entry(name).is_some()
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &'n Name> {
        self.found.iter().map(|(_, e)| &e.key)
    }

    /// Where the value of a key stands, or the section.
    pub(crate) fn span(&self, name: &str) -> Span {
        self.node(name).map_or(self.at, |n| n.span)
    }
}

impl Reader<'_> {
    pub(crate) fn error(&mut self, draft: Draft) {
        self.sink.error(draft);
    }

    pub(crate) fn warn(&mut self, draft: Draft) {
        self.sink.warn(draft);
    }

    /// Matches a mapping with a section: unknown and missing keys are problems.
    pub(crate) fn section<'n>(
        &mut self,
        node: &'n Node,
        section: &'static Section,
        at: Span,
    ) -> Option<Fields<'n>> {
        let fields = self.keys(node, section, at)?;
        for key in section.keys {
            if matches!(key.presence, Presence::Required) && !fields.has(key.name) {
                self.missing(&fields, key.name, &key.kind);
            }
        }
        Some(fields)
    }

    /// The same, but nothing has to be there.
    pub(crate) fn part<'n>(
        &mut self,
        node: &'n Node,
        section: &'static Section,
        at: Span,
    ) -> Option<Fields<'n>> {
        self.keys(node, section, at)
    }

    pub(crate) fn missing(&mut self, fields: &Fields<'_>, name: &str, kind: &Kind) {
        let message = format!("`{name}` is missing");
        self.error(
            Draft::new(fields.at, message)
                .found(format!("no `{name}`"))
                .expected(format!("`{name}:` {}", kind.expected())),
        );
    }

    fn keys<'n>(
        &mut self,
        node: &'n Node,
        section: &'static Section,
        at: Span,
    ) -> Option<Fields<'n>> {
        let Some(entries) = node.entries() else {
            let kind = Kind::Section(section);
            self.error(
                Draft::new(node.span, "this must be a mapping")
                    .found(node.found())
                    .expected(kind.expected()),
            );
            return None;
        };
        let mut found = Vec::new();
        for entry in entries {
            match section.key(&entry.key.text) {
                Some(key) => found.push((key, entry)),
                None => {
                    let names: Vec<&str> = section.keys.iter().map(|k| k.name).collect();
                    self.unknown_key(&entry.key, &names, section.name);
                }
            }
        }
        Some(Fields { at, found })
    }

    pub(crate) fn unknown_key(&mut self, key: &Name, names: &[&str], place: &str) {
        let near = self.near(&key.text, names.iter().copied());
        self.error(
            Draft::new(
                key.span,
                format!("{} has no key {}", a(place), quoted(&key.text)),
            )
            .expected(words::list(names))
            .suggest(near),
        );
    }

    /// A section whose first key says which variant it is; checks the variant's keys.
    pub(crate) fn tagged<'n>(
        &mut self,
        node: &'n Node,
        tagged: &'static Tagged,
        at: Span,
    ) -> Option<(&'static Variant, Fields<'n>)> {
        let fields = self.keys(node, tagged.section, at)?;
        let tag = tagged.section.keys.first()?;
        if !fields.has(tag.name) {
            self.missing(&fields, tag.name, &tag.kind);
            return None;
        }
        let word = self.word(&fields, tag.name)?;
        let variant = tagged.variants.iter().find(|v| v.name == word)?;
        let complete = self.variant(&fields, tagged, variant, tag.name);
        complete.then_some((variant, fields))
    }

    /// A section in which exactly one of the keys that name variants must stand.
    pub(crate) fn keyed<'n>(
        &mut self,
        node: &'n Node,
        tagged: &'static Tagged,
        at: Span,
    ) -> Option<(&'static Variant, Fields<'n>)> {
        let fields = self.keys(node, tagged.section, at)?;
        let mut present = tagged.variants.iter().filter(|v| fields.has(v.name));
        let Some(variant) = present.next() else {
            // An unknown key has been reported already, and may be the one that is missing.
            if node
                .entries()
                .is_some_and(|e| e.len() == fields.found.len())
            {
                let names: Vec<&str> = tagged.variants.iter().map(|v| v.name).collect();
                let name = a(tagged.section.name);
                self.error(
                    Draft::new(at, format!("{name} needs the key that says what it is"))
                        .found(node.found())
                        .expected(words::list(&names)),
                );
            }
            return None;
        };
        if let Some(second) = present.next() {
            let (first, second) = (fields.entry(variant.name)?, fields.entry(second.name)?);
            self.error(
                Draft::new(
                    second.key.span,
                    format!(
                        "`{}` and `{}` exclude each other",
                        first.key.text, second.key.text
                    ),
                )
                .expected("one of the two")
                .also(first.key.span, "the other"),
            );
            return None;
        }
        let complete = self.variant(&fields, tagged, variant, variant.name);
        complete.then_some((variant, fields))
    }

    /// Whether the keys are those of a variant.
    fn variant(
        &mut self,
        fields: &Fields<'_>,
        tagged: &'static Tagged,
        variant: &'static Variant,
        tag: &str,
    ) -> bool {
        let mut right = true;
        for key in fields.keys() {
            let name = key.text.as_str();
            if name != tag && !variant.needs.contains(&name) && !variant.may.contains(&name) {
                right = false;
                let keys: Vec<&str> = variant.needs.iter().chain(variant.may).copied().collect();
                let expected = if keys.is_empty() {
                    "no other key".to_owned()
                } else {
                    words::list(&keys)
                };
                let message = format!("`{name}` does not apply to `{}`", variant.name);
                self.error(Draft::new(key.span, message).expected(expected));
            }
        }
        for need in variant.needs {
            if !fields.has(need) {
                right = false;
                if let Some(key) = tagged.section.key(need) {
                    let message = format!("`{}` needs `{need}`", variant.name);
                    self.error(
                        Draft::new(fields.at, message)
                            .found(format!("no `{need}`"))
                            .expected(format!("`{need}:` {}", key.kind.expected())),
                    );
                }
            }
        }
        right
    }

    /// The value of a key of a simple kind; what is wrong with it is a problem.
    pub(crate) fn value(&mut self, fields: &Fields<'_>, name: &str) -> Option<Val> {
        let (key, entry) = fields.found.iter().find(|(key, _)| key.name == name)?;
        self.scalar(&entry.value, &key.kind)
    }

    pub(crate) fn duration(&mut self, fields: &Fields<'_>, name: &str) -> Option<Nanos> {
        match self.value(fields, name) {
            Some(Val::Duration(d)) => Some(d),
            _ => None,
        }
    }

    pub(crate) fn number(&mut self, fields: &Fields<'_>, name: &str) -> Option<f64> {
        match self.value(fields, name) {
            Some(Val::Number(x)) => Some(x),
            _ => None,
        }
    }

    pub(crate) fn count(&mut self, fields: &Fields<'_>, name: &str) -> Option<u64> {
        match self.value(fields, name) {
            Some(Val::Count(n)) => Some(n),
            _ => None,
        }
    }

    /// A count that the table bounds to 32 bits.
    pub(crate) fn count32(&mut self, fields: &Fields<'_>, name: &str) -> Option<u32> {
        self.count(fields, name)
            .map(|n| n.min(u64::from(u32::MAX)) as u32)
    }

    pub(crate) fn word(&mut self, fields: &Fields<'_>, name: &str) -> Option<&'static str> {
        match self.value(fields, name) {
            Some(Val::Word(w)) => Some(w),
            _ => None,
        }
    }

    pub(crate) fn flag(&mut self, fields: &Fields<'_>, name: &str) -> Option<bool> {
        match self.value(fields, name) {
            Some(Val::Flag(b)) => Some(b),
            _ => None,
        }
    }

    pub(crate) fn id(&mut self, fields: &Fields<'_>, name: &str) -> Option<usize> {
        match self.value(fields, name) {
            Some(Val::Id(i)) => Some(i),
            _ => None,
        }
    }

    pub(crate) fn scalar(&mut self, node: &Node, kind: &Kind) -> Option<Val> {
        match self.try_scalar(node, kind) {
            Ok(value) => Some(value),
            Err(mistake) => {
                self.error(
                    Draft::new(node.span, mistake.message)
                        .found(node.found())
                        .expected(kind.expected())
                        .suggest(mistake.suggestion),
                );
                None
            }
        }
    }

    /// One or several values.
    pub(crate) fn one_or_many(&mut self, node: &Node, kind: &Kind) -> Option<Vec<Val>> {
        match &node.value {
            Value::Seq(items) if items.is_empty() => {
                self.error(
                    Draft::new(node.span, "this list is empty")
                        .expected(format!("{}, or a list of them", kind.expected())),
                );
                None
            }
            // All items are read, so that each says what is wrong with it.
            Value::Seq(items) => {
                let values: Vec<_> = items.iter().map(|i| self.scalar(i, kind)).collect();
                values.into_iter().collect()
            }
            _ => self.scalar(node, kind).map(|v| vec![v]),
        }
    }

    pub(crate) fn try_scalar(&self, node: &Node, kind: &Kind) -> Result<Val, Mistake> {
        let Some(text) = node.scalar() else {
            return Err(Mistake::new(match &node.value {
                Value::Null => "a value is missing",
                Value::Map(_) => "this must not be a mapping",
                _ => "this must not be a list",
            }));
        };
        let above = |x: f64, zero: bool| {
            if zero || x > 0.0 {
                Ok(Val::Number(x))
            } else {
                Err(Mistake::new("this must be above zero"))
            }
        };
        let within = |x: f64, min: f64, max: f64| {
            if x < min {
                Err(Mistake::new("this number is too small"))
            } else if x > max {
                Err(Mistake::new("this number is too large"))
            } else {
                Ok(Val::Number(x))
            }
        };
        match kind {
            Kind::Text if text.trim().is_empty() => Err(Mistake::new("this text is empty")),
            Kind::Text => Ok(Val::Text(text.to_owned())),
            Kind::Name(names) => self.name(text, *names),
            Kind::Word(words) => match words.iter().find(|w| **w == text) {
                Some(word) => Ok(Val::Word(word)),
                None => Err(Mistake {
                    message: "this word is not known here".into(),
                    suggestion: self.near(text, words.iter().copied()),
                }),
            },
            Kind::Flag => match text {
                "true" => Ok(Val::Flag(true)),
                "false" => Ok(Val::Flag(false)),
                _ => Err(match text.to_ascii_lowercase().as_str() {
                    "yes" | "on" | "true" => {
                        Mistake::new("this is not a yes or no").suggest("true")
                    }
                    "no" | "off" | "false" => {
                        Mistake::new("this is not a yes or no").suggest("false")
                    }
                    _ => Mistake::new("this is not a yes or no"),
                }),
            },
            Kind::Duration { zero } => match units::duration(text)? {
                Nanos::ZERO if !zero => Err(Mistake::new("this must be above zero")),
                d => Ok(Val::Duration(d)),
            },
            Kind::Rate { zero } => above(units::rate(text)?, *zero),
            Kind::Share { zero } => above(units::share(text)?, *zero),
            Kind::Count { min, max } => match units::count(text)? {
                n if n < *min => Err(Mistake::new("this number is too small")),
                n if n > *max => Err(Mistake::new("this number is too large")),
                n => Ok(Val::Count(n)),
            },
            Kind::Number { min, max } => within(units::number(text)?, *min, *max),
            Kind::Factor { min, max } => within(units::factor(text)?, *min, *max),
            Kind::Either(kinds) => self.either(node, text, kinds),
            _ => Err(Mistake::new("this must not be a single value")),
        }
    }

    /// The first alternative that fits; otherwise the mistake of the likeliest.
    fn either(&self, node: &Node, text: &str, kinds: &[Kind]) -> Result<Val, Mistake> {
        let mut mistakes = Vec::new();
        for kind in kinds {
            match self.try_scalar(node, kind) {
                Ok(value) => return Ok(value),
                Err(mistake) => mistakes.push((kind, mistake)),
            }
        }
        let digits = text.starts_with(|c: char| c.is_ascii_digit() || c == '-');
        let likely = mistakes
            .iter()
            .position(|(kind, m)| match kind {
                Kind::Word(_) | Kind::Name(_) => !digits && m.suggestion.is_some(),
                Kind::Section(_) | Kind::Tagged(_) | Kind::Keyed(_) | Kind::Map(..) => false,
                _ => digits,
            })
            .or_else(|| (!mistakes.is_empty()).then_some(0));
        match likely.map(|i| mistakes.swap_remove(i).1) {
            Some(mistake) => Err(mistake),
            None => Err(Mistake::new("nothing can stand here")),
        }
    }

    /// The nearest of some names, if it is near and will be shown.
    pub(crate) fn near<'a>(
        &self,
        text: &str,
        names: impl Iterator<Item = &'a str>,
    ) -> Option<String> {
        if self.sink.is_full() {
            return None;
        }
        nearest(text, names)
    }

    pub(crate) fn name(&self, text: &str, names: Names) -> Result<Val, Mistake> {
        let (known, what) = match names {
            Names::Service => (&self.names.services, "service"),
            Names::Cache => (&self.names.caches, "cache"),
            Names::Trigger => (&self.names.triggers, "trigger"),
            Names::ClassOrAll if text == "all" => return Ok(Val::All),
            _ => (&self.names.classes, "class"),
        };
        match known.find(text) {
            Some(i) => Ok(Val::Id(i)),
            None => Err(Mistake {
                message: format!("there is no {what} {}", quoted(text)),
                suggestion: self.near(text, known.iter().map(String::as_str)),
            }),
        }
    }
}

/// The nearest of some names, if it is near at all.
fn nearest<'a>(text: &str, names: impl Iterator<Item = &'a str>) -> Option<String> {
    if text.len() > 100 {
        return None;
    }
    let lower = text.to_lowercase();
    names
        .take(MAX_NAMES)
        .filter(|name| name.len().abs_diff(text.len()) <= MAX_DISTANCE)
        .map(|name| {
            (
                strsim::damerau_levenshtein(&lower, &name.to_lowercase()),
                name,
            )
        })
        .filter(|(distance, name)| {
            let length = name.chars().count().max(lower.chars().count());
            let prefix = lower.get(..4).is_some_and(|p| name.starts_with(p));
            (*distance <= 1.max(length / 3) || prefix && *distance <= length / 2)
                && *distance < name.chars().count()
        })
        .min()
        .map(|(_, name)| name.to_owned())
}

/// Of how many names the nearest is looked for.
const MAX_NAMES: usize = 5_000;
const MAX_DISTANCE: usize = 20;

/// With its article.
fn a(noun: &str) -> String {
    let noun = noun.replace('-', " ");
    match noun.chars().next() {
        _ if noun == "file" => "the file".into(),
        Some('a' | 'e' | 'i' | 'o' | 'u') => format!("an {noun}"),
        _ => format!("a {noun}"),
    }
}
