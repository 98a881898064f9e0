//! A pair of commands.

use super::Script;
use crate::act::{Act, Check, Must};

pub(super) fn script(start: &str, stop: &str, check: Option<&str>) -> Script {
    let checks = check.map(|c| Check { act: Act::Shell(c.to_owned()), must: Must::Succeed });
    Script {
        start: vec![Act::Shell(start.to_owned())],
        stop: vec![Act::Shell(stop.to_owned())],
        checks: checks.into_iter().collect(),
        is_alone: false,
    }
}
