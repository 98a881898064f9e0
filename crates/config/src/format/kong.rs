//! Kong: five retries of every service if nobody says otherwise.

use crate::document::{Document, Entry, Node, Syntax};
use crate::failure::{Failure, Failures};
use crate::format::parts::{Object, ingress_backends, span};
use crate::format::shared::{Counted, attempts_or, is_ingress_of, maps, ms_or, number};
use crate::format::{Format, is_object};
use crate::layer::{Attempts, Layer, Methods, Reach, Seat, Sourced};
use crate::name::Name;
use crate::reading::{Call, Fact, Reading, What};

/// Declarative files, `KongIngress`, and annotations of Kubernetes Services.
pub const FORMAT: Format = Format {
    id: "kong",
    title: "Kong",
    syntaxes: &[Syntax::Yaml, Syntax::Json],
    is: |_, document| {
        let root = &document.root;
        root.get("_format_version").is_some()
            || is_object(document, "configuration.konghq.com", &["KongIngress"])
            || annotated(root)
            || is_ingress_of(document, "kong")
    },
    read,
};

const WHO: &str = "Kong";

fn annotations(root: &Node) -> &[Entry] {
    root.below("metadata.annotations").map(Node::entries).unwrap_or_default()
}

fn annotated(root: &Node) -> bool {
    annotations(root).iter().any(|entry| {
        let key = entry.key.strip_prefix("konghq.com/");
        key.is_some_and(|key| key == "retries" || key.ends_with("-timeout"))
    })
}

fn read(_: &str, document: &Document, reading: &mut Reading) {
    let root = &document.root;
    if root.get("_format_version").is_some() {
        for service in root.get("services").map(Node::items).unwrap_or_default() {
            let name = service.get("name").and_then(Node::text);
            let host = service.get("host").or(service.get("url")).and_then(Node::text);
            let callee = host.and_then(|host| Name::of_host(host, None));
            let line = service.lines[0];
            if let Some(callee) = callee.clone() {
                let evidence = "service".to_owned();
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
            let about = callee.or_else(|| name.map(|name| Name::new(name, None)));
            let key = |key: &str| service.entry(key);
            let times = ["connect_timeout", "read_timeout"].map(key);
            reading.layers.push(layer(about, [line, line], key("retries"), times));
        }
        plugins(root, reading);
        return;
    }
    if is_ingress_of(document, "kong") {
        // The services behind it are Kong's services; those that say more are read by themselves.
        let line = root.entry("kind").map_or(root.lines[0], |kind| kind.line);
        for (callee, named) in ingress_backends(&Object::at(root)) {
            let evidence = "route".to_owned();
            let protocol = Some("http");
            let to = callee.clone();
            reading.calls.push(Call {
                caller: None,
                callee: to,
                line: named,
                evidence,
                count: None,
                protocol,
            });
            reading.layers.push(layer(Some(callee), [line, line], None, [None, None]));
        }
    }
    if annotated(root) {
        let annotation = |key: &str| {
            annotations(root)
                .iter()
                .find(|entry| entry.key.strip_prefix("konghq.com/") == Some(key))
        };
        let times = ["connect-timeout", "read-timeout"].map(annotation);
        let retries = annotation("retries");
        let place = retries.or(times[0]).or(times[1]).map_or(root.lines, span);
        reading.layers.push(layer(Object::at(root).own(), place, retries, times));
    }
    if let Some(proxy) =
        root.get("proxy").filter(|_| root.get("kind").and_then(Node::text) == Some("KongIngress"))
    {
        let times = ["connect_timeout", "read_timeout"].map(|key| proxy.entry(key));
        let line = proxy.lines[0];
        reading.layers.push(layer(None, [line, line], proxy.entry("retries"), times));
    }
}

fn layer(
    callee: Option<Name>,
    place: [u32; 2],
    retries: Option<&Entry>,
    [connect, read]: [Option<&Entry>; 2],
) -> Layer {
    let mut layer = Layer::at(FORMAT.id, Seat::Gateway, retries.map_or(place, span));
    layer.callee = callee;
    layer.reach = Reach::Service;
    layer.implicit = retries.is_none();
    layer.attempts = attempts_or(retries, Counted::Retries, Attempts::Count(6), WHO);
    let kinds = [Failure::Connect, Failure::Refused, Failure::Reset, Failure::AttemptTimeout];
    layer.on = Sourced::default_of(Failures::of(&kinds), WHO);
    layer.words = vec!["error".into(), "timeout".into()];
    layer.methods = Methods::Idempotent;
    layer.attempt_timeout_ms = match (read, connect) {
        (None, Some(_)) | (Some(_), _) => ms_or(read, 1.0, 60_000.0, WHO),
        (None, None) => Some(Sourced::default_of(60_000.0, WHO)),
    };
    layer
}

/// Rate limits of plugins, wherever they stand.
fn plugins(root: &Node, reading: &mut Reading) {
    maps(root, &mut |map| {
        let name = map.get("name").and_then(Node::text).unwrap_or_default();
        if !matches!(name, "rate-limiting" | "rate-limiting-advanced" | "response-ratelimiting") {
            return;
        }
        let Some(config) = map.entry("config") else { return };
        let windows = [("second", 1.0), ("minute", 60.0), ("hour", 3600.0), ("day", 86_400.0)];
        let per = |(key, seconds): (&str, f64)| Some(number(config.value.entry(key))? / seconds);
        let per_s = windows.into_iter().find_map(per);
        let status = config.value.get("error_code").and_then(Node::integer);
        let status = status.and_then(|status| u32::try_from(status).ok()).or(Some(429));
        let what = What::RateLimit { per_s, status };
        reading.facts.push(Fact { lines: span(config), about: None, what });
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::shared::{layers, reading};

    #[test]
    fn what_is_written_is_read() {
        let text = "_format_version: \"3.0\"\nservices:\n- name: orders\n  url: http://orders.shop:8080\n  retries: 1\n  connect_timeout: 250\n  read_timeout: 1000\n  plugins:\n  - {name: rate-limiting, config: {minute: 60}}\n";
        let reading = reading("kong.yml", Syntax::Yaml, text);
        let layer = &reading.layers[0];
        assert_eq!(layer.attempts, Sourced::written(Attempts::Count(2), 5));
        assert_eq!(layer.attempt_timeout_ms, Some(Sourced::written(1000.0, 7)));
        assert_eq!(layer.callee, Some(Name::new("orders", Some("shop"))));
        assert_eq!(reading.facts[0].what, What::RateLimit { per_s: Some(1.0), status: Some(429) });
    }

    #[test]
    fn nothing_written_is_six_attempts() {
        let text = "_format_version: \"3.0\"\nservices:\n- name: orders\n  host: orders\n";
        let found = layers("kong", "kong.yml", Syntax::Yaml, text);
        assert_eq!(found[0].attempts, Sourced::default_of(Attempts::Count(6), WHO));
        assert!(found[0].implicit && found[0].lines == [3, 3]);
        // A status is no failure to Kong.
        assert!(!found[0].on.value.contains(Failure::Unavailable));
    }

    #[test]
    fn an_ingress_of_its_class_is_six_attempts() {
        let text = "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: i, namespace: shop}\nspec:\n  ingressClassName: kong\n  rules: [{http: {paths: [{backend: {service: {name: orders}}}]}}]\n";
        let found = layers("kong", "i.yaml", Syntax::Yaml, text);
        assert_eq!(found[0].attempts, Sourced::default_of(Attempts::Count(6), WHO));
        assert_eq!((found[0].lines, found[0].implicit), ([2, 2], true));
        assert_eq!(found[0].callee, Some(Name::new("orders", Some("shop"))));
    }

    #[test]
    fn annotations_say_the_same() {
        let text = "apiVersion: v1\nkind: Service\nmetadata:\n  name: orders\n  annotations:\n    konghq.com/retries: \"0\"\n";
        let found = layers("kong", "s.yaml", Syntax::Yaml, text);
        assert_eq!(found[0].attempts, Sourced::written(Attempts::Count(1), 6));
    }
}
