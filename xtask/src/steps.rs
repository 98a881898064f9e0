//! A list of steps: each is timed, a failed one does not stop the next, and the end says what
//! happened to all.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

/// How a step that did not fail ended.
pub(crate) enum Done {
    /// It passed.
    Passed,
    /// It passed, and there is something to say.
    Noted(String),
    /// It was left out, and why.
    Skipped(String),
}

enum Outcome {
    Done(Done),
    Failed(String),
}

/// Steps that were run.
#[derive(Default)]
pub(crate) struct Steps {
    only: Vec<String>,
    ran: Vec<(&'static str, Duration, Outcome)>,
}

impl Steps {
    /// Leaves out every step whose name has none of these words, if there are any.
    pub(crate) fn only(words: &[String]) -> Self {
        Self { only: words.to_vec(), ran: Vec::new() }
    }

    /// Runs a step.
    pub(crate) fn run(&mut self, name: &'static str, step: impl FnOnce() -> Result<Done>) {
        if !self.only.is_empty() && !self.only.iter().any(|word| name.contains(word)) {
            return;
        }
        eprintln!("\n── {name}");
        let start = Instant::now();
        let outcome = match step() {
            Ok(done) => Outcome::Done(done),
            Err(error) => Outcome::Failed(format!("{error:#}")),
        };
        if let Outcome::Failed(why) = &outcome {
            eprintln!("{name} failed: {why}");
        }
        self.ran.push((name, start.elapsed(), outcome));
    }

    /// Prints the summary. An error if a step failed.
    pub(crate) fn finish(self) -> Result<()> {
        if self.ran.is_empty() {
            bail!("no step has {} in its name", self.only.join(" or "));
        }
        eprintln!("\n── summary");
        let mut total = Duration::ZERO;
        let mut failed = Vec::new();
        for (name, time, outcome) in &self.ran {
            total += *time;
            let (word, note) = match outcome {
                Outcome::Done(Done::Passed) => ("ok", ""),
                Outcome::Done(Done::Noted(note)) => ("ok", note.as_str()),
                Outcome::Done(Done::Skipped(why)) => ("skipped", why.as_str()),
                Outcome::Failed(why) => {
                    failed.push(*name);
                    ("FAILED", why.as_str())
                }
            };
            let note = note.lines().next().unwrap_or_default();
            eprintln!("{word:>8} {:>7.1}s  {name:<22} {note}", time.as_secs_f64());
        }
        eprintln!("{:>8} {:>7.1}s", "total", total.as_secs_f64());
        if !failed.is_empty() {
            bail!("failed: {}", failed.join(", "));
        }
        Ok(())
    }
}
