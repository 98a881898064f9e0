//! `cargo xtask live proxy`: the same system files in the simulator and through the sidecar. The
//! experiment is a slow test, which also writes the page.

use anyhow::Result;

use crate::process::{cargo, root, run};

/// Runs it in release, and writes the page unless something is further off than is allowed.
pub(super) fn run_task() -> Result<()> {
    let mut test = cargo("test --release --locked --package damper --test proxy");
    test.args(["what_is_simulated_is_what_is_deployed", "--", "--ignored", "--nocapture"]);
    run(test.env("DAMPER_PAGE", root().join("docs/proxy-agreement.md")))
}
