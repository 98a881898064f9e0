//! The published schema and the tables of `docs/filter.md` are what the code prints.
//!
//! `DAMPER_BLESS=1 cargo test -p damper-mesh --test docs` rewrites them.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test says what is wrong by panicking"
)]

use std::path::{Path, PathBuf};

use damper_mesh::filter::{read, schema};

fn docs(name: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs")).join(name)
}

fn same(path: &Path, wanted: &str) {
    if std::env::var_os("DAMPER_BLESS").is_some() {
        std::fs::write(path, wanted).unwrap();
    }
    let found = std::fs::read_to_string(path).unwrap_or_default();
    assert!(found == wanted, "{}: run DAMPER_BLESS=1 cargo test -p damper-mesh", path.display());
}

/// The text with what stands between the markers of `name` replaced.
fn with(text: &str, name: &str, content: &str) -> String {
    let (begin, end) = (format!("<!-- {name} -->\n"), format!("<!-- end of {name} -->"));
    let (before, rest) = text.split_once(&begin).expect("the marker");
    let (_, after) = rest.split_once(&end).expect("the end marker");
    format!("{before}{begin}{}\n{end}{after}", content.trim_end())
}

#[test]
fn schema_is_up_to_date() {
    let schema = serde_json::to_string_pretty(&schema::json_schema()).unwrap();
    same(&docs("filter.schema.json"), &format!("{schema}\n"));
}

#[test]
fn tables_are_up_to_date() {
    let path = docs("filter.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let text = with(&text, "keys", &schema::reference());
    same(&path, &with(&text, "counters", &schema::counters()));
}

/// Every configuration that the page and the examples show is one.
#[test]
fn what_is_shown_is_valid() {
    let mut found = 0;
    let page = std::fs::read_to_string(docs("filter.md")).unwrap();
    for block in page.split("```json\n").skip(1) {
        let json = block.split("```").next().unwrap();
        read(json.as_bytes()).unwrap_or_else(|problems| panic!("{json}\n{problems}"));
        found += 1;
    }
    for name in ["envoy-edge.yaml", "envoy-sidecar.yaml"] {
        let path = docs("../examples/filter").join(name);
        let text = std::fs::read_to_string(path).unwrap();
        // The configuration is the indented block behind `value: |`.
        for block in text.split("value: |\n").skip(1) {
            let indent = block.len() - block.trim_start().len();
            let own =
                block.lines().take_while(|line| line.len() - line.trim_start().len() >= indent);
            let json: Vec<&str> = own.collect();
            let json = json.join("\n");
            read(json.as_bytes()).unwrap_or_else(|problems| panic!("{name}: {json}\n{problems}"));
            found += 1;
        }
    }
    assert!(found >= 4, "{found}");
}
