//! The published schema and reference are what the tables print.
//!
//! `DAMPER_BLESS=1 cargo test -p damper-system` rewrites them.

use std::path::{Path, PathBuf};

fn docs(name: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs")).join(name)
}

fn same(path: &Path, wanted: &str) {
    if std::env::var_os("DAMPER_BLESS").is_some() {
        std::fs::write(path, wanted).unwrap();
    }
    let found = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        found == wanted,
        "{} is not what the tables print: run DAMPER_BLESS=1 cargo test -p damper-system",
        path.display()
    );
}

#[test]
fn schema_is_up_to_date() {
    let schema = serde_json::to_string_pretty(&damper_system::json_schema()).unwrap();
    same(&docs("system.schema.json"), &format!("{schema}\n"));
}

#[test]
fn schema_of_requests_is_up_to_date() {
    let schema = serde_json::to_string_pretty(&damper_system::request_schema()).unwrap();
    same(&docs("requests.schema.json"), &format!("{schema}\n"));
}

#[test]
fn reference_is_up_to_date() {
    let path = docs("system-file.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let wanted = damper_system::rewrite_tables(&text);
    assert!(wanted.contains("### service\n"), "the markers are gone");
    same(&path, &wanted);
}

#[test]
fn drill_files_are_up_to_date() {
    let schema = serde_json::to_string_pretty(&damper_system::drill_schema()).unwrap();
    same(&docs("drill.schema.json"), &format!("{schema}\n"));
    let path = docs("drill.md");
    let wanted = damper_system::rewrite_drill_tables(&std::fs::read_to_string(&path).unwrap());
    assert!(wanted.contains("### phase\n"), "the markers are gone");
    same(&path, &wanted);
}

#[test]
fn the_page_of_the_proxy_is_up_to_date() {
    let schema = serde_json::to_string_pretty(&damper_system::sidecar_schema()).unwrap();
    same(&docs("proxy.schema.json"), &format!("{schema}\n"));
    let path = docs("proxy.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let wanted = damper_system::rewrite_sidecar_tables(&text);
    assert!(wanted.contains("### inbound\n"), "the markers are gone");
    same(&path, &wanted);
}

/// Every YAML example of the reference is valid.
#[test]
fn examples_of_the_reference_load() {
    let text = std::fs::read_to_string(docs("system-file.md")).unwrap();
    let mut examples = 0;
    for block in text.split("```yaml\n").skip(1) {
        let yaml = block.split("```").next().unwrap();
        if yaml.starts_with("damper: 1") {
            examples += 1;
            crate::lower(yaml).unwrap_or_else(|p| panic!("{p}"));
        }
    }
    assert!(examples > 0);
}
