//! Who is asked for what only a person can do.

use std::future::Future;
use std::io::{BufRead as _, IsTerminal as _};
use std::pin::Pin;

use damper_drill::People;
use tokio::sync::oneshot;

use crate::print;

/// Whoever sits at the terminal, or a name that was given beforehand.
pub(crate) struct Terminal {
    yes_as: Option<String>,
}

impl Terminal {
    pub(crate) fn new(yes_as: Option<String>) -> Self {
        Self { yes_as: yes_as.filter(|name| !name.trim().is_empty()) }
    }

    /// Whether there is anybody.
    pub(crate) fn can_answer(&self) -> bool {
        self.yes_as.is_some() || std::io::stdin().is_terminal()
    }
}

impl People for Terminal {
    fn ask<'a>(&'a self, text: &'a str) -> Pin<Box<dyn Future<Output = Option<String>> + 'a>> {
        Box::pin(async move {
            if let Some(name) = &self.yes_as {
                print::note(&format!("{text}\n  yes, as {name}"));
                return Some(name.clone());
            }
            print::note(&format!(
                "\n{text}\nYour name says that it is done; nothing stops the drill:"
            ));
            let (answer, answered) = oneshot::channel();
            // A thread of its own: the load goes on, and who interrupts need not answer.
            std::thread::spawn(move || {
                let mut line = String::new();
                let read = std::io::stdin().lock().read_line(&mut line);
                let name = line.trim().to_owned();
                let _ = answer.send((read.is_ok() && !name.is_empty()).then_some(name));
            });
            answered.await.ok().flatten()
        })
    }
}
