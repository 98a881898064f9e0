//! The examples run, and print what their pages say.

#![allow(clippy::unwrap_used)]

#[path = "../examples/axum.rs"]
mod axum_example;
#[path = "../examples/hyper.rs"]
mod hyper_example;
#[path = "../examples/reqwest.rs"]
mod reqwest_example;
#[path = "../examples/tonic.rs"]
mod tonic_example;

#[tokio::test]
async fn hyper() {
    let lines = hyper_example::run().await.unwrap();
    let said = ["200 OK: kept and sent again", "attempts 3", "retries 2", "the server saw 3"];
    assert_eq!(lines, said);
}

#[tokio::test]
async fn axum() {
    let lines = axum_example::run().await.unwrap();
    let said = [
        "the fourth: 503 queue-full",
        "served: 200",
        "served: 200",
        "served: 200",
        "lever: Changed",
        "high 200, low 503",
    ];
    assert_eq!(lines, said);
}

#[tokio::test]
async fn reqwest() {
    let lines = reqwest_example::run().await.unwrap();
    let said = [
        "call 1: not connected: true",
        "call 2: refused: breaker-open",
        "call 3: refused: breaker-open",
        "sent 3, refused 2",
    ];
    assert_eq!(lines, said);
}

#[tokio::test]
async fn tonic() {
    let lines = tonic_example::run().await.unwrap();
    let said = [
        "call 1: hello",
        "call 2: hello",
        "call 3: hello",
        "the door refused some: true",
        "each was retried: true",
        "calls 3",
    ];
    assert_eq!(lines, said);
}
