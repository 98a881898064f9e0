//! The browser that the tests of the HTML report use.

use std::env;
use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::process;

const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// A Chromium: `$CHROMIUM`, or one on the path.
pub(crate) fn find() -> Option<PathBuf> {
    if let Some(named) = env::var_os("CHROMIUM").map(PathBuf::from).filter(|path| path.is_file()) {
        return Some(named);
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = env::split_paths(&path).collect();
    let candidates = NAMES.iter().flat_map(|name| folders.iter().map(move |f| f.join(name)));
    candidates.into_iter().find(|candidate| candidate.is_file())
}

/// The same, installed from Debian's packages if there is none and we may.
pub(crate) fn find_or_install() -> Result<PathBuf> {
    if let Some(found) = find() {
        return Ok(found);
    }
    if !process::works(process::program("apt-get").arg("--version")) {
        bail!("no Chromium on the path or in $CHROMIUM, and no apt-get to install one with");
    }
    let root = process::output(process::program("id").arg("-u"))?.trim() == "0";
    if !root && !process::works(process::program("sudo").args(["-n", "true"])) {
        bail!("no Chromium on the path or in $CHROMIUM; `sudo apt-get install chromium` helps");
    }
    for words in ["update", "install --yes --no-install-recommends chromium"] {
        let mut command = process::program(if root { "apt-get" } else { "sudo" });
        if !root {
            command.arg("apt-get");
        }
        command.args(words.split_whitespace()).env("DEBIAN_FRONTEND", "noninteractive");
        process::run(&mut command)?;
    }
    match find() {
        Some(found) => Ok(found),
        None => bail!("apt-get installed chromium, and it is still not on the path"),
    }
}
