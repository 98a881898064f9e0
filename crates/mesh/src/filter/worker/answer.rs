//! An answer: how many attempts it took, what the destination says, and what callers are told.

use damper_control::pushback::{grpc_pushback, retry_after};
use damper_control::{Nanos, Outcome, Pushback};

use super::{Call, Worker};
use crate::filter::account::{Account, MOST_ATTEMPTS};
use crate::filter::config::Position;
use crate::filter::counters::{Overall, PerClass};
use crate::filter::headers;
use crate::filter::host::Host;
use crate::filter::rules::Policy;

/// The longest that a destination is left alone for.
const MOST_QUIET: Nanos = Nanos::from_secs(60);

impl Worker {
    /// The headers of the answer are there.
    pub fn answer(&mut self, call: &mut Call, host: &mut impl Host) {
        if !std::mem::take(&mut call.open) {
            return;
        }
        // Strangers at the edge are not told how we are.
        if self.rules.position == Position::Inbound && self.overloaded {
            host.set_response_header(headers::OVERLOADED, b"true");
        }
        let index = usize::from(call.policy);
        let (limited, pushback) =
            (self.rules.policies[index].limits.is_some(), self.rules.policies[index].pushback);
        // Inbound, the only attempt is the one that came, unless retries are configured there.
        let counts = self.rules.position == Position::Outbound || limited;
        if !counts {
            self.counters.add(call.class, PerClass::Attempts, 1);
            return;
        }
        let attempts = self.attempts(call, host);
        self.counters.add(call.class, PerClass::Attempts, attempts.into());
        let pays = self.accounts[index].as_ref().is_some_and(Account::needs_outcome);
        let (mut outcome, mut retried) = (Outcome::Success, false);
        if pushback || pays {
            let policy = &self.rules.policies[index];
            outcome = outcome_of(policy, host);
            retried = policy.retries(outcome);
        }
        if pushback && outcome != Outcome::Success {
            self.mind_pushback(call, host);
        }
        let Some(account) = &mut self.accounts[index] else { return };
        if pays
            && self.rules.policies[index].overloaded
            && outcome != Outcome::Success
            && (host.response_header(headers::OVERLOADED).is_some()
                || host.response_header("x-envoy-overloaded").is_some())
        {
            self.counters.add_overall(Overall::Overloaded, 1);
            account.overloaded(self.now);
        }
        account.settle(self.now, call.class, attempts, outcome, retried, &mut self.rng);
    }

    /// The request has ended, with an answer or without.
    ///
    /// Without one its caller left, most likely since it had waited too long. Its attempts are those
    /// in Envoy's books. If they cannot be read, it is taken to have used all that it was granted: a
    /// destination that hangs would have its retries for nothing otherwise.
    pub fn end(&mut self, call: &mut Call, host: &mut impl Host) {
        if !std::mem::take(&mut call.open) {
            return;
        }
        self.counters.add(call.class, PerClass::Unanswered, 1);
        let index = usize::from(call.policy);
        let policy = &self.rules.policies[index];
        if self.rules.position != Position::Outbound && policy.limits.is_none() {
            return;
        }
        let made = in_books(host).filter(|n| *n <= MOST_ATTEMPTS).map(|n| n.min(most(call)));
        match made {
            Some(attempts) => self.counters.add(call.class, PerClass::Attempts, attempts.into()),
            None => self.counters.add_overall(Overall::AttemptsUnknown, 1),
        }
        if let Some(account) = &mut self.accounts[index] {
            // One that left before its first attempt says nothing about the destination.
            let retried = made != Some(0) && policy.retries(Outcome::TimedOut);
            let attempts = made.unwrap_or_else(|| most(call));
            account.settle(
                self.now,
                call.class,
                attempts,
                Outcome::TimedOut,
                retried,
                &mut self.rng,
            );
        }
    }

    /// How many attempts there were: from the header, or if the route does not set it from Envoy's
    /// own books, which takes longer. Where retries are paid for, the books come first: a header that
    /// the route does not set is that of whoever answered.
    fn attempts<H: Host>(&mut self, call: &Call, host: &mut H) -> u32 {
        if call.granted == Some(0) {
            return 1;
        }
        let told = |host: &mut H| {
            host.response_header(headers::ATTEMPTS).and_then(|v| number(&v)).map(u32::from)
        };
        let attempts = if self.accounts[usize::from(call.policy)].is_some() {
            in_books(host).or_else(|| told(host))
        } else {
            told(host).or_else(|| in_books(host))
        };
        match attempts.filter(|n| (1..=MOST_ATTEMPTS).contains(n)) {
            Some(attempts) => attempts.min(most(call)),
            None => {
                self.counters.add_overall(Overall::AttemptsUnknown, 1);
                1
            }
        }
    }

    /// Minds what a destination says that has not done what it was asked. What another filter
    /// refused, at the lever or since it was too late, says nothing about the destination.
    fn mind_pushback(&mut self, call: &Call, host: &mut impl Host) {
        if host.response_header(headers::REFUSED).is_some() {
            return;
        }
        let now = self.now;
        let grpc = host.response_header("grpc-retry-pushback-ms");
        let said = grpc_pushback(grpc.as_deref(), MOST_QUIET)
            .or_else(|| retry_after(&host.response_header("retry-after")?, now, MOST_QUIET));
        if let Some(said) = said {
            let wait = match said {
                Pushback::Stop => MOST_QUIET_UNTOLD,
                other => other.wait().unwrap_or(MOST_QUIET_UNTOLD),
            };
            self.quiet.until(call.host, call.class, now + wait);
        }
    }
}

/// How long a destination gets no retries that has said "do not retry" and no time.
const MOST_QUIET_UNTOLD: Nanos = Nanos::from_secs(1);

/// How the last attempt ended.
fn outcome_of(policy: &Policy, host: &mut impl Host) -> Outcome {
    let status = host.response_header(":status").and_then(|value| number(&value)).unwrap_or(0);
    let grpc = if status == 200 { host.response_header("grpc-status") } else { None };
    policy.outcome(status, grpc.and_then(|v| number(&v)).and_then(|n| u8::try_from(n).ok()))
}

/// The attempts in Envoy's books; 0: none was made.
fn in_books(host: &mut impl Host) -> Option<u32> {
    let bytes = host.attribute(&["upstream", "request_attempt_count"])?;
    u32::try_from(u64::from_le_bytes(bytes.try_into().ok()?)).ok()
}

/// The most attempts that a request can have had, as far as it is known here.
fn most(call: &Call) -> u32 {
    call.granted.map_or(MOST_ATTEMPTS, |granted| u32::from(granted) + 1)
}

/// A number of at most five digits.
fn number(value: &[u8]) -> Option<u16> {
    let value = value.trim_ascii();
    let digits = (1..=5).contains(&value.len()) && value.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(value).ok().filter(|_| digits)?.parse().ok()
}
