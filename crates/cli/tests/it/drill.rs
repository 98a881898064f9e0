//! `damper drill`: what it would do, what it refuses, what came of it, and that nothing stays
//! broken however it ends.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::program::{Ran, command, damper, finished, number};

mod others;
mod storm;
mod tls;

/// A server that answers everything with 200, at once.
fn server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || answer(&stream));
        }
    });
    port
}

fn answer(stream: &TcpStream) {
    let mut lines = BufReader::new(stream).lines();
    while let Some(Ok(line)) = lines.next() {
        let mut out = stream;
        if line.is_empty()
            && out.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").is_err()
        {
            return;
        }
    }
}

/// A plan whose trigger is a file that is there.
struct Plan {
    folder: tempfile::TempDir,
}

impl Plan {
    fn new(rest: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let broken = folder.path().join("broken").display().to_string();
        let text = format!(
            "drill: 1\nname: file\ntarget: http://127.0.0.1:{}/\nload: 60/s\n\
             interval: 100ms\nrecovered: {{hold: 300ms}}\n\
             triggers: {{broken: {{start: 'touch {broken}', stop: 'rm {broken}', check: 'test ! -e {broken}'}}}}\n\
             {rest}\n",
            server()
        );
        std::fs::write(folder.path().join("plan.yaml"), text).unwrap();
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, more: &[&str]) -> Command {
        let (plan, kept) = (self.path("plan.yaml"), self.path("kept"));
        let (plan, kept) = (plan.to_str().unwrap(), kept.to_str().unwrap());
        command(&[&["drill", plan, "--json", "--keep-in", kept], more].concat())
    }

    fn run(&self, more: &[&str]) -> Ran {
        finished(self.command(more).output().unwrap())
    }

    fn is_broken(&self) -> bool {
        self.path("broken").exists()
    }

    fn history(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.path("kept/drills.jsonl")).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// Waits for something that comes soon, or never.
fn soon(mut what: impl FnMut() -> bool) -> bool {
    let patience = Instant::now();
    while !what() {
        if patience.elapsed() > Duration::from_secs(60) {
            return false;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    true
}

/// A child that does not outlive its test.
struct Running(Option<Child>);

impl Running {
    fn signal(&self, signal: &str) {
        let pid = self.0.as_ref().unwrap().id().to_string();
        let sent = Command::new("kill").args([&format!("-{signal}"), &pid]).status();
        assert!(sent.unwrap().success());
    }

    fn end(mut self) -> Ran {
        finished(self.0.take().unwrap().wait_with_output().unwrap())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[test]
fn a_class_that_is_probably_misspelt_in_a_part_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("plan.yaml");
    let text = "drill: 1\ntarget: http://127.0.0.1:1/\nphases: [{hold: 1s}]\nload:\n\
                - {rate: {high: 1/s, low: 1/s}}\n- {rate: {high: 1/s, lwo: 1/s}}\n";
    std::fs::write(&file, text).unwrap();
    let ran = damper(&["drill", file.to_str().unwrap(), "--dry-run"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.err.contains("only this part has a class `lwo`"), "{}", ran.err);
    assert!(ran.err.contains("did you mean `low`?"), "{}", ran.err);
    std::fs::write(&file, text.replace("lwo", "low")).unwrap();
    assert_eq!(damper(&["drill", file.to_str().unwrap(), "--dry-run"]).err, "");
}

const LONG: &str = "phases: [{load: 100%, over: 0s}, {hold: 500ms}, {start: broken, for: 5min}]";

#[test]
fn whatever_signal_ends_it_the_trigger_is_stopped_and_what_was_measured_is_kept() {
    for signal in ["INT", "TERM", "HUP"] {
        let plan = Plan::new(LONG);
        let running = Running(Some(plan.command(&[]).spawn().unwrap()));
        assert!(soon(|| plan.is_broken()), "{signal}: it never started");
        assert!(plan.path("kept/undo.json").exists(), "how to stop it is on disk");
        running.signal(signal);
        let ran = running.end();
        assert_eq!(ran.code, Some(130), "{signal}: {}", ran.err);
        assert!(!plan.is_broken() && !plan.path("kept/undo.json").exists(), "{signal}");
        let record: Value = serde_json::from_str(&ran.out).unwrap();
        assert_eq!(record["ended"], "interrupted");
        let why = record["ended_why"].as_str().unwrap();
        assert!(why.contains("start broken"), "{signal}: it says where: {why}");
        assert!(number(&record, "/good") > 0.0, "{signal}");
        assert_eq!(plan.history()[0]["ended"], "interrupted");
    }
}

#[test]
fn who_is_killed_leaves_it_to_the_keeper() {
    let plan = Plan::new(LONG);
    let running = Running(Some(plan.command(&[]).spawn().unwrap()));
    assert!(soon(|| plan.is_broken()));
    running.signal("KILL");
    drop(running);
    assert!(soon(|| !plan.is_broken()), "the keeper stops it");
    assert!(soon(|| !plan.path("kept/undo.json").exists()));
}

/// The start command is under way when the drill is killed: it would break the system again after
/// everything has been undone.
#[test]
fn a_start_command_that_is_under_way_is_ended_before_what_it_began_is_undone() {
    let plan = Plan::new(LONG);
    let pids = plan.path("pids").display().to_string();
    let broken = plan.path("broken").display().to_string();
    let start = format!(
        "triggers.broken.start=echo $$ > {pids}; touch {broken}; \
         while sleep 0.05; do touch {broken}; done & echo $! >> {pids}; wait"
    );
    let running = Running(Some(plan.command(&["--set", &start]).spawn().unwrap()));
    let started = || {
        let text = std::fs::read_to_string(&pids).unwrap_or_default();
        let pids: Vec<u32> = text.lines().filter_map(|line| line.parse().ok()).collect();
        (pids.len() == 2).then_some(pids)
    };
    assert!(soon(|| started().is_some() && plan.is_broken()));
    let kept = std::fs::read_to_string(plan.path("kept/undo.json")).unwrap();
    assert!(kept.contains("\"end\""), "how to end it is on disk: {kept}");
    running.signal("KILL");
    drop(running);
    assert!(soon(|| !plan.path("kept/undo.json").exists()), "the keeper has undone it");
    let runs = |pid: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
        stat.is_ok_and(|stat| !stat.contains(") Z "))
    };
    assert!(soon(|| !started().unwrap().iter().any(runs)), "nothing of it runs any more");
    assert!(!plan.is_broken(), "nothing has broken it again");
}

#[test]
fn what_nobody_could_undo_is_lifted_later_and_no_drill_starts_before() {
    let plan = Plan::new("phases: [{load: 100%, over: 0s}, {hold: 300ms}]");
    std::fs::create_dir_all(plan.path("kept")).unwrap();
    std::fs::write(plan.path("broken"), "").unwrap();
    let stop = format!("rm {}", plan.path("broken").display());
    let undo = serde_json::json!([{"id": "trigger x", "what": "x is stopped",
        "acts": [{"shell": stop}], "checks": []}]);
    std::fs::write(plan.path("kept/undo.json"), undo.to_string()).unwrap();
    let refused = plan.run(&[]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.err.contains("--lift"), "{}", refused.err);
    let kept = plan.path("kept");
    let lifted = damper(&["drill", "--lift", "--keep-in", kept.to_str().unwrap()]);
    assert_eq!((lifted.code, lifted.out.as_str()), (Some(0), "x is stopped\n"));
    assert!(!plan.is_broken());
}

#[test]
fn a_drill_comes_to_its_end_and_is_remembered() {
    let plan = Plan::new(
        "phases: [{load: 100%, over: 300ms}, {hold: 1s, name: calm}, {start: broken, for: 300ms}, \
         {recover: 5s}]\n\
         expect: [{recovery: 5s}, {goodput: 90%, during: calm}, {lost: 50%}]",
    );
    let ran = plan.run(&[]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    let record: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((&record["ended"], &record["recovered"]), (&"done".into(), &true.into()));
    assert!(record["expectations"].as_array().unwrap().iter().all(|e| e["met"] == true));
    // What was expected and did not come, and what has changed since.
    let html = plan.path("drill.html");
    let again = plan.run(&[
        "--set",
        "expect[0]={goodput: 100%}",
        "--set",
        "expect[1]={detection: 1s}",
        "--html",
        html.to_str().unwrap(),
    ]);
    assert_eq!(again.code, Some(1), "{}", again.err);
    assert_eq!(plan.history().len(), 2);
    assert!(std::fs::read_to_string(html).unwrap().starts_with("<!doctype html>"));
}

#[test]
fn a_trigger_that_cannot_be_stopped_is_said_and_stays_in_the_ledger() {
    let plan =
        Plan::new("phases: [{load: 100%, over: 0s}, {hold: 300ms}, {start: broken, for: 200ms}]");
    let ran = plan.run(&["--set", "triggers.broken.stop=exit 1"]);
    assert_eq!(ran.code, Some(2), "{}", ran.out);
    let record: Value = serde_json::from_str(&ran.out).unwrap();
    assert!(record["ended_why"].as_str().unwrap().contains("broken"), "{}", record["ended_why"]);
    assert!(plan.path("kept/undo.json").exists());
    std::fs::remove_file(plan.path("broken")).unwrap();
}

#[test]
fn a_lever_that_is_opened_for_one_class_is_still_to_be_opened_for_another() {
    let plan = Plan::new(
        "phases: [{load: 100%, over: 0s}, {lever: door, pull: pause, class: high}, \
         {lever: door, pull: pause, class: low}, {lever: door, pull: open, class: high}]",
    );
    let folder = plan.folder.path().display().to_string();
    let door = format!(
        "levers={{door: {{open: 'rm -f {folder}/shut-{{class}}', pause: 'touch {folder}/shut-{{class}}'}}}}"
    );
    let ran = plan.run(&["--set", "load={high: 30/s, low: 30/s}", "--set", &door]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.out.contains("lever door of low is opened"), "{}", ran.out);
    let shut = |class: &str| plan.path(&format!("shut-{class}")).exists();
    assert!(!shut("high") && !shut("low"), "both are open when the drill is over");
}

#[test]
fn a_step_that_needs_a_person_records_who_answered() {
    let plan =
        Plan::new("phases: [{load: 100%, over: 0s}, {ask: Is the pager on?}, {hold: 200ms}]");
    let nobody = plan.run(&[]);
    assert_eq!(nobody.code, Some(2));
    assert!(nobody.err.contains("--yes-as"), "{}", nobody.err);
    let ran = plan.run(&["--yes-as", "Kim"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.out.contains("Kim says that it is done: Is the pager on?"), "{}", ran.out);
}

#[test]
fn an_abort_condition_ends_it() {
    let plan = Plan::new(
        "good_within: 1us\nphases: [{load: 100%, over: 0s}, {hold: 5min}]\n\
         abort: [{goodput: 50%, for: 1s}]",
    );
    let ran = plan.run(&[]);
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    let record: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(record["ended"], "aborted");
    assert!(record["ended_why"].as_str().unwrap().starts_with("goodput below 50% for 1s"));
}

#[test]
fn what_is_sent_names_the_host_of_the_plan() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut lines = BufReader::new(&stream).lines();
            let host = lines.find_map(|line| Some(line.ok()?.strip_prefix("host: ")?.to_owned()));
            let _ = tell.send(host.unwrap());
            let _ = (&stream).write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n");
        }
    });
    let plan = Plan::new("phases: [{load: 100%, over: 0s}, {hold: 200ms}]");
    let target = format!("target=http://localhost:{port}/");
    assert_eq!(plan.run(&["--set", &target]).code, Some(0));
    assert_eq!(told.recv().unwrap(), format!("localhost:{port}"));
}

#[test]
fn outside_loopback_needs_an_owner_and_a_confirmation() {
    let plan = "examples/drill/envoy.yaml";
    let refused = damper(&["drill", plan, "--dry-run"]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.err.contains("--confirm staging.example.org"), "{}", refused.err);
    let nobody = damper(&["drill", plan, "--dry-run", "--set", "owners={}"]);
    assert!(nobody.err.contains("add its owner"), "{}", nobody.err);
}

#[test]
fn a_dry_run_says_exactly_what_would_be_sent_where() {
    let storm = damper(&["drill", "examples/drill/retry-storm.yaml", "--dry-run"]);
    assert_eq!(storm.code, Some(0), "{}", storm.err);
    insta::assert_snapshot!("dry_run_of_a_storm", storm.out);
    let args =
        ["drill", "examples/drill/envoy.yaml", "--dry-run", "--confirm", "staging.example.org"];
    insta::assert_snapshot!("dry_run_elsewhere", damper(&args).out);
}

#[test]
fn what_is_varied_decides_what_its_bounds_mean() {
    let plan = "examples/drill/retry-storm.yaml";
    let ran = damper(&["drill", plan, "--headroom", "--of", "trigger", "--no-prediction"]);
    assert_eq!(ran.code, Some(2), "75/s is no length of a trigger: {}", ran.err);
    assert!(ran.err.contains("75/s") && ran.err.contains("retry-storm.yaml:"), "{}", ran.err);
}

#[test]
fn mistakes_have_their_place() {
    let args = ["drill", "examples/drill/budget.yaml", "--set", "phases[2].start=blib"];
    let ran = damper(&args);
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("did you mean `blip`") || ran.err.contains("blip"), "{}", ran.err);
}
