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
