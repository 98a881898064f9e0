//! What goes wrong on command: one file for each kind, which says what starts it, what stops it,
//! and how to see that it has stopped.

mod commands;
mod emulate;
mod envoy;
mod netem;
mod pulled;
mod toxiproxy;

use damper_control::Nanos;
use damper_system::model::System;
use damper_system::{Cause, CauseKind, Drill, Place};

use crate::act::{Act, Check};
use crate::places::Places;

/// A trigger as acts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Script {
    /// Starts it.
    pub(crate) start: Vec<Act>,
    /// Stops it; doing so twice does no harm.
    pub(crate) stop: Vec<Act>,
    /// What must be so then. Without any, `stop` must succeed.
    pub(crate) checks: Vec<Check>,
    /// Whether that must be so before it is started, too: what is there already is somebody else's,
    /// and `stop` would take it away.
    pub(crate) is_alone: bool,
}

impl Script {
    /// Makes sure that nothing is there that `stop` would take away.
    ///
    /// # Errors
    /// There is, in words.
    pub(crate) async fn may_start(&self) -> Result<(), String> {
        for check in self.checks.iter().filter(|_| self.is_alone) {
            let clear = check.run().await;
            clear
                .map_err(|error| format!("not started, since it may be there already: {error}"))?;
        }
        Ok(())
    }
}

/// The acts of a trigger of a plan.
pub(crate) fn script(drill: &Drill, cause: &Cause, places: &Places) -> Script {
    match &cause.kind {
        CauseKind::Emulate { at, trigger } => emulate::script(&places.admin(at), trigger),
        CauseKind::Lever { lever, pull } => pulled::script(drill, *lever, pull, places),
        CauseKind::Envoy { at, abort, delay, share } => envoy::script(at, *abort, *delay, *share),
        CauseKind::Toxiproxy { at, proxy, toxic, stream, attributes } => {
            toxiproxy::script(at, proxy, toxic.as_deref(), stream, attributes)
        }
        CauseKind::Netem { namespace, device, delay, jitter, loss } => {
            netem::script(namespace, device, *delay, *jitter, *loss)
        }
        CauseKind::Commands { start, stop, check } => {
            commands::script(start, stop, check.as_deref())
        }
    }
}

/// The emulation of a trigger that is one of an emulation's.
pub(crate) fn place(cause: &Cause) -> Option<&Place> {
    match &cause.kind {
        CauseKind::Emulate { at, .. } => Some(at),
        _ => None,
    }
}

/// How long a trigger of the emulation that is the target lasts by itself.
pub(crate) fn own_length(cause: &Cause, system: Option<&System>) -> Option<Nanos> {
    let CauseKind::Emulate { at: Place::Emulation, trigger } = &cause.kind else { return None };
    let found = system?.triggers.iter().find(|t| t.name == *trigger)?;
    Some(found.length())
}

#[cfg(test)]
mod tests {
    use damper_system::DrillFile;

    use super::*;

    const ALL: &str = "
drill: 1
target: http://127.0.0.1:8080/
load: 10/s
levers: {door: {proxy: 'http://127.0.0.1:9000', hop: web, token_env: TOKEN}}
triggers:
  blip: {emulate: blip, admin: 'http://127.0.0.1:7000'}
  shut: {lever: door, pull: throttle, to: 20%}
  errors: {envoy: 'http://127.0.0.1:9901', abort: 503, share: 50%}
  late: {envoy: 'http://127.0.0.1:9901', delay: 250ms}
  lag: {toxiproxy: 'http://127.0.0.1:8474', proxy: db, toxic: latency, attributes: {latency: 1000}}
  cut: {toxiproxy: 'http://127.0.0.1:8474', proxy: db}
  lossy: {netem: blue, device: eth0, delay: 100ms, jitter: 10ms, loss: 1.5%}
  own: {start: ./break, stop: ./mend, check: ./is-well}
phases: [{load: 100%}, {hold: 1s}]
";

    /// Exactly what is done to somebody else's program.
    #[test]
    fn what_each_does() {
        let drill = DrillFile::parse("t", ALL).unwrap().lower().unwrap();
        let mut out = String::new();
        for cause in &drill.triggers {
            let script = script(&drill, cause, &Places::default());
            out.push_str(&format!("{}\n", cause.name));
            script.start.iter().for_each(|act| out.push_str(&format!("  start {act}\n")));
            script.stop.iter().for_each(|act| out.push_str(&format!("  stop  {act}\n")));
            script.checks.iter().for_each(|c| out.push_str(&format!("  check {c}\n")));
        }
        insta::assert_snapshot!(out);
    }
}
