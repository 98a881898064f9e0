//! `damper lab` and `damper incidents`.

use serde_json::Value;

use crate::output::holds;
use crate::program::{damper, json, number};

fn list(args: &[&str]) -> Vec<Value> {
    json(args).as_array().expect("a list").clone()
}

#[test]
fn the_rungs_are_listed() {
    holds("lab", &["lab"]);
}

/// The first rung, as it is read where there is no terminal: no colours, nothing that moves.
#[test]
fn the_first_rung_collapses() {
    holds("lab-1", &["lab", "1", "--explain"]);
}

#[test]
fn a_rung_that_is_not_there_says_so() {
    holds("lab-unknown", &["lab", "9"]);
}

/// What `--file` prints can be used.
#[test]
fn files_that_are_printed_are_valid() {
    let folder = tempfile::tempdir().unwrap();
    for args in [["lab", "3", "--file"], ["incidents", "aws-2025-leases", "--file"]] {
        let path = folder.path().join("mine.yaml");
        std::fs::write(&path, damper(&args).out).unwrap();
        let ran = damper(&["check", path.to_str().unwrap()]);
        assert_eq!(ran.code, Some(0), "{args:?}: {}", ran.err);
    }
}

#[test]
#[ignore = "slow: bisects hidden capacity four times"]
fn every_rung_shows_its_figure() {
    for rung in list(&["lab"]) {
        let n = rung["rung"].to_string();
        let seen = json(&["lab", &n]);
        println!("{n}: {}", seen["figures"]);
        assert_eq!(seen["holds"], true, "{seen}");
    }
    let five = json(&["lab", "5"]);
    assert!(number(&five, "/figures/high_share") >= 0.8, "{five}");
}

#[test]
fn incidents_and_the_catalogue_are_listed() {
    holds("incidents", &["incidents"]);
    holds("incidents-catalogue", &["incidents", "--catalogue"]);
    assert_eq!(list(&["incidents"]).len(), 12);
    assert_eq!(list(&["incidents", "--catalogue"]).len(), 22);
}

#[test]
fn an_unknown_incident_names_the_nearest() {
    holds("incidents-unknown", &["incidents", "kinesis"]);
}

/// Stays down as it was; heals with less load, and with what ended it.
#[test]
#[ignore = "slow: three runs of twelve systems"]
fn every_incident_goes_as_it_is_on_record() {
    for incident in list(&["incidents"]) {
        let id = incident["id"].as_str().unwrap();
        let ran = damper(&["incidents", id, "--json"]);
        println!("{id}: {}", ran.out);
        assert_eq!(ran.code, Some(0), "{id}: {}", ran.out);
        let page = format!("docs/incidents/{id}.md");
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        assert!(root.join(&page).is_file(), "no {page}");
    }
}

/// One of them in every test run, as it is read.
#[test]
fn a_small_incident_goes_as_it_is_on_record() {
    holds("incidents-one", &["incidents", "elastic-2019-zookeeper"]);
}
