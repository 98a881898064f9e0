//! Kubernetes manifests against schemas: ours, written down from what the custom resource
//! definitions say of the fields that are used, and those that a package publishes.

use std::collections::BTreeMap;
use std::process::Command;

use damper_export::{FORMATS, Options, export};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use serde_json::Value;

use crate::random;

const KUBERNETES: [&str; 4] = ["istio", "linkerd", "gateway-api", "envoy-gateway"];

/// The documents of a text, as JSON.
pub(crate) fn documents(text: &str) -> Vec<Value> {
    text.split("\n---\n").map(|one| serde_saphyr::from_str(one).unwrap()).collect()
}

/// What is wrong with a manifest.
pub(crate) fn wrong(document: &Value, schemas: &Value) -> Vec<String> {
    let field = |key: &str| document.get(key).and_then(Value::as_str).unwrap_or_default();
    let name = format!("{} {}", field("apiVersion"), field("kind"));
    let Some(schema) = schemas.get(&name) else { return vec![format!("no schema of {name}")] };
    let validator = jsonschema::validator_for(schema).unwrap();
    validator.iter_errors(document).map(|error| format!("{name}: {error}")).collect()
}

fn check(text: &str) {
    let schemas: Value = serde_json::from_str(include_str!("../schemas/crds.json")).unwrap();
    let system = random::system(text);
    for format in FORMATS.iter().filter(|format| KUBERNETES.contains(&format.id)) {
        for plain in [true, false] {
            let written =
                export(&system, format, &Options { plain, numbers: false, ..Options::default() });
            for file in &written.files {
                for document in documents(&file.text) {
                    let wrong = wrong(&document, &schemas);
                    assert!(wrong.is_empty(), "{}: {wrong:#?}\n{}", file.path, file.text);
                }
            }
        }
    }
}

#[test]
fn manifests_are_as_their_definitions_say() {
    check(include_str!("../systems/shop.yaml"));
}

#[test]
fn a_mistake_is_seen() {
    let schemas: Value = serde_json::from_str(include_str!("../schemas/crds.json")).unwrap();
    let text = "apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {name: a}\nspec: {hosts: [a], http: [{route: [{destination: {host: a}}], retries: {attempts: -1}}]}\n";
    assert_eq!(wrong(&documents(text)[0], &schemas).len(), 1);
    let text = text.replace("attempts: -1", "tries: 1");
    assert_eq!(wrong(&documents(&text)[0], &schemas).len(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn manifests_of_random_policies_are_as_their_definitions_say(text in random::text()) {
        check(&text);
    }
}

/// The models of Istio's definitions that PyPI has; `EXPORT_PYTHON` names a Python with them.
#[test]
#[ignore = "slow: needs Python with models of Istio's definitions"]
fn istio_manifests_pass_published_models() {
    let Some(python) = std::env::var_os("EXPORT_PYTHON") else {
        eprintln!("skipped: EXPORT_PYTHON is not set");
        return;
    };
    let system = random::system(include_str!("../systems/shop.yaml"));
    let format = damper_export::format::find("istio").unwrap();
    let written = export(&system, format, &Options::default());
    let all: Vec<Value> = written.files.iter().flat_map(|file| documents(&file.text)).collect();
    let folder = std::env::temp_dir().join(format!("damper-models-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("all.json");
    std::fs::write(&file, serde_json::to_vec(&all).unwrap()).unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/models.py");
    let output = Command::new(python).arg(script).arg(&file).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stdout));
    std::fs::remove_dir_all(folder).unwrap();
}

/// What npm's models of Istio 1.29 and of the Gateway API say of manifests: how many they know of each
/// kind, and what is wrong.
fn asked(modules: &std::ffi::OsStr, manifests: &[Value]) -> (BTreeMap<String, u32>, Vec<String>) {
    let folder = crate::loopback::folder("npm-models");
    let file = folder.join("all.json");
    std::fs::write(&file, serde_json::to_vec(manifests).unwrap()).unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/models.mjs");
    let output = Command::new("node").arg(script).arg(modules).arg(&file).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    std::fs::remove_dir_all(folder).unwrap();
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let of = |key: &str| answer[key].clone();
    (serde_json::from_value(of("seen")).unwrap(), serde_json::from_value(of("wrong")).unwrap())
}

/// `EXPORT_MODELS` names the folder `node_modules` with the models.
#[test]
#[ignore = "slow: needs Node with models of Istio and of the Gateway API"]
fn manifests_pass_models_of_newer_istio_and_of_the_gateway_api() {
    let Some(modules) = std::env::var_os("EXPORT_MODELS") else {
        eprintln!("skipped: EXPORT_MODELS is not set");
        return;
    };
    let mut texts = vec![include_str!("../systems/shop.yaml").to_owned()];
    let mut runner = TestRunner::deterministic();
    let text = random::text();
    texts.extend((0..40).map(|_| text.new_tree(&mut runner).unwrap().current()));
    let mut all = Vec::new();
    for text in &texts {
        let system = random::system(text);
        for format in FORMATS.iter().filter(|format| KUBERNETES.contains(&format.id)) {
            for plain in [true, false] {
                let options = Options { plain, numbers: false, ..Options::default() };
                let written = export(&system, format, &options);
                all.extend(written.files.iter().flat_map(|file| documents(&file.text)));
            }
        }
    }
    let (seen, wrong) = asked(&modules, &all);
    assert!(wrong.is_empty(), "{wrong:#?}");
    let kinds: Vec<&str> = seen.keys().filter_map(|name| name.split(' ').nth(1)).collect();
    assert_eq!(
        kinds,
        ["WasmPlugin", "HTTPRoute", "XBackendTrafficPolicy", "DestinationRule", "VirtualService"]
    );
    assert!(seen.values().all(|many| *many >= 10), "{seen:?}");
    // Mistakes are seen.
    let text = "apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {name: a}\nspec: {hosts: [a], http: [{route: [{destination: {host: a}}], retries: {attempts: 1}}]}\n";
    for (from, to) in [("attempts: 1", "tries: 1"), ("attempts: 1", "attempts: many")] {
        let (_, wrong) = asked(&modules, &documents(&text.replace(from, to)));
        assert_eq!(wrong.len(), 1, "{to}: {wrong:?}");
    }
}
