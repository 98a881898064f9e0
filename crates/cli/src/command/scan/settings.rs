//! What the command line and the configuration want together.

use std::path::{Path, PathBuf};

use damper_scan::config::{self, Config};
use damper_scan::policy::Scope;
use damper_scan::rules::Severity;

use crate::args::{FailOn, ScanArgs, ScopeArg};

/// The command line goes before the configuration, and that before the defaults.
pub(crate) struct Settings {
    pub(crate) config: Config,
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
        let folder = file.as_deref().and_then(Path::parent).unwrap_or(Path::new(""));
        let of_config = || config.baseline.as_ref().map(|baseline| folder.join(baseline));
        // Who writes a baseline wants all of it, and the one of the configuration may not be there
        // yet.
        let baseline = match (&args.baseline, &args.write_baseline) {
            (Some(baseline), _) => Some(baseline.clone()),
            (None, Some(_)) => None,
            (None, None) => of_config(),
        };
        let scopes = scopes(&args.scope, &config);
        Ok(Self { config, fail_on, scopes, baseline })
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
