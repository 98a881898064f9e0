//! A trigger of `damper emulate`, by its admin port.

use damper_system::Url;

use super::Script;
use crate::act::{Act, Check, Must};

pub(super) fn script(admin: &Url, trigger: &str) -> Script {
    let start = admin.at(&format!("/trigger/{trigger}"));
    let stop = admin.at(&format!("/trigger/{trigger}/stop"));
    let must = Must::Miss { pointer: "/active".to_owned(), text: trigger.to_owned() };
    Script {
        start: vec![Act::post(start, None)],
        stop: vec![Act::post(stop, None)],
        checks: vec![Check { act: Act::get(admin), must }],
        is_alone: false,
    }
}
