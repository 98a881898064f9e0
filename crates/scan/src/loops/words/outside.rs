//! What says that an operation leaves the process, or that it is done again on purpose.

use super::{about_retry, any, has, words};

/// Whether text, comments included, speaks of trying again.
pub(crate) fn speaks_of_again(text: &str) -> bool {
    let again = |lower: &str| {
        lower.match_indices("again").any(|(at, word)| {
            !lower[at + word.len()..].starts_with(|c: char| c.is_ascii_alphabetic())
        })
    };
    about_retry(text)
        || has(
            text,
            &[
                "once more",
                "one more time",
                "second try",
                "more try",
                "another try",
                "re-send",
                "resend",
                "resubmit",
            ],
        )
        || again(&text.to_ascii_lowercase())
}

/// Whether a text drops what was kept of an answer, so that it is asked for again.
pub(crate) fn drops_what_was_kept(text: &str) -> bool {
    has(text, &["forget(", "invalidate", "evict", "purge"])
}

/// Words of errors that come from outside of the process.
const OUTSIDE_ERRORS: &[&str] = &[
    "io",
    "os",
    "timeout",
    "timeouts",
    "timed",
    "connection",
    "connect",
    "network",
    "http",
    "socket",
    "request",
    "unavailable",
    "transient",
    "temporary",
    "retryable",
    "sql",
    "rpc",
    "grpc",
    "api",
    "dns",
    "ssl",
    "tls",
    "smtp",
    "url",
    "client",
    "server",
    "remote",
    "service",
    "database",
    "operational",
    "integrity",
    "throttled",
    "throttling",
    "broken",
    "protocol",
    "storage",
    "redis",
    "kafka",
    "boto",
    "aws",
    "fetch",
    "web",
    "ssh",
    "gateway",
];

/// Kinds of errors that come from outside of the process.
pub(in crate::loops) fn is_outside_error(text: &str) -> bool {
    any(text, OUTSIDE_ERRORS) || has(text, &["econn", "etimedout"])
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
    "forward",
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

/// Whether a method of C# that is awaited tells others something: `RaisePlanEventAsync`.
pub(in crate::loops) fn tells_others(last: &str) -> bool {
    let all = words(last);
    let verb = all.first().is_some_and(|word| {
        matches!(&**word, "raise" | "report" | "emit" | "complete" | "register" | "record")
    });
    verb && all.last().is_some_and(|word| &**word == "async")
}

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

/// Verbs by which something is done with what is named after them: `crawl_url`, `sync_path`.
const ACTS_ON: &[&str] = &[
    "get",
    "fetch",
    "load",
    "read",
    "download",
    "find",
    "open",
    "resolve",
    "create",
    "crawl",
    "scrape",
    "ping",
    "check",
    "sync",
    "probe",
    "visit",
    "scan",
    "delete",
    "remove",
    "copy",
    "move",
    "rename",
    "put",
    "process",
    "retrieve",
    "follow",
    "navigate",
    "browse",
    "purge",
    "watch",
    "warm",
    "invalidate",
    "poll",
    "verify",
    "replicate",
];

/// Whether the first word of a name is a verb that can reach out of the process.
pub(in crate::loops) fn may_act(first: &str) -> bool {
    ACTS_ON.contains(&first)
}

/// Whether a call's name, or what it belongs to, says that it leaves the process.
pub(in crate::loops) fn leaves_the_process(path: &[&str]) -> bool {
    let (last, before) =
        path.split_last().map_or(("", &path[..0]), |(last, before)| (*last, before));
    any(last, REACHES) || before.iter().any(|part| any(part, OUTSIDE))
}

/// Whether a call may ask for something that others hold, where the code says that it tries again.
pub(in crate::loops) fn is_far(last: &str) -> bool {
    matches!(
        last.to_ascii_lowercase().as_str(),
        "acquire" | "lock" | "find" | "write" | "flush" | "load" | "exec" | "search" | "resolve"
    )
}

/// Kinds of errors that a mistake makes: what failed fails again.
pub(in crate::loops) fn is_mistake(text: &str) -> bool {
    let last = text.rsplit(['.', ':']).next().unwrap_or(text);
    if last.ends_with("ParseException") {
        return true;
    }
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
            // A queue of this process is full or empty.
            | "Empty"
            | "Full"
            | "QueueEmpty"
            | "QueueFull"
    )
}

/// Kinds of errors that only say that there is nothing yet: whoever asks again waits for it.
pub(in crate::loops) fn is_nothing_yet(text: &str) -> bool {
    matches!(text.rsplit(['.', ':']).next().unwrap_or(text), "Empty" | "QueueEmpty")
}

/// What a person answers at, by the words of a receiver: a terminal, a window, a library of prompts.
const PERSONS: &[&str] = &[
    "readline",
    "rl",
    "window",
    "inquirer",
    "enquirer",
    "prompts",
    "prompter",
    "questionary",
    "click",
    "typer",
    "rich",
    "console",
    "terminal",
    "term",
    "tty",
    "stdin",
    "keyboard",
    "user",
    "dialog",
    "dialoguer",
    "promptui",
    "survey",
];

/// Whether a call asks a person. `callee` is the text of what is called: `rl.question`.
pub(in crate::loops) fn asks_a_person(callee: &str) -> bool {
    let (of, last) = receiver(callee);
    let asks = &[
        "input", "prompt", "readline", "ask", "question", "validate", "getpass", "confirm", "yesno",
    ];
    any(last, asks) && (at_a_person(of) || matches!(of, "self" | "this" | "$this"))
        || matches!(last, "readLine" | "ReadLine") && at_a_person(of)
}

/// Whether a call asks a person for something, whatever is done with it. The same names are methods
/// of what is no person: `llm.prompt(text)`, `channel.confirm()`.
pub(in crate::loops) fn is_prompt(callee: &str) -> bool {
    let (of, last) = receiver(callee);
    let asks = matches!(
        last,
        "input" | "raw_input" | "getpass" | "prompt" | "confirm" | "readLine" | "ReadLine"
    );
    asks && (at_a_person(of) || last == "getpass")
}

/// What a callee belongs to, and its own name.
fn receiver(callee: &str) -> (&str, &str) {
    let callee = callee.trim();
    callee
        .rsplit_once(['.', ':', '>'])
        .map_or(("", callee), |(of, last)| (of.trim_end_matches(['?', ':', '-', '!']), last))
}

fn at_a_person(of: &str) -> bool {
    of.is_empty() || of == "getpass" || any(of, PERSONS)
}

/// Whether a name sounds as if the call only extracted something, which may be a request as well.
pub(in crate::loops) fn only_makes(last: &str) -> bool {
    words(last).first().is_some_and(|first| {
        matches!(&**first, "extract" | "load" | "render" | "build" | "compute" | "convert")
    })
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
        assert!(is_prompt("input") && is_prompt("inquirer.prompt"));
        assert!(asks_a_person("rl.question") && asks_a_person("System.console().readLine"));
        assert!(asks_a_person("this.askName") && asks_a_person("$this->confirm"));
        assert!(!is_prompt("llm.prompt") && !asks_a_person("llm.prompt"));
        assert!(!is_prompt("channel.confirm") && !asks_a_person("channel.confirm"));
        assert!(speaks_of_again("# the first one may lose a race, so once more"));
    }
}
