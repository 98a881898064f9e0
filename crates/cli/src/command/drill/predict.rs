//! What the model says of the same, to stand beside what was measured.

use std::sync::atomic::{AtomicBool, Ordering};

use damper_control::Nanos;
use damper_report::result::drill::{Drill as Record, Predicted};
use damper_sim::{Conditions, Control, HeadroomOptions, Plan, headroom, simulate};
use damper_system::coverage::Command;
use damper_system::model::{Load, System};
use damper_system::{CauseKind, Drill, PhaseKind, Size};

use crate::convert;

/// Simulates it; `None`: there is no system file, or no trigger of it in the plan.
pub(crate) fn predict(
    drill: &Drill,
    slower: f64,
    search: bool,
    stop: &AtomicBool,
) -> anyhow::Result<Option<Predicted>> {
    let Some(plant) = &drill.plant else { return Ok(None) };
    let Some((trigger, lasts)) = trigger(drill, &plant.system, search) else { return Ok(None) };
    let mut system = plant.system.clone();
    if let Some(rates) = &drill.load {
        system.load = rates.iter().map(|rate| Load::Constant(*rate)).collect();
    }
    system.experiment.trigger = Some(trigger);
    if let Some(lasts) = lasts {
        for action in &mut system.triggers[trigger].actions {
            action.lasts = action.lasts.min(lasts);
        }
    }
    let control = Control { stop, progress: &|_, _, _| {} };
    let mut predicted = if search && drill.search.of == Size::Load {
        capacities(drill, &system, slower, &control)?
    } else {
        Predicted::default()
    };
    if !search {
        let plan = Plan::new(&system);
        let run = simulate(&plan, &Conditions::of(&plan), 3, &control);
        let verdict = run.verdict();
        predicted.state = verdict.state.name().to_owned();
        predicted.recovery_s = verdict.recovery.map(|t| t.as_secs_f64() * slower);
    }
    if stop.load(Ordering::Relaxed) {
        return Ok(None);
    }
    Ok(Some(predicted))
}

fn capacities(
    drill: &Drill,
    system: &System,
    slower: f64,
    control: &Control<'_>,
) -> anyhow::Result<Predicted> {
    let Some(plant) = &drill.plant else { return Ok(Predicted::default()) };
    let options = HeadroomOptions { replications: 5, remedy_replications: 3, remedies: false };
    let found = headroom(&plant.file, system, &options, control)?;
    let slow = |x: f64| x / slower;
    let model = damper_model::system::solve(system).ok().and_then(|solved| solved.hidden_rps);
    Ok(Predicted {
        hidden_rps: found.hidden.map(|e| slow(e.mean)),
        hidden_ci95: found.hidden.map(|e| e.ci95.map(slow)),
        hidden_model_rps: model.map(slow),
        model_left_out: model
            .map(|_| convert::left_out(Command::DrillModel, system))
            .unwrap_or_default(),
        advertised_rps: found.advertised.map(|e| slow(e.mean)),
        state: found.state.name().to_owned(),
        ..Predicted::default()
    })
}

/// The trigger of the system file that the plan starts, and for how long at most.
fn trigger(drill: &Drill, system: &System, search: bool) -> Option<(usize, Option<Nanos>)> {
    let started = drill.phases.iter().find_map(|phase| match phase.kind {
        PhaseKind::Start { trigger, lasts } => Some((trigger, lasts)),
        _ => None,
    });
    let (index, lasts) = if search {
        (drill.search.trigger.unwrap_or(0), Some(drill.search.lasts))
    } else {
        started?
    };
    let CauseKind::Emulate { trigger, .. } = &drill.triggers.get(index)?.kind else { return None };
    let at = system.triggers.iter().position(|t| t.name == *trigger)?;
    Some((at, lasts))
}

/// Puts what was predicted beside what was measured.
pub(crate) fn beside(record: &mut Record, predicted: Option<Predicted>) {
    let Some(predicted) = predicted else { return };
    let recovery = match (predicted.recovery_s, predicted.state.as_str()) {
        (Some(s), _) => Some(format!("{s:.1} s")),
        (None, "metastable") => Some("it does not recover by itself".to_owned()),
        _ => None,
    };
    for expectation in &mut record.expectations {
        if expectation.text.starts_with("recovery") {
            expectation.predicted.clone_from(&recovery);
        }
    }
    record.predicted = Some(predicted);
}
