//! What a lever needs to be in the same position after a restart.

use alloc::vec::Vec;

use super::flow::{Flow, Mode};
use super::{Action, Change, ClassSet, Level, Lever, Pulled, Ramp};
use crate::Nanos;

/// The position of a lever: what to write down, and to read again after a restart.
///
/// It holds no instants, since the clock of the next process may have another origin. What is
/// paused stays paused; what is throttled stays so and starts with nothing saved up; a ramp goes
/// on from the level that it had reached, with the time that was left. It is therefore never
/// more open than it was. The journal and the counters belong to the process and are not in it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LeverState {
    /// Classes that are held back. No class is in two of them; one that is in none is open.
    pub groups: Vec<Group>,
}

/// Classes that share a flow.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Which.
    pub classes: ClassSet,
    /// In which position.
    pub setting: Setting,
    /// The change that brought them there, so that the same change is no change again.
    pub cause: Action,
}

/// A position other than open.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Setting {
    /// Nothing is let in.
    Paused,
    /// So much is let in.
    Throttled(Level),
    /// What is left of a ramp.
    Ramping(Ramp),
}

impl Setting {
    fn of(mode: Mode) -> Option<Self> {
        match mode {
            Mode::Open => None,
            Mode::Paused => Some(Self::Paused),
            Mode::Throttled(level) => Some(Self::Throttled(level)),
            Mode::Ramping { ramp, elapsed } => Some(Self::Ramping(Ramp {
                from: ramp.level(elapsed),
                to: ramp.to,
                over: ramp.over - elapsed,
                steps: ramp.steps - ramp.taken(elapsed),
            })),
        }
    }

    fn mode(self) -> Option<Mode> {
        match self {
            Self::Paused => Some(Mode::Paused),
            Self::Throttled(level) => {
                Action::Throttle(level).valid().then_some(Mode::Throttled(level))
            }
            Self::Ramping(ramp) => {
                ramp.valid().then_some(Mode::Ramping { ramp, elapsed: Nanos::ZERO })
            }
        }
    }
}

impl Lever {
    /// Its position at `now`, to be written down.
    #[must_use]
    pub fn state(&self, now: Nanos) -> LeverState {
        let mut groups = Vec::new();
        for (index, flow) in (0u8..).zip(&self.flows) {
            let classes = self.members(index);
            if let (false, Some(setting)) = (classes.is_empty(), Setting::of(flow.mode_at(now))) {
                groups.push(Group { classes, setting, cause: flow.cause });
            }
        }
        // The order of the flows is an accident of the changes before.
        groups.sort_by_key(|group| group.classes.bits().trailing_zeros());
        LeverState { groups }
    }

    /// Puts a lever that was never pulled into the position written down, at `now`.
    ///
    /// A state that cannot be (a class in two groups, a level out of range) pauses everything,
    /// and so should a state that could not be read at all ([`Lever::close`]): what it held back
    /// is unknown, and an operator is needed anyhow. Only where nothing was ever written down is
    /// an open lever right.
    #[must_use]
    pub fn restore(mut self, now: Nanos, saved: &LeverState) -> Self {
        let mut seen = ClassSet::NONE;
        for group in &saved.groups {
            let mode = group.setting.mode().filter(|_| {
                group.cause.valid() && !group.classes.is_empty() && !group.classes.overlaps(seen)
            });
            let Some(mode) = mode else {
                let _ = self.close(now, "the saved position is not possible");
                return self;
            };
            seen = seen.with(group.classes);
            self.regroup(group.classes, Flow::resumed(now, mode, group.cause));
        }
        self
    }

    /// Pauses everything because the position before a restart is not known.
    pub fn close(&mut self, now: Nanos, why: &str) -> Pulled {
        let why = if why.trim().is_empty() { "the saved position is not known" } else { why };
        self.pull(
            now,
            Change { action: Action::Pause, classes: ClassSet::ALL, who: "restart", why },
        )
    }
}
