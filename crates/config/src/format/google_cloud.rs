//! Google Cloud's queues, schedules and subscriptions, in Terraform, as Kubernetes objects and as
//! their API writes them.

use crate::document::{Document, Entry, Node, Syntax};
use crate::failure::Failures;
use crate::format::cloud::resources;
use crate::format::parts::span;
use crate::format::shared::{Counted, around, attempts, constant, exponential, ms, ms_or, number};
use crate::format::{Format, cloud};
use crate::layer::{Attempts, Delay, Layer, Methods, Seat, Sourced};
use crate::name::Name;
use crate::reading::{Fact, Reading, What};

/// Cloud Tasks: Terraform, `queue.yaml`, queues as the API writes them.
pub const TASKS: Format = Format {
    id: "google-cloud-tasks",
    title: "Google Cloud Tasks",
    syntaxes: cloud::SYNTAXES,
    is: |_, document| !tasks(document).is_empty(),
    read: |_, document, reading| {
        for queue in tasks(document) {
            task_queue(&queue, reading);
        }
    },
};

/// Cloud Scheduler: Terraform, Config Connector.
pub const SCHEDULER: Format = Format {
    id: "google-cloud-scheduler",
    title: "Google Cloud Scheduler",
    syntaxes: cloud::SYNTAXES,
    is: |_, document| {
        !objects(document, "google_cloud_scheduler_job", "CloudSchedulerJob").is_empty()
    },
    read: |_, document, reading| {
        for job in objects(document, "google_cloud_scheduler_job", "CloudSchedulerJob") {
            reading.layers.extend(schedule(&job));
        }
    },
};

/// Pub/Sub: Terraform, Config Connector.
pub const PUBSUB: Format = Format {
    id: "google-pubsub",
    title: "Google Pub/Sub",
    syntaxes: cloud::SYNTAXES,
    is: |_, document| {
        !objects(document, "google_pubsub_subscription", "PubSubSubscription").is_empty()
    },
    read: |_, document, reading| {
        for subscription in objects(document, "google_pubsub_subscription", "PubSubSubscription") {
            reading.layers.push(delivery(&subscription));
        }
    },
};

const TASKS_WHO: &str = "Cloud Tasks";
const SCHEDULER_WHO: &str = "Cloud Scheduler";
const PUBSUB_WHO: &str = "Pub/Sub";

/// Something with a name.
struct Object<'a> {
    name: String,
    line: u32,
    body: &'a Node,
}

/// Terraform's resources of a type, or the Config Connector object of a kind.
fn objects<'a>(document: &'a Document, terraform: &str, kind: &str) -> Vec<Object<'a>> {
    let root = &document.root;
    let group = root.get("apiVersion").and_then(Node::text).unwrap_or_default();
    if group.contains("cnrm.cloud.google.com") {
        let spec =
            root.entry("spec").filter(|_| root.get("kind").and_then(Node::text) == Some(kind));
        let name = root.text_at("metadata.name").unwrap_or_default().to_owned();
        return spec
            .map(|spec| Object { name, line: spec.line, body: &spec.value })
            .into_iter()
            .collect();
    }
    let of = |one: cloud::Resource<'a>| Object {
        name: one.name.to_owned(),
        line: one.line,
        body: one.body,
    };
    resources(document).into_iter().filter(|one| one.kind == terraform).map(of).collect()
}

fn tasks(document: &Document) -> Vec<Object<'_>> {
    let root = &document.root;
    let mut found = objects(document, "google_cloud_tasks_queue", "CloudTasksQueue");
    // App Engine's `queue.yaml`.
    for queue in root.get("queue").map(Node::items).unwrap_or_default() {
        let name = queue.get("name").and_then(Node::text);
        if let Some(name) =
            name.filter(|_| queue.get("rate").is_some() || queue.get("retry_parameters").is_some())
        {
            found.push(Object { name: name.to_owned(), line: queue.lines[0], body: queue });
        }
    }
    // What the API gives: only queues have both.
    if document.syntax != Syntax::Hcl
        && root.get("retryConfig").is_some()
        && root.get("rateLimits").is_some()
    {
        let name = root.get("name").and_then(Node::text).unwrap_or_default();
        let name = name.rsplit('/').next().unwrap_or_default().to_owned();
        found.push(Object { name, line: root.lines[0], body: root });
    }
    found
}

/// The block of a name, also where a list of one stands.
fn block<'a>(body: &'a Node, key: &str) -> Option<(&'a Entry, &'a Node)> {
    let entry = body.loose_entry(key)?;
    Some((entry, entry.value.one_or_more().first()?))
}

fn task_queue(queue: &Object<'_>, reading: &mut Reading) {
    let retry = block(queue.body, "retryConfig").or_else(|| block(queue.body, "retry_parameters"));
    let get = |key: &str| retry.and_then(|(_, node)| node.loose_entry(key));
    let about = Some(Name::new(&queue.name, None));
    let mut layer = Layer::at(
        TASKS.id,
        Seat::Workflow,
        retry.map_or([queue.line, queue.line], |(entry, _)| span(entry)),
    );
    layer.callee = about.clone();
    let count = get("maxAttempts");
    // App Engine counts retries.
    let limit = get("task_retry_limit");
    layer.implicit = count.is_none() && limit.is_none();
    layer.attempts = match (count, limit) {
        (Some(count), _) if count.value.integer() == Some(-1) => {
            Sourced::written(Attempts::Unbounded, count.line)
        }
        (Some(count), _) => Sourced::written(attempts(&count.value, Counted::Total), count.line),
        (None, Some(limit)) => {
            Sourced::written(attempts(&limit.value, Counted::Retries), limit.line)
        }
        (None, None) if queue.body.get("rate").is_some() => {
            Sourced::default_of(Attempts::Unbounded, TASKS_WHO)
        }
        (None, None) => Sourced::default_of(Attempts::Count(100), TASKS_WHO),
    };
    layer.on = Sourced::default_of(Failures::EVERY, TASKS_WHO);
    layer.methods = Methods::All;
    let least = get("minBackoff").or(get("min_backoff_seconds"));
    let most = get("maxBackoff").or(get("max_backoff_seconds"));
    layer.delay = exponential(
        ms_or(least, 1000.0, 100.0, TASKS_WHO),
        2.0,
        ms_or(most, 1000.0, 3_600_000.0, TASKS_WHO),
    );
    layer.timeout_ms = ms(get("maxRetryDuration").or(get("task_age_limit")), 1000.0)
        .filter(|most| most.value > 0.0);
    if layer.timeout_ms.is_some() {
        layer.notes.push("it ends when both the count and the time are spent".into());
    }
    reading.layers.push(layer);
    if let Some((entry, limits)) = block(queue.body, "rateLimits") {
        let per_s = number(limits.loose_entry("maxDispatchesPerSecond"));
        let what = What::RateLimit { per_s, status: None };
        reading.facts.push(Fact { lines: span(entry), about: about.clone(), what });
        if let Some(active) = number(limits.loose_entry("maxConcurrentDispatches")) {
            let what = What::Requests { active: Some(active as u64), waiting: None };
            reading.facts.push(Fact { lines: span(entry), about, what });
        }
    }
}

fn schedule(job: &Object<'_>) -> Option<Layer> {
    // Nothing is retried unless somebody says so.
    let (entry, retry) = block(job.body, "retryConfig")?;
    let mut layer = Layer::at(SCHEDULER.id, Seat::Workflow, span(entry));
    layer.callee = Some(Name::new(&job.name, None));
    layer.attempts = match retry.loose_entry("retryCount") {
        Some(count) => Sourced::written(attempts(&count.value, Counted::Retries), count.line),
        None => Sourced::default_of(Attempts::Count(1), SCHEDULER_WHO),
    };
    layer.on = Sourced::default_of(Failures::EVERY, SCHEDULER_WHO);
    layer.methods = Methods::All;
    let least = ms_or(retry.loose_entry("minBackoffDuration"), 1000.0, 5000.0, SCHEDULER_WHO);
    let most = ms_or(retry.loose_entry("maxBackoffDuration"), 1000.0, 3_600_000.0, SCHEDULER_WHO);
    layer.delay = exponential(least, 2.0, most);
    layer.timeout_ms =
        ms(retry.loose_entry("maxRetryDuration"), 1000.0).filter(|most| most.value > 0.0);
    layer.attempt_timeout_ms =
        ms_or(job.body.loose_entry("attemptDeadline"), 1000.0, 180_000.0, SCHEDULER_WHO);
    Some(layer)
}

fn delivery(subscription: &Object<'_>) -> Layer {
    let dead = block(subscription.body, "deadLetterPolicy");
    let waits = block(subscription.body, "retryPolicy");
    let places = [dead, waits].into_iter().flatten().map(|(entry, _)| entry);
    let place = around(places).unwrap_or([subscription.line, subscription.line]);
    let mut layer = Layer::at(PUBSUB.id, Seat::Workflow, place);
    layer.callee = Some(Name::new(&subscription.name, None));
    layer.implicit = dead.is_none() && waits.is_none();
    layer.attempts = match dead {
        Some((_, policy)) => match policy.loose_entry("maxDeliveryAttempts") {
            Some(count) => Sourced::written(attempts(&count.value, Counted::Total), count.line),
            None => Sourced::default_of(Attempts::Count(5), PUBSUB_WHO),
        },
        None => Sourced::default_of(Attempts::Unbounded, PUBSUB_WHO),
    };
    layer.on = Sourced::default_of(Failures::EVERY, PUBSUB_WHO);
    layer.methods = Methods::All;
    layer.delay = match waits {
        Some((_, policy)) => exponential(
            ms_or(policy.loose_entry("minimumBackoff"), 1000.0, 10_000.0, PUBSUB_WHO),
            2.0,
            ms_or(policy.loose_entry("maximumBackoff"), 1000.0, 600_000.0, PUBSUB_WHO),
        ),
        // Delivered again at once.
        None => constant(Some(Sourced::default_of(0.0, PUBSUB_WHO))),
    };
    if layer.delay == Delay::none() {
        layer.notes.push("without `retry_policy` it is delivered again at once".into());
    }
    layer.attempt_timeout_ms =
        ms_or(subscription.body.loose_entry("ackDeadlineSeconds"), 1000.0, 10_000.0, PUBSUB_WHO);
    layer
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::shared::{layers, reading};

    #[test]
    fn queues_are_read() {
        let text = "resource \"google_cloud_tasks_queue\" \"q\" {\n  rate_limits {\n    max_dispatches_per_second = 10\n    max_concurrent_dispatches = 3\n  }\n  retry_config {\n    max_attempts = 4\n    max_retry_duration = \"60s\"\n    min_backoff = \"2s\"\n  }\n}\nresource \"google_cloud_tasks_queue\" \"r\" {}\n";
        let reading = reading("m.tf", Syntax::Hcl, text);
        assert_eq!(reading.layers[0].attempts, Sourced::written(Attempts::Count(4), 7));
        assert_eq!(reading.layers[0].delay.base_ms, Some(Sourced::written(2000.0, 9)));
        assert_eq!(reading.layers[0].lines, [6, 10]);
        assert_eq!(reading.facts[1].what, What::Requests { active: Some(3), waiting: None });
        assert_eq!(
            reading.layers[1].attempts,
            Sourced::default_of(Attempts::Count(100), TASKS_WHO)
        );
        assert!(reading.layers[1].implicit);
        let text = "queue:\n- name: a\n  rate: 5/s\n  retry_parameters: {task_retry_limit: 7}\n";
        let found = layers("google-cloud-tasks", "queue.yaml", Syntax::Yaml, text);
        assert_eq!(found[0].attempts, Sourced::written(Attempts::Count(8), 4));
        let text = "name: projects/p/locations/l/queues/q\nrateLimits: {}\nretryConfig: {maxAttempts: -1}\n";
        let found = layers("google-cloud-tasks", "q.yaml", Syntax::Yaml, text);
        assert_eq!(found[0].attempts.value, Attempts::Unbounded);
    }

    #[test]
    fn schedules_are_read() {
        let text = "resource \"google_cloud_scheduler_job\" \"j\" {\n  retry_config {\n    retry_count = 2\n  }\n}\nresource \"google_cloud_scheduler_job\" \"k\" {}\n";
        let found = layers("google-cloud-scheduler", "m.tf", Syntax::Hcl, text);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].attempts, Sourced::written(Attempts::Count(3), 3));
        assert_eq!(found[0].delay.base_ms, Some(Sourced::default_of(5000.0, SCHEDULER_WHO)));
    }

    #[test]
    fn subscriptions_are_read() {
        let text = "resource \"google_pubsub_subscription\" \"s\" {\n  dead_letter_policy {\n    max_delivery_attempts = 6\n  }\n  retry_policy {\n    minimum_backoff = \"1s\"\n  }\n}\nresource \"google_pubsub_subscription\" \"t\" {}\n";
        let found = layers("google-pubsub", "m.tf", Syntax::Hcl, text);
        assert_eq!(found[0].attempts, Sourced::written(Attempts::Count(6), 3));
        assert_eq!(found[0].delay.base_ms, Some(Sourced::written(1000.0, 6)));
        assert_eq!(found[1].attempts, Sourced::default_of(Attempts::Unbounded, PUBSUB_WHO));
        assert_eq!(found[1].delay, Delay::none());
        let text = "apiVersion: pubsub.cnrm.cloud.google.com/v1beta1\nkind: PubSubSubscription\nmetadata: {name: s}\nspec: {deadLetterPolicy: {maxDeliveryAttempts: 9}}\n";
        let found = layers("google-pubsub", "s.yaml", Syntax::Yaml, text);
        assert_eq!(found[0].attempts, Sourced::written(Attempts::Count(9), 4));
    }
}
