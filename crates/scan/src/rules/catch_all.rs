//! Retries of whatever happens.

use super::sites::{handlers, inside};
use super::{Check, Context, Hit, Rule, Severity};
use crate::policy::{By, From, Policy};
use crate::tree::{Id, Kind, Tree};

pub(super) static RULE: Rule = Rule {
    id: "catch-all",
    severity: Severity::Warning,
    summary: "Everything is retried, also what fails for good",
    fix: "retry what passes by itself: connection lost, 502, 504, UNAVAILABLE; not bugs, not 4xx",
    check: Check::Policy(check),
};

fn check(context: &Context<'_>, policy: &Policy, hits: &mut Vec<Hit>) {
    if !policy.catches_all {
        return;
    }
    if matches!(policy.by, By::HandRolled { .. }) && selects(context.tree, policy) {
        return;
    }
    let message = match policy.retries_on.from {
        From::Default => "nothing says what is retried, and the default is everything".to_owned(),
        _ => "everything is retried: a bug, a bad request and a refusal cost as many attempts as \
              a lost packet"
            .to_owned(),
    };
    hits.push(Hit::at(policy, Severity::Warning, message));
}

/// Whether the code asks what was caught: where a `catch` cannot select, and where it does not.
fn selects(tree: &Tree<'_>, policy: &Policy) -> bool {
    let all = inside(tree, policy);
    let tried = all.iter().any(|id| match tree.kind(*id) {
        // Something else is caught before everything else.
        Kind::Try { handlers, .. } => handlers.len() > 1,
        _ => false,
    });
    tried
        || handlers(tree, &all).any(|handler| {
            let Some(name) = handler.name else { return false };
            tree.walk_here(handler.body).any(|id| match tree.kind(id) {
                Kind::If { test, .. } => names(tree, *test, name),
                Kind::Match { of: Some(of), .. } => names(tree, *of, name),
                _ => false,
            })
        })
}

fn names(tree: &Tree<'_>, from: Id, wanted: &str) -> bool {
    tree.walk(from).any(|id| matches!(tree.kind(id), Kind::Name(name) if *name == wanted))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::said;

    #[test]
    fn code_that_asks_what_it_caught() {
        let python = |handlers: &str| {
            let text = format!(
                "import time\ndef f(c):\n    for i in range(3):\n        try:\n            return \
                 c.fetch_user()\n{handlers}\n            time.sleep(1)\n"
            );
            said(&RULE, &[("a.py", &text)]).len()
        };
        assert_eq!(python("        except Exception:\n            log()"), 1);
        assert_eq!(python("        except:\n            log()"), 1);
        assert_eq!(python("        except (OSError, EOFError):\n            log()"), 0);
        assert_eq!(python("        except Exception as e:\n            if is_bug(e): raise"), 0);
        assert_eq!(
            python(
                "        except ValueError:\n            raise\n        except Exception:\n            log()"
            ),
            0
        );
    }
}
