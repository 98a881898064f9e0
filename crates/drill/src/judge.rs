//! What a series says: whether it is well, when it was noticed, when it had recovered, what it
//! cost. The same words as in the simulator: recovered is goodput at a share of the offered load
//! for a whole hold time.
//!
//! A request counts where it was due, so that what is asked is "of those who came then, how many
//! were served well", and a reply that is late for its own reasons moves nothing.

use crate::series::{Tick, sum};

/// What well means.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rule {
    /// Goodput is at least this share of what was due,
    pub(crate) goodput: f64,
    /// in so many intervals together.
    pub(crate) hold: usize,
}

/// Standard errors that a shortfall must have to be one.
const SURE: f64 = 2.0;

impl Rule {
    /// Whether those who came in these intervals were served well. Nobody came: nothing is known.
    pub(crate) fn is_well(&self, ticks: &[Tick]) -> Option<bool> {
        let all = sum(ticks, None);
        (all.due > 0).then_some(all.good_of_due as f64 >= self.goodput * all.due as f64)
    }

    /// Whether what is let in is served well: refusals at the door are left out.
    pub(crate) fn is_healthy(&self, ticks: &[Tick]) -> Option<bool> {
        let all = sum(ticks, None);
        let let_in = all.throughput() - all.rejected();
        (let_in > 0).then_some(all.good as f64 >= self.goodput * let_in as f64)
    }

    /// The first interval from `from` on with which a hold time began in which all was well, by
    /// what is known so far; `also` must be so in each of its intervals.
    pub(crate) fn recovered(
        &self,
        ticks: &[Tick],
        from: usize,
        also: &dyn Fn(usize) -> bool,
    ) -> Option<usize> {
        let last = ticks.len().checked_sub(self.hold)?;
        (from..=last).find(|start| {
            let window = &ticks[*start..*start + self.hold];
            let well = self.is_well(window) == Some(true);
            // Its beginning must be well by itself, or a recovery would begin before it does.
            well && self.is_well(&window[..1]) != Some(false)
                && (*start..*start + self.hold).all(also)
        })
    }

    /// The first interval from `from` on in which goodput, as it comes back, is short of what is
    /// due by more than chance.
    pub(crate) fn noticed(&self, ticks: &[Tick], from: usize) -> Option<usize> {
        (from..ticks.len()).find(|at| {
            let all = sum(&ticks[*at..=*at], None);
            let (due, good) = (all.due as f64, all.good as f64);
            good < self.goodput * due - SURE * due.sqrt()
        })
    }

    /// The lowest share of goodput in any stretch as long as the hold time, of one class or all,
    /// and the interval at which it began.
    pub(crate) fn worst(&self, ticks: &[Tick], class: Option<usize>) -> Option<(usize, f64)> {
        let share = |window: &[Tick]| {
            let all = sum(window, class);
            (all.due > 0).then(|| all.good_of_due as f64 / all.due as f64)
        };
        ticks
            .windows(self.hold.clamp(1, ticks.len().max(1)))
            .enumerate()
            .filter_map(|(at, window)| Some((at, share(window)?)))
            .min_by(|a, b| a.1.total_cmp(&b.1))
    }
}

/// Fewer requests say nothing.
const ENOUGH: u64 = 20;

/// Whether goodput, as it comes back, was below a share of what was due in the last intervals.
pub(crate) fn is_short(ticks: &[Tick], last: usize, share: f64, class: Option<usize>) -> bool {
    ticks.len().checked_sub(last).is_some_and(|first| {
        let all = sum(&ticks[first..], class);
        all.due >= ENOUGH && (all.good as f64) < share * all.due as f64
    })
}

/// What was due and not served well.
pub(crate) fn lost(ticks: &[Tick]) -> u64 {
    let all = sum(ticks, None);
    all.due.saturating_sub(all.good_of_due)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::series::Cell;

    const RULE: Rule = Rule { goodput: 0.95, hold: 3 };

    /// Intervals with 100 due each.
    fn ticks(good: &[u64]) -> Vec<Tick> {
        let cell = |good: &u64| Cell {
            due: 100,
            good_of_due: *good,
            ended_of_due: 100,
            good: *good,
            ends: [*good, 0, 0, 100 - *good, 0, 0],
            ..Cell::default()
        };
        good.iter().map(|good| vec![cell(good)]).collect()
    }

    #[test]
    fn recovery_is_a_whole_hold_time() {
        let ticks = ticks(&[100, 100, 0, 0, 50, 99, 98, 40, 97, 100, 100, 100]);
        let always = |_| true;
        assert_eq!(RULE.recovered(&ticks, 2, &always), Some(8));
        assert_eq!(RULE.recovered(&ticks, 0, &always), Some(8), "two are not three");
        assert_eq!(RULE.recovered(&ticks, 2, &|at| at > 8), Some(9), "the metric, too");
        assert_eq!(RULE.recovered(&ticks[..10], 2, &always), None);
        assert_eq!(RULE.recovered(&[], 0, &always), None);
    }

    #[test]
    fn a_window_does_not_begin_with_what_is_bad() {
        // 0.96 on average, and not well in the beginning.
        let ticks = ticks(&[88, 100, 100, 100]);
        assert_eq!(RULE.recovered(&ticks, 0, &|_| true), Some(1));
    }

    #[test]
    fn chance_is_no_alarm() {
        // 95 − 2 × 10 = 75.
        assert_eq!(RULE.noticed(&ticks(&[100, 80, 76, 74, 0]), 0), Some(3));
        assert_eq!(RULE.noticed(&ticks(&[100, 80]), 0), None);
    }

    #[test]
    fn short_for_a_while() {
        let ticks = ticks(&[100, 10, 10]);
        assert!(is_short(&ticks, 2, 0.2, None) && !is_short(&ticks, 3, 0.2, None));
        assert!(!is_short(&ticks, 4, 0.2, None), "it has not lasted so long");
    }

    #[test]
    fn what_is_lost_and_the_worst_stretch() {
        let ticks = ticks(&[100, 0, 50, 100, 100]);
        assert_eq!(lost(&ticks), 150);
        assert_eq!(RULE.worst(&ticks, None), Some((0, 0.5)));
        assert_eq!(RULE.worst(&[], None), None);
    }

    #[test]
    fn nobody_came_nothing_is_known() {
        assert_eq!(RULE.is_well(&[vec![Cell::default()]]), None);
        assert_eq!(RULE.recovered(&vec![vec![Cell::default()]; 9], 0, &|_| true), None);
    }

    #[test]
    fn refusals_at_a_door_do_not_make_it_unhealthy() {
        let cell = Cell { due: 100, good: 10, ends: [10, 90, 0, 0, 0, 0], ..Cell::default() };
        assert_eq!(RULE.is_healthy(&[vec![cell]]), Some(true));
        assert_eq!(RULE.is_well(&[vec![cell]]), Some(false));
    }
}
