//! What a file of code says as configuration does: texts in it, and whom it calls.

use damper_config::Reading;

use crate::clients::{self, Client, Homes};
use crate::policy::Scope;
use crate::settings::{Settings, prints};
use crate::suppress;

/// What it says.
pub(crate) struct Said {
    scope: Scope,
    /// The clients of services in it.
    pub(crate) clients: Vec<Client>,
    settings: Option<Settings>,
}

impl Said {
    /// Nothing yet.
    pub(crate) fn of(scope: Scope) -> Self {
        Self { scope, clients: Vec::new(), settings: None }
    }

    /// Adds what a text or values in it say.
    pub(crate) fn add(&mut self, reading: Reading, text: &str) {
        if reading != Reading::default() {
            self.settings = Some(Settings {
                prints: prints(&reading, text),
                suppressions: suppress::of(text).0,
                ..Settings::of_code(self.scope, reading)
            });
        }
    }

    /// As a file of configuration, once it is known whose code is where. Clients in code that is
    /// nobody's go to `homeless`.
    pub(crate) fn of_file(
        self,
        path: &str,
        homes: &Homes,
        homeless: &mut Vec<(String, Scope, Client)>,
    ) -> Option<Settings> {
        let Self { scope, clients, mut settings } = self;
        if !clients.is_empty() {
            match homes.owner(path) {
                Some(owner) => {
                    let one = settings.get_or_insert(Settings::of_code(scope, Reading::default()));
                    one.reading.calls = clients::calls(owner, &clients);
                }
                None => {
                    let each = clients.into_iter();
                    homeless.extend(each.map(|client| (path.to_owned(), scope, client)));
                }
            }
        }
        let settings = settings?;
        (settings.reading != Reading::default())
            .then(|| Settings { path: path.to_owned(), ..settings })
    }
}
