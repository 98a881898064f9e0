//! The filter's configuration, read by the filter.

use std::collections::BTreeMap;

use damper_control::Nanos;
use damper_export::{FORMATS, Options, Written, export, format};
use damper_mesh::filter::{Call, Config, Host, Worker, read};
use proptest::prelude::*;
use serde_json::Value;

use crate::random;
use crate::schemas::documents;

/// Every configuration of the filter that was written.
pub(crate) fn configurations(written: &Written) -> Vec<String> {
    let mut all = Vec::new();
    for file in &written.files {
        if file.path.ends_with(".filter.json") {
            all.push(file.text.clone());
        } else if file.path.ends_with(".yaml") {
            for document in documents(&file.text) {
                let spec = &document["spec"];
                for config in [&spec["pluginConfig"], &spec["wasm"][0]["config"]] {
                    all.extend((!config.is_null()).then(|| config.to_string()));
                }
            }
        }
    }
    all
}

fn good(written: &Written) -> Vec<Config> {
    let read = |text: &String| {
        read(text.as_bytes()).unwrap_or_else(|problems| panic!("{problems}\n{text}"))
    };
    configurations(written).iter().map(read).collect()
}

fn quick() -> Options {
    Options { numbers: false, ..Options::default() }
}

fn written(id: &str, text: &str, options: &Options) -> Written {
    export(&random::system(text), format::find(id).unwrap(), options)
}

fn all(text: &str) -> usize {
    let system = random::system(text);
    let each = |format: &&damper_export::Format| good(&export(&system, format, &quick())).len();
    FORMATS.iter().map(each).sum()
}

/// A system of one call from outside and one inside, with this policy for both.
fn shop(policy: &str) -> String {
    format!(
        "damper: 1\nname: shop\nclasses: [high, low]\nservices: {{web: {{workers: 8, service_time: \
         5ms}}, orders: {{workers: 8, service_time: 5ms}}}}\nload: {{high: 1/s, low: 1/s}}\n\
         requests: {{buy: {{calls: [{{web: [orders]}}]}}}}\npolicies:\n  default: {policy}\n"
    )
}

const TOKENS: &str = "{timeout: 100ms, deadline: 1s, retry: {limit: {high: 2, low: 0}, budget: {kind: token-bucket, max_tokens: 10, token_ratio: 0.1}}}";

#[test]
fn the_filter_reads_what_is_written_for_it() {
    assert!(all(include_str!("../systems/shop.yaml")) >= 3);
    let deposit =
        "{retry: {limit: 2, budget: {kind: deposit, percent: 20%, min_per_second: 10, ttl: 10s}}}";
    assert!(all(&shop(deposit)) >= 4);
    assert!(all(&shop("{retry: {limit: 2, budget: arb}}")) >= 4);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4, max_shrink_iters: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_filter_reads_what_is_written_of_random_policies(text in random::text()) {
        all(&text);
    }
}

/// What the filter would refuse is written without it, and that is said.
#[test]
fn what_the_filter_does_not_take_is_not_given_to_it() {
    let long = "a".repeat(33);
    let many = TOKENS.replace("{high: 2, low: 0}", "101");
    for (text, says) in [
        (shop(&many), "a limit over 100"),
        (shop(TOKENS).replace("high", &long), "the class name"),
        (shop(TOKENS).replace("high", "very.high"), "the class name"),
    ] {
        for id in ["envoy", "istio", "envoy-gateway"] {
            let written = written(id, &text, &quick());
            assert_eq!(good(&written).len(), 0, "{id}");
            assert!(written.losses.iter().any(|loss| loss.field == "budget"), "{id}");
            assert!(written.notes.iter().any(|note| note.contains(says)), "{:?}", written.notes);
        }
    }
    let names: Vec<String> = (0..20).map(|n| format!("s{n}")).collect();
    let text = format!(
        "damper: 1\nservices: {{web: {{}}, {}}}\nload: 1/s\nrequests: {{a: {{calls: [{{web: [{}]}}]}}}}\npolicies:\n  default: {{retry: {{limit: 2, budget: token-bucket}}}}\n",
        names.iter().map(|name| format!("{name}: {{}}")).collect::<Vec<_>>().join(", "),
        names.join(", ")
    );
    assert_eq!(all(&text), 5);
    let written = written("istio", &text, &quick());
    assert!(written.notes.iter().any(|note| note.starts_with("web -> s12: written without")));
    let budget = |call: &str| {
        written.losses.iter().filter(|loss| loss.at == call && loss.field == "budget").count()
    };
    assert_eq!((budget("web -> s11"), budget("web -> s12")), (1, 1));
}

/// A host made of maps.
#[derive(Default)]
struct Fake(BTreeMap<String, Vec<u8>>);

impl Host for Fake {
    fn request_header(&mut self, name: &str) -> Option<Vec<u8>> {
        self.0.get(name).cloned()
    }
    fn request_headers(&mut self) -> Vec<(String, Vec<u8>)> {
        self.0.clone().into_iter().collect()
    }
    fn set_request_header(&mut self, name: &str, value: &[u8]) {
        self.0.insert(name.to_owned(), value.to_vec());
    }
    fn remove_request_header(&mut self, name: &str) {
        self.0.remove(name);
    }
    fn response_header(&mut self, _: &str) -> Option<Vec<u8>> {
        None
    }
    fn set_response_header(&mut self, _: &str, _: &[u8]) {}
    fn attribute(&mut self, _: &[&str]) -> Option<Vec<u8>> {
        None
    }
    fn now(&mut self) -> Nanos {
        Nanos::ZERO
    }
    fn shared(&mut self, _: &str) -> Option<Vec<u8>> {
        None
    }
    fn set_shared(&mut self, _: &str, _: &[u8]) {}
}

/// The headers of a request behind the filter.
fn behind(config: &Config, host: &str, class: &str) -> BTreeMap<String, Vec<u8>> {
    let mut worker = Worker::new(config, Nanos::from_secs(1_700_000_000), 7);
    let mut fake = Fake::default();
    for (name, value) in [(":authority", host), (":path", "/"), ("x-damper-class", class)] {
        fake.0.insert(name.to_owned(), value.as_bytes().to_vec());
    }
    worker.request(&mut Call::default(), &mut fake);
    fake.0
}

/// Who is outside cannot name a class; who is inside can.
#[test]
fn a_forged_class_does_not_pass_the_gateway() {
    for id in ["envoy", "istio", "envoy-gateway"] {
        let written = written(id, &shop(TOKENS), &quick());
        let configs = good(&written);
        let edge = configs.iter().find(|config| config.position.word() == "edge").unwrap();
        let headers = behind(edge, "web", "high");
        assert_eq!(headers["x-damper-class"], b"low", "{id}");
        for inside in configs.iter().filter(|config| config.position.word() == "outbound") {
            assert_eq!(behind(inside, "orders", "high")["x-damper-class"], b"high", "{id}");
        }
    }
}

/// Whether the filter has a policy for requests to a host: it tells Envoy the limit.
fn limited(config: &Config, host: &str) -> bool {
    behind(config, host, "high").contains_key("x-envoy-max-retries")
}

/// A request that a route takes is one that the filter knows.
#[test]
fn the_filter_knows_every_name_that_a_route_takes() {
    let options = Options {
        addresses: vec![("orders".into(), "10.0.0.1".into(), 8080)],
        namespace: "shop".into(),
        ..quick()
    };
    for (id, hosts) in [
        ("envoy", &["orders", "orders:80", "10.0.0.1:8080"][..]),
        (
            "istio",
            &["orders", "orders.shop", "orders.shop.svc", "orders.shop.svc.cluster.local:80"],
        ),
    ] {
        let written = written(id, &shop(TOKENS), &options);
        let configs = good(&written);
        let inside = configs.iter().find(|config| config.position.word() == "outbound").unwrap();
        for host in hosts {
            assert!(limited(inside, host), "{id}: {host}");
        }
        assert!(!limited(inside, "elsewhere"), "{id}");
    }
    // At a gateway the host is a public one.
    for id in ["istio", "envoy-gateway"] {
        let configs = good(&written(id, &shop(TOKENS), &options));
        let edge = configs.iter().find(|config| config.position.word() == "edge").unwrap();
        assert!(limited(edge, "shop.example"), "{id}");
    }
}

/// A plugin is in the namespace of the gateway's pods, and that nothing bounds retries while the
/// module is not there is said.
#[test]
fn the_plugin_is_where_the_gateway_is() {
    let options = Options { gateway_namespace: Some("istio-system".into()), ..quick() };
    let written = written("istio", &shop(TOKENS), &options);
    let plugin = |name: &str| -> Value {
        let file = written.files.iter().find(|file| file.path == name).unwrap();
        documents(&file.text).remove(0)
    };
    assert_eq!(plugin("client-filter.yaml")["metadata"]["namespace"], "istio-system");
    assert_eq!(plugin("web-filter.yaml")["metadata"]["namespace"], "default");
    for call in ["client -> web", "web -> orders"] {
        let loss = written.losses.iter().find(|loss| loss.at == call && loss.field == "budget");
        assert!(loss.unwrap().written.contains("none while the filter is not loaded"), "{call}");
    }
}

/// Envoy retries the same request whatever the filter says, so that nothing that a callee turned
/// away is retried.
#[test]
fn what_a_callee_said_stop_to_is_not_retried() {
    let text = shop(TOKENS).replace("orders: {", "orders: {pushback: stop, ");
    for id in ["envoy", "istio"] {
        let written = written(id, &text, &quick());
        let file = match id {
            "envoy" => "web.yaml",
            _ => "orders.yaml",
        };
        let text = &written.files.iter().find(|one| one.path == file).unwrap().text;
        let rows = text.lines().filter(|row| !row.contains("# ") && !row.contains("max_retries"));
        let text: String = rows.map(|row| format!("{row}\n")).collect();
        assert!(text.contains("500") && !text.contains("429") && !text.contains("503"), "{text}");
        let said =
            |loss: &&damper_export::Loss| loss.at == "web -> orders" && loss.field == "pushback";
        assert_eq!(written.losses.iter().filter(said).count(), 1, "{id}");
    }
}
