//! What can be set: which calls, and which combinations of limits.

use std::collections::BTreeMap;

use damper_control::Outcome;
use damper_system::System;
use damper_system::model::{Caller, Policy, Step, Target, Work};

use super::{MOST_CALLS, PlanError, Question};

/// Combinations of class limits that are tried with each choice of layers.
const MOST_VECTORS: usize = 300;
/// Settings that are all compared.
const MOST_EXACT: u64 = 8_000;

/// The calls and limits of a question.
pub(super) struct Space {
    /// Calls whose limits can change something and are not kept.
    pub(super) free: Vec<usize>,
    /// By call: levels from the client, 1 for what it calls itself. The least where it differs.
    pub(super) depth: Vec<usize>,
    /// Limits by class, the fewest retries first; the first is no retry.
    pub(super) vectors: Vec<Vec<u32>>,
    /// Whether `vectors` are all up to the largest limit.
    pub(super) all_vectors: bool,
    /// Calls in all trees.
    pub(super) calls: usize,
}

impl Space {
    pub(super) fn of(question: &Question<'_>) -> Result<Self, PlanError> {
        let system = question.system;
        let edges = &system.policies.edges;
        let (depth, calls) = depths(system);
        if calls > MOST_CALLS {
            return Err(PlanError::TooManyCalls(calls));
        }
        let kept = |i: usize| question.keep.get(i).copied().unwrap_or(false);
        let free: Vec<usize> =
            (0..edges.len()).filter(|i| !kept(*i) && can_retry(&edges[*i].policy)).collect();
        if free.is_empty() {
            return Err(PlanError::NothingToPlan);
        }
        let (vectors, all_vectors) =
            vectors(system.classes.len(), question.max_limit, question.any_order);
        Ok(Self { free, depth, vectors, all_vectors, calls })
    }

    /// How many settings there are, if all of them can be compared.
    pub(super) fn exact(&self) -> Option<u64> {
        let n = u32::try_from(self.free.len()).ok()?;
        let all = (self.vectors.len() as u64).checked_pow(n)?;
        (self.all_vectors && all <= MOST_EXACT).then_some(all)
    }

    /// Choices of calls that retry together: all, each level, each callee, each call.
    pub(super) fn sets(&self, system: &System) -> Vec<Vec<usize>> {
        let mut sets = vec![self.free.clone()];
        let mut levels: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        let mut callees: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for i in &self.free {
            levels.entry(self.depth[*i]).or_default().push(*i);
            let server = system.server_of(system.policies.edges[*i].target);
            callees.entry(server.0).or_default().push(*i);
        }
        sets.extend(levels.into_values());
        sets.extend(callees.into_values());
        sets.extend(self.free.iter().map(|i| vec![*i]));
        let mut seen = std::collections::BTreeSet::new();
        sets.retain(|set| seen.insert(set.clone()));
        sets
    }
}

/// Whether any end of an attempt is retried that the analytic model knows.
fn can_retry(policy: &Policy) -> bool {
    let on = policy.retry.on;
    let on = if policy.idempotent { on } else { on.for_unsafe_calls() };
    let ends = [Outcome::Rejected, Outcome::TimedOut, Outcome::Failed, Outcome::FailedBelow];
    ends.iter().any(|end| on.contains(*end))
}

/// Combinations of limits, and whether these are all.
fn vectors(classes: usize, most: u32, any_order: bool) -> (Vec<Vec<u32>>, bool) {
    let mut all = vec![Vec::new()];
    for _ in 0..classes {
        let longer = all.iter().flat_map(|v: &Vec<u32>| {
            let most = if any_order { most } else { v.last().copied().unwrap_or(most) };
            (0..=most).map(move |k| [v.as_slice(), &[k]].concat())
        });
        all = longer.take(MOST_VECTORS + 1).collect();
        if all.len() > MOST_VECTORS {
            break;
        }
    }
    let complete = all.len() <= MOST_VECTORS;
    if !complete {
        // Two levels: the classes above one of them, and the others.
        all = Vec::new();
        for high in 0..=most {
            for low in 0..=high {
                let splits = if high == low { 1..2 } else { 1..classes };
                all.extend(splits.map(|n| {
                    (0..classes).map(|class| if class < n { high } else { low }).collect()
                }));
            }
        }
        let mut step = 0;
        let keep = all.len().div_ceil(MOST_VECTORS);
        all.retain(|_| {
            step += 1;
            (step - 1) % keep == 0
        });
    }
    all.sort_by_key(|v| (v.iter().sum::<u32>(), v.clone()));
    (all, complete)
}

/// Level of every call, and the number of calls in all trees (of rows in a matrix).
fn depths(system: &System) -> (Vec<usize>, usize) {
    let edges = &system.policies.edges;
    let place: std::collections::HashMap<(Caller, Target), usize> =
        edges.iter().enumerate().map(|(i, e)| ((e.caller, e.target), i)).collect();
    let mut depth = vec![usize::MAX; edges.len()];
    let mut count = 0;
    match &system.work {
        Work::Requests(types) => {
            let mut open: Vec<(Caller, &[Step], usize)> =
                types.iter().map(|t| (Caller::Client, t.steps.as_slice(), 1)).collect();
            while let Some((caller, steps, level)) = open.pop() {
                for call in steps.iter().flatten() {
                    count += 1;
                    let server = system.server_of(call.target);
                    let mut met = vec![(caller, call.target, level)];
                    if let Target::Cache(c) = call.target {
                        met.push((Caller::Cache(c), Target::Service(server), level + 1));
                    }
                    for (caller, target, level) in met {
                        if let Some(i) = place.get(&(caller, target)) {
                            depth[*i] = depth[*i].min(level);
                        }
                    }
                    open.push((Caller::Service(server), &call.steps, level + 1));
                }
            }
        }
        Work::Routes(_) => {
            count = edges.len();
            // Breadth first over the calls that there are.
            for _ in 0..edges.len() {
                let mut moved = false;
                for i in 0..edges.len() {
                    let level = match edges[i].caller {
                        Caller::Client => 1,
                        Caller::Service(s) => (0..edges.len())
                            .filter(|j| system.server_of(edges[*j].target) == s)
                            .map(|j| depth[j].saturating_add(1))
                            .min()
                            .unwrap_or(usize::MAX),
                        Caller::Cache(_) => usize::MAX,
                    };
                    moved |= level < depth[i];
                    depth[i] = depth[i].min(level);
                }
                if !moved {
                    break;
                }
            }
        }
    }
    (depth, count)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Not increasing: C(k + n, n). 2 classes up to 5: 21; 3 classes: 56.
    #[test]
    fn a_higher_class_has_never_fewer() {
        let (two, all) = vectors(2, 5, false);
        assert_eq!((two.len(), all), (21, true));
        assert_eq!(two[0], [0, 0]);
        assert!(two.iter().all(|v| v[0] >= v[1]));
        assert_eq!(vectors(3, 5, false).0.len(), 56);
        assert_eq!(vectors(2, 5, true).0.len(), 36);
        assert_eq!(vectors(1, 5, false).0.len(), 6);
    }

    #[test]
    fn many_classes_have_two_levels() {
        let (found, all) = vectors(16, 5, false);
        assert!(!all && found.len() <= MOST_VECTORS, "{}", found.len());
        assert_eq!(found[0], vec![0; 16]);
        assert!(found.contains(&[[5; 3].as_slice(), &[0; 13]].concat()));
        let (found, _) = vectors(16, 100, false);
        assert!(found.len() <= MOST_VECTORS, "{}", found.len());
        assert!(found.iter().all(|v| v.windows(2).all(|w| w[0] >= w[1])));
    }
}
