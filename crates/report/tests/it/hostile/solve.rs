//! Solutions and sweeps of values that nobody would write down.

use damper_report::result::{
    AsRoutes, ClassSolution, FixedPoint, FixedPoints, Point, ServiceSolution, Simulated,
    SimulatedClass, SimulatedService, Solution, Solve, Swept,
};

use super::{Dice, graph, origin};

pub fn empty() -> Solve {
    Solve::default()
}

/// A solution, or a sweep of some.
pub fn solve(dice: &mut Dice) -> Solve {
    let single = dice.below(2) == 0;
    Solve {
        origin: origin(dice),
        solution: single.then(|| solution(dice)),
        graph: (single && dice.below(4) > 0).then(|| graph(dice)),
        points: if single { Vec::new() } else { dice.list(30, point) },
        swept: (dice.below(4) > 0).then(|| Swept { path: dice.name(), unit: dice.name() }),
        varied: (dice.below(2) == 0).then(|| dice.name()),
    }
}

fn point(dice: &mut Dice) -> Point {
    Point {
        at: dice.list(3, Dice::name),
        value: dice.maybe(),
        variant: (dice.below(2) == 0).then(|| dice.name()),
        solution: solution(dice),
    }
}

fn solution(dice: &mut Dice) -> Solution {
    let class = |d: &mut Dice| ClassSolution {
        load_rps: d.number(),
        rejection: d.number(),
        completion: d.number(),
    };
    let service = |d: &mut Dice| ServiceSolution {
        s: d.number(),
        attempts_rps: d.list(3, |d| (d.name(), d.number())).into_iter().collect(),
        utilisation: d.maybe(),
        amplification: d.number(),
        worst_amplification: d.number(),
        hidden_rps: d.maybe(),
    };
    Solution {
        load_rps: dice.number(),
        classes: dice.list(4, |d| (d.name(), class(d))).into_iter().collect(),
        class_order: dice.list(4, Dice::name),
        services: dice.list(6, |d| (d.name(), service(d))).into_iter().collect(),
        service_order: dice.list(4, Dice::name),
        calls_per_request: dice.number(),
        calls_per_success: dice.maybe(),
        floor_calls_per_request: dice.number(),
        hidden_rps: dice.maybe(),
        weakest: Some(dice.name()),
        unique: dice.below(2) == 0,
        unique_because: dice.name(),
        iterations: dice.count(),
        residual: dice.number(),
        fixed_points: (dice.below(2) == 0).then(|| FixedPoints {
            found: dice.count(),
            starts: dice.count(),
            unsettled: dice.count(),
            solutions: dice.list(9, |d| FixedPoint {
                starts: d.count(),
                s: d.list(3, |d| (d.name(), d.number())).into_iter().collect(),
            }),
        }),
        as_routes: (dice.below(2) == 0).then(|| AsRoutes {
            differs: dice.below(2) == 0,
            rejection: dice.list(3, |d| (d.name(), d.number())).into_iter().collect(),
            s: dice.list(3, |d| (d.name(), d.number())).into_iter().collect(),
            calls_per_request: dice.number(),
            calls_per_success: dice.maybe(),
            remarks: dice.list(2, Dice::name),
        }),
        simulated: (dice.below(2) == 0).then(|| simulated(dice)),
    }
}

fn simulated(dice: &mut Dice) -> Simulated {
    let class = |d: &mut Dice| SimulatedClass {
        rejection: d.number(),
        rejection_ci95: d.pair(),
        difference: d.number(),
        difference_ci95: d.pair(),
    };
    let service = |d: &mut Dice| SimulatedService {
        attempts_rps: d.number(),
        attempts_rps_ci95: (d.below(2) == 0).then(|| d.pair()),
        difference: d.number(),
    };
    Simulated {
        classes: dice.list(3, |d| (d.name(), class(d))).into_iter().collect(),
        calls_per_request: dice.number(),
        calls_per_request_ci95: dice.pair(),
        calls_per_request_difference: dice.number(),
        calls_per_request_difference_ci95: dice.pair(),
        services: dice.list(3, |d| (d.name(), service(d))).into_iter().collect(),
        replications: 5,
    }
}
