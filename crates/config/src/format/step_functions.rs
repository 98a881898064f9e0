//! AWS Step Functions: `Retry` of states, three retries where one says no more.

use crate::document::{Document, Entry, Node, Syntax};
use crate::failure::{Failure, Failures};
use crate::format::Format;
use crate::format::parts::span;
use crate::format::shared::{Counted, attempts_or, embedded, exponential, ms, number};
use crate::layer::{Attempts, Layer, Methods, Reach, Seat, Sourced};
use crate::reading::Reading;
use crate::units;

/// State machines by themselves, in CloudFormation, SAM and Serverless files, and in Terraform.
pub const FORMAT: Format = Format {
    id: "step-functions",
    title: "AWS Step Functions",
    syntaxes: &[Syntax::Json, Syntax::Yaml, Syntax::Hcl],
    is: |_, document| {
        let mut any = false;
        machines(&document.root, 0, &mut |_| any = true);
        any
    },
    read,
};

const WHO: &str = "Step Functions";

/// Keys whose text may be a state machine.
const TEXTS: &[&str] = &["definition", "DefinitionString", "DefinitionBody", "Fn::Sub"];

fn read(_: &str, document: &Document, reading: &mut Reading) {
    machines(&document.root, 0, &mut |machine| states(machine, None, reading));
}

/// Every state machine of a tree, also in texts; not those inside of another.
fn machines(node: &Node, texts: usize, see: &mut dyn FnMut(&Node)) {
    if node.get("States").is_some_and(|states| !states.entries().is_empty())
        && node.get("StartAt").is_some()
    {
        see(node);
        return;
    }
    for entry in node.entries() {
        let text = TEXTS.contains(&&*entry.key) && texts < 2;
        let text = text.then(|| entry.value.one_or_more().first()).flatten();
        if let Some(inner) = text.filter(|text| speaks(text)).and_then(embedded) {
            machines(&inner, texts + 1, see);
        } else {
            machines(&entry.value, texts, see);
        }
    }
    node.items().iter().for_each(|item| machines(item, texts, see));
}

fn speaks(node: &Node) -> bool {
    node.text().is_some_and(|text| text.contains("StartAt"))
}

fn states(machine: &Node, outer: Option<&str>, reading: &mut Reading) {
    for state in machine.get("States").map(Node::entries).unwrap_or_default() {
        let retriers = state.value.get("Retry").map(Node::items).unwrap_or_default();
        for retrier in retriers {
            reading.layers.push(layer(state, retrier, retriers.len(), outer));
        }
        let below = if retriers.is_empty() { outer } else { Some(&*state.key) };
        for inner in ["ItemProcessor", "Iterator"] {
            if let Some(machine) = state.value.get(inner) {
                states(machine, below, reading);
            }
        }
        for branch in state.value.get("Branches").map(Node::items).unwrap_or_default() {
            states(branch, below, reading);
        }
    }
}

fn layer(state: &Entry, retrier: &Node, many: usize, outer: Option<&str>) -> Layer {
    let mut layer = Layer::at(FORMAT.id, Seat::Workflow, retrier.lines);
    layer.reach = Reach::Route;
    layer.route = Some(format!("state {}", state.key));
    layer.attempts =
        attempts_or(retrier.entry("MaxAttempts"), Counted::Retries, Attempts::Count(4), WHO);
    let base = ms(retrier.entry("IntervalSeconds"), 1000.0);
    let factor = number(retrier.entry("BackoffRate")).unwrap_or(2.0);
    let cap = ms(retrier.entry("MaxDelaySeconds"), 1000.0);
    layer.delay = exponential(base.or(Some(Sourced::default_of(1000.0, WHO))), factor, cap);
    layer.delay.jitter = retrier.get("JitterStrategy").and_then(Node::text) == Some("FULL");
    let errors = retrier.entry("ErrorEquals");
    layer.words = errors.map(|errors| units::words(&errors.value)).unwrap_or_default();
    let on = layer.words.iter().fold(Failures::NONE, |mut kinds, word| {
        kinds.add(failures(word));
        kinds
    });
    layer.on = Sourced::written(on, errors.map_or(retrier.lines[0], |errors| span(errors)[0]));
    layer.methods = Methods::All;
    layer.attempt_timeout_ms = ms(state.value.entry("TimeoutSeconds"), 1000.0);
    if many > 1 {
        layer.notes.push(format!("one of {many} retriers, each of which counts for itself"));
    }
    if let Some(outer) = outer {
        layer.notes.push(format!("`{outer}` around it is retried as a whole: both multiply"));
    }
    layer
}

fn failures(error: &str) -> Failures {
    let io = [Failure::Connect, Failure::Refused, Failure::Reset];
    match error {
        "States.ALL" | "States.TaskFailed" => Failures::EVERY,
        "States.Timeout" | "States.HeartbeatTimeout" => Failures::of(&[Failure::AttemptTimeout]),
        error if error.contains("TooManyRequests") || error.contains("Throttl") => {
            Failures::of(&[Failure::TooMany])
        }
        error if error.contains("SdkClient") || error.contains("Connect") => Failures::of(&io),
        error if error.contains("Timeout") => Failures::of(&[Failure::AttemptTimeout]),
        error if error.contains("Unavailable") => Failures::of(&[Failure::Unavailable]),
        _ => Failures::of(&[Failure::ServerError]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::shared::layers;

    const MACHINE: &str = "{\"StartAt\": \"Charge\", \"States\": {\"Charge\": {\"Type\": \"Task\", \"TimeoutSeconds\": 5,\n \"Retry\": [{\"ErrorEquals\": [\"Lambda.TooManyRequestsException\"], \"IntervalSeconds\": 2, \"MaxAttempts\": 2,\n   \"BackoffRate\": 1.5, \"MaxDelaySeconds\": 8, \"JitterStrategy\": \"FULL\"},\n  {\"ErrorEquals\": [\"States.ALL\"]}]},\n \"All\": {\"Type\": \"Map\", \"Retry\": [{\"ErrorEquals\": [\"States.ALL\"], \"MaxAttempts\": 0}],\n  \"ItemProcessor\": {\"StartAt\": \"x\", \"States\": {\"x\": {\"Retry\": [{\"ErrorEquals\": [\"States.Timeout\"]}]}}}}}}";

    #[test]
    fn what_is_written_and_what_is_not() {
        let found = layers("step-functions", "m.asl.json", Syntax::Json, MACHINE);
        let [first, second, whole, inner] = found.as_slice() else { panic!("{found:#?}") };
        assert_eq!(first.attempts, Sourced::written(Attempts::Count(3), 2));
        assert_eq!(
            (first.lines, first.delay.factor, first.delay.jitter),
            ([2, 3], Some(1.5), true)
        );
        assert_eq!(first.attempt_timeout_ms, Some(Sourced::written(5000.0, 1)));
        assert_eq!(first.on.value, Failures::of(&[Failure::TooMany]));
        assert_eq!(second.attempts, Sourced::default_of(Attempts::Count(4), WHO));
        assert_eq!(second.delay.base_ms, Some(Sourced::default_of(1000.0, WHO)));
        assert_eq!(whole.attempts.value, Attempts::Count(1));
        assert!(inner.notes[0].contains("multiply"));
        let none = "{\"StartAt\": \"a\", \"States\": {\"a\": {\"Type\": \"Task\", \"End\": true}}}";
        assert_eq!(layers("step-functions", "m.json", Syntax::Json, none), []);
    }

    #[test]
    fn machines_stand_in_other_files() {
        let yaml = "Resources:\n  M:\n    Type: AWS::StepFunctions::StateMachine\n    Properties:\n      DefinitionString: !Sub |\n        {\"StartAt\": \"a\", \"States\": {\"a\": {\n          \"Retry\": [{\"ErrorEquals\": [\"States.ALL\"], \"MaxAttempts\": 1}]}}}\n";
        let found = layers("step-functions", "t.yaml", Syntax::Yaml, yaml);
        assert_eq!(found[0].attempts, Sourced::written(Attempts::Count(2), 7));
        let hcl = "resource \"aws_sfn_state_machine\" \"m\" {\n  definition = <<EOF\n{\"StartAt\": \"a\", \"States\": {\"a\": {\n  \"Resource\": \"${aws_lambda_function.f.arn}\",\n  \"Retry\": [{\"ErrorEquals\": [\"States.ALL\"], \"MaxAttempts\": 5}]}}}\nEOF\n}\n";
        let found = layers("step-functions", "m.tf", Syntax::Hcl, hcl);
        assert_eq!(found[0].attempts, Sourced::written(Attempts::Count(6), 5));
        let hcl = "resource \"aws_sfn_state_machine\" \"m\" {\n  definition = jsonencode({\n    StartAt = \"a\"\n    States = { a = { Retry = [{ ErrorEquals = [\"States.ALL\"] }] } }\n  })\n}\n";
        assert_eq!(layers("step-functions", "m.tf", Syntax::Hcl, hcl).len(), 1);
    }
}
