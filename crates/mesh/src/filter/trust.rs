//! Whose word counts: networks and SPIFFE ids.

use std::net::IpAddr;

/// Whether a text is a source: a network, or the beginning of a SPIFFE id with its trust domain.
pub(super) fn is_source(text: &str) -> bool {
    Source::parse(text).is_some()
}

/// Somebody who is trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// A network.
    Network {
        /// Its address.
        address: IpAddr,
        /// How many bits of it count.
        bits: u8,
    },
    /// What the SPIFFE id of a peer's certificate begins with.
    Spiffe(Box<str>),
}

impl Source {
    /// Reads a source. `None`: it is none.
    pub(super) fn parse(text: &str) -> Option<Self> {
        if let Some(id) = text.strip_prefix("spiffe://") {
            // `spiffe://mesh` would be the beginning of `spiffe://mesh.evil.example/`, too.
            let whole_domain = id.find('/').is_some_and(|slash| slash > 0);
            let printable = id.bytes().all(|b| (b'!'..=b'~').contains(&b));
            return (whole_domain && printable).then(|| Self::Spiffe(text.into()));
        }
        let (address, bits) = text.split_once('/')?;
        let address: IpAddr = address.parse().ok()?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.parse().ok().filter(|bits| *bits <= most && !text.contains("/+"))?;
        Some(Self::Network { address, bits })
    }

    /// Whether an address is in this network.
    pub(super) fn has_address(&self, other: IpAddr) -> bool {
        let Self::Network { address, bits } = self else { return false };
        // An IPv4 address can come as an IPv6 one.
        let (a, b, width) = match (address, other.to_canonical()) {
            (IpAddr::V4(a), IpAddr::V4(b)) => {
                (u128::from(a.to_bits()), u128::from(b.to_bits()), 32)
            }
            (IpAddr::V6(a), IpAddr::V6(b)) => (a.to_bits(), b.to_bits(), 128),
            _ => return false,
        };
        let ignored = width - u32::from(*bits);
        ignored >= 128 || (a ^ b) >> ignored == 0
    }

    /// Whether a SPIFFE id begins like this.
    pub(super) fn has_id(&self, id: &str) -> bool {
        matches!(self, Self::Spiffe(start) if id.starts_with(&**start))
    }
}

/// The address in `1.2.3.4:567` or `[::1]:567`.
pub(super) fn address(text: &str) -> Option<IpAddr> {
    if let Some(rest) = text.strip_prefix('[') {
        return rest.split(']').next()?.parse().ok();
    }
    match text.parse() {
        Ok(address) => Some(address),
        Err(_) => text.rsplit_once(':')?.0.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_networks_and_ids() {
        for good in
            ["10.0.0.0/8", "::1/128", "0.0.0.0/0", "::/0", "spiffe://mesh/", "spiffe://a/ns/b/"]
        {
            assert!(is_source(good), "{good}");
        }
        for bad in [
            "10.0.0.0",
            "10.0.0.0/33",
            "::1/129",
            "x/8",
            "spiffe://mesh",
            "spiffe:///",
            "10.0.0.0/+8",
            "",
        ] {
            assert!(!is_source(bad), "{bad}");
        }
    }

    #[test]
    fn an_address_is_in_its_network() {
        let inside = |network: &str, text: &str| {
            Source::parse(network).unwrap().has_address(address(text).unwrap())
        };
        assert!(inside("10.0.0.0/8", "10.200.1.2:1234"));
        assert!(!inside("10.0.0.0/8", "11.0.0.0:1"));
        assert!(inside("0.0.0.0/0", "203.0.113.9:80") && inside("::/0", "[2001:db8::1]:80"));
        assert!(inside("2001:db8::/32", "[2001:db8:1::1]:80"));
        assert!(!inside("2001:db8::/33", "[2001:db8:8000::1]:80"));
        assert!(inside("127.0.0.0/8", "[::ffff:127.0.0.1]:80"));
        assert!(!inside("::1/128", "127.0.0.1:80"));
    }

    #[test]
    fn an_id_begins_like_its_source() {
        let source = Source::parse("spiffe://mesh/ns/shop/").unwrap();
        assert!(source.has_id("spiffe://mesh/ns/shop/sa/pay"));
        assert!(!source.has_id("spiffe://mesh/ns/shopping/sa/pay"));
    }
}
