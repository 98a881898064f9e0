//! Files whose formats name neither caller nor class: in those that `damper export` writes the file,
//! the backend or the instance does. Whoever kept these names is understood; other names stay what
//! they are.

use damper_config::Name;
use damper_config::layer::{Reach, Seat};
use damper_config::reading::{Call, HeaderRoute, Reading};
use damper_system::System;

use crate::asked::{Asked, Edge};

/// Where a format has the name of a call.
#[derive(Clone, Copy)]
enum Place {
    /// The file: `web-orders.json`.
    File,
    /// The file has the caller, and the instance the callee: `application-web.yml`.
    Instance,
    /// The backend that a layer is for: `web-orders-high`.
    Backend,
}

/// The formats of `damper_config` that need it.
const FORMATS: [(&str, Place); 4] = [
    ("grpc-service-config", Place::File),
    ("resilience4j", Place::Instance),
    ("nginx", Place::Backend),
    ("haproxy", Place::Backend),
];

/// The same readings, with who calls whom for which class where our names say so.
pub(crate) fn named(
    readings: &[(String, Reading)],
    system: &System,
    header: &str,
) -> Vec<(String, Reading)> {
    let asked = Asked::of(system, &[]);
    let mut readings = readings.to_vec();
    for (path, reading) in &mut readings {
        let place = FORMATS.iter().find(|(id, _)| reading.formats == [*id]);
        if let Some((_, place)) = place {
            put(*place, path, reading, &asked, header);
        }
    }
    readings
}

/// A call, and the class that is named.
type Found<'a> = (&'a str, &'a str, Option<&'a str>);

/// The call that `web-orders-high` stands for.
fn call<'a>(name: &str, asked: &Asked<'a>) -> Option<Found<'a>> {
    let lane = |edge: &Edge<'a>| {
        let rest = name.strip_prefix(edge.caller)?.strip_prefix('-')?;
        let rest = rest.strip_prefix(edge.server.name.as_str())?;
        let class = match rest.strip_prefix('-') {
            None if rest.is_empty() => None,
            None => return None,
            Some(class) => Some(edge.classes.iter().find(|one| *one == class)?.as_str()),
        };
        Some((edge.caller, edge.server.name.as_str(), class))
    };
    asked.edges.iter().find_map(lane)
}

/// Endings of the files that are written; names have dots, too: `web-orders.v2.json`.
const ENDINGS: [&str; 6] = [".json", ".yaml", ".yml", ".properties", ".conf", ".cfg"];

/// A file's name without its ending.
fn stem(file: &str) -> &str {
    ENDINGS.iter().find_map(|ending| file.strip_suffix(ending)).unwrap_or(file)
}

fn put(place: Place, path: &str, reading: &mut Reading, asked: &Asked<'_>, header: &str) {
    let file = path.rsplit('/').next().unwrap_or(path);
    let stem = stem(file);
    let caller = stem.trim_start_matches("application-");
    let name = |callee: Option<&Name>, route: Option<&str>| match place {
        Place::File => Some(stem.to_owned()),
        Place::Instance => Some(format!("{caller}-{}", route?.strip_prefix("instance ")?)),
        Place::Backend => callee.map(|name| name.service.clone()),
    };
    let named = |text: &str| Name::new(text, None);
    let mut found: Vec<(Found<'_>, u32)> = Vec::new();
    for layer in &mut reading.layers {
        let text = name(layer.callee.as_ref(), layer.route.as_deref());
        let Some((caller, callee, class)) = text.and_then(|text| call(&text, asked)) else {
            continue;
        };
        found.push(((caller, callee, class), layer.lines[0]));
        (layer.caller, layer.callee) = (Some(named(caller)), Some(named(callee)));
        (layer.reach, layer.seat) = (Reach::Route, Seat::Client);
        layer.headers =
            class.into_iter().map(|class| (header.to_owned(), class.to_owned())).collect();
    }
    for fact in &mut reading.facts {
        let text = name(fact.about.as_ref(), None);
        let Some(one) = text.and_then(|text| call(&text, asked)) else { continue };
        fact.about = Some(named(one.1));
        found.push((one, fact.lines[0]));
    }
    if found.is_empty() {
        return;
    }
    // What stood there were backends.
    reading.calls.retain(|one| call(&one.callee.service, asked).is_none());
    for ((caller, callee, class), line) in found {
        let known = |one: &Call| {
            one.callee.service == callee
                && one.caller.as_ref().is_some_and(|name| name.service == caller)
        };
        if !reading.calls.iter().any(known) {
            reading.calls.push(Call {
                caller: Some(named(caller)),
                callee: named(callee),
                line,
                evidence: "a name that `damper export` writes".to_owned(),
                count: None,
                protocol: None,
            });
        }
        if let Some(class) = class {
            reading.routes.push(HeaderRoute {
                caller: Some(named(caller)),
                callee: Some(named(callee)),
                seat: Seat::Client,
                object: None,
                headers: vec![(header.to_owned(), class.to_owned())],
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use damper_system::SystemFile;

    #[test]
    fn a_dot_belongs_to_the_name() {
        assert_eq!(stem("web-orders.v2.json"), "web-orders.v2");
        assert_eq!(stem("application-web.v2.yml"), "application-web.v2");
        assert_eq!(stem("web-orders"), "web-orders");
    }

    #[test]
    fn a_name_is_a_call_and_a_class() {
        let text = "damper: 1\nclasses: [high, low]\nservices: {a: {}, b-c: {}}\nload: {high: 1/s, low: 1/s}\nrequests: {x: {calls: [{a: [b-c]}]}}\n";
        let system = SystemFile::parse("a.yaml", text).unwrap().lower().unwrap();
        let asked = Asked::of(&system, &[]);
        assert_eq!(call("a-b-c", &asked), Some(("a", "b-c", None)));
        assert_eq!(call("a-b-c-high", &asked), Some(("a", "b-c", Some("high"))));
        for other in ["a", "a-b-c-", "a-b-cc", "a-b-c-middle", "b-c-a"] {
            assert_eq!(call(other, &asked), None, "{other}");
        }
    }
}
