//! Linkerd: annotations of services and routes, service profiles, rate limits.

pub mod annotations;
pub mod service_profile;

/// Who does what nobody wrote.
pub(crate) const WHO: &str = "Linkerd";
