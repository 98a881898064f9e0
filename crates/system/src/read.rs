//! Reads nodes against the tables and collects what is wrong.

use damper_control::Nanos;

use crate::node::{Entry, Name, Node, quoted};
use crate::problem::{Draft, Sink};
use crate::schema::{Key, Kind, Presence, Section, Tagged, Variant, words};
use crate::source::Span;

mod names;
mod scalar;

pub use names::misspelt;
pub(crate) use names::{Defined, NameList, nearest};

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
        self.found.iter().find(|(key, _)| key.name == name).map(|(_, entry)| *entry)
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
            Draft::new(key.span, format!("{} has no key {}", a(place), quoted(&key.text)))
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
            if node.entries().is_some_and(|e| e.len() == fields.found.len()) {
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
                    format!("`{}` and `{}` exclude each other", first.key.text, second.key.text),
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
                let expected =
                    if keys.is_empty() { "no other key".to_owned() } else { words::list(&keys) };
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
        self.count(fields, name).map(|n| n.min(u64::from(u32::MAX)) as u32)
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
}

/// With its article.
fn a(noun: &str) -> String {
    let noun = noun.replace('-', " ");
    match noun.chars().next() {
        _ if noun == "file" => "the file".into(),
        Some('a' | 'e' | 'i' | 'o' | 'u') => format!("an {noun}"),
        _ => format!("a {noun}"),
    }
}
