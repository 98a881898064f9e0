//! Examples in the documentation that are run: what a page shows is what the program does.
//!
//! In a block that starts with three backticks and `console`, a line that starts with
//! `$ damper` or `$ cargo run --release --` is a command; a backslash at its end continues it.
//! The lines below, up to the next `$`, are what it must print, standard error included. A
//! line of nothing but `…` stands for any lines, and `…` inside a line for any text; without
//! any lines, the output is not compared. A command must succeed, unless `$ echo $?` follows
//! it, and then the exit code that the page shows. Other commands are not run.

use std::path::Path;
use std::process::{Command, Stdio};
use std::{env, fs};

use anyhow::{Context as _, Result, bail};

use crate::process::{cargo, files, output, program, root, run};
use crate::steps::Done;

/// A command of a page.
#[derive(Debug, PartialEq, Eq)]
struct Example {
    line: usize,
    command: String,
    exit: i32,
    output: Vec<String>,
}

/// What writes pages when it is told to: tests that compare them otherwise. One after the other,
/// since some read what others write.
const WRITERS: [&str; 6] = [
    "test --package damper-control --test pages -- --test-threads 1",
    "test --package damper-system --test it docs:: -- --test-threads 1",
    "test --package damper-mesh --test docs -- --test-threads 1",
    "test --package damper-model --test approximations",
    "test --release --package damper-sim --test compared -- --ignored",
    "test --release --package damper --test it basins::the_chain -- --ignored",
];

/// `cargo xtask docs`: writes what is generated in `docs/`, and says what has changed.
pub(crate) fn rewrite() -> Result<()> {
    for words in WRITERS {
        run(cargo(words).env("DAMPER_BLESS", "1"))?;
    }
    let mut status = program("git");
    let changed = output(status.args(["status", "--short", "--", "docs"]))?;
    if changed.is_empty() {
        println!("docs/ is as it was committed");
    } else {
        print!("differs from what is committed:\n{changed}");
    }
    Ok(())
}

/// Runs the examples of the README and of `docs/` with the program in `bin`, in `scratch`.
///
/// `bin` is a folder with `damper` in it, of whatever profile: what it prints is the same.
pub(crate) fn check(bin: &Path, scratch: &Path) -> Result<Done> {
    let root = root();
    let mut pages = files(&root.join("docs"), ".md")?;
    pages.push(root.join("README.md"));
    let (mut run, mut wrong) = (0, Vec::new());
    for page in pages.iter().filter(|page| page.is_file()) {
        let name = page.strip_prefix(&root).unwrap_or(page).display();
        // A page can go on with a file that its commands have made, and not with another's.
        prepare(&root, scratch)?;
        for example in examples(&fs::read_to_string(page)?) {
            run += 1;
            let place = format!("{name}:{}", example.line);
            eprintln!("{place}: {}", example.command);
            if let Err(error) = check_one(&example, bin, scratch) {
                wrong.push(format!("{place}: `{}`: {error:#}", example.command));
            }
        }
    }
    if !wrong.is_empty() {
        bail!("{} of {run} examples\n{}", wrong.len(), wrong.join("\n"));
    }
    Ok(Done::Noted(format!("{run} commands")))
}

/// An empty folder in which the repository's examples can be reached.
fn prepare(root: &Path, scratch: &Path) -> Result<()> {
    if scratch.exists() {
        fs::remove_dir_all(scratch)?;
    }
    fs::create_dir_all(scratch)?;
    for name in ["docs", "examples", "deploy"] {
        #[cfg(unix)]
        std::os::unix::fs::symlink(root.join(name), scratch.join(name))?;
        #[cfg(windows)]
        std::os::windows::fs::symlink_dir(root.join(name), scratch.join(name))?;
    }
    Ok(())
}

fn check_one(example: &Example, bin: &Path, scratch: &Path) -> Result<()> {
    let path = env::var_os("PATH").unwrap_or_default();
    let path = env::join_paths([bin.to_path_buf()].into_iter().chain(env::split_paths(&path)))?;
    let output = Command::new("sh")
        .args(["-c", &format!("exec 2>&1\n{}", example.command)])
        .current_dir(scratch)
        .env("PATH", path)
        .env("NO_COLOR", "1")
        .env("COLUMNS", "100")
        .stdin(Stdio::null())
        .output()
        .context("cannot run `sh`")?;
    let printed = String::from_utf8_lossy(&output.stdout);
    if output.status.code() != Some(example.exit) {
        bail!("{} instead of exit code {}, having printed\n{printed}", output.status, example.exit);
    }
    let lines: Vec<&str> = printed.lines().collect();
    if !example.output.is_empty() && !matches(&example.output, &lines) {
        bail!("the page shows\n{}\nand it prints\n{printed}", example.output.join("\n"));
    }
    Ok(())
}

/// The commands of a page, in their order.
fn examples(page: &str) -> Vec<Example> {
    let mut found: Vec<Example> = Vec::new();
    let mut fence: Option<String> = None;
    // Whether the lines that follow belong to the last command that was found.
    let mut open = false;
    let mut exit_code = false;
    let mut lines = page.lines().enumerate();
    while let Some((index, line)) = lines.next() {
        let text = line.trim_start();
        let Some(end) = &fence else {
            let ticks = text.len() - text.trim_start_matches('`').len();
            if ticks >= 3 && text[ticks..].split_whitespace().next() == Some("console") {
                fence = Some("`".repeat(ticks));
                (open, exit_code) = (false, false);
            }
            continue;
        };
        if text.trim_end() == end {
            fence = None;
        } else if let Some(typed) = line.strip_prefix("$ ") {
            exit_code = open && typed.trim() == "echo $?";
            if exit_code {
                continue;
            }
            let mut command = typed.to_owned();
            while command.ends_with('\\') {
                let Some((_, more)) = lines.next() else { break };
                command.truncate(command.len() - 1);
                command.push_str(more.trim_start());
            }
            let ours =
                command.strip_prefix("cargo run --release -- ").map(|c| format!("damper {c}"));
            let command = ours.unwrap_or(command);
            open = command.split_whitespace().next() == Some("damper");
            if open {
                found.push(Example { line: index + 1, command, exit: 0, output: Vec::new() });
            }
        } else if let Some(example) = found.last_mut().filter(|_| open) {
            if exit_code {
                if let Ok(code) = line.trim().parse() {
                    example.exit = code;
                }
            } else {
                example.output.push(line.trim_end().to_owned());
            }
        }
    }
    for example in &mut found {
        while example.output.last().is_some_and(String::is_empty) {
            example.output.pop();
        }
    }
    found
}

/// Whether `lines` are what `pattern` shows; `…` stands for any lines, or for any text.
fn matches(pattern: &[String], lines: &[&str]) -> bool {
    match (pattern.split_first(), lines.split_first()) {
        (None, rest) => rest.is_none_or(|_| lines.iter().all(|line| line.trim().is_empty())),
        (Some((first, others)), _) if first.trim() == "…" => {
            (0..=lines.len()).any(|skipped| matches(others, &lines[skipped..]))
        }
        (Some((first, others)), Some((line, more))) => {
            line_matches(first, line.trim_end()) && matches(others, more)
        }
        (Some(_), None) => false,
    }
}

fn line_matches(pattern: &str, line: &str) -> bool {
    let mut parts = pattern.split('…');
    let Some(mut rest) = line.strip_prefix(parts.next().unwrap_or_default()) else {
        return false;
    };
    let Some(last) = pattern.contains('…').then(|| parts.next_back()).flatten() else {
        return rest.is_empty();
    };
    for part in parts {
        let Some(at) = rest.find(part) else {
            return false;
        };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(lines: &[&str]) -> Vec<String> {
        lines.iter().map(|&line| line.to_owned()).collect()
    }

    #[test]
    fn commands_of_console_blocks_are_found() {
        let page = "\
```yaml
$ damper not a command
```
```console
$ ls
a.yaml
$ damper check \\
    a.yaml
a.yaml: fine

$ damper check b.yaml
…
error
$ echo $?
2
```
$ damper outside
````console
$ cargo run --release -- headroom a.yaml
````
";
        let found = examples(page);
        let expected = [
            Example {
                line: 7,
                command: "damper check a.yaml".into(),
                exit: 0,
                output: shown(&["a.yaml: fine"]),
            },
            Example {
                line: 11,
                command: "damper check b.yaml".into(),
                exit: 2,
                output: shown(&["…", "error"]),
            },
            Example {
                line: 19,
                command: "damper headroom a.yaml".into(),
                exit: 0,
                output: Vec::new(),
            },
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn without_wildcards_the_lines_are_the_same() {
        assert!(matches(&shown(&["a", "b"]), &["a", "b  ", ""]));
        assert!(!matches(&shown(&["a", "b"]), &["a"]));
        assert!(!matches(&shown(&["a"]), &["a", "b"]));
        assert!(!matches(&shown(&["a"]), &["ab"]));
    }

    #[test]
    fn a_line_of_an_ellipsis_stands_for_any_lines() {
        assert!(matches(&shown(&["a", "…", "d"]), &["a", "b", "c", "d"]));
        assert!(matches(&shown(&["a", "…", "d"]), &["a", "d"]));
        assert!(matches(&shown(&["…", "d", "…"]), &["a", "d", "e", "d"]));
        assert!(!matches(&shown(&["a", "…", "d"]), &["a", "b"]));
    }

    #[test]
    fn an_ellipsis_in_a_line_stands_for_any_text() {
        assert!(line_matches("seed … in … s", "seed 7 in 0.3 s"));
        assert!(line_matches("…", ""));
        assert!(line_matches("a…", "abc"));
        assert!(!line_matches("a…c…e", "abcd"));
        assert!(!line_matches("ab…ba", "aba"));
        assert!(!line_matches("a…b", "abc"));
    }

    #[cfg(unix)]
    #[test]
    fn a_wrong_exit_code_and_a_wrong_output_are_errors() {
        let here = env::temp_dir();
        let example = |command: &str, exit, output: &[&str]| Example {
            line: 1,
            command: command.into(),
            exit,
            output: shown(output),
        };
        let run = |example: &Example| check_one(example, &here, &here);
        assert!(run(&example("echo a; echo b >&2", 0, &["a", "b"])).is_ok());
        assert!(run(&example("echo a; exit 3", 3, &[])).is_ok());
        assert!(run(&example("exit 3", 0, &[])).is_err());
        assert!(run(&example("echo a", 0, &["b"])).is_err());
    }
}
