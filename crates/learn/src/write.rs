//! The system file, with the evidence of each number on its line.

use std::fmt::Write as _;

use crate::learnt::{Backoff, Call, Learnt, Number, Policy, Request, Service, Time};

/// Calls at the same time to the same callee that are written one by one.
const MOST_AT_ONCE: f64 = 16.0;
/// Entries of the list of calls in all, since fractions are written as two.
const MOST_ENTRIES: usize = 50_000;
/// Column of the comments.
const COLUMN: usize = 44;

/// The file.
#[must_use]
pub fn yaml(learnt: &Learnt) -> String {
    let mut out = Writer::default();
    let read = &learnt.read;
    let what = if read.traces > 0 { count(read.traces, "trace") } else { "counters".to_owned() };
    let inputs = count(read.inputs, "input");
    out.text(&format!("# Learnt from {what} in {inputs} ({}).", read.formats.join(", ")));
    out.text("# Each number has its evidence beside it. What could not be learnt is under `gaps`:");
    out.text("# set it, and `damper check` stops asking for it.");
    for note in &learnt.notes {
        out.text(&format!("# note: {}", one_line(note)));
    }
    out.text("damper: 1");
    out.text("name: learnt");
    out.text("services:");
    for service in &learnt.services {
        out.service(service);
    }
    out.load(learnt);
    out.text("requests:");
    for (n, request) in learnt.requests.iter().enumerate() {
        // The most frequent takes the rest, so that all are 100 %.
        out.request(request, n == 0);
    }
    let told: Vec<&Policy> = learnt.policies.iter().filter(|p| tells(p)).collect();
    if !told.is_empty() {
        out.text("policies:");
        told.into_iter().for_each(|policy| out.policy(policy));
    }
    if !learnt.gaps.is_empty() {
        out.text("gaps:");
        for gap in &learnt.gaps {
            out.text(&format!("  - path: '{}'", gap.path.replace('\'', "''")));
            out.text(&format!("    why: '{}'", one_line(&gap.why).replace('\'', "''")));
        }
    }
    out.0
}

/// Whether there is anything to write of a policy.
fn tells(policy: &Policy) -> bool {
    policy.limit.is_some() || policy.timeout_s.is_some()
}

#[derive(Default)]
struct Writer(String);

impl Writer {
    fn text(&mut self, line: &str) {
        self.0.push_str(line);
        self.0.push('\n');
    }

    /// A line with a comment behind it.
    fn with(&mut self, line: &str, comment: &str) {
        let width = COLUMN.max(line.chars().count() + 2);
        self.text(&format!("{line:<width$}# {}", one_line(comment)));
    }

    fn service(&mut self, service: &Service) {
        let mut about = vec![count(service.attempts, "attempt")];
        if service.original != service.name {
            about.push(format!("called `{}`", service.original));
        }
        about.extend(service.remarks.iter().cloned());
        let empty =
            service.time.is_none() && service.failure.as_ref().is_none_or(|f| f.value == 0.0);
        let head = format!("  {}:{}", service.name, if empty { " {}" } else { "" });
        self.with(&head, &about.join("; "));
        if let Some(time) = &service.time {
            self.time(time);
        }
        if let Some(failure) = service.failure.as_ref().filter(|f| f.value > 0.0) {
            let failed = (failure.value * failure.count as f64).round() as u64;
            let [low, high] = failure.ci95;
            self.with(
                &format!("    failure: {}", percent(failure.value)),
                &format!(
                    "{} of {}, 95 % interval {} to {}",
                    thousands(failed),
                    count(failure.count, "attempt"),
                    percent(low),
                    percent(high)
                ),
            );
        }
        if let Some([most, p99]) = service.at_once {
            self.text(&format!("    # at once: at most {most}, 99 % of the time at most {p99}"));
        }
    }

    fn time(&mut self, time: &Time) {
        let Number { value, count: spans, ci95: [low, high] } = &time.mean_s;
        let mut comment = vec![count(*spans, "execution")];
        if low < high {
            comment.push(format!("95 % interval {} to {}", duration(*low), duration(*high)));
        }
        if time.distance > 0.0 {
            comment.push(format!("fits within {}", percent(time.distance)));
        }
        comment.extend(time.remarks.iter().cloned());
        let comment = comment.join("; ");
        let mean = duration(*value);
        let line = match time.dist.as_str() {
            "deterministic" => mean,
            "empirical" => {
                let values: Vec<String> = time.values_s.iter().map(|v| duration(*v)).collect();
                format!("[{}]", values.join(", "))
            }
            "erlang" => {
                let stages = time.stages.unwrap_or(1);
                format!("{{dist: erlang, mean: {mean}, stages: {stages}}}")
            }
            "exponential" => format!("{{dist: exponential, mean: {mean}}}"),
            dist => format!("{{dist: {dist}, mean: {mean}, cv: {}}}", time.cv.unwrap_or(1.0)),
        };
        self.with(&format!("    service_time: {line}"), &comment);
    }

    fn load(&mut self, learnt: &Learnt) {
        let Some(load) = &learnt.load_rps else {
            self.text("# load: is a gap, see below; a system file needs one");
            return;
        };
        let [low, high] = load.ci95;
        let mut comment = format!(
            "{} in {}, 95 % interval {} to {}",
            count(load.count, "request"),
            duration(learnt.read.seconds),
            rate(low),
            rate(high)
        );
        if learnt.read.sampling < 1.0 {
            let _ = write!(comment, "; {} of the traces", percent(learnt.read.sampling));
        }
        if let Some([least, most]) = learnt.load_range_rps {
            let _ = write!(comment, "; by tenths of the time {} to {}", rate(least), rate(most));
        }
        self.with(&format!("load: {}", rate(load.value)), &comment);
    }

    fn request(&mut self, request: &Request, rest: bool) {
        let mut about = format!("{}: {}", request.original, count(request.share.count, "request"));
        if request.failed > 0 {
            let _ = write!(about, ", {} failed", thousands(request.failed));
        }
        if request.message {
            about.push_str("; begins with a message");
        }
        self.with(&format!("  {}:", request.name), &about);
        let [low, high] = request.share.ci95;
        let share = percent(request.share.value);
        let interval = format!("95 % interval {} to {}", percent(low), percent(high));
        if rest {
            self.text(&format!("    # share: {share}, takes the rest; {interval}"));
        } else {
            self.with(&format!("    share: {share}"), &interval);
        }
        if request.calls.is_empty() {
            self.text("    calls: []");
        } else {
            self.text("    calls:");
            let mut left = MOST_ENTRIES;
            self.groups(&request.calls, 6, &mut left);
        }
    }

    fn groups(&mut self, groups: &[Vec<Call>], indent: usize, left: &mut usize) {
        for group in groups {
            let together =
                group.len() > 1 || group.iter().any(|c| c.at_once && c.times.value > 1.0);
            if together {
                self.text(&format!("{:indent$}- parallel:", ""));
            }
            for call in group {
                self.call(call, if together { indent + 4 } else { indent }, left);
            }
        }
    }

    /// A call as entries of a list. A mean number that is not whole is so many in a row, and one
    /// more by chance.
    fn call(&mut self, call: &Call, indent: usize, left: &mut usize) {
        let mean = call.times.value;
        let whole = if (mean - mean.round()).abs() < 0.01 { mean.round() } else { mean.floor() };
        let more = if (mean - whole).abs() < 0.01 { 0.0 } else { mean - whole };
        let whole = whole.clamp(1.0, 1_000.0);
        let one_by_one = call.at_once && whole > 1.0 && whole <= MOST_AT_ONCE;
        let (entries, times) = if one_by_one { (whole as usize, 1.0) } else { (1, whole) };
        for _ in 0..entries {
            self.entry(call, times, call.chance.value, indent, left);
        }
        if more > 0.0 {
            self.entry(call, 1.0, call.chance.value * more, indent, left);
        }
    }

    fn entry(&mut self, call: &Call, times: f64, chance: f64, indent: usize, left: &mut usize) {
        if *left == 0 {
            return;
        }
        *left -= 1;
        let name = &call.callee;
        let always = chance >= 0.99995;
        if always && times <= 1.0 {
            if call.calls.is_empty() {
                self.text(&format!("{:indent$}- {name}", ""));
            } else {
                self.text(&format!("{:indent$}- {name}:", ""));
                self.groups(&call.calls, indent + 4, left);
            }
            return;
        }
        self.text(&format!("{:indent$}- {name}:", ""));
        let inner = indent + 4;
        if times > 1.0 {
            let of = count(call.times.count, "execution");
            let line = format!("{:inner$}times: {times}", "");
            self.with(&line, &format!("{:.4} on average, of {of}", call.times.value));
        }
        if !always {
            let [low, high] = call.chance.ci95;
            self.with(
                &format!("{:inner$}chance: {}", "", percent(chance)),
                &format!(
                    "of {}, 95 % interval {} to {}",
                    count(call.chance.count, "execution"),
                    percent(low),
                    percent(high)
                ),
            );
        }
        if !call.calls.is_empty() {
            self.text(&format!("{:inner$}calls:", ""));
            self.groups(&call.calls, inner + 2, left);
        }
    }

    fn policy(&mut self, policy: &Policy) {
        let about = format!(
            "{}, {}, {} failed for good",
            count(policy.calls, "call"),
            count(policy.attempts, "attempt"),
            thousands(policy.failed)
        );
        self.with(&format!("  \"{} -> {}\":", policy.caller, policy.callee), &about);
        if let Some(timeout) = &policy.timeout_s {
            let [low, high] = timeout.ci95;
            self.with(
                &format!("    timeout: {}", duration(timeout.value)),
                &format!(
                    "{} given up, 80 % of them after {} to {}",
                    count(timeout.count, "attempt"),
                    duration(low),
                    duration(high)
                ),
            );
        }
        let Some(limit) = policy.limit else { return };
        self.text("    retry:");
        let by: Vec<String> = policy.by_number.iter().map(|n| thousands(*n)).collect();
        let evidence = match limit {
            0 => format!("none of {} that failed was retried", count(policy.failed, "call")),
            _ => format!("attempts by number: {}; {}", by.join(", "), known_by(policy.evidence)),
        };
        self.with(&format!("      limit: {limit}"), &evidence);
        if limit == 0 {
            return;
        }
        if let Some(backoff) = &policy.backoff {
            self.backoff(backoff);
        }
        if policy.on.is_empty() {
            // An empty list means never, and attempts were seen; the gap says what is not known.
            return;
        }
        let mut about = Vec::new();
        if !policy.not_on.is_empty() {
            about.push(format!("never after {}", policy.not_on.join(", ")));
        }
        if !policy.never_seen.is_empty() {
            about
                .push(format!("not known of {}, which did not come", policy.never_seen.join(", ")));
        }
        self.with(&format!("      on: [{}]", policy.on.join(", ")), &about.join("; "));
    }

    fn backoff(&mut self, backoff: &Backoff) {
        let mut fields = format!("kind: {}, base: {}", backoff.kind, duration(backoff.base_s));
        if let Some(factor) = backoff.factor {
            let _ = write!(fields, ", factor: {factor}x");
        }
        if let Some(max) = backoff.max_s {
            let _ = write!(fields, ", max: {}", duration(max));
        }
        if backoff.jitter != "none" {
            let _ = write!(fields, ", jitter: {}", backoff.jitter);
        }
        let means: Vec<String> = backoff.means_s.iter().map(|s| duration(*s)).collect();
        let comment = format!("{}, on average {}", count(backoff.count, "delay"), means.join(", "));
        self.with(&format!("      backoff: {{{fields}}}"), &comment);
    }
}

fn known_by([told, beneath, alike]: [u64; 3]) -> String {
    let parts = [
        (told, "said by their spans"),
        (beneath, "seen to arrive again"),
        (alike, "taken for retries because the same call had just failed"),
    ];
    let parts: Vec<String> = parts
        .iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, what)| format!("{} {what}", thousands(*n)))
        .collect();
    parts.join(", ")
}

/// What others wrote must not end a comment.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if fits_a_line(c) { c } else { ' ' }).collect()
}

/// YAML has further ends of lines, and forbids a byte order mark and what is no character; what
/// reorders the text after it would show another file than the one that is read.
fn fits_a_line(c: char) -> bool {
    !c.is_control()
        && !matches!(
            c,
            '\u{feff}' | '\u{fffe}' | '\u{ffff}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        )
}

/// Four digits.
fn digits(x: f64) -> String {
    if x == 0.0 || !x.is_finite() {
        return "0".to_owned();
    }
    let whole = libm::floor(libm::log10(x.abs())) as i32 + 1;
    let decimals = (4 - whole).clamp(0, 9) as usize;
    let text = format!("{x:.decimals$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// As the system file writes a duration.
#[must_use]
pub(crate) fn duration(seconds: f64) -> String {
    let seconds = if seconds.is_finite() { seconds.clamp(0.0, 10_000_000.0) } else { 0.0 };
    match seconds {
        s if s <= 0.0 => "0s".to_owned(),
        s if s >= 1.0 => format!("{}s", digits(s)),
        s if s >= 1e-3 => format!("{}ms", digits(s * 1e3)),
        s if s >= 1e-6 => format!("{}us", digits(s * 1e6)),
        s => format!("{}ns", (s * 1e9).round().max(1.0)),
    }
}

/// As the system file writes a rate.
#[must_use]
pub(crate) fn rate(rps: f64) -> String {
    // One request in thirty years is the least that is written: it is a load, and 0 is none.
    let least = if rps > 0.0 { 1e-9 } else { 0.0 };
    format!("{}/s", digits(rps.clamp(least, 1e9)))
}

/// As the system file writes a share.
#[must_use]
pub(crate) fn percent(share: f64) -> String {
    format!("{}%", digits(share.clamp(0.0, 1.0) * 100.0))
}

fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn count(n: u64, what: &str) -> String {
    format!("{} {what}{}", thousands(n), if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities() {
        for (seconds, text) in [
            (0.0, "0s"),
            (1.0, "1s"),
            (0.012_345, "12.35ms"),
            (1e-4, "100us"),
            (2.5e-9, "3ns"),
            (99_999.0, "99999s"),
            (f64::NAN, "0s"),
        ] {
            assert_eq!(duration(seconds), text);
        }
        assert_eq!(rate(1_234.56), "1235/s");
        assert_eq!(rate(0.012_34), "0.01234/s");
        assert_eq!(rate(0.0), "0/s");
        assert_eq!(rate(1e-12), "0.000000001/s");
        assert_eq!(percent(1.0), "100%");
        assert_eq!(percent(0.012_34), "1.234%");
        assert_eq!(count(1_234_567, "span"), "1,234,567 spans");
    }

    #[test]
    fn what_others_wrote_stays_in_its_line() {
        assert_eq!(one_line("a\nb: c\r\u{85}"), "a b: c  ");
        assert_eq!(one_line("a\u{feff}b\u{2028}c\u{202e}d\u{ffff}é"), "a b c d é");
    }
}
