//! The top of a drill file.

use std::path::Path;

use damper_control::Nanos;

use super::model::{
    Callers, Cause, CauseKind, Ceilings, Drill, Limit, Place, Plant, Recovered, Search, Size,
    Speaks, Watched,
};
use super::sends::{RequestFiles, Whole};
use super::tables::{BOUNDS, RECOVERED, ROOT, SEARCH};
use super::{Url, classes, phases, sends, things, tls};
use crate::SystemFile;
use crate::node::{Node, Value, quoted};
use crate::problem::{Draft, Problems};
use crate::read::{Fields, NameList, Reader, Val};
use crate::requests::Knows;
use crate::schema::{Kind, Names};
use crate::sections::root::{names, texts};
use crate::source::Span;

/// The system file that a drill names, with its changes.
///
/// # Errors
/// Its problems: they stand in another file, and are told alone.
pub(super) fn plant(
    reader: &mut Reader<'_>,
    root: &Node,
    base: &Path,
) -> Result<Option<Plant>, Problems> {
    let Some(entry) = root.child("system") else { return Ok(None) };
    let Some(text) = entry.value.scalar().filter(|text| !text.trim().is_empty()) else {
        return Ok(None);
    };
    let path = base.join(text);
    if !path.is_file() {
        let draft = Draft::new(entry.value.span, "there is no such system file");
        reader.error(draft.expected("the path of a system file, from the folder of this one"));
        return Ok(None);
    }
    let mut file = SystemFile::read(&path)?;
    let mut set = Vec::new();
    if let Some(Value::Seq(items)) = root.child("set").map(|e| &e.value.value) {
        for change in items.iter().filter_map(Node::scalar) {
            file.set(change)?;
            set.push(change.to_owned());
        }
    }
    let system = file.lower()?;
    Ok(Some(Plant { path, set, file, system }))
}

/// What other files say that a plan names.
pub(super) struct Others {
    pub(super) plant: Option<Plant>,
    pub(super) requests: RequestFiles,
}

/// The drill, where there is one.
///
/// # Errors
/// The problems of another file that it names, which are told alone.
pub(super) fn lower(
    reader: &mut Reader<'_>,
    root: &Node,
    base: &Path,
    others: Others,
    knows: &dyn Knows,
) -> Result<Option<Drill>, Problems> {
    let Others { plant, requests } = others;
    let at = root.span;
    if matches!(root.value, Value::Null) {
        let draft = Draft::new(at, "the file is empty").found("nothing");
        reader.error(draft.expected("`drill: 1` and what is to be done"));
        return Ok(None);
    }
    let Some(f) = reader.section(root, &ROOT, at) else { return Ok(None) };
    version(reader, &f);
    let name = text(reader, &f, "name").unwrap_or_else(|| "drill".to_owned());
    let classes = match &plant {
        Some(plant) => plant.system.classes.clone(),
        None => {
            classes::check(reader, f.node("load"));
            classes::classes(f.node("load"))
        }
    };
    reader.names.classes = NameList::new(classes.clone());
    for (key, which) in [("metrics", 0), ("triggers", 1), ("levers", 2)] {
        let list = texts(&names(reader, &f, key, &[]));
        match which {
            0 => reader.names.metrics = list,
            1 => reader.names.triggers = list,
            _ => reader.names.levers = list,
        }
    }
    let emulated = plant.is_some();
    let shares = shares(plant.as_ref(), classes.len());
    let target = f.node("target").and_then(|n| place(reader, n, emulated, Url::parse_target));
    let speaks = reader.word(&f, "protocol").map_or(Speaks::Http1, sends::speaks);
    let believes = tls::said(reader, &f, base, knows);
    let (shares, files) = (&shares[..], &requests);
    let target_of_all = target.clone();
    let whole =
        Whole { target: target_of_all, speaks, believes, shares, emulated, files, base, knows };
    let (load, parts) = sends::load(reader, &f, &whole);
    if load.is_none() && !emulated && !reader.sink.has_errors() {
        let draft = Draft::new(f.at, "nothing says how much is sent");
        reader.error(
            draft.found("neither `load` nor `system`").expected("`load:` a rate such as `100/s`"),
        );
    }
    let patience = reader.duration(&f, "patience").unwrap_or(Nanos::from_secs(10));
    let metrics = things::metrics(reader, &f, emulated);
    let levers = things::levers(reader, &f, emulated);
    let triggers = things::triggers(reader, &f, emulated);
    let own = own_lengths(&triggers, plant.as_ref());
    let phases = phases::phases(reader, &f, &own);
    let (expect, abort) = (phases::expect(reader, &f), phases::abort(reader, &f));
    let (bounds, recovered) = (bounds(reader, &f), recovered(reader, &f));
    let search = search(reader, &f, &own);
    let callers: Callers = sends::callers(reader, &f, base, plant.as_ref())?;
    let Some(target) = target else { return Ok(None) };
    let drill = Drill {
        name,
        slower: reader.number(&f, "slower").unwrap_or(1.0),
        target,
        speaks,
        parts,
        owners: pairs(reader, &f, "owners"),
        classes,
        load,
        even: reader.word(&f, "arrivals").map(|word| word == "even"),
        headers: pairs(reader, &f, "headers"),
        class_header: text(reader, &f, "class_header").unwrap_or_else(|| "x-damper-class".into()),
        callers,
        patience,
        good_within: reader.duration(&f, "good_within").unwrap_or(patience),
        interval: reader.duration(&f, "interval").unwrap_or(Nanos::from_secs(1)),
        seed: reader.count(&f, "seed").unwrap_or(1),
        bounds,
        recovered,
        metrics,
        phases,
        expect,
        abort,
        search,
        triggers,
        levers,
        plant,
    };
    cross_check(reader, &f, &drill);
    Ok((!reader.sink.has_errors()).then_some(drill))
}

fn version(reader: &mut Reader<'_>, f: &Fields<'_>) {
    if let Some(node) = f.node("drill").filter(|node| node.scalar() != Some("1")) {
        let draft = Draft::new(node.span, "this version of the format is not known");
        reader.error(draft.found(node.found()).expected("`1`, the only version so far"));
    }
}

/// What the parts say of each other.
fn cross_check(reader: &mut Reader<'_>, f: &Fields<'_>, drill: &Drill) {
    let total = drill.total_load();
    let peak = drill.phases.iter().filter_map(|p| match p.kind {
        super::PhaseKind::Load { share, .. } => Some(share),
        _ => None,
    });
    let most = total.unwrap_or(0.0) * peak.fold(0.0, f64::max);
    if most > drill.bounds.rate {
        let draft = Draft::new(f.span("load"), "the load exceeds the bound on the rate");
        reader.error(
            draft
                .found(format!("up to {most}/s"))
                .expected(format!("at most {}/s, or a larger `bounds.rate`", drill.bounds.rate)),
        );
    }
    if drill.recovered.hold < drill.interval {
        let draft = Draft::new(f.span("interval"), "a point is wider than `recovered.hold`");
        reader.error(draft.expected(format!("at most {}", drill.recovered.hold)));
    }
    if drill.search.steady < drill.interval.scale(3.0) {
        let at = f.entry("headroom").map_or(f.span("interval"), |e| e.key.span);
        let draft = Draft::new(at, "`headroom.steady` is shorter than three points of the series");
        let least = drill.interval.scale(3.0);
        reader.error(
            draft
                .found(drill.search.steady.to_string())
                .expected(format!("at least {least}, or a shorter `interval`")),
        );
    }
    for (name, _) in &drill.headers {
        let fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.is_empty() || !name.chars().all(fine) {
            let draft = Draft::new(f.span("headers"), format!("{} is no header", quoted(name)));
            reader.error(draft.expected("a name of letters, digits, `-`, `_` and `.`"));
        }
    }
    let starts = |p: &super::Phase| matches!(p.kind, super::PhaseKind::Start { .. });
    if drill.phases.first().is_some_and(starts) {
        let draft = Draft::new(f.span("phases"), "a trigger starts before there is any load");
        reader.error(draft.expected("first `{load: 100%}` and `{hold: 10s}`"));
    }
}

/// How a rate for all classes is shared: as the load of the system file is, evenly where only names
/// are known.
fn shares(plant: Option<&Plant>, classes: usize) -> Vec<f64> {
    let even = || vec![1.0 / classes.max(1) as f64; classes];
    let Some(plant) = plant else { return even() };
    let total = plant.system.total_load();
    let own = plant.system.load.iter().map(|load| load.mean() / total);
    if total > 0.0 { own.collect() } else { even() }
}

/// Reads an address: [`Url::parse`], or [`Url::parse_target`].
pub(super) type Parse = fn(&str) -> Result<Url, &'static str>;

/// An address.
pub(super) fn url(reader: &mut Reader<'_>, node: &Node, parse: Parse) -> Option<Url> {
    let found = match reader.scalar(node, &Kind::Text)? {
        Val::Text(text) => text,
        _ => return None,
    };
    match parse(&found) {
        Ok(url) => Some(url),
        Err(why) => {
            let draft = Draft::new(node.span, why).found(node.found());
            reader.error(draft.expected("an address such as `http://127.0.0.1:8080/`"));
            None
        }
    }
}

/// An address, or the emulation.
pub(super) fn place(
    reader: &mut Reader<'_>,
    node: &Node,
    emulated: bool,
    parse: Parse,
) -> Option<Place> {
    if node.scalar() != Some("emulation") {
        return url(reader, node, parse).map(Place::At);
    }
    if !emulated {
        let draft = Draft::new(node.span, "an emulation needs a system file").found("no `system`");
        reader.error(draft.expected("`system:` the path of a system file"));
        return None;
    }
    Some(Place::Emulation)
}

pub(super) fn text(reader: &mut Reader<'_>, f: &Fields<'_>, key: &str) -> Option<String> {
    match reader.value(f, key) {
        Some(Val::Text(text)) => Some(text),
        _ => None,
    }
}

/// Names and texts.
fn pairs(reader: &mut Reader<'_>, f: &Fields<'_>, key: &str) -> Vec<(String, String)> {
    let Some(node) = f.node(key) else { return Vec::new() };
    let Some(entries) = node.entries() else {
        let draft = Draft::new(node.span, format!("`{key}` must be a mapping"));
        reader.error(draft.found(node.found()).expected("names, each with its text"));
        return Vec::new();
    };
    let pair = |entry: &crate::node::Entry| match reader.scalar(&entry.value, &Kind::Text) {
        Some(Val::Text(text)) => Some((entry.key.text.clone(), text)),
        _ => None,
    };
    entries.iter().filter_map(pair).collect()
}

fn bounds(reader: &mut Reader<'_>, f: &Fields<'_>) -> Ceilings {
    let mut bounds =
        Ceilings { rate: 500.0, requests: 200_000, time: Nanos::from_secs(1800), in_flight: 4096 };
    let Some(entry) = f.entry("bounds") else { return bounds };
    let Some(b) = reader.section(&entry.value, &BOUNDS, entry.key.span) else { return bounds };
    bounds.rate = reader.number(&b, "rate").unwrap_or(bounds.rate);
    bounds.requests = reader.count(&b, "requests").unwrap_or(bounds.requests);
    bounds.time = reader.duration(&b, "time").unwrap_or(bounds.time);
    bounds.in_flight = reader.count(&b, "in_flight").unwrap_or(bounds.in_flight);
    bounds
}

fn recovered(reader: &mut Reader<'_>, f: &Fields<'_>) -> Recovered {
    let mut recovered = Recovered { goodput: 0.95, hold: Nanos::from_secs(5), metric: None };
    let Some(entry) = f.entry("recovered") else { return recovered };
    let Some(r) = reader.section(&entry.value, &RECOVERED, entry.key.span) else {
        return recovered;
    };
    recovered.goodput = reader.number(&r, "goodput").unwrap_or(recovered.goodput);
    recovered.hold = reader.duration(&r, "hold").unwrap_or(recovered.hold);
    if r.has("metric") {
        recovered.metric = watched(reader, &r);
    } else if let Some(limit) = r.entry("below").or(r.entry("above")) {
        let draft = Draft::new(limit.key.span, "this is a limit of nothing");
        reader.error(draft.expected("`metric:` and the name of one of `metrics`"));
    }
    recovered
}

/// A metric with one limit.
pub(super) fn watched(reader: &mut Reader<'_>, f: &Fields<'_>) -> Option<Watched> {
    let metric = reader.id(f, "metric");
    let limit = match (reader.number(f, "below"), reader.number(f, "above")) {
        (Some(below), None) => Limit::Below(below),
        (None, Some(above)) => Limit::Above(above),
        (both, _) => {
            let at = f.entry("metric").map_or(f.at, |e| e.key.span);
            let message = if both.is_some() {
                "`below` and `above` exclude each other"
            } else {
                "a metric needs a limit"
            };
            reader.error(Draft::new(at, message).expected("`below:` or `above:` a number"));
            return None;
        }
    };
    Some(Watched { metric: metric?, limit })
}

/// How long each trigger lasts by itself: known for those of the emulation that is started.
fn own_lengths(triggers: &[Cause], plant: Option<&Plant>) -> Vec<Option<Nanos>> {
    let own = |cause: &Cause| {
        let CauseKind::Emulate { at: Place::Emulation, trigger } = &cause.kind else { return None };
        let found = plant?.system.triggers.iter().find(|t| t.name == *trigger)?;
        Some(found.length())
    };
    triggers.iter().map(own).collect()
}

fn search(reader: &mut Reader<'_>, f: &Fields<'_>, own: &[Option<Nanos>]) -> Search {
    let secs = Nanos::from_secs;
    let mut s = Search {
        of: Size::Load,
        trigger: None,
        lasts: secs(2),
        from: None,
        to: None,
        resolution: 0.05,
        repeats: 3,
        ramp: secs(3),
        steady: secs(5),
        watch: secs(60),
        drain: secs(120),
        light: 0.05,
        lever: None,
    };
    let section = f.entry("headroom");
    let section = section.and_then(|e| reader.section(&e.value, &SEARCH, e.key.span));
    let Some(r) = section else {
        s.lasts = own.first().copied().flatten().map_or(s.lasts, |own| own.min(s.lasts));
        return s;
    };
    if reader.word(&r, "of") == Some("trigger") {
        s.of = Size::Trigger;
    }
    s.trigger = reader.id(&r, "trigger");
    let own = own.get(s.trigger.unwrap_or(0)).copied().flatten();
    match reader.duration(&r, "for") {
        Some(lasts) if r.has("for") => {
            phases::within_own(reader, &r, Some(lasts), own);
            s.lasts = lasts;
        }
        given => {
            let lasts = given.unwrap_or(s.lasts);
            s.lasts = own.map_or(lasts, |own| own.min(lasts));
        }
    }
    s.from = size(reader, &r, "from", s.of);
    s.to = size(reader, &r, "to", s.of);
    if let (Some(from), Some(to)) = (s.from, s.to)
        && from >= to
    {
        let draft = Draft::new(r.span("from"), "there is nothing between `from` and `to`");
        reader.error(draft.expected("less than `to`"));
    }
    if let (Size::Trigger, Some(own)) = (s.of, own) {
        let most = own.as_secs_f64();
        if s.to.is_some_and(|to| to > most) {
            let message = format!("this trigger ends by itself after {own}");
            let draft = Draft::new(r.span("to"), message);
            reader.error(draft.expected(format!(
                "at most {own}, or a longer trigger in the system file (`set:` changes it)"
            )));
        }
        s.to = s.to.or(Some(most));
    }
    s.resolution = reader.number(&r, "resolution").unwrap_or(s.resolution);
    s.repeats = reader.count32(&r, "repeats").unwrap_or(s.repeats);
    s.ramp = reader.duration(&r, "ramp").unwrap_or(s.ramp);
    s.steady = reader.duration(&r, "steady").unwrap_or(s.steady);
    s.watch = reader.duration(&r, "watch").unwrap_or(s.watch);
    s.drain = reader.duration(&r, "drain").unwrap_or(s.drain);
    s.light = reader.number(&r, "light").unwrap_or(s.light);
    s.lever = reader.id(&r, "lever");
    s
}

/// A rate or a time, by what is varied.
fn size(reader: &mut Reader<'_>, f: &Fields<'_>, key: &str, of: Size) -> Option<f64> {
    let node = f.node(key)?;
    let kind = match of {
        Size::Load => Kind::Rate { zero: false },
        Size::Trigger => Kind::Duration { zero: false },
    };
    match reader.scalar(node, &kind)? {
        Val::Number(rate) => Some(rate),
        Val::Duration(time) => Some(time.as_secs_f64()),
        _ => None,
    }
}

/// A class, or all.
pub(super) fn class(reader: &mut Reader<'_>, f: &Fields<'_>, key: &str) -> Option<usize> {
    match reader.scalar(f.node(key)?, &Kind::Name(Names::ClassOrAll)) {
        Some(Val::Id(class)) => Some(class),
        _ => None,
    }
}

/// Where a key stands.
pub(super) fn key_span(f: &Fields<'_>, key: &str) -> Span {
    f.entry(key).map_or(f.at, |e| e.key.span)
}
