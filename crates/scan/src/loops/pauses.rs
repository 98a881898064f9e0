//! Functions that say how long to wait before an attempt: what they give for the first ones.
//!
//! They are run once for each number of an attempt, so that a file that calls one of another file
//! knows how its waits grow.

use super::file::File;
use super::machine::Machine;
use super::value::Num;
use super::words;
use crate::language::Language;
use crate::tree::{Id, Kind, Tree};
use crate::value::{Pause, Pauses, PausesByName};

/// So many attempts are asked for.
const ATTEMPTS: u32 = 8;
/// So many functions of a file are run.
const MOST: usize = 32;

/// Those of a file, by name. Of several with one name nothing is said.
pub(crate) fn of(tree: &Tree<'_>, language: Language) -> PausesByName {
    let mut all = PausesByName::new();
    let named = |id: &Id| match tree.kind(*id) {
        Kind::Function { name: Some(name), params, .. } => {
            !params.is_empty() && words::any(name, words::PAUSES)
        }
        _ => false,
    };
    let mut functions = tree.ids().filter(named).peekable();
    if functions.peek().is_none() {
        return all;
    }
    let file = File::new(tree, language, None);
    for function in functions.take(MOST) {
        let Some(name) = file.function_name(function) else { continue };
        if file.functions(name).len() == 1
            && let Some(pauses) = of_function(&file, function)
        {
            all.insert(name.into(), pauses);
        }
    }
    all
}

fn of_function(file: &File<'_, '_>, function: Id) -> Option<Pauses> {
    let Kind::Function { params, .. } = file.tree.kind(function) else { return None };
    let counts = |name: &str| words::about_retry(name) || words::any(name, words::COUNTERS);
    let waits = |name: &str| words::any(name, words::PAUSES);
    let counter = params.iter().position(|param| counts(param.name) && !waits(param.name));
    let argument = counter.or((params.len() == 1).then_some(0))?;
    let mut pauses = Pauses { argument, waits: Vec::new() };
    for attempt in 0..=ATTEMPTS {
        let number = Num::exact(f64::from(attempt));
        let wait = Machine::answer(file, function, params[argument].name, number)?;
        if wait.server || wait.clock || !wait.high.is_finite() {
            return None;
        }
        pauses.waits.push(Pause {
            low: wait.low,
            high: wait.high,
            cap: wait.cap,
            random: wait.random,
            duration: wait.duration,
            open: wait.open,
        });
    }
    Some(pauses)
}

/// The wait that such a function gives for an attempt.
pub(super) fn wait(pauses: &Pauses, attempt: f64) -> Option<Num> {
    let at = if attempt > 0.0 { attempt as usize } else { 0 };
    let pause = pauses.waits.get(at).or(pauses.waits.last())?;
    let mut num = Num::exact(pause.low);
    num.high = pause.high;
    num.cap = pause.cap;
    num.random = pause.random;
    num.duration = pause.duration;
    num.open = pause.open;
    Some(num)
}
