//! What a function that is given to a library says of the next attempt: how often it says yes.

use super::catalogue::Param;
use crate::tree::{Id, Kind, Op};
use crate::value::{Data, Value, Values};

/// It is asked so often at most.
const MOST: u32 = 128;
/// So deep its statements stand in each other.
const DEEPEST: u32 = 16;

/// How often a function says yes to another attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Times {
    /// So often, and then no more.
    Count(u32),
    /// Always.
    Ever,
}

/// What a statement does.
enum Step {
    /// It gives this; `None`: that is not known.
    Gives(Option<bool>),
    /// What follows it is done.
    GoesOn,
}

/// How often a function says yes; `None`: that cannot be told.
pub(super) fn times(values: &Values<'_, '_>, function: Id, param: &Param) -> Option<Times> {
    let first = param.first.unwrap_or(1.0);
    let mut sure = true;
    for n in 0..MOST {
        match says(values, function, param, first + f64::from(n)) {
            Some(false) => return Some(Times::Count(n)),
            Some(true) => {}
            None => sure = false,
        }
    }
    sure.then_some(Times::Ever)
}

/// The value of an expression of a function where its counter is this.
pub(super) fn at(
    values: &Values<'_, '_>,
    function: Id,
    param: &Param,
    number: f64,
    expression: Id,
) -> Value {
    let Kind::Function { params, .. } = values.tree().kind(function) else {
        return values.of(expression);
    };
    let place = param.counter.iter().find_map(|name| name.strip_prefix('#')?.parse::<usize>().ok());
    let own = params.get(place.unwrap_or(0)).map_or("", |param| param.name);
    let env = |asked: &str| {
        let last = asked.rsplit('.').next().unwrap_or(asked);
        // `n`, or a part of what is handed over: `context.AttemptNumber`.
        let part = asked.strip_prefix(own).is_some_and(|rest| {
            rest.starts_with('.') && rest.to_ascii_lowercase().contains("attempt")
        });
        let is_one = !own.is_empty() && (asked == own || part)
            || param.counter.iter().any(|name| name == last);
        is_one.then(|| Value::exact(Data::Number(number), 0))
    };
    values.within(expression, &env)
}

fn says(values: &Values<'_, '_>, function: Id, param: &Param, number: f64) -> Option<bool> {
    let Kind::Function { body, .. } = values.tree().kind(function) else { return None };
    let truth = |id: Id| truth(values, function, param, number, id, 0);
    match step(values, *body, &truth, 0) {
        Step::Gives(said) => said,
        Step::GoesOn => Some(false),
    }
}

fn step(values: &Values<'_, '_>, id: Id, truth: &dyn Fn(Id) -> Option<bool>, depth: u32) -> Step {
    if depth > DEEPEST {
        return Step::Gives(None);
    }
    let inner = |id: Id| step(values, id, truth, depth + 1);
    match values.tree().kind(id) {
        Kind::Block(all) => {
            for (at, id) in all.iter().enumerate() {
                match inner(*id) {
                    Step::GoesOn => {}
                    // Only what stands last is what a block is worth.
                    Step::Gives(said) if leaves(values, *id) || at + 1 == all.len() => {
                        return Step::Gives(said);
                    }
                    Step::Gives(_) => {}
                }
            }
            Step::GoesOn
        }
        Kind::If { test, then, otherwise } => match truth(*test) {
            Some(true) => inner(*then),
            Some(false) => otherwise.map_or(Step::GoesOn, inner),
            // Of which kind the error is: one that is worth another attempt.
            None => match (inner(*then), otherwise) {
                (Step::Gives(Some(false)), Some(otherwise)) => inner(*otherwise),
                (Step::Gives(Some(false)), None) => Step::GoesOn,
                (step, _) => step,
            },
        },
        Kind::Return(Some(value)) => Step::Gives(truth(*value)),
        Kind::Return(None) | Kind::Throw(_) => Step::Gives(Some(false)),
        Kind::Let { .. } | Kind::Assign { .. } => Step::GoesOn,
        _ => Step::Gives(truth(id)),
    }
}

/// Whether a statement may end the function.
fn leaves(values: &Values<'_, '_>, id: Id) -> bool {
    values
        .tree()
        .walk_here(id)
        .any(|at| matches!(values.tree().kind(at), Kind::Return(_) | Kind::Throw(_)))
}

/// Whether an expression holds; what speaks of something else than the counter is not known.
fn truth(
    values: &Values<'_, '_>,
    function: Id,
    param: &Param,
    number: f64,
    id: Id,
    depth: u32,
) -> Option<bool> {
    if depth > DEEPEST {
        return None;
    }
    let inner = |id: Id| truth(values, function, param, number, id, depth + 1);
    match values.tree().kind(id) {
        Kind::Binary { op: Op::And, left, right } => match (inner(*left), inner(*right)) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (Some(true), Some(true)) => Some(true),
            _ => None,
        },
        Kind::Binary { op: Op::Or, left, right } => match (inner(*left), inner(*right)) {
            (Some(true), _) | (_, Some(true)) => Some(true),
            (Some(false), Some(false)) => Some(false),
            _ => None,
        },
        Kind::Unary { op: Op::Not, of } => inner(*of).map(|holds| !holds),
        Kind::If { test, then, otherwise: Some(otherwise) } => match inner(*test) {
            Some(true) => inner(*then),
            Some(false) => inner(*otherwise),
            None => None,
        },
        Kind::Other(all) | Kind::Block(all) => match all[..] {
            [only] => inner(only),
            _ => None,
        },
        _ => at(values, function, param, number, id).truth(),
    }
}
