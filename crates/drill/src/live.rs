//! A load that is under way: brought up, brought down, looked at.

mod part;

use std::sync::Arc;
use std::time::Duration;

use damper_control::Nanos;
use damper_system::model::{Arrivals, Load, System};
use damper_system::{Drill, Manner};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::consent::Consent;
use crate::load::{
    Bounds, Caller, Error as LoadError, Job, Observe, Pattern, Schedule, Tally, Tuning,
    send_observed,
};
use crate::places::Places;
use crate::series::Series;
use part::{Part, With};

/// What is sent, all but how much of it.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    parts: Vec<Part>,
    classes: Vec<String>,
    pattern: Pattern,
    seed: u64,
    /// The seed of the plan.
    first_seed: u64,
    /// Of all parts together.
    bounds: Bounds,
    interval: Duration,
    good_within: Nanos,
    caller: Caller,
    /// Requests per second at a load of 100 %.
    pub(crate) rate: f64,
    /// The same where a load that changes is highest.
    pub(crate) peak: f64,
}

/// How often a load that is on its way somewhere is changed.
const STEP: Duration = Duration::from_millis(50);

impl Setup {
    /// What a plan sends. `system` is its system file, as slow as the plan.
    ///
    /// # Errors
    /// In words: a target that is nowhere or nobody's, a header that is none.
    pub(crate) async fn new(
        drill: &Drill,
        system: Option<&System>,
        places: &Places,
        consent: &Consent,
    ) -> Result<Self, String> {
        let loads: Vec<Load> = match (&drill.load, system) {
            (Some(rates), _) => rates.iter().map(|rate| Load::Constant(*rate)).collect(),
            (None, Some(system)) => system.load.clone(),
            (None, None) => return Err("nothing says how much is sent".to_owned()),
        };
        let mut parts = Vec::with_capacity(drill.parts.len());
        for part in &drill.parts {
            let with = With { drill, system, places, consent, loads: &loads };
            parts.push(Part::new(part, &with).await?);
        }
        let pattern = match (drill.even, system.map(|s| &s.arrivals)) {
            (Some(true), _) | (None, Some(Arrivals::Deterministic)) => Pattern::Uniform,
            _ => Pattern::Poisson,
        };
        let in_flight = drill.bounds.in_flight as usize;
        Ok(Self {
            parts,
            classes: drill.classes.clone(),
            pattern,
            seed: drill.seed,
            first_seed: drill.seed,
            bounds: Bounds {
                in_flight,
                connections: in_flight,
                rate: drill.bounds.rate,
                total: drill.bounds.requests,
                time: duration(drill.bounds.time),
                patience: duration(drill.patience),
            },
            interval: duration(drill.interval),
            good_within: drill.good_within,
            caller: caller(drill, system)?.waiting(drill.callers.timeout),
            rate: loads.iter().map(Load::mean).sum(),
            peak: loads.iter().map(Load::peak).sum(),
        })
    }

    /// Another draw of arrivals of the same load.
    pub(crate) fn reseed(&mut self, draw: u64) {
        self.seed = self.first_seed ^ draw.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    /// Requests that may still be sent, and for how long.
    pub(crate) fn limit(&mut self, requests: u64, time: Duration) {
        self.bounds.total = requests;
        self.bounds.time = time;
    }

    /// Starts sending, with this share of the load.
    pub(crate) fn start(&self, share: f64) -> Live {
        let classes = self.classes.len();
        let tuned = vec![Tuning { factor: share, rate: None }; classes];
        let series = Arc::new(Series::new(self.interval, classes, self.good_within));
        let mut live = Live { streams: Vec::new(), series, classes, share };
        for (number, part) in self.parts.iter().enumerate() {
            let seed = self.seed ^ (number as u64).wrapping_mul(0xd1b5_4a32_d192_ed03);
            let mut schedule = Schedule::new(part.streams.clone(), self.pattern, seed);
            for (class, tuning) in tuned.iter().enumerate() {
                schedule.tune(class, *tuning, Nanos::ZERO);
            }
            let (tune, tunings) = watch::channel(tuned.clone());
            let (stop, stopped) = oneshot::channel();
            let observer: Arc<dyn Observe> = live.series.clone();
            let job = Job {
                schedule,
                target: part.target,
                tls: part.tls.clone(),
                authority: Some(part.authority.clone()),
                requests: part.requests.clone(),
                classes: self.classes.clone(),
                caller: self.caller.clone(),
                bounds: part.within(&self.bounds),
                good_within: None,
                warmup: Duration::ZERO,
                parts: 1,
                seed,
                tunings: Some(tunings),
                stop: Some(stopped),
            };
            let task = tokio::spawn(send_observed(job, observer));
            live.streams.push(Stream { tune, stop: Some(stop), task });
        }
        live
    }
}

/// What callers do.
fn caller(drill: &Drill, system: Option<&System>) -> Result<Caller, String> {
    let limit = drill.callers.limit;
    Ok(match (&drill.callers.manner, &drill.callers.follows) {
        (Manner::None, _) => Caller::without_retries(),
        (Manner::Naive, _) => Caller::naive(limit),
        (Manner::Standard, _) => Caller::standard(limit),
        (Manner::Policy, follows) => {
            let followed = follows.as_ref().and_then(|follows| {
                let system = follows.file.as_ref().map(|(_, system)| system).or(system)?;
                Some((&system.edge_named(&follows.edge)?.policy, &system.classes))
            });
            let (policy, classes) =
                followed.ok_or("the policy that callers follow is not there")?;
            // All are among them: a plan of which one is not is refused.
            Caller::of(policy).for_classes(&drill.classes, classes).0
        }
    })
}

/// A load that is under way.
pub(crate) struct Live {
    streams: Vec<Stream>,
    pub(crate) series: Arc<Series>,
    classes: usize,
    share: f64,
}

/// What goes to one target.
struct Stream {
    tune: watch::Sender<Vec<Tuning>>,
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<Result<Tally, LoadError>>,
}

impl Live {
    /// The share of the load that is sent now.
    pub(crate) fn share(&self) -> f64 {
        self.share
    }

    /// Sends this share of the load from now on.
    pub(crate) fn set(&mut self, share: f64) {
        self.share = share;
        let tuned = vec![Tuning { factor: share, rate: None }; self.classes];
        for stream in &self.streams {
            stream.tune.send_replace(tuned.clone());
        }
    }

    /// Brings the load somewhere, evenly. A step where there is no time for it.
    pub(crate) async fn bring(&mut self, share: f64, over: Duration) {
        let (from, begun) = (self.share, Instant::now());
        while begun.elapsed() < over {
            let done = begun.elapsed().as_secs_f64() / over.as_secs_f64();
            self.set(from + (share - from) * done.min(1.0));
            tokio::time::sleep(STEP.min(over)).await;
        }
        self.set(share);
    }

    /// Whether it has ended by itself, or a part of it: a bound, or an error.
    pub(crate) fn has_ended(&self) -> bool {
        self.streams.iter().any(|stream| stream.task.is_finished())
    }

    /// Sends nothing more; what is under way is waited for, each request as long as its patience.
    pub(crate) async fn end(mut self) -> Result<Tally, String> {
        self.cut();
        let mut whole: Option<Tally> = None;
        for stream in &mut self.streams {
            let done = (&mut stream.task).await.map_err(|error| error.to_string())?;
            let tally = done.map_err(|error| error.to_string())?;
            match &mut whole {
                Some(whole) => whole.beside(tally),
                None => whole = Some(tally),
            }
        }
        whole.ok_or_else(|| "nothing was sent".to_owned())
    }

    /// Sends nothing more, and waits for nothing.
    pub(crate) fn cut(&mut self) {
        for stream in &mut self.streams {
            if let Some(stop) = stream.stop.take() {
                let _ = stop.send(());
            }
        }
    }
}

impl Drop for Live {
    /// However a drill ends, nothing more is sent.
    fn drop(&mut self) {
        self.cut();
    }
}

pub(crate) fn duration(time: Nanos) -> Duration {
    Duration::from_nanos(time.0)
}
