//! One lever for everybody, and one for each caller that an operator singled out.
//!
//! Source: post-mortems in which one client made the storm and all had to be throttled, because
//! the lever knew no callers.
//!
//! Chosen here:
//!
//! - A request needs the word of both, its caller's lever and the one for all. The caller's is
//!   asked first: what it refuses takes no credit from the others.
//! - A pull for all leaves the callers' levers where they are, so that opening up after an outage
//!   does not let in again who had been shut out.
//! - At most [`CallerLever::MOST`] callers have a lever. One whose lever is open again is
//!   forgotten, with its journal; whoever pulls keeps a journal of its own.

use alloc::vec::Vec;

use super::{Change, Level, Lever, LeverState, Pulled};
use crate::observe::Observe;
use crate::{Nanos, Refusal, Who};

/// A lever by class and by caller. A caller is a [flow](Who::flow).
#[derive(Clone, Debug, Default)]
pub struct CallerLever {
    all: Lever,
    /// By flow, ascending.
    callers: Vec<(u64, Lever)>,
}

impl CallerLever {
    /// Callers that can have a lever of their own at the same time.
    pub const MOST: usize = 64;

    /// This lever for all, and no caller singled out.
    #[must_use]
    pub const fn new(all: Lever) -> Self {
        Self { all, callers: Vec::new() }
    }

    fn place(&self, flow: u64) -> Result<usize, usize> {
        self.callers.binary_search_by_key(&flow, |(flow, _)| *flow)
    }

    /// Asks to let an attempt in.
    ///
    /// # Errors
    /// It is held back by its caller's lever or by the one for all.
    #[inline]
    pub fn admit(&mut self, now: Nanos, who: Who) -> Result<(), Refusal> {
        if !self.callers.is_empty()
            && let Ok(place) = self.place(who.flow)
        {
            self.callers[place].1.admit(now, who.class)?;
        }
        self.all.admit(now, who.class)
    }

    /// Pulls the lever for all.
    pub fn pull(&mut self, now: Nanos, change: Change<'_>) -> Pulled {
        self.all.pull(now, change)
    }

    /// Pulls the lever of one caller. `None`: as many callers as may be have one, nothing happened.
    pub fn pull_for(&mut self, now: Nanos, flow: u64, change: Change<'_>) -> Option<Pulled> {
        self.callers.retain(|(other, lever)| *other == flow || !lever.state(now).groups.is_empty());
        let (place, pulled) = match self.place(flow) {
            Ok(place) => (place, self.callers[place].1.pull(now, change)),
            Err(place) => {
                let mut lever = Lever::new();
                let pulled = lever.pull(now, change);
                if pulled != Pulled::Changed {
                    return Some(pulled);
                }
                if self.callers.len() >= Self::MOST {
                    return None;
                }
                self.callers.insert(place, (flow, lever));
                (place, pulled)
            }
        };
        if self.callers[place].1.state(now).groups.is_empty() {
            self.callers.remove(place);
        }
        Some(pulled)
    }

    /// The lever for all.
    #[must_use]
    pub const fn all(&self) -> &Lever {
        &self.all
    }

    /// The levers of callers, by flow.
    pub fn callers(&self) -> impl Iterator<Item = (u64, &Lever)> {
        self.callers.iter().map(|(flow, lever)| (*flow, lever))
    }

    /// The position of a caller's lever; open if it has none.
    #[must_use]
    pub fn state_of(&self, now: Nanos, flow: u64) -> LeverState {
        self.place(flow).map_or_else(|_| LeverState::default(), |at| self.callers[at].1.state(now))
    }

    /// What the lever of a caller lets in of a class, whatever the one for all says.
    #[must_use]
    pub fn level_of(&self, now: Nanos, flow: u64, class: u8) -> Level {
        self.place(flow).map_or(Level::Share(1.0), |at| self.callers[at].1.level(now, class))
    }
}

impl Observe for CallerLever {
    /// The readings of the lever for all.
    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        self.all.observe(see);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Action, ClassSet};
    use super::*;
    use proptest::prelude::*;

    const NOW: Nanos = Nanos::from_secs(1);

    fn change(action: Action) -> Change<'static> {
        Change { action, classes: ClassSet::ALL, who: "me", why: "test" }
    }

    fn who(flow: u64) -> Who {
        Who { class: 0, flow, user: None }
    }

    #[test]
    fn one_caller_is_held_back_and_nobody_else() {
        let mut lever = CallerLever::default();
        assert_eq!(lever.pull_for(NOW, 7, change(Action::Pause)), Some(Pulled::Changed));
        assert_eq!(lever.pull_for(NOW, 7, change(Action::Pause)), Some(Pulled::Already));
        assert!(lever.admit(NOW, who(7)).is_err());
        assert!(lever.admit(NOW, who(8)).is_ok());
        assert_eq!(lever.level_of(NOW, 7, 3), Level::Share(0.0));
        assert_eq!(lever.level_of(NOW, 8, 3), Level::Share(1.0));
        assert_eq!((lever.state_of(NOW, 7).groups.len(), lever.callers().count()), (1, 1));
        // Opening up for all does not let it in again; opening its own lever does.
        let _ = lever.pull(NOW, change(Action::Pause));
        assert!(lever.admit(NOW, who(8)).is_err());
        let _ = lever.pull(NOW, change(Action::Open));
        assert!(lever.admit(NOW, who(7)).is_err());
        assert_eq!(lever.pull_for(NOW, 7, change(Action::Open)), Some(Pulled::Changed));
        assert!(lever.admit(NOW, who(7)).is_ok());
        assert_eq!(lever.callers().count(), 0, "who is open is forgotten");
    }

    /// 10 in a second for all; the refused caller does not use them up.
    #[test]
    fn what_a_callers_lever_refuses_costs_the_others_nothing() {
        let mut lever = CallerLever::default();
        let _ = lever.pull(Nanos::ZERO, change(Action::Throttle(Level::Rate(10.0))));
        let _ = lever.pull_for(Nanos::ZERO, 7, change(Action::Pause));
        for _ in 0..100 {
            assert!(lever.admit(NOW, who(7)).is_err());
        }
        assert_eq!((0..100).filter(|_| lever.admit(NOW, who(8)).is_ok()).count(), 10);
    }

    #[test]
    fn there_are_only_so_many_and_a_ramp_that_ended_makes_room() {
        let mut lever = CallerLever::default();
        let ramp = Action::Ramp(super::super::Ramp {
            from: Level::Share(0.5),
            to: Level::Share(1.0),
            over: NOW,
            steps: 0,
        });
        assert_eq!(lever.pull_for(NOW, 0, change(ramp)), Some(Pulled::Changed));
        for flow in 1..CallerLever::MOST as u64 {
            assert_eq!(lever.pull_for(NOW, flow, change(Action::Pause)), Some(Pulled::Changed));
        }
        assert_eq!(lever.pull_for(NOW, 1000, change(Action::Pause)), None);
        assert!(lever.admit(NOW, who(1000)).is_ok());
        let later = NOW + NOW;
        assert_eq!(lever.pull_for(later, 1000, change(Action::Pause)), Some(Pulled::Changed));
        assert!(lever.admit(later, who(1000)).is_err());
        // Nothing is made of a pull that says nothing.
        let empty = Change { who: "", ..change(Action::Pause) };
        assert_eq!(lever.pull_for(later, 5000, empty), Some(Pulled::Invalid));
        assert_eq!(lever.callers().count(), CallerLever::MOST);
    }

    proptest! {
        #[test]
        fn callers_are_bounded_and_each_obeys_its_own(
            pulls in prop::collection::vec((0u64..100, any::<bool>()), 0..300),
        ) {
            let mut lever = CallerLever::default();
            let mut paused = std::collections::BTreeSet::new();
            for (flow, pause) in pulls {
                let action = if pause { Action::Pause } else { Action::Open };
                match (lever.pull_for(NOW, flow, change(action)), pause) {
                    (Some(_), true) => { paused.insert(flow); }
                    (Some(_), false) => { paused.remove(&flow); }
                    (None, _) => prop_assert_eq!(paused.len(), CallerLever::MOST),
                }
                prop_assert!(lever.callers().count() <= CallerLever::MOST);
            }
            for flow in 0..100 {
                prop_assert_eq!(lever.admit(NOW, who(flow)).is_err(), paused.contains(&flow));
            }
        }
    }
}
