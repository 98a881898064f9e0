//! From what the scanner knows to the result format.

use damper_report::result::scan as out;
use damper_report::scan::RuleText;
use damper_scan::policy::{
    Attempts, By, Confidence, Delay, DelayKind, From, Jitter, Kind, Policy, Scope, Setting,
};
use damper_scan::rules::{self, Finding};
use damper_scan::scan::{FileFindings, Scan};
use damper_scan::settings::{Unread, UnreadKind};

use super::{settings, why};

/// One scan, with every path as `shown` says it.
pub(crate) fn scan(
    scan: &Scan,
    roots: Vec<String>,
    scopes: &[Scope],
    shown: impl Fn(&str) -> String,
) -> out::Scan {
    let languages = scan.languages.iter().map(|(language, &[files, lines])| {
        (language.name().to_owned(), out::LanguageCoverage { files, lines })
    });
    let skipped = scan.skipped.iter().map(|(why, count)| (why.name().to_owned(), *count));
    let mut result = out::Scan {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        roots,
        scopes: scopes.iter().map(|one| scope(*one).to_owned()).collect(),
        partial: scan.partial,
        policies: policies(scan),
        findings: scan.findings.iter().map(finding).collect(),
        coverage: out::Coverage {
            files: scan.read + scan.settings_read,
            lines: scan.lines,
            languages: languages.collect(),
            broken: scan.broken,
            skipped: skipped.collect(),
        },
        unread: unread(scan, scopes),
        notes: scan.notes.clone(),
        ..out::Scan::default()
    };
    result.unread.places.iter_mut().for_each(|place| place.path = shown(&place.path));
    result.policies.iter_mut().for_each(|policy| policy.path = shown(&policy.path));
    result.findings.iter_mut().for_each(|finding| finding.path = shown(&finding.path));
    result
}

/// Puts another scan behind one.
pub(crate) fn join(all: &mut out::Scan, more: out::Scan) {
    all.roots.extend(more.roots);
    all.partial |= more.partial;
    all.policies.extend(more.policies);
    all.findings.extend(more.findings);
    all.coverage.files += more.coverage.files;
    all.coverage.lines += more.coverage.lines;
    all.coverage.broken += more.coverage.broken;
    for (language, of) in more.coverage.languages {
        let known = all.coverage.languages.entry(language).or_default();
        known.files += of.files;
        known.lines += of.lines;
    }
    for (why, count) in more.coverage.skipped {
        *all.coverage.skipped.entry(why).or_default() += count;
    }
    all.notes.extend(more.notes);
    all.unread.join(more.unread);
    all.policies.sort_by(|a, b| (&a.path, a.line, a.end_line).cmp(&(&b.path, b.line, b.end_line)));
    all.findings.sort_by(|a, b| (&a.path, a.line, &a.rule).cmp(&(&b.path, b.line, &b.rule)));
}

/// Keeps what is in the scopes that were asked for, and counts the rest.
pub(crate) fn narrow(scan: &mut out::Scan, implicit: bool) {
    let scopes = std::mem::take(&mut scan.scopes);
    let elsewhere = |scope: &String| !scopes.contains(scope);
    let unlisted = &mut scan.unlisted;
    scan.policies.retain(|policy| {
        let elsewhere = elsewhere(&policy.scope);
        let hidden = !elsewhere && policy.implicit && !implicit;
        unlisted.policies_elsewhere += u64::from(elsewhere);
        unlisted.implicit_policies += u64::from(hidden);
        !elsewhere && !hidden
    });
    scan.findings.retain(|finding| {
        let elsewhere = elsewhere(&finding.scope);
        unlisted.findings_elsewhere += u64::from(elsewhere);
        !elsewhere
    });
    scan.scopes = scopes;
}

/// What of the configuration in these scopes could not be read.
fn unread(scan: &Scan, scopes: &[Scope]) -> out::Unread {
    let mut all = out::Unread::default();
    for file in scan.settings.iter().filter(|file| scopes.contains(&file.scope)) {
        let open = |kind| file.unread.iter().filter(|one| one.kind == kind).count() as u64;
        let in_policies = open(UnreadKind::OpenInPolicy);
        let place = |one: &Unread| out::UnreadPlace {
            path: file.path.clone(),
            line: one.line,
            kind: one.kind.name().to_owned(),
            what: one.why.clone(),
        };
        all.broken_files += u64::from(file.broken == Some(true));
        all.other_broken_files += u64::from(file.broken == Some(false));
        all.unresolved += in_policies + open(UnreadKind::Open) + file.unread_more;
        all.unresolved_in_policies += in_policies;
        all.places.extend(file.unread.iter().map(place));
    }
    // Puts them in order and keeps the worst.
    all.join(out::Unread::default());
    all
}

/// Policies of code and layers of configuration, by path and line.
fn policies(scan: &Scan) -> Vec<out::FoundPolicy> {
    let code = scan.files.iter().flat_map(of_file);
    let mut all: Vec<_> = code.chain(scan.settings.iter().flat_map(settings::of_file)).collect();
    all.sort_by(|a, b| (&a.path, a.line, a.end_line).cmp(&(&b.path, b.line, b.end_line)));
    all
}

fn of_file(file: &FileFindings) -> impl Iterator<Item = out::FoundPolicy> {
    file.policies.iter().zip(&file.prints).map(|(policy, print)| out::FoundPolicy {
        fingerprint: format!("{print:016x}"),
        ..one(file, policy)
    })
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
        runs: policy
            .runs
            .as_ref()
            .map(|runs| out::Runs { path: runs.path.clone(), lines: runs.lines }),
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
        fingerprint: String::new(),
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
        why: why::of(finding.rule).to_owned(),
        fix: fix.to_owned(),
        scope: scope(finding.scope).to_owned(),
        fingerprint: format!("{:016x}", finding.fingerprint),
        silenced: finding.silenced.clone(),
        known: false,
        frame: None,
    }
}

/// The rules, for formats that carry them along.
pub(crate) fn rule_texts() -> Vec<RuleText> {
    let text = |rule: &&rules::Rule| RuleText {
        id: rule.id.to_owned(),
        severity: rule.severity.name().to_owned(),
        summary: rule.summary.to_owned(),
        fix: rule.fix.to_owned(),
        page: format!(
            "{}.\n\n**Why it matters:** {}.\n\n**To fix:** {}.\n",
            rule.summary,
            why::of(rule.id),
            rule.fix
        ),
    };
    rules::RULES.iter().map(text).collect()
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
            // Something is always tried once.
            (found.low, found.high, found.usual) = (low.or(Some(1)), *high, *usual);
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

pub(super) fn scope(scope: Scope) -> &'static str {
    match scope {
        Scope::Production => "production",
        Scope::Test => "test",
        Scope::Docs => "docs",
        Scope::Example => "example",
        Scope::Generated => "generated",
    }
}
