//! What a layer retries: kinds of failure, so that layers can be multiplied only where they retry
//! the same.

use serde::{Serialize, Serializer};

/// A kind of failure as the caller sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Failure {
    /// No connection could be made.
    Connect,
    /// The other side refused the stream before it began (HTTP/2).
    Refused,
    /// The connection broke after the request was sent.
    Reset,
    /// One attempt took too long.
    AttemptTimeout,
    /// 429.
    TooMany,
    /// 500 and other 5xx besides those below.
    ServerError,
    /// 502.
    BadGateway,
    /// 503.
    Unavailable,
    /// 504.
    GatewayTimeout,
    /// gRPC CANCELLED.
    Cancelled,
    /// 409.
    Conflict,
    /// Any other 4xx.
    ClientError,
    /// gRPC UNAVAILABLE. A status of gRPC comes with a 200 of HTTP: who only looks at that sees no
    /// failure, so that these are kinds of their own.
    GrpcUnavailable,
    /// gRPC DEADLINE_EXCEEDED.
    GrpcDeadline,
    /// gRPC RESOURCE_EXHAUSTED.
    GrpcExhausted,
    /// gRPC INTERNAL, UNKNOWN and DATA_LOSS.
    GrpcError,
    /// gRPC ABORTED.
    GrpcAborted,
    /// Any other status of gRPC.
    GrpcOther,
}

/// All kinds, in order.
pub const ALL: [Failure; 18] = [
    Failure::Connect,
    Failure::Refused,
    Failure::Reset,
    Failure::AttemptTimeout,
    Failure::TooMany,
    Failure::ServerError,
    Failure::BadGateway,
    Failure::Unavailable,
    Failure::GatewayTimeout,
    Failure::Cancelled,
    Failure::Conflict,
    Failure::ClientError,
    Failure::GrpcUnavailable,
    Failure::GrpcDeadline,
    Failure::GrpcExhausted,
    Failure::GrpcError,
    Failure::GrpcAborted,
    Failure::GrpcOther,
];

impl Failure {
    /// As it is printed.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::Refused => "refused",
            Self::Reset => "reset",
            Self::AttemptTimeout => "attempt-timeout",
            Self::TooMany => "429",
            Self::ServerError => "500",
            Self::BadGateway => "502",
            Self::Unavailable => "503",
            Self::GatewayTimeout => "504",
            Self::Cancelled => "cancelled",
            Self::Conflict => "409",
            Self::ClientError => "4xx",
            Self::GrpcUnavailable => "grpc-unavailable",
            Self::GrpcDeadline => "grpc-deadline-exceeded",
            Self::GrpcExhausted => "grpc-resource-exhausted",
            Self::GrpcError => "grpc-internal",
            Self::GrpcAborted => "grpc-aborted",
            Self::GrpcOther => "grpc-other",
        }
    }

    /// The kind of an HTTP status; `None` below 400.
    #[must_use]
    pub fn of_status(status: u32) -> Option<Self> {
        Some(match status {
            409 => Self::Conflict,
            429 => Self::TooMany,
            502 => Self::BadGateway,
            503 => Self::Unavailable,
            504 => Self::GatewayTimeout,
            400..=499 => Self::ClientError,
            500..=599 => Self::ServerError,
            _ => return None,
        })
    }

    /// The kind of a gRPC status by its name, in any spelling, or by its number.
    #[must_use]
    pub fn of_grpc(status: &str) -> Option<Self> {
        let word: String =
            status.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase();
        Some(match word.as_str() {
            "cancelled" | "canceled" | "1" => Self::Cancelled,
            "unknown" | "2" | "internal" | "13" | "dataloss" | "15" => Self::GrpcError,
            "deadlineexceeded" | "4" => Self::GrpcDeadline,
            "resourceexhausted" | "8" => Self::GrpcExhausted,
            "aborted" | "10" => Self::GrpcAborted,
            "unavailable" | "14" => Self::GrpcUnavailable,
            "invalidargument" | "3" | "notfound" | "5" | "alreadyexists" | "6"
            | "permissiondenied" | "7" | "failedprecondition" | "9" | "outofrange" | "11"
            | "unimplemented" | "12" | "unauthenticated" | "16" => Self::GrpcOther,
            _ => return None,
        })
    }

    /// Whether it is a status of gRPC.
    #[must_use]
    pub fn is_grpc(self) -> bool {
        matches!(
            self,
            Self::Cancelled
                | Self::GrpcUnavailable
                | Self::GrpcDeadline
                | Self::GrpcExhausted
                | Self::GrpcError
                | Self::GrpcAborted
                | Self::GrpcOther
        )
    }

    /// What a client of gRPC takes an end for that is no status of gRPC: gRPC's own table of HTTP
    /// statuses, and UNAVAILABLE for connections.
    #[must_use]
    pub fn as_grpc(self) -> Self {
        match self {
            Self::Connect
            | Self::Refused
            | Self::Reset
            | Self::TooMany
            | Self::BadGateway
            | Self::Unavailable
            | Self::GatewayTimeout => Self::GrpcUnavailable,
            Self::AttemptTimeout => Self::GrpcDeadline,
            Self::ServerError | Self::Conflict => Self::GrpcError,
            Self::ClientError => Self::GrpcOther,
            other => other,
        }
    }
}

/// A set of kinds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Failures(u32);

impl Failures {
    /// None.
    pub const NONE: Self = Self(0);
    /// Every kind.
    pub const EVERY: Self = Self((1 << ALL.len()) - 1);
    /// The kinds in which nothing reached the service's code.
    pub const BEFORE: Self = Self(1 << Failure::Connect as u32 | 1 << Failure::Refused as u32);
    /// 502, 503 and 504.
    pub const GATEWAY: Self = Self(
        1 << Failure::BadGateway as u32
            | 1 << Failure::Unavailable as u32
            | 1 << Failure::GatewayTimeout as u32,
    );
    /// Any 5xx.
    pub const SERVER: Self = Self(Self::GATEWAY.0 | 1 << Failure::ServerError as u32);

    /// The statuses of gRPC for which a server is to blame, as [`Self::SERVER`] for HTTP.
    pub const GRPC_SERVER: Self = Self(
        1 << Failure::GrpcUnavailable as u32
            | 1 << Failure::GrpcDeadline as u32
            | 1 << Failure::GrpcError as u32,
    );

    /// These, and all that a client of gRPC takes for one of these. Of an attempt that takes too long
    /// it knows nothing: its deadline is for all attempts together.
    #[must_use]
    pub fn seen_by_grpc(self) -> Self {
        let seen = ALL
            .into_iter()
            .filter(|kind| *kind != Failure::AttemptTimeout && self.contains(kind.as_grpc()));
        let mut all: Self = seen.collect();
        all.add(self);
        all
    }

    /// These kinds.
    #[must_use]
    pub fn of(kinds: &[Failure]) -> Self {
        kinds.iter().copied().collect()
    }

    /// With one more.
    pub fn insert(&mut self, kind: Failure) {
        self.0 |= 1 << kind as u32;
    }

    /// With the kind of a status, if it is one of a failure.
    pub fn extend_status(&mut self, status: u32) {
        self.extend(Failure::of_status(status));
    }

    /// With the kind of a status that is written as a number.
    pub fn extend_word(&mut self, status: Option<&str>) {
        self.extend(status.and_then(|status| Failure::of_status(status.trim().parse().ok()?)));
    }

    fn extend(&mut self, kind: Option<Failure>) {
        if let Some(kind) = kind {
            self.insert(kind);
        }
    }

    /// With all of another set.
    pub fn add(&mut self, other: Self) {
        self.0 |= other.0;
    }

    /// Those in both.
    #[must_use]
    pub fn both(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Whether it is in.
    #[must_use]
    pub fn contains(self, kind: Failure) -> bool {
        self.0 & 1 << kind as u32 != 0
    }

    /// Whether nothing is in.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// What is in, in order.
    pub fn iter(self) -> impl Iterator<Item = Failure> {
        ALL.into_iter().filter(move |kind| self.contains(*kind))
    }
}

impl FromIterator<Failure> for Failures {
    fn from_iter<I: IntoIterator<Item = Failure>>(kinds: I) -> Self {
        let mut all = Self::NONE;
        kinds.into_iter().for_each(|kind| all.insert(kind));
        all
    }
}

impl Serialize for Failures {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_seq(self.iter().map(Failure::name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_place() {
        assert!(ALL.iter().enumerate().all(|(at, kind)| *kind as usize == at));
        assert_eq!(Failures::EVERY.iter().count(), ALL.len());
        assert_ne!(Failure::of_status(503), Failure::of_grpc("UNAVAILABLE"));
        assert_eq!(Failure::of_status(503).map(Failure::as_grpc), Failure::of_grpc("14"));
        assert_eq!(Failure::of_grpc("deadline-exceeded"), Failure::of_grpc("DEADLINE_EXCEEDED"));
        assert_eq!(Failure::of_status(200), None);
    }

    #[test]
    fn a_client_of_grpc_takes_a_503_for_unavailable() {
        let seen = Failures::of(&[Failure::GrpcUnavailable]).seen_by_grpc();
        assert!(seen.contains(Failure::Unavailable) && seen.contains(Failure::Connect));
        assert!(!seen.contains(Failure::ServerError) && !seen.contains(Failure::AttemptTimeout));
    }
}
