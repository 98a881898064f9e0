//! gRPC status codes, and sets of them.

/// A gRPC status code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum GrpcStatus {
    /// Done.
    Ok,
    /// The caller cancelled it.
    Cancelled,
    /// Nobody said what.
    Unknown,
    /// The request makes no sense.
    InvalidArgument,
    /// The deadline passed.
    DeadlineExceeded,
    /// There is no such thing.
    NotFound,
    /// There already is one.
    AlreadyExists,
    /// The caller may not.
    PermissionDenied,
    /// A quota or a resource is used up.
    ResourceExhausted,
    /// The system is not in the state for it.
    FailedPrecondition,
    /// A conflict; begin the transaction again.
    Aborted,
    /// Beyond the end.
    OutOfRange,
    /// The callee cannot do that.
    Unimplemented,
    /// An invariant is broken.
    Internal,
    /// The callee cannot be used now.
    Unavailable,
    /// Data is lost.
    DataLoss,
    /// Nobody knows who the caller is.
    Unauthenticated,
}

impl GrpcStatus {
    /// Every status, in the order of their codes.
    pub const ALL: [Self; 17] = [
        Self::Ok,
        Self::Cancelled,
        Self::Unknown,
        Self::InvalidArgument,
        Self::DeadlineExceeded,
        Self::NotFound,
        Self::AlreadyExists,
        Self::PermissionDenied,
        Self::ResourceExhausted,
        Self::FailedPrecondition,
        Self::Aborted,
        Self::OutOfRange,
        Self::Unimplemented,
        Self::Internal,
        Self::Unavailable,
        Self::DataLoss,
        Self::Unauthenticated,
    ];

    const NAMES: [&'static str; 17] = [
        "OK",
        "CANCELLED",
        "UNKNOWN",
        "INVALID_ARGUMENT",
        "DEADLINE_EXCEEDED",
        "NOT_FOUND",
        "ALREADY_EXISTS",
        "PERMISSION_DENIED",
        "RESOURCE_EXHAUSTED",
        "FAILED_PRECONDITION",
        "ABORTED",
        "OUT_OF_RANGE",
        "UNIMPLEMENTED",
        "INTERNAL",
        "UNAVAILABLE",
        "DATA_LOSS",
        "UNAUTHENTICATED",
    ];

    /// Its code, `0..=16`.
    #[inline]
    #[must_use]
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// Its name, as `DEADLINE_EXCEEDED`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// The status of a code.
    #[must_use]
    pub fn from_code(code: u32) -> Option<Self> {
        Self::ALL.get(usize::try_from(code).ok()?).copied()
    }

    /// The status that a service configuration names: a code, or a name in whatever case.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        match text.parse() {
            Ok(code) => Self::from_code(code),
            Err(_) => Self::ALL.into_iter().find(|s| s.name().eq_ignore_ascii_case(text)),
        }
    }

    /// Whether it says that the request is at fault, and the callee works.
    #[must_use]
    pub const fn blames_request(self) -> bool {
        matches!(
            self,
            Self::Cancelled
                | Self::InvalidArgument
                | Self::NotFound
                | Self::AlreadyExists
                | Self::PermissionDenied
                | Self::FailedPrecondition
                | Self::OutOfRange
                | Self::Unimplemented
                | Self::Unauthenticated
        )
    }
}

/// A set of gRPC statuses. [`GrpcStatus::Ok`] is never in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct GrpcSet(u32);

impl GrpcSet {
    /// None.
    pub const EMPTY: Self = Self(0);
    /// Those that Envoy has words for, which are also those that gRPC honours in a retry policy
    /// from xDS (A44).
    pub const XDS: Self = Self::EMPTY
        .with(GrpcStatus::Cancelled)
        .with(GrpcStatus::DeadlineExceeded)
        .with(GrpcStatus::Internal)
        .with(GrpcStatus::ResourceExhausted)
        .with(GrpcStatus::Unavailable);

    /// The set with one more.
    #[must_use]
    pub const fn with(self, status: GrpcStatus) -> Self {
        Self((self.0 | 1 << status as u32) & !1)
    }

    /// What is in either.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether it is in the set.
    #[inline]
    #[must_use]
    pub const fn contains(self, status: GrpcStatus) -> bool {
        self.0 & (1 << status as u32) != 0
    }

    /// Whether it has no member.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}
