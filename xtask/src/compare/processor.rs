//! What a process has had of the machine, from Linux's `/proc`.

use std::fs;

use anyhow::{Context as _, Result};

/// Time of the processor that a process has had, in µs: what the scheduler counts for its threads, to
/// the nanosecond; or hundredths of a second, of which Linux always tells.
pub(super) fn cpu_us(pid: u32) -> Result<f64> {
    match scheduled_us(pid) {
        Some(us) => Ok(us),
        None => charged_us(pid),
    }
}

/// The sum over the threads that there are. Not for a program that ends threads: theirs goes with them.
fn scheduled_us(pid: u32) -> Option<f64> {
    let mut ns = 0.0;
    for thread in fs::read_dir(format!("/proc/{pid}/task")).ok()? {
        let counted = fs::read_to_string(thread.ok()?.path().join("schedstat")).ok()?;
        ns += counted.split_whitespace().next()?.parse::<f64>().ok()?;
    }
    Some(ns / 1000.0)
}

fn charged_us(pid: u32) -> Result<f64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).context("/proc is needed")?;
    // The name of the program may have spaces; it ends with the last bracket.
    let fields: Vec<&str> =
        stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |n: usize| fields.get(n).and_then(|field| field.parse::<f64>().ok());
    let (user, system) = ticks(11).zip(ticks(12)).context("an unknown form of /proc/PID/stat")?;
    Ok((user + system) * 10_000.0)
}

/// Memory of a process that is in the machine's, in bytes.
pub(super) fn resident(pid: u32) -> Result<f64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).context("/proc is needed")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse::<f64>().ok());
    Ok(kib.context("an unknown form of /proc/PID/status")? * 1024.0)
}

/// The middle of values; not a number if there are none.
pub(super) fn median(values: Vec<f64>) -> f64 {
    quantile(values, 0.5)
}

/// The value that a share of all lies below; not a number if there are none.
pub(super) fn quantile(mut values: Vec<f64>, share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get((values.len() as f64 * share) as usize).copied().unwrap_or(f64::NAN)
}
