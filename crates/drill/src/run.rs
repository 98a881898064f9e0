//! Going through a plan: its phases one after another, while the load is under way, and the way
//! back from wherever it ends.

mod going;
mod poll;

use std::future::Future;
use std::pin::Pin;

use damper_control::lever::Action;
use damper_report::result::drill::Drill as Record;
use damper_system::model::System;
use damper_system::{CauseKind, Drill, PhaseKind, Pull};
use tokio::sync::watch;

use crate::consent::Consent;
use crate::lever;
use crate::live::Setup;
use crate::outcome;
use crate::places::Places;
use crate::undo::Ledger;
pub(crate) use going::{Going, Passed, Pulled, Stop, aborts, metric_is_well, rule};
pub(crate) use poll::Poll;

/// Who is asked what only a person can do.
pub trait People {
    /// Asks; the name of who has done it. `None`: nobody has, and the drill stops.
    fn ask<'a>(&'a self, text: &'a str) -> Pin<Box<dyn Future<Output = Option<String>> + 'a>>;
}

/// A plan and all that carries it out.
pub struct Drilling<'a> {
    /// The plan.
    pub drill: &'a Drill,
    /// Its system file, as slow as the plan.
    pub system: Option<&'a System>,
    /// Where things are.
    pub places: &'a Places,
    /// Who has agreed.
    pub consent: &'a Consent,
    /// What must be undone.
    pub ledger: &'a mut Ledger,
    /// Who is asked.
    pub people: &'a dyn People,
    /// Becomes true when it is to end.
    pub stop: watch::Receiver<bool>,
    /// Hears of what happens.
    pub say: &'a dyn Fn(&str),
}

/// How a drill ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It came to its end.
    Done,
    /// An abort condition of the plan, and which.
    Aborted(String),
    /// Somebody stopped it.
    Interrupted,
    /// Something could not be done.
    Failed(String),
}

/// What came of a drill.
#[derive(Clone, Debug)]
pub struct Run {
    /// How it ended.
    pub ended: Ended,
    /// What was measured until then.
    pub record: Record,
}

/// A drill that could not begin.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Its load cannot be sent.
    #[error("{0}")]
    Load(String),
    /// A phase, a trigger or the search does what a lever cannot.
    #[error("the lever {lever} has no command for `{action}`")]
    Lever {
        /// The lever.
        lever: String,
        /// What is to be done.
        action: &'static str,
    },
    /// The load exceeds a bound of the plan.
    #[error("the load reaches {peak:.0} requests per second, and `bounds.rate` is {bound:.0}")]
    TooFast {
        /// The highest rate.
        peak: f64,
        /// The bound.
        bound: f64,
    },
}

/// Goes through the phases of a plan, undoes what it did, and says what came of it.
///
/// # Errors
/// It could not begin; nothing was sent, and nothing was started.
pub async fn run(drilling: Drilling<'_>) -> Result<Run, Error> {
    can_be_pulled(drilling.drill, drilling.places)?;
    let setup =
        Setup::new(drilling.drill, drilling.system, drilling.places, drilling.consent).await;
    let setup = setup.map_err(Error::Load)?;
    let shares = drilling.drill.phases.iter().filter_map(|phase| match phase.kind {
        PhaseKind::Load { share, .. } => Some(share),
        _ => None,
    });
    let peak = setup.peak * shares.fold(0.0, f64::max);
    let bound = drilling.drill.bounds.rate;
    if peak > bound {
        return Err(Error::TooFast { peak, bound });
    }
    let consent = drilling.consent.clone();
    let (drill, places) = (drilling.drill, drilling.places);
    let target = places.targets(drill);
    let mut going = Going::start(drilling, &setup);
    let ended = match going.phases().await {
        Ok(()) => Ended::Done,
        Err(Stop::Aborted(why)) => Ended::Aborted(why),
        Err(Stop::Interrupted) => Ended::Interrupted,
        Err(Stop::Failed(why)) => Ended::Failed(why),
    };
    let back = going.back().await;
    let ended = match (ended, back) {
        (Ended::Done | Ended::Interrupted, Err(why)) => Ended::Failed(why),
        (Ended::Aborted(first) | Ended::Failed(first), Err(why)) => {
            Ended::Failed(format!("{first}; {why}"))
        }
        (ended, Ok(())) => ended,
    };
    let mut record = outcome::record(&going, &ended, setup.rate);
    record.target = target;
    record.owners = consent.hosts.into_iter().collect();
    Ok(Run { ended, record })
}

/// Whether every pull of the plan can be made: a lever without a command for it would do nothing,
/// and what follows would be taken for its effect.
pub(crate) fn can_be_pulled(drill: &Drill, places: &Places) -> Result<(), Error> {
    let phases = drill.phases.iter().filter_map(|phase| match &phase.kind {
        PhaseKind::Lever { lever, pull } => Some((*lever, *pull)),
        _ => None,
    });
    let triggers = drill.triggers.iter().filter_map(|cause| match &cause.kind {
        CauseKind::Lever { lever, pull } => Some((*lever, *pull)),
        _ => None,
    });
    let pause = |lever| (lever, Pull { action: Action::Pause, class: None });
    for (index, pull) in phases.chain(triggers).chain(drill.search.lever.map(pause)) {
        let Some(of) = drill.levers.get(index) else { continue };
        if lever::acts(drill, of, &pull, places, "").is_empty() {
            let action = crate::words::action(pull.action);
            return Err(Error::Lever { lever: of.name.clone(), action });
        }
    }
    Ok(())
}
