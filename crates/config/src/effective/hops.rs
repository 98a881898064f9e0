//! Who calls whom, as far as any file says.

use std::collections::{BTreeMap, HashMap};

use super::Caller;
use crate::format::linkerd::service_profile::PROFILE;
use crate::layer::Seat;
use crate::name::Name;
use crate::reading::{Reading, Service};

/// A hop before anything is known about it but who and whom.
pub(super) struct Found {
    pub(super) caller: Caller,
    pub(super) callee: Name,
    pub(super) protocol: Option<&'static str>,
    /// What says so, such as `HTTPRoute shop/cart`.
    pub(super) evidence: Vec<String>,
    /// The formats of the files that say so.
    pub(super) formats: Vec<&'static str>,
    /// Whether there is a hop to the same callee for calls from outside.
    pub(super) entered: bool,
}

/// Every caller and callee that calls, layers or services name.
pub(super) fn all(readings: &[(String, Reading)]) -> Vec<Found> {
    let names = Names::of(readings);
    let mut hops = Hops::default();
    for (_, reading) in readings {
        for call in &reading.calls {
            let caller = match &call.caller {
                Some(name) => Caller::Service(names.caller(name)),
                None => Caller::Outside,
            };
            let hop = hops.put(caller, names.callee(&call.callee), &reading.formats);
            hop.protocol = hop.protocol.or(call.protocol);
            hop.evidence.push(call.evidence.clone());
        }
    }
    for (_, reading) in readings {
        for layer in &reading.layers {
            let Some(callee) = &layer.callee else { continue };
            let callee = names.callee(callee);
            match &layer.caller {
                Some(caller) => {
                    let caller = Caller::Service(names.caller(caller));
                    hops.put(caller, callee, &reading.formats);
                }
                // What a gateway does is for calls from outside, the rest for those from inside.
                None => {
                    let outside = layer.seat == Seat::Gateway;
                    if !hops.is_called(&callee, outside) {
                        let caller = if outside { Caller::Outside } else { Caller::Anyone };
                        hops.put(caller, callee, &reading.formats);
                    }
                }
            }
        }
        for service in reading.services.iter().filter(|one| !is_profile(one)) {
            let name = names.callee(&names.caller(&service.name));
            // What no service selects can hardly be called.
            let selected =
                service.replicas.is_none() || names.by_workload.contains_key(&service.name);
            let called = hops.is_called(&name, true) || hops.is_called(&name, false);
            if selected && !called {
                hops.put(Caller::Anyone, name, &reading.formats);
            }
        }
    }
    let mut all: Vec<Found> = std::mem::take(&mut hops.found).into_values().collect();
    for hop in &mut all {
        hop.entered = hops.is_called(&hop.callee, true);
    }
    all
}

fn is_profile(service: &Service) -> bool {
    service.labels.iter().any(|(key, _)| key == PROFILE)
}

#[derive(Default)]
struct Hops {
    found: BTreeMap<(Caller, Name), Found>,
    /// Who is called from outside, and from inside, by the name of the service.
    called: HashMap<(bool, String), Vec<Name>>,
}

impl Hops {
    fn put(&mut self, caller: Caller, callee: Name, formats: &[&'static str]) -> &mut Found {
        let known =
            self.called.entry((caller == Caller::Outside, callee.service.clone())).or_default();
        if !known.contains(&callee) {
            known.push(callee.clone());
        }
        let key = (caller.clone(), callee.clone());
        let hop = self.found.entry(key).or_insert_with(|| Found {
            caller,
            callee,
            protocol: None,
            evidence: Vec::new(),
            formats: Vec::new(),
            entered: false,
        });
        for format in formats {
            if !hop.formats.contains(format) {
                hop.formats.push(format);
            }
        }
        hop
    }

    /// Whether somebody outside, or inside, is known to call it.
    fn is_called(&self, callee: &Name, outside: bool) -> bool {
        self.called
            .get(&(outside, callee.service.clone()))
            .is_some_and(|names| names.iter().any(|name| name.matches(callee)))
    }
}

/// Names as they are known: a workload goes by the name of the service that selects it, and a
/// service without a namespace by that of the only one of its name.
struct Names {
    by_workload: HashMap<Name, Name>,
    by_service: HashMap<String, Vec<Name>>,
}

impl Names {
    fn of(readings: &[(String, Reading)]) -> Self {
        let services = readings.iter().flat_map(|(_, reading)| &reading.services);
        let mut selectors: HashMap<(&str, &str), Vec<&Service>> = HashMap::new();
        let mut by_service: HashMap<String, Vec<Name>> = HashMap::new();
        for service in services.clone() {
            let known = by_service.entry(service.name.service.clone()).or_default();
            if !known.contains(&service.name) {
                known.push(service.name.clone());
            }
            if service.replicas.is_none()
                && !is_profile(service)
                && let Some((key, value)) = service.labels.first()
            {
                selectors.entry((key, value)).or_default().push(service);
            }
        }
        let mut by_workload = HashMap::new();
        for workload in services.filter(|one| one.replicas.is_some()) {
            let by_label = workload
                .labels
                .iter()
                .filter_map(|(key, value)| selectors.get(&(key.as_str(), value.as_str())));
            let selecting = by_label.flatten().find(|service| {
                service.name.matches(&workload.name)
                    || service.name.namespace == workload.name.namespace
                        && service.labels.iter().all(|label| workload.labels.contains(label))
            });
            if let Some(service) = selecting {
                by_workload.insert(workload.name.clone(), service.name.clone());
            }
        }
        Self { by_workload, by_service }
    }

    fn caller(&self, name: &Name) -> Name {
        self.callee(self.by_workload.get(name).unwrap_or(name))
    }

    fn callee(&self, name: &Name) -> Name {
        if name.namespace.is_some() {
            return name.clone();
        }
        let known = self.by_service.get(&name.service).map_or(&[][..], Vec::as_slice);
        let mut spaces = known.iter().filter(|one| one.namespace.is_some());
        match (spaces.next(), spaces.next()) {
            (Some(only), None) => only.clone(),
            _ => name.clone(),
        }
    }
}
