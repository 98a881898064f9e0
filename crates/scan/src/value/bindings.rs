//! Where each name of a file gets its value.

use foldhash::HashMap;

use crate::tree::{Id, Kind, LoopForm, Tree};

/// One place that gives a name a value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Binding {
    /// The function, class or file in which the name lives.
    pub(super) scope: Id,
    /// The declaration or assignment.
    pub(super) at: Id,
    /// The value, if it is one expression.
    pub(super) value: Option<Id>,
    /// Whether it changes what was there (`op=`, `++`) or is set anew by a loop.
    pub(super) changes: bool,
}

/// All of a file.
#[derive(Debug, Default)]
pub(super) struct Bindings<'s> {
    /// By name.
    pub(super) names: HashMap<&'s str, Vec<Binding>>,
    /// Assignments to a field, by the field: `self.x = …`, `cfg.x = …`.
    pub(super) fields: HashMap<&'s str, Vec<Binding>>,
    /// Entries of records, by key.
    pub(super) entries: HashMap<String, Vec<Id>>,
    /// Functions with a name.
    pub(super) functions: HashMap<&'s str, Vec<Id>>,
    /// Classes with a name, and `impl` blocks.
    pub(super) classes: HashMap<&'s str, Vec<Id>>,
}

impl<'s> Bindings<'s> {
    pub(super) fn of(tree: &Tree<'s>) -> Self {
        let mut all = Self::default();
        for id in tree.ids() {
            match tree.kind(id) {
                Kind::Let { target, value, .. } => all.target(tree, id, *target, *value, false),
                Kind::Assign { op, target, value } => {
                    all.target(tree, id, *target, Some(*value), op.is_some());
                }
                Kind::Step { of, .. } => all.target(tree, id, *of, None, true),
                Kind::Loop { form: LoopForm::Each { var: Some(var), .. }, .. } => {
                    all.target(tree, id, *var, None, true);
                }
                Kind::Record { entries, .. } => {
                    for entry in entries {
                        if let Some(key) = &entry.key {
                            all.entries.entry(key.to_string()).or_default().push(entry.value);
                        }
                    }
                }
                Kind::Function { name: Some(name), .. } => {
                    all.functions.entry(name).or_default().push(id);
                }
                Kind::Class { name: Some(name), .. } => {
                    all.classes.entry(name).or_default().push(id);
                }
                _ => {}
            }
        }
        all
    }

    fn target(&mut self, tree: &Tree<'s>, at: Id, to: Id, value: Option<Id>, changes: bool) {
        match tree.kind(to) {
            Kind::Name(name) => {
                let binding = Binding { scope: scope(tree, at), at, value, changes };
                self.names.entry(name).or_default().push(binding);
            }
            Kind::Field { name, .. } => {
                let binding = Binding { scope: scope(tree, at), at, value, changes };
                self.fields.entry(name).or_default().push(binding);
            }
            // `a, b = 1, 2` gives each its own; anything else of several names is not followed.
            Kind::List(all) => {
                let values = match value.map(|value| tree.kind(value)) {
                    Some(Kind::List(values)) if values.len() == all.len() => Some(values.clone()),
                    _ => None,
                };
                for (index, part) in all.clone().into_iter().enumerate() {
                    let value = values.as_ref().and_then(|values| values.get(index).copied());
                    // `x, err := f()`: the first is what `f` gives.
                    let value = value.or(if index == 0 && all.len() == 2 {
                        value_of_call(tree, value_or(at, tree))
                    } else {
                        None
                    });
                    if matches!(tree.kind(part), Kind::Name(_) | Kind::Field { .. }) {
                        self.target(tree, at, part, value, changes);
                    }
                }
            }
            Kind::Record { entries, .. } => {
                for entry in entries.clone() {
                    if matches!(tree.kind(entry.value), Kind::Name(_)) {
                        self.target(tree, at, entry.value, None, true);
                    }
                }
            }
            _ => {}
        }
    }
}

/// The value of a declaration or an assignment.
fn value_or(at: Id, tree: &Tree<'_>) -> Option<Id> {
    match tree.kind(at) {
        Kind::Let { value, .. } => *value,
        Kind::Assign { value, .. } => Some(*value),
        _ => None,
    }
}

fn value_of_call(tree: &Tree<'_>, value: Option<Id>) -> Option<Id> {
    let value = value?;
    match tree.kind(value) {
        Kind::Call { .. } => Some(value),
        Kind::List(all) if all.len() == 1 => Some(all[0]),
        _ => None,
    }
}

/// The function, class or file whose names are seen from here. Decorators, bases and the defaults
/// of parameters stand outside of what they belong to.
pub(super) fn scope(tree: &Tree<'_>, id: Id) -> Id {
    let mut below = id;
    for up in tree.ancestors(id) {
        match tree.kind(up) {
            Kind::Function { body, .. } | Kind::Class { body, .. } if *body == below => return up,
            _ => below = up,
        }
    }
    tree.root()
}
