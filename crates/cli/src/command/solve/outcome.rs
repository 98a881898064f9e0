//! From what the model and the simulator know to the result of `damper solve`.

use damper_model::network::Uniqueness;
use damper_model::system::{AsRoutes, Restarts, Solved};
use damper_report::result as out;
use damper_sim::Simulated;
use damper_system::System;
use damper_system::model::Work;

/// The solution of one system.
pub(super) fn solution(system: &System, solved: &Solved) -> out::Solution {
    let classes = system.classes.iter().zip(&solved.classes).zip(&system.load);
    let classes = classes.map(|((name, class), load)| {
        let class = out::ClassSolution {
            load_rps: load.mean(),
            rejection: class.rejection,
            completion: class.completion,
        };
        (name.clone(), class)
    });
    let services = system.services.iter().zip(&solved.services).map(|(service, s)| {
        let attempts = system.classes.iter().cloned().zip(s.attempts_rps.iter().copied());
        let solution = out::ServiceSolution {
            s: s.s,
            attempts_rps: attempts.collect(),
            utilisation: s.utilisation,
            amplification: s.amplification,
            worst_amplification: s.worst_amplification,
            hidden_rps: s.hidden_rps,
        };
        (service.name.clone(), solution)
    });
    let (unique, because) = uniqueness(system, solved.unique);
    out::Solution {
        load_rps: system.total_load(),
        classes: classes.collect(),
        class_order: system.classes.clone(),
        services: services.collect(),
        service_order: system.services.iter().map(|s| s.name.clone()).collect(),
        calls_per_request: solved.calls_per_request,
        calls_per_success: solved.calls_per_success,
        floor_calls_per_request: solved.floor_calls_per_request,
        hidden_rps: solved.hidden_rps,
        weakest: solved.weakest.map(|i| system.services[i].name.clone()),
        unique,
        unique_because: because.to_owned(),
        iterations: solved.iterations as u64,
        residual: solved.residual,
        fixed_points: None,
        as_routes: solved.as_routes.as_ref().map(|r| as_routes(system, solved, r)),
        simulated: None,
    }
}

/// Whether there can be another solution, and why.
fn uniqueness(system: &System, unique: Uniqueness) -> (bool, &'static str) {
    match (unique, &system.work) {
        (Uniqueness::NoLoop, _) => (true, "nothing depends on itself"),
        (Uniqueness::SharedRouting, _) => (true, "at most two classes share their routes"),
        (Uniqueness::SmallColumns, _) => (true, "little comes to any service from its own loop"),
        (Uniqueness::NotGuaranteed, Work::Routes(_)) => {
            (false, "no known condition holds, and networks with two solutions are known")
        }
        (Uniqueness::NotGuaranteed, Work::Requests(_)) => (
            false,
            "no published condition covers services of call trees that depend on one another",
        ),
    }
}

fn as_routes(system: &System, solved: &Solved, read: &AsRoutes) -> out::AsRoutes {
    let classes = system.classes.iter().cloned();
    let services = system.services.iter().map(|s| s.name.clone());
    out::AsRoutes {
        differs: read.differs_from(solved),
        rejection: classes.zip(read.classes.iter().map(|c| c.rejection)).collect(),
        s: services.zip(read.s.iter().copied()).collect(),
        calls_per_request: read.calls_per_request,
        calls_per_success: read.calls_per_success,
        remarks: read.remarks.clone(),
    }
}

/// What random starts ended at.
pub(super) fn fixed_points(system: &System, found: &Restarts) -> out::FixedPoints {
    let names = || system.services.iter().map(|s| s.name.clone());
    out::FixedPoints {
        found: found.fixed_points.len() as u64,
        starts: found.starts as u64,
        unsettled: found.unsettled as u64,
        solutions: found
            .fixed_points
            .iter()
            .map(|p| out::FixedPoint {
                starts: p.starts as u64,
                s: names().zip(p.s.iter().copied()).collect(),
            })
            .collect(),
    }
}

/// The simulator beside the solution.
pub(super) fn simulated(
    system: &System,
    solution: &out::Solution,
    run: &Simulated,
) -> out::Simulated {
    let less = |solved: f64, ci95: [f64; 2]| [solved - ci95[1], solved - ci95[0]];
    let classes = system.classes.iter().zip(&run.rejection).map(|(name, seen)| {
        let solved = solution.classes.get(name).map_or(0.0, |c| c.rejection);
        let class = out::SimulatedClass {
            rejection: seen.mean,
            rejection_ci95: seen.ci95,
            difference: solved - seen.mean,
            difference_ci95: less(solved, seen.ci95),
        };
        (name.clone(), class)
    });
    let offered: u64 = run.classes.iter().map(|c| c.offered).sum();
    let services = system.services.iter().enumerate().map(|(i, service)| {
        let solved: f64 =
            solution.services.get(&service.name).map_or(0.0, |s| s.attempts_rps.values().sum());
        // Per request first: how many requests came is chance, and the same for every service.
        let counted: u64 = run.services[i].attempts.iter().sum();
        let seen = run.attempts.services[i];
        let mean = seen.map_or(counted as f64 / offered.max(1) as f64, |e| e.mean);
        let service_seen = out::SimulatedService {
            attempts_rps: mean * solution.load_rps,
            attempts_rps_ci95: seen.map(|e| e.ci95.map(|end| end * solution.load_rps)),
            difference: solved - mean * solution.load_rps,
        };
        (service.name.clone(), service_seen)
    });
    let (calls, solved) = (run.attempts.all, solution.calls_per_request);
    out::Simulated {
        classes: classes.collect(),
        calls_per_request: calls.mean,
        calls_per_request_ci95: calls.ci95,
        calls_per_request_difference: solved - calls.mean,
        calls_per_request_difference_ci95: less(solved, calls.ci95),
        services: services.collect(),
        replications: run.verdicts.len() as u32,
    }
}
