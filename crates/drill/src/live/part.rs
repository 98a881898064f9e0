//! What goes to one target of a plan.

use std::net::SocketAddr;

use damper_system::model::{Load, System, Work};
use damper_system::{Believes, Drill, Part as Planned, Place, RequestFile, Speaks, Url};

use crate::consent::Consent;
use crate::load::{
    Bounds, Methods, Protocol, Request, Stream, Target, Text, Tls, TlsError, Trust, header,
};
use crate::places::Places;

/// A part of a load, ready to be sent.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) target: Target,
    /// With TLS, and how; `None`: without.
    pub(super) tls: Option<Tls>,
    /// The host as the plan names it: behind one address there may be several.
    pub(super) authority: String,
    pub(super) streams: Vec<Stream>,
    /// By class, by kind.
    pub(super) requests: Vec<Vec<Request>>,
    /// How much of the whole load it is, 0 to 1.
    portion: f64,
}

/// What all parts have.
pub(super) struct With<'a> {
    pub(super) drill: &'a Drill,
    pub(super) system: Option<&'a System>,
    pub(super) places: &'a Places,
    pub(super) consent: &'a Consent,
    /// Of the whole, by class.
    pub(super) loads: &'a [Load],
}

impl Part {
    /// # Errors
    /// In words: a target that is nowhere or nobody's, a request that is none.
    pub(super) async fn new(part: &Planned, with: &With<'_>) -> Result<Self, String> {
        let With { drill, system, places, consent, loads } = *with;
        let url = places.at(&part.target);
        let speaks = match (&part.target, &places.emulation) {
            (Place::Emulation, Some(emulated)) => emulated.speaks,
            _ => part.speaks,
        };
        let protocol = match speaks {
            Speaks::Http1 => Protocol::Http1,
            Speaks::Http2 => Protocol::Http2,
            Speaks::Grpc => Protocol::Grpc,
        };
        let found = tokio::net::lookup_host((url.host.as_str(), url.port))
            .await
            .map_err(|error| format!("{url}: {error}"))?;
        // `localhost` is often ::1 first, where many servers do not listen.
        let all: Vec<SocketAddr> = found.collect();
        let address = preferred(&all).ok_or_else(|| format!("{url} is nowhere"))?;
        let target = Target::agreed(&url, address, protocol, consent).map_err(|e| e.to_string())?;
        let tls = match &part.believes {
            Some(believes) => Some(agreed(&url, target, believes, protocol).await?),
            None => None,
        };
        let own = |(class, load): (usize, &Load)| {
            load.scaled(part.shares.get(class).copied().unwrap_or(0.0))
        };
        let mine: Vec<Load> = loads.iter().enumerate().map(own).collect();
        let sum = |loads: &[Load]| loads.iter().map(Load::mean).sum::<f64>();
        let kinds = match &part.requests {
            Some(file) => of_file(drill, file, protocol)?,
            None => of_path(drill, system.filter(|_| part.target == Place::Emulation), &url.path)?,
        };
        let streams = mine.iter().enumerate().map(|(class, load)| Stream {
            load: load.clone(),
            kinds: kinds.weights.get(class).cloned().unwrap_or_default(),
        });
        Ok(Self {
            target,
            tls,
            authority: url.authority(),
            streams: streams.collect(),
            requests: kinds.requests,
            portion: sum(&mine) / sum(loads).max(f64::MIN_POSITIVE),
        })
    }

    /// Its share of what the whole may have.
    pub(super) fn within(&self, whole: &Bounds) -> Bounds {
        if self.portion >= 1.0 {
            return *whole;
        }
        let of = |all: f64| (all * self.portion).floor().max(1.0);
        Bounds {
            in_flight: of(whole.in_flight as f64) as usize,
            connections: of(whole.connections as f64) as usize,
            // A hair above, since shares that add up to one need not do so in their last digit.
            rate: whole.rate * self.portion * (1.0 + 1e-9),
            total: of(whole.total as f64) as u64,
            ..*whole
        }
    }
}

/// TLS with a target, tried once: what is wrong with it is said before anything is sent.
async fn agreed(
    url: &Url,
    target: Target,
    believes: &Believes,
    protocol: Protocol,
) -> Result<Tls, String> {
    let trust = match believes {
        Believes::System => Trust::System,
        Believes::Authorities(file) => Trust::Authorities(file.clone()),
        Believes::Anything => Trust::Anything,
    };
    let tls = Tls::new(&url.host, &trust).map_err(|why| why.to_string())?;
    match tls.agree(target, &[protocol]).await {
        Ok(_) => Ok(tls),
        Err(why @ TlsError::Refused { by_certificate: true, .. }) => {
            Err(format!("{why}: `ca:` in the plan names whose certificates are believed"))
        }
        Err(why) => Err(why.to_string()),
    }
}

/// The address that is used of a name: an IPv4 one, if there is one.
fn preferred(all: &[SocketAddr]) -> Option<SocketAddr> {
    all.iter().find(|address| address.is_ipv4()).or(all.first()).copied()
}

/// Kinds of requests, by class.
struct Kinds {
    requests: Vec<Vec<Request>>,
    weights: Vec<Vec<f64>>,
}

/// GET of a path; of the requests of an emulation, if it is one.
fn of_path(drill: &Drill, emulated: Option<&System>, path: &str) -> Result<Kinds, String> {
    let classes = drill.classes.len();
    let kinds: Vec<(String, Vec<f64>)> = match emulated.map(|system| &system.work) {
        Some(Work::Requests(types)) => {
            let base = path.trim_end_matches('/');
            types.iter().map(|t| (format!("{base}/{}", t.name), t.share.clone())).collect()
        }
        _ => vec![(path.to_owned(), vec![1.0; classes])],
    };
    let of_class = |class: usize| {
        kinds.iter().map(|(_, shares)| shares.get(class).copied().unwrap_or(0.0)).collect()
    };
    let requests = drill.classes.iter().map(|class| {
        let one = |path: &String| tagged(drill, class, Request::get(path.clone()));
        kinds.iter().map(|(path, _)| one(path)).collect::<Result<_, _>>()
    });
    let requests = requests.collect::<Result<_, _>>()?;
    Ok(Kinds { requests, weights: (0..classes).map(of_class).collect() })
}

/// The requests of a file: of each class those that are its own, and those that are nobody's.
fn of_file(drill: &Drill, file: &RequestFile, protocol: Protocol) -> Result<Kinds, String> {
    let methods = match &file.descriptors {
        Some(_) if protocol != Protocol::Grpc => {
            return Err("a request file has descriptors: `protocol: grpc`".to_owned());
        }
        Some(path) => Some(Methods::read_file(path).map_err(|why| why.to_string())?),
        None => None,
    };
    let mut kinds = Kinds { requests: Vec::new(), weights: Vec::new() };
    for class in &drill.classes {
        let (mut requests, mut weights) = (Vec::new(), Vec::new());
        for kind in &file.requests {
            let only = kind.class.and_then(|own| file.classes.get(own));
            let is_own = only.is_none_or(|only| only == class);
            let bad = |why: &dyn std::fmt::Display| format!("the request {}: {why}", kind.name);
            let request = Request::of(kind, None, methods.as_ref()).map_err(|why| bad(&why))?;
            if protocol == Protocol::Grpc && request.body.is_some() && request.message.is_none() {
                return Err(bad(&"its body is no message, since the file has no `descriptors`"));
            }
            requests.push(tagged(drill, class, request)?);
            weights.push(if is_own { kind.weight } else { 0.0 });
        }
        let sum: f64 = weights.iter().sum();
        if sum > 0.0 {
            weights.iter_mut().for_each(|weight| *weight /= sum);
        }
        kinds.requests.push(requests);
        kinds.weights.push(weights);
    }
    Ok(kinds)
}

/// With the name of its class and the headers of the plan, where it has none of its own.
fn tagged(drill: &Drill, class: &str, mut request: Request) -> Result<Request, String> {
    let mut put = |name: &str, value: Text| {
        let made = header(name, value);
        let (name, value) =
            made.map_err(|_| format!("the value of `{name}` cannot be that of a header"))?;
        if request.headers.iter().all(|(known, _)| *known != name) {
            request.headers.push((name, value));
        }
        Ok::<_, String>(())
    };
    put(&drill.class_header, Text::literal(class))?;
    for (name, value) in &drill.headers {
        // `{{env NAME}}` keeps what is secret out of plans, records and terminals.
        let bad = |why: &dyn std::fmt::Display| format!("the header {name}: {why}");
        let text = Text::parse(value, |name| std::env::var(name).ok()).map_err(|e| bad(&e))?;
        if text.fixed().is_none() {
            return Err(bad(&"only `{{env NAME}}` can be filled in here"));
        }
        put(name, text)?;
    }
    Ok(request)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_addresses_of_both_kinds_is_the_older() {
        let all: Vec<SocketAddr> =
            ["[::1]:80", "127.0.0.1:80"].iter().map(|text| text.parse().unwrap()).collect();
        assert_eq!(preferred(&all), Some(all[1]));
        assert_eq!(preferred(&all[..1]), Some(all[0]));
        assert_eq!(preferred(&[]), None);
    }

    #[test]
    fn a_header_is_filled_from_the_environment_and_from_nothing_else() {
        let text = "drill: 1\ntarget: http://127.0.0.1:1/\nload: 1/s\nphases: [{hold: 1s}]\n";
        let with = |value: &str| {
            let text = format!("{text}headers: {{authorization: '{value}'}}\n");
            let drill = damper_system::DrillFile::parse("t", &text).unwrap().lower().unwrap();
            let asked = tagged(&drill, "default", Request::get("/"))?;
            Ok::<_, String>(asked.headers[1].1.fixed().unwrap().to_owned())
        };
        let path = std::env::var("PATH").unwrap();
        assert_eq!(with("Bearer {{env PATH}}").unwrap(), format!("Bearer {path}"));
        assert!(with("{{env DAMPER_NOT_SET}}").unwrap_err().contains("DAMPER_NOT_SET is not set"));
        assert!(with("{{counter}}").unwrap_err().contains("{{env NAME}}"));
    }

    #[test]
    fn bounds_of_parts_add_up_to_those_of_the_whole() {
        let part = |portion: f64| Part {
            target: Target::parse("127.0.0.1:1", Protocol::Http1).unwrap(),
            tls: None,
            authority: String::new(),
            streams: Vec::new(),
            requests: Vec::new(),
            portion,
        };
        let whole = Bounds { in_flight: 10, total: 100, rate: 30.0, ..Bounds::default() };
        let parts = [1.0 / 3.0, 2.0 / 3.0].map(|portion| part(portion).within(&whole));
        assert!(parts.iter().map(|b| b.total).sum::<u64>() <= 100);
        assert!(parts.iter().map(|b| b.in_flight).sum::<usize>() <= 10);
        assert!((parts.iter().map(|b| b.rate).sum::<f64>() - 30.0).abs() < 1e-6);
        assert_eq!(part(1.0).within(&whole), whole);
    }
}
