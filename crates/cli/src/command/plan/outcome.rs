//! From what the planner found to the result format.

use std::collections::BTreeMap;

use damper_model::plan::{Family, Planned, Solution, Target};
use damper_report::result as out;
use damper_system::{System, SystemFile};

use super::changes::{self, Change, call};
use super::targets::Asked;
use crate::print;

/// What the words need.
pub(super) struct Writer<'a> {
    pub(super) file: &'a SystemFile,
    pub(super) system: &'a System,
    pub(super) targets: &'a [Asked],
    /// Calls that may be changed.
    pub(super) free: Vec<bool>,
}

impl Writer<'_> {
    pub(super) fn result(&self, found: &Planned) -> anyhow::Result<out::Plan> {
        let made = self.changes(&found.best)?;
        let family = found.layers.iter().find(|(_, s)| s.setting == found.best.setting);
        let family = family.map(|(family, _)| *family);
        let layer = match family {
            Some(Family::Level(_)) => self.retrying(&found.best),
            _ => Vec::new(),
        };
        let targets = self.targets.iter().map(|asked| self.target(asked, found));
        let mut layers = Vec::new();
        for (family, solution) in &found.layers {
            layers.push(self.setting(solution, Some(*family))?);
        }
        let mut frontier = Vec::new();
        for row in &found.frontier {
            frontier.push(self.setting(&row.solution, None)?);
        }
        let clashes = found.clashes.iter().map(|places| out::PlanClash {
            targets: places.iter().map(|i| self.targets[*i].text.clone()).collect(),
            best: match places.as_slice() {
                [one] => found.reached.get(*one).copied().filter(|x| x.is_finite()),
                _ => None,
            },
        });
        Ok(out::Plan {
            met: found.met,
            verdict: self.verdict(found, &layer, made.is_empty()),
            changes: made.iter().flat_map(Change::assignments).collect(),
            lines: made.iter().map(Change::line).collect(),
            targets: targets.collect(),
            before: self.setting(&found.before, None)?,
            after: self.setting(&found.best, family)?,
            layer,
            layers,
            frontier,
            clashes: clashes.collect(),
            evaluations: found.evaluations,
            exact: found.exact,
            ..out::Plan::default()
        })
    }

    fn verdict(&self, found: &Planned, layer: &[String], asis: bool) -> String {
        let missed =
            self.targets.iter().filter(|a| a.target.miss(&found.best.measures) > 0.0).count();
        if !found.met {
            let what = if found.exact { "no setting" } else { "no setting that was compared" };
            let number = |n: usize| if n == 2 { "both".to_owned() } else { format!("all {n}") };
            let all = self.targets.len();
            return match (missed, all) {
                (_, 1) => format!("{what} meets the target; this one comes nearest"),
                (missed, all) if missed == all => {
                    format!(
                        "{what} meets {} targets; the nearest misses {}",
                        number(all),
                        number(all)
                    )
                }
                _ => format!("{what} meets {} targets; the nearest misses {missed}", number(all)),
            };
        }
        let n = self.retrying(&found.best).len();
        let bounded = found.best.setting.budget_permille.map_or("", |_| ", under a budget");
        match (layer, n) {
            _ if asis => {
                "the limits of the file meet the targets with the least amplification".to_owned()
            }
            (_, 0) => "retry nowhere".to_owned(),
            ([one], _) => format!("retry in one layer only, at {one}{bounded}"),
            ([_, ..], _) => {
                format!("retry in one layer only, at its {}{bounded}", print::count(n, "call"))
            }
            ([], _) => format!("retry at {}{bounded}", print::count(n, "call")),
        }
    }

    fn changes(&self, solution: &Solution) -> anyhow::Result<Vec<Change>> {
        changes::of(self.file, self.system, &solution.setting, &self.free)
    }

    /// The calls that retry.
    fn retrying(&self, solution: &Solution) -> Vec<String> {
        let limits = solution.setting.limits.iter().enumerate();
        let retrying = limits.filter(|(i, l)| self.free[*i] && l.iter().any(|k| *k > 0));
        retrying.map(|(i, _)| call(self.system, i)).collect()
    }

    fn target(&self, asked: &Asked, found: &Planned) -> out::PlanTarget {
        let target = asked.target;
        let field = match target {
            Target::Rejection { .. } => "rejection",
            Target::WorstAmplification(_) => "worst_amplification",
            Target::Amplification(_) => "amplification",
            Target::Hidden(_) => "hides",
            Target::Capacity(_) | Target::CapacityShare(_) => "hidden_rps",
        };
        let class = match target {
            Target::Rejection { class, .. } => self.system.classes.get(class).cloned(),
            _ => None,
        };
        let finite = |x: f64| x.is_finite().then_some(x);
        out::PlanTarget {
            target: asked.text.clone(),
            field: field.to_owned(),
            class,
            at_least: target.at_least(),
            bound: target.bound(),
            before: finite(target.value(&found.before.measures)),
            after: finite(target.value(&found.best.measures)),
            met: target.miss(&found.best.measures) == 0.0,
        }
    }

    fn setting(
        &self,
        solution: &Solution,
        family: Option<Family>,
    ) -> anyhow::Result<out::PlanSetting> {
        let (m, classes) = (&solution.measures, &self.system.classes);
        let limits = solution.setting.limits.iter().enumerate().map(|(i, limits)| {
            let by_class = classes.iter().cloned().zip(limits.iter().copied()).collect();
            (call(self.system, i), by_class)
        });
        let targets: Vec<Target> = self.targets.iter().map(|a| a.target).collect();
        Ok(out::PlanSetting {
            layers: self.layers(family, solution),
            retries: self.words(solution),
            changes: self.changes(solution)?.iter().flat_map(Change::assignments).collect(),
            limits: limits.collect(),
            rejection: classes.iter().cloned().zip(m.rejection.iter().copied()).collect(),
            amplification: m.amplification,
            calls_per_request: m.calls_per_request,
            worst_amplification: m.worst_amplification,
            availability: m.availability,
            hides: m.hides,
            hidden_rps: m.hidden_rps,
            advertised_rps: m.advertised_rps,
            met: solution.meets(&targets),
        })
    }

    fn layers(&self, family: Option<Family>, solution: &Solution) -> String {
        match family {
            None => String::new(),
            Some(Family::None) => "none".to_owned(),
            Some(Family::All) => "all".to_owned(),
            Some(Family::Some) => "several".to_owned(),
            Some(Family::Level(level)) => match self.retrying(solution).as_slice() {
                [one] => format!("{level}: {one}"),
                calls => format!("{level}: {}", print::count(calls.len(), "call")),
            },
        }
    }

    /// `client -> db 2`, `5 calls 5/1`: who retries how often, classes apart by `/`.
    fn words(&self, solution: &Solution) -> String {
        const NAMED: usize = 2;
        let mut groups: BTreeMap<Vec<u32>, Vec<usize>> = BTreeMap::new();
        for (i, limits) in solution.setting.limits.iter().enumerate() {
            if limits.iter().any(|k| *k > 0) {
                groups.entry(limits.clone()).or_default().push(i);
            }
        }
        if groups.is_empty() {
            return "no retries".to_owned();
        }
        let calls = self.system.policies.edges.len();
        let words = groups.iter().rev().map(|(limits, members)| {
            let who = match members.len() {
                n if n == calls && n > 1 => format!("all {calls} calls"),
                n if n > NAMED => format!("{n} calls"),
                _ => members.iter().map(|i| call(self.system, *i)).collect::<Vec<_>>().join(", "),
            };
            let same = limits.windows(2).all(|w| w[0] == w[1]);
            let shown = if same { &limits[..1] } else { limits };
            let k: Vec<String> = shown.iter().map(u32::to_string).collect();
            format!("{who}: {}", k.join("/"))
        });
        let words = words.collect::<Vec<_>>().join("; ");
        match solution.setting.budget_permille {
            Some(permille) => format!("{words}, budget {} %", f64::from(permille) / 10.0),
            None => words,
        }
    }
}
