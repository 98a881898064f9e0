//! SQS: a message that is not deleted comes back after its visibility timeout, until a redrive
//! policy or its retention ends that.

use std::collections::HashSet;

use crate::document::Document;
use crate::failure::Failures;
use crate::format::cloud::{Resource, resources};
use crate::format::parts::span;
use crate::format::shared::{Counted, attempts, constant, embedded, ms_or};
use crate::format::{Format, cloud};
use crate::layer::{Attempts, Layer, Methods, Seat, Sourced};
use crate::name::Name;
use crate::reading::Reading;

/// CloudFormation and Terraform.
pub const FORMAT: Format = Format {
    id: "aws-sqs",
    title: "Amazon SQS",
    syntaxes: cloud::SYNTAXES,
    is: |_, document| {
        cloud::has(document, &["AWS::SQS::Queue", "aws_sqs_queue", "aws_sqs_queue_redrive_policy"])
    },
    read,
};

const WHO: &str = "SQS";

fn read(_: &str, document: &Document, reading: &mut Reading) {
    let all = resources(document);
    let queue_of = |one: &Resource<'_>| one.body.get("queue_url").and_then(cloud::reference);
    let elsewhere: HashSet<String> = all
        .iter()
        .filter(|one| one.kind == "aws_sqs_queue_redrive_policy")
        .filter_map(queue_of)
        .collect();
    for one in &all {
        match one.kind {
            "AWS::SQS::Queue" | "aws_sqs_queue" if !elsewhere.contains(one.name) => {
                reading.layers.extend(layer(one, one.name));
            }
            "aws_sqs_queue_redrive_policy" => {
                let queue = queue_of(one);
                reading.layers.extend(layer(one, queue.as_deref().unwrap_or(one.name)));
            }
            _ => {}
        }
    }
}

fn layer(one: &Resource<'_>, name: &str) -> Option<Layer> {
    let visible = one
        .body
        .loose_entry("visibilityTimeout")
        .or(one.body.loose_entry("visibilityTimeoutSeconds"));
    let kept = one
        .body
        .loose_entry("messageRetentionPeriod")
        .or(one.body.loose_entry("messageRetentionSeconds"));
    let visible = ms_or(visible, 1000.0, 30_000.0, WHO);
    let kept = ms_or(kept, 1000.0, 345_600_000.0, WHO);
    let mut layer = Layer::at(FORMAT.id, Seat::Workflow, [one.line, one.line]);
    layer.callee = Some(Name::new(name, None));
    layer.on = Sourced::default_of(Failures::EVERY, WHO);
    layer.methods = Methods::All;
    let policy = one.body.loose_entry("redrivePolicy").filter(|entry| !entry.value.is_null());
    match policy {
        Some(entry) => {
            layer.lines = span(entry);
            let inner = embedded(&entry.value);
            let policy = inner.as_ref().unwrap_or(&entry.value);
            let count = policy.loose_entry("maxReceiveCount");
            layer.attempts = match (count, policy.entries()) {
                (Some(count), _) => {
                    Sourced::written(attempts(&count.value, Counted::Total), count.line)
                }
                // A policy from elsewhere: a variable, a template.
                (None, []) => Sourced::written(super::shared::unknown(policy), entry.line),
                (None, _) => Sourced::default_of(Attempts::Count(10), WHO),
            };
        }
        None => {
            // Where messages end up nobody takes them out by itself.
            let dead = ["dlq", "dead"].iter().any(|word| name.to_ascii_lowercase().contains(word));
            if dead {
                return None;
            }
            layer.implicit = true;
            let most = kept
                .as_ref()
                .zip(visible.as_ref())
                .map(|(kept, visible)| kept.value / visible.value);
            let high = most
                .filter(|most| most.is_finite() && *most < 1e9)
                .map(|most| most.ceil().max(1.0) as u32);
            let expression = "retention ÷ visibility timeout".to_owned();
            layer.attempts = Sourced::default_of(Attempts::Open { expression, low: 1, high }, WHO);
        }
    }
    layer.delay = constant(visible);
    layer.timeout_ms = kept;
    Some(layer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Syntax;
    use crate::format::shared::layers;

    #[test]
    fn what_is_written_is_read() {
        let text = "Resources:\n  Q:\n    Type: AWS::SQS::Queue\n    Properties:\n      VisibilityTimeout: 60\n      RedrivePolicy: {deadLetterTargetArn: x, maxReceiveCount: 3}\n  R: {Type: AWS::SQS::Queue, Properties: {RedrivePolicy: '{\"deadLetterTargetArn\": \"x\"}'}}\n";
        let found = layers("aws-sqs", "t.yaml", Syntax::Yaml, text);
        assert_eq!(found[0].attempts, Sourced::written(Attempts::Count(3), 6));
        assert_eq!(found[0].delay.base_ms, Some(Sourced::written(60_000.0, 5)));
        assert_eq!(found[1].attempts, Sourced::default_of(Attempts::Count(10), WHO));
    }

    #[test]
    fn nothing_written_is_as_often_as_it_is_kept() {
        let text = "resource \"aws_sqs_queue\" \"q\" {}\nresource \"aws_sqs_queue\" \"q_dlq\" {}\n";
        let found = layers("aws-sqs", "m.tf", Syntax::Hcl, text);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].attempts.value.high(), Some(11_520));
        assert!(found[0].implicit);
    }

    #[test]
    fn terraform_says_the_same() {
        let text = "resource \"aws_sqs_queue\" \"q\" {\n  redrive_policy = jsonencode({\n    deadLetterTargetArn = aws_sqs_queue.d.arn\n    maxReceiveCount = var.most\n  })\n}\nresource \"aws_sqs_queue\" \"r\" {}\nresource \"aws_sqs_queue_redrive_policy\" \"r\" {\n  queue_url = aws_sqs_queue.r.id\n  redrive_policy = jsonencode({ maxReceiveCount = 4 })\n}\n";
        let found = layers("aws-sqs", "m.tf", Syntax::Hcl, text);
        let open = Attempts::Open { expression: "var.most".into(), low: 1, high: None };
        assert_eq!(found[0].attempts, Sourced::written(open, 4));
        assert_eq!(found[1].attempts, Sourced::written(Attempts::Count(4), 10));
        assert_eq!(found.len(), 2);
    }
}
