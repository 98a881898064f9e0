//! Drill files: examples load and fit the schema, mistakes say where they are and what to write.

use damper_system::{DrillFile, drill_schema};

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/drill");

fn problems(text: &str) -> String {
    match DrillFile::parse("plan.yaml", text).and_then(|file| file.lower()) {
        Ok(_) => "no problem\n".to_owned(),
        Err(problems) => problems.iter().map(|p| format!("{p}\n")).collect(),
    }
}

#[test]
fn every_example_loads_and_fits_the_schema() {
    let validator = jsonschema::draft7::new(&drill_schema()).unwrap();
    let mut files = 0;
    for entry in std::fs::read_dir(EXAMPLES).unwrap() {
        let path = entry.unwrap().path();
        let file = DrillFile::read(&path).unwrap_or_else(|p| panic!("{p}"));
        file.lower().unwrap_or_else(|p| panic!("{p}"));
        let errors: Vec<String> =
            validator.iter_errors(&file.to_json()).map(|e| e.to_string()).collect();
        assert!(errors.is_empty(), "{}: {errors:#?}", path.display());
        files += 1;
    }
    assert!(files >= 4);
}

#[test]
fn is_a_schema() {
    assert!(jsonschema::draft7::meta::is_valid(&drill_schema()));
}

#[test]
fn mistakes_say_what_to_write() {
    let text = "
drill: 1
target: 127.0.0.1:8080
load: {high: 10/s, low: 20}
triggers:
  slow: {strat: x, stop: y}
  cut: {toxiproxy: 'http://127.0.0.1:8474', proxy: -rf}
  late: {envoy: 'http://127.0.0.1:9901'}
levers:
  door: {proxy: 'http://127.0.0.1:9000', hopp: web}
metrics:
  errors: {prometheus: 'http://127.0.0.1:9090'}
phases:
  - {load: 100%}
  - {start: slwo, for: 5s}
  - {lever: door, pull: throttle}
  - {lever: door, pull: ramp, from: 10%, to: 50/s, over: 5s}
  - {hold: 10}
expect:
  - {goodput: 95%, of: hihg}
  - {goodput: 95%, during: calm}
  - {moved: errros}
abort:
  - {metric: errors, for: 5s}
headroom: {of: trigger, to: 100/s}
";
    insta::assert_snapshot!(problems(text));
}

#[test]
fn what_parts_say_of_each_other() {
    let base = "drill: 1\ntarget: http://127.0.0.1:1/\n";
    let mut out = String::new();
    for rest in [
        "phases: [{load: 100%}]",
        "load: 1000/s\nphases: [{load: 100%}]",
        "load: 1/s\nphases: []",
        "load: 1/s\ntriggers: {t: {start: a, stop: b}}\nphases: [{start: t, for: 1s}]",
        "load: 1/s\nrecovered: {hold: 500ms}\nphases: [{hold: 1s}]",
        "load: 1/s\nrecovered: {below: 5}\nphases: [{hold: 1s}]",
        "load: 0/s\nphases: [{hold: 1s}]",
        "load: 1/s\ntriggers: {t: {emulate: blip}}\nphases: [{hold: 1s}]",
        "load: 1/s\nheaders: {'a b': c}\nphases: [{hold: 1s}]",
        "system: nowhere.yaml\nphases: [{hold: 1s}]",
    ] {
        out.push_str(&format!(
            "# {}\n{}",
            rest.replace('\n', " | "),
            problems(&format!("{base}{rest}"))
        ));
    }
    insta::assert_snapshot!(out);
}

#[test]
fn a_trigger_of_an_emulation_is_over_when_it_is_over() {
    let file = DrillFile::read(format!("{EXAMPLES}/retry-storm.yaml").as_ref()).unwrap();
    let with = |set: &str| {
        let mut file = file.clone();
        file.set(set).unwrap();
        file.lower().map_err(|problems| problems.to_string())
    };
    for set in [
        "phases[2]={start: blip, for: 10s}",
        "headroom={trigger: blip, for: 3s}",
        "headroom={of: trigger, from: 1s, to: 10s}",
    ] {
        let why = with(set).expect_err(set);
        assert!(why.contains("ends by itself after 2s"), "{set}: {why}");
    }
    assert_eq!(with("headroom={of: trigger, from: 500ms}").unwrap().search.to, Some(2.0));
    assert_eq!(with("phases[2]={start: blip, for: 1s}").unwrap().phases.len(), 8);
}

#[test]
fn a_search_needs_some_points_to_judge_by() {
    let base = "drill: 1\ntarget: http://127.0.0.1:1/\nload: 1/s\nphases: [{hold: 1s}]\n";
    let why = problems(&format!("{base}interval: 2s\n"));
    assert!(why.contains("shorter than three points"), "{why}");
    assert_eq!(
        problems(&format!("{base}interval: 2s\nheadroom: {{steady: 6s}}\n")),
        "no problem\n"
    );
}

#[test]
fn slower_is_slower_everywhere() {
    let text = "
drill: 1
target: http://127.0.0.1:1/
load: 100/s
levers: {door: {proxy: 'http://127.0.0.1:2'}}
phases: [{load: 100%, over: 4s}, {hold: 10s}, {lever: door, pull: throttle, to: 40/s}, {recover: 30s}]
expect: [{recovery: 20s}]
headroom: {from: 20/s, to: 80/s, for: 2s}
";
    let mut drill = DrillFile::parse("t", text).unwrap().lower().unwrap();
    drill.slow_down(4.0);
    assert_eq!(drill.load, Some(vec![25.0]));
    assert_eq!((drill.search.from, drill.search.to), (Some(5.0), Some(20.0)));
    let text = format!("{:?} {:?} {:?}", drill.phases, drill.expect, drill.search.lasts);
    for wanted in ["16", "40", "Rate(10.0)", "120", "80", "8"] {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
    assert_eq!(drill.bounds.requests, 200_000, "a count is a count");
}
