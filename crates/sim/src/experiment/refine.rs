//! Where the answer changes over a plane, found without asking at every point of a grid.
//!
//! The plane is a square of cells, a power of two along each side. Asking starts at the corners of
//! coarse cells. A cell whose points agree is left alone; one whose points do not is cut into four,
//! down to the finest cells. A point is asked once as long as it agrees with its neighbours, and
//! again and again where it does not, until its interval decides or a limit is reached: that is
//! where chance decides, and where the runs belong. A wrong answer far from the boundary makes a
//! cell that disagrees, is asked again, and is outvoted.
//!
//! A cell's points are all that were asked on its border, not its corners alone: where a boundary
//! leaves a fine cell for a coarse one, the coarse one is cut as well, so that a boundary is
//! followed from wherever the coarse cells have seen it. What lies within one coarse cell on all
//! sides is not seen.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use crate::experiment::Control;

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
}

/// Wilson's 95 % interval of a share.
pub(crate) fn wilson(yes: u32, of: u32) -> [f64; 2] {
    const Z2: f64 = 3.841_459;
    if of == 0 {
        return [0.0, 1.0];
    }
    let (n, p) = (f64::from(of), f64::from(yes) / f64::from(of));
    let middle = (p + Z2 / (2.0 * n)) / (1.0 + Z2 / n);
    let half = (Z2 * (p * (1.0 - p) / n + Z2 / (4.0 * n * n))).sqrt() / (1.0 + Z2 / n);
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
    pub(crate) points: BTreeMap<Place, Votes>,
    /// The cells, in order; together they are the plane.
    pub(crate) squares: Vec<Square>,
}

impl Refined {
    /// The points of a cell's border that were asked.
    fn known<'a>(
        &'a self,
        q: &'a Question<'_>,
        square: Square,
    ) -> impl Iterator<Item = Place> + 'a {
        square.border().map(q.same).filter(|p| self.points.contains_key(p))
    }

    /// The answer that all points of a cell give; `None`: they differ, or none was asked.
    pub(crate) fn agreed(&self, q: &Question<'_>, square: Square) -> Option<usize> {
        let mut answers = self.known(q, square).map(|p| self.points[&p].answer());
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

/// Finds the boundary. Interrupted, it is what had been found.
pub(crate) fn refine(q: &Question<'_>, control: &Control<'_>) -> Refined {
    let size = q.side / q.coarse;
    let mut found = Refined::default();
    for y in 0..q.coarse {
        found.squares.extend((0..q.coarse).map(|x| Square { x: x * size, y: y * size, size }));
    }
    loop {
        let fresh: BTreeMap<Place, u32> = found
            .squares
            .iter()
            .flat_map(|square| square.corners())
            .map(q.same)
            .filter(|p| !found.points.contains_key(p))
            .map(|p| (p, 1))
            .collect();
        if !found.look(q, &fresh, control) {
            break;
        }
        let mixed: BTreeSet<Square> =
            found.squares.iter().copied().filter(|s| found.agreed(q, *s).is_none()).collect();
        let doubtful: BTreeMap<Place, u32> = mixed
            .iter()
            .flat_map(|square| found.known(q, *square))
            .map(|p| (p, found.points[&p]))
            .filter(|(_, votes)| votes.asked() < q.most && !votes.decided())
            .map(|(p, votes)| (p, (votes.asked() / STEP * STEP + STEP).min(q.most)))
            .collect();
        if !doubtful.is_empty() {
            if !found.look(q, &doubtful, control) {
                break;
            }
            continue;
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    const SIDE: u32 = 128;

    fn find(most: u32, ask: &(dyn Fn(f64, f64, u32) -> usize + Sync)) -> Refined {
        let unit = |i: u32| f64::from(i) / f64::from(SIDE);
        let ask = |(x, y): Place, replication| Some(ask(unit(x), unit(y), replication));
        let question = Question { ask: &ask, same: &|p| p, side: SIDE, coarse: 8, most };
        let stop = AtomicBool::new(false);
        refine(&question, &Control { stop: &stop, progress: &|_, _, _| {} })
    }

    /// Squares whose points differ, by the points that were asked.
    fn mixed(found: &Refined) -> Vec<Square> {
        let q = Question { ask: &|_, _| None, same: &|p| p, side: SIDE, coarse: 8, most: 1 };
        found.squares.iter().copied().filter(|s| found.agreed(&q, *s).is_none()).collect()
    }

    /// A boundary that is known: y = x² + 0.1. Every cell that it crosses is of the finest, every
    /// other answer is right, and it took a small part of a grid.
    #[test]
    fn a_curve_is_followed_to_the_resolution() {
        let curve = |x: f64| x * x + 0.1;
        let found = find(24, &|x, y, _| usize::from(y > curve(x)));
        let mut crossed = 0;
        for square in mixed(&found) {
            assert_eq!(square.size, 1, "{square:?}");
            let unit = |i: u32| f64::from(i) / f64::from(SIDE);
            let (low, high) = (curve(unit(square.x)), curve(unit(square.x + 1)));
            assert!(low <= unit(square.y + 1) && high >= unit(square.y), "{square:?}");
            crossed += 1;
        }
        // The curve climbs by 0.9 over 0.949 of the width.
        assert!((200..=240).contains(&crossed), "{crossed} cells");
        let area: u32 = found.squares.iter().map(|s| s.size * s.size).sum();
        assert_eq!(area, SIDE * SIDE, "the cells are the plane");
        // 129² points at once each, and four times along the curve.
        let grid = u64::from((SIDE + 1) * (SIDE + 1));
        assert!(5 * found.points.len() as u64 <= grid, "{} points", found.points.len());
        assert!(5 * found.asked() < 2 * (grid + 3 * 2 * crossed), "{} runs", found.asked());
    }

    /// A boundary that enters and leaves through one side of a coarse cell is seen by following.
    #[test]
    fn a_bulge_between_coarse_points_is_followed() {
        let inside = |x: f64, y: f64| y < 0.3 + 0.1 * (x * 24.0).sin();
        let found = find(4, &|x, y, _| usize::from(inside(x, y)));
        for i in 0..SIDE {
            // Down each column the answer turns where it must.
            let x = f64::from(i) / f64::from(SIDE);
            let turn = 0.3 + 0.1 * (x * 24.0).sin();
            let here = mixed(&found).into_iter().filter(|s| s.x == i || s.x + 1 == i);
            let near = here.map(|s| (f64::from(s.y) + 0.5) / f64::from(SIDE) - turn);
            let best = near.map(f64::abs).fold(f64::INFINITY, f64::min);
            assert!(best <= 1.0 / f64::from(SIDE), "at {x}: {best} from {turn}");
        }
    }

    /// One answer in eight is wrong. Where all is clear that costs little; at the boundary points
    /// are asked until they are decided.
    #[test]
    fn wrong_answers_are_outvoted() {
        let wrong = |x: f64, y: f64, replication: u32| {
            let mixed = ((x * 977.0 + y * 1361.0 + f64::from(replication) * 1.7) * 311.0).sin();
            (mixed.abs() * 1e4) % 8.0 < 1.0
        };
        let found = find(40, &|x, y, r| usize::from((x > 0.4) != wrong(x, y, r)));
        let off: Vec<_> = found
            .points
            .iter()
            .filter(|((x, _), v)| (f64::from(*x) / f64::from(SIDE) > 0.4) != (v.answer() == 1))
            .collect();
        let decided = off.iter().filter(|(_, v)| v.decided()).count();
        assert!(20 * decided <= found.points.len(), "{decided} of {}", found.points.len());
        let far = mixed(&found).into_iter().filter(|s| !(48..56).contains(&s.x)).count();
        assert!(far <= 12, "{far} cells far from the boundary");
        let most = found.points.values().map(|v| v.asked()).max();
        assert!(most.unwrap() <= 40 && most.unwrap() > 4);
    }

    #[test]
    fn a_plane_of_one_answer_takes_the_coarse_points() {
        let found = find(24, &|_, _, _| 2);
        assert_eq!((found.points.len(), found.asked()), (81, 81));
        assert_eq!(found.squares.len(), 64);
    }

    /// Four times the same is the least that decides; seven of eight do, six of eight do not.
    #[test]
    fn intervals_by_hand() {
        let [low, high] = wilson(4, 4);
        assert!((low - 4.0 / (4.0 + 3.841_459)).abs() < 1e-9 && (high - 1.0).abs() < 1e-9);
        assert!(!Votes([3, 0, 0, 0]).decided() && Votes([4, 0, 0, 0]).decided());
        assert!(Votes([1, 7, 0, 0]).decided() && !Votes([2, 6, 0, 0]).decided());
        assert_eq!(Votes([2, 2, 0, 0]).answer(), 0);
        assert_eq!(wilson(0, 0), [0.0, 1.0]);
    }

    /// Values that are whole numbers are asked once, however many points have them.
    #[test]
    fn points_with_the_same_values_are_one() {
        let ask = |(x, _): Place, _| Some(usize::from(x >= 64));
        let same = |(x, y): Place| (x / 32 * 32, y / 64 * 64);
        let question = Question { ask: &ask, same: &same, side: 128, coarse: 8, most: 4 };
        let stop = AtomicBool::new(false);
        let found = refine(&question, &Control { stop: &stop, progress: &|_, _, _| {} });
        assert_eq!(found.points.len(), 5 * 3);
    }

    #[test]
    fn interrupted_it_keeps_what_was_found() {
        let stop = AtomicBool::new(false);
        let ask = |(x, _): Place, replication| {
            if replication == 3 {
                stop.store(true, Ordering::Relaxed);
                return None;
            }
            Some(usize::from(x > 60))
        };
        let question = Question { ask: &ask, same: &|p| p, side: 128, coarse: 8, most: 8 };
        let found = refine(&question, &Control { stop: &stop, progress: &|_, _, _| {} });
        assert_eq!(found.points.len(), 81);
    }
}
