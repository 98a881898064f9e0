//! Says in words what a plan says in types.

use damper_control::lever::Action;
use damper_system::{Abort, Believes, Drill, Limit, Pull, Requirement, Strength, Watched};

use crate::lever::level_text;

/// The name of what is done with a lever.
pub(crate) fn action(action: Action) -> &'static str {
    match action {
        Action::Open => "open",
        Action::Throttle(_) => "throttle",
        Action::Pause => "pause",
        Action::Ramp(_) => "ramp",
        Action::Hold => "hold",
    }
}

/// Whose certificates are believed.
pub(crate) fn believes(believes: &Believes) -> String {
    match believes {
        Believes::System => "TLS: the authorities of this system are believed".to_owned(),
        Believes::Authorities(file) => {
            format!("TLS: the authorities of {} are believed", file.display())
        }
        Believes::Anything => "TLS: any certificate is believed".to_owned(),
    }
}

/// `throttle low to 10%`.
pub(crate) fn pull(drill: &Drill, pull: &Pull) -> String {
    let class = pull.class.and_then(|class| drill.classes.get(class));
    let whom = class.map_or("all", String::as_str);
    let word = action(pull.action);
    match pull.action {
        Action::Throttle(level) => format!("{word} {whom} to {}", level_text(level)),
        Action::Ramp(ramp) => format!(
            "{word} {whom} from {} to {} over {}",
            level_text(ramp.from),
            level_text(ramp.to),
            ramp.over
        ),
        _ => format!("{word} {whom}"),
    }
}

/// `goodput of low below 10% for 60s`.
pub(crate) fn abort(drill: &Drill, abort: &Abort) -> String {
    let what = match abort.what {
        Strength::Goodput { share, class } => {
            format!("goodput{} below {}", of_class(drill, class), percent(share))
        }
        Strength::Metric(watched) => metric(drill, &watched),
    };
    format!("{what} for {}", abort.lasts)
}

/// `queue below 10`.
pub(crate) fn metric(drill: &Drill, watched: &Watched) -> String {
    let name = drill.metrics.get(watched.metric).map_or("a metric", |m| m.name.as_str());
    match watched.limit {
        Limit::Below(limit) => format!("{name} below {limit}"),
        Limit::Above(limit) => format!("{name} above {limit}"),
    }
}

/// `recovery under 30s`.
pub(crate) fn requirement(drill: &Drill, requirement: &Requirement) -> String {
    match requirement {
        Requirement::Recovery(time) => format!("recovery under {time}"),
        Requirement::Detection(time) => format!("noticed within {time}"),
        Requirement::Goodput { share, class, during } => {
            let when = during.as_ref().map_or("throughout".to_owned(), |d| format!("in `{d}`"));
            format!("goodput{} at least {} {when}", of_class(drill, *class), percent(*share))
        }
        Requirement::Amplification(factor) => format!("amplification at most {factor}x"),
        Requirement::Lost(share) => format!("at most {} lost", percent(*share)),
        Requirement::Moved(metric) => {
            format!("{} moved", drill.metrics.get(*metric).map_or("", |m| m.name.as_str()))
        }
    }
}

fn of_class(drill: &Drill, class: Option<usize>) -> String {
    let class = class.and_then(|class| drill.classes.get(class));
    class.map_or_else(String::new, |class| format!(" of {class}"))
}

/// A share in percent, with one digit where it has one.
pub(crate) fn percent(share: f64) -> String {
    let tenths = (share * 1000.0).round() / 10.0;
    format!("{tenths}%")
}
