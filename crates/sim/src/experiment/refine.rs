//! Where the answer changes over a plane, found without asking at every point of a grid.
//!
//! The plane is a square of cells, a power of two along each side. Asking starts at the corners of
//! coarse cells. A cell whose points agree is left alone; one whose points do not is cut into four,
//! down to the finest cells. A point is asked once as long as it agrees with its neighbours, and
//! again and again where it does not, until its interval decides, chance is seen to decide, or a
//! limit is reached. A wrong answer far from the boundary makes a cell that disagrees, is asked
//! again, and is outvoted.
//!
//! As long as more is never better (`order.rs`), the runs of other points count where they speak for
//! one, and a new point that they decide is not asked at all, but one in so many is, to see whether it
//! is so. Where two decided points show that it is not, all that was inferred is forgotten, and every
//! point is asked by itself from then on.
//!
//! A cell's points are all that were asked on its border, not its corners alone: where a boundary
//! leaves a fine cell for a coarse one, the coarse one is cut as well, so that a boundary is
//! followed from wherever the coarse cells have seen it. What lies within one coarse cell on all
//! sides is not seen.

mod order;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use crate::experiment::Control;
pub(crate) use order::Violation;
use order::{Against, Asked, Order, SURE_RUNS};

/// Number of different answers.
pub(crate) const ANSWERS: usize = 4;

/// A point of the finest grid.
pub(crate) type Place = (u32, u32);

/// What is asked, and how hard.
pub(crate) struct Question<'a> {
    /// The answer at a point in a replication: less than [`ANSWERS`]. `None`: interrupted.
    pub(crate) ask: &'a (dyn Fn(Place, u32) -> Option<usize> + Sync),
    /// Which point stands for this one: itself, unless several have the same values.
    pub(crate) same: &'a (dyn Fn(Place) -> Place + Sync),
    /// Finest cells along each side, a power of two.
    pub(crate) side: u32,
    /// Coarse cells along each side, a power of two that is no more than `side`.
    pub(crate) coarse: u32,
    /// The most replications of one point.
    pub(crate) most: u32,
    /// Whether points may speak for each other, as long as none speaks against it.
    pub(crate) ordered: bool,
}

impl Question<'_> {
    /// Whether more runs of a point with these votes may tell more.
    fn may_tell_more(&self, votes: Votes) -> bool {
        votes.asked() < self.most && !votes.decided() && !votes.open()
    }
}

/// How often a point was given each answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Votes(pub(crate) [u32; ANSWERS]);

impl Votes {
    /// Times it was asked.
    pub(crate) fn asked(self) -> u32 {
        self.0.iter().sum()
    }

    /// The answer given most often; the first of equals.
    pub(crate) fn answer(self) -> usize {
        (0..ANSWERS).rev().max_by_key(|a| self.0[*a]).unwrap_or(0)
    }

    /// Whether that answer's share is above one half with its whole 95 % interval.
    pub(crate) fn decided(self) -> bool {
        wilson(self.0[self.answer()], self.asked())[0] > 0.5
    }

    /// Whether chance decides here, as far as can be told: not even the answer given most often has
    /// a share that may be near one.
    pub(crate) fn open(self) -> bool {
        !self.decided() && wilson(self.0[self.answer()], self.asked())[1] < NEAR_ONE
    }
}

/// Wilson's 95 % interval of a share.
pub(crate) fn wilson(yes: u32, of: u32) -> [f64; 2] {
    interval(yes, of, 3.841_459)
}

/// The same for a square of the normal quantile.
fn interval(yes: u32, of: u32, z2: f64) -> [f64; 2] {
    if of == 0 {
        return [0.0, 1.0];
    }
    let (n, p) = (f64::from(of), f64::from(yes) / f64::from(of));
    let middle = (p + z2 / (2.0 * n)) / (1.0 + z2 / n);
    let half = (z2 * (p * (1.0 - p) / n + z2 / (4.0 * n * n))).sqrt() / (1.0 + z2 / n);
    [(middle - half).max(0.0), (middle + half).min(1.0)]
}

/// A square of finest cells: its lower corner and the length of its side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Square {
    pub(crate) x: u32,
    pub(crate) y: u32,
    pub(crate) size: u32,
}

impl Square {
    fn corners(self) -> [Place; 4] {
        let Self { x, y, size } = self;
        [(x, y), (x + size, y), (x, y + size), (x + size, y + size)]
    }

    /// All places on its border.
    fn border(self) -> impl Iterator<Item = Place> {
        let Self { x, y, size } = self;
        (0..size).flat_map(move |i| {
            [(x + i, y), (x + size, y + i), (x + size - i, y + size), (x, y + size - i)]
        })
    }

    fn quarters(self) -> [Self; 4] {
        let half = self.size / 2;
        [(0, 0), (half, 0), (0, half), (half, half)].map(|(dx, dy)| Self {
            x: self.x + dx,
            y: self.y + dy,
            size: half,
        })
    }
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub(crate) struct Refined {
    /// Every point that was asked.
    pub(crate) points: Asked,
    /// Points that were not, and what the others decide about them.
    pub(crate) inferred: BTreeMap<Place, usize>,
    /// Points that could have been inferred and were asked all the same.
    pub(crate) checked: BTreeSet<Place>,
    /// Two points that showed that points do not speak for each other.
    pub(crate) violated: Option<Violation>,
    /// The cells, in order; together they are the plane.
    pub(crate) squares: Vec<Square>,
    /// How points speak for each other; `None`: they do not.
    order: Option<Order>,
}

impl Refined {
    /// What a point is, by its runs or those of others; `None`: not known.
    pub(crate) fn answer(&self, place: Place) -> Option<usize> {
        let asked = self.points.get(&place).map(|votes| votes.answer());
        asked.or_else(|| self.inferred.get(&place).copied())
    }

    /// The points of a cell's border that were asked.
    fn known<'a>(
        &'a self,
        q: &'a Question<'_>,
        square: Square,
    ) -> impl Iterator<Item = Place> + 'a {
        square.border().map(q.same).filter(|p| self.points.contains_key(p))
    }

    /// The answer that all points of a cell give; `None`: they differ, or none is known.
    pub(crate) fn agreed(&self, q: &Question<'_>, square: Square) -> Option<usize> {
        let mut answers = square.border().map(q.same).filter_map(|p| self.answer(p));
        let first = answers.next()?;
        answers.all(|a| a == first).then_some(first)
    }

    /// Times that anything was asked.
    pub(crate) fn asked(&self) -> u64 {
        self.points.values().map(|v| u64::from(v.asked())).sum()
    }

    /// Asks points more often, in parallel; what is found does not depend on threads. `false`: it
    /// was interrupted, and nothing of this round is kept.
    fn look(
        &mut self,
        q: &Question<'_>,
        wanted: &BTreeMap<Place, u32>,
        control: &Control<'_>,
    ) -> bool {
        let runs: Vec<(Place, u32)> = wanted
            .iter()
            .flat_map(|(place, until)| {
                let from = self.points.get(place).map_or(0, |v| v.asked());
                (from..*until).map(|replication| (*place, replication))
            })
            .collect();
        let before = self.asked();
        let total = before + runs.len() as u64;
        let done = AtomicU64::new(before);
        let answers: Vec<Option<usize>> = runs
            .par_iter()
            .map(|(place, replication)| {
                let answer = if control.stopped() { None } else { (q.ask)(*place, *replication) };
                (control.progress)("runs", done.fetch_add(1, Ordering::Relaxed) + 1, total);
                answer
            })
            .collect();
        let Some(answers) = answers.into_iter().collect::<Option<Vec<usize>>>() else {
            return false;
        };
        for ((place, _), answer) in runs.into_iter().zip(answers) {
            self.points.entry(place).or_default().0[answer] += 1;
        }
        true
    }
}

/// Replications after which a point may be decided, and by which more are asked.
const STEP: u32 = 4;
/// A share whose interval ends below this is not near one.
const NEAR_ONE: f64 = 0.84;
/// One in so many of the points that could be inferred is asked.
const CHECKED: u32 = 12;

/// Finds the boundary. Interrupted, it is what had been found.
pub(crate) fn refine(q: &Question<'_>, control: &Control<'_>) -> Refined {
    let size = q.side / q.coarse;
    let mut found = Refined::default();
    for y in 0..q.coarse {
        found.squares.extend((0..q.coarse).map(|x| Square { x: x * size, y: y * size, size }));
    }
    loop {
        let fresh = found.fresh(q);
        if !found.look(q, &fresh, control) {
            break;
        }
        // With fewer runs whether points speak for each other could not be seen.
        if q.ordered && q.most >= SURE_RUNS && found.order.is_none() && found.violated.is_none() {
            found.order = Some(Order::of(&found.points));
        }
        let mixed: BTreeSet<Square> =
            found.squares.iter().copied().filter(|s| found.agreed(q, *s).is_none()).collect();
        // Every point is held against all others: at once, as far as its own runs leave it open.
        let contradicted: Vec<Place> = found
            .points
            .par_iter()
            .filter(|(p, votes)| q.may_tell_more(**votes) && found.contradicted(**p))
            .map(|(p, _)| *p)
            .collect();
        let doubtful: BTreeMap<Place, u32> = mixed
            .iter()
            .flat_map(|square| found.known(q, *square))
            .chain(contradicted)
            .filter(|p| found.doubtful(q, *p))
            .map(|p| (p, (found.points[&p].asked() / STEP * STEP + STEP).min(q.most)))
            .collect();
        if !doubtful.is_empty() {
            if !found.look(q, &doubtful, control) {
                break;
            }
            continue;
        }
        match found.order.map(|order| order.against(&found.points)) {
            Some(Against::Unsure(ask)) => {
                if !found.look(q, &ask, control) {
                    break;
                }
                continue;
            }
            Some(Against::Sure(violation)) => {
                found.violated = Some(violation);
                found.order = None;
                found.inferred.clear();
                found.checked.clear();
                continue;
            }
            Some(Against::Nothing) | None => {}
        }
        if mixed.iter().all(|square| square.size == 1) {
            break;
        }
        found.squares = std::mem::take(&mut found.squares)
            .into_iter()
            .flat_map(|square| {
                let cut = square.size > 1 && mixed.contains(&square);
                if cut { square.quarters().to_vec() } else { vec![square] }
            })
            .collect();
    }
    found.squares.sort_unstable_by_key(|s| (s.y, s.x));
    found
}

impl Refined {
    /// Corners of cells of which nothing is known, and that are to be asked once. What others decide
    /// is taken from them.
    fn fresh(&mut self, q: &Question<'_>) -> BTreeMap<Place, u32> {
        let corners: BTreeSet<Place> =
            self.squares.iter().flat_map(|square| square.corners()).map(q.same).collect();
        let mut fresh = BTreeMap::new();
        for place in corners {
            if self.answer(place).is_some() {
                continue;
            }
            match self.order.and_then(|order| order.inferred(&self.points, place)) {
                Some(answer) if !is_checked(place) => {
                    self.inferred.insert(place, answer);
                }
                could => {
                    fresh.insert(place, 1);
                    if could.is_some() {
                        self.checked.insert(place);
                    }
                }
            }
        }
        fresh
    }

    /// Whether others decide that a point is something else than its own runs say.
    fn contradicted(&self, place: Place) -> bool {
        let others = self.order.and_then(|order| order.inferred(&self.points, place));
        others.is_some_and(|others| self.points[&place].answer() != others)
    }

    /// Whether more runs of a point may tell more.
    fn doubtful(&self, q: &Question<'_>, place: Place) -> bool {
        let votes = self.points[&place];
        let borrowed = || {
            self.order.is_some_and(|order| order.decided(&self.points, place))
                && !self.contradicted(place)
        };
        q.may_tell_more(votes) && !borrowed()
    }

    /// Points that more runs could not decide.
    pub(crate) fn undecided(&self, q: &Question<'_>) -> BTreeSet<Place> {
        let stuck = |votes: &Votes| !votes.decided() && (votes.open() || votes.asked() >= q.most);
        self.points.iter().filter(|(_, votes)| stuck(votes)).map(|(place, _)| *place).collect()
    }
}

/// Whether a point is asked even if it could be inferred: some are, anywhere.
fn is_checked((x, y): Place) -> bool {
    // Fibonacci hashing: neighbours are far apart.
    let mixed = (u64::from(x) << 32 | u64::from(y)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((mixed >> 40) as u32).is_multiple_of(CHECKED)
}

#[cfg(test)]
mod tests;
