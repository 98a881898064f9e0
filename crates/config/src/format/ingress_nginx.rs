//! ingress-nginx: three tries for every Ingress if nobody says otherwise.

use crate::document::{Document, Entry, Node, Syntax};
use crate::failure::{Failure, Failures};
use crate::format::parts::{Object, ingress_backends, span};
use crate::format::shared::{Counted, around, attempts, is_ingress_of, ms};
use crate::format::{Format, is_object};
use crate::layer::{Attempts, Layer, Methods, Reach, Seat, Sourced};
use crate::reading::{Call, Fact, Reading, What};

/// Its ConfigMap, and Ingresses with its annotations or its class.
pub const FORMAT: Format = Format {
    id: "ingress-nginx",
    title: "ingress-nginx",
    syntaxes: &[Syntax::Yaml, Syntax::Json],
    is: |_, document| is_ingress(document) || is_configmap(document),
    read,
};

const WHO: &str = "ingress-nginx";
const PREFIX: &str = "nginx.ingress.kubernetes.io/";

/// Keys of the ConfigMap that nobody else uses.
const KEYS: &[&str] = &[
    "proxy-next-upstream",
    "proxy-next-upstream-tries",
    "proxy-next-upstream-timeout",
    "retry-non-idempotent",
];

fn annotations(root: &Node) -> &[Entry] {
    root.below("metadata.annotations").map(Node::entries).unwrap_or_default()
}

fn is_ingress(document: &Document) -> bool {
    let groups = ["networking.k8s.io", "extensions"];
    if !groups.iter().any(|group| is_object(document, group, &["Ingress"])) {
        return false;
    }
    let root = &document.root;
    is_ingress_of(document, "nginx")
        || annotations(root).iter().any(|entry| entry.key.starts_with(PREFIX))
}

fn is_configmap(document: &Document) -> bool {
    is_object(document, "", &["ConfigMap"])
        && document
            .root
            .get("data")
            .is_some_and(|data| KEYS.iter().any(|key| data.get(key).is_some()))
}

fn read(_: &str, document: &Document, reading: &mut Reading) {
    let root = &document.root;
    if is_configmap(document) {
        let data = root.get("data");
        let get = |key: &str| data.and_then(|data| data.entry(key));
        let mut layer = layer(&get, root.lines);
        layer.reach = Reach::Everything;
        reading.layers.push(layer);
        return;
    }
    let get = |key: &str| {
        annotations(root).iter().find(|entry| entry.key.strip_prefix(PREFIX) == Some(key))
    };
    let services = ingress_backends(&Object::at(root));
    for (callee, line) in &services {
        reading.calls.push(Call {
            caller: None,
            callee: callee.clone(),
            line: *line,
            evidence: "route".into(),
            count: None,
            protocol: Some("http"),
        });
    }
    let top = root.entry("kind").map_or(root.lines, |kind| [kind.line, kind.line]);
    let mut layer = layer(&get, top);
    layer.route = Object::at(root).own().map(|name| format!("Ingress {}", name.service));
    layer.callee = match services.as_slice() {
        [(only, _)] => Some(only.clone()),
        _ => None,
    };
    layer.reach = Reach::Route;
    let about = layer.callee.clone();
    reading.layers.push(layer);
    for (key, seconds) in [("limit-rps", 1.0), ("limit-rpm", 60.0)] {
        if let Some(entry) = get(key) {
            let per_s = entry.value.number().map(|rate| rate / seconds);
            let what = What::RateLimit { per_s, status: Some(503) };
            reading.facts.push(Fact { lines: span(entry), about: about.clone(), what });
        }
    }
    if let Some(entry) = get("limit-connections") {
        let active = entry.value.integer().and_then(|most| u64::try_from(most).ok());
        let what = What::Requests { active, waiting: None };
        reading.facts.push(Fact { lines: span(entry), about, what });
    }
}

fn layer<'a>(get: &dyn Fn(&str) -> Option<&'a Entry>, place: [u32; 2]) -> Layer {
    let (next, tries) = (get("proxy-next-upstream"), get("proxy-next-upstream-tries"));
    let window = get("proxy-next-upstream-timeout");
    let repeat = get("retry-non-idempotent");
    let own = around([next, tries, window, repeat].into_iter().flatten());
    let mut layer = Layer::at(FORMAT.id, Seat::Gateway, own.unwrap_or(place));
    layer.implicit = next.is_none() && tries.is_none();
    let words: Vec<String> = next
        .and_then(|next| next.value.text())
        .unwrap_or("error timeout")
        .split_whitespace()
        .map(str::to_owned)
        .collect();
    let mut on = Failures::NONE;
    layer.methods = Methods::Idempotent;
    for word in &words {
        match word.as_str() {
            "error" => on.add(Failures::of(&[Failure::Connect, Failure::Refused, Failure::Reset])),
            "timeout" => on.add(Failures::of(&[Failure::Connect, Failure::AttemptTimeout])),
            "invalid_header" => on.insert(Failure::Reset),
            "non_idempotent" => layer.methods = Methods::All,
            word => on.extend_word(word.strip_prefix("http_")),
        }
    }
    if repeat.and_then(|entry| entry.value.truth()) == Some(true) {
        layer.methods = Methods::All;
    }
    let off = words.iter().any(|word| word == "off");
    layer.attempts = match (next, tries) {
        (Some(next), _) if off => Sourced::written(Attempts::Count(1), next.line),
        (_, Some(entry)) if entry.value.integer() == Some(0) => {
            let expression = "endpoints of the service".to_owned();
            Sourced::written(Attempts::Open { expression, low: 1, high: None }, entry.line)
        }
        (_, Some(entry)) => Sourced::written(attempts(&entry.value, Counted::Total), entry.line),
        (_, None) => Sourced::default_of(Attempts::Count(3), WHO),
    };
    let on = if off { Failures::NONE } else { on };
    layer.on = match next {
        Some(next) => Sourced::written(on, next.line),
        None => Sourced::default_of(on, WHO),
    };
    layer.words = words;
    let read = ms(get("proxy-read-timeout"), 1000.0);
    layer.attempt_timeout_ms = read.or(Some(Sourced::default_of(60_000.0, WHO)));
    let attempt = layer.attempt_timeout_ms.as_ref().map_or(0.0, |time| time.value);
    layer.timeout_ms = ms(window, 1000.0)
        .filter(|window| window.value > 0.0)
        .map(|window| Sourced::derived(window.value + attempt));
    layer
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::shared::{layers, reading};
    use crate::name::Name;

    const HEAD: &str = "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata:\n  name: orders\n  annotations:\n";

    #[test]
    fn what_is_written_is_read() {
        let text = format!(
            "{HEAD}    nginx.ingress.kubernetes.io/proxy-next-upstream: \"error http_503 non_idempotent\"\n    nginx.ingress.kubernetes.io/proxy-next-upstream-tries: \"2\"\n    nginx.ingress.kubernetes.io/proxy-next-upstream-timeout: \"5\"\n    nginx.ingress.kubernetes.io/proxy-read-timeout: \"1\"\n    nginx.ingress.kubernetes.io/limit-rpm: \"120\"\nspec:\n  rules:\n  - http: {{paths: [{{path: /, backend: {{service: {{name: orders, port: {{number: 80}}}}}}}}]}}\n"
        );
        let reading = reading("i.yaml", Syntax::Yaml, &text);
        let layer = &reading.layers[0];
        assert_eq!(layer.attempts, Sourced::written(Attempts::Count(2), 7));
        assert_eq!(layer.lines, [6, 8]);
        assert_eq!(layer.methods, Methods::All);
        assert_eq!(layer.timeout_ms, Some(Sourced::derived(6000.0)));
        assert!(layer.on.value.contains(Failure::Unavailable));
        assert_eq!(layer.callee, Some(Name::new("orders", None)));
        assert_eq!(reading.facts[0].what, What::RateLimit { per_s: Some(2.0), status: Some(503) });
    }

    #[test]
    fn nothing_written_is_three_tries() {
        let text = format!("{HEAD}    kubernetes.io/ingress.class: nginx\nspec: {{}}\n");
        let found = layers("ingress-nginx", "i.yaml", Syntax::Yaml, &text);
        assert_eq!(found[0].attempts, Sourced::default_of(Attempts::Count(3), WHO));
        assert!(found[0].implicit && found[0].lines == [2, 2]);
        let text = format!("{HEAD}    kubernetes.io/ingress.class: traefik\nspec: {{}}\n");
        assert_eq!(layers("ingress-nginx", "i.yaml", Syntax::Yaml, &text), []);
    }

    #[test]
    fn the_configmap_holds_for_all() {
        let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  proxy-next-upstream: \"off\"\n";
        let found = layers("ingress-nginx", "c.yaml", Syntax::Yaml, text);
        assert_eq!(found[0].attempts, Sourced::written(Attempts::Count(1), 5));
        assert_eq!(found[0].reach, Reach::Everything);
        assert!(!found[0].retries());
    }
}
