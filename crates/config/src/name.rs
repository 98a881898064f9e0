//! The name of a service, however a file writes it.

use std::fmt;

use serde::Serialize;

/// A service, in a namespace if one is said.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Name {
    /// The service.
    pub service: String,
    /// Its namespace.
    pub namespace: Option<String>,
}

impl Name {
    /// A service.
    #[must_use]
    pub fn new(service: &str, namespace: Option<&str>) -> Self {
        Self { service: service.to_owned(), namespace: namespace.map(str::to_owned) }
    }

    /// The service behind a host, an address or a URL: `orders`, `orders:80`,
    /// `orders.shop.svc.cluster.local`, `http://orders.shop:8080/path`. A host outside of the
    /// cluster keeps its whole name. `home` is the namespace of who says so. `None`: an address by
    /// number, a pattern, or nothing.
    #[must_use]
    pub fn of_host(host: &str, home: Option<&str>) -> Option<Self> {
        let host = host.split_once("://").map_or(host, |(_, rest)| rest);
        let host = host.split(['/', '?', '#']).next().unwrap_or_default();
        let host = host.rsplit_once('@').map_or(host, |(_, rest)| rest);
        let host = host.split_once(':').map_or(host, |(name, _)| name);
        let host = host.trim_end_matches('.');
        let word = |text: &str| {
            !text.is_empty()
                && text.len() <= 253
                && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
        };
        if !word(host) || host.chars().all(|c| c.is_ascii_digit() || c == '.') {
            return None;
        }
        let parts: Vec<_> = host.split('.').collect();
        match parts.as_slice() {
            [service] => Some(Self::new(service, home)),
            [service, namespace] | [service, namespace, "svc", ..] if !is_domain_end(namespace) => {
                Some(Self::new(service, Some(namespace)))
            }
            _ => Some(Self::new(host, None)),
        }
    }

    /// Whether both can mean the same service: a namespace that is not said matches any.
    #[must_use]
    pub fn matches(&self, other: &Self) -> bool {
        self.service == other.service
            && match (&self.namespace, &other.namespace) {
                (Some(a), Some(b)) => a == b,
                _ => true,
            }
    }
}

/// Ends of names in the world's DNS that are more likely than a namespace of that name.
fn is_domain_end(word: &str) -> bool {
    matches!(
        word,
        "com"
            | "org"
            | "net"
            | "io"
            | "dev"
            | "local"
            | "internal"
            | "localhost"
            | "example"
            | "test"
    )
}

impl fmt::Display for Name {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(out, "{}.{namespace}", self.service),
            None => out.write_str(&self.service),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_a_service() {
        let of = |host: &str| Name::of_host(host, Some("shop")).map(|name| name.to_string());
        assert_eq!(of("orders").as_deref(), Some("orders.shop"));
        assert_eq!(of("orders:80").as_deref(), Some("orders.shop"));
        assert_eq!(of("orders.pay:80").as_deref(), Some("orders.pay"));
        assert_eq!(of("orders.pay.svc.cluster.local").as_deref(), Some("orders.pay"));
        assert_eq!(of("http://u:p@orders.pay.svc:8080/x").as_deref(), Some("orders.pay"));
        assert_eq!(of("api.example.com").as_deref(), Some("api.example.com"));
        assert_eq!(of("example.com").as_deref(), Some("example.com"));
        assert_eq!(of("10.0.0.1:80"), None);
        assert_eq!(of("*"), None);
        assert_eq!(of(""), None);
    }
}
