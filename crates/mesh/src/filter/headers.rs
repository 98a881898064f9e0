//! Names of headers, and which of them a stranger may not send.

/// Carries the class from hop to hop if nothing else is configured.
pub const CLASS: &str = "x-damper-class";
/// An answer with it says OVERLOADED: what is below is overloaded, retries are no help.
pub const OVERLOADED: &str = "x-damper-overloaded";
/// An answer that the filter itself gave says why: `lever` or `deadline`.
pub const REFUSED: &str = "x-damper-refused";

/// Envoy's retry limit of a request.
pub const MAX_RETRIES: &str = "x-envoy-max-retries";
/// Envoy's conditions of a request.
pub const RETRY_ON: &str = "x-envoy-retry-on";
/// Envoy's conditions by gRPC status.
pub const RETRY_GRPC_ON: &str = "x-envoy-retry-grpc-on";
/// Statuses for `retriable-status-codes`.
pub const STATUS_CODES: &str = "x-envoy-retriable-status-codes";
/// Envoy's timeout of one attempt.
pub const PER_TRY_TIMEOUT: &str = "x-envoy-upstream-rq-per-try-timeout-ms";
/// Envoy's timeout of a request.
pub const TIMEOUT: &str = "x-envoy-upstream-rq-timeout-ms";
/// Attempts, in a request (which one it is) and in an answer (how many there were).
pub const ATTEMPTS: &str = "x-envoy-attempt-count";
/// Whether Envoy calls a request internal.
pub const INTERNAL: &str = "x-envoy-internal";
/// W3C baggage.
pub const BAGGAGE: &str = "baggage";

/// What only we and our mesh say: taken out of what a stranger sends, beside the headers of the
/// class and of the deadline and our key in `baggage`.
pub const PROTECTED: [&str; 15] = [
    MAX_RETRIES,
    RETRY_ON,
    RETRY_GRPC_ON,
    STATUS_CODES,
    "x-envoy-retriable-header-names",
    "x-envoy-hedge-on-per-try-timeout",
    PER_TRY_TIMEOUT,
    TIMEOUT,
    "x-envoy-upstream-rq-timeout-alt-response",
    "x-envoy-upstream-stream-duration-ms",
    "x-envoy-expected-rq-timeout-ms",
    ATTEMPTS,
    "x-envoy-is-timeout-retry",
    "grpc-previous-rpc-attempts",
    OVERLOADED,
];

/// Whether a header has a meaning of its own, so that no class and no deadline can travel in it.
pub(super) fn is_reserved(name: &str) -> bool {
    const OTHERS: [&str; 14] = [
        INTERNAL,
        BAGGAGE,
        REFUSED,
        "host",
        "content-length",
        "transfer-encoding",
        "connection",
        "te",
        "traceparent",
        "tracestate",
        "x-request-id",
        "x-forwarded-for",
        "authorization",
        "cookie",
    ];
    // The timeout that Envoy hands on is a deadline, and may be read as one.
    let handed_on = name == "x-envoy-expected-rq-timeout-ms";
    (PROTECTED.contains(&name) && !handed_on) || OTHERS.contains(&name)
}
