//! A setting as the assignments and lines that make it.

use anyhow::bail;
use damper_model::plan::Setting;
use damper_system::{System, SystemFile};

/// One change: a policy and what it says of retries.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Change {
    policy: String,
    limit: Option<String>,
    budget: Option<String>,
}

impl Change {
    /// As `--set` takes it.
    pub(super) fn assignments(&self) -> Vec<String> {
        let name = match self.policy.as_str() {
            "default" => "default".to_owned(),
            name => format!("\"{name}\""),
        };
        let parts = [("limit", &self.limit), ("budget", &self.budget)];
        let parts = parts.into_iter().filter_map(|(key, value)| Some((key, value.as_ref()?)));
        parts.map(|(key, value)| format!("policies.{name}.retry.{key}={value}")).collect()
    }

    /// As a line of the file, under `policies:`.
    pub(super) fn line(&self) -> String {
        let name = match self.policy.as_str() {
            "default" => "default".to_owned(),
            name => format!("\"{name}\""),
        };
        let parts = [("limit", &self.limit), ("budget", &self.budget)];
        let parts: Vec<String> = parts
            .into_iter()
            .filter_map(|(key, value)| Some(format!("{key}: {}", value.as_ref()?)))
            .collect();
        format!("{name}: {{retry: {{{}}}}}", parts.join(", "))
    }
}

/// The fewest changes that make a setting, checked by making them.
pub(super) fn of(
    file: &SystemFile,
    system: &System,
    setting: &Setting,
    free: &[bool],
) -> anyhow::Result<Vec<Change>> {
    let common = most_common(setting);
    let default =
        Change { policy: "default".to_owned(), limit: Some(limit(system, common)), budget: None };
    let mut ways: Vec<Vec<Change>> = Vec::new();
    for first in [Vec::new(), vec![default]] {
        let Ok(changed) = made(file, &first) else { continue };
        let mut changes = first;
        for (i, limits) in setting.limits.iter().enumerate() {
            let retries = limits.iter().any(|k| *k > 0);
            let budget = setting.budget_permille.filter(|_| free[i] && retries).map(budget);
            let limit = (of_call(&changed, i) != *limits).then(|| limit(system, limits));
            if limit.is_some() || budget.is_some() {
                changes.push(Change { policy: call(system, i), limit, budget });
            }
        }
        ways.push(changes);
    }
    ways.sort_by_key(Vec::len);
    for changes in ways {
        let same =
            |s: &System| (0..setting.limits.len()).all(|i| of_call(s, i) == setting.limits[i]);
        if made(file, &changes).is_ok_and(|s| same(&s)) {
            return Ok(changes);
        }
    }
    bail!("the setting cannot be written as changes to this file; please report this one")
}

/// The name of a call's policy.
pub(super) fn call(system: &System, i: usize) -> String {
    let edge = &system.policies.edges[i];
    format!("{} -> {}", system.caller_name(edge.caller), system.target_name(edge.target))
}

fn most_common(setting: &Setting) -> &[u32] {
    let count = |limits: &[u32]| setting.limits.iter().filter(|l| l.as_slice() == limits).count();
    let first = setting.limits.iter().map(Vec::as_slice);
    first.rev().max_by_key(|l| count(l)).unwrap_or_default()
}

fn made(file: &SystemFile, changes: &[Change]) -> anyhow::Result<System> {
    let mut file = file.clone();
    for assignment in changes.iter().flat_map(Change::assignments) {
        file.set(&assignment)?;
    }
    Ok(file.lower()?)
}

fn of_call(system: &System, i: usize) -> Vec<u32> {
    let limits = system.policies.edges.get(i).map(|e| &e.policy.retry.limits);
    let classes = 0..system.classes.len();
    classes.map(|c| limits.map_or(0, |l| l.limit(c as u8))).collect()
}

fn limit(system: &System, limits: &[u32]) -> String {
    if limits.windows(2).all(|w| w[0] == w[1]) {
        return limits.first().copied().unwrap_or(0).to_string();
    }
    let classes = system.classes.iter().zip(limits).map(|(name, k)| format!("{name}: {k}"));
    format!("{{{}}}", classes.collect::<Vec<_>>().join(", "))
}

fn budget(permille: u32) -> String {
    format!("{{kind: deposit, percent: {}%, min_per_second: 0}}", f64::from(permille) / 10.0)
}
