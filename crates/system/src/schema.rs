//! The tables that drive everything: what keys a section has, of which kind, with which
//! default. The reader checks files against them; the JSON Schema and the tables of
//! `docs/system-file.md` are printed from them. One row adds a key to all three.

pub(crate) mod json;
pub(crate) mod tables;
pub(crate) mod words;

/// A mapping with fixed keys.
#[derive(Debug)]
pub(crate) struct Section {
    /// Its name in the schema and the docs.
    pub(crate) name: &'static str,
    /// One line for people.
    pub(crate) doc: &'static str,
    pub(crate) keys: &'static [Key],
}

/// One key of a section.
#[derive(Debug)]
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) presence: Presence,
    /// One line for people.
    pub(crate) doc: &'static str,
}

/// Whether a key may be left out, and what it means then.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Presence {
    /// It must be there.
    Required,
    /// It means this, written as in the file.
    Default(&'static str),
    /// What its absence means, in words.
    Otherwise(&'static str),
}

/// What a value may be.
#[derive(Debug)]
pub(crate) enum Kind {
    /// Any text.
    Text,
    /// The name of something defined in the file.
    Name(Names),
    /// One of these words.
    Word(&'static [&'static str]),
    /// `true` or `false`.
    Flag,
    /// `5ms`.
    Duration { zero: bool },
    /// `300/s`.
    Rate { zero: bool },
    /// `20%`.
    Share { zero: bool },
    /// The same of what may be more than the whole: `150%`.
    Percent { max: f64 },
    /// A whole number.
    Count { min: u64, max: u64 },
    /// A number of bytes: `64KiB`.
    Size { min: u64, max: u64 },
    /// A number without a unit.
    Number { min: f64, max: f64 },
    /// `3x`.
    Factor { min: f64, max: f64 },
    /// One of these.
    Either(&'static [Kind]),
    /// A list, not empty.
    List(&'static Kind),
    /// One, or a list of several.
    OneOrMany(&'static Kind),
    /// A list of two.
    Pair(&'static Kind, &'static Kind),
    /// A mapping with fixed keys.
    Section(&'static Section),
    /// The same, or nothing at all.
    Optional(&'static Section),
    /// A section of which each variant is chosen by the presence of the key of its name.
    Keyed(&'static Tagged),
    /// A section whose keys depend on the word at its first key.
    Tagged(&'static Tagged),
    /// A mapping from names that the file chooses.
    Map(Names, &'static Kind),
    /// A control of the registry: its name, or a mapping with `kind` and its parameters.
    Control(damper_control::Kind),
    /// The steps of a call tree.
    Steps,
}

/// A section of which each variant takes some of the keys.
#[derive(Debug)]
pub(crate) struct Tagged {
    /// All keys; the first says which variant it is.
    pub(crate) section: &'static Section,
    /// Whether what is missing may come from elsewhere.
    pub(crate) partial: bool,
    /// Variants with the keys that they need and the keys that they may have.
    pub(crate) variants: &'static [Variant],
}

/// One variant of a tagged section.
#[derive(Debug)]
pub(crate) struct Variant {
    pub(crate) name: &'static str,
    pub(crate) needs: &'static [&'static str],
    pub(crate) may: &'static [&'static str],
}

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Names {
    Service,
    Cache,
    Class,
    Trigger,
    Request,
    /// A callee, or `caller -> callee`.
    Policy,
    /// `all` or a class.
    ClassOrAll,
    /// `entry` or a service.
    ServiceOrEntry,
    /// A machine, in a drill file.
    Host,
    /// A header of a request.
    Header,
    /// Something to look at in a drill.
    Metric,
    /// A lever of a drill.
    Lever,
    /// A parameter of somebody else's tool.
    Attribute,
}

impl Section {
    pub(crate) fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|k| k.name == name)
    }
}

/// Shorter rows.
pub(crate) const fn required(name: &'static str, kind: Kind, doc: &'static str) -> Key {
    Key { name, kind, presence: Presence::Required, doc }
}

pub(crate) const fn optional(
    name: &'static str,
    kind: Kind,
    default: &'static str,
    doc: &'static str,
) -> Key {
    Key { name, kind, presence: Presence::Default(default), doc }
}

pub(crate) const fn otherwise(
    name: &'static str,
    kind: Kind,
    absent: &'static str,
    doc: &'static str,
) -> Key {
    Key { name, kind, presence: Presence::Otherwise(absent), doc }
}
