//! `damper price`: what is printed, what is written, and parts that are put together.

use std::path::Path;

use damper_report::result::price::Price;
use serde_json::Value;

use crate::chromium::{Browser, DESK, PHONE};
use crate::output::holds;
use crate::program::{QUICK, damper};

/// A few settings, measured roughly.
const FEW: &[&str] = &[
    "--budget",
    "{kind: envoy, percent: 20%, min_retry_concurrency: 3}",
    "--budget",
    "{kind: token-bucket, max_tokens: 10, token_ratio: 0.1}",
    "--budget",
    "{kind: per-minute, retries: 0}",
    "--requests",
    "2000",
];

fn few(more: &[&'static str]) -> Vec<&'static str> {
    [&["price"], QUICK, FEW, more].concat()
}

#[test]
fn price() {
    holds("price", &few(&[]));
    holds("price-other-errors", &few(&["--errors", "2%", "--at", "2%", "--most", "5"]));
}

#[test]
fn prices_that_cannot_be_had() {
    let file = "examples/retry-storm.yaml";
    for (name, more) in [
        ("unknown-budget", ["--budget", "envoi"]),
        ("wrong-setting", ["--budget", "{kind: envoy, percent: many}"]),
        ("no-share", ["--errors", "0.01"]),
        ("other-at", ["--at", "2%"]),
        ("too-many-in-bursts", ["--burst-failure", "5%"]),
        ("no-retries", ["--set", "policies.\"client -> db\".retry.limit=0"]),
        ("no-trigger", ["--set", "experiment.trigger=none"]),
        ("no-part", ["--shard", "0/2"]),
    ] {
        holds(&format!("price-{name}"), &[["price", file].as_slice(), &more].concat());
    }
    holds("price-wrong-shard", &["price", file, "--shard", "2/2", "--part", "no-such-folder/p"]);
    holds("price-nothing", &["price"]);
    holds("price-merge-no-part", &["price", "--merge", "Cargo.toml"]);
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

/// Whatever is asked of the parts: to the byte what one run gives.
#[test]
fn parts_give_what_one_run_gives() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for of in [2, 3] {
        let mut parts = Vec::new();
        for part in 0..of {
            let (shard, path) = (format!("{part}/{of}"), at(&format!("{part}-{of}.json")));
            let args = few(&[]);
            let ran = damper(
                &[&args[..], &["--shard", &shard, "--part", path.to_str().unwrap()]].concat(),
            );
            assert_eq!((ran.code, ran.out.as_str()), (Some(0), ""), "{}", ran.err);
            parts.push(path);
        }
        // In any order.
        parts.reverse();
        let names: Vec<&str> = parts.iter().map(|p| p.to_str().unwrap()).collect();
        let with = |args: &[&str], merged: &str| {
            let (csv, html) = (at(&format!("{merged}.csv")), at(&format!("{merged}.html")));
            let files = ["--csv", csv.to_str().unwrap(), "--html", html.to_str().unwrap()];
            let ran = damper(&[args, &files].concat());
            assert_eq!(ran.code, Some(0), "{}", ran.err);
            (ran.out, read(&csv), read(&html))
        };
        let merge: Vec<&str> = ["price", "--merge"].into_iter().chain(names.clone()).collect();
        let one = with(&few(&[]), "one");
        assert!(one == with(&merge, "merged"), "{of} parts: not the same");
        let json = damper(&few(&["--json"])).out;
        let merged = damper(&[&merge[..], &["--json"]].concat()).out;
        assert!(json == merged, "{of} parts: not the same JSON");

        let missing = damper(&["price", "--merge", names[0]]);
        assert_eq!(missing.code, Some(2));
        assert!(missing.err.contains(&format!("parts are missing: 0/{of}")), "{}", missing.err);
        let twice = damper(&["price", "--merge", names[0], names[0]]);
        assert!(twice.err.contains("is there twice"), "{}", twice.err);
    }
    // Parts of two questions.
    let (first, other) = (at("0-2.json"), at("other.json"));
    let path = other.to_str().unwrap();
    let ran = damper(
        &few(&["--seed", "2"])
            .into_iter()
            .chain(["--shard", "1/2", "--part", path])
            .collect::<Vec<_>>(),
    );
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let ran = damper(&["price", "--merge", first.to_str().unwrap(), path]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("different questions"), "{}", ran.err);
}

#[test]
fn price_keeps_its_promise() {
    let result = crate::program::json(&few(&[]));
    let typed: Price = serde_json::from_value(result.clone()).unwrap();
    assert_eq!(serde_json::to_value(&typed).unwrap(), result);
    assert_eq!(typed.settings.len(), 5, "two references and three settings");
    let of = |control: &str| typed.settings.iter().find(|s| s.control == control).unwrap();
    let hidden = |control: &str| of(control).hidden_rps.unwrap();
    // 30/s behind one retry: half of it is hidden. A budget that grants nothing gains all of it.
    assert!((hidden("none") / 15.0 - 1.0).abs() < 0.1, "{}", hidden("none"));
    assert!(hidden("") > 28.0 && hidden("per-minute") > 28.0);
    assert!((of("none").gained_rps).abs() < 1e-12 && of("none").price.abs() < 1e-12);
    for s in &typed.settings {
        assert_eq!(s.prices.len(), 8, "{}", s.budget);
        assert_eq!(s.frontier, s.dominated_by.is_none());
        assert!(s.set.iter().all(|set| set.contains("retry.")), "{:?}", s.set);
        for p in &s.prices {
            assert!(p.price_ci95[0] <= p.price && p.price <= p.price_ci95[1], "{}", s.budget);
            assert_eq!(p.scaled, p.bursty && p.errors < 0.008, "{}", s.budget);
        }
    }
    let frontier: Vec<&Value> =
        result["settings"].as_array().unwrap().iter().filter(|s| s["frontier"] == true).collect();
    assert!(!frontier.is_empty());
}

#[test]
fn threads_change_no_price() {
    let with = |threads: &str| {
        let mut command = crate::program::command(&few(&["--json"]));
        crate::program::finished(command.env("RAYON_NUM_THREADS", threads).output().unwrap()).out
    };
    assert!(with("1") == with("4"));
}

/// What the Job of `deploy/price` runs, with one of its indices in place.
#[test]
fn the_job_runs_what_there_is() {
    let folder = tempfile::tempdir().unwrap();
    let job = read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/price/job.yaml"));
    let (_, after) = job.split_once("          args:\n").unwrap();
    let args = after.lines().map_while(|line| line.strip_prefix("            - "));
    let parts = format!("{}/", folder.path().display());
    let args: Vec<String> = args
        .map(|a| a.replace("$(JOB_COMPLETION_INDEX)", "1").replace("/system/", "deploy/price/"))
        .map(|a| a.replace("/parts/", &parts))
        .collect();
    assert!(args.iter().any(|a| a == "1/8"), "{args:?}");
    let quick = ["--requests", "200", "--replications", "2", "--budget", "{kind: ratio}"];
    let small = ["--set", "services.db.workers=3", "--set", "load=15/s"];
    let args: Vec<&str> = args.iter().map(String::as_str).chain(quick).chain(small).collect();
    let ran = damper(&args);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(read(&folder.path().join("part-1.json")).contains("\"damper_price_part\": 1"));
}

#[test]
fn the_report_works_in_a_browser() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("price.html");
    let ran = damper(&[&few(&[])[..], &["--html", path.to_str().unwrap()]].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let page = read(&path);
    for words in ["id=\"independent\"", "id=\"bursts\"", "id=\"frontier\"", "Envoy"] {
        assert!(page.contains(words), "{words}");
    }
    let Some(browser) = Browser::find() else { return };
    for width in [PHONE, DESK] {
        let seen = browser.open(&page, width);
        seen.assert_fine("price");
        assert_eq!(seen.probe("overlaps"), "", "at {width}: labels cover each other");
        assert_eq!(seen.probe("clipped"), "", "at {width}: labels leave their figure");
    }
}
