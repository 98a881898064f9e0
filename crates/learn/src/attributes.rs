//! What attributes mean. Those that are not in the table are never looked at: their values may be
//! secret.

use crate::names::{Interner, Sym};
use crate::span::{End, Kind, Span};

/// What an attribute says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Says {
    /// Who reports (of a resource).
    Service,
    /// Whom a span calls; the number is how well it says so, small is better.
    Peer(u8),
    /// The same as an URL.
    Url,
    /// A cluster of Envoy: `outbound|9080||reviews.default.svc.cluster.local`.
    Cluster,
    HttpStatus,
    GrpcStatus,
    /// Attempts before this one.
    Resends,
    /// The number of this attempt, from 1.
    AttemptNumber,
    Transparent,
    /// There was an error, and perhaps its kind.
    Error,
    ErrorType,
    /// `ERROR`.
    StatusCode,
    Kind,
    /// Response flags of Envoy: `UT`, `UO`, `URX`.
    Flags,
}

/// The attributes that are read, in OpenTelemetry's names (new and old), Jaeger's and Envoy's.
const TABLE: [(&str, Says); 43] = [
    ("service.name", Says::Service),
    ("peer.service", Says::Peer(0)),
    ("service.peer.name", Says::Peer(0)),
    ("upstream_cluster.name", Says::Cluster),
    ("upstream_cluster", Says::Cluster),
    ("messaging.destination.name", Says::Peer(5)),
    ("messaging.destination", Says::Peer(5)),
    ("message_bus.destination", Says::Peer(5)),
    ("messaging.system", Says::Peer(4)),
    ("server.address", Says::Peer(2)),
    ("net.peer.name", Says::Peer(2)),
    ("peer.hostname", Says::Peer(2)),
    ("peer.address", Says::Peer(3)),
    ("http.host", Says::Peer(3)),
    ("db.system.name", Says::Peer(6)),
    ("db.system", Says::Peer(6)),
    ("db.type", Says::Peer(6)),
    ("db.instance", Says::Peer(7)),
    ("rpc.service", Says::Peer(8)),
    ("url.full", Says::Url),
    ("http.url", Says::Url),
    ("http.response.status_code", Says::HttpStatus),
    ("http.status_code", Says::HttpStatus),
    ("rpc.response.status_code", Says::GrpcStatus),
    ("rpc.grpc.status_code", Says::GrpcStatus),
    ("rpc.status_code", Says::GrpcStatus),
    ("grpc.status_code", Says::GrpcStatus),
    ("grpc.status", Says::GrpcStatus),
    ("http.request.resend_count", Says::Resends),
    ("http.resend_count", Says::Resends),
    ("http.retry_count", Says::Resends),
    ("retry.count", Says::Resends),
    ("previous-rpc-attempts", Says::Resends),
    ("grpc.previous-rpc-attempts", Says::Resends),
    ("rpc.request.metadata.grpc-previous-rpc-attempts", Says::Resends),
    ("http.request.header.x-envoy-attempt-count", Says::AttemptNumber),
    ("transparent-retry", Says::Transparent),
    ("error", Says::Error),
    ("error.type", Says::ErrorType),
    ("otel.status_code", Says::StatusCode),
    ("span.kind", Says::Kind),
    ("otel.span.kind", Says::Kind),
    ("response_flags", Says::Flags),
];

/// What a key says; `None`: nothing that is read.
pub(crate) fn meaning(key: &str) -> Option<Says> {
    // Most keys of a span are not in the table; a look at the length and the first letter is
    // cheaper than a hash.
    let same = |(name, _): &&(&str, Says)| {
        name.len() == key.len() && name.as_bytes().first() == key.as_bytes().first()
    };
    TABLE.iter().filter(same).find(|(name, _)| *name == key).map(|(_, says)| *says)
}

/// Collects what the attributes of a span say.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    peer: Option<(u8, Sym)>,
    kind: Option<Kind>,
    /// From a status code, which says more than a flag.
    code: Option<End>,
    /// From a flag, a type or a status of the span.
    error: Option<End>,
    resends: Option<u16>,
    transparent: bool,
    /// `service.name`, where it stands among the attributes of a span.
    pub(crate) service: Option<Sym>,
}

impl Facts {
    /// One attribute.
    pub(crate) fn add(&mut self, says: Says, value: &str, strings: &mut Interner) {
        match says {
            Says::Service if !value.is_empty() => self.service = Some(strings.number(value)),
            Says::Peer(rank) => self.peer(rank, value, strings),
            Says::Url => self.peer(3, host(value), strings),
            Says::Cluster => {
                let last = value.rsplit('|').next().unwrap_or_default();
                self.peer(1, last, strings);
            }
            Says::HttpStatus => self.code = self.code.or(http(value)),
            Says::GrpcStatus => self.code = self.code.or(grpc(value)),
            Says::Resends => self.resends = value.trim().parse().ok().or(self.resends),
            Says::AttemptNumber => {
                let number = value.trim().parse::<u16>().ok();
                self.resends = number.map(|n| n.saturating_sub(1)).or(self.resends);
            }
            Says::Transparent => self.transparent = value == "true",
            // `error` is a flag to Jaeger and a text to Zipkin.
            Says::Error if !matches!(value, "" | "false" | "0") => self.worse(of_type(value)),
            Says::ErrorType if !value.is_empty() => self.worse(of_type(value)),
            Says::StatusCode if value.eq_ignore_ascii_case("error") => self.worse(End::Failed),
            Says::Kind => self.kind = kind(value).or(self.kind),
            Says::Flags => {
                let flag = |known: &[&str]| value.split(',').any(|flag| known.contains(&flag));
                if flag(&["UT", "DT", "SI", "DC"]) {
                    self.worse(End::TimedOut);
                } else if flag(&["UO", "RL", "UF", "UH", "OM"]) {
                    self.worse(End::Rejected);
                }
            }
            _ => {}
        }
    }

    /// The span's own status says that it is an error.
    pub(crate) fn is_error(&mut self) {
        self.worse(End::Failed);
    }

    /// A kind of error that is known goes before one that is not.
    fn worse(&mut self, end: End) {
        if self.error.is_none_or(|known| known == End::Failed) {
            self.error = Some(end);
        }
    }

    fn peer(&mut self, rank: u8, value: &str, strings: &mut Interner) {
        let value = without_port(value.trim());
        let local = matches!(value, "" | "localhost" | "127.0.0.1" | "::1");
        if local || self.peer.is_some_and(|(known, _)| known <= rank) {
            return;
        }
        // An address says whom only as long as nothing else does.
        let rank = if is_address(value) { rank.max(9) } else { rank };
        if self.peer.is_none_or(|(known, _)| known > rank) {
            self.peer = Some((rank, strings.number(value)));
        }
    }

    /// Puts what was found into a span.
    pub(crate) fn tell(self, span: &mut Span) {
        span.kind =
            if span.kind == Kind::Unspecified { self.kind.unwrap_or_default() } else { span.kind };
        if let Some((_, peer)) = self.peer {
            span.peer = peer;
        }
        span.resends = self.resends.or(span.resends);
        span.transparent |= self.transparent;
        span.end_as = match (self.code, self.error) {
            // A known kind of end; a code that is none leaves it to the flag.
            (Some(code), None | Some(End::Failed)) if code.is_bad() => code,
            (_, Some(error)) => error,
            (code, None) => code.unwrap_or_default(),
        };
    }
}

/// The kind that a word or a number says.
pub(crate) fn kind(word: &str) -> Option<Kind> {
    let word = word.strip_prefix("SPAN_KIND_").unwrap_or(word);
    let kinds = [
        ("internal", "1", Kind::Internal),
        ("server", "2", Kind::Server),
        ("client", "3", Kind::Client),
        ("producer", "4", Kind::Producer),
        ("consumer", "5", Kind::Consumer),
    ];
    let same = |(name, number, _): &&(&str, &str, Kind)| {
        word.eq_ignore_ascii_case(name) || word == *number
    };
    kinds.iter().find(same).map(|(_, _, kind)| *kind)
}

/// How a status of HTTP ends a call. What a client did wrong is no failure of the service.
pub(crate) fn http(code: &str) -> Option<End> {
    Some(match code.trim().parse::<u32>().ok()? {
        429 | 503 => End::Rejected,
        408 | 504 => End::TimedOut,
        500.. => End::Failed,
        // Envoy's and Istio's: there was no reply.
        0 => End::Failed,
        _ => End::Success,
    })
}

/// The same of gRPC, by number or by name.
pub(crate) fn grpc(code: &str) -> Option<End> {
    let code = code.trim();
    if code.is_empty() {
        return None;
    }
    let code = code.to_ascii_uppercase();
    Some(match code.as_str() {
        "0" | "OK" => End::Success,
        "8" | "14" | "RESOURCE_EXHAUSTED" | "UNAVAILABLE" => End::Rejected,
        "1" | "4" | "CANCELLED" | "DEADLINE_EXCEEDED" => End::TimedOut,
        // The caller's mistakes: invalid, not found, exists, denied, precondition, range, identity.
        "3"
        | "5"
        | "6"
        | "7"
        | "9"
        | "11"
        | "16"
        | "INVALID_ARGUMENT"
        | "NOT_FOUND"
        | "ALREADY_EXISTS"
        | "PERMISSION_DENIED"
        | "FAILED_PRECONDITION"
        | "OUT_OF_RANGE"
        | "UNAUTHENTICATED" => End::Success,
        _ => End::Failed,
    })
}

/// How an error of this type ends a call.
fn of_type(text: &str) -> End {
    if text.len() <= 3 && text.parse::<u32>().is_ok() {
        return http(text).filter(|end| end.is_bad()).unwrap_or(End::Failed);
    }
    let text = text.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
    if has(&["timeout", "timed out", "timed_out", "deadline", "cancel"]) {
        End::TimedOut
    } else if has(&["unavailable", "rejected", "exhausted", "refused", "too many", "circuit"]) {
        End::Rejected
    } else {
        End::Failed
    }
}

/// The host of an URL, without who asks.
pub(crate) fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let rest = rest.split(['/', '?', '#']).next().unwrap_or_default();
    rest.rsplit('@').next().unwrap_or_default()
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if !name.contains(':') && port.bytes().all(|b| b.is_ascii_digit()) => {
            name
        }
        _ => host,
    }
}

fn is_address(host: &str) -> bool {
    host.trim_matches(['[', ']']).parse::<std::net::IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(attributes: &[(&str, &str)]) -> (Span, String) {
        let (mut strings, mut facts, mut span) =
            (Interner::default(), Facts::default(), Span::default());
        for (key, value) in attributes {
            if let Some(says) = meaning(key) {
                facts.add(says, value, &mut strings);
            }
        }
        facts.tell(&mut span);
        let peer = strings.text(span.peer).to_owned();
        (span, peer)
    }

    #[test]
    fn ends_come_from_codes_first() {
        for (attributes, end) in [
            (&[("http.status_code", "200")][..], End::Success),
            (&[("http.response.status_code", "503"), ("error", "true")], End::Rejected),
            (&[("error", "true"), ("http.status_code", "404")], End::Failed),
            (&[("rpc.grpc.status_code", "4")], End::TimedOut),
            (&[("rpc.response.status_code", "UNAVAILABLE")], End::Rejected),
            (&[("error.type", "java.net.SocketTimeoutException")], End::TimedOut),
            (&[("error.type", "500")], End::Failed),
            (&[("error", "false")], End::Success),
            (&[("response_flags", "UT"), ("http.status_code", "504")], End::TimedOut),
        ] {
            assert_eq!(told(attributes).0.end_as, end, "{attributes:?}");
        }
    }

    #[test]
    fn the_best_name_of_a_peer_wins() {
        for (attributes, peer) in [
            (&[("server.address", "orders:8080"), ("peer.service", "orders-v2")][..], "orders-v2"),
            (&[("url.full", "http://me:secret@orders:80/x?y=z")], "orders"),
            (&[("net.peer.name", "10.0.0.7"), ("db.system", "redis")], "redis"),
            (&[("server.address", "10.0.0.7")], "10.0.0.7"),
            (&[("server.address", "localhost"), ("db.system", "mysql")], "mysql"),
            (&[("upstream_cluster", "outbound|9080||reviews.shop.svc")], "reviews.shop.svc"),
        ] {
            assert_eq!(told(attributes).1, peer, "{attributes:?}");
        }
    }

    #[test]
    fn attempts_are_counted_from_any_of_their_names() {
        assert_eq!(told(&[("http.request.resend_count", "2")]).0.resends, Some(2));
        assert_eq!(told(&[("http.request.header.x-envoy-attempt-count", "1")]).0.resends, Some(0));
        assert_eq!(told(&[("previous-rpc-attempts", "99999999999")]).0.resends, None);
        assert!(told(&[("transparent-retry", "true")]).0.transparent);
    }
}
