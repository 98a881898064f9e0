//! What points say of each other where more is never better.
//!
//! More load, or a longer trigger, heals nothing that stayed down: along both directions, each with its
//! sign, answers only go up. Then a run at an easier point that ends badly speaks for a bad end here, too,
//! and one at a harder point that ends well for a good one: the share of bad ends here is no less than
//! there. So runs of several points decide one, and a point between others needs no run at all. Whether
//! it is so is not taken for granted: see [`Order::against`].

use std::collections::BTreeMap;

use super::{Place, Votes, interval, wilson};

/// Answers in their order, the best first; the others are in none.
const ORDERED: usize = 3;
/// Runs of each of two points that are asked before they may speak against an order: twelve of twelve
/// beside none of twelve are beyond doubt.
pub(super) const SURE_RUNS: u32 = 12;
/// Neighbours on a boundary where chance decides come out either way: only points this far apart speak
/// against an order.
const APART: u32 = 4;
/// The square of the normal quantile of that: one in a thousand at each point.
const SURE_Z2: f64 = 10.83;
/// The most votes of other points that speak for one: those nearest to it.
const MOST_VOTES: u32 = 16;
/// The points that have them: each was asked at least once.
const LISTENED_TO: usize = MOST_VOTES as usize;

/// Points that were asked, by place.
pub(super) type Asked = BTreeMap<Place, Votes>;

/// Along each direction, whether more is worse or better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Order {
    x_up: bool,
    y_up: bool,
}

/// Two decided points that no order allows: the harder one ends better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Violation {
    /// The one that should be better.
    pub(crate) easier: Place,
    /// The one that is better.
    pub(crate) harder: Place,
}

/// What speaks against an order.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Against {
    Nothing,
    /// Points that are to be asked so many times first.
    Unsure(BTreeMap<Place, u32>),
    Sure(Violation),
}

impl Order {
    const ALL: [Self; 4] = [
        Self { x_up: true, y_up: true },
        Self { x_up: true, y_up: false },
        Self { x_up: false, y_up: true },
        Self { x_up: false, y_up: false },
    ];

    /// The one that the fewest pairs of points speak against; the first of equals.
    pub(super) fn of(asked: &Asked) -> Self {
        let against = |order: &Self| {
            let pairs = asked.iter().flat_map(|a| asked.iter().map(move |b| (a, b)));
            pairs.filter(|((p, a), (q, b))| order.speaks_against((**p, **a), (**q, **b))).count()
        };
        Self::ALL.into_iter().min_by_key(against).unwrap_or(Self::ALL[0])
    }

    /// Whether the second point is at least as hard as the first, in both directions.
    fn harder(self, easy: Place, hard: Place) -> bool {
        let at_least = |up: bool, a: u32, b: u32| if up { a <= b } else { b <= a };
        at_least(self.x_up, easy.0, hard.0) && at_least(self.y_up, easy.1, hard.1)
    }

    fn speaks_against(self, easy: (Place, Votes), hard: (Place, Votes)) -> bool {
        let (a, b) = (easy.1.answer(), hard.1.answer());
        a < ORDERED && b < ORDERED && a > b && easy.0 != hard.0 && self.harder(easy.0, hard.0)
    }

    /// Pairs of points, each decided by its own runs, that speak against this order: what is to be asked
    /// before that may be believed, or the nearest pair that shows it beyond doubt.
    ///
    /// Where chance decides, some points are decided wrongly, and some of their pairs speak against any
    /// order. So both are asked [`SURE_RUNS`] times, and their intervals must be far apart.
    pub(super) fn against(self, asked: &Asked) -> Against {
        let decided: Vec<(Place, Votes)> =
            asked.iter().filter(|(_, v)| v.decided()).map(|(p, v)| (*p, *v)).collect();
        let pairs = decided.iter().flat_map(|a| decided.iter().map(move |b| (*a, *b)));
        let far = |a: Place, b: Place| distance(a, b) >= APART;
        let against = |(a, b): &((Place, Votes), (Place, Votes))| {
            far(a.0, b.0) && self.speaks_against(*a, *b)
        };
        let pairs: Vec<_> = pairs.filter(against).collect();
        let few = |(_, votes): &(Place, Votes)| votes.asked() < SURE_RUNS;
        let unsure: BTreeMap<Place, u32> = pairs
            .iter()
            .flat_map(|(a, b)| [*a, *b])
            .filter(few)
            .map(|(place, _)| (place, SURE_RUNS))
            .collect();
        if !unsure.is_empty() {
            return Against::Unsure(unsure);
        }
        let sure = pairs.iter().filter(|(a, b)| {
            let bad = a.1.answer();
            let share = |votes: Votes| {
                let yes = votes.0[bad..ORDERED].iter().sum();
                interval(yes, votes.asked(), SURE_Z2)
            };
            share(a.1)[0] > share(b.1)[1]
        });
        let violation = sure
            .map(|(a, b)| Violation { easier: a.0, harder: b.0 })
            .min_by_key(|v| (distance(v.easier, v.harder), v.easier, v.harder));
        violation.map_or(Against::Nothing, Against::Sure)
    }

    /// What the runs of others decide about a point; `None`: they do not.
    pub(super) fn inferred(self, asked: &Asked, at: Place) -> Option<usize> {
        let claims = Claims::of(self, asked, at);
        (0..ORDERED).find(|answer| claims.decide(*answer, Votes::default()))
    }

    /// Whether the runs of a point together with those of others decide its answer.
    pub(super) fn decided(self, asked: &Asked, at: Place) -> bool {
        let Some(own) = asked.get(&at).copied() else { return false };
        own.answer() < ORDERED && Claims::of(self, asked, at).decide(own.answer(), own)
    }
}

fn distance(a: Place, b: Place) -> u32 {
    a.0.abs_diff(b.0).max(a.1.abs_diff(b.1))
}

/// The points that can speak for one, the nearest first.
struct Claims {
    easier: Vec<Votes>,
    harder: Vec<Votes>,
}

impl Claims {
    fn of(order: Order, asked: &Asked, at: Place) -> Self {
        let near = |speaks: &dyn Fn(Place) -> bool| {
            let mut all: Vec<(u32, Place, Votes)> = asked
                .iter()
                .filter(|(p, _)| **p != at && speaks(**p))
                .map(|(p, votes)| (distance(*p, at), *p, *votes))
                .collect();
            let key = |(far, p, _): &(u32, Place, Votes)| (*far, *p);
            // To sort all of them for each point would take longer than the runs of a small system.
            if all.len() > LISTENED_TO {
                all.select_nth_unstable_by_key(LISTENED_TO, key);
                all.truncate(LISTENED_TO);
            }
            all.sort_unstable_by_key(key);
            all.into_iter().map(|(.., votes)| votes).collect()
        };
        Self { easier: near(&|p| order.harder(p, at)), harder: near(&|p| order.harder(at, p)) }
    }

    /// Whether both halves are decided: it is at least that bad, and at most.
    fn decide(&self, answer: usize, own: Votes) -> bool {
        (answer == 0 || speak(&self.easier, own, |a| a >= answer && a < ORDERED))
            && (answer + 1 == ORDERED || speak(&self.harder, own, |a| a <= answer))
    }
}

/// Whether the nearest votes decide, together with a point's own, that more than half of its runs end
/// so. Those further away can only have a smaller share.
fn speak(others: &[Votes], own: Votes, so: impl Fn(usize) -> bool) -> bool {
    let count = |votes: &Votes| {
        let yes = votes.0.iter().enumerate().filter(|(a, _)| so(*a)).map(|(_, n)| n).sum::<u32>();
        (yes, votes.asked())
    };
    let decides = |(yes, of): (u32, u32)| wilson(yes, of)[0] > 0.5;
    let (mut sum, mut borrowed) = (count(&own), 0);
    if decides(sum) {
        return true;
    }
    for votes in others {
        let (yes, of) = count(votes);
        sum = (sum.0 + yes, sum.1 + of);
        borrowed += of;
        if decides(sum) {
            return true;
        }
        if borrowed >= MOST_VOTES {
            return false;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(points: &[(Place, usize, u32)]) -> Asked {
        let votes = |answer: usize, n| {
            let mut votes = Votes::default();
            votes.0[answer] = n;
            votes
        };
        points.iter().map(|(place, answer, n)| (*place, votes(*answer, *n))).collect()
    }

    const UP: Order = Order { x_up: true, y_up: true };

    #[test]
    fn four_easier_points_that_stay_down_decide_a_harder_one() {
        let three = asked(&[((1, 1), 1, 1), ((2, 2), 1, 1), ((3, 2), 1, 1)]);
        assert_eq!(UP.inferred(&three, (4, 4)), None);
        let mut four = three.clone();
        four.extend(asked(&[((2, 3), 1, 1)]));
        // At least that bad; that it is no worse nobody says.
        assert_eq!(UP.inferred(&four, (4, 4)), None);
        four.extend(asked(&[((5, 5), 1, 4)]));
        assert_eq!(UP.inferred(&four, (4, 4)), Some(1));
        // Neither easier nor harder: they say nothing.
        assert_eq!(UP.inferred(&four, (0, 9)), None);
        // What is as bad as can be needs nobody harder, and what heals nobody easier.
        assert_eq!(UP.inferred(&asked(&[((1, 1), 2, 4)]), (9, 9)), Some(2));
        assert_eq!(UP.inferred(&asked(&[((9, 9), 0, 4)]), (1, 1)), Some(0));
    }

    #[test]
    fn a_single_run_is_decided_by_those_that_are_harder_and_heal() {
        let mut points = asked(&[((1, 1), 0, 1), ((1, 2), 0, 1), ((2, 1), 0, 1)]);
        assert!(!UP.decided(&points, (1, 1)));
        points.extend(asked(&[((2, 2), 0, 1)]));
        assert!(UP.decided(&points, (1, 1)) && !UP.decided(&points, (2, 2)));
    }

    #[test]
    fn the_order_is_read_from_the_points() {
        // Better to the right, worse upwards.
        let points = asked(&[((0, 0), 1, 1), ((9, 0), 0, 1), ((0, 9), 2, 1), ((9, 9), 1, 1)]);
        assert_eq!(Order::of(&points), Order { x_up: false, y_up: true });
        assert_eq!(Order::of(&asked(&[((0, 0), 0, 1)])), UP);
    }

    #[test]
    fn only_what_is_beyond_doubt_is_against_it() {
        let mut points = asked(&[((1, 1), 1, 1), ((5, 5), 0, 4), ((0, 9), 2, 4)]);
        assert_eq!(UP.against(&points), Against::Nothing);
        points.extend(asked(&[((1, 1), 1, 4)]));
        let ask = [((1, 1), SURE_RUNS), ((5, 5), SURE_RUNS)].into();
        assert_eq!(UP.against(&points), Against::Unsure(ask));
        points.extend(asked(&[((1, 1), 1, 12), ((5, 5), 0, 12)]));
        let found = Violation { easier: (1, 1), harder: (5, 5) };
        assert_eq!(UP.against(&points), Against::Sure(found));
        // Ten of twelve beside two of twelve may be chance, with so many pairs.
        points.insert((1, 1), Votes([2, 10, 0, 0]));
        points.insert((5, 5), Votes([10, 2, 0, 0]));
        assert_eq!(UP.against(&points), Against::Nothing);
        // What could not be told is in no order.
        assert_eq!(UP.against(&asked(&[((1, 1), 3, 12), ((5, 5), 0, 12)])), Against::Nothing);
    }
}
