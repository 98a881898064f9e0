//! Everything that is counted, family by family, for whoever writes it down: the text for
//! Prometheus, and OTLP.
//!
//! Every name is in [`FAMILIES`], with its labels and meaning.

use std::sync::Arc;

use damper_control::lever::Level;

use super::log::Log;
use super::process;
use super::state::State;
use super::totals::Totals;
use super::view::HopView;
use super::watch::Watch;
use crate::hop::{Hop, Hops};
use crate::meters::{BOUNDS, ClassSeen, Distribution, ENDS, OVERALL};

/// The labels of a sample, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Labels(pub(super) Vec<(&'static str, String)>);

impl Labels {
    fn with(mut self, name: &'static str, value: &str) -> Self {
        self.0.push((name, value.to_owned()));
        self
    }
}

/// A value, under the name of its family or, of a histogram, a longer one.
#[derive(Clone, Debug)]
pub(super) struct Sample {
    pub(super) name: String,
    pub(super) labels: Labels,
    pub(super) value: f64,
}

/// A family with its samples.
#[derive(Clone, Debug)]
pub(super) struct Collected {
    pub(super) name: String,
    pub(super) kind: &'static str,
    pub(super) help: String,
    pub(super) samples: Vec<Sample>,
}

/// What was collected so far.
#[derive(Debug, Default)]
struct Families(Vec<Collected>);

impl Families {
    fn family(&mut self, name: &str, kind: &'static str, help: &str) {
        let (name, help) = (name.to_owned(), help.to_owned());
        self.0.push(Collected { name, kind, help, samples: Vec::new() });
    }

    fn sample(&mut self, name: &str, labels: &Labels, value: f64) {
        let sample = Sample { name: name.to_owned(), labels: labels.clone(), value };
        if let Some(family) = self.0.last_mut() {
            family.samples.push(sample);
        }
    }
}

/// A family of metrics.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    /// Its name.
    pub name: &'static str,
    /// `counter`, `gauge`, `histogram` or `untyped`.
    pub kind: &'static str,
    /// Labels beside `hop` and `direction`.
    pub labels: &'static str,
    /// What it says.
    pub help: &'static str,
}

const fn family(
    name: &'static str,
    kind: &'static str,
    labels: &'static str,
    help: &'static str,
) -> Family {
    Family { name, kind, labels, help }
}

/// Every family of a hop. (Those of [`OVERALL`] are `damper_NAME_total`.)
pub const FAMILIES: [Family; 25] = [
    family("damper_requests_total", "counter", "class", "Requests that came."),
    family(
        "damper_requests_ended_total",
        "counter",
        "class, outcome",
        "Requests that ended, by how.",
    ),
    family(
        "damper_throughput_total",
        "counter",
        "class",
        "Requests that succeeded, in time or not.",
    ),
    family("damper_goodput_total", "counter", "class", "Requests that succeeded in time."),
    family(
        "damper_requests_refused_total",
        "counter",
        "class, layer, reason",
        "Requests that were turned away.",
    ),
    family(
        "damper_attempts_total",
        "counter",
        "class, kind",
        "Attempts: first, retry, transparent (a retry that no policy counts), hedge.",
    ),
    family(
        "damper_attempts_ended_total",
        "counter",
        "class, layer, outcome",
        "Attempts that ended, as a layer saw it.",
    ),
    family(
        "damper_retries_denied_total",
        "counter",
        "class, layer, reason",
        "Retries that were withheld.",
    ),
    family(
        "damper_success_after_retry_total",
        "counter",
        "class",
        "Calls that succeeded after a retry or by a hedge.",
    ),
    family(
        "damper_events_total",
        "counter",
        "class, layer, event",
        "What else happened in a layer: queued, abandoned, deadline-over, overloaded.",
    ),
    family(
        "damper_request_duration_seconds",
        "histogram",
        "class",
        "From the arrival of a request to the head of its reply.",
    ),
    family(
        "damper_queue_delay_seconds",
        "histogram",
        "class",
        "From the arrival of a request until it was passed on.",
    ),
    family(
        "damper_attempt_duration_seconds",
        "histogram",
        "class",
        "Of an attempt on what is behind.",
    ),
    family("damper_requests_in_flight", "gauge", "class", "Requests under way."),
    family(
        "damper_amplification",
        "gauge",
        "class",
        "Attempts for each request let in, over the last seconds.",
    ),
    family("damper_door_working", "gauge", "", "Requests that work behind the door."),
    family("damper_door_waiting", "gauge", "", "Requests that wait at the door."),
    family("damper_door_limit", "gauge", "", "The concurrency limit of the door now."),
    family(
        "damper_control",
        "untyped",
        "control, reading",
        "What a control shows: budgets, breakers, throttles.",
    ),
    family(
        "damper_state",
        "gauge",
        "state",
        "1 for the state that the hop is in, 0 for the others.",
    ),
    family(
        "damper_loop_gain",
        "gauge",
        "",
        "Attempts for each request while every attempt fails, by the load of the classes now.",
    ),
    family(
        "damper_capacity_per_second",
        "gauge",
        "",
        "Attempts per second that what is behind can serve, as the system file has it.",
    ),
    family(
        "damper_lever_share",
        "gauge",
        "class",
        "Share that the lever lets in: 1 open, 0 paused.",
    ),
    family(
        "damper_lever_rate_per_second",
        "gauge",
        "class",
        "Rate that the lever lets in, where it is set to a rate.",
    ),
    family(
        "damper_lever_pulls_total",
        "counter",
        "",
        "Times the lever was pulled to another position.",
    ),
];

/// A hop with all that is shown of it.
struct Shown {
    hop: Arc<Hop>,
    totals: Totals,
    view: Option<HopView>,
}

impl Shown {
    fn labels(&self) -> Labels {
        Labels::default()
            .with("hop", self.hop.name())
            .with("direction", self.hop.direction().word())
    }

    /// The classes: their index, their name and their labels.
    fn classes(&self) -> impl Iterator<Item = (usize, Labels)> {
        let names =
            self.hop.classes().iter().map(String::as_str).chain(std::iter::repeat("default"));
        (0..self.totals.classes.len())
            .zip(names)
            .map(|(at, name)| (at, self.labels().with("class", name)))
    }
}

/// All of it, as it is now.
pub(super) fn collect(hops: &Hops, watch: &Watch, log: Option<&Log>) -> Vec<Collected> {
    let shown: Vec<Shown> = hops
        .list()
        .iter()
        .map(|hop| Shown { hop: hop.clone(), totals: Totals::of(hop), view: watch.view(hop) })
        .collect();
    let mut out = Families::default();
    for family in &FAMILIES {
        out.family(family.name, family.kind, family.help);
        for shown in &shown {
            samples(&mut out, family.name, shown);
        }
    }
    for (at, (name, help)) in OVERALL.iter().enumerate() {
        let name = format!("damper_{name}_total");
        out.family(&name, "counter", help);
        for shown in &shown {
            out.sample(&name, &shown.labels(), shown.totals.seen.overall[at] as f64);
        }
    }
    if let Some(log) = log {
        let name = "damper_log_lines_lost_total";
        out.family(name, "counter", "Lines of the log that nobody read in time.");
        out.sample(name, &Labels::default(), log.lost() as f64);
    }
    out.family("damper_build_info", "gauge", "1, with the version.");
    let version = Labels::default().with("version", env!("CARGO_PKG_VERSION"));
    out.sample("damper_build_info", &version, 1.0);
    for (name, kind, help, value) in process::readings() {
        out.family(name, kind, help);
        out.sample(name, &Labels::default(), value);
    }
    out.0
}

fn samples(out: &mut Families, name: &str, shown: &Shown) {
    let Shown { hop, totals, view, .. } = shown;
    let mut by_class = |of: &dyn Fn(usize) -> Option<f64>| {
        for (class, labels) in shown.classes() {
            if let Some(value) = of(class) {
                out.sample(name, &labels, value);
            }
        }
    };
    let meter = |class: usize| totals.seen.classes.get(class);
    match name {
        "damper_requests_total" => by_class(&|class| Some(totals.classes[class].came as f64)),
        "damper_throughput_total" => {
            by_class(&|class| Some(totals.classes[class].succeeded as f64));
        }
        "damper_goodput_total" => by_class(&|class| Some(totals.classes[class].in_time as f64)),
        "damper_success_after_retry_total" => {
            by_class(&|class| Some(totals.classes[class].success_after_retry as f64));
        }
        "damper_requests_in_flight" => {
            by_class(&|class| meter(class).map(|seen| seen.in_flight() as f64));
        }
        "damper_amplification" => {
            by_class(&|class| view.as_ref()?.classes.get(class)?.amplification);
        }
        "damper_lever_share" => by_class(&|class| match hop.lever().level(index(class)) {
            Level::Share(share) => Some(share),
            Level::Rate(_) => None,
        }),
        "damper_lever_rate_per_second" => {
            by_class(&|class| match hop.lever().level(index(class)) {
                Level::Share(_) => None,
                Level::Rate(rate) => Some(rate),
            });
        }
        "damper_requests_ended_total" => {
            for (class, labels) in shown.classes() {
                let ended = meter(class).map_or([0; ENDS.len()], |seen| seen.ended);
                for (end, count) in ENDS.iter().zip(ended) {
                    out.sample(name, &labels.clone().with("outcome", end), count as f64);
                }
            }
        }
        "damper_attempts_total" => attempts(out, name, shown),
        "damper_requests_refused_total" => refusals(out, name, shown, false),
        "damper_retries_denied_total" => refusals(out, name, shown, true),
        "damper_attempts_ended_total" => counted(out, name, shown, "end", "outcome"),
        "damper_events_total" => counted(out, name, shown, "event", "event"),
        "damper_request_duration_seconds" => histograms(out, name, shown, |seen| &seen.duration),
        "damper_queue_delay_seconds" => histograms(out, name, shown, |seen| &seen.wait),
        "damper_attempt_duration_seconds" => histograms(out, name, shown, |seen| &seen.attempt),
        "damper_control" => {
            for (control, readings) in hop.readings() {
                let labels = shown.labels().with("control", control);
                readings(&mut |reading, value| {
                    out.sample(name, &labels.clone().with("reading", reading), value);
                });
            }
        }
        "damper_state" => {
            for state in State::ALL {
                let is = view.as_ref().is_some_and(|view| view.state == state.word());
                let labels = shown.labels().with("state", state.word());
                out.sample(name, &labels, f64::from(u8::from(is)));
            }
        }
        "damper_lever_pulls_total" => {
            hop.lever().observe(&mut |reading, value| {
                if reading == "changes" {
                    out.sample(name, &shown.labels(), value);
                }
            });
        }
        _ => {
            let load = hop.load();
            let value = match name {
                "damper_door_working" => load.map(|load| f64::from(load.working)),
                "damper_door_waiting" => load.map(|load| f64::from(load.waiting)),
                "damper_door_limit" => load.and_then(|load| load.limit).map(f64::from),
                "damper_loop_gain" => view.as_ref().and_then(|view| view.loop_gain),
                "damper_capacity_per_second" => hop.outlook().capacity,
                _ => None,
            };
            if let Some(value) = value {
                out.sample(name, &shown.labels(), value);
            }
        }
    }
}

fn index(class: usize) -> u8 {
    u8::try_from(class).unwrap_or(u8::MAX)
}

fn attempts(out: &mut Families, name: &str, shown: &Shown) {
    for (class, labels) in shown.classes() {
        let totals = &shown.totals.classes[class];
        let others = totals.retries + totals.transparent + totals.hedges;
        // Where the callers are the ones who retry, what they say tells retries apart.
        let retries = totals.retries + totals.came_again;
        let first = totals.attempts.saturating_sub(others + totals.came_again);
        for (kind, count) in [
            ("first", first),
            ("retry", retries),
            ("transparent", totals.transparent),
            ("hedge", totals.hedges),
        ] {
            out.sample(name, &labels.clone().with("kind", kind), count as f64);
        }
    }
}

fn refusals(out: &mut Families, name: &str, shown: &Shown, retry: bool) {
    for (class, labels) in shown.classes() {
        for (layer, why, count) in shown.totals.refusals(index(class)) {
            if why.retry == retry {
                let labels = labels.clone().with("layer", layer).with("reason", why.reason);
                out.sample(name, &labels, count as f64);
            }
        }
    }
}

/// Events that have families of their own.
const ELSEWHERE: [&str; 6] =
    ["requests", "attempts", "retries", "transparent-retries", "hedges", "success-after-retry"];

fn counted(out: &mut Families, name: &str, shown: &Shown, family: &str, label: &'static str) {
    for (class, labels) in shown.classes() {
        for (layer, seen) in &shown.totals.layers {
            let counts = seen.iter().filter(|count| {
                usize::from(count.class) == class
                    && count.family == family
                    && !ELSEWHERE.contains(&count.name)
            });
            for count in counts {
                let labels = labels.clone().with("layer", layer).with(label, count.name);
                out.sample(name, &labels, count.value as f64);
            }
        }
    }
}

fn histograms(
    out: &mut Families,
    name: &str,
    shown: &Shown,
    of: impl Fn(&ClassSeen) -> &Distribution,
) {
    for (class, labels) in shown.classes() {
        let Some(seen) = shown.totals.seen.classes.get(class) else { continue };
        let seen = of(seen);
        let bucket = format!("{name}_bucket");
        for (bound, count) in BOUNDS.iter().zip(seen.cumulative()) {
            out.sample(&bucket, &labels.clone().with("le", &bound.to_string()), count as f64);
        }
        let count = seen.count() as f64;
        out.sample(&bucket, &labels.clone().with("le", "+Inf"), count);
        out.sample(&format!("{name}_sum"), &labels, seen.sum_s());
        out.sample(&format!("{name}_count"), &labels, count);
    }
}
