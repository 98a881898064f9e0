//! What a rung (or an incident) runs on: a system file, changes to it, one seed.

use std::sync::atomic::AtomicBool;

use damper_sim::{Conditions, Control, HeadroomOptions, Plan, Simulated, headroom, simulate};
use damper_system::{System, SystemFile};
use serde_json::{Value, json};

use crate::print::chart::Chart;

/// Where experiments are run.
pub(crate) struct Stage<'a> {
    pub(crate) name: &'a str,
    pub(crate) text: &'a str,
    pub(crate) stop: &'a AtomicBool,
    pub(crate) progress: &'a (dyn Fn(&str, u64, u64) + Sync),
    /// Draws a chart under a heading. Nothing where only numbers are asked for.
    pub(crate) show: &'a dyn Fn(&str, &Chart),
}

/// One experiment that was run.
pub(crate) struct Run {
    pub(crate) system: System,
    pub(crate) simulated: Simulated,
    pub(crate) trigger_s: Option<(f64, f64)>,
}

/// What a rung showed.
pub(crate) struct Seen {
    /// What was to be seen.
    pub(crate) sentence: String,
    /// The figures that show it.
    pub(crate) figures: Vec<Figure>,
    /// Whether they do.
    pub(crate) holds: bool,
}

/// A number with its name.
pub(crate) struct Figure {
    pub(crate) name: &'static str,
    pub(crate) value: f64,
    /// As people read it.
    pub(crate) shown: String,
}

impl Seen {
    pub(crate) fn to_json(&self) -> Value {
        let figures = self.figures.iter().map(|f| (f.name.to_owned(), json!(f.value)));
        json!({
            "seen": self.sentence,
            "figures": figures.collect::<serde_json::Map<_, _>>(),
            "holds": self.holds,
        })
    }
}

impl Stage<'_> {
    fn system(&self, set: &[&str]) -> anyhow::Result<(SystemFile, System)> {
        let mut file = SystemFile::parse(self.name, self.text)?;
        for change in set {
            file.set(change)?;
        }
        let system = file.lower()?;
        Ok((file, system))
    }

    fn control(&self) -> Control<'_> {
        Control { stop: self.stop, progress: self.progress }
    }

    /// Runs the experiment of the file, changed.
    pub(crate) fn run(&self, set: &[&str]) -> anyhow::Result<Run> {
        let (_, system) = self.system(set)?;
        let plan = Plan::new(&system);
        let conditions = Conditions::of(&plan);
        let simulated = simulate(&plan, &conditions, 1, &self.control());
        let seconds = |ns: u64| ns as f64 / 1e9;
        let span = conditions.trigger_span(&plan);
        Ok(Run { system, simulated, trigger_s: span.map(|(a, b)| (seconds(a), seconds(b))) })
    }

    /// Advertised and hidden capacity, requests per second; a capacity that was not found is zero.
    pub(crate) fn headroom(&self, set: &[&str]) -> anyhow::Result<(f64, f64)> {
        let (file, system) = self.system(set)?;
        let options = HeadroomOptions { replications: 2, remedy_replications: 1, remedies: false };
        let found = headroom(&file, &system, &options, &self.control())?;
        let mean = |e: Option<damper_sim::Estimate>| e.map_or(0.0, |e| e.mean);
        Ok((mean(found.advertised), mean(found.hidden)))
    }

    /// Share of the requests that succeed without a trigger while attempts fail by chance.
    pub(crate) fn success(&self, set: &[&str], errors: f64, load: f64) -> anyhow::Result<f64> {
        let (_, system) = self.system(set)?;
        let plan = Plan::new(&system);
        let mut conditions = Conditions::of(&plan);
        conditions.trigger = None;
        conditions.error_floor = errors;
        conditions.load_factors.fill(load / system.total_load());
        let run = simulate(&plan, &conditions, 2, &self.control());
        let good: u64 = run.classes.iter().map(damper_sim::ClassStats::good).sum();
        let ended: u64 = run.classes.iter().map(damper_sim::ClassStats::ended_all).sum();
        Ok(good as f64 / ended.max(1) as f64)
    }
}

impl Run {
    /// Width of a point in seconds.
    fn step(&self) -> f64 {
        self.simulated.series.interval as f64 / 1e9
    }

    pub(crate) fn chart(&self) -> Chart {
        let step = self.step();
        let points = &self.simulated.series.points;
        Chart {
            offered: points.iter().map(|p| p.offered as f64 / step).collect(),
            good: points.iter().map(|p| p.good as f64 / step).collect(),
            length_s: points.len() as f64 * step,
            trigger_s: self.trigger_s,
        }
    }

    /// The points of a span of time after the end of the trigger, seconds.
    fn after(&self, from: f64, to: f64) -> &[damper_sim::Point] {
        let end = self.trigger_s.map_or(0.0, |(_, end)| end);
        let points = &self.simulated.series.points;
        let at = |s: f64| (((end + s) / self.step()).round() as usize).min(points.len());
        &points[at(from)..at(to)]
    }

    /// Requests offered and served well, per second, over a span after the trigger.
    pub(crate) fn rates(&self, from: f64, to: f64) -> (f64, f64) {
        let points = self.after(from, to);
        let span = points.len().max(1) as f64 * self.step();
        let offered: u64 = points.iter().map(|p| p.offered).sum();
        let good: u64 = points.iter().map(|p| p.good).sum();
        (offered as f64 / span, good as f64 / span)
    }

    /// Good requests of a class per second, over a span after the trigger.
    pub(crate) fn good_of(&self, class: usize, from: f64, to: f64) -> f64 {
        let points = self.after(from, to);
        let span = points.len().max(1) as f64 * self.step();
        points.iter().map(|p| p.classes[class].1).sum::<u64>() as f64 / span
    }

    /// Attempts per second at services with a capacity, and the coefficient of variation of their
    /// number from point to point, over a span after the trigger.
    pub(crate) fn attempts(&self, from: f64, to: f64) -> (f64, f64) {
        let points = self.after(from, to);
        let n = points.len().max(1) as f64;
        let mean = points.iter().map(|p| p.attempts as f64).sum::<f64>() / n;
        let spread = points.iter().map(|p| (p.attempts as f64 - mean).powi(2)).sum::<f64>() / n;
        (mean / self.step(), spread.sqrt() / mean.max(1e-9))
    }
}
