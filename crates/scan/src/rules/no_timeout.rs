//! An attempt that may hang for ever.

use super::sites::{inside, name_of, shown};
use super::words::attempts;
use super::{Check, Context, Hit, Rule, Severity};
use crate::language::Language;
use crate::policy::Policy;
use crate::tree::{Id, Kind, Tree};

pub(super) static RULE: Rule = Rule {
    id: "no-timeout",
    severity: Severity::Warning,
    summary: "The call that is retried has no timeout of its own",
    fix: "give the call a timeout a little above its slowest good answer",
    check: Check::Policy(check),
};

/// Calls without a timeout unless one is given: the whole name, and the words of which one is
/// written where it is given. From the documentation of each.
const CALLS: &[(&[Language], &[&str], &[&str])] = &[
    (
        &[Language::Python],
        &[
            "requests.get",
            "requests.post",
            "requests.put",
            "requests.patch",
            "requests.delete",
            "requests.head",
            "requests.request",
            "urllib.request.urlopen",
            "socket.create_connection",
        ],
        &["timeout"],
    ),
    // The functions use http.DefaultClient, which has none and takes no context.
    (&[Language::Go], &["http.Get", "http.Post", "http.PostForm", "http.Head"], &[]),
    (&[Language::Rust], &["reqwest.get"], &["timeout"]),
    (
        &[Language::JavaScript, Language::TypeScript, Language::Tsx],
        &["fetch", "axios.get", "axios.post", "axios.put", "axios.delete", "axios.request"],
        &["signal", "timeout"],
    ),
    (&[Language::Java, Language::Kotlin], &["HttpRequest.newBuilder"], &["timeout"]),
];

/// Words of a file that sets a timeout for all of these calls.
const EVERYWHERE: &[&str] = &["setdefaulttimeout", "http.DefaultClient", "axios.defaults"];

fn check(context: &Context<'_>, policy: &Policy, hits: &mut Vec<Hit>) {
    if policy.attempt_timeout_ms.is_some() {
        return;
    }
    let known = policy.call.as_ref().filter(|call| call.timeout == Some(false));
    let call = match known {
        Some(call) => Some(call.text.clone()),
        None => without(context, policy),
    };
    let Some(call) = call else { return };
    let message = format!(
        "{} of `{call}`, which has no timeout: one that hangs is never tried again, and holds its \
         connection",
        attempts(policy)
    );
    hits.push(Hit::at(policy, Severity::Warning, message));
}

/// A call of the table in the lines of a policy, with nothing around it that bounds it.
fn without(context: &Context<'_>, policy: &Policy) -> Option<String> {
    let Context { tree, source, .. } = context;
    if EVERYWHERE.iter().any(|word| source.text.contains(word)) {
        return None;
    }
    let (_, names, words) =
        CALLS.iter().find(|(languages, ..)| languages.contains(&source.language))?;
    inside(tree, policy).into_iter().find_map(|id| {
        let Kind::Call { callee, args, .. } = tree.kind(id) else { return None };
        let name = name_of(tree, *callee)?;
        // `**kwargs` or a variable of options may give one.
        let open = args.iter().any(|arg| arg.spread);
        (names.contains(&name.as_str()) && !open && !bounded(tree, id, words))
            .then(|| shown(tree, *callee))
    })
}

/// Whether a timeout is given to a call, on its chain, or around it. A variable that is handed
/// over may have one in it.
fn bounded(tree: &Tree<'_>, call: Id, words: &[&str]) -> bool {
    let Kind::Call { args, .. } = tree.kind(call) else { return true };
    let options = args.iter().skip(1).any(|arg| {
        arg.name.is_none() && matches!(tree.kind(arg.value), Kind::Name(_) | Kind::Field { .. })
    });
    let mut statement = call;
    for up in tree.ancestors(call) {
        match tree.kind(up) {
            Kind::Block(_) | Kind::Function { .. } => break,
            _ => statement = up,
        }
    }
    let text = tree.source(statement);
    let said = |text: &str| {
        let lower = text.to_ascii_lowercase();
        words.iter().any(|word| lower.contains(word))
    };
    let around = tree.ancestors(call).any(|up| match tree.kind(up) {
        Kind::With { items, .. } => items.iter().any(|item| said(tree.source(*item))),
        Kind::Call { callee, .. } => tree.last_name(*callee).is_some_and(said),
        _ => false,
    });
    // Options by name are looked into by nobody here: not known is not none.
    (options && !words.is_empty()) || said(text) || around
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::said;

    #[test]
    fn options_may_have_a_timeout() {
        let script = |call: &str| {
            let text = format!(
                "async function f(url, options) {{\n  for (let i = 0; i < 3; i++) {{\n    try {{\n      \
                 return await {call};\n    }} catch (e) {{\n      await sleep(100);\n    }}\n  \
                 }}\n}}\n"
            );
            said(&RULE, &[("a.js", &text)])
        };
        assert_eq!(
            script("fetch(url)"),
            [
                "2 warning: 3 attempts of `fetch`, which has no timeout: one that hangs is never tried \
              again, and holds its connection"
            ]
        );
        assert_eq!(script("fetch(url, { method: 'PUT' })").len(), 1);
        assert_eq!(script("fetch(url, { signal: stop })"), [""; 0]);
        assert_eq!(script("fetch(url, options)"), [""; 0]);
        assert_eq!(script("withTimeout(fetch(url), 2000)"), [""; 0]);
        assert_eq!(script("client.fetch(url)"), [""; 0], "not known");
    }
}
