//! Where things are: the addresses of a plan, and those of an emulation, which chooses its ports.

use damper_system::CauseKind;
use damper_system::{Drill, LeverKind, MetricKind, Place, Speaks, Url};

/// An emulation that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Emulated {
    /// Its admin port.
    pub admin: Url,
    /// Where requests of the clients go.
    pub entry: Url,
    /// What it speaks.
    pub speaks: Speaks,
}

/// Addresses for what a plan calls the emulation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// The emulation that is the target, if there is one.
    pub emulation: Option<Emulated>,
    /// The drill has started it, and ends it.
    pub owned: bool,
}

/// Stands for the admin port of an emulation that does not run yet.
const UNKNOWN: &str = "emulation-admin";

impl Places {
    /// The admin port.
    pub(crate) fn admin(&self, place: &Place) -> Url {
        match (place, &self.emulation) {
            (Place::At(url), _) => url.clone(),
            (Place::Emulation, Some(emulated)) => emulated.admin.clone(),
            (Place::Emulation, None) => of_nobody(UNKNOWN, "/"),
        }
    }

    /// Where load goes, all of it in words.
    #[must_use]
    pub fn targets(&self, drill: &Drill) -> String {
        let mut all: Vec<String> = Vec::new();
        for part in &drill.parts {
            let at = self.at(&part.target).to_string();
            if !all.contains(&at) {
                all.push(at);
            }
        }
        all.join(", ")
    }

    /// Where load goes that is for this place.
    pub(crate) fn at(&self, place: &Place) -> Url {
        match (place, &self.emulation) {
            (Place::At(url), _) => url.clone(),
            (Place::Emulation, Some(emulated)) => emulated.entry.clone(),
            (Place::Emulation, None) => of_nobody("emulation", "/request"),
        }
    }
}

/// An address that is not known yet.
fn of_nobody(host: &str, path: &str) -> Url {
    Url { tls: false, host: host.to_owned(), port: 80, path: path.to_owned() }
}

/// Every address that a plan names, each once, with what it is for.
pub(crate) fn named(drill: &Drill) -> Vec<(&'static str, &Url)> {
    let mut found = Vec::new();
    for part in &drill.parts {
        if let Place::At(url) = &part.target {
            found.push(("the target", url));
        }
    }
    for cause in &drill.triggers {
        match &cause.kind {
            CauseKind::Emulate { at: Place::At(at), .. }
            | CauseKind::Envoy { at, .. }
            | CauseKind::Toxiproxy { at, .. } => found.push(("a trigger", at)),
            _ => {}
        }
    }
    for lever in &drill.levers {
        match &lever.kind {
            LeverKind::Emulate { at: Place::At(at), .. } | LeverKind::Proxy { at, .. } => {
                found.push(("a lever", at));
            }
            _ => {}
        }
    }
    for metric in &drill.metrics {
        match &metric.kind {
            MetricKind::Emulate { at: Place::At(at), .. }
            | MetricKind::Prometheus { at, .. }
            | MetricKind::Envoy { at, .. }
            | MetricKind::Scrape { at, .. } => found.push(("a metric", at)),
            MetricKind::Emulate { .. } => {}
        }
    }
    found
}
