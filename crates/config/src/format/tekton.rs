//! Tekton: `retries` of tasks, none if nobody says so.

use crate::document::{Document, Node, Syntax};
use crate::failure::Failures;
use crate::format::Format;
use crate::format::parts::{Object, span};
use crate::format::shared::{Counted, attempts, maps, ms};
use crate::layer::{Layer, Methods, Reach, Seat, Sourced};
use crate::reading::{Fact, Reading, What};

/// Pipelines, their runs, and runs of tasks.
pub const FORMAT: Format = Format {
    id: "tekton",
    title: "Tekton",
    syntaxes: &[Syntax::Yaml, Syntax::Json],
    is: |_, document| {
        let text = |key| document.root.get(key).and_then(Node::text);
        text("apiVersion").is_some_and(|version| version.starts_with("tekton.dev/"))
            && text("kind")
                .is_some_and(|kind| matches!(kind, "Pipeline" | "PipelineRun" | "TaskRun"))
    },
    read,
};

const WHO: &str = "Tekton";

fn read(_: &str, document: &Document, reading: &mut Reading) {
    let root = &document.root;
    let name = Object::at(root).own();
    let run = root.get("kind").and_then(Node::text) == Some("TaskRun");
    let spec = root.get("spec");
    let is_task = |map: &Node| {
        map.get("taskRef").is_some()
            || map.get("taskSpec").is_some()
            || map.get("pipelineRef").is_some()
    };
    maps(root, &mut |map| {
        let own = run && spec.is_some_and(|spec| std::ptr::eq(spec, map));
        let Some(retries) = map.entry("retries").filter(|_| own || is_task(map)) else { return };
        let onerror = map.entry("onError");
        if let Some(entry) = onerror.filter(|entry| entry.value.text() == Some("continue")) {
            let why = "`onError: continue` and `retries` exclude each other".to_owned();
            reading.facts.push(Fact { lines: span(entry), about: None, what: What::Inert { why } });
        }
        let mut layer = Layer::at(FORMAT.id, Seat::Workflow, span(retries));
        layer.callee = name.clone();
        layer.reach = Reach::Route;
        layer.route = map.get("name").and_then(Node::text).map(|task| format!("task {task}"));
        layer.attempts = Sourced::written(attempts(&retries.value, Counted::Retries), retries.line);
        layer.on = Sourced::default_of(Failures::EVERY, WHO);
        layer.methods = Methods::All;
        // For each attempt, not for all of them.
        layer.attempt_timeout_ms = ms(map.entry("timeout"), 0.0);
        reading.layers.push(layer);
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::shared::layers;
    use crate::layer::Attempts;

    #[test]
    fn what_is_written_and_what_is_not() {
        let text = "apiVersion: tekton.dev/v1\nkind: Pipeline\nmetadata: {name: settle}\nspec:\n  params: [{name: retries, default: \"3\"}]\n  tasks:\n  - {name: t, retries: 1, timeout: 5m, taskRef: {name: x}}\n  - {name: u, taskRef: {name: x}}\n  - {name: v, retries: $(params.retries), taskSpec: {}}\n";
        let found = layers("tekton", "p.yaml", Syntax::Yaml, text);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].attempts, Sourced::written(Attempts::Count(2), 7));
        assert_eq!(found[0].attempt_timeout_ms, Some(Sourced::written(300_000.0, 7)));
        assert_eq!(found[1].attempts.value.high(), None);
        let text =
            "apiVersion: tekton.dev/v1\nkind: TaskRun\nmetadata: {name: r}\nspec:\n  retries: 2\n";
        let found = layers("tekton", "p.yaml", Syntax::Yaml, text);
        assert_eq!(found[0].attempts, Sourced::written(Attempts::Count(3), 5));
    }
}
