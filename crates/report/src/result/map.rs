//! What `damper map` prints.

use serde::{Deserialize, Serialize};

use super::Origin;

/// Where a system heals after its trigger, over a plane of two settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Map {
    /// Where it comes from.
    #[serde(flatten)]
    pub origin: Origin,
    /// The trigger of the file, in words.
    pub trigger: String,
    /// What goes across.
    pub x: MapAxis,
    /// What goes upwards.
    pub y: MapAxis,
    /// Where the file itself is, if it is in the plane.
    pub file_at: Option<[f64; 2]>,
    /// Finest cells along each side: the boundary is known to one of them.
    pub cells_per_side: u32,
    /// The most runs at one point, each with a seed of its own.
    pub most_runs: u32,
    /// Runs that were made.
    pub runs: u64,
    /// Runs of a full grid by the same rule.
    pub grid_runs: u64,
    /// Points that their runs could not decide: chance does.
    pub undecided: u64,
    /// Points that were not run, as the runs of easier and harder ones decide what they are.
    #[serde(default)]
    pub inferred: u64,
    /// Points of which that was so and that were run all the same, to see whether it is so.
    #[serde(default)]
    pub checked: u64,
    /// Two points, the easier one first, of which the harder one ends better: more is not always worse
    /// here, and no point was inferred.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub violated: Option<[[f64; 2]; 2]>,
    /// Simulated requests, over all runs.
    pub simulated_requests: u64,
    /// Pieces of the line between where it heals and where not; each from one point to another.
    pub boundary: Vec<[[f64; 2]; 2]>,
    /// Cells, which together are the plane.
    pub cells: Vec<MapCell>,
    /// Points that were run.
    pub points: Vec<MapPoint>,
}

/// One direction of a map.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MapAxis {
    /// What is varied, as it was asked for.
    pub path: String,
    /// The unit behind its values.
    pub unit: String,
    /// Lowest value.
    pub from: f64,
    /// Highest value.
    pub to: f64,
}

/// A cell of a map.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MapCell {
    /// Lowest and highest x.
    pub x: [f64; 2],
    /// Lowest and highest y.
    pub y: [f64; 2],
    /// `heals`, `stays down`, `overloaded`, `unknown`, or `boundary` where its points differ.
    pub state: String,
    /// States of its corners: low x and low y, high x and low y, low x and high y, high x and
    /// high y; `null` where it is not known.
    pub corners: [Option<String>; 4],
}

/// A point that was run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MapPoint {
    /// Across.
    pub x: f64,
    /// Upwards.
    pub y: f64,
    /// What most of its runs showed.
    pub state: String,
    /// Its runs.
    pub runs: u32,
    /// How many of them healed.
    pub healed: u32,
    /// The 95 % interval of the share that heals.
    pub heals_ci95: [f64; 2],
    /// Whether its state's share is above one half with its whole interval.
    pub decided: bool,
    /// Whether more runs would not have decided it: chance does.
    #[serde(default)]
    pub open: bool,
}

/// A cell whose points differ.
pub const BOUNDARY: &str = "boundary";

impl MapCell {
    fn holds(&self, x: f64, y: f64) -> bool {
        (self.x[0]..=self.x[1]).contains(&x) && (self.y[0]..=self.y[1]).contains(&y)
    }

    /// The state at a point of the cell: the cell's, or that of its nearest corner.
    fn at(&self, x: f64, y: f64) -> &str {
        if self.state != BOUNDARY {
            return &self.state;
        }
        let right = usize::from(2.0 * x > self.x[0] + self.x[1]);
        let top = usize::from(2.0 * y > self.y[0] + self.y[1]);
        self.corners.get(2 * top + right).and_then(Option::as_deref).unwrap_or("unknown")
    }
}

impl Map {
    /// The state at a point of the plane; `unknown` outside, and where nothing was run.
    #[must_use]
    pub fn at(&self, x: f64, y: f64) -> &str {
        self.cells.iter().find(|c| c.holds(x, y)).map_or("unknown", |c| c.at(x, y))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mixed_cell_is_what_its_nearest_corner_is() {
        let corner = |state: &str| Some(state.to_owned());
        let cell = MapCell {
            x: [0.0, 2.0],
            y: [10.0, 20.0],
            state: BOUNDARY.to_owned(),
            corners: [corner("heals"), corner("stays down"), None, corner("overloaded")],
        };
        let map = Map { cells: vec![cell], ..Map::default() };
        assert_eq!(map.at(0.4, 12.0), "heals");
        assert_eq!(map.at(1.4, 12.0), "stays down");
        assert_eq!(map.at(0.4, 18.0), "unknown");
        assert_eq!(map.at(1.4, 18.0), "overloaded");
        assert_eq!(map.at(3.0, 12.0), "unknown");
    }
}
