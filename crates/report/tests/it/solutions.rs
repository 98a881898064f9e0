//! Solutions as `damper solve` would give them.

use damper_report::result::{
    AsRoutes, ClassSolution, FixedPoint, FixedPoints, Point, ServiceSolution, Simulated,
    SimulatedClass, SimulatedService, Solution, Solve, Swept,
};

use crate::samples;

/// Two classes at six services, with everything that can stand beside a solution.
pub fn hotel() -> Solve {
    let mut graph = samples::hotel().graph;
    let names: Vec<String> =
        graph.nodes.iter().filter(|n| n.kind == "service").map(|n| n.name.clone()).collect();
    for node in &mut graph.nodes {
        node.rejection = (node.kind == "service").then_some(0.25);
        node.attempts_rps = Some(820.0);
    }
    Solve {
        origin: samples::hotel().origin,
        solution: Some(solution(&names, 250.0, 0.6)),
        graph: Some(graph),
        ..Solve::default()
    }
}

/// Two variants at eleven values, simulated.
pub fn sweep() -> Solve {
    let names = ["search", "geo", "recommendation", "a-service-with-quite-a-long-name"];
    let names = names.map(str::to_owned);
    let mut points = Vec::new();
    for (variant, most) in [("{high: 5, low: 1}", 0.6), ("5", 0.53)] {
        for step in 0..=10_u32 {
            let low = 50.0 + 20.0 * f64::from(step);
            points.push(Point {
                at: vec![
                    format!("policies.default.retry.limit={variant}"),
                    format!("load.low={low}/s"),
                ],
                value: Some(low),
                variant: Some(variant.to_owned()),
                solution: solution(&names, low, most * f64::from(step) / 10.0),
            });
        }
    }
    Solve {
        origin: samples::hotel().origin,
        points,
        swept: Some(Swept { path: "load.low".into(), unit: "/s".into() }),
        varied: Some("policies.default.retry.limit".into()),
        ..Solve::default()
    }
}

fn solution(services: &[String], low: f64, rejection: f64) -> Solution {
    let classes = [("high", 50.0, rejection / 4.0), ("low", low, rejection)];
    let class = |(name, load_rps, rejection): (&str, f64, f64)| {
        let completion = 1.0 - rejection;
        (name.to_owned(), ClassSolution { load_rps, rejection, completion })
    };
    let service = |(i, name): (usize, &String)| {
        let solution = ServiceSolution {
            s: rejection / (1.0 + i as f64),
            attempts_rps: [("high".to_owned(), 60.0), ("low".to_owned(), low * 1.4)].into(),
            utilisation: Some(0.9),
            amplification: 1.0 + rejection * 3.0,
            worst_amplification: 36.0,
            hidden_rps: Some(150.0),
        };
        (name.clone(), solution)
    };
    let seen_class = |(name, _, rejection): (&str, f64, f64)| {
        let rejection_ci95 = [(rejection - 0.02).max(0.0), rejection + 0.02];
        let seen = SimulatedClass {
            rejection,
            rejection_ci95,
            difference: 0.0,
            difference_ci95: [-0.02, 0.02],
        };
        (name.to_owned(), seen)
    };
    let seen_service = |name: &String| {
        let attempts_rps_ci95 = Some([410.0, 430.0]);
        let seen = SimulatedService { attempts_rps: 420.0, attempts_rps_ci95, difference: 1.0 };
        (name.clone(), seen)
    };
    let everywhere = |s: f64| {
        services.iter().map(|n| (n.clone(), s)).collect::<std::collections::BTreeMap<_, _>>()
    };
    Solution {
        load_rps: 50.0 + low,
        classes: classes.map(class).into(),
        class_order: vec!["high".into(), "low".into()],
        services: services.iter().enumerate().map(service).collect(),
        service_order: services.to_vec(),
        calls_per_request: 3.8 + rejection,
        calls_per_success: Some((3.8 + rejection) / (1.0 - rejection)),
        floor_calls_per_request: 3.79,
        hidden_rps: Some(150.0),
        weakest: services.first().cloned(),
        unique: false,
        unique_because: "no known condition holds".into(),
        iterations: 22,
        residual: 3.8e-14,
        fixed_points: Some(FixedPoints {
            found: 2,
            starts: 50,
            unsettled: 0,
            solutions: vec![
                FixedPoint { starts: 32, s: everywhere(0.9) },
                FixedPoint { starts: 18, s: everywhere(0.1) },
            ],
        }),
        as_routes: Some(AsRoutes {
            differs: true,
            rejection: [("high".to_owned(), 0.161), ("low".to_owned(), 0.608)].into(),
            s: everywhere(0.7),
            calls_per_request: 3.39,
            calls_per_success: Some(7.27),
            remarks: vec!["in a row".into()],
        }),
        simulated: Some(Simulated {
            classes: classes.map(seen_class).into(),
            calls_per_request: 3.7 + rejection,
            calls_per_request_ci95: [3.6 + rejection, 3.8 + rejection],
            calls_per_request_difference: 0.1,
            calls_per_request_difference_ci95: [0.0, 0.2],
            services: services.iter().map(seen_service).collect(),
            replications: 5,
        }),
    }
}
