//! What was written for a name before the machine began: declarations, defaults, constructors.

use super::super::file::Worth;
use super::super::value::{Num, Value};
use super::super::words;
use super::Machine;
use crate::language::Language;
use crate::tree::{Id, Kind};

/// How many definitions are followed for one name.
const DEEPEST_LOOKUP: u32 = 6;

impl<'s> Machine<'_, '_, 's> {
    /// What was written for a name before the machine began.
    pub(super) fn resolve(&mut self, at: Id, name: &'s str, field: bool) -> Value {
        if self.looking_up >= DEEPEST_LOOKUP {
            return Value::Unknown;
        }
        self.looking_up += 1;
        let value = self.resolve_once(at, name, field);
        self.looking_up -= 1;
        value
    }

    fn resolve_once(&mut self, at: Id, name: &'s str, field: bool) -> Value {
        let (tree, file) = (self.tree, self.file);
        let entry = tree.span(self.plan.entry).start;
        let all = file.assigned(name);
        if !field {
            let mut inner = Some(at);
            // From the innermost function outward.
            while let Some(function) = inner.and_then(|id| tree.function_of(id)) {
                let before = all.iter().rfind(|id| {
                    tree.function_of(**id) == Some(function)
                        && tree.span(**id).start < entry
                        // What a name is given anew may be made of what it was: `d = draw(d, 2 * d)`.
                        && !file.within(at, **id)
                        && !file.within(self.plan.entry, **id)
                        && self.is_plain(**id, name)
                });
                if let Some(place) = before {
                    if let Some(told) = self.told_entry(*place, name) {
                        return told;
                    }
                    return self.written(*place, name);
                }
                if let Kind::Function { params, .. } = tree.kind(function)
                    && let Some(param) = params.iter().find(|param| param.name == name)
                {
                    if let Some(told) = self.told(function, param) {
                        return told;
                    }
                    return match param.default {
                        Some(default) => self.open(name.to_owned(), default),
                        None => self.passed(function, name),
                    };
                }
                inner = Some(function);
            }
        }
        if let Some(function) = file.functions(name).first()
            && file.functions(name).len() == 1
            && (!field || self.is_handed_on(at) && tree.class_of(*function) == tree.class_of(at))
        {
            return Value::Function(*function, 0);
        }
        // A field of the class, a constant of the module.
        let class = tree.class_of(at);
        let declared: Vec<Id> = all
            .iter()
            .copied()
            .filter(|id| {
                let outside = tree.function_of(*id).is_none();
                let member = tree.class_of(*id);
                outside && (member.is_none() || member == class || !field)
            })
            .collect();
        let changed = all.iter().any(|id| {
            tree.function_of(*id).is_some()
                && !file.within(*id, self.plan.entry)
                && (self.is_member(*id) || self.is_bare_member(*id, name, class))
        });
        let bare = |id: Id| matches!(tree.kind(id), Kind::Let { value: None, .. });
        // A constant of a class that is given nothing here is given it where one is made.
        let given_later = |id: Id| {
            bare(id)
                && tree.class_of(id).is_some()
                && (self.file.language == Language::Kotlin
                    || matches!(tree.kind(id), Kind::Let { constant: true, .. }))
        };
        if let [place, ..] = declared[..]
            && !(changed && bare(place) || given_later(place))
        {
            let constant = matches!(tree.kind(place), Kind::Let { constant: true, .. });
            let mut value = self.written(place, name);
            // It is read from somewhere, with a default.
            if value == Value::Unknown && !bare(place) {
                value = self.elsewhere(at);
            }
            if value == Value::Unknown && tree.class_of(place).is_some() {
                value = self.field_elsewhere(at, name);
            }
            if changed
                && !constant
                && let Value::Num(num) = value
            {
                return self.symbol(name.to_owned(), Some(num));
            }
            if changed && !constant && matches!(value, Value::Bool(_) | Value::Null) {
                return Value::Unknown;
            }
            return value;
        }
        // Given in a constructor or a setter.
        let given: Vec<Id> = all
            .iter()
            .copied()
            .filter(|id| self.is_member(*id) || self.is_bare_member(*id, name, class))
            .collect();
        if let Some(place) = self.initial(&given, name)
            && let Kind::Assign { op: None, value, .. } = tree.kind(place)
            && !file.within(place, self.plan.entry)
        {
            let first = match tree.kind(*value) {
                Kind::Name(param) => self.parameter(place, param),
                _ => self.constant_of(*value),
            };
            let first =
                if first == Value::Unknown { self.field_elsewhere(at, name) } else { first };
            // What is set again has no first value, unless that is a number that grows.
            if given.len() == 1 || first.num().is_some() {
                return first;
            }
        }
        if all.is_empty() {
            return self.elsewhere(at);
        }
        let filled_in = self.filled_in(at, name);
        let member = declared.iter().any(|id| tree.class_of(*id).is_some()) || !given.is_empty();
        if filled_in == Value::Unknown && member {
            return self.field_elsewhere(at, name);
        }
        filled_in
    }

    /// What a name that this file does not declare is worth: a constant of another one, or of the
    /// environment.
    pub(super) fn elsewhere(&mut self, at: Id) -> Value {
        // Only for what may count or wait: every name that is asked for may cost a second pass.
        let name = self.tree.last_name(at).unwrap_or_default();
        let quantity = words::about_retry(name)
            || (name.len() > 1 && words::any(name, words::COUNTERS))
            || words::any(name, words::WAITS);
        if !quantity {
            return Value::Unknown;
        }
        let worth = self.file.worth(at);
        self.worth(at, worth)
    }

    /// What a field of the object itself is, of which this file says nothing: as other files say.
    fn field_elsewhere(&mut self, at: Id, name: &str) -> Value {
        if !super::is_quantity(name) {
            return Value::Unknown;
        }
        let worth = self.file.usual_field(name);
        self.worth(at, worth)
    }

    fn worth(&mut self, at: Id, worth: Worth) -> Value {
        let (num, sure) = match worth {
            Worth::Number { value, sure } => (Num::exact(value), sure),
            Worth::Millis { ms, sure } => (Num::ms(ms), sure),
            Worth::List { all, sure: true } => {
                return Value::List(all.iter().map(|num| Value::Num(*num)).collect());
            }
            Worth::List { all, sure: false } => return self.usual_list(at, &all),
            Worth::Unknown => return Value::Unknown,
        };
        if sure {
            return Value::Num(num);
        }
        let text = self.file.brief(at, 60);
        self.symbol(text, Some(num))
    }

    /// The same for a field of an object that may have been given something else since.
    pub(super) fn usually(&mut self, at: Id) -> Value {
        if let Worth::List { all, .. } = self.file.worth(at) {
            return self.usual_list(at, &all);
        }
        match self.elsewhere(at) {
            Value::Num(num) if num.symbol == 0 => {
                let text = self.file.brief(at, 60);
                self.symbol(text, Some(num))
            }
            found => found,
        }
    }

    /// Where a field gets its first value: where it is set once, or only changed from what it was.
    fn initial(&self, given: &[Id], name: &str) -> Option<Id> {
        let tree = self.tree;
        if let [only] = given {
            return Some(*only);
        }
        let set: Vec<(Id, Id)> = given
            .iter()
            .filter_map(|place| match tree.kind(*place) {
                Kind::Assign { op: None, value, .. } => Some((*place, *value)),
                _ => None,
            })
            .filter(|(place, value)| {
                let bare = !matches!(self.file.language, Language::Python | Language::Ruby);
                let same = |at: Id| match tree.kind(at) {
                    Kind::Field { of, name: field } => *field == name && self.is_own(*of),
                    Kind::Name(field) => bare && *field == name,
                    _ => false,
                };
                !self.file.within(*place, self.plan.entry) && !tree.walk_here(*value).any(same)
            })
            .collect();
        let (place, value) = set.first()?;
        // `self.now = delay` at first, and `self.now = self.delay` to begin again.
        let alike = |other: &(Id, Id)| {
            tree.source(other.1) == tree.source(*value)
                || tree.last_name(*value).is_some()
                    && tree.last_name(other.1) == tree.last_name(*value)
        };
        set.iter().all(alike).then_some(*place)
    }

    /// The function that a field of the object itself stands for: a property of Python.
    pub(super) fn property(&self, at: Id, name: &str) -> Option<Id> {
        let tree = self.tree;
        let called = |up: Id| matches!(tree.kind(up), Kind::Call { callee, .. } if *callee == at);
        let [function] = self.file.functions(name) else { return None };
        let Kind::Function { decorators, .. } = tree.kind(*function) else { return None };
        let is_one = decorators
            .iter()
            .any(|one| tree.last_name(*one).is_some_and(|name| name.ends_with("property")));
        let own = tree.class_of(*function) == tree.class_of(at);
        (is_one && own && !tree.parent(at).is_some_and(called)).then_some(*function)
    }

    fn is_member(&self, assign: Id) -> bool {
        match self.tree.kind(assign) {
            Kind::Assign { target, .. } => {
                matches!(self.tree.kind(*target), Kind::Field { of, .. } if self.is_own(*of))
            }
            _ => false,
        }
    }

    /// Whether a method stands among the arguments of a call. Where it is read otherwise it is a
    /// property, and what it gives is not known.
    fn is_handed_on(&self, id: Id) -> bool {
        self.tree.parent(id).is_some_and(|up| match self.tree.kind(up) {
            Kind::Call { args, .. } => args.iter().any(|arg| arg.value == id),
            _ => false,
        })
    }

    /// `limit = given` for a field, or a variable of the module: some languages do not ask for
    /// `this`.
    fn is_bare_member(&self, assign: Id, name: &str, class: Option<Id>) -> bool {
        let tree = self.tree;
        let fields = matches!(
            self.file.language,
            Language::CSharp | Language::Java | Language::Kotlin | Language::Go
        );
        let script = matches!(
            self.file.language,
            Language::JavaScript | Language::TypeScript | Language::Tsx
        );
        // A variable of a package stands in no class.
        let module = self.file.language == Language::Go || script;
        let named = matches!(tree.kind(assign), Kind::Assign { op: None, target, .. }
            if matches!(tree.kind(*target), Kind::Name(_) | Kind::List(_)));
        let home = tree.class_of(assign);
        let there = home == class && (class.is_some() || module) || module && home.is_none();
        if !((fields || script) && named && there) {
            return false;
        }
        // `const { limit = 3 } = options` is a variable of its own.
        let outside =
            |id: &Id| matches!(tree.kind(*id), Kind::Let { .. }) && tree.function_of(*id).is_none();
        if script && !self.file.assigned(name).iter().any(outside) {
            return false;
        }
        let Some(function) = tree.function_of(assign) else { return false };
        let local = self.file.assigned(name).iter().any(|id| {
            matches!(tree.kind(*id), Kind::Let { .. }) && tree.function_of(*id) == Some(function)
        });
        let param = matches!(tree.kind(function), Kind::Function { params, .. }
            if params.iter().any(|param| param.name == name));
        !local && !param
    }

    fn parameter(&mut self, at: Id, name: &'s str) -> Value {
        let Some(function) = self.tree.function_of(at) else { return Value::Unknown };
        let Kind::Function { params, .. } = self.tree.kind(function) else {
            return Value::Unknown;
        };
        let Some(param) = params.iter().find(|param| param.name == name) else {
            return Value::Unknown;
        };
        if let Some(told) = self.told(function, param) {
            return told;
        }
        match param.default {
            Some(default) => self.open(name.to_owned(), default),
            None => Value::Unknown,
        }
    }

    /// The same where callers are not known: a switch that is off by default may be on.
    fn open(&mut self, name: String, default: Id) -> Value {
        match self.usual(name, default) {
            Value::Bool(_) => Value::Unknown,
            other => other,
        }
    }

    /// A parameter with a default: not known, but usually that.
    pub(super) fn usual(&mut self, name: String, default: Id) -> Value {
        match self.constant_of(default) {
            Value::Num(num) => self.symbol(name, Some(num)),
            Value::Null => Value::Unknown,
            other => other,
        }
    }

    /// The value of an expression that stands outside of what runs.
    pub(super) fn constant_of(&mut self, id: Id) -> Value {
        self.eval(id).unwrap_or(Value::Unknown)
    }

    fn is_plain(&self, place: Id, name: &str) -> bool {
        match self.tree.kind(place) {
            Kind::Let { .. } => true,
            Kind::Assign { op: None, target, .. } => match self.tree.kind(*target) {
                Kind::Name(_) => true,
                Kind::List(all) => all
                    .iter()
                    .any(|one| matches!(self.tree.kind(*one), Kind::Name(n) if *n == name)),
                _ => false,
            },
            _ => false,
        }
    }

    fn written(&mut self, place: Id, name: &str) -> Value {
        let (target, value, ty) = match self.tree.kind(place) {
            Kind::Let { target, value, ty, .. } => (*target, *value, *ty),
            Kind::Assign { target, value, .. } => (*target, Some(*value), None),
            _ => return Value::Unknown,
        };
        let Some(value) = value else {
            return match ty {
                Some(ty) if words::has(ty, &["int", "float", "long", "number", "double"]) => {
                    Value::number(0.0)
                }
                Some(ty) if words::has(ty, &["bool"]) => Value::Bool(false),
                _ => Value::Null,
            };
        };
        // The operation itself is not called by looking at what it gave.
        if self.has_operation(value) {
            return Value::Unknown;
        }
        let found = self.constant_of(value);
        match (self.tree.kind(target), found) {
            (Kind::List(all), Value::List(values)) if all.len() == values.len() => {
                let at = all.iter().position(|one| self.tree.last_name(*one) == Some(name));
                at.map_or(Value::Unknown, |at| values[at].clone())
            }
            (Kind::List(_), _) => Value::Unknown,
            (_, found) => found,
        }
    }

    pub(super) fn has_operation(&self, id: Id) -> bool {
        self.plan.ops.iter().any(|op| self.file.within(*op, id))
    }
}
