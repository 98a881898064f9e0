//! `damper scan --amplification`: what was found, multiplied along the calls of a graph.

use anyhow::Context as _;
use damper_config::effective::{Versions, effective};
use damper_graph::{Graph, Ways, attach, found, system};
use damper_report::result::amplification::Amplification;
use damper_scan::factors::factors;
use damper_scan::policy::Scope;
use damper_scan::scan::Scan;
use damper_system::SystemFile;

use super::roots::Group;
use crate::args::ScanArgs;
use crate::convert::amplification::{Question, amplification};
use crate::{exit, print};

/// Whether a graph is asked for.
pub(super) fn asked(args: &ScanArgs) -> bool {
    args.amplification || args.graph.is_some() || args.max_amplification.is_some()
}

/// The answer for what several groups hold together.
pub(super) fn of(
    args: &ScanArgs,
    scans: &[(&Group, Scan)],
    scopes: &[Scope],
) -> anyhow::Result<Amplification> {
    let (mut graph, system) = match &args.graph {
        Some(file) => {
            let system = SystemFile::read(file)?.lower()?;
            (system::graph(&system), Some(system))
        }
        None => (found_graph(scans, scopes), None),
    };
    let mut layers = Vec::new();
    for (group, scan) in scans {
        let mut of_scan = factors(scan, &graph, scopes);
        for place in of_scan.iter_mut().filter_map(|factor| factor.place.as_mut()) {
            place.path = group.shown(&place.path);
        }
        layers.extend(of_scan);
    }
    attach::attach(&mut graph, layers);
    let ways = match &system {
        Some(system) => system::ways(system, &graph),
        None => Ways::of(&graph),
    };
    let question = Question {
        source: system.map_or_else(|| "found".to_owned(), |system| system.name),
        failure: args.failure_rate,
        limit: args.max_amplification,
        shown: &str::to_owned,
    };
    let mut answer = amplification(&graph, &ways, &question);
    answer.notes.extend(homeless(scans, scopes));
    if graph.edges.is_empty() {
        answer.notes.push(
            "no calls were found: name a system file with --graph, or scan where the manifests are"
                .to_owned(),
        );
    }
    Ok(answer)
}

/// Clients without a known caller that are named; the rest is counted.
const HOMELESS: usize = 5;

/// Clients in code whose own service nothing tells.
fn homeless(scans: &[(&Group, Scan)], scopes: &[Scope]) -> Vec<String> {
    let all = scans.iter().flat_map(|(group, scan)| {
        let mine = scan.homeless.iter().filter(|(_, scope, _)| scopes.contains(scope));
        mine.map(|(path, _, client)| {
            let place = format!("{}:{}", group.shown(path), client.line);
            format!("{place} calls {}, and nothing tells whose code it is", client.callee)
        })
    });
    let mut all: Vec<_> = all.collect();
    if let Some(more) = all.len().checked_sub(HOMELESS).filter(|more| *more > 0) {
        all.truncate(HOMELESS);
        all.push(format!("{more} more clients in code that nothing tells the service of"));
    }
    all
}

/// The graph that the configuration of all groups shows.
fn found_graph(scans: &[(&Group, Scan)], scopes: &[Scope]) -> Graph {
    let mut all = Vec::new();
    for (group, scan) in scans {
        let files = scan.settings.iter().filter(|file| scopes.contains(&file.scope));
        all.extend(files.map(|file| (group.shown(&file.path), file.reading.clone())));
    }
    let effective = effective(&all, Versions::default());
    found::graph(all.iter().map(|(path, reading)| (path.as_str(), reading)), &effective)
}

/// Prints it, and says how it went.
pub(super) fn show(args: &ScanArgs, answer: &Amplification) -> anyhow::Result<u8> {
    let text = if args.json {
        serde_json::to_string_pretty(answer).context("the result")?
    } else {
        print::amplification(answer)
    };
    super::show(args, &text)?;
    if let Some(file) = &args.html {
        super::report(file, &damper_report::amplification_html(answer))?;
    }
    Ok(if answer.met { exit::OK } else { exit::GATE })
}
