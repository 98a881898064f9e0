//! What the interpreter knows of a value.

use std::rc::Rc;

use crate::tree::Id;

/// The result of the operation, or something that was taken from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// The result itself: a response, a `Result`, a tuple with an error.
    Whole,
    /// The error: there is one only after a failure.
    Error,
    /// A status code.
    Status,
    /// `ok`, `success`, `isSuccessful`.
    Flag,
    /// The answer to "is this error worth another attempt", "is this a failure".
    Doubt,
    /// Anything else in it: what the application means by it.
    Field,
}

/// A number that is known, known within limits, or stands for one that is not known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Num {
    /// At least.
    pub(super) low: f64,
    /// At most.
    pub(super) high: f64,
    /// What `min(…, cap)` held it to, as far as it was scaled since.
    pub(super) cap: f64,
    /// Chance is in it.
    pub(super) random: bool,
    /// Chance went into chance: the next wait is drawn from the last.
    pub(super) chained: bool,
    /// It is milliseconds, whatever the language counts in.
    pub(super) duration: bool,
    /// It was read from a clock, which stands still here.
    pub(super) clock: bool,
    /// A server said it.
    pub(super) server: bool,
    /// Which unknown is in it: its place in the list of the machine, from 1.
    pub(super) symbol: u16,
    /// An unknown is in it of which not even what is usual is known.
    pub(super) open: bool,
    /// It is one of a list that is not known: each may be another.
    pub(super) listed: bool,
}

impl Num {
    /// An exact number.
    pub(super) const fn exact(value: f64) -> Self {
        Self {
            low: value,
            high: value,
            cap: f64::INFINITY,
            random: false,
            chained: false,
            duration: false,
            clock: false,
            server: false,
            symbol: 0,
            open: false,
            listed: false,
        }
    }

    /// So many milliseconds.
    pub(super) const fn ms(value: f64) -> Self {
        Self { duration: true, ..Self::exact(value) }
    }

    /// Between two.
    pub(super) fn between(low: Self, high: Self) -> Self {
        let mut both = low.joined(high);
        both.chained |= low.random || high.random;
        both.random = true;
        both.low = low.low.min(high.low);
        both.high = high.high.max(low.high);
        both
    }

    /// The middle.
    pub(super) fn mid(self) -> f64 {
        f64::midpoint(self.low, self.high)
    }

    /// With what both know, and the limits of `self`.
    fn joined(self, other: Self) -> Self {
        Self {
            low: self.low,
            high: self.high,
            cap: self.cap.min(other.cap),
            random: self.random || other.random,
            chained: self.chained || other.chained,
            duration: self.duration || other.duration,
            clock: self.clock || other.clock,
            server: self.server || other.server,
            symbol: if self.symbol == 0 { other.symbol } else { self.symbol },
            open: self.open || other.open,
            listed: self.listed || other.listed,
        }
    }

    /// `f` of each, where `f` never falls.
    pub(super) fn map(self, f: impl Fn(f64) -> f64) -> Self {
        let cap = if self.cap.is_finite() { f(self.cap) } else { self.cap };
        Self { low: f(self.low), high: f(self.high), cap, ..self }
    }

    fn corners(self, other: Self, f: impl Fn(f64, f64) -> f64) -> Self {
        let all = [
            f(self.low, other.low),
            f(self.low, other.high),
            f(self.high, other.low),
            f(self.high, other.high),
        ];
        let mut both = self.joined(other);
        both.low = all.iter().copied().fold(f64::INFINITY, f64::min);
        both.high = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        both
    }

    /// A sum.
    pub(super) fn add(self, other: Self) -> Self {
        let mut sum = self.corners(other, |a, b| a + b);
        if self.cap.is_finite() && other.cap.is_finite() {
            sum.cap = self.cap + other.cap;
        }
        sum
    }

    /// A difference; of two times of a clock it is a span.
    pub(super) fn subtract(self, other: Self) -> Self {
        self.corners(other, |a, b| a - b)
    }

    /// A product.
    pub(super) fn multiply(self, other: Self) -> Self {
        let mut product = self.corners(other, |a, b| a * b);
        product.chained |= self.random && other.random;
        product.cap = match (self.cap.is_finite(), other.cap.is_finite()) {
            (true, _) => self.cap * other.high,
            (_, true) => other.cap * self.high,
            _ => f64::INFINITY,
        };
        product
    }

    /// A quotient; a duration by a duration is a plain number.
    pub(super) fn divide(self, other: Self) -> Self {
        if other.low == 0.0 || other.high == 0.0 {
            return Self { low: 0.0, high: 0.0, ..self.joined(other) };
        }
        let mut quotient = self.corners(other, |a, b| a / b);
        quotient.cap = self.cap / other.high;
        quotient.duration = self.duration && !other.duration;
        quotient
    }

    /// Any other function of two.
    pub(super) fn with(self, other: Self, f: impl Fn(f64, f64) -> f64) -> Self {
        self.corners(other, f)
    }

    /// The smaller; `cap` says which of them never changes.
    pub(super) fn min(self, other: Self, cap: Option<f64>) -> Self {
        let mut both = self.joined(other);
        both.low = self.low.min(other.low);
        both.high = self.high.min(other.high);
        // One that is not known until it runs does not make the other unknown.
        if let Some(cap) = cap {
            both.cap = cap;
        }
        both
    }

    /// The larger.
    pub(super) fn max(self, other: Self) -> Self {
        let mut both = self.joined(other);
        both.low = self.low.max(other.low);
        both.high = self.high.max(other.high);
        both
    }
}

/// What is known of a value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    /// Nothing.
    Unknown,
    /// A number.
    Num(Num),
    /// A boolean.
    Bool(bool),
    /// Nothing there.
    Null,
    /// Some text.
    Text(Rc<str>),
    /// A list.
    List(Rc<[Value]>),
    /// Of the operation.
    Outcome(Part, bool),
    /// A promise, a future, that failed.
    Rejected,
    /// A timer that fires after a while: `time.After`, a ticker.
    Timer(Num),
    /// A function, and the frame in which it was made.
    Function(Id, usize),
}

/// Yes, no, or cannot be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Truth {
    /// It holds.
    Yes,
    /// It does not.
    No,
    /// It cannot be told; whether it is about the operation.
    Maybe(bool),
}

impl Truth {
    pub(super) fn of(known: bool) -> Self {
        if known { Self::Yes } else { Self::No }
    }

    pub(super) fn not(self) -> Self {
        match self {
            Self::Yes => Self::No,
            Self::No => Self::Yes,
            Self::Maybe(about) => Self::Maybe(about),
        }
    }

    pub(super) fn value(self) -> Value {
        match self {
            Self::Yes => Value::Bool(true),
            Self::No => Value::Bool(false),
            Self::Maybe(true) => Value::Outcome(Part::Doubt, true),
            Self::Maybe(false) => Value::Unknown,
        }
    }
}

impl Value {
    /// A plain number.
    pub(super) fn number(value: f64) -> Self {
        Self::Num(Num::exact(value))
    }

    /// The number, if it is one.
    pub(super) fn num(&self) -> Option<Num> {
        match self {
            Self::Num(num) | Self::Timer(num) => Some(*num),
            Self::Bool(value) => Some(Num::exact(f64::from(u8::from(*value)))),
            _ => None,
        }
    }

    /// Whether it comes from the operation.
    pub(super) fn is_outcome(&self) -> bool {
        matches!(self, Self::Outcome(..) | Self::Rejected)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_jitter_keeps_its_limits_and_its_cap() {
        // d = min(3000, 2000); d / 2 + random * (d / 2) lies in 1000..2000.
        let d = Num::exact(3000.0).min(Num::exact(2000.0), Some(2000.0));
        let half = d.divide(Num::exact(2.0));
        let unit = Num::between(Num::exact(0.0), Num::exact(1.0));
        let wait = half.add(unit.multiply(half));
        assert_eq!((wait.low, wait.high, wait.cap), (1000.0, 2000.0, 2000.0));
        assert!(wait.random && !wait.chained);
    }

    #[test]
    fn chance_on_chance_is_chained() {
        let unit = Num::between(Num::exact(0.0), Num::exact(1.0));
        assert!(unit.multiply(unit).chained);
        assert!(Num::between(Num::exact(1.0), unit).chained);
    }

    #[test]
    fn nothing_is_divided_by_nothing() {
        assert_eq!(Num::exact(4.0).divide(Num::exact(0.0)).low, 0.0);
        let plain = Num::ms(4.0).divide(Num::ms(2.0));
        assert!(!plain.duration);
    }
}
