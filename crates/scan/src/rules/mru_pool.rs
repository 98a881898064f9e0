//! A pool that gives out the connection it got back last.

use super::{Check, Context, Hit, Rule, Severity};
use crate::tree::{Id, Kind, Tree};

pub(super) static RULE: Rule = Rule {
    id: "mru-pool",
    severity: Severity::Note,
    summary: "The pool prefers the connection that was used last",
    fix: "give out the one that has waited longest, and limit the age of a connection",
    check: Check::File(check),
};

/// Settings that make a pool so: the name, the value that does it, and a word that stands in a
/// file that has such a pool. SQLAlchemy, commons-pool2, generic-pool, Node's agent, and Apache's
/// HTTP client.
const SETTINGS: &[(&str, Wanted, &str)] = &[
    ("pool_use_lifo", Wanted::Yes, ""),
    ("use_lifo", Wanted::Yes, "Pool"),
    ("setLifo", Wanted::Yes, "Pool"),
    ("lifo", Wanted::Yes, "PoolConfig"),
    ("fifo", Wanted::No, "generic-pool"),
    ("scheduling", Wanted::Text("lifo"), "Agent"),
    ("PoolReusePolicy", Wanted::Field("LIFO"), ""),
];

#[derive(Clone, Copy)]
enum Wanted {
    Yes,
    No,
    Text(&'static str),
    /// The name is an enumeration, and this of it is used.
    Field(&'static str),
}

fn check(context: &Context<'_>, hits: &mut Vec<Hit>) {
    let tree = context.tree;
    for id in tree.ids() {
        let found = match tree.kind(id) {
            Kind::Record { entries, .. } => entries
                .iter()
                .find(|entry| entry.key.as_deref().is_some_and(|key| sets(tree, key, entry.value)))
                .map(|entry| entry.value),
            Kind::Call { callee, args, .. } => {
                let called = tree.last_name(*callee);
                args.iter()
                    .find(|arg| arg.name.or(called).is_some_and(|name| sets(tree, name, arg.value)))
                    .map(|arg| arg.value)
            }
            Kind::Field { of, name } => SETTINGS
                .iter()
                .any(|(setting, wanted, _)| {
                    matches!(wanted, Wanted::Field(field) if field == name)
                        && tree.last_name(*of) == Some(setting)
                })
                .then_some(id),
            Kind::Assign { op: None, target, value } => {
                let name = tree.last_name(*target);
                name.is_some_and(|name| sets(tree, name, *value)).then_some(*value)
            }
            _ => None,
        };
        if let Some(found) = found {
            let span = tree.span(found);
            hits.push(Hit {
                severity: Severity::Note,
                line: span.line,
                end_line: span.end_line,
                message: "the connection that was used last is used next: a slow link collects \
                          the slow calls, and a new server gets no work"
                    .to_owned(),
            });
        }
    }
}

fn sets(tree: &Tree<'_>, name: &str, value: Id) -> bool {
    SETTINGS.iter().any(|(setting, wanted, word)| {
        *setting == name
            && tree.text().contains(word)
            && match (wanted, tree.kind(value)) {
                (Wanted::Yes, Kind::Bool(on)) => *on,
                (Wanted::No, Kind::Bool(on)) => !on,
                (Wanted::Text(text), Kind::Text(value)) => value == text,
                _ => false,
            }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::said;

    #[test]
    fn only_in_a_pool() {
        let script = |text: &str| said(&RULE, &[("a.js", text)]).len();
        assert_eq!(
            script("import { createPool } from 'generic-pool'; createPool(f, { fifo: false });"),
            1
        );
        assert_eq!(script("queue({ fifo: false });"), 0, "a queue is no pool");
        let python = |text: &str| said(&RULE, &[("a.py", text)]).len();
        assert_eq!(python("create_engine(url, pool_use_lifo=True)"), 1);
        assert_eq!(python("create_engine(url, pool_use_lifo=False)"), 0);
    }
}
