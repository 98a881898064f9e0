//! Helpers: functions of a repository that retry what they are given, or as often as they are told,
//! and classes whose objects do.
//!
//! How often and how long after is said by those who call them. [`Helper::told`] runs the loop of
//! the helper once more with the numbers of one caller.

use std::sync::Arc;

use foldhash::{HashMap, HashMapExt as _};

use super::Finding;
use super::file::File;
use super::find_in;
use super::machine::is_quantity;
use super::told::{Part, Told};
use super::words;
use crate::language::Language;
use crate::lower;
use crate::policy::Policy;
use crate::tree::{Id, Kind, Tree};
use crate::value::{Data, Imports, Project, Values};

/// Words in the name of a helper, besides those that speak of retries.
const NAMES: &[&str] = &["again", "repeat", "repeated", "repeatedly", "backoff"];
/// Words in the name of a parameter that holds several numbers.
const HOLDERS: &[&str] = &["opts", "options", "config", "policy", "settings", "args"];
/// Words in the name of a parameter that counts what was tried already.
const COUNTED: &[&str] = &["attempt", "current", "start", "tried"];
/// Methods of what is handed over that do it: `operation.call()`.
const DOES: &[&str] = &[
    "accept",
    "apply",
    "call",
    "execute",
    "get",
    "invoke",
    "perform",
    "run",
    "Invoke",
    "Execute",
    "InvokeAsync",
    "DynamicInvoke",
];
/// Names of constructors, besides that of the class.
const CONSTRUCTORS: &[&str] = &["__init__", "constructor", "init", "__construct"];
/// More helpers of one file are not kept.
const MOST: usize = 32;

/// A function, or a class, that retries as it is told.
#[derive(Clone, Debug)]
pub(crate) struct Helper {
    /// Its name.
    pub(crate) name: Box<str>,
    /// What it, or the constructor, is given.
    pub(crate) params: Vec<Parameter>,
    /// Whether an object of it is made first.
    pub(crate) is_class: bool,
    /// Whether what it does again is handed over.
    pub(crate) is_handed: bool,
    /// Where it is declared.
    pub(crate) line: u32,
    /// Its lines, and those of its loop: a call there is one of its own.
    pub(crate) lines: [[u32; 2]; 2],
    /// Another helper that it only hands on to.
    forwards: Option<Forwards>,
}

/// What a helper hands on.
#[derive(Clone, Debug)]
struct Forwards {
    to: Box<Helper>,
    /// The parameters of that, and what they are given.
    parts: Vec<(Box<str>, From)>,
}

#[derive(Clone, Debug)]
enum From {
    Parameter(Box<str>),
    Written(Data),
}

/// What a helper is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Parameter {
    /// Its name, or the pattern that takes it apart.
    pub(crate) name: Box<str>,
    /// Whether it says how often or how long, as far as its name tells.
    pub(crate) is_number: bool,
    /// Whether it may be left out.
    pub(crate) is_optional: bool,
}

/// Whether the name of something that is called says that it may be such a helper.
pub(crate) fn is_name(name: &str) -> bool {
    words::about_retry(name) || words::any(name, NAMES)
}

/// The helpers of a file, from what was found in it.
pub(crate) fn of(tree: &Tree<'_>, found: &[Finding]) -> Vec<Helper> {
    let mut all: Vec<Helper> = Vec::new();
    for finding in found {
        let handed = handed(tree, finding.sites.operation);
        let place = finding.sites.place;
        let around = std::iter::once(place).chain(tree.ancestors(place));
        for up in around {
            if all.len() >= MOST {
                return all;
            }
            let helper = match tree.kind(up) {
                Kind::Function { .. } => of_function(tree, up, handed),
                Kind::Class { .. } if handed => of_class(tree, up),
                _ => None,
            };
            let Some(mut helper) = helper else { continue };
            helper.lines[1] = [finding.policy.line, finding.policy.end_line];
            if !all.iter().any(|one| one.name == helper.name && one.line == helper.line) {
                all.push(helper);
            }
        }
    }
    let forwarding = forwarding(tree, &all);
    all.extend(forwarding);
    all
}

/// Whether what is done again was handed to a function around it.
fn handed(tree: &Tree<'_>, operation: Id) -> bool {
    let Kind::Call { callee, .. } = tree.kind(operation) else { return false };
    match tree.kind(*callee) {
        Kind::Field { of, name } => DOES.contains(name) && tree.is_parameter(*of),
        _ => tree.is_parameter(*callee),
    }
}

fn of_function(tree: &Tree<'_>, function: Id, is_handed: bool) -> Option<Helper> {
    let name = name_of(tree, function).filter(|name| is_name(name))?;
    let params = params_of(tree, function);
    let line = tree.span(function).line;
    params.iter().any(|param| param.is_number).then(|| Helper {
        name: name.into(),
        params,
        is_class: false,
        is_handed,
        line,
        lines: [lines_of(tree, function); 2],
        forwards: None,
    })
}

fn of_class(tree: &Tree<'_>, class: Id) -> Option<Helper> {
    let Kind::Class { name: Some(name), .. } = tree.kind(class) else { return None };
    let constructor = constructor(tree, class).filter(|_| is_name(name))?;
    let params = params_of(tree, constructor);
    let line = tree.span(class).line;
    params.iter().any(|param| param.is_number).then(|| Helper {
        name: (*name).into(),
        params,
        is_class: true,
        is_handed: true,
        line,
        lines: [lines_of(tree, class); 2],
        forwards: None,
    })
}

fn lines_of(tree: &Tree<'_>, id: Id) -> [u32; 2] {
    let span = tree.span(id);
    [span.line, span.end_line]
}

/// The functions of a file that only hand on what they are given to one of these helpers.
fn forwarding(tree: &Tree<'_>, helpers: &[Helper]) -> Vec<Helper> {
    let mut all = Vec::new();
    for id in tree.ids() {
        let Kind::Call { callee, args, .. } = tree.kind(id) else { continue };
        let Some(name) = tree.last_name(*callee) else { continue };
        let mut named = helpers.iter().filter(|one| !one.is_class && *one.name == *name);
        let (Some(to), None) = (named.next(), named.next()) else { continue };
        let Some(function) = tree.function_of(id) else { continue };
        let known = helpers.iter().chain(&all);
        let line = tree.span(function).line;
        if known.into_iter().any(|one| one.line == line) {
            continue;
        }
        let Some(mut helper) = of_function(tree, function, to.is_handed) else { continue };
        let hands = |param: &Parameter| {
            args.iter().any(
                |arg| matches!(tree.kind(arg.value), Kind::Name(name) if **name == *param.name),
            )
        };
        if helper.params.iter().filter(|param| hands(param)).count() < 2 {
            continue;
        }
        let parts = args.iter().enumerate().filter_map(|(at, arg)| {
            let param = match arg.name {
                Some(name) => to.params.iter().find(|param| *param.name == *name),
                None => to.params.get(at),
            };
            let from = match tree.kind(arg.value) {
                Kind::Name(name) => From::Parameter((*name).into()),
                Kind::Number(number) => From::Written(Data::Number(*number)),
                _ => From::Written(Data::Unknown(String::new())),
            };
            Some((param?.name.clone(), from))
        });
        let parts = parts.collect();
        helper.forwards = Some(Forwards { to: Box::new(to.clone()), parts });
        all.push(helper);
        if all.len() >= MOST {
            break;
        }
    }
    all
}

/// The one constructor of a class.
fn constructor(tree: &Tree<'_>, class: Id) -> Option<Id> {
    let Kind::Class { name: Some(class_name), body, .. } = tree.kind(class) else { return None };
    let Kind::Block(members) = tree.kind(*body) else { return None };
    let mut all = members.iter().copied().filter(|id| match tree.kind(*id) {
        Kind::Function { name: Some(name), .. } => {
            name == class_name || CONSTRUCTORS.contains(name)
        }
        _ => false,
    });
    all.next().filter(|_| all.next().is_none())
}

fn name_of<'s>(tree: &Tree<'s>, function: Id) -> Option<&'s str> {
    if let Kind::Function { name: Some(name), .. } = tree.kind(function) {
        return Some(name);
    }
    match tree.kind(tree.parent(function)?) {
        Kind::Let { target, .. } | Kind::Assign { target, .. } => tree.last_name(*target),
        _ => None,
    }
}

fn params_of(tree: &Tree<'_>, function: Id) -> Vec<Parameter> {
    let Kind::Function { params, .. } = tree.kind(function) else { return Vec::new() };
    let all = params.iter().filter(|param| !matches!(param.name, "self" | "cls" | "&self"));
    all.map(|param| {
        let holds = param.name.starts_with('{') || words::any(param.name, HOLDERS);
        // Which attempt it is, is no number of attempts.
        let counted = words::any(param.name, COUNTED) && !words::any(param.name, &["max"]);
        Parameter {
            name: param.name.into(),
            is_number: holds || is_quantity(param.name) && !counted,
            is_optional: param.default.is_some(),
        }
    })
    .collect()
}

/// A helper with the file that it is in.
pub(crate) struct Home<'h> {
    /// Its text.
    pub(crate) text: &'h Arc<str>,
    /// Its path.
    pub(crate) path: &'h str,
    /// Its language.
    pub(crate) language: Language,
    /// The other files.
    pub(crate) project: Option<&'h Project>,
}

impl Helper {
    /// What it does if it is told this.
    pub(crate) fn told(&self, home: &Home<'_>, parts: &[(Box<str>, Part)]) -> Option<Policy> {
        if let Some(Forwards { to, parts: handed_on }) = &self.forwards {
            let given = |from: &From| match from {
                From::Written(data) => Some(Part::Known(data.clone())),
                From::Parameter(name) => {
                    parts.iter().find(|(own, _)| own == name).map(|(_, part)| part.clone())
                }
            };
            let handed_on = handed_on.iter();
            let parts: Vec<_> =
                handed_on.filter_map(|(to, from)| Some((to.clone(), given(from)?))).collect();
            return to.told(home, &parts);
        }
        let tree = lower::tree(home.language, home.text)?;
        let imports = Imports::of(&tree);
        let mut values = Values::new(&tree, &imports);
        if let Some(project) = home.project {
            values = values.with_project(project, home.path);
        }
        let (whole, function) = self.place(&tree)?;
        let mut all = HashMap::new();
        all.extend(parts.iter().cloned());
        let file = File::new(&tree, home.language, Some(&values));
        let file = file.with_told(Told { function, parts: all });
        let found = find_in(&file, Some(whole)).into_iter();
        let mut found = found.filter(|one| !self.is_class || handed(&tree, one.sites.operation));
        found.next().map(|finding| finding.policy)
    }

    /// The lines of the loop that it runs.
    pub(crate) fn loop_lines(&self) -> [u32; 2] {
        match &self.forwards {
            Some(forwards) => forwards.to.loop_lines(),
            None => self.lines[1],
        }
    }

    /// Where it stands, and what takes the numbers.
    fn place(&self, tree: &Tree<'_>) -> Option<(Id, Id)> {
        tree.ids().find_map(|id| {
            if tree.span(id).line != self.line {
                return None;
            }
            match tree.kind(id) {
                Kind::Class { name: Some(name), .. } if self.is_class && **name == *self.name => {
                    Some((id, constructor(tree, id)?))
                }
                Kind::Function { .. }
                    if !self.is_class && name_of(tree, id) == Some(&*self.name) =>
                {
                    Some((id, id))
                }
                _ => None,
            }
        })
    }
}
