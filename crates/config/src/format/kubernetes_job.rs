//! Kubernetes Jobs: a pod that fails is started again, six times if nobody says otherwise.

use crate::document::{Document, Node, Syntax};
use crate::failure::Failures;
use crate::format::shared::{Counted, attempts};
use crate::format::{Format, cloud, is_object};
use crate::layer::{Attempts, Delay, Growth, Layer, Reach, Seat, Sourced};
use crate::name::Name;
use crate::reading::Reading;

/// Jobs, and the Jobs that CronJobs make.
pub const FORMAT: Format = Format {
    id: "kubernetes-job",
    title: "Kubernetes Job",
    syntaxes: &[Syntax::Yaml, Syntax::Json, Syntax::Hcl],
    is: |_, document| {
        is_object(document, "batch", &["Job", "CronJob"]) || cloud::has(document, &TERRAFORM)
    },
    read,
};

const WHO: &str = "Kubernetes, Job";

/// Terraform's resources: the same keys in its spelling.
const TERRAFORM: [&str; 4] =
    ["kubernetes_job", "kubernetes_job_v1", "kubernetes_cron_job", "kubernetes_cron_job_v1"];

fn read(_: &str, document: &Document, reading: &mut Reading) {
    let root = &document.root;
    if is_object(document, "batch", &["Job", "CronJob"]) {
        reading.layers.extend(layer(root, root));
    }
    for one in cloud::resources(document) {
        if TERRAFORM.contains(&one.kind) {
            reading.layers.extend(layer(one.body, one.body));
        }
    }
}

fn layer(root: &Node, body: &Node) -> Option<Layer> {
    let job = body.below("spec.jobTemplate").unwrap_or(body);
    let spec = job.get("spec")?;
    let limit = spec.loose_entry("backoffLimit");
    let lines = limit.map_or([spec.lines[0]; 2], |entry| [entry.line, entry.line]);
    let mut layer = Layer::at(FORMAT.id, Seat::Workflow, lines);
    let name = root.text_at("metadata.name");
    layer.callee = name.map(|name| Name::new(name, root.text_at("metadata.namespace")));
    layer.reach = Reach::Service;
    layer.implicit = limit.is_none();
    layer.attempts = match limit.map(|entry| (entry.line, &entry.value)) {
        None => Sourced::default_of(Attempts::Count(7), WHO),
        Some((line, value)) => Sourced::written(attempts(value, Counted::Retries), line),
    };
    layer.on = Sourced::default_of(Failures::EVERY, WHO);
    // The pause doubles from 10 s to 6 min.
    layer.delay = Delay {
        growth: Growth::Exponential,
        base_ms: Some(Sourced::default_of(10_000.0, WHO)),
        factor: Some(2.0),
        cap_ms: Some(Sourced::default_of(360_000.0, WHO)),
        jitter: false,
    };
    let deadline = spec.loose_entry("activeDeadlineSeconds");
    layer.timeout_ms = deadline
        .and_then(|entry| Some(Sourced::written(entry.value.number()? * 1000.0, entry.line)));
    if spec.below("template.spec.restartPolicy").and_then(Node::text) == Some("OnFailure") {
        layer.notes.push("`OnFailure` restarts containers in their pod; those count, too".into());
    }
    if let Some(index) = spec.loose_entry("backoffLimitPerIndex") {
        layer.lines = [index.line, index.line];
        layer.attempts = Sourced::written(attempts(&index.value, Counted::Retries), index.line);
        layer.implicit = false;
        layer.notes.push("for each index".into());
    }
    Some(layer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::parse;
    use crate::format;

    fn of(text: &str) -> Reading {
        format::read("job.yaml", &parse(Syntax::Yaml, text).0)
    }

    #[test]
    fn a_job_tries_seven_times_if_nobody_says_otherwise() {
        let reading = of(
            "apiVersion: batch/v1\nkind: Job\nmetadata: {name: import}\nspec:\n  template: {}\n",
        );
        assert_eq!(reading.layers[0].attempts, Sourced::default_of(Attempts::Count(7), WHO));
        assert!(reading.layers[0].implicit);
    }

    #[test]
    fn terraform_says_the_same() {
        let text = "resource \"kubernetes_cron_job_v1\" \"c\" {\n  metadata { name = \"import\" }\n  spec {\n    job_template {\n      spec {\n        backoff_limit = 1\n        template {\n          spec { restart_policy = \"OnFailure\" }\n        }\n      }\n    }\n  }\n}\n";
        let reading = format::read("m.tf", &parse(Syntax::Hcl, text).0);
        let layer = &reading.layers[0];
        assert_eq!(layer.attempts, Sourced::written(Attempts::Count(2), 6));
        assert_eq!(layer.callee, Some(Name::new("import", None)));
        assert_eq!(layer.notes.len(), 1);
    }

    #[test]
    fn its_limit_counts_retries() {
        let reading = of(
            "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: import}\nspec:\n  jobTemplate:\n    spec:\n      backoffLimit: 2\n",
        );
        assert_eq!(reading.layers[0].attempts, Sourced::written(Attempts::Count(3), 7));
        assert_eq!(reading.layers[0].lines, [7, 7]);
    }
}
