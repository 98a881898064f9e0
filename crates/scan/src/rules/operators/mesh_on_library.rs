//! Calls that the mesh retries on top of a library, or a library on top of the mesh.

use damper_graph::{Graph, attach, bound, found, way};

use super::at;
use crate::factors::factors;
use crate::policy::Scope;
use crate::rules::{Check, Finding, Rule, Severity};
use crate::scan::Scan;

pub(in crate::rules) static RULE: Rule = Rule {
    id: "mesh-on-library",
    severity: Severity::Warning,
    summary: "Several layers retry the same call: their attempts multiply",
    fix: "retry in one layer: switch the mesh's retries off for this call (attempts: 0), or the \
          library's",
    check: Check::All(check),
};

fn check(scan: &Scan, findings: &mut Vec<Finding>) {
    let scopes = [Scope::Production];
    let files = scan.settings.iter().filter(|file| scopes.contains(&file.scope));
    let readings = files.map(|file| (file.path.as_str(), &file.reading));
    let mut graph = found::graph(readings, &scan.applies(&scopes));
    let layers = factors(scan, &graph, &scopes);
    attach::attach(&mut graph, layers);
    for (at_edge, edge) in graph.edges.iter().enumerate() {
        let retrying: Vec<_> = edge
            .layers
            .iter()
            .filter_map(|layer| graph.layers.get(*layer))
            .filter(|factor| factor.most(false) > 1.0)
            .collect();
        let [inner, .., outer] = retrying.as_slice() else { continue };
        let product = bound::amplification(&way::steps(&graph, &[at_edge])).worst;
        let words = |factor: &damper_graph::Factor| {
            let attempts = factor.high.map_or("no end".to_owned(), |high| format!("{high}"));
            let place = factor.place.as_ref();
            let place =
                place.map_or(String::new(), |place| format!(", {}:{}", place.path, place.line));
            format!("{} ({attempts}{place})", factor.who)
        };
        let all: Vec<_> = retrying.iter().rev().map(|factor| words(factor)).collect();
        let bound = if product.low == product.high {
            format!("{}", product.high)
        } else if product.high.is_finite() {
            format!("{} to {}", product.low, product.high)
        } else {
            format!("{} or more", product.low)
        };
        let call = call(&graph, at_edge);
        let message =
            format!("{call} is retried by {}: {bound} attempts for one call", all.join(" and by "));
        // Where somebody wrote the outer one; else the inner one.
        for factor in [outer, inner] {
            let Some(place) = &factor.place else { continue };
            if let Some(file) = scan.settings.iter().find(|file| file.path == place.path) {
                let lines = [place.line, place.line];
                findings.push(at(file, lines, &RULE, Severity::Warning, message));
                break;
            }
            if let Some(file) = scan.files.iter().find(|file| file.path == place.path) {
                let policy = file.policies.iter().find(|policy| policy.line == place.line);
                let Some(policy) = policy else { continue };
                let hit = crate::rules::Hit::at(policy, Severity::Warning, message);
                let print = file.print_of(policy);
                findings.push(Finding::new(RULE.id, &file.path, file.scope, print, hit));
                break;
            }
        }
    }
}

fn call(graph: &Graph, edge: usize) -> String {
    graph.edges.get(edge).map_or_else(String::new, |edge| {
        format!("{} -> {}", graph.name(edge.from), graph.name(edge.to))
    })
}
