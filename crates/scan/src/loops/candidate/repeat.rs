//! The same call twice in a function, the second time because the first failed.

use foldhash::{HashMap, HashMapExt as _, HashSet};

use super::anew::{connected_anew, method};
use super::in_vain;
use super::once;
use super::operation::{may_be_operation, observable};
use super::pause::pauses_between;
use super::same::root;
use super::tested::tested;
use super::{Candidate, Shape, statement};
use crate::loops::file::File;
use crate::loops::words;
use crate::tree::{Id, Kind};

/// More of them in one function are not looked at.
const MOST_REPEATS: usize = 24;

/// So many named arguments say what is asked for.
const MOST_NAMES: usize = 4;

/// The same call, argument by argument, more than once in a function.
pub(super) fn repeats(file: &File<'_, '_>, body: Id) -> Vec<Candidate> {
    let tree = file.tree;
    let mut groups = Groups::default();
    let mut alike = Groups::default();
    let mut methods = Groups::default();
    // Few names are called twice in a function: only their texts are compared.
    let mut names: HashMap<&str, u32> = HashMap::new();
    for call in tree.walk_here(body) {
        if let Kind::Call { callee, .. } = tree.kind(call) {
            *names.entry(tree.last_name(*callee).unwrap_or_default()).or_default() += 1;
        }
    }
    for call in tree.walk_here(body) {
        let Kind::Call { callee, new, .. } = tree.kind(call) else { continue };
        if groups.order.len() > 400 {
            break;
        }
        if names.get(tree.last_name(*callee).unwrap_or_default()).is_none_or(|count| *count < 2) {
            continue;
        }
        if !may_be_operation(file, call, *callee, *new) {
            continue;
        }
        groups.add(file.squeezed(call), call);
        if let Some(key) = without_details(file, call) {
            alike.add(key, call);
        }
        if let Some(key) = method(file, call) {
            methods.add(key, call);
        }
    }
    let mut tests: Option<HashSet<&str>> = None;
    let mut out = Vec::new();
    for (calls, exact) in groups.twice(true).chain(alike.twice(false)) {
        if out.len() >= MOST_REPEATS {
            break;
        }
        let tests = tests.get_or_insert_with(|| tested(file, body));
        out.extend(pair(file, body, calls, exact, tests));
    }
    out.extend(methods.twice(false).filter_map(|(calls, _)| connected_anew(file, &calls)).take(4));
    out
}

/// Calls by how they are written, in the order of the source.
#[derive(Default)]
struct Groups {
    by_text: HashMap<String, Vec<Id>>,
    order: Vec<String>,
}

impl Groups {
    fn add(&mut self, key: String, call: Id) {
        let known = self.by_text.entry(key.clone()).or_default();
        if known.is_empty() {
            self.order.push(key);
        }
        known.push(call);
    }

    /// Those with more than one call and not too many, each with this flag.
    fn twice(mut self, exact: bool) -> impl Iterator<Item = (Vec<Id>, bool)> {
        let all = self.order.into_iter().filter_map(move |key| self.by_text.remove(&key));
        all.filter(|calls| (2..=6).contains(&calls.len())).map(move |calls| (calls, exact))
    }
}

/// A call without what only says how it is done: `get(url, timeout=5)`, `upload(map, 1)`. `None`
/// if nothing is left that says what is asked for, or nothing is left out.
fn without_details(file: &File<'_, '_>, call: Id) -> Option<String> {
    let tree = file.tree;
    let Kind::Call { callee, args, .. } = tree.kind(call) else { return None };
    let mut key = whose(file, *callee);
    let mut any = false;
    let positional = args.iter().any(|arg| arg.name.is_none());
    let given = args.iter().filter(|arg| arg.name.is_none() == positional);
    // Of many names the first say what is asked for, and the rest how.
    for arg in given.take(if positional { usize::MAX } else { MOST_NAMES }) {
        let named =
            arg.name.is_some_and(|name| words::about_retry(name) || words::any(name, words::WAITS));
        let literal = matches!(tree.kind(arg.value), Kind::Number(_) | Kind::Bool(_) | Kind::Null);
        if !named && !literal {
            key.extend(arg.name);
            key.push(',');
            key.push_str(&plain(&file.squeezed(arg.value)));
            any = true;
        }
    }
    any.then_some(key)
}

/// What is called, with what it belongs to as it was taken: after `link = self.link` the calls of
/// `link.send` and `self.link.send` are of the same.
fn whose(file: &File<'_, '_>, callee: Id) -> String {
    let tree = file.tree;
    let taken = match tree.kind(callee) {
        Kind::Field { of, name } => match tree.kind(*of) {
            Kind::Name(local) => taken_from(file, local, callee).map(|of| (of, *name)),
            _ => None,
        },
        _ => None,
    };
    match taken {
        Some((of, name)) => format!("{}.{name}", file.squeezed(of)),
        None => file.squeezed(callee),
    }
}

/// The field that a name of this function was given once.
fn taken_from(file: &File<'_, '_>, name: &str, place: Id) -> Option<Id> {
    let tree = file.tree;
    let home = tree.function_of(place);
    let mut values = file.assigned(name).iter().filter(|at| tree.function_of(**at) == home);
    let (only, None) = (values.next()?, values.next()) else { return None };
    match tree.kind(*only) {
        Kind::Let { value: Some(value), .. } | Kind::Assign { op: None, value, .. } => {
            matches!(tree.kind(*value), Kind::Field { .. }).then_some(*value)
        }
        _ => None,
    }
}

/// How an argument is written without what says that it is for the second time, or a copy:
/// `retry_request`, `request.clone()`.
pub(super) fn plain(text: &str) -> String {
    let mut text = text.trim_start_matches(['&', '*']);
    for copies in [".clone()", ".Clone()", ".copy()", ".to_owned()", ".to_vec()", ".to_string()"] {
        text = text.trim_end_matches(copies);
    }
    if !text.chars().all(|c| c.is_alphanumeric() || c == '_') {
        return text.to_owned();
    }
    let all = words::words(text);
    let again = |word: &str| matches!(word, "retry" | "retried" | "again" | "second" | "new");
    let kept: Vec<&str> = all.iter().map(|word| &**word).filter(|word| !again(word)).collect();
    if kept.is_empty() { text.to_owned() } else { kept.join("_") }
}

/// The candidate of two equal calls; of calls that are only alike (`exact` is false) the code has
/// to say that it tries again.
fn pair(
    file: &File<'_, '_>,
    body: Id,
    calls: Vec<Id>,
    exact: bool,
    tests: &HashSet<&str>,
) -> Option<Candidate> {
    let entry = statement(file, calls[0])?;
    // The first of them has to fail, and somebody has to see it.
    let other = observable(file, calls[0], body, tests)
        && !calls.iter().any(|call| is_argument(file, *call))
        // Looked at again under a lock, in case another was faster.
        && !locks(between(file, &calls));
    if !other {
        return None;
    }
    let equal = calls.iter().all(|call| file.squeezed(*call) == file.squeezed(calls[0]));
    let again = said_between(file, &calls)
        || exact && says_so_itself(file, &calls)
        || exact && (at_once(file, calls[0], calls[1]) || once::at_once(file, calls[0], calls[1]));
    if exact != equal || !again {
        return None;
    }
    if follows_another(file, &calls)
        || guarded(file, calls[0])
        || changed(file, body, calls[0], calls[1])
    {
        return None;
    }
    let handled = handles(file, calls[0], calls[1])
        || once::answers_failure(file, calls[0], calls[1]).is_some();
    let (first, second) = (kept(file, calls[0]), kept(file, calls[1]));
    if !(handled || first && (second || in_vain::asked_before(file, calls[0], calls[1]))) {
        return None;
    }
    if in_vain::raises_anyway(file, calls[0], calls[1])
        || in_vain::takes_back(file, calls[0], calls[1])
    {
        return None;
    }
    Some(Candidate {
        shape: Shape::Repeat,
        entry,
        subject: None,
        recursive: None,
        place: entry,
        groups: vec![calls],
    })
}

/// The handler that a call stands in, of the `try` that the other one stands in.
pub(super) fn handler_of(file: &File<'_, '_>, first: Id, second: Id) -> Option<Id> {
    let mut inner = second;
    for up in file.tree.ancestors(second) {
        match file.tree.kind(up) {
            Kind::Try { body, handlers, .. }
                if handlers.iter().any(|h| h.body == inner) && file.within(first, *body) =>
            {
                return Some(inner);
            }
            Kind::Function { .. } => return None,
            _ => {}
        }
        inner = up;
    }
    None
}

/// Whether a call stands in a handler of the `try` that the other one stands in.
pub(super) fn handles(file: &File<'_, '_>, first: Id, second: Id) -> bool {
    handler_of(file, first, second).is_some()
}

/// The text between the first call and the last.
fn between<'s>(file: &File<'_, 's>, calls: &[Id]) -> &'s str {
    let from = calls.first().map_or(0, |call| file.tree.span(*call).end as usize);
    let to = calls.last().map_or(0, |call| file.tree.span(*call).start as usize);
    file.tree.text().get(from..to).unwrap_or_default()
}

/// Whether the second call follows what became of another one: `if create() fails { get again }`.
fn follows_another(file: &File<'_, '_>, calls: &[Id]) -> bool {
    let tree = file.tree;
    let (first, second) = (calls[0], calls[1]);
    let mut inner = second;
    for up in tree.ancestors(second) {
        match tree.kind(up) {
            Kind::If { test, .. } if *test != inner && !file.within(first, up) => {
                // Also what is done right before it, as Go writes it.
                let before = tree.parent(up).and_then(|block| match tree.kind(block) {
                    Kind::Block(all) => {
                        let at = all.iter().position(|id| *id == up)?;
                        all[..at].last().copied()
                    }
                    _ => None,
                });
                let other = [Some(*test), before].into_iter().flatten().any(|place| {
                    let own = file.within(first, place);
                    !own && tree.walk_here(place).any(|at| match tree.kind(at) {
                        Kind::Call { callee, new, .. } => {
                            !calls.contains(&at)
                                && may_be_operation(file, at, *callee, *new)
                                && observable_here(file, at, place)
                        }
                        _ => false,
                    })
                });
                if other {
                    return true;
                }
            }
            Kind::Function { .. } => return false,
            _ => {}
        }
        inner = up;
    }
    false
}

/// Whether a condition keeps what a call gives, to ask about it: `err = f(); err != nil`.
fn observable_here(file: &File<'_, '_>, call: Id, test: Id) -> bool {
    let mut inner = call;
    for up in file.tree.ancestors(call) {
        match file.tree.kind(up) {
            Kind::Let { value: Some(value), .. } => return *value == inner,
            Kind::Assign { value, .. } => return *value == inner,
            Kind::Await(_) | Kind::Propagate(_) if up != test => {}
            _ => return false,
        }
        inner = up;
    }
    false
}

/// Whether something is locked in a text: `mutex.lock()`, `acquireLockFile(path)`, `lock (x)`.
fn locks(text: &str) -> bool {
    text.match_indices('(').any(|(at, _)| {
        let before = text[..at].trim_end();
        let start = before.trim_end_matches(|c: char| c.is_alphanumeric() || c == '_').len();
        let name = words::words(&before[start..]);
        let any = |list: &[&str]| name.iter().any(|word| list.contains(&&**word));
        any(&["lock", "rlock", "synchronized", "mutex"]) && !any(&["unlock", "is", "release"])
    })
}

/// Whether the lines between two calls, or the one above the first, speak of trying again. Two
/// equal calls of which the second follows a failure are mostly something else: cleaning up,
/// telling listeners, giving the same answer.
fn said_between(file: &File<'_, '_>, calls: &[Id]) -> bool {
    let tree = file.tree;
    let text = tree.text();
    let first = calls[0];
    let line = text.get(..tree.span(first).start as usize).unwrap_or_default();
    let above = line.rsplit('\n').nth(1).unwrap_or_default().trim_start();
    let comment = above.starts_with(['/', '#', '*']);
    let between = between(file, calls);
    // What is called may have such a name itself.
    let own = match tree.kind(first) {
        Kind::Call { callee, .. } => tree.last_name(*callee).unwrap_or_default(),
        _ => "",
    };
    let between = if own.is_empty() { between.to_owned() } else { between.replace(own, "") };
    words::speaks_of_again(&between)
        || comment && words::speaks_of_again(above)
        // What was kept of the failed one is dropped first.
        || words::drops_what_was_kept(&between)
}

/// Whether the function that two equal calls stand in has a name that says that it retries, or
/// something waits between them.
fn says_so_itself(file: &File<'_, '_>, calls: &[Id]) -> bool {
    let tree = file.tree;
    let home = tree.function_of(calls[0]).filter(|home| tree.function_of(calls[1]) == Some(*home));
    let name = home.and_then(|home| file.function_name(home));
    name.is_some_and(words::about_retry) || pauses_between(file, calls[0], calls[1])
}

/// Whether the second call is the first thing that is done about the failure of the first, which
/// was the last of what was tried: `try { f() } catch (E) { f() }`, `if r.status == 500 { r = f() }`.
fn at_once(file: &File<'_, '_>, first: Id, second: Id) -> bool {
    let tree = file.tree;
    let (Some(one), Some(other)) = (statement(file, first), statement(file, second)) else {
        return false;
    };
    let Some(branch) = tree.parent(other) else { return false };
    let Kind::Block(all) = tree.kind(branch) else { return false };
    let owner = |call: Id| match tree.kind(call) {
        Kind::Call { callee, .. } => match tree.kind(*callee) {
            Kind::Field { .. } => root(file, *callee),
            _ => None,
        },
        _ => None,
    };
    let acts = |all: &[Id], until: Id| {
        let before = all.iter().take_while(|id| **id != until);
        before.flat_map(|id| tree.walk_here(*id)).any(|at| match tree.kind(at) {
            Kind::Call { callee, new, .. } => {
                may_be_operation(file, at, *callee, *new)
                    // Something is done to what it belongs to, so that it can go well.
                    || owner(at).is_some_and(|name| {
                        !matches!(name, "this" | "self") && owner(first) == Some(name)
                    })
            }
            _ => false,
        })
    };
    let Some(up) = tree.parent(branch).filter(|_| !acts(all, other)) else { return false };
    // What was caught is asked about first: `catch (e) { if (e.code === "ECONNRESET") f() }`.
    let asked = match tree.kind(up) {
        Kind::If { test, then, .. } if *then == branch => handler_that_asks(file, up, *test),
        _ => None,
    };
    let up = match asked {
        Some((whole, handler)) if !acts(handler, up) => whole,
        _ => up,
    };
    // In a `try` of its own inside of the handler.
    let own = matches!(tree.kind(up), Kind::Try { body, .. } if *body == branch);
    let around = || {
        tree.ancestors(up).find(
            |at| matches!(tree.kind(*at), Kind::Try { body, .. } if file.within(first, *body)),
        )
    };
    let up = if own { around().unwrap_or(up) } else { up };
    match tree.kind(up) {
        Kind::Try { body, .. } => match tree.kind(*body) {
            // What follows the first call follows the second, too. Something else that was done before
            // may be what failed: then the second call only cleans up.
            Kind::Block(tried) => {
                !does_before(file, tried, one)
                    && (tried.last() == Some(&one)
                        || after(file, tried, one) == after(file, all, other)
                        || gives(file, tried, one, other))
            }
            _ => false,
        },
        Kind::If { then, .. } => {
            let both = kept(file, first) && kept(file, second);
            let after = tree.parent(up).is_some_and(|block| tree.parent(one) == Some(block));
            both && *then == branch && after
        }
        _ => false,
    }
}

/// Whether what a statement keeps is all that is given back after it, and the other one gives it
/// back itself: `const x = f(); return x;`, and then `return f();`.
fn gives(file: &File<'_, '_>, tried: &[Id], one: Id, other: Id) -> bool {
    let tree = file.tree;
    let (Kind::Let { target, .. } | Kind::Assign { target, .. }) = tree.kind(one) else {
        return false;
    };
    let at = tried.iter().position(|id| *id == one).map_or(0, |at| at + 1);
    let [last] = tried[at..] else { return false };
    let same =
        |id: Id| tree.last_name(id).is_some() && tree.last_name(id) == tree.last_name(*target);
    matches!(tree.kind(last), Kind::Return(Some(value)) if same(*value))
        && matches!(tree.kind(other), Kind::Return(Some(_)))
}

/// The `try` whose handler a question about what was caught stands in, and the handler.
fn handler_that_asks<'t>(file: &'t File<'_, '_>, question: Id, test: Id) -> Option<(Id, &'t [Id])> {
    let tree = file.tree;
    let body = tree.parent(question)?;
    let whole = tree.parent(body)?;
    let (Kind::Block(all), Kind::Try { handlers, .. }) = (tree.kind(body), tree.kind(whole)) else {
        return None;
    };
    let error = handlers.iter().find(|handler| handler.body == body)?.name?;
    let speaks = |at: Id| matches!(tree.kind(at), Kind::Name(name) if *name == error);
    tree.walk_here(test).any(speaks).then_some((whole, all))
}

/// Whether a statement before this one only calls something, for what that does.
fn does_before(file: &File<'_, '_>, block: &[Id], one: Id) -> bool {
    let tree = file.tree;
    block.iter().take_while(|id| **id != one).any(|id| {
        let mut at = *id;
        while let Kind::Await(of) | Kind::Propagate(of) = tree.kind(at) {
            at = *of;
        }
        match tree.kind(at) {
            Kind::Call { callee, new, .. } => may_be_operation(file, at, *callee, *new),
            _ => false,
        }
    })
}

/// The statements of a block after one of them, as they are written.
fn after(file: &File<'_, '_>, block: &[Id], one: Id) -> Vec<String> {
    let rest = block.iter().skip_while(|id| **id != one).skip(1);
    rest.map(|id| file.squeezed(*id)).collect()
}

/// Whether a call only makes an argument of another.
fn is_argument(file: &File<'_, '_>, call: Id) -> bool {
    let mut inner = call;
    for up in file.tree.ancestors(call) {
        match file.tree.kind(up) {
            Kind::Call { args, .. } => return args.iter().any(|arg| arg.value == inner),
            Kind::Await(_) | Kind::Propagate(_) | Kind::Field { .. } | Kind::Binary { .. } => {}
            _ => return false,
        }
        inner = up;
    }
    false
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
                return (branch && *body == inner)
                    || handlers.iter().any(|handler| handler.body == inner);
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
                Kind::Field { .. } => root(file, *target),
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
pub(super) fn kept(file: &File<'_, '_>, call: Id) -> bool {
    let tree = file.tree;
    let mut inner = call;
    for up in tree.ancestors(call) {
        match tree.kind(up) {
            Kind::Let { value: Some(value), .. } => return *value == inner,
            Kind::Assign { value, .. } => return *value == inner,
            Kind::Return(_) => return true,
            Kind::Await(_) | Kind::Propagate(_) => {}
            // `if err := db.Save(m).Error; err == nil`.
            Kind::Field { name: "Error" | "error" | "err", of } if *of == inner => {}
            _ => return false,
        }
        inner = up;
    }
    false
}
