//! What came of a drill: the record, from what was measured.

use std::time::Duration;

use damper_report::result::drill::{
    Drill as Record, DrillClass, DrillEvent, DrillPhase, DrillSeries, Expectation, LeverResponse,
};
use damper_system::{Manner, Requirement};

use crate::judge::lost;
use crate::load::{End, Summary, Tally};
use crate::run::{Ended, Going};
use crate::series::{Cell, Tick, sum};
use crate::words;

/// The record of a drill that has ended.
pub(crate) fn record(going: &Going<'_>, ended: &Ended, rate: f64) -> Record {
    let seen = Seen::of(going);
    let drill = going.drill();
    let all = sum(&seen.ticks, None);
    let storm = seen.storm();
    let (word, why) = match ended {
        Ended::Done => ("done", String::new()),
        Ended::Aborted(why) => ("aborted", why.clone()),
        Ended::Interrupted => ("interrupted", "somebody stopped it".to_owned()),
        Ended::Failed(why) => ("failed", why.clone()),
    };
    let place = going.passed.iter().rev().find(|p| p.to.is_none());
    let ended_why = match place {
        Some(phase) if !why.is_empty() => format!("{why}; in the phase `{}`", phase.name),
        _ => why,
    };
    let (amplification, by) = seen.amplification().unzip();
    let mut record = Record {
        load_rps: rate,
        slower: drill.slower,
        ended: word.to_owned(),
        ended_why,
        phases: phases(&seen),
        events: events(going),
        trigger_s: seen.trigger.map(|(from, to)| {
            let end = to.unwrap_or(seen.end);
            [from.as_secs_f64(), end.as_secs_f64()]
        }),
        detection_s: seen.detection(),
        recovery_s: seen.recovery(),
        recovered: seen.trigger.map(|_| seen.recovery().is_some()),
        offered: all.due,
        good: all.good_of_due,
        lost: lost(storm),
        lost_share: share(lost(storm), sum(storm, None).due),
        amplification,
        amplification_by: by.unwrap_or_default().to_owned(),
        attempts: all.attempts,
        withheld: going.tally.as_ref().map_or(0, |t| t.withheld),
        levers: levers(&seen),
        expectations: Vec::new(),
        classes: classes(going),
        series: series(&seen),
        late_p99_ms: going.tally.as_ref().map_or(0.0, |t| Summary::of(&t.late_us).p99_ms),
        ..Record::default()
    };
    record.origin.seed = drill.seed;
    drill.name.clone_into(&mut record.origin.system);
    record.origin.partial = *ended != Ended::Done;
    record.expectations =
        drill.expect.iter().map(|required| expectation(&seen, &record, required)).collect();
    if record.withheld > 0 {
        record.expectations.iter_mut().for_each(|e| doubt(e, record.withheld));
    }
    record
}

/// Where the bounds of the drill cut off a storm, nothing good is known.
fn doubt(expectation: &mut Expectation, withheld: u64) {
    if expectation.met == Some(true) {
        expectation.met = None;
        expectation.measured += &format!(", but the bounds held back {withheld} retries");
    }
}

/// What was seen, with what it is judged by.
struct Seen<'g> {
    going: &'g Going<'g>,
    ticks: Vec<Tick>,
    trigger: Option<(Duration, Option<Duration>)>,
    end: Duration,
}

impl<'g> Seen<'g> {
    fn of(going: &'g Going<'_>) -> Self {
        // Everything that was sent has ended; the last interval is not over.
        let mut ticks = going.series.ticks();
        while ticks
            .last()
            .is_some_and(|tick| sum(std::slice::from_ref(tick), None) == Cell::default())
        {
            ticks.pop();
        }
        let end = going.series.width() * ticks.len() as u32;
        Self { going, ticks, trigger: going.trigger, end }
    }

    fn index(&self, at: Duration) -> usize {
        self.going.series.index(at)
    }

    fn width_s(&self) -> f64 {
        self.going.series.width().as_secs_f64()
    }

    /// The interval with which it was well again.
    fn back(&self) -> Option<usize> {
        let end = self.trigger?.1?;
        let also = |tick| self.going.metric_is_well(tick);
        self.going.rule.recovered(&self.ticks, self.index(end), &also)
    }

    fn recovery(&self) -> Option<f64> {
        let end = self.trigger?.1?.as_secs_f64();
        Some((self.back()? as f64 * self.width_s() - end).max(0.0))
    }

    fn detection(&self) -> Option<f64> {
        let start = self.trigger?.0;
        let noticed = self.going.rule.noticed(&self.ticks, self.index(start))?;
        let back = self.back().unwrap_or(usize::MAX);
        (noticed <= back).then(|| (noticed + 1) as f64 * self.width_s() - start.as_secs_f64())
    }

    /// Intervals from the first trigger until all was well, or the end.
    fn storm(&self) -> &[Tick] {
        let Some((start, _)) = self.trigger else { return &[] };
        let from = self.index(start).min(self.ticks.len());
        let to = self.back().unwrap_or(self.ticks.len()).clamp(from, self.ticks.len());
        &self.ticks[from..to]
    }

    /// Attempts per request during the storm over those before it, and who counted: servers that
    /// can, or the callers, if they retry.
    fn amplification(&self) -> Option<(f64, &'static str)> {
        let retry = self.going.drill().callers.manner != Manner::None;
        let at_servers = self.amplification_of(&|from, to| {
            let metric = self.going.poll.attempts()?;
            let at = |t| self.going.poll.at(metric, t);
            Some(at(to)? - at(from)?)
        });
        let of_callers = || {
            self.amplification_of(&|from, to| {
                Some(sum(between(self, from, to), None).attempts as f64)
            })
        };
        match at_servers {
            Some(factor) => Some((factor, "server")),
            None if retry => of_callers().map(|factor| (factor, "client")),
            None => None,
        }
    }

    fn amplification_of(
        &self,
        attempts: &dyn Fn(Duration, Duration) -> Option<f64>,
    ) -> Option<f64> {
        let (start, _) = self.trigger?;
        let end = self.back().map_or(self.end, |tick| self.going.series.width() * tick as u32);
        let due = |from: Duration, to: Duration| {
            let (from, to) = (self.index(from), self.index(to).min(self.ticks.len()));
            (from < to)
                .then(|| sum(&self.ticks[from..to], None).due as f64)
                .filter(|due| *due > 0.0)
        };
        // Of the time before, the last stretch as long as the hold time: there the load is up.
        let hold = self.going.series.width() * self.going.rule.hold as u32;
        let calm = start.saturating_sub(hold * 2);
        let before = attempts(calm, start)? / due(calm, start)?;
        let during = attempts(start, end)? / due(start, end)?;
        (before > 0.0).then(|| during / before)
    }
}

fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64
}

fn phases(seen: &Seen<'_>) -> Vec<DrillPhase> {
    let phase = |passed: &crate::run::Passed| {
        let to = passed.to.unwrap_or(seen.end.max(passed.from));
        let all = sum(between(seen, passed.from, to), None);
        DrillPhase {
            name: passed.name.clone(),
            from_s: passed.from.as_secs_f64(),
            to_s: to.as_secs_f64(),
            offered: all.due,
            good: all.good_of_due,
        }
    };
    seen.going.passed.iter().map(phase).collect()
}

fn between<'s>(seen: &'s Seen<'_>, from: Duration, to: Duration) -> &'s [Tick] {
    let from = seen.index(from).min(seen.ticks.len());
    let to = seen.index(to).clamp(from, seen.ticks.len());
    &seen.ticks[from..to]
}

fn events(going: &Going<'_>) -> Vec<DrillEvent> {
    let event =
        |(at, what): &(Duration, String)| DrillEvent { t_s: at.as_secs_f64(), what: what.clone() };
    going.events.iter().map(event).collect()
}

fn levers(seen: &Seen<'_>) -> Vec<LeverResponse> {
    let hold = seen.going.series.width() * seen.going.rule.hold as u32;
    let pulls = &seen.going.pulls;
    let good = |from: Duration, to: Duration| {
        let all = sum(between(seen, from, to), None);
        (all.due > 0).then(|| share(all.good_of_due, all.due))
    };
    let one = |(i, pull): (usize, &crate::run::Pulled)| {
        let until = pulls.get(i + 1).map_or(seen.end, |next| next.at);
        let after = between(seen, pull.at, until);
        let healthy = after
            .windows(seen.going.rule.hold)
            .position(|window| seen.going.rule.is_healthy(window) == Some(true));
        LeverResponse {
            lever: pull.lever.clone(),
            action: pull.action.clone(),
            t_s: pull.at.as_secs_f64(),
            before: good(pull.at.saturating_sub(hold), pull.at),
            after: good(until.saturating_sub(hold).max(pull.at), until),
            healthy_after_s: healthy.map(|tick| tick as f64 * seen.width_s()),
        }
    };
    pulls.iter().enumerate().map(one).collect()
}

fn classes(going: &Going<'_>) -> Vec<DrillClass> {
    let ticks = going.series.ticks();
    let one = |(class, name): (usize, &String)| {
        let all = sum(&ticks, Some(class));
        let count = |end: End| all.ends[end as usize];
        let row = going.tally.as_ref().map(|tally: &Tally| Summary::of(&tally.class(class).ok_us));
        let row = row.unwrap_or_default();
        DrillClass {
            name: name.clone(),
            offered: all.due,
            good: all.good,
            late: count(End::Ok).saturating_sub(all.good),
            rejected: count(End::Rejected),
            failed: count(End::Failed),
            timed_out: count(End::TimedOut),
            connection: count(End::Connection),
            not_sent: count(End::NotSent),
            p50_ms: row.p50_ms,
            p99_ms: row.p99_ms,
        }
    };
    going.drill().classes.iter().enumerate().map(one).collect()
}

fn series(seen: &Seen<'_>) -> DrillSeries {
    let width = seen.width_s();
    let cells: Vec<Cell> =
        seen.ticks.iter().map(|tick| sum(std::slice::from_ref(tick), None)).collect();
    let per = |of: &dyn Fn(&Cell) -> u64| cells.iter().map(|c| of(c) as f64 / width).collect();
    let ms = |c: &Cell| (c.good > 0).then(|| c.good_us as f64 / c.good as f64 / 1e3);
    let poll = &seen.going.poll;
    let metrics = poll.metrics.iter().enumerate().map(|(i, metric)| {
        let at = |tick| poll.at(i, seen.going.series.width() * (tick as u32 + 1));
        (metric.name.clone(), (0..cells.len()).map(at).collect())
    });
    DrillSeries {
        t_s: (0..cells.len()).map(|i| (i as f64 + 0.5) * width).collect(),
        interval_s: width,
        offered_rps: per(&|c| c.due),
        goodput_rps: per(&|c| c.good),
        throughput_rps: per(&Cell::throughput),
        rejected_rps: per(&Cell::rejected),
        good_ms: cells.iter().map(ms).collect(),
        metrics: metrics.collect(),
    }
}

fn expectation(seen: &Seen<'_>, record: &Record, required: &Requirement) -> Expectation {
    let drill = seen.going.drill();
    let seconds = |s: f64| format!("{s:.1} s");
    let within = |value: Option<f64>, most: f64, never: &str| match value {
        Some(s) => (seconds(s), Some(s <= most)),
        None if seen.trigger.is_none() => ("nothing went wrong".to_owned(), None),
        None => (never.to_owned(), Some(false)),
    };
    let (measured, met) = match required {
        Requirement::Recovery(time) => {
            within(record.recovery_s, time.as_secs_f64(), "it did not recover")
        }
        Requirement::Detection(time) => {
            within(record.detection_s, time.as_secs_f64(), "it was not noticed")
        }
        Requirement::Goodput { share: least, class, during } => {
            goodput(seen, *least, *class, during.as_deref())
        }
        Requirement::Amplification(most) => match record.amplification {
            Some(factor) => (format!("{factor:.2}x"), Some(factor <= *most)),
            None => ("nobody counted attempts".to_owned(), None),
        },
        Requirement::Lost(most) => (
            format!(
                "{} of what was due, {} requests",
                words::percent(record.lost_share),
                record.lost
            ),
            seen.trigger.map(|_| record.lost_share <= *most),
        ),
        Requirement::Moved(metric) => {
            let values = seen.going.poll.seen(*metric);
            let known: Vec<f64> = values.iter().filter_map(|(_, value)| *value).collect();
            match (known.first(), known.last()) {
                (Some(first), Some(last)) => {
                    (format!("from {first} to {last}"), Some(last > first))
                }
                _ => ("nobody told it".to_owned(), None),
            }
        }
    };
    Expectation { text: words::requirement(drill, required), measured, met, predicted: None }
}

fn goodput(
    seen: &Seen<'_>,
    least: f64,
    class: Option<usize>,
    during: Option<&str>,
) -> (String, Option<bool>) {
    let found = match during {
        Some(name) => {
            let phase = seen.going.passed.iter().find(|passed| passed.name == name);
            phase.and_then(|passed| {
                let to = passed.to.unwrap_or(seen.end);
                let all = sum(between(seen, passed.from, to), class);
                (all.due > 0).then(|| (passed.from.as_secs_f64(), share(all.good_of_due, all.due)))
            })
        }
        None => seen
            .going
            .rule
            .worst(&seen.ticks, class)
            .map(|(tick, share)| (tick as f64 * seen.width_s(), share)),
    };
    match found {
        Some((at, share)) if during.is_none() => {
            (format!("{} at worst, from {at:.0} s on", words::percent(share)), Some(share >= least))
        }
        Some((_, share)) => (words::percent(share), Some(share >= least)),
        None => ("nothing was sent".to_owned(), None),
    }
}
