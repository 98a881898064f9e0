//! What happens in a drill, what must come of it, and when it stops.

use damper_control::Nanos;

use super::model::{Abort, Phase, PhaseKind, Requirement, Strength};
use super::read::{class, text, watched};
use super::tables::{ABORT, EXPECT, PHASES};
use super::things::pull;
use crate::node::{Node, Value, quoted};
use crate::problem::Draft;
use crate::read::{Fields, Reader};
use crate::schema::{Tagged, Variant};

/// The items of a list, each read as one of its variants.
fn items<T>(
    reader: &mut Reader<'_>,
    f: &Fields<'_>,
    key: &str,
    tagged: &'static Tagged,
    mut read: impl FnMut(&mut Reader<'_>, &'static Variant, &Fields<'_>) -> Option<T>,
) -> Vec<T> {
    let Some(entry) = f.entry(key) else { return Vec::new() };
    let Value::Seq(found) = &entry.value.value else {
        let draft = Draft::new(entry.value.span, format!("`{key}` must be a list"));
        reader.error(draft.found(entry.value.found()).expected("a list, not empty"));
        return Vec::new();
    };
    if found.is_empty() {
        let draft = Draft::new(entry.value.span, "this list is empty");
        reader.error(draft.expected("at least one"));
    }
    let one = |item: &Node| {
        let at = if item.is_map() { item.span } else { entry.key.span };
        let (variant, fields) = reader.keyed(item, tagged, at)?;
        read(reader, variant, &fields)
    };
    found.iter().filter_map(one).collect()
}

/// `own`: how long each trigger lasts by itself, where that is known.
pub(super) fn phases(reader: &mut Reader<'_>, f: &Fields<'_>, own: &[Option<Nanos>]) -> Vec<Phase> {
    items(reader, f, "phases", &PHASES, |reader, variant, p| {
        let kind = match variant.name {
            "load" => PhaseKind::Load {
                share: reader.number(p, "load")?,
                over: reader.duration(p, "over").unwrap_or(Nanos::from_secs(5)),
            },
            "hold" => PhaseKind::Hold(reader.duration(p, "hold")?),
            "start" => {
                let trigger: usize = reader.id(p, "start")?;
                let lasts = if p.has("for") { Some(reader.duration(p, "for")?) } else { None };
                within_own(reader, p, lasts, own.get(trigger).copied().flatten());
                PhaseKind::Start { trigger, lasts }
            }
            "stop" => PhaseKind::Stop(reader.id(p, "stop")?),
            "recover" => PhaseKind::Recover(reader.duration(p, "recover")?),
            "healthy" => PhaseKind::Healthy(reader.duration(p, "healthy")?),
            "lever" => PhaseKind::Lever { lever: reader.id(p, "lever")?, pull: pull(reader, p)? },
            _ => PhaseKind::Ask(text(reader, p, "ask")?),
        };
        let own = p.node(variant.name).and_then(Node::scalar).unwrap_or_default();
        let named = text(reader, p, "name");
        let name = named.unwrap_or_else(|| format!("{} {own}", variant.name));
        Some(Phase { name, kind })
    })
}

/// A trigger of an emulation ends by itself: what is measured after it would not be its recovery.
pub(super) fn within_own(
    reader: &mut Reader<'_>,
    f: &Fields<'_>,
    lasts: Option<Nanos>,
    own: Option<Nanos>,
) {
    if let (Some(lasts), Some(own)) = (lasts, own)
        && lasts > own
    {
        let draft = Draft::new(f.span("for"), format!("this trigger ends by itself after {own}"));
        reader.error(draft.found(lasts.to_string()).expected(format!(
            "at most {own}, or a longer trigger in the system file (`set:` changes it)"
        )));
    }
}

pub(super) fn expect(reader: &mut Reader<'_>, f: &Fields<'_>) -> Vec<Requirement> {
    // Names that phases were given, and those they have by themselves.
    let mut known: Vec<String> = Vec::new();
    if let Some(Value::Seq(found)) = f.node("phases").map(|n| &n.value) {
        for item in found {
            let given = item.child("name").and_then(|e| e.value.scalar()).map(str::to_owned);
            let entries = item.entries().unwrap_or_default();
            let own = entries.iter().find(|e| PHASES.variants.iter().any(|v| v.name == e.key.text));
            let own = own.map(|e| format!("{} {}", e.key.text, e.value.scalar().unwrap_or("")));
            known.extend(given.or(own));
        }
    }
    items(reader, f, "expect", &EXPECT, |reader, variant, e| {
        Some(match variant.name {
            "recovery" => Requirement::Recovery(reader.duration(e, "recovery")?),
            "detection" => Requirement::Detection(reader.duration(e, "detection")?),
            "goodput" => {
                let during = text(reader, e, "during");
                if let Some(name) = during.as_ref().filter(|name| !known.contains(name)) {
                    let message = format!("there is no phase {}", quoted(name));
                    let near = reader.near(name, known.iter().map(String::as_str));
                    let draft = Draft::new(e.span("during"), message);
                    reader.error(draft.expected("the name of a phase").suggest(near));
                }
                let share = reader.number(e, "goodput")?;
                Requirement::Goodput { share, class: class(reader, e, "of"), during }
            }
            "amplification" => Requirement::Amplification(reader.number(e, "amplification")?),
            "lost" => Requirement::Lost(reader.number(e, "lost")?),
            _ => Requirement::Moved(reader.id(e, "moved")?),
        })
    })
}

pub(super) fn abort(reader: &mut Reader<'_>, f: &Fields<'_>) -> Vec<Abort> {
    items(reader, f, "abort", &ABORT, |reader, variant, a| {
        let lasts = reader.duration(a, "for");
        let what = match variant.name {
            "goodput" => Strength::Goodput {
                share: reader.number(a, "goodput")?,
                class: class(reader, a, "of"),
            },
            _ => Strength::Metric(watched(reader, a)?),
        };
        Some(Abort { what, lasts: lasts? })
    })
}
