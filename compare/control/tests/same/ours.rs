//! Our controls by their names in the registry.

use damper_control::admission::Admission;
use damper_control::budget::Budget;
use damper_control::entry::Build;
use damper_control::registry;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng as _;

/// A retry budget with these parameters.
pub fn budget(name: &str, parameters: &[f64]) -> Budget {
    match build(name) {
        Build::Budget(build) => build(parameters),
        other => panic!("`{name}` is not a budget: {other:?}"),
    }
    .unwrap_or_else(|| panic!("`{name}` refuses {parameters:?}"))
}

/// An admission rule with these parameters.
pub fn admission(name: &str, parameters: &[f64]) -> Admission {
    match build(name) {
        Build::Admission(build) => build(parameters),
        other => panic!("`{name}` is not an admission rule: {other:?}"),
    }
    .unwrap_or_else(|| panic!("`{name}` refuses {parameters:?}"))
}

fn build(name: &str) -> Build {
    match registry::find(name) {
        Some(entry) => entry.build,
        None => panic!("there is nothing to compare: no control is called `{name}`"),
    }
}

pub fn rng(seed: u64) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(seed)
}
