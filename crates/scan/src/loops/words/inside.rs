//! What stays inside of the process, whatever it is called: taking something apart, making something
//! of something, writing a log.

use super::{any, outside, words};

/// Whether a receiver takes a text apart. What is given an address may ask for it first.
pub(super) fn parses(receiver: &str, last: &str) -> bool {
    matches!(receiver, "parser" | "lexer" | "tokenizer" | "tokeniser")
        && !any(last, &["url", "uri", "fetch", "load"])
}

/// Whether a name is that of what writes a log: `WriteLog`, `append_log`.
pub(super) fn writes_a_log(last: &str) -> bool {
    match &words(last)[..] {
        [verb, log] => &**log == "log" && matches!(&**verb, "write" | "append" | "print"),
        _ => false,
    }
}

/// Names of calls that only make something of something: `convert_order`, `contracts_to_amount`.
pub(super) fn transforms(last: &str) -> bool {
    let all = words(last);
    let first = all.first().map_or("", |word| &**word);
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
        "fetch", "call", "submit", "query", "start", "download", "execute", "delete", "receive",
    ];
    // `staged_upload_path`, `parse_request`: what something is called, and not that it is done.
    let last_word = all.last().map_or("", |word| &**word);
    let taken_apart = matches!(first, "parse" | "decode" | "encode") && last_word == "request";
    let acting = !taken_apart && all.iter().any(|word| acts.contains(&&**word));
    let called = all.len() > 1 && ["path", "url", "uri", "filename"].contains(&last_word);
    called && !outside::may_act(first) && !acts.contains(&first)
        || !acting
            && (all.len() > 1 && makes.contains(&first)
                || all.iter().skip(1).any(|word| &**word == "to")
                || all
                    .iter()
                    .any(|word| matches!(&**word, "failed" | "failure" | "message" | "args")))
}
