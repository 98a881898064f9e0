//! Who may ask: before anything of a request is looked at.

use http::header::{AUTHORIZATION, CONTENT_TYPE, HOST, ORIGIN};
use http::{HeaderMap, Method, StatusCode, Uri};

use super::token::Token;

/// A name or an address that only this machine answers to.
fn is_loopback(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(v6) => v6.split(']').next().unwrap_or(v6),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    name.eq_ignore_ascii_case("localhost")
        || name.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback())
}

/// Whether a request may be answered, or why not.
pub(super) fn admit(
    token: Option<&Token>,
    method: &Method,
    uri: &Uri,
    headers: &HeaderMap,
) -> Result<(), (StatusCode, &'static str)> {
    // A page that a browser shows must not reach the lever with the rights of who looks at it.
    if headers.contains_key(ORIGIN) {
        return Err((StatusCode::FORBIDDEN, "requests of web pages are refused"));
    }
    match token {
        Some(token) => {
            let given =
                headers.get(AUTHORIZATION).is_some_and(|value| token.is_in(value.as_bytes()));
            // Whoever restarts or counts needs no secret: that says nothing and changes nothing.
            if !given && uri.path() != "/healthz" && uri.path() != "/readyz" {
                return Err((StatusCode::UNAUTHORIZED, "say Authorization: Bearer TOKEN"));
            }
        }
        // A name that a stranger's DNS points to loopback is not this machine's name.
        None => {
            let host = headers.get(HOST).and_then(|host| host.to_str().ok());
            if !host.is_some_and(is_loopback) {
                return Err((StatusCode::FORBIDDEN, "the Host must be a loopback one"));
            }
        }
    }
    if method == Method::POST {
        let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let kind = kind.and_then(|kind| kind.split(';').next()).map(str::trim);
        if !kind.is_some_and(|kind| kind.eq_ignore_ascii_case("application/json")) {
            return Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, "a pull is application/json"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(
        token: Option<&Token>,
        method: Method,
        path: &str,
        headers: &[(&'static str, &str)],
    ) -> u16 {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(*name, value.parse().unwrap());
        }
        let uri: Uri = path.parse().unwrap();
        admit(token, &method, &uri, &map).err().map_or(200, |(status, _)| status.as_u16())
    }

    #[test]
    fn loopback_without_a_token() {
        for host in ["localhost", "localhost:9901", "127.0.0.1:9901", "[::1]:9901", "127.8.8.8"] {
            assert_eq!(ask(None, Method::GET, "/state", &[("host", host)]), 200, "{host}");
        }
        for host in
            ["evil.example:9901", "127.0.0.1.evil.example", "[2001:db8::1]:80", "", "10.0.0.1"]
        {
            assert_eq!(ask(None, Method::GET, "/state", &[("host", host)]), 403, "{host}");
        }
        assert_eq!(ask(None, Method::GET, "/state", &[]), 403);
    }

    #[test]
    fn a_web_page_pulls_no_lever() {
        let host = ("host", "127.0.0.1:9901");
        let json = ("content-type", "application/json; charset=utf-8");
        assert_eq!(ask(None, Method::POST, "/lever", &[host, json]), 200);
        assert_eq!(ask(None, Method::POST, "/lever", &[host]), 415);
        for simple in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"] {
            assert_eq!(ask(None, Method::POST, "/lever", &[host, ("content-type", simple)]), 415);
        }
        for origin in ["https://evil.example", "null", "http://localhost:9901"] {
            assert_eq!(ask(None, Method::POST, "/lever", &[host, json, ("origin", origin)]), 403);
        }
    }

    #[test]
    fn a_token_is_asked_for_wherever_there_is_one() {
        let token = Token::new("0123456789abcdef").unwrap();
        let (token, host) = (Some(&token), ("host", "10.0.0.1"));
        let right = ("authorization", "Bearer 0123456789abcdef");
        assert_eq!(ask(token, Method::GET, "/metrics", &[host, right]), 200);
        assert_eq!(ask(token, Method::GET, "/metrics", &[host]), 401);
        assert_eq!(ask(token, Method::POST, "/healthz", &[host]), 415);
        assert_eq!(ask(token, Method::GET, "/metrics", &[("host", "localhost")]), 401);
        let wrong = ("authorization", "Bearer 0123456789abcdeX");
        assert_eq!(ask(token, Method::GET, "/state", &[host, wrong]), 401);
        for health in ["/healthz", "/readyz"] {
            assert_eq!(ask(token, Method::GET, health, &[host]), 200);
        }
    }
}
