//! How attempts end: what a status means.

use std::ops::RangeInclusive;

use damper_control::{Nanos, Outcome, Pushback, pushback};

use super::grpc::Received;
use super::tally::End;

/// How one attempt ended, as its caller sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptEnd {
    /// A good reply.
    Ok,
    /// Refused: 429, 503, or UNAVAILABLE, RESOURCE_EXHAUSTED.
    Rejected,
    /// Dropped by an overload control for more important work. Only a server that says so
    /// (`x-damper-end: shed`) can be told from one that rejects.
    Shed,
    /// Any other reply that is not good.
    Failed,
    /// No reply within the time for an attempt, or the server says so (408, 504,
    /// DEADLINE_EXCEEDED).
    TimedOut,
    /// Its call was given up while it was under way; the server may be working for nobody.
    Abandoned,
    /// No connection, or one that broke.
    Connection,
}

impl AttemptEnd {
    /// All of them, in the order of counts.
    pub const ALL: [Self; 7] = [
        Self::Ok,
        Self::Rejected,
        Self::Shed,
        Self::Failed,
        Self::TimedOut,
        Self::Abandoned,
        Self::Connection,
    ];

    /// In words, for people and for JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Rejected => "rejected",
            Self::Shed => "shed",
            Self::Failed => "failed",
            Self::TimedOut => "timed_out",
            Self::Abandoned => "abandoned",
            Self::Connection => "connection",
        }
    }

    /// As a control sees it.
    pub(super) const fn outcome(self) -> Outcome {
        match self {
            Self::Ok => Outcome::Success,
            Self::Rejected => Outcome::Rejected,
            Self::Shed => Outcome::Shed,
            Self::TimedOut | Self::Abandoned => Outcome::TimedOut,
            Self::Failed | Self::Connection => Outcome::Failed,
        }
    }

    /// How a request ends whose last attempt ended like this.
    pub(super) const fn of_request(self) -> End {
        match self {
            Self::Ok => End::Ok,
            Self::Rejected | Self::Shed => End::Rejected,
            Self::Failed => End::Failed,
            Self::TimedOut | Self::Abandoned => End::TimedOut,
            Self::Connection => End::Connection,
        }
    }
}

/// An attempt that ended, with what the server said about coming back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ended {
    pub(super) end: AttemptEnd,
    pub(super) pushback: Option<Pushback>,
    /// Of gRPC: what came in the reply.
    pub(super) received: Received,
}

impl From<AttemptEnd> for Ended {
    fn from(end: AttemptEnd) -> Self {
        Self { end, pushback: None, received: Received::default() }
    }
}

/// What a reply says beside its status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) shed: bool,
    pub(super) pushback: Option<Pushback>,
}

impl Said {
    /// Takes up a header.
    pub(super) fn header(&mut self, name: &str, value: &[u8]) {
        // Most headers are told apart by their length alone.
        match name.len() {
            12 if name.eq_ignore_ascii_case("x-damper-end") => {
                self.shed = value.trim_ascii() == b"shed";
            }
            11 if name.eq_ignore_ascii_case("retry-after") => {
                self.pushback = pushback::retry_after(value, since_1970(), Nanos::MAX);
            }
            22 if name.eq_ignore_ascii_case("grpc-retry-pushback-ms") => {
                self.pushback = pushback::grpc_pushback([value], Nanos::MAX);
            }
            _ => {}
        }
    }

    pub(super) fn with(self, end: AttemptEnd) -> Ended {
        let end = if end == AttemptEnd::Rejected && self.shed { AttemptEnd::Shed } else { end };
        Ended { pushback: self.pushback, ..end.into() }
    }
}

fn since_1970() -> Nanos {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    Nanos(since.map_or(0, |time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)))
}

/// The end that an HTTP status means; one that is expected is good.
pub(super) fn of_status(status: u16, expected: &[RangeInclusive<u16>]) -> AttemptEnd {
    let good = match expected {
        [] => (200..=299).contains(&status),
        some => some.iter().any(|range| range.contains(&status)),
    };
    match status {
        _ if good => AttemptEnd::Ok,
        429 | 503 => AttemptEnd::Rejected,
        408 | 504 => AttemptEnd::TimedOut,
        _ => AttemptEnd::Failed,
    }
}

/// The end that a status of gRPC means; none at all is a failure.
pub(super) fn of_grpc(code: Option<&[u8]>) -> AttemptEnd {
    match code {
        Some(b"0") => AttemptEnd::Ok,
        Some(b"8" | b"14") => AttemptEnd::Rejected,
        Some(b"4") => AttemptEnd::TimedOut,
        _ => AttemptEnd::Failed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_by_status() {
        use AttemptEnd::{Failed, Ok, Rejected, TimedOut};
        let of = |status| of_status(status, &[]);
        assert_eq!(
            [200, 204, 301, 503, 429, 504, 408, 500, 404].map(of),
            [Ok, Ok, Failed, Rejected, Rejected, TimedOut, TimedOut, Failed, Failed]
        );
        assert_eq!(of_status(404, &[404..=404]), Ok, "what is expected is good");
        assert_eq!(of_status(200, &[404..=404]), Failed);
        let grpc = |code: &'static str| of_grpc(Some(code.as_bytes()));
        assert_eq!(
            ["0", "14", "8", "4", "13"].map(grpc),
            [Ok, Rejected, Rejected, TimedOut, Failed]
        );
        assert_eq!(of_grpc(None), Failed, "no status");
    }

    #[test]
    fn what_is_shed_and_when_to_come_back_are_read() {
        let mut said = Said::default();
        said.header("X-Damper-End", b"shed");
        said.header("Retry-After", b"2");
        let ended = said.with(AttemptEnd::Rejected);
        assert_eq!(ended.end, AttemptEnd::Shed);
        assert_eq!(ended.pushback, Some(Pushback::After(Nanos::from_secs(2))));
        assert_eq!(said.with(AttemptEnd::Ok).end, AttemptEnd::Ok);
        said.header("grpc-retry-pushback-ms", b"-1");
        assert_eq!(said.pushback, Some(Pushback::Stop));
    }

    #[test]
    fn every_end_of_an_attempt_is_an_end_of_a_request() {
        for end in AttemptEnd::ALL {
            assert_eq!(end == AttemptEnd::Ok, end.of_request() == End::Ok);
            assert_eq!(end == AttemptEnd::Ok, end.outcome() == Outcome::Success);
            assert!(!end.name().is_empty());
        }
    }
}
