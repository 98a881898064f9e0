//! Arguments of `damper proxy`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Signals: SIGHUP reads the configuration again without dropping a request (a wrong one changes
nothing); SIGTERM and SIGINT end it when what is under way is over, a second one at once. Sockets
that systemd has opened (LISTEN_FDS) are used for the listeners with their addresses.

Exit codes: 0 ended with everything finished, or the configuration is right (--check),
1 requests were still under way when the time to drain was over, 2 it could not start.

Examples:
  damper proxy --config examples/proxy/retry-storm.yaml --check
  damper proxy --config examples/proxy/retry-storm.yaml
  kill -HUP $(pidof damper)                              # after a change of either file
  damper schema proxy > proxy.schema.json                # for editors")]
pub(crate) struct ProxyArgs {
    /// Its configuration, which names the system file
    #[arg(long, value_name = "FILE")]
    pub(crate) config: PathBuf,
    /// Only say whether both files are right, and what would run
    #[arg(long)]
    pub(crate) check: bool,
}
