//! Where load may go.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs as _};

/// What is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/1.1.
    Http1,
    /// HTTP/2, without TLS by prior knowledge.
    Http2,
    /// gRPC: ends are its status codes.
    Grpc,
}

impl Protocol {
    pub(super) const fn is_http2(self) -> bool {
        !matches!(self, Self::Http1)
    }
}

/// Where load goes: the loopback interface, or a host whose owner has been named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    address: SocketAddr,
    protocol: Protocol,
}

/// Load is sent to the loopback interface only.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0} is not a loopback address with a port, such as 127.0.0.1:8080; load goes nowhere else"
)]
pub struct NotOurs(String);

/// Somebody's word that load may go to a host outside the loopback interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permit {
    host: String,
    owner: String,
}

/// Why load does not go there.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// It is outside the loopback interface, and nobody said that it may be loaded.
    #[error(
        "{0} is not on the loopback interface: load goes there only if its host and whoever answers \
         for it are named"
    )]
    NotPermitted(String),
    /// It has no port, or is no address at all.
    #[error(
        "`{0}` is not a target such as 127.0.0.1:8080, localhost:8080 or http://shop.example:80"
    )]
    NotATarget(String),
    /// Nobody knows its name.
    #[error("the host {host} is not known: {why}")]
    Unknown {
        /// The host.
        host: String,
        /// What the resolver says.
        why: String,
    },
    /// A permit says too little.
    #[error("`{0}` names no host and owner; write HOST=OWNER, such as shop.example=payments-team")]
    NoOwner(String),
}

impl Permit {
    /// Reads `HOST=OWNER`. The host must be the one that the target names, as it is written there.
    ///
    /// # Errors
    /// One of the two is missing, or the host is a pattern.
    pub fn parse(text: &str) -> Result<Self, Refused> {
        let wrong = || Refused::NoOwner(text.to_owned());
        let (host, owner) = text.split_once('=').ok_or_else(wrong)?;
        let (host, owner) = (host.trim(), owner.trim());
        if host.is_empty() || owner.is_empty() || host.contains(['*', '/', ' ']) {
            return Err(wrong());
        }
        Ok(Self { host: host.to_owned(), owner: owner.to_owned() })
    }

    /// Who answers for the host.
    #[must_use]
    pub fn owner(&self) -> &str {
        &self.owner
    }
}

/// A target with the name by which it was called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// Where it is.
    pub target: Target,
    /// Its host and port, for the `host` of requests.
    pub authority: String,
    /// Whether it was called with `https://`.
    pub tls: bool,
    /// Who answers for it; `None`: it is on the loopback interface.
    pub owner: Option<String>,
}

impl Named {
    /// A target as people write it, outside the loopback interface only with a permit for its host.
    /// Without one, no name is looked up.
    ///
    /// # Errors
    /// It is no target, is not permitted, or has a host that nobody knows.
    pub fn parse(text: &str, protocol: Protocol, permits: &[Permit]) -> Result<Self, Refused> {
        let wrong = || Refused::NotATarget(text.to_owned());
        let (tls, bare) = match text.strip_prefix("https://") {
            Some(bare) => (true, bare),
            None => (false, text.strip_prefix("http://").unwrap_or(text)),
        };
        let bare = bare.trim_end_matches('/');
        let authority = bare.to_owned();
        if let Some(target) = Target::parse(bare, protocol).ok().filter(|_| !bare.contains("//")) {
            return Ok(Self { target, authority, tls, owner: None });
        }
        let (host, port) = bare.rsplit_once(':').ok_or_else(wrong)?;
        let port: u16 = port.parse().map_err(|_| wrong())?;
        let bad = |c: char| !c.is_ascii_alphanumeric() && !"-._:[]".contains(c);
        if port == 0 || host.is_empty() || host.contains(bad) {
            return Err(wrong());
        }
        let permit = permits.iter().find(|permit| permit.host.eq_ignore_ascii_case(host));
        let permit = permit.ok_or_else(|| Refused::NotPermitted(host.to_owned()))?;
        let unknown = |why: String| Refused::Unknown { host: host.to_owned(), why };
        let mut found = bare.to_socket_addrs().map_err(|error| unknown(error.to_string()))?;
        let address = found.next().ok_or_else(|| unknown("no address".into()))?;
        let target = Target { address, protocol };
        Ok(Self { target, authority, tls, owner: Some(permit.owner.clone()) })
    }
}

impl Named {
    /// Its host, as it was called.
    #[must_use]
    pub fn host(&self) -> &str {
        self.authority.rsplit_once(':').map_or(self.authority.as_str(), |(host, _)| host)
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.address.fmt(f)
    }
}

impl Target {
    /// The same, spoken to in another way.
    #[must_use]
    pub fn speaking(self, protocol: Protocol) -> Self {
        Self { protocol, ..self }
    }

    /// A target at an address.
    ///
    /// # Errors
    /// It is not a loopback address.
    pub fn new(address: SocketAddr, protocol: Protocol) -> Result<Self, NotOurs> {
        if address.ip().is_loopback() && address.port() != 0 {
            Ok(Self { address, protocol })
        } else {
            Err(NotOurs(address.to_string()))
        }
    }

    /// A target outside loopback, if the owner of its host has agreed to it.
    ///
    /// # Errors
    /// It is neither on the loopback interface nor agreed to.
    pub(crate) fn agreed(
        url: &damper_system::Url,
        address: SocketAddr,
        protocol: Protocol,
        consent: &crate::Consent,
    ) -> Result<Self, NotOurs> {
        if consent.covers(url, address.ip()) && address.port() != 0 {
            return Ok(Self { address, protocol });
        }
        Err(NotOurs(format!("{url} ({address})")))
    }

    /// A target as people write it: `127.0.0.1:8080`, `localhost:8080`, with `http://` or without.
    ///
    /// # Errors
    /// It is not a loopback address with a port. No other name than `localhost` is looked up: what
    /// it stands for is not ours to say.
    pub fn parse(text: &str, protocol: Protocol) -> Result<Self, NotOurs> {
        let wrong = || NotOurs(text.to_owned());
        let bare = text.strip_prefix("http://").unwrap_or(text).trim_end_matches('/');
        let address = match bare.strip_prefix("localhost:") {
            Some(port) => {
                let port = port.parse().map_err(|_| wrong())?;
                SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port)
            }
            None => bare.parse().map_err(|_| wrong())?,
        };
        Self::new(address, protocol).map_err(|_| wrong())
    }

    pub(super) fn address(self) -> SocketAddr {
        self.address
    }

    pub(super) fn protocol(self) -> Protocol {
        self.protocol
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outside_only_with_an_owner() {
        let permits = [Permit::parse("192.0.2.7=payments").unwrap()];
        let of = |text: &str, permits: &[Permit]| Named::parse(text, Protocol::Http1, permits);
        let named = of("http://192.0.2.7:80/", &permits).unwrap();
        assert_eq!(named.owner.as_deref(), Some("payments"));
        assert_eq!((named.authority.as_str(), named.target.address().port()), ("192.0.2.7:80", 80));
        assert_eq!(of("127.0.0.1:80", &[]).unwrap().owner, None);
        for (text, permits) in [("192.0.2.7:80", &[][..]), ("192.0.2.8:80", &permits)] {
            assert!(matches!(of(text, permits), Err(Refused::NotPermitted(_))), "{text}");
        }
        for text in
            ["", "192.0.2.7", "192.0.2.7:0", "a b:80", "x:99999", "https://http://127.0.0.1:80"]
        {
            assert!(matches!(of(text, &permits), Err(Refused::NotATarget(_))), "{text}");
        }
        let tls = of("https://192.0.2.7:443/", &permits).unwrap();
        assert!(tls.tls && !named.tls && tls.host() == "192.0.2.7");
        for text in ["", "host", "host=", "=owner", "*=me", "*.example=me"] {
            assert_eq!(Permit::parse(text), Err(Refused::NoOwner(text.into())));
        }
    }

    #[test]
    fn only_the_loopback_interface() {
        for fine in
            ["127.0.0.1:80", "http://127.0.0.1:8080/", "localhost:9", "[::1]:80", "127.9.9.9:1"]
        {
            assert!(Target::parse(fine, Protocol::Http1).is_ok(), "{fine}");
        }
        for not in [
            "10.0.0.1:80",
            "example.org:80",
            "192.168.1.1:80",
            "0.0.0.0:80",
            "127.0.0.1",
            "[::]:80",
            "127.0.0.1:0",
            "localhost",
            "localhost.example.org:80",
            "127.0.0.1.example.org:80",
            "",
            "169.254.169.254:80",
            "https://127.0.0.1:80",
            "[::ffff:10.0.0.1]:80",
        ] {
            assert!(Target::parse(not, Protocol::Http1).is_err(), "{not}");
        }
    }
}
