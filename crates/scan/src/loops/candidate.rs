//! What may be a retry: loops, functions that call themselves, jumps backward, the same call
//! twice. And in each, which calls may be the operation.

use std::collections::{HashMap, HashSet};

use super::file::File;
use super::words;
use crate::tree::{Id, Kind, LoopForm};

/// The form of a repetition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Counted,
    Each,
    While,
    Endless,
    Recursion,
    Again,
    Goto,
    Repeat,
    Iterator,
}

impl Shape {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Counted => "counted-loop",
            Self::Each => "loop-over-range",
            Self::While => "while-loop",
            Self::Endless => "endless-loop",
            Self::Recursion => "recursion",
            Self::Again => "retry-keyword",
            Self::Goto => "goto",
            Self::Repeat => "repeated-once",
            Self::Iterator => "lazy-iterator",
        }
    }
}

/// Something that may be a retry.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) shape: Shape,
    /// Where a run begins.
    pub(super) entry: Id,
    /// The loop.
    pub(super) subject: Option<Id>,
    /// The function that calls itself.
    pub(super) recursive: Option<Id>,
    /// Where it is: the loop, the function, the `try`.
    pub(super) place: Id,
    /// The calls that may be the operation: each group is one operation.
    pub(super) groups: Vec<Vec<Id>>,
}

/// More calls than this in one place are not looked at.
const MOST_GROUPS: usize = 10;
/// More functions than this with the same call twice are not looked at.
const MOST_REPEATS: usize = 24;

/// All candidates of a file, the inner ones first.
pub(super) fn all(file: &File<'_, '_>) -> Vec<Candidate> {
    let tree = file.tree;
    let mut out = Vec::new();
    for id in tree.ids() {
        match tree.kind(id) {
            Kind::Loop { form, .. } => out.extend(a_loop(file, id, form)),
            Kind::Try { handlers, .. } => {
                let again = handlers.iter().any(|handler| {
                    tree.walk(handler.body).any(|at| matches!(tree.kind(at), Kind::Again))
                });
                if again {
                    let groups = operations(file, id, &HashSet::new(), None);
                    out.push(Candidate {
                        shape: Shape::Again,
                        entry: id,
                        subject: None,
                        recursive: None,
                        place: id,
                        groups,
                    });
                }
            }
            Kind::Block(all) => out.extend(gotos(file, id, all)),
            Kind::Function { body, .. } => {
                out.extend(repeats(file, *body));
            }
            Kind::Call { callee, args, .. } if args.len() == 1 => {
                if let Kind::Field { of, name: "find_map" | "any" | "find" | "some" } = tree.kind(*callee)
                    && matches!(tree.kind(*of), Kind::Range { .. })
                    && let Some(entry) = statement(file, id)
                {
                    let mut groups = Vec::new();
                    for call in tree.walk(args[0].value) {
                        if let Kind::Call { callee, new, .. } = tree.kind(call)
                            && may_be_operation(file, call, *callee, *new)
                        {
                            groups.push(vec![call]);
                        }
                    }
                    groups.truncate(MOST_GROUPS);
                    out.push(Candidate {
                        shape: Shape::Iterator,
                        entry,
                        subject: None,
                        recursive: None,
                        place: id,
                        groups,
                    });
                }
            }
            _ => {}
        }
    }
    out.extend(repeats(file, tree.root()));
    out.extend(recursions(file));
    out.retain(|candidate| !candidate.groups.is_empty());
    out
}

fn a_loop(file: &File<'_, '_>, id: Id, form: &LoopForm) -> Option<Candidate> {
    let tree = file.tree;
    let mut vars = HashSet::new();
    let shape = match form {
        LoopForm::Endless => Shape::Endless,
        LoopForm::While(_) | LoopForm::DoWhile(_) => Shape::While,
        LoopForm::Counted { init, step, .. } => {
            for part in init.iter().chain(step) {
                for at in tree.walk(*part) {
                    let target = match tree.kind(at) {
                        Kind::Let { target, .. } | Kind::Assign { target, .. } => *target,
                        Kind::Step { of, .. } => *of,
                        _ => continue,
                    };
                    vars.extend(tree.last_name(target));
                }
            }
            if init.is_none() && step.is_none() { Shape::While } else { Shape::Counted }
        }
        LoopForm::Each { var, .. } => {
            if let Some(var) = var {
                vars.extend(tree.walk(*var).filter_map(|at| tree.last_name(at)));
            }
            Shape::Each
        }
    };
    vars.remove("_");
    let derived = derived(file, id, vars);
    let groups = operations(file, id, &derived, Some(id));
    (!groups.is_empty()).then_some(Candidate {
        shape,
        entry: id,
        subject: Some(id),
        recursive: None,
        place: id,
        groups,
    })
}

/// The names that hold something made of these names.
fn derived<'s>(file: &File<'_, 's>, within: Id, mut vars: HashSet<&'s str>) -> HashSet<&'s str> {
    let tree = file.tree;
    for _ in 0..2 {
        let mut more = Vec::new();
        for at in tree.walk(within) {
            let (target, value) = match tree.kind(at) {
                Kind::Let { target, value: Some(value), .. } => (*target, *value),
                Kind::Assign { target, value, .. } => (*target, *value),
                _ => continue,
            };
            // What a counter makes for waiting or for a text is no data.
            let names = match tree.kind(target) {
                Kind::List(all) => all.iter().filter_map(|one| tree.last_name(*one)).collect(),
                _ => Vec::new(),
            };
            // The next piece of work is another one in each round.
            if let Some(call) = called(file, value)
                && words::is_consuming(call)
            {
                more.extend(tree.last_name(target).into_iter().chain(names).filter(|name| {
                    !words::any(name, &["err", "error", "ok"]) && *name != "_"
                }));
                continue;
            }
            if let Some(name) = tree.last_name(target)
                && !vars.contains(name)
                && !words::any(name, words::WAITS)
                && !words::has(name, &["msg", "message", "log", "last", "is_final"])
                && mentions(file, value, &vars)
                && !tree.walk(value).any(|at| matches!(tree.kind(at), Kind::Call { .. }) && !pure(file, at))
            {
                more.push(name);
            }
        }
        vars.extend(more);
    }
    vars
}

/// The name of the call that an expression is.
fn called<'s>(file: &File<'_, 's>, id: Id) -> Option<&'s str> {
    match file.tree.kind(id) {
        Kind::Call { callee, .. } => file.tree.last_name(*callee),
        Kind::Await(of) | Kind::Propagate(of) => called(file, *of),
        _ => None,
    }
}

fn mentions(file: &File<'_, '_>, id: Id, vars: &HashSet<&str>) -> bool {
    file.tree.walk(id).any(|at| match file.tree.kind(at) {
        Kind::Name(name) => vars.contains(name) && !words::about_retry(name),
        _ => false,
    })
}

fn pure(file: &File<'_, '_>, call: Id) -> bool {
    let Kind::Call { callee, .. } = file.tree.kind(call) else { return true };
    let last = file.tree.last_name(*callee).unwrap_or_default();
    let path = file.tree.path(*callee).unwrap_or_default();
    words::is_pure(&path, last) || words::sleep(file.language, &path, last).is_some()
}

/// The calls in a place that may be the operation, in groups of the same callee.
fn operations(
    file: &File<'_, '_>,
    within: Id,
    vars: &HashSet<&str>,
    subject: Option<Id>,
) -> Vec<Vec<Id>> {
    let tree = file.tree;
    let mut groups: Vec<(String, Vec<Id>)> = Vec::new();
    let mut seen = 0;
    let tests = tested(file, within);
    for call in tree.walk(within) {
        let Kind::Call { callee, args, new } = tree.kind(call) else { continue };
        seen += 1;
        if seen > 400 {
            break;
        }
        if !may_be_operation(file, call, *callee, *new) || !observable(file, call, within, &tests) {
            continue;
        }
        // The rounds of an inner loop are not those of this one.
        if let Some(subject) = subject {
            let inner = tree
                .ancestors(call)
                .take_while(|up| *up != subject)
                .any(|up| matches!(tree.kind(up), Kind::Loop { .. }));
            if inner || in_head(file, subject, call) {
                continue;
            }
        }
        let data = mentions(file, *callee, vars) || args.iter().any(|arg| mentions(file, arg.value, vars));
        if data {
            continue;
        }
        let key = file.squeezed(*callee);
        match groups.iter().position(|(known, _)| *known == key) {
            Some(at) => groups[at].1.push(call),
            None if groups.len() < MOST_GROUPS => groups.push((key, vec![call])),
            None => {}
        }
    }
    // The same call before or after the loop is an attempt too.
    if let Some(subject) = subject {
        let home = tree.function_of(subject);
        for (_, calls) in &mut groups {
            let text = file.squeezed(calls[0]);
            let Kind::Call { callee, .. } = tree.kind(calls[0]) else { continue };
            let Some(name) = tree.last_name(*callee) else { continue };
            for other in file.calls(name) {
                if !calls.contains(other)
                    && tree.function_of(*other) == home
                    && !file.within(*other, subject)
                    && file.squeezed(*other) == text
                    && home.is_some()
                {
                    calls.push(*other);
                }
            }
        }
    }
    groups.into_iter().map(|(_, calls)| calls).collect()
}

/// Whether anybody could notice that a call failed: a handler around it, a function for its error,
/// or a condition about what it gave.
fn observable(file: &File<'_, '_>, call: Id, within: Id, tests: &HashSet<&str>) -> bool {
    let tree = file.tree;
    if let Kind::Call { args, .. } = tree.kind(call)
        && args.iter().any(|arg| matches!(tree.kind(arg.value), Kind::Function { .. }))
    {
        return true;
    }
    let mut inner = call;
    let mut value = true;
    for up in tree.ancestors(call) {
        match tree.kind(up) {
            Kind::Try { body, handlers, .. } => {
                if *body == inner && !handlers.is_empty() {
                    return true;
                }
            }
            Kind::Let { target, .. } | Kind::Assign { target, .. } if value => {
                if tree.walk(*target).any(|at| tree.last_name(at).is_some_and(|name| tests.contains(name))) {
                    return true;
                }
            }
            Kind::If { test, .. } if *test == inner => return true,
            Kind::Match { of: Some(of), .. } if *of == inner => return true,
            Kind::Loop { form: LoopForm::While(test) | LoopForm::DoWhile(test), .. } if *test == inner => {
                return true;
            }
            Kind::Loop { form: LoopForm::Counted { test: Some(test), .. }, .. } if *test == inner => {
                return true;
            }
            Kind::Call { callee, .. } if *callee == inner => {
                let name = tree.last_name(inner).unwrap_or_default();
                if matches!(name, "catch" | "then" | "exceptionally" | "exceptionallyCompose" | "handle"
                    | "whenComplete" | "onErrorResume" | "or_else" | "unwrap_or_else")
                {
                    return true;
                }
            }
            Kind::Block(_) => value = false,
            _ => {}
        }
        if up == within {
            break;
        }
        inner = up;
    }
    false
}

/// The names that conditions in a place speak of.
fn tested<'s>(file: &File<'_, 's>, within: Id) -> HashSet<&'s str> {
    let tree = file.tree;
    let mut names = HashSet::new();
    let mut add = |id: Id| {
        for at in tree.walk(id) {
            if let Kind::Name(name) | Kind::Field { name, .. } = tree.kind(at) {
                names.insert(*name);
            }
        }
    };
    for at in tree.walk(within) {
        match tree.kind(at) {
            Kind::If { test, .. } => add(*test),
            Kind::Match { of, arms } => {
                of.iter().for_each(|of| add(*of));
                arms.iter().flat_map(|arm| arm.guard.iter().chain(&arm.patterns)).for_each(|id| add(*id));
            }
            Kind::Loop { form, .. } => match form {
                LoopForm::While(test) | LoopForm::DoWhile(test) => add(*test),
                LoopForm::Counted { test: Some(test), .. } => add(*test),
                _ => {}
            },
            // `a && b()` as a statement, `return ok`.
            Kind::Binary { left, .. } if !matches!(tree.kind(*left), Kind::Number(_)) => add(*left),
            _ => {}
        }
    }
    names
}

/// Whether a call stands where a loop says what it goes through.
fn in_head(file: &File<'_, '_>, subject: Id, call: Id) -> bool {
    match file.tree.kind(subject) {
        Kind::Loop { form: LoopForm::Each { over, .. }, .. } => file.within(call, *over),
        Kind::Loop { form: LoopForm::Counted { init: Some(init), .. }, .. } => {
            file.within(call, *init)
        }
        _ => false,
    }
}

fn may_be_operation(file: &File<'_, '_>, call: Id, callee: Id, new: bool) -> bool {
    let tree = file.tree;
    let Some(last) = tree.last_name(callee) else { return false };
    if new && !words::has(last, &["socket", "connection", "client"]) {
        return false;
    }
    if last.ends_with('!') && !matches!(last, "query!" | "query_as!" | "query_scalar!") {
        return false;
    }
    let path = tree.path(callee).unwrap_or_else(|| vec!["", last]);
    let result = matches!(last, "resolve" | "reject" | "callback" | "cb" | "done" | "setTimeout");
    if result || words::schedules(last) || words::timer(&path) {
        return false;
    }
    if words::is_pure(&path, last) || words::sleep(file.language, &path, last).is_some() {
        return false;
    }
    // What is in a dictionary: `data.get("error")`.
    if let Kind::Call { args, .. } = tree.kind(call)
        && let Some(Kind::Text(key)) = args.first().map(|arg| tree.kind(arg.value))
        && matches!(last, "get" | "getOrDefault" | "Get" | "getString" | "getInt")
        && !key.contains('/')
        && !words::has(&path.join("."), &["client", "session", "http", "api", "request", "axios", "redis", "cache", "store"])
    {
        return false;
    }
    // What only looks at a response: `response.getResponseCode()`.
    if let Kind::Call { args, .. } = tree.kind(call)
        && args.is_empty()
        && path.len() > 1
        && words::about(last) != words::About::Field
    {
        return false;
    }
    // What is part of a longer call is not the operation: of `a.b().c()` it is the whole.
    if let Some(up) = tree.parent(call)
        && matches!(tree.kind(up), Kind::Field { of, .. } if *of == call)
        && let Some(outer) = tree.parent(up)
        && let Kind::Call { callee, .. } = tree.kind(outer)
        && *callee == up
    {
        let name = tree.last_name(up).unwrap_or_default();
        let chain = matches!(
            name,
            "then" | "catch" | "exceptionally" | "exceptionallyCompose" | "thenCompose" | "thenApply" | "finally"
                | "is_ok" | "is_err" | "ok" | "unwrap" | "map_err" | "handle" | "whenComplete" | "close" | "with_context"
                | "context" | "await" | "ok_or" | "ok_or_else" | "raise_for_status" | "json" | "ConfigureAwait"
                | "expect" | "into_inner" | "status" | "text" | "body" | "isSuccessful" | "get" | "join" | "and_then"
        );
        return chain || words::is_pure(&[], name);
    }
    // What only makes an argument of a call: `send(build(x))` may be both.
    true
}

fn gotos(file: &File<'_, '_>, block: Id, all: &[Id]) -> Option<Candidate> {
    let tree = file.tree;
    let (at, label) = all.iter().enumerate().find_map(|(at, id)| match tree.kind(*id) {
        Kind::Label(name) => Some((at, *name)),
        _ => None,
    })?;
    let back = all[at..].iter().any(|id| {
        tree.walk(*id).any(|one| matches!(tree.kind(one), Kind::Goto(to) if *to == label))
    });
    if !back {
        return None;
    }
    let start = tree.span(all[at]).start;
    let mut groups = operations(file, block, &HashSet::new(), None);
    groups.retain(|calls| calls.iter().all(|call| tree.span(*call).start >= start));
    Some(Candidate {
        shape: Shape::Goto,
        entry: all[at],
        subject: None,
        recursive: None,
        place: all.get(at + 1).copied().unwrap_or(all[at]),
        groups,
    })
}

/// Functions that call themselves, or another that calls them.
fn recursions(file: &File<'_, '_>) -> Vec<Candidate> {
    let tree = file.tree;
    let mut out = Vec::new();
    let mut functions: Vec<(&str, Id)> = file.all_functions().collect();
    functions.sort_by_key(|(_, id)| *id);
    functions.dedup_by_key(|(_, id)| *id);
    for (name, function) in functions {
        let Kind::Function { body, .. } = tree.kind(function) else { continue };
        let itself = file.calls(name).iter().any(|call| {
            file.within(*call, *body) && (file.callee(*call) == Some(function) || own_call(file, *call, function))
        });
        let mutual = !itself
            && tree.class_of(function).is_some()
            && file.calls(name).iter().any(|call| {
                tree.function_of(*call).is_some_and(|other| {
                    other != function
                        && file.callee(*call) == Some(function)
                        && tree.class_of(other) == tree.class_of(function)
                        && file.function_name(other).is_some_and(|other_name| {
                            file.calls(other_name)
                                .iter()
                                .any(|back| file.within(*back, *body) && file.callee(*back) == Some(other))
                        })
                })
            });
        if !itself && !mutual {
            continue;
        }
        let mut groups = operations(file, *body, &HashSet::new(), None);
        groups.retain(|calls| calls.iter().all(|call| file.callee(*call) != Some(function)));
        groups.retain(|calls| {
            calls.iter().all(|call| match tree.kind(*call) {
                Kind::Call { callee, .. } => tree.last_name(*callee) != Some(name),
                _ => false,
            })
        });
        out.push(Candidate {
            shape: Shape::Recursion,
            entry: function,
            subject: None,
            recursive: Some(function),
            place: function,
            groups,
        });
    }
    out
}

/// `this.load(…)` inside of `load`, of which there may be others elsewhere.
fn own_call(file: &File<'_, '_>, call: Id, function: Id) -> bool {
    let Kind::Call { callee, .. } = file.tree.kind(call) else { return false };
    match file.tree.kind(*callee) {
        Kind::Name(_) => true,
        Kind::Field { of, .. } => {
            let own = file.tree.last_name(*of);
            matches!(own, Some("this" | "self" | "cls" | "Self"))
                && file.tree.class_of(call) == file.tree.class_of(function)
        }
        _ => false,
    }
}

/// The same call, argument by argument, more than once in a function.
fn repeats(file: &File<'_, '_>, body: Id) -> Vec<Candidate> {
    let tree = file.tree;
    let mut groups: HashMap<String, Vec<Id>> = HashMap::new();
    let mut order = Vec::new();
    for call in tree.walk_here(body) {
        let Kind::Call { callee, new, .. } = tree.kind(call) else { continue };
        if order.len() > 400 {
            break;
        }
        if !may_be_operation(file, call, *callee, *new) {
            continue;
        }
        let key = file.squeezed(call);
        let known = groups.entry(key.clone()).or_default();
        if known.is_empty() {
            order.push(key);
        }
        known.push(call);
    }
    let mut out = Vec::new();
    let mut tests: Option<HashSet<&str>> = None;
    for key in order {
        let Some(calls) = groups.remove(&key) else { continue };
        if calls.len() < 2 || calls.len() > 6 || out.len() >= MOST_REPEATS {
            continue;
        }
        let Some(entry) = statement(file, calls[0]) else { continue };
        // The first of them has to fail, and somebody has to see it.
        if tests.is_none() {
            tests = Some(tested(file, body));
        }
        if !tests.as_ref().is_some_and(|tests| observable(file, calls[0], body, tests)) {
            continue;
        }
        if guarded(file, calls[0]) || changed(file, body, calls[0], calls[1]) {
            continue;
        }
        if !file.in_handler(calls[1]) && kept(file, calls[0]) != kept(file, calls[1]) {
            continue;
        }
        out.push(Candidate {
            shape: Shape::Repeat,
            entry,
            subject: None,
            recursive: None,
            place: entry,
            groups: vec![calls],
        });
    }
    out
}

/// Whether a call is only made on a condition inside of its `try`: then it is a step of handling
/// something, and not what was tried.
fn guarded(file: &File<'_, '_>, call: Id) -> bool {
    let mut inner = call;
    let mut branch = false;
    for up in file.tree.ancestors(call) {
        match file.tree.kind(up) {
            Kind::If { test, .. } => branch |= *test != inner,
            Kind::Try { body, handlers, .. } => {
                return (branch && *body == inner) || handlers.iter().any(|handler| handler.body == inner);
            }
            Kind::Function { .. } => return false,
            _ => {}
        }
        inner = up;
    }
    false
}

/// Whether an argument is given another value between two calls.
fn changed(file: &File<'_, '_>, body: Id, first: Id, second: Id) -> bool {
    let tree = file.tree;
    let Kind::Call { args, .. } = tree.kind(first) else { return false };
    let (from, to) = (tree.span(first).end, tree.span(second).start);
    // `x.flags = …` changes what `f(&x)` does.
    let fields: Vec<&str> = tree
        .walk_here(body)
        .filter(|id| {
            let span = tree.span(*id);
            span.start > from && span.end < to
        })
        .filter_map(|id| match tree.kind(id) {
            Kind::Assign { target, .. } => match tree.kind(*target) {
                Kind::Field { of, .. } => tree.last_name(*of),
                _ => None,
            },
            _ => None,
        })
        .collect();
    args.iter().any(|arg| {
        tree.walk(arg.value).any(|at| match tree.kind(at) {
            Kind::Name(name) if fields.contains(name) => true,
            Kind::Name(name) => file.assigned(name).iter().any(|place| {
                let start = tree.span(*place).start;
                // The statement of the second call itself begins before it.
                start > from && tree.span(*place).end < to && file.within(*place, body)
            }),
            _ => false,
        })
    })
}

/// Whether the result of a call is kept. A second call that is made for its result keeps it too.
fn kept(file: &File<'_, '_>, call: Id) -> bool {
    let tree = file.tree;
    let mut inner = call;
    for up in tree.ancestors(call) {
        match tree.kind(up) {
            Kind::Let { value: Some(value), .. } => return *value == inner,
            Kind::Assign { value, .. } => return *value == inner,
            Kind::Await(_) | Kind::Propagate(_) => {}
            _ => return false,
        }
        inner = up;
    }
    false
}

/// The statement that a call stands in.
fn statement(file: &File<'_, '_>, call: Id) -> Option<Id> {
    let tree = file.tree;
    let mut inner = call;
    for up in tree.ancestors(call) {
        if matches!(tree.kind(up), Kind::Block(all) if all.contains(&inner)) {
            return Some(inner);
        }
        inner = up;
    }
    None
}
