//! Helpers: functions of a repository that retry what they are given, or as often as they are told,
//! and classes whose objects do.
//!
//! How often and how long after is said by those who call them. [`Home::answers`] runs the loop of
//! a helper once more for each of its callers, with the numbers of that caller.

use super::caller::{Caller, Part, Parts};
use super::candidate;
use super::file::File;
use super::judge::Budget;
use super::machine::is_quantity;
use super::words;
use super::{Finding, by_shape};
use crate::language::Language;
use crate::lower;
use crate::policy::{Attempts, Policy};
use crate::tree::{Id, Kind, Param, Tree};
use crate::value::{Data, Imports, Project, Values};

/// Words in the name of a helper, besides those that speak of retries.
const NAMES: &[&str] = &["again", "repeat", "repeated", "repeatedly", "backoff"];
/// Words in the name of a parameter that holds several numbers.
pub(super) const HOLDERS: &[&str] = &["opts", "options", "config", "policy", "settings", "args"];
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
/// The most steps of all runs for the callers of one file's helpers: two seconds' work.
const STEPS: u64 = 8_000_000;

/// A function, or a class, that retries as it is told.
#[derive(Clone, Debug)]
pub(crate) struct Helper {
    /// Its name.
    pub(crate) name: Box<str>,
    /// What it, or the constructor, is given.
    params: Vec<Parameter>,
    /// Whether an object of it is made first.
    is_class: bool,
    /// Whether what it does again is handed over.
    pub(crate) is_handed: bool,
    /// Its lines.
    lines: [u32; 2],
    /// Those of the loop that it runs.
    pub(crate) runs: [u32; 2],
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
    Written(Part),
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
        let limit = match &finding.policy.attempts_total.value {
            Attempts::Dynamic { expression, .. } => expression.as_str(),
            _ => "",
        };
        let place = finding.sites.place;
        let around = std::iter::once(place).chain(tree.ancestors(place));
        for up in around {
            if all.len() >= MOST {
                return all;
            }
            let helper = match tree.kind(up) {
                Kind::Function { .. } => of_function(tree, up, handed, limit),
                Kind::Class { .. } if handed => of_class(tree, up, limit),
                _ => None,
            };
            let Some(mut helper) = helper else { continue };
            helper.runs = [finding.policy.line, finding.policy.end_line];
            if !all.iter().any(|one| one.name == helper.name && one.lines == helper.lines) {
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

fn of_function(tree: &Tree<'_>, function: Id, is_handed: bool, limit: &str) -> Option<Helper> {
    let name = tree.function_name(function)?;
    let params = params_of(tree, function, limit);
    declared(tree, function, name, params, is_handed)
}

fn of_class(tree: &Tree<'_>, class: Id, limit: &str) -> Option<Helper> {
    let Kind::Class { name: Some(name), .. } = tree.kind(class) else { return None };
    let params = params_of(tree, constructor(tree, class)?, limit);
    declared(tree, class, name, params, true)
}

/// What is declared there, if it may be a helper.
fn declared(
    tree: &Tree<'_>,
    place: Id,
    name: &str,
    params: Vec<Parameter>,
    is_handed: bool,
) -> Option<Helper> {
    let span = tree.span(place);
    let lines = [span.line, span.end_line];
    let is_one = is_name(name) && params.iter().any(|param| param.is_number);
    is_one.then(|| Helper {
        name: name.into(),
        params,
        is_class: matches!(tree.kind(place), Kind::Class { .. }),
        is_handed,
        lines,
        runs: lines,
        forwards: None,
    })
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
        if known.into_iter().any(|one| one.lines[0] == line) {
            continue;
        }
        let Some(mut helper) = of_function(tree, function, to.is_handed, "") else { continue };
        let hands = |param: &Parameter| {
            args.iter().any(
                |arg| matches!(tree.kind(arg.value), Kind::Name(name) if **name == *param.name),
            )
        };
        if helper.params.iter().filter(|param| hands(param)).count() < 2 {
            continue;
        }
        let parts = args.iter().enumerate().filter_map(|(at, arg)| {
            let from = match tree.kind(arg.value) {
                Kind::Name(name) => From::Parameter((*name).into()),
                Kind::Number(number) => From::Written(Part::Known(Data::Number(*number))),
                _ => From::Written(Part::Known(Data::Unknown(String::new()))),
            };
            Some((to.param(at, arg.name)?.name.clone(), from))
        });
        let parts = parts.collect();
        helper.runs = to.runs;
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

/// What a function is given; `limit` is the expression of how often it tries.
fn params_of(tree: &Tree<'_>, function: Id, limit: &str) -> Vec<Parameter> {
    let Kind::Function { params, .. } = tree.kind(function) else { return Vec::new() };
    let parameter = |param: &Param<'_>| {
        let holds = param.name.starts_with('{') || words::any(param.name, HOLDERS);
        // Which attempt it is, is no number of attempts.
        let counted = words::any(param.name, COUNTED) && !words::any(param.name, &["max"]);
        let limits = limit.split(' ').any(|word| word == param.name);
        Parameter {
            name: param.name.into(),
            is_number: holds || limits || is_quantity(param.name) && !counted,
            is_optional: param.default.is_some(),
        }
    };
    params.iter().map(parameter).collect()
}

/// A file with helpers.
#[derive(Debug)]
pub(crate) struct Home {
    /// Its path.
    pub(crate) path: String,
    /// Its language.
    pub(crate) language: Language,
    /// Its text.
    pub(crate) text: String,
}

impl Home {
    /// What its helpers do for these callers, one after the other, as far as the work may go.
    pub(crate) fn answers<'a>(
        &self,
        project: &Project,
        asked: impl IntoIterator<Item = (&'a Helper, &'a Parts)>,
    ) -> Vec<Option<Policy>> {
        let Some(tree) = lower::tree(self.language, &self.text) else { return Vec::new() };
        let imports = Imports::of(&tree);
        let values = Values::new(&tree, &imports).with_project(project, &self.path);
        let mut file = File::new(&tree, self.language, Some(&values));
        let candidates = candidate::all(&file);
        let mut budget = Budget { steps: STEPS };
        let mut answer = |helper: &Helper, parts: &Parts, budget: &mut Budget| {
            let (helper, parts) = helper.behind(parts);
            let (whole, function) = helper.place(&tree)?;
            file.called_by(Caller { function, parts: parts.into_iter().collect() });
            let inside = candidates.iter().filter(|one| file.within(one.place, whole));
            let mut found = by_shape(&file, inside, budget).into_iter();
            let own = |one: &Finding| !helper.is_class || handed(&tree, one.sites.operation);
            found.find(own).map(|finding| finding.policy)
        };
        let asked = asked.into_iter();
        asked
            .map_while(|(helper, parts)| {
                let answer = answer(helper, parts, &mut budget);
                (budget.steps > 0).then_some(answer)
            })
            .collect()
    }
}

impl Helper {
    /// The parameter that an argument is for.
    pub(crate) fn param(&self, at: usize, name: Option<&str>) -> Option<&Parameter> {
        match name {
            Some(name) => self.params.iter().find(|param| *param.name == *name),
            None => self.params.get(at),
        }
    }

    /// Whether a line is one of its own, or of its loop: a call there is part of it.
    pub(crate) fn has(&self, line: u32) -> bool {
        [self.lines, self.runs].iter().any(|lines| (lines[0]..=lines[1]).contains(&line))
    }

    /// The helper that has the loop, and what that is told.
    fn behind(&self, parts: &Parts) -> (&Self, Parts) {
        let Some(Forwards { to, parts: handed_on }) = &self.forwards else {
            return (self, parts.clone());
        };
        let given = |from: &From| match from {
            From::Written(part) => Some(part.clone()),
            From::Parameter(name) => {
                parts.iter().find(|(own, _)| own == name).map(|(_, part)| part.clone())
            }
        };
        let handed_on = handed_on.iter();
        (to, handed_on.filter_map(|(to, from)| Some((to.clone(), given(from)?))).collect())
    }

    /// Where it stands, and what takes the numbers.
    fn place(&self, tree: &Tree<'_>) -> Option<(Id, Id)> {
        tree.ids().filter(|id| tree.span(*id).line == self.lines[0]).find_map(|id| {
            match tree.kind(id) {
                Kind::Class { name: Some(name), .. } if self.is_class && **name == *self.name => {
                    Some((id, constructor(tree, id)?))
                }
                Kind::Function { .. }
                    if !self.is_class && tree.function_name(id) == Some(&*self.name) =>
                {
                    Some((id, id))
                }
                _ => None,
            }
        })
    }
}
