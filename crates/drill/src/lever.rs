//! Pulling a lever: the same words for the door of an emulation and for `damper proxy`, commands
//! for everything else.

use std::time::Duration;

use damper_control::Nanos;
use damper_control::lever::{Action, Level, Ramp};
use damper_system::{Drill, LeverKind, Pull, WorkLever};
use serde_json::{Map, Value};

use crate::act::{Act, PATIENCE};
use crate::places::Places;
use crate::undo::Undo;

/// Who pulls, as journals have it.
const WHO: &str = "damper drill";

/// What pulls it. Nothing, if there is no command for that: the plan is refused before it runs.
pub(crate) fn acts(
    drill: &Drill,
    lever: &WorkLever,
    pull: &Pull,
    places: &Places,
    why: &str,
) -> Vec<Act> {
    let class = pull.class.and_then(|class| drill.classes.get(class));
    match &lever.kind {
        LeverKind::Emulate { at, service } => {
            let mut body = body(pull, class, why);
            body.insert("hop".to_owned(), service.as_str().into());
            vec![Act::post(places.admin(at).at("/lever"), Some(body.into()))]
        }
        LeverKind::Proxy { at, hop, caller, token_env } => {
            let mut body = body(pull, class, why);
            for (key, value) in [("hop", hop), ("caller", caller)] {
                if let Some(value) = value {
                    body.insert(key.to_owned(), value.as_str().into());
                }
            }
            vec![Act::Http {
                method: "POST".to_owned(),
                url: at.at("/lever").to_string(),
                body: Some(body.into()),
                token_env: token_env.clone(),
            }]
        }
        LeverKind::Commands { open, pause, throttle, ramp } => {
            let (command, to, over) = match pull.action {
                Action::Open | Action::Hold => (Some(open), None, None),
                Action::Pause => (pause.as_ref(), None, None),
                Action::Throttle(level) => (throttle.as_ref(), Some(level), None),
                // Without a command for it, a ramp ends where it leads to.
                Action::Ramp(r) => (ramp.as_ref().or(throttle.as_ref()), Some(r.to), Some(r.over)),
            };
            let Some(command) = command else { return Vec::new() };
            let filled = command
                .replace("{class}", class.map_or("all", String::as_str))
                .replace("{to}", &to.map(level_text).unwrap_or_default())
                .replace("{over}", &over.map(time_text).unwrap_or_default());
            vec![Act::Shell(filled)]
        }
    }
}

/// How long a pull may take: a command may carry out a ramp itself.
pub(crate) fn patience(pull: &Pull) -> Duration {
    match pull.action {
        Action::Ramp(ramp) => PATIENCE + Duration::from_nanos(ramp.over.0),
        _ => PATIENCE,
    }
}

/// What the ledger calls a lever that is pulled, for all or for one class: each must be opened.
fn id(drill: &Drill, lever: &WorkLever, class: Option<usize>) -> String {
    match class.and_then(|class| drill.classes.get(class)) {
        Some(class) => format!("lever {} of {class}", lever.name),
        None => format!("lever {}", lever.name),
    }
}

/// Whether a pull leaves nothing shut that it speaks of: what ends open by itself needs nobody to
/// open it.
pub(crate) fn opens(pull: &Pull) -> bool {
    match pull.action {
        Action::Open => true,
        Action::Ramp(ramp) => ramp.to == Level::Share(1.0),
        _ => false,
    }
}

/// What the ledger need not open any more after a pull that opens: an opening for all is one for
/// every class, one for a class is for no other.
pub(crate) fn opened(drill: &Drill, lever: &WorkLever, pull: &Pull) -> Vec<String> {
    match pull.class {
        Some(_) => vec![id(drill, lever, pull.class)],
        None => {
            let classes = (0..drill.classes.len()).map(Some);
            std::iter::once(None).chain(classes).map(|class| id(drill, lever, class)).collect()
        }
    }
}

/// What a drill that ends does with a lever that is pulled: it opens it by a ramp, since all that
/// waited would come back at once otherwise.
pub(crate) fn reopen(
    drill: &Drill,
    index: usize,
    class: Option<usize>,
    places: &Places,
) -> Option<Undo> {
    let lever = drill.levers.get(index)?;
    let (from, to) = (Level::Share(0.05), Level::Share(1.0));
    let ramp = Ramp { from, to, over: lever.reopen, steps: 0 };
    let can_ramp = !matches!(lever.kind, LeverKind::Commands { ramp: None, .. });
    let action = if can_ramp { Action::Ramp(ramp) } else { Action::Open };
    let pull = Pull { action, class };
    let id = id(drill, lever, class);
    let what = format!("{id} is opened");
    let acts = acts(drill, lever, &pull, places, "the drill is over");
    let undo = Undo::new(id, what, acts, Vec::new());
    let place = match &lever.kind {
        LeverKind::Emulate { at, .. } => Some(at),
        _ => None,
    };
    let undo = undo.on(place, places);
    Some(Undo { patience_s: patience(&pull).as_secs_f64(), ..undo })
}

fn body(pull: &Pull, class: Option<&String>, why: &str) -> Map<String, Value> {
    let mut body = Map::new();
    let mut put = |key: &str, value: String| body.insert(key.to_owned(), value.into());
    match pull.action {
        Action::Open => drop(put("action", "open".to_owned())),
        Action::Pause => drop(put("action", "pause".to_owned())),
        Action::Hold => drop(put("action", "hold".to_owned())),
        Action::Throttle(level) => {
            put("action", "throttle".to_owned());
            put("to", level_text(level));
        }
        Action::Ramp(ramp) => {
            put("action", "ramp".to_owned());
            put("from", level_text(ramp.from));
            put("to", level_text(ramp.to));
            put("over", time_text(ramp.over));
        }
    }
    put("who", WHO.to_owned());
    put("why", why.to_owned());
    if let Some(class) = class {
        body.insert("classes".to_owned(), vec![class.as_str()].into());
    }
    body
}

/// `30%`, `50/s`.
pub(crate) fn level_text(level: Level) -> String {
    match level {
        Level::Share(share) => format!("{}%", (share * 1e6).round() / 1e4),
        Level::Rate(rate) => format!("{}/s", (rate * 1e4).round() / 1e4),
    }
}

/// `60s`, `250ms`.
fn time_text(time: Nanos) -> String {
    let ms = (time.as_secs_f64() * 1e3).round().max(1.0);
    if ms % 1000.0 == 0.0 { format!("{}s", ms / 1000.0) } else { format!("{ms}ms") }
}
