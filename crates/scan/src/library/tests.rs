//! The catalogue holds together, and every sample in it is found as it says.

use std::collections::HashSet;

use super::catalogue::{ECOSYSTEMS, Sample};
use super::*;
use crate::lower;
use crate::policy::{Attempts, Setting};
use crate::value::Imports;

fn policies(language: Language, text: &str) -> Option<Vec<Policy>> {
    let tree = lower::tree(language, text)?;
    // A language that is not lowered has nothing but its root.
    if tree.len() == 1 {
        return None;
    }
    let imports = Imports::of(&tree);
    let values = Values::new(&tree, &imports);
    let context = Context { language, values: &values, manifests: None, scope: Scope::Production };
    Some(find(&tree, &context))
}

fn attempts(policy: &Policy) -> String {
    match &policy.attempts_total.value {
        Attempts::Count(count) => count.to_string(),
        Attempts::Infinite => "infinite".to_owned(),
        Attempts::Dynamic { usual: Some(usual), .. } => format!("usually {usual}"),
        Attempts::Dynamic { .. } => "dynamic".to_owned(),
    }
}

/// What a sample says and the policy does not.
fn differences(id: &str, sample: &Sample, all: &[Policy]) -> Vec<String> {
    let mut wrong = Vec::new();
    let of_entry = |policy: &&Policy| matches!(&policy.by, crate::policy::By::Library { id: found, .. } if found == id);
    let found: Vec<&Policy> = all.iter().filter(of_entry).collect();
    if sample.attempts == "no" {
        if !found.is_empty() {
            wrong.push(format!("nothing expected, found {} attempts", attempts(found[0])));
        }
        return wrong;
    }
    let [policy] = found[..] else {
        let others: Vec<_> = all.iter().map(|policy| &policy.by).collect();
        return vec![format!("one policy expected, found {} (all: {others:?})", found.len())];
    };
    let mut check = |what: &str, expected: String, got: String| {
        if expected != got {
            wrong.push(format!("{what}: {expected} expected, {got} found"));
        }
    };
    check("attempts", sample.attempts.clone(), attempts(policy));
    let number = |setting: &Option<Setting<f64>>| {
        setting.as_ref().map_or("none".to_owned(), |setting| setting.value.to_string())
    };
    if let Some(kind) = sample.delay {
        check("delay", format!("{kind:?}"), format!("{:?}", policy.delay.kind.value));
    }
    if let Some(jitter) = sample.jitter {
        check("jitter", format!("{jitter:?}"), format!("{:?}", policy.delay.jitter.value));
    }
    let numbers = [
        ("base", sample.base, &policy.delay.base_ms),
        ("factor", sample.factor, &policy.delay.factor),
        ("cap", sample.cap, &policy.delay.cap_ms),
        ("deadline", sample.deadline, &policy.deadline_ms),
    ];
    for (what, expected, got) in numbers {
        if let Some(expected) = expected {
            check(what, expected.to_string(), number(got));
        }
    }
    check("implicit", sample.implicit.to_string(), policy.implicit.to_string());
    wrong
}

#[test]
fn the_catalogue_can_be_read_and_holds_together() {
    let mut ids = HashSet::new();
    for ecosystem in &ECOSYSTEMS {
        let entries = match ecosystem.entries() {
            Ok(entries) => entries,
            Err(error) => panic!("catalogue/{}.yaml: {error}", ecosystem.name),
        };
        for entry in entries {
            let id = &entry.id;
            assert!(ids.insert(id.clone()), "{id} stands twice");
            assert!(!entry.source.is_empty(), "{id} has no source");
            assert!(entry.defaults.attempts.is_some(), "{id} says no default of attempts");
            if entry.background {
                assert!(entry.shapes.is_empty(), "{id} is in the background and has shapes");
                continue;
            }
            assert!(!entry.shapes.is_empty(), "{id} has no shape and is not in the background");
            assert!(!entry.samples.is_empty(), "{id} has no sample");
            let free = entry.shapes.iter().all(|shape| shape.free);
            assert!(free || !entry.imports.is_empty(), "{id} needs imports or free shapes");
        }
    }
}

#[test]
fn every_sample_is_found_as_it_says() {
    let (mut wrong, mut run, mut not_lowered) = (Vec::new(), 0, HashSet::new());
    for ecosystem in &ECOSYSTEMS {
        let entries = ecosystem.entries().unwrap();
        for entry in entries {
            for sample in &entry.samples {
                let language = match &sample.language {
                    None => ecosystem.languages[0],
                    Some(name) => Language::all()
                        .find(|language| language.name() == name)
                        .unwrap_or_else(|| panic!("{}: no language {name}", entry.id)),
                };
                let Some(found) = policies(language, &sample.code) else {
                    not_lowered.insert(language);
                    continue;
                };
                run += 1;
                // What is found has to be found by what is read of every file.
                let seeks = Seek::of(language).is_some_and(|seek| seek.in_text(&sample.code));
                if !seeks && !found.is_empty() {
                    wrong.push(format!(
                        "{}: left out before it is parsed: {}",
                        entry.id, sample.code
                    ));
                }
                for difference in differences(&entry.id, sample, &found) {
                    wrong.push(format!(
                        "{}: {difference}\n    {}",
                        entry.id,
                        sample.code.trim().replace('\n', "\n    ")
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {run} samples:\n{}", wrong.len(), wrong.join("\n"));
    assert!(run > 0);
}

#[test]
fn what_only_looks_like_a_library_is_not_found() {
    let cases = [
        "def retry(f): ...\n@retry\ndef g(): ...",
        "from mine import retry\n@retry(tries=3)\ndef g(): ...",
        "import tenacity\nclass A(tenacity.RetryError): ...\ndef f(x: tenacity.Retrying): ...",
        "requests.get(url, retries=3)",
    ];
    for text in cases {
        assert_eq!(policies(Language::Python, text), Some(Vec::new()), "{text}");
    }
}

#[test]
fn a_policy_names_its_lines_and_where_its_numbers_are() {
    let text = "\
from tenacity import retry, stop_after_attempt, wait_fixed

TRIES = 4
STOP = stop_after_attempt(TRIES)

@retry(
    stop=STOP,
    wait=wait_fixed(2),
)
def load():
    return client.get('https://api.example.com/x')
";
    let all = policies(Language::Python, text).unwrap();
    let [policy] = &all[..] else { panic!("{all:?}") };
    assert_eq!((policy.line, policy.end_line), (6, 9));
    assert_eq!(policy.attempts_total, Setting::written(Attempts::Count(4), 3));
    assert_eq!(policy.also, [[4, 4], [3, 3]]);
    assert_eq!(policy.delay.schedule_ms, [2000.0, 2000.0, 2000.0]);
    let call = policy.call.as_ref().unwrap();
    assert_eq!((call.text.as_str(), call.host.as_deref()), ("load", Some("api.example.com")));
}
