//! Which HTTP methods may be sent twice (RFC 9110, 9.2). Names are case-sensitive.

/// Whether the method only reads: GET, HEAD, OPTIONS, TRACE.
#[must_use]
pub fn is_safe(method: &str) -> bool {
    matches!(method, "GET" | "HEAD" | "OPTIONS" | "TRACE")
}

/// Whether doing it twice is like doing it once: the safe ones, PUT and DELETE. What is not
/// known is not.
#[must_use]
pub fn is_idempotent(method: &str) -> bool {
    is_safe(method) || matches!(method, "PUT" | "DELETE")
}
