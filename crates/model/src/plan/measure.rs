//! What a setting comes to.

use damper_system::System;
use damper_system::model::Work;

use super::{PlanError, Question, Setting, Solution, Target, apply};
use crate::system;

/// What a setting comes to.
#[derive(Clone, Debug, PartialEq)]
pub struct Measures {
    /// Under the conditions: share of the requests that do not complete, by class.
    pub rejection: Vec<f64>,
    /// Under the conditions: the largest amplification of a service.
    pub amplification: f64,
    /// Under the conditions: attempts per request at services with a capacity.
    pub calls_per_request: f64,
    /// The largest amplification of a service if everything fails that can be retried.
    pub worst_amplification: f64,
    /// With transient faults and no overload: share of the requests that complete. `None`: no
    /// closed form.
    pub availability: Option<f64>,
    /// Share of the requests which fail by a transient fault without retries that succeed with
    /// them. `None`: no closed form.
    pub hides: Option<f64>,
    /// Requests per second below which every service heals by itself; `None`: no service can
    /// sustain a loop, or there is no closed form.
    pub hidden_rps: Option<f64>,
    /// Requests per second that it serves while nothing fails; `None`: nothing limits it, or
    /// there is no closed form.
    pub advertised_rps: Option<f64>,
}

impl Measures {
    /// Requests per second below which it heals by itself: hidden capacity, or where no loop can
    /// outlast its trigger all that it can serve.
    #[must_use]
    pub fn heals_below(&self) -> f64 {
        self.hidden_rps.or(self.advertised_rps).unwrap_or(f64::INFINITY)
    }
}

/// Three systems that differ in nothing but what is to be set.
pub(super) struct Bench {
    asis: System,
    under: System,
    shaken: System,
    /// Budgets of the file, which a setting with its own replaces.
    free: Vec<usize>,
    /// Share of the requests that complete with transient faults and no retry.
    bare: Option<f64>,
    advertised: Option<f64>,
    /// What the conditions came to where it does not matter.
    unknown: Vec<f64>,
}

impl Bench {
    pub(super) fn of(question: &Question<'_>, free: &[usize]) -> Result<Self, PlanError> {
        let same = |a: &System, b: &System| {
            let (a, b) = (&a.policies.edges, &b.policies.edges);
            a.len() == b.len()
                && a.iter().zip(b).all(|(a, b)| (a.caller, a.target) == (b.caller, b.target))
        };
        if !same(question.system, question.under)
            || question.system.classes != question.under.classes
        {
            return Err(PlanError::OtherCalls);
        }
        if let Work::Routes(_) = question.system.work {
            let closed = |t: &Target| t.at_least();
            if question.targets.iter().any(closed) {
                return Err(PlanError::NoClosedForm);
            }
        }
        let mut shaken = question.system.clone();
        for service in &mut shaken.services {
            service.failure = 1.0 - (1.0 - service.failure) * (1.0 - question.transient);
        }
        let mut bare = shaken.clone();
        let mut none = apply::read(&bare);
        none.limits.iter_mut().flatten().for_each(|k| *k = 0);
        apply::write(&mut bare, &none, &[]);
        Ok(Self {
            asis: question.system.clone(),
            under: question.under.clone(),
            bare: system::unhurried(&bare),
            advertised: system::advertised(question.system),
            unknown: vec![0.0; question.system.classes.len()],
            free: free.to_vec(),
            shaken,
        })
    }

    /// Closed forms alone: all but what depends on the conditions, which reads as if nothing was
    /// rejected.
    pub(super) fn closed(&mut self, setting: &Setting) -> Measures {
        let kept = setting.budget_permille.map(|_| self.asis.policies.clone());
        apply::write(&mut self.asis, setting, &self.free);
        apply::write(&mut self.shaken, setting, &[]);
        let forms = system::closed_forms(&self.asis);
        let availability = system::unhurried(&self.shaken);
        if let Some(policies) = kept {
            self.asis.policies = policies;
        }
        let hides = self
            .bare
            .zip(availability)
            .map(|(bare, with)| if bare < 1.0 { 1.0 - (1.0 - with) / (1.0 - bare) } else { 1.0 });
        Measures {
            rejection: self.unknown.clone(),
            amplification: 1.0,
            calls_per_request: 0.0,
            worst_amplification: forms.worst_amplification,
            availability,
            hides,
            hidden_rps: forms.hidden_rps,
            advertised_rps: self.advertised,
        }
    }

    pub(super) fn advertised(&self) -> Option<f64> {
        self.advertised
    }

    /// Share of the requests that fail by transient faults where nobody retries.
    pub(super) fn faults(&self) -> f64 {
        self.bare.map_or(0.0, |bare| 1.0 - bare)
    }

    /// Adds what depends on the conditions.
    pub(super) fn complete(
        &mut self,
        setting: Setting,
        mut measures: Measures,
    ) -> Result<Solution, PlanError> {
        apply::write(&mut self.under, &setting, &[]);
        let solved = system::solve_once(&self.under)?;
        measures.rejection = solved.classes.iter().map(|c| c.rejection.max(0.0)).collect();
        measures.amplification =
            solved.services.iter().map(|s| s.amplification).fold(1.0, f64::max);
        measures.calls_per_request = solved.calls_per_request;
        Ok(Solution { setting, measures })
    }
}
