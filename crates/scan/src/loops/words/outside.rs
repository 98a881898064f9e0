//! What says that an operation leaves the process, or that it is done again on purpose.

use super::{about_retry, any, has};

/// Whether text, comments included, speaks of trying again.
pub(in crate::loops) fn speaks_of_again(text: &str) -> bool {
    about_retry(text)
        || has(text, &["try again", "again", "once more", "second try", "re-send", "resend"])
}

/// Kinds of errors that come from outside of the process.
pub(in crate::loops) fn is_outside_error(text: &str) -> bool {
    has(
        text,
        &[
            "io",
            "timeout",
            "timedout",
            "connect",
            "network",
            "http",
            "socket",
            "request",
            "oserror",
            "unavailable",
            "transient",
            "sql",
            "rpc",
            "grpc",
            "api",
            "dns",
            "ssl",
            "smtp",
            "urlerror",
            "client",
            "server",
            "remote",
            "service",
            "database",
            "operational",
            "integrity",
            "throttl",
            "econn",
            "broken",
            "protocol",
            "storage",
            "redis",
            "kafka",
            "boto",
            "aws",
        ],
    )
}

/// Verbs that say by themselves that something else is asked.
const REACHES: &[&str] = &[
    "fetch",
    "send",
    "post",
    "request",
    "connect",
    "dial",
    "query",
    "publish",
    "upload",
    "download",
    "invoke",
    "deliver",
    "submit",
    "rpc",
    "http",
    "sendmail",
    "enqueue",
    "login",
    "authenticate",
    "exchange",
    "transfer",
    "sync",
    "commit",
    "notify",
    "proceed",
    "perform",
];

/// What belongs to something else.
const OUTSIDE: &[&str] = &[
    "client",
    "session",
    "http",
    "https",
    "api",
    "conn",
    "connection",
    "db",
    "database",
    "service",
    "repo",
    "repository",
    "bucket",
    "queue",
    "redis",
    "remote",
    "server",
    "backend",
    "channel",
    "stub",
    "smtp",
    "ftp",
    "s3",
    "cursor",
    "transport",
    "axios",
    "requests",
    "urllib",
    "socket",
    "sock",
    "rpc",
    "grpc",
    "kafka",
    "producer",
    "storage",
    "provider",
    "gateway",
    "proxy",
    "broker",
    "pool",
    "subprocess",
    "mongo",
    "postgres",
    "sql",
    "ldap",
    "ssh",
    "cluster",
    "kube",
    "docker",
    "chain",
    "contract",
    "net",
    "upstream",
    "peer",
    "driver",
    "exchange",
    "sender",
    "mailer",
    "tx",
    "transaction",
    "octokit",
    "git",
];

/// Whether a call's name, or what it belongs to, says that it leaves the process.
pub(in crate::loops) fn leaves_the_process(path: &[&str]) -> bool {
    let (last, before) =
        path.split_last().map_or(("", &path[..0]), |(last, before)| (*last, before));
    any(last, REACHES) || before.iter().any(|part| any(part, OUTSIDE))
}

/// Kinds of errors that a mistake makes: what failed fails again.
pub(in crate::loops) fn is_mistake(text: &str) -> bool {
    let last = text.rsplit(['.', ':']).next().unwrap_or(text);
    matches!(
        last,
        "TypeError"
            | "ValueError"
            | "KeyError"
            | "IndexError"
            | "AttributeError"
            | "LookupError"
            | "NameError"
            | "ImportError"
            | "ModuleNotFoundError"
            | "UnicodeDecodeError"
            | "UnicodeEncodeError"
            | "UnicodeError"
            | "AssertionError"
            | "NotImplementedError"
            | "SyntaxError"
            | "NumberFormatException"
            | "IllegalArgumentException"
            | "ClassCastException"
            | "NullPointerException"
            | "FormatException"
            | "ArgumentException"
            | "NoSuchMethodException"
            | "ClassNotFoundException"
            | "InvalidCastException"
            | "FileNotFoundError"
            | "FileNotFoundException"
    )
}

/// Whether a call asks a person.
pub(in crate::loops) fn asks_a_person(call: &str) -> bool {
    any(
        call.split('(').next().unwrap_or(call),
        &["input", "prompt", "readline", "ask", "question", "validate", "getpass", "confirm"],
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parser_stays_inside_and_a_client_does_not() {
        assert!(!leaves_the_process(&["self", "peek_token"]));
        assert!(!leaves_the_process(&["cursor_position"]));
        assert!(leaves_the_process(&["self", "client", "get"]));
        assert!(leaves_the_process(&["sendRequest"]));
        assert!(is_outside_error("requests.ConnectionError"));
        assert!(!is_outside_error("ValueError"));
        assert!(speaks_of_again("# the first one may lose a race, so once more"));
    }
}
