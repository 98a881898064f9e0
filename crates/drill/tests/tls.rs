//! Load over TLS, on a server of rustls with a certificate that it made for itself.
#![allow(missing_docs)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use damper_drill::load::{
    Ask, Bounds, End, Job, Pattern, Protocol, Schedule, Sending, Stream, Target, Tls, TlsError,
    Trust, start,
};
use damper_system::model::Load;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode, Version};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::PrivatePkcs8KeyDer;

/// What the server has seen.
#[derive(Default)]
struct Seen {
    handshakes: AtomicUsize,
    http1: AtomicUsize,
    http2: AtomicUsize,
}

struct Server {
    target: Target,
    /// The certificate as a file.
    ca: tempfile::NamedTempFile,
    seen: Arc<Seen>,
}

impl Server {
    fn trust(&self) -> Trust {
        Trust::Authorities(self.ca.path().to_owned())
    }

    fn seen(&self) -> [usize; 2] {
        [&self.seen.http1, &self.seen.http2].map(|count| count.load(Ordering::Relaxed))
    }
}

/// Answers with the status that the path names, to whoever comes with one of these protocols.
async fn server(alpn: &[&str]) -> Server {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let ca = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(ca.path(), made.cert.pem()).unwrap();
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let mut config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key.into())
        .unwrap();
    config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let target = Target::new(listener.local_addr().unwrap(), Protocol::Http1).unwrap();
    let seen = Arc::new(Seen::default());
    let counts = seen.clone();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            tokio::spawn(serve(acceptor.clone(), stream, counts.clone()));
        }
    });
    Server { target, ca, seen }
}

async fn serve(acceptor: TlsAcceptor, stream: tokio::net::TcpStream, seen: Arc<Seen>) {
    let Ok(stream) = acceptor.accept(stream).await else { return };
    seen.handshakes.fetch_add(1, Ordering::Relaxed);
    let http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
    let service = service_fn(move |request: Request<Incoming>| {
        let seen = seen.clone();
        async move {
            let count =
                if request.version() == Version::HTTP_2 { &seen.http2 } else { &seen.http1 };
            count.fetch_add(1, Ordering::Relaxed);
            let path = request.uri().path().trim_start_matches('/').to_owned();
            // Longer than a record of TLS, which is 16 KiB.
            let mut response = Response::new(Full::new(Bytes::from(vec![b'x'; 40_000])));
            *response.status_mut() = StatusCode::from_bytes(path.as_bytes()).unwrap();
            Ok::<_, Infallible>(response)
        }
    });
    let io = TokioIo::new(stream);
    let _ = match http2 {
        true => {
            let server = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
            server.serve_connection(io, service).await
        }
        false => hyper::server::conn::http1::Builder::new().serve_connection(io, service).await,
    };
}

fn job(target: Target, tls: Tls) -> Job {
    let paths = ["/200", "/503"];
    let stream = Stream { load: Load::Constant(1000.0), kinds: vec![0.5; 2] };
    let ask = |path: &str| Ask { path: path.to_owned(), headers: Vec::new() };
    let sending = Sending {
        schedule: Schedule::new(vec![stream], Pattern::Uniform, 1),
        target,
        asks: vec![paths.map(ask).to_vec()],
        bounds: Bounds { total: 200, connections: 8, ..Bounds::default() },
        warmup: std::time::Duration::ZERO,
        parts: 1,
        tunings: None,
        stop: None,
    };
    let mut job = Job::from(sending);
    (job.tls, job.authority) = (Some(tls), Some("localhost".to_owned()));
    job
}

#[tokio::test]
async fn ends_are_counted_over_tls_as_without() {
    for (protocol, seen) in [(Protocol::Http1, [200, 0]), (Protocol::Http2, [0, 200])] {
        let server = server(&["h2", "http/1.1"]).await;
        let tls = Tls::new("localhost", &server.trust()).unwrap();
        let (_, sent) = start(job(server.target.speaking(protocol), tls)).unwrap();
        let tally = sent.await.unwrap();
        let row = tally.class(0);
        assert_eq!(row.total(), 200);
        assert_eq!(row.count(End::Ok) + row.count(End::Rejected), 200, "{protocol:?}: {row:?}");
        assert!(row.count(End::Ok) > 50 && row.count(End::Rejected) > 50);
        assert_eq!(server.seen(), seen);
        let handshakes = server.seen.handshakes.load(Ordering::Relaxed);
        assert!((1..=8).contains(&handshakes), "connections are kept: {handshakes}");
    }
}

#[tokio::test]
async fn the_server_chooses_of_what_is_offered() {
    let both = &[Protocol::Http2, Protocol::Http1][..];
    let http2 = &[Protocol::Http2][..];
    for (alpn, offers, chosen) in [
        (&["h2", "http/1.1"][..], both, Some(Protocol::Http2)),
        (&["http/1.1"], both, Some(Protocol::Http1)),
        (&["h2"], &[Protocol::Grpc], Some(Protocol::Grpc)),
        (&[], both, Some(Protocol::Http1)),
        (&[], http2, None),
        (&["http/1.1"], http2, None),
    ] {
        let server = server(alpn).await;
        let tls = Tls::new("localhost", &server.trust()).unwrap();
        let agreed = tls.agree(server.target, offers).await;
        assert_eq!(agreed.as_ref().ok(), chosen.as_ref(), "{alpn:?}: {agreed:?}");
    }
}

#[tokio::test]
async fn a_certificate_that_is_not_believed_is_said_before_anything_is_sent() {
    let (own, other) = (server(&["http/1.1"]).await, server(&["http/1.1"]).await);
    let offers = [Protocol::Http1];
    let agreed = async |host: &str, trust: Trust| {
        Tls::new(host, &trust).unwrap().agree(own.target, &offers).await
    };
    assert_eq!(agreed("localhost", own.trust()).await.unwrap(), Protocol::Http1);
    for (host, trust) in [("localhost", other.trust()), ("other.shop", own.trust())] {
        let why = agreed(host, trust).await.unwrap_err();
        assert!(matches!(why, TlsError::Refused { by_certificate: true, .. }), "{host}: {why}");
    }
    assert!(agreed("other.shop", Trust::Anything).await.is_ok());
    // Without a look ahead nothing goes over such a connection either.
    let tls = Tls::new("localhost", &other.trust()).unwrap();
    let (_, sent) = start(job(own.target, tls)).unwrap();
    assert_eq!(sent.await.unwrap().class(0).count(End::Connection), 200);
    assert_eq!(own.seen(), [0, 0]);
}

#[test]
fn a_file_without_certificates_is_named() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let trust = Trust::Authorities(file.path().to_owned());
    let why = Tls::new("localhost", &trust).unwrap_err().to_string();
    assert!(why.contains(file.path().to_str().unwrap()), "{why}");
    assert!(matches!(Tls::new("no name", &Trust::Anything), Err(TlsError::Name(_))));
}
