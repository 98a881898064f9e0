//! Budgets times deadlines: none, one that the caller keeps to itself, one that travels.

use damper_control::entry::Kind;
use damper_control::registry;
use damper_sim::{Conditions, Headroom, Plan};
use rayon::prelude::*;

use crate::measure::*;

const CAPACITY: u32 = 2;
const RUNS: u32 = 3;

/// Three ways to have a deadline.
const DEADLINES: [(&str, &str); 3] =
    [("none", "none"), ("kept", "3s"), ("travels", "{total: 3s, travels: true}")];

/// One service, or a front that calls it and retries as well.
pub(crate) struct Layers {
    pub(crate) title: &'static str,
    changes: &'static [&'static str],
}

pub(crate) const LAYERS: [Layers; 2] = [
    Layers {
        title: "One layer, five retries",
        changes: &["policies={default: {timeout: 1s, retry: {limit: 5}}}"],
    },
    Layers {
        title: "Two layers, two retries each",
        changes: &[
            "services.front={}",
            "requests.query.calls=[{front: [db]}]",
            "policies={default: {timeout: 1s, retry: {limit: 2}}}",
        ],
    },
];

/// What a budget and a deadline come to.
pub(crate) struct Cell {
    pub(crate) headroom: Headroom,
    /// Good requests of a run with the trigger, as a share.
    pub(crate) storm: f64,
    /// The same under transient errors without a trigger.
    pub(crate) errors: f64,
}

impl Cell {
    pub(crate) fn hidden(&self) -> f64 {
        self.headroom.hidden.map_or(0.0, |h| h.mean)
    }
}

/// A budget with each of the deadlines.
pub(crate) struct Line {
    pub(crate) budget: &'static str,
    pub(crate) cells: Vec<Cell>,
}

pub(crate) fn lines(layers: &Layers) -> Vec<Line> {
    let budgets: Vec<&str> = registry::of(Kind::Budget).map(|e| e.name).collect();
    let line = |budget: &&'static str| Line {
        budget,
        cells: DEADLINES.par_iter().map(|(_, deadline)| cell(layers, budget, deadline)).collect(),
    };
    budgets.par_iter().map(line).collect()
}

fn cell(layers: &Layers, budget: &str, deadline: &str) -> Cell {
    let own = [
        format!("policies.default.retry.budget={budget}"),
        format!("policies.default.deadline={deadline}"),
    ];
    let changes: Vec<String> = layers.changes.iter().map(|c| (*c).to_owned()).chain(own).collect();
    let (file, system) = example("retry-storm.yaml", &changes);
    let plan = Plan::new(&system);
    Cell {
        headroom: capacity(&file, &system, CAPACITY),
        storm: mean(runs(&plan, &Conditions::of(&plan), RUNS).iter().map(success)),
        errors: mean(under_errors(&plan, 0.5, 120, RUNS).iter().map(success)),
    }
}

pub(crate) fn table(lines: &[Line]) -> String {
    let groups = ["hidden", "success in the storm", "success under 1 % errors"];
    let columns: Vec<String> = std::iter::once("budget".to_owned())
        .chain(groups.iter().flat_map(|g| DEADLINES.map(|(d, _)| format!("{g}: {d}"))))
        .collect();
    let mut text = head(&columns.iter().map(String::as_str).collect::<Vec<_>>());
    for line in lines {
        let show: [fn(&Cell) -> String; 3] = [
            |c| format!("{:.0}", c.hidden()),
            |c| percent(c.storm),
            |c| format!("{:.2} %", 100.0 * c.errors),
        ];
        let name = format!("[{0}](controls/{0}.md)", line.budget);
        let cells = show.iter().flat_map(|s| line.cells.iter().map(s));
        text += &row(&std::iter::once(name).chain(cells).collect::<Vec<_>>());
    }
    text
}
