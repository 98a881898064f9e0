//! Whether it is the same operation the second time: a retry repeats what failed, while paging,
//! walking and looking for a free name go on to something else.

use std::collections::HashSet;

use crate::loops::file::File;
use crate::loops::words;
use crate::tree::{Arg, Id, Kind, LoopForm, Op};

/// Names that say where one is: what counts them goes on to the next.
const PLACES: &[&str] = &[
    "index", "idx", "pos", "position", "offset", "start", "end", "page", "depth", "level", "line",
    "node", "cursor", "begin", "port",
];

/// Words of what was tried in vain, and is left out the next time.
const LEFT_OUT: &[&str] =
    &["exclude", "excluded", "excludes", "excluding", "except", "tried", "failed", "avoid", "skip"];

/// Names of flags that say that it is the second time.
fn counts(name: &str) -> bool {
    words::about_retry(name)
        || (words::any(name, words::COUNTERS) && !words::any(name, PLACES))
        || words::any(name, words::WAITS)
}

/// Whether a call of a function from inside of it asks for the same again: its arguments are the
/// parameters, or count.
pub(super) fn continues(file: &File<'_, '_>, call: Id, function: Id) -> bool {
    let tree = file.tree;
    let Kind::Call { args, .. } = tree.kind(call) else { return false };
    let Kind::Function { params, .. } = tree.kind(function) else { return false };
    // What the last attempt gave, for when there is no other: `send(request, retry - 1, response)`.
    let previous = |at: usize| {
        params.get(at).is_some_and(|param| words::any(param.name, &["prev", "previous", "last"]))
    };
    args.iter().enumerate().all(|(at, arg)| previous(at) || carried(file, arg.value, function, 0))
        && !rewritten(file, args, function)
}

/// Whether a function calls itself with a fixed value for something that its operation is given:
/// then it does something else the second time. A flag or a count that says so is nothing else.
pub(super) fn given_otherwise(file: &File<'_, '_>, own: Id, function: Id, op: Id) -> bool {
    let tree = file.tree;
    let (Kind::Call { args, .. }, Kind::Function { params, body, .. }) =
        (tree.kind(own), tree.kind(function))
    else {
        return false;
    };
    let Kind::Call { args: given, .. } = tree.kind(op) else { return false };
    let says = |id: Id, name: &str| {
        tree.walk(id).any(|at| matches!(tree.kind(at), Kind::Name(known) if *known == name))
    };
    params.iter().zip(args).any(|(param, arg)| {
        let fixed = matches!(tree.kind(arg.value), Kind::Number(_)) && arg.name.is_none();
        let count = words::about_retry(param.name) || words::any(param.name, words::COUNTERS);
        fixed
            && !count
            && given.iter().any(|one| {
                says(one.value, param.name)
                    || match tree.kind(one.value) {
                        // What is made of it before: `body := render(limit)`.
                        Kind::Name(made) => file
                            .assigned(made)
                            .iter()
                            .any(|at| file.within(*at, *body) && says(*at, param.name)),
                        _ => false,
                    }
            })
    })
}

/// Whether an argument is what came in, or counts.
fn carried(file: &File<'_, '_>, id: Id, function: Id, depth: u32) -> bool {
    let tree = file.tree;
    if depth > 8 {
        return false;
    }
    // `exclude + instance`: another one is asked for the same.
    if depth == 0 && root_of_sum(file, id).is_some_and(|name| leaves_out(file, name, function)) {
        return true;
    }
    let inner = |id: Id| carried(file, id, function, depth + 1);
    match tree.kind(id) {
        Kind::Name(name) => {
            counts(name)
                || matches!(*name, "self" | "this" | "cls")
                || !replaced(file, name, function)
        }
        Kind::Number(_) | Kind::Bool(_) | Kind::Null | Kind::Function { .. } => true,
        Kind::Field { of, name } => counts(name) || inner(*of),
        Kind::Index { of, .. } => inner(*of) && counts(tree.source(id)),
        Kind::Step { of, .. } => inner(*of),
        Kind::Unary { of, .. } | Kind::Await(of) | Kind::Propagate(of) => inner(*of),
        Kind::Binary { op, left, right } => {
            let arithmetic = matches!(
                op,
                Op::Add | Op::Subtract | Op::Multiply | Op::Divide | Op::ShiftLeft | Op::Power
            );
            let names = tree.walk(id).filter_map(|at| tree.last_name(at));
            let own = |name: &str| {
                let Kind::Function { params, .. } = tree.kind(function) else { return false };
                params.iter().any(|param| param.name == name) && !words::any(name, PLACES)
            };
            arithmetic && names.into_iter().all(|name| counts(name) || own(name))
                || matches!(op, Op::Or | Op::Else) && inner(*left) && inner(*right)
        }
        Kind::List(all) | Kind::Other(all) => all.iter().all(|one| inner(*one)),
        Kind::Record { entries, .. } => entries
            .iter()
            .all(|entry| entry.key.as_ref().is_some_and(|key| counts(key)) || inner(entry.value)),
        Kind::If { then, otherwise, .. } => inner(*then) && otherwise.is_none_or(inner),
        Kind::Call { callee, args, .. } => {
            let last = tree.last_name(*callee).unwrap_or_default();
            let copies = words::any(last, &["clone", "copy", "dup", "min", "max", "rebuild"]);
            counts(last) || copies && args.iter().all(|arg| inner(arg.value))
        }
        _ => false,
    }
}

/// Whether a parameter holds what was tried in vain, and is left out the next time.
fn leaves_out(file: &File<'_, '_>, name: &str, function: Id) -> bool {
    let Kind::Function { params, .. } = file.tree.kind(function) else { return false };
    words::any(name, LEFT_OUT) && params.iter().any(|param| param.name == name)
}

/// The name that something is added to: `all + one`, `all.concat(one)`, `append(all, one)`,
/// `[...all, one]`, `all | {one}`.
fn root_of_sum<'s>(file: &File<'_, 's>, id: Id) -> Option<&'s str> {
    let tree = file.tree;
    match tree.kind(id) {
        Kind::Binary { op: Op::Add | Op::Other, left, .. } => root(file, *left),
        Kind::Call { callee, args, .. } => match tree.kind(*callee) {
            Kind::Name("append") => root(file, args.first()?.value),
            Kind::Field { of, name } => {
                let adds = ["concat", "plus", "add", "append", "union", "Append", "Concat"];
                adds.contains(name).then(|| root(file, *of)).flatten()
            }
            _ => None,
        },
        Kind::List(all) => all.iter().find_map(|one| match tree.kind(*one) {
            Kind::Name(name) => Some(*name),
            Kind::Unary { of, .. } => root(file, *of),
            Kind::Other(all) => all.first().and_then(|one| root(file, *one)),
            _ => None,
        }),
        _ => None,
    }
}

/// Whether a name is given something else in a function than it came with.
fn replaced(file: &File<'_, '_>, name: &str, function: Id) -> bool {
    let tree = file.tree;
    let Kind::Function { params, .. } = tree.kind(function) else { return false };
    let param = params.iter().any(|param| param.name == name);
    file.assigned(name).iter().any(|place| {
        let here = tree.function_of(*place) == Some(function);
        match tree.kind(*place) {
            // A default for what was not given, and what the name is declared with.
            Kind::Assign { op: Some(Op::Or | Op::Else), .. } => false,
            Kind::Assign { op: None, value, .. } | Kind::Let { value: Some(value), .. } => {
                here && (param || made_of_answers(file, *value))
                    && !fills_in(file, *place, name)
                    && !matches!(tree.kind(*value), Kind::Binary { op: Op::Or | Op::Else, .. })
                    && !matches!(tree.kind(*value), Kind::Number(_) | Kind::Null | Kind::If { .. })
            }
            Kind::Assign { .. } => here && param,
            _ => false,
        }
    })
}

/// Whether an assignment only gives a name a value that has none: `if x is None: x = make()`.
fn fills_in(file: &File<'_, '_>, place: Id, name: &str) -> bool {
    let tree = file.tree;
    let is = |id: Id| matches!(tree.kind(id), Kind::Name(own) if *own == name);
    let mut ups = tree.ancestors(place).take(2);
    ups.any(|up| match tree.kind(up) {
        Kind::If { test, then, .. } if file.within(place, *then) => match tree.kind(*test) {
            Kind::Unary { op: Op::Not, of } => is(*of),
            Kind::Binary { op: Op::Equal, left, right } => {
                is(*left) && matches!(tree.kind(*right), Kind::Null)
            }
            _ => false,
        },
        _ => false,
    })
}

/// Whether a value comes from a call: something that was asked for in between.
fn made_of_answers(file: &File<'_, '_>, value: Id) -> bool {
    file.tree.walk_here(value).any(|at| match file.tree.kind(at) {
        Kind::Call { callee, new, .. } => {
            let last = file.tree.last_name(*callee).unwrap_or_default();
            !new && !words::is_pure(&file.tree.path(*callee).unwrap_or_default(), last)
        }
        _ => false,
    })
}

/// Whether a part of an argument is given another value by a call before it is handed on.
fn rewritten(file: &File<'_, '_>, args: &[Arg<'_>], function: Id) -> bool {
    let tree = file.tree;
    let names: HashSet<&str> = args
        .iter()
        .filter_map(|arg| match tree.kind(arg.value) {
            Kind::Name(name) => Some(*name),
            _ => None,
        })
        .collect();
    let Kind::Function { body, .. } = tree.kind(function) else { return false };
    tree.walk_here(*body).any(|at| match tree.kind(at) {
        Kind::Assign { op: None, target, value } => {
            matches!(tree.kind(*target), Kind::Field { .. } | Kind::Index { .. })
                && root(file, *target).is_some_and(|name| names.contains(name))
                && !counts(tree.source(*target))
                && made_of_answers(file, *value)
        }
        _ => false,
    })
}

/// The name that a path begins with.
pub(in crate::loops) fn root<'s>(file: &File<'_, 's>, id: Id) -> Option<&'s str> {
    let mut at = id;
    loop {
        match file.tree.kind(at) {
            Kind::Name(name) => return Some(name),
            Kind::Field { of, .. } | Kind::Index { of, .. } => at = *of,
            _ => return None,
        }
    }
}

/// Whether a loop goes on to something else in each round: what its operation is called with
/// moves, or is drawn anew.
pub(in crate::loops) fn advances(file: &File<'_, '_>, place: Id, group: &[Id]) -> bool {
    let tree = file.tree;
    let Some(Kind::Call { callee, args, .. }) = group.first().map(|call| tree.kind(*call)) else {
        return false;
    };
    let mut names: HashSet<&str> = HashSet::new();
    if let Kind::Field { of, .. } = tree.kind(*callee) {
        names_in(file, *of, &mut names);
    }
    let receivers = names.clone();
    let mut add = |id: Id| names_in(file, id, &mut names);
    // `while (exists(target))`: what the loop itself asks about.
    if let Kind::Loop { form: LoopForm::While(test) | LoopForm::DoWhile(test), .. } =
        tree.kind(place)
    {
        for at in tree.walk_here(*test) {
            if let Kind::Call { callee, args, .. } = tree.kind(at)
                && tree
                    .last_name(*callee)
                    .is_some_and(|name| words::any(name, &["exists", "exist"]))
            {
                args.iter().for_each(|arg| add(arg.value));
            }
        }
    }
    // What a closure does with its names is its own affair.
    args.iter()
        .filter(|arg| !matches!(tree.kind(arg.value), Kind::Function { .. }))
        .for_each(|arg| add(arg.value));
    // `while (queue.TryTake(out item))`: the loop itself says what comes next.
    let head = match tree.kind(place) {
        Kind::Loop { form: LoopForm::While(test), .. } => Some(*test),
        _ => None,
    };
    let taken = |name: &str| {
        head.is_some_and(|head| {
            file.assigned(name).iter().any(|at| {
                file.within(*at, head) && matches!(tree.kind(*at), Kind::Let { value: None, .. })
            })
        })
    };
    if names.iter().any(|name| taken(name)) {
        return true;
    }
    let fresh = |name: &str| {
        file.assigned(name).iter().any(|at| {
            let value = match tree.kind(*at) {
                Kind::Let { value: Some(value), .. } | Kind::Assign { value, .. } => *value,
                _ => return false,
            };
            file.within(*at, place)
                && tree.walk_here(value).any(|at| match tree.kind(at) {
                    Kind::Call { callee, .. } => tree
                        .last_name(*callee)
                        .is_some_and(|last| words::any(last, &["available", "free", "unused"])),
                    _ => false,
                })
        })
    };
    // `name = f"{base}-{uuid4()}"`, of which a path is made.
    let chance = |name: &str| {
        file.assigned(name).iter().any(|at| match tree.kind(*at) {
            Kind::Let { value: Some(value), .. } | Kind::Assign { op: None, value, .. } => {
                file.within(*at, place) && drawn(file, *value, &|_| false)
            }
            _ => false,
        })
    };
    let stepped = |name: &str| {
        fresh(name)
            || !words::about_retry(name)
                && !words::any(name, words::WAITS)
                && file.assigned(name).iter().any(|at| {
                    file.within(*at, place)
                        && matches!(tree.kind(*at), Kind::Assign { op: Some(_), .. })
                })
    };
    names.iter().any(|name| {
        file.assigned(name).iter().any(|at| {
            if !file.within(*at, place) || *at == place {
                return false;
            }
            if words::any(name, PLACES) && goes_on(file, *at, place) {
                return true;
            }
            let value = match tree.kind(*at) {
                Kind::Assign { op: None, value, .. } | Kind::Let { value: Some(value), .. } => {
                    value
                }
                _ => return false,
            };
            // The answer of the last attempt may be handed to the next.
            if group.iter().any(|op| file.within(*op, *value)) {
                return false;
            }
            // A stream that broke is opened again where it broke.
            if receivers.contains(name) && reopens(file, *at, *value, place) {
                return false;
            }
            redirected(file, *value)
                || moves(file, name, *value)
                || drawn(file, *value, &stepped)
                // Headers may have a number of chance in them.
                || !matches!(tree.kind(*value), Kind::Record { .. })
                    && drawn(file, *value, &chance)
        })
    })
}

/// Whether a place is counted on in every round of a loop, whatever came of it: `offset += 100`.
fn goes_on(file: &File<'_, '_>, assign: Id, place: Id) -> bool {
    let tree = file.tree;
    let (Kind::Assign { op: Some(Op::Add), .. }, Kind::Loop { body, .. }) =
        (tree.kind(assign), tree.kind(place))
    else {
        return false;
    };
    // Of what is read in pieces as much is left out as has come.
    tree.parent(assign) == Some(*body)
}

/// Adds the names of an expression that do not count.
fn names_in<'s>(file: &File<'_, 's>, id: Id, names: &mut HashSet<&'s str>) {
    for at in file.tree.walk_here(id) {
        if let Kind::Name(name) = file.tree.kind(at)
            && !counts(name)
            && !matches!(*name, "self" | "this" | "cls" | "_")
        {
            names.insert(name);
        }
    }
}

/// Whether something is opened or asked for anew in the handler of a failure.
fn reopens(file: &File<'_, '_>, assign: Id, value: Id, place: Id) -> bool {
    let tree = file.tree;
    let asks = tree.walk_here(value).any(|at| match tree.kind(at) {
        Kind::Call { callee, .. } => tree.last_name(*callee).is_some_and(|last| {
            words::any(last, &["open", "reopen", "connect", "get", "fetch", "request", "dial"])
        }),
        _ => false,
    });
    let mut inner = assign;
    asks && tree.ancestors(assign).take_while(|up| *up != place).any(|up| {
        let handled = matches!(tree.kind(up), Kind::Try { handlers, .. }
            if handlers.iter().any(|handler| handler.body == inner));
        inner = up;
        handled
    })
}

/// Where an answer says that something else has to be asked: `response.headers["Location"]`.
fn redirected(file: &File<'_, '_>, value: Id) -> bool {
    file.tree.walk_here(value).any(|at| match file.tree.kind(at) {
        Kind::Text(text) => text.eq_ignore_ascii_case("location"),
        Kind::Field { of, name: "location" | "Location" } => {
            words::has(file.tree.source(*of), &["header", "resp"])
        }
        _ => false,
    })
}

/// Words of what an answer says there is more of.
const PAGES: &[&str] = &["more", "next", "cursor", "continuation", "marker", "page"];

/// Whether a loop goes on as long as the last answer says that there is more: paging.
pub(in crate::loops) fn pages(file: &File<'_, '_>, place: Id, group: &[Id]) -> bool {
    let tree = file.tree;
    let Kind::Loop { form: LoopForm::While(test) | LoopForm::DoWhile(test), body, .. } =
        tree.kind(place)
    else {
        return false;
    };
    tree.walk_here(*test).any(|at| match tree.kind(at) {
        Kind::Name(name) => is_given(file, name, *body, |value| {
            tree.walk_here(value).any(|at| says_more(file, at) && !is_method_of(file, at, group))
        }),
        _ => false,
    })
}

/// Whether each round asks for what the last answer said comes next, closures included:
/// `list(token)`, and then `token = answer.next_token`.
pub(in crate::loops) fn turns(file: &File<'_, '_>, place: Id, group: &[Id]) -> bool {
    let tree = file.tree;
    let next = |name: &str| is_given(file, name, place, |value| says_more(file, value));
    group.iter().any(|call| {
        tree.walk(*call).any(|at| matches!(tree.kind(at), Kind::Name(name) if next(name)))
    })
}

/// Whether a name is set anew in a place to such a value.
fn is_given(file: &File<'_, '_>, name: &str, within: Id, such: impl Fn(Id) -> bool) -> bool {
    file.assigned(name).iter().any(|at| match file.tree.kind(*at) {
        Kind::Assign { op: None, value, .. } => file.within(*at, within) && such(*value),
        _ => false,
    })
}

/// Whether a field of an answer says that there is more.
fn says_more(file: &File<'_, '_>, id: Id) -> bool {
    matches!(file.tree.kind(id), Kind::Field { name, .. } if words::any(name, PAGES))
}

/// Whether a field is the method that one of these calls calls.
fn is_method_of(file: &File<'_, '_>, field: Id, calls: &[Id]) -> bool {
    calls
        .iter()
        .any(|call| matches!(file.tree.kind(*call), Kind::Call { callee, .. } if *callee == field))
}

/// `x = x.next`, `path = clean(path)`: the next one is made of the last.
fn moves(file: &File<'_, '_>, name: &str, value: Id) -> bool {
    let tree = file.tree;
    let own =
        |id: Id| tree.walk_here(id).any(|at| matches!(tree.kind(at), Kind::Name(n) if *n == name));
    match tree.kind(value) {
        Kind::Field { of, .. } => match tree.kind(*of) {
            Kind::Name(own) => *own == name,
            // `url = new URL(location, url).href`.
            Kind::Call { .. } => moves(file, name, *of),
            _ => false,
        },
        Kind::Call { callee, args, .. } => {
            let last = tree.last_name(*callee).unwrap_or_default();
            let same = words::any(
                last,
                &["clone", "copy", "dup", "new", "reset", "rewind", "rebuild", "with", "wrap"],
            );
            let receiver = matches!(tree.kind(*callee), Kind::Field { of, .. } if own(*of));
            !same && !receiver && args.iter().any(|arg| matches!(tree.kind(arg.value), Kind::Name(n) if *n == name))
        }
        // Several names at once: `old, name = name, next(name)`.
        Kind::List(all) => all.iter().any(|one| {
            matches!(tree.kind(*one), Kind::Call { args, .. }
                if args.iter().any(|arg| matches!(tree.kind(arg.value), Kind::Name(n) if *n == name)))
        }),
        _ => false,
    }
}

/// A name that nobody has yet: of chance, or of a number that is counted.
fn drawn(file: &File<'_, '_>, value: Id, stepped: &dyn Fn(&str) -> bool) -> bool {
    let tree = file.tree;
    tree.walk_here(value).any(|at| match tree.kind(at) {
        Kind::Call { callee, .. } => tree.last_name(*callee).is_some_and(|last| {
            words::any(last, &["random", "uuid", "guid", "nanoid", "mktemp", "tempnam", "unique"])
        }),
        Kind::Name(name) => stepped(name),
        // `name + " (" + (n++) + ")"`.
        Kind::Step { of, .. } => tree.last_name(*of).is_some_and(|name| !words::about_retry(name)),
        Kind::Text(_) => tree
            .source(at)
            .split(['{', '}', '$'])
            .any(|part| part.chars().all(|c| c.is_alphanumeric() || c == '_') && stepped(part)),
        _ => false,
    })
}
