//! What is counted, and under which names. A worker counts in its own memory; the shell hands the
//! differences to Envoy now and then.

/// What is counted for each class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum PerClass {
    /// Requests that were let through.
    Requests,
    /// Attempts that Envoy reported.
    Attempts,
    /// Retries that requests were allowed at most.
    Granted,
    /// Retries of the limit that the budget withheld.
    DeniedByBudget,
    /// Retries of the limit that were withheld because the destination had asked for time.
    DeniedByPushback,
    /// Requests that the lever refused.
    RefusedByLever,
    /// Requests that were refused since their deadline had passed.
    RefusedByDeadline,
    /// Requests that ended without an answer, since their caller left.
    Unanswered,
}

/// What is counted for all classes together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Overall {
    /// Requests from outside that carried what only the mesh may say.
    DistrustedRequests,
    /// Headers that were taken out of them.
    DistrustedHeaders,
    /// Requests about which nobody said how many attempts there were.
    AttemptsUnknown,
    /// Answers that said OVERLOADED.
    Overloaded,
    /// Outbound requests that were recognised.
    Remembered,
    /// Outbound requests that were not.
    Forgotten,
    /// Values of the lever in shared data that could not be read.
    LeverProblems,
}

/// The names of [`PerClass`], and what they mean.
pub const PER_CLASS: [(&str, &str); 8] = [
    ("requests", "requests of this class that were let through"),
    ("attempts", "attempts that Envoy reported for them"),
    ("retries_granted", "retries that they were allowed at most"),
    ("retries_denied_budget", "retries of the limit that the budget withheld"),
    (
        "retries_denied_pushback",
        "retries of the limit withheld because the destination had asked for time",
    ),
    ("refused_lever", "requests that the lever refused"),
    ("refused_deadline", "requests refused because their deadline had passed"),
    ("unanswered", "requests that ended without an answer, since their caller left"),
];

/// The names of [`Overall`], and what they mean.
pub const OVERALL: [(&str, &str); 7] = [
    ("distrusted_requests", "requests that carried what only the mesh may say"),
    ("distrusted_headers", "headers that were taken out of them"),
    ("attempts_unknown", "requests about which nobody said how many attempts there were"),
    ("overloaded", "answers that said OVERLOADED"),
    ("remembered", "outbound requests whose class was known from the inbound one"),
    ("forgotten", "outbound requests that nothing was remembered about"),
    ("lever_problems", "values of the lever in shared data that could not be read"),
];

/// Counters of one worker.
#[derive(Clone, Debug)]
pub struct Counters {
    counts: Vec<u64>,
    changed: bool,
}

impl Counters {
    /// All at 0.
    #[must_use]
    pub(super) fn new(classes: usize) -> Self {
        Self { counts: vec![0; OVERALL.len() + classes * PER_CLASS.len()], changed: false }
    }

    /// Adds to a counter of a class.
    #[inline]
    pub(super) fn add(&mut self, class: u8, what: PerClass, n: u64) {
        let index = Self::index(usize::from(class), what);
        if let Some(count) = self.counts.get_mut(index) {
            *count += n;
            self.changed = true;
        }
    }

    /// Adds to a counter.
    #[inline]
    pub(super) fn add_overall(&mut self, what: Overall, n: u64) {
        self.counts[what as usize] += n;
        self.changed = true;
    }

    /// The place of a counter of a class among all.
    #[must_use]
    pub const fn index(class: usize, what: PerClass) -> usize {
        OVERALL.len() + class * PER_CLASS.len() + what as usize
    }

    /// The names of all, in the order of [`Counters::drain`].
    ///
    /// `position` is part of them: one Envoy has an inbound and an outbound filter.
    pub fn names<'a>(
        position: &'a str,
        classes: &'a [String],
    ) -> impl Iterator<Item = String> + 'a {
        let overall = OVERALL.iter().map(move |(name, _)| format!("damper.{position}.{name}"));
        overall.chain(classes.iter().flat_map(move |class| {
            PER_CLASS.iter().map(move |(name, _)| format!("damper.{position}.class.{class}.{name}"))
        }))
    }

    /// Gives what was added to each counter since the last time, and its place.
    pub fn drain(&mut self, mut give: impl FnMut(usize, u64)) {
        if !std::mem::take(&mut self.changed) {
            return;
        }
        for (index, count) in self.counts.iter_mut().enumerate().filter(|(_, count)| **count > 0) {
            give(index, std::mem::take(count));
        }
    }
}
