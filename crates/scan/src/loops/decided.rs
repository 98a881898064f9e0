//! Loops without an end of their own that something else ends: an object which counts by itself, or
//! one that is asked whether there may be another attempt.

use super::candidate::Candidate;
use super::file::{File, Worth};
use super::words;
use crate::tree::{Id, Kind, LoopForm, Op};

/// So much of what decides is shown.
const SHOWN: usize = 60;
/// What gives something that is made of a count, and decides nothing.
const GIVES: &[&str] =
    &["get", "next", "compute", "calculate", "calc", "make", "create", "new", "log"];
/// Names of objects that retry by themselves, and their methods that do.
const RETRIES: &[&str] = &["retry", "retrier", "retryer", "retries", "backoff"];
const RUNS: &[&str] = &["run", "call", "execute", "attempt", "Run", "Call", "Execute", "Do"];
/// What a function that decides is called after what it decides.
const FUNCTIONS: &[&str] = &["func", "fn", "function", "handler", "policy", "strategy"];
/// What decides, by the words of whom a count is told.
const DECIDES: &[&str] = &["policy", "strategy", "limiter", "budget", "limit", "limits"];

/// What decides how often a loop goes round, as text.
pub(super) fn elsewhere(file: &File<'_, '_>, candidate: &Candidate, ops: &[Id]) -> Option<String> {
    if let Some(limit) = counted_by_itself(file, candidate) {
        return Some(file.brief(limit, SHOWN));
    }
    let asked = asked(file, candidate.place, ops)?;
    Some(format!("decided by {}", file.brief(asked, SHOWN)))
}

/// The method of an object that retries by itself, which the loop only asks whether it is done:
/// `if let Some(result) = retry.run(&mut f).await { return result }`.
pub(super) fn by_its_object(file: &File<'_, '_>, ops: &[Id]) -> Option<Id> {
    let tree = file.tree;
    let [op] = ops else { return None };
    let Kind::Call { callee, .. } = tree.kind(*op) else { return None };
    let Kind::Field { of, name } = tree.kind(*callee) else { return None };
    let Kind::Name(owner) = tree.kind(*of) else { return None };
    let all = words::words(owner);
    let retries = matches!(&all[..], [only] if RETRIES.contains(&&**only));
    (retries && RUNS.contains(name)).then_some(*callee)
}

/// The waits that such an object was made with, in milliseconds, and how they are written.
pub(super) fn waits_of_its_object(
    file: &File<'_, '_>,
    method: Id,
    place: Id,
) -> Option<(Vec<f64>, String)> {
    let tree = file.tree;
    let Kind::Field { of, .. } = tree.kind(method) else { return None };
    let Kind::Name(owner) = tree.kind(*of) else { return None };
    let home = tree.function_of(place);
    let made = file.assigned(owner).iter().filter(|at| tree.function_of(**at) == home);
    let args = made.filter_map(|at| match tree.kind(*at) {
        Kind::Let { value: Some(value), .. } => match tree.kind(*value) {
            Kind::Call { args, .. } => Some(args),
            _ => None,
        },
        _ => None,
    });
    args.flatten().find_map(|arg| match file.worth(arg.value) {
        Worth::List { all, .. } if all.iter().all(|num| num.duration) => {
            Some((all.iter().map(|num| num.mid()).collect(), file.brief(arg.value, SHOWN)))
        }
        _ => None,
    })
}

/// What the head of a loop compares with a number, if that belongs to an object which a call in the
/// loop may change: `for backoff.Steps > 0 { …; sleep(backoff.Step()) }`.
fn counted_by_itself(file: &File<'_, '_>, candidate: &Candidate) -> Option<Id> {
    let tree = file.tree;
    let Kind::Loop { form, body, .. } = tree.kind(candidate.subject?) else { return None };
    let test = match form {
        LoopForm::While(test) | LoopForm::Counted { test: Some(test), .. } => *test,
        _ => return None,
    };
    let Kind::Binary { op: Op::Greater | Op::AtLeast, left, right } = tree.kind(test) else {
        return None;
    };
    let (Kind::Field { of, .. }, Kind::Number(_)) = (tree.kind(*left), tree.kind(*right)) else {
        return None;
    };
    let Kind::Name(owner) = tree.kind(*of) else { return None };
    let changes = |at: Id| match tree.kind(at) {
        Kind::Call { callee, .. } => match tree.kind(*callee) {
            Kind::Field { of, .. } => matches!(tree.kind(*of), Kind::Name(name) if name == owner),
            _ => false,
        },
        _ => false,
    };
    tree.walk_here(*body).any(changes).then_some(*left)
}

/// Whether a name asks for another attempt, and not only what the error was.
fn asks_for_one_more(name: &str) -> bool {
    words::asks_for_another(name) && words::any(name, &["retry", "again", "continue", "cont"])
}

/// The call that is asked for another attempt, and knows how many there were: it is told their count
/// (`policy.check(error, attempt)`), or belongs to what keeps it (`state.should_retry(error)`).
fn asked(file: &File<'_, '_>, place: Id, ops: &[Id]) -> Option<Id> {
    let tree = file.tree;
    let counts = |id: Id| match tree.kind(id) {
        Kind::Name(name) => {
            (words::about_retry(name) || words::any(name, words::COUNTERS))
                && file.is_counted_up(place, id)
        }
        _ => false,
    };
    tree.walk_here(place).find_map(|id| {
        let Kind::Call { callee, args, .. } = tree.kind(id) else { return None };
        let Kind::Field { of, name } = tree.kind(*callee) else { return None };
        if ops.contains(&id) || words::any(name, words::WAITS) {
            return None;
        }
        let owner = tree.last_name(*of)?;
        let keeps = words::about_retry(owner) || words::any(owner, DECIDES);
        let told = args.iter().any(|arg| counts(arg.value));
        // What is only told of it for a log or a metric decides nothing.
        let listens = words::any(name, GIVES)
            || tree.path(*callee).is_some_and(|path| words::is_pure(&path, name));
        let decides = told && !listens || asks_for_one_more(name);
        // `retry, sleep := v.retryFunc(retries)`.
        let itself = told && words::about_retry(name) && words::any(name, FUNCTIONS);
        (keeps && decides || itself).then_some(*callee)
    })
}
