//! Changes worth trying against a loop: one row each. A remedy proposes assignments to the
//! system file, so that what was tried is what a user can apply, combine and run again.
//!
//! Adding one: a row in [`REMEDIES`] and a line in `docs/remedies.md`.

use damper_system::SystemFile;
use damper_system::model::{Caller, OnAbandon, System, Target};

use crate::experiment::{LoopKind, SustainingLoop};

/// A change that `headroom` tries.
pub struct Remedy {
    /// Its identifier in `docs/remedies.md`.
    pub id: &'static str,
    /// What it is, in words.
    pub name: &'static str,
    /// The assignments that make it; `None` where it does not apply.
    pub propose: fn(&Context<'_>) -> Option<Vec<String>>,
}

/// What a remedy may look at.
pub struct Context<'a> {
    pub(crate) file: &'a SystemFile,
    pub(crate) system: &'a System,
    pub(crate) looped: &'a SustainingLoop,
}

/// Every remedy, in the order in which they are tried.
pub const REMEDIES: &[Remedy] = &[
    Remedy {
        id: "no-retry",
        name: "no retries on the way to it",
        propose: |c| c.on_retrying(&["retry.limit=0"]),
    },
    Remedy {
        id: "one-retry",
        name: "one retry instead of more",
        propose: |c| {
            let more = |e: &&(Caller, Target)| c.system.policy(e.0, e.1).retry.limits.max() > 1;
            let edges: Vec<_> = c.looped.retrying.iter().filter(more).copied().collect();
            c.on(&edges, &["retry.limit=1"])
        },
    },
    Remedy {
        id: "top-layer-only",
        name: "retry at the top layer only",
        propose: |c| c.only(&c.looped.ends[0]),
    },
    Remedy {
        id: "bottom-layer-only",
        name: "retry at the bottom layer only",
        propose: |c| c.only(&c.looped.ends[1]),
    },
    Remedy {
        id: "ratio-budget",
        name: "retry budget of 20 % of live requests (Envoy)",
        propose: |c| {
            c.on_retrying(&["retry.budget={kind: envoy, percent: 20%, min_retry_concurrency: 3}"])
        },
    },
    Remedy {
        id: "token-bucket",
        name: "retry token bucket 10 / 0.1 (gRPC)",
        propose: |c| {
            c.on_retrying(&["retry.budget={kind: token-bucket, max_tokens: 10, token_ratio: 0.1}"])
        },
    },
    Remedy {
        id: "bounded-queue",
        name: "queue of half a timeout's work",
        propose: |c| {
            let service = &c.system.services[c.looped.service.0 as usize];
            let timeout = c.system.policy(c.looped.caller, c.looped.target).timeout?;
            let each = service.capacity()? / f64::from(service.instances);
            let limit = (0.5 * timeout.as_secs_f64() * each).floor().max(1.0) as u32;
            let longer = service.queue.is_none_or(|q| q > limit);
            longer.then(|| vec![format!("services.{}.queue={limit}", service.name)])
        },
    },
    Remedy {
        id: "deadline-aware",
        name: "deadlines travel: work that is too late is not started",
        propose: |c| {
            let timed = |e: &&(Caller, Target)| {
                let p = c.system.policy(e.0, e.1);
                (p.timeout.is_some() || p.deadline.is_some()) && !p.deadline_travels
            };
            let all: Vec<_> = c.way().into_iter().collect();
            let edges: Vec<_> = all.iter().filter(timed).copied().collect();
            c.on(&edges, &["deadline.travels=true"])
        },
    },
    Remedy {
        id: "cancel-abandoned",
        name: "abandoned work is cancelled",
        propose: |c| {
            let service = &c.system.services[c.looped.service.0 as usize];
            (service.on_abandon != OnAbandon::Cancel)
                .then(|| vec![format!("services.{}.on_abandon=cancel", service.name)])
        },
    },
    Remedy {
        id: "lifo",
        name: "newest first (LIFO)",
        propose: |c| {
            let service = &c.system.services[c.looped.service.0 as usize];
            (service.workers.is_some() && service.order.kind != "lifo")
                .then(|| vec![format!("services.{}.order=lifo", service.name)])
        },
    },
    Remedy { id: "shorter-timeout", name: "half the timeout", propose: |c| c.timeouts(0.5) },
    Remedy { id: "longer-timeout", name: "twice the timeout", propose: |c| c.timeouts(2.0) },
    Remedy {
        id: "backoff",
        name: "backoff and jitter alone",
        propose: |c| {
            c.on_retrying(&[
                "retry.backoff={kind: exponential, base: 100ms, factor: 2, max: 10s, jitter: full}",
            ])
        },
    },
    Remedy {
        id: "read-through",
        name: "the cache fetches (read-through)",
        propose: |c| match (c.looped.kind, c.looped.target) {
            (LoopKind::CacheMisses, Target::Cache(cache)) => Some(vec![format!(
                "caches.{}.mode=read-through",
                c.system.caches[cache.0 as usize].name
            )]),
            _ => None,
        },
    },
    Remedy {
        id: "late-fill",
        name: "late replies fill the cache, too",
        propose: |c| match (c.looped.kind, c.looped.target) {
            (LoopKind::CacheMisses, Target::Cache(cache)) => {
                Some(vec![format!("caches.{}.fill=always", c.system.caches[cache.0 as usize].name)])
            }
            _ => None,
        },
    },
];

impl Context<'_> {
    fn on_retrying(&self, fields: &[&str]) -> Option<Vec<String>> {
        self.on(&self.looped.retrying, fields)
    }

    /// No retries but on these calls.
    fn only(&self, kept: &[(Caller, Target)]) -> Option<Vec<String>> {
        let all = &self.looped.retrying;
        let rest: Vec<_> = all.iter().filter(|e| !kept.contains(e)).copied().collect();
        if kept.is_empty() { None } else { self.on(&rest, &["retry.limit=0"]) }
    }

    /// The retrying calls and the last one.
    fn way(&self) -> Vec<(Caller, Target)> {
        let mut way = self.looped.retrying.clone();
        let last = (self.looped.caller, self.looped.target);
        if !way.contains(&last) {
            way.push(last);
        }
        way
    }

    fn timeouts(&self, factor: f64) -> Option<Vec<String>> {
        let set = self.way().into_iter().filter_map(|edge| {
            let timeout = self.system.policy(edge.0, edge.1).timeout?;
            Some(format!("{}.timeout={}", self.policy_path(edge), timeout.scale(factor)))
        });
        let set: Vec<String> = set.collect();
        (!set.is_empty()).then_some(set)
    }

    fn policy_path(&self, edge: (Caller, Target)) -> String {
        policy_path(self.system, edge)
    }

    fn on(&self, edges: &[(Caller, Target)], fields: &[&str]) -> Option<Vec<String>> {
        assignments(self.file, self.system, edges, fields)
    }
}

fn policy_path(system: &System, (caller, target): (Caller, Target)) -> String {
    format!("policies.\"{} -> {}\"", system.caller_name(caller), system.target_name(target))
}

/// Assigns fields of the policies of some calls; where many are meant, by the default policy as
/// far as it reaches. `None`: there is no such call.
pub(crate) fn assignments(
    file: &SystemFile,
    system: &System,
    edges: &[(Caller, Target)],
    fields: &[&str],
) -> Option<Vec<String>> {
    if edges.is_empty() {
        return None;
    }
    let each = |edge: &(Caller, Target)| {
        let path = policy_path(system, *edge);
        fields.iter().map(move |f| format!("{path}.{f}")).collect::<Vec<_>>()
    };
    if edges.len() > 2 && edges.len() == system.policies.edges.len() {
        let by_default: Vec<String> =
            fields.iter().map(|f| format!("policies.default.{f}")).collect();
        let apply = |set: &[String]| {
            let mut file = file.clone();
            set.iter().all(|s| file.set(s).is_ok()).then(|| file.lower().ok()).flatten()
        };
        let mut full = by_default.clone();
        full.extend(edges.iter().flat_map(each));
        if let (Some(short), Some(long)) = (apply(&by_default), apply(&full)) {
            let differs = |e: &&(Caller, Target)| short.policy(e.0, e.1) != long.policy(e.0, e.1);
            let mut set = by_default;
            set.extend(edges.iter().filter(differs).flat_map(each));
            return Some(set);
        }
    }
    Some(edges.iter().flat_map(each).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_unique_and_documented() {
        let docs = include_str!("../../../../docs/remedies.md");
        for (i, remedy) in REMEDIES.iter().enumerate() {
            assert!(REMEDIES[..i].iter().all(|r| r.id != remedy.id), "{} twice", remedy.id);
            assert!(
                docs.contains(&format!("`{}`", remedy.id)),
                "{} is not in docs/remedies.md",
                remedy.id
            );
        }
    }
}
