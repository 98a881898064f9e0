//! Every retry policy in a table.

use super::{cell, name_cell, section, table};
use crate::format;
use crate::html::El;
use crate::result::scan::FoundPolicy;
use crate::scan::markdown::attempts;

/// Rows of the table; the rest is counted.
const SHOWN: usize = 2000;

/// The part; nothing if there are none.
pub(crate) fn part(policies: &[FoundPolicy]) -> Option<El> {
    if policies.is_empty() {
        return None;
    }
    let rows = policies.iter().take(SHOWN).map(|policy| {
        let base = policy.delay.base_ms.map(|ms| format!(" from {}", format::seconds(ms / 1e3)));
        let cap = policy.delay.cap_ms.map(|ms| format!(" to {}", format::seconds(ms / 1e3)));
        let ms = |n: &Option<crate::result::scan::FoundNumber>| {
            n.as_ref().map_or(format::NONE.to_owned(), |n| format::seconds(n.value / 1e3))
        };
        vec![
            name_cell(&format!("{}:{}", policy.path, policy.line)),
            cell(format::clip(&policy.name, 40)),
            cell(format::clip(&attempts(policy), 40)),
            cell(format!(
                "{}{}{}",
                policy.delay.kind,
                base.unwrap_or_default(),
                cap.unwrap_or_default()
            )),
            cell(policy.delay.jitter.clone()),
            cell(ms(&policy.attempt_timeout_ms)),
            cell(ms(&policy.deadline_ms)),
            cell(policy.budget.as_deref().map_or(format::NONE.to_owned(), |b| format::clip(b, 30))),
        ]
    });
    let columns =
        ["where", "by", "attempts", "delay", "jitter", "attempt timeout", "deadline", "budget"];
    let mut part = section("policies", "Retry policies").child(table("policies", &columns, rows));
    if policies.len() > SHOWN {
        part.push(El::new("p").class("note").text(format!(
            "{} more are not shown; --json has all of them.",
            format::count((policies.len() - SHOWN) as u64)
        )));
    }
    Some(part)
}
