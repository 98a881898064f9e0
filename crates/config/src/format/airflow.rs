//! Airflow: retries of every task, none if nobody says so.

use crate::document::{Document, Entry, Node, Syntax};
use crate::failure::Failures;
use crate::format::shared::{Counted, attempts, constant, exponential, ms_or};
use crate::format::{Format, environment};
use crate::layer::{Layer, Methods, Reach, Seat, Sourced};
use crate::reading::Reading;

/// `airflow.cfg`, and environments.
pub const FORMAT: Format = Format {
    id: "airflow",
    title: "Apache Airflow",
    syntaxes: environment::SYNTAXES,
    is: |_, document| match document.syntax {
        Syntax::Ini => core(document).is_some(),
        _ => !environment::find(&document.root, &NAMES).is_empty(),
    },
    read,
};

const WHO: &str = "Airflow";
const NAMES: [&str; 2] =
    ["AIRFLOW__CORE__DEFAULT_TASK_RETRIES", "AIRFLOW__CORE__DEFAULT_TASK_RETRY_DELAY"];

fn core(document: &Document) -> Option<&Node> {
    let core = document.root.get("core")?;
    core.get("default_task_retries").is_some().then_some(core)
}

fn read(_: &str, document: &Document, reading: &mut Reading) {
    if document.syntax == Syntax::Ini {
        let Some(core) = core(document) else { return };
        let placed = |key: &str| {
            let entry = core.entry(key)?;
            Some(Node { lines: [entry.line, entry.line], ..entry.value.clone() })
        };
        let count = placed("default_task_retries");
        reading.layers.extend(layer(count.as_ref(), placed("default_task_retry_delay").as_ref()));
        return;
    }
    for found in environment::find(&document.root, &NAMES) {
        let layer = layer(found.get(NAMES[0]), found.get(NAMES[1]));
        reading.layers.extend(layer.map(|layer| Layer { caller: found.caller, ..layer }));
    }
}

fn layer(count: Option<&Node>, delay: Option<&Node>) -> Option<Layer> {
    let count = count?;
    let mut layer = Layer::at(FORMAT.id, Seat::Workflow, count.lines);
    layer.reach = Reach::Everything;
    layer.attempts = Sourced::written(attempts(count, Counted::Retries), count.lines[0]);
    layer.on = Sourced::default_of(Failures::EVERY, WHO);
    layer.methods = Methods::All;
    let delay =
        delay.map(|node| Entry { key: "".into(), line: node.lines[0], value: node.clone() });
    let base = ms_or(delay.as_ref(), 1000.0, 300_000.0, WHO);
    layer.delay = if layer.retries() { constant(base) } else { exponential(None, 1.0, None) };
    if !layer.retries() {
        layer.delay = crate::layer::Delay::none();
    }
    layer.notes.push("a DAG and a task may say another number in code".into());
    Some(layer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::shared::layers;
    use crate::layer::Attempts;

    #[test]
    fn what_is_written_and_what_is_not() {
        let text = "[core]\ndefault_task_retries = 2\n[webserver]\nx = 1\n";
        let found = layers("airflow", "airflow.cfg", Syntax::Ini, text);
        assert_eq!(found[0].attempts, Sourced::written(Attempts::Count(3), 2));
        assert_eq!(found[0].delay.base_ms, Some(Sourced::default_of(300_000.0, WHO)));
        assert_eq!(layers("airflow", "airflow.cfg", Syntax::Ini, "[core]\nx = 1\n"), []);
        let text = "services:\n  scheduler:\n    environment:\n      AIRFLOW__CORE__DEFAULT_TASK_RETRIES: 0\n";
        let found = layers("airflow", "compose.yml", Syntax::Yaml, text);
        assert_eq!(found[0].attempts, Sourced::written(Attempts::Count(1), 4));
    }
}
