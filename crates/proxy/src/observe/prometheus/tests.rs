//! A strict reader of the exposition format, and what it is given.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::hop::{Direction, Hop, Outlook};
use crate::meters::{OVERALL, Overall};
use crate::observe::FAMILIES;
use damper_control::budget::GrpcTokenBucket;
use damper_control::lever::{Action, Change, ClassSet, Level};
use damper_control::{Budget, Nanos, Outcome};
use damper_tower::{Door, DoorLayer, LeverLayer};
use proptest::prelude::*;

type Key = (String, BTreeMap<String, String>);

/// Reads a text, or says what is wrong with it.
fn read(text: &str) -> Result<BTreeMap<Key, f64>, String> {
    if !text.ends_with('\n') {
        return Err("the last line has no end".into());
    }
    let mut families: BTreeMap<String, String> = BTreeMap::new();
    let (mut now, mut helped): (Option<String>, BTreeSet<String>) = (None, BTreeSet::new());
    let mut samples = BTreeMap::new();
    for line in text.lines() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let name = help.split(' ').next().unwrap().to_owned();
            if !helped.insert(name.clone()) {
                return Err(format!("{name} is there twice"));
            }
            now = Some(name);
            continue;
        }
        if let Some(kind) = line.strip_prefix("# TYPE ") {
            let (name, kind) = kind.split_once(' ').ok_or("no type")?;
            if now.as_deref() != Some(name) {
                return Err(format!("{name}: the type is not below its help"));
            }
            if !["counter", "gauge", "histogram", "untyped"].contains(&kind) {
                return Err(format!("{kind} is no type"));
            }
            families.insert(name.into(), kind.into());
            continue;
        }
        let ((name, labels), value) = sample(line).ok_or_else(|| format!("no sample: {line}"))?;
        let family = now.clone().ok_or("a sample before its family")?;
        let suffix = name.strip_prefix(&family).ok_or_else(|| format!("{name} in {family}"))?;
        let kind = families.get(&family).ok_or("a family without type")?.as_str();
        let fits = match suffix {
            "" => kind != "histogram",
            "_bucket" | "_sum" | "_count" => kind == "histogram",
            _ => false,
        };
        let total = kind != "counter" || family.ends_with("_total");
        if !fits || !total || (kind == "counter" && (value.is_nan() || value < 0.0)) {
            return Err(format!("{line} is no {kind}"));
        }
        if samples.insert((name, labels), value).is_some() {
            return Err(format!("{line}: the same series twice"));
        }
    }
    histograms_add_up(&samples)?;
    Ok(samples)
}

fn is_name(text: &str) -> bool {
    let first = |c: char| c.is_ascii_alphabetic() || c == '_';
    text.starts_with(first) && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn sample(line: &str) -> Option<(Key, f64)> {
    let end = line.find(['{', ' '])?;
    let (name, mut rest) = line.split_at(end);
    let mut labels = BTreeMap::new();
    if let Some(mut inside) = rest.strip_prefix('{') {
        loop {
            let (label, after) = inside.split_once("=\"")?;
            let mut value = String::new();
            let mut chars = after.char_indices();
            let close = loop {
                match chars.next()? {
                    (at, '"') => break at,
                    (_, '\\') => value.push(match chars.next()?.1 {
                        'n' => '\n',
                        c @ ('\\' | '"') => c,
                        _ => return None,
                    }),
                    (_, c) => value.push(c),
                }
            };
            if !is_name(label) || labels.insert(label.to_owned(), value).is_some() {
                return None;
            }
            let after = &after[close + 1..];
            if let Some(end) = after.strip_prefix('}') {
                rest = end;
                break;
            }
            inside = after.strip_prefix(',')?;
        }
    }
    let value = rest.strip_prefix(' ')?;
    let value = match value {
        "+Inf" => f64::INFINITY,
        "-Inf" => f64::NEG_INFINITY,
        "NaN" => f64::NAN,
        number if number.starts_with(|c: char| c.is_ascii_digit() || c == '-') => {
            number.parse().ok()?
        }
        _ => return None,
    };
    is_name(name).then(|| ((name.to_owned(), labels), value))
}

/// Buckets are cumulative, the last is the count.
fn histograms_add_up(samples: &BTreeMap<Key, f64>) -> Result<(), String> {
    let mut series: BTreeMap<Key, Vec<(f64, f64)>> = BTreeMap::new();
    for ((name, labels), value) in samples {
        if let Some(base) = name.strip_suffix("_bucket") {
            let mut labels = labels.clone();
            let le = labels.remove("le").ok_or("a bucket without bound")?;
            let le = if le == "+Inf" { f64::INFINITY } else { le.parse().map_err(|_| le)? };
            series.entry((base.to_owned(), labels)).or_default().push((le, *value));
        }
    }
    for ((name, labels), mut buckets) in series {
        buckets.sort_by(|a, b| a.0.total_cmp(&b.0));
        let count = samples.get(&(format!("{name}_count"), labels)).copied();
        let grows = buckets.windows(2).all(|pair| pair[0].1 <= pair[1].1);
        let last = buckets.last().map(|(le, count)| (le.is_infinite(), *count));
        if !grows || last.map(|(_, n)| n) != count || !last.is_some_and(|(inf, _)| inf) {
            return Err(format!("{name}: {buckets:?}, count {count:?}"));
        }
    }
    Ok(())
}

fn hops(name: &str, class: &str) -> Hops {
    let hops = Hops::default();
    let hop = Hop::new(name, Direction::Inbound, vec![class.to_owned(), "low".into()]);
    let lever = LeverLayer::new(hop.lever().clone());
    let door = DoorLayer::new(Door::new().with_workers(3));
    let budget = Budget::from(GrpcTokenBucket::try_new(10, 0.1).unwrap());
    let outlook = Outlook { gain: vec![2.0], capacity: Some(300.0) };
    let hop = hop.with_lever(&lever).with_door(&door).with_budget(budget.into());
    hops.install(vec![hop.with_outlook(outlook)]).unwrap();
    hops
}

fn find(samples: &BTreeMap<Key, f64>, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
    let has = |key: &Key| {
        key.0 == name && labels.iter().all(|(l, v)| key.1.get(*l).is_some_and(|found| found == v))
    };
    let mut found = samples.iter().filter(|(key, _)| has(key));
    let value = found.next().map(|(_, value)| *value);
    assert!(found.next().is_none(), "{name} {labels:?} is not one series");
    value
}

#[test]
fn what_was_counted_is_what_is_scraped() {
    let (hops, ms) = (hops("db", "high"), Nanos::from_millis);
    let (watch, hop) = (Watch::new(hops.clone()), hops.find("db").unwrap());
    watch.tick(ms(1000));
    for i in 0..10 {
        let request = hop.meters().request(ms(1000), 0, i >= 6);
        hop.meters().waited(0, ms(2));
        hop.meters().attempt(0, ms(20));
        let outcome = if i < 7 { Outcome::Success } else { Outcome::TimedOut };
        request.end(ms(1030), outcome, Some(ms(if i < 5 { 2000 } else { 1000 })));
    }
    let _open = hop.meters().request(ms(1000), 1, false);
    hop.meters().count(Overall::Distrusted);
    let to = Action::Throttle(Level::Rate(50.0));
    let _ = hop.lever().pull(Change { action: to, classes: ClassSet::of(1), who: "a", why: "b" });
    watch.tick(ms(2000));
    let samples = read(&scrape(&hops, &watch, None)).unwrap();
    let high = ("class", "high");
    for (name, labels, value) in [
        ("damper_requests_total", &[high][..], Some(10.0)),
        ("damper_throughput_total", &[high], Some(7.0)),
        ("damper_goodput_total", &[high], Some(5.0)),
        ("damper_requests_ended_total", &[high, ("outcome", "timed_out")], Some(3.0)),
        ("damper_requests_in_flight", &[("class", "low")], Some(1.0)),
        ("damper_attempts_total", &[high, ("kind", "first")], Some(6.0)),
        ("damper_attempts_total", &[high, ("kind", "retry")], Some(4.0)),
        ("damper_amplification", &[high], Some(10.0 / 6.0)),
        ("damper_request_duration_seconds_count", &[high], Some(10.0)),
        ("damper_queue_delay_seconds_bucket", &[high, ("le", "0.001048576")], Some(0.0)),
        ("damper_queue_delay_seconds_bucket", &[high, ("le", "0.002097152")], Some(10.0)),
        ("damper_door_working", &[], Some(0.0)),
        ("damper_door_limit", &[], None),
        ("damper_control", &[("control", "budget"), ("reading", "tokens")], Some(10.0)),
        ("damper_state", &[("state", "stable")], Some(1.0)),
        ("damper_state", &[("state", "metastable")], Some(0.0)),
        ("damper_loop_gain", &[], Some(2.0)),
        ("damper_capacity_per_second", &[], Some(300.0)),
        ("damper_lever_share", &[high], Some(1.0)),
        ("damper_lever_share", &[("class", "low")], None),
        ("damper_lever_rate_per_second", &[("class", "low")], Some(50.0)),
        ("damper_lever_pulls_total", &[], Some(1.0)),
        ("damper_distrusted_requests_total", &[], Some(1.0)),
    ] {
        assert_eq!(find(&samples, name, labels), value, "{name} {labels:?}");
    }
}

#[test]
fn every_family_is_written_and_no_other() {
    let hops = hops("db", "high");
    let text = scrape(&hops, &Watch::new(hops.clone()), None);
    for family in FAMILIES {
        assert!(text.contains(&format!("# TYPE {} {}\n", family.name, family.kind)));
    }
    let named = text.lines().filter_map(|line| line.strip_prefix("# TYPE damper_"));
    assert_eq!(named.count(), FAMILIES.len() + OVERALL.len() + 1, "and the version");
}

#[test]
fn the_reader_is_strict() {
    let head = "# HELP a_total b\n# TYPE a_total counter\n";
    assert!(read(&format!("{head}a_total{{x=\"1\"}} 1\n")).is_ok());
    for wrong in [
        "a_total 1",
        "a_total -1\n",
        "a_total{x=1} 1\n",
        "b_total 1\n",
        "a_total  1\n",
        "a_total{x=\"1\",x=\"1\"} 1\n",
        "a_total 1\na_total 1\n",
        "a_total inf\n",
        "a_total_sum 1\n",
        "a_total{x=\"\n\"} 1\n",
    ] {
        assert!(read(&format!("{head}{wrong}")).is_err(), "{wrong:?}");
    }
}

proptest! {
    #[test]
    fn any_name_makes_a_text_that_can_be_read(name in ".*", class in ".*") {
        prop_assume!(class != "low");
        let hops = hops(&name, &class);
        let samples = read(&scrape(&hops, &Watch::new(hops.clone()), None));
        let samples = samples.map_err(TestCaseError::fail)?;
        let labels = [("hop", name.as_str()), ("class", class.as_str())];
        prop_assert_eq!(find(&samples, "damper_requests_total", &labels), Some(0.0));
    }
}
