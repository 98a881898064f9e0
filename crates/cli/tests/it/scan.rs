//! `damper scan`: what it prints, how it ends, what it keeps.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;

use serde_json::Value;

use crate::chromium::{Browser, DESK, PHONE};
use crate::output::holds;
use crate::program::{Ran, command, damper, finished};

/// No pause, and everything that fails is retried.
const BAD: &str = "\
import requests

def f(url):
    for n in range(8):
        try:
            return requests.get(url, timeout=1)
        except Exception:
            if n == 7:
                raise
";

/// The program in another folder.
fn within(folder: &Path, args: &[&str]) -> Ran {
    finished(command(args).current_dir(folder).output().expect("the program starts"))
}

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    // The end of the search for a configuration above it.
    fs::create_dir(folder.path().join(".git")).unwrap();
    for (path, text) in files {
        let file = folder.path().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    folder
}

fn of_json(ran: &Ran) -> Value {
    serde_json::from_str(&ran.out).unwrap_or_else(|e| panic!("{e}\n{}\n{}", ran.out, ran.err))
}

fn rules(result: &Value) -> Vec<&str> {
    let findings = result["findings"].as_array().unwrap();
    findings.iter().map(|finding| finding["rule"].as_str().unwrap()).collect()
}

#[test]
fn every_format() {
    holds("scan-text", &["scan", "examples/scan", "--policies"]);
    for format in ["sarif", "github", "markdown"] {
        let args = ["scan", "examples/scan", "--format", format, "--fail-on", "error"];
        holds(&format!("scan-{format}"), &args);
    }
    holds("scan-json", &["scan", "examples/scan/prices.go", "--scope", "example", "--json"]);
    holds("scan-elsewhere", &["scan", "examples/scan/tests", "--scope", "all"]);
    holds("scan-study", &["scan", "--study", "examples/scan"]);
    holds("scan-study-markdown", &["scan", "--study", "examples/scan", "--format", "markdown"]);
}

#[test]
fn what_cannot_run() {
    holds("scan-missing", &["scan", "examples/scam"]);
    holds("scan-no-path", &["scan"]);
    holds("scan-unknown-format", &["scan", ".", "--format", "serif"]);
    holds("scan-no-baseline", &["scan", "examples/scan", "--baseline", "no-such.json"]);
    holds("scan-study-of-a-file", &["scan", "--study", "examples/scan/prices.go"]);
    holds("scan-study-as-sarif", &["scan", "--study", "examples/scan", "--format", "sarif"]);
    let folder = folder(&[("a.py", BAD), (".damper.yaml", "scan: {rules: {no-backof: error}}\n")]);
    let ran = within(folder.path(), &["scan", "."]);
    assert_eq!(ran.code, Some(2), "{}", ran.out);
    assert!(ran.err.contains("rule `no-backof` is not known, expected no-backoff"), "{}", ran.err);
}

#[test]
fn exit_codes() {
    let folder = folder(&[("a.py", BAD), ("clean/b.py", "x = 1\n")]);
    let exits = |args: &[&str], code: i32| {
        let ran = within(folder.path(), &[&["scan"], args].concat());
        assert_eq!(ran.code, Some(code), "{args:?}\n{}{}", ran.out, ran.err);
    };
    exits(&["."], 1);
    exits(&[".", "--fail-on", "error"], 0);
    exits(&[".", "--fail-on", "never"], 0);
    exits(&[".", "--fail-on", "note", "--json"], 1);
    exits(&["clean"], 0);
    exits(&["clean", "--fail-on", "note"], 0);
    exits(&["nowhere"], 2);
    exits(&[".", "--output", "no-such-folder/x"], 2);
    fs::write(folder.path().join(".damper.yaml"), "scan: {fail_on: error}\n").unwrap();
    exits(&["."], 0);
    exits(&[".", "--fail-on", "warning"], 1);
    fs::write(folder.path().join("other.yaml"), "scan: {rules: {no-backoff: error}}\n").unwrap();
    exits(&[".", "--config", "other.yaml", "--fail-on", "error"], 1);
}

/// The layers of five services add up to what nobody configured, and so do those of a mesh.
#[test]
fn layers_add_up() {
    let graph = ["scan", "--graph", "examples/five-layers.yaml"];
    holds("scan-graph", &[&graph[..], &["--max-amplification", "10"]].concat());
    holds("scan-graph-hotel", &["scan", "--graph", "examples/hotel-reservation.yaml"]);
    holds("scan-amplification", &["scan", "examples/mesh", "--amplification"]);
    holds("scan-mesh", &["scan", "examples/mesh", "--policies", "--implicit"]);
    let ran = within(Path::new("../.."), &[&graph[..], &["--json"]].concat());
    let way = &of_json(&ran)["ways"][0];
    assert_eq!(way["worst"]["high"], 243.0);
    assert_eq!(way["layers"].as_array().map(Vec::len), Some(5));
}

/// What was not read is not clean.
#[test]
fn nothing_to_scan() {
    holds("scan-nothing", &["scan", "LICENSE-MIT"]);
    holds("scan-nothing-sarif", &["scan", "LICENSE-MIT", "--format", "github"]);
    let folder = folder(&[("README.md", "a\n"), ("vendor/b.py", BAD), ("c.min.js", "")]);
    let ran = within(folder.path(), &["scan", "."]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    assert!(!ran.out.contains("clean"), "{}", ran.out);
    assert!(ran.out.contains("left out: 2 files (1 minified, 1 vendored)"), "{}", ran.out);
}

#[test]
fn what_the_configuration_leaves_out_is_left_out_from_anywhere() {
    let config = "scan: {exclude: [src/old/, '*_gen.py']}\n";
    let folder = folder(&[
        (".damper.yaml", config),
        ("src/a.py", BAD),
        ("src/old/b.py", BAD),
        ("src/c_gen.py", BAD),
    ]);
    let files = |args: &[&str]| {
        let ran = within(folder.path(), &[&["scan", "--json"], args].concat());
        of_json(&ran)["coverage"]["files"].as_u64().unwrap()
    };
    assert_eq!(files(&["."]), 1);
    assert_eq!(files(&["src"]), 1);
    assert_eq!(files(&["src/a.py", "src/old/b.py", "src/c_gen.py"]), 1);
}

#[test]
fn clean_is_said() {
    let folder = folder(&[("b.py", "x = 1\n")]);
    let ran = within(folder.path(), &["scan", "."]);
    assert!(ran.out.starts_with("clean: no findings in production code\n"), "{}", ran.out);
    assert!(ran.out.contains("0 policies in 1 file, 1 line (python 1)"), "{}", ran.out);
}

#[test]
fn only_what_is_new_fails() {
    let folder = folder(&[("src/a.py", BAD)]);
    let written = within(folder.path(), &["scan", "src", "--write-baseline", "known.json"]);
    assert_eq!(written.code, Some(0), "{}{}", written.out, written.err);
    assert!(written.err.contains("in known.json"), "{}", written.err);
    let scan = |more: &[&str]| {
        within(folder.path(), &[&["scan", "src", "--baseline", "known.json"], more].concat())
    };
    let same = scan(&[]);
    assert_eq!(same.code, Some(0), "{}", same.out);
    assert!(same.out.contains("clean") && same.out.contains("known from the baseline"));

    // Moved and indented: still known.
    let file = folder.path().join("src/a.py");
    let indented: String = BAD.lines().map(|line| format!("    {line}\n")).collect();
    fs::write(&file, format!("# new\n\nif True:\n{indented}")).unwrap();
    let moved = scan(&[]);
    assert_eq!(moved.code, Some(0), "{}", moved.out);

    // One more of another kind: only that one fails.
    let more = BAD.replace("range(8)", "range(9)").replace("n == 7", "n == 8");
    fs::write(&file, format!("{BAD}\n{more}")).unwrap();
    let new = scan(&["--json"]);
    assert_eq!(new.code, Some(1));
    let result = of_json(&new);
    let counting: Vec<_> = result["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|finding| finding["known"] == false)
        .map(|finding| finding["line"].as_u64().unwrap())
        .collect();
    assert!(!counting.is_empty() && counting.iter().all(|line| *line > 9), "{counting:?}");

    // Repaired: what is gone is counted.
    fs::write(&file, "x = 1\n").unwrap();
    let gone = scan(&[]);
    assert_eq!(gone.code, Some(0));
    assert!(gone.out.contains("of the baseline gone"), "{}", gone.out);
}

#[test]
fn a_baseline_of_the_configuration_is_used() {
    let folder = folder(&[("a.py", BAD), (".damper.yaml", "scan: {baseline: known.json}\n")]);
    let missing = within(folder.path(), &["scan", "."]);
    assert_eq!(missing.code, Some(2), "{}", missing.out);
    let written = within(folder.path(), &["scan", ".", "--write-baseline", "known.json"]);
    assert_eq!(written.code, Some(0), "{}", written.err);
    assert_eq!(within(folder.path(), &["scan", "."]).code, Some(0));
}

#[test]
fn a_comment_silences_with_a_reason() {
    let loud = BAD.replace("    for", "    # damper: ignore[no-backoff] a person waits\n    for");
    let folder = folder(&[("a.py", &loud)]);
    let result = of_json(&within(folder.path(), &["scan", ".", "--json"]));
    for finding in result["findings"].as_array().unwrap() {
        let silenced = finding["silenced"].as_str();
        assert_eq!(silenced.is_some(), finding["rule"] == "no-backoff", "{finding}");
    }
    let all = BAD.replace("    for", "    # damper: ignore a toy\n    for");
    fs::write(folder.path().join("a.py"), &all).unwrap();
    let quiet = within(folder.path(), &["scan", "."]);
    assert!(!quiet.out.contains("no-backoff"), "{}", quiet.out);
    assert!(quiet.out.contains("silenced"), "{}", quiet.out);
    let without = BAD.replace("    for", "    # damper: ignore[no-backoff]\n    for");
    fs::write(folder.path().join("a.py"), &without).unwrap();
    let said = within(folder.path(), &["scan", "."]);
    assert_eq!(said.code, Some(1));
    assert!(said.out.contains("a.py:4: a suppression needs a reason"), "{}", said.out);
}

#[test]
fn scopes_are_chosen() {
    let folder = folder(&[("a.py", "x = 1\n"), ("tests/b.py", BAD)]);
    let production = within(folder.path(), &["scan", "."]);
    assert_eq!(production.code, Some(0), "{}", production.out);
    assert!(production.out.contains("not listed: 1 policy and"), "{}", production.out);
    for args in [&["--scope", "test"], &["--scope", "all"]] {
        let ran = within(folder.path(), &[&["scan", "."], args.as_slice()].concat());
        assert_eq!(ran.code, Some(1), "{}", ran.out);
    }
    fs::write(folder.path().join(".damper.yaml"), "scan: {scopes: [test]}\n").unwrap();
    assert_eq!(within(folder.path(), &["scan", "."]).code, Some(1));
}

#[test]
fn what_is_not_read_is_counted() {
    let folder = folder(&[
        ("a.py", BAD),
        ("binary.py", "a\0b"),
        ("packed.min.js", ""),
        ("wide.js", &"x".repeat(30_000)),
        ("node_modules/x/y.js", ""),
        ("broken.py", "def retry(:\n"),
        ("large.py", &"# a line\n".repeat(200_000)),
        ("read.txt", ""),
        ("ends.py", &BAD.replace('\n', "\r\n")),
    ]);
    #[cfg(unix)]
    std::os::unix::fs::symlink("a.py", folder.path().join("link.py")).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(".", folder.path().join("cycle")).unwrap();
    let args = ["scan", ".", "--max-file-mib", "1"];
    let ran = within(folder.path(), &args);
    assert_eq!(ran.code, Some(1));
    #[cfg(unix)]
    assert!(
        ran.out.contains(
            "left out: 6 files (1 binary, 1 link, 2 minified, 1 too-large, 1 vendored); 1 file \
             with syntax errors"
        ),
        "{}",
        ran.out
    );
    assert!(ran.out.contains("note: large.py: larger than 1048576 bytes"), "{}", ran.out);
    let result = of_json(&within(folder.path(), &[&args[..], &["--json"]].concat()));
    let found = result["policies"].as_array().unwrap();
    assert_eq!(found.len(), 2, "the same with the other ends of lines");
    assert_eq!(found[0]["attempts"], found[1]["attempts"]);
}

#[test]
fn names_may_be_odd() {
    let folder = folder(&[("a b.py", BAD), ("it's \"q\", 100%.py", BAD), ("e\u{1b}[31m:.py", BAD)]);
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt as _;
        let name = std::ffi::OsStr::from_bytes(b"caf\xE9.py");
        fs::write(folder.path().join(name), BAD).unwrap();
    }
    let text = within(folder.path(), &["scan", "."]).out;
    assert!(!text.contains('\u{1b}') && text.contains("e\u{FFFD}[31m:.py:4"), "{text}");
    assert!(text.contains("it's \"q\", 100%.py:4") && text.contains("a b.py:4"), "{text}");
    #[cfg(unix)]
    assert!(text.contains("caf\u{FFFD}.py:4"), "{text}");
    let github = within(folder.path(), &["scan", ".", "--format", "github"]).out;
    assert!(github.contains("file=it's \"q\"%2C 100%25.py,line=4"), "{github}");
    let sarif = within(folder.path(), &["scan", ".", "--format", "sarif"]);
    assert_valid(&of_json(&sarif));
    assert!(sarif.out.contains("\"it%27s%20%22q%22%2C%20100%25.py\""), "{}", sarif.out);
}

#[test]
fn a_list_of_files_is_read_from_standard_input() {
    let folder = folder(&[("a b.py", BAD), ("c.py", BAD), ("d.py", BAD)]);
    let listed = |list: &[u8]| {
        let mut child = command(&["scan", "--files-from", "-", "--json"])
            .current_dir(folder.path())
            .stdin(Stdio::piped())
            .spawn()
            .expect("the program starts");
        child.stdin.take().unwrap().write_all(list).unwrap();
        let ran = finished(child.wait_with_output().unwrap());
        let result = of_json(&ran);
        let policies = result["policies"].as_array().unwrap();
        policies.iter().map(|one| one["path"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(listed(b"a b.py\r\n\n./c.py\ndeleted.py\n"), ["a b.py", "c.py"]);
    assert_eq!(listed(b"d.py\0a b.py\0"), ["a b.py", "d.py"]);
    assert_eq!(listed(b""), Vec::<String>::new());
}

#[test]
fn a_file_is_read_once_and_keeps_its_name() {
    let folder = folder(&[("src/a.py", BAD), ("lib/a.py", BAD)]);
    let paths = |args: &[&str]| {
        let ran = within(folder.path(), &[&["scan", "--json"], args].concat());
        let result = of_json(&ran);
        let policies = result["policies"].as_array().unwrap();
        policies.iter().map(|one| one["path"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(paths(&["src", "lib"]), ["lib/a.py", "src/a.py"]);
    assert_eq!(paths(&["."]), ["lib/a.py", "src/a.py"]);
    assert_eq!(paths(&[".", "src", "lib/a.py", "src/"]), ["lib/a.py", "src/a.py"]);
    assert_eq!(paths(&["./src/"]), ["src/a.py"]);
    assert_eq!(paths(&[folder.path().join("src").to_str().unwrap()]).len(), 1);
}

#[test]
fn a_file_takes_the_output() {
    let folder = folder(&[("a.py", BAD)]);
    let args = ["scan", ".", "--format", "sarif", "--output", "out.sarif", "--html", "out.html"];
    let ran = within(folder.path(), &args);
    assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""));
    assert_eq!(ran.err, "written: out.sarif\nreport: out.html\n");
    let sarif = fs::read_to_string(folder.path().join("out.sarif")).unwrap();
    assert_valid(&serde_json::from_str(&sarif).unwrap());
    let page = fs::read_to_string(folder.path().join("out.html")).unwrap();
    assert!(page.contains("range(8)") && page.contains("no-backoff"), "{page}");
}

#[test]
fn libraries_that_retry_by_themselves_are_listed_if_asked() {
    let folder = folder(&[("a.py", "import openai\n\nc = openai.OpenAI()\n")]);
    let listed = |args: &[&str]| {
        let ran = within(folder.path(), &[&["scan", ".", "--json"], args].concat());
        let result = of_json(&ran);
        let found = result["policies"].as_array().unwrap().len();
        (found, result["unlisted"]["implicit_policies"].as_u64().unwrap())
    };
    assert_eq!(listed(&[]), (0, 1));
    assert_eq!(listed(&["--implicit"]), (1, 0));
}

/// What is printed keeps to the schema of SARIF.
#[track_caller]
fn assert_valid(log: &Value) {
    let schema = include_str!("../../../report/tests/data/sarif-2.1.0-rtm.5.json");
    let mut schema: Value = serde_json::from_str(schema).unwrap();
    // Its bracket does not close, which the errata of the standard repair; we write no language.
    for part in ["run", "toolComponent"] {
        let language = &mut schema["definitions"][part]["properties"]["language"];
        language.as_object_mut().unwrap().remove("pattern");
    }
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<_> =
        validator.iter_errors(log).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:#?}");
}

#[test]
fn sarif_of_the_examples_is_valid() {
    let ran = damper(&["scan", "examples/scan", "--format", "sarif"]);
    let log = of_json(&ran);
    assert_valid(&log);
    let results = log["runs"][0]["results"].as_array().unwrap();
    assert!(results.iter().any(|result| result["suppressions"].is_array()), "one is silenced");
    assert!(results.iter().all(|result| result["ruleIndex"].is_u64()));
}

#[test]
fn pages_work_in_a_browser() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    for (name, args) in [
        ("scan", vec!["scan", "examples/scan"]),
        ("study", vec!["scan", "--study", "examples/scan", "crates/scan/tests"]),
    ] {
        let file = folder.path().join(format!("{name}.html"));
        damper(&[args, vec!["--html", file.to_str().unwrap()]].concat());
        let page = fs::read_to_string(&file).unwrap();
        for width in [PHONE, DESK] {
            let seen = browser.open(&page, width);
            seen.assert_fine(name);
            assert_eq!(seen.probe("overlaps"), "", "{name} at {width}: labels cover each other");
            assert_eq!(seen.probe("clipped"), "", "{name} at {width}: labels leave their figure");
        }
    }
}

#[test]
fn what_a_rule_says_is_the_same_in_every_format() {
    let folder = folder(&[("a.py", BAD)]);
    let result = of_json(&within(folder.path(), &["scan", ".", "--json"]));
    let text = within(folder.path(), &["scan", "."]).out;
    let markdown = within(folder.path(), &["scan", ".", "--format", "markdown"]).out;
    let github = within(folder.path(), &["scan", ".", "--format", "github"]).out;
    for rule in rules(&result) {
        for (name, out) in [("text", &text), ("markdown", &markdown), ("github", &github)] {
            assert!(out.contains(rule), "{name} has no {rule}:\n{out}");
        }
    }
}

/// A broken manifest is no good news, and no bad one: it is said.
#[test]
fn what_could_not_be_read_is_said() {
    let route = "apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {name: orders}\nspec:\n  hosts: [orders]\n  http:\n  - retries: {attempts: 2\n";
    let template = "apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {name: orders}\nspec:\n  hosts: [orders]\n  http:\n  - route: [{destination: {host: orders}}]\n    retries:\n      attempts: {{ .Values.none }}\n      retryOn: connect-failure\n";
    let folder = folder(&[
        ("deploy/route.yaml", route),
        ("deploy/data.yaml", "retries: [1\n"),
        ("tests/route.yaml", route),
        ("chart/Chart.yaml", "name: shop\n"),
        ("chart/values.yaml", "a: 1\n"),
        ("chart/templates/route.yaml", template),
    ]);
    let ran = within(folder.path(), &["scan", "."]);
    assert_eq!(ran.code, Some(0), "{}", ran.out);
    assert!(!ran.out.contains("clean"), "{}", ran.out);
    assert!(ran.out.contains("not read: deploy/route.yaml:"), "{}", ran.out);
    assert!(ran.out.contains("1 file of other data with mistakes"), "{}", ran.out);
    let open = "not resolved: chart/templates/route.yaml:9: {{ .Values.none }}";
    assert!(ran.out.contains(open), "{}", ran.out);
    let result = of_json(&within(folder.path(), &["scan", ".", "--json"]));
    let unread = &result["unread"];
    assert_eq!(unread["broken_files"], 1, "tests may hold what they like");
    assert_eq!(unread["places"][0]["kind"], "broken");
    assert_eq!(unread["unresolved_in_policies"], 1);
    let log = of_json(&within(folder.path(), &["scan", ".", "--format", "sarif"]));
    let notes = &log["runs"][0]["invocations"][0]["toolExecutionNotifications"];
    let place = &notes[1]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
    assert_eq!(place, "deploy/route.yaml", "{notes}");
}

/// Clients in code say who calls whom, where manifests name both.
#[test]
fn calls_are_found_in_code() {
    let compose = "services:\n  web:\n    build: ./src/edge\n  cartservice:\n    image: shop/cartservice\n  store:\n    build: {context: ., dockerfile: src/store/Dockerfile}\n";
    let web = "package main\nfunc main() { c := pb.NewCartServiceClient(conn) }\n";
    let cart = "class Cart { Object c = StoreGrpc.newBlockingStub(channel); }\n";
    let folder = folder(&[
        ("compose.yaml", compose),
        ("src/edge/main.go", web),
        ("src/cartservice/Cart.java", cart),
        ("lib/other.go", web),
    ]);
    let result = of_json(&within(folder.path(), &["scan", ".", "--amplification", "--json"]));
    let edges = result["graph"]["edges"].as_array().unwrap();
    let calls: Vec<_> = edges
        .iter()
        .filter(|edge| edge["from"] != "client")
        .map(|edge| format!("{} {}", edge["from"], edge["to"]).replace('"', ""))
        .collect();
    assert_eq!(calls, ["cartservice store", "web cartservice"], "{result}");
    let notes = result["notes"].to_string();
    assert!(notes.contains("lib/other.go:2 calls cartservice"), "{notes}");
}
