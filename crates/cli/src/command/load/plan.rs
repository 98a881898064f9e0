//! What is to be sent where, from the arguments.

use std::time::Duration;

use anyhow::{anyhow, bail};
use damper_control::Nanos;
use damper_drill::load::{
    Bounds, Caller, Job, Named, Pattern, Permit, Protocol, Refused, Schedule,
};
use damper_system::SystemFile;
use serde::Serialize;

use super::mix;
use crate::args::{ArrivalsArg, LoadArgs, RetryArg};

/// The rise outside the loopback interface, if nothing else is asked for.
const RAMP: Duration = Duration::from_secs(10);

/// A load, ready to be sent.
pub(crate) struct Plan {
    pub(crate) jobs: Vec<Job>,
    pub(crate) shown: Shown,
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
        let (protocol, spoken) = match (args.http2, args.grpc) {
            (true, _) => (Protocol::Http2, "HTTP/2"),
            (_, true) => (Protocol::Grpc, "gRPC"),
            _ => (Protocol::Http1, "HTTP/1.1"),
        };
        let permits: Vec<Permit> =
            args.i_own.iter().map(|text| Permit::parse(text)).collect::<Result<_, _>>()?;
        let (target, rate) = (args.target.as_deref().unwrap_or_default(), args.rate);
        let rate = rate.map_or(0.0, |rate| rate.0);
        let (base, path) = split(target);
        let named = Named::parse(base, protocol, &permits).map_err(|why| match &why {
            Refused::NotPermitted(host) => anyhow!("{why}: --i-own {host}=OWNER"),
            _ => why.into(),
        })?;
        let mix = mix::Mix::new(args, path)?;
        if args.grpc && mix.has_bodies() {
            bail!("messages of gRPC are sent empty: a body in the request file is not one");
        }
        let ramp = args.ramp.map_or_else(
            || if named.owner.is_some() { RAMP } else { Duration::ZERO },
            |ramp| ramp.0,
        );
        let warmup = ramp + args.warmup.0;
        let (caller, callers) = caller(args)?;
        let shown = Shown {
            target: format!("http://{}", named.authority),
            owner: named.owner.clone(),
            protocol: spoken,
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
                target: named.target,
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
        Ok(Self { jobs: (0..threads).map(job).collect(), shown, warmup })
    }
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
fn caller(args: &LoadArgs) -> anyhow::Result<(Caller, String)> {
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
            (Caller::of(&found.policy), format!("retry as `{edge}` of {}", file.display()))
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

fn nanos(time: Duration) -> Nanos {
    Nanos(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}
