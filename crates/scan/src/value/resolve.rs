//! Names and fields, followed to where they get their value.

use super::bindings::{Binding, scope};
use super::eval::{Environment, Values};
use super::members::is_quantity;
use super::pauses::Pauses;
use super::units::Unit;
use super::{Data, Place, Trust, Value};
use crate::tree::{Arg, Id, Kind, Op};

/// Names that mean "no limit", by their last part and what stands before it (any, if empty).
const ENDLESS: &[(&str, &str)] = &[
    ("inf", ""),
    ("Inf", ""),
    ("INFINITY", ""),
    ("Infinity", ""),
    ("POSITIVE_INFINITY", ""),
    ("MAX_VALUE", ""),
    ("MAX_SAFE_INTEGER", ""),
    ("MaxValue", ""),
    ("PositiveInfinity", ""),
    ("InfiniteTimeSpan", ""),
    ("maxsize", "sys"),
    ("MAX", "usize"),
    ("MAX", "u64"),
    ("MAX", "u32"),
    ("MAX", "i32"),
    ("MAX", "i64"),
    ("MAX", "Duration"),
    ("MaxInt", "math"),
    ("MaxInt32", "math"),
    ("MaxInt64", "math"),
    ("MaxUint32", "math"),
    ("MaxUint64", "math"),
    ("PHP_INT_MAX", ""),
    ("INFINITE", "Duration"),
];

impl<'t, 's> Values<'t, 's> {
    pub(super) fn named(&self, id: Id, name: &str, env: Environment<'_>) -> Option<Value> {
        if let Some(value) = env(name) {
            return Some(value);
        }
        if let Some(value) = self.well_known(id, &[name]) {
            return Some(value);
        }
        // From the innermost scope outward; what a function decorates or defaults to is outside.
        let mut at = scope(self.tree, id);
        loop {
            if let Some(all) = self.bindings.names.get(name) {
                let here: Vec<&Binding> = all.iter().filter(|b| b.scope == at).collect();
                if !here.is_empty() {
                    // Where it may not have been set, it is what the caller gave.
                    let given = match self.tree.kind(at) {
                        Kind::Function { params, .. } => params.iter().find(|p| p.name == name),
                        _ => None,
                    };
                    if let Some(param) = given
                        && here.iter().any(|one| !self.holds(one.at, id))
                    {
                        let usual = || {
                            let usual = self.value(param.default?, env).at_most(Trust::Usual);
                            matches!(usual.data, Data::Number(_) | Data::Duration(_))
                                .then_some(usual)
                        };
                        return self.if_nothing_was_given(name, &here, env).or_else(usual);
                    }
                    return self.binding(id, at, &here, env);
                }
            }
            if let Kind::Function { params, .. } = self.tree.kind(at)
                && let Some(param) = params.iter().find(|param| param.name == name)
            {
                let default = param.default?;
                return Some(self.value(default, env).at_most(Trust::Usual));
            }
            if at == self.tree.root() {
                break;
            }
            at = scope(self.tree, at);
        }
        self.imported(id, name, &[])
    }

    /// What a parameter is set to where nobody gave it: `if retries is None: retries = 3`,
    /// `if n <= 0 { n = 3 }`. What only keeps it in bounds says nothing: `if n < 0 { n = 0 }`.
    fn if_nothing_was_given(
        &self,
        name: &str,
        all: &[&Binding],
        env: Environment<'_>,
    ) -> Option<Value> {
        let [only] = all else { return None };
        let named = |id: Id| matches!(self.tree.kind(id), Kind::Name(one) if *one == name);
        let asks = |test: Id| match self.tree.kind(test) {
            Kind::Unary { op: Op::Not, of } => named(*of),
            Kind::Binary { op: Op::Equal | Op::Less | Op::AtMost, left, .. } => named(*left),
            _ => false,
        };
        let question = self.tree.ancestors(only.at).find_map(|up| match self.tree.kind(up) {
            Kind::If { test, .. } => Some(*test),
            _ => None,
        });
        if only.changes || !question.is_some_and(asks) {
            return None;
        }
        let value = self.follow(only, env)?;
        (value.number() != Some(0.0)).then(|| value.at_most(Trust::Usual))
    }

    /// Which of several assignments of one scope holds at a place.
    fn binding(
        &self,
        at: Id,
        scope_id: Id,
        all: &[&Binding],
        env: Environment<'_>,
    ) -> Option<Value> {
        let start = self.tree.span(at).start;
        let here = scope(self.tree, at) == scope_id;
        let chosen = match all {
            [only] if !only.changes => *only,
            _ if !here => {
                // Seen from inside another function: only a value that is set once is sure.
                let set: Vec<_> = all.iter().filter(|b| !b.changes && b.value.is_some()).collect();
                match set[..] {
                    [only] => {
                        let value = self.follow(only, env)?;
                        return Some(if all.len() == 1 {
                            value
                        } else {
                            value.at_most(Trust::Usual)
                        });
                    }
                    _ => return None,
                }
            }
            _ => {
                // The last one before, if nothing changes it and it is sure to have run.
                let last = all.iter().rfind(|b| self.tree.span(b.at).end <= start)?;
                if last.changes || !self.holds(last.at, at) {
                    return None;
                }
                // A later change in a loop around both comes before the next round's use.
                let around = self
                    .tree
                    .ancestors(at)
                    .filter(|&up| matches!(self.tree.kind(up), Kind::Loop { .. }));
                for up in around {
                    let inside = |id: Id| self.tree.ancestors(id).any(|a| a == up);
                    if all.iter().any(|b| inside(b.at)) && !inside(last.at) {
                        return None;
                    }
                }
                *last
            }
        };
        self.follow(chosen, env)
    }

    /// Whether a statement has run whenever a later one runs: its block is around the later one.
    fn holds(&self, before: Id, after: Id) -> bool {
        let mut up = self.tree.parent(before);
        // A declaration may stand in a wrapper of its own.
        while let Some(id) = up {
            match self.tree.kind(id) {
                Kind::Block(_) => break,
                Kind::Other(_) | Kind::Let { .. } | Kind::With { .. } => up = self.tree.parent(id),
                _ => return false,
            }
        }
        up.is_some_and(|block| self.tree.ancestors(after).any(|id| id == block))
    }

    fn follow(&self, binding: &Binding, env: Environment<'_>) -> Option<Value> {
        let value = binding.value?;
        self.guarded(binding.at, || {
            let value = self.value(value, env);
            (value.is_known() || value.random).then_some(value)
        })
    }

    /// Does something for a place unless that is already being done.
    pub(super) fn guarded<T>(&self, at: Id, run: impl FnOnce() -> Option<T>) -> Option<T> {
        if self.open.borrow().contains(&at) {
            return None;
        }
        self.open.borrow_mut().push(at);
        let value = run();
        self.open.borrow_mut().pop();
        value
    }

    pub(super) fn field(&self, id: Id, of: Id, name: &str, env: Environment<'_>) -> Option<Value> {
        let path = self.tree.path(id);
        if let Some(path) = &path {
            if let Some(value) = env(&path.join(".")) {
                return Some(value);
            }
            if let Some(value) = self.well_known(id, path) {
                return Some(value);
            }
        }
        // `5.seconds`, `(2 shl n).seconds`
        let counted = matches!(
            self.tree.kind(of),
            Kind::Number(_)
                | Kind::Call { .. }
                | Kind::Name(_)
                | Kind::Binary { .. }
                | Kind::Other(_)
        );
        if let (true, Some(unit)) = (counted, Unit::of_word(name))
            && name.len() > 2
            && let Some(number) = self.value(of, env).number()
        {
            return Some(self.exact(of, Data::Duration(number * unit.millis())));
        }
        if let Some(path) = &path {
            if matches!(path[0], "self" | "this" | "cls" | "Self" | "static") && path.len() == 2 {
                let class = self.tree.class_of(id)?;
                return self.attribute(class, name, env);
            }
            let known = self.bindings.names.contains_key(path[0]);
            if !known && let Some(value) = self.imported(id, path[0], &path[1..]) {
                return Some(value);
            }
            if let Some([class]) = self.bindings.classes.get(path[0]).map(Vec::as_slice)
                && path.len() == 2
            {
                return self.attribute(*class, name, env);
            }
        }
        if let Some(value) = path.as_deref().and_then(|path| self.in_module(id, path, env)) {
            return Some(value);
        }
        let owner = self.value(of, env);
        // `waits.Length`: as many as there are.
        if let (Data::List(all), "length" | "Length" | "size" | "Count") = (&owner.data, name) {
            let counted = self.exact(id, Data::Number(all.len() as f64));
            return Some(counted.at_most(owner.trust));
        }
        if let Some(value) = owner.entry(name) {
            return value.is_known().then(|| value.clone().at_most(owner.trust));
        }
        if owner.is_known() {
            return None;
        }
        self.lone_field(name, env)
    }

    /// A constant of a module of Rust: `limits::RETRIES`, of this file or of another.
    fn in_module(&self, id: Id, path: &[&'s str], env: Environment<'_>) -> Option<Value> {
        let (name, modules) = path.split_last()?;
        let constant = name.chars().all(|c| c.is_ascii_uppercase() || matches!(c, '_' | '0'..='9'));
        let of_modules = modules.iter().all(|module| module.starts_with(char::is_lowercase));
        if !constant || !of_modules || !self.tree.source(id).contains("::") {
            return None;
        }
        if self.bindings.names.contains_key(name) {
            return self.named(id, name, env);
        }
        let Some((project, from)) = self.project else {
            self.want_project();
            return None;
        };
        project.resolve_path(from, Some(&modules.join("::")), &[name])
    }

    /// A field of something unknown, where the whole file gives that field one value.
    fn lone_field(&self, name: &str, env: Environment<'_>) -> Option<Value> {
        let entries = self.bindings.entries.get(name).map_or(&[][..], Vec::as_slice);
        let fields = self.bindings.fields.get(name).map_or(&[][..], Vec::as_slice);
        let value = match (entries, fields) {
            ([entry], []) => Some(*entry),
            ([], [field]) if !field.changes => field.value,
            _ => None,
        };
        let found = value.and_then(|value| self.guarded(value, || Some(self.value(value, env))));
        match found.filter(Value::is_known) {
            Some(found) => Some(found.at_most(Trust::Usual)),
            None => self.field_elsewhere(name),
        }
    }

    /// What other files say of a field that counts attempts or says how long to wait.
    pub(crate) fn field_elsewhere(&self, name: &str) -> Option<Value> {
        if !is_quantity(name) {
            return None;
        }
        let Some((project, path)) = self.project else {
            self.want_project();
            return None;
        };
        project.field(path, name)
    }

    /// What other files say that a getter gives which counts attempts or says how long to wait.
    pub(super) fn getter_elsewhere(&self, name: &str) -> Option<Value> {
        let getter = name.strip_prefix("get").or_else(|| name.strip_prefix("Get"));
        getter.filter(|rest| rest.starts_with(char::is_uppercase))?;
        self.field_elsewhere(name)
    }

    /// What the function of this name in another file gives that says how long to wait.
    pub(crate) fn pauses(&self, name: &str) -> Option<&'t Pauses> {
        let Some((project, path)) = self.project else {
            self.want_project();
            return None;
        };
        project.pauses(path, name)
    }

    /// An attribute of a class: in its body, or set once through `self` in its methods.
    fn attribute(&self, class: Id, name: &str, env: Environment<'_>) -> Option<Value> {
        let Kind::Class { name: class_name, .. } = self.tree.kind(class) else { return None };
        let in_class = |id: Id| {
            self.tree.ancestors(id).any(|up| match self.tree.kind(up) {
                Kind::Class { name, .. } => up == class || (name.is_some() && name == class_name),
                _ => false,
            })
        };
        let names = self.bindings.names.get(name).into_iter().flatten();
        let own: Vec<&Binding> = names
            .filter(|b| matches!(self.tree.kind(b.scope), Kind::Class { .. }) && in_class(b.at))
            .collect();
        let fields = self.bindings.fields.get(name).into_iter().flatten();
        let set: Vec<&Binding> = fields.filter(|b| in_class(b.at) && self.is_own(b.at)).collect();
        let (values, changed): (Vec<&Binding>, Vec<&Binding>) =
            own.iter().chain(&set).copied().partition(|b| !b.changes && b.value.is_some());
        // A declaration without a value says nothing, but one that the methods change is no constant.
        let changed = changed.iter().any(|b| b.changes);
        let mut found: Option<Value> = None;
        for binding in values {
            let Some(value) = self.follow(binding, env) else {
                return found.map(|value| value.at_most(Trust::Usual));
            };
            found = Some(match found {
                None => value,
                // `self.delay = 1` at first and again later: the first is what it begins with.
                Some(first) if first.data == value.data => first,
                Some(first) => first.at_most(Trust::Usual),
            });
        }
        let found = found.or_else(|| self.lone_field(name, env))?;
        Some(if changed { found.at_most(Trust::Usual) } else { found })
    }

    /// Whether a field that is assigned is one of the object itself.
    fn is_own(&self, at: Id) -> bool {
        let target = match self.tree.kind(at) {
            Kind::Assign { target, .. } | Kind::Let { target, .. } => *target,
            Kind::Step { of, .. } => *of,
            _ => return false,
        };
        let path = self.tree.path(target);
        path.is_some_and(|path| path.len() == 2 && matches!(path[0], "self" | "this" | "cls"))
    }

    /// An object of a class of this file: what its body says, and what the call gives by keyword.
    pub(super) fn instance(
        &self,
        id: Id,
        class: Id,
        args: &[Arg<'_>],
        env: Environment<'_>,
    ) -> Option<Value> {
        let Kind::Class { body, .. } = self.tree.kind(class) else { return None };
        let Kind::Block(statements) = self.tree.kind(*body) else { return None };
        let mut entries = Vec::new();
        for statement in statements.iter().take(64) {
            let (target, value) = match self.tree.kind(*statement) {
                Kind::Let { target, value: Some(value), .. } => (*target, *value),
                Kind::Assign { op: None, target, value } => (*target, *value),
                _ => continue,
            };
            if let Kind::Name(name) = self.tree.kind(target) {
                let value = self.guarded(value, || Some(self.value(value, env)));
                if let Some(value) = value.filter(Value::is_known) {
                    entries.push(((*name).to_owned(), value.at_most(Trust::Usual)));
                }
            }
        }
        for arg in args {
            if let Some(name) = arg.name {
                entries.push((name.to_owned(), self.value(arg.value, env)));
            }
        }
        (!entries.is_empty()).then(|| self.exact(id, Data::Record(entries)))
    }

    pub(super) fn index(&self, id: Id, of: Id, at: Id, env: Environment<'_>) -> Option<Value> {
        if let Some(path) = self.tree.path(id)
            && let Some(value) = env(&path.join("."))
        {
            return Some(value);
        }
        let owner = self.value(of, env);
        let key = self.value(at, env);
        let key = match &key.data {
            Data::Text(text) => text.clone(),
            Data::Number(number) if *number >= 0.0 => format!("{number}"),
            _ => return None,
        };
        let value = owner.entry(&key)?;
        value.is_known().then(|| value.clone().at_most(owner.trust))
    }

    /// A constant of another file.
    fn imported(&self, id: Id, first: &'_ str, rest: &[&'s str]) -> Option<Value> {
        let found = self.imports.name(first);
        let Some((project, path)) = self.project else {
            // A name that nobody defines here is defined next door in Go, Java, Kotlin and C#.
            if found.is_some() || first.starts_with(char::is_uppercase) || rest.is_empty() {
                self.want_project();
            }
            return None;
        };
        let mut parts: Vec<&str> = Vec::new();
        let module = found.map(|found| {
            parts.extend(found.item);
            found.module.as_ref()
        });
        if found.is_none() {
            parts.push(first);
        }
        parts.extend_from_slice(rest);
        let mut value = project.resolve_path(path, module, &parts)?;
        if value.place.path.is_none() {
            value.place = Place { path: None, line: self.line(id) };
        }
        Some(value)
    }

    /// Units of time and names for "without end".
    fn well_known(&self, id: Id, path: &[&str]) -> Option<Value> {
        let (last, before) = path.split_last()?;
        let owner = before.last().copied().unwrap_or_default();
        let found =
            ENDLESS.iter().any(|row| row.0 == *last && (row.1.is_empty() || row.1 == owner));
        if found && (!owner.is_empty() || !matches!(*last, "inf" | "Inf" | "MaxValue")) {
            let time = owner.contains("Duration") || owner.contains("Time");
            let data =
                if time { Data::Duration(f64::INFINITY) } else { Data::Number(f64::INFINITY) };
            return Some(self.exact(id, data));
        }
        match owner {
            // `time.Second`, `TimeUnit.SECONDS`, `ChronoUnit.MILLIS`, `DurationUnit.SECONDS`
            "time" | "TimeUnit" | "ChronoUnit" | "DurationUnit"
                if last.starts_with(char::is_uppercase) =>
            {
                let unit = Unit::of_word(last)?;
                Some(self.exact(id, Data::Duration(unit.millis())))
            }
            "Duration" | "TimeSpan" if matches!(*last, "ZERO" | "Zero") => {
                Some(self.exact(id, Data::Duration(0.0)))
            }
            _ => None,
        }
    }
}
