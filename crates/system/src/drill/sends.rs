//! What is sent: the parts of a load, the request files, whose policy callers follow.

use std::path::Path;

use super::model::{Callers, Follows, Manner, Part, Place, Plant, Speaks};
use super::read::{place, text};
use super::tables::RATE;
use super::tables::load::{FOLLOWS, PART};
use super::tls::Believes;
use super::{Url, tls};
use crate::node::{Node, Value, quoted};
use crate::problem::{Draft, Problems};
use crate::read::{Fields, Reader, Val};
use crate::requests::{Knows, RequestFile};
use crate::{SystemFile, schema::Kind};

/// No load has more parts.
const MAX_PARTS: usize = 16;

/// Request files by the names under which the plan has them.
pub(super) type RequestFiles = Vec<(String, RequestFile)>;

/// All request files that a plan names.
///
/// # Errors
/// The problems of one of them: they stand in another file, and are told alone.
pub(super) fn request_files(
    reader: &mut Reader<'_>,
    root: &Node,
    base: &Path,
    knows: &dyn Knows,
) -> Result<RequestFiles, Problems> {
    let of_parts = match root.child("load").map(|entry| &entry.value.value) {
        Some(Value::Seq(items)) => items.as_slice(),
        _ => &[],
    };
    let named = std::iter::once(root).chain(of_parts).filter_map(|node| node.child("requests"));
    let mut files = RequestFiles::new();
    for entry in named {
        let Some(name) = entry.value.scalar().filter(|name| !name.trim().is_empty()) else {
            continue;
        };
        if files.iter().any(|(known, _)| known == name) {
            continue;
        }
        let path = base.join(name);
        if !path.is_file() {
            let draft = Draft::new(entry.value.span, "there is no such request file");
            let draft = draft.found(quoted(name));
            reader.error(draft.expected("the path of a request file, from the folder of this one"));
            continue;
        }
        files.push((name.to_owned(), RequestFile::read(&path, knows)?));
    }
    Ok(files)
}

/// What a part has that does not say otherwise.
pub(super) struct Whole<'a> {
    pub(super) target: Option<Place>,
    pub(super) speaks: Speaks,
    /// Whose certificates are believed, if the plan says it.
    pub(super) believes: Option<Believes>,
    /// How a rate for all classes is shared.
    pub(super) shares: &'a [f64],
    pub(super) emulated: bool,
    pub(super) files: &'a RequestFiles,
    /// Where the files are looked for that the plan names.
    pub(super) base: &'a Path,
    pub(super) knows: &'a dyn Knows,
}

/// The load by class, if the plan says how much it is, and its parts.
pub(super) fn load(
    reader: &mut Reader<'_>,
    f: &Fields<'_>,
    whole: &Whole<'_>,
) -> (Option<Vec<f64>>, Vec<Part>) {
    let (rates, parts) = parted(reader, f, whole);
    // Of a target that could not be read nobody knows.
    if !reader.sink.has_errors() && parts.iter().all(|part| part.believes.is_none()) {
        tls::without(reader, f);
    }
    (rates, parts)
}

fn parted(
    reader: &mut Reader<'_>,
    f: &Fields<'_>,
    whole: &Whole<'_>,
) -> (Option<Vec<f64>>, Vec<Part>) {
    let Some(node) = f.node("load") else { return (None, alone(reader, f, whole, None)) };
    let Value::Seq(items) = &node.value else {
        let rates = rates(reader, node, whole.shares);
        let parts = alone(reader, f, whole, rates.as_deref());
        return (rates, parts);
    };
    if items.is_empty() || items.len() > MAX_PARTS {
        let draft = Draft::new(node.span, "this is not a list of 1 to 16 parts of a load");
        let draft = draft.found(node.found());
        reader.error(
            draft.expected("parts such as `{target: 'http://127.0.0.1:8080/', rate: 100/s}`"),
        );
        return (None, Vec::new());
    }
    let read: Vec<(Vec<f64>, Part)> =
        items.iter().filter_map(|item| part(reader, f, item, whole)).collect();
    let mut total = vec![0.0; whole.shares.len()];
    for (rates, _) in &read {
        total.iter_mut().zip(rates).for_each(|(sum, rate)| *sum += rate);
    }
    let share = |rate: &f64, of: &f64| if *of > 0.0 { rate / of } else { 0.0 };
    let parts = read.into_iter().map(|(rates, part)| Part {
        shares: rates.iter().zip(&total).map(|(rate, of)| share(rate, of)).collect(),
        ..part
    });
    (Some(total.clone()), parts.collect())
}

/// The only part of a load.
fn alone(
    reader: &mut Reader<'_>,
    f: &Fields<'_>,
    whole: &Whole<'_>,
    rates: Option<&[f64]>,
) -> Vec<Part> {
    let Some(target) = whole.target.clone() else { return Vec::new() };
    let requests = requests(reader, f, &target, whole, rates);
    let (speaks, shares) = (whole.speaks, vec![1.0; whole.shares.len()]);
    let believes = tls::wants(&target).then(|| whole.believes.clone().unwrap_or_default());
    vec![Part { target, speaks, believes, shares, requests }]
}

fn part(
    reader: &mut Reader<'_>,
    f: &Fields<'_>,
    item: &Node,
    whole: &Whole<'_>,
) -> Option<(Vec<f64>, Part)> {
    let p = reader.section(item, &PART, item.span)?;
    let rates = p.node("rate").and_then(|node| rates(reader, node, whole.shares));
    let target = match p.node("target") {
        Some(node) => place(reader, node, whole.emulated, Url::parse_target),
        None => whole.target.clone(),
    };
    let speaks = reader.word(&p, "protocol").map_or(whole.speaks, speaks);
    let own = tls::said(reader, &p, whole.base, whole.knows);
    let target = target?;
    let believes = tls::wants(&target).then(|| {
        let said = own.or_else(|| whole.believes.clone());
        said.unwrap_or_default()
    });
    if believes.is_none() {
        tls::without(reader, &p);
    }
    // What stands at the top is for the parts that name none.
    let from = if p.has("requests") { &p } else { f };
    let requests = requests(reader, from, &target, whole, rates.as_deref());
    Some((rates?, Part { target, speaks, believes, shares: Vec::new(), requests }))
}

pub(super) fn speaks(word: &str) -> Speaks {
    match word {
        "http2" => Speaks::Http2,
        "grpc" => Speaks::Grpc,
        _ => Speaks::Http1,
    }
}

/// The requests of a part, if a file has them; their classes must be those of the plan.
fn requests(
    reader: &mut Reader<'_>,
    f: &Fields<'_>,
    target: &Place,
    whole: &Whole<'_>,
    rates: Option<&[f64]>,
) -> Option<RequestFile> {
    let name = text(reader, f, "requests")?;
    let at = f.span("requests");
    if *target == Place::Emulation {
        let draft = Draft::new(at, "an emulation gets the requests of its system file");
        reader.error(draft.found(quoted(&name)).expected("no `requests` for `target: emulation`"));
        return None;
    }
    let file = whole.files.iter().find(|(known, _)| *known == name)?.1.clone();
    let own: &[String] = if file.classes == ["default"] { &[] } else { &file.classes };
    for class in own {
        if reader.names.classes.find(class).is_none() {
            let known = reader.names.classes.to_vec();
            let near = reader.near(class, known.iter().map(String::as_str));
            let message = format!("{name} has a class that the plan has not");
            let draft = Draft::new(at, message).found(quoted(class));
            let expected = format!("classes of the plan: `{}`", known.join("`, `"));
            reader.error(draft.expected(expected).suggest(near));
            return None;
        }
    }
    for (class, rate) in reader.names.classes.to_vec().iter().zip(rates.unwrap_or_default()) {
        let sends = |kind: &crate::RequestKind| match kind.class.and_then(|c| own.get(c)) {
            Some(only) => only == class && kind.weight > 0.0,
            None => kind.weight > 0.0,
        };
        if *rate > 0.0 && !file.requests.iter().any(sends) {
            let message = format!("nothing in {name} is sent by the class {}", quoted(class));
            let draft = Draft::new(at, message).found(format!("a load of {rate}/s for it"));
            reader.error(draft.expected("a request of this class, or one without `class`"));
        }
    }
    Some(file)
}

/// A rate, or one for each class.
pub(super) fn rates(reader: &mut Reader<'_>, node: &Node, shares: &[f64]) -> Option<Vec<f64>> {
    let mut load = vec![0.0; shares.len()];
    match &node.value {
        Value::Map(entries) => {
            for entry in entries {
                let class = reader.names.classes.find(&entry.key.text);
                match (class, reader.scalar(&entry.value, &RATE)) {
                    (Some(class), Some(Val::Number(rate))) => load[class] = rate,
                    (None, _) => {
                        let near = reader.names.classes.to_vec();
                        let near = near.iter().map(String::as_str);
                        let near = reader.near(&entry.key.text, near);
                        let message = format!("there is no class {}", quoted(&entry.key.text));
                        let draft = Draft::new(entry.key.span, message);
                        let known = reader.names.classes.join("`, `");
                        reader.error(draft.expected(format!("`{known}`")).suggest(near));
                    }
                    _ => {}
                }
            }
        }
        _ => match reader.scalar(node, &RATE)? {
            Val::Number(rate) => load.iter_mut().zip(shares).for_each(|(l, s)| *l = rate * s),
            _ => return None,
        },
    }
    if load.iter().sum::<f64>() <= 0.0 {
        let draft = Draft::new(node.span, "this load is nothing").found(node.found());
        reader.error(draft.expected("a rate above zero"));
    }
    Some(load)
}

/// What those who send do.
///
/// # Errors
/// The problems of the system file whose policy they follow: they are told alone.
pub(super) fn callers(
    reader: &mut Reader<'_>,
    f: &Fields<'_>,
    base: &Path,
    plant: Option<&Plant>,
) -> Result<Callers, Problems> {
    let mut callers = Callers {
        manner: Manner::None,
        limit: reader.count32(f, "retries").unwrap_or(3),
        timeout: reader.duration(f, "timeout"),
        follows: None,
    };
    match f.entry("callers") {
        Some(entry) if entry.value.is_map() => {
            if let Some(fields) = reader.section(&entry.value, &FOLLOWS, entry.key.span) {
                callers.follows = follows(reader, &fields, base, plant)?;
                callers.manner = Manner::Policy;
            }
            if let Some(limit) = f.entry("retries") {
                let draft = Draft::new(limit.key.span, "`retries` are what the policy says");
                reader.error(draft.expected("no `retries` beside a policy that callers follow"));
            }
        }
        Some(_) => {
            callers.manner = match reader.word(f, "callers") {
                Some("naive") => Manner::Naive,
                Some("standard") => Manner::Standard,
                _ => Manner::None,
            };
        }
        None => {}
    }
    Ok(callers)
}

fn follows(
    reader: &mut Reader<'_>,
    f: &Fields<'_>,
    base: &Path,
    plant: Option<&Plant>,
) -> Result<Option<Follows>, Problems> {
    let edge = text(reader, f, "edge");
    let file = match f.node("file") {
        None => None,
        Some(node) => {
            let Some(Val::Text(name)) = reader.scalar(node, &Kind::Text) else { return Ok(None) };
            let path = base.join(&name);
            if !path.is_file() {
                let draft = Draft::new(node.span, "there is no such system file");
                let draft = draft.found(quoted(&name));
                reader.error(
                    draft.expected("the path of a system file, from the folder of this one"),
                );
                return Ok(None);
            }
            Some((path.clone(), SystemFile::read(&path)?.lower()?))
        }
    };
    let Some(system) = file.as_ref().map(|(_, system)| system).or(plant.map(|p| &p.system)) else {
        let draft = Draft::new(f.at, "nothing says of which system file this policy is");
        let draft = draft.found("neither `file` here nor `system` in the plan");
        reader.error(draft.expected("`file:` the path of a system file"));
        return Ok(None);
    };
    let Some(edge) = edge else { return Ok(None) };
    if system.edge_named(&edge).is_none() {
        let name = |e: &crate::model::Edge| {
            format!("{} -> {}", system.caller_name(e.caller), system.target_name(e.target))
        };
        let known: Vec<String> = system.policies.edges.iter().map(name).collect();
        let near = reader.near(&edge, known.iter().map(String::as_str));
        let draft = Draft::new(f.span("edge"), format!("there is no call {}", quoted(&edge)));
        let shown: Vec<String> = known.iter().take(12).map(|name| quoted(name)).collect();
        reader.error(draft.expected(shown.join(", ")).suggest(near));
    }
    let is_there = |class: &String| system.classes.contains(class);
    if file.is_some() && system.classes.len() > 1 && !reader.names.classes.iter().all(is_there) {
        let draft = Draft::new(f.span("file"), "it has not all the classes of the plan");
        let draft = draft.found(format!("`{}`", system.classes.join("`, `")));
        reader.error(draft.expected(format!("`{}`", reader.names.classes.join("`, `"))));
    }
    Ok(Some(Follows { edge, file }))
}
