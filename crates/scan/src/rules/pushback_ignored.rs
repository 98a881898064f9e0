//! A server's word that nobody hears.

use super::answers::{hears, overload};
use super::words::waits;
use super::{Check, Context, Hit, Rule, Severity};
use crate::policy::{DelayKind, Policy};

pub(super) static RULE: Rule = Rule {
    id: "pushback-ignored",
    severity: Severity::Warning,
    summary: "An overloaded server is retried on the client's own schedule",
    fix: "read Retry-After (gRPC: grpc-retry-pushback-ms) and wait at least as long",
    check: Check::Policy(check),
};

fn check(context: &Context<'_>, policy: &Policy, hits: &mut Vec<Hit>) {
    let own = waits(policy) || policy.delay.kind.value == DelayKind::None;
    if policy.pushback || !own || hears(context.tree, policy) {
        return;
    }
    let Some(on) = overload(context.tree, policy) else { return };
    let message = format!(
        "`{on}` is retried on a schedule of its own: what the server says in Retry-After is not read"
    );
    hits.push(Hit::at(policy, Severity::Warning, message));
}
