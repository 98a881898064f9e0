//! What is to be sent where, from the arguments.

use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};
use damper_control::Nanos;
use damper_drill::load::{
    Bounds, Caller, Job, Matched, Methods, Named, Pattern, Permit, Protocol, Refused, Schedule,
    Target, Tls, TlsError, Trust, reflect,
};
use damper_system::SystemFile;
use serde::Serialize;

use super::mix;
use crate::args::{ArrivalsArg, LoadArgs, RetryArg};
use crate::print;

/// The rise outside the loopback interface, if nothing else is asked for.
const RAMP: Duration = Duration::from_secs(10);

/// A load, ready to be sent.
pub(crate) struct Plan {
    pub(crate) jobs: Vec<Job>,
    pub(crate) shown: Shown,
    target: Target,
    tls: Option<Tls>,
    offers: &'static [Protocol],
    /// What is sent and not counted.
    pub(crate) warmup: Duration,
}

/// The same for people and for programs.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Shown {
    pub(crate) target: String,
    /// Who answers for it, outside the loopback interface.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) owner: Option<String>,
    pub(crate) protocol: &'static str,
    #[serde(skip)]
    pub(crate) is_grpc: bool,
    /// The server was asked what its methods take.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) reflected: bool,
    pub(crate) rate_rps: f64,
    pub(crate) ramp_s: f64,
    pub(crate) warmup_s: f64,
    pub(crate) for_s: f64,
    pub(crate) arrivals: &'static str,
    pub(crate) classes: Vec<ClassShare>,
    pub(crate) requests: Vec<Kind>,
    pub(crate) callers: String,
    pub(crate) connections: u32,
    pub(crate) in_flight: u32,
    pub(crate) max_rate_rps: f64,
    pub(crate) max_requests: u64,
    pub(crate) threads: u32,
    pub(crate) seed: u64,
    pub(crate) version: &'static str,
}

/// A class and its share of the load.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ClassShare {
    pub(crate) class: String,
    pub(crate) share: f64,
}

/// A kind of request and its share of each class, in the order of the classes.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Kind {
    pub(crate) request: String,
    pub(crate) shares: Vec<f64>,
}

impl Plan {
    pub(crate) fn new(args: &LoadArgs) -> anyhow::Result<Self> {
        let permits: Vec<Permit> =
            args.i_own.iter().map(|text| Permit::parse(text)).collect::<Result<_, _>>()?;
        let (target, rate) = (args.target.as_deref().unwrap_or_default(), args.rate);
        let rate = rate.map_or(0.0, |rate| rate.0);
        let (base, path) = split(target);
        let named = Named::parse(base, Protocol::Http1, &permits).map_err(|why| match &why {
            Refused::NotPermitted(host) => anyhow!("{why}: --i-own {host}=OWNER"),
            _ => why.into(),
        })?;
        let offers = offers(args, named.tls);
        let target = named.target.speaking(*offers.first().unwrap_or(&Protocol::Http1));
        let tls = tls(args, &named)?;
        let methods = methods(args, target, tls.as_ref(), &named.authority)?;
        let mix = mix::Mix::new(args, path, methods)?;
        if args.grpc && mix.has_bare_bodies() {
            bail!(
                "nothing says what the bodies are as messages of gRPC: --descriptors FILE, or \
                 --reflect to ask the server"
            );
        }
        let ramp = args.ramp.map_or_else(
            || if named.owner.is_some() { RAMP } else { Duration::ZERO },
            |ramp| ramp.0,
        );
        let warmup = ramp + args.warmup.0;
        let (caller, callers) = caller(args, &mix.names)?;
        let shown = Shown {
            target: format!("http{}://{}", if named.tls { "s" } else { "" }, named.authority),
            owner: named.owner.clone(),
            protocol: spoken(offers, named.tls),
            is_grpc: args.grpc,
            reflected: args.reflect,
            rate_rps: rate,
            ramp_s: ramp.as_secs_f64(),
            warmup_s: args.warmup.0.as_secs_f64(),
            for_s: args.lasts.0.as_secs_f64(),
            arrivals: match args.arrivals {
                ArrivalsArg::Poisson => "poisson",
                ArrivalsArg::Even => "even",
            },
            classes: mix.classes(),
            requests: mix.kinds(),
            callers,
            connections: args.connections,
            in_flight: args.in_flight,
            max_rate_rps: args.max_rate.0,
            max_requests: args.max_requests,
            threads: args.threads,
            seed: args.seed,
            version: env!("CARGO_PKG_VERSION"),
        };
        let total = rate * (args.lasts.0 + warmup).as_secs_f64();
        if total > args.max_requests as f64 {
            bail!(
                "this would be about {total:.0} requests, and --max-requests is {}",
                args.max_requests
            );
        }
        let threads = args.threads;
        for (name, all) in [
            ("--max-requests", args.max_requests),
            ("--connections", args.connections.into()),
            ("--in-flight", args.in_flight.into()),
        ] {
            if all < u64::from(threads) {
                bail!("{name} {all} cannot be divided among --threads {threads}");
            }
        }
        let share = |all: u32| (all / threads) as usize;
        let bounds = Bounds {
            in_flight: share(args.in_flight),
            connections: share(args.connections),
            rate: args.max_rate.0 / f64::from(threads),
            total: args.max_requests / u64::from(threads),
            time: warmup + args.lasts.0,
            patience: args.patience.0,
        };
        let pattern = match args.arrivals {
            ArrivalsArg::Poisson => Pattern::Poisson,
            ArrivalsArg::Even => Pattern::Uniform,
        };
        let job = |thread: u32| {
            let seed = args.seed ^ u64::from(thread).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let streams = mix.streams(rate / f64::from(threads), ramp);
            Job {
                schedule: Schedule::new(streams, pattern, seed),
                target,
                tls: tls.clone(),
                authority: Some(named.authority.clone()),
                requests: mix.requests.clone(),
                classes: mix.names.clone(),
                caller: caller.clone(),
                bounds,
                good_within: args.good_within.map(|span| span.0),
                warmup,
                parts: 1,
                seed,
                tunings: None,
                stop: None,
            }
        };
        Ok(Self { jobs: (0..threads).map(job).collect(), shown, target, tls, offers, warmup })
    }
}

impl Plan {
    /// With TLS: makes one connection, and speaks from then on what the server chooses.
    pub(crate) async fn agree(&mut self) -> anyhow::Result<()> {
        let Some(tls) = &self.tls else { return Ok(()) };
        let chosen = tls.agree(self.target, self.offers).await.map_err(|why| match why {
            TlsError::Refused { by_certificate: true, .. } => {
                anyhow!("{why}: --ca FILE names whose certificates are believed")
            }
            why => why.into(),
        })?;
        self.jobs.iter_mut().for_each(|job| job.target = job.target.speaking(chosen));
        self.shown.protocol = spoken(&[chosen], true);
        Ok(())
    }
}

/// What may be spoken, the best first.
fn offers(args: &LoadArgs, tls: bool) -> &'static [Protocol] {
    match (args.http1, args.http2, args.grpc) {
        (_, true, _) => &[Protocol::Http2],
        (_, _, true) => &[Protocol::Grpc],
        (false, ..) if tls => &[Protocol::Http2, Protocol::Http1],
        _ => &[Protocol::Http1],
    }
}

fn spoken(offers: &[Protocol], tls: bool) -> &'static str {
    match (offers, tls) {
        ([Protocol::Http1], false) => "HTTP/1.1",
        ([Protocol::Http1], true) => "HTTP/1.1 over TLS",
        ([Protocol::Http2], false) => "HTTP/2",
        ([Protocol::Http2], true) => "HTTP/2 over TLS",
        ([Protocol::Grpc], false) => "gRPC",
        ([Protocol::Grpc], true) => "gRPC over TLS",
        _ => "HTTP/2 or HTTP/1.1 over TLS",
    }
}

fn tls(args: &LoadArgs, named: &Named) -> anyhow::Result<Option<Tls>> {
    if !named.tls {
        if args.insecure || args.ca.is_some() {
            bail!("--ca and --insecure are for a target with https://");
        }
        return Ok(None);
    }
    let trust = match &args.ca {
        Some(file) => Trust::Authorities(file.clone()),
        None if args.insecure => Trust::Anything,
        None => Trust::System,
    };
    Ok(Some(Tls::new(named.host(), &trust)?))
}

/// What methods take, from a file or from the server itself.
fn methods(
    args: &LoadArgs,
    target: Target,
    tls: Option<&Tls>,
    authority: &str,
) -> anyhow::Result<Option<Methods>> {
    if let Some(file) = &args.descriptors {
        let read = Methods::read_file(file);
        return read.map(Some).with_context(|| file.display().to_string());
    }
    if !args.reflect {
        return Ok(None);
    }
    Ok(Some(super::runtime()?.block_on(reflect(target, tls, authority))?))
}

/// Host and port, and the path behind them.
fn split(target: &str) -> (&str, &str) {
    let scheme = target.find("://").map_or(0, |at| at + 3);
    match target[scheme..].find('/') {
        Some(at) => target.split_at(scheme + at),
        None => (target, "/"),
    }
}

/// What callers do, and in words.
fn caller(args: &LoadArgs, classes: &[String]) -> anyhow::Result<(Caller, String)> {
    let timeout = args.timeout.map(|span| nanos(span.0));
    let (caller, words) = match (&args.policy, &args.edge) {
        (Some(file), Some(edge)) => {
            let system = SystemFile::read(file)?.lower()?;
            let Some(found) = system.edge_named(edge) else {
                let edges = system.policies.edges.iter();
                let names: Vec<String> = edges
                    .map(|e| {
                        format!(
                            "{} -> {}",
                            system.caller_name(e.caller),
                            system.target_name(e.target)
                        )
                    })
                    .collect();
                bail!("{} has no call `{edge}`; it has: {}", file.display(), names.join(", "));
            };
            let (caller, matched) = Caller::of(&found.policy).for_classes(classes, &system.classes);
            let words = format!("retry as `{edge}` of {}", file.display());
            (caller, words + &by_class(&matched, classes, &system.classes))
        }
        _ => match args.retry {
            RetryArg::None => (Caller::without_retries(), "do not retry".to_owned()),
            RetryArg::Naive => {
                (Caller::naive(args.limit), format!("retry up to {} times, at once", args.limit))
            }
            RetryArg::Standard => (
                Caller::standard(args.limit),
                format!("retry up to {} times, with backoff and full jitter", args.limit),
            ),
        },
    };
    Ok((caller.waiting(timeout), words))
}

/// Which class of a policy each class is, where their names do not say it.
fn by_class(matched: &Matched, ours: &[String], theirs: &[String]) -> String {
    let words = match matched {
        Matched::ByName => return String::new(),
        Matched::ByPosition => {
            let last = theirs.last();
            let pairs = ours.iter().enumerate().filter_map(|(position, name)| {
                Some(format!("{name} as {}", theirs.get(position).or(last)?))
            });
            let pairs: Vec<String> = pairs.collect();
            format!(" (by position, as no class has a name of the file's: {})", pairs.join(", "))
        }
        Matched::Partly(unknown) => {
            let lowest = theirs.last().map_or("", String::as_str);
            format!(
                " (of the file's lowest class, {lowest}, as it does not know: {})",
                unknown.join(", ")
            )
        }
    };
    print::note(&format!("callers retry{words}"));
    words
}

fn nanos(time: Duration) -> Nanos {
    Nanos(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}
