//! What h2load says.

use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::process::quiet_output;

/// What came of a load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Done {
    /// Requests that got a good reply.
    pub(super) requests: f64,
}

/// Runs it. An error if more than one of a thousand requests did not get a good reply.
pub(super) fn run(command: &mut Command) -> Result<Done> {
    let text = quiet_output(command)?;
    read(&text).with_context(|| text)
}

fn read(text: &str) -> Result<Done> {
    let line = |start: &str| text.lines().find_map(|line| line.trim().strip_prefix(start));
    let number = |line: &str, after: &str| {
        line.split(',').find_map(|part| {
            let (number, word) = part.trim().split_once(' ')?;
            (word == after).then(|| number.parse::<f64>().ok())?
        })
    };
    let codes = line("status codes:").context("no line of status codes")?;
    let good = number(codes, "2xx").context("no number of 2xx")?;
    let bad: f64 = ["3xx", "4xx", "5xx"].iter().filter_map(|code| number(codes, code)).sum();
    let requests = line("requests:").context("no line of requests")?;
    let broken: f64 =
        ["failed", "errored", "timeout"].iter().filter_map(|word| number(requests, word)).sum();
    ensure!(good > 0.0, "no request had a good reply");
    ensure!((bad + broken) * 1000.0 <= good, "{bad} bad replies and {broken} broken off");
    Ok(Done { requests: good })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "\
finished in 2.00s, 26510.50 req/s, 4.12MB/s
requests: 53021 total, 53085 started, 53021 done, 53021 succeeded, 0 failed, 0 errored, 0 timeout
status codes: 53021 2xx, 0 3xx, 0 4xx, 0 5xx
traffic: 8.24MB (8642423) total
";

    #[test]
    fn only_good_replies_count() {
        assert_eq!(read(SAID).unwrap(), Done { requests: 53021.0 });
        for (what, other) in
            [("0 5xx", "54 5xx"), ("0 timeout", "54 timeout"), ("53021 2xx", "0 2xx")]
        {
            assert!(read(&SAID.replace(what, other)).is_err(), "{other}");
        }
        assert!(read(&SAID.replace("0 5xx", "53 5xx")).is_ok(), "one of a thousand may be");
        assert!(read("").is_err());
    }
}
