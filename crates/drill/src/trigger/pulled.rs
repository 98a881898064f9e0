//! A pull of a lever, by which something goes wrong.

use damper_control::lever::Action;
use damper_system::{Drill, LeverKind, Pull};
use serde_json::json;

use super::Script;
use crate::act::{Act, Check, Must};
use crate::lever;
use crate::places::Places;

pub(super) fn script(drill: &Drill, index: usize, pull: &Pull, places: &Places) -> Script {
    let Some(of) = drill.levers.get(index) else {
        return Script { start: Vec::new(), stop: Vec::new(), checks: Vec::new(), is_alone: false };
    };
    let open = Pull { action: Action::Open, class: pull.class };
    Script {
        start: lever::acts(drill, of, pull, places, "a drill makes this go wrong"),
        stop: lever::acts(drill, of, &open, places, "the drill is over"),
        checks: check(&of.kind, places).into_iter().collect(),
        is_alone: false,
    }
}

/// An emulation says how each door stands. Of others the answer to `open` is what there is.
fn check(kind: &LeverKind, places: &Places) -> Option<Check> {
    let LeverKind::Emulate { at, service } = kind else { return None };
    let name = service.replace('~', "~0").replace('/', "~1");
    let must = Must::Be { pointer: format!("/{name}/action"), value: json!("open") };
    Some(Check { act: Act::get(places.admin(at).at("/lever")), must })
}
