//! Addresses and networks as a configuration writes them.

use std::net::{IpAddr, SocketAddr};

use super::{Endpoint, Network};

/// `10.0.0.7:80`, `[::1]:80`, `db.shop.svc:5432`.
pub(crate) fn endpoint(text: &str) -> Result<Endpoint, &'static str> {
    if let Ok(address) = text.parse::<SocketAddr>() {
        return match address.port() {
            0 => Err("there is no port 0"),
            _ => Ok(Endpoint::Address(address)),
        };
    }
    let (host, port) = text.rsplit_once(':').ok_or("the port is missing")?;
    let port: u16 = port.parse().map_err(|_| "this is not a port from 1 to 65_535")?;
    if port == 0 {
        return Err("there is no port 0");
    }
    if is_host(host) {
        Ok(Endpoint::Name(host.to_owned(), port))
    } else {
        Err("this is not a host name")
    }
}

/// What DNS knows as a name.
pub(crate) fn is_host(host: &str) -> bool {
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    // What looks like an address and is none is no name.
    let numeric = host.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    host.len() <= 253 && !numeric && host.strip_suffix('.').unwrap_or(host).split('.').all(label)
}

/// `10.0.0.0/8`, `fd00::/8`, or one address.
pub(crate) fn network(text: &str) -> Result<Network, &'static str> {
    let (address, bits) = match text.split_once('/') {
        Some((address, bits)) => (address, Some(bits)),
        None => (text, None),
    };
    let base: IpAddr = address.parse().map_err(|_| "this is not a network")?;
    let most = if base.is_ipv4() { 32 } else { 128 };
    let bits = match bits {
        None => most,
        Some(bits) => bits.parse().ok().filter(|b| *b <= most).ok_or("this prefix is too long")?,
    };
    let network = Network { base, bits };
    // 10.0.0.1/8 would be read as all of 10: whoever wrote it meant something else.
    let first = match base {
        IpAddr::V4(v4) => u128::from(v4.to_bits()) & low(32 - u32::from(bits)) == 0,
        IpAddr::V6(v6) => v6.to_bits() & low(128 - u32::from(bits)) == 0,
    };
    if first { Ok(network) } else { Err("this address has bits beyond its prefix") }
}

/// So many ones.
fn low(bits: u32) -> u128 {
    1u128.checked_shl(bits).map_or(u128::MAX, |one| one - 1)
}
