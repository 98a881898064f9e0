//! The call trees as one table, so that a call travels as a number.

use damper_system::model::{Call, ServiceId, Step, System, Target, Work};

/// One call of the trees.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    /// Who serves it.
    pub service: ServiceId,
    /// Whom the policy names: the service, or a cache in front of it.
    pub target: Target,
    /// How many times in a row.
    pub times: u32,
    /// Probability that it is made: a cache answers the rest.
    pub chance: f64,
    /// What the callee then does: calls of a step are made at the same time.
    pub steps: Vec<Vec<usize>>,
}

/// All calls of a system, in the order of the file. Two readers of one file number them alike.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Tree {
    /// By number.
    pub nodes: Vec<Node>,
    /// What the client does for each type of request, in the order of the file.
    pub roots: Vec<Vec<Vec<usize>>>,
}

impl Tree {
    /// The table of a system. With a routing matrix there is a call for each service, and what
    /// follows is drawn.
    #[must_use]
    pub(crate) fn new(system: &System) -> Self {
        let mut tree = Self::default();
        match &system.work {
            Work::Requests(types) => {
                for kind in types {
                    let steps = tree.add_steps(system, &kind.steps);
                    tree.roots.push(steps);
                }
            }
            Work::Routes(_) => {
                tree.nodes = (0..system.services.len() as u32)
                    .map(|s| Node {
                        service: ServiceId(s),
                        target: Target::Service(ServiceId(s)),
                        times: 1,
                        chance: 1.0,
                        steps: Vec::new(),
                    })
                    .collect();
            }
        }
        tree
    }

    // The reader of the file bounds the depth to 32.
    fn add_steps(&mut self, system: &System, steps: &[Step]) -> Vec<Vec<usize>> {
        let add = |step: &Step| step.iter().map(|call| self.add(system, call)).collect();
        steps.iter().map(add).collect()
    }

    fn add(&mut self, system: &System, call: &Call) -> usize {
        let steps = self.add_steps(system, &call.steps);
        let misses = match call.target {
            Target::Service(_) => 1.0,
            Target::Cache(cache) => 1.0 - system.caches[cache.0 as usize].hit_rate,
        };
        self.nodes.push(Node {
            service: system.server_of(call.target),
            target: call.target,
            times: call.times,
            chance: call.chance * misses,
            steps,
        });
        self.nodes.len() - 1
    }
}

#[cfg(test)]
mod tests {
    use damper_system::SystemFile;

    use super::*;

    #[test]
    fn calls_are_numbered_and_know_what_follows() {
        let text = "
damper: 1
services: {web: {}, a: {}, b: {}, db: {workers: 1, service_time: 1ms}}
caches: {memo: {store: db, hit_rate: 75%, hot_keys: 10}}
load: 1/s
requests: {r: {calls: [{web: [parallel: [a, b], {memo: {times: 2, chance: 50%}}]}]}}
";
        let system = SystemFile::parse("t", text).unwrap().lower().unwrap();
        let tree = Tree::new(&system);
        let name = |i: usize| system.services[tree.nodes[i].service.0 as usize].name.as_str();
        let web = tree.roots[0][0][0];
        assert_eq!(name(web), "web");
        let steps: Vec<Vec<&str>> = tree.nodes[web]
            .steps
            .iter()
            .map(|step| step.iter().map(|i| name(*i)).collect())
            .collect();
        assert_eq!(steps, [vec!["a", "b"], vec!["db"]]);
        let memo = &tree.nodes[tree.nodes[web].steps[1][0]];
        assert_eq!((memo.times, memo.chance), (2, 0.125));
        assert!(matches!(memo.target, Target::Cache(_)));
    }
}
