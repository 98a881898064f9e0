//! TLS 1.3 and 1.2 towards a target, by rustls with its own defaults.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper_util::client::legacy::connect::{Connected, Connection};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier,
};
use tokio_rustls::rustls::crypto::{
    CryptoProvider, verify_tls12_signature, verify_tls13_signature,
};
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{
    ClientConfig, DigitallySignedStruct, Error as RustlsError, RootCertStore, SignatureScheme,
};

use super::target::{Protocol, Target};

/// What HTTP is called in TLS (RFC 7301).
const HTTP1: &[u8] = b"http/1.1";
const HTTP2: &[u8] = b"h2";

/// How long the handshake may take that is made before anything is sent.
const PATIENCE: Duration = Duration::from_secs(10);

/// Whose certificates are believed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// Those of the authorities of this system: `SSL_CERT_FILE`, or where systems keep them.
    System,
    /// Those of the authorities in a file (PEM); a certificate that was made for itself is its own.
    Authorities(PathBuf),
    /// Any: whoever answers is taken for the target.
    Anything,
}

impl Trust {
    /// The authorities, where not everybody is believed.
    fn roots(&self) -> Result<Option<RootCertStore>, TlsError> {
        match self {
            Self::System => {
                roots(&damper_system::authorities().ok_or(TlsError::NoAuthorities)?).map(Some)
            }
            Self::Authorities(path) => roots(path).map(Some),
            Self::Anything => Ok(None),
        }
    }

    /// Whether its authorities can be read.
    ///
    /// # Errors
    /// They cannot.
    pub(super) fn check(&self) -> Result<(), TlsError> {
        self.roots().map(|_| ())
    }
}

/// Why there is no TLS with a target.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file has no certificate.
    #[error("{} has no certificate that can be read (PEM)", .0.display())]
    NoCertificate(PathBuf),
    /// The system has no file with authorities where it is looked for.
    #[error("this system has no file with the authorities that it trusts where one is looked for")]
    NoAuthorities,
    /// No certificate has this name.
    #[error("`{0}` is not the name of a server")]
    Name(String),
    /// Rustls refuses its own settings.
    #[error("TLS cannot be set up: {0}")]
    Setup(RustlsError),
    /// Nobody is there.
    #[error("{target}: {why}")]
    NotThere {
        /// The address.
        target: String,
        /// What the system says.
        why: String,
    },
    /// The handshake failed.
    #[error("TLS with {target} fails: {why}")]
    Refused {
        /// The name.
        target: String,
        /// What rustls says.
        why: String,
        /// The certificate is what is wrong.
        by_certificate: bool,
    },
    /// The server speaks another version of HTTP.
    #[error("{0} does not take HTTP/2 over TLS (ALPN)")]
    NotHttp2(String),
}

/// TLS towards one target.
#[derive(Clone)]
pub struct Tls {
    config: ClientConfig,
    connector: TlsConnector,
    name: ServerName<'static>,
    said: String,
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Tls {
    /// TLS with a host, whose name or address its certificate must have.
    ///
    /// # Errors
    /// A file cannot be read or is of no use, or no certificate could have such a name.
    pub fn new(host: &str, trust: &Trust) -> Result<Self, TlsError> {
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let name = ServerName::try_from(host.to_owned());
        let name = name.map_err(|_| TlsError::Name(host.to_owned()))?;
        let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(TlsError::Setup)?;
        let config = match trust.roots()? {
            Some(roots) => builder.with_root_certificates(roots),
            None => {
                builder.dangerous().with_custom_certificate_verifier(Arc::new(Anybody(provider)))
            }
        };
        let config = config.with_no_client_auth();
        let connector = TlsConnector::from(Arc::new(config.clone()));
        Ok(Self { config, connector, name, said: host.to_owned() })
    }

    /// The same, offering this and nothing else.
    #[must_use]
    pub fn offering(mut self, offers: &[Protocol]) -> Self {
        let mut alpn: Vec<Vec<u8>> = Vec::new();
        for protocol in offers {
            let name = if protocol.is_http2() { HTTP2 } else { HTTP1 };
            alpn.push(name.to_vec());
        }
        self.config.alpn_protocols = alpn;
        self.connector = TlsConnector::from(Arc::new(self.config.clone()));
        self
    }

    /// Makes one connection before anything is sent, which says what is wrong with the certificate
    /// once instead of with every request, and what the server chooses of `offers`, the best first.
    ///
    /// # Errors
    /// There is no connection, the certificate is not believed, or nothing of `offers` is spoken.
    pub async fn agree(&self, target: Target, offers: &[Protocol]) -> Result<Protocol, TlsError> {
        let offering = self.clone().offering(offers);
        let not_there = |why: String| TlsError::NotThere { target: target.to_string(), why };
        let opened = tokio::time::timeout(PATIENCE, async {
            let stream = TcpStream::connect(target.address()).await;
            let stream = stream.map_err(|error| not_there(error.to_string()))?;
            offering.connect(stream).await.map_err(|error| self.refused(&error))
        });
        let stream = opened.await.map_err(|_| not_there("no answer within 10 s".to_owned()))??;
        let chosen = stream.get_ref().1.alpn_protocol();
        let speaks = |protocol: &&Protocol| match chosen {
            Some(name) => protocol.is_http2() == (name == HTTP2),
            // A server that knows nothing of ALPN speaks HTTP/1.1.
            None => !protocol.is_http2(),
        };
        offers.iter().find(speaks).copied().ok_or_else(|| TlsError::NotHttp2(self.said.clone()))
    }

    fn refused(&self, error: &io::Error) -> TlsError {
        let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<RustlsError>());
        let by_certificate = matches!(inner, Some(RustlsError::InvalidCertificate(_)));
        TlsError::Refused { target: self.said.clone(), why: error.to_string(), by_certificate }
    }

    async fn connect(&self, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        self.connector.connect(self.name.clone(), stream).await
    }
}

/// The authorities in a file. Some of a system's may be too old to be of use.
fn roots(path: &Path) -> Result<RootCertStore, TlsError> {
    let none = || TlsError::NoCertificate(path.to_path_buf());
    let all = CertificateDer::pem_file_iter(path).map_err(|_| none())?;
    let all: Vec<_> = all.collect::<Result<_, _>>().map_err(|_| none())?;
    let mut roots = RootCertStore::empty();
    match roots.add_parsable_certificates(all) {
        (0, _) => Err(none()),
        _ => Ok(roots),
    }
}

/// Believes everybody. That whoever answers has the key of what they show is still checked.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, RustlsError> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, RustlsError> {
        let known = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, RustlsError> {
        let known = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// A connection, with TLS or without.
pub(super) enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Stream {
    /// Opens one. Nothing waits for more to be sent along.
    pub(super) async fn open(target: Target, tls: Option<&Tls>) -> io::Result<Self> {
        let stream = TcpStream::connect(target.address()).await?;
        stream.set_nodelay(true)?;
        Ok(match tls {
            None => Self::Plain(stream),
            Some(tls) => Self::Tls(Box::new(tls.connect(stream).await?)),
        })
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(context, into),
            Self::Tls(stream) => Pin::new(stream).poll_read(context, into),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(context),
            Self::Tls(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}

impl Connection for Stream {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}
