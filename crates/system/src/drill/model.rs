//! What a drill file says, without its places in the text.

use std::path::PathBuf;

use damper_control::Nanos;
use damper_control::lever::Action;

use super::{Believes, Url};
use crate::model::System;
use crate::{RequestFile, SystemFile};

/// A drill.
#[derive(Clone, Debug)]
pub struct Drill {
    /// What reports call it.
    pub name: String,
    /// The system file behind it.
    pub plant: Option<Plant>,
    /// Everything is this many times as slow as written.
    pub slower: f64,
    /// Where load goes, where a part does not say otherwise.
    pub target: Place,
    /// What is spoken there.
    pub speaks: Speaks,
    /// What goes where; at least one.
    pub parts: Vec<Part>,
    /// Hosts outside loopback and who owns them.
    pub owners: Vec<(String, String)>,
    /// Classes, the highest first.
    pub classes: Vec<String>,
    /// Requests per second by class; `None`: those of the system file.
    pub load: Option<Vec<f64>>,
    /// Arrivals at even distances; `None`: as the system file says.
    pub even: Option<bool>,
    /// Headers of every request.
    pub headers: Vec<(String, String)>,
    /// The header that names the class.
    pub class_header: String,
    /// What those who send do after an attempt that did not end well.
    pub callers: Callers,
    /// How long a reply is waited for.
    pub patience: Nanos,
    /// A good reply later than this is not good.
    pub good_within: Nanos,
    /// Width of a point of the series.
    pub interval: Nanos,
    /// Seed of everything random.
    pub seed: u64,
    /// What nothing exceeds.
    pub bounds: Ceilings,
    /// When it is well again.
    pub recovered: Recovered,
    /// What is looked at besides replies.
    pub metrics: Vec<Metric>,
    /// What goes wrong on command.
    pub triggers: Vec<Cause>,
    /// What takes load off.
    pub levers: Vec<WorkLever>,
    /// What happens, one after another.
    pub phases: Vec<Phase>,
    /// What must come of it.
    pub expect: Vec<Requirement>,
    /// When to stop.
    pub abort: Vec<Abort>,
    /// How `--headroom` searches.
    pub search: Search,
}

/// A system file as a drill names it.
#[derive(Clone, Debug)]
pub struct Plant {
    /// Its path, from the current folder.
    pub path: PathBuf,
    /// Changes made to it, `path=value`.
    pub set: Vec<String>,
    /// The file with the changes.
    pub file: SystemFile,
    /// What it describes.
    pub system: System,
}

/// Where something is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The emulation of the system file, started for the drill or named on the command line.
    Emulation,
    /// An address.
    At(Url),
}

/// A part of the load, which goes to one target.
#[derive(Clone, Debug)]
pub struct Part {
    /// Where it goes.
    pub target: Place,
    /// What is spoken there.
    pub speaks: Speaks,
    /// Whose certificates are believed; `None`: there is no TLS.
    pub believes: Option<Believes>,
    /// How much of the load of each class it is, 0 to 1.
    pub shares: Vec<f64>,
    /// What is sent; `None`: GET of the path of the target, or the requests of the emulation.
    pub requests: Option<RequestFile>,
}

/// What those who send do after an attempt that did not end well.
#[derive(Clone, Debug)]
pub struct Callers {
    /// How they retry.
    pub manner: Manner,
    /// Retries after the first attempt.
    pub limit: u32,
    /// How long one attempt is waited for; `None`: as long as the request.
    pub timeout: Option<Nanos>,
    /// Whose policy they follow, if they follow one.
    pub follows: Option<Follows>,
}

/// A policy that callers follow.
#[derive(Clone, Debug)]
pub struct Follows {
    /// Whose: `caller -> callee`.
    pub edge: String,
    /// The system file that has it; `None`: that of the drill.
    pub file: Option<(PathBuf, System)>,
}

/// A manner of retrying.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// Not at all.
    None,
    /// At once.
    Naive,
    /// With exponential backoff and full jitter.
    Standard,
    /// As [`Callers::follows`] says.
    Policy,
}

/// What is spoken at the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaks {
    /// HTTP/1.1.
    Http1,
    /// HTTP/2, without TLS by prior knowledge.
    Http2,
    /// gRPC.
    Grpc,
}

/// What a drill never exceeds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ceilings {
    /// Requests per second.
    pub rate: f64,
    /// Requests in all.
    pub requests: u64,
    /// How long it may take.
    pub time: Nanos,
    /// Requests under way at the same time.
    pub in_flight: u64,
}

/// When the system is well.
#[derive(Clone, Debug, PartialEq)]
pub struct Recovered {
    /// Goodput is at least this share of the offered load,
    pub goodput: f64,
    /// for this long,
    pub hold: Nanos,
    /// and this metric is within its limit.
    pub metric: Option<Watched>,
}

/// A metric with a limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Watched {
    /// Index among [`Drill::metrics`].
    pub metric: usize,
    /// What it is held to.
    pub limit: Limit,
}

/// A bound on a metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// Below this.
    Below(f64),
    /// Above this.
    Above(f64),
}

impl Limit {
    /// Whether a value is on the right side.
    #[must_use]
    pub fn holds(self, value: f64) -> bool {
        match self {
            Self::Below(limit) => value < limit,
            Self::Above(limit) => value > limit,
        }
    }
}

/// Something that is looked at.
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: MetricKind,
}

/// Where a metric comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum MetricKind {
    /// The answer of a Prometheus to a query.
    Prometheus {
        /// The server.
        at: Url,
        /// The query; values of several series are added up.
        query: String,
    },
    /// Statistics of an Envoy.
    Envoy {
        /// Its admin port.
        at: Url,
        /// A regular expression for the names of statistics; those found are added up.
        stat: String,
    },
    /// Series of a page in the text format of Prometheus, added up.
    Scrape {
        /// The page.
        at: Url,
        /// The name of the series, with labels that must be there, if any: `name{label="x"}`.
        series: String,
    },
    /// Counts of an emulation.
    Emulate {
        /// Its admin port.
        at: Place,
        /// What is counted.
        count: &'static str,
        /// At which service; `None`: at all with a capacity.
        of: Option<String>,
    },
}

/// Something that goes wrong on command.
#[derive(Clone, Debug, PartialEq)]
pub struct Cause {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: CauseKind,
}

/// How something is made to go wrong.
#[derive(Clone, Debug, PartialEq)]
pub enum CauseKind {
    /// A trigger of an emulation.
    Emulate {
        /// Its admin port.
        at: Place,
        /// The trigger in its system file.
        trigger: String,
    },
    /// A pull of one of the levers.
    Lever {
        /// Index among [`Drill::levers`].
        lever: usize,
        /// How it is pulled.
        pull: Pull,
    },
    /// The fault filter of an Envoy, by its runtime.
    Envoy {
        /// Its admin port.
        at: Url,
        /// The status with which requests are aborted.
        abort: Option<u16>,
        /// By how much requests are delayed.
        delay: Option<Nanos>,
        /// How many of them, 0 to 1.
        share: f64,
    },
    /// A toxic of a Toxiproxy, or the end of one of its proxies.
    Toxiproxy {
        /// Its API.
        at: Url,
        /// The proxy.
        proxy: String,
        /// The type of the toxic; `None`: the proxy is disabled.
        toxic: Option<String>,
        /// `upstream` or `downstream`.
        stream: &'static str,
        /// Of the toxic.
        attributes: Vec<(String, f64)>,
    },
    /// The kernel's queue of a device in a network namespace.
    Netem {
        /// The namespace.
        namespace: String,
        /// The device.
        device: String,
        /// Added to each packet.
        delay: Option<Nanos>,
        /// More or less.
        jitter: Option<Nanos>,
        /// Share of packets that are lost.
        loss: Option<f64>,
    },
    /// Commands of a shell.
    Commands {
        /// Starts it.
        start: String,
        /// Ends it.
        stop: String,
        /// Succeeds when it has ended.
        check: Option<String>,
    },
}

/// Something that takes load off.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkLever {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: LeverKind,
    /// How long the ramp takes with which it is opened when a drill ends while it is pulled.
    pub reopen: Nanos,
}

/// What is pulled.
#[derive(Clone, Debug, PartialEq)]
pub enum LeverKind {
    /// The lever at the door of a service of an emulation.
    Emulate {
        /// Its admin port.
        at: Place,
        /// The service.
        service: String,
    },
    /// The lever of a `damper proxy`.
    Proxy {
        /// Its admin port.
        at: Url,
        /// Which hop.
        hop: Option<String>,
        /// For which caller.
        caller: Option<String>,
        /// The environment variable that has the token.
        token_env: Option<String>,
    },
    /// Commands of a shell, by what is done. `{to}`, `{over}` and `{class}` are filled in.
    Commands {
        /// Lets everything in.
        open: String,
        /// Lets nothing in.
        pause: Option<String>,
        /// Lets some in.
        throttle: Option<String>,
        /// Lets more and more in.
        ramp: Option<String>,
    },
}

/// A pull of a lever.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pull {
    /// What is done.
    pub action: Action,
    /// For which class; `None`: for all.
    pub class: Option<usize>,
}

/// Something that happens.
#[derive(Clone, Debug, PartialEq)]
pub struct Phase {
    /// What reports call it.
    pub name: String,
    /// What happens.
    pub kind: PhaseKind,
}

/// What happens in a phase.
#[derive(Clone, Debug, PartialEq)]
pub enum PhaseKind {
    /// The load goes to a share of itself.
    Load {
        /// 1 is all of it.
        share: f64,
        /// How long that takes.
        over: Nanos,
    },
    /// It goes on as it is.
    Hold(Nanos),
    /// A trigger is started, and stopped if it has a length.
    Start {
        /// Index among [`Drill::triggers`].
        trigger: usize,
        /// How long it lasts.
        lasts: Option<Nanos>,
    },
    /// A trigger is stopped.
    Stop(usize),
    /// Until it has recovered, and no longer than this.
    Recover(Nanos),
    /// Until what a lever lets in is served, and no longer than this.
    Healthy(Nanos),
    /// A lever is pulled.
    Lever {
        /// Index among [`Drill::levers`].
        lever: usize,
        /// How.
        pull: Pull,
    },
    /// A person is asked to do something and to say so.
    Ask(String),
}

/// What must come of a drill.
#[derive(Clone, Debug, PartialEq)]
pub enum Requirement {
    /// It recovers within this time after the (last) trigger has ended.
    Recovery(Nanos),
    /// The trigger shows in the metric within this time.
    Detection(Nanos),
    /// Goodput is at least this share of what was offered.
    Goodput {
        /// The share.
        share: f64,
        /// Of one class; `None`: of all together.
        class: Option<usize>,
        /// In the phase of this name; `None`: in every interval of recovery's width, throughout.
        during: Option<String>,
    },
    /// Attempts grow at most this many times as large per request as before the trigger.
    Amplification(f64),
    /// At most this share of what was offered is lost from the trigger on.
    Lost(f64),
    /// A counter is larger at the end than at the beginning.
    Moved(usize),
}

/// When to stop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Abort {
    /// What is watched.
    pub what: Strength,
    /// How long it must be so.
    pub lasts: Nanos,
}

/// What is watched for an abort.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Strength {
    /// Goodput is below this share of what is offered.
    Goodput {
        /// The share.
        share: f64,
        /// Of one class; `None`: of all together.
        class: Option<usize>,
    },
    /// A metric is beyond its limit.
    Metric(Watched),
}

/// How `--headroom` searches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Search {
    /// The load, or the length of the trigger.
    pub of: Size,
    /// Index of the trigger.
    pub trigger: Option<usize>,
    /// How long the trigger lasts while the load is searched.
    pub lasts: Nanos,
    /// Where to begin, per second or in seconds.
    pub from: Option<f64>,
    /// What is never exceeded, per second or in seconds.
    pub to: Option<f64>,
    /// As near as this, relatively.
    pub resolution: f64,
    /// How often each value is tried.
    pub repeats: u32,
    /// How long load is brought up before the trigger.
    pub ramp: Nanos,
    /// How long it must be well before the trigger.
    pub steady: Nanos,
    /// How long a recovery is waited for.
    pub watch: Nanos,
    /// How long a drain is waited for between two probes.
    pub drain: Nanos,
    /// The light load that checks whether it is well, as a share of the load.
    pub light: f64,
    /// The lever with which it is drained; `None`: by taking off the load.
    pub lever: Option<usize>,
}

/// What a search varies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// The load, at the trigger as it is.
    Load,
    /// How long the trigger lasts, at the load as it is.
    Trigger,
}

impl Drill {
    /// Makes everything `factor` times as slow: rates are divided by it and times multiplied, but
    /// for the bounds on requests and time, and for the system file, which is its own.
    pub fn slow_down(&mut self, factor: f64) {
        let slower = |t: &mut Nanos| {
            if *t != Nanos::MAX {
                *t = t.scale(factor);
            }
        };
        self.load.iter_mut().flatten().for_each(|rate| *rate /= factor);
        self.bounds.rate /= factor;
        [&mut self.patience, &mut self.good_within, &mut self.interval]
            .into_iter()
            .for_each(slower);
        slower(&mut self.recovered.hold);
        self.callers.timeout.iter_mut().for_each(slower);
        self.abort.iter_mut().for_each(|a| slower(&mut a.lasts));
        self.levers.iter_mut().for_each(|l| slower(&mut l.reopen));
        for phase in &mut self.phases {
            match &mut phase.kind {
                PhaseKind::Load { over: t, .. }
                | PhaseKind::Hold(t)
                | PhaseKind::Start { lasts: Some(t), .. }
                | PhaseKind::Recover(t)
                | PhaseKind::Healthy(t) => slower(t),
                PhaseKind::Lever { pull, .. } => pull.slow_down(factor),
                PhaseKind::Start { lasts: None, .. } | PhaseKind::Stop(_) | PhaseKind::Ask(_) => {}
            }
        }
        for cause in &mut self.triggers {
            if let CauseKind::Lever { pull, .. } = &mut cause.kind {
                pull.slow_down(factor);
            }
        }
        for required in &mut self.expect {
            if let Requirement::Recovery(t) | Requirement::Detection(t) = required {
                slower(t);
            }
        }
        let search = &mut self.search;
        [&mut search.lasts, &mut search.ramp, &mut search.steady].into_iter().for_each(slower);
        [&mut search.watch, &mut search.drain].into_iter().for_each(slower);
        let scale = if search.of == Size::Load { 1.0 / factor } else { factor };
        search.from = search.from.map(|x| x * scale);
        search.to = search.to.map(|x| x * scale);
        self.slower *= factor;
    }

    /// All requests together, per second, if the drill says so itself.
    #[must_use]
    pub fn total_load(&self) -> Option<f64> {
        self.load.as_ref().map(|load| load.iter().sum())
    }
}

impl Pull {
    fn slow_down(&mut self, factor: f64) {
        use damper_control::lever::Level;
        let level = |level: &mut Level| {
            if let Level::Rate(rate) = level {
                *rate /= factor;
            }
        };
        match &mut self.action {
            Action::Throttle(at) => level(at),
            Action::Ramp(ramp) => {
                level(&mut ramp.from);
                level(&mut ramp.to);
                ramp.over = ramp.over.scale(factor);
            }
            Action::Open | Action::Pause | Action::Hold => {}
        }
    }
}
