//! Programs from npm, below the target folder: nothing is installed anywhere else.

use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};

use crate::process::{program, run, target};

/// A server over HTTP that nobody here wrote, for drills.
pub(crate) fn http_server() -> Result<PathBuf> {
    let folder = target()?.join("npm");
    let server = folder.join("node_modules/.bin/http-server");
    if !server.is_file() {
        std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        let words = ["install", "--no-audit", "--no-fund", "--silent", "http-server@14"];
        run(program("npm").args(words).current_dir(&folder))?;
    }
    ensure!(server.is_file(), "npm has not installed {}", server.display());
    Ok(server)
}
