//! Progress on the terminal: one line on standard error, nothing when it is redirected.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// A progress line.
pub(crate) struct Progress(ProgressBar);

impl Progress {
    pub(crate) fn new(quiet: bool) -> Self {
        let bar = if quiet { ProgressBar::hidden() } else { ProgressBar::new(1) };
        if let Ok(style) =
            ProgressStyle::with_template("{spinner} {msg} {wide_bar:.dim} {pos}/{len} {elapsed}")
        {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(120));
        Self(bar)
    }

    /// Prints while the line is away.
    pub(crate) fn apart(&self, print: impl FnOnce()) {
        self.0.suspend(print);
    }

    pub(crate) fn show(&self, what: &str, done: u64, total: u64) {
        if self.0.message() != what {
            self.0.set_message(what.to_owned());
        }
        self.0.set_length(total);
        self.0.set_position(done);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
