//! Every control of the registry in the retry storm at 0.9 of its capacity.

use damper_control::entry::{Entry, Kind};
use damper_control::{Nanos, registry};
use damper_sim::{Conditions, EdgeStats, Headroom, Outcome, Plan, ServiceStats, State};
use rayon::prelude::*;

use crate::measure::*;
use crate::settings;

/// Replications of the capacities, of the run with the trigger, and of the price.
const CAPACITY: u32 = 3;
pub(crate) const RUNS: u32 = 4;
const PRICES: u32 = 4;
/// Seconds of the price, at half the load.
const PRICE_SECONDS: u64 = 150;

/// One line of the table.
pub(crate) struct Line {
    /// The control; `None` for a baseline.
    pub(crate) entry: Option<&'static Entry>,
    name: String,
    pub(crate) headroom: Headroom,
    pub(crate) verdict: &'static str,
    /// Goodput as a share of what is offered, in the twelve seconds from the trigger on.
    first: f64,
    /// The same in the last minute: all, and of the high class.
    pub(crate) last: f64,
    pub(crate) high: f64,
    /// Attempts per request in the last minute.
    pub(crate) amplification: f64,
    pub(crate) recovery: Recovery,
    /// What the control itself refused, per 100 requests; `None`: it never refuses.
    pub(crate) refused: Option<f64>,
    /// Success under transient errors less that of the plain system, in shares.
    pub(crate) price: f64,
}

impl Line {
    /// The name of the control in the registry.
    pub(crate) fn control(&self) -> &'static str {
        self.entry.map_or("", |e| e.name)
    }

    pub(crate) fn hidden(&self) -> f64 {
        self.headroom.hidden.map_or(0.0, |h| h.mean)
    }

    pub(crate) fn advertised(&self) -> f64 {
        self.headroom.advertised.map_or(0.0, |h| h.mean)
    }

    pub(crate) fn bounds(&self) -> bool {
        self.verdict == BOUNDS
    }

    fn shows_refused(&self) -> String {
        match self.refused {
            _ if self.entry.is_none() => "–".to_owned(),
            None => "cannot".to_owned(),
            Some(0.0) => "never".to_owned(),
            Some(refused) => format!("{refused:.1}"),
        }
    }

    /// It serves clearly less than the system without it.
    pub(crate) fn serves_less(&self, plain: &Self) -> bool {
        self.advertised() < 0.95 * plain.advertised()
    }
}

/// The storm with two classes, one third of the load high.
fn changes() -> Vec<String> {
    ["classes=[high, low]", "load={high: 90/s, low: 180/s}"].map(str::to_owned).to_vec()
}

/// Lines that are not controls, to compare with.
const BASELINES: [(&str, &[&str]); 3] = [
    ("as it is: one retry", &[]),
    ("no retry", &["policies.\"client -> db\".retry.limit=0"]),
    ("a queue of 300", &["services.db.queue=300"]),
];

/// Every control, in the order in which an attempt meets them; the baselines first.
pub(crate) fn lines() -> Vec<Line> {
    let baselines = BASELINES.iter().map(|(name, sets)| (None, (*name).to_owned(), owned(sets)));
    let controls = Kind::ALL.into_iter().flat_map(registry::of).map(|entry| {
        (Some(entry), format!("[{0}](controls/{0}.md)", entry.name), settings::assignments(entry))
    });
    let systems: Vec<_> = baselines.chain(controls).collect();
    let measured: Vec<Measured> =
        systems.par_iter().map(|(entry, _, sets)| Measured::of(*entry, sets)).collect();
    let before = mean(measured[0].success.iter().copied());
    let plain = measured[0].headroom.clone();
    systems
        .into_iter()
        .zip(measured)
        .map(|((entry, name, _), m)| {
            let reschedules = entry.is_some_and(|e| e.kind == Kind::Backoff);
            Line {
                entry,
                name,
                verdict: verdict(&plain, &m.headroom, reschedules),
                headroom: m.headroom,
                first: mean(m.runs.iter().map(|o| goodput(o, 60..72))),
                last: mean(m.runs.iter().map(|o| goodput(o, 122..182))),
                high: mean(m.runs.iter().map(high)),
                amplification: mean(m.runs.iter().map(amplification)),
                recovery: Recovery::of(&m.runs),
                refused: entry.and_then(|e| refused(e.kind, &m.runs)),
                price: mean(m.success) - before,
            }
        })
        .collect()
}

fn owned(sets: &[&str]) -> Vec<String> {
    sets.iter().map(|s| (*s).to_owned()).collect()
}

/// The file with a control lowers without a mistake.
pub(crate) fn accepts(entry: &Entry) {
    example("retry-storm.yaml", &[changes(), settings::assignments(entry)].concat());
}

/// How the runs at 0.9 of the capacity ended.
pub(crate) struct Recovery {
    /// Seconds from the end of the trigger, of those that were back within the watch, in order.
    pub(crate) seen: Vec<f64>,
    /// Not back, but with a queue that drains.
    pub(crate) draining: usize,
}

impl Recovery {
    fn of(outcomes: &[Outcome]) -> Self {
        let stable = outcomes.iter().map(|o| &o.verdict).filter(|v| v.state == State::Stable);
        let (draining, seen): (Vec<_>, Vec<_>) = stable.partition(|v| v.projected);
        let mut seen: Vec<f64> =
            seen.iter().filter_map(|v| v.recovery).map(Nanos::as_secs_f64).collect();
        seen.sort_by(f64::total_cmp);
        Self { seen, draining: draining.len() }
    }

    fn show(&self) -> String {
        let median = self.seen.get(self.seen.len() / 2);
        let after = median.map_or(String::new(), |s| format!(", {s:.0} s"));
        let draining = match self.draining {
            0 => String::new(),
            n => format!(" ({n} draining)"),
        };
        format!("{}/{RUNS}{after}{draining}", self.seen.len())
    }
}

struct Measured {
    headroom: Headroom,
    runs: Vec<Outcome>,
    success: Vec<f64>,
}

impl Measured {
    fn of(entry: Option<&Entry>, sets: &[String]) -> Self {
        let (file, system) = example("retry-storm.yaml", &[changes(), sets.to_vec()].concat());
        let plan = Plan::new(&system);
        let measured = Self {
            headroom: capacity(&file, &system, CAPACITY),
            runs: runs(&plan, &Conditions::of(&plan), RUNS),
            success: under_errors(&plan, 0.5, PRICE_SECONDS, PRICES).iter().map(success).collect(),
        };
        eprintln!("{}: {:?}", entry.map_or("baseline", |e| e.name), measured.headroom.hidden);
        measured
    }
}

fn goodput(outcome: &Outcome, seconds: std::ops::Range<usize>) -> f64 {
    let points = &outcome.series.points[seconds];
    let offered: u64 = points.iter().map(|p| p.offered).sum();
    let good: u64 = points.iter().map(|p| p.good).sum();
    good as f64 / offered.max(1) as f64
}

fn high(outcome: &Outcome) -> f64 {
    let points = outcome.series.points[122..182].iter().map(|p| p.classes[0]);
    let (ended, good) = points.fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
    good as f64 / ended.max(1) as f64
}

fn amplification(outcome: &Outcome) -> f64 {
    let points = &outcome.series.points[122..182];
    let offered: u64 = points.iter().map(|p| p.offered).sum();
    let attempts: u64 = points.iter().map(|p| p.attempts).sum();
    attempts as f64 / offered.max(1) as f64
}

/// What the controls of a kind refused, per 100 requests.
fn refused(kind: Kind, outcomes: &[Outcome]) -> Option<f64> {
    let edge: fn(&EdgeStats) -> u64 = match kind {
        Kind::Limit => |e| e.refused_limit,
        Kind::Budget => |e| e.refused_budget,
        Kind::Throttle => |e| e.refused_throttle,
        Kind::Breaker => |e| e.refused_breaker,
        _ => |_| 0,
    };
    let service: fn(&ServiceStats) -> u64 = match kind {
        Kind::Admission => |s| s.refused_admission,
        Kind::Concurrency => |s| s.refused_concurrency,
        // An order that has no room for somebody, and a rule that drops who waits.
        Kind::Order => |s| s.rejected + s.dropped_waiting,
        Kind::Drop => |s| s.dropped_waiting,
        Kind::Lever => |s| s.refused_lever,
        _ => |_| 0,
    };
    if matches!(kind, Kind::Backoff | Kind::Overload) {
        return None;
    }
    let count = |o: &Outcome| {
        o.edges.iter().map(edge).sum::<u64>() + o.services.iter().map(service).sum::<u64>()
    };
    let offered: u64 = outcomes.iter().flat_map(|o| &o.classes).map(|c| c.offered).sum();
    let refused: u64 = outcomes.iter().map(count).sum();
    Some(100.0 * refused as f64 / offered.max(1) as f64)
}

/// The table as Markdown.
pub(crate) fn table(lines: &[Line]) -> String {
    let columns = [
        "control",
        "hidden",
        "advertised",
        "what it does to the loop",
        "first 12 s",
        "last 60 s",
        "of high",
        "attempts",
        "recovers",
        "refused",
        "price",
    ];
    let mut text = String::new();
    let mut kind = None;
    for line in lines {
        let of = line.entry.map(|e| e.kind);
        if text.is_empty() || of != kind {
            kind = of;
            let title = of.map_or("to compare with", Kind::name);
            text += &format!("\n### {title}\n\n");
            if let Some(kind) = of {
                text += &format!("`{}`\n\n", kind.place());
            }
            text += &head(&columns);
        }
        let h = &line.headroom;
        let less = if line.serves_less(&lines[0]) { ", serves less" } else { "" };
        text += &row(&[
            line.name.clone() + line.entry.and_then(settings::of).map_or("", |_| " *"),
            rate(h.hidden),
            h.advertised.map_or("–".to_owned(), |e| format!("{:.0}", e.mean)),
            line.verdict.to_owned() + less,
            percent(line.first),
            percent(line.last),
            percent(line.high),
            format!("{:.2}", line.amplification),
            line.recovery.show(),
            line.shows_refused(),
            points(line.price),
        ]);
    }
    text
}

/// What was set beside the defaults.
pub(crate) fn told() -> String {
    let mut text = head(&["control", "assignments", "why"]);
    for entry in Kind::ALL.into_iter().flat_map(registry::of) {
        if let Some(told) = settings::of(entry) {
            let sets: Vec<String> =
                settings::assignments(entry).iter().map(|s| format!("`{s}`")).collect();
            text += &row(&[entry.name.to_owned(), sets.join(", "), told.why.to_owned()]);
        }
    }
    text
}
