//! Spring Cloud OpenFeign: never retries, unless a retryer is named.

use crate::document::{Document, Entry, Node};
use crate::failure::{Failure, Failures};
use crate::format::parts::span;
use crate::format::shared::{exponential, expression, ms};
use crate::format::{Format, jvm};
use crate::layer::{Attempts, Layer, Methods, Reach, Seat, Sourced};
use crate::name::Name;
use crate::reading::{Fact, Reading, What};

/// `application.yml` and `.properties`.
pub const FORMAT: Format = Format {
    id: "openfeign",
    title: "Spring Cloud OpenFeign",
    syntaxes: jvm::SYNTAXES,
    is: |_, document| {
        jvm::has(document, &["spring", "feign"]) && clients(&jvm::tree(document)).is_some()
    },
    read,
};

const WHO: &str = "Feign";

fn clients(root: &Node) -> Option<&Node> {
    let new = root.below("spring.cloud.openfeign.client.config");
    new.or_else(|| root.below("feign.client.config"))
}

fn read(_: &str, document: &Document, reading: &mut Reading) {
    let root = jvm::tree(document);
    let clients = clients(&root).map(Node::entries).unwrap_or_default();
    let default = clients.iter().find(|client| &*client.key == "default");
    for client in clients {
        let get = |key: &str| {
            let own = client.value.loose_entry(key);
            own.or_else(|| default.and_then(|default| default.value.loose_entry(key)))
        };
        let whole = &*client.key == "default";
        let callee = (!whole).then(|| Name::new(&client.key, None));
        let reach = if whole { Reach::Everything } else { Reach::Service };
        let time = ms(get("readTimeout"), 1.0);
        match client.value.loose_entry("retryer") {
            Some(retryer) => {
                let mut layer = layer(retryer);
                (layer.callee, layer.reach, layer.attempt_timeout_ms) = (callee, reach, time);
                reading.layers.push(layer);
            }
            None => {
                if let Some(time) = time {
                    let what = What::Timeout { attempt_ms: Some(time.value), overall_ms: None };
                    reading.facts.push(Fact { lines: span(client), about: callee, what });
                }
            }
        }
    }
}

fn layer(retryer: &Entry) -> Layer {
    let mut layer = Layer::at(FORMAT.id, Seat::Client, span(retryer));
    let class = retryer.value.text().unwrap_or_default();
    let kind = class.rsplit(['.', '$']).next().unwrap_or_default();
    let kinds = [Failure::Connect, Failure::Refused, Failure::Reset, Failure::AttemptTimeout];
    layer.on = Sourced::default_of(Failures::of(&kinds), WHO);
    layer.methods = Methods::All;
    layer.pushback = true;
    match kind {
        "NEVER_RETRY" | "NeverRetry" => {
            layer.attempts = Sourced::written(Attempts::Count(1), retryer.line);
            layer.on = Sourced::written(Failures::NONE, retryer.line);
            layer.pushback = false;
        }
        "Default" | "DefaultRetryer" => {
            layer.attempts = Sourced::default_of(Attempts::Count(5), WHO);
            let cap = Some(Sourced::default_of(1000.0, WHO));
            layer.delay = exponential(Some(Sourced::default_of(100.0, WHO)), 1.5, cap);
        }
        _ => {
            let open =
                Attempts::Open { expression: expression(&retryer.value), low: 1, high: None };
            layer.attempts = Sourced::written(open, retryer.line);
            layer.delay.growth = crate::layer::Growth::Unknown;
        }
    }
    layer
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Syntax;
    use crate::format::shared::reading;

    #[test]
    fn a_retryer_is_read_and_its_absence_never_retries() {
        let text = "spring:\n  cloud:\n    openfeign:\n      client:\n        config:\n          default: {connectTimeout: 250, readTimeout: 1000}\n          orders: {readTimeout: 800, retryer: com.example.TwoTries}\n          stock: {retryer: feign.Retryer.Default}\n";
        let reading = reading("application.yml", Syntax::Yaml, text);
        let [orders, stock] = reading.layers.as_slice() else { panic!("{reading:#?}") };
        assert_eq!(orders.attempt_timeout_ms, Some(Sourced::written(800.0, 7)));
        assert_eq!(orders.attempts.value.high(), None);
        assert_eq!(stock.attempts, Sourced::default_of(Attempts::Count(5), WHO));
        assert_eq!(stock.attempt_timeout_ms, Some(Sourced::written(1000.0, 6)));
        assert_eq!(reading.facts.len(), 1);
    }

    #[test]
    fn nothing_written_is_no_layer() {
        let reading = reading(
            "a.properties",
            Syntax::Properties,
            "feign.client.config.orders.loggerLevel=full\n",
        );
        assert_eq!((reading.layers, reading.facts), (vec![], vec![]));
    }
}
