//! What is done now and then: time, the lever in shared data, and what outbound tells inbound.

use damper_control::Nanos;

use super::{LEVER_KEY, OVERLOADED_KEY, Reply, SHARED_TICKS, Worker};
use crate::filter::check;
use crate::filter::config::Position;
use crate::filter::counters::Overall;
use crate::filter::host::Host;
use crate::filter::quiet::Quiet;
use crate::filter::rules;

/// The header of a request that pulls the lever.
const LEVER_HEADER: &str = "x-damper-lever";
/// How long what outbound says of what is below it holds, if it does not say it again.
const OVERLOADED_FOR: Nanos = Nanos::from_secs(2);
/// A clock that goes back by more than this was wrong and has been corrected. By less, it is one that
/// is kept exact, and time stands still for a moment.
const MOST_BACK: Nanos = Nanos::from_secs(1);

impl Worker {
    /// Time has passed; called every [`super::TICK_MS`].
    pub fn tick(&mut self, host: &mut impl Host) {
        let corrected = self.set_time(host.now());
        self.ticks = self.ticks.wrapping_add(1);
        if self.ticks % SHARED_TICKS != 1 && !corrected {
            return;
        }
        match self.rules.position {
            Position::Lever => return,
            Position::Outbound => self.tell_inbound(host),
            Position::Edge => {}
            Position::Inbound => {
                let until = host.shared(OVERLOADED_KEY).and_then(|bytes| bytes.try_into().ok());
                let left =
                    until.map_or(Nanos::ZERO, |u| Nanos(u64::from_le_bytes(u)).since(self.now));
                // Longer than it can have been told: the clock was wrong then.
                self.overloaded = left > Nanos::ZERO && left <= OVERLOADED_FOR + MOST_BACK;
            }
        }
        self.read_lever(host);
    }

    /// Time is what the clock says, but does not go back by a little. Whether the clock was corrected:
    /// what was learned by the wrong time would hold until that comes again, and is forgotten.
    fn set_time(&mut self, clock: Nanos) -> bool {
        let corrected = self.now.since(clock) > MOST_BACK;
        if corrected {
            self.now = clock;
            self.accounts = self.rules.accounts();
            self.quiet = Quiet::default();
            let written = &self.written_lever;
            (self.lever, self.held) = rules::lever(written, &self.rules.classes, clock);
            self.shared_lever = None;
        } else {
            self.now = clock.max(self.now);
        }
        corrected
    }

    fn tell_inbound(&self, host: &mut impl Host) {
        let now = self.now;
        if self.accounts.iter().flatten().any(|account| account.passes_on(now)) {
            host.set_shared(OVERLOADED_KEY, &(now + OVERLOADED_FOR).0.to_le_bytes());
        }
    }

    fn read_lever(&mut self, host: &mut impl Host) {
        let found = host.shared(LEVER_KEY).filter(|bytes| !bytes.is_empty());
        if found == self.shared_lever {
            return;
        }
        let read = found.as_deref().map(|bytes| lever_entry(bytes, &self.rules.classes));
        match read {
            Some(None) => self.counters.add_overall(Overall::LeverProblems, 1),
            Some(Some((since, written))) => {
                let since = since.min(self.now);
                (self.lever, self.held) = rules::lever(&written, &self.rules.classes, since);
            }
            None => {
                let written = &self.written_lever;
                (self.lever, self.held) = rules::lever(written, &self.rules.classes, self.now);
            }
        }
        self.shared_lever = found;
    }

    /// A request to the listener for operators: says where the lever is, and pulls it if the request
    /// says so.
    pub(super) fn pull(&mut self, host: &mut impl Host) -> Reply {
        let reply = |status, body: String| Reply {
            status,
            headers: vec![("content-type", "text/plain".into())],
            body,
        };
        let Some(value) = host.request_header(LEVER_HEADER) else {
            let now = host.shared(LEVER_KEY).filter(|bytes| !bytes.is_empty());
            let now =
                now.and_then(|bytes| Some(String::from_utf8_lossy(bytes.get(8..)?).into_owned()));
            let now = now.unwrap_or_else(|| "as configured".into());
            return reply(200, format!("{now}\n"));
        };
        if value.trim_ascii().is_empty() {
            host.set_shared(LEVER_KEY, b"");
            return reply(200, "as configured\n".into());
        }
        match check::lever(&value, &self.rules.classes) {
            Ok(_) => {
                let since = host.now().0.to_le_bytes();
                host.set_shared(LEVER_KEY, &[&since, value.as_slice()].concat());
                reply(200, "pulled\n".into())
            }
            Err(problems) => reply(400, format!("{problems}\n")),
        }
    }
}

type Written = std::collections::BTreeMap<String, crate::filter::config::Lever>;

/// What is in shared data: when it was pulled, and how.
fn lever_entry(bytes: &[u8], classes: &[String]) -> Option<(Nanos, Written)> {
    let (since, text) = bytes.split_first_chunk::<8>()?;
    let written = check::lever(text, classes).ok()?;
    Some((Nanos(u64::from_le_bytes(*since)), written))
}
