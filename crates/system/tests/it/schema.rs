//! The JSON Schema accepts what the reader accepts.

use std::path::Path;

use damper_system::{SystemFile, json_schema};

use crate::file;

fn json(text: &str) -> serde_json::Value {
    SystemFile::parse("x", text).unwrap().to_json()
}

fn validator() -> jsonschema::Validator {
    jsonschema::draft7::new(&json_schema()).unwrap()
}

#[test]
fn is_a_schema() {
    assert!(jsonschema::draft7::meta::is_valid(&json_schema()));
}

/// The examples are read, and the schema agrees.
#[test]
fn the_proxys_schema_accepts_its_examples_and_no_other_keys() {
    let schema = damper_system::sidecar_schema();
    assert!(jsonschema::draft7::meta::is_valid(&schema));
    let validator = jsonschema::draft7::new(&schema).unwrap();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/proxy");
    let mut files = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        damper_system::sidecar::Sidecar::read(&path).unwrap_or_else(|p| panic!("{p}"));
        let text = std::fs::read_to_string(&path).unwrap();
        let errors: Vec<String> =
            validator.iter_errors(&json(&text)).map(|e| e.to_string()).collect();
        assert!(errors.is_empty(), "{}: {errors:#?}", path.display());
        files += 1;
    }
    assert!(files >= 2);
    let deploy = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy");
    let read = damper_system::sidecar::Sidecar::read(&deploy.join("proxy/proxy.yaml"));
    assert_eq!(read.unwrap_or_else(|p| panic!("{p}")).listeners.len(), 2);
    let shop = |path| std::fs::read_to_string(deploy.join(path)).unwrap();
    assert_eq!(shop("shop.yaml"), shop("proxy/shop.yaml"), "one is a copy of the other");
    for wrong in [
        "proxy: 1\nsystem: s\n",
        "proxy: 2\nsystem: s\ninbound: [{service: db, listen: 'a', upstream: b}]\n",
        "proxy: 1\nsystem: s\ninbound: [{service: db, listen: 'a'}]\n",
        "proxy: 1\nsystem: s\ninbound: [{service: db, listen: 'a', upstream: b, limits: {head: 5}}]\n",
    ] {
        assert!(!validator.is_valid(&json(wrong)), "{wrong}");
    }
}

#[test]
fn accepts_good_files() {
    let validator = validator();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/files");
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/model");
    let mut files = 0;
    for folder in [folder, examples, model] {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|e| e == "yaml") {
                let text = std::fs::read_to_string(&path).unwrap();
                let errors: Vec<String> =
                    validator.iter_errors(&json(&text)).map(|e| e.to_string()).collect();
                assert!(errors.is_empty(), "{}: {errors:#?}", path.display());
                files += 1;
            }
        }
    }
    assert!(files >= 4);
}

#[test]
fn refuses_bad_files() {
    let validator = validator();
    for sections in [
        vec![("damper", "2")],
        vec![("load", "")],
        vec![("load", "270")],
        vec![("requests", "")],
        vec![("routes", "{all: {entry: {db: 100%}}}")],
        vec![("services", "{db: {wrokers: 3}}")],
        vec![("services", "{db: {workers: 0}}")],
        vec![("services", "{db: {service_time: 100}}")],
        vec![("services", "{db: {service_time: {dist: lognormal, mean: 1ms}}}")],
        vec![("services", "{db: {service_time: {dist: exponential, mean: 1ms, cv: 2}}}")],
        vec![("services", "{db: {failure: 0.1}}")],
        vec![("services", "{\"my db\": {}}")],
        vec![("arrivals", "poison")],
        vec![("requests", "{r: {calls: [{a: [], b: []}]}}")],
        vec![("policies", "{\"a -> b -> c\": {}}")],
        vec![("policies", "{db: {retry: {on: [reject]}}}")],
        vec![("policies", "{db: {retry: {budget: {kind: envoy, max_tokens: 3}}}}")],
        vec![("triggers", "{t: [{outage: db}]}")],
        vec![("triggers", "{t: [{outage: db, slowdown: db, for: 1s}]}")],
        vec![("experiment", "{recovered_at: 0.9}")],
    ] {
        let text = file(&sections);
        assert!(!validator.is_valid(&json(&text)), "{text}");
        assert!(crate::lower(&text).is_err(), "{text}");
    }
}

/// Keys are read by name: a fixture with each of them shows that the tables and the reader
/// mean the same.
#[test]
fn fixtures_use_every_key() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/files");
    let text: String = std::fs::read_dir(folder)
        .unwrap()
        .filter_map(|e| std::fs::read_to_string(e.unwrap().path()).ok())
        .collect();
    // `controls.rs` has a file for each parameter of each control.
    let parameters = damper_control::registry::all().flat_map(|e| e.parameters);
    let text: String = parameters.map(|p| format!("{}: ", p.name)).chain([text]).collect();
    let mut keys = std::collections::BTreeSet::new();
    properties(&json_schema(), &mut keys);
    assert!(keys.len() > 70, "{}", keys.len());
    for key in keys {
        assert!(text.contains(&format!("{key}:")), "no fixture has `{key}`");
    }
}

fn properties(schema: &serde_json::Value, keys: &mut std::collections::BTreeSet<String>) {
    match schema {
        serde_json::Value::Object(map) => {
            if let Some(serde_json::Value::Object(named)) = map.get("properties") {
                keys.extend(named.keys().cloned());
            }
            map.values().for_each(|v| properties(v, keys));
        }
        serde_json::Value::Array(items) => items.iter().for_each(|v| properties(v, keys)),
        _ => {}
    }
}
