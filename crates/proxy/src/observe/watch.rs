//! Watches the hops: every second it notes what they counted, and judges their states by the last
//! seconds. It reads; the data path never waits for it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use damper_control::Nanos;

use super::state::{Gauge, State};
use super::totals::Totals;
use super::view::{HopView, Span};
use crate::hop::{Hop, Hops};

/// The span over which rates, quantiles and the state are, in seconds.
const WINDOW: Nanos = Nanos::from_secs(5);
/// How often it should look.
pub const EVERY: Nanos = Nanos::from_secs(1);
/// Goodput of the past that is kept, in seconds: what a pull of the lever is compared with.
const KEPT: usize = 120;

#[derive(Debug, Default)]
struct Watched {
    /// The last window, the oldest first.
    recent: VecDeque<(Nanos, Totals)>,
    /// Successes in time until then, over all classes.
    goodput: VecDeque<(Nanos, u64)>,
    gauge: Gauge,
}

impl Watched {
    fn look(&mut self, now: Nanos, hop: &Hop) {
        let totals = Totals::of(hop);
        // Other classes after a reload, or counts that began anew.
        let again = self.recent.back().is_some_and(|(_, last)| {
            let fewer = last.classes.iter().zip(&totals.classes).any(|(a, b)| b.came < a.came);
            fewer || last.classes.len() != totals.classes.len()
        });
        if again {
            (self.recent, self.goodput) = (VecDeque::new(), VecDeque::new());
        }
        self.goodput.push_back((now, totals.classes.iter().map(|class| class.in_time).sum()));
        if self.goodput.len() > KEPT {
            self.goodput.pop_front();
        }
        self.recent.push_back((now, totals));
        // One that is a window old stays, so that the span is a whole window.
        while self.recent.get(1).is_some_and(|(at, _)| now.since(*at) >= WINDOW) {
            self.recent.pop_front();
        }
        if let Some(span) = self.span() {
            let rates = span.rates(hop);
            self.gauge.step(now, &rates, hop.outlook().capacity);
        }
    }

    fn span(&self) -> Option<Span<'_>> {
        let ((from, before), (to, now)) = (self.recent.front()?, self.recent.back()?);
        Some(Span {
            before: &before.classes,
            seen_before: &before.seen,
            layers_before: before,
            now,
            seconds: to.since(*from).as_secs_f64(),
        })
    }

    /// Successes in time per second between two instants, as far as they are known.
    fn goodput(&self, from: Nanos, to: Nanos) -> Option<f64> {
        let mut within = self.goodput.iter().filter(|(at, _)| (from..=to).contains(at));
        let (first, before) = within.next()?;
        let (last, after) = within.next_back()?;
        let seconds = last.since(*first).as_secs_f64();
        (seconds > 0.0).then(|| after.saturating_sub(*before) as f64 / seconds)
    }
}

/// Watches hops. Clones watch together.
#[derive(Clone, Debug)]
pub struct Watch {
    hops: Hops,
    watched: Arc<Mutex<BTreeMap<String, Watched>>>,
}

impl Watch {
    /// Watches these hops, as soon as [`Watch::tick`] is called.
    #[must_use]
    pub fn new(hops: Hops) -> Self {
        Self { hops, watched: Arc::default() }
    }

    fn watched(&self) -> MutexGuard<'_, BTreeMap<String, Watched>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at all hops. To be called [every second](EVERY).
    pub fn tick(&self, now: Nanos) {
        let hops = self.hops.list();
        let mut watched = self.watched();
        watched.retain(|name, _| hops.iter().any(|hop| hop.name() == name));
        for hop in &*hops {
            watched.entry(hop.name().to_owned()).or_default().look(now, hop);
        }
    }

    /// The state of a hop.
    #[must_use]
    pub fn state(&self, hop: &str) -> State {
        self.watched().get(hop).map_or(State::Stable, |watched| watched.gauge.state())
    }

    /// Successes in time per second of a hop between two instants. `None`: not known.
    #[must_use]
    pub fn goodput(&self, hop: &str, from: Nanos, to: Nanos) -> Option<f64> {
        self.watched().get(hop)?.goodput(from, to)
    }

    /// A hop over the last window; `None`: it was not looked at yet.
    #[must_use]
    pub fn view(&self, hop: &Hop) -> Option<HopView> {
        let watched = self.watched();
        let watched = watched.get(hop.name())?;
        Some(watched.span()?.view(hop, watched.gauge.state()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hop::{Direction, Outlook};
    use damper_control::Outcome;

    /// A hop of 300/s before a callee that is called twice in the worst case.
    fn hops() -> (Hops, Watch) {
        let hops = Hops::default();
        let outlook = Outlook { gain: vec![2.0], capacity: Some(300.0) };
        let hop = Hop::new("db", Direction::Inbound, vec!["high".into(), "low".into()]);
        hops.install(vec![hop.with_outlook(outlook)]).unwrap();
        (hops.clone(), Watch::new(hops))
    }

    /// A second in which so many came for the first time and again, and so many were in time.
    fn second(hops: &Hops, watch: &Watch, now: u64, first: usize, again: usize, good: usize) {
        let hop = hops.find("db").unwrap();
        let now = Nanos::from_secs(now);
        for i in 0..first + again {
            let request = hop.meters().request(now, 1, i >= first);
            let outcome = if i < good { Outcome::Success } else { Outcome::TimedOut };
            request.end(now, outcome, None);
        }
        watch.tick(now);
    }

    #[test]
    fn a_storm_is_seen_and_its_end_too() {
        let (hops, watch) = hops();
        let mut now = 1;
        let mut run = |seconds: u64, first, again, good| {
            for _ in 0..seconds {
                second(&hops, &watch, now, first, again, good);
                now += 1;
            }
            watch.state("db")
        };
        assert_eq!(run(10, 100, 0, 100), State::Stable);
        assert_eq!(run(12, 280, 0, 280), State::Vulnerable);
        assert_eq!(run(12, 280, 280, 5), State::Metastable);
        assert_eq!(run(20, 100, 0, 100), State::Stable);
    }

    #[test]
    fn a_view_is_of_the_last_window() {
        let (hops, watch) = hops();
        let hop = hops.find("db").unwrap();
        assert_eq!(watch.view(&hop), None);
        second(&hops, &watch, 1, 100, 0, 100);
        assert_eq!(watch.view(&hop).unwrap().window_s, 0.0);
        for now in 2..=20 {
            second(&hops, &watch, now, 100, 50, 60);
        }
        let view = watch.view(&hop).unwrap();
        assert_eq!((view.window_s, view.all.load_rps, view.all.came_rps), (5.0, 100.0, 150.0));
        assert_eq!((view.all.goodput_rps, view.all.amplification), (60.0, Some(1.5)));
        assert_eq!((view.loop_gain, view.capacity_rps), (Some(2.0), Some(300.0)));
        let names: Vec<&str> = view.classes.iter().map(|class| class.name.as_str()).collect();
        assert_eq!(names, ["high", "low"]);
        assert_eq!((view.classes[0].came_rps, view.classes[1].came_rps), (0.0, 150.0));
        assert_eq!(view.classes[0].amplification, None, "a ratio to nothing is no number");
    }

    #[test]
    fn goodput_of_the_past_is_known_as_far_as_it_was_seen() {
        let (hops, watch) = hops();
        for now in 1..=10 {
            second(&hops, &watch, now, 100, 0, 20);
        }
        for now in 11..=20 {
            second(&hops, &watch, now, 100, 0, 90);
        }
        let between = |from, to| watch.goodput("db", Nanos::from_secs(from), Nanos::from_secs(to));
        assert_eq!((between(0, 10), between(10, 20)), (Some(20.0), Some(90.0)));
        assert_eq!((between(20, 30), between(50, 60)), (None, None));
        assert_eq!(watch.goodput("web", Nanos::ZERO, Nanos::MAX), None);
    }

    #[test]
    fn a_hop_that_is_gone_is_forgotten_and_one_with_other_classes_begins_anew() {
        let (hops, watch) = hops();
        second(&hops, &watch, 1, 100, 0, 100);
        second(&hops, &watch, 2, 100, 0, 100);
        hops.install(vec![hops.begin("db", Direction::Inbound, vec!["one".into()])]).unwrap();
        watch.tick(Nanos::from_secs(3));
        let view = watch.view(&hops.find("db").unwrap()).unwrap();
        assert_eq!((view.window_s, view.classes.len()), (0.0, 1));
        hops.install(Vec::new()).unwrap();
        watch.tick(Nanos::from_secs(4));
        assert_eq!(watch.goodput("db", Nanos::ZERO, Nanos::MAX), None);
    }
}
