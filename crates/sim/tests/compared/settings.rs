//! How each control of the registry is put into a system file: with its defaults, unless it
//! cannot act without knowing the system.

use damper_control::entry::{Entry, Kind};
use damper_control::registry;

/// What a control has to be told, and why.
pub(crate) struct Told {
    name: &'static str,
    /// `key: value` pairs beside `kind`.
    pub(crate) parameters: &'static str,
    /// Further assignments.
    further: &'static [&'static str],
    pub(crate) why: &'static str,
}

const fn told(name: &'static str, parameters: &'static str, why: &'static str) -> Told {
    Told { name, parameters, further: &[], why }
}

const DELAY: &str = "a schedule without a published default";
const RATE: &str = "the capacity";
const CLASSES: &str = "there are two classes";

/// All that is not a default.
const TOLD: &[Told] = &[
    told("class-limits", "{high: 1, low: 0}", "who may retry is for the operator to say"),
    told("constant", "base: 100ms, jitter: full", DELAY),
    told("linear", "base: 100ms, max: 10s, jitter: full", DELAY),
    told("exponential", "base: 100ms, max: 10s, jitter: full", DELAY),
    told("decorrelated", "base: 100ms, max: 10s", DELAY),
    told("rate-limit", "rate: 300/s", RATE),
    told("rate-limit-by-class", "rate: 300/s, classes: 2", "the capacity, and two classes"),
    told("gcra", "rate: 300/s, burst: 100", "the capacity; without a burst it wants even arrivals"),
    told("bbr-by-class", "classes: 2", CLASSES),
    told("criticality", "classes: 2", CLASSES),
    told("fixed", "limit: 60", "the 30 workers and as many that wait"),
    Told {
        name: "adaptive-lifo",
        parameters: "",
        further: &["services.db.queue=300"],
        why: "a queue with a limit, here of one second",
    },
    told("max-wait", "max_wait: 500ms", "a wait that the callers' timeout of 1 s survives"),
    told(
        "lever",
        "[{pause: all, after: 10s}, {ramp: all, from: 10%, to: 100%, over: 60s, after: 15s}]",
        "the operator pauses 10 s after the start of the trigger for 5 s, then ramps up",
    ),
];

/// What this control has to be told.
pub(crate) fn of(entry: &Entry) -> Option<&'static Told> {
    TOLD.iter().find(|t| t.name == entry.name)
}

/// Names in the table above that no control has.
pub(crate) fn strangers() -> Vec<&'static str> {
    TOLD.iter().map(|t| t.name).filter(|name| registry::find(name).is_none()).collect()
}

/// The assignments that put a control before or into the service `db`, or the call to it.
pub(crate) fn assignments(entry: &Entry) -> Vec<String> {
    let place = entry.kind.place();
    let name = if place.starts_with("policies") { "\"client -> db\"" } else { "db" };
    let place = place.replace("NAME", name);
    let told = of(entry);
    let parameters = told.map_or("", |t| t.parameters);
    let value = match (entry.kind, entry.name) {
        (Kind::Limit | Kind::Lever, _) => parameters.to_owned(),
        (Kind::Overload, _) => "{}".to_owned(),
        (Kind::Backoff, "immediate") => "none".to_owned(),
        // The system file spells it as a jitter.
        (Kind::Backoff, "decorrelated") => {
            format!("{{kind: exponential, {parameters}, jitter: decorrelated}}")
        }
        // In front of a system the absence of a gate has the name `none`.
        (Kind::Throttle | Kind::Breaker, "no-throttle" | "no-breaker") => "none".to_owned(),
        (_, name) if parameters.is_empty() => name.to_owned(),
        (_, name) => format!("{{kind: {name}, {parameters}}}"),
    };
    let further = told.map_or(&[][..], |t| t.further).iter().map(|s| (*s).to_owned());
    std::iter::once(format!("{place}={value}")).chain(further).collect()
}
