//! Levers that are where they were before a restart.

use std::path::Path;
use std::sync::{Arc, Mutex};

use damper_control::Nanos;
use damper_control::lever::{Change, ClassSet, LeverState, Pulled, Setting};
use damper_tower::{Flow, clock};

use super::kept::{self, File, Held};
use super::{Inner, Levers, Pending, Pull, Shared, apply};
use crate::hop::{Hop, Hops, action_of};
use crate::observe::{Kind, Line, Log, Watch, view};

impl Levers {
    /// The levers of these hops, brought to where they were by what is written down in a file, which is
    /// kept up to date from now on. One that cannot be read is noted in the log: the levers are open
    /// then, as they are without it.
    #[must_use]
    pub fn kept(now: Nanos, hops: Hops, watch: Watch, log: Option<Log>, path: &Path) -> Self {
        let file = File::new(path);
        let held = file.read();
        let inner = Inner { written_of: kept::named(&hops), ..Inner::default() };
        let inner = Mutex::new(inner);
        let levers = Self(Arc::new(Shared { hops, watch, log, file: Some(file), inner }));
        match held {
            Ok(held) => {
                let mut inner = levers.inner();
                for held in held {
                    levers.again(&mut inner, now, held);
                }
                levers.write_down(&mut inner, now);
            }
            Err(error) => levers.warn(now, "positions of levers cannot be read", &error),
        }
        levers
    }

    /// Holds back again what was held back.
    fn again(&self, inner: &mut Inner, now: Nanos, held: Held) {
        let Some(hop) = self.0.hops.find(&held.hop) else { return };
        let Some(classes) = classes(&hop, &held.classes) else { return };
        let lasts = match held.until_s.map(kept::left) {
            // It would have opened meanwhile.
            Some(None) => return,
            Some(lasts) => lasts,
            None => None,
        };
        let flow = held.caller.as_ref().map(|(flow, _)| Flow(*flow));
        let name = held.caller.and_then(|(_, name)| name);
        if let (Some(flow), Some(name)) = (flow, &name) {
            inner.callers.insert(flow.0, name.clone());
        }
        let setting = Setting::from(held.position);
        let action = action_of(setting);
        let why = "as before the restart";
        let change = Change { action, classes, who: "damper", why };
        if apply(&hop, flow, change) != Some(Pulled::Changed) {
            return;
        }
        let pull = Pull::own(held.classes, name, why.to_owned());
        let entry = self.note(inner, now, &hop, &pull, &view::position(setting), lasts);
        if let Some(lasts) = lasts {
            inner.pending.push(Pending {
                due: now + lasts,
                entry: Some(entry.id),
                hop: hop.name().to_owned(),
                caller: flow,
                classes,
                before: LeverState::default(),
                under: Vec::new(),
                names: hop.classes().to_vec(),
            });
        }
    }

    /// Writes down what is held back.
    pub(super) fn write_down(&self, inner: &mut Inner, now: Nanos) {
        let Some(file) = &self.0.file else { return };
        inner.written = now;
        inner.written_of = kept::named(&self.0.hops);
        let mut all = Vec::new();
        for hop in &*self.0.hops.list() {
            let lever = hop.lever();
            let callers = lever.callers().into_iter().map(Some);
            for flow in [None].into_iter().chain(callers) {
                for group in super::state(hop, flow).groups {
                    let same = |p: &&Pending| {
                        p.hop == hop.name() && p.caller == flow && p.classes == group.classes
                    };
                    let due = inner.pending.iter().find(same).map(|pending| pending.due);
                    all.push(Held {
                        caller: flow.map(|flow| (flow.0, inner.callers.get(&flow.0).cloned())),
                        until_s: due.map(|due| kept::seconds_in(clock::duration(due.since(now)))),
                        ..Held::of(hop, &group)
                    });
                }
            }
        }
        if let Err(error) = file.write(all) {
            self.warn(now, "positions of levers cannot be written down", &error);
        }
    }

    fn warn(&self, now: Nanos, message: &str, error: &std::io::Error) {
        if let Some(log) = &self.0.log {
            log.write_at(now, Kind::System, || Line {
                message,
                error: Some(error),
                ..Line::default()
            });
        }
    }
}

/// The classes with these names; none: all. `None`: the hop has none of them any more.
fn classes(hop: &Hop, names: &[String]) -> Option<ClassSet> {
    if names.is_empty() {
        return Some(ClassSet::ALL);
    }
    let known = (0u8..).zip(hop.classes()).filter(|(_, name)| names.contains(name));
    let set = known.fold(ClassSet::NONE, |set, (at, _)| set.with(ClassSet::of(at)));
    (!set.is_empty()).then_some(set)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hop::Direction;
    use serde_json::json;
    use std::time::Duration;

    /// A process with a hop of these classes and this file.
    fn process(classes: &[&str], file: &Path) -> (Levers, Arc<Hop>) {
        let hops = Hops::default();
        let classes = classes.iter().map(|name| (*name).to_owned()).collect();
        hops.install(vec![Hop::new("db", Direction::Inbound, classes)]).unwrap();
        let hop = hops.find("db").unwrap();
        let watch = Watch::new(hops.clone());
        (Levers::kept(clock::now(), hops, watch, None, file), hop)
    }

    fn pull(levers: &Levers, mut pull: serde_json::Value) {
        pull["who"] = "ann".into();
        pull["why"] = "the database is slow".into();
        levers.pull(clock::now(), &serde_json::from_value(pull).unwrap()).unwrap();
    }

    fn held(levers: &Levers, hop: &Hop) -> Vec<String> {
        let held = levers.view(hop).held.into_iter();
        held.map(|h| format!("{} {:?}: {}", h.classes.join("+"), h.caller, h.position)).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn a_restart_opens_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("levers.json");
        let (levers, hop) = process(&["high", "low"], &file);
        assert_eq!(held(&levers, &hop), [""; 0], "no file yet");
        pull(&levers, json!({"action": "throttle", "to": "12.5%", "classes": ["low"]}));
        pull(&levers, json!({"action": "throttle", "to": "10/s", "caller": "bot", "for": "10m"}));
        let before = held(&levers, &hop);
        assert_eq!(
            before,
            ["low None: throttled to 12.5%", "high+low Some(\"bot\"): throttled to 10/s"]
        );
        drop((levers, hop));

        let (levers, hop) = process(&["high", "low"], &file);
        assert_eq!(held(&levers, &hop), before);
        let journal = levers.journal();
        let said: Vec<_> = journal.iter().map(|e| (e.who.as_str(), e.why.as_str())).collect();
        assert_eq!(said, [("damper", "as before the restart"); 2]);
        assert_eq!(journal[0].reverts_at, None);
        assert!(journal[1].reverts_at.is_some());
        // The time that was left goes on.
        tokio::time::advance(Duration::from_secs(600)).await;
        levers.tick(clock::now());
        assert_eq!(held(&levers, &hop), before[..1]);
        pull(&levers, json!({"action": "open"}));
        drop((levers, hop));
        let (levers, hop) = process(&["high", "low"], &file);
        assert_eq!(held(&levers, &hop), [""; 0], "what was opened stays open");
    }

    #[tokio::test(start_paused = true)]
    async fn a_ramp_goes_on_and_is_never_more_open_than_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("levers.json");
        let (levers, hop) = process(&["high", "low"], &file);
        pull(&levers, json!({"action": "ramp", "from": "0%", "to": "100%", "over": "100s"}));
        for _ in 0..52 {
            tokio::time::advance(Duration::from_secs(1)).await;
            levers.tick(clock::now());
        }
        drop((levers, hop));
        let (levers, hop) = process(&["high", "low"], &file);
        assert_eq!(held(&levers, &hop), ["high+low None: ramping from 50% to 100%, 50s left"]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_reload_that_renames_classes_is_written_down_without_a_pull() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("levers.json");
        let (levers, _) = process(&["high", "low"], &file);
        pull(&levers, json!({"action": "pause", "classes": ["low"]}));
        levers.tick(clock::now());
        let names = || {
            let state: serde_json::Value =
                serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
            state["held"][0]["classes"].clone()
        };
        let before = std::fs::metadata(&file).unwrap().modified().unwrap();
        levers.tick(clock::now());
        assert_eq!(std::fs::metadata(&file).unwrap().modified().unwrap(), before, "nothing is new");
        let hops = &levers.0.hops;
        let classes = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        let next = hops.begin("db", Direction::Inbound, classes(&["first", "low", "last"]));
        hops.install(vec![next]).unwrap();
        assert_eq!(names(), json!(["low"]));
        levers.tick(clock::now());
        let (levers, hop) = process(&["first", "low", "last"], &file);
        assert_eq!(held(&levers, &hop), ["low None: paused"]);
        // A class that is gone is held back no more, in the file neither: after a restart with the
        // old names it stays open.
        let next = levers.0.hops.begin("db", Direction::Inbound, classes(&["first", "last"]));
        levers.0.hops.install(vec![next]).unwrap();
        levers.tick(clock::now());
        assert_eq!(names(), json!(null));
        let (levers, hop) = process(&["high", "low"], &file);
        assert_eq!(held(&levers, &hop), [""; 0]);
    }

    #[tokio::test(start_paused = true)]
    async fn other_classes_and_broken_files_are_no_reason_not_to_start() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("levers.json");
        let (levers, _) = process(&["high", "low"], &file);
        pull(&levers, json!({"action": "pause", "classes": ["low"]}));
        let (levers, hop) = process(&["first", "low"], &file);
        assert_eq!(held(&levers, &hop), ["low None: paused"]);
        let (levers, hop) = process(&["first", "second"], &file);
        assert_eq!(held(&levers, &hop), [""; 0]);
        for broken in ["", "{", "{\"lever\": 2, \"held\": []}", "\u{0}"] {
            std::fs::write(&file, broken).unwrap();
            let (levers, hop) = process(&["high", "low"], &file);
            assert_eq!(held(&levers, &hop), [""; 0], "{broken}");
        }
    }
}
