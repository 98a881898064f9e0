//! TLS between two proxies: one makes the calls of `front`, the other is the door of `db`.

use std::path::Path;

use http::StatusCode;

use crate::backend::{Backend, echo};
use crate::{SYSTEM, get, inbound, outbound, start};

struct Files {
    folder: tempfile::TempDir,
}

impl Files {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let made = rcgen::generate_simple_self_signed(vec!["db.shop".to_owned()]).unwrap();
        std::fs::write(folder.path().join("cert.pem"), made.cert.pem()).unwrap();
        std::fs::write(folder.path().join("key.pem"), made.signing_key.serialize_pem()).unwrap();
        Self { folder }
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }
}

#[tokio::test]
async fn calls_go_over_tls_in_either_protocol() {
    let files = Files::new();
    let backend = Backend::start(|_, request| async move { echo(&request) }).await;
    let (cert, key) = (files.path("cert.pem"), files.path("key.pem"));
    let tls = format!("    tls: {{certificate: {cert}, key: {key}}}\n");
    let door = start(&inbound(backend.address, &tls), SYSTEM);
    let at = door.address("db").unwrap();
    for protocol in ["http1", "http2", "as-caller"] {
        let to = |name: &str| {
            let upstream = format!(", protocol: {protocol}, tls: {{ca: {cert}, name: {name}}}");
            start(&outbound(&[at], "", &upstream), SYSTEM)
        };
        let proxy = to("db.shop");
        let got = get(proxy.address("front -> db").unwrap(), &[("x-one", "1")]).await;
        assert_eq!(got.status, StatusCode::OK, "{protocol}");
        assert!(String::from_utf8_lossy(&got.body).contains("x-one: 1"));
        let other = to("other.shop");
        let got = get(other.address("front -> db").unwrap(), &[]).await;
        assert_eq!(got.status, StatusCode::SERVICE_UNAVAILABLE, "{protocol}: another name");
    }
    assert_eq!(backend.requests(), 3);
    let proxy = start(&outbound(&[at], "", ""), SYSTEM);
    let got = get(proxy.address("front -> db").unwrap(), &[]).await;
    assert!(got.status.is_server_error(), "without TLS nothing is understood");
    assert_eq!(backend.requests(), 3);
}

#[tokio::test]
async fn callers_without_a_certificate_are_turned_away_where_one_is_asked_for() {
    let files = Files::new();
    let backend = Backend::always(200).await;
    let (cert, key) = (files.path("cert.pem"), files.path("key.pem"));
    let tls = format!("    tls: {{certificate: {cert}, key: {key}, client_ca: {cert}}}\n");
    let door = start(&inbound(backend.address, &tls), SYSTEM);
    let at = door.address("db").unwrap();
    for (own, status) in [
        (String::new(), StatusCode::SERVICE_UNAVAILABLE),
        (format!(", certificate: {cert}, key: {key}"), StatusCode::OK),
    ] {
        let upstream = format!(", tls: {{ca: {cert}, name: db.shop{own}}}");
        let proxy = start(&outbound(&[at], "", &upstream), SYSTEM);
        let got = get(proxy.address("front -> db").unwrap(), &[]).await;
        assert!(got.status == status || got.status.is_server_error() && own.is_empty(), "{own}");
    }
    assert_eq!(backend.requests(), 1);
}

#[tokio::test]
async fn a_key_that_is_none_is_named_and_not_shown() {
    let files = Files::new();
    let backend = Backend::always(200).await;
    let (cert, key) = (files.path("cert.pem"), files.path("wrong.pem"));
    std::fs::write(Path::new(&key), "secret").unwrap();
    let tls = format!("    tls: {{certificate: {cert}, key: {key}}}\n");
    let sidecar = crate::sidecar(&inbound(backend.address, &tls), SYSTEM);
    let error = damper_proxy::Proxy::start(&sidecar, Vec::new()).unwrap_err();
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert!(source.contains("wrong.pem") && source.contains("private key"), "{source}");
    assert!(!format!("{error:?}{source}").contains("secret"));
}
