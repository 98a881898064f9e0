//! Calls that wait, and calls that run something later.

use super::{any, words};
use crate::language::Language;

/// What a call does that waits, and in which unit a plain number is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::loops) enum Sleep {
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

/// Words for how long something waits, and not for how long it may take.
pub(in crate::loops) const PAUSES: &[&str] =
    &["delay", "wait", "backoff", "sleep", "interval", "pause", "cooldown"];

/// Whether a call waits.
pub(in crate::loops) fn sleep(language: Language, path: &[&str], last: &str) -> Option<Sleep> {
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
        (L::Rust, "tick") if any(receiver, &["interval", "ticker", "timer", "tick"]) => {
            Sleep::Named
        }
        (L::CSharp, "waitfornexttickasync") => Sleep::Named,
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
        (L::JavaScript | L::TypeScript | L::Tsx, _)
            if path.len() == 1
                && lower != "settimeout"
                && (lower.starts_with("settimeout") || lower.ends_with("settimeout")) =>
        {
            Sleep::Millis
        }
        (L::JavaScript | L::TypeScript | L::Tsx, "wait") if receiver == "Atomics" => Sleep::Millis,
        (
            _,
            "delay" | "pause" | "backoff" | "back_off" | "dobackoff" | "waitfor"
            | "cancelabledelay",
        ) => Sleep::Named,
        _ => {
            let all = words(last);
            let named = all.iter().any(|word| matches!(&**word, "sleep" | "sleeping"))
                || (all.last().is_some_and(|word| &**word == "delay")
                    && all.first().is_some_and(|word| {
                        ["wait", "cancelable", "await", "interruptible", "async", "do"]
                            .contains(&&**word)
                    }))
                || (all.first().is_some_and(|word| &**word == "wait")
                    && all.iter().any(|word| {
                        ["ms", "seconds", "retry", "backoff", "before"].contains(&&**word)
                    }));
            let asks = all.first().is_some_and(|word| {
                ["get", "calculate", "compute", "next", "is", "set", "new", "calc", "parse"]
                    .contains(&&**word)
            });
            return (named && !asks).then_some(Sleep::Named);
        }
    };
    Some(found)
}

/// What is set when somebody wants it to stop: waiting for that with a limit is a pause.
const EVENTS: &[&str] = &[
    "stop",
    "stopped",
    "stopping",
    "event",
    "shutdown",
    "exit",
    "exiting",
    "quit",
    "closed",
    "closing",
    "cancel",
    "cancelled",
    "done",
    "finish",
    "finished",
    "interrupt",
    "wakeup",
    "terminate",
];
/// Names of arguments that say how long a call waits.
const HOW_LONG: &[&str] = &["seconds", "secs", "ms", "millis", "until", "delay", "duration"];

/// Whether `wait` waits for time to pass, as far as what it is given tells: `wait(seconds=60)`,
/// `self.stop_event.wait(5)`. Without such an argument it waits for something that runs.
pub(in crate::loops) fn waits_by_its_arguments<'s>(
    path: &[&str],
    mut names: impl ExactSizeIterator<Item = Option<&'s str>>,
) -> bool {
    let Some((&("wait" | "Wait" | "WaitOne"), before)) = path.split_last() else { return false };
    let event = before.last().is_some_and(|of| any(of, EVENTS));
    event && names.len() > 0 || names.any(|name| name.is_some_and(|name| any(name, HOW_LONG)))
}

/// Whether a name is one of waits or limits of time, of which each attempt gets one.
pub(in crate::loops) fn names_waits(name: &str) -> bool {
    any(name, super::WAITS)
        || names_a_schedule(name)
        || any(name, &["timeouts"])
        || super::about_retry(name)
}

/// Whether a name is one of a list of waits, one for each retry: `retry_schedule`, `delays`.
pub(in crate::loops) fn names_a_schedule(name: &str) -> bool {
    any(name, &["delays", "backoffs", "waits", "intervals", "schedule", "sleeps", "pauses"])
}

/// Calls that make a timer.
pub(in crate::loops) fn timer(path: &[&str]) -> bool {
    match path {
        ["time", "After" | "NewTimer" | "NewTicker" | "Tick"] | [_, "NewTimer" | "NewTicker"] => {
            true
        }
        // `deadline.After(now)` compares.
        [of, "After"] => any(of, &["clock", "clk", "time", "timer"]),
        _ => false,
    }
}

/// Calls that run a function later: the function and the wait are among the arguments.
pub(in crate::loops) fn schedules(last: &str) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_it_is_given_tells_whether_wait_is_a_pause() {
        let waits = |path: &[&str], names: &[Option<&str>]| {
            waits_by_its_arguments(path, names.iter().copied())
        };
        assert!(waits(&["self", "wait"], &[Some("seconds")]));
        assert!(waits(&["self", "extractor", "wait"], &[Some("until")]));
        assert!(waits(&["self", "stop_event", "wait"], &[None]));
        assert!(!waits(&["self", "stop_event", "wait"], &[]));
        assert!(!waits(&["process", "wait"], &[Some("timeout")]));
        assert!(!waits(&["self", "waiter"], &[Some("seconds")]));
    }
}
