//! Replies of HTTP/1.1, as far as a load has to understand them: where they end, what they mean.
//!
//! Heads are read by `httparse`, as hyper does. Bodies are counted and thrown away.

use super::super::end::Said;

/// The longest head, in bytes.
const MOST_HEAD: usize = 64 << 10;
/// The most headers.
const MOST_HEADERS: usize = 100;
/// The longest body, in bytes.
const MOST_BODY: u64 = 1 << 30;

/// Why a reply cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bad {
    /// It is not HTTP/1.1, or beyond the bounds.
    Unreadable,
    /// The connection ended before it did.
    Cut,
}

/// A reply that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) said: Said,
    /// Whether the connection may be used again.
    pub(super) keeps: bool,
}

/// Reads one reply from pieces of any size.
#[derive(Debug, Default)]
pub(super) struct Reader {
    head: Option<Reply>,
    body: Body,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum Body {
    #[default]
    None,
    Left(u64),
    /// The size of the next chunk.
    Size,
    Chunk(u64),
    /// The end of the line after a chunk.
    ChunkEnd,
    Trailers,
    UntilClosed,
}

impl Reader {
    /// Whether nothing of the reply has come yet.
    pub(super) fn is_untouched(&self) -> bool {
        self.head.is_none()
    }

    /// Reads on in `bytes`, which begin where it had got to: how many were taken, and the reply if
    /// it has ended. Bytes that were not taken must come again, with more behind them.
    pub(super) fn read(
        &mut self,
        bytes: &[u8],
        is_head: bool,
    ) -> Result<(usize, Option<Reply>), Bad> {
        let mut taken = 0;
        loop {
            let rest = bytes.get(taken..).unwrap_or_default();
            let Some(reply) = self.head else {
                let Some(length) = self.head(rest, is_head)? else { return Ok((taken, None)) };
                taken += length;
                continue;
            };
            match &mut self.body {
                Body::None => {
                    *self = Self::default();
                    return Ok((taken, Some(reply)));
                }
                Body::UntilClosed => return Ok((bytes.len(), None)),
                Body::Left(left) | Body::Chunk(left) => {
                    let some = (rest.len() as u64).min(*left);
                    *left -= some;
                    taken += some as usize;
                    if *left > 0 {
                        return Ok((taken, None));
                    }
                    let chunk = matches!(self.body, Body::Chunk(_));
                    self.body = if chunk { Body::ChunkEnd } else { Body::None };
                }
                Body::ChunkEnd => match rest {
                    [b'\r', b'\n', ..] => {
                        taken += 2;
                        self.body = Body::Size;
                    }
                    [] | [b'\r'] => return Ok((taken, None)),
                    _ => return Err(Bad::Unreadable),
                },
                Body::Size => match httparse::parse_chunk_size(rest) {
                    Ok(httparse::Status::Complete((_, size))) if size > MOST_BODY => {
                        return Err(Bad::Unreadable);
                    }
                    Ok(httparse::Status::Complete((length, 0))) => {
                        taken += length;
                        self.body = Body::Trailers;
                    }
                    Ok(httparse::Status::Complete((length, size))) => {
                        taken += length;
                        self.body = Body::Chunk(size);
                    }
                    Ok(httparse::Status::Partial) if rest.len() < 1024 => {
                        return Ok((taken, None));
                    }
                    _ => return Err(Bad::Unreadable),
                },
                Body::Trailers => {
                    let Some(end) = rest.windows(2).position(|two| two == b"\r\n") else {
                        let fits = rest.len() < MOST_HEAD;
                        return if fits { Ok((taken, None)) } else { Err(Bad::Unreadable) };
                    };
                    taken += end + 2;
                    if end == 0 {
                        self.body = Body::None;
                    }
                }
            }
        }
    }

    /// The other side has closed: the reply, if that is its end.
    pub(super) fn closed(&mut self) -> Result<Reply, Bad> {
        match (self.head.take(), std::mem::take(&mut self.body)) {
            (Some(reply), Body::UntilClosed) => Ok(reply),
            _ => Err(Bad::Cut),
        }
    }

    /// Reads a head: its length, if it is complete.
    fn head(&mut self, bytes: &[u8], is_head: bool) -> Result<Option<usize>, Bad> {
        let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
        let mut response = httparse::Response::new(&mut headers);
        let length = match response.parse(bytes) {
            Ok(httparse::Status::Complete(length)) => length,
            Ok(httparse::Status::Partial) if bytes.len() < MOST_HEAD => return Ok(None),
            _ => return Err(Bad::Unreadable),
        };
        let (Some(status), Some(version)) = (response.code, response.version) else {
            return Err(Bad::Unreadable);
        };
        if (100..200).contains(&status) && status != 101 {
            // What follows is the reply itself.
            return Ok(Some(length));
        }
        let mut reply = Reply { status, said: Said::default(), keeps: version == 1 };
        let (mut size, mut chunked) = (None, false);
        for header in response.headers.iter() {
            let (name, value) = (header.name, header.value);
            if name.eq_ignore_ascii_case("content-length") {
                let text = std::str::from_utf8(value).map_err(|_| Bad::Unreadable)?;
                let said: u64 = text.trim().parse().map_err(|_| Bad::Unreadable)?;
                if said > MOST_BODY || size.is_some_and(|before| before != said) {
                    return Err(Bad::Unreadable);
                }
                size = Some(said);
            } else if name.eq_ignore_ascii_case("transfer-encoding") {
                chunked = has_word(value, "chunked");
            } else if name.eq_ignore_ascii_case("connection") {
                if has_word(value, "close") {
                    reply.keeps = false;
                } else if has_word(value, "keep-alive") {
                    reply.keeps = true;
                }
            } else {
                reply.said.header(name, value);
            }
        }
        self.body = match size {
            _ if is_head || matches!(status, 101 | 204 | 304) => Body::None,
            _ if chunked => Body::Size,
            Some(0) => Body::None,
            Some(size) => Body::Left(size),
            None => {
                reply.keeps = false;
                Body::UntilClosed
            }
        };
        reply.keeps &= status != 101;
        self.head = Some(reply);
        Ok(Some(length))
    }
}

fn has_word(value: &[u8], word: &str) -> bool {
    value.split(|b| *b == b',').any(|part| part.trim_ascii().eq_ignore_ascii_case(word.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Hands it over in pieces that end at the given places.
    fn in_pieces(
        text: &[u8],
        is_head: bool,
        ends: &[usize],
    ) -> Result<(Option<Reply>, usize), Bad> {
        let mut reader = Reader::default();
        let (mut begin, mut known) = (0, 0);
        for end in ends.iter().copied().chain([text.len()]) {
            known = known.max(end.min(text.len()));
            let (taken, reply) = reader.read(&text[begin..known], is_head)?;
            begin += taken;
            if reply.is_some() {
                return Ok((reply, begin));
            }
        }
        reader.closed().map(|reply| (Some(reply), begin))
    }

    fn whole(text: &str) -> Result<(u16, bool, usize), Bad> {
        let (reply, taken) = in_pieces(text.as_bytes(), false, &[])?;
        let reply = reply.unwrap();
        Ok((reply.status, reply.keeps, taken))
    }

    const CHUNKED: &str = "HTTP/1.1 503 Busy\r\ntransfer-encoding: chunked\r\n\r\n\
                           4;x=y\r\nWiki\r\n3\r\nabc\r\n0\r\nt: u\r\n\r\nrest";

    #[test]
    fn replies_end_where_they_end() {
        for (text, expected) in [
            ("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nokHTTP", (200, true, 40)),
            ("HTTP/1.1 204 No\r\n\r\nHTTP", (204, true, 19)),
            (
                "HTTP/1.1 100 Go\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
                (200, true, 57),
            ),
            ("HTTP/1.0 200 OK\r\ncontent-length: 0\r\n\r\n", (200, false, 38)),
            ("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n", (200, false, 57)),
            ("HTTP/1.1 500 No\r\n\r\nuntil it is closed", (500, false, 37)),
            (CHUNKED, (503, true, CHUNKED.len() - 4)),
        ] {
            assert_eq!(whole(text), Ok(expected), "{text}");
        }
        let head = b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n";
        assert!(in_pieces(head, true, &[]).unwrap().0.is_some(), "HEAD has no body");
    }

    #[test]
    fn what_is_broken_is_not_read() {
        for (text, bad) in [
            ("", Bad::Cut),
            ("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nshort", Bad::Cut),
            ("SSH-2.0-OpenSSH\r\n", Bad::Unreadable),
            ("HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n", Bad::Unreadable),
            ("HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n", Bad::Unreadable),
            ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", Bad::Unreadable),
            ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nabc", Bad::Unreadable),
            ("HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n", Bad::Unreadable),
        ] {
            assert_eq!(whole(text), Err(bad), "{text}");
        }
        let long = format!("HTTP/1.1 200 OK\r\nx: {}", "y".repeat(MOST_HEAD));
        assert_eq!(whole(&long), Err(Bad::Unreadable));
    }

    proptest! {
        #[test]
        fn pieces_do_not_matter(ends in prop::collection::vec(0usize..110, 0..12)) {
            let mut ends = ends;
            ends.sort_unstable();
            let one = in_pieces(CHUNKED.as_bytes(), false, &[]);
            prop_assert_eq!(in_pieces(CHUNKED.as_bytes(), false, &ends), one);
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200), head: bool) {
            let text = [b"HTTP/1.1 200 OK\r\n".as_slice(), &bytes].concat();
            let _ = in_pieces(&text, head, &[10, 50]);
            let _ = in_pieces(&bytes, head, &[]);
        }
    }
}
