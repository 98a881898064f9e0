//! From what the scanner knows to the result format.

use damper_report::result::scan as out;
use damper_scan::policy::{
    Attempts, By, Confidence, Delay, DelayKind, From, Jitter, Kind, Policy, Scope, Setting,
};
use damper_scan::rules::{self, Finding};
use damper_scan::scan::{FileFindings, Scan};

/// Everything but the findings of rules.
pub(crate) fn scan(scan: &Scan, roots: Vec<String>) -> out::Scan {
    let languages = scan.languages.iter().map(|(language, &[files, lines])| {
        (language.name().to_owned(), out::LanguageCoverage { files, lines })
    });
    let skipped = scan.skipped.iter().map(|(why, count)| (why.name().to_owned(), *count));
    out::Scan {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        roots,
        partial: scan.partial,
        policies: scan.files.iter().flat_map(of_file).collect(),
        findings: scan.findings.iter().map(finding).collect(),
        coverage: out::Coverage {
            files: scan.read,
            lines: scan.lines,
            languages: languages.collect(),
            broken: scan.broken,
            skipped: skipped.collect(),
        },
        notes: scan.notes.clone(),
    }
}

fn of_file(file: &FileFindings) -> impl Iterator<Item = out::FoundPolicy> {
    file.policies.iter().map(|policy| one(file, policy))
}

fn one(file: &FileFindings, policy: &Policy) -> out::FoundPolicy {
    let (by, name, catalogue) = match &policy.by {
        By::Library { id, package } => ("library", package, Some(id.clone())),
        By::HandRolled { shape } => ("hand-rolled", shape, None),
    };
    out::FoundPolicy {
        path: file.path.clone(),
        line: policy.line,
        end_line: policy.end_line,
        also: policy.also.clone(),
        language: file.language.name().to_owned(),
        by: by.to_owned(),
        name: name.clone(),
        catalogue,
        kind: kind(policy.kind).to_owned(),
        attempts: attempts(&policy.attempts_total),
        delay: delay(&policy.delay),
        deadline_ms: policy.deadline_ms.as_ref().map(number),
        attempt_timeout_ms: policy.attempt_timeout_ms.as_ref().map(number),
        retries_on: policy.retries_on.value.clone(),
        catches_all: policy.catches_all,
        budget: policy.budget.as_ref().map(|budget| budget.value.clone()),
        breaker: policy.breaker,
        pushback: policy.pushback,
        call: policy.call.as_ref().map(|call| out::FoundCall {
            text: call.text.clone(),
            host: call.host.clone(),
            method: call.method.clone(),
            idempotent: call.idempotent,
            timeout: call.timeout,
        }),
        implicit: policy.implicit,
        scope: scope(policy.scope).to_owned(),
        confidence: match policy.confidence {
            Confidence::Low => "low",
            Confidence::Medium => "medium",
            Confidence::High => "high",
        }
        .to_owned(),
        notes: policy.notes.clone(),
    }
}

fn finding(finding: &Finding) -> out::Finding {
    let fix = rules::find(finding.rule).map_or("", |rule| rule.fix);
    out::Finding {
        rule: finding.rule.to_owned(),
        severity: finding.hit.severity.name().to_owned(),
        path: finding.path.clone(),
        line: finding.hit.line,
        end_line: finding.hit.end_line,
        message: finding.hit.message.clone(),
        fix: fix.to_owned(),
        scope: scope(finding.scope).to_owned(),
        fingerprint: format!("{:016x}", finding.fingerprint),
        silenced: finding.silenced.clone(),
        known: false,
    }
}

fn from(from: &From) -> String {
    match from {
        From::Written(line) => format!("written:{line}"),
        From::Elsewhere { path, line } => format!("written:{path}:{line}"),
        From::Default => "default".to_owned(),
        From::Derived => "derived".to_owned(),
    }
}

fn number(setting: &Setting<f64>) -> out::FoundNumber {
    out::FoundNumber { value: setting.value, from: from(&setting.from) }
}

fn attempts(setting: &Setting<Attempts>) -> out::FoundAttempts {
    let mut found = out::FoundAttempts { from: from(&setting.from), ..Default::default() };
    match &setting.value {
        Attempts::Count(total) => {
            found.kind = "count".to_owned();
            found.total = Some(*total);
        }
        Attempts::Infinite => found.kind = "infinite".to_owned(),
        Attempts::Dynamic { expression, low, high, usual } => {
            found.kind = "dynamic".to_owned();
            found.expression = Some(expression.clone());
            (found.low, found.high, found.usual) = (*low, *high, *usual);
        }
    }
    found
}

fn delay(delay: &Delay) -> out::FoundDelay {
    out::FoundDelay {
        kind: delay_kind(delay.kind.value).to_owned(),
        base_ms: delay.base_ms.as_ref().map(|base| base.value),
        factor: delay.factor.as_ref().map(|factor| factor.value),
        cap_ms: delay.cap_ms.as_ref().map(|cap| cap.value),
        jitter: jitter(delay.jitter.value).to_owned(),
        schedule_ms: delay.schedule_ms.clone(),
        from: from(&delay.kind.from),
    }
}

fn delay_kind(kind: DelayKind) -> &'static str {
    match kind {
        DelayKind::None => "none",
        DelayKind::Constant => "constant",
        DelayKind::Linear => "linear",
        DelayKind::Exponential => "exponential",
        DelayKind::Polynomial => "polynomial",
        DelayKind::ServerDirected => "server-directed",
        DelayKind::Dynamic => "dynamic",
    }
}

fn jitter(jitter: Jitter) -> &'static str {
    match jitter {
        Jitter::None => "none",
        Jitter::Full => "full",
        Jitter::Equal => "equal",
        Jitter::Additive => "additive",
        Jitter::Decorrelated => "decorrelated",
        Jitter::Random => "random",
        Jitter::Unknown => "unknown",
    }
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Retry => "retry",
        Kind::Reconnect => "reconnect",
        Kind::WaitForReady => "wait-for-ready",
        Kind::Conflict => "conflict",
        Kind::Replay => "replay",
        Kind::Hedge => "hedge",
    }
}

fn scope(scope: Scope) -> &'static str {
    match scope {
        Scope::Production => "production",
        Scope::Test => "test",
        Scope::Docs => "docs",
        Scope::Example => "example",
        Scope::Generated => "generated",
    }
}
