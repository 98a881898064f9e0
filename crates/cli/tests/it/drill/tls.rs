//! Plans whose target is spoken to over TLS.

use std::path::Path;
use std::sync::Arc;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::PrivatePkcs8KeyDer;

use crate::program::{Ran, damper, number};

/// Answers everything with 200 over TLS, as `localhost`; its port. Its certificate, which it has made
/// for itself, is written to a file.
fn server(ca: &Path) -> u16 {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    std::fs::write(ca, made.cert.pem()).unwrap();
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key.into())
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    listener.set_nonblocking(true).unwrap();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(answer(acceptor.clone(), stream));
            }
        });
    });
    port
}

async fn answer(acceptor: TlsAcceptor, stream: tokio::net::TcpStream) {
    let Ok(mut stream) = acceptor.accept(stream).await else { return };
    let (mut buffer, mut filled) = ([0; 4096], 0);
    while let Ok(read @ 1..) = stream.read(&mut buffer[filled..]).await {
        filled += read;
        if buffer[..filled].ends_with(b"\r\n\r\n") {
            filled = 0;
            let reply = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
            if stream.write_all(reply).await.is_err() || stream.flush().await.is_err() {
                return;
            }
        }
    }
}

struct Plan {
    folder: tempfile::TempDir,
    port: u16,
}

impl Plan {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let port = server(&folder.path().join("ca.pem"));
        Self { folder, port }
    }

    /// A plan of a load of half a second, `{port}` filled in.
    fn run(&self, rest: &str, more: &[&str]) -> Ran {
        let file = self.folder.path().join("plan.yaml");
        let text = "drill: 1\nname: tls\ninterval: 100ms\nrecovered: {hold: 300ms}\n\
                    phases: [{load: 100%, over: 0s}, {hold: 500ms}]\n";
        let rest = rest.replace("{port}", &self.port.to_string());
        std::fs::write(&file, format!("{text}{rest}\n")).unwrap();
        let kept = self.folder.path().join("kept");
        let (file, kept) = (file.to_str().unwrap(), kept.to_str().unwrap());
        damper(&[&["drill", file, "--keep-in", kept], more].concat())
    }
}

const TARGET: &str = "load: 60/s\ntarget: https://localhost:{port}/\n";

#[test]
fn requests_go_over_it_to_whom_the_plan_believes() {
    let plan = Plan::new();
    for rest in [
        format!("{TARGET}ca: ca.pem"),
        format!("{TARGET}insecure: true"),
        "target: http://127.0.0.1:1/\nload: [{target: 'https://localhost:{port}/', ca: ca.pem, rate: 60/s}]"
            .to_owned(),
        "target: http://127.0.0.1:1/\ninsecure: true\n\
         load: [{target: 'https://localhost:{port}/', insecure: false, ca: ca.pem, rate: 60/s}]"
            .to_owned(),
    ] {
        let ran = plan.run(&rest, &["--json"]);
        assert_eq!(ran.code, Some(0), "{rest}: {}", ran.err);
        let record: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
        let (offered, good) = (number(&record, "/offered"), number(&record, "/good"));
        assert!(offered > 5.0 && (good - offered).abs() < 0.5, "{rest}: {good} of {offered}");
        assert!(record["target"].as_str().unwrap().starts_with("https://localhost:"), "{record}");
    }
}

#[test]
fn a_certificate_that_is_not_believed_is_said_before_anything_is_sent() {
    let (plan, other) = (Plan::new(), Plan::new());
    std::fs::copy(other.folder.path().join("ca.pem"), plan.folder.path().join("other.pem"))
        .unwrap();
    for (rest, why) in [
        (
            format!("{TARGET}ca: other.pem"),
            "`ca:` in the plan names whose certificates are believed",
        ),
        (
            TARGET.replace("localhost", "127.0.0.1") + "ca: ca.pem",
            "TLS with 127.0.0.1 fails: invalid peer certificate",
        ),
        (format!("{TARGET}insecure: true\nprotocol: grpc"), "does not take HTTP/2 over TLS"),
    ] {
        let ran = plan.run(&rest, &["--json"]);
        assert_eq!(ran.code, Some(2), "{rest}: {}{}", ran.out, ran.err);
        let said: Vec<&str> = ran.err.split_whitespace().collect();
        assert!(said.join(" ").contains(why), "{rest}: {}", ran.err);
    }
}

#[test]
fn what_would_be_done_says_whom_it_believes_and_mistakes_where_they_are() {
    let plan = Plan::new();
    let said = plan.run(&format!("{TARGET}ca: ca.pem"), &["--dry-run"]).out;
    let at = format!("GET https://localhost:{}/ at up to 60.0/s", plan.port);
    assert!(said.contains(&at), "{said}");
    assert!(said.contains("ca.pem are believed"), "{said}");
    let said = plan.run(&format!("{TARGET}insecure: true"), &["--dry-run"]).out;
    assert!(said.contains("TLS: any certificate is believed"), "{said}");
    std::fs::write(plan.folder.path().join("empty.pem"), "").unwrap();
    let plain = TARGET.replace("https", "http");
    for (rest, why, line) in [
        (format!("{TARGET}ca: empty.pem"), "has no certificate that can be read", ":8:5"),
        (format!("{TARGET}ca: gone.pem"), "there is no such file with certificates", ":8:5"),
        (format!("{TARGET}ca: ca.pem\ninsecure: true"), "exclude each other", ":9:11"),
        (format!("{plain}ca: ca.pem"), "`ca` is for a target with `https://`", ":8:1"),
        (
            format!("{TARGET}metrics: {{up: {{scrape: 'https://localhost:1/', series: up}}}}"),
            "only what load goes to may have `https://`",
            ":8:24",
        ),
    ] {
        let ran = plan.run(&rest, &["--dry-run"]);
        assert_eq!(ran.code, Some(2), "{rest}: {}", ran.out);
        let said: Vec<&str> = ran.err.split_whitespace().collect();
        assert!(said.join(" ").contains(why), "{rest}: {}", ran.err);
        assert!(ran.err.contains(&format!("plan.yaml{line}")), "{rest}: {}", ran.err);
    }
    // Outside this machine as without TLS.
    let ran = plan.run("load: 1/s\ntarget: https://shop.example/", &["--dry-run"]);
    assert_eq!(ran.code, Some(2), "{}", ran.out);
    assert!(ran.err.contains("--confirm shop.example"), "{}", ran.err);
}
