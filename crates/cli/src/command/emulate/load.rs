//! The load of the file on an emulation, and what came of it.

use std::future::Future;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use damper_drill::load::{
    Ask, Bounds, End, Pattern, Row, Schedule, Sending, Stream, Summary, Tally, Target, Tuning, send,
};
use damper_emulate::{Counts, Handle, Protocol, Surge, wire};
use damper_system::System;
use damper_system::model::{Arrivals, Work};
use serde::Serialize;
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;

use super::{Signals, machine};
use crate::args::EmulateArgs;
use crate::{exit, print};

/// What came of a load.
#[derive(Debug, Serialize)]
pub(crate) struct Outcome {
    pub(crate) seed: u64,
    /// Measured, without the warm-up.
    pub(crate) seconds: f64,
    pub(crate) partial: bool,
    pub(crate) classes: Vec<Class>,
    /// Attempts at services with a capacity, for each request.
    pub(crate) calls_per_request: f64,
    /// The same for each good reply.
    pub(crate) calls_per_success: f64,
    /// How much later than intended requests were sent.
    pub(crate) late_ms: Times,
    /// The share of the time in which the cores of the machine were busy, whoever it was.
    pub(crate) machine_busy: Option<f64>,
    /// What the servers counted, the clients first.
    pub(crate) counts: Vec<Counts>,
    /// Equal parts of the measured time, if there are to be several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) parts: Vec<PartOf>,
}

/// A part of the measured time.
#[derive(Debug, Serialize)]
pub(crate) struct PartOf {
    pub(crate) classes: Vec<Ends>,
    pub(crate) calls_per_request: f64,
    pub(crate) calls_per_success: f64,
}

/// The requests of a class in a part.
#[derive(Debug, Serialize)]
pub(crate) struct Ends {
    pub(crate) requests: u64,
    pub(crate) ok: u64,
    pub(crate) not_sent: u64,
    pub(crate) rejection: f64,
}

/// The requests of a class.
#[derive(Debug, Serialize)]
pub(crate) struct Class {
    pub(crate) class: String,
    pub(crate) requests: u64,
    pub(crate) ok: u64,
    pub(crate) rejected: u64,
    pub(crate) failed: u64,
    pub(crate) timed_out: u64,
    pub(crate) connection: u64,
    pub(crate) not_sent: u64,
    /// The share of what was sent that did not end well.
    pub(crate) rejection: f64,
    pub(crate) ok_ms: Times,
    pub(crate) all_ms: Times,
}

/// Latencies from the intended start.
#[derive(Debug, Serialize)]
pub(crate) struct Times {
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    pub(crate) max: f64,
}

impl From<Summary> for Times {
    fn from(s: Summary) -> Self {
        Self { p50: s.p50_ms, p99: s.p99_ms, max: s.max_ms }
    }
}

/// Sends the load for `time`, and prints what came of it.
pub(super) async fn run(
    args: &EmulateArgs,
    handle: &Handle,
    time: Duration,
    triggered: impl Future<Output = ()>,
    signals: &mut Signals,
) -> anyhow::Result<u8> {
    let system = handle.system();
    let warmup = args.warmup.0.min(time);
    let (stop, stopped) = oneshot::channel();
    let load = send(sending(args, handle, time, stopped)?);
    let load = async { load.await.map_err(anyhow::Error::from) };
    let begun = Instant::now();
    let part = time.saturating_sub(warmup) / args.parts.max(1);
    let (over, mut ended) = watch::channel(false);
    let counted = async {
        tokio::time::sleep_until(begun + warmup).await;
        let from = machine::now();
        // At the beginning, and at the end of each part.
        let mut counted = vec![handle.counts().await?];
        for number in 1..=args.parts {
            tokio::select! {
                () = tokio::time::sleep_until(begun + warmup + part * number) => {}
                _ = ended.changed() => {}
            }
            counted.push(handle.counts().await?);
            if *ended.borrow() {
                break;
            }
        }
        Ok((counted, machine::busy(from, machine::now())))
    };
    let mut both = std::pin::pin!(async { tokio::try_join!(load, counted) });
    let interrupted = async {
        tokio::select! {
            () = signals.next() => {}
            // It starts the trigger and never ends.
            () = triggered => {}
        }
    };
    let (done, partial) = tokio::select! {
        done = &mut both => (done, false),
        () = interrupted => {
            if begun.elapsed() < warmup {
                // Nothing has been measured.
                return Ok(exit::INTERRUPTED);
            }
            // What is under way is waited for, so that what is printed adds up.
            let _ = stop.send(());
            over.send_replace(true);
            tokio::select! {
                done = both => (done, true),
                // Whoever says it twice does not want to wait.
                () = signals.next() => return Ok(exit::INTERRUPTED),
            }
        }
    };
    let (tally, (counted, busy)) = done?;
    let mut outcome = outcome(system, &tally, &counted);
    outcome.seconds = begun.elapsed().min(time).saturating_sub(warmup).as_secs_f64();
    (outcome.partial, outcome.machine_busy) = (partial, busy);
    if args.parts > 1 {
        // One that was cut short is none.
        let whole = counted.len() - 1 - usize::from(partial);
        let parts = counted.windows(2).zip(&tally.parts).take(whole);
        outcome.parts = parts.map(|(counts, ends)| part_of(system, counts, ends)).collect();
    }
    say(args, &outcome)?;
    Ok(if partial { exit::INTERRUPTED } else { exit::OK })
}

fn say(args: &EmulateArgs, outcome: &Outcome) -> anyhow::Result<()> {
    if args.json {
        return print::json_line(outcome);
    }
    print::emulated(outcome);
    Ok(())
}

fn sending(
    args: &EmulateArgs,
    handle: &Handle,
    time: Duration,
    stop: oneshot::Receiver<()>,
) -> anyhow::Result<Sending> {
    let (system, state) = (handle.system(), handle.state());
    let kinds: Vec<&str> = match &system.work {
        Work::Requests(types) => types.iter().map(|t| t.name.as_str()).collect(),
        Work::Routes(_) => vec![""],
    };
    let shares = |class: usize| match &system.work {
        Work::Requests(types) => types.iter().map(|t| t.share[class]).collect(),
        Work::Routes(_) => vec![1.0],
    };
    let streams = system.load.iter().enumerate();
    let streams = streams.map(|(i, load)| Stream { load: load.clone(), kinds: shares(i) });
    let pattern = match system.arrivals {
        // That bursts are not sent as such, the notes have said.
        Arrivals::Poisson | Arrivals::Bursty { .. } => Pattern::Poisson,
        Arrivals::Deterministic => Pattern::Uniform,
    };
    let asks = system.classes.iter().map(|class| {
        let ask = |kind: &&str| {
            let kind = (!kind.is_empty()).then_some(*kind);
            let value = wire::class_value(class);
            Ask { path: wire::request_path(kind), headers: vec![(wire::CLASS, value)] }
        };
        kinds.iter().map(ask).collect()
    });
    let protocol = match state.protocol {
        Protocol::Http1 => damper_drill::load::Protocol::Http1,
        Protocol::Http2 => damper_drill::load::Protocol::Http2,
        Protocol::Grpc => damper_drill::load::Protocol::Grpc,
    };
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, state.entry_port));
    let in_flight = args.in_flight as usize;
    Ok(Sending {
        schedule: Schedule::new(streams.collect(), pattern, system.experiment.seed),
        target: Target::new(address, protocol)?,
        asks: asks.collect(),
        bounds: Bounds { in_flight, connections: in_flight, time, ..Bounds::default() },
        warmup: args.warmup.0.min(time),
        parts: args.parts,
        tunings: Some(tunings(handle.surges())),
        stop: Some(stop),
    })
}

/// What triggers make of the load, as the sender takes it.
fn tunings(mut surges: watch::Receiver<Vec<Surge>>) -> watch::Receiver<Vec<Tuning>> {
    let tuned = |surges: &[Surge]| {
        surges.iter().map(|s| Tuning { factor: s.factor, rate: s.rate }).collect::<Vec<_>>()
    };
    let (send, receive) = watch::channel(tuned(&surges.borrow()));
    tokio::spawn(async move {
        while surges.changed().await.is_ok() {
            send.send_replace(tuned(&surges.borrow_and_update()));
        }
    });
    receive
}

/// What the servers counted between two instants.
fn between(from: &[Counts], to: &[Counts]) -> Vec<Counts> {
    to.iter().zip(from).map(|(to, from)| to.since(from)).collect()
}

/// Attempts at services with a capacity.
fn attempts(system: &System, counts: &[Counts]) -> u64 {
    let limited = system.services.iter().filter(|service| service.capacity().is_some());
    let counts = limited.filter_map(|service| counts.iter().find(|c| c.name == service.name));
    counts.map(Counts::attempts).sum()
}

fn outcome(system: &System, tally: &Tally, counted: &[Vec<Counts>]) -> Outcome {
    let rows: Vec<Row> = (0..system.classes.len()).map(|class| tally.class(class)).collect();
    let counts = match (counted.first(), counted.last()) {
        (Some(first), Some(last)) => between(first, last),
        _ => Vec::new(),
    };
    let attempts = attempts(system, &counts);
    let sent: u64 = rows.iter().map(|r| r.total() - r.count(End::NotSent)).sum();
    let ok: u64 = rows.iter().map(|r| r.count(End::Ok)).sum();
    Outcome {
        seed: system.experiment.seed,
        seconds: 0.0,
        partial: false,
        classes: system.classes.iter().zip(&rows).map(|(name, row)| class(name, row)).collect(),
        calls_per_request: per(attempts, sent),
        calls_per_success: per(attempts, ok),
        late_ms: Summary::of(&tally.late_us).into(),
        machine_busy: None,
        counts,
        parts: Vec::new(),
    }
}

fn part_of(system: &System, counted: &[Vec<Counts>], ends: &[[u64; 6]]) -> PartOf {
    let attempts = attempts(system, &between(&counted[0], &counted[1]));
    let classes: Vec<Ends> = ends
        .iter()
        .map(|ends| {
            let (requests, ok) = (ends.iter().sum::<u64>(), ends[End::Ok as usize]);
            let not_sent = ends[End::NotSent as usize];
            Ends { requests, ok, not_sent, rejection: 1.0 - per(ok, requests - not_sent) }
        })
        .collect();
    let sent = classes.iter().map(|c| c.requests - c.not_sent).sum();
    let ok = classes.iter().map(|c| c.ok).sum();
    PartOf { classes, calls_per_request: per(attempts, sent), calls_per_success: per(attempts, ok) }
}

fn per(what: u64, of: u64) -> f64 {
    what as f64 / of.max(1) as f64
}

fn class(name: &str, row: &Row) -> Class {
    let sent = row.total() - row.count(End::NotSent);
    Class {
        class: name.to_owned(),
        requests: row.total(),
        ok: row.count(End::Ok),
        rejected: row.count(End::Rejected),
        failed: row.count(End::Failed),
        timed_out: row.count(End::TimedOut),
        connection: row.count(End::Connection),
        not_sent: row.count(End::NotSent),
        rejection: 1.0 - per(row.count(End::Ok), sent),
        ok_ms: Summary::of(&row.ok_us).into(),
        all_ms: Summary::of(&row.all_us).into(),
    }
}
