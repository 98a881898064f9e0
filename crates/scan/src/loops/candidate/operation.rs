//! Which calls in a place may be the operation that is repeated.

use foldhash::{HashSet, HashSetExt as _};

use super::answers::{
    changed_by, chosen_by, mentions, same_answer, same_but_for_copies, told_through,
};
use super::same::root;
use super::tested::tested;
use super::{MOST_GROUPS, batch, makes, numbered};
use crate::language::Language;
use crate::loops::callbacks;
use crate::loops::file::File;
use crate::loops::words;
use crate::tree::{Id, Kind, LoopForm, Op, Tree};

/// The names that hold something made of these names.
pub(super) fn derived<'s>(
    file: &File<'_, 's>,
    within: Id,
    mut vars: HashSet<&'s str>,
) -> HashSet<&'s str> {
    let tree = file.tree;
    // What is made of an element is data; what is done with a counter may be the operation.
    let elements = match tree.kind(within) {
        Kind::Loop { form: LoopForm::Each { over, .. }, .. } => match tree.kind(*over) {
            Kind::Range { .. } => false,
            Kind::Call { .. } if file.counts_up(*over).is_some() => false,
            // A list of waits, or a number of rounds.
            Kind::Name(name) => {
                !words::any(name, words::WAITS)
                    && !words::any(name, words::COUNTERS)
                    && !words::has(name, &["retr", "delay", "wait", "attempt", "backoff", "sleep"])
            }
            _ => true,
        },
        _ => false,
    };
    vars.extend(indices(file, within));
    // `endpoint = endpoints[i]`: an element, though it is counted.
    let mut items: HashSet<&str> = HashSet::new();
    for _ in 0..2 {
        let mut more = Vec::new();
        for at in tree.walk(within) {
            more.extend(taken(file, at));
            let (target, value) = match tree.kind(at) {
                Kind::Let { target, value: Some(value), .. } => (*target, *value),
                Kind::Assign { target, value, .. } => (*target, *value),
                _ => continue,
            };
            if tree.walk_here(value).any(|at| goes_around(file, at)) {
                continue;
            }
            // What a counter makes for waiting or for a text is no data.
            let names = match tree.kind(target) {
                Kind::List(all) => all.iter().filter_map(|one| tree.last_name(*one)).collect(),
                _ => Vec::new(),
            };
            // The next piece of work is another one in each round.
            if let Some(call) = called(file, value)
                && words::is_consuming(call)
            {
                // `page, err = page.Next(ctx)`: what is asked is still there after a failure.
                let asked = receiver(file, value);
                more.extend(tree.last_name(target).into_iter().chain(names).filter(|name| {
                    !words::any(name, &["err", "error", "ok"])
                        && *name != "_"
                        && asked != Some(*name)
                }));
                continue;
            }
            // `const { fresh, value } = await item`.
            if let Kind::Record { entries, .. } = tree.kind(target)
                && mentions(file, value, &vars)
                && !tree.walk(value).any(|at| matches!(tree.kind(at), Kind::Call { .. }))
            {
                more.extend(entries.iter().filter_map(|entry| tree.last_name(entry.value)));
                continue;
            }
            if let Some(name) = tree.last_name(target)
                && !vars.contains(name)
                && !words::any(name, words::WAITS)
                && !words::has(name, &["msg", "message", "log", "last", "is_final"])
                && mentions(file, value, &vars)
                && (elements
                    || mentions(file, value, &items)
                    || takes_element(file, value)
                    || !tree
                        .walk(value)
                        .any(|at| matches!(tree.kind(at), Kind::Call { .. }) && !pure(file, at)))
            {
                let counted = tree.walk(value).any(|at| match tree.kind(at) {
                    Kind::Index { at, .. } => mentions(file, *at, &vars),
                    _ => false,
                });
                if counted || takes_element(file, value) || mentions(file, value, &items) {
                    items.insert(name);
                }
                more.push(name);
            }
        }
        vars.extend(more);
    }
    vars
}

/// Whose fields are given an element that a loop has come to.
fn kept_in_fields<'s>(file: &File<'_, 's>, within: Id, vars: &HashSet<&str>) -> HashSet<&'s str> {
    let tree = file.tree;
    let elements = match tree.kind(within) {
        Kind::Loop { form: LoopForm::Each { over, .. }, .. } => {
            !matches!(tree.kind(*over), Kind::Range { .. })
        }
        _ => false,
    };
    let kept = |at: Id| match tree.kind(at) {
        Kind::Assign { op: None, target, value } => {
            let element = match tree.kind(*value) {
                Kind::Index { at, .. } => mentions(file, *at, vars),
                Kind::Name(_) => elements && mentions(file, *value, vars),
                _ => takes_element(file, *value) && mentions(file, *value, vars),
            };
            let field = matches!(tree.kind(*target), Kind::Field { .. });
            if element && field { root(file, *target) } else { None }
        }
        _ => None,
    };
    if vars.is_empty() { HashSet::new() } else { tree.walk_here(within).filter_map(kept).collect() }
}

/// The names that the next piece of work is given by a pattern: `if let Some(job) = jobs.next()`.
fn taken<'s>(file: &File<'_, 's>, at: Id) -> Vec<&'s str> {
    let tree = file.tree;
    let Kind::Binary { op: Op::Matches, left, right } = tree.kind(at) else { return Vec::new() };
    if !called(file, *left).is_some_and(words::is_consuming) {
        return Vec::new();
    }
    let Kind::Call { args, .. } = tree.kind(*right) else { return Vec::new() };
    let names = args.iter().flat_map(|arg| tree.walk(arg.value));
    names
        .filter_map(|at| tree.last_name(at))
        .filter(|name| !words::any(name, &["err", "e"]))
        .collect()
}

/// Whether a call stands in a loop inside of this one, whose rounds are others. Where it fails out
/// of that loop into a handler of this one, all of it is tried again.
fn in_inner_loop(file: &File<'_, '_>, call: Id, subject: Id) -> bool {
    let tree = file.tree;
    let (mut inner, mut looped) = (call, false);

    for up in tree.ancestors(call).take_while(|up| *up != subject) {
        match tree.kind(up) {
            Kind::Loop { .. } => looped = true,
            Kind::Try { body, handlers, .. }
                if looped && *body == inner && !handlers.is_empty() =>
            {
                return false;
            }
            _ => {}
        }
        inner = up;
    }
    looped
}

/// What is set anew in each round to go on in a list: `at = next.fetch_add(1) % hosts.len()`, and then
/// `hosts[at]`.
fn indices<'s>(file: &File<'_, 's>, within: Id) -> HashSet<&'s str> {
    let tree = file.tree;
    let set: HashSet<&str> = tree
        .walk(within)
        .filter_map(|id| match tree.kind(id) {
            Kind::Let { target, value: Some(value), .. } => match tree.kind(*target) {
                Kind::Name(name) => goes_on(file, *value).then_some(*name),
                _ => None,
            },
            _ => None,
        })
        .collect();
    tree.walk(within)
        .filter_map(|id| match tree.kind(id) {
            Kind::Index { at, .. } => match tree.kind(*at) {
                Kind::Name(name) if set.contains(name) => Some(*name),
                _ => None,
            },
            _ => None,
        })
        .collect()
}

/// Whether an expression gives the next one in a circle.
fn goes_on(file: &File<'_, '_>, value: Id) -> bool {
    let tree = file.tree;
    tree.walk_here(value).any(|at| match tree.kind(at) {
        Kind::Binary { op: Op::Remainder, .. } => !goes_around(file, at),
        Kind::Call { callee, .. } => tree
            .last_name(*callee)
            .is_some_and(|name| words::any(name, &["next", "increment", "advance", "rotate"])),
        _ => false,
    })
}

/// Whether each attempt is made with the next of a few that are as good: `(attempt - 1) % count`.
fn goes_around(file: &File<'_, '_>, at: Id) -> bool {
    let tree = file.tree;
    let counts = |at: Id| matches!(tree.kind(at), Kind::Name(name) if words::about_retry(name));
    match tree.kind(at) {
        Kind::Binary { op: Op::Remainder, left, .. } => tree.walk_here(*left).any(counts),
        _ => false,
    }
}

/// Whether an expression is an element of a list: `list.get(i)`.
fn takes_element(file: &File<'_, '_>, value: Id) -> bool {
    let Kind::Call { callee, args, .. } = file.tree.kind(value) else { return false };
    let gets =
        matches!(file.tree.last_name(*callee), Some("get" | "at" | "elementAt" | "ElementAt"));
    gets && matches!(&args[..], [only] if matches!(file.tree.kind(only.value), Kind::Name(_)))
}

/// The name of what a call is made on.
fn receiver<'s>(file: &File<'_, 's>, id: Id) -> Option<&'s str> {
    match file.tree.kind(id) {
        Kind::Call { callee, .. } => match file.tree.kind(*callee) {
            Kind::Field { of, .. } => match file.tree.kind(*of) {
                Kind::Name(name) => Some(name),
                _ => None,
            },
            _ => None,
        },
        Kind::Await(of) | Kind::Propagate(of) => receiver(file, *of),
        _ => None,
    }
}

/// The name of the call that an expression is.
fn called<'s>(file: &File<'_, 's>, id: Id) -> Option<&'s str> {
    match file.tree.kind(id) {
        Kind::Call { callee, .. } => file.tree.last_name(*callee),
        Kind::Await(of) | Kind::Propagate(of) => called(file, *of),
        _ => None,
    }
}

fn pure(file: &File<'_, '_>, call: Id) -> bool {
    let Kind::Call { callee, .. } = file.tree.kind(call) else { return true };
    let last = file.tree.last_name(*callee).unwrap_or_default();
    let path = file.tree.path(*callee).unwrap_or_default();
    let owner = path.len().checked_sub(2).map_or("", |at| path[at]);
    words::is_pure(&path, last)
        || words::sleep(file.language, &path, last).is_some()
        // A part of a list, a text, a path.
        || matches!(owner, "string" | "String" | "Path" | "path" | "url" | "Uri" | "strings")
        || words::any(last, &["take", "skip", "slice", "substring", "substr", "urljoin", "format"])
}

/// The calls in a place that may be the operation, in groups of the same callee.
pub(super) fn operations(
    file: &File<'_, '_>,
    within: Id,
    vars: &HashSet<&str>,
    subject: Option<Id>,
) -> Vec<Vec<Id>> {
    let strict = chosen(file, within, vars, subject, false);
    // Where it is said to be retried, what usually only looks something up may be it, too:
    // `lock.acquire()`, `table.find()`.
    let said = strict.is_empty() && words::about_retry(file.tree.source(within));
    if said { chosen(file, within, vars, subject, true) } else { strict }
}

fn chosen(
    file: &File<'_, '_>,
    within: Id,
    vars: &HashSet<&str>,
    subject: Option<Id>,
    lenient: bool,
) -> Vec<Vec<Id>> {
    let tree = file.tree;
    let mut groups: Vec<(String, Vec<Id>)> = Vec::new();
    let mut seen = 0;
    let tests = tested(file, within);
    let places = kept_in_fields(file, within, vars);
    for call in tree.walk(within) {
        let Kind::Call { callee, args, new } = tree.kind(call) else { continue };
        seen += 1;
        if seen > 400 {
            break;
        }
        let may = may_be_operation(file, call, *callee, *new)
            || (lenient && may_be_work(file, call, *callee));
        if !may || !observable(file, call, within, &tests) {
            continue;
        }
        // The rounds of an inner loop are not those of this one.
        if let Some(subject) = subject
            && (in_inner_loop(file, call, subject)
                && !batch::is_asked_about(file, call, subject)
                && !batch::goes_round(file, call, subject)
                || in_head(file, subject, call))
        {
            continue;
        }
        let data = mentions(file, *callee, vars)
            || args.iter().enumerate().any(|(at, arg)| {
                !numbered::is_told(file, call, at) && mentions(file, arg.value, vars)
            });
        // `this.current = nodes[i]` and `this.connect()`: it is connected to another one.
        let other = args.is_empty() && !places.is_empty() && {
            let of = match tree.kind(*callee) {
                Kind::Field { .. } => root(file, *callee),
                _ => Some("this"),
            };
            of.is_some_and(|of| places.contains(of) || of == "this" && places.contains("self"))
        };
        if data || other || chosen_by(file, call, within, vars) {
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
    if let Some(subject) = subject
        && let Some(home) = tree.function_of(subject)
    {
        let (around, start) = (tree.span(home), tree.span(subject).start);
        for (_, calls) in &mut groups {
            let text = file.squeezed(calls[0]);
            let Kind::Call { callee, .. } = tree.kind(calls[0]) else { continue };
            let Some(name) = tree.last_name(*callee) else { continue };
            for other in file.calls(name) {
                // The span first: a name can stand in a file thousands of times.
                let span = tree.span(*other);
                if around.start <= span.start
                    && span.end <= around.end
                    && !calls.contains(other)
                    && tree.function_of(*other) == Some(home)
                    && !file.within(*other, subject)
                    && (file.squeezed(*other) == text
                        || same_answer(file, *other, calls[0])
                        || span.end <= start && same_but_for_copies(file, *other, calls[0]))
                {
                    calls.push(*other);
                }
            }
        }
    }
    groups.into_iter().map(|(_, calls)| calls).collect()
}

/// Whether a call may be the operation where nothing else is: it asks for what others hold, or is
/// a method of this object that is called as if it only made something: `self._extract(url)`.
fn may_be_work(file: &File<'_, '_>, call: Id, callee: Id) -> bool {
    let last = file.tree.last_name(callee).unwrap_or_default();
    let own = match file.tree.kind(callee) {
        Kind::Field { of, .. } => matches!(file.tree.last_name(*of), Some("this" | "self")),
        _ => false,
    };
    words::is_far(last) || own && words::only_makes(last) || makes::may_fail(file, call, last)
}

/// Whether anybody could notice that a call failed: a handler around it, a function for its error,
/// or a condition about what it gave.
pub(super) fn observable(file: &File<'_, '_>, call: Id, within: Id, tests: &HashSet<&str>) -> bool {
    let tree = file.tree;
    if let Kind::Call { args, .. } = tree.kind(call)
        && args.iter().any(|arg| {
            matches!(tree.kind(arg.value), Kind::Function { .. })
                || callbacks::on_failure(tree, arg.value).is_some()
        })
    {
        return true;
    }
    if changed_by(file, call).iter().any(|name| tests.contains(name))
        || !told_through(file, call).is_empty()
    {
        return true;
    }
    let mut inner = call;
    let mut value = true;
    for up in tree.ancestors(call) {
        match tree.kind(up) {
            Kind::Try { body, handlers, .. } if *body == inner && !handlers.is_empty() => {
                return true;
            }
            Kind::Let { target, .. } | Kind::Assign { target, .. }
                if value
                    && tree
                        .walk(*target)
                        .any(|at| tree.last_name(at).is_some_and(|name| tests.contains(name))) =>
            {
                return true;
            }
            Kind::If { test, .. } if *test == inner => return true,
            // Into a channel of Go: whoever takes it out sees it.
            Kind::Other(all)
                if file.language == Language::Go
                    && value
                    && matches!(all[..], [_, sent] if sent == inner)
                    && tree.source(up).contains("<-") =>
            {
                return true;
            }
            Kind::Match { of: Some(of), .. } if *of == inner => return true,
            Kind::Loop { form: LoopForm::While(test) | LoopForm::DoWhile(test), .. }
                if *test == inner =>
            {
                return true;
            }
            Kind::Loop { form: LoopForm::Counted { test: Some(test), .. }, .. }
                if *test == inner =>
            {
                return true;
            }
            Kind::Call { callee, .. } if *callee == inner => {
                let name = tree.last_name(inner).unwrap_or_default();
                let after = ["then", "handle", "whenComplete", "ContinueWith", "addListener"];
                if after.contains(&name) || super::once::INSTEAD.contains(&name) {
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

/// Whether a function that was handed over is called for what it gives: `await callback()`, and not
/// to be told something, `callback(error)`.
fn is_waited_for(tree: &Tree<'_>, call: Id, callee: Id) -> bool {
    let bare = matches!(tree.kind(call), Kind::Call { args, .. } if args.is_empty());
    let used = tree.parent(call).is_some_and(|up| match tree.kind(up) {
        Kind::Await(_) | Kind::Let { .. } | Kind::Propagate(_) => true,
        Kind::Return(_) | Kind::Assign { .. } => bare,
        _ => false,
    });
    used && tree.is_parameter(callee)
}

pub(super) fn may_be_operation(file: &File<'_, '_>, call: Id, callee: Id, new: bool) -> bool {
    let tree = file.tree;
    // `client[method](url)`: whose it is says that it reaches out.
    if let Kind::Index { of, at } = tree.kind(callee) {
        return !matches!(tree.kind(*at), Kind::Number(_))
            && tree.path(*of).is_some_and(|mut path| {
                path.push("");
                words::leaves_the_process(&path)
            });
    }
    // `getattr(client, command)()`.
    if let Kind::Call { callee: inner, .. } = tree.kind(callee)
        && tree.last_name(*inner) == Some("getattr")
    {
        return true;
    }
    let Some(last) = tree.last_name(callee) else { return false };
    if new && !words::has(last, &["socket", "connection", "client"]) {
        return false;
    }
    if last.ends_with('!') && !matches!(last, "query!" | "query_as!" | "query_scalar!") {
        return false;
    }
    let path = tree.path(callee).unwrap_or_else(|| vec!["", last]);
    let result = matches!(last, "resolve" | "reject" | "callback" | "cb" | "done" | "setTimeout");
    if result && !is_waited_for(tree, call, callee) || words::schedules(last) || words::timer(&path)
    {
        return false;
    }
    // `await image.update(x)`: of a dictionary nobody waits for that.
    let awaited = || tree.parent(call).is_some_and(|up| matches!(tree.kind(up), Kind::Await(_)));
    let far = words::FAR.contains(&last.to_ascii_lowercase().as_str()) && awaited()
        || file.language == Language::CSharp && words::tells_others(last) && awaited();
    // What another service says of itself, and no line of a log.
    let asked = last == "info"
        && path.len() > 1
        && matches!(tree.kind(call), Kind::Call { args, .. } if args.is_empty())
        && !tree.parent(call).is_some_and(|up| matches!(tree.kind(up), Kind::Block(_)));
    if words::is_pure(&path, last) && !far && !asked
        || words::sleep(file.language, &path, last).is_some()
    {
        return false;
    }
    // What is in a dictionary: `data.get("error")`.
    if let Kind::Call { args, .. } = tree.kind(call)
        && let Some(Kind::Text(key)) = args.first().map(|arg| tree.kind(arg.value))
        && matches!(last, "get" | "getOrDefault" | "Get" | "getString" | "getInt")
        && !key.contains('/')
        && !words::has(
            &path.join("."),
            &["client", "session", "http", "api", "request", "axios", "redis", "cache", "store"],
        )
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
        // `session().get(url)` asks; `future().get()` and `get(1, SECONDS)` only wait.
        if name == "get"
            && let Kind::Call { args, .. } = tree.kind(outer)
            && args
                .iter()
                .any(|arg| !matches!(tree.kind(arg.value), Kind::Number(_) | Kind::Field { .. }))
        {
            return false;
        }
        let chain = matches!(
            name,
            "then"
                | "catch"
                | "exceptionally"
                | "exceptionallyCompose"
                | "thenCompose"
                | "thenApply"
                | "finally"
                | "is_ok"
                | "is_err"
                | "ok"
                | "unwrap"
                | "map_err"
                | "handle"
                | "whenComplete"
                | "close"
                | "with_context"
                | "context"
                | "await"
                | "ok_or"
                | "ok_or_else"
                | "raise_for_status"
                | "json"
                | "ConfigureAwait"
                | "GetAwaiter"
                | "GetResult"
                | "expect"
                | "into_inner"
                | "status"
                | "text"
                | "body"
                | "isSuccessful"
                | "get"
                | "join"
                | "and_then"
                | "ContinueWith"
                | "addListener"
        ) || super::once::INSTEAD.contains(&name);
        return chain || words::is_pure(&[], name);
    }
    // What only makes an argument of a call: `send(build(x))` may be both.
    true
}
