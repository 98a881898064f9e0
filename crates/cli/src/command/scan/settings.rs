//! What the command line and the configuration want together.

use std::path::{Path, PathBuf};

use damper_scan::config::{self, Config};
use damper_scan::policy::Scope;
use damper_scan::rules::Severity;

use crate::args::{FailOn, ScanArgs, ScopeArg};

/// The command line goes before the configuration, and that before the defaults.
pub(crate) struct Settings {
    config: Config,
    /// The folder of the configuration.
    folder: PathBuf,
    pub(crate) fail_on: Option<Severity>,
    pub(crate) scopes: Vec<Scope>,
    pub(crate) baseline: Option<PathBuf>,
}

const ALL: [Scope; 5] =
    [Scope::Production, Scope::Test, Scope::Docs, Scope::Example, Scope::Generated];

impl Settings {
    pub(crate) fn of(args: &ScanArgs, first_root: Option<&Path>) -> anyhow::Result<Self> {
        let file = match &args.config {
            Some(file) => Some(file.clone()),
            None => config::look(first_root.unwrap_or(Path::new("."))),
        };
        let config = file.as_deref().map(config::read).transpose()?.unwrap_or_default();
        let fail_on = match args.fail_on {
            Some(FailOn::Never) => None,
            Some(FailOn::Note) => Some(Severity::Note),
            Some(FailOn::Warning) => Some(Severity::Warning),
            Some(FailOn::Error) => Some(Severity::Error),
            None => Some(config.fail_on.unwrap_or(Severity::Warning)),
        };
        let folder = file.as_deref().and_then(Path::parent).unwrap_or(Path::new("")).to_owned();
        let of_config = || config.baseline.as_ref().map(|baseline| folder.join(baseline));
        // Who writes a baseline wants all of it, and the one of the configuration may not be there
        // yet.
        let baseline = match (&args.baseline, &args.write_baseline) {
            (Some(baseline), _) => Some(baseline.clone()),
            (None, Some(_)) => None,
            (None, None) => of_config(),
        };
        let scopes = scopes(&args.scope, &config);
        Ok(Self { config, folder, fail_on, scopes, baseline })
    }

    /// The configuration as it looks from a root: its globs start from its own folder.
    pub(crate) fn config_for(&self, root: &Path) -> Config {
        let base = if root.is_dir() { root } else { Path::new(".") };
        let real = |path: &Path| {
            let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
            std::fs::canonicalize(path).ok()
        };
        let below = match (real(base), real(&self.folder)) {
            (Some(base), Some(folder)) => base.strip_prefix(folder).ok().map(Path::to_owned),
            _ => None,
        };
        let below = below.map(|below| below.to_string_lossy().into_owned()).unwrap_or_default();
        let exclude = self.config.exclude.iter().map(|glob| from_below(glob, &below)).collect();
        Config { exclude, ..self.config.clone() }
    }
}

/// A glob of a folder as it reads in a folder below it. One without a slash before its end
/// holds everywhere; one that leads elsewhere stays as it is and finds nothing.
fn from_below(glob: &str, below: &str) -> String {
    let rest = glob.trim_start_matches('/').strip_prefix(below);
    match rest.and_then(|rest| rest.strip_prefix('/')) {
        Some(rest) if !below.is_empty() && rest.is_empty() => "*".to_owned(),
        Some(rest) if !below.is_empty() => format!("/{rest}"),
        _ => glob.to_owned(),
    }
}

fn scopes(asked: &[ScopeArg], config: &Config) -> Vec<Scope> {
    if asked.is_empty() {
        return match config.scopes.as_slice() {
            [] => vec![Scope::Production],
            scopes => scopes.to_vec(),
        };
    }
    let fits = |scope: &Scope| {
        asked.iter().any(|asked| match asked {
            ScopeArg::All => true,
            ScopeArg::Production => *scope == Scope::Production,
            ScopeArg::Test => *scope == Scope::Test,
            ScopeArg::Docs => *scope == Scope::Docs,
            ScopeArg::Example => *scope == Scope::Example,
            ScopeArg::Generated => *scope == Scope::Generated,
        })
    };
    ALL.into_iter().filter(fits).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_start_from_the_folder_of_the_configuration() {
        assert_eq!(from_below("legacy/", "src"), "legacy/");
        assert_eq!(from_below("src/legacy/", "src"), "/legacy/");
        assert_eq!(from_below("/src/a/*.py", "src/a"), "/*.py");
        assert_eq!(from_below("src/", "src"), "*");
        assert_eq!(from_below("srcs/a", "src"), "srcs/a");
        assert_eq!(from_below("src/legacy/", ""), "src/legacy/");
    }
}
