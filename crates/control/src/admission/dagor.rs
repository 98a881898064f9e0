//! DAGOR: admits by business and user priority, as the queuing time allows.
//!
//! Source: "Overload Control for Scaling WeChat Microservices" (SoCC 2018, arXiv 1806.04075).
//!
//! The business priority is the class, the user priority the cohort of the hour
//! ([`Who::cohort_at`]). The level is the highest compound rank that is admitted; a service sends
//! it with its replies ([`AdmissionRule::threshold`]), and callers apply it before they send.

use alloc::boxed::Box;
use alloc::vec;

use rand_core::Rng;

use super::{AdmissionRule, Busy};
use crate::entry::{Build, Entry, Kind, Parameter, Unit, seconds, whole};
use crate::observe::{Observe, Reading};
use crate::who::{CLASSES, COHORTS, Who};
use crate::{Nanos, Reason, Refusal};

/// Compound priorities.
const RANKS: usize = CLASSES * COHORTS as usize;

/// WeChat's overload control.
#[derive(Clone, Debug)]
pub struct Dagor {
    window: Nanos,
    requests: u32,
    target: Nanos,
    alpha: f64,
    beta: f64,
    /// Arrivals of this window by rank.
    arrived: Box<[u32]>,
    total: u32,
    admitted: u32,
    waited: u64,
    taken: u32,
    start: Nanos,
    level: usize,
    /// The highest rank that ever came.
    top: usize,
    presumes: bool,
    overloaded: bool,
    windows: u64,
    refused: u64,
}

pub(super) const ENTRY: Entry = Entry {
    name: "dagor",
    kind: Kind::Admission,
    summary: "WeChat's DAGOR: a level over classes and users that follows the queuing time, and that callers apply before they send",
    source: "Overload Control for Scaling WeChat Microservices (SoCC 2018; arXiv 1806.04075)",
    rule: "\
rank = class × 128 + cohort of the user in this hour
admit iff rank <= level
a window ends after 1 s or 2000 attempts:
  overloaded iff the average queuing time in it > 20 ms
  n_exp = (1 - alpha) × admitted  if overloaded, else  admitted + beta × arrived
  overloaded: lower the level while the arrivals at or before it exceed n_exp
  else:       raise the level while they are fewer than n_exp
each reply carries the level",
    when: "Where a request has many hops: every service refuses the same users, so that what one \
           has worked on the next does not throw away. It needs no knowledge of the service but \
           how long attempts wait.",
    traps: &[
        "Response time is not looked at: a slow dependency does not mean overload here.",
        "The way down is 5 % of what was admitted for each window, the way up 1 % of what came: from half refused back to all takes 50 windows.",
        "Users are told apart by the flow. If all attempts of a class have one, the class goes in one piece.",
        "The user must be one who cannot choose: with sessions people log in again for a better place.",
        "Cohorts change every hour. Callers and services that compare ranks must count time from the same origin.",
        "Where all callers apply the level, nothing above it comes, and the published way up finds nobody to stop at: the first good window opens the level for everybody, and the overload starts again. `dagor-told` presumes what they hold back.",
        "The first rank is always admitted. A window in which nothing left the queue says nothing, and moves nothing.",
    ],
    parameters: &[
        Parameter {
            name: "window",
            unit: Unit::Duration,
            default: 1.0,
            min: 0.001,
            max: 3600.0,
            doc: "longest window",
        },
        Parameter {
            name: "requests",
            unit: Unit::Count,
            default: Dagor::DEFAULT_REQUESTS as f64,
            min: 1.0,
            max: 1_000_000_000.0,
            doc: "attempts after which a window ends sooner",
        },
        Parameter {
            name: "target",
            unit: Unit::Duration,
            default: 0.02,
            min: 0.0,
            max: 3600.0,
            doc: "average queuing time above which the service is overloaded",
        },
        Parameter {
            name: "alpha",
            unit: Unit::Percent,
            default: Dagor::DEFAULT_ALPHA,
            min: 0.0,
            max: 100.0,
            doc: "share of the admitted that a window of overload takes away",
        },
        Parameter {
            name: "beta",
            unit: Unit::Percent,
            default: Dagor::DEFAULT_BETA,
            min: 0.0,
            max: 100.0,
            doc: "share of the arrivals that a good window adds",
        },
    ],
    readings: &[
        Reading::gauge("level", "highest rank that is admitted"),
        Reading::gauge("overloaded", "1 if the last window was one of overload"),
        Reading::counter("windows", "windows that have ended"),
        Reading::counter("refused", "attempts refused"),
    ],
    build: Build::Admission(|p| match *p {
        [window, requests, target, alpha, beta] => {
            Dagor::try_new(seconds(window)?, whole(requests)?, seconds(target)?, alpha, beta)
                .map(Into::into)
        }
        _ => None,
    }),
};

pub(super) const TOLD: Entry = Entry {
    name: "dagor-told",
    summary: "DAGOR for callers that all apply its level: presumes what they hold back on the way up",
    source: "Damper: DAGOR with a way up that does not need to see what callers hold back",
    rule: "\
as dagor, but on the way up a rank above the level, up to the highest that ever came, is
presumed to hold back the mean of the ranks that came: in `arrived`, and where the level passes it",
    when: "Where callers apply the level before they send, as they do in a Damper system file. The \
           published rule then swings between too many and too few.",
    traps: &[
        "Ranks that nobody has are presumed, too: the way up over an unused class takes its share of windows. From nobody to everybody it is a hundred windows of 1 %.",
        "The other traps of `dagor`.",
    ],
    build: Build::Admission(|p| match *p {
        [window, requests, target, alpha, beta] => {
            Dagor::try_new(seconds(window)?, whole(requests)?, seconds(target)?, alpha, beta)
                .map(|dagor| Dagor { presumes: true, ..dagor }.into())
        }
        _ => None,
    }),
    ..ENTRY
};

impl Dagor {
    /// WeChat's longest window.
    pub const DEFAULT_WINDOW: Nanos = Nanos::from_secs(1);
    /// WeChat's requests in a window.
    pub const DEFAULT_REQUESTS: u32 = 2000;
    /// WeChat's queuing time.
    pub const DEFAULT_TARGET: Nanos = Nanos::from_millis(20);
    /// WeChat's step down, in percent.
    pub const DEFAULT_ALPHA: f64 = 5.0;
    /// WeChat's step up, in percent.
    pub const DEFAULT_BETA: f64 = 1.0;

    /// A level that admits everybody. `None` unless the window is 1 ms to 1 h, `requests` 1 to
    /// 10^9, the target at most 1 h, and alpha and beta 0 to 100 percent.
    #[must_use]
    pub fn try_new(
        window: Nanos,
        requests: u32,
        target: Nanos,
        alpha: f64,
        beta: f64,
    ) -> Option<Self> {
        let valid = (Nanos::from_millis(1)..=Nanos::from_secs(3600)).contains(&window)
            && (1..=1_000_000_000).contains(&requests)
            && target <= Nanos::from_secs(3600)
            && (0.0..=100.0).contains(&alpha)
            && (0.0..=100.0).contains(&beta);
        valid.then(|| Self {
            window,
            requests,
            target,
            alpha: alpha / 100.0,
            beta: beta / 100.0,
            arrived: vec![0; RANKS].into_boxed_slice(),
            total: 0,
            admitted: 0,
            waited: 0,
            taken: 0,
            start: Nanos::ZERO,
            level: RANKS - 1,
            top: 0,
            presumes: false,
            overloaded: false,
            windows: 0,
            refused: 0,
        })
    }

    /// The highest rank that is admitted.
    #[must_use]
    pub fn level(&self) -> u32 {
        self.level as u32
    }

    /// Ends the window if it is over.
    #[inline]
    fn tick(&mut self, now: Nanos) {
        if now < self.start {
            // The clock went back: without this, the window would last until it came here again.
            self.start = now;
        }
        if self.total >= self.requests || now.since(self.start) >= self.window {
            self.end_window();
            self.start = now;
        }
    }

    #[cold]
    fn end_window(&mut self) {
        if self.taken > 0 {
            self.overloaded = self.waited / u64::from(self.taken) > self.target.0;
            self.move_level();
        }
        self.windows += 1;
        self.arrived.fill(0);
        (self.total, self.admitted, self.waited, self.taken) = (0, 0, 0, 0);
    }

    fn move_level(&mut self) {
        let admitted = f64::from(self.admitted);
        let mut mass = admitted;
        if self.overloaded {
            let expected = (1.0 - self.alpha) * admitted;
            while mass > expected && self.level > 0 {
                mass -= f64::from(self.arrived[self.level]);
                self.level -= 1;
            }
        } else {
            let came = self.arrived.iter().filter(|n| **n > 0).count().max(1);
            let held_back = if self.presumes { f64::from(self.total) / came as f64 } else { 0.0 };
            let unseen = held_back * self.top.saturating_sub(self.level) as f64;
            let expected = admitted + self.beta * (f64::from(self.total) + unseen);
            while mass < expected && self.level < RANKS - 1 {
                self.level += 1;
                mass += f64::from(self.arrived[self.level]).max(held_back);
            }
        }
    }
}

impl AdmissionRule for Dagor {
    #[inline]
    fn admit<R: Rng + ?Sized>(
        &mut self,
        now: Nanos,
        who: Who,
        _: &Busy,
        _: &mut R,
    ) -> Result<(), Refusal> {
        self.tick(now);
        let rank = who.rank_at(now) as usize;
        self.arrived[rank] += 1;
        self.top = self.top.max(rank);
        self.total += 1;
        if rank <= self.level {
            self.admitted += 1;
            return Ok(());
        }
        self.refused += 1;
        // No earliest: a window may end after its requests at any moment.
        Err(Refusal::new(Reason::Shed, who.class))
    }

    #[inline]
    fn taken(&mut self, now: Nanos, _: Who, waited: Nanos, _: &Busy) {
        // Before the window may end: else one that ends by its requests could be without evidence.
        self.waited = self.waited.saturating_add(waited.0);
        self.taken = self.taken.saturating_add(1);
        self.tick(now);
    }

    #[inline]
    fn threshold(&self) -> Option<u32> {
        Some(self.level())
    }
}

impl Observe for Dagor {
    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("level", f64::from(self.level()));
        see("overloaded", f64::from(u8::from(self.overloaded)));
        see("windows", self.windows as f64);
        see("refused", self.refused as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Zero;
    use proptest::prelude::*;
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::{Rng, SeedableRng};
    use std::vec::Vec;

    const MS: fn(u64) -> Nanos = Nanos::from_millis;

    /// A flow of this cohort.
    fn flow(cohort: u32) -> u64 {
        (0..).find(|flow| Who { class: 0, flow: *flow, user: None }.cohort() == cohort).unwrap()
    }

    fn who(rank: u32) -> Who {
        Who { class: (rank / COHORTS) as u8, flow: flow(rank % COHORTS), user: None }
    }

    fn dagor() -> Dagor {
        Dagor::try_new(MS(1000), 2000, MS(20), 5.0, 1.0).unwrap()
    }

    impl Dagor {
        fn ask(&mut self, now: Nanos, who: Who) -> bool {
            self.admit(now, who, &Busy::default(), &mut Zero).is_ok()
        }

        /// A window of arrivals `(rank, how many)` of which one waited for `waited`; gives how
        /// many were admitted.
        fn during(&mut self, from: u64, arrivals: &[(u32, u32)], waited: u64) -> u32 {
            let mut admitted = 0;
            for &(rank, n) in arrivals {
                let who = who(rank);
                admitted += (0..n).map(|_| u32::from(self.ask(MS(from), who))).sum::<u32>();
            }
            self.taken(MS(from), Who::default(), MS(waited), &Busy::default());
            admitted
        }

        fn end(&mut self, at: u64) -> u32 {
            self.tick(MS(at));
            self.level()
        }
    }

    /// Callers that hold back what is above the level: the published way up opens it for all.
    #[test]
    fn a_level_that_callers_apply_opens_at_once_unless_they_are_presumed() {
        let after_one_good_window = |presumes: bool, top: usize| {
            let mut d = Dagor { presumes, top, level: 9, ..dagor() };
            // Ten ranks with ten attempts each; nobody sends anything above.
            let arrivals: Vec<(u32, u32)> = (0..10).map(|rank| (rank, 10)).collect();
            assert_eq!(d.during(0, &arrivals, 0), 100);
            d.end(1000)
        };
        assert_eq!(after_one_good_window(false, 299), 2047);
        // Nobody ever came above: expected 101, one more rank, presumed to bring ten.
        assert_eq!(after_one_good_window(true, 9), 10);
        // Ranks up to 299 came once, 290 of them hold back ten each: expected 100 + 1 % of 3000,
        // which takes three ranks.
        assert_eq!(after_one_good_window(true, 299), 12);
    }

    /// 100 arrivals at ranks 10, 140, 270 and 300: alpha 5 % of 100 is 5.
    #[test]
    fn cursor_moves_by_hand() {
        let arrivals = [(10, 50), (140, 40), (270, 6), (300, 4)];
        let mut d = dagor();
        assert_eq!(d.threshold(), Some(2047), "at first everybody");
        assert_eq!(d.during(0, &arrivals, 21), 100);
        // Expected 95: below 300 there are 96, below 270 there are 90.
        assert_eq!(d.end(1000), 269);
        assert_eq!(d.during(1000, &arrivals, 21), 90);
        // Expected 85.5: the 40 of rank 140 go.
        assert_eq!(d.end(2000), 139);
        assert_eq!(d.during(2000, &arrivals, 20), 50, "exactly 20 ms is no overload");
        // Expected 50 + 1 % of 100 = 51: reached at rank 140.
        assert_eq!(d.end(3000), 140);
        assert_eq!(d.during(3000, &arrivals, 0), 90);
        assert_eq!(d.end(4000), 270, "expected 91");
        assert_eq!(d.during(4000, &arrivals, 0), 96);
        assert_eq!(d.end(5000), 300, "expected 97");
        assert_eq!(d.during(5000, &arrivals, 0), 100);
        assert_eq!(d.end(6000), 2047, "nobody is left to reach 101");
        assert_eq!((d.windows, d.refused), (6, 10 + 50 + 10 + 4));
    }

    #[test]
    fn a_window_ends_after_its_requests_as_well() {
        let mut d = Dagor::try_new(MS(1000), 10, MS(20), 50.0, 1.0).unwrap();
        assert_eq!(d.during(0, &[(5, 5), (6, 5)], 30), 10);
        assert_eq!((d.windows, d.level(), d.overloaded), (1, 5, true));
        assert!(d.ask(MS(0), who(5)) && !d.ask(MS(0), who(6)), "without a second having passed");
    }

    #[test]
    fn the_average_counts_not_the_longest() {
        let mut d = dagor();
        d.during(0, &[(3, 10)], 0);
        d.during(0, &[(3, 10)], 40);
        d.end(1000);
        assert!(!d.overloaded, "20 ms on average");
        d.during(1000, &[(3, 10)], 41);
        d.during(1000, &[(3, 10)], 0);
        d.end(2000);
        assert!(d.overloaded);
    }

    #[test]
    fn a_window_without_evidence_moves_nothing() {
        let mut d = dagor();
        d.during(0, &[(10, 50), (200, 50)], 500);
        assert_eq!(d.end(1000), 199);
        assert!(!d.ask(MS(1000), who(200)));
        assert_eq!(d.end(2000), 199, "nothing left the queue");
    }

    /// What cannot be cut finer goes in one piece, and the first rank never goes.
    #[test]
    fn one_user_goes_in_one_piece() {
        let mut d = dagor();
        d.during(0, &[(130, 100)], 500);
        assert_eq!(d.end(1000), 129);
        assert_eq!(d.during(1000, &[(0, 100)], 500), 100);
        assert_eq!(d.end(2000), 0);
        assert!(d.ask(MS(2000), who(0)));
    }

    /// The paper's reason for priorities: two calls in a row, each to a service that refuses half.
    /// By chance a quarter of the requests gets through both, by user a half.
    #[test]
    fn two_services_in_a_row_refuse_the_same_users() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let (mut first, mut second) = (dagor(), dagor());
        (first.level, second.level) = (63, 63);
        let (mut by_user, mut by_chance) = (0, 0);
        for _ in 0..1999 {
            let who = Who { class: 0, flow: rng.next_u64(), user: None };
            by_user += u32::from(first.ask(MS(0), who) && second.ask(MS(0), who));
            by_chance += u32::from(rng.next_u64() % 2 == 0 && rng.next_u64() % 2 == 0);
        }
        // Three standard deviations.
        assert!((933..=1066).contains(&by_user), "{by_user}");
        assert!((442..=558).contains(&by_chance), "{by_chance}");
    }

    #[test]
    fn refuses_impossible_settings() {
        let ok = (MS(1000), 2000, MS(20), 5.0, 1.0);
        for (w, r, t, a, b) in [
            (MS(0), ok.1, ok.2, ok.3, ok.4),
            (ok.0, 0, ok.2, ok.3, ok.4),
            (ok.0, ok.1, Nanos::MAX, ok.3, ok.4),
            (ok.0, ok.1, ok.2, -1.0, ok.4),
            (ok.0, ok.1, ok.2, f64::NAN, ok.4),
            (ok.0, ok.1, ok.2, ok.3, 101.0),
        ] {
            assert!(Dagor::try_new(w, r, t, a, b).is_none());
        }
    }

    proptest! {
        /// Admission is monotone in rank, and exactly what the level says to callers, at any hour.
        #[test]
        fn callers_that_apply_the_level_agree(
            asks in prop::collection::vec((any::<u64>(), 0u8..4, any::<u64>(), 0u64..100), 1..300),
        ) {
            let mut d = Dagor::try_new(MS(1000), 20, MS(20), 30.0, 5.0).unwrap();
            for (now, class, flow, waited) in asks {
                let (now, who) = (Nanos(now), Who { class, flow, user: None });
                d.tick(now);
                let level = d.threshold().unwrap();
                prop_assert_eq!(d.ask(now, who), who.rank_at(now) <= level);
                d.taken(now, who, MS(waited), &Busy::default());
                prop_assert!(d.level() < RANKS as u32);
            }
        }
    }
}
