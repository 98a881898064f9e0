//! Where something is on the network.

use std::fmt;
use std::net::IpAddr;

/// An address over HTTP: host, port, path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    /// Whether it is spoken to over TLS.
    pub tls: bool,
    /// A name or an address, without brackets.
    pub host: String,
    /// The port; if none is written 80, with TLS 443.
    pub port: u16,
    /// Path and query, with the leading `/`.
    pub path: String,
}

impl Url {
    /// Reads `http://HOST:PORT/PATH`: what is asked and told is spoken to without TLS.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        match text.starts_with("https://") {
            true => Err("only what load goes to may have `https://`"),
            false => Self::parse_target(text),
        }
    }

    /// Reads `http://HOST:PORT/PATH` or `https://HOST:PORT/PATH`: what load goes to.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn parse_target(text: &str) -> Result<Self, &'static str> {
        let (tls, rest, usual) = match (text.strip_prefix("http://"), text.strip_prefix("https://"))
        {
            (Some(rest), _) => (false, rest, "80"),
            (_, Some(rest)) => (true, rest, "443"),
            _ => return Err("this address does not begin with `http://`"),
        };
        let (authority, path) = match rest.find('/') {
            Some(at) => rest.split_at(at),
            None => (rest, "/"),
        };
        let (host, port) = match authority.strip_prefix('[') {
            Some(v6) => match v6.split_once(']') {
                Some((host, "")) => (host, usual),
                Some((host, port)) => (host, port.strip_prefix(':').unwrap_or("")),
                None => ("", ""),
            },
            None => authority.split_once(':').unwrap_or((authority, usual)),
        };
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_' | ':');
        if host.is_empty() || host.len() > 253 || !host.chars().all(is_part) {
            return Err("this address has no host");
        }
        let port = port.parse().ok().filter(|port| *port != 0);
        let port = port.ok_or("this address has no port between 1 and 65535")?;
        if !path.chars().all(|c| c.is_ascii_graphic()) || path.contains(['#', '<', '>', '"']) {
            return Err("this path has characters that no request can have");
        }
        Ok(Self { tls, host: host.to_ascii_lowercase(), port, path: path.to_owned() })
    }

    /// Whether it is on this machine's loopback interface. No name but `localhost` is: what
    /// another one stands for is not ours to say.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        self.host == "localhost" || self.host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
    }

    /// Host and port, as a header has them.
    #[must_use]
    pub fn authority(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }

    /// How it is spoken to, host and port.
    #[must_use]
    pub fn origin(&self) -> String {
        format!("http{}://{}", if self.tls { "s" } else { "" }, self.authority())
    }

    /// Another path at the same place.
    #[must_use]
    pub fn at(&self, path: &str) -> Self {
        let base = self.path.trim_end_matches('/');
        Self { path: format!("{base}{path}"), ..self.clone() }
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.origin(), self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts() {
        let url = Url::parse("http://127.0.0.1:8080/a/b?c=d").unwrap();
        assert_eq!(
            (url.host.as_str(), url.port, url.path.as_str()),
            ("127.0.0.1", 8080, "/a/b?c=d")
        );
        assert_eq!(Url::parse("http://[::1]:9").unwrap().to_string(), "http://[::1]:9/");
        assert_eq!(Url::parse("http://Example.org").unwrap().to_string(), "http://example.org:80/");
        assert_eq!(url.at("/x").path, "/a/b?c=d/x");
        let tls = Url::parse_target("https://shop.example/a").unwrap();
        assert_eq!((tls.tls, tls.to_string().as_str()), (true, "https://shop.example:443/a"));
        assert!(!Url::parse_target("http://shop.example/").unwrap().tls);
        for wrong in [
            "",
            "127.0.0.1:80",
            "https://a/",
            "http://",
            "http://a:0/",
            "http://a:x/",
            "http://a b/",
            "http://[::1",
            "http://u@h/",
            "http://h/a b",
        ] {
            assert!(Url::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn only_what_is_surely_here_is_loopback() {
        let is = |host: &str| Url::parse(&format!("http://{host}:80/")).unwrap().is_loopback();
        assert!(is("127.0.0.1") && is("localhost") && is("[::1]") && is("127.9.9.9"));
        for not in ["10.0.0.1", "localhost.example.org", "0.0.0.0", "[::]", "127.0.0.1.nip.io"] {
            assert!(!is(not), "{not}");
        }
    }
}
