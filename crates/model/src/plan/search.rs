//! Compares settings: all of them, or those of the choices of layers and their neighbours.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashSet};

use damper_system::model::Work;

use super::better::{compare, missed, number};
use super::clash::Met;
use super::family::Family;
use super::frontier::{Frontier, Row};
use super::measure::Bench;
use super::space::Space;
use super::{Measures, PlanError, Planned, Question, Setting, Solution, Target, apply, check};

/// Calls walked in all, and settings compared, at most.
const MOST_WALKED: u64 = 600_000_000;
/// Choices of layers whose neighbours are looked at.
const STARTS: usize = 3;
const EVALUATIONS: std::ops::RangeInclusive<u64> = 200..=20_000;

pub(super) fn run(
    question: &Question<'_>,
    go_on: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<Planned, PlanError> {
    check(question)?;
    let space = Space::of(question)?;
    let mut bench = Bench::of(question, &space.free)?;
    let asis = apply::read(question.system);
    let closed = bench.closed(&asis);
    let before = bench.complete(asis.clone(), closed)?;
    let exact = space.exact();
    let most = exact.unwrap_or_else(|| effort(question, &space)) + 1;
    let targets = &question.targets;
    let mut search = Search {
        met: Met::new(targets),
        frontier: Frontier::default(),
        layers: BTreeMap::new(),
        best: None,
        seen: HashSet::new(),
        evaluations: 0,
        partial: false,
        most,
        asis,
        space,
        bench,
        targets,
        go_on,
    };
    let asis = search.asis.clone();
    if within(&asis, question, &search.space) {
        search.consider(asis)?;
    }
    if exact.is_some() {
        search.everything()?;
    } else {
        search.families(&search.space.sets(question.system))?;
        search.neighbours()?;
    }
    let limits_met = search.best.as_ref().is_some_and(|best| best.meets(targets));
    if !limits_met {
        search.budgets(question)?;
    }
    search.finish(before, exact.is_some())
}

/// How many settings may be compared: fewer where each takes long. A solution walks the trees
/// about 120 times for each service that can reject.
fn effort(question: &Question<'_>, space: &Space) -> u64 {
    let limited = question.under.services.iter().filter(|s| s.capacity().is_some()).count();
    let walks = (1 + 120 * limited) as u64;
    let each = (3 * space.calls * question.system.classes.len()) as u64 * walks;
    (MOST_WALKED / each.max(1)).clamp(*EVALUATIONS.start(), *EVALUATIONS.end())
}

/// Whether a setting is one of those that are asked for.
fn within(setting: &Setting, question: &Question<'_>, space: &Space) -> bool {
    space.free.iter().map(|i| &setting.limits[*i]).all(|limits| {
        limits.iter().all(|k| *k <= question.max_limit)
            && (question.any_order || limits.windows(2).all(|w| w[0] >= w[1]))
    })
}

struct Search<'a, 'g> {
    bench: Bench,
    space: Space,
    targets: &'a [Target],
    asis: Setting,
    best: Option<Solution>,
    layers: BTreeMap<Family, Solution>,
    frontier: Frontier,
    met: Met,
    seen: HashSet<Setting>,
    evaluations: u64,
    most: u64,
    partial: bool,
    go_on: &'g mut dyn FnMut(u64, u64) -> bool,
}

impl Search<'_, '_> {
    /// Compares a setting, unless it has been. Gives what it comes to, unless that cannot matter.
    fn consider(&mut self, setting: Setting) -> Result<Option<Solution>, PlanError> {
        if self.over() || self.seen.contains(&setting) {
            return Ok(None);
        }
        self.seen.insert(setting.clone());
        self.evaluations += 1;
        if !(self.go_on)(self.evaluations, self.most) {
            self.partial = true;
        }
        let closed = self.bench.closed(&setting);
        self.frontier.add(&setting, &closed);
        let family = Family::of(&setting, &self.space);
        // The closed forms bound what is missed and the amplification from below.
        let worse = |than: &Solution| self.is_worse(&closed, &than.measures);
        if self.met.knows(&closed, self.targets) && self.layers.get(&family).is_some_and(worse) {
            return Ok(None);
        }
        let solution = self.bench.complete(setting, closed)?;
        self.met.add(&solution.measures, self.targets);
        let better = |than: Option<&Solution>| {
            than.is_none_or(|than| compare(&solution, than, self.targets) == Ordering::Less)
        };
        if better(self.layers.get(&family)) {
            self.layers.insert(family, solution.clone());
        }
        if better(self.best.as_ref()) {
            self.best = Some(solution.clone());
        }
        Ok(Some(solution))
    }

    fn is_worse(&self, at_best: &Measures, than: &Measures) -> bool {
        let order = number(missed(at_best, self.targets), missed(than, self.targets));
        let order =
            order.then_with(|| number(at_best.worst_amplification, than.worst_amplification));
        order == Ordering::Greater
    }

    fn over(&self) -> bool {
        self.partial || self.evaluations >= self.most
    }

    /// Every setting that there is.
    fn everything(&mut self) -> Result<(), PlanError> {
        let (n, base) = (self.space.free.len(), self.space.vectors.len());
        let mut digits = vec![0; n];
        loop {
            let mut setting = self.asis.clone();
            for (i, digit) in self.space.free.iter().zip(&digits) {
                setting.limits[*i].clone_from(&self.space.vectors[*digit]);
            }
            self.consider(setting)?;
            let Some(place) = digits.iter().position(|d| d + 1 < base) else { return Ok(()) };
            digits[..place].fill(0);
            digits[place] += 1;
            if self.partial {
                return Ok(());
            }
        }
    }

    /// The same limits for every call of a set, and none for all others.
    fn families(&mut self, sets: &[Vec<usize>]) -> Result<(), PlanError> {
        for limits in self.space.vectors.clone() {
            for set in sets {
                let setting = self.only(set, &limits);
                self.consider(setting)?;
            }
        }
        Ok(())
    }

    fn only(&self, set: &[usize], limits: &[u32]) -> Setting {
        let mut setting = self.asis.clone();
        for i in &self.space.free {
            setting.limits[*i].fill(0);
        }
        for i in set {
            setting.limits[*i].clone_from_slice(limits);
        }
        setting
    }

    /// From the best few choices of layers, call by call to what is better there, as long as
    /// anything is.
    fn neighbours(&mut self) -> Result<(), PlanError> {
        let mut starts: Vec<Solution> = self.layers.values().cloned().collect();
        starts.sort_by(|a, b| compare(a, b, self.targets));
        starts.truncate(STARTS);
        for mut now in starts {
            loop {
                let mut moved = false;
                for at in 0..self.space.free.len() {
                    while self.improve(&mut now, self.space.free[at])? {
                        moved = true;
                    }
                }
                if !moved {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Goes to the best neighbour at one call if it is better: other limits there, or those of
    /// another call in exchange.
    fn improve(&mut self, now: &mut Solution, call: usize) -> Result<bool, PlanError> {
        let mut near = Vec::new();
        for limits in &self.space.vectors {
            let mut setting = now.setting.clone();
            setting.limits[call].clone_from(limits);
            near.push(setting);
        }
        if now.setting.limits[call].iter().any(|k| *k > 0) {
            for other in &self.space.free {
                let mut setting = now.setting.clone();
                setting.limits.swap(call, *other);
                near.push(setting);
            }
        }
        let mut moved = false;
        for setting in near {
            if let Some(found) = self.consider(setting)?
                && compare(&found, now, self.targets) == Ordering::Less
            {
                (*now, moved) = (found, true);
            }
        }
        Ok(moved)
    }

    /// Where limits alone cannot bound amplification and hide faults: the limits of each choice
    /// of layers under a budget that keeps amplification, or hidden capacity, to its target. Only
    /// where nothing is asked of an overload, since the model of an overload knows no budgets.
    fn budgets(&mut self, question: &Question<'_>) -> Result<(), PlanError> {
        let overload =
            |t: &Target| matches!(t, Target::Rejection { .. } | Target::Amplification(_));
        let bound = self.targets.iter().filter_map(|t| match t {
            Target::WorstAmplification(x) => Some(*x),
            // Where everything fails, healing needs that much less load.
            Target::CapacityShare(x) => Some(1.0 / x),
            Target::Capacity(x) => self.bench.advertised().map(|advertised| advertised / x),
            _ => None,
        });
        let Some(bound) = bound.reduce(f64::min).filter(|x| *x > 1.0) else { return Ok(()) };
        if self.targets.iter().any(overload) || matches!(question.system.work, Work::Routes(_)) {
            return Ok(());
        }
        self.most += *EVALUATIONS.start();
        let ratio = bound - 1.0;
        for set in self.space.sets(question.system) {
            // One layer: budgets of several multiply as limits do.
            if set.iter().any(|i| self.space.depth[*i] != self.space.depth[set[0]]) {
                continue;
            }
            // Down to a tenth of a percent; `deposit` knows no more than 1000 %.
            let permille = (ratio * 1000.0 + 1e-6).min(10_000.0) as u32;
            // A budget that transient faults exhaust would not hide them.
            if permille == 0 || self.bench.faults() > f64::from(permille) / 2000.0 {
                continue;
            }
            for limits in self.space.vectors.clone().into_iter().skip(1) {
                let limits = self.only(&set, &limits);
                self.consider(Setting { budget_permille: Some(permille), ..limits })?;
            }
        }
        Ok(())
    }

    fn finish(mut self, before: Solution, exact: bool) -> Result<Planned, PlanError> {
        let targets = self.targets;
        let mut frontier = Vec::new();
        for (setting, measures) in std::mem::take(&mut self.frontier).sorted() {
            let solution = self.bench.complete(setting, measures)?;
            frontier.push(Row { met: solution.meets(targets), solution });
        }
        let best = self.best.unwrap_or_else(|| before.clone());
        let met = best.meets(targets);
        let clashes = if met { Vec::new() } else { self.met.clashes(targets.len()) };
        Ok(Planned {
            met,
            clashes,
            reached: self.met.reached,
            layers: self.layers.into_iter().collect(),
            frontier,
            evaluations: self.evaluations,
            exact: exact && !self.partial,
            partial: self.partial,
            before,
            best,
        })
    }
}
