//! Spring Cloud Gateway: the `Retry` filter of routes, three retries of GET if it says no more.

use crate::document::{Document, Entry, Node};
use crate::failure::{Failure, Failures};
use crate::format::parts::entry_below;
use crate::format::shared::{Counted, attempts, exponential, ms, number};
use crate::format::{Format, jvm};
use crate::layer::{Attempts, Delay, Layer, Methods, Reach, Seat, Sourced};
use crate::name::Name;
use crate::reading::{Call, Fact, Reading, What};
use crate::units;

/// `application.yml` and `.properties`.
pub const FORMAT: Format = Format {
    id: "spring-cloud-gateway",
    title: "Spring Cloud Gateway",
    syntaxes: jvm::SYNTAXES,
    is: |_, document| {
        jvm::has(document, &["spring"]) && {
            let root = jvm::tree(document);
            root.below("spring.cloud.gateway").is_some()
        }
    },
    read,
};

const WHO: &str = "Spring Cloud Gateway";

/// Where routes and filters stand, by version and by kind of server.
const PLACES: [&str; 4] = ["", "mvc", "server.webflux", "server.webmvc"];

/// The arguments of the short form, in order.
const SHORT: [&str; 9] = [
    "retries",
    "statuses",
    "methods",
    "firstBackoff",
    "maxBackoff",
    "factor",
    "basedOnPreviousValue",
    "randomFactor",
    "timeout",
];

fn read(_: &str, document: &Document, reading: &mut Reading) {
    let root = jvm::tree(document);
    let Some(gateway) = root.below("spring.cloud.gateway") else { return };
    for place in PLACES {
        let at = if place.is_empty() { Some(gateway) } else { gateway.below(place) };
        let Some(at) = at else { continue };
        let global = ms(entry_below(at, "httpclient.response-timeout"), 1.0);
        let before = reading.layers.len();
        for filter in at.loose("default-filters").map(Node::items).unwrap_or_default() {
            filtered(filter, None, Reach::Everything, global.clone(), reading);
        }
        for route in at.loose("routes").map(Node::items).unwrap_or_default() {
            let uri = route.entry("uri");
            let callee = uri.and_then(|uri| Name::of_host(uri.value.text()?, None));
            if let (Some(uri), Some(callee)) = (uri, callee.clone()) {
                let (line, evidence) = (uri.line, "route".to_owned());
                let protocol = Some("http");
                reading.calls.push(Call {
                    caller: None,
                    callee,
                    line,
                    evidence,
                    count: None,
                    protocol,
                });
            }
            let own = ms(entry_below(route, "metadata.response-timeout"), 1.0);
            let times = own.filter(|time| time.value > 0.0).or(global.clone());
            let id = route.get("id").and_then(Node::text);
            for filter in route.loose("filters").map(Node::items).unwrap_or_default() {
                filtered(filter, Some((id, callee.clone())), Reach::Route, times.clone(), reading);
            }
        }
        if let (Some(time), true) = (&global, reading.layers.len() == before) {
            let line = match time.from {
                crate::layer::Origin::Written(line) => line,
                _ => at.lines[0],
            };
            let what = What::Timeout { attempt_ms: Some(time.value), overall_ms: None };
            reading.facts.push(Fact { lines: [line, line], about: None, what });
        }
    }
}

fn filtered(
    filter: &Node,
    route: Option<(Option<&str>, Option<Name>)>,
    reach: Reach,
    time: Option<Sourced<f64>>,
    reading: &mut Reading,
) {
    let short = filter.text().map(|text| text.split_once('=').unwrap_or((text, "")));
    let name = short.map(|(name, _)| name.trim()).or(filter.get("name").and_then(Node::text));
    let (id, callee) = route.unwrap_or_default();
    match name {
        Some("Retry") => {
            let written;
            let args = match short {
                Some((_, list)) => {
                    written = named(list, filter);
                    Some(&written)
                }
                None => filter.get("args"),
            };
            let mut layer = retry(args, filter.lines);
            layer.reach = reach;
            layer.callee = callee;
            layer.route = id.map(|id| format!("route {id}"));
            layer.attempt_timeout_ms = time;
            reading.layers.push(layer);
        }
        Some("RequestRateLimiter") => {
            let args = filter.get("args");
            let rate = args.and_then(|args| {
                let entry =
                    args.entries().iter().find(|entry| entry.key.ends_with("replenishRate"));
                entry.or(entry_below(args, "redis-rate-limiter.replenishRate"))
            });
            let what = What::RateLimit { per_s: number(rate), status: Some(429) };
            reading.facts.push(Fact { lines: filter.lines, about: callee, what });
        }
        Some("CircuitBreaker" | "Hystrix") => {
            let what = What::Ejection { max_percent: None, panic_percent: None };
            reading.facts.push(Fact { lines: filter.lines, about: callee, what });
        }
        _ => {}
    }
}

/// The short form as the long one.
fn named(list: &str, filter: &Node) -> Node {
    let entry = |(key, text): (&&str, &str)| Entry {
        key: (*key).into(),
        line: filter.lines[0],
        value: Node::scalar(text.trim(), true, filter.lines[0]),
    };
    let given = SHORT.iter().zip(list.split(',')).filter(|(_, text)| !text.trim().is_empty());
    Node { value: crate::document::Value::Map(given.map(entry).collect()), lines: filter.lines }
}

fn retry(args: Option<&Node>, place: [u32; 2]) -> Layer {
    let get = |key: &str| args.and_then(|args| args.loose_entry(key));
    let mut layer = Layer::at(FORMAT.id, Seat::Gateway, place);
    layer.attempts = match get("retries") {
        Some(entry) => Sourced::written(attempts(&entry.value, Counted::Retries), entry.line),
        None => Sourced::default_of(Attempts::Count(4), WHO),
    };
    // Statuses are added to the series, which is 5xx if nobody empties it.
    let series = get("series");
    let statuses = get("statuses");
    let mut on = match series {
        None => Failures::SERVER,
        Some(entry) => {
            let mut kinds = Failures::NONE;
            for word in units::words(&entry.value) {
                match word.as_str() {
                    "SERVER_ERROR" => kinds.add(Failures::SERVER),
                    "CLIENT_ERROR" => kinds.add(Failures::of(&[
                        Failure::ClientError,
                        Failure::Conflict,
                        Failure::TooMany,
                    ])),
                    _ => {}
                }
            }
            kinds
        }
    };
    for word in statuses.map(|entry| units::words(&entry.value)).unwrap_or_default() {
        on.add(status(&word));
        layer.words.push(word);
    }
    if let (Some(_), None) = (statuses, series) {
        layer.notes.push(
            "`statuses` are added to the 5xx of `series`; only an empty `series` narrows them"
                .into(),
        );
    }
    let exceptions = get("exceptions").map(|entry| units::words(&entry.value));
    let io = Failures::of(&[
        Failure::Connect,
        Failure::Refused,
        Failure::Reset,
        Failure::AttemptTimeout,
    ]);
    on.add(match &exceptions {
        None => io,
        Some(names) => jvm::exceptions(names).unwrap_or(Failures::NONE),
    });
    layer.on = match series.or(statuses).or(get("exceptions")) {
        Some(entry) => Sourced::written(on, entry.line),
        None => Sourced::default_of(on, WHO),
    };
    layer.methods = Methods::Listed(match get("methods") {
        Some(entry) => units::words(&entry.value),
        None => vec!["GET".into()],
    });
    layer.delay = backoff(args);
    let jitter =
        args.and_then(|args| entry_below(args, "jitter.randomFactor")).or(get("randomFactor"));
    layer.delay.jitter = number(jitter).is_some_and(|factor| factor > 0.0);
    layer.timeout_ms = ms(get("timeout"), 1.0);
    layer
}

fn backoff(args: Option<&Node>) -> Delay {
    let Some(args) = args else { return Delay::none() };
    let get = |key: &str| args.loose("backoff").unwrap_or(args).loose_entry(key);
    let first = ms(get("firstBackoff"), 1.0);
    if first.is_none() && args.loose("backoff").is_none() {
        return Delay::none();
    }
    let first = first.or(Some(Sourced::default_of(5.0, WHO)));
    exponential(first, number(get("factor")).unwrap_or(2.0), ms(get("maxBackoff"), 1.0))
}

/// A status by its number or its name in Spring.
fn status(word: &str) -> Failures {
    let number = match word.trim().to_ascii_uppercase().as_str() {
        "TOO_MANY_REQUESTS" => Some(429),
        "CONFLICT" => Some(409),
        "INTERNAL_SERVER_ERROR" => Some(500),
        "BAD_GATEWAY" => Some(502),
        "SERVICE_UNAVAILABLE" => Some(503),
        "GATEWAY_TIMEOUT" => Some(504),
        "REQUEST_TIMEOUT" | "NOT_FOUND" | "BAD_REQUEST" | "UNAUTHORIZED" | "FORBIDDEN" => Some(400),
        "NOT_IMPLEMENTED" => Some(501),
        other => other.parse().ok(),
    };
    number.and_then(Failure::of_status).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Syntax;
    use crate::format::shared::{layers, reading};

    #[test]
    fn what_is_written_is_read() {
        let text = "spring:\n  cloud:\n    gateway:\n      server:\n        webflux:\n          routes:\n          - id: orders\n            uri: lb://orders\n            filters:\n            - StripPrefix=1\n            - name: Retry\n              args: {retries: 1, series: \"\", statuses: SERVICE_UNAVAILABLE, methods: \"GET,POST\", backoff: {firstBackoff: 50ms, maxBackoff: 500ms, factor: 2}}\n            metadata: {response-timeout: 1000}\n";
        let reading = reading("application.yml", Syntax::Yaml, text);
        let layer = &reading.layers[0];
        assert_eq!(layer.attempts, Sourced::written(Attempts::Count(2), 12));
        assert!(!layer.on.value.contains(Failure::ServerError));
        assert!(layer.on.value.contains(Failure::Unavailable));
        assert_eq!(layer.methods, Methods::Listed(vec!["GET".into(), "POST".into()]));
        assert_eq!(layer.delay.base_ms, Some(Sourced::written(50.0, 12)));
        assert_eq!(layer.attempt_timeout_ms, Some(Sourced::written(1000.0, 13)));
        assert_eq!(layer.callee, Some(Name::new("orders", None)));
        assert_eq!(reading.calls.len(), 1);
    }

    #[test]
    fn nothing_written_is_three_retries_of_get() {
        let text = "spring.cloud.gateway:\n  default-filters:\n  - name: Retry\n  routes: []\n";
        let found = layers("spring-cloud-gateway", "a.yml", Syntax::Yaml, text);
        assert_eq!(found[0].attempts, Sourced::default_of(Attempts::Count(4), WHO));
        assert_eq!(found[0].methods, Methods::Listed(vec!["GET".into()]));
        assert_eq!((found[0].reach, found[0].delay.clone()), (Reach::Everything, Delay::none()));
        let text = "spring.cloud.gateway.routes: [{id: a, uri: lb://a}]\n";
        assert_eq!(layers("spring-cloud-gateway", "a.yml", Syntax::Yaml, text), []);
    }

    #[test]
    fn the_short_form_and_properties_say_the_same() {
        let text = "spring.cloud.gateway.routes[0].uri=http://orders\nspring.cloud.gateway.routes[0].filters[0]=Retry=2,BAD_GATEWAY,GET,10ms\n";
        let found = layers("spring-cloud-gateway", "a.properties", Syntax::Properties, text);
        assert_eq!(found[0].attempts, Sourced::written(Attempts::Count(3), 2));
        assert_eq!(found[0].delay.base_ms, Some(Sourced::written(10.0, 2)));
        // The status does not take the place of the series.
        assert!(found[0].on.value.contains(Failure::ServerError));
        assert_eq!(found[0].notes.len(), 1);
    }
}
