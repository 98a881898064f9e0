//! Rules that no compiler checks: which crate may depend on which, and how long a file may be.

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

/// Which of our crates each crate may depend on, in the order of the rooms: nothing depends on
/// a crate below it.
const ROOMS: &[(&str, &[&str])] = &[
    ("damper-control", &[]),
    ("damper-report", &[]),
    ("damper-system", &["damper-control"]),
    ("damper-model", &["damper-control", "damper-system"]),
    ("damper-sim", &["damper-control", "damper-system"]),
    ("damper-config", &["damper-system"]),
    ("damper-graph", &["damper-config", "damper-control", "damper-system"]),
    (
        "damper-scan",
        &["damper-config", "damper-control", "damper-graph", "damper-report", "damper-system"],
    ),
    ("damper-learn", &["damper-control", "damper-system", "damper-sim"]),
    ("damper-mesh", &["damper-control", "damper-report", "damper-system"]),
    ("damper-filter", &["damper-control", "damper-mesh"]),
    (
        "damper-export",
        // The filter reads what is written for it in tests alone.
        &[
            "damper-control",
            "damper-system",
            "damper-model",
            "damper-config",
            "damper-graph",
            "damper-mesh",
        ],
    ),
    // The system file is behind a feature.
    ("damper-tower", &["damper-control", "damper-system"]),
    ("damper-proxy", &["damper-control", "damper-report", "damper-system", "damper-tower"]),
    ("damper-drill", &["damper-control", "damper-report", "damper-system"]),
    ("damper-emulate", &["damper-control", "damper-mesh", "damper-system"]),
    (
        "damper",
        &[
            "damper-control",
            "damper-report",
            "damper-system",
            "damper-model",
            "damper-sim",
            "damper-config",
            "damper-graph",
            "damper-export",
            "damper-scan",
            "damper-learn",
            "damper-mesh",
            "damper-tower",
            "damper-proxy",
            "damper-drill",
            "damper-emulate",
        ],
    ),
    ("xtask", &[]),
];

/// Crates whose dependencies from outside are counted, too.
const LEAN: [(&str, &[&str]); 2] =
    [("damper-control", &["libm", "rand_core"]), ("damper-report", &["serde", "serde_json"])];

/// Lines of a file, tests included.
const CEILING: usize = 600;

/// What is wrong with the arrows between crates, from the output of `cargo metadata`.
pub(crate) fn dependencies(metadata: &Value) -> Result<Vec<String>> {
    let packages = metadata.get("packages").and_then(Value::as_array).context("no packages")?;
    let name = |value: &Value| value.get("name").and_then(Value::as_str).map(str::to_owned);
    let ours: Vec<String> = packages.iter().filter_map(name).collect();
    if ours.is_empty() {
        bail!("a workspace without packages");
    }
    let mut offences = Vec::new();
    for package in packages {
        let crate_name = name(package).context("a package without a name")?;
        let Some((_, allowed)) = ROOMS.iter().find(|(room, _)| *room == crate_name) else {
            offences.push(format!(
                "{crate_name}: no room has this name; say in xtask/src/rules.rs what it may \
                 depend on"
            ));
            continue;
        };
        let lean = LEAN.iter().find(|(room, _)| *room == crate_name).map(|(_, allowed)| *allowed);
        for dependency in
            package.get("dependencies").and_then(Value::as_array).into_iter().flatten()
        {
            let Some(on) = name(dependency) else { continue };
            let is_ours = ours.contains(&on);
            // `null` is a normal dependency.
            let normal = dependency.get("kind").is_none_or(Value::is_null);
            // Loom stands in for the processor's atomics in tests: only `--cfg loom` builds it,
            // and it cannot be a dependency of tests alone, as what is tested must use it.
            let only_for_loom =
                dependency.get("target").and_then(Value::as_str) == Some("cfg(loom)");
            let fine = match lean {
                _ if is_ours => allowed.contains(&on.as_str()),
                Some(_) if only_for_loom => on == "loom",
                Some(lean) if normal => lean.contains(&on.as_str()),
                _ => true,
            };
            if !fine {
                offences.push(format!("{crate_name} must not depend on {on}"));
            }
        }
    }
    Ok(offences)
}

/// What is wrong with the length of a file. Generated files say `@generated` near their top.
pub(crate) fn length(name: &str, text: &str) -> Option<String> {
    let lines = text.lines().count();
    let generated = text.lines().take(5).any(|line| line.contains("@generated"));
    (lines > CEILING && !generated)
        .then(|| format!("{name}: {lines} lines, and {CEILING} is the ceiling; split it"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn package(name: &str, on: &[(&str, Option<&str>)]) -> Value {
        let on: Vec<Value> =
            on.iter().map(|(name, kind)| json!({"name": name, "kind": kind})).collect();
        json!({"name": name, "dependencies": on})
    }

    #[test]
    fn arrows_point_down_only() {
        for (index, (room, allowed)) in ROOMS.iter().enumerate() {
            for on in *allowed {
                let below = ROOMS.iter().position(|(name, _)| name == on).unwrap();
                assert!(below < index, "{room} -> {on}");
            }
        }
    }

    #[test]
    fn what_is_allowed_passes() {
        let metadata = json!({"packages": [
            package("damper-control", &[("rand_core", None), ("proptest", Some("dev"))]),
            package("damper-system", &[("damper-control", None), ("miette", None)]),
        ]});
        assert_eq!(dependencies(&metadata).unwrap(), Vec::<String>::new());
    }

    #[test]
    fn loom_is_allowed_where_only_loom_builds_it() {
        let on = |name: &str, target: Option<&str>| {
            let on = json!([{"name": name, "kind": null, "target": target}]);
            let metadata = json!({"packages": [{"name": "damper-control", "dependencies": on}]});
            dependencies(&metadata).unwrap().len()
        };
        assert_eq!(on("loom", Some("cfg(loom)")), 0);
        assert_eq!(on("loom", None), 1);
        assert_eq!(on("loom", Some("cfg(unix)")), 1);
        assert_eq!(on("tokio", Some("cfg(loom)")), 1);
    }

    #[test]
    fn what_is_not_allowed_is_named() {
        let metadata = json!({"packages": [
            package("damper-control", &[("tokio", None)]),
            package("damper-system", &[("damper-sim", Some("dev"))]),
            package("damper-sim", &[]),
            package("damper-utils", &[]),
        ]});
        let offences = dependencies(&metadata).unwrap();
        assert_eq!(offences.len(), 3, "{offences:?}");
        assert_eq!(offences[0], "damper-control must not depend on tokio");
        assert_eq!(offences[1], "damper-system must not depend on damper-sim");
        assert!(offences[2].starts_with("damper-utils: no room"), "{offences:?}");
    }

    #[test]
    fn the_ceiling_is_the_last_length_allowed() {
        let fits = "x\n".repeat(CEILING);
        assert_eq!(length("a.rs", &fits), None);
        let long = format!("{fits}x\n");
        assert!(length("a.rs", &long).unwrap().contains("601 lines"));
        assert_eq!(length("a.rs", &format!("// @generated\n{long}")), None);
    }
}
