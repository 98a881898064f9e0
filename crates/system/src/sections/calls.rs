//! `requests:`: request types and their call trees.

use crate::model::{CacheId, Call, RequestType, ServiceId, Step, Target};
use crate::node::{Entry, Node, Value, quoted};
use crate::problem::Draft;
use crate::read::{Fields, NameList, Reader, Val};
use crate::schema::{Kind, Names, Section, optional, otherwise, required, words};
use crate::source::Span;

const SHARE: Kind = Kind::Share { zero: true };
/// Calls on the way from the client to the last callee.
const MAX_DEPTH: usize = 32;
const MAX_CALLS: usize = 100_000;
/// Shares may miss 100 % by this much.
const TOLERANCE: f64 = 1e-6;

pub(crate) static REQUEST: Section = Section {
    name: "request",
    doc: "One type of request.",
    keys: &[
        otherwise(
            "share",
            Kind::Either(&[SHARE, Kind::Map(Names::Class, &SHARE)]),
            "the rest to 100 %, for one type",
            "share of the requests, of all classes or by class; sums to 100 %",
        ),
        required("calls", Kind::Steps, "what the client calls, one after another"),
    ],
};

pub(crate) static CALL: Section = Section {
    name: "call",
    doc: "A call with more than a list of what the callee calls: `{geo: {times: 3}}`.",
    keys: &[
        optional("times", Kind::Count { min: 1, max: 1_000 }, "1", "how many times in a row"),
        optional(
            "chance",
            Kind::Share { zero: true },
            "100%",
            "probability that it is made at all",
        ),
        optional("calls", Kind::Steps, "[]", "what the callee calls, one after another"),
    ],
};

pub(crate) fn lower(reader: &mut Reader<'_>, entry: &Entry) -> Option<Vec<RequestType>> {
    let Some(entries) = entry.value.entries().filter(|e| !e.is_empty()) else {
        reader.error(
            Draft::new(entry.value.span, "this must be a mapping from request types")
                .found(entry.value.found())
                .expected("at least one type such as `search: {calls: [frontend]}`"),
        );
        return None;
    };
    let mut types = Vec::new();
    let mut shares = Vec::new();
    let mut tree = Tree { calls: 0 };
    for e in entries {
        let Some(f) = reader.section(&e.value, &REQUEST, e.key.span) else {
            continue;
        };
        shares.push(share(reader, &f));
        let steps = f.node("calls").and_then(|n| {
            let steps = tree.steps(reader, n, 1)?;
            if steps.is_empty() {
                reader.error(
                    Draft::new(n.span, "a request must call something")
                        .expected("a list with at least one call"),
                );
            }
            Some(steps)
        });
        types.push(RequestType {
            name: e.key.text.clone(),
            share: Vec::new(),
            steps: steps.unwrap_or_default(),
        });
    }
    let shares: Option<Vec<_>> = shares.into_iter().collect();
    if let Some(mut shares) = shares.filter(|s| s.len() == entries.len()) {
        complete(reader, entry.key.span, &mut shares);
        for (kind, share) in types.iter_mut().zip(shares) {
            kind.share = share.into_iter().map(|s| s.unwrap_or(0.0)).collect();
        }
    }
    Some(types)
}

/// The share by class, where it is said. `None`: it is wrong.
fn share(reader: &mut Reader<'_>, f: &Fields<'_>) -> Option<Vec<Option<f64>>> {
    let classes = reader.names.classes.to_vec();
    let Some(entry) = f.entry("share") else {
        return Some(vec![None; classes.len()]);
    };
    if !entry.value.is_map() {
        return match reader.value(f, "share")? {
            Val::Number(share) => Some(vec![Some(share); classes.len()]),
            _ => None,
        };
    }
    let mut shares = vec![None; classes.len()];
    let mut right = true;
    for e in entry.value.entries().unwrap_or_default() {
        let class = class(reader, e);
        let share = reader.scalar(&e.value, &SHARE);
        match (class, share) {
            (Some(class), Some(Val::Number(share))) => shares[class] = Some(share),
            _ => right = false,
        }
    }
    right.then_some(shares)
}

/// The class that a key names.
pub(crate) fn class(reader: &mut Reader<'_>, entry: &Entry) -> Option<usize> {
    match reader.name(&entry.key.text, Names::Class) {
        Ok(Val::Id(class)) => Some(class),
        Ok(_) => None,
        Err(mistake) => {
            let expected = words::list(&reader.names.classes);
            reader.error(
                Draft::new(entry.key.span, mistake.message)
                    .expected(expected)
                    .suggest(mistake.suggestion),
            );
            None
        }
    }
}

/// Fills the one share that is left out and checks the sums.
fn complete(reader: &mut Reader<'_>, at: Span, shares: &mut [Vec<Option<f64>>]) {
    let classes = reader.names.classes.to_vec();
    for (class, name) in classes.iter().enumerate() {
        let sum: f64 = shares.iter().filter_map(|s| s[class]).sum();
        let missing = shares.iter().filter(|s| s[class].is_none()).count();
        let of = if classes.len() > 1 { format!(" of class `{name}`") } else { String::new() };
        let percent = (sum * 1e8).round() / 1e6 + 0.0; // an empty sum is -0
        let mut wrong = |message: String, expected: &str| {
            reader.error(Draft::new(at, message).found(format!("{percent}%")).expected(expected));
        };
        match missing {
            0 if (sum - 1.0).abs() > TOLERANCE => wrong(
                format!("the shares{of} do not sum to 100%"),
                "shares that sum to 100%, or one type without a share: it takes the rest",
            ),
            0 => {}
            1 if sum > 1.0 + TOLERANCE => wrong(
                format!("the shares{of} exceed 100%"),
                "shares that leave a rest for the type without one",
            ),
            1 => {
                for share in shares.iter_mut().filter(|s| s[class].is_none()) {
                    share[class] = Some((1.0 - sum).max(0.0));
                }
            }
            n => wrong(
                format!("{n} request types{of} have no share"),
                "a share for all types but one, which takes the rest",
            ),
        }
    }
}

struct Tree {
    calls: usize,
}

impl Tree {
    fn steps(&mut self, reader: &mut Reader<'_>, node: &Node, depth: usize) -> Option<Vec<Step>> {
        let items = match &node.value {
            Value::Null => return Some(Vec::new()),
            Value::Seq(items) => items,
            _ => {
                let suggestion = node.scalar().map(|s| format!("[{s}]"));
                reader.error(
                    Draft::new(node.span, "calls stand in a list")
                        .found(node.found())
                        .expected("a list such as `[geo, rate]`")
                        .suggest(suggestion.filter(|s| s.len() < 60)),
                );
                return None;
            }
        };
        let steps: Vec<_> = items.iter().map(|i| self.step(reader, i, depth)).collect();
        steps.into_iter().collect()
    }

    fn step(&mut self, reader: &mut Reader<'_>, item: &Node, depth: usize) -> Option<Step> {
        let parallel = item.child("parallel").filter(|_| item.is_map());
        let Some(parallel) = parallel else {
            return Some(vec![self.call(reader, item, depth)?]);
        };
        if item.entries().is_some_and(|e| e.len() != 1) {
            self.one_key(reader, item);
            return None;
        }
        let items = match &parallel.value.value {
            Value::Seq(items) if !items.is_empty() => items,
            _ => {
                reader.error(
                    Draft::new(parallel.value.span, "`parallel` needs calls")
                        .found(parallel.value.found())
                        .expected("a list such as `{parallel: [geo, rate]}`"),
                );
                return None;
            }
        };
        let calls: Vec<_> = items
            .iter()
            .map(|i| {
                if let Some(inner) = i.child("parallel").filter(|_| i.is_map()) {
                    reader.error(
                        Draft::new(inner.key.span, "`parallel` cannot stand in `parallel`")
                            .expected("all calls in one list"),
                    );
                    return None;
                }
                self.call(reader, i, depth)
            })
            .collect();
        calls.into_iter().collect()
    }

    fn one_key(&self, reader: &mut Reader<'_>, item: &Node) {
        reader.error(
            Draft::new(item.span, "a call is one name with what it calls")
                .found(item.found())
                .expected("a mapping with one key such as `{search: [geo, rate]}`; each further call is an item of its own"),
        );
    }

    fn call(&mut self, reader: &mut Reader<'_>, item: &Node, depth: usize) -> Option<Call> {
        self.calls += 1;
        if depth > MAX_DEPTH || self.calls > MAX_CALLS {
            let what = if depth > MAX_DEPTH {
                format!("calls are nested more than {MAX_DEPTH} deep")
            } else {
                format!("there are more than {MAX_CALLS} calls")
            };
            reader.error(Draft::new(item.span, what).expected("a smaller call tree"));
            return None;
        }
        match &item.value {
            Value::Scalar { text, .. } => Some(Call {
                target: target(reader, text, item.span)?,
                times: 1,
                chance: 1.0,
                steps: Vec::new(),
            }),
            Value::Map(entries) => {
                let [entry] = entries.as_slice() else {
                    self.one_key(reader, item);
                    return None;
                };
                let target = target(reader, &entry.key.text, entry.key.span);
                let call = self.body(reader, entry, depth);
                let mut call = call?;
                call.target = target?;
                Some(call)
            }
            _ => {
                reader.error(
                    Draft::new(item.span, "this is not a call")
                        .found(item.found())
                        .expected("a name, or a mapping such as `{search: [geo, rate]}`"),
                );
                None
            }
        }
    }

    /// What stands behind the name of a callee; the target is still to be set.
    fn body(&mut self, reader: &mut Reader<'_>, entry: &Entry, depth: usize) -> Option<Call> {
        let mut call = Call {
            target: Target::Service(ServiceId(0)),
            times: 1,
            chance: 1.0,
            steps: Vec::new(),
        };
        let Value::Map(keys) = &entry.value.value else {
            call.steps = self.steps(reader, &entry.value, depth + 1)?;
            return Some(call);
        };
        let callee = keys
            .iter()
            .find(|e| CALL.key(&e.key.text).is_none() && find(reader, &e.key.text).is_some());
        if let Some(callee) = callee {
            let name = &callee.key.text;
            reader.error(
                Draft::new(callee.key.span, "calls stand in a list")
                    .found(quoted(name))
                    .expected(format!("`[{name}]`, or `[{{{name}: [...]}}]` if it calls others")),
            );
            return None;
        }
        let f = reader.section(&entry.value, &CALL, entry.key.span)?;
        call.times = reader.count32(&f, "times").unwrap_or(1);
        call.chance = reader.number(&f, "chance").unwrap_or(1.0);
        if let Some(calls) = f.node("calls") {
            call.steps = self.steps(reader, calls, depth + 1)?;
        }
        Some(call)
    }
}

fn find(reader: &Reader<'_>, name: &str) -> Option<Target> {
    let at = |names: &NameList| names.find(name).map(|i| i as u32);
    at(&reader.names.services)
        .map(|i| Target::Service(ServiceId(i)))
        .or_else(|| at(&reader.names.caches).map(|i| Target::Cache(CacheId(i))))
}

/// The service or cache of a name; a problem if there is none.
pub(crate) fn target(reader: &mut Reader<'_>, name: &str, at: Span) -> Option<Target> {
    if let Some(target) = find(reader, name) {
        return Some(target);
    }
    let names = reader.names.services.iter().chain(reader.names.caches.iter());
    let near = reader.near(name, names.map(String::as_str));
    reader.error(
        Draft::new(at, format!("there is no service or cache {}", quoted(name)))
            .expected("the name of a service or cache")
            .suggest(near),
    );
    None
}
