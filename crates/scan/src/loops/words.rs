//! Words by which calls and fields are told apart. Names never decide alone: they say which calls
//! cannot be an operation, which wait, and what a field of an answer means.

mod closes;
mod inside;
mod outside;
mod promises;
mod retry;
mod split;
mod version;
mod waits;

use std::sync::LazyLock;

use foldhash::HashSet;

pub(super) use waits::{
    PAUSES, Sleep, names_a_schedule, names_waits, schedules, sleep, timer, waits_by_its_arguments,
};

pub(super) use closes::is_cancel;
pub(super) use outside::{
    asks_a_person, is_far, is_mistake, is_nothing_yet, is_outside_error, is_prompt,
    leaves_the_process, only_makes, tells_others,
};
pub(crate) use outside::{drops_what_was_kept, speaks_of_again};
pub(super) use promises::{ASKS, TOLD};
pub(crate) use retry::word_before;
pub(super) use retry::{about_retry, asks_for_another, left_over, names_another, says_later};
pub(super) use split::{any, has, words};
pub(super) use version::{about_exchange, about_tags, about_versions};

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

/// Methods that reach out where they belong to something outside, and only there.
pub(super) const FAR: &[&str] = &[
    "load", "find", "store", "insert", "remove", "update", "first", "last", "exec", "test", "add",
    "push", "lock", "acquire", "reset", "status", "search", "match", "resolve", "flush", "write",
    "from", "count", "record", "release", "event", "items", "copy", "stream",
];

/// Whether a call can be no operation. `path` is its name with what it belongs to.
pub(super) fn is_pure(path: &[&str], last: &str) -> bool {
    let lower = last.to_ascii_lowercase();
    // `fetch`, `load`, `find`, `store`, `insert` of a repository are operations; the same names on
    // an atomic or a list are not, and the receiver tells.
    if path.len() > 1 {
        let receiver = path[path.len() - 2].trim_start_matches(['_', '@', '$']);
        let words = words(receiver);
        if words.last().is_some_and(|word| LOGGERS.contains(&&**word) || inside::parses(word, last))
        {
            return true;
        }
        // Methods of these names are other things than the functions.
        if ["list", "map", "filter", "set", "new", "type", "all", "any", "make", "range", "is"]
            .contains(&lower.as_str())
        {
            return lower == "map" || lower == "filter" || lower == "is" || lower == "new";
        }
        if lower == "replace" && (closes::is_of_files(receiver) || receiver == "os") {
            return false;
        }
        if FAR.contains(&lower.as_str()) {
            return !closes::is_of_files(receiver)
                && !has(
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
    if inside::transforms(last) || closes::closes(last) || last.ends_with('?') {
        return true;
    }
    let verb = ["push", "update", "insert", "store", "load", "find", "search", "resolve", "flush"];
    if path.len() == 1 && verb.contains(&lower.as_str()) {
        return false;
    }
    PURE.contains(lower.as_str())
        || inside::writes_a_log(last)
        || (lower.starts_with("log") && words(last).first().is_some_and(|word| &**word == "log"))
        || words(last).last().is_some_and(|word| {
            ["error", "exception", "logger", "err"].contains(&&**word)
                && last.starts_with(char::is_uppercase)
        })
}

/// Calls that fetch the next piece of work, so that each is another operation.
pub(super) fn is_consuming(last: &str) -> bool {
    any(
        last,
        &[
            "next", "recv", "receive", "read", "scan", "dequeue", "poll", "take", "accept",
            "readline", "readrune", "iterate", "listen", "serve", "consume", "pop", "popleft",
            "shift",
        ],
    )
}

/// Calls that wait for something that runs already: `process.wait()`, `future.result(1)`.
pub(super) fn is_waiting(call: &str) -> bool {
    let name = call.split(['(', '{', '<']).next().unwrap_or(call).trim();
    let (of, last) = name.rsplit_once('.').unwrap_or(("", name));
    let all = words(last);
    let first = all.first().map_or("", |word| &**word);
    matches!(first, "wait" | "join")
        || all.iter().any(|word| &**word == "future") && all.iter().any(|word| &**word == "result")
        // The next piece of work.
        || matches!(first, "get" | "take" | "poll") && any(of, &["queue", "q", "inbox"])
        || matches!(first, "result" | "get" | "await")
            && any(
                of,
                &["future", "futures", "task", "process", "thread", "promise", "fut", "latch"],
            )
}

/// Calls that ask about a state.
pub(super) fn is_question(last: &str) -> bool {
    let all = words(last);
    let first = all.first().map_or("", |word| &**word);
    ["is", "has", "exists", "check", "poll", "can", "was", "are", "should", "contains"]
        .contains(&first)
        // `serviceIsReady`, `process_one_poll`.
        || all.iter().any(|word| matches!(&**word, "is" | "poll"))
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
                "installed",
                "initialized",
                "initialised",
            ]
            .contains(&&**word)
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

/// Words of an answer that is fine.
const GOOD: &[&str] =
    &["success", "successful", "succeeded", "ok", "valid", "usable", "acceptable"];

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
    split::remembered(&ABOUT, name, about_anew)
}

thread_local! {
    static ABOUT: split::Known<About> = split::Known::default();
}

fn about_anew(name: &str) -> About {
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
        | "ispresent"
        | "hasvalue"
        | "isdefined"
        | "successfully" => About::Flag,
        "iserr" | "isnone" | "iserror" | "failed" | "isfailure" | "hasfailed" | "isrejected"
        | "haserror" | "haserrors" | "isfailed" | "isfaulted" | "failure" => About::BadFlag,
        "status" | "statuscode" | "httpstatus" | "code" | "responsecode" | "httpcode"
        | "getstatuscode" | "getresponsecode" | "getcode" | "rawstatuscode" | "getstatus"
        | "getstatusline" | "returncode" | "exitcode" | "isstatus" => About::Status,
        "as" => About::Doubt,
        "error" | "errors" | "err" | "exception" | "lasterror" | "geterror" | "exceptionornull" => {
            About::Error
        }
        _ if retry::left_over(name) => About::Error,
        _ => {
            let all = words(name);
            let is = |list: &[&str]| all.iter().any(|word| list.contains(&&**word));
            if is(&["status"]) && is(&["code", "http"]) && !is(&["is", "should"]) {
                About::Status
            } else if is(GOOD) && is(&["is", "was", "has"]) {
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

/// Words of conditions that ask whether somebody wants this to go on.
const LIVES: &[&str] = &[
    "running",
    "run",
    "alive",
    "active",
    "started",
    "keep",
    "going",
    "enabled",
    "stop",
    "stopped",
    "stopping",
    "cancel",
    "cancelled",
    "canceled",
    "cancellation",
    "shutdown",
    "shutting",
    "down",
    "close",
    "closed",
    "closing",
    "exit",
    "exiting",
    "quit",
    "interrupted",
    "terminated",
    "terminate",
    "terminating",
    "disposed",
    "destroyed",
    "abort",
    "aborted",
    "shut",
    "alive",
    "live",
];
/// Words beside them that change nothing.
const ASIDE: &[&str] = &[
    "is",
    "get",
    "load",
    "set",
    "not",
    "this",
    "self",
    "current",
    "thread",
    "event",
    "token",
    "requested",
    "flag",
    "should",
    "must",
    "app",
    "server",
    "worker",
    "context",
    "ctx",
    "signal",
    "m",
    "bool",
    "system",
    "ordering",
    "relaxed",
    "seq",
    "cst",
    "acquire",
    "true",
    "false",
    "has",
];

/// Whether a condition only asks whether somebody wants this to go on: `while (running.get())`.
/// What the operation gave does not change that.
pub(super) fn asks_for_life(test: &str) -> bool {
    let all = words(test);
    test.len() < 100
        && all.iter().any(|word| LIVES.contains(&&**word))
        && all.iter().all(|word| LIVES.contains(&&**word) || ASIDE.contains(&&**word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_logger_is_no_operation() {
        assert!(is_pure(&["log", "send"], "send"));
        assert!(is_pure(&["x", "load"], "load"));
        assert!(!is_pure(&["repo", "load"], "load"));
        assert!(!is_pure(&["client", "put"], "put"));
    }

    #[test]
    fn a_condition_about_life() {
        assert!(asks_for_life("running.get()"));
        assert!(asks_for_life("!this._stopped && !token.IsCancellationRequested"));
        assert!(!asks_for_life("!subscribed"));
        assert!(!asks_for_life("running && attempts < 3"));
    }

    #[test]
    fn fields_of_an_answer() {
        assert_eq!(about("status_code"), About::Status);
        assert_eq!(about("IsSuccessStatusCode"), About::Flag);
        assert_eq!(about("is_retryable"), About::Doubt);
        assert_eq!(about("state"), About::Field);
    }
}
