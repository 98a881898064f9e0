//! AWS SDKs: `max_attempts` and `retry_mode` of profiles, and the same in environments.

use crate::document::{Document, Node, Syntax};
use crate::failure::{Failure, Failures};
use crate::format::shared::{Counted, attempts, exponential};
use crate::format::{Format, environment};
use crate::layer::{Attempts, Budget, Layer, Methods, Reach, Seat, Sourced};
use crate::reading::Reading;

/// `~/.aws/config`, `.env`, Dockerfiles, and environments of Compose, Kubernetes, CloudFormation
/// and Terraform.
pub const FORMAT: Format = Format {
    id: "aws-sdk",
    title: "AWS SDKs: profiles and environment",
    syntaxes: environment::SYNTAXES,
    is: |path, document| match document.syntax {
        Syntax::Ini => is_profiles(path, &document.root),
        _ => !environment::find(&document.root, &NAMES).is_empty(),
    },
    read,
};

const WHO: &str = "AWS SDK";
const NAMES: [&str; 2] = ["AWS_MAX_ATTEMPTS", "AWS_RETRY_MODE"];

fn is_profiles(path: &str, root: &Node) -> bool {
    let home = path.ends_with(".aws/config");
    root.entries().iter().any(|section| {
        let profile = is_profile(&section.key);
        let key = |key| section.value.get(key).is_some();
        profile && (home || key("max_attempts") || key("retry_mode"))
    })
}

fn is_profile(section: &str) -> bool {
    section == "default" || section.starts_with("profile ")
}

fn read(_: &str, document: &Document, reading: &mut Reading) {
    let root = &document.root;
    if document.syntax == Syntax::Ini {
        for section in root.entries().iter().filter(|section| is_profile(&section.key)) {
            let get = |key: &str| {
                let entry = section.value.entry(key)?;
                Some(Node { lines: [entry.line, entry.line], ..entry.value.clone() })
            };
            let (count, mode) = (get("max_attempts"), get("retry_mode"));
            let mut layer = layer(count.as_ref(), mode.as_ref(), section.line);
            layer.route = Some(section.key.to_string());
            layer.reach = Reach::Group;
            reading.layers.push(layer);
        }
        return;
    }
    for found in environment::find(root, &NAMES) {
        let mut layer = layer(found.get(NAMES[0]), found.get(NAMES[1]), 1);
        layer.caller = found.caller;
        reading.layers.push(layer);
    }
}

fn layer(count: Option<&Node>, mode: Option<&Node>, line: u32) -> Layer {
    let places = || [count, mode].into_iter().flatten().map(|node| node.lines[0]);
    let place = [places().min().unwrap_or(line), places().max().unwrap_or(line)];
    let mut layer = Layer::at(FORMAT.id, Seat::Client, place);
    layer.reach = Reach::Everything;
    layer.implicit = count.is_none() && mode.is_none();
    let mode = mode.map(|mode| mode.text().or(mode.open()).unwrap_or_default().trim().to_owned());
    let legacy = mode.as_deref() == Some("legacy");
    layer.attempts = match count {
        Some(value) => Sourced::written(attempts(value, Counted::Total), value.lines[0]),
        None => Sourced::default_of(Attempts::Count(if legacy { 5 } else { 3 }), WHO),
    };
    if mode.is_none() {
        layer.notes.push("boto3 without a mode is in its legacy mode: 5 in all by default".into());
    }
    let mut on = Failures::SERVER;
    on.add(Failures::of(&[
        Failure::Connect,
        Failure::Refused,
        Failure::Reset,
        Failure::AttemptTimeout,
        Failure::TooMany,
    ]));
    layer.on = Sourced::default_of(on, WHO);
    layer.methods = Methods::All;
    layer.delay = exponential(
        Some(Sourced::default_of(1000.0, WHO)),
        2.0,
        Some(Sourced::default_of(20_000.0, WHO)),
    );
    layer.delay.jitter = true;
    if mode.as_deref().is_some_and(|mode| matches!(mode, "standard" | "adaptive")) {
        let budget = Budget::Quota { max: 500.0, cost: 5.0 };
        layer.budget = Some(Sourced::default_of(budget, WHO));
    }
    layer.words.extend(mode);
    layer
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::shared::layers;
    use crate::name::Name;

    fn of(path: &str, syntax: Syntax, text: &str) -> Vec<Layer> {
        layers("aws-sdk", path, syntax, text)
    }

    #[test]
    fn profiles_are_read() {
        let text = "[default]\nregion = x\n[profile shop]\nretry_mode = standard\nmax_attempts = 2\n[profile old]\nretry_mode = legacy\n";
        let found = of("home/.aws/config", Syntax::Ini, text);
        assert_eq!(found[0].attempts, Sourced::default_of(Attempts::Count(3), WHO));
        assert!(found[0].implicit && found[0].budget.is_none());
        assert_eq!(found[1].attempts, Sourced::written(Attempts::Count(2), 5));
        assert_eq!((found[1].lines, found[1].budget.is_some()), ([4, 5], true));
        assert_eq!(found[2].attempts, Sourced::default_of(Attempts::Count(5), WHO));
    }

    #[test]
    fn environments_are_read_wherever_they_stand() {
        let found = of(".env", Syntax::Env, "AWS_MAX_ATTEMPTS=4\nAWS_RETRY_MODE=adaptive\n");
        assert_eq!(found[0].attempts, Sourced::written(Attempts::Count(4), 1));
        assert_eq!(found[0].words, ["adaptive"]);
        let text = "services:\n  shop:\n    environment:\n      - AWS_MAX_ATTEMPTS=7\n  cart:\n    environment: {AWS_MAX_ATTEMPTS: \"${N}\"}\n";
        let found = of("compose.yml", Syntax::Yaml, text);
        assert_eq!(found[0].attempts, Sourced::written(Attempts::Count(7), 4));
        assert_eq!(found[0].caller, Some(Name::new("shop", None)));
        assert_eq!(found[1].attempts.value.high(), None);
        let text = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: shop}\nspec:\n  env:\n  - name: AWS_MAX_ATTEMPTS\n    value: \"1\"\n";
        let found = of("d.yaml", Syntax::Yaml, text);
        assert_eq!(found[0].attempts, Sourced::written(Attempts::Count(1), 7));
        assert_eq!(found[0].caller, Some(Name::new("shop", None)));
        let found = of("Dockerfile", Syntax::Dockerfile, "FROM x\nENV AWS_MAX_ATTEMPTS=2\n");
        assert_eq!(found[0].lines, [2, 2]);
        assert_eq!(of("compose.yml", Syntax::Yaml, "services: {a: {environment: [B=1]}}\n"), []);
    }
}
