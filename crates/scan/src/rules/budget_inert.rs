//! A budget that is written where nobody reads it.

use super::{Check, Context, Hit, Rule, Severity};
use crate::language::Language;
use crate::tree::{Id, Kind, Tree};

pub(super) static RULE: Rule = Rule {
    id: "budget-inert",
    severity: Severity::Error,
    summary: "A retry budget is configured where the client does not read it",
    fix: "put retryThrottling beside methodConfig, and see its counter move in a test",
    check: Check::File(check),
};

/// gRPC's budget. It stands at the top of a service config; inside a `methodConfig` it is parsed
/// by nobody. grpc-java before 1.66.0 does not install it from `defaultServiceConfig` (grpc-java
/// #11274).
const THROTTLING: &str = "retryThrottling";

fn check(context: &Context<'_>, hits: &mut Vec<Hit>) {
    let Context { tree, source, .. } = context;
    for id in tree.ids() {
        let message = match tree.kind(id) {
            Kind::Record { entries, .. } => {
                let mut named = entries.iter().filter(|e| e.key.as_deref() == Some(THROTTLING));
                match named.next() {
                    Some(_) if inside_method(tree, id) => inside(),
                    _ => continue,
                }
            }
            Kind::Text(text) if text.contains(THROTTLING) && text_inside_method(text) => inside(),
            // map.put("retryThrottling", …) that ends in defaultServiceConfig.
            Kind::Text(text)
                if text == THROTTLING
                    && matches!(source.language, Language::Java | Language::Kotlin)
                    && source.text.contains("defaultServiceConfig") =>
            {
                "retryThrottling in a default service config: grpc-java before 1.66.0 parses it \
                 and never installs it (grpc-java #11274)"
                    .to_owned()
            }
            _ => continue,
        };
        let span = tree.span(id);
        hits.push(Hit {
            severity: Severity::Error,
            line: span.line,
            end_line: span.end_line,
            message,
        });
    }
}

fn inside() -> String {
    "retryThrottling inside a methodConfig: it is read only at the top of the service config, so \
     that no retry is ever denied"
        .to_owned()
}

/// Whether a record stands in the value of a `methodConfig`.
fn inside_method(tree: &Tree<'_>, id: Id) -> bool {
    let mut below = id;
    for up in tree.ancestors(id) {
        if let Kind::Record { entries, .. } = tree.kind(up)
            && entries
                .iter()
                .any(|entry| entry.value == below && entry.key.as_deref() == Some("methodConfig"))
        {
            return true;
        }
        below = up;
    }
    false
}

/// The same in JSON that is a text: its brackets tell how deep it stands.
fn text_inside_method(text: &str) -> bool {
    let Some(at) = text.find(THROTTLING) else { return false };
    let Some(method) = text[..at].rfind("methodConfig") else { return false };
    let depth = text[method..at].chars().fold(0_i32, |depth, c| match c {
        '{' | '[' => depth + 1,
        '}' | ']' => depth - 1,
        _ => depth,
    });
    depth > 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::said;

    #[test]
    fn where_it_stands() {
        let json = |text: &str| said(&RULE, &[("a.py", &format!("c = '{text}'\n"))]).len();
        assert_eq!(json(r#"{"methodConfig": [{"retryThrottling": {"maxTokens": 10}}]}"#), 1);
        assert_eq!(json(r#"{"methodConfig": [{}], "retryThrottling": {"maxTokens": 10}}"#), 0);
        assert_eq!(json(r#"{"retryThrottling": {"maxTokens": 10}, "methodConfig": [{}]}"#), 0);
        let record = "c = {'methodConfig': [{'name': [{}], 'retryThrottling': {'maxTokens': 10}}]}";
        assert_eq!(said(&RULE, &[("a.py", record)]).len(), 1);
        let java = "class A { void f() { m.put(\"retryThrottling\", t); } }";
        assert_eq!(said(&RULE, &[("a.java", java)]), [""; 0], "not given to anybody");
    }
}
