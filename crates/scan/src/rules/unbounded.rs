//! Attempts without an end.

use super::sites::{inside, place};
use super::{Check, Context, Hit, Rule, Severity};
use crate::policy::{Attempts, By, From, Kind, Policy};
use crate::tree::{self, LoopForm, Tree};

pub(super) static RULE: Rule = Rule {
    id: "unbounded-retry",
    severity: Severity::Error,
    summary: "Attempts have no end",
    fix: "limit the attempts, or the time they may take, below the caller's own timeout",
    check: Check::Policy(check),
};

/// How code asks whether somebody has cancelled it: the last name, in any case.
const CANCELLED: &[&str] = &[
    "done",
    "err",
    "aborted",
    "throwifaborted",
    "throwifcancellationrequested",
    "iscancellationrequested",
    "is_cancelled",
    "cancelled",
    "isactive",
    "ensureactive",
    "isinterrupted",
];
/// What it asks: part of the name before that, in lower case.
const OF_CANCELLED: &[&str] = &["ctx", "context", "signal", "token", "cancel", "job", "thread"];

fn check(context: &Context<'_>, policy: &Policy, hits: &mut Vec<Hit>) {
    // A long-lived stream is connected again for as long as the process lives.
    if policy.attempts_total.value != Attempts::Infinite
        || policy.deadline_ms.is_some()
        || policy.kind == Kind::Reconnect
        || policy.notes.iter().any(|note| note == "ends by the clock")
    {
        return;
    }
    let switch = match policy.by {
        By::HandRolled { .. } => switch(context.tree, policy),
        By::Library { .. } => None,
    };
    let (severity, who) = match (&policy.attempts_total.from, switch) {
        (_, Some(switch)) => {
            (Severity::Warning, format!("only `{switch}` ends them, and no limit or deadline"))
        }
        (From::Default, _) => {
            (Severity::Error, "nobody set a limit, and the library's default has none".to_owned())
        }
        _ => (Severity::Error, "nothing ends them but success".to_owned()),
    };
    let message = format!("endless attempts: {who}; callers that gave up are retried for, too");
    hits.push(Hit::at(policy, severity, message));
}

/// What somebody else can end the attempts with: the condition of the loop, or a cancellation.
fn switch(tree: &Tree<'_>, policy: &Policy) -> Option<String> {
    let short = |id| {
        let text = tree.source(id).split_whitespace().collect::<Vec<_>>().join(" ");
        text.chars().take(60).collect::<String>()
    };
    let shape = place(tree, policy).map(|id| tree.kind(id));
    if let Some(tree::Kind::Loop { form: LoopForm::While(test) | LoopForm::DoWhile(test), .. }) =
        shape
        && is_flag(tree, *test)
    {
        return Some(short(*test));
    }
    inside(tree, policy).into_iter().find_map(|id| {
        let tree::Kind::Field { of, name } = tree.kind(id) else { return None };
        let name = name.to_ascii_lowercase();
        let of = tree.last_name(*of)?.to_ascii_lowercase();
        (CANCELLED.contains(&name.as_str()) && OF_CANCELLED.iter().any(|word| of.contains(word)))
            .then(|| short(id))
    })
}

/// A name, or not a name: what the loop itself does not decide.
fn is_flag(tree: &Tree<'_>, test: tree::Id) -> bool {
    match tree.kind(test) {
        tree::Kind::Name(name) => !["ok", "success", "done", "connected"].contains(name),
        tree::Kind::Field { .. } => true,
        tree::Kind::Unary { of, .. } => is_flag(tree, *of),
        tree::Kind::Call { callee, .. } => {
            tree.last_name(*callee).is_some_and(|name| CANCELLED.contains(&name))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::said;

    #[test]
    fn who_ends_them() {
        let python = |test: &str, more: &str| {
            let text = format!(
                "import time\ndef f(self, c, end):\n    while {test}:\n        try:\n            \
                 return c.fetch_user()\n        except OSError:\n            {more}\n            \
                 time.sleep(1)\n"
            );
            said(&RULE, &[("a.py", &text)])
        };
        let after = "callers that gave up are retried for, too";
        assert_eq!(
            python("True", "pass"),
            [format!("3 error: endless attempts: nothing ends them but success; {after}")]
        );
        assert_eq!(
            python("self.running", "pass"),
            [format!(
                "3 warning: endless attempts: only `self.running` ends them, and no limit or \
                 deadline; {after}"
            )]
        );
        assert_eq!(python("time.monotonic() < end", "pass"), [""; 0], "by the clock");
        assert_eq!(python("True", "if time.monotonic() > end: raise"), [""; 0], "by the clock");
    }
}
