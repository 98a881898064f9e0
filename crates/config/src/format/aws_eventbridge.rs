//! EventBridge and its scheduler: 185 retries within a day for every target, if nobody says
//! otherwise.

use crate::document::{Document, Node};
use crate::failure::Failures;
use crate::format::cloud::{reference, resources};
use crate::format::shared::{Counted, around, attempts_or, ms_or};
use crate::format::{Format, cloud};
use crate::layer::{Attempts, Delay, Growth, Layer, Methods, Reach, Seat};
use crate::name::Name;
use crate::reading::Reading;

/// CloudFormation, SAM, Terraform.
pub const FORMAT: Format = Format {
    id: "aws-eventbridge",
    title: "Amazon EventBridge",
    syntaxes: cloud::SYNTAXES,
    is: |_, document| {
        let known = [
            "AWS::Events::Rule",
            "AWS::Scheduler::Schedule",
            "aws_cloudwatch_event_target",
            "aws_scheduler_schedule",
        ];
        cloud::has(document, &known)
            || resources(document).iter().any(|one| {
                one.kind == "AWS::Serverless::Function"
                    || one.kind == "AWS::Serverless::StateMachine"
            })
    },
    read,
};

const WHO: &str = "EventBridge";

fn read(_: &str, document: &Document, reading: &mut Reading) {
    for one in resources(document) {
        let mut put = |target: &Node, name: &str, line| {
            reading.layers.push(layer(target, name, line));
        };
        match one.kind {
            "AWS::Events::Rule" => {
                for target in one.body.get("Targets").map(Node::items).unwrap_or_default() {
                    put(target, one.name, target.lines[0]);
                }
            }
            "aws_cloudwatch_event_target" => put(one.body, one.name, one.line),
            "AWS::Scheduler::Schedule" | "aws_scheduler_schedule" => {
                let target = one.body.loose_entry("target");
                if let Some(entry) = target {
                    for target in entry.value.one_or_more() {
                        put(target, one.name, entry.line);
                    }
                }
            }
            "AWS::Serverless::Function" | "AWS::Serverless::StateMachine" => {
                for event in one.body.get("Events").map(Node::entries).unwrap_or_default() {
                    let kind = event.value.get("Type").and_then(Node::text).unwrap_or_default();
                    let kinds = ["EventBridgeRule", "CloudWatchEvent", "Schedule", "ScheduleV2"];
                    if kinds.contains(&kind) {
                        put(
                            event.value.get("Properties").unwrap_or(&event.value),
                            one.name,
                            event.line,
                        );
                    }
                }
            }
            _ => {}
        }
    }
}

fn layer(target: &Node, name: &str, line: u32) -> Layer {
    let policy = target.loose("retryPolicy").map(Node::one_or_more).unwrap_or_default().first();
    let get = |key: &str| policy.and_then(|policy| policy.loose_entry(key));
    let count = get("maximumRetryAttempts");
    let age = get("maximumEventAgeInSeconds");
    let place = around([count, age].into_iter().flatten()).unwrap_or([line, line]);
    let mut layer = Layer::at(FORMAT.id, Seat::Workflow, place);
    layer.reach = Reach::Route;
    layer.route = Some(format!("target of {name}"));
    let arn = target.loose("arn").and_then(reference);
    layer.callee = arn.map(|arn| Name::new(&arn, None));
    layer.implicit = count.is_none();
    layer.attempts = attempts_or(count, Counted::Retries, Attempts::Count(186), WHO);
    layer.on = crate::layer::Sourced::default_of(Failures::EVERY, WHO);
    layer.methods = Methods::All;
    layer.timeout_ms = ms_or(age, 1000.0, 86_400_000.0, WHO);
    layer.delay = Delay { growth: Growth::Exponential, jitter: true, ..Delay::none() };
    layer
        .notes
        .push("it ends when the target has taken the event, not when the work is done".into());
    layer
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Syntax;
    use crate::format::shared::layers;
    use crate::layer::Sourced;

    #[test]
    fn what_is_written_and_what_is_not() {
        let text = "Resources:\n  R:\n    Type: AWS::Events::Rule\n    Properties:\n      Targets:\n      - Id: a\n        Arn: !GetAtt F.Arn\n        RetryPolicy:\n          MaximumRetryAttempts: 2\n          MaximumEventAgeInSeconds: 60\n      - {Id: b, Arn: x}\n  F:\n    Type: AWS::Serverless::Function\n    Properties:\n      Events:\n        E: {Type: Schedule, Properties: {RetryPolicy: {MaximumRetryAttempts: 0}}}\n";
        let found = layers("aws-eventbridge", "t.yaml", Syntax::Yaml, text);
        let [a, b, e] = found.as_slice() else { panic!("{found:#?}") };
        assert_eq!(a.attempts, Sourced::written(Attempts::Count(3), 9));
        assert_eq!(
            (a.lines, a.timeout_ms.clone()),
            ([9, 10], Some(Sourced::written(60_000.0, 10)))
        );
        assert_eq!(a.callee, Some(Name::new("F", None)));
        assert_eq!(b.attempts, Sourced::default_of(Attempts::Count(186), WHO));
        assert!(b.implicit);
        assert_eq!(e.attempts.value, Attempts::Count(1));
    }

    #[test]
    fn terraform_says_the_same() {
        let text = "resource \"aws_cloudwatch_event_target\" \"t\" {\n  arn = aws_lambda_function.f.arn\n  retry_policy {\n    maximum_retry_attempts = 4\n  }\n}\nresource \"aws_scheduler_schedule\" \"s\" {\n  target {\n    arn = aws_sqs_queue.q.arn\n  }\n}\n";
        let found = layers("aws-eventbridge", "m.tf", Syntax::Hcl, text);
        assert_eq!(found[0].attempts, Sourced::written(Attempts::Count(5), 4));
        assert_eq!(found[1].attempts, Sourced::default_of(Attempts::Count(186), WHO));
        assert_eq!(found[1].lines, [8, 8]);
    }
}
