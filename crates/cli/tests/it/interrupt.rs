//! Ctrl-C prints what has been measured so far, marked as partial.

use std::process::{Child, Command};
use std::time::Duration;

use serde_json::Value;

use crate::program::{Ran, command, finished};

/// A child that does not outlive its test.
struct Running(Option<Child>);

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Starts the program and interrupts it after a while.
///
/// On a machine that is very busy the signal may come before the program listens, and then it
/// simply ends it; so it is tried again with more patience.
fn interrupted(args: &[&str]) -> Ran {
    for patience in [1, 4, 16] {
        let mut running = Running(Some(command(args).spawn().expect("the program starts")));
        std::thread::sleep(Duration::from_secs(patience));
        let child = running.0.as_mut().unwrap();
        assert!(child.try_wait().unwrap().is_none(), "{args:?} ends too soon for this test");
        let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
        assert!(kill.expect("`kill` is there").success());
        let ran = finish(running);
        if ran.code.is_some() {
            return ran;
        }
    }
    panic!("{args:?}: the signal ended it every time");
}

/// Waits, but not for ever. The output is read meanwhile: it is longer than a pipe.
fn finish(mut running: Running) -> Ran {
    let pid = running.0.as_ref().unwrap().id().to_string();
    let child = running.0.take().unwrap();
    let waiting = std::thread::spawn(move || child.wait_with_output());
    for _ in 0..1200 {
        if waiting.is_finished() {
            return finished(waiting.join().unwrap().expect("its output is read"));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let _ = Command::new("kill").args(["-KILL", &pid]).status();
    panic!("it did not end within a minute of being interrupted");
}

#[test]
fn headroom_prints_what_it_has() {
    let ran =
        interrupted(&["headroom", "examples/five-layers.yaml", "--replications", "200", "--json"]);
    assert_eq!(ran.code, Some(130), "{}", ran.err);
    assert_eq!(ran.err, "");
    let result: Value = serde_json::from_str(&ran.out).expect("partial, and still JSON");
    assert_eq!(result["partial"], true);
    assert_eq!(result["system"], "five-layers");
    assert_eq!(result["remedies"], Value::Array(Vec::new()), "it cannot have come that far");
}

#[test]
fn headroom_says_so_in_words() {
    let ran = interrupted(&["headroom", "examples/five-layers.yaml", "--replications", "200"]);
    assert_eq!(ran.code, Some(130), "{}", ran.err);
    let last = ran.out.lines().last().unwrap_or_default();
    assert_eq!(last, "interrupted: this is what had been measured until then");
    // Not known is not the same as stable.
    assert!(!ran.out.contains("recovers from this trigger at every load"), "{}", ran.out);
}

#[test]
fn headroom_passes_no_gate_by_being_interrupted() {
    let ran = interrupted(&[
        "headroom",
        "examples/five-layers.yaml",
        "--replications",
        "200",
        "--fail-on",
        "vulnerable",
    ]);
    assert_eq!(ran.code, Some(130), "{}", ran.err);
}

#[test]
fn simulate_prints_what_it_has() {
    let ran = interrupted(&[
        "simulate",
        "examples/retry-storm.yaml",
        "--set",
        "experiment.watch=1000000s",
        "--set",
        "load=100/s",
        "--set",
        "experiment.interval=100s",
        "--json",
    ]);
    assert_eq!(ran.code, Some(130), "{}", ran.err);
    assert_eq!(ran.err, "");
    let result: Value = serde_json::from_str(&ran.out).expect("partial, and still JSON");
    assert_eq!(result["partial"], true);
    let count = |name: &str| result["classes"]["default"][name].as_u64().unwrap();
    assert!(count("offered") > 0 && count("good") > 0, "{}", result["classes"]);
    let series = result["series"]["t_s"].as_array().unwrap();
    assert!(!series.is_empty(), "what was measured is there");
}

#[test]
fn scan_prints_what_it_has() {
    // One file with many names: there is more of it than can be read before the signal comes.
    let folder = tempfile::tempdir().unwrap();
    let first = folder.path().join("0.py");
    let retry = "for n in range(5):\n    try:\n        call()\n        break\n    except IOError:\n        pass\n";
    std::fs::write(&first, format!("{retry}{}", "print(1, 2, 3)\n".repeat(100_000))).unwrap();
    for n in 1..1500 {
        std::fs::hard_link(&first, folder.path().join(format!("{n}.py"))).unwrap();
    }
    let path = folder.path().to_str().unwrap();
    let ran = interrupted(&["scan", path, "--json", "--threads", "1"]);
    assert_eq!(ran.code, Some(130), "{}", ran.err);
    assert_eq!(ran.err, "");
    let result: Value = serde_json::from_str(&ran.out).expect("partial, and still JSON");
    assert_eq!(result["partial"], true);
    let files = result["coverage"]["files"].as_u64().unwrap();
    assert!(files < 1500, "{files}: it was stopped");
}
