//! What the dashboard and the alerts in `deploy/` ask for is what is counted.

use std::path::Path;

use damper_proxy::meters::OVERALL;
use damper_proxy::observe::FAMILIES;

fn is_known(name: &str) -> bool {
    let family = FAMILIES.iter().find(|family| {
        let base = match family.kind {
            "histogram" => {
                ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end))
            }
            _ => Some(name),
        };
        base == Some(family.name)
    });
    let overall = OVERALL.iter().any(|(other, _)| name == format!("damper_{other}_total"));
    family.is_some() || overall || name == "damper_build_info"
}

#[test]
fn names_in_deploy_are_counted() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/observe");
    let mut known = 0;
    for file in ["proxy-rules.yaml", "proxy-rules_test.yaml", "grafana/proxy-dashboard.json"] {
        let text = std::fs::read_to_string(folder.join(file)).unwrap();
        for name in text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_') {
            if name.starts_with("damper_") {
                assert!(is_known(name), "{file}: {name}");
                known += 1;
            }
        }
    }
    assert!(known > 20, "{known}");
}
