//! What a place gives to a library: arguments, options, chained methods, assigned fields.

use super::decorated::decorators;
use crate::tree::{Arg, Id, Kind, Op, Tree};
use crate::value::{Data, Trust, Unit, Value, Values};

/// One option that is given.
#[derive(Clone, Debug)]
struct Option_ {
    name: String,
    args: Vec<Id>,
    /// A chained method, not a keyword.
    method: bool,
}

/// Objects of options of one place that are looked into.
const MOST_RECORDS: usize = 64;

/// Everything that is given at one place.
#[derive(Clone, Debug, Default)]
pub(super) struct Given {
    positional: Vec<Id>,
    /// Lists of arguments: `opts...`.
    spread: Vec<Id>,
    options: Vec<Option_>,
    records: Vec<Value>,
    /// The objects and the `a || b` that were looked into, also by what is usual: objects can
    /// spread themselves, `opts = {...opts}`, and names can stand for each other.
    written: Vec<Id>,
    /// What is given where nobody gives anything else: `options ?? { retries: 5 }`.
    usual: Vec<Given>,
    /// What a method is called on.
    receiver: Option<Id>,
    /// The last node of a chain of methods: what the whole expression is.
    pub(super) top: Option<Id>,
}

/// What stands for an option.
#[derive(Clone, Debug)]
pub(super) struct Found {
    /// Its value.
    pub(super) value: Value,
    /// Its expression, if it stands in this file as such.
    pub(super) node: Option<Id>,
}

impl Given {
    /// Of a call, a literal with a type, or a bare name; what later methods of these names are
    /// given is `apart`.
    pub(super) fn of(values: &Values<'_, '_>, id: Id, apart: &[&str]) -> Self {
        let tree = values.tree();
        let mut all = Self { top: Some(id), ..Self::default() };
        match tree.kind(id) {
            Kind::Call { args, .. } => all.add_args(values, args),
            Kind::Record { .. } => all.add_record(values, id),
            _ => return all,
        }
        all.add_chain(values, id, apart);
        all
    }

    /// Of the arguments alone.
    pub(super) fn of_args(values: &Values<'_, '_>, args: &[Id]) -> Self {
        let mut all = Self::default();
        for id in args {
            all.positional.push(*id);
            all.note_record(values, *id);
        }
        all
    }

    /// Of an assignment to a field: the value is the option `=`.
    pub(super) fn of_assignment(values: &Values<'_, '_>, value: Id) -> Self {
        let mut all = Self::of_args(values, &[value]);
        all.options.push(Option_ { name: "=".to_owned(), args: vec![value], method: false });
        all
    }

    /// Of the attributes of a class.
    pub(super) fn of_class(tree: &Tree<'_>, body: Id) -> Self {
        let mut all = Self::default();
        if let Kind::Block(statements) = tree.kind(body) {
            for id in statements {
                let (target, value) = match tree.kind(*id) {
                    Kind::Let { target, value: Some(value), .. } => (*target, *value),
                    Kind::Assign { op: None, target, value } => (*target, *value),
                    _ => continue,
                };
                if let Some(name) = tree.last_name(target) {
                    let args = vec![value];
                    all.options.push(Option_ { name: name.to_owned(), args, method: false });
                }
            }
        }
        all
    }

    fn add_args(&mut self, values: &Values<'_, '_>, args: &[Arg<'_>]) {
        for arg in args {
            match arg.name {
                Some(name) => {
                    let args = vec![arg.value];
                    self.options.push(Option_ { name: name.to_owned(), args, method: false });
                }
                None if arg.spread => {
                    self.spread.push(arg.value);
                    self.note_record(values, arg.value);
                }
                None => {
                    self.positional.push(arg.value);
                    self.note_record(values, arg.value);
                }
            }
        }
    }

    fn add_record(&mut self, values: &Values<'_, '_>, id: Id) {
        if !self.is_first_look(id) {
            return;
        }
        if let Kind::Record { entries, .. } = values.tree().kind(id) {
            for entry in entries {
                match &entry.key {
                    Some(key) => self.options.push(Option_ {
                        name: key.to_string(),
                        args: vec![entry.value],
                        method: false,
                    }),
                    None => self.note_record(values, entry.value),
                }
            }
        }
    }

    /// Whether something that can hold itself was not looked into yet, and may be.
    fn is_first_look(&mut self, id: Id) -> bool {
        let first = self.written.len() < MOST_RECORDS && !self.written.contains(&id);
        if first {
            self.written.push(id);
        }
        first
    }

    /// An argument that is an object of options, here or by its name.
    fn note_record(&mut self, values: &Values<'_, '_>, id: Id) {
        let mut at = id;
        // `&T{…}`, `(x)`, a name.
        for _ in 0..4 {
            match values.tree().kind(at) {
                Kind::Record { ty: None, .. } => return self.add_record(values, at),
                Kind::Name(_) => match values.definition(at) {
                    Some(definition) => at = definition,
                    None => break,
                },
                Kind::Unary { of, .. } => at = *of,
                Kind::Other(all) if all.len() == 1 => at = all[0],
                Kind::Binary { op: Op::Or | Op::Else, right, .. } => {
                    if self.is_first_look(at) {
                        let written = std::mem::take(&mut self.written);
                        let mut usual = Self { written, ..Self::default() };
                        usual.note_record(values, *right);
                        self.written = std::mem::take(&mut usual.written);
                        self.usual.push(usual);
                    }
                    return;
                }
                _ => break,
            }
        }
        if matches!(
            values.tree().kind(at),
            Kind::Function { .. } | Kind::Call { .. } | Kind::Text(_) | Kind::Number(_)
        ) {
            return;
        }
        let value = values.of(at);
        if matches!(value.data, Data::Record(_)) {
            self.records.push(value);
        }
    }

    /// `.a(1).b(2)` after it, and what is set later on the variable that holds it.
    fn add_chain(&mut self, values: &Values<'_, '_>, id: Id, apart: &[&str]) {
        let tree = values.tree();
        let mut at = id;
        while let Some(parent) = tree.parent(at) {
            match tree.kind(parent) {
                Kind::Field { of, name } if *of == at => {
                    let Some(call) = tree.parent(parent) else { break };
                    match tree.kind(call) {
                        Kind::Call { .. } if apart.contains(name) => break,
                        Kind::Call { callee, args, .. } if *callee == parent => {
                            self.add_method(values, name, args);
                            at = call;
                            self.top = Some(call);
                        }
                        _ => break,
                    }
                }
                // An object initialiser after a construction holds the call as its type.
                Kind::Record { ty: Some(ty), .. } if *ty == at => {
                    self.add_record(values, parent);
                    at = parent;
                    self.top = Some(parent);
                }
                Kind::Unary { .. } | Kind::Await(_) | Kind::Propagate(_) => at = parent,
                Kind::Other(all) | Kind::List(all) if all.len() == 1 => at = parent,
                Kind::Let { target, value: Some(value), .. } if *value == at => {
                    self.add_later(values, *target, parent, apart);
                    break;
                }
                Kind::Assign { target, value, .. } if *value == at => {
                    self.add_later(values, *target, parent, apart);
                    break;
                }
                _ => break,
            }
        }
    }

    fn add_method(&mut self, values: &Values<'_, '_>, name: &str, args: &[Arg<'_>]) {
        let ids = args.iter().map(|arg| arg.value).collect();
        self.options.push(Option_ { name: name.to_owned(), args: ids, method: true });
        for arg in args {
            if let Some(key) = arg.name {
                let args = vec![arg.value];
                self.options.push(Option_ { name: key.to_owned(), args, method: false });
            } else if matches!(values.tree().kind(arg.value), Kind::Record { ty: None, .. }) {
                self.add_record(values, arg.value);
            }
        }
    }

    /// Assignments to fields of the variable and methods called on it, in the same function.
    fn add_later(&mut self, values: &Values<'_, '_>, target: Id, after: Id, apart: &[&str]) {
        let tree = values.tree();
        let target = match tree.kind(target) {
            // `x, err := f()`
            Kind::List(all) if !all.is_empty() => all[0],
            _ => target,
        };
        let name = tree.source(target);
        if !matches!(tree.kind(target), Kind::Name(_) | Kind::Field { .. }) || name.len() > 80 {
            return;
        }
        let root = tree.function_of(after).unwrap_or_else(|| tree.root());
        let end = tree.span(after).end;
        for id in tree.walk(root) {
            if tree.span(id).start < end {
                continue;
            }
            match tree.kind(id) {
                Kind::Assign { op: None, target, value } => {
                    if let Kind::Field { of, name: field } = tree.kind(*target)
                        && tree.source(*of) == name
                    {
                        let args = vec![*value];
                        self.options.push(Option_ {
                            name: (*field).to_owned(),
                            args,
                            method: false,
                        });
                    }
                }
                Kind::Call { callee, args, .. } => {
                    if let Kind::Field { of, name: method } = tree.kind(*callee)
                        && tree.source(*of) == name
                        && !apart.contains(method)
                    {
                        self.add_method(values, method, args);
                    }
                }
                _ => {}
            }
        }
    }

    /// What the decorators of the function around a place give: less than what it is given itself.
    pub(super) fn add_decorators(&mut self, values: &Values<'_, '_>, id: Id) {
        let mut around = Self::default();
        for decorator in decorators(values.tree(), id) {
            if let Kind::Call { args, .. } = values.tree().kind(*decorator) {
                around.add_args(values, args);
            }
        }
        around.options.append(&mut self.options);
        self.options = around.options;
    }

    /// Keeps what a method is called on: parts may stand there.
    pub(super) fn receiver(&mut self, tree: &Tree<'_>, name: Id) {
        if let Kind::Field { of, .. } = tree.kind(name) {
            self.receiver = Some(*of);
        }
    }

    /// What the closures among the arguments set and call.
    pub(super) fn add_closures(&mut self, values: &Values<'_, '_>, id: Id) {
        let tree = values.tree();
        let Kind::Call { args, .. } = tree.kind(id) else { return };
        for arg in args {
            let Kind::Function { body, .. } = tree.kind(arg.value) else { continue };
            for inside in tree.walk_here(*body).take(200) {
                match tree.kind(inside) {
                    Kind::Assign { op: None, target, value } => {
                        if let Some(name) = tree.last_name(*target) {
                            let args = vec![*value];
                            let name = name.to_owned();
                            self.options.push(Option_ { name, args, method: false });
                        }
                    }
                    Kind::Call { callee, args, .. } => {
                        if let Some(name) = tree.last_name(*callee) {
                            self.add_method(values, name, args);
                        }
                    }
                    _ => {}
                }
            }
        }
    }

    /// Whether something that a shape needs is given: an option, or `@NAME` as an argument.
    pub(super) fn has_needed(&self, values: &Values<'_, '_>, path: &str) -> bool {
        match path.strip_prefix('@') {
            Some(name) => {
                self.positional.iter().any(|id| values.tree().last_name(*id) == Some(name))
            }
            None => self.has(values, path) || self.method(path).is_some(),
        }
    }

    /// Whether an option is given.
    fn has(&self, values: &Values<'_, '_>, path: &str) -> bool {
        self.find(values, path, Unit::Ms).is_some()
    }

    /// Whether a method was chained.
    pub(super) fn method(&self, name: &str) -> Option<&[Id]> {
        let found = self.options.iter().rev().find(|option| option.method && option.name == name);
        found.map(|option| option.args.as_slice())
    }

    /// The value of an option: `name`, `name.inner`, `#0`, `name#1`.
    pub(super) fn find(&self, values: &Values<'_, '_>, path: &str, unit: Unit) -> Option<Found> {
        let (name, position) = match path.split_once('#') {
            Some((name, position)) => (name, position.parse::<usize>().ok()?),
            None => (path, 0),
        };
        if name.is_empty() {
            let args = &self.positional;
            return args.get(position).map(|id| found(values, *id, args.get(position + 1), unit));
        }
        // An option of exactly this name comes before one that holds it.
        if let Some(option) = self.options.iter().rev().find(|option| option.name == name) {
            let args = &option.args;
            if let Some(id) = args.get(position) {
                return Some(found(values, *id, args.get(position + 1), unit));
            }
            return None;
        }
        let (first, rest) = name.split_once('.').unwrap_or((name, ""));
        if !rest.is_empty()
            && let Some(option) = self.options.iter().rev().find(|option| option.name == first)
        {
            let id = *option.args.first()?;
            return inner(values, id, rest);
        }
        for record in self.records.iter().rev() {
            let mut at = Some(record);
            for part in name.split('.') {
                at = at.and_then(|value| value.entry(part));
            }
            if let Some(value) = at {
                return Some(Found { value: value.clone(), node: None });
            }
        }
        let mut found = self.usual.iter().find_map(|given| given.find(values, path, unit))?;
        found.value = found.value.at_most(Trust::Usual);
        Some(found)
    }

    /// Every expression that is given, for parts that may stand anywhere in it.
    pub(super) fn nodes(&self) -> impl Iterator<Item = Id> + '_ {
        let options = self.options.iter().flat_map(|option| option.args.iter());
        self.positional.iter().chain(&self.spread).chain(options).copied().chain(self.receiver)
    }
}

/// An entry deeper inside an expression; its own node where the object is written out.
fn inner(values: &Values<'_, '_>, id: Id, path: &str) -> Option<Found> {
    let mut at = values.definition(id).unwrap_or(id);
    let mut rest = path;
    while !rest.is_empty() {
        let (first, after) = rest.split_once('.').unwrap_or((rest, ""));
        let Kind::Record { entries, .. } = values.tree().kind(at) else {
            let mut value = values.of(at);
            for part in rest.split('.') {
                value = value.entry(part)?.clone();
            }
            return Some(Found { value, node: None });
        };
        let entry = entries.iter().rev().find(|entry| entry.key.as_deref() == Some(first))?;
        at = entry.value;
        if !after.is_empty() {
            at = values.definition(at).unwrap_or(at);
        }
        rest = after;
    }
    Some(Found { value: values.of(at), node: Some(at) })
}

/// A value; with a unit as the next argument, `withDelay(1, SECONDS)`, a duration.
fn found(values: &Values<'_, '_>, id: Id, next: Option<&Id>, unit: Unit) -> Found {
    let mut value = values.of(id);
    let _ = unit;
    if let (Data::Number(number), Some(next)) = (&value.data, next) {
        let text = values.tree().source(*next);
        let last = text.rsplit(['.', ':']).next().unwrap_or(text);
        let of_time = text.contains("Unit") || last.len() > 5;
        if let Some(written) = Unit::of_word(last)
            && of_time
            && last.bytes().all(|byte| byte.is_ascii_uppercase())
        {
            value.data = Data::Duration(number * written.millis());
        }
    }
    Found { value, node: Some(id) }
}
