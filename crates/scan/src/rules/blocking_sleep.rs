//! A wait that stops everybody else.

use super::words::time;
use super::{Check, Context, Hit, Rule, Severity};
use crate::language::Language;
use crate::policy::Policy;
use crate::tree::{Id, Kind, Tree};

pub(super) static RULE: Rule = Rule {
    id: "blocking-sleep",
    severity: Severity::Error,
    summary: "The wait blocks the thread of an asynchronous function",
    fix: "await the runtime's own sleep: asyncio.sleep, tokio::time::sleep, Task.Delay, delay",
    check: Check::Policy(check),
};

/// Waits that hold their thread, by language.
const SLEEPS: &[(Language, &[&str])] = &[
    (Language::Python, &["time.sleep"]),
    (Language::Rust, &["thread.sleep", "std.thread.sleep"]),
    (Language::CSharp, &["Thread.Sleep"]),
    (Language::Kotlin, &["Thread.sleep"]),
];

fn check(context: &Context<'_>, policy: &Policy, hits: &mut Vec<Hit>) {
    let Context { tree, source, .. } = context;
    let Some((_, names)) = SLEEPS.iter().find(|(language, _)| *language == source.language) else {
        return;
    };
    let inside = tree.ids().filter(|id| {
        let span = tree.span(*id);
        policy.line <= span.line && span.end_line <= policy.end_line
    });
    for id in inside {
        let Kind::Call { callee, .. } = tree.kind(id) else { continue };
        let Some(path) = tree.path(*callee) else { continue };
        if names.contains(&path.join(".").as_str()) && in_async(tree, id) {
            let span = tree.span(id);
            let wait = policy.delay.base_ms.as_ref();
            let wait = wait.map_or(String::new(), |base| format!(" for {}", time(base.value)));
            hits.push(Hit {
                severity: Severity::Error,
                line: span.line,
                end_line: span.end_line,
                message: format!(
                    "{} blocks the thread{wait}: every other task on it waits too",
                    path.join(".")
                ),
            });
        }
    }
}

/// Whether the nearest function is asynchronous: a closure that is handed to a thread pool is not.
fn in_async(tree: &Tree<'_>, id: Id) -> bool {
    tree.function_of(id)
        .is_some_and(|up| matches!(tree.kind(up), Kind::Function { is_async: true, .. }))
}
