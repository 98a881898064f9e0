//! TLS 1.3 and 1.2 by rustls, with its own defaults: no old versions, no weak suites, no
//! renegotiation.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use damper_system::sidecar::{ClientTls, Tls};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::CryptoProvider;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{ClientConfig, Error as RustlsError, RootCertStore, ServerConfig};
use tokio_rustls::{TlsAcceptor, TlsConnector};

/// Why certificates cannot be used. No key is ever part of it.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file has not what it should have.
    #[error("`{}` has no {what} that can be read (PEM)", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What it should have.
        what: &'static str,
    },
    /// They do not fit together, or are not allowed.
    #[error("the certificates cannot be used")]
    Config(#[source] RustlsError),
    /// The authorities of callers cannot be used.
    #[error("the authorities for callers cannot be used: {0}")]
    Authorities(String),
    /// The system has no file with authorities where it is looked for.
    #[error("this system has no file with the authorities that it trusts where one is looked for")]
    NoAuthorities,
    /// No certificate has this name.
    #[error("`{0}` is not the name of a server")]
    Name(String),
}

/// What HTTP is called in TLS.
const HTTP1: &[u8] = b"http/1.1";
const HTTP2: &[u8] = b"h2";

fn provider() -> Arc<CryptoProvider> {
    Arc::new(tokio_rustls::rustls::crypto::ring::default_provider())
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let missing = || TlsError::File { path: path.to_path_buf(), what: "certificate" };
    let all = CertificateDer::pem_file_iter(path).map_err(|_| missing())?;
    let all: Vec<_> = all.collect::<Result<_, _>>().map_err(|_| missing())?;
    if all.is_empty() { Err(missing()) } else { Ok(all) }
}

fn key(path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    let missing = |_| TlsError::File { path: path.to_path_buf(), what: "private key" };
    PrivateKeyDer::from_pem_file(path).map_err(missing)
}

fn roots(path: &Path) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(path)? {
        roots.add(certificate).map_err(TlsError::Config)?;
    }
    Ok(roots)
}

/// The authorities in a file, or those of this system, of which some may be too old to be of use.
pub(crate) fn authorities(file: Option<&Path>) -> Result<RootCertStore, TlsError> {
    if let Some(file) = file {
        return roots(file);
    }
    let path = damper_system::authorities().ok_or(TlsError::NoAuthorities)?;
    let mut roots = RootCertStore::empty();
    match roots.add_parsable_certificates(certificates(&path)?) {
        (0, _) => Err(TlsError::File { path, what: "certificate" }),
        _ => Ok(roots),
    }
}

/// For callers.
///
/// # Errors
/// A file cannot be read or is of no use.
pub fn acceptor(tls: &Tls) -> Result<TlsAcceptor, TlsError> {
    let builder = ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(TlsError::Config)?;
    let builder = match &tls.client_ca {
        None => builder.with_no_client_auth(),
        Some(ca) => {
            let verifier =
                WebPkiClientVerifier::builder_with_provider(Arc::new(roots(ca)?), provider())
                    .build()
                    .map_err(|error| TlsError::Authorities(error.to_string()))?;
            builder.with_client_cert_verifier(verifier)
        }
    };
    let mut config = builder
        .with_single_cert(certificates(&tls.certificate)?, key(&tls.key)?)
        .map_err(TlsError::Config)?;
    config.alpn_protocols = vec![HTTP2.to_vec(), HTTP1.to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// TLS towards an upstream. Each connection offers the one protocol that it is made for.
#[derive(Clone)]
pub struct ToUpstream {
    http1: TlsConnector,
    http2: TlsConnector,
    name: ServerName<'static>,
}

impl std::fmt::Debug for ToUpstream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ToUpstream").field("name", &self.name).finish_non_exhaustive()
    }
}

impl ToUpstream {
    /// As the configuration has it.
    ///
    /// # Errors
    /// A file cannot be read or is of no use.
    pub fn new(tls: &ClientTls) -> Result<Self, TlsError> {
        Self::with(roots(&tls.ca)?, tls.identity.as_ref(), &tls.name)
    }

    /// With a server of this name, in which these authorities are believed.
    pub(crate) fn with(
        roots: RootCertStore,
        identity: Option<&(PathBuf, PathBuf)>,
        name: &str,
    ) -> Result<Self, TlsError> {
        let builder = ClientConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(TlsError::Config)?
            .with_root_certificates(roots);
        let config = match identity {
            None => builder.with_no_client_auth(),
            Some((chain, secret)) => builder
                .with_client_auth_cert(certificates(chain)?, key(secret)?)
                .map_err(TlsError::Config)?,
        };
        let wrong = |_| TlsError::Name(name.to_owned());
        let name = ServerName::try_from(name.to_owned()).map_err(wrong)?;
        let with = |alpn: &[u8]| {
            let mut config = config.clone();
            config.alpn_protocols = vec![alpn.to_vec()];
            TlsConnector::from(Arc::new(config))
        };
        Ok(Self { http1: with(HTTP1), http2: with(HTTP2), name })
    }

    /// A connection over one that is there.
    pub(crate) async fn connect(
        &self,
        stream: TcpStream,
        http2: bool,
    ) -> io::Result<TlsStream<TcpStream>> {
        let connector = if http2 { &self.http2 } else { &self.http1 };
        connector.connect(self.name.clone(), stream).await
    }
}
