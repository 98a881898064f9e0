//! A failure that costs more than a success.

use super::words::attempts;
use super::{Check, Context, Hit, Rule, Severity};
use crate::policy::Policy;
use crate::tree::{Id, Kind, Tree};

pub(super) static RULE: Rule = Rule {
    id: "expensive-error",
    severity: Severity::Warning,
    summary: "Each failed attempt does more work than a good one",
    fix: "count failures and log a sample; capture a stack, resolve a name or connect anew once",
    check: Check::Policy(check),
};

/// What is dear in a failure path: how a call ends, and why it is dear.
const DEAR: &[(&[&str], &str)] = &[
    (
        &[
            "traceback.print_exc",
            "traceback.format_exc",
            "traceback.print_stack",
            "traceback.format_stack",
            "inspect.stack",
            "logging.exception",
            "logger.exception",
            "log.exception",
            "printStackTrace",
            "getStackTrace",
            "debug.Stack",
            "debug.PrintStack",
            "runtime.Stack",
            "console.trace",
            "Backtrace.capture",
            "Backtrace.force_capture",
            "Environment.StackTrace",
            "full_message",
            "debug_backtrace",
        ],
        "captures a stack",
    ),
    (
        &[
            "socket.getaddrinfo",
            "socket.gethostbyname",
            "net.LookupHost",
            "net.LookupIP",
            "net.LookupAddr",
            "InetAddress.getByName",
            "InetAddress.getAllByName",
            "dns.lookup",
            "dns.resolve",
            "Dns.GetHostEntry",
            "Dns.GetHostAddresses",
            "lookup_host",
        ],
        "resolves a name",
    ),
    (
        &["fsync", "os.fsync", "appendFileSync", "writeFileSync"],
        "writes to a disk and waits for it",
    ),
];

fn check(context: &Context<'_>, policy: &Policy, hits: &mut Vec<Hit>) {
    let tree = context.tree;
    let mut known = Vec::new();
    for handler in failure_paths(tree, policy) {
        for id in tree.walk_here(handler) {
            let Kind::Call { callee, .. } = tree.kind(id) else { continue };
            let Some(name) = tree
                .path(*callee)
                .map(|path| path.join("."))
                .or_else(|| tree.last_name(*callee).map(str::to_owned))
            else {
                continue;
            };
            let ends = |dear: &str| {
                name == dear || name.strip_suffix(dear).is_some_and(|rest| rest.ends_with('.'))
            };
            let why = DEAR.iter().find(|(names, _)| names.iter().any(|dear| ends(dear)));
            let span = tree.span(id);
            // Where it leaves the loop, it happens once.
            if let Some((_, why)) = why
                && !known.contains(&span.line)
                && !leaves(tree, id, handler)
            {
                known.push(span.line);
                hits.push(Hit {
                    severity: Severity::Warning,
                    line: span.line,
                    end_line: span.end_line,
                    message: format!(
                        "{name} {why} for each of {}: when everything fails, failing is what the \
                         machine is busy with",
                        attempts(policy)
                    ),
                });
            }
        }
    }
}

/// What handles a failure inside the lines of a policy.
fn failure_paths(tree: &Tree<'_>, policy: &Policy) -> Vec<Id> {
    let mut all = Vec::new();
    for id in tree.ids() {
        let span = tree.span(id);
        if span.line < policy.line || span.end_line > policy.end_line {
            continue;
        }
        if let Kind::Try { handlers, .. } = tree.kind(id) {
            all.extend(handlers.iter().map(|handler| handler.body));
        }
    }
    all
}

/// Whether the block that a call stands in, inside the handler, ends the attempts.
fn leaves(tree: &Tree<'_>, id: Id, handler: Id) -> bool {
    let block = tree
        .ancestors(id)
        .take_while(|up| *up != handler)
        .find(|up| matches!(tree.kind(*up), Kind::Block(_)));
    let Some(Kind::Block(all)) = block.map(|block| tree.kind(block)) else { return false };
    all.iter().any(|last| {
        matches!(tree.kind(*last), Kind::Return(_) | Kind::Throw(_) | Kind::Break { .. })
    })
}
