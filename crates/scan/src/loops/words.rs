//! Words by which calls and fields are told apart. Names never decide alone: they say which calls
//! cannot be an operation, which wait, and what a field of an answer means.

mod outside;

use std::collections::HashSet;
use std::sync::LazyLock;

use crate::language::Language;

pub(super) use outside::{
    asks_a_person, is_mistake, is_outside_error, leaves_the_process, speaks_of_again,
};

/// The words of a name: `isRetryable_error` is `is`, `retryable`, `error`.
pub(super) fn words(name: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut last_upper = true;
    let mut fresh = true;
    let chars: Vec<char> = name.chars().take(120).collect();
    for (at, &c) in chars.iter().enumerate() {
        if !c.is_alphanumeric() {
            fresh = true;
            continue;
        }
        let upper = c.is_uppercase();
        let next_lower = chars.get(at + 1).is_some_and(|next| next.is_lowercase());
        if fresh || (upper && (!last_upper || next_lower)) {
            all.push(String::new());
            fresh = false;
        }
        last_upper = upper;
        if let Some(word) = all.last_mut() {
            word.extend(c.to_lowercase());
        }
    }
    all
}

/// Whether one of the words is in a list.
pub(super) fn any(name: &str, list: &[&str]) -> bool {
    words(name).iter().any(|word| list.contains(&word.as_str()))
}

/// Whether a lower-case form has one of these in it.
pub(super) fn has(name: &str, list: &[&str]) -> bool {
    let lower = name.to_ascii_lowercase();
    list.iter().any(|part| lower.contains(part))
}

/// A name that speaks of retries.
pub(super) fn about_retry(text: &str) -> bool {
    has(text, &["retr", "attempt", "tries", "backoff", "back_off", "try_count", "trycount", "redo"])
}

/// Names of counters.
pub(super) const COUNTERS: &[&str] = &[
    "retry",
    "retries",
    "attempt",
    "attempts",
    "try",
    "tries",
    "left",
    "count",
    "counter",
    "remaining",
    "times",
    "max",
    "n",
    "i",
    "k",
    "num",
    "number",
    "limit",
    "trial",
    "trials",
    "failures",
    "errors",
    "retrying",
    "index",
    "round",
    "rounds",
];

/// Names of waits.
pub(super) const WAITS: &[&str] = &[
    "delay", "wait", "backoff", "sleep", "interval", "pause", "timeout", "duration", "ms",
    "seconds", "secs", "millis", "period", "cooldown", "time",
];

/// Calls that can be no operation, by the last part of their name: they log, count, compare,
/// build and convert.
static PURE: LazyLock<HashSet<&str>> =
    LazyLock::new(|| include_str!("words/pure.txt").split_whitespace().collect());

/// Words that make a receiver a logger or a meter.
const LOGGERS: &[&str] = &[
    "log",
    "logger",
    "logging",
    "console",
    "metrics",
    "metric",
    "tracer",
    "span",
    "slog",
    "klog",
    "zap",
    "logrus",
    "glog",
    "statsd",
    "math",
    "strings",
    "fmt",
    "errors",
    "strconv",
    "json",
    "random",
    "rand",
    "bytes",
    "filepath",
    "util",
    "sort",
    "atomic",
    "promise",
    "number",
    "object",
    "array",
    "arrays",
    "collections",
    "char",
    "assert",
    "t",
    "gettext",
    "counter",
    "gauge",
    "interlocked",
    "timber",
    "reporter",
];

/// Whether a call can be no operation. `path` is its name with what it belongs to.
pub(super) fn is_pure(path: &[&str], last: &str) -> bool {
    let lower = last.to_ascii_lowercase();
    // `fetch`, `load`, `find`, `store`, `insert` of a repository are operations; the same names on
    // an atomic or a list are not, and the receiver tells.
    if path.len() > 1 {
        let receiver = path[path.len() - 2].trim_start_matches(['_', '@', '$']);
        let words = words(receiver);
        if words.last().is_some_and(|word| LOGGERS.contains(&word.as_str())) {
            return true;
        }
        let far = [
            "load", "find", "store", "insert", "remove", "update", "first", "last", "exec", "test",
            "add", "push", "lock", "acquire", "reset", "status", "search", "match", "resolve",
            "flush", "write", "from", "count", "record", "release", "event", "items", "copy",
        ];
        // Methods of these names are other things than the functions.
        if ["list", "map", "filter", "set", "new", "type", "all", "any", "make", "range", "is"]
            .contains(&lower.as_str())
        {
            return lower == "map" || lower == "filter" || lower == "is" || lower == "new";
        }
        if far.contains(&lower.as_str()) {
            return !has(
                receiver,
                &[
                    "repo",
                    "client",
                    "api",
                    "service",
                    "db",
                    "store",
                    "http",
                    "session",
                    "conn",
                    "remote",
                    "cache",
                    "api",
                    "queue",
                    "redis",
                    "backend",
                    "dao",
                    "table",
                    "producer",
                    "server",
                    "mutex_client",
                    "resolver",
                    "dns",
                    "bucket",
                    "storage",
                ],
            );
        }
    }
    if transforms(last) || last.ends_with('?') {
        return true;
    }
    let verb = ["push", "update", "insert", "store", "load", "find", "search", "resolve", "flush"];
    if path.len() == 1 && verb.contains(&lower.as_str()) {
        return false;
    }
    PURE.contains(lower.as_str())
        || (lower.starts_with("log") && words(last).first().is_some_and(|word| word == "log"))
        || words(last).last().is_some_and(|word| {
            ["error", "exception", "logger", "err"].contains(&word.as_str())
                && last.starts_with(char::is_uppercase)
        })
}

/// Names of calls that only make something of something: `convert_order`, `contracts_to_amount`.
fn transforms(last: &str) -> bool {
    let all = words(last);
    let first = all.first().map_or("", String::as_str);
    let makes = [
        "convert",
        "parse",
        "format",
        "build",
        "make",
        "calculate",
        "compute",
        "calc",
        "normalize",
        "validate",
        "to",
        "encode",
        "decode",
        "escape",
        "unescape",
        "render",
        "extract",
        "transform",
        "sort",
        "merge",
        "is",
        "has",
        "should",
        "can",
        "on",
        "throw",
        "handle",
        "raise",
        "add",
        "append",
        "debug",
        "trace",
        "assert",
        "as",
    ];
    let acts = [
        "send", "write", "post", "upload", "publish", "connect", "save", "push", "request",
        "fetch", "call", "submit", "query", "start", "download", "execute",
    ];
    let acting = all.iter().any(|word| acts.contains(&word.as_str()));
    !acting
        && (all.len() > 1 && makes.contains(&first)
            || all.iter().skip(1).any(|word| word == "to")
            || all
                .iter()
                .any(|word| matches!(word.as_str(), "failed" | "failure" | "message" | "args")))
}

/// Calls that fetch the next piece of work, so that each is another operation.
pub(super) fn is_consuming(last: &str) -> bool {
    any(
        last,
        &[
            "next", "recv", "receive", "read", "scan", "dequeue", "poll", "take", "accept",
            "readline", "readrune", "iterate", "listen", "serve", "consume",
        ],
    )
}

/// Calls that ask about a state.
pub(super) fn is_question(last: &str) -> bool {
    let all = words(last);
    let first = all.first().map_or("", String::as_str);
    ["is", "has", "exists", "check", "poll", "can", "was", "are", "should", "contains"]
        .contains(&first)
        || all.iter().any(|word| {
            [
                "ready",
                "status",
                "state",
                "alive",
                "running",
                "exists",
                "exist",
                "done",
                "finished",
                "healthy",
                "available",
                "pending",
                "completed",
                "complete",
                "empty",
                "locked",
                "progress",
            ]
            .contains(&word.as_str())
        })
}

/// Calls that find out whether something is there yet.
pub(super) fn is_probe(text: &str) -> bool {
    any(
        text,
        &[
            "ping",
            "health",
            "healthy",
            "healthcheck",
            "ready",
            "readiness",
            "alive",
            "liveness",
            "probe",
        ],
    ) || has(text, &["wait_for", "waitfor", "wait_until", "waituntil", "healthz"])
}

/// Names of what lasts: connecting again is not a retry of a request.
pub(super) fn is_stream(text: &str) -> bool {
    any(
        text,
        &[
            "connect",
            "consume",
            "subscribe",
            "listen",
            "watch",
            "stream",
            "run",
            "serve",
            "reconnect",
            "dial",
            "session",
            "loop",
            "receive",
            "start",
            "tail",
            "follow",
            "connection",
        ],
    )
}

/// What a call does that waits, and in which unit a plain number is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sleep {
    /// Its argument is milliseconds.
    Millis,
    /// Seconds.
    Seconds,
    /// Nanoseconds.
    Nanos,
    /// Microseconds.
    Micros,
    /// A sleep by its name only: the unit is guessed from the language.
    Named,
}

/// Whether a call waits.
pub(super) fn sleep(language: Language, path: &[&str], last: &str) -> Option<Sleep> {
    use Language as L;
    let lower = last.to_ascii_lowercase();
    let receiver = path.len().checked_sub(2).map_or("", |at| path[at]);
    let found = match (language, lower.as_str()) {
        (L::Python | L::Ruby | L::Php, "sleep") => Sleep::Seconds,
        (L::Php, "usleep") => Sleep::Micros,
        (L::Go, "sleep") if receiver == "time" => Sleep::Nanos,
        (L::Java | L::Kotlin, "sleep") => match receiver {
            "SECONDS" => Sleep::Seconds,
            "MICROSECONDS" => Sleep::Micros,
            "NANOSECONDS" => Sleep::Nanos,
            _ => Sleep::Millis,
        },
        (L::Kotlin, "delay") if path.len() == 1 => Sleep::Millis,
        (L::CSharp, "delay") if receiver == "Task" => Sleep::Millis,
        (L::CSharp, "sleep") if receiver == "Thread" => Sleep::Millis,
        (L::Java, "parknanos") => Sleep::Nanos,
        (L::Rust, "sleep" | "sleep_until" | "delay_for") => Sleep::Millis,
        (_, "sleep" | "sleepms" | "msleep" | "nap" | "snooze") => Sleep::Named,
        (
            L::JavaScript | L::TypeScript | L::Tsx,
            "delay" | "settimeout" | "wait" | "pause" | "timeout",
        ) if path.len() == 1
            || matches!(receiver, "timers" | "window" | "globalThis")
            || (receiver == "this" && lower != "settimeout") =>
        {
            Sleep::Millis
        }
        (
            _,
            "delay" | "pause" | "backoff" | "back_off" | "dobackoff" | "waitfor"
            | "cancelabledelay",
        ) => Sleep::Named,
        _ => {
            let all = words(last);
            let named = all.iter().any(|word| word == "sleep" || word == "sleeping")
                || (all.last().is_some_and(|word| word == "delay")
                    && all.first().is_some_and(|word| {
                        ["wait", "cancelable", "await", "interruptible", "async", "do"]
                            .contains(&word.as_str())
                    }))
                || (all.first().is_some_and(|word| word == "wait")
                    && all.iter().any(|word| {
                        ["ms", "seconds", "retry", "backoff", "before"].contains(&word.as_str())
                    }));
            let asks = all.first().is_some_and(|word| {
                ["get", "calculate", "compute", "next", "is", "set", "new", "calc", "parse"]
                    .contains(&word.as_str())
            });
            return (named && !asks).then_some(Sleep::Named);
        }
    };
    Some(found)
}

/// Calls that make a timer.
pub(super) fn timer(path: &[&str]) -> bool {
    matches!(
        path,
        ["time", "After" | "NewTimer" | "NewTicker" | "Tick"]
            | [_, "After" | "NewTimer" | "NewTicker"]
    )
}

/// Calls that run a function later: the function and the wait are among the arguments.
pub(super) fn schedules(last: &str) -> bool {
    matches!(
        last,
        "setTimeout"
            | "schedule"
            | "call_later"
            | "callLater"
            | "AfterFunc"
            | "postDelayed"
            | "delayedExecutor"
            | "scheduleOnce"
            | "enterLater"
            | "runLater"
            | "defer_later"
            | "after_idle"
    )
}

/// What a field or a method of the operation's result is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum About {
    /// Whether it went well.
    Flag,
    /// The opposite.
    BadFlag,
    /// A status code.
    Status,
    /// The error in it.
    Error,
    /// Whether another attempt makes sense, or whether this is an error of some kind.
    Doubt,
    /// Anything else.
    Field,
}

/// What a field or a method of the operation's result is about.
pub(super) fn about(name: &str) -> About {
    let lower: String = name.chars().filter(|c| *c != '_').collect::<String>().to_ascii_lowercase();
    match lower.as_str() {
        "ok"
        | "success"
        | "succeeded"
        | "successful"
        | "issuccess"
        | "issuccessful"
        | "issuccessstatuscode"
        | "isok"
        | "issome"
        | "acknowledged"
        | "successfully" => About::Flag,
        "iserr" | "isnone" | "iserror" | "failed" | "isfailure" | "hasfailed" | "isrejected"
        | "haserror" | "haserrors" | "isfailed" | "failure" => About::BadFlag,
        "status" | "statuscode" | "httpstatus" | "code" | "responsecode" | "httpcode"
        | "getstatuscode" | "getresponsecode" | "getcode" | "rawstatuscode" | "getstatus"
        | "getstatusline" | "returncode" | "exitcode" | "isstatus" => About::Status,
        "error" | "errors" | "err" | "exception" | "lasterror" | "geterror" | "exceptionornull" => {
            About::Error
        }
        _ => {
            let all = words(name);
            let is = |list: &[&str]| all.iter().any(|word| list.contains(&word.as_str()));
            if is(&["status"]) && is(&["code", "http"]) && !is(&["is", "should"]) {
                About::Status
            } else if is(&["success", "successful", "succeeded", "ok"]) && is(&["is", "was", "has"])
            {
                About::Flag
            } else if is(&[
                "retry",
                "retryable",
                "retriable",
                "temporary",
                "transient",
                "error",
                "err",
                "errors",
                "timeout",
                "permanent",
                "fatal",
                "retried",
                "recoverable",
                "throttled",
                "throttling",
                "failure",
                "failed",
                "kind",
                "is",
                "unavailable",
                "conflict",
                "expired",
                "locked",
                "limited",
                "limit",
                "cause",
                "notfound",
                "exception",
            ]) {
                About::Doubt
            } else {
                About::Field
            }
        }
    }
}

/// Whether a condition speaks of stopping, being cancelled or a context: "not yet".
pub(super) fn is_stop(text: &str) -> bool {
    has(
        text,
        &[
            "cancel",
            "stop",
            "shutdown",
            "closed",
            "closing",
            "abort",
            "interrupt",
            "exiting",
            "terminat",
            "quit",
            "ctx.err",
            "ctx.done",
            "context.err",
            ".done()",
            "disposed",
            "destroyed",
            "is_set",
        ],
    )
}

/// Types of errors that are no failures: cancelling, interrupting.
pub(super) fn is_cancel(text: &str) -> bool {
    has(text, &["cancel", "interrupt", "abort", "stopiteration", "generatorexit", "systemexit"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fall_into_words() {
        assert_eq!(words("isRetryable_error"), ["is", "retryable", "error"]);
        assert_eq!(words("HTTPStatusCode"), ["http", "status", "code"]);
        assert_eq!(words(""), Vec::<String>::new());
    }

    #[test]
    fn a_logger_is_no_operation() {
        assert!(is_pure(&["log", "send"], "send"));
        assert!(is_pure(&["x", "load"], "load"));
        assert!(!is_pure(&["repo", "load"], "load"));
        assert!(!is_pure(&["client", "put"], "put"));
    }

    #[test]
    fn fields_of_an_answer() {
        assert_eq!(about("status_code"), About::Status);
        assert_eq!(about("IsSuccessStatusCode"), About::Flag);
        assert_eq!(about("is_retryable"), About::Doubt);
        assert_eq!(about("state"), About::Field);
    }
}
