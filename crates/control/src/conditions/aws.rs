//! Error codes of AWS services, by botocore's classes.

/// Codes that say the failure will pass.
pub const TRANSIENT_CODES: [&str; 3] =
    ["RequestTimeout", "RequestTimeoutException", "PriorRequestNotComplete"];

/// Codes that say the caller is throttled.
pub const THROTTLING_CODES: [&str; 14] = [
    "Throttling",
    "ThrottlingException",
    "ThrottledException",
    "RequestThrottledException",
    "TooManyRequestsException",
    "ProvisionedThroughputExceededException",
    "TransactionInProgressException",
    "RequestLimitExceeded",
    "BandwidthLimitExceeded",
    "LimitExceededException",
    "RequestThrottled",
    "SlowDown",
    "PriorRequestNotComplete",
    "EC2ThrottledException",
];

/// What botocore makes of an error code. `PriorRequestNotComplete` is of both classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ErrorClass {
    /// It will pass.
    pub transient: bool,
    /// The caller is throttled.
    pub throttling: bool,
}

impl ErrorClass {
    /// The class of a code; `None`: of no class, so not retried for its code.
    #[must_use]
    pub fn of(code: &str) -> Option<Self> {
        let transient = TRANSIENT_CODES.contains(&code);
        let throttling = THROTTLING_CODES.contains(&code);
        (transient || throttling).then_some(Self { transient, throttling })
    }
}
