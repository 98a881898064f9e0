//! AWS Lambda: two retries of every asynchronous call, and no end of those of a stream, if nobody
//! says otherwise.

use std::collections::HashSet;

use crate::document::{Document, Entry, Node};
use crate::failure::Failures;
use crate::format::cloud::{Resource, reference, resources, serverless};
use crate::format::parts::span;
use crate::format::shared::{Counted, around, attempts, exponential, ms};
use crate::format::{Format, cloud};
use crate::layer::{Attempts, Layer, Methods, Reach, Seat, Sourced};
use crate::name::Name;
use crate::reading::Reading;

/// CloudFormation, SAM, Serverless, Terraform.
pub const FORMAT: Format = Format {
    id: "aws-lambda",
    title: "AWS Lambda: asynchronous calls and event sources",
    syntaxes: cloud::SYNTAXES,
    is: |_, document| cloud::has(document, &KINDS) || !serverless(document).is_empty(),
    read,
};

const WHO: &str = "AWS Lambda";
const KINDS: [&str; 7] = [
    "AWS::Lambda::EventInvokeConfig",
    "AWS::Lambda::EventSourceMapping",
    "AWS::Lambda::Function",
    "AWS::Serverless::Function",
    "aws_lambda_function_event_invoke_config",
    "aws_lambda_event_source_mapping",
    "aws_lambda_function",
];

/// Events that call a function and do not wait for it.
const LATER: &[&str] = &[
    "S3",
    "SNS",
    "EventBridgeRule",
    "CloudWatchEvent",
    "Schedule",
    "ScheduleV2",
    "IoTRule",
    "CloudWatchLogs",
    "s3",
    "sns",
    "eventBridge",
    "schedule",
    "iot",
    "cloudwatchEvent",
    "cloudwatchLog",
];

/// Events that are read from a stream.
const STREAMS: &[&str] =
    &["Kinesis", "DynamoDB", "MSK", "SelfManagedKafka", "DocumentDB", "stream", "msk", "kafka"];

fn read(_: &str, document: &Document, reading: &mut Reading) {
    let all = resources(document);
    let configured: HashSet<String> = all
        .iter()
        .filter(|one| {
            matches!(
                one.kind,
                "AWS::Lambda::EventInvokeConfig" | "aws_lambda_function_event_invoke_config"
            )
        })
        .filter_map(|one| reference(one.body.loose("functionName")?))
        .collect();
    for one in &all {
        match one.kind {
            "AWS::Lambda::EventInvokeConfig" | "aws_lambda_function_event_invoke_config" => {
                let about = one.body.loose("functionName").and_then(reference);
                let name = about.unwrap_or_else(|| one.name.to_owned());
                reading.layers.push(later(&name, one.body, one.line));
            }
            "AWS::Lambda::EventSourceMapping" | "aws_lambda_event_source_mapping" => {
                mapping(one.name, one.body, one.line, reading);
            }
            "AWS::Lambda::Function" | "aws_lambda_function" => {
                let named = one.body.loose("functionName").and_then(Node::text);
                let known = |name: Option<&str>| name.is_some_and(|name| configured.contains(name));
                if !known(Some(one.name)) && !known(named) {
                    reading.layers.push(unspoken(one.name, one.line));
                }
            }
            "AWS::Serverless::Function" => sam(one, reading),
            _ => {}
        }
    }
    for function in serverless(document) {
        let config = function.value.entry("maximumRetryAttempts");
        let events = function.value.get("events").map(Node::items).unwrap_or_default();
        let kinds = || events.iter().flat_map(Node::entries);
        if config.is_some() || function.value.get("maximumEventAge").is_some() {
            reading.layers.push(later(&function.key, &function.value, function.line));
        } else if kinds().any(|event| LATER.contains(&&*event.key)) {
            reading.layers.push(unspoken(&function.key, function.line));
        }
        for event in kinds().filter(|event| STREAMS.contains(&&*event.key)) {
            mapping(&function.key, &event.value, event.line, reading);
        }
    }
}

fn sam(function: &Resource<'_>, reading: &mut Reading) {
    let events = function.body.get("Events").map(Node::entries).unwrap_or_default();
    let kind = |event: &Entry| event.value.get("Type").and_then(Node::text).map(str::to_owned);
    let is =
        |event: &Entry, kinds: &[&str]| kind(event).is_some_and(|kind| kinds.contains(&&*kind));
    match function.body.entry("EventInvokeConfig") {
        Some(config) => reading.layers.push(later(function.name, &config.value, config.line)),
        None if events.is_empty() || events.iter().any(|event| is(event, LATER)) => {
            reading.layers.push(unspoken(function.name, function.line));
        }
        None => {}
    }
    for event in events.iter().filter(|event| is(event, STREAMS)) {
        let body = event.value.get("Properties").unwrap_or(&event.value);
        mapping(function.name, body, event.line, reading);
    }
}

/// What Lambda does with events that nobody waits for.
fn later(name: &str, body: &Node, line: u32) -> Layer {
    let count = body.loose_entry("maximumRetryAttempts");
    let age = body.loose_entry("maximumEventAgeInSeconds").or(body.loose_entry("maximumEventAge"));
    let mut layer = unspoken(name, line);
    layer.implicit = count.is_none();
    if let Some(lines) = around([count, age].into_iter().flatten()) {
        layer.lines = lines;
    }
    if let Some(count) = count {
        layer.attempts = Sourced::written(attempts(&count.value, Counted::Retries), count.line);
    }
    if let Some(age) = ms(age, 1000.0) {
        layer.timeout_ms = Some(age);
    }
    layer.notes.clear();
    layer
}

/// The same where nobody says anything.
fn unspoken(name: &str, line: u32) -> Layer {
    let mut layer = Layer::at(FORMAT.id, Seat::Workflow, [line, line]);
    layer.callee = Some(Name::new(name, None));
    layer.route = Some("asynchronous calls".into());
    layer.implicit = true;
    layer.attempts = Sourced::default_of(Attempts::Count(3), WHO);
    layer.on = Sourced::default_of(Failures::EVERY, WHO);
    layer.methods = Methods::All;
    // A minute before the first retry, two before the second.
    let base = Sourced::default_of(60_000.0, WHO);
    layer.delay = exponential(Some(base), 2.0, None);
    layer.timeout_ms = Some(Sourced::default_of(21_600_000.0, WHO));
    layer.notes.push("only where it is called asynchronously".into());
    layer
}

/// An event source: a stream is read until it goes well or is too old.
fn mapping(name: &str, body: &Node, line: u32, reading: &mut Reading) {
    let source = body.loose("eventSourceArn").or(body.get("arn"));
    let queue = source.is_some_and(|source| {
        let text = format!("{:?}", source.value).to_ascii_lowercase();
        text.contains("sqs") || text.contains("queue")
    });
    let count = body.loose_entry("maximumRetryAttempts");
    // A queue delivers again by its own rule.
    if queue && count.is_none() {
        return;
    }
    let mut layer = Layer::at(FORMAT.id, Seat::Workflow, count.map_or([line, line], span));
    layer.callee = Some(
        body.loose("functionName")
            .and_then(reference)
            .map_or_else(|| Name::new(name, None), |name| Name::new(&name, None)),
    );
    layer.route = Some("event source".into());
    layer.reach = Reach::Route;
    layer.implicit = count.is_none();
    layer.attempts = match count {
        Some(entry) if entry.value.integer() == Some(-1) => {
            Sourced::written(Attempts::Unbounded, entry.line)
        }
        Some(entry) => Sourced::written(attempts(&entry.value, Counted::Retries), entry.line),
        None => Sourced::default_of(Attempts::Unbounded, WHO),
    };
    layer.on = Sourced::default_of(Failures::EVERY, WHO);
    layer.methods = Methods::All;
    let age = body.loose_entry("maximumRecordAgeInSeconds");
    layer.timeout_ms = ms(age, 1000.0);
    if body.loose("bisectBatchOnFunctionError").and_then(Node::truth) != Some(true) {
        layer.notes.push("one bad record repeats its whole batch".into());
    }
    reading.layers.push(layer);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Syntax;
    use crate::format::shared::layers;

    #[test]
    fn what_is_written_is_read() {
        let text = "Resources:\n  F: {Type: AWS::Lambda::Function, Properties: {}}\n  I:\n    Type: AWS::Lambda::EventInvokeConfig\n    Properties: {FunctionName: !Ref F, MaximumRetryAttempts: 1, MaximumEventAgeInSeconds: 300}\n  S:\n    Type: AWS::Serverless::Function\n    Properties:\n      Events:\n        K: {Type: Kinesis, Properties: {MaximumRetryAttempts: 5, BisectBatchOnFunctionError: true}}\n        A: {Type: Api}\n";
        let found = layers("aws-lambda", "t.yaml", Syntax::Yaml, text);
        let [later, stream] = found.as_slice() else { panic!("{found:#?}") };
        assert_eq!(later.attempts, Sourced::written(Attempts::Count(2), 5));
        assert_eq!(later.timeout_ms, Some(Sourced::written(300_000.0, 5)));
        assert_eq!(later.callee, Some(Name::new("F", None)));
        assert_eq!(stream.attempts, Sourced::written(Attempts::Count(6), 10));
        assert_eq!(stream.notes, Vec::<String>::new());
    }

    #[test]
    fn nothing_written_is_three_attempts_and_streams_have_no_end() {
        let text = "resource \"aws_lambda_function\" \"f\" {}\nresource \"aws_lambda_event_source_mapping\" \"k\" {\n  event_source_arn = aws_kinesis_stream.s.arn\n  function_name = aws_lambda_function.f.arn\n}\nresource \"aws_lambda_event_source_mapping\" \"q\" {\n  event_source_arn = aws_sqs_queue.q.arn\n}\n";
        let found = layers("aws-lambda", "m.tf", Syntax::Hcl, text);
        let [function, stream] = found.as_slice() else { panic!("{found:#?}") };
        assert_eq!(function.attempts, Sourced::default_of(Attempts::Count(3), WHO));
        assert!(function.implicit && function.lines == [1, 1]);
        assert_eq!(stream.attempts, Sourced::default_of(Attempts::Unbounded, WHO));
        assert_eq!(stream.callee, Some(Name::new("f", None)));
    }

    #[test]
    fn terraform_and_serverless_say_the_same() {
        let text = "resource \"aws_lambda_function_event_invoke_config\" \"f\" {\n  function_name = aws_lambda_function.f.function_name\n  maximum_retry_attempts = 0\n}\n";
        let found = layers("aws-lambda", "m.tf", Syntax::Hcl, text);
        assert_eq!(found[0].attempts, Sourced::written(Attempts::Count(1), 3));
        let text = "service: shop\nprovider: {name: aws}\nfunctions:\n  a: {maximumRetryAttempts: 1}\n  b: {events: [{sns: x}]}\n  c: {events: [{http: x}]}\n";
        let found = layers("aws-lambda", "serverless.yml", Syntax::Yaml, text);
        assert_eq!(found[0].attempts, Sourced::written(Attempts::Count(2), 4));
        assert_eq!(found[1].attempts, Sourced::default_of(Attempts::Count(3), WHO));
        assert_eq!(found.len(), 2);
    }
}
