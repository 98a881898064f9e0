//! From layers of configuration to the result format.

use damper_config::layer::{Attempts, Budget, Growth, Layer, Methods, Origin, Sourced};
use damper_config::{Failures, layer};
use damper_report::result::scan as out;
use damper_scan::settings::Settings;

use super::scan::scope;

/// The layers of a file that retry, as policies.
pub(super) fn of_file(file: &Settings) -> impl Iterator<Item = out::FoundPolicy> {
    let layers = file.reading.layers.iter().filter(|layer| layer.retries());
    layers.map(|layer| out::FoundPolicy {
        fingerprint: format!("{:016x}", file.print(layer.lines)),
        ..policy(file, layer)
    })
}

fn policy(file: &Settings, layer: &Layer) -> out::FoundPolicy {
    let name = |name: &Option<damper_config::Name>| name.as_ref().map(ToString::to_string);
    let text = [name(&layer.caller), name(&layer.callee), layer.route.clone()];
    let text = text.into_iter().flatten().collect::<Vec<_>>().join(" ");
    out::FoundPolicy {
        path: file.path.clone(),
        line: layer.lines[0],
        end_line: layer.lines[1],
        language: "configuration".to_owned(),
        by: "configuration".to_owned(),
        name: layer.format.to_owned(),
        kind: if layer.hedges { "hedge" } else { "retry" }.to_owned(),
        attempts: attempts(&layer.attempts),
        delay: delay(&layer.delay),
        deadline_ms: layer.timeout_ms.as_ref().map(number),
        attempt_timeout_ms: layer.attempt_timeout_ms.as_ref().map(number),
        retries_on: layer.words.clone(),
        catches_all: layer.on.value == Failures::EVERY,
        budget: layer.budget.as_ref().map(|budget| words(&budget.value)),
        pushback: layer.pushback,
        call: Some(out::FoundCall {
            text,
            host: name(&layer.callee),
            method: match &layer.methods {
                Methods::Listed(methods) => Some(methods.join(",")),
                Methods::All | Methods::Idempotent => None,
            },
            idempotent: match &layer.methods {
                Methods::Idempotent => Some(true),
                Methods::All | Methods::Listed(_) => None,
            },
            timeout: Some(layer.attempt_timeout_ms.is_some() || layer.timeout_ms.is_some()),
        }),
        implicit: layer.implicit,
        scope: scope(file.scope).to_owned(),
        confidence: "high".to_owned(),
        notes: layer.notes.clone(),
        ..out::FoundPolicy::default()
    }
}

/// A budget in words.
pub(super) fn words(budget: &Budget) -> String {
    match budget {
        Budget::Concurrent { limit: Some(limit) } => format!("{limit} retries at once"),
        Budget::Concurrent { limit: None } => "a limit that never acts".to_owned(),
        Budget::ActiveShare { percent, min_concurrent } => {
            format!("{percent} % of active requests, at least {min_concurrent} at once")
        }
        Budget::RateShare { percent, min_per_s, window_ms } => {
            format!("{percent} % of requests over {} s, and {min_per_s}/s", window_ms / 1e3)
        }
        Budget::Tokens { max, ratio } => format!("{max} tokens, {ratio} for each success"),
        Budget::Quota { max, cost } => format!("{max} tokens, {cost} for each retry"),
    }
}

fn from(from: &Origin) -> String {
    match from {
        Origin::Written(line) => format!("written:{line}"),
        Origin::Elsewhere { path, line } => format!("written:{path}:{line}"),
        Origin::Default(_) => "default".to_owned(),
        Origin::Derived => "derived".to_owned(),
    }
}

fn number(setting: &Sourced<f64>) -> out::FoundNumber {
    out::FoundNumber { value: setting.value, from: from(&setting.from) }
}

fn attempts(setting: &Sourced<Attempts>) -> out::FoundAttempts {
    let mut found = out::FoundAttempts { from: from(&setting.from), ..Default::default() };
    match &setting.value {
        Attempts::Count(total) => {
            found.kind = "count".to_owned();
            found.total = Some(*total);
        }
        Attempts::Unbounded => found.kind = "infinite".to_owned(),
        Attempts::Open { expression, low, high } => {
            found.kind = "dynamic".to_owned();
            found.expression = Some(expression.clone());
            (found.low, found.high) = (Some(*low), *high);
        }
    }
    found
}

fn delay(delay: &layer::Delay) -> out::FoundDelay {
    let ms = |value: &Option<Sourced<f64>>| value.as_ref().map(|one| one.value);
    out::FoundDelay {
        kind: match delay.growth {
            Growth::None => "none",
            Growth::Constant => "constant",
            Growth::Exponential => "exponential",
            Growth::Unknown => "dynamic",
        }
        .to_owned(),
        base_ms: ms(&delay.base_ms),
        factor: delay.factor,
        cap_ms: ms(&delay.cap_ms),
        jitter: if delay.jitter { "random" } else { "none" }.to_owned(),
        schedule_ms: Vec::new(),
        from: delay.base_ms.as_ref().map_or("derived".to_owned(), |base| from(&base.from)),
    }
}
