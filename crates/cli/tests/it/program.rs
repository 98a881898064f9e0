//! Runs the program, away from the settings of whoever runs the tests.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// `retry-storm.yaml` at a tenth of its size: the same loop for a tenth of the work.
pub(crate) const QUICK: &[&str] = &[
    "examples/retry-storm.yaml",
    "--set",
    "services.db.workers=3",
    "--set",
    "load=27/s",
    "--replications",
    "3",
];

/// What a run left behind.
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// The program in the root of the repository, so that paths in its output are the same
/// everywhere. Not on a terminal: no colours, no progress, a fixed width.
pub(crate) fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_damper"));
    command
        .args(args)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .env("COLUMNS", "100")
        .env("TERM", "dumb")
        .env("NO_COLOR", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    for name in ["CLICOLOR", "CLICOLOR_FORCE", "FORCE_COLOR", "RAYON_NUM_THREADS"] {
        command.env_remove(name);
    }
    command
}

pub(crate) fn damper(args: &[&str]) -> Ran {
    finished(command(args).output().expect("the program starts"))
}

pub(crate) fn finished(output: Output) -> Ran {
    let text = |bytes| String::from_utf8(bytes).expect("what is printed is UTF-8");
    Ran { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

/// The result of a run with `--json` that must succeed.
pub(crate) fn json(args: &[&str]) -> Value {
    let ran = damper(&[args, &["--json"]].concat());
    assert_eq!(ran.code, Some(0), "{args:?}: {}", ran.err);
    assert_eq!(ran.err, "", "{args:?}: nothing but the result");
    serde_json::from_str(&ran.out).unwrap_or_else(|e| panic!("{args:?}: {e}\n{}", ran.out))
}

/// A number of a result, by JSON pointer.
#[track_caller]
pub(crate) fn number(of: &Value, pointer: &str) -> f64 {
    let found = of.pointer(pointer).unwrap_or_else(|| panic!("no {pointer}"));
    found.as_f64().unwrap_or_else(|| panic!("{pointer} is {found}"))
}

/// A 95 % interval of a result, by JSON pointer.
#[track_caller]
pub(crate) fn interval(of: &Value, pointer: &str) -> [f64; 2] {
    [number(of, &format!("{pointer}/0")), number(of, &format!("{pointer}/1"))]
}
