//! What kind of repetition it is: a retry, a wait for something, a conflict, or nothing that is told.

use super::{Context, content};
use crate::loops::candidate::Shape;
use crate::loops::machine::{Trace, seen};
use crate::loops::words;
use crate::policy::Kind as PolicyKind;

/// What kind of repetition it is; `None`: none that is reported.
pub(super) fn kind_of(
    context: &Context,
    trace: &Trace,
    leaves: bool,
    domain: bool,
    (endless, content): (bool, bool),
) -> Option<PolicyKind> {
    let strong = trace.seen & (seen::CAUGHT | seen::ERROR | seen::STATUS | seen::FLAG) != 0;
    let waits = trace.waits.iter().any(|wait| wait.after > 0);
    // What neither waits nor speaks of it has to reach out of the process, or be handed in: a
    // parser that looks again, or a second lookup in a table, has the form of a retry, too.
    let answered = trace.seen & (seen::STATUS | seen::FLAG) != 0;
    let said = context.named() || context.said || context.counts_what_it_caught(trace);
    let evident = waits || said || context.parameter || answered;
    if !evident && !context.outside {
        return None;
    }
    // The same call twice is so often something else that it has to reach out in any case.
    let told_apart = strong && (context.said || context.pauses);
    if context.shape == Shape::Repeat && !context.outside && !told_apart {
        return None;
    }
    // A mistake of the code itself passes only with other arguments; a person is asked again with
    // other words.
    // A text that was answered and cannot be read is asked for again a few times.
    let unread = context.outside && context.named() && trace.counted && !endless;
    if context.mistake && !waits && !unread || context.asks {
        return None;
    }
    if context.nothing_yet && !context.named() {
        return None;
    }
    // Asked again until a person has agreed elsewhere.
    if words::has(&context.text, &["authorization_pending", "authorizationpending"]) {
        return None;
    }
    // What waits for something to end, or for a part of it, does not do it again.
    if (words::is_waiting(&context.call) || context.joins) && !context.named() {
        return None;
    }
    if content::says_it_polls(context, trace) {
        return None;
    }
    let polled = words::words(&context.last).first().is_some_and(|word| &**word == "poll");
    if !leaves {
        // Success goes on: a stream that is opened again, or no retry at all.
        if polled || context.ticks {
            return None;
        }
        let stream = words::is_stream(&context.last) || words::is_stream(&context.function);
        return (endless && strong && waits && stream && context.shape == Shape::Endless)
            .then_some(PolicyKind::Reconnect);
    }
    // It is not ready, and will be; one that is asked a number of times is tried again.
    const NOT_READY: &[&str] = &["errorkind::wouldblock", "eagain", "ewouldblock"];
    let interrupted =
        words::has(&context.text, &["eintr", "interrupted =>", "errorkind::interrupted"])
            || endless && words::has(&context.text, NOT_READY);
    if interrupted && !waits {
        return None;
    }
    if trace.collection && !(context.named() && waits) {
        return None;
    }
    // Again and again at once, with nothing that says so: it looks for something.
    let fails_outside =
        context.outside && trace.seen & (seen::CAUGHT | seen::ERROR | seen::STATUS) != 0;
    if endless && !waits && !context.named() && trace.clock.is_none() && !fails_outside {
        return words::about_versions(&context.text).then_some(PolicyKind::Conflict);
    }
    // Another was faster: what is written is made anew of what is there now.
    if endless && !waits && !context.named() && words::about_tags(&context.text) {
        return Some(PolicyKind::Conflict);
    }
    // Spinning on shared memory, or after a signal.
    const SPINS: &[&str] =
        &["steal", "compare_exchange", "interrupted", "eintr", "atomic", "ordering::"];
    if endless && !waits && words::has(&context.text, SPINS) {
        return None;
    }
    // Where it waits for another status, too, it is about more than versions.
    let statuses = waits && words::has(&context.text, &["statuscode", "status_code"]);
    const VERSIONS: &[&str] =
        &["watcherror", "optimisticlock", "staledata", "stalestate", "concurrencyexception"];
    if !statuses && words::has(&context.text, VERSIONS) {
        return Some(PolicyKind::Conflict);
    }
    let question = words::is_question(&context.last);
    let consuming = words::is_consuming(&context.last) || context.consumes;
    if consuming && !waits && !(context.named() && trace.counted) {
        return None;
    }
    // Asked again and again, whether it went well or not.
    if polled && (context.shape == Shape::Repeat || !context.named()) {
        return None;
    }
    // Nothing came, and after a pause it is asked for once more.
    let paused = context.pauses && context.outside && context.said;
    if !strong && context.shape == Shape::Repeat && (question || !(context.named() || paused)) {
        return None;
    }
    let told = context.shape == Shape::Repeat && trace.seen & seen::DOMAIN != 0;
    let told = told || (context.shape == Shape::Iterator && trace.seen & seen::FALSY != 0);
    if !strong && !told {
        if trace.seen & seen::FALSY == 0 && !content {
            return None;
        }
        if question {
            return (words::is_probe(&context.call) && waits).then_some(PolicyKind::WaitForReady);
        }
        // What is kept in this process is there sooner or later.
        if context.gets && !context.outside && !context.named() && !context.said {
            return None;
        }
        let conflict = words::about_versions(&context.text) || words::about_exchange(&context.text);
        if conflict && !waits {
            return Some(PolicyKind::Conflict);
        }
        if !(context.named() || (waits && !endless) || context.is_tried_a_few_times(trace)) {
            return None;
        }
    }
    let probe = words::is_probe(&context.call) || words::is_probe(&context.function);
    // Asked two times or three, or when the other side said, it is no waiting until it is there.
    let few = !endless && trace.counted && trace.clock.is_none() && trace.calls <= 3;
    let told_when = trace.waits.iter().any(|wait| wait.ms.server);
    if probe && waits && !context.parameter && !few && !told_when {
        return Some(PolicyKind::WaitForReady);
    }
    if context.closed && waits {
        return Some(PolicyKind::WaitForReady);
    }
    if domain && question && !context.named() {
        return None;
    }
    // Only a state of the application lets it go, and every answer but that is asked for again.
    let answered = trace.seen & (seen::STATUS | seen::FLAG) != 0;
    if domain && waits && !answered && !context.named() && !content {
        return None;
    }
    // Once more with new credentials, after an answer that says that they are old.
    let refused = words::has(&context.text, &["401", "403", "unauthorized", "forbidden"]);
    let renews = words::has(
        &context.text,
        &[
            "refresh",
            "renew",
            "reauth",
            "relogin",
            "re-auth",
            "get_token(",
            "fetch_oauth",
            "gettoken(",
        ],
    );
    // What was kept of them is dropped, and made anew: `catch (AuthError) { cache.invalidate(); … }`.
    const EXPIRED: &[&str] =
        &["autherror", "authexception", "authenticationerror", "authenticationexception"];
    let dropped = context.shape == Shape::Repeat
        && words::has(&context.between, EXPIRED)
        && words::drops_what_was_kept(&context.between);
    if trace.calls == 2 && (refused && renews || dropped) && !waits {
        return Some(PolicyKind::Replay);
    }
    if context.shape == Shape::Repeat || context.shape == Shape::Recursion {
        let repair = words::has(
            &context.text,
            &[
                "refreshtoken",
                "refresh_token",
                "reauth",
                "relogin",
                "mkdir",
                "makedirs",
                "refresh()",
                "login(",
            ],
        );
        let repair = repair || words::has(&context.between, &["repair"]);
        if repair && trace.calls == 2 {
            return Some(PolicyKind::Replay);
        }
        // Without a limit, a wait or a word of it, recursion walks a structure.
        if context.shape == Shape::Recursion && endless && !waits && !context.named() {
            return None;
        }
    }
    Some(PolicyKind::Retry)
}
