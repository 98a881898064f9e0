use super::*;
use crate::admin::{Life, Token};
use crate::hop::{Direction, Hops};

fn port(token: Option<Token>) -> Port {
    let hops = Hops::default();
    hops.install(vec![Hop::new("db", Direction::Inbound, vec!["high".into(), "low".into()])])
        .unwrap();
    let watch = Watch::new(hops.clone());
    watch.tick(clock::now());
    let levers = Levers::new(hops.clone(), watch.clone(), None);
    Port { options: Options { hops, token, ..Options::default() }, watch, levers }
}

async fn ask(port: &Port, method: Method, path: &str, body: &str) -> (u16, String) {
    let request = Request::builder().method(method).uri(path).header("host", "localhost");
    let request = request.header("content-type", "application/json");
    let request = request.body(Full::new(Bytes::from(body.to_owned()))).unwrap();
    let answer = port.answer(request).await;
    let status = answer.status().as_u16();
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    (status, String::from_utf8(body.to_vec()).unwrap())
}

#[tokio::test]
async fn paths_answer_and_others_are_named() {
    let port = port(None);
    for path in ["/metrics", "/healthz", "/state", "/lever", "/config"] {
        assert_eq!(ask(&port, Method::GET, path, "").await.0, 200, "{path}");
    }
    assert_eq!(ask(&port, Method::DELETE, "/lever", "").await.0, 405);
    let (status, text) = ask(&port, Method::GET, "/levers", "").await;
    assert!(status == 404 && text.contains("\"/lever\""), "{text}");
    for (life, status) in [(Life::Starting, 503), (Life::Ready, 200), (Life::Draining, 503)] {
        port.options.readiness.set(life);
        assert_eq!(ask(&port, Method::GET, "/readyz", "").await.0, status, "{life:?}");
    }
}

#[tokio::test]
async fn a_pull_is_seen_in_state_lever_and_metrics() {
    let port = port(None);
    let pull =
        r#"{"action": "throttle", "to": "30%", "classes": ["low"], "who": "ann", "why": "hot"}"#;
    let (status, text) = ask(&port, Method::POST, "/lever", pull).await;
    assert_eq!(status, 200, "{text}");
    let done: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(done["changed"][0]["who"], "ann");
    let lever: Value =
        serde_json::from_str(&ask(&port, Method::GET, "/lever", "").await.1).unwrap();
    assert_eq!(lever["hops"][0]["lever"]["held"][0]["position"], "throttled to 30%");
    assert_eq!(lever["journal"][0]["why"], "hot");
    let state: Value =
        serde_json::from_str(&ask(&port, Method::GET, "/state", "").await.1).unwrap();
    assert_eq!(state["hops"][0]["lever"], lever["hops"][0]["lever"]);
    let hop: HopView = serde_json::from_value(state["hops"][0].clone()).unwrap();
    assert_eq!(hop.name, "db");
    let metrics = ask(&port, Method::GET, "/metrics", "").await.1;
    assert!(
        metrics
            .contains("damper_lever_share{hop=\"db\",direction=\"inbound\",class=\"low\"} 0.3\n")
    );
}

#[tokio::test]
async fn a_pull_that_is_wrong_says_what() {
    let port = port(None);
    for (body, status, part) in [
        ("", 400, "the pull"),
        ("{}", 400, "missing field `action`"),
        (r#"{"action": "stop", "who": "a", "why": "b"}"#, 400, "unknown variant `stop`"),
        (
            r#"{"action": "pause", "clases": [], "who": "a", "why": "b"}"#,
            400,
            "unknown field `clases`",
        ),
        (r#"{"action": "pause", "hop": "x", "who": "a", "why": "b"}"#, 404, "there is no hop `x`"),
        (r#"{"action": "pause", "who": "a", "why": ""}"#, 400, "say who pulls"),
    ] {
        let (found, text) = ask(&port, Method::POST, "/lever", body).await;
        assert!(found == status && text.contains(part), "{body}: {found} {text}");
    }
    let long = format!("{{\"who\": \"{}\"}}", "x".repeat(MOST_BODY));
    assert_eq!(ask(&port, Method::POST, "/lever", &long).await.0, 400);
    assert!(port.levers.journal().is_empty());
}

#[tokio::test]
async fn no_answer_has_a_secret() {
    let secret = "0123456789abcdef-very-secret";
    let port = port(Some(Token::new(secret).unwrap()));
    *port.options.config.write().unwrap() = json!({
        "admin": {"listen": "127.0.0.1:0", "token_file": "/etc/x", "token": secret},
        "upstreams": [{"password": secret, "address": "10.0.0.1:80", "tls": {"private_key": secret}}],
    });
    for path in ["/metrics", "/state", "/lever", "/config", "/nothing"] {
        for given in [secret, "wrong-wrong-wrong-wrong"] {
            let request = Request::builder().uri(path).header("host", "localhost");
            let request = request.header("authorization", format!("Bearer {given}"));
            let answer = port.answer(request.body(Full::<Bytes>::default()).unwrap()).await;
            assert!(!format!("{:?}", answer.headers()).contains("very-secret"));
            assert_eq!(answer.status() == StatusCode::UNAUTHORIZED, given != secret);
            let body = answer.into_body().collect().await.unwrap().to_bytes();
            let text = String::from_utf8(body.to_vec()).unwrap();
            assert!(
                !text.contains("very-secret") && !text.contains("wrong-wrong"),
                "{path}: {text}"
            );
            assert!(given != secret || path != "/config" || text.contains("10.0.0.1:80"));
        }
    }
    assert!(!format!("{:?}", port.options.token).contains("very"));
}
