//! What is usual where nothing is certain: what all callers pass, what is put in where nothing was
//! given.

use super::super::file::Worth;
use super::super::value::{Num, Value};
use super::super::words;
use super::Machine;
use crate::tree::{Id, Kind, Op};

/// More callers than this are not asked.
const MOST_CALLERS: usize = 16;

/// Whether a name counts attempts or says how long to wait.
pub(crate) fn is_quantity(name: &str) -> bool {
    words::about_retry(name)
        || name.len() > 1 && words::any(name, words::COUNTERS)
        || words::any(name, words::WAITS)
        || words::names_a_schedule(name)
}

impl<'s> Machine<'_, '_, 's> {
    /// What every caller in this file passes for a parameter that counts or waits.
    pub(super) fn passed(&mut self, function: Id, name: &'s str) -> Value {
        let tree = self.tree;
        let (Kind::Function { params, .. }, true) = (tree.kind(function), is_quantity(name)) else {
            return Value::Unknown;
        };
        let Some(called) = self.file.function_name(function) else { return Value::Unknown };
        let own = params.first().is_some_and(|first| matches!(first.name, "self" | "cls"));
        let place = params.iter().position(|param| param.name == name);
        let place = place.and_then(|at| at.checked_sub(usize::from(own)));
        let mut usual: Option<Num> = None;
        let mut seen = 0;
        for call in self.file.calls(called) {
            let Kind::Call { args, .. } = tree.kind(*call) else { continue };
            if self.file.within(*call, function) {
                continue;
            }
            seen += 1;
            let given = args
                .iter()
                .find(|arg| arg.name == Some(name))
                .or_else(|| place.and_then(|at| args.get(at)).filter(|arg| arg.name.is_none()));
            let number = given.and_then(|arg| self.literal(arg.value));
            if seen > MOST_CALLERS || number.is_none() || usual.is_some_and(|it| Some(it) != number)
            {
                return Value::Unknown;
            }
            usual = number;
        }
        match usual {
            Some(num) => self.symbol(name.to_owned(), Some(num)),
            None => Value::Unknown,
        }
    }

    /// What `config.getMaxRetries()` gives, as other files say.
    pub(super) fn usual_of_getter(&self, id: Id) -> Option<Num> {
        if !self.file.is_getter(id) {
            return None;
        }
        match self.file.worth(id) {
            Worth::Number { value, .. } => Some(Num::exact(value)),
            Worth::Millis { ms, .. } => Some(Num::ms(ms)),
            Worth::List { .. } | Worth::Unknown => None,
        }
    }

    /// What is put into a field where nothing was given: `if c.Attempts == 0 { c.Attempts = 3 }`.
    pub(super) fn filled_in(&mut self, at: Id, name: &'s str) -> Value {
        if !is_quantity(name) {
            return Value::Unknown;
        }
        let tree = self.tree;
        let mut usual: Option<Num> = None;
        for place in self.file.assigned(name) {
            let Kind::Assign { op: None, target, value } = tree.kind(*place) else { continue };
            let missing = matches!(tree.kind(*target), Kind::Field { .. })
                && self.asked_for_nothing(*place, name);
            if !missing {
                continue;
            }
            let Some(num) = self.literal(*value) else { continue };
            if usual.is_some_and(|known| known != num) {
                return Value::Unknown;
            }
            usual = Some(num);
        }
        match usual {
            Some(num) => {
                let text = self.file.brief(at, 60);
                self.symbol(text, Some(num))
            }
            None => Value::Unknown,
        }
    }

    /// `const progress = { left: 10 }` says what `progress.left` is.
    pub(super) fn entry_of(&mut self, of: Id, name: &str) -> Option<Value> {
        let tree = self.tree;
        let Kind::Name(object) = tree.kind(of) else { return None };
        let records =
            self.file.assigned(object).iter().filter_map(|place| match tree.kind(*place) {
                Kind::Let { value: Some(value), .. } | Kind::Assign { op: None, value, .. } => {
                    match tree.kind(*value) {
                        Kind::Record { entries, .. } => Some(entries),
                        _ => None,
                    }
                }
                _ => None,
            });
        let entry = records.flatten().find(|entry| entry.key.as_deref() == Some(name))?;
        match tree.kind(entry.value) {
            Kind::Number(_) | Kind::Binary { .. } => Some(self.constant_of(entry.value)),
            // What is written under a name may be given otherwise later.
            Kind::Name(constant) | Kind::Field { name: constant, .. }
                if words::any(constant, words::PAUSES) =>
            {
                let num = self.constant_of(entry.value).num()?;
                Some(self.symbol(format!("{object}.{name}"), Some(num)))
            }
            _ => None,
        }
    }

    /// Whether a statement runs if a field of this name is empty.
    fn asked_for_nothing(&self, place: Id, name: &str) -> bool {
        let tree = self.tree;
        let mut ups = tree.ancestors(place).take(3);
        ups.any(|up| {
            let Kind::If { test, .. } = tree.kind(up) else { return false };
            tree.walk_here(*test).any(|at| match tree.kind(at) {
                Kind::Binary { op: Op::Equal | Op::AtMost | Op::Less, left, right } => {
                    tree.last_name(*left) == Some(name)
                        && matches!(tree.kind(*right), Kind::Null | Kind::Number(0.0 | 1.0))
                }
                Kind::Unary { op: Op::Not, of } => tree.last_name(*of) == Some(name),
                _ => false,
            })
        })
    }

    /// A number that is written here or under a name of the file. Nothing is called for it.
    fn literal(&mut self, id: Id) -> Option<Num> {
        if self.looking_up > 2 || !self.is_written(id, 0) {
            return None;
        }
        self.looking_up += 1;
        let value = self.constant_of(id);
        self.looking_up -= 1;
        value.num().filter(|num| num.symbol == 0 && !num.clock && !num.random)
    }

    fn is_written(&self, id: Id, depth: u8) -> bool {
        let inner = |id: Id| depth < 4 && self.is_written(id, depth + 1);
        match self.tree.kind(id) {
            Kind::Number(_) => true,
            Kind::Binary { op: Op::Add | Op::Subtract | Op::Multiply, left, right } => {
                inner(*left) && inner(*right)
            }
            // `Duration::from_millis(100)`, `Duration.ofSeconds(5)`.
            Kind::Call { callee, args, .. } => {
                let made = self.tree.source(*callee);
                words::has(made, &["duration", "timespan", "timedelta"])
                    && args.iter().all(|arg| inner(arg.value))
            }
            // A constant, or a unit: `time.Second`.
            Kind::Name(name) | Kind::Field { name, .. } => name.starts_with(char::is_uppercase),
            _ => false,
        }
    }
}
