//! What functions give that say how long to wait, for other files that call them.

use std::collections::HashMap;

/// How long a function says to wait for each number of an attempt, from 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Pauses {
    /// Which argument is the attempt.
    pub(crate) argument: usize,
    /// Which arguments it draws a wait between, if it is told nothing of attempts.
    pub(crate) between: Option<[usize; 2]>,
    /// By the attempt; the last stands for all that follow.
    pub(crate) waits: Vec<Pause>,
}

/// One wait, between its limits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pause {
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// What it is held to; infinite: nothing.
    pub(crate) cap: f64,
    /// Chance is in it.
    pub(crate) random: bool,
    /// It is milliseconds, whatever the language counts in.
    pub(crate) duration: bool,
    /// Something is in it that is not known: only how it grows can be told.
    pub(crate) open: bool,
}

/// By the name of the function.
pub(crate) type PausesByName = HashMap<Box<str>, Pauses>;
