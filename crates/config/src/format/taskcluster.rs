//! Taskcluster: `retries` of a task count runs that its workers lost, not those that failed.

use crate::document::{Document, Node, Syntax};
use crate::failure::{Failure, Failures};
use crate::format::Format;
use crate::format::parts::span;
use crate::format::shared::{Counted, attempts, maps};
use crate::layer::{Layer, Methods, Reach, Seat, Sourced};
use crate::reading::Reading;

/// Tasks and hooks.
pub const FORMAT: Format = Format {
    id: "taskcluster",
    title: "Taskcluster",
    syntaxes: &[Syntax::Yaml, Syntax::Json],
    is: |_, document| {
        let mut any = false;
        maps(&document.root, &mut |map| any |= is_task(map));
        any
    },
    read,
};

const WHO: &str = "Taskcluster";

fn is_task(map: &Node) -> bool {
    let workers = map.get("taskQueueId").is_some()
        || map.get("provisionerId").is_some() && map.get("workerType").is_some();
    workers && map.get("payload").is_some() && map.get("retries").is_some()
}

fn read(_: &str, document: &Document, reading: &mut Reading) {
    maps(&document.root, &mut |task| {
        let Some(retries) = task.entry("retries").filter(|_| is_task(task)) else { return };
        let mut layer = Layer::at(FORMAT.id, Seat::Workflow, span(retries));
        layer.reach = Reach::Route;
        layer.route = task.text_at("metadata.name").map(|name| format!("task {name}"));
        layer.attempts = Sourced::written(attempts(&retries.value, Counted::Retries), retries.line);
        let lost = Failures::of(&[Failure::Connect, Failure::Reset, Failure::Unavailable]);
        layer.on = Sourced::default_of(lost, WHO);
        layer.words.push("worker lost".into());
        layer.methods = Methods::All;
        reading.layers.push(layer);
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::shared::layers;
    use crate::layer::Attempts;

    #[test]
    fn what_is_written_is_read() {
        let text = "{\"task\": {\"provisionerId\": \"p\", \"workerType\": \"w\", \"payload\": {},\n\"retries\": 5, \"metadata\": {\"name\": \"x\"}}}";
        let found = layers("taskcluster", "hook.json", Syntax::Json, text);
        assert_eq!(found[0].attempts, Sourced::written(Attempts::Count(6), 2));
        assert!(!found[0].on.value.contains(Failure::ServerError));
        assert_eq!(
            layers("taskcluster", "hook.json", Syntax::Json, "{\"retries\": 5, \"payload\": {}}"),
            []
        );
    }
}
