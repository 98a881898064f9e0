//! Both sides of a proxy that is measured: see `compare/README.md`.
//!
//! `compare-proxy` prints the port of an origin that answers everything at once, HTTP/1.1 and HTTP/2
//! without TLS, and then does what lines of its standard input ask for; each is answered by one JSON
//! object. It ends with its standard input.
//!
//! - `latency PORT h1|h2 RATE MILLISECONDS`: requests at even distances, whatever became of those
//!   before; latencies count from the instant at which each was due.
//! - `idle PORT COUNT`: that many connections of HTTP/1.1, each of which has had one request, and
//!   which stay open until `close`.
//!
//! Everything is on one thread, so that load and origin never take the processor from each other
//! in the middle of a request.

mod idle;
mod latency;
mod origin;

use std::io::BufRead as _;

use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::LocalSet;

type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    LocalSet::new().block_on(&runtime, serve())
}

async fn serve() -> Result<(), Failure> {
    let port = origin::start().await?;
    println!("{}", json!({"origin": port}));
    let (lines, mut asked) = mpsc::channel(1);
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if lines.blocking_send(line).is_err() {
                return;
            }
        }
    });
    let mut open = Vec::new();
    while let Some(line) = asked.recv().await {
        let answer = answer(&line, &mut open).await;
        println!("{}", answer.unwrap_or_else(|error| json!({"error": error.to_string()})));
    }
    Ok(())
}

async fn answer(line: &str, open: &mut Vec<tokio::net::TcpStream>) -> Result<Value, Failure> {
    let words: Vec<&str> = line.split_whitespace().collect();
    match words[..] {
        ["latency", port, protocol, rate, time] => {
            let load = latency::Load {
                port: port.parse()?,
                http2: protocol == "h2",
                rate: rate.parse()?,
                milliseconds: time.parse()?,
            };
            load.run().await
        }
        ["idle", port, count] => {
            *open = idle::open(port.parse()?, count.parse()?).await?;
            Ok(json!({"open": open.len()}))
        }
        ["close"] => {
            open.clear();
            Ok(json!({"open": 0}))
        }
        _ => Err(format!("not understood: {line}").into()),
    }
}
