//! GitHub Actions: steps that run a command again, by `nick-fields/retry` and `wretry.action`, and
//! scripts whose requests `github-script` repeats.

use crate::document::{Document, Node, Syntax};
use crate::failure::{Failure, Failures};
use crate::format::Format;
use crate::format::parts::span;
use crate::format::shared::{Counted, attempts_or, constant, maps, ms, ms_or};
use crate::layer::{Attempts, Growth, Layer, Methods, Reach, Seat, Sourced};
use crate::reading::Reading;

/// Workflows and composite actions.
pub const FORMAT: Format = Format {
    id: "github-actions-retry",
    title: "GitHub Actions: nick-fields/retry, wretry.action, github-script",
    syntaxes: &[Syntax::Yaml],
    is: |_, document| {
        let root = &document.root;
        (root.get("jobs").is_some() || root.get("runs").is_some()) && {
            let mut any = false;
            maps(root, &mut |map| any |= action(map).is_some());
            any
        }
    },
    read,
};

const WHO: &str = "nick-fields/retry";

/// The statuses that `github-script` does not try again if nobody lists others.
const EXEMPT: [u32; 5] = [400, 401, 403, 404, 422];

/// Which action a step uses.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Action {
    Retry,
    Wretry,
    Script,
}

/// The action of a step, if it is one of them.
fn action(step: &Node) -> Option<Action> {
    let uses = step.get("uses").and_then(Node::text)?;
    let name = uses.split('@').next().unwrap_or_default().to_ascii_lowercase();
    match name.as_str() {
        "nick-fields/retry" | "nick-invision/retry" => Some(Action::Retry),
        "wandalen/wretry.action" | "wandalen/wretry.action/main" => Some(Action::Wretry),
        // Without a number it does not try again.
        "actions/github-script" => {
            step.get("with").and_then(|with| with.get("retries")).map(|_| Action::Script)
        }
        _ => None,
    }
}

fn read(_: &str, document: &Document, reading: &mut Reading) {
    maps(&document.root, &mut |step| {
        let Some(action) = action(step) else { return };
        let with = step.entry("with");
        let get = |key: &str| with.and_then(|with| with.value.entry(key));
        let uses = step.entry("uses").map_or(step.lines[0], |uses| uses.line);
        let last = with.map_or(uses, |with| span(with)[1]);
        let first = with.map_or(uses, |with| with.line.min(uses));
        let mut layer = Layer::at(FORMAT.id, Seat::Workflow, [first, last.max(first)]);
        layer.reach = Reach::Route;
        let label = step.get("name").or(step.get("id")).and_then(Node::text);
        layer.route = label.map(|label| format!("step {label}"));
        layer.methods = Methods::All;
        layer.on = Sourced::default_of(Failures::EVERY, WHO);
        match action {
            Action::Script => {
                layer.attempts = attempts_or(
                    get("retries"),
                    Counted::Retries,
                    Attempts::Count(1),
                    "actions/github-script",
                );
                // 1, 4, 9 seconds and so on.
                layer.delay.growth = Growth::Unknown;
                layer.delay.base_ms = Some(Sourced::default_of(1000.0, "actions/github-script"));
                let statuses = (400..600).filter(|status| !EXEMPT.contains(status));
                let on = statuses.filter_map(Failure::of_status).collect();
                layer.on = Sourced::default_of(on, "actions/github-script");
            }
            Action::Wretry => {
                layer.attempts = attempts_or(
                    get("attempt_limit"),
                    Counted::Total,
                    Attempts::Count(2),
                    "wretry.action",
                );
                layer.delay = constant(ms_or(get("attempt_delay"), 1.0, 0.0, "wretry.action"));
            }
            Action::Retry => {
                layer.attempts =
                    attempts_or(get("max_attempts"), Counted::Total, Attempts::Count(3), WHO);
                layer.delay = constant(ms_or(get("retry_wait_seconds"), 1000.0, 10_000.0, WHO));
                layer.attempt_timeout_ms =
                    ms(get("timeout_minutes"), 60_000.0).or(ms(get("timeout_seconds"), 1000.0));
                let on = get("retry_on").and_then(|on| Some((on.value.text()?, on.line)));
                if let Some((word, line)) = on {
                    let kinds = match word {
                        "timeout" => Failures::of(&[Failure::AttemptTimeout]),
                        "error" => Failure::of_status(500)
                            .into_iter()
                            .chain([Failure::Connect, Failure::Reset])
                            .collect(),
                        _ => Failures::EVERY,
                    };
                    layer.on = Sourced::written(kinds, line);
                    layer.words.push(word.to_owned());
                }
            }
        }
        reading.layers.push(layer);
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::shared::layers;

    #[test]
    fn what_is_written_and_what_is_not() {
        let text = "jobs:\n  e2e:\n    steps:\n    - uses: actions/checkout@v4\n    - name: test\n      uses: nick-fields/retry@v3\n      with:\n        max_attempts: 4\n        timeout_minutes: 5\n        retry_wait_seconds: 15s\n        retry_on: timeout\n        command: make e2e\n    - uses: nick-fields/retry@v3\n      with: {command: x, timeout_seconds: 1, max_attempts: \"${{ inputs.n }}\"}\n    - uses: Wandalen/wretry.action@v3\n      with: {attempt_limit: 3, attempt_delay: 2000}\n";
        let found = layers("github-actions-retry", ".github/workflows/x.yml", Syntax::Yaml, text);
        let [a, b, c] = found.as_slice() else { panic!("{found:#?}") };
        assert_eq!(a.attempts, Sourced::written(Attempts::Count(4), 8));
        assert_eq!(a.delay.base_ms, Some(Sourced::written(15_000.0, 10)));
        assert_eq!(a.attempt_timeout_ms, Some(Sourced::written(300_000.0, 9)));
        assert_eq!((a.lines, a.on.value), ([6, 12], Failures::of(&[Failure::AttemptTimeout])));
        assert_eq!(b.attempts.value.high(), None);
        assert_eq!(b.delay.base_ms, Some(Sourced::default_of(10_000.0, WHO)));
        assert_eq!(c.attempts.value, Attempts::Count(3));
        let script = "jobs: {a: {steps: [{uses: actions/github-script@v7, with: {retries: 3}}]}}\n";
        let found = layers("github-actions-retry", "x.yml", Syntax::Yaml, script);
        let [script] = found.as_slice() else { panic!("{found:#?}") };
        assert_eq!(script.attempts.value, Attempts::Count(4));
        let none = "jobs: {a: {steps: [{uses: x/retry@v1}, {uses: actions/github-script@v7}]}}\n";
        assert_eq!(layers("github-actions-retry", "x.yml", Syntax::Yaml, none), []);
    }
}
