//! What a file asks for and an emulation does otherwise, one line for each.

use damper_system::System;
use damper_system::coverage::{Command, left_out};

use crate::envoy;
use crate::run::Retries;

/// Everything that is done otherwise.
pub(crate) fn notes(system: &System, retries: &Retries) -> Vec<String> {
    let mut all: Vec<String> =
        left_out(Command::Emulate, system).iter().map(ToString::to_string).collect();
    match retries {
        Retries::Servers => {
            for edge in &system.policies.edges {
                let policy = &edge.policy;
                if policy.throttle.is_some() || policy.breaker.is_some() {
                    all.push(format!(
                        "{} -> {}: throttle and breaker of the caller are left out",
                        system.caller_name(edge.caller),
                        system.target_name(edge.target)
                    ));
                }
                if policy.deadline_travels {
                    all.push(format!(
                        "{} -> {}: the deadline stays with the caller",
                        system.caller_name(edge.caller),
                        system.target_name(edge.target)
                    ));
                }
            }
        }
        Retries::Envoy { .. } | Retries::Filter { .. } => all.extend(envoy::remarks(system)),
    }
    all
}
