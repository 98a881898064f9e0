//! What is written and read again is what was asked, but for what was said to be lost; and no call
//! ever makes more attempts than were asked for.

use damper_config::effective::Versions;
use damper_config::read_tree;
use damper_control::{Nanos, RetryOn};
use damper_export::{
    Comparison, FORMATS, Format, IMPLICIT, Loss, Options, Side, Written, compare, export,
    switch_off,
};
use damper_system::System;
use damper_system::model::{Edge, Policy};
use proptest::prelude::*;

use crate::random;

/// The header that carries the class.
pub(crate) const HEADER: &str = "x-damper-class";

fn plain() -> Options {
    Options { plain: true, numbers: false, ..Options::default() }
}

/// What is read in the files, compared with policies to the last digit.
fn read_again(written: &Written, system: &System) -> Comparison {
    let files: Vec<(String, String)> =
        written.files.iter().map(|file| (file.path.clone(), file.text.clone())).collect();
    compare(system, &read_tree(&files), Versions::default(), HEADER)
}

/// The system with other policies.
pub(crate) fn with(system: &System, policies: &[Policy]) -> System {
    let mut system = system.clone();
    for (edge, policy) in system.policies.edges.iter_mut().zip(policies) {
        edge.policy.clone_from(policy);
    }
    system
}

/// The fields of a policy as far as they say anything: where nothing is retried neither the budget
/// nor what is retried does, and a call of one attempt has one bound.
#[derive(Debug, PartialEq)]
struct Says {
    limits: Vec<u32>,
    on: RetryOn,
    timeout: Option<Nanos>,
    deadline: Option<Nanos>,
    budget: Option<Vec<f64>>,
}

fn says(policy: &Policy, classes: usize) -> Says {
    let on = policy.retry.on;
    let on = if policy.idempotent { on } else { on.for_unsafe_calls() };
    let limit = |class: usize| policy.retry.limits.limit(u8::try_from(class).unwrap());
    let limits: Vec<u32> =
        (0..classes).map(|class| if on.is_empty() { 0 } else { limit(class) }).collect();
    let retries = limits.iter().any(|limit| *limit > 0);
    let (timeout, deadline) = match (policy.timeout, policy.deadline) {
        (timeout, deadline) if !retries => (None, timeout.into_iter().chain(deadline).min()),
        (Some(timeout), Some(deadline)) if timeout >= deadline => (None, Some(deadline)),
        times => times,
    };
    Says {
        on: if retries { on } else { RetryOn::NONE },
        budget: retries.then(|| policy.budget.parameters.clone()),
        limits,
        timeout,
        deadline,
    }
}

/// A call by its caller and its callee.
fn name(system: &System, edge: &Edge) -> String {
    let server = &system.services[system.server_of(edge.target).0 as usize];
    format!("{} -> {}", system.caller_name(edge.caller), server.name)
}

/// A time as a loss prints it.
fn words(time: Nanos) -> String {
    let ms = (time.as_secs_f64() * 1e6).round() / 1e3;
    if ms >= 1000.0 { format!("{}s", (ms).round() / 1e3) } else { format!("{ms}ms") }
}

/// Every difference is covered by a loss of that field, with the values, and errs to the side that
/// the loss says.
fn covered(id: &str, call: &str, [asked, written]: [&Says; 2], losses: &[&Loss]) {
    let place = format!("{id}: {call}: {asked:?} {written:?} {losses:#?}");
    let of = |fields: &[&str]| -> Vec<&Loss> {
        losses.iter().filter(|loss| fields.contains(&loss.field)).copied().collect()
    };
    let retries = |says: &Says| says.limits.iter().any(|limit| *limit > 0);
    // Where nothing is left that is retried, nothing is limited and one bound is left of two.
    let stopped = retries(asked) && !retries(written);
    let limit = of(if stopped { &["limit", "on"][..] } else { &["limit"] });
    if asked.limits != written.limits {
        assert!(!limit.is_empty(), "{place}");
        for (asked, written) in asked.limits.iter().zip(&written.limits) {
            // A ServiceProfile has no limit, which its loss says.
            let endless = *written == u32::MAX;
            assert!(written <= asked || endless && id == "linkerd", "{place}");
            let value = if endless { "no limit".to_owned() } else { written.to_string() };
            let said = |loss: &&Loss| loss.field == "on" || loss.written.contains(&value);
            assert!(written == asked || limit.iter().any(said), "{place}");
        }
    }
    if asked.on != written.on && !stopped {
        assert!(!of(&["on"]).is_empty(), "{place}");
        assert!(written.on.without(asked.on).is_empty(), "{place}");
    }
    for (field, asked_time, written_time) in [
        ("timeout", asked.timeout, written.timeout),
        ("deadline", asked.deadline, written.deadline),
    ] {
        if asked_time == written_time {
            continue;
        }
        // The bound of the only attempt is that of the call, whichever it was.
        let once = !retries(written);
        let fields: &[&str] = match field {
            _ if once => &["timeout", "deadline", "on", "limit"],
            // A bound over all that is as short leaves nothing to the timeout of one.
            "timeout" if written_time.is_none() && written.deadline <= asked_time => {
                &["timeout", "deadline"]
            }
            "timeout" => &["timeout"],
            _ => &["deadline"],
        };
        let said = of(fields);
        // A timeout that is as long as the bound over all of them is none.
        let same = |time: Option<Nanos>| time.is_some() && time == asked.deadline;
        assert!(!said.is_empty() || field == "timeout" && same(written_time), "{place}");
        if let Some(time) = written_time {
            let named = said.iter().any(|loss| loss.written.contains(&words(time)));
            assert!(named || once, "{} is not said: {place}", words(time));
        }
        let side = said.iter().map(|loss| loss.side).max();
        let longer = match (asked_time, written_time) {
            (Some(asked), Some(written)) => written > asked,
            (asked, written) => asked.is_some() && written.is_none(),
        };
        // Less is asked of a callee by a call that is given up no later; only the timeout of an
        // attempt that is retried is rounded up.
        if field == "deadline" && longer && !once {
            assert_ne!(side, Some(Side::Fewer), "{place}");
        }
        if field == "timeout" && side == Some(Side::Fewer) {
            let sooner = written_time < asked_time && written_time.is_some();
            let merged = said.iter().any(|loss| loss.why.contains("cannot be told apart"));
            assert!(!sooner || merged || once, "{place}");
        }
    }
    if let (Some(a), Some(b)) = (&asked.budget, &written.budget)
        && a != b
    {
        let said = of(&["budget"]);
        assert!(!said.is_empty(), "{place}");
        let share = b.first().map_or_else(|| "no budget".to_owned(), ToString::to_string);
        assert!(said.iter().any(|loss| loss.written.contains(&share)), "{share}: {place}");
    }
}

fn check(format: &Format, system: &System) {
    let written = export(system, format, &plain());
    let as_written = with(system, &written.policies);
    let comparison = read_again(&written, &as_written);
    let classes = system.classes.len();
    for call in &comparison.calls {
        // Envoy Gateway stands before calls from outside alone.
        if format.id == "envoy-gateway" && !call.call.starts_with("client ") {
            continue;
        }
        let mut policies = system.policies.edges.iter();
        let at = policies.position(|edge| name(system, edge) == call.call).unwrap();
        // What is read back is what was said to be written, to the last digit.
        let text = || written.files.iter().map(|file| file.text.clone()).collect::<String>();
        assert!(
            call.differs.is_empty(),
            "{}: {}: {:#?}\n{:#?}\n{}",
            format.id,
            call.call,
            call.differs,
            written.policies[at],
            text()
        );
        let says = [&system.policies.edges[at].policy, &written.policies[at]]
            .map(|policy| says(policy, classes));
        let losses: Vec<&Loss> =
            written.losses.iter().filter(|loss| loss.at == call.call).collect();
        covered(format.id, &call.call, [&says[0], &says[1]], &losses);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, max_shrink_iters: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_read_back_is_what_was_said_to_be_written(text in random::text()) {
        let system = random::system(&text);
        for format in FORMATS {
            check(format, &system);
        }
    }
}

#[test]
#[ignore = "slow: many random systems"]
fn what_is_read_back_is_what_was_said_to_be_written_of_many() {
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases: 500,
        failure_persistence: None,
        max_shrink_iters: 40,
        ..ProptestConfig::default()
    });
    let result = runner.run(&random::text(), |text| {
        let system = random::system(&text);
        FORMATS.iter().for_each(|format| check(format, &system));
        Ok(())
    });
    result.unwrap();
}

/// Each way of switching off brings the implicit attempts down to one.
#[test]
fn implicit_retries_are_really_off() {
    let system = random::system(
        "damper: 1\nservices: {web: {}, orders: {}}\nload: 1/s\nrequests: {a: {calls: [{web: [orders]}]}}\n",
    );
    let manifests = "apiVersion: v1\nkind: Service\nmetadata: {name: orders}\nspec: {selector: {app: orders}}\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {template: {metadata: {labels: {app: web}}, spec: {containers: [{name: a, env: [{name: O, value: 'http://orders:80'}]}]}}}\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: a, labels: {istio-injection: enabled}}\n";
    let kuma = "type: Mesh\nname: default\n";
    let kong = "_format_version: '3.0'\nservices: [{name: orders, url: 'http://orders:80'}]\n";
    let dapr = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: orders}\nspec: {template: {metadata: {annotations: {dapr.io/enabled: 'true', dapr.io/app-id: orders}}}}\n";
    for software in IMPLICIT {
        let file = switch_off(&system, software, &Options::default());
        let runs = |files: Vec<(String, String)>| {
            let readings = read_tree(&files);
            let layers: Vec<_> =
                damper_config::effective::effective(&readings, Versions::default())
                    .hops
                    .into_iter()
                    .filter(|hop| hop.callee.service == "orders")
                    .flat_map(|hop| hop.layers)
                    .map(|one| one.layer)
                    .collect();
            let alone = readings.iter().flat_map(|(_, reading)| reading.layers.clone());
            layers.into_iter().chain(alone).collect::<Vec<_>>()
        };
        let base = match software.id {
            "istio" => manifests,
            "kuma" => kuma,
            "kong" => kong,
            "dapr" => dapr,
            _ => "",
        };
        // Kong's file is the whole of a service, which takes the place of what was there.
        let alone = software.id == "kong";
        if alone {
            let before = runs(vec![("base.yaml".into(), base.into())]);
            assert!(before.iter().any(damper_config::Layer::retries), "{}", software.id);
        }
        let mut files = vec![(file.path.clone(), file.text.clone())];
        files.extend((!alone).then(|| ("base.yaml".to_owned(), base.to_owned())));
        let with = runs(files);
        let left: Vec<_> = with
            .iter()
            .filter(|layer| layer.retries())
            .map(|layer| (layer.format, layer.seat, layer.attempts.clone()))
            .collect();
        assert!(left.is_empty(), "{}: {left:#?}\n{}", software.id, file.text);
        // And something says so.
        assert!(!with.is_empty(), "{}", software.id);
    }
}
