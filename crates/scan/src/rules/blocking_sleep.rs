//! A wait that stops everybody else.

use super::sites::{inside, name_of, shown};
use super::words::time;
use super::{Check, Context, Hit, Rule, Severity};
use crate::language::Language;
use crate::policy::Policy;
use crate::tree::{Id, Kind, Tree};
use crate::value::Imports;

pub(super) static RULE: Rule = Rule {
    id: "blocking-sleep",
    severity: Severity::Error,
    summary: "The wait blocks the thread of an asynchronous function",
    fix: "await the runtime's own sleep: asyncio.sleep, tokio::time::sleep, Task.Delay, delay",
    check: Check::Policy(check),
};

/// Waits that hold their thread, by language.
const SLEEPS: &[(&[Language], &[&str])] = &[
    (&[Language::Python], &["time.sleep"]),
    (&[Language::Rust], &["thread.sleep", "std.thread.sleep"]),
    (&[Language::CSharp], &["Thread.Sleep", "System.Threading.Thread.Sleep"]),
    (&[Language::Kotlin], &["Thread.sleep", "TimeUnit.SECONDS.sleep"]),
    (&[Language::JavaScript, Language::TypeScript, Language::Tsx], &["Atomics.wait"]),
];

fn check(context: &Context<'_>, policy: &Policy, hits: &mut Vec<Hit>) {
    let Context { tree, source, .. } = context;
    let Some((_, names)) = SLEEPS.iter().find(|(all, _)| all.contains(&source.language)) else {
        return;
    };
    // Read once, and only if there is an asynchronous function.
    let mut imports = None;
    for id in inside(tree, policy) {
        let Kind::Call { callee, .. } = tree.kind(id) else { continue };
        if !in_async(tree, id) {
            continue;
        }
        let imports = imports.get_or_insert_with(|| Imports::of(tree));
        if let Some(name) = blocks(tree, imports, *callee, names) {
            let span = tree.span(id);
            let wait = policy.delay.base_ms.as_ref();
            let wait = wait.map_or(String::new(), |base| format!(" for {}", time(base.value)));
            hits.push(Hit {
                severity: Severity::Error,
                line: span.line,
                end_line: span.end_line,
                message: format!(
                    "`{name}` blocks the thread{wait}: every other task on it waits too"
                ),
            });
        }
    }
}

/// What a call that holds its thread is called: also `sleep` that was imported by itself, and
/// `Task.Delay(…).Wait()`.
fn blocks(tree: &Tree<'_>, imports: &Imports<'_>, callee: Id, names: &[&str]) -> Option<String> {
    if let Kind::Field { of, name: "Wait" | "GetAwaiter" } = tree.kind(callee)
        && let Kind::Call { callee: inner, .. } = tree.kind(*of)
        && name_of(tree, *inner).as_deref() == Some("Task.Delay")
    {
        return Some("Task.Delay(…).Wait".to_owned());
    }
    let written = tree.path(callee)?.join(".");
    let meant = match imports.qualify(tree, callee) {
        Some(found) => found.to_string().replace("::", "."),
        None => written.clone(),
    };
    let is = |name: &str| names.contains(&name);
    (is(&written) && meant == written || is(&meant)).then(|| shown(tree, callee))
}

/// Whether the nearest function is asynchronous: a closure that is handed to a thread pool is not.
fn in_async(tree: &Tree<'_>, id: Id) -> bool {
    tree.function_of(id)
        .is_some_and(|up| matches!(tree.kind(up), Kind::Function { is_async: true, .. }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::said;

    #[test]
    fn the_nearest_function_decides() {
        let python = |start: &str, sleep: &str| {
            let text = format!(
                "import time\nfrom time import sleep\nfrom asyncio import sleep as nap\n{start} \
                 f(c):\n    for i in range(3):\n        try:\n            return c.fetch_user()\n        \
                 except OSError:\n            {sleep}\n"
            );
            said(&RULE, &[("a.py", &text)])
        };
        assert_eq!(
            python("async def", "time.sleep(2)"),
            ["9 error: `time.sleep` blocks the thread for 2 s: every other task on it waits too"]
        );
        assert_eq!(python("async def", "sleep(2)").len(), 1);
        assert_eq!(python("async def", "await nap(2)"), [""; 0]);
        assert_eq!(python("def", "time.sleep(2)"), [""; 0]);
    }
}
