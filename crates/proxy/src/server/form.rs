//! Whether the head of a request can be read in one way only. The HTTP library refuses what it cannot
//! read itself; here is what it lets through and another reader could take for something else.

use http::header::{HOST, HeaderMap, TRANSFER_ENCODING};
use http::{Method, Request, StatusCode, Uri, Version};

/// What a request must not be.
struct Flaw {
    status: StatusCode,
    has: fn(&Head<'_>) -> bool,
}

/// What the rules look at.
struct Head<'a> {
    method: &'a Method,
    uri: &'a Uri,
    version: Version,
    headers: &'a HeaderMap,
}

const FLAWS: [Flaw; 5] = [
    // RFC 9110, 9.3.6: a tunnel. A proxy that tunnels for whoever asks would be an open one.
    Flaw { status: StatusCode::METHOD_NOT_ALLOWED, has: |head| *head.method == Method::CONNECT },
    // RFC 9112, 3.2; RFC 9113, 8.3.1: a target that is neither a path nor a whole URI.
    Flaw { status: StatusCode::BAD_REQUEST, has: |head| !is_target(head) },
    // RFC 9112, 3.2; RFC 9113, 8.3.1: no host, or more than one.
    Flaw { status: StatusCode::BAD_REQUEST, has: |head| !has_one_host(head) },
    // RFC 9110, 4.2.4 and 7.2: a host that is none, or has a user in it.
    Flaw {
        status: StatusCode::BAD_REQUEST,
        has: |head| {
            let told = head.headers.get(HOST).map(http::HeaderValue::as_bytes);
            let meant = head.uri.authority().map(|authority| authority.as_str().as_bytes());
            !told.is_none_or(is_host) || !meant.is_none_or(is_host)
        },
    },
    // RFC 9112, 6.1: a transfer coding that is not chunked alone.
    Flaw { status: StatusCode::NOT_IMPLEMENTED, has: |head| !is_chunked_alone(head.headers) },
];

/// The status with which a request is refused for its form; its connection is of no use any more.
pub(crate) fn refuses<B>(request: &Request<B>) -> Option<StatusCode> {
    let head = Head {
        method: request.method(),
        uri: request.uri(),
        version: request.version(),
        headers: request.headers(),
    };
    FLAWS.iter().find(|flaw| (flaw.has)(&head)).map(|flaw| flaw.status)
}

fn is_target(head: &Head<'_>) -> bool {
    let uri = head.uri;
    let path = uri.path();
    let fits = path.starts_with('/') || (path == "*" && *head.method == Method::OPTIONS);
    match (uri.scheme_str(), uri.authority()) {
        (None, None) => fits,
        // A host alone is a target of CONNECT.
        (None, Some(_)) => false,
        // An empty path of a whole URI stands for the root.
        (Some(scheme), _) => matches!(scheme, "http" | "https") && (fits || path.is_empty()),
    }
}

fn has_one_host(head: &Head<'_>) -> bool {
    let mut told = head.headers.get_all(HOST).iter();
    let (first, second) = (told.next(), told.next());
    if second.is_some() {
        return false;
    }
    match head.version {
        Version::HTTP_2 => match (first, head.uri.authority()) {
            (Some(host), Some(authority)) => host.as_bytes() == authority.as_str().as_bytes(),
            (host, authority) => host.is_some() || authority.is_some(),
        },
        Version::HTTP_11 => first.is_some(),
        _ => true,
    }
}

/// Letters of a host and a port, and nothing that would end them.
fn is_host(host: &[u8]) -> bool {
    host.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-._~%!$&'()*+,;=:[]".contains(byte))
}

fn is_chunked_alone(headers: &HeaderMap) -> bool {
    let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
    match (codings.next(), codings.next()) {
        (None, _) => true,
        (Some(coding), None) => coding.as_bytes().eq_ignore_ascii_case(b"chunked"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(version: Version, method: &str, uri: &str, hosts: &[&str]) -> Request<()> {
        let builder = Request::builder().version(version).method(method).uri(uri);
        hosts.iter().fold(builder, |builder, host| builder.header(HOST, *host)).body(()).unwrap()
    }

    /// A version, a method, a target, hosts, and the status of the refusal.
    type Row = (Version, &'static str, &'static str, &'static [&'static str], Option<u16>);

    #[test]
    fn what_can_be_read_in_two_ways_is_refused() {
        use Version as V;
        let rows: &[Row] = &[
            (V::HTTP_11, "GET", "/", &["a"], None),
            (V::HTTP_11, "GET", "/", &["[::1]:80"], None),
            (V::HTTP_11, "OPTIONS", "*", &["a"], None),
            (V::HTTP_11, "GET", "http://b/x", &["a"], None),
            (V::HTTP_10, "GET", "/", &[], None),
            (V::HTTP_2, "GET", "http://a/", &[], None),
            (V::HTTP_2, "GET", "http://a/", &["a"], None),
            (V::HTTP_11, "CONNECT", "a:80", &["a:80"], Some(405)),
            (V::HTTP_11, "GET", "a:80", &["a:80"], Some(400)),
            (V::HTTP_11, "GET", "*", &["a"], Some(400)),
            (V::HTTP_11, "GET", "ftp://a/", &["a"], Some(400)),
            (V::HTTP_11, "GET", "/", &[], Some(400)),
            (V::HTTP_11, "GET", "/", &["a", "a"], Some(400)),
            (V::HTTP_10, "GET", "/", &["a", "b"], Some(400)),
            (V::HTTP_2, "GET", "/", &[], Some(400)),
            (V::HTTP_2, "GET", "http://a/", &["b"], Some(400)),
            (V::HTTP_11, "GET", "/", &["a b"], Some(400)),
            (V::HTTP_11, "GET", "/", &["user@a"], Some(400)),
            (V::HTTP_11, "GET", "/", &["a/x"], Some(400)),
            (V::HTTP_11, "GET", "http://user@b/", &["a"], Some(400)),
        ];
        for (version, method, uri, hosts, status) in rows {
            let refused = refuses(&request(*version, method, uri, hosts));
            let what = format!("{method} {uri} {hosts:?} {version:?}");
            assert_eq!(refused.map(|status| status.as_u16()), *status, "{what}");
        }
    }

    #[test]
    fn only_chunked_alone_is_a_coding() {
        for (codings, fine) in [
            (&["chunked"][..], true),
            (&["Chunked"], true),
            (&["gzip, chunked"], false),
            (&["chunked, chunked"], false),
            (&["chunked", "chunked"], false),
            (&["\"chunked\""], false),
        ] {
            let mut request = request(Version::HTTP_11, "POST", "/", &["a"]);
            for coding in codings {
                request.headers_mut().append(TRANSFER_ENCODING, coding.parse().unwrap());
            }
            assert_eq!(refuses(&request).is_none(), fine, "{codings:?}");
        }
    }
}
