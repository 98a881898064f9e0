//! What a drill names: metrics, triggers, levers.

use damper_control::Nanos;
use damper_control::lever::{Action, Level, Ramp};

use super::model::{Cause, CauseKind, LeverKind, Metric, MetricKind, Place, Pull, WorkLever};
use super::read::{class, key_span, place, text, url};
use super::tables::{LEVERS, METRICS, TRIGGERS};
use crate::node::{Entry, quoted};
use crate::problem::Draft;
use crate::read::{Fields, Reader, Val};
use crate::schema::{Kind, Tagged, Variant};
use crate::sections::lever::level;

/// The entries of a mapping of things, each read as one of its variants.
fn each<'n, T>(
    reader: &mut Reader<'_>,
    f: &Fields<'n>,
    key: &str,
    tagged: &'static Tagged,
    mut read: impl FnMut(&mut Reader<'_>, &'static Variant, &Fields<'n>, &'n Entry) -> Option<T>,
) -> Vec<T> {
    let entries = f.node(key).and_then(|node| node.entries()).unwrap_or_default();
    let one = |entry| {
        let entry: &'n Entry = entry;
        let (variant, fields) = reader.keyed(&entry.value, tagged, entry.key.span)?;
        read(reader, variant, &fields, entry)
    };
    entries.iter().filter_map(one).collect()
}

fn address(reader: &mut Reader<'_>, f: &Fields<'_>, key: &str) -> Option<super::Url> {
    url(reader, f.node(key)?, super::Url::parse)
}

/// The admin port of an emulation; without one, that of the emulation that is the target.
fn admin(reader: &mut Reader<'_>, f: &Fields<'_>, emulated: bool) -> Option<Place> {
    match f.node("admin") {
        Some(node) => place(reader, node, emulated, super::Url::parse),
        None if emulated => Some(Place::Emulation),
        None => {
            let draft = Draft::new(key_span(f, "emulate"), "this says of no emulation");
            let draft = draft.found("neither `admin` here nor `system` in the file");
            reader.error(draft.expected("`admin:` the address of its admin port"));
            None
        }
    }
}

pub(super) fn metrics(reader: &mut Reader<'_>, f: &Fields<'_>, emulated: bool) -> Vec<Metric> {
    each(reader, f, "metrics", &METRICS, |reader, variant, m, entry| {
        let kind = match variant.name {
            "prometheus" => MetricKind::Prometheus {
                at: address(reader, m, "prometheus")?,
                query: text(reader, m, "query")?,
            },
            "envoy" => MetricKind::Envoy {
                at: address(reader, m, "envoy")?,
                stat: text(reader, m, "stat")?,
            },
            "scrape" => MetricKind::Scrape {
                at: address(reader, m, "scrape")?,
                series: text(reader, m, "series")?,
            },
            _ => MetricKind::Emulate {
                count: reader.word(m, "emulate")?,
                of: text(reader, m, "of"),
                at: admin(reader, m, emulated)?,
            },
        };
        Some(Metric { name: entry.key.text.clone(), kind })
    })
}

pub(super) fn levers(reader: &mut Reader<'_>, f: &Fields<'_>, emulated: bool) -> Vec<WorkLever> {
    each(reader, f, "levers", &LEVERS, |reader, variant, l, entry| {
        let kind = match variant.name {
            "emulate" => LeverKind::Emulate {
                service: text(reader, l, "emulate")?,
                at: admin(reader, l, emulated)?,
            },
            "proxy" => LeverKind::Proxy {
                at: address(reader, l, "proxy")?,
                hop: text(reader, l, "hop"),
                caller: text(reader, l, "caller"),
                token_env: text(reader, l, "token_env"),
            },
            _ => LeverKind::Commands {
                open: text(reader, l, "open")?,
                pause: text(reader, l, "pause"),
                throttle: text(reader, l, "throttle"),
                ramp: text(reader, l, "ramp"),
            },
        };
        let reopen = reader.duration(l, "reopen").unwrap_or(Nanos::from_secs(30));
        Some(WorkLever { name: entry.key.text.clone(), kind, reopen })
    })
}

pub(super) fn triggers(reader: &mut Reader<'_>, f: &Fields<'_>, emulated: bool) -> Vec<Cause> {
    each(reader, f, "triggers", &TRIGGERS, |reader, variant, t, entry| {
        let kind = match variant.name {
            "emulate" => CauseKind::Emulate {
                trigger: text(reader, t, "emulate")?,
                at: admin(reader, t, emulated)?,
            },
            "lever" => CauseKind::Lever { lever: reader.id(t, "lever")?, pull: pull(reader, t)? },
            "envoy" => envoy(reader, t)?,
            "toxiproxy" => CauseKind::Toxiproxy {
                at: address(reader, t, "toxiproxy")?,
                proxy: word_of(reader, t, "proxy")?,
                toxic: reader.word(t, "toxic").map(str::to_owned),
                stream: reader.word(t, "stream").unwrap_or("downstream"),
                attributes: attributes(reader, t),
            },
            "netem" => netem(reader, t)?,
            _ => CauseKind::Commands {
                start: text(reader, t, "start")?,
                stop: text(reader, t, "stop")?,
                check: text(reader, t, "check"),
            },
        };
        Some(Cause { name: entry.key.text.clone(), kind })
    })
}

fn envoy(reader: &mut Reader<'_>, t: &Fields<'_>) -> Option<CauseKind> {
    let (abort, delay) = (reader.count(t, "abort"), reader.duration(t, "delay"));
    if !t.has("abort") && !t.has("delay") {
        let draft = Draft::new(key_span(t, "envoy"), "this fault does nothing");
        reader.error(draft.expected("`abort:` a status, or `delay:` a duration"));
        return None;
    }
    Some(CauseKind::Envoy {
        at: address(reader, t, "envoy")?,
        abort: abort.and_then(|status| u16::try_from(status).ok()),
        delay,
        share: reader.number(t, "share").unwrap_or(1.0),
    })
}

fn netem(reader: &mut Reader<'_>, t: &Fields<'_>) -> Option<CauseKind> {
    let (delay, loss) = (reader.duration(t, "delay"), reader.number(t, "loss"));
    if !t.has("delay") && !t.has("loss") {
        let draft = Draft::new(key_span(t, "netem"), "this does nothing to any packet");
        reader.error(draft.expected("`delay:` a duration, or `loss:` a percentage"));
        return None;
    }
    let jitter = reader.duration(t, "jitter");
    let (namespace, device) = (word_of(reader, t, "netem"), word_of(reader, t, "device"));
    Some(CauseKind::Netem { namespace: namespace?, device: device?, delay, jitter, loss })
}

/// A text that can be an argument or a part of a path, and nothing else.
fn word_of(reader: &mut Reader<'_>, f: &Fields<'_>, key: &str) -> Option<String> {
    let word = text(reader, f, key)?;
    let fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':' | '@');
    if word.starts_with('-') || word.len() > 100 || !word.chars().all(fine) {
        let draft = Draft::new(f.span(key), format!("{} is no name", quoted(&word)));
        reader.error(draft.expected("letters, digits, `-`, `_`, `.`, `:` and `@`"));
        return None;
    }
    Some(word)
}

fn attributes(reader: &mut Reader<'_>, f: &Fields<'_>) -> Vec<(String, f64)> {
    let entries = f.node("attributes").and_then(|node| node.entries()).unwrap_or_default();
    let number = Kind::Number { min: -1e15, max: 1e15 };
    let one = |entry: &Entry| match reader.scalar(&entry.value, &number) {
        Some(Val::Number(value)) => Some((entry.key.text.clone(), value)),
        _ => None,
    };
    entries.iter().filter_map(one).collect()
}

/// How a lever is pulled: `pull`, `class`, `to`, `from`, `over`.
pub(super) fn pull(reader: &mut Reader<'_>, f: &Fields<'_>) -> Option<Pull> {
    let word = reader.word(f, "pull")?;
    let needs: &[&str] = match word {
        "throttle" => &["to"],
        "ramp" => &["to", "over"],
        _ => &[],
    };
    let may: &[&str] = if word == "ramp" { &["from"] } else { &[] };
    let mut right = true;
    for key in ["to", "from", "over"] {
        let message = match (f.has(key), needs.contains(&key), may.contains(&key)) {
            (false, true, _) => format!("`{word}` needs `{key}`"),
            (true, false, false) => format!("`{key}` does not apply to `{word}`"),
            _ => continue,
        };
        right = false;
        let at = if f.has(key) { key_span(f, key) } else { key_span(f, "pull") };
        reader.error(Draft::new(at, message).expected("`throttle` with `to`, `ramp` with `to` and `over`, perhaps `from`; `open` and `pause` with neither"));
    }
    if !right {
        return None;
    }
    let action = match word {
        "open" => Action::Open,
        "pause" => Action::Pause,
        "throttle" => Action::Throttle(level(reader, f, "to")?),
        _ => {
            let to = level(reader, f, "to")?;
            let from = match (f.has("from"), to) {
                (true, _) => level(reader, f, "from")?,
                (false, Level::Share(_)) => Level::Share(0.0),
                (false, Level::Rate(_)) => Level::Rate(0.0),
            };
            if std::mem::discriminant(&from) != std::mem::discriminant(&to) {
                let message = "a ramp goes from one rate to another, or from one share to another";
                let draft = Draft::new(f.span("from"), message);
                reader.error(draft.expected("the same kind as `to`").also(f.span("to"), "to"));
                return None;
            }
            let over = reader.duration(f, "over")?;
            if over == Nanos::ZERO {
                let draft = Draft::new(f.span("over"), "this ramp is a step");
                reader.error(draft.expected("a duration above zero, or `pull: open`"));
                return None;
            }
            Action::Ramp(Ramp { from, to, over, steps: 0 })
        }
    };
    if matches!(action, Action::Throttle(Level::Share(x) | Level::Rate(x)) if x <= 0.0) {
        let draft = Draft::new(f.span("to"), "this lets nothing in").expected("`pull: pause`");
        reader.error(draft);
        return None;
    }
    Some(Pull { action, class: class(reader, f, "class") })
}
