//! A load that is under way: brought up, brought down, looked at.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use damper_control::Nanos;
use damper_system::model::{Arrivals, Load, System, Work};
use damper_system::{Drill, Manner, Place, Speaks};
use hyper::header::{HeaderName, HeaderValue};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::consent::Consent;
use crate::load::{
    Ask, Bounds, Caller, Error as LoadError, Job, Observe, Pattern, Protocol, Schedule, Sending,
    Stream, Tally, Target, Text, Tuning, send_observed,
};
use crate::places::Places;
use crate::series::Series;

/// What is sent, all but how much of it.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    target: Target,
    /// The host as the plan names it: behind one address there may be several.
    authority: String,
    streams: Vec<Stream>,
    pattern: Pattern,
    asks: Vec<Vec<Ask>>,
    seed: u64,
    /// The seed of the plan.
    first_seed: u64,
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
        let url = places.target(drill);
        let speaks = match (&drill.target, &places.emulation) {
            (Place::Emulation, Some(emulated)) => emulated.speaks,
            _ => drill.speaks,
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
        let loads: Vec<Load> = match (&drill.load, system) {
            (Some(rates), _) => rates.iter().map(|rate| Load::Constant(*rate)).collect(),
            (None, Some(system)) => system.load.clone(),
            (None, None) => return Err("nothing says how much is sent".to_owned()),
        };
        let emulated = (drill.target == Place::Emulation).then_some(system).flatten();
        let kinds: Vec<(String, Vec<f64>)> = match emulated.map(|system| &system.work) {
            Some(Work::Requests(types)) => types
                .iter()
                .map(|t| {
                    (format!("{}/{}", url.path.trim_end_matches('/'), t.name), t.share.clone())
                })
                .collect(),
            _ => vec![(url.path.clone(), vec![1.0; loads.len()])],
        };
        let streams = loads.iter().enumerate().map(|(class, load)| Stream {
            load: load.clone(),
            kinds: kinds.iter().map(|(_, s)| s.get(class).copied().unwrap_or(0.0)).collect(),
        });
        let pattern = match (drill.even, system.map(|s| &s.arrivals)) {
            (Some(true), _) | (None, Some(Arrivals::Deterministic)) => Pattern::Uniform,
            _ => Pattern::Poisson,
        };
        let asks = drill.classes.iter().map(|class| {
            kinds.iter().map(|(path, _)| ask(drill, class, path)).collect::<Result<Vec<Ask>, _>>()
        });
        let in_flight = drill.bounds.in_flight as usize;
        Ok(Self {
            target,
            authority: url.authority(),
            streams: streams.collect(),
            pattern,
            asks: asks.collect::<Result<_, _>>()?,
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
            caller: match drill.callers.manner {
                Manner::None => Caller::without_retries(),
                Manner::Naive => Caller::naive(drill.callers.limit),
                Manner::Standard => Caller::standard(drill.callers.limit),
            }
            .waiting(drill.callers.timeout),
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
        let mut schedule = Schedule::new(self.streams.clone(), self.pattern, self.seed);
        let classes = self.streams.len();
        let tuned = |factor| vec![Tuning { factor, rate: None }; classes];
        for (class, tuning) in tuned(share).into_iter().enumerate() {
            schedule.tune(class, tuning, Nanos::ZERO);
        }
        let (tune, tunings) = watch::channel(tuned(share));
        let (stop, stopped) = oneshot::channel();
        let series = Arc::new(Series::new(self.interval, classes, self.good_within));
        let observer: Arc<dyn Observe> = series.clone();
        let sending = Sending {
            schedule,
            target: self.target,
            asks: self.asks.clone(),
            bounds: self.bounds,
            warmup: Duration::ZERO,
            parts: 1,
            tunings: Some(tunings),
            stop: Some(stopped),
        };
        let mut job = Job::from(sending);
        (job.caller, job.seed) = (self.caller.clone(), self.seed);
        job.authority = Some(self.authority.clone());
        let task = tokio::spawn(send_observed(job, observer));
        Live { tune, stop: Some(stop), task, series, classes, share }
    }
}

/// The address that is used of a name: an IPv4 one, if there is one.
fn preferred(all: &[SocketAddr]) -> Option<SocketAddr> {
    all.iter().find(|address| address.is_ipv4()).or(all.first()).copied()
}

fn ask(drill: &Drill, class: &str, path: &str) -> Result<Ask, String> {
    let header = |name: &str, value: &str| {
        let wrong = || format!("the value of `{name}` cannot be that of a header");
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?;
        Ok::<_, String>((name, HeaderValue::from_str(value).map_err(|_| wrong())?))
    };
    let own = drill.headers.iter().map(|(name, value)| {
        // `{{env NAME}}` keeps what is secret out of plans, records and terminals.
        let bad = |why: &dyn std::fmt::Display| format!("the header {name}: {why}");
        let text = Text::parse(value, |name| std::env::var(name).ok()).map_err(|e| bad(&e))?;
        let value =
            text.fixed().ok_or_else(|| bad(&"only `{{env NAME}}` can be filled in here"))?;
        header(name, value)
    });
    let headers = std::iter::once(header(&drill.class_header, class)).chain(own);
    Ok(Ask { path: path.to_owned(), headers: headers.collect::<Result<_, _>>()? })
}

/// A load that is under way.
pub(crate) struct Live {
    tune: watch::Sender<Vec<Tuning>>,
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<Result<Tally, LoadError>>,
    pub(crate) series: Arc<Series>,
    classes: usize,
    share: f64,
}

impl Live {
    /// The share of the load that is sent now.
    pub(crate) fn share(&self) -> f64 {
        self.share
    }

    /// Sends this share of the load from now on.
    pub(crate) fn set(&mut self, share: f64) {
        self.share = share;
        self.tune.send_replace(vec![Tuning { factor: share, rate: None }; self.classes]);
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

    /// Whether it has ended by itself: a bound, or an error.
    pub(crate) fn has_ended(&self) -> bool {
        self.task.is_finished()
    }

    /// Sends nothing more; what is under way is waited for, each request as long as its patience.
    pub(crate) async fn end(mut self) -> Result<Tally, String> {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        match (&mut self.task).await {
            Ok(done) => done.map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Sends nothing more, and waits for nothing.
    pub(crate) fn cut(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
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
            let asked = ask(&drill, "default", "/")?;
            Ok::<_, String>(asked.headers[1].1.to_str().unwrap().to_owned())
        };
        let path = std::env::var("PATH").unwrap();
        assert_eq!(with("Bearer {{env PATH}}").unwrap(), format!("Bearer {path}"));
        assert!(with("{{env DAMPER_NOT_SET}}").unwrap_err().contains("DAMPER_NOT_SET is not set"));
        assert!(with("{{counter}}").unwrap_err().contains("{{env NAME}}"));
    }
}
