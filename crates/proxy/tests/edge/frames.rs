//! HTTP/2 by hand: frames that no library would send.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use crate::raw;

pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PING: u8 = 6;
pub(crate) const GOAWAY: u8 = 7;
pub(crate) const WINDOW_UPDATE: u8 = 8;
pub(crate) const CONTINUATION: u8 = 9;

pub(crate) const END_STREAM: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;
const ACK: u8 = 1;

/// A frame.
pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    let mut bytes = length[1..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// Fields as HPACK writes what it keeps no copy of, without Huffman's code.
pub(crate) fn fields(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, value) in fields {
        bytes.push(0);
        for text in [name, value] {
            integer(&mut bytes, text.len());
            bytes.extend_from_slice(text.as_bytes());
        }
    }
    bytes
}

/// A length with a prefix of seven bits.
fn integer(bytes: &mut Vec<u8>, value: usize) {
    if value < 127 {
        return bytes.push(value as u8);
    }
    bytes.push(127);
    let mut rest = value - 127;
    while rest >= 128 {
        bytes.push((rest % 128) as u8 | 128);
        rest /= 128;
    }
    bytes.push(rest as u8);
}

/// The fields of a request as it should be.
pub(crate) const GOOD: [(&str, &str); 4] =
    [(":method", "GET"), (":scheme", "http"), (":authority", "a"), (":path", "/fine")];

/// A connection after its preface.
pub(crate) struct Connection {
    stream: TcpStream,
    got: Vec<u8>,
    closed: bool,
}

/// What came: the kind, the flags, the stream, the payload.
pub(crate) type Frame = (u8, u8, u32, Vec<u8>);

impl Connection {
    pub(crate) fn open(port: u16) -> Self {
        let mut stream = raw::connect(port);
        stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").unwrap();
        stream.write_all(&frame(SETTINGS, 0, 0, &[])).unwrap();
        Self { stream, got: Vec::new(), closed: false }
    }

    /// Writes bytes; whether they could be written.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> bool {
        let sent = self.stream.write_all(bytes).is_ok();
        self.closed |= !sent;
        sent
    }

    /// What came until the other side closed or was silent for so long. Settings are acknowledged.
    pub(crate) fn frames(&mut self, quiet: Duration) -> Vec<Frame> {
        self.stream.set_read_timeout(Some(quiet)).unwrap();
        let mut frames = Vec::new();
        let mut part = [0; 16_384];
        loop {
            while let Some(frame) = self.next() {
                if frame.0 == SETTINGS && frame.1 & ACK == 0 {
                    self.send(&crate::frames::frame(SETTINGS, ACK, 0, &[]));
                }
                frames.push(frame);
            }
            match self.stream.read(&mut part) {
                Ok(n) if n > 0 => self.got.extend_from_slice(&part[..n]),
                Err(error)
                    if matches!(
                        error.kind(),
                        std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut
                    ) =>
                {
                    return frames;
                }
                _ => {
                    self.closed = true;
                    return frames;
                }
            }
        }
    }

    fn next(&mut self) -> Option<Frame> {
        let head = self.got.get(..9)?;
        let length = usize::from(head[0]) << 16 | usize::from(head[1]) << 8 | usize::from(head[2]);
        let (kind, flags) = (head[3], head[4]);
        let stream = u32::from_be_bytes([head[5] & 0x7f, head[6], head[7], head[8]]);
        let payload = self.got.get(9..9 + length)?.to_vec();
        self.got.drain(..9 + length);
        Some((kind, flags, stream, payload))
    }

    /// How a stream ended, as soon as that is known.
    pub(crate) fn end_of(&mut self, stream: u32) -> Ended {
        let mut frames = Vec::new();
        for _ in 0..200 {
            frames.extend(self.frames(Duration::from_millis(50)));
            let end = ended(&frames, stream, self.closed);
            if end != Ended::Open {
                return end;
            }
        }
        Ended::Open
    }

    /// Whether the other side has closed, as far as was seen.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }
}

/// How a stream ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// With a reply, which may be an error.
    Reply,
    /// It was reset, or its connection was ended.
    Refused,
    /// Nothing was heard of it.
    Open,
}

/// How the stream ended, by what came.
pub(crate) fn ended(frames: &[Frame], stream: u32, closed: bool) -> Ended {
    let of = |kind: u8| frames.iter().any(|frame| frame.0 == kind && frame.2 == stream);
    if of(RST_STREAM) || frames.iter().any(|frame| frame.0 == GOAWAY) || closed {
        return Ended::Refused;
    }
    if of(HEADERS) { Ended::Reply } else { Ended::Open }
}
