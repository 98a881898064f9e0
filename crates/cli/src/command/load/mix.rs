//! Classes, kinds of requests, and how much of the load each of them is.

use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};
use damper_control::Nanos;
use damper_drill::load::{BadCall, Checks, Methods, Request, Stream, Text, header};
use damper_system::model::Load;
use damper_system::{RequestFile, RequestKind, misspelt};

use super::plan::{ClassShare, Kind};
use crate::args::LoadArgs;
use crate::print;

/// The header with the class of a request.
const CLASS: &str = "x-damper-class";

pub(crate) struct Mix {
    /// Classes, the highest first.
    pub(crate) names: Vec<String>,
    /// By class and kind.
    pub(crate) requests: Vec<Vec<Request>>,
    /// Names of the kinds.
    kinds: Vec<String>,
    /// By class and kind: shares of the whole load, which sum to one.
    shares: Vec<Vec<f64>>,
}

impl Mix {
    /// `methods`: what is known of a server's before its requests are read.
    pub(crate) fn new(
        args: &LoadArgs,
        path: &str,
        methods: Option<Methods>,
    ) -> anyhow::Result<Self> {
        let Some(file) = &args.requests else {
            let given = args.class_mix.as_ref().map(|mix| mix.0.clone());
            let tagged = given.is_some();
            let given = given.unwrap_or_else(|| vec![("default".to_owned(), 1.0)]);
            let body = args.message.as_deref().map(Text::literal);
            let takes = methods.map(|methods| {
                methods.takes(&Text::literal(path), body.as_ref()).map_err(|why| said(&why))
            });
            let message = takes.transpose()?;
            let request = |class: &String| {
                let headers =
                    if tagged { vec![header(CLASS, Text::literal(class))?] } else { vec![] };
                let (body, message) = (body.clone(), message.clone());
                anyhow::Ok(vec![Request { headers, body, message, ..Request::get(path) }])
            };
            let (names, shares): (Vec<_>, Vec<_>) = given.into_iter().unzip();
            return Ok(Self {
                requests: names.iter().map(request).collect::<Result<_, _>>()?,
                shares: shares.into_iter().map(|share| vec![share]).collect(),
                kinds: vec![format!("{}{path}", if args.grpc { "" } else { "GET " })],
                names,
            });
        };
        if path != "/" {
            bail!("paths come from {}, and the target has one, too: {path}", file.display());
        }
        let checks = Checks::with(methods);
        let read = RequestFile::read(file, &checks)?;
        if read.descriptors.is_some() && !args.grpc {
            bail!("{} has descriptors, which are for --grpc", file.display());
        }
        let mix = match &args.class_mix {
            Some(mix) => mix.0.clone(),
            None => {
                let first = |(i, name): (usize, &String)| (name.clone(), f64::from(i == 0));
                read.classes.iter().enumerate().map(first).collect()
            }
        };
        Self::of(&read, &mix, checks.methods().as_ref()).with_context(|| file.display().to_string())
    }

    fn of(
        file: &RequestFile,
        mix: &[(String, f64)],
        methods: Option<&Methods>,
    ) -> anyhow::Result<Self> {
        let mut names = file.classes.clone();
        for (name, _) in mix {
            if !names.contains(name) {
                // Those of the file go before, in its order; a file without classes has one that
                // nobody named.
                if names.iter().eq(["default"]) {
                    names.clear();
                }
                if let Some(near) = misspelt(name, file.classes.iter().map(String::as_str)) {
                    print::note(&format!(
                        "warning: the class `{name}` of --class-mix is none of the request file, and \
                         becomes one more: did you mean `{near}`?"
                    ));
                }
                names.push(name.clone());
            }
        }
        if names.len() > 16 {
            bail!("there are {} classes, and 16 is the most", names.len());
        }
        let total: f64 = file.requests.iter().map(|kind| kind.weight).sum();
        let of_mix =
            |class: &String| mix.iter().find(|(name, _)| name == class).map_or(0.0, |m| m.1);
        let share = |number: usize, class: &String, kind: &RequestKind| match kind.class {
            Some(own) if own == number => kind.weight / total,
            Some(_) => 0.0,
            None => kind.weight / total * of_mix(class),
        };
        let by_class = |(number, class): (usize, &String)| {
            file.requests.iter().map(|kind| share(number, class, kind)).collect()
        };
        let requests = names.iter().map(|class| {
            let tag = (class != "default").then_some((CLASS, class.as_str()));
            file.requests
                .iter()
                .map(|kind| Request::of(kind, tag, methods))
                .collect::<Result<_, _>>()
        });
        Ok(Self {
            requests: requests.collect::<Result<_, _>>()?,
            kinds: file.requests.iter().map(|kind| kind.name.clone()).collect(),
            shares: names.iter().enumerate().map(by_class).collect(),
            names,
        })
    }

    /// Whether something would be sent as a message that nobody has said to be one.
    pub(crate) fn has_bare_bodies(&self) -> bool {
        let bare = |request: &Request| request.body.is_some() && request.message.is_none();
        self.requests.iter().flatten().any(bare)
    }

    pub(crate) fn classes(&self) -> Vec<ClassShare> {
        let classes = self.names.iter().zip(&self.shares);
        let class = |(name, shares): (&String, &Vec<f64>)| ClassShare {
            class: name.clone(),
            share: shares.iter().sum(),
        };
        classes.map(class).collect()
    }

    pub(crate) fn kinds(&self) -> Vec<Kind> {
        let shares = |kind: usize| self.shares.iter().map(|class| class[kind]).collect();
        let kinds = self.kinds.iter().enumerate();
        kinds.map(|(n, name)| Kind { request: name.clone(), shares: shares(n) }).collect()
    }

    /// The load of each class, rising over `ramp`.
    pub(crate) fn streams(&self, rate: f64, ramp: Duration) -> Vec<Stream> {
        let load = |share: f64| match ramp {
            Duration::ZERO => Load::Constant(rate * share),
            ramp => Load::Profile(vec![
                (Nanos::ZERO, 0.0),
                (Nanos(u64::try_from(ramp.as_nanos()).unwrap_or(u64::MAX)), rate * share),
            ]),
        };
        let stream = |shares: &Vec<f64>| {
            let sum: f64 = shares.iter().sum();
            let kinds = shares.iter().map(|share| if sum > 0.0 { share / sum } else { 0.0 });
            Stream { load: load(sum), kinds: kinds.collect() }
        };
        self.shares.iter().map(stream).collect()
    }
}

/// A call that is none, with what was probably meant.
fn said(why: &BadCall) -> anyhow::Error {
    match why {
        BadCall::NoMethod { near: Some(near), .. }
        | BadCall::NoMessage { near: Some(near), .. } => {
            anyhow!("{why}: did you mean `{near}`?")
        }
        BadCall::NoMethod { known, .. } => anyhow!("{why}; there are: {}", known.join(", ")),
        _ => anyhow!("{why}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> RequestFile {
        RequestFile::parse("requests.yaml", text, &Checks::default()).unwrap()
    }

    #[test]
    fn weights_and_classes_make_shares() {
        let file = file(
            "requests: 1\nclasses: [high, low]\n\
             send: {a: {path: /a, weight: 3, class: high}, b: {path: /b}}",
        );
        let mix = Mix::of(&file, &[("high".into(), 0.4), ("low".into(), 0.6)], None).unwrap();
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} is not {b}");
        close(mix.classes()[0].share, 0.75 + 0.25 * 0.4);
        close(mix.classes()[1].share, 0.25 * 0.6);
        let streams = mix.streams(100.0, Duration::ZERO);
        assert_eq!(streams[1].load, Load::Constant(100.0 * (0.25 * 0.6)));
        close(streams[0].kinds[0], 0.75 / 0.85);
        close(streams[1].kinds[0], 0.0);
        assert_eq!(mix.requests[0][0].headers[0].0, CLASS);
    }

    #[test]
    fn a_mix_names_the_classes_of_a_file_without_any() {
        let mix =
            Mix::of(&file("requests: 1\nsend: {a: {path: /a}}"), &[("gold".into(), 1.0)], None);
        assert_eq!(mix.unwrap().names, ["gold"]);
    }

    #[test]
    fn a_ramp_ends_at_the_rate() {
        let mix =
            Mix::of(&file("requests: 1\nsend: {a: {path: /a}}"), &[("default".into(), 1.0)], None);
        let streams = mix.unwrap().streams(50.0, Duration::from_secs(2));
        let points = vec![(Nanos::ZERO, 0.0), (Nanos::from_secs(2), 50.0)];
        assert_eq!(streams[0].load, Load::Profile(points));
    }
}
