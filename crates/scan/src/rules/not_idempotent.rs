//! Retries of what must not be done twice.

use super::sites::inside;
use super::words::{OVERLOAD, attempts, is_one_of};
use super::{Check, Context, Hit, Rule, Severity};
use crate::policy::{Call, Policy};

pub(super) static RULE: Rule = Rule {
    id: "not-idempotent",
    severity: Severity::Warning,
    summary: "A call that may not be done twice is retried",
    fix: "send an idempotency key that the callee honours, or retry only what never left",
    check: Check::Policy(check),
};

/// First words of what is done twice if it is called twice. `send` and `publish` alone are not
/// among them: an HTTP client sends a GET, and consumers of a queue expect a message twice.
const TWICE: &[&str] =
    &["post", "patch", "create", "insert", "charge", "pay", "refund", "transfer"];

/// Things of which a second one in this process hurts nobody.
const ONE_IS_ENOUGH: &[&str] = &[
    "connection",
    "client",
    "session",
    "pool",
    "channel",
    "stream",
    "engine",
    "socket",
    "consumer",
    "producer",
];

/// Signs that the callee can tell a repetition, without `_`, `-` and case.
const KEYS: &[&str] = &["idempoten", "requestid", "clienttoken", "dedup", "onconflict"];

/// Failures of a request that never left.
const NEVER_LEFT: &[&str] = &[
    "connectionrefusederror",
    "connecttimeout",
    "connecterror",
    "connectexception",
    "econnrefused",
    "newconnectionerror",
];

fn check(context: &Context<'_>, policy: &Policy, hits: &mut Vec<Hit>) {
    let Some(call) = policy.call.as_ref().filter(|call| call.idempotent == Some(false)) else {
        return;
    };
    let what = call.method.as_deref().unwrap_or(&call.text);
    if !is_twice(call) || has_key(context, policy) || is_refused(policy) {
        return;
    }
    let message = format!(
        "{} of {what}: after a timeout nobody knows whether the first one was done",
        attempts(policy)
    );
    hits.push(Hit::at(policy, Severity::Warning, message));
}

fn is_twice(call: &Call) -> bool {
    let name = call.method.as_deref().unwrap_or(&call.text);
    let name = name.trim_start_matches(|c: char| !c.is_alphabetic());
    let first = first_word(name).to_ascii_lowercase();
    let all = name.to_ascii_lowercase();
    TWICE.contains(&first.as_str()) && !ONE_IS_ENOUGH.iter().any(|thing| all.contains(thing))
}

/// `post` of `PostAsync`, `charge` of `charge_card`, `POST` of `POST`.
fn first_word(name: &str) -> &str {
    let mut small = false;
    let end = name.find(|c: char| {
        let ends = !c.is_alphabetic() || (small && c.is_uppercase());
        small |= c.is_lowercase();
        ends
    });
    &name[..end.unwrap_or(name.len())]
}

fn has_key(context: &Context<'_>, policy: &Policy) -> bool {
    inside(context.tree, policy).into_iter().any(|id| {
        let text = context.tree.source(id).to_ascii_lowercase().replace(['_', '-', ' '], "");
        KEYS.iter().any(|key| text.contains(key))
    })
}

/// Whether only what was refused or never left is retried.
fn is_refused(policy: &Policy) -> bool {
    let on = &policy.retries_on.value;
    !on.is_empty() && on.iter().all(|on| is_one_of(on, NEVER_LEFT) || is_one_of(on, OVERLOAD))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::said;

    #[test]
    fn what_is_done_twice_if_it_is_called_twice() {
        let python = |call: &str, on: &str| {
            let text = format!(
                "import time\ndef f(c, o):\n    for i in range(3):\n        try:\n            return \
                 c.{call}\n        except {on}:\n            time.sleep(1)\n"
            );
            said(&RULE, &[("a.py", &text)]).len()
        };
        assert_eq!(python("post(o)", "Timeout"), 1);
        assert_eq!(python("charge_card(o)", "Timeout"), 1);
        assert_eq!(python("createOrder(o)", "Timeout"), 1);
        assert_eq!(python("create_connection(o)", "Timeout"), 0);
        assert_eq!(python("get(o)", "Timeout"), 0);
        assert_eq!(python("send(o)", "Timeout"), 0, "a request that may be a GET");
        assert_eq!(python("post(o, idempotency_key=o.id)", "Timeout"), 0);
        assert_eq!(python("post(o)", "ConnectionRefusedError"), 0, "it never left");
        assert_eq!(python("post(o)", "TooManyRequests"), 0, "nothing was done");
    }

    #[test]
    fn the_first_word_of_a_name() {
        let words = ["PostAsync", "POST", "charge_card", "postgresConnect", "createOrder", "ä"];
        let first = ["Post", "POST", "charge", "postgres", "create", "ä"];
        assert_eq!(words.map(first_word), first);
    }
}
