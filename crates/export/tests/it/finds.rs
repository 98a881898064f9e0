//! What an export once left out, overwrote or did not say.

use damper_config::effective::Versions;
use damper_config::read_tree;
use damper_export::{FORMATS, Options, Side, Written, compare, export, format};

use crate::random;

fn written(id: &str, text: &str, edges: &[(&str, &str)]) -> Written {
    let edges = edges.iter().map(|(from, to)| ((*from).to_owned(), (*to).to_owned())).collect();
    let options = Options { edges, numbers: false, plain: true, ..Options::default() };
    export(&random::system(text), format::find(id).unwrap(), &options)
}

fn file<'w>(written: &'w Written, path: &str) -> &'w str {
    &written.files.iter().find(|file| file.path == path).unwrap().text
}

const TWO_CALLERS: &str = "damper: 1\nservices: {web: {}, shop: {}, orders: {}}\nload: 1/s\nrequests: {a: {calls: [{web: [orders]}, {shop: [orders]}]}}\npolicies:\n  \"web -> orders\": {timeout: 1s, retry: {limit: 3}}\n  \"shop -> orders\": {timeout: 1s, retry: {limit: 0}}\n";

/// An object that is for all callers has the policies of all, whatever was chosen.
#[test]
fn a_chosen_call_brings_the_other_callers_of_its_callee() {
    for id in ["istio", "linkerd", "gateway-api"] {
        let some = written(id, TWO_CALLERS, &[("web", "orders")]);
        let all = written(id, TWO_CALLERS, &[]);
        assert_eq!(file(&some, "orders.yaml"), file(&all, "orders.yaml"), "{id}");
        let said = some.notes.iter().any(|note| note.starts_with("shop -> orders is written, too"));
        assert!(said, "{id}: {:?}", some.notes);
        assert!(!some.files.iter().any(|file| file.path == "web.yaml"), "{id}");
    }
    let envoy = written("envoy", TWO_CALLERS, &[("web", "orders")]);
    assert_eq!(envoy.files.len(), 1);
}

/// A rule that ejects hosts is for all callers: who asked for another breaker, or for none, is told.
#[test]
fn a_breaker_for_all_callers_is_a_loss_of_each() {
    let text = "damper: 1\nservices: {web: {}, shop: {}, bill: {}, orders: {}}\nload: 1/s\nrequests: {a: {calls: [{web: [orders]}, {shop: [orders]}, {bill: [orders]}]}}\npolicies:\n  \"web -> orders\": {breaker: {kind: breaker-consecutive, failures: 9}}\n  \"shop -> orders\": {breaker: {kind: breaker-consecutive, failures: 3}}\n";
    let written = written("istio", text, &[]);
    assert!(file(&written, "orders.yaml").contains("consecutive5xxErrors: 3"));
    let of = |at: &str| {
        let mut losses = written.losses.iter();
        losses.find(|loss| loss.at == at && loss.field == "breaker").unwrap().asked.as_str()
    };
    assert_eq!(of("web -> orders"), "hosts out after 9 failures in a row");
    assert!(of("shop -> orders").starts_with("`breaker-consecutive`: 3 in a row"));
    assert_eq!(of("bill -> orders"), "no breaker");
}

/// What all callers get is told by class, and a budget's least rate so that it can be read.
#[test]
fn what_all_callers_get_is_told_in_words() {
    let text = "damper: 1\nclasses: [gold, bronze]\nservices: {web: {}, shop: {}, orders: {}, stock: {}}\nload: {gold: 1/s, bronze: 1/s}\nrequests: {a: {calls: [{web: [orders, stock]}, {shop: [orders]}]}}\npolicies:\n  \"web -> orders\": {timeout: 1s, retry: {limit: {gold: 3, bronze: 1}, budget: token-bucket}}\n  \"shop -> orders\": {timeout: 1s, retry: {limit: 1, budget: {kind: deposit, percent: 30%}}}\n  \"web -> stock\": {timeout: 50ms, retry: {limit: 0}}\n";
    let written = written("gateway-api", text, &[]);
    let told = |field: &str, asked: &str, got: &str| {
        let mut losses = written.losses.iter();
        losses.any(|one| one.field == field && one.asked == asked && one.written == got)
    };
    assert!(told("limit", "retries: gold 3, bronze 1", "retries: 1"), "{:#?}", written.losses);
    let least = "10 % of 10 s, at least 1 in 3600 s";
    assert!(told("budget", "30 % of 10 s, at least 10/s", least), "{:#?}", written.losses);
    // A call that has a timeout and no retries is one that a file speaks of.
    let written = self::written("linkerd", &text.replace("limit: 0", "limit: 1"), &[]);
    let off = self::written("linkerd", text, &[]);
    let files = off.files.into_iter().map(|file| (file.path, file.text)).collect::<Vec<_>>();
    let asked = crate::round_trip::with(
        &random::system(&text.replace("limit: 0", "limit: 1")),
        &written.policies,
    );
    let runs = compare(&asked, &read_tree(&files), Versions::default(), "x-damper-class");
    let call = runs.calls.iter().find(|call| call.call == "web -> stock").unwrap();
    let attempts = call.differs.iter().find(|one| one.field == "attempts").unwrap();
    assert_eq!((attempts.runs.as_str(), attempts.from.as_str()), ("1", "nothing retries it"));
}

/// Two names of one service: the stricter policy is written, and the other is said to be lost.
#[test]
fn two_names_of_one_service_get_the_least() {
    let text = "damper: 1\nservices: {web: {}, orders: {}}\ncaches: {stock: {store: orders, hit_rate: 50%, hot_keys: 10}}\nload: 1/s\nrequests: {a: {calls: [{web: [stock, orders]}]}}\npolicies:\n  \"web -> stock\": {retry: {limit: 5}}\n  \"web -> orders\": {retry: {limit: 1}}\n";
    let written = written("envoy", text, &[]);
    let web = file(&written, "web.yaml");
    assert!(web.contains("num_retries: 1") && !web.contains("num_retries: 5"), "{web}");
    let loss = written.losses.iter().find(|loss| loss.field == "limit").unwrap();
    assert_eq!((loss.side, loss.at.as_str()), (Side::Fewer, "web -> orders"));
    assert_eq!((loss.asked.as_str(), loss.written.as_str()), ("retries: 5", "retries: 1"));
    let limits = |at: usize| written.policies[at].retry.limits.max();
    assert_eq!((limits(1), limits(2)), (1, 1));
}

/// A bucket that holds more than was asked for is said to.
#[test]
fn a_raised_burst_is_a_loss() {
    let text = |burst: u32| {
        format!(
            "damper: 1\nservices: {{web: {{rate_limit: {{rate: 500/s, burst: {burst}}}}}}}\nload: 1/s\nrequests: {{a: {{calls: [web]}}}}\n"
        )
    };
    let wider = |burst: u32| {
        let written = written("envoy", &text(burst), &[]);
        let mut losses = written.losses.iter();
        losses.any(|loss| loss.field == "rate_limit" && loss.side == Side::Wider)
    };
    assert!(wider(5) && !wider(25));
}

/// A service that is called from outside and from inside has objects for both: classes and attempts of
/// one are not those of the other.
#[test]
fn what_a_gateway_does_is_not_taken_for_what_a_mesh_does() {
    let text = |outside: &str, inside: &str| {
        format!(
            "damper: 1\nclasses: [high, low]\nservices: {{web: {{}}, orders: {{}}}}\nload: {{high: 1/s, low: 1/s}}\nrequests: {{a: {{calls: [{{web: [orders]}}, orders]}}}}\npolicies:\n  \"client -> orders\": {{{outside}}}\n  \"web -> orders\": {{{inside}}}\n"
        )
    };
    let by_class = "timeout: 2s, retry: {limit: {high: 3, low: 1}}";
    let once = "timeout: 30ms, retry: {limit: 1}";
    // Nothing is left to retry, and the classes are routes all the same.
    let nothing =
        "timeout: 20012us, retry: {limit: {high: 3, low: 1}, on: [timeout, downstream, shed]}";
    let pairs = [[once, by_class], [by_class, once], [once, nothing], [nothing, once], [once; 2]];
    for [outside, inside] in pairs {
        let text = text(outside, inside);
        for id in ["istio", "gateway-api", "linkerd"] {
            let written = written(id, &text, &[]);
            let files = written.files.iter().map(|file| (file.path.clone(), file.text.clone()));
            let system = crate::round_trip::with(&random::system(&text), &written.policies);
            let readings = read_tree(&files.collect::<Vec<_>>());
            let runs = compare(&system, &readings, Versions::default(), "x-damper-class");
            for call in runs.calls.into_iter().filter(|call| call.call.ends_with("orders")) {
                assert!(call.known, "{id}: {}", call.call);
                assert_eq!(call.differs, [], "{id}: {}: {text}", call.call);
            }
        }
    }
}

/// Breakers do nothing beside a ServiceProfile, and only what is asked for is a failure in it.
#[test]
fn a_service_profile_retries_nothing_more_and_has_no_breaker() {
    let written = profiled("on: [rejected, shed], budget: {kind: linkerd, percent: 20%}");
    let orders = file(&written, "orders.yaml");
    assert!(orders.contains("ServiceProfile") && !orders.contains("failure-accrual"), "{orders}");
    let row = |text: &str| orders.lines().position(|row| row.contains(text)).unwrap();
    assert!(row("min: 503") < row("min: 500"), "{orders}");
    assert_eq!(orders.matches("isFailure: false").count(), 1, "{orders}");
    let lost = |field: &str| written.losses.iter().any(|loss| loss.field == field);
    assert!(lost("breaker"));
}

fn profiled(retry: &str) -> Written {
    let text = format!(
        "damper: 1\nservices: {{web: {{}}, orders: {{}}}}\nload: 1/s\nrequests: {{a: {{calls: [{{web: [orders]}}]}}}}\npolicies:\n  \"web -> orders\": {{timeout: 1s, deadline: 3500500us, breaker: breaker-consecutive, retry: {{limit: 100, {retry}}}}}\n"
    );
    let options = Options { plain: true, ..Options::default() };
    export(&random::system(&text), format::find("linkerd").unwrap(), &options)
}

/// A retry without a limit is said to be one, in numbers, and is the policy that was written.
#[test]
fn a_service_profile_has_no_limit_and_says_so() {
    let written = profiled(
        "on: [rejected, shed], backoff: {kind: constant, base: 5ms}, budget: {kind: linkerd, percent: 20%}",
    );
    let loss = |field: &str| written.losses.iter().find(|loss| loss.field == field).unwrap();
    let limit = loss("limit");
    assert_eq!((limit.asked.as_str(), limit.written.as_str()), ("100 retries", "no limit"));
    assert_eq!(limit.side, Side::Wider);
    assert!(limit.sentence().contains("attempts at worst 101.00 -> no end"), "{limit:?}");
    assert_eq!(
        (loss("backoff").written.as_str(), loss("deadline").written.as_str()),
        ("at once", "3.5s")
    );
    assert!(file(&written, "orders.yaml").contains("timeout: \"3500ms\""));
    assert_eq!(written.policies[1].retry.limits.max(), u32::MAX);
}

/// With a window over a minute Linkerd's proxy has no budget, and retries nothing.
#[test]
fn a_service_profile_has_a_budget_that_its_proxy_takes() {
    for (budget, ttl, least, lost) in [
        ("google", "60000ms", 0, true),
        ("{kind: deposit, percent: 20%, min_per_second: 3, ttl: 30s}", "30000ms", 3, false),
        ("{kind: linkerd, percent: 20%}", "10000ms", 10, false),
    ] {
        let written = profiled(&format!("on: [rejected, shed], budget: {budget}"));
        let orders = file(&written, "orders.yaml");
        assert!(orders.contains(&format!("ttl: \"{ttl}\"")), "{budget}: {orders}");
        assert!(orders.contains(&format!("minRetriesPerSecond: {least}\n")), "{orders}");
        let said = written.losses.iter().any(|loss| loss.field == "budget");
        assert_eq!(said, lost, "{budget}");
    }
}

/// Where a profile would retry nothing, annotations do, with the limit; the budget is lost.
#[test]
fn a_service_profile_is_written_only_where_it_retries() {
    let written = profiled("on: [timeout, rejected], budget: {kind: linkerd, percent: 20%}");
    let orders = file(&written, "orders.yaml");
    assert!(orders.contains("kind: ServiceProfile"), "429 is left: {orders}");
    let written = profiled("on: [timeout], budget: {kind: linkerd, percent: 20%}");
    let orders = file(&written, "orders.yaml");
    assert!(!orders.contains("kind: ServiceProfile"), "{orders}");
    // Annotations retry nothing of it either, and what is not retried has lost no wait and no budget.
    let lost = |field: &str| written.losses.iter().any(|loss| loss.field == field);
    assert!(lost("on") && !lost("backoff") && !lost("budget"));
    assert!(written.losses.iter().all(|loss| loss.written != "no limit"));
}

/// A call that nobody speaks of has no timeout, and one that the system does not have is one more.
#[test]
fn what_no_file_says_and_what_no_system_has_are_differences() {
    let system = random::system(
        "damper: 1\nservices: {web: {}, orders: {}}\nload: 1/s\nrequests: {a: {calls: [web, orders]}}\npolicies:\n  web: {timeout: 1s}\n",
    );
    let compared = |text: &str| {
        let readings = read_tree(&[("a.yaml".to_owned(), text.to_owned())]);
        compare(&system, &readings, Versions::default(), "x-damper-class")
    };
    let nothing = compared("a: 1\n");
    let web = nothing.calls.iter().find(|call| call.call == "client -> web").unwrap();
    assert_eq!((web.known, web.differs.len(), web.differs[0].asked.as_str()), (false, 1, "1s"));
    assert!(nothing.differs());
    let service = "apiVersion: v1\nkind: Service\nmetadata: {name: orders}\nspec: {selector: {app: orders}}\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {template: {metadata: {labels: {app: web}}, spec: {containers: [{name: a, env: [{name: O, value: 'http://orders:80'}]}]}}}\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: a, labels: {istio-injection: enabled}}\n";
    let more = compared(service);
    assert_eq!(more.unknown, ["web -> orders"]);
    let alone = damper_export::Comparison { calls: Vec::new(), unknown: more.unknown };
    assert!(alone.differs());
}

/// What would be overwritten is not written at all.
#[test]
fn a_name_that_would_stand_twice_is_refused() {
    let system = |services: &str, calls: &str| {
        format!(
            "damper: 1\nclasses: [high, low]\nservices: {{{services}}}\nload: {{high: 1/s, low: 1/s}}\nrequests: {{a: {{calls: [{calls}]}}}}\npolicies:\n  default: {{timeout: 1s, retry: {{limit: {{high: 2, low: 0}}, budget: token-bucket}}}}\n"
        )
    };
    let dashes = system("a: {}, a-b: {}, c: {}, b-c: {}", "{a-b: [c]}, {a: [b-c]}");
    let filter = system("web: {}, web-filter: {}", "{web: [web-filter]}");
    let class = system("web: {}, orders: {}, orders-high: {}", "{web: [orders, orders-high]}");
    let outside = system("web: {}, web-client: {}", "web, {web: [web-client]}");
    for (id, text, name) in [
        ("grpc", &dashes, "a-b-c.json"),
        ("istio", &filter, "web-filter.yaml"),
        ("linkerd", &class, "HTTPRoute orders-high"),
        ("nginx", &class, "upstream web-orders-high"),
        ("haproxy", &class, "backend web-orders-high"),
        ("resilience4j", &class, "instance orders-high"),
        ("istio", &outside, "VirtualService web-client"),
        ("gateway-api", &outside, "HTTPRoute web-client"),
    ] {
        let options = Options { numbers: false, ..Options::default() };
        let written = export(&random::system(text), format::find(id).unwrap(), &options);
        assert!(written.files.is_empty(), "{id}");
        assert_eq!(written.collisions.len(), 1, "{id}: {:?}", written.collisions);
        assert!(written.collisions[0].starts_with(name), "{id}: {:?}", written.collisions);
    }
    for format in FORMATS {
        let shop = random::system(include_str!("../systems/shop.yaml"));
        let options = Options { numbers: false, ..Options::default() };
        assert!(export(&shop, format, &options).collisions.is_empty(), "{}", format.id);
    }
}

/// What Envoy 1.40 said of itself beside the client of `shop.yaml`, without the list of its extensions:
/// it is read as the file that it was started with.
#[test]
fn a_stored_dump_is_what_was_written() {
    let system = random::system(include_str!("../systems/shop.yaml"));
    let dump = include_str!("../systems/config_dump.json").to_owned();
    let differs = |dump: &str, system: &damper_system::System| {
        let readings = read_tree(&[("dump.json".to_owned(), dump.to_owned())]);
        let comparison = compare(system, &readings, Versions::default(), "x-damper-class");
        let call = comparison.calls.into_iter().find(|call| call.call == "client -> web").unwrap();
        assert!(call.known);
        call.differs
    };
    let options = Options { numbers: false, plain: true, ..Options::default() };
    let written = export(&system, format::find("envoy").unwrap(), &options);
    let as_written = crate::round_trip::with(&system, &written.policies);
    assert_eq!(differs(&dump, &as_written), []);
    let more = differs(&dump.replace("\"num_retries\": 2", "\"num_retries\": 4"), &system);
    let first = more.iter().find(|one| one.field == "attempts").unwrap();
    assert_eq!((first.class.as_deref(), &*first.asked, &*first.runs), (Some("high"), "3", "5"));
}

/// Who forgot `shed` beside `rejected` learns that it brings 503 back.
#[test]
fn what_brings_503_back_is_said() {
    let text = |on: &str| {
        format!(
            "damper: 1\nservices: {{web: {{}}}}\nload: 1/s\nrequests: {{a: {{calls: [web]}}}}\npolicies:\n  web: {{retry: {{limit: 1, on: [{on}]}}}}\n"
        )
    };
    for format in ["envoy", "istio", "nginx"] {
        let half = written(format, &text("rejected"), &[]);
        let loss = half.losses.iter().find(|loss| loss.field == "on").unwrap();
        assert!(loss.why.contains("503 can also be `shed`"), "{format}: {}", loss.why);
        assert!(loss.why.contains("with `shed` in `on` it is retried"), "{format}: {}", loss.why);
        let whole = written(format, &text("rejected, shed"), &[]);
        let mut left = whole.losses.iter().filter(|loss| loss.field == "on");
        assert!(!left.any(|loss| loss.why.contains("503")), "{format}");
    }
}

/// Where the closed forms know a difference a loss has it in numbers, and where they do not, it says
/// why.
#[test]
fn a_loss_has_numbers_or_says_why_not() {
    let text = "damper: 1\nservices: {web: {workers: 4, service_time: 5ms, pushback: PUSH, admission: dagor}}\nload: 1/s\nrequests: {a: {calls: [web]}}\npolicies:\n  web: {timeout: 100ms, deadline: {total: 1s, travels: true}, breaker: breaker, throttle: google-adaptive, retry: {limit: 2, needs: 5ms, on: [rejected, shed]}}\n";
    let losses = |push: &str| {
        let system = random::system(&text.replace("PUSH", push));
        let options = Options { plain: true, ..Options::default() };
        export(&system, format::find("nginx").unwrap(), &options).losses
    };
    for push in ["2s", "stop"] {
        let all = losses(push);
        for field in ["breaker", "throttle", "needs", "pushback", "admission"] {
            let loss = all.iter().find(|loss| loss.field == field);
            let loss = loss.unwrap_or_else(|| panic!("{field}: {all:#?}"));
            let number = loss.meaning.and_then(|meaning| meaning.words());
            assert!(number.is_some() || loss.unmeasured.is_some(), "{loss:?}");
            let text = loss.sentence();
            assert!(text.contains("no number: ") || text.contains(" -> "), "{text}");
        }
    }
    // Who is turned away by a status does not come back: fewer attempts, which is a number.
    let stop = losses("stop").into_iter().find(|loss| loss.field == "pushback").unwrap();
    assert_eq!(stop.meaning.unwrap().worst, [3.0, 1.0]);
}
