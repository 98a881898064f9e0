//! What is declared where in a file: functions by name, and what was written before a place.

use std::cell::RefCell;
use std::rc::Rc;

use foldhash::{HashMap, HashMapExt as _, HashSet};

use super::called::Called;
use super::caller::Caller;
use super::machine::is_quantity;
use super::value::Num;
use crate::language::Language;
use crate::tree::{Arg, Id, Kind, Op, Tree};
use crate::value::{Data, Trust, Value, Values};

/// What a name of another file is worth.
#[derive(Clone, Debug)]
pub(super) enum Worth {
    /// A number without a unit; whether it is certain.
    Number { value: f64, sure: bool },
    /// A duration; whether it is certain.
    Millis { ms: f64, sure: bool },
    /// A list of such, one for each retry; whether it is certain.
    List { all: Rc<[Num]>, sure: bool },
    /// It cannot be told.
    Unknown,
}

impl Worth {
    fn of(found: &Data, sure: bool) -> Self {
        match found {
            Data::Number(value) if value.is_finite() => Self::Number { value: *value, sure },
            Data::Duration(ms) if ms.is_finite() => Self::Millis { ms: *ms, sure },
            Data::List(all) if !all.is_empty() => {
                let one = |one: &Value| match one.data {
                    Data::Number(value) if value.is_finite() => Some(Num::exact(value)),
                    Data::Duration(ms) if ms.is_finite() => Some(Num::ms(ms)),
                    _ => None,
                };
                match all.iter().map(one).collect() {
                    Some(all) => Self::List { all, sure },
                    None => Self::Unknown,
                }
            }
            _ => Self::Unknown,
        }
    }
}

/// A file with what is looked up in it again and again.
pub(super) struct File<'t, 's> {
    /// Its tree.
    pub(super) tree: &'t Tree<'s>,
    /// Its language.
    pub(super) language: Language,
    /// What is asked about names that are declared in other files.
    values: Option<&'t Values<'t, 's>>,
    /// What one caller tells a function of it.
    caller: Option<Caller>,
    /// What they answered: each run of the interpreter asks the same.
    answers: RefCell<HashMap<Id, Worth>>,
    functions: HashMap<&'s str, Vec<Id>>,
    assigned: HashMap<&'s str, Vec<Id>>,
    calls: HashMap<&'s str, Vec<Id>>,
    /// Objects and the names of the functions that are written in them.
    objects: HashSet<(&'s str, &'s str)>,
    /// The keys of fields, which a loop that is run asks for in every round.
    keys: RefCell<HashMap<Id, Rc<str>>>,
    /// What the words of calls say.
    called: RefCell<HashMap<Id, Rc<Called<'s>>>>,
}

impl<'t, 's> File<'t, 's> {
    /// Looks through a tree once.
    pub(super) fn new(
        tree: &'t Tree<'s>,
        language: Language,
        values: Option<&'t Values<'t, 's>>,
    ) -> Self {
        let mut functions: HashMap<&'s str, Vec<Id>> = HashMap::new();
        let mut assigned: HashMap<&'s str, Vec<Id>> = HashMap::new();
        let mut calls: HashMap<&'s str, Vec<Id>> = HashMap::new();
        for id in tree.ids() {
            match tree.kind(id) {
                Kind::Function { name: Some(name), .. } => {
                    functions.entry(name).or_default().push(id);
                }
                Kind::Let { target, value, .. } => {
                    if let Some(name) = tree.last_name(*target) {
                        assigned.entry(name).or_default().push(id);
                        if let Some(value) = value
                            && matches!(tree.kind(*value), Kind::Function { .. })
                        {
                            functions.entry(name).or_default().push(*value);
                        }
                    } else if let Kind::List(all) = tree.kind(*target) {
                        for one in all {
                            if let Some(name) = tree.last_name(*one) {
                                assigned.entry(name).or_default().push(id);
                            }
                        }
                    }
                }
                Kind::Assign { target, .. } => {
                    if let Some(name) = tree.last_name(*target) {
                        assigned.entry(name).or_default().push(id);
                    } else if let Kind::List(all) = tree.kind(*target) {
                        for one in all {
                            if let Some(name) = tree.last_name(*one) {
                                assigned.entry(name).or_default().push(id);
                            }
                        }
                    }
                }
                Kind::Call { callee, .. } => {
                    if let Some(name) = tree.last_name(*callee) {
                        calls.entry(name).or_default().push(id);
                    }
                }
                _ => {}
            }
        }
        let named = functions.iter().flat_map(|(name, ids)| ids.iter().map(|id| (*name, *id)));
        let objects = named.filter_map(|(name, id)| Some((object_of(tree, id)?, name))).collect();
        Self {
            tree,
            language,
            values,
            caller: None,
            objects,
            answers: RefCell::default(),
            keys: RefCell::default(),
            called: RefCell::default(),
            functions,
            assigned,
            calls,
        }
    }

    /// From now on as this caller finds it.
    pub(super) fn called_by(&mut self, caller: Caller) {
        self.caller = Some(caller);
    }

    /// The caller, if one is looked at.
    pub(super) fn caller(&self) -> Option<&Caller> {
        self.caller.as_ref()
    }

    /// What is asked about values, if anything is.
    pub(super) fn values(&self) -> Option<&'t Values<'t, 's>> {
        self.values
    }

    /// What a name is worth that this file does not declare.
    pub(super) fn worth(&self, id: Id) -> Worth {
        let Some(values) = self.values else { return Worth::Unknown };
        if let Some(known) = self.answers.borrow().get(&id) {
            return known.clone();
        }
        let found = values.of(id);
        let worth = Worth::of(&found.data, found.trust == Trust::Exact);
        self.answers.borrow_mut().insert(id, worth.clone());
        worth
    }

    /// Whether a call asks an object for a number that counts or waits, as `config.getMaxRetries()`.
    pub(super) fn is_getter(&self, call: Id) -> bool {
        let Kind::Call { callee, args, .. } = self.tree.kind(call) else { return false };
        let Kind::Field { name, .. } = self.tree.kind(*callee) else { return false };
        args.is_empty() && name.to_ascii_lowercase().starts_with("get") && is_quantity(name)
    }

    /// What a field of this name is usually worth, as other files say.
    pub(super) fn usual_field(&self, name: &str) -> Worth {
        let found = self.values.and_then(|values| values.field_elsewhere(name));
        found.map_or(Worth::Unknown, |found| Worth::of(&found.data, false))
    }

    /// What the words of a call say.
    pub(super) fn called(&self, call: Id, callee: Id, args: &[Arg<'s>]) -> Rc<Called<'s>> {
        if let Some(known) = self.called.borrow().get(&call) {
            return Rc::clone(known);
        }
        let called = Rc::new(Called::of(self, call, callee, args));
        self.called.borrow_mut().insert(call, Rc::clone(&called));
        called
    }

    /// The functions of this name.
    pub(super) fn functions(&self, name: &str) -> &[Id] {
        self.functions.get(name).map_or(&[], Vec::as_slice)
    }

    /// The names of all functions with their places.
    pub(super) fn all_functions(&self) -> impl Iterator<Item = (&'s str, Id)> + '_ {
        self.functions.iter().flat_map(|(name, ids)| ids.iter().map(move |id| (*name, *id)))
    }

    /// Where a name or a field of this name is given a value.
    pub(super) fn assigned(&self, name: &str) -> &[Id] {
        self.assigned.get(name).map_or(&[], Vec::as_slice)
    }

    /// Whether a variable or a field is counted up in a place: `n++`, `self.n += 1`.
    pub(super) fn is_counted_up(&self, place: Id, id: Id) -> bool {
        let key = self.key(id);
        self.tree.walk_here(place).any(|at| match self.tree.kind(at) {
            Kind::Step { of, by: 1, .. } => self.key(*of) == key,
            Kind::Assign { op: Some(Op::Add), target, .. } => self.key(*target) == key,
            _ => false,
        })
    }

    /// The calls of something of this name.
    pub(super) fn calls(&self, name: &str) -> &[Id] {
        self.calls.get(name).map_or(&[], Vec::as_slice)
    }

    /// Whether two functions are of one class. Go's methods have one each, by the name of the type.
    pub(super) fn same_class(&self, one: Id, other: Id) -> bool {
        let (one, other) = (self.tree.class_of(one), self.tree.class_of(other));
        let name = |class: Option<Id>| class.and_then(|class| self.class_name(class));
        one == other || self.language == Language::Go && name(one) == name(other)
    }

    /// The function that a call in this file means, if that is one only: `f()`, `self.f()`,
    /// `this.f()`, `Self::f()`.
    pub(super) fn callee(&self, call: Id) -> Option<Id> {
        let Kind::Call { callee, new: false, .. } = self.tree.kind(call) else { return None };
        let (name, own) = match self.tree.kind(*callee) {
            Kind::Name(name) => (*name, false),
            Kind::Field { of, name } => {
                let of = self.tree.last_name(*of)?;
                let class = self.tree.class_of(call).and_then(|class| self.class_name(class));
                // Go's receivers have any name: one of a lower-case word that is short.
                let receiver = self.language == Language::Go && of.len() <= 2;
                let own = matches!(of, "self" | "this" | "cls" | "Self" | "me")
                    || class == Some(of)
                    || receiver
                    || self.objects.contains(&(of, *name));
                own.then_some((*name, true))?
            }
            _ => return None,
        };
        let known = self.functions(name);
        let all: Vec<Id> = known.iter().copied().filter(|id| self.takes(*id, call)).collect();
        match all[..] {
            [] => None,
            [only] => Some(only),
            _ => {
                let class = self.tree.class_of(call);
                let mut near = all.iter().filter(|id| self.tree.class_of(**id) == class);
                match (near.next(), near.next()) {
                    (Some(one), None) => Some(*one),
                    // Overloads: the one that the call stands in is as good as any.
                    (Some(_), Some(_)) if own => {
                        self.tree.ancestors(call).find(|up| all.contains(up))
                    }
                    _ => self.tree.ancestors(call).find(|up| all.contains(up)),
                }
            }
        }
    }

    /// The name of the object that a function is written in.
    pub(super) fn object_of(&self, function: Id) -> Option<&'s str> {
        object_of(self.tree, function)
    }

    /// What a loop goes through of which only the rounds matter: `itertools.count(1)`,
    /// `repeat(None, 3)`. Its name and what it is given.
    pub(super) fn counts_up(&self, over: Id) -> Option<(&'s str, &'t [Arg<'s>])> {
        let Kind::Call { callee, args, .. } = self.tree.kind(over) else { return None };
        let name = match (self.language, self.tree.kind(*callee)) {
            (Language::Python, Kind::Name(name)) => *name,
            (Language::Python, Kind::Field { of, name }) => match self.tree.kind(*of) {
                Kind::Name("itertools") => *name,
                _ => return None,
            },
            _ => return None,
        };
        let counts = matches!(name, "count" | "repeat") && self.callee(over).is_none();
        counts.then_some((name, &args[..]))
    }

    /// Whether a function can take the arguments of a call: overloads have the same name.
    pub(super) fn takes(&self, function: Id, call: Id) -> bool {
        use Language as L;
        if !matches!(self.language, L::Java | L::Kotlin | L::CSharp | L::Go) {
            return true;
        }
        let (Kind::Function { params, .. }, Kind::Call { args, .. }) =
            (self.tree.kind(function), self.tree.kind(call))
        else {
            return true;
        };
        let open = args.iter().any(|arg| arg.spread)
            || params.last().is_some_and(|last| {
                last.ty.is_some_and(|ty| ty.contains("...") || ty.ends_with("[]"))
            });
        // In Go one call can give what another takes: `store(load())`.
        let gives = match args[..] {
            [Arg { value, .. }] => matches!(self.tree.kind(value), Kind::Call { .. }),
            _ => false,
        };
        let open = open || self.language == L::Go && gives;
        // A parameter of any number may not be told from its type.
        let many = self.language == L::Kotlin && self.tree.source(function).contains("vararg");
        let needed = params.iter().filter(|param| param.default.is_none()).count();
        open || many || (args.len() <= params.len() && args.len() >= needed)
    }

    fn class_name(&self, class: Id) -> Option<&'s str> {
        match self.tree.kind(class) {
            Kind::Class { name, .. } => *name,
            _ => None,
        }
    }

    /// Whether `inner` is `outer` or stands in it.
    pub(super) fn within(&self, inner: Id, outer: Id) -> bool {
        inner == outer || self.tree.ancestors(inner).any(|up| up == outer)
    }

    /// The name of a function, also of a closure that is given one.
    pub(super) fn function_name(&self, function: Id) -> Option<&'s str> {
        self.tree.function_name(function)
    }

    /// The text of a node in one line without spaces that do not matter, shortened.
    pub(super) fn brief(&self, id: Id, most: usize) -> String {
        let mut out = String::new();
        for word in self.tree.source(id).split_whitespace() {
            if !out.is_empty() {
                out.push(' ');
            }
            out.push_str(word);
            if out.len() > most {
                break;
            }
        }
        if out.chars().count() > most {
            out = out.chars().take(most.saturating_sub(1)).collect();
            out.push('…');
        }
        out
    }

    /// A field's key: its text without spaces and without the object itself.
    pub(super) fn key(&self, id: Id) -> Rc<str> {
        if let Some(key) = self.keys.borrow().get(&id) {
            return key.clone();
        }
        let text = self.squeezed(id).replace("?.", ".");
        let own = ["this.", "self.", "$this->"].iter().find_map(|own| text.strip_prefix(own));
        let key: Rc<str> = own.unwrap_or(&text).into();
        self.keys.borrow_mut().insert(id, key.clone());
        key
    }

    /// A node's text without any white space, to compare calls by.
    pub(super) fn squeezed(&self, id: Id) -> String {
        self.tree.source(id).chars().filter(|c| !c.is_whitespace()).collect()
    }
}

/// The name of the object that a function is written in: of `const tasks = { connect() { … } }` it
/// is `tasks`.
fn object_of<'s>(tree: &Tree<'s>, function: Id) -> Option<&'s str> {
    let object = tree.parent(function)?;
    if !matches!(tree.kind(object), Kind::Record { .. }) {
        return None;
    }
    match tree.kind(tree.parent(object)?) {
        Kind::Let { target, .. } | Kind::Assign { target, .. } => tree.last_name(*target),
        _ => None,
    }
}
