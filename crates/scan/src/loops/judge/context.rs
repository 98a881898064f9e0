//! What stands around a candidate: its names, its words, and what says that it reaches out.

use crate::loops::candidate::{Candidate, Shape, pauses_between};
use crate::loops::file::File;
use crate::loops::machine::{Trace, seen};
use crate::loops::words;
use crate::tree::{Handler, Id, Kind, Tree};

/// What stands around a candidate.
pub(super) struct Context {
    /// The text of the candidate, shortened.
    pub(super) text: String,
    /// The operation's name.
    pub(super) last: String,
    pub(super) call: String,
    /// The name of the function around it.
    pub(super) function: String,
    pub(super) shape: Shape,
    pub(super) parameter: bool,
    /// The result is closed at once: only whether there is one mattered.
    pub(super) closed: bool,
    /// Whether something says that the operation leaves the process: its name, what it belongs
    /// to, that it is awaited, or the kinds of errors that are caught around it.
    pub(super) outside: bool,
    /// Whether the lines around it, comments too, speak of trying again.
    pub(super) said: bool,
    /// Only errors that the code itself makes are caught around it.
    pub(super) mistake: bool,
    /// Only errors that say that there is nothing yet are caught around it.
    pub(super) nothing_yet: bool,
    /// The operation is a getter without arguments.
    pub(super) gets: bool,
    /// Of the same call twice, the lines from the first to the second.
    pub(super) between: String,
    /// Between the same call twice something waits.
    pub(super) pauses: bool,
    /// The operation asks a person.
    pub(super) asks: bool,
    /// It waits for something that runs already.
    pub(super) joins: bool,
    /// The line above says that it waits for something: "poll until it is there".
    pub(super) polls: bool,
    /// It takes the next piece of work, within a time: `timeout(limit, stream.next())`.
    pub(super) consumes: bool,
    /// Each round begins when a clock ticks.
    pub(super) ticks: bool,
    /// A person is asked in each round, so that each is done with other words.
    prompts: bool,
}

/// The text of a candidate; of a jump backward all that is jumped over.
fn text_of<'s>(tree: &Tree<'s>, candidate: &Candidate) -> &'s str {
    let whole = || {
        let block = tree.parent(candidate.entry)?;
        let (from, to) = (tree.span(candidate.entry).start, tree.span(block).end);
        tree.text().get(from as usize..to as usize)
    };
    let jumped = (candidate.shape == Shape::Goto).then(whole).flatten();
    jumped.unwrap_or_else(|| tree.source(candidate.place))
}

impl Context {
    pub(super) fn new(file: &File<'_, '_>, candidate: &Candidate, group: &[Id]) -> Self {
        let tree = file.tree;
        let call = group[0];
        let callee = match tree.kind(call) {
            Kind::Call { callee, .. } => *callee,
            _ => call,
        };
        let last = tree.last_name(callee).unwrap_or_default().to_owned();
        let function = tree
            .function_of(candidate.place)
            .or(candidate.recursive)
            .and_then(|function| file.function_name(function))
            .unwrap_or_default()
            .to_owned();
        let parameter = match tree.kind(callee) {
            Kind::Name(name) => tree
                .ancestors(call)
                .filter_map(|up| match tree.kind(up) {
                    Kind::Function { params, .. } => Some(params),
                    _ => None,
                })
                .any(|params| params.iter().any(|param| param.name == *name)),
            _ => false,
        };
        let closed = tree
            .parent(call)
            .is_some_and(|up| matches!(tree.kind(up), Kind::Field { name: "close", .. }));
        let handlers = tree.ancestors(call).find_map(|up| match tree.kind(up) {
            Kind::Try { handlers, .. } => Some(handlers),
            _ => None,
        });
        let mut types =
            handlers.into_iter().flatten().flat_map(|handler| &handler.types).peekable();
        let nothing_yet = types.peek().is_some()
            && types.clone().all(|ty| words::is_nothing_yet(tree.source(*ty)));
        let mistake = types.peek().is_some() && types.all(|ty| words::is_mistake(tree.source(*ty)));
        // What the error says was looked at before the call is made again.
        let checked = candidate.shape == Shape::Repeat
            && handlers.into_iter().flatten().any(|handler| checks(tree, handler));
        let awaited =
            tree.ancestors(call).take(3).any(|up| matches!(tree.kind(up), Kind::Await(_)));
        let caught = tree
            .ancestors(call)
            .filter_map(|up| match tree.kind(up) {
                Kind::Try { handlers, .. } => Some(handlers),
                _ => None,
            })
            .flatten()
            .flat_map(|handler| &handler.types)
            .any(|ty| words::is_outside_error(tree.source(*ty)));
        let path = match tree.kind(callee) {
            Kind::Index { of, .. } => tree.path(*of).map(|mut path| {
                path.push("");
                path
            }),
            _ => tree.path(callee),
        };
        let path = path.unwrap_or_else(|| vec![&last]);
        let outside = awaited || caught || checked || words::leaves_the_process(&path);
        let around = lines_around(tree, candidate.place, group);
        let said = words::speaks_of_again(around)
            && (candidate.shape != Shape::Repeat
                || words::speaks_of_again(&without_what_is_not(around)))
            || candidate.shape == Shape::Repeat && words::drops_what_was_kept(around);
        let prompts = candidate.subject.is_some_and(|place| {
            tree.walk_here(place).any(|at| match tree.kind(at) {
                Kind::Call { callee, .. } => words::is_prompt(tree.source(*callee)),
                _ => false,
            })
        });
        Self {
            outside,
            said,
            mistake: mistake && !checked,
            nothing_yet,
            pauses: match group {
                [first, .., last] if candidate.shape == Shape::Repeat => {
                    pauses_between(file, *first, *last)
                }
                _ => false,
            },
            asks: words::asks_a_person(tree.source(callee)),
            joins: joins(file, callee),
            consumes: consumes(tree, call, &last),
            ticks: candidate.subject.is_some() && ticks(tree, candidate.place),
            gets: matches!(tree.kind(call), Kind::Call { args, .. } if args.is_empty())
                && words::words(&last).first().is_some_and(|word| &**word == "get"),
            between: match candidate.shape {
                Shape::Repeat => around.to_owned(),
                _ => String::new(),
            },
            prompts,
            polls: candidate.subject.is_some() && says_it_polls(tree, candidate.place),
            text: text_of(tree, candidate).chars().take(4000).collect(),
            last,
            call: file.brief(call, 200),
            function,
            shape: candidate.shape,
            parameter,
            closed,
        }
    }

    /// Whether no run of it could make it one that is reported.
    pub(super) fn never(&self) -> bool {
        // A person is asked again with other words. The same call twice is so often something else
        // that it has to reach out in any case.
        let evident = self.outside || self.said || self.pauses;
        self.asks || self.prompts || self.shape == Shape::Repeat && !evident
    }

    /// Whether it may be a retry though nothing of the answer lets it go: it says so.
    pub(super) fn may_be_unrelated(&self, trace: &Trace) -> bool {
        let waits = trace.waits.iter().any(|wait| wait.after > 0);
        match self.shape {
            Shape::Recursion => false,
            Shape::Endless => self.named() && (waits || trace.counted),
            _ => self.named() || self.said || waits,
        }
    }

    /// Whether a loop makes the same call a fixed number of times until it says that it went well:
    /// `for (i = 0; i < 3; i++) if (producer.send(m)) return true`.
    pub(super) fn is_tried_a_few_times(&self, trace: &Trace) -> bool {
        const FEW: u32 = 10;
        let fixed = trace.counted && trace.cut.is_none() && trace.symbols.is_empty();
        fixed && self.shape == Shape::Counted && self.outside && !self.gets && trace.calls <= FEW
    }

    /// Whether a function that calls itself counts what it caught, and comes to an end.
    pub(super) fn counts_what_it_caught(&self, trace: &Trace) -> bool {
        let caught = trace.seen & seen::CAUGHT != 0;
        self.shape == Shape::Recursion && caught && trace.counted && trace.cut.is_none()
    }

    pub(super) fn named(&self) -> bool {
        words::about_retry(&self.text) || words::about_retry(&self.function)
    }
}

/// A text without the lines that say of something that it is not so: `isRetry: false,`.
fn without_what_is_not(text: &str) -> String {
    let says_no = |line: &&str| {
        let line = line.trim().trim_end_matches(',');
        line.split_once([':', '=']).is_some_and(|(key, value)| {
            let value = value.trim();
            !key.trim().contains(' ') && value.eq_ignore_ascii_case("false")
        })
    };
    text.lines().filter(|line| !says_no(line)).collect::<Vec<_>>().join("\n")
}

/// Whether a call gives so much time to one that takes the next piece of work.
fn consumes(tree: &Tree<'_>, call: Id, last: &str) -> bool {
    let limits = words::words(last).first().is_some_and(|word| &**word == "timeout");
    let Kind::Call { args, .. } = tree.kind(call) else { return false };
    limits
        && args.iter().any(|arg| match tree.kind(arg.value) {
            Kind::Call { callee, .. } => tree.last_name(*callee).is_some_and(words::is_consuming),
            _ => false,
        })
}

/// Whether a loop waits for the next tick in each round: `interval.tick().await`.
fn ticks(tree: &Tree<'_>, place: Id) -> bool {
    let Kind::Loop { body, .. } = tree.kind(place) else { return false };
    let Kind::Block(all) = tree.kind(*body) else { return false };
    all.iter().any(|one| {
        let of = match tree.kind(*one) {
            Kind::Await(of) => *of,
            _ => *one,
        };
        matches!(tree.kind(of), Kind::Call { callee, .. }
            if tree.last_name(*callee) == Some("tick"))
    })
}

/// Whether the comment above a loop says that it polls.
fn says_it_polls(tree: &Tree<'_>, place: Id) -> bool {
    let before = &tree.text()[..tree.span(place).start as usize];
    let above = before.rsplit('\n').nth(1).unwrap_or_default().trim_start();
    let Some(comment) = above.strip_prefix(['/', '#']) else { return false };
    let words = words::words(comment);
    let first = words.first().map(|word| &**word);
    matches!(first, Some("poll" | "polls" | "polling")) && !words::about_retry(comment)
}

/// What runs already, by the words of its type or of what made it.
const RUNNING: &[&str] = &[
    "future", "futures", "task", "thread", "process", "latch", "promise", "submit", "spawn",
    "handle", "deferred", "job",
];

/// Whether a call waits for something that runs already: `f.get(1, SECONDS)` of a `Future<?> f`.
fn joins(file: &File<'_, '_>, callee: Id) -> bool {
    let tree = file.tree;
    let Kind::Field { of, name } = tree.kind(callee) else { return false };
    let waits = &["get", "join", "wait", "result", "await"];
    let (true, Kind::Name(of)) = (words::any(name, waits), tree.kind(*of)) else { return false };
    file.assigned(of).iter().any(|at| match tree.kind(*at) {
        Kind::Let { ty, value, .. } => {
            let made = value.and_then(|value| match tree.kind(value) {
                Kind::Call { callee, .. } => tree.last_name(*callee),
                _ => None,
            });
            let typed = ty.map(|ty| ty.split(['<', '[']).next().unwrap_or(ty));
            typed.or(made).is_some_and(|text| words::any(text, RUNNING))
        }
        _ => false,
    })
}

/// Whether a handler asks what the error says, and raises it again unless that is of a kind:
/// `if "locked" not in str(error): raise`.
fn checks(tree: &Tree<'_>, handler: &Handler<'_>) -> bool {
    let Some(error) = handler.name else { return false };
    let Kind::Block(all) = tree.kind(handler.body) else { return false };
    all.iter().any(|one| match tree.kind(*one) {
        Kind::If { test, then, otherwise: None } => {
            let speaks = tree.walk_here(*test).any(|at| match tree.kind(at) {
                Kind::Name(name) => *name == error,
                Kind::Text(_) => placeholder(tree.source(at), error),
                _ => false,
            });
            speaks && tree.walk_here(*then).any(|at| matches!(tree.kind(at), Kind::Throw(_)))
        }
        _ => false,
    })
}

/// Whether a text has a name in braces: `f"{error}"`.
fn placeholder(text: &str, name: &str) -> bool {
    text.split('{').skip(1).any(|part| part.trim_start_matches(' ').starts_with(name))
}

/// The text of a candidate's lines, with the two above it; of a pair of calls from the first to
/// the second.
fn lines_around<'s>(tree: &Tree<'s>, place: Id, group: &[Id]) -> &'s str {
    let spans = group.iter().map(|id| tree.span(*id)).chain([tree.span(place)]);
    let start = spans.clone().map(|span| span.start as usize).min().unwrap_or(0);
    let end = spans.map(|span| span.end as usize).max().unwrap_or(start);
    let text = tree.text();
    let above = text[..start].rmatch_indices('\n').nth(2).map_or(0, |(at, _)| at);
    let mut end = end.min(start + 4000).min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(above..end).unwrap_or_default()
}
