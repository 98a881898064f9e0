//! Running other programs.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

/// The folder of the repository.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// Where tools are installed that this machine does not have. Not the user's own folder: what
/// a test run brings along goes with the checkout.
pub(crate) fn tools() -> PathBuf {
    root().join(".tools")
}

/// A program, run in the repository, with the tools on its path.
pub(crate) fn program(name: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(name);
    command.current_dir(root());
    let path = env::var_os("PATH").unwrap_or_default();
    let paths = env::split_paths(&path).chain([tools().join("bin")]);
    if let Ok(path) = env::join_paths(paths) {
        command.env("PATH", path);
    }
    command
}

/// Cargo, with words separated by spaces.
pub(crate) fn cargo(words: &str) -> Command {
    let mut command = program("cargo");
    command.args(words.split_whitespace());
    command
}

/// As one would type it.
pub(crate) fn shown(command: &Command) -> String {
    let words = [command.get_program()].into_iter().chain(command.get_args());
    words.map(|w| w.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}

/// Runs it, its output going where ours goes. An exit code other than 0 is an error.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    eprintln!("$ {}", shown(command));
    let status = command.status().with_context(|| format!("cannot run `{}`", shown(command)))?;
    if !status.success() {
        bail!("`{}`: {status}", shown(command));
    }
    Ok(())
}

/// The same; each line that it prints to standard error is also given to `watch`.
pub(crate) fn run_watched(command: &mut Command, mut watch: impl FnMut(&str)) -> Result<()> {
    eprintln!("$ {}", shown(command));
    let started = command.stderr(Stdio::piped()).spawn();
    let mut child = started.with_context(|| format!("cannot run `{}`", shown(command)))?;
    if let Some(stderr) = child.stderr.take() {
        for line in BufReader::new(stderr).split(b'\n') {
            let line = line.with_context(|| shown(command))?;
            let line = String::from_utf8_lossy(&line);
            eprintln!("{line}");
            watch(&line);
        }
    }
    let status = child.wait().with_context(|| shown(command))?;
    if !status.success() {
        bail!("`{}`: {status}", shown(command));
    }
    Ok(())
}

/// Runs it and gives what it printed to standard output.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    quiet_output(command.stderr(Stdio::inherit()))
}

/// The same; what it prints to standard error shows only if it fails.
pub(crate) fn quiet_output(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot run `{}`", shown(command)))?;
    if !output.status.success() {
        eprint!("{}", String::from_utf8_lossy(&output.stderr));
        bail!("`{}`: {}", shown(command), output.status);
    }
    String::from_utf8(output.stdout).with_context(|| shown(command))
}

/// Whether it runs and succeeds; silent.
pub(crate) fn works(command: &mut Command) -> bool {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

/// Makes sure that `cargo SUBCOMMAND` exists, by installing it beside the checkout if it does
/// not. Says whether it had to.
pub(crate) fn cargo_tool(subcommand: &str) -> Result<bool> {
    if works(&mut cargo(&format!("{subcommand} --version"))) {
        return Ok(false);
    }
    let mut install = cargo("install --locked --root");
    // The optimiser takes most of the time of an installation and gives little back here.
    install.arg(tools()).arg(format!("cargo-{subcommand}"));
    install.env("CARGO_PROFILE_RELEASE_LTO", "off").env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0");
    run(&mut install)?;
    Ok(true)
}

/// Where Cargo builds to.
pub(crate) fn target() -> Result<PathBuf> {
    let metadata = metadata()?;
    let target = metadata.get("target_directory").and_then(|t| t.as_str());
    Ok(target.context("`cargo metadata` names no target directory")?.into())
}

/// The program of the repository: what `DAMPER_BIN` names, or its release build, brought up to date.
pub(crate) fn damper() -> Result<PathBuf> {
    if let Some(named) = env::var_os("DAMPER_BIN") {
        return Ok(named.into());
    }
    run(&mut cargo("build --release --locked --quiet --package damper"))?;
    Ok(target()?.join("release/damper"))
}

/// What Cargo knows about the packages of the workspace.
pub(crate) fn metadata() -> Result<serde_json::Value> {
    let text = output(&mut cargo("metadata --no-deps --locked --format-version 1"))?;
    serde_json::from_str(&text).context("`cargo metadata` printed something else than JSON")
}

/// Every file below `folder` whose name ends in `ending`, sorted.
pub(crate) fn files(folder: &Path, ending: &str) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error).with_context(|| folder.display().to_string()),
        };
        for entry in entries {
            let entry = entry.with_context(|| folder.display().to_string())?;
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                if entry.file_name() != "target" {
                    folders.push(path);
                }
            } else if path.to_string_lossy().ends_with(ending) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}
