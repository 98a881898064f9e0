//! What can go wrong with an emulation.

use std::path::PathBuf;

/// Why an emulation did not start, or ended.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A process could not be started.
    #[error("{what} cannot be started from {}: {why}", program.display())]
    Start {
        /// Which.
        what: String,
        /// The program.
        program: PathBuf,
        /// Why.
        why: std::io::Error,
    },
    /// A process has ended by itself.
    #[error("{what} has ended{}", last_words(said))]
    Ended {
        /// Which.
        what: String,
        /// The last of what it printed.
        said: String,
    },
    /// A process does not answer.
    #[error("{what} does not answer within {seconds} s")]
    Silent {
        /// Which.
        what: String,
        /// How long it was waited for.
        seconds: u64,
    },
    /// Damper's filter refuses what it would be told.
    #[error(
        "the filter of {who} refuses its configuration: {why}; --static-policy and --without-envoy \
         do without it"
    )]
    Filter {
        /// Whose.
        who: String,
        /// Why.
        why: String,
    },
    /// A file, a pipe or a port.
    #[error("{what}: {why}")]
    Io {
        /// What was tried.
        what: &'static str,
        /// Why it did not work.
        why: std::io::Error,
    },
}

impl Error {
    pub(crate) fn io(what: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        move |why| Self::Io { what, why }
    }
}

fn last_words(said: &str) -> String {
    let said = said.trim();
    if said.is_empty() { String::new() } else { format!("; the last it said:\n{said}") }
}
