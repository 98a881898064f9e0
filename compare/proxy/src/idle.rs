//! Connections that are open and silent.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::Failure;

/// Opens them, one after the other, each with one request.
pub(crate) async fn open(port: u16, count: usize) -> Result<Vec<TcpStream>, Failure> {
    let mut open = Vec::with_capacity(count);
    for _ in 0..count {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
        stream.write_all(b"GET / HTTP/1.1\r\nhost: callee\r\n\r\n").await?;
        let mut seen = Vec::new();
        // The head, and the body, whose length is known.
        while !seen.ends_with(b"xxxxxxxx") {
            let mut part = [0; 2048];
            let n = stream.read(&mut part).await?;
            if n == 0 || seen.len() > 8192 {
                let head = String::from_utf8_lossy(&seen).into_owned();
                return Err(format!("an answer that is none: {head}").into());
            }
            seen.extend_from_slice(part.get(..n).unwrap_or_default());
        }
        open.push(stream);
    }
    Ok(open)
}
