//! What a drill file says of its load: parts with targets of their own, request files, whose policy
//! callers follow.

use std::path::Path;

use damper_system::{Drill, DrillFile, Manner, drill_schema};

const REQUESTS: &str = "requests: 1\nclasses: [high, low]\n\
    send: {home: {path: /}, order: {method: POST, path: /orders, class: high}}\n";
const OTHER: &str = "damper: 1\nservices: {db: {workers: 2, service_time: 10ms}}\nload: 10/s\n\
    requests: {r: {calls: [db]}}\n\
    policies: {'client -> db': {timeout: 300ms, retry: {limit: 2}}}\n";

/// A folder with what plans name.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("shop.yaml"), REQUESTS).unwrap();
    std::fs::write(folder.path().join("other.yaml"), OTHER).unwrap();
    std::fs::write(folder.path().join("broken.yaml"), "requests: 1\nsend: {a: {pth: /}}\n")
        .unwrap();
    folder
}

fn drill(folder: &Path, rest: &str) -> Result<Drill, String> {
    let text =
        format!("drill: 1\ntarget: http://127.0.0.1:8080/\nphases: [{{hold: 1s}}]\n{rest}\n");
    let path = folder.join("plan.yaml");
    std::fs::write(&path, text).unwrap();
    let file = DrillFile::read(&path).map_err(|problems| problems.to_string())?;
    let valid = jsonschema::draft7::new(&drill_schema()).unwrap();
    let drill = file.lower().map_err(|problems| {
        let shown: String = problems.iter().map(|problem| format!("{problem}\n")).collect();
        shown.replace(&format!("{}/", folder.display()), "")
    });
    assert!(drill.is_err() || valid.is_valid(&file.to_json()), "{rest}");
    drill
}

#[test]
fn parts_share_the_load_of_their_classes() {
    let folder = folder();
    let drill = drill(
        folder.path(),
        "requests: shop.yaml\nload:\n\
         \x20 - {rate: {high: 10/s, low: 30/s}}\n\
         \x20 - {target: 'http://127.0.0.1:8081/pay', protocol: http2, rate: {high: 30/s, low: 0/s}}\n\
         callers: {edge: client -> db, file: other.yaml}",
    )
    .unwrap();
    assert_eq!(drill.classes, ["high", "low"]);
    assert_eq!((drill.load.as_deref(), drill.total_load()), (Some(&[40.0, 30.0][..]), Some(70.0)));
    let [first, second] = drill.parts.as_slice() else { panic!("{:?}", drill.parts) };
    assert_eq!(
        (first.shares.as_slice(), second.shares.as_slice()),
        (&[0.25, 1.0][..], &[0.75, 0.0][..])
    );
    assert!(first.requests.is_some() && second.requests.is_some(), "what stands at the top");
    assert_ne!(first.target, second.target);
    assert_eq!(drill.callers.manner, Manner::Policy);
    let (_, system) = drill.callers.follows.unwrap().file.unwrap();
    assert!(system.edge_named("client -> db").is_some());
}

#[test]
fn a_load_without_parts_is_one() {
    let folder = folder();
    let drill = drill(folder.path(), "load: 10/s").unwrap();
    assert_eq!(drill.parts.len(), 1);
    assert!(drill.parts[0].requests.is_none() && drill.parts[0].shares == [1.0]);
}

#[test]
fn mistakes_have_their_places() {
    let folder = folder();
    let mut out = String::new();
    for rest in [
        "load: []",
        "load: [{target: 'http://127.0.0.1:1/'}]",
        "load: [{rate: 10, taget: 'http://127.0.0.1:1/'}]",
        "load: [{rate: 10/s, protocol: htp2}, {rate: 1/s, requests: shopp.yaml}]",
        "load: {gold: 10/s}\nrequests: shop.yaml",
        "load: 10/s\nrequests: broken.yaml",
        "load: 10/s\ncallers: {edge: client -> bd, file: other.yaml}\nretries: 2",
        "load: 10/s\ncallers: {edge: client -> db}",
        "load: 10/s\ncallers: {egde: client -> db, file: nowhere.yaml}",
        "load: 10/s\ncallers: nave",
    ] {
        let said = drill(folder.path(), rest).err().unwrap_or_else(|| "no problem\n".to_owned());
        out.push_str(&format!("# {}\n{said}", rest.replace('\n', " | ")));
    }
    insta::assert_snapshot!(out);
}

#[test]
fn a_class_that_is_probably_misspelt_in_a_part_is_said() {
    let warned = |load: &str| {
        let text = format!(
            "drill: 1\ntarget: http://127.0.0.1:1/\nphases: [{{hold: 1s}}]\nload:\n{load}\n"
        );
        let file = damper_system::DrillFile::parse("plan.yaml", &text).unwrap();
        let (drill, warnings) = file.lower_with_warnings(&|_: &str| Ok(())).unwrap();
        (drill.classes.len(), warnings.iter().map(ToString::to_string).collect::<String>())
    };
    for (load, said) in [
        (
            " - rate: {high: 1/s, low: 1/s}\n - rate: {hihg: 1/s, low: 1/s}",
            Some(("6:11", "`high`")),
        ),
        (
            " - rate: {hihg: 1/s}\n - rate: {high: 1/s}\n - rate: {high: 2/s, low: 1/s}",
            Some(("5:11", "`high`")),
        ),
        // Two in one place are told apart by whoever wrote them, and so are names with numbers.
        (" - rate: {high: 1/s, higher: 1/s}\n - rate: {high: 1/s}", None),
        (" - rate: {tier1: 1/s}\n - rate: {tier2: 1/s}", None),
        (" - rate: {high: 1/s}\n - rate: {low: 1/s}", None),
        (" - rate: {high: 1/s, low: 1/s}\n - rate: {high: 1/s, low: 1/s}", None),
    ] {
        let (_, warnings) = warned(load);
        match said {
            None => assert_eq!(warnings, "", "{load}"),
            Some((at, near)) => {
                assert!(warnings.contains(": warning: "), "{load}: {warnings}");
                assert!(warnings.contains(at) && warnings.contains(near), "{load}: {warnings}");
                assert_eq!(warnings.matches("warning").count(), 1, "{load}: {warnings}");
            }
        }
    }
    assert_eq!(warned(" - rate: {high: 1/s}\n - rate: {hihg: 1/s}").0, 2, "it is only said");
}
