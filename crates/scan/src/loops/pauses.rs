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
/// So many parameters are given a number.
const MOST_PARAMS: usize = 4;
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
    let Some(argument) = counter.or((params.len() == 1).then_some(0)) else {
        return Some(Pauses { between: Some(between(file, function)?), ..Pauses::default() });
    };
    let mut pauses = Pauses { argument, ..Pauses::default() };
    for attempt in 0..=ATTEMPTS {
        let number = Num::exact(f64::from(attempt));
        let wait = Machine::answer(file, function, &[(params[argument].name, number)])?;
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

/// Which parameters a function draws a wait between: `random_backoff(least, most)`. Each is given a
/// number of its own, which is looked for in the answer.
fn between(file: &File<'_, '_>, function: Id) -> Option<[usize; 2]> {
    let Kind::Function { params, .. } = file.tree.kind(function) else { return None };
    let given = params.iter().take(MOST_PARAMS).enumerate().map(|(at, param)| {
        let number = (at + 1) as f64 * 1000.0;
        let duration = param.ty.is_some_and(|ty| words::has(ty, &["duration", "timespan"]));
        (param.name, if duration { Num::ms(number) } else { Num::exact(number) })
    });
    let given: Vec<_> =
        given.filter(|(name, _)| !words::any(name, &["previous", "last"])).collect();
    let wait = Machine::answer(file, function, &given).filter(|wait| wait.random)?;
    let place = |number: f64| {
        let (name, _) = given.iter().find(|(_, one)| one.low == number)?;
        params.iter().position(|param| param.name == *name)
    };
    Some([place(wait.low)?, place(wait.high)?])
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loops::find_with;
    use crate::lower;
    use crate::policy::{DelayKind, Jitter, Policy};
    use crate::value::{Constants, Imports, Project, Values};

    const CALLER: &str = "\
def load(client):
    for attempt in range(5):
        try:
            return client.fetch('/a')
        except OSError:
            if attempt == 4:
                raise
            time.sleep(retry_delay(attempt))
";

    /// The policy of a file that calls a function of another one.
    fn with(other: &str, caller: &str) -> Policy {
        let tree = lower::tree(Language::Python, other).unwrap();
        let mut constants = Constants::of(&tree);
        constants.pauses = of(&tree, Language::Python);
        let mut project = Project::new();
        project.add("app/waits.py", constants);
        let tree = lower::tree(Language::Python, caller).unwrap();
        let imports = Imports::of(&tree);
        let values = Values::new(&tree, &imports).with_project(&project, "app/load.py");
        let found = find_with(&tree, Language::Python, Some(&values));
        found.into_iter().next().unwrap().policy
    }

    #[test]
    fn a_function_of_another_file_says_how_waits_grow() {
        // 3 * 2 ** n seconds, at most 30.
        let other = "def retry_delay(n, most=30):\n    wait = 3 * 2 ** n\n    if wait > most:\n        wait = most\n    return wait\n";
        let delay = with(other, CALLER).delay;
        assert_eq!(delay.kind.value, DelayKind::Exponential);
        assert_eq!(delay.base_ms.map(|base| base.value), Some(3000.0));
        assert_eq!(delay.schedule_ms, [3000.0, 6000.0, 12_000.0, 24_000.0]);
    }

    #[test]
    fn a_wait_is_drawn_between_what_it_is_told() {
        let other = "def retry_delay(least, most):\n    return random.uniform(least, most)\n";
        let delay = with(other, &CALLER.replace("(attempt))", "(5, 15))")).delay;
        assert_eq!(delay.kind.value, DelayKind::Constant);
        assert_eq!(delay.base_ms.map(|base| base.value), Some(5000.0));
        assert_eq!(delay.jitter.value, Jitter::Additive);
        let fixed = "def retry_delay(least, most):\n    return 3\n";
        assert_eq!(with(fixed, CALLER).delay.base_ms, None, "nothing is drawn");
    }

    #[test]
    fn what_an_object_holds_leaves_the_growth() {
        let other = "class Steps:\n    def retry_delay(self, n):\n        return self.first * (n + 1) + random.uniform(0, self.first)\n";
        let caller = CALLER.replace("retry_delay(", "steps.retry_delay(");
        let delay = with(other, &caller).delay;
        assert_eq!(delay.kind.value, DelayKind::Linear);
        assert_eq!(delay.jitter.value, Jitter::Additive);
        assert_eq!(delay.base_ms, None);
    }

    #[test]
    fn of_several_functions_with_one_name_nothing_is_said() {
        let other = "class A:\n    def retry_delay(self, n):\n        return n\nclass B:\n    def retry_delay(self, n):\n        return 2 ** n\n";
        assert!(of(&lower::tree(Language::Python, other).unwrap(), Language::Python).is_empty());
        assert_eq!(with(other, CALLER).delay.base_ms, None);
    }
}
