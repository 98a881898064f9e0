//! A setting put into a system.

use damper_control::registry;
use damper_system::System;
use damper_system::model::Spec;

use super::Setting;

/// The setting that a system has.
pub(super) fn read(system: &System) -> Setting {
    let limits = |edge: &damper_system::model::Edge| {
        (0..system.classes.len()).map(|c| edge.policy.retry.limits.limit(c as u8)).collect()
    };
    Setting { limits: system.policies.edges.iter().map(limits).collect(), budget_permille: None }
}

/// Gives every call its limits. `free`: calls that a budget of the setting applies to.
pub(super) fn write(system: &mut System, setting: &Setting, free: &[usize]) {
    for (edge, limits) in system.policies.edges.iter_mut().zip(&setting.limits) {
        edge.policy.retry.limits = limits.clone().into();
    }
    let Some(permille) = setting.budget_permille else { return };
    let Some(entry) = registry::find("deposit") else { return };
    for i in free {
        if setting.limits[*i].iter().all(|k| *k == 0) {
            continue;
        }
        let mut parameters: Vec<f64> = entry.defaults().collect();
        for (value, parameter) in parameters.iter_mut().zip(entry.parameters) {
            match parameter.name {
                "percent" => *value = f64::from(permille) / 10.0,
                "min_per_second" => *value = 0.0,
                _ => {}
            }
        }
        if let Some(budget) = Spec::new(entry, parameters) {
            system.policies.edges[*i].policy.budget = budget;
        }
    }
}
