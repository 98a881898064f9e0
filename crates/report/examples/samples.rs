//! Writes sample reports, for looking at: `cargo run -p damper-report --example samples -- DIR`.
#![allow(missing_docs, unreachable_pub)]

use std::path::PathBuf;

use damper_report::{headroom_html, simulate_html, solve_html};

#[path = "../tests/it/samples.rs"]
mod samples;
#[path = "../tests/it/solutions.rs"]
mod solutions;

fn main() -> std::io::Result<()> {
    let dir = PathBuf::from(std::env::args_os().nth(1).unwrap_or_else(|| ".".into()));
    std::fs::write(dir.join("retry-storm.html"), headroom_html(&samples::retry_storm()))?;
    std::fs::write(dir.join("five-layers.html"), headroom_html(&samples::five_layers()))?;
    std::fs::write(dir.join("hotel.html"), simulate_html(&samples::hotel()))?;
    std::fs::write(dir.join("tangle.html"), simulate_html(&samples::tangle()))?;
    std::fs::write(dir.join("solution.html"), solve_html(&solutions::hotel()))?;
    std::fs::write(dir.join("sweep.html"), solve_html(&solutions::sweep()))?;
    std::fs::write(dir.join("calm.html"), simulate_html(&samples::calm()))
}
