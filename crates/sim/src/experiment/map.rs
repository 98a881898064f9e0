//! A map of a plane of two settings: where the system heals after its trigger, and where not.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use damper_system::model::System;

use crate::State;
use crate::experiment::Control;
use crate::experiment::headroom::HeadroomError;
use crate::experiment::probe::Probe;
use crate::experiment::refine::{Place, Question, Refined, Votes, refine, wilson};

/// What a point of a map is, in the order in which answers are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MapState {
    /// It recovers after the trigger.
    Heals,
    /// It stays down after the trigger.
    StaysDown,
    /// It does not serve its load even before the trigger.
    Overloaded,
    /// It could not be told: watched too briefly, or too few requests.
    Unknown,
}

impl MapState {
    const ALL: [Self; 4] = [Self::Heals, Self::StaysDown, Self::Overloaded, Self::Unknown];

    /// Its name in results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Heals => "heals",
            Self::StaysDown => "stays down",
            Self::Overloaded => "overloaded",
            Self::Unknown => "unknown",
        }
    }

    fn of(state: State) -> usize {
        match state {
            State::Stable => 0,
            State::Metastable => 1,
            State::Overloaded => 2,
            State::Undecided => 3,
        }
    }
}

/// One direction of a map.
#[derive(Clone, Debug, PartialEq)]
pub struct MapAxis {
    /// Lowest value.
    pub from: f64,
    /// Highest value.
    pub to: f64,
    /// Only whole numbers make sense.
    pub whole: bool,
}

impl MapAxis {
    /// The value at a place of the finest grid.
    fn value(&self, place: u32, side: u32) -> f64 {
        let value = self.from + (self.to - self.from) * f64::from(place) / f64::from(side);
        // Rounded, so that 0.1 + 0.2 does not show.
        let value = if self.whole { value.round() } else { value };
        (value * 1e9).round() / 1e9
    }

    /// The first place with the value of this one.
    fn first(&self, place: u32, side: u32) -> u32 {
        if !self.whole {
            return place;
        }
        let value = self.value(place, side);
        (0..place).find(|p| self.value(*p, side) >= value).unwrap_or(place)
    }
}

/// How much effort goes into a map.
#[derive(Clone, Copy, Debug)]
pub struct MapOptions {
    /// Finest cells along each side; a power of two from 8 to 1024.
    pub side: u32,
    /// The most runs, each with a seed of its own, at one point.
    pub most_runs: u32,
    /// Whether points may speak for each other, as long as more turns out never to be better:
    /// otherwise each is run by itself.
    pub ordered: bool,
}

/// A point that was run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MapCorner {
    /// Across.
    pub x: f64,
    /// Upwards.
    pub y: f64,
    /// What most of its runs showed.
    pub state: MapState,
    /// Its runs.
    pub runs: u32,
    /// How many of them healed.
    pub healed: u32,
    /// The 95 % interval of the share that heals (Wilson).
    pub heals_ci95: [f64; 2],
    /// Whether the share of `state` is above one half with its whole interval. Points that agree
    /// with all their neighbours, or that others decide, are not repeated, and are not decided in
    /// this sense.
    pub decided: bool,
    /// Whether more runs would not have decided it: chance does.
    pub open: bool,
}

/// A cell of a map.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MapCell {
    /// Lowest and highest x.
    pub x: [f64; 2],
    /// Lowest and highest y.
    pub y: [f64; 2],
    /// What all its points are; `None`: they differ, so that a boundary goes through it.
    pub state: Option<MapState>,
    /// The states of its corners where they are known: low x and low y, high x and low y, low x
    /// and high y, high x and high y.
    pub corners: [Option<MapState>; 4],
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Map {
    /// Every point that was run, by row.
    pub corners: Vec<MapCorner>,
    /// Cells, which together are the plane, by row.
    pub cells: Vec<MapCell>,
    /// Runs that it took.
    pub runs: u64,
    /// Runs of a full grid with the same cells, by the same rule: those that were made, and one at
    /// every point that was left out.
    pub grid_runs: u64,
    /// Points whose runs came to no decision, as chance decides there or the limit was reached.
    pub undecided: usize,
    /// Points that were not run, as others decide what they are.
    pub inferred: usize,
    /// Points of which that was so and that were run all the same.
    pub checked: usize,
    /// The easier and the harder of two points of which the harder one ends better: points do not
    /// speak for each other here, and none was inferred.
    pub violated: Option<[[f64; 2]; 2]>,
    /// Simulated requests over all runs.
    pub requests: u64,
    /// Interrupted: the rest is missing.
    pub partial: bool,
}

/// Coarse cells along each side, where there is room for so many.
const COARSE: u32 = 8;

/// Draws the map of the plane of `x` and `y`; `at` makes the system of a point.
///
/// # Errors
/// What `at` says of a point that makes no system, or, in words, why there is nothing to recover
/// from ([`HeadroomError`]).
pub fn map(
    x: &MapAxis,
    y: &MapAxis,
    at: &(dyn Fn(f64, f64) -> Result<System, String> + Sync),
    options: &MapOptions,
    control: &Control<'_>,
) -> Result<Map, String> {
    map_from(x, y, at, options, COARSE, control)
}

/// The same from so many coarse cells along each side: with all of them it is a full grid.
fn map_from(
    x: &MapAxis,
    y: &MapAxis,
    at: &(dyn Fn(f64, f64) -> Result<System, String> + Sync),
    options: &MapOptions,
    coarse: u32,
    control: &Control<'_>,
) -> Result<Map, String> {
    let side = options.side.next_power_of_two().clamp(COARSE, 1024);
    let values = |(px, py): Place| (x.value(px, side), y.value(py, side));
    let probe = |place| -> Result<Probe, String> {
        let (x, y) = values(place);
        match Probe::new(&at(x, y)?) {
            Err(HeadroomError::NoLoad) => Err(NO_LOAD.to_owned()),
            made => made.map_err(|e| e.to_string()),
        }
    };
    // What makes no sense at an edge of the plane is said before an hour of running.
    for place in [(0, 0), (side, 0), (0, side), (side, side)] {
        probe(place)?;
    }
    let failed: Mutex<Option<String>> = Mutex::new(None);
    let requests = AtomicU64::new(0);
    let ask = |place: Place, replication: u32| {
        let probe = match probe(place) {
            Ok(made) => made,
            Err(why) => {
                failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(why);
                return None;
            }
        };
        // Points have seeds of their own: what one seed does to all of them is not told twice.
        let offset = (place.1 * (side + 1) + place.0).wrapping_mul(SEEDS_OF_A_POINT);
        let replication = offset.wrapping_add(replication);
        let outcome = probe.run(&probe.recover, replication, control);
        requests.fetch_add(outcome.requests, Ordering::Relaxed);
        (!control.stopped()).then(|| MapState::of(outcome.verdict.state))
    };
    let same = |(px, py)| (x.first(px, side), y.first(py, side));
    let question = Question {
        ask: &ask,
        same: &same,
        side,
        coarse,
        most: options.most_runs.max(1),
        ordered: options.ordered,
    };
    let found = refine(&question, control);
    if let Some(why) = failed.lock().unwrap_or_else(PoisonError::into_inner).take() {
        return Err(why);
    }
    let distinct = |axis: &MapAxis| (0..=side).filter(|p| axis.first(*p, side) == *p).count();
    let left_out = distinct(x) * distinct(y) - found.points.len();
    Ok(Map {
        requests: requests.load(Ordering::Relaxed),
        partial: control.stopped(),
        ..told(&found, &question, &values, left_out)
    })
}

/// The highest load, all classes together, that the capacities of a system allow when all is
/// well; `None`: nothing limits it, or nobody calls.
#[must_use]
pub fn most_load(system: &System) -> Option<f64> {
    crate::experiment::worst::ceiling(system)
}

/// More than the most runs of a point.
const SEEDS_OF_A_POINT: u32 = 1_009;

const NO_LOAD: &str = "the load is zero somewhere in the plane: begin its range above zero";

fn state(votes: Votes) -> MapState {
    MapState::ALL[votes.answer()]
}

/// The map of what was found.
fn told(
    found: &Refined,
    question: &Question<'_>,
    values: &dyn Fn(Place) -> (f64, f64),
    left_out: usize,
) -> Map {
    let undecided = found.undecided(question);
    let mut corners: Vec<MapCorner> = found
        .points
        .iter()
        .map(|(place, votes)| {
            let (x, y) = values(*place);
            let (runs, healed) = (votes.asked(), votes.0[0]);
            MapCorner {
                x,
                y,
                state: state(*votes),
                runs,
                healed,
                heals_ci95: wilson(healed, runs),
                decided: votes.decided(),
                open: undecided.contains(place),
            }
        })
        .collect();
    corners.sort_by(|a, b| a.y.total_cmp(&b.y).then(a.x.total_cmp(&b.x)));
    let cells = found.squares.iter().map(|square| {
        let (low, high) = ((square.x, square.y), (square.x + square.size, square.y + square.size));
        let ((x0, y0), (x1, y1)) = (values(low), values(high));
        let corner = |place| found.answer((question.same)(place)).map(|a| MapState::ALL[a]);
        MapCell {
            x: [x0, x1],
            y: [y0, y1],
            state: found.agreed(question, *square).map(|a| MapState::ALL[a]),
            corners: [corner(low), corner((high.0, low.1)), corner((low.0, high.1)), corner(high)],
        }
    });
    Map {
        cells: cells.collect(),
        undecided: undecided.len(),
        inferred: found.inferred.len(),
        checked: found.checked.len(),
        violated: found.violated.map(|v| [v.easier, v.harder].map(|p| values(p).into())),
        corners,
        runs: found.asked(),
        grid_runs: found.asked() + left_out as u64,
        requests: 0,
        partial: false,
    }
}

impl MapCell {
    /// The pieces of the line between corners that heal and corners that do not, by the middles
    /// of the sides that it crosses (marching squares). Nothing where a corner was not run.
    fn pieces(&self) -> Vec<[[f64; 2]; 2]> {
        let [Some(a), Some(b), Some(c), Some(d)] =
            self.corners.map(|c| Some(c? == MapState::Heals))
        else {
            return Vec::new();
        };
        let middle = |[low, high]: [f64; 2]| (low + high) / 2.0;
        let low = [middle(self.x), self.y[0]];
        let high = [middle(self.x), self.y[1]];
        let left = [self.x[0], middle(self.y)];
        let right = [self.x[1], middle(self.y)];
        let crossed: Vec<[f64; 2]> =
            [(a != b, low), (b != d, right), (c != d, high), (a != c, left)]
                .into_iter()
                .filter_map(|(crosses, at)| crosses.then_some(at))
                .collect();
        match crossed[..] {
            [from, to] => vec![[from, to]],
            // A saddle: each of the corners that heal is cut off by itself.
            [low, right, high, left] if a => vec![[low, left], [right, high]],
            [low, right, high, left] => vec![[low, right], [high, left]],
            _ => Vec::new(),
        }
    }
}

impl Map {
    /// The line between where it heals and where it does not, in pieces.
    #[must_use]
    pub fn boundary(&self) -> Vec<[[f64; 2]; 2]> {
        let mixed = self.cells.iter().filter(|cell| cell.state.is_none());
        mixed.flat_map(MapCell::pieces).collect()
    }
}

#[cfg(test)]
mod tests {
    use damper_system::SystemFile;

    use super::*;

    #[test]
    fn a_line_goes_between_corners_that_differ() {
        use MapState::{Heals, Overloaded, StaysDown};
        let pieces = |corners: [MapState; 4]| {
            let corners = corners.map(Some);
            MapCell { x: [0.0, 2.0], y: [0.0, 4.0], state: None, corners }.pieces()
        };
        assert_eq!(pieces([Heals, StaysDown, Heals, StaysDown]), [[[1.0, 0.0], [1.0, 4.0]]]);
        assert_eq!(pieces([Heals, StaysDown, StaysDown, Overloaded]), [[[1.0, 0.0], [0.0, 2.0]]]);
        assert_eq!(pieces([StaysDown, Overloaded, StaysDown, Overloaded]), [[[0.0; 2]; 2]; 0]);
        assert_eq!(pieces([Heals, StaysDown, StaysDown, Heals]).len(), 2);
        let unknown = MapCell { x: [0.0; 2], y: [0.0; 2], state: None, corners: [None; 4] };
        assert!(unknown.pieces().is_empty());
    }

    #[test]
    fn values_of_whole_numbers_share_their_first_place() {
        let limits = MapAxis { from: 0.0, to: 4.0, whole: true };
        assert_eq!((limits.value(0, 16), limits.value(16, 16)), (0.0, 4.0));
        assert_eq!(limits.value(7, 16), 2.0);
        let firsts: Vec<u32> = (0..=16).map(|p| limits.first(p, 16)).collect();
        assert_eq!(firsts, [0, 0, 2, 2, 2, 2, 6, 6, 6, 6, 10, 10, 10, 10, 14, 14, 14]);
        let any = MapAxis { whole: false, ..limits };
        assert_eq!((any.value(3, 16), any.first(3, 16)), (0.75, 3));
    }

    /// A small storm: one worker of 10/s, so that it heals from everything below 5/s. What a full grid
    /// decides at a point, the map says too; where it does not, it has asked there and found chance.
    #[test]
    fn a_map_is_what_a_full_grid_is() {
        const STORM: &str = "
damper: 1
services: {db: {workers: 1, service_time: 100ms}}
load: 5/s
requests: {read: {calls: [db]}}
policies: {db: {timeout: 1s, retry: {limit: 1}}}
triggers: {blip: {outage: db, for: 2s}}
experiment: {warmup: 10s, trigger_at: 20s, watch: 120s, seed: 5}
";
        let at = |load: f64, seconds: f64| {
            let mut file = SystemFile::parse("storm.yaml", STORM).map_err(|p| p.to_string())?;
            let set = [format!("load={load}/s"), format!("triggers.blip.for={seconds}s")];
            set.iter().try_for_each(|s| file.set(s)).map_err(|p| p.to_string())?;
            file.lower().map_err(|p| p.to_string())
        };
        let axis = |from, to| MapAxis { from, to, whole: false };
        let (x, y) = (axis(2.0, 10.0), axis(0.5, 8.5));
        let stop = std::sync::atomic::AtomicBool::new(false);
        let control = Control { stop: &stop, progress: &|_, _, _| {} };
        let run = |coarse, ordered| {
            let options = MapOptions { side: 32, most_runs: 24, ordered };
            map_from(&x, &y, &at, &options, coarse, &control).unwrap()
        };
        let (grid, map) = (run(32, false), run(COARSE, true));
        assert_eq!(grid.corners.len(), 33 * 33);
        assert_eq!(map.violated, None);
        assert!(map.inferred > 0 && map.checked > 0);
        // Against what a grid that repeats at its boundary really takes: chance blurs this boundary over
        // many cells, and most runs are repeats there.
        assert!(3 * map.runs <= 2 * grid.runs, "{} of {}", map.runs, grid.runs);
        let says = |x: f64, y: f64| {
            let corners = map.cells.iter().flat_map(|c| {
                let places = [(0, 0), (1, 0), (0, 1), (1, 1)];
                places.into_iter().zip(c.corners).map(|((i, j), s)| (c.x[i], c.y[j], s))
            });
            corners.filter(|c| c.0 == x && c.1 == y).find_map(|c| c.2)
        };
        let open = |x: f64, y: f64| map.corners.iter().any(|c| c.open && c.x == x && c.y == y);
        let (mut same, mut other) = (0, Vec::new());
        for p in grid.corners.iter().filter(|p| p.decided) {
            match says(p.x, p.y) {
                Some(state) if state == p.state => same += 1,
                Some(_) if !open(p.x, p.y) => other.push((p.x, p.y)),
                _ => {}
            }
        }
        // One decision in twenty may be wrong on either side.
        assert!(same > 40 && 10 * other.len() <= same, "{same} agree, and these not: {other:?}");
    }

    /// At full size a boundary is sharp.
    #[test]
    #[ignore = "slow: hundreds of runs at 300/s"]
    fn a_sharp_boundary_takes_two_fifths_of_a_grid() {
        let text = include_str!("../../../../examples/retry-storm.yaml");
        let at = |load: f64, seconds: f64| {
            let mut file = SystemFile::parse("storm.yaml", text).map_err(|p| p.to_string())?;
            let set = [format!("load={load}/s"), format!("triggers.blip[0].for={seconds}s")];
            set.iter().try_for_each(|s| file.set(s)).map_err(|p| p.to_string())?;
            file.lower().map_err(|p| p.to_string())
        };
        let axis = |from, to| MapAxis { from, to, whole: false };
        let stop = std::sync::atomic::AtomicBool::new(false);
        let control = Control { stop: &stop, progress: &|_, _, _| {} };
        let options = MapOptions { side: 64, most_runs: 24, ordered: true };
        let map = super::map(&axis(15.0, 315.0), &axis(0.1, 4.0), &at, &options, &control).unwrap();
        let Map { runs, grid_runs, undecided, inferred, checked, violated, .. } = &map;
        let told = format!(
            "{runs} runs at {} points, a grid {grid_runs}; {undecided} open, {inferred} inferred, \
             {checked} checked, {violated:?}",
            map.corners.len()
        );
        assert!(violated.is_none() && 5 * runs <= 2 * grid_runs, "{told}");
    }
}
