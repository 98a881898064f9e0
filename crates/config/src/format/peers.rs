//! Who is called, as environment variables and arguments name it.

use crate::name::Name;

/// Ends of the names of variables that hold an address, or may hold any name.
const WEAK: [&str; 4] = ["SERVICE", "TARGET", "BACKEND", "UPSTREAM"];

/// Ends of the names of variables that hold an address.
const HINTS: [&str; 10] = [
    "ADDR", "ADDRESS", "HOST", "HOSTNAME", "URL", "URI", "ENDPOINT", "BROKERS", "SERVERS", "HOSTS",
];

/// Beginnings of variables that speak of watching, of proxies, of where one is seen from outside.
const OTHER: [&str; 8] =
    ["OTEL_", "NO_PROXY", "HTTP_PROXY", "HTTPS_PROXY", "JAEGER", "ZIPKIN", "PUBLIC_", "CORS_"];

/// Services that everybody talks to and nobody waits for.
const ASIDE: [&str; 17] = [
    "otel",
    "opentelemetry",
    "collector",
    "jaeger",
    "zipkin",
    "prometheus",
    "grafana",
    "consul",
    "flagd",
    "tempo",
    "loki",
    "statsd",
    "datadog",
    "fluentd",
    "istiod",
    "linkerd-",
    "zookeeper",
];

/// Over what, by the scheme of a URL.
const SCHEMES: &[(&str, &str)] = &[
    ("http", "http"),
    ("https", "http"),
    ("ws", "http"),
    ("wss", "http"),
    ("grpc", "grpc"),
    ("dns", "grpc"),
    ("postgres", "sql"),
    ("postgresql", "sql"),
    ("mysql", "sql"),
    ("mongodb", "sql"),
    ("redis", "cache"),
    ("rediss", "cache"),
    ("memcached", "cache"),
    ("amqp", "queue"),
    ("amqps", "queue"),
    ("nats", "queue"),
    ("kafka", "queue"),
];

/// Over what, by a word in a name or an image.
const STORES: &[(&str, &str)] = &[
    ("redis", "cache"),
    ("valkey", "cache"),
    ("memcache", "cache"),
    ("postgres", "sql"),
    ("mysql", "sql"),
    ("mariadb", "sql"),
    ("mongo", "sql"),
    ("kafka", "queue"),
    ("rabbitmq", "queue"),
    ("nats", "queue"),
];

/// A service that is called.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Peer {
    /// Who.
    pub(crate) name: Name,
    /// Over what, where that can be told.
    pub(crate) protocol: Option<&'static str>,
}

/// Whether a service is there for watching and for lookups, not for the work.
pub(crate) fn is_aside(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ASIDE.iter().any(|word| name.contains(word))
}

/// Over what one talks to a service of this name or image.
pub(crate) fn protocol_of(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    STORES.iter().find(|(word, _)| name.contains(word)).map(|(_, over)| *over)
}

/// The peer that a variable names: by a URL, by `host:port`, or by a host where the variable's
/// name says that it holds one.
pub(crate) fn of_variable(key: &str, value: &str, home: Option<&str>) -> Option<Peer> {
    with_hints(key, value, home, &[])
}

/// As [`of_variable`], where the caller knows which names there are: then a weak hint suffices.
pub(crate) fn of_variable_among_known(key: &str, value: &str) -> Option<Peer> {
    with_hints(key, value, None, &WEAK)
}

fn with_hints(key: &str, value: &str, home: Option<&str>, weak: &[&str]) -> Option<Peer> {
    let upper = key.to_ascii_uppercase().replace(['-', '.'], "_");
    if OTHER.iter().any(|word| upper.starts_with(word)) {
        return None;
    }
    // `HOST` alone is where one listens; `ORDERS_HOST` is somebody.
    let hinted = HINTS.iter().chain(weak).any(|hint| {
        upper.strip_suffix(hint).is_some_and(|rest| rest.ends_with('_') && rest.len() > 1)
    });
    of_value(value, hinted, home)
}

/// The peer that an argument such as `--upstream=http://orders` names.
pub(crate) fn of_argument(argument: &str, home: Option<&str>) -> Option<Peer> {
    if argument.contains(char::is_whitespace) {
        return None;
    }
    match argument.split_once('=') {
        Some((flag, value)) => of_variable(flag.trim_start_matches('-'), value, home),
        None => of_value(argument, false, home),
    }
}

fn of_value(value: &str, hinted: bool, home: Option<&str>) -> Option<Peer> {
    let value = value.trim();
    let first = value.split(',').next().unwrap_or_default();
    if first.is_empty() || first.contains(char::is_whitespace) || first.contains(['$', '{', '\\']) {
        return None;
    }
    let scheme = first.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
    let scheme = scheme.as_deref().map(|scheme| scheme.rsplit(':').next().unwrap_or(scheme));
    let protocol = scheme
        .and_then(|scheme| SCHEMES.iter().find(|(name, _)| scheme.starts_with(name)))
        .map(|(_, over)| *over);
    let port = first.rsplit_once(':').is_some_and(|(host, port)| {
        !host.contains([':', '/']) && !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit())
    });
    let named = match scheme {
        Some(_) => protocol.is_some(),
        // A bare word is a host only where something says so.
        None => port || hinted && !first.contains('/') && first.parse::<f64>().is_err(),
    };
    if !named {
        return None;
    }
    let name = Name::of_host(first, home)?;
    let host = name.service.as_str();
    let nobody = matches!(host, "localhost" | "true" | "false" | "none" | "null")
        || host.starts_with("localhost")
        || host.ends_with(".internal")
        || !host.bytes().any(|byte| byte.is_ascii_alphabetic())
        || is_aside(host);
    if nobody {
        return None;
    }
    let protocol = protocol.filter(|over| *over != "http").or(protocol_of(host)).or(protocol);
    Some(Peer { name, protocol })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_name_peers() {
        let of = |key: &str, value: &str| {
            of_variable(key, value, None).map(|peer| (peer.name.to_string(), peer.protocol))
        };
        let some = |name: &str, over| Some((name.to_owned(), over));
        assert_eq!(of("ORDERS_URL", "http://orders:8080/x"), some("orders", Some("http")));
        assert_eq!(of("CART_SERVICE_ADDR", "cart:7070"), some("cart", None));
        assert_eq!(of("CACHE_HOST", "redis"), some("redis", Some("cache")));
        assert_eq!(of("DB_URL", "postgres://u:p@db:5432/o"), some("db", Some("sql")));
        assert_eq!(of("JDBC_URL", "jdbc:mysql://db:3306/o"), some("db", Some("sql")));
        assert_eq!(of("ANYTHING", "orders.shop:80"), some("orders.shop", None));
        assert_eq!(of("MODE", "fast"), None);
        assert_eq!(of("HOST", "web"), None);
        assert_eq!(of("DEPLOY_TARGET", "production"), None);
        assert!(of_variable_among_known("PAY_SERVICE", "pay").is_some());
        assert_eq!(of("PORT", "8080"), None);
        assert_eq!(of("LISTEN_ADDR", "0.0.0.0:80"), None);
        assert_eq!(of("COLLECTOR_SERVICE_ADDR", "opentelemetrycollector:4317"), None);
        assert_eq!(of("OTEL_EXPORTER_OTLP_ENDPOINT", "http://x:4317"), None);
        assert_eq!(of("WHEN", "12:30"), None);
        assert_eq!(of("API_HOST", "$(HOST)"), None);
    }

    #[test]
    fn arguments_name_peers() {
        let of = |text: &str| of_argument(text, None).map(|peer| peer.name.to_string());
        assert_eq!(of("--upstream=http://orders").as_deref(), Some("orders"));
        assert_eq!(of("http://orders/").as_deref(), Some("orders"));
        assert_eq!(of("curl http://orders"), None);
        assert_eq!(of("serve"), None);
    }
}
