//! A hop as people and scripts see it: `/state`, `damper top`, `damper lever status`.

use std::collections::BTreeMap;

use damper_control::lever::{Group, Level, LeverState, Setting};
use damper_tower::Flow;
use serde::{Deserialize, Serialize};

use super::state::{Rates, State};
use super::totals::{ClassTotals, Totals};
use crate::hop::Hop;
use crate::meters::{Distribution, Seen};

/// What `/state` says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StateView {
    /// When, in UTC.
    pub at: String,
    /// Of the program.
    pub version: String,
    /// `starting`, `ready` or `draining`.
    pub life: String,
    /// Its hops.
    pub hops: Vec<HopView>,
}

/// A hop over the last window. Rates are per second.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HopView {
    /// Its name.
    pub name: String,
    /// `inbound` or `outbound`.
    pub direction: String,
    /// `stable`, `vulnerable`, `overloaded` or `metastable`.
    pub state: String,
    /// Over how many seconds rates and quantiles are; 0: it was just started.
    pub window_s: f64,
    /// All classes together.
    pub all: ClassView,
    /// By class, the highest first.
    pub classes: Vec<ClassView>,
    /// Attempts for each request while every attempt fails, by the load of the classes now.
    pub loop_gain: Option<f64>,
    /// Attempts per second that what is behind can serve, where the system file says.
    pub capacity_rps: Option<f64>,
    /// Requests that work behind its door.
    pub working: Option<u32>,
    /// Requests that wait there.
    pub waiting: Option<u32>,
    /// Its concurrency limit now.
    pub limit: Option<u32>,
    /// Its lever.
    pub lever: LeverView,
    /// What its controls show, as `budget.tokens`.
    pub controls: BTreeMap<String, f64>,
}

/// A class of a hop over the last window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClassView {
    /// Its name; `all` for all of them.
    pub name: String,
    /// Requests let in, retries of callers not counted.
    pub load_rps: f64,
    /// Requests that came, all of them.
    pub came_rps: f64,
    /// Successes in time.
    pub goodput_rps: f64,
    /// Successes.
    pub throughput_rps: f64,
    /// Attempts.
    pub attempts_rps: f64,
    /// Attempts for each request let in; nothing while there is no load.
    pub amplification: Option<f64>,
    /// Calls that succeeded after a retry.
    pub success_after_retry_rps: f64,
    /// Requests turned away, by reason.
    pub refused_rps: BTreeMap<String, f64>,
    /// Retries withheld, by reason.
    pub denied_rps: BTreeMap<String, f64>,
    /// Requests whose caller left.
    pub abandoned_rps: f64,
    /// Requests under way.
    pub in_flight: u64,
    /// Median from arrival to reply, in seconds.
    pub p50_s: Option<f64>,
    /// 99th percentile of the same.
    pub p99_s: Option<f64>,
    /// 99th percentile of the wait before a request is passed on.
    pub queue_delay_p99_s: Option<f64>,
}

/// The position of a lever.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeverView {
    /// Classes that are held back together, and how. Empty: open.
    pub held: Vec<Held>,
}

/// Classes that are held back together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// By name.
    pub classes: Vec<String>,
    /// The one caller that is held back; nothing: all are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<String>,
    /// `paused`, `throttled to 30%`, `ramping from 10% to 100%, 45s left`.
    pub position: String,
}

/// A level as people write it.
#[must_use]
pub fn level(level: Level) -> String {
    match level {
        Level::Share(share) => format!("{}%", digits(share * 100.0)),
        Level::Rate(rate) => format!("{}/s", digits(rate)),
    }
}

fn digits(x: f64) -> String {
    let text = format!("{x:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A position in words.
#[must_use]
pub fn position(setting: Setting) -> String {
    match setting {
        Setting::Paused => "paused".to_owned(),
        Setting::Throttled(to) => format!("throttled to {}", level(to)),
        Setting::Ramping(ramp) => format!(
            "ramping from {} to {}, {}s left",
            level(ramp.from),
            level(ramp.to),
            digits(ramp.over.as_secs_f64().ceil())
        ),
    }
}

/// The names of the classes of a hop that are in a group.
#[must_use]
pub fn names(hop: &Hop, group: &Group) -> Vec<String> {
    let named = (0u8..).zip(hop.classes()).filter(|(class, _)| group.classes.contains(*class));
    named.map(|(_, name)| name.clone()).collect()
}

/// A hop's lever. `caller`: the name of whom a flow belongs to.
pub fn lever(hop: &Hop, caller: impl Fn(Flow) -> String) -> LeverView {
    let held = |state: LeverState, caller: Option<String>| {
        let groups = state.groups.into_iter();
        groups
            .map(|group| Held {
                classes: names(hop, &group),
                caller: caller.clone(),
                position: position(group.setting),
            })
            // A class that the hop does not have can be held back, too: that is nobody.
            .filter(|held| !held.classes.is_empty())
            .collect::<Vec<_>>()
    };
    let mut all = held(hop.lever().state(), None);
    for flow in hop.lever().callers() {
        all.extend(held(hop.lever().state_for(flow), Some(caller(flow))));
    }
    LeverView { held: all }
}

/// What is shown of a span of time: totals at its ends, and how long it was.
pub(super) struct Span<'a> {
    pub(super) before: &'a [ClassTotals],
    pub(super) seen_before: &'a Seen,
    pub(super) layers_before: &'a Totals,
    pub(super) now: &'a Totals,
    pub(super) seconds: f64,
}

impl Span<'_> {
    fn rate(&self, count: u64) -> f64 {
        if self.seconds > 0.0 { count as f64 / self.seconds } else { 0.0 }
    }

    fn added(&self, class: usize) -> ClassTotals {
        let before = self.before.get(class).copied().unwrap_or_default();
        self.now.classes.get(class).map_or_else(ClassTotals::default, |now| now.since(&before))
    }

    /// What the state is judged by.
    pub(super) fn rates(&self, hop: &Hop) -> Rates {
        let mut rates = Rates::default();
        for class in 0..self.now.classes.len() {
            let added = self.added(class);
            let load = self.rate(added.load());
            rates.load += load;
            rates.worst += load * hop.outlook().gain(class);
            rates.attempts += self.rate(added.attempts);
            rates.goodput += self.rate(added.in_time);
        }
        rates
    }

    fn class(&self, class: usize, name: &str) -> ClassView {
        let added = self.added(class);
        let (now, none) = (self.now.seen.classes.get(class), Distribution::default());
        let before = self.seen_before.classes.get(class);
        let since = |of: fn(&crate::meters::ClassSeen) -> &Distribution| {
            let now = now.map_or(&none, of);
            before.map_or_else(|| now.clone(), |before| now.since(of(before)))
        };
        let duration = since(|seen| &seen.duration);
        let mut view = ClassView {
            name: name.to_owned(),
            in_flight: now.map_or(0, crate::meters::ClassSeen::in_flight),
            p50_s: duration.quantile(0.5),
            p99_s: duration.quantile(0.99),
            queue_delay_p99_s: since(|seen| &seen.wait).quantile(0.99),
            ..self.of(&added)
        };
        let index = u8::try_from(class).unwrap_or(u8::MAX);
        for (layer, why, count) in self.now.refusals(index) {
            let then = self.layers_before.refusals(index);
            let then = then.filter(|(l, w, _)| (*l, *w) == (layer, why)).map(|(.., n)| n).sum();
            let rate = self.rate(count.saturating_sub(then));
            let map = if why.retry { &mut view.denied_rps } else { &mut view.refused_rps };
            if rate > 0.0 {
                *map.entry(why.reason.to_owned()).or_default() += rate;
            }
        }
        view
    }

    fn of(&self, added: &ClassTotals) -> ClassView {
        let load = added.load();
        ClassView {
            load_rps: self.rate(load),
            came_rps: self.rate(added.came),
            goodput_rps: self.rate(added.in_time),
            throughput_rps: self.rate(added.succeeded),
            attempts_rps: self.rate(added.attempts),
            amplification: (load > 0).then(|| added.attempts as f64 / load as f64),
            success_after_retry_rps: self.rate(added.success_after_retry),
            abandoned_rps: self.rate(added.abandoned),
            ..ClassView::default()
        }
    }

    fn all(&self, classes: &[ClassView]) -> ClassView {
        let mut sum = ClassTotals::default();
        let (mut duration, mut wait) = (Distribution::default(), Distribution::default());
        for class in 0..self.now.classes.len() {
            sum = sum.plus(&self.added(class));
            if let Some(now) = self.now.seen.classes.get(class) {
                let before = self.seen_before.classes.get(class).cloned().unwrap_or_default();
                duration.merge(&now.duration.since(&before.duration));
                wait.merge(&now.wait.since(&before.wait));
            }
        }
        let mut view = ClassView {
            name: "all".to_owned(),
            in_flight: classes.iter().map(|class| class.in_flight).sum(),
            p50_s: duration.quantile(0.5),
            p99_s: duration.quantile(0.99),
            queue_delay_p99_s: wait.quantile(0.99),
            ..self.of(&sum)
        };
        for class in classes {
            for (reason, rate) in &class.refused_rps {
                *view.refused_rps.entry(reason.clone()).or_default() += rate;
            }
            for (reason, rate) in &class.denied_rps {
                *view.denied_rps.entry(reason.clone()).or_default() += rate;
            }
        }
        view
    }

    /// The whole hop. Its lever is filled in by whoever knows the names of callers.
    pub(super) fn view(&self, hop: &Hop, state: State) -> HopView {
        let names = hop.classes().iter().map(String::as_str).chain(std::iter::repeat("default"));
        let classes = (0..self.now.classes.len()).zip(names);
        let classes: Vec<ClassView> = classes.map(|(at, name)| self.class(at, name)).collect();
        let (rates, load) = (self.rates(hop), hop.load());
        let mut controls = BTreeMap::new();
        for (name, readings) in hop.readings() {
            readings(&mut |reading, value| {
                controls.insert(format!("{name}.{reading}"), value);
            });
        }
        HopView {
            name: hop.name().to_owned(),
            direction: hop.direction().word().to_owned(),
            state: state.word().to_owned(),
            window_s: self.seconds,
            all: self.all(&classes),
            classes,
            loop_gain: (rates.load > 0.0).then(|| rates.worst / rates.load),
            capacity_rps: hop.outlook().capacity,
            working: load.map(|load| load.working),
            waiting: load.map(|load| load.waiting),
            limit: load.and_then(|load| load.limit),
            lever: LeverView::default(),
            controls,
        }
    }
}
