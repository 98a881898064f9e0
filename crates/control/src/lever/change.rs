//! What an operator says to the lever.

use crate::{Nanos, Who};

/// A set of priority classes. A class beyond the last that is told apart is taken for that one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ClassSet(u16);

impl ClassSet {
    /// Every class.
    pub const ALL: Self = Self(u16::MAX);
    /// No class.
    pub const NONE: Self = Self(0);

    /// One class.
    #[must_use]
    pub const fn of(class: u8) -> Self {
        Self(1 << Who::of(class).index())
    }

    /// `class` and everything that is less important.
    #[must_use]
    pub const fn from_class(class: u8) -> Self {
        Self(u16::MAX << Who::of(class).index())
    }

    /// The set of these bits; bit 0 is the highest class.
    #[must_use]
    pub const fn from_bits(bits: u16) -> Self {
        Self(bits)
    }

    /// Its bits; bit 0 is the highest class.
    #[must_use]
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// Those of either.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether `class` is in it.
    #[must_use]
    pub const fn contains(self, class: u8) -> bool {
        self.0 & Self::of(class).0 != 0
    }

    /// Whether the two have a class in common.
    #[must_use]
    pub const fn overlaps(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether nobody is in it.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// How much is let in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Level {
    /// A share of what comes, 0 to 1.
    Share(f64),
    /// So many per second, 0 to 10⁹.
    Rate(f64),
}

impl Level {
    pub(super) const MAX_RATE: f64 = 1e9;

    pub(super) fn valid(self) -> bool {
        match self {
            Self::Share(share) => (0.0..=1.0).contains(&share),
            Self::Rate(rate) => (0.0..=Self::MAX_RATE).contains(&rate),
        }
    }

    pub(super) fn amount(self) -> f64 {
        match self {
            Self::Share(x) | Self::Rate(x) => x,
        }
    }

    pub(super) fn is_same_kind(self, other: Self) -> bool {
        matches!((self, other), (Self::Share(_), Self::Share(_)) | (Self::Rate(_), Self::Rate(_)))
    }
}

/// A way from one level to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ramp {
    /// Where it begins.
    pub from: Level,
    /// Where it ends; of the same kind as `from`.
    pub to: Level,
    /// How long it takes: at least 1 ns, at most a year.
    pub over: Nanos,
    /// In how many equal steps, the first taken after one step's time; 0: evenly.
    pub steps: u16,
}

impl Ramp {
    pub(super) fn valid(&self) -> bool {
        self.from.valid()
            && self.to.valid()
            && self.from.is_same_kind(self.to)
            && (Nanos(1)..=Nanos::from_secs(31_536_000)).contains(&self.over)
    }
}

/// What an operator does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Action {
    /// Lets everything in.
    Open,
    /// Lets so much in; more than nothing.
    Throttle(Level),
    /// Lets nothing in.
    Pause,
    /// Goes from one level to another.
    Ramp(Ramp),
    /// Stops a ramp where it is, for all classes that share it.
    Hold,
}

impl Action {
    pub(super) fn valid(&self) -> bool {
        match self {
            Self::Open | Self::Pause | Self::Hold => true,
            Self::Throttle(level) => level.valid() && level.amount() > 0.0,
            Self::Ramp(ramp) => ramp.valid(),
        }
    }
}

/// A pull of the lever.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change<'a> {
    /// What to do.
    pub action: Action,
    /// For which classes; at least one.
    pub classes: ClassSet,
    /// Who pulls; not empty. The first 64 bytes are kept.
    pub who: &'a str,
    /// Why; not empty. The first 256 bytes are kept.
    pub why: &'a str,
}

/// What a pull did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Pulled {
    /// The lever is in another position.
    Changed,
    /// It was there already; nothing happened, and the journal says nothing.
    Already,
    /// It cannot be pulled that way: a level out of range, no class, nobody or no reason named.
    Invalid,
}
