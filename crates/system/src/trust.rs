//! Whom a machine trusts.

use std::path::PathBuf;

/// Where systems keep the authorities that they trust, as one file.
const PLACES: [&str; 5] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
    "/opt/homebrew/etc/ca-certificates/cert.pem",
];

/// The file with the authorities that this system trusts: `SSL_CERT_FILE`, or where systems keep it.
#[must_use]
pub fn authorities() -> Option<PathBuf> {
    let named = std::env::var_os("SSL_CERT_FILE").filter(|name| !name.is_empty());
    let found = || PLACES.iter().map(PathBuf::from).find(|path| path.exists());
    named.map(PathBuf::from).or_else(found)
}
