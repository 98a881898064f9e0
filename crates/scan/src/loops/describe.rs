//! From a verdict to a policy.

use super::candidate::{Candidate, Shape};
use super::decided;
use super::file::File;
use super::judge::Verdict;
use super::limits;
use super::schedule;
use super::words;
use super::{Finding, Sites};
use crate::policy::{Attempts, By, Call, Confidence, DelayKind, Policy, Scope, Setting};
use crate::tree::{Id, Kind};

/// The policy that a verdict describes.
pub(super) fn finding(file: &File<'_, '_>, candidate: &Candidate, verdict: &Verdict) -> Finding {
    let tree = file.tree;
    let trace = &verdict.failing;
    let schedule = schedule::of(file, verdict);
    let mut notes = schedule.notes;
    let mut attempts = attempts(verdict);
    if attempts == Attempts::Infinite && trace.clock == Some(None) {
        // It ends at a time that is not known.
        attempts = Attempts::Dynamic {
            expression: "as many as the time allows".to_owned(),
            low: Some(1),
            high: None,
            usual: None,
        };
    }
    let mut delay = schedule.delay;
    let unknown = delay.kind.value == DelayKind::None || delay.base_ms.is_none();
    let endless = attempts == Attempts::Infinite;
    let itself = decided::by_its_object(file, &verdict.ops).filter(|_| endless);
    // An object that says of itself that it retries.
    let confidence = match itself {
        Some(_) => verdict.confidence.max(Confidence::Medium),
        None => verdict.confidence,
    };
    if let Some(callee) = trace.strategy.or(itself).filter(|_| unknown) {
        let expression = file.brief(callee, 60);
        attempts = Attempts::Dynamic { expression, low: Some(1), high: None, usual: None };
        delay.kind = Setting::derived(DelayKind::Dynamic);
        notes.push("a strategy decides how often, and how long after".to_owned());
    }
    if attempts == Attempts::Infinite
        && let Some(expression) = decided::elsewhere(file, candidate, &verdict.ops)
    {
        attempts = Attempts::Dynamic { expression, low: Some(1), high: None, usual: None };
    }
    let place = place(file, candidate, verdict);
    let operation = verdict.ops[0];
    let (mut retries_on, mut catches_all) = (Vec::new(), false);
    let mut failure = None;
    for (id, at) in &trace.handlers {
        let Kind::Try { handlers, .. } = tree.kind(*id) else { continue };
        let Some(handler) = handlers.get(*at) else { continue };
        failure = failure.or(Some(handler.body));
        catches_all |= handler.types.is_empty() && handler.guard.is_none();
        for ty in &handler.types {
            let text = file.brief(*ty, 80);
            let short = text.rsplit(['.', ':', '\\']).next().unwrap_or(&text);
            catches_all |= matches!(
                short,
                "Exception" | "BaseException" | "Throwable" | "StandardError" | "Error"
            );
            if !retries_on.contains(&text) {
                retries_on.push(text);
            }
        }
        if let Some(guard) = handler.guard {
            retries_on.push(file.brief(guard, 80));
        }
    }
    for (id, _) in &trace.undecided {
        if let Kind::If { test, .. } = tree.kind(*id)
            && words::has(
                tree.source(*test),
                &["retry", "retri", "status", "code", "temporary", "transient", "timeout"],
            )
            && retries_on.len() < 8
        {
            retries_on.push(file.brief(*test, 80));
        }
    }
    if verdict.attempts.is_some()
        && !trace.raised
        && trace.handlers.is_empty()
        && candidate.shape != Shape::Repeat
    {
        notes.push("when the attempts are used up, the last result is returned".to_owned());
    }
    let span = tree.span(place);
    let (line, end_line) = if candidate.shape == Shape::Repeat {
        let lines = verdict.ops.iter().map(|op| tree.span(*op));
        let first = lines.clone().map(|span| span.line).min().unwrap_or(span.line);
        (first, lines.map(|span| span.end_line).max().unwrap_or(span.end_line))
    } else {
        (span.line, span.end_line)
    };
    let deadline_ms = match trace.clock {
        Some(Some(ms)) if ms.is_finite() => Some(Setting::derived(ms)),
        _ if limits::of_all(file, place).is_some() => limits::of_all(file, place),
        Some(_) => {
            notes.push("ends by the clock".to_owned());
            None
        }
        None => None,
    };
    let also = elsewhere(file, candidate, &schedule.waits, [line, end_line]);
    let mut policy = Policy {
        implicit: false,
        line,
        end_line,
        language: file.language,
        by: By::HandRolled { shape: candidate.shape.name().to_owned() },
        kind: verdict.kind,
        attempts_total: Setting::derived(attempts),
        delay,
        deadline_ms,
        attempt_timeout_ms: limits::of_attempt(file, place, operation),
        retries_on: Setting::derived(retries_on),
        catches_all,
        budget: None,
        breaker: has_breaker(file, place),
        pushback: schedule.pushback,
        call: Some(described(file, operation)),
        scope: Scope::Production,
        confidence,
        notes,
        also,
        runs: None,
    };
    if let Some((waits, text)) =
        itself.and_then(|method| decided::waits_of_its_object(file, method, place))
    {
        policy.waits_as_given(&waits, &text);
    }
    let sites = Sites { place, operation, failure, waits: schedule.waits };
    Finding { policy, sites }
}

/// Whether a breaker is asked in it.
fn has_breaker(file: &File<'_, '_>, place: Id) -> bool {
    file.tree.walk(place).any(|at| match file.tree.kind(at) {
        Kind::Name(name) | Kind::Field { name, .. } => {
            words::any(name, &["breaker", "circuitbreaker"])
        }
        _ => false,
    })
}

/// Functions of the file that belong to it: in which it waits, and through which it calls itself.
fn elsewhere(
    file: &File<'_, '_>,
    candidate: &Candidate,
    waits: &[Id],
    own: [u32; 2],
) -> Vec<[u32; 2]> {
    let tree = file.tree;
    let homes = waits.iter().filter_map(|wait| tree.function_of(*wait));
    let mut out: Vec<[u32; 2]> = Vec::new();
    for home in homes.chain(candidate.recursive) {
        let span = tree.span(home);
        let lines = [span.line, span.end_line];
        // What holds the loop, or is part of it, is no other place.
        let apart = lines[1] < own[0] || own[1] < lines[0];
        if apart && !out.contains(&lines) && out.len() < 4 {
            out.push(lines);
        }
    }
    out
}

/// Recursion through another function is where the operation is called.
fn place(file: &File<'_, '_>, candidate: &Candidate, verdict: &Verdict) -> Id {
    if candidate.shape == Shape::Recursion
        && let Some(function) = candidate.recursive
        && let Some(home) = file.tree.function_of(verdict.ops[0])
        && !file.within(verdict.ops[0], function)
    {
        return home;
    }
    candidate.place
}

fn attempts(verdict: &Verdict) -> Attempts {
    match (verdict.attempts, verdict.depends) {
        (None, _) => Attempts::Infinite,
        (Some(count), None) => Attempts::Count(count),
        (Some(count), Some((symbol, extra))) => {
            let known = verdict.failing.symbols.get(usize::from(symbol).saturating_sub(1));
            let text = known.map_or("?", |known| known.text.as_str());
            let expression = match extra {
                0 => text.to_owned(),
                1.. => format!("{text} + {extra}"),
                _ => format!("{text} - {}", extra.unsigned_abs()),
            };
            let usual = known.and_then(|known| known.usual).map(|_| count);
            Attempts::Dynamic { expression, low: Some(1), high: None, usual }
        }
    }
}

/// The call that is repeated.
fn described(file: &File<'_, '_>, call: Id) -> Call {
    let tree = file.tree;
    let Kind::Call { callee, args, .. } = tree.kind(call) else { return Call::default() };
    let last = tree.last_name(*callee).unwrap_or_default();
    let text = file.brief(call, 120);
    let host = args.iter().find_map(|arg| match tree.kind(arg.value) {
        Kind::Text(text) => host(text),
        _ => None,
    });
    let all = words::words(last);
    let first = all.first().map_or("", |word| &**word);
    let idempotent = match first {
        "get" | "head" | "options" | "put" | "delete" | "fetch" | "load" | "read" | "find"
        | "list" | "query" | "download" | "select" | "lookup" | "describe" => Some(true),
        "post" | "patch" | "create" | "send" | "insert" | "publish" | "submit" | "append"
        | "charge" | "pay" => Some(false),
        _ => None,
    };
    let method = match first {
        "get" | "head" | "put" | "delete" | "post" | "patch" | "options" if all.len() == 1 => {
            Some(first.to_ascii_uppercase())
        }
        _ => (!last.is_empty()).then(|| last.to_owned()),
    };
    let named = args.iter().any(|arg| {
        arg.name.is_some_and(|name| words::has(name, &["timeout"]))
            || words::has(tree.source(arg.value), &["timeout", "abortsignal"])
    });
    let around = tree.ancestors(call).take(8).any(|up| match tree.kind(up) {
        Kind::Call { callee, .. } => {
            tree.last_name(*callee).is_some_and(|name| words::has(name, &["timeout", "wait_for"]))
        }
        Kind::With { items, .. } => {
            items.iter().any(|item| words::has(tree.source(*item), &["timeout"]))
        }
        _ => false,
    });
    let timeout = (named || around).then_some(true);
    Call { text, host, method, idempotent, timeout }
}

/// The host of an address that is written out.
fn host(text: &str) -> Option<String> {
    let rest = text.split_once("://")?.1;
    let host = rest.split(['/', '?', ':', '{', '$']).next()?;
    (!host.is_empty() && host.len() < 200).then(|| host.to_owned())
}
