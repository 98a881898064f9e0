//! `deploy/`: every base renders, its manifests are as their definitions say and as the exporter
//! writes them now, and what is watched is what is counted.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use damper_export::{Options, export, format};
use damper_mesh::filter::counters::{OVERALL, PER_CLASS};
use serde_json::Value;

use crate::loopback::{folder, program};
use crate::random;
use crate::schemas::{documents, wrong};

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy")
}

pub(crate) fn text(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

pub(crate) fn yaml(path: &str) -> Value {
    serde_saphyr::from_str(&text(path)).unwrap()
}

/// Gauges and counters of the filter that are in no table of its.
const MORE: [&str; 2] = ["configuration_errors", "configuration_warnings"];
/// Counters of Envoy for each cluster.
const CLUSTER: [&str; 4] = ["total", "retry", "retry_success", "retry_overflow"];

#[test]
fn bases_have_what_they_name_and_it_is_what_would_be_written_now() {
    let schemas: Value = serde_json::from_str(include_str!("../schemas/crds.json")).unwrap();
    let system = random::system(&text("shop.yaml"));
    let options = Options { namespace: "shop".into(), ..Options::default() };
    for id in ["istio", "envoy-gateway"] {
        let base = yaml(&format!("{id}/kustomization.yaml"));
        let named: BTreeSet<&str> =
            base["resources"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        let written = export(&system, format::find(id).unwrap(), &options);
        let paths: BTreeSet<&str> = written.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(named, paths, "{id}");
        for file in &written.files {
            let path = format!("{id}/{}", file.path);
            if std::env::var_os("DAMPER_UPDATE").is_some() {
                std::fs::write(root().join(&path), &file.text).unwrap();
            }
            assert_eq!(text(&path), file.text, "{path}: run this test with DAMPER_UPDATE=1");
            for document in documents(&file.text) {
                assert!(wrong(&document, &schemas).is_empty(), "{path}");
                assert_eq!(document["metadata"]["namespace"], base["namespace"]);
            }
        }
    }
}

#[test]
fn the_mesh_retries_nothing_by_itself() {
    let files = vec![("values.yaml".to_owned(), text("istio/values.yaml"))];
    let readings = damper_config::read_tree(&files);
    let layers = &readings[0].1.layers;
    assert_eq!(layers.len(), 2, "{layers:#?}");
    assert!(layers.iter().all(|layer| !layer.retries()), "{layers:#?}");
}

/// Every part is measured once, with what is there.
#[test]
fn the_job_of_prices_has_as_many_parts_as_it_says() {
    let base = yaml("price/kustomization.yaml");
    for named in base["resources"].as_array().unwrap() {
        let file = yaml(&format!("price/{}", named.as_str().unwrap()));
        assert!(file["apiVersion"].is_string() && file["kind"].is_string(), "{named}");
    }
    let job = yaml("price/job.yaml");
    assert_eq!((&job["apiVersion"], &job["kind"]), (&"batch/v1".into(), &"Job".into()));
    let spec = &job["spec"];
    assert_eq!(spec["completionMode"], "Indexed");
    let parts = spec["completions"].as_u64().unwrap();
    assert!(spec["parallelism"].as_u64().unwrap() <= parts);
    let pod = &spec["template"]["spec"];
    assert_eq!(pod["restartPolicy"], "Never", "a Job takes no other but OnFailure");
    let container = &pod["containers"][0];
    let args: Vec<&str> =
        container["args"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let shard = args.iter().position(|a| *a == "--shard").unwrap();
    assert_eq!(args[shard + 1], format!("$(JOB_COMPLETION_INDEX)/{parts}"));
    let names = |list: &Value| -> BTreeSet<String> {
        list.as_array().unwrap().iter().map(|v| v["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&container["volumeMounts"]), names(&pod["volumes"]));
    let map = &base["configMapGenerator"][0];
    assert_eq!(pod["volumes"][0]["configMap"]["name"], map["name"]);
    let claim = yaml("price/parts.yaml");
    assert_eq!(pod["volumes"][1]["persistentVolumeClaim"]["claimName"], claim["metadata"]["name"]);
    for file in map["files"].as_array().unwrap() {
        let path = format!("price/{}", file.as_str().unwrap());
        assert!(args[1].ends_with(&format!("/{}", file.as_str().unwrap())), "{}", args[1]);
        let named = random::system(&text(&path)).name;
        assert_eq!(named, "one-service");
    }
}

#[test]
fn observe_has_what_it_names() {
    for folder in ["observe", "observe/grafana"] {
        let base = yaml(&format!("{folder}/kustomization.yaml"));
        for map in base["configMapGenerator"].as_array().unwrap() {
            for file in map["files"].as_array().unwrap() {
                text(&format!("{folder}/{}", file.as_str().unwrap()));
            }
        }
    }
}

/// Every base below `deploy/`.
fn bases(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(bases(&path));
        } else if path.ends_with("kustomization.yaml") {
            all.push(folder.to_path_buf());
        }
    }
    all.sort();
    all
}

/// What kubectl makes of a base; an error is what it says.
fn rendered(kubectl: &Path, base: &Path) -> Result<Vec<Value>, String> {
    let output = Command::new(kubectl).arg("kustomize").arg(base).output().unwrap();
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    Ok(documents(&String::from_utf8(output.stdout).unwrap()))
}

/// The objects of a kind.
fn of_kind<'v>(all: &'v [Value], kind: &'v str) -> impl Iterator<Item = &'v Value> {
    all.iter().filter(move |one| one["kind"] == kind)
}

/// With every number as a fraction: kubectl writes 3000.0 as 3000.
fn numbers(value: &Value) -> Value {
    match value {
        Value::Number(number) => number.as_f64().into(),
        Value::Array(all) => all.iter().map(numbers).collect(),
        Value::Object(all) => {
            all.iter().map(|(key, one)| (key.clone(), numbers(one))).collect::<Value>()
        }
        other => other.clone(),
    }
}

/// What is rendered is what stands in the files, is as its definitions say, and every name that is
/// made up for it is the one that is used.
#[test]
#[ignore = "slow: needs kubectl"]
fn kubectl_renders_every_base() {
    let Some(kubectl) = program("KUBECTL") else { return };
    let schemas: Value = serde_json::from_str(include_str!("../schemas/crds.json")).unwrap();
    let mut seen = Vec::new();
    for folder in bases(&root()) {
        let name = folder.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
        let base = yaml(&format!("{name}/kustomization.yaml"));
        let all = rendered(&kubectl, &folder).unwrap_or_else(|error| panic!("{name}: {error}"));
        let list = |key: &str| base[key].as_array().cloned().unwrap_or_default();
        let mut written: Vec<Value> = Vec::new();
        for file in list("resources") {
            written.extend(documents(&text(&format!("{name}/{}", file.as_str().unwrap()))));
        }
        let maps = list("configMapGenerator");
        assert_eq!(all.len(), written.len() + maps.len(), "{name}");
        for map in &maps {
            let start = format!("{}-", map["name"].as_str().unwrap());
            let made = |one: &&Value| one["metadata"]["name"].as_str().unwrap().starts_with(&start);
            let made = of_kind(&all, "ConfigMap").find(made).unwrap();
            for file in map["files"].as_array().unwrap() {
                let file = file.as_str().unwrap();
                assert_eq!(made["data"][file], text(&format!("{name}/{file}")), "{name}/{file}");
            }
            let label = &made["metadata"]["labels"]["grafana_dashboard"];
            assert_eq!(label == "1", start.contains("dashboard"), "{name}: {label}");
            // Whoever mounts it knows it by the name that it got.
            let volumes = of_kind(&all, "Deployment")
                .flat_map(|one| one["spec"]["template"]["spec"]["volumes"].as_array().unwrap());
            for volume in volumes.filter_map(|one| one["configMap"]["name"].as_str()) {
                assert_eq!(made["metadata"]["name"], volume, "{name}");
            }
        }
        for one in &all {
            assert_eq!(one["metadata"]["namespace"], base["namespace"], "{name}: {one}");
        }
        if maps.is_empty() {
            let written: Vec<Value> = written.iter().map(numbers).collect();
            for one in &all {
                assert!(written.contains(&numbers(one)), "{name}: {one:#}");
                assert_eq!(wrong(one, &schemas), Vec::<String>::new(), "{name}");
            }
        }
        seen.push(name);
    }
    assert_eq!(seen, ["envoy-gateway", "istio", "observe", "observe/grafana", "price", "proxy"]);
    // A mistake is seen.
    let broken = folder("kustomize");
    let base = text("istio/kustomization.yaml");
    std::fs::write(broken.join("kustomization.yaml"), base).unwrap();
    let said = rendered(&kubectl, &broken).unwrap_err();
    assert!(said.contains("client-filter.yaml"), "{said}");
    std::fs::remove_dir_all(broken).unwrap();
}

/// The rules of a kind, `record` or `alert`, with their names.
pub(crate) fn rules(kind: &str) -> Vec<(String, Value)> {
    let rules = yaml("observe/rules.yaml");
    let groups = rules["groups"].as_array().unwrap().iter();
    let all = groups.flat_map(|group| group["rules"].as_array().unwrap().clone());
    all.filter_map(|rule| Some((rule[kind].as_str()?.to_owned(), rule.clone()))).collect()
}

/// Every expression of the dashboard.
pub(crate) fn panels() -> Vec<String> {
    let dashboard: Value = serde_json::from_str(&text("observe/grafana/dashboard.json")).unwrap();
    let panels = dashboard["panels"].as_array().unwrap().iter();
    let targets = panels.flat_map(|panel| panel["targets"].as_array().unwrap());
    targets.map(|target| target["expr"].as_str().unwrap().to_owned()).collect()
}

/// Every expression of the rules and of the dashboard.
fn expressions() -> Vec<String> {
    let all = [rules("record"), rules("alert")].concat().into_iter();
    let rules = all.map(|(_, rule)| rule["expr"].as_str().unwrap().to_owned());
    rules.chain(panels()).collect()
}

/// What an expression selects by a pattern of names: the positions and the counter.
fn patterns(expression: &str) -> Vec<(Vec<&str>, &str)> {
    let each = expression.split("{__name__=~\"damper_(").skip(1).map(|rest| {
        let pattern = rest.split('"').next().unwrap();
        let (positions, counter) = pattern.split_once(")_").unwrap();
        (positions.split('|').collect(), counter)
    });
    each.collect()
}

#[test]
fn what_is_watched_is_counted() {
    let records: BTreeSet<String> = rules("record").into_iter().map(|one| one.0).collect();
    let mut seen = BTreeSet::new();
    let mut positions = BTreeSet::new();
    for expression in expressions() {
        let balance = |open: char, close: char| {
            expression.matches(open).count() == expression.matches(close).count()
        };
        assert!(balance('(', ')') && balance('{', '}') && balance('[', ']'), "{expression}");
        for (at, counter) in patterns(&expression) {
            positions.extend(at.iter().map(|one| (*one).to_owned()));
            let by_class = counter.strip_prefix("class_.+_").unwrap_or_default();
            let per_class = PER_CLASS.iter().any(|(name, _)| *name == by_class);
            let all = OVERALL.iter().any(|(name, _)| *name == counter) || MORE.contains(&counter);
            let gauge = by_class == "amplification_permille";
            assert!(per_class || all || gauge, "{counter}: {expression}");
            seen.insert(by_class.to_owned());
        }
        let word = |c: char| c.is_ascii_alphanumeric() || "_:".contains(c);
        for name in expression.split(|c: char| !word(c)) {
            if name.starts_with("damper:") {
                assert!(records.contains(name), "{name}: {expression}");
            } else if let Some(rest) = name.strip_prefix("damper_").filter(|one| !one.is_empty()) {
                assert!(MORE.contains(&rest), "{name}: {expression}");
            } else if let Some(rest) = name.strip_prefix("envoy_cluster_upstream_rq_") {
                assert!(CLUSTER.contains(&rest), "{name}: {expression}");
                seen.insert(rest.to_owned());
            }
        }
    }
    // Amplification, denied retries by class, success after retry, the gauge; at a gateway, too.
    for name in
        ["attempts", "requests", "retries_denied_budget", "retry_success", "amplification_permille"]
    {
        assert!(seen.contains(name), "{name} is not watched");
    }
    assert_eq!(positions.into_iter().collect::<Vec<_>>(), ["edge", "inbound", "outbound"]);
}

#[test]
fn alerts_say_what_to_do() {
    let alerts = rules("alert");
    assert!(alerts.len() >= 6);
    for (_, alert) in alerts {
        for key in ["summary", "description"] {
            assert!(
                alert["annotations"][key].as_str().is_some_and(|text| text.len() > 20),
                "{alert}"
            );
        }
        assert!(alert["labels"]["severity"].is_string() && alert["for"].is_string(), "{alert}");
    }
}
