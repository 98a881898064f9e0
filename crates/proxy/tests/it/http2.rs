//! HTTP/2 by prior knowledge, gRPC, and other protocols on the same port.

use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode, Version};
use http_body_util::{BodyExt as _, Full};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::backend::{Backend, reply, with_trailers};
use crate::{SYSTEM, inbound, outbound, start};

async fn client(to: std::net::SocketAddr) -> hyper::client::conn::http2::SendRequest<Full<Bytes>> {
    let io = TokioIo::new(tokio::net::TcpStream::connect(to).await.unwrap());
    let made = hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await;
    let (sender, connection) = made.unwrap();
    tokio::spawn(connection);
    sender
}

fn call(to: std::net::SocketAddr, class: &str) -> Request<Full<Bytes>> {
    Request::builder()
        .method("POST")
        .uri(format!("http://{to}/shop.Db/Get"))
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .header("x-damper-class", class)
        .body(Full::new(Bytes::from_static(b"\0\0\0\0\0")))
        .unwrap()
}

fn status(code: &str) -> HeaderMap {
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", code.parse().unwrap());
    trailers
}

#[tokio::test]
async fn grpc_goes_through_with_its_trailers() {
    let backend = Backend::start(|_, request| async move {
        assert_eq!(request.version(), Version::HTTP_2);
        assert_eq!(request.headers()["te"], "trailers");
        with_trailers("hello", status("0"))
    })
    .await;
    for config in [inbound(backend.address, ""), outbound(&[backend.address], "", "")] {
        let proxy = start(&config, SYSTEM);
        let at = proxy.addresses().next().unwrap().1;
        let mut client = client(at).await;
        let response = client.send_request(call(at, "high")).await.unwrap();
        assert_eq!(response.version(), Version::HTTP_2);
        let body = response.into_body().collect().await.unwrap();
        assert_eq!(body.trailers().unwrap()["grpc-status"], "0");
        assert_eq!(body.to_bytes(), "hello");
    }
}

#[tokio::test]
async fn a_grpc_status_in_the_head_is_retried_by_the_policy() {
    let backend = Backend::start(|n, _| async move {
        let mut response = reply(200, "");
        response.headers_mut().insert("content-type", "application/grpc".parse().unwrap());
        let code = if n < 2 { "14" } else { "0" };
        response.headers_mut().insert("grpc-status", code.parse().unwrap());
        response
    })
    .await;
    let proxy = start(&outbound(&[backend.address], "    repeat: by-policy\n", ""), SYSTEM);
    let at = proxy.address("front -> db").unwrap();
    let response = client(at).await.send_request(call(at, "high")).await.unwrap();
    assert_eq!(
        (&response.headers()["grpc-status"], backend.requests()),
        (&"0".parse().unwrap(), 3)
    );
}

#[tokio::test]
async fn a_refusal_is_one_of_grpc() {
    let backend = Backend::always(200).await;
    let system = SYSTEM.replace("queue: 2}", "queue: 2, rate_limit: {rate: 0.001/s, burst: 1}}");
    let proxy = start(&inbound(backend.address, ""), &system);
    let at = proxy.address("db").unwrap();
    let mut client = client(at).await;
    client.send_request(call(at, "high")).await.unwrap();
    let response = client.send_request(call(at, "high")).await.unwrap();
    assert_eq!(
        (response.status(), &response.headers()["grpc-status"]),
        (StatusCode::OK, &"8".parse().unwrap())
    );
    assert!(response.headers().contains_key("grpc-retry-pushback-ms"));
}

#[tokio::test]
async fn many_requests_share_one_connection() {
    let backend = Backend::always(200).await;
    let config = inbound(backend.address, "").replace("workers: 2", "workers: 1");
    let system = SYSTEM.replace("{workers: 2, queue: 2}", "{}");
    let proxy = start(&config, &system);
    let at = proxy.address("db").unwrap();
    let client = client(at).await;
    let calls: Vec<_> = (0..50)
        .map(|_| {
            let mut client = client.clone();
            tokio::spawn(async move { client.send_request(call(at, "low")).await.unwrap() })
        })
        .collect();
    for call in calls {
        assert_eq!(call.await.unwrap().status(), StatusCode::OK);
    }
    assert_eq!((backend.requests(), backend.connections()), (50, 1));
}

#[tokio::test]
async fn either_protocol_can_be_spoken_with_the_upstream() {
    let backend = Backend::start(|_, request| async move {
        let host = request.headers().get("host").map(|h| h.to_str().unwrap().to_owned());
        let host = host.or_else(|| request.uri().authority().map(ToString::to_string));
        reply(200, &format!("{:?} {}", request.version(), host.unwrap()))
    })
    .await;
    for (protocol, version) in [("http1", "HTTP/1.1"), ("http2", "HTTP/2.0")] {
        let config = outbound(&[backend.address], "", &format!(", protocol: {protocol}"));
        let proxy = start(&config, SYSTEM);
        let at = proxy.address("front -> db").unwrap();
        let one = crate::get(at, &[]).await;
        assert_eq!(one.body, format!("{version} shop"), "from HTTP/1.1");
        let two = client(at).await.send_request(call(at, "low")).await.unwrap();
        let body = two.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(body, format!("{version} {at}"), "from HTTP/2");
    }
}

#[tokio::test]
async fn another_protocol_takes_the_connection_over() {
    let backend = Backend::start(|_, mut request| async move {
        if request.headers().get("upgrade").is_none() {
            return reply(400, "");
        }
        let upgrade = hyper::upgrade::on(&mut request);
        tokio::spawn(async move {
            let mut io = TokioIo::new(upgrade.await.unwrap());
            let mut word = [0; 4];
            io.read_exact(&mut word).await.unwrap();
            word.reverse();
            io.write_all(&word).await.unwrap();
        });
        let mut response = reply(101, "");
        response.headers_mut().insert("connection", "upgrade".parse().unwrap());
        response.headers_mut().insert("upgrade", "websocket".parse().unwrap());
        response
    })
    .await;
    for config in [inbound(backend.address, ""), outbound(&[backend.address], "", "")] {
        let proxy = start(&config, SYSTEM);
        let at = proxy.addresses().next().unwrap().1;
        let mut stream = tokio::net::TcpStream::connect(at).await.unwrap();
        let ask =
            b"GET /chat HTTP/1.1\r\nhost: a\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\n";
        stream.write_all(ask).await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.unwrap());
        }
        let head = String::from_utf8(head).unwrap().to_ascii_lowercase();
        assert!(head.starts_with("http/1.1 101") && head.contains("upgrade: websocket"), "{head}");
        stream.write_all(b"ping").await.unwrap();
        let mut word = Vec::new();
        stream.read_to_end(&mut word).await.unwrap();
        assert_eq!(word, b"gnip");
    }
}

#[tokio::test]
async fn an_upstream_of_another_version_does_not_show() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut buffer = [0; 1024];
            let _ = stream.read(&mut buffer).await;
            let _ = stream.write_all(b"HTTP/1.0 200 OK\r\n\r\nold").await;
        }
    });
    let proxy = start(&inbound(address, ""), SYSTEM);
    let mut caller = crate::Client::connect(proxy.address("db").unwrap()).await;
    for _ in 0..2 {
        let got = caller.send(crate::request(http::Method::GET, &[], "")).await.unwrap();
        assert_eq!((got.version, &got.body[..]), (Version::HTTP_11, &b"old"[..]));
    }
}
