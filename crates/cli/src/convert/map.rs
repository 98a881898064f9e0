//! From what the simulator knows of a map to the result of `damper map`.

use damper_report::result as out;
use damper_sim::{Map, MapOptions, Rare};

/// A map, without the names of its directions.
pub(crate) fn map(origin: out::Origin, found: &Map, options: &MapOptions) -> out::Map {
    out::Map {
        origin: out::Origin { partial: found.partial, ..origin },
        cells_per_side: options.side,
        most_runs: options.most_runs,
        runs: found.runs,
        grid_runs: found.grid_runs,
        undecided: found.undecided as u64,
        inferred: found.inferred as u64,
        checked: found.checked as u64,
        violated: found.violated,
        simulated_requests: found.requests,
        boundary: found.boundary(),
        cells: found
            .cells
            .iter()
            .map(|cell| out::MapCell {
                x: cell.x,
                y: cell.y,
                state: cell.state.map_or(out::BOUNDARY, damper_sim::MapState::name).to_owned(),
                corners: cell.corners.map(|corner| corner.map(|s| s.name().to_owned())),
            })
            .collect(),
        points: found
            .corners
            .iter()
            .map(|p| out::MapPoint {
                x: p.x,
                y: p.y,
                state: p.state.name().to_owned(),
                runs: p.runs,
                healed: p.healed,
                heals_ci95: p.heals_ci95,
                decided: p.decided,
                open: p.open,
            })
            .collect(),
        ..out::Map::default()
    }
}

/// How often a system collapses by chance.
pub(crate) fn rare(found: &Rare) -> out::RarePoint {
    let seconds = |rate: f64| (rate > 0.0).then(|| 1.0 / rate);
    let [low, high] = found.ci95;
    out::RarePoint {
        load_rps: found.load,
        per_day: found.per_day(),
        per_day_ci95: found.per_day_ci95(),
        mean_s: seconds(found.per_second),
        mean_s_ci95: [seconds(high), seconds(low)],
        lasting: found.lasting,
        healthy_backlog: found.healthy,
        crossings_per_s: found.crossings_per_second,
        levels: found
            .levels
            .iter()
            .map(|l| out::RareLevel {
                backlog: l.backlog,
                onwards: l.onwards,
                collapsed: l.collapsed,
            })
            .collect(),
        replications: found.replications,
        trials: found.trials,
        cut: found.cut,
        window_s: found.window_s,
        simulated_s: found.simulated_s,
        ..out::RarePoint::default()
    }
}
