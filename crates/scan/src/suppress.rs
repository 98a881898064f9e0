//! `damper: ignore[no-backoff] the caller is a person`: a finding that somebody has looked at.
//!
//! In a comment on the finding's first line, or on a line of its own above it. The reason is part
//! of it: without one it does not count.

use crate::rules::{self, Hit};

/// How a comment begins that silences.
const MARK: &str = "damper: ignore";

/// One comment that silences.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suppression {
    /// The line it speaks of.
    pub line: u32,
    /// The rules; none: all.
    pub rules: Vec<String>,
    /// Why.
    pub reason: String,
}

/// The suppressions of a text, and what is wrong with others, by line.
#[must_use]
pub fn of(text: &str) -> (Vec<Suppression>, Vec<(u32, String)>) {
    let (mut all, mut wrong) = (Vec::new(), Vec::new());
    if !text.contains(MARK) {
        return (all, wrong);
    }
    for (line, content) in (1_u32..).zip(text.lines()) {
        let Some(at) = content.find(MARK) else { continue };
        let (before, rest) = (content[..at].trim(), &content[at + MARK.len()..]);
        // Only in a comment: this very text may stand in a string.
        let comment = ["//", "#", "/*", "*", "--"];
        if !comment.iter().any(|sign| before.ends_with(sign)) {
            continue;
        }
        let alone = comment.contains(&before);
        match one(rest) {
            Ok((rules, reason)) => {
                let line = if alone { line + 1 } else { line };
                all.push(Suppression { line, rules, reason });
            }
            Err(why) => wrong.push((line, why)),
        }
    }
    // Several above each other all speak of the line below the last.
    for at in (1..all.len()).rev() {
        if all[at - 1].line + 1 == all[at].line {
            all[at - 1].line = all[at].line;
        }
    }
    (all, wrong)
}

/// What stands after the mark: `[a, b] reason` or a reason.
fn one(rest: &str) -> Result<(Vec<String>, String), String> {
    let rest = rest.trim_end().trim_end_matches("*/").trim_end();
    let (names, reason) = match rest.strip_prefix('[') {
        Some(inner) => match inner.split_once(']') {
            Some((names, reason)) => (names, reason),
            None => return Err("a suppression without `]`".to_owned()),
        },
        None => ("", rest),
    };
    let mut all = Vec::new();
    for name in names.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        if rules::find(name).is_none() {
            let near = rules::nearest(name)
                .map_or(String::new(), |near| format!(", did you mean {near}?"));
            return Err(format!("there is no rule {name}{near}"));
        }
        all.push(name.to_owned());
    }
    let reason = reason.trim_start_matches([':', '-', '–', ' ']).trim();
    if reason.is_empty() {
        return Err("a suppression needs a reason: damper: ignore[rule] why".to_owned());
    }
    Ok((all, reason.to_owned()))
}

/// The suppression of a finding of this rule, if there is one.
#[must_use]
pub fn find<'a>(all: &'a [Suppression], rule: &str, hit: &Hit) -> Option<&'a Suppression> {
    all.iter().find(|one| {
        one.line == hit.line && (one.rules.is_empty() || one.rules.iter().any(|name| name == rule))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_silences_its_line_or_the_next() {
        let text = "\
x()  # damper: ignore[no-backoff] a person waits
# damper: ignore[catch-all, no-timeout]: the callee is ours
y()
// damper: ignore everything here is a toy
z()
s = \"damper: ignore[no-backoff] not a comment\"
";
        let (all, wrong) = of(text);
        let shown: Vec<_> =
            all.iter().map(|s| (s.line, s.rules.len(), s.reason.as_str())).collect();
        assert_eq!(
            shown,
            [
                (1, 1, "a person waits"),
                (3, 2, "the callee is ours"),
                (5, 0, "everything here is a toy")
            ]
        );
        assert_eq!(wrong, []);
    }

    #[test]
    fn a_suppression_without_a_reason_or_with_a_wrong_name_does_not_count() {
        let (all, wrong) = of("# damper: ignore[no-backoff]\n# damper: ignore[no-backof] why\n");
        assert_eq!(all, []);
        assert_eq!(wrong[0].1, "a suppression needs a reason: damper: ignore[rule] why");
        assert_eq!(wrong[1].1, "there is no rule no-backof, did you mean no-backoff?");
    }
}
