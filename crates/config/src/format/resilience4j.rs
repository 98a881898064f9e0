//! resilience4j with Spring Boot: three attempts of every instance if nobody says otherwise.

use crate::document::{Document, Entry, Node};
use crate::failure::Failures;
use crate::format::parts::span;
use crate::format::shared::{Counted, attempts_or, constant, exponential, ms, number};
use crate::format::{Format, jvm};
use crate::layer::{Attempts, Delay, Layer, Methods, Reach, Seat, Sourced};
use crate::reading::{Fact, Reading, What};
use crate::units;

/// `application.yml` and `.properties`.
pub const FORMAT: Format = Format {
    id: "resilience4j",
    title: "resilience4j",
    syntaxes: jvm::SYNTAXES,
    is: |_, document| jvm::has(document, &["resilience4j"]),
    read,
};

const WHO: &str = "resilience4j";

/// Names of one kind that are looked at: each looks for those that it builds on.
const MOST_NAMES: usize = 2_000;

/// The configurations of a kind and its instances.
struct Kind<'a> {
    configs: &'a [Entry],
    instances: Vec<&'a Entry>,
}

impl<'a> Kind<'a> {
    fn of(root: &'a Node, kind: &str) -> Self {
        let section = root.get("resilience4j").and_then(|all| all.loose(kind));
        let below = |key: &str| {
            let all = section.and_then(|section| section.loose(key)).map(Node::entries);
            let all = all.unwrap_or_default();
            all.get(..MOST_NAMES).unwrap_or(all)
        };
        let instances = below("instances").iter().chain(below("backends")).collect();
        Self { configs: below("configs"), instances }
    }

    fn config(&self, name: &str) -> Option<&'a Entry> {
        self.configs.iter().find(|entry| &*entry.key == name)
    }

    /// An instance or a configuration, and those that it builds on, the nearest first.
    fn chain(&self, entry: &'a Entry) -> Vec<&'a Entry> {
        let mut chain = vec![entry];
        while chain.len() < 8 {
            let Some(last) = chain.last() else { break };
            let base = last.value.loose("baseConfig").and_then(Node::text);
            let is_config = self.configs.iter().any(|config| std::ptr::eq(config, *last));
            let next = match base {
                Some(base) => self.config(base),
                None if !is_config => self.config("default"),
                None => None,
            };
            match next.filter(|next| !chain.iter().any(|one| std::ptr::eq(*one, *next))) {
                Some(next) => chain.push(next),
                None => break,
            }
        }
        chain
    }
}

fn first<'a>(chain: &[&'a Entry], key: &str) -> Option<&'a Entry> {
    chain.iter().find_map(|entry| entry.value.loose_entry(key))
}

fn read(_: &str, document: &Document, reading: &mut Reading) {
    let root = jvm::tree(document);
    let retry = Kind::of(&root, "retry");
    let limiter = Kind::of(&root, "timelimiter");
    let time_of = |name: &str| {
        let instance = limiter.instances.iter().find(|entry| &*entry.key == name);
        let chain = instance.map(|entry| limiter.chain(entry));
        chain.and_then(|chain| ms(first(&chain, "timeoutDuration"), 1.0))
    };
    let mut used: Vec<&Entry> = Vec::new();
    for instance in &retry.instances {
        let chain = retry.chain(instance);
        used.extend(chain.iter().skip(1));
        let mut layer = layer(&chain, reading);
        layer.route = Some(format!("instance {}", instance.key));
        layer.attempt_timeout_ms = time_of(&instance.key);
        if instance.value.entries().is_empty() && chain.len() == 1 {
            layer.implicit = true;
        }
        reading.layers.push(layer);
    }
    for config in retry.configs {
        if !used.iter().any(|entry| std::ptr::eq(*entry, config)) {
            let mut layer = layer(&retry.chain(config), reading);
            layer.route = Some(format!("config {}", config.key));
            layer.reach = Reach::Group;
            layer.notes.push("no instance here builds on it; code may".into());
            reading.layers.push(layer);
        }
    }
    facts(&root, reading);
}

fn layer(chain: &[&Entry], reading: &mut Reading) -> Layer {
    let place = chain.first().map_or([1, 1], |entry| span(entry));
    let mut layer = Layer::at(FORMAT.id, Seat::Client, place);
    layer.attempts = match first(chain, "maxAttempts") {
        // 0 is ignored.
        Some(entry) if entry.value.integer() == Some(0) => {
            Sourced::default_of(Attempts::Count(3), WHO)
        }
        entry => attempts_or(entry, Counted::Total, Attempts::Count(3), WHO),
    };
    layer.delay = delay(chain, &mut layer.notes, reading);
    let (on, words) = jvm::retried(first(chain, "retryExceptions"), Failures::EVERY, WHO);
    (layer.on, layer.words) = (on, words);
    let ignored = first(chain, "ignoreExceptions").map(|entry| units::words(&entry.value));
    let breaker =
        |names: &Vec<String>| names.iter().any(|name| name.ends_with("CallNotPermittedException"));
    if layer.words.is_empty() && !ignored.as_ref().is_some_and(breaker) {
        layer.notes.push("calls that an open circuit breaker refuses are retried, too".into());
    }
    layer.words.extend(ignored.into_iter().flatten().map(|name| format!("not {name}")));
    if first(chain, "retryExceptionPredicate").or(first(chain, "resultPredicate")).is_some() {
        layer.notes.push("a predicate in code decides, too".into());
    }
    layer.methods = Methods::All;
    layer
}

/// The flags of growth count only where `waitDuration` is written, too.
fn delay(chain: &[&Entry], notes: &mut Vec<String>, reading: &mut Reading) -> Delay {
    let on = |chain: &[&Entry], key: &str| {
        first(chain, key).and_then(|entry| entry.value.truth()) == Some(true)
    };
    let Some(at) = chain.iter().position(|entry| entry.value.loose("waitDuration").is_some())
    else {
        for flag in ["enableExponentialBackoff", "enableRandomizedWait"] {
            if let Some(entry) =
                first(chain, flag).filter(|entry| entry.value.truth() == Some(true))
            {
                let why = format!("`{}` acts only where `waitDuration` is set, too", entry.key);
                notes.push(why.clone());
                reading.facts.push(Fact {
                    lines: span(entry),
                    about: None,
                    what: What::Inert { why },
                });
            }
        }
        return constant(Some(Sourced::default_of(500.0, WHO)));
    };
    let own = chain.get(at..).unwrap_or_default();
    let base = ms(first(own, "waitDuration"), 1.0);
    let mut delay = if on(own, "enableExponentialBackoff") {
        let factor = number(first(own, "exponentialBackoffMultiplier")).unwrap_or(1.5);
        exponential(base, factor, ms(first(own, "exponentialMaxWaitDuration"), 1.0))
    } else {
        constant(base)
    };
    delay.jitter = on(own, "enableRandomizedWait");
    delay
}

fn facts(root: &Node, reading: &mut Reading) {
    let mut put = |kind: &str, say: &dyn Fn(&[&Entry]) -> What| {
        let kind = Kind::of(root, kind);
        for instance in &kind.instances {
            let what = say(&kind.chain(instance));
            reading.facts.push(Fact { lines: span(instance), about: None, what });
        }
    };
    let count = |chain: &[&Entry], key: &str, default: u64| {
        let written = first(chain, key).and_then(|entry| entry.value.integer());
        Some(written.and_then(|count| u64::try_from(count).ok()).unwrap_or(default))
    };
    put("bulkhead", &|chain| What::Requests {
        active: count(chain, "maxConcurrentCalls", 25),
        waiting: None,
    });
    put("thread-pool-bulkhead", &|chain| What::Requests {
        active: count(chain, "maxThreadPoolSize", 1),
        waiting: count(chain, "queueCapacity", 100),
    });
    put("ratelimiter", &|chain| {
        let most = number(first(chain, "limitForPeriod")).unwrap_or(50.0);
        let period =
            ms(first(chain, "limitRefreshPeriod"), 1.0).map_or(5e-4, |period| period.value);
        let per_s = most * 1000.0 / period;
        What::RateLimit { per_s: per_s.is_finite().then_some(per_s), status: None }
    });
    put("circuitbreaker", &|_| What::Ejection { max_percent: None, panic_percent: None });
    put("timelimiter", &|chain| What::Timeout {
        attempt_ms: Some(
            ms(first(chain, "timeoutDuration"), 1.0).map_or(1000.0, |time| time.value),
        ),
        overall_ms: None,
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Syntax;
    use crate::failure::Failure;
    use crate::format::shared::{layers, reading};
    use crate::layer::Growth;

    #[test]
    fn what_is_written_is_read() {
        let text = "resilience4j:\n  retry:\n    configs:\n      default: {maxAttempts: 2, waitDuration: 50ms, enableExponentialBackoff: true, exponentialBackoffMultiplier: 2, enableRandomizedWait: true}\n      slow: {waitDuration: 2s, retryExceptions: [java.net.ConnectException]}\n    instances:\n      orders: {baseConfig: default}\n      payments: {maxAttempts: 1}\n      stock:\n        baseConfig: slow\n        max-attempts: 4\n  timelimiter:\n    instances: {orders: {timeoutDuration: 800ms}}\n  bulkhead:\n    instances: {orders: {}}\n";
        let reading = reading("application.yml", Syntax::Yaml, text);
        let [orders, payments, stock] = reading.layers.as_slice() else { panic!("{reading:#?}") };
        assert_eq!(orders.attempts, Sourced::written(Attempts::Count(2), 4));
        assert_eq!((orders.delay.growth, orders.delay.factor), (Growth::Exponential, Some(2.0)));
        assert!(orders.delay.jitter);
        assert_eq!(orders.attempt_timeout_ms, Some(Sourced::written(800.0, 13)));
        assert_eq!(orders.lines, [7, 7]);
        assert_eq!(payments.attempts.value, Attempts::Count(1));
        assert_eq!(stock.attempts, Sourced::written(Attempts::Count(4), 11));
        assert_eq!(stock.delay.base_ms, Some(Sourced::written(2000.0, 5)));
        assert_eq!(stock.on.value, Failures::of(&[Failure::Connect, Failure::Refused]));
        assert!(
            reading
                .facts
                .iter()
                .any(|fact| fact.what == What::Requests { active: Some(25), waiting: None })
        );
    }

    #[test]
    fn nothing_written_is_three_attempts() {
        let text = "resilience4j.retry:\n  instances:\n    orders: {}\n";
        let found = layers("resilience4j", "application.yml", Syntax::Yaml, text);
        assert_eq!(found[0].attempts, Sourced::default_of(Attempts::Count(3), WHO));
        assert_eq!(found[0].delay.base_ms, Some(Sourced::default_of(500.0, WHO)));
        assert!(found[0].implicit);
    }

    #[test]
    fn growth_without_a_wait_is_inert() {
        let text = "resilience4j.retry.instances.orders.max-attempts=2\nresilience4j.retry.instances.orders.enable-exponential-backoff=true\n";
        let reading = reading("application.properties", Syntax::Properties, text);
        assert_eq!(reading.layers[0].delay.growth, Growth::Constant);
        assert_eq!(reading.layers[0].lines, [1, 2]);
        assert!(matches!(reading.facts[0].what, What::Inert { .. }));
        assert_eq!(reading.facts[0].lines, [2, 2]);
    }
}
