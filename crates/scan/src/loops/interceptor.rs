//! Interceptors that send the request again: the client calls them for each answer that failed, so
//! that the loop is in the client and not in the file.
//!
//! `client.interceptors.response.use(ok, failed)`: `failed` is handed the error, which has the
//! request in it. It is a retry where it hands that request to the client again.

use super::file::File;
use super::requeue::{attempts, growth, limit, number};
use super::words;
use super::{Finding, Sites};
use crate::policy::{
    Attempts, By, Call, Confidence, Delay, DelayKind, Jitter, Kind as PolicyKind, Policy, Scope,
    Setting,
};
use crate::tree::{Id, Kind, Op, Tree};
use crate::value::Unit;

/// Whose call is given two functions, of which the second is for what failed.
const USE: [&str; 3] = ["interceptors", "response", "use"];

/// The interceptors of a file that send again.
pub(super) fn find(file: &File<'_, '_>) -> Vec<Finding> {
    let tree = file.tree;
    if !tree.text().contains("interceptors") {
        return Vec::new();
    }
    tree.ids().filter_map(|id| of_call(file, id)).collect()
}

fn of_call(file: &File<'_, '_>, id: Id) -> Option<Finding> {
    let tree = file.tree;
    let Kind::Call { callee, args, .. } = tree.kind(id) else { return None };
    let path = tree.path(*callee)?;
    let owner = path.strip_suffix(USE.as_slice())?;
    let failed = args.get(1)?.value;
    let function = match tree.kind(failed) {
        Kind::Function { .. } => failed,
        _ => match file.functions(tree.last_name(failed)?) {
            [only] => *only,
            _ => return None,
        },
    };
    let Kind::Function { params, body, .. } = tree.kind(function) else { return None };
    let error = params.first()?.name;
    let request = Request { tree, error, names: names(tree, *body, error) };
    let again = tree.walk(*body).find(|at| sends(&request, *at, owner))?;
    Some(finding(file, function, *body, again, &request))
}

/// What stands for the request that failed.
struct Request<'t, 's> {
    tree: &'t Tree<'s>,
    error: &'s str,
    /// Names that hold it.
    names: Vec<&'s str>,
}

impl Request<'_, '_> {
    /// Whether an expression is the request: `error.config`, or a name for it.
    fn is(&self, id: Id) -> bool {
        match self.tree.kind(id) {
            Kind::Name(name) => self.names.contains(name),
            kind => is_config(self.tree, kind, self.error),
        }
    }
}

fn is_config(tree: &Tree<'_>, kind: &Kind<'_>, error: &str) -> bool {
    matches!(kind, Kind::Field { of, name: "config" }
        if matches!(tree.kind(*of), Kind::Name(name) if *name == error))
}

/// The names that are given the request: `const config = error.config`, `const { config } = error`.
fn names<'s>(tree: &Tree<'s>, body: Id, error: &str) -> Vec<&'s str> {
    let mut all = Vec::new();
    let is_error = |id: Id| matches!(tree.kind(id), Kind::Name(name) if *name == error);
    for at in tree.walk(body) {
        let (target, value) = match tree.kind(at) {
            Kind::Let { target, value: Some(value), .. } | Kind::Assign { target, value, .. } => {
                (*target, *value)
            }
            _ => continue,
        };
        match tree.kind(target) {
            Kind::Name(name) if is_config(tree, tree.kind(value), error) => all.push(*name),
            Kind::Record { entries, .. } if is_error(value) => {
                let config = entries.iter().find(|entry| entry.key.as_deref() == Some("config"));
                all.extend(config.and_then(|entry| tree.last_name(entry.value)));
            }
            _ => {}
        }
    }
    all
}

/// Whether a call hands the request to the client that it came from.
fn sends(request: &Request<'_, '_>, call: Id, owner: &[&str]) -> bool {
    let tree = request.tree;
    let Kind::Call { callee, args, .. } = tree.kind(call) else { return false };
    let Some(path) = tree.path(*callee) else { return false };
    let client = path == owner
        || matches!(path.split_last(), Some((&"request", before)) if before == owner)
        || matches!(path[..], ["axios"] | ["axios", "request"]);
    client && args.iter().any(|arg| request.is(arg.value))
}

/// The field of the request that counts, and whether it counts before a limit is asked about.
struct Counter {
    at: Id,
    path: String,
    name: String,
}

fn counter(file: &File<'_, '_>, body: Id, request: &Request<'_, '_>) -> Option<Counter> {
    let tree = file.tree;
    tree.walk(body).find_map(|at| {
        let target = match tree.kind(at) {
            Kind::Step { of, by: 1, .. } => *of,
            Kind::Assign { op: Some(Op::Add), target, .. } => *target,
            Kind::Assign { op: None, target, value } => match tree.kind(*value) {
                Kind::Binary { op: Op::Add, .. } => *target,
                _ => return None,
            },
            _ => return None,
        };
        let Kind::Field { of, name } = tree.kind(target) else { return None };
        let (path, name) = (file.squeezed(target), (*name).to_owned());
        request.is(*of).then_some(Counter { at, path, name })
    })
}

/// How often the request is sent in all.
fn total(file: &File<'_, '_>, body: Id, again: Id, request: &Request<'_, '_>) -> Attempts {
    let tree = file.tree;
    let unknown = |expression: String| Attempts::Dynamic {
        expression,
        low: Some(1),
        high: None,
        usual: None,
    };
    if let Some(counter) = counter(file, body, request) {
        let found = tree.walk(body).find_map(|at| {
            let Kind::If { test, then, .. } = tree.kind(at) else { return None };
            let (limit, op) = limit(file, *test, &counter.path)?;
            // What the condition allows has the call in it; otherwise it gives up.
            let allowed_if = file.within(again, *then);
            let first = tree.span(counter.at).start < tree.span(*test).start;
            let known = number(file, limit).and_then(|n| attempts(n, op, allowed_if, first));
            Some(known.map_or_else(|| unknown(file.brief(limit, 60)), Attempts::Count))
        });
        return found.unwrap_or_else(|| unknown(counter.path));
    }
    // `if (!config.sent)` and `config.sent = true`: once. A field that nobody asks about bounds
    // nothing.
    let marked = tree.walk(body).any(|at| match tree.kind(at) {
        Kind::Assign { op: None, target, value } => {
            matches!(tree.kind(*value), Kind::Bool(true))
                && matches!(tree.kind(*target), Kind::Field { of, name }
                    if request.is(*of) && is_asked(request, body, name))
        }
        _ => false,
    });
    if marked { Attempts::Count(2) } else { unknown("as often as it fails".to_owned()) }
}

/// Whether a condition of the body asks about a field of the request.
fn is_asked(request: &Request<'_, '_>, body: Id, field: &str) -> bool {
    let tree = request.tree;
    tree.walk(body).any(|at| match tree.kind(at) {
        Kind::If { test, .. } => tree.walk(*test).any(|part| {
            matches!(tree.kind(part), Kind::Field { of, name }
                if *name == field && request.is(*of))
        }),
        _ => false,
    })
}

/// What is waited for before it is sent again.
fn delay(file: &File<'_, '_>, body: Id, counted: &str) -> (Delay, Vec<Id>) {
    let tree = file.tree;
    let waits: Vec<Id> = tree
        .walk(body)
        .filter(|at| match tree.kind(*at) {
            Kind::Call { callee, .. } => {
                let path = tree.path(*callee).unwrap_or_default();
                let last = path.last().copied().unwrap_or_default();
                words::schedules(last) || words::sleep(file.language, &path, last).is_some()
            }
            _ => false,
        })
        .collect();
    let wait = waits.first().and_then(|wait| match tree.kind(*wait) {
        Kind::Call { args, .. } => args.iter().map(|arg| arg.value).rfind(|arg| {
            !matches!(tree.kind(*arg), Kind::Function { .. } | Kind::Name("resolve" | "r"))
        }),
        _ => None,
    });
    let base = wait.and_then(|wait| {
        let value = file.values()?.of(wait).millis(Unit::Ms)?;
        value.is_finite().then(|| Setting::written(value, tree.span(wait).line))
    });
    let random = wait.is_some_and(|wait| words::has(tree.source(wait), &["rand", "jitter"]));
    let kind = match wait {
        None if waits.is_empty() => DelayKind::None,
        None => DelayKind::Dynamic,
        Some(wait) => growth(file, Some(wait), counted),
    };
    let jitter = if random { Jitter::Random } else { Jitter::None };
    let delay = Delay {
        kind: Setting::derived(kind),
        base_ms: base.filter(|_| kind == DelayKind::Constant),
        factor: None,
        cap_ms: None,
        jitter: Setting::derived(jitter),
        schedule_ms: Vec::new(),
    };
    (delay, waits)
}

fn finding(
    file: &File<'_, '_>,
    function: Id,
    body: Id,
    again: Id,
    request: &Request<'_, '_>,
) -> Finding {
    let tree = file.tree;
    let span = tree.span(function);
    let counted = counter(file, body, request).map(|counter| counter.name).unwrap_or_default();
    let (delay, waits) = delay(file, body, &counted);
    let attempts_total = total(file, body, again, request);
    // What is repaired first is sent once more, whatever it was.
    let repairs = words::has(tree.source(body), &["refresh", "renew", "reauth", "login("]);
    let once = attempts_total == Attempts::Count(2) && waits.is_empty();
    let policy = Policy {
        implicit: false,
        line: span.line,
        end_line: span.end_line,
        language: file.language,
        by: By::HandRolled { shape: "interceptor".to_owned() },
        kind: if repairs && once { PolicyKind::Replay } else { PolicyKind::Retry },
        attempts_total: Setting::derived(attempts_total),
        delay,
        deadline_ms: None,
        attempt_timeout_ms: None,
        retries_on: Setting::derived(Vec::new()),
        catches_all: false,
        budget: None,
        breaker: false,
        pushback: words::has(tree.source(body), &["retry-after", "retryafter"]),
        call: Some(Call { text: file.brief(again, 120), ..Call::default() }),
        scope: Scope::Production,
        confidence: Confidence::Medium,
        notes: vec!["the client calls it again for each answer that failed".to_owned()],
        also: Vec::new(),
        runs: None,
    };
    let sites = Sites { place: function, operation: again, failure: Some(body), waits };
    Finding { policy, sites }
}
