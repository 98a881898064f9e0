//! Google's adaptive throttling, in the client.
//!
//! Source: "Site Reliability Engineering", chapter 21, client-side throttling. A client counts,
//! over two minutes and apart for each criticality, what it wanted to send and what the backend
//! accepted, and refuses itself what exceeds `k` times the accepted.
//!
//! Chosen where the text says nothing:
//!
//! - An attempt is counted when it is answered, or when it is refused here; one that is still
//!   under way is neither. Counted when it is sent, the first burst of a client would look like
//!   a backend that accepts nothing.
//! - Accepted is whatever the backend worked on, failures included. Rejected and shed are not; a
//!   timeout is not either unless `timeouts` is switched off, since a queue that is too long
//!   rejects nobody and shows itself in no other way.
//! - The window has 24 slices of 5 s.

use alloc::boxed::Box;
use rand_core::Rng;

use super::window::Window;
use super::{Admit, Pass, in_range};
use crate::chance::unit;
use crate::entry::{Build, Entry, Kind, Parameter, Unit, seconds};
use crate::observe::{Observe, Reading};
use crate::who::CLASSES;
use crate::{Nanos, Outcome, Reason, Refusal, Who};

const SLICES: usize = 24;

/// Google's adaptive throttling.
#[derive(Clone, Debug)]
pub struct GoogleAdaptive {
    k: f64,
    timeouts: bool,
    /// By class: what was wanted, and what was accepted.
    seen: Box<[Window<2>]>,
    sent: u64,
    refused: u64,
}

const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "k",
        unit: Unit::Number,
        default: GoogleAdaptive::DEFAULT_K,
        min: 1.0,
        max: 1000.0,
        doc: "attempts sent for each that is accepted, before the client refuses itself",
    },
    Parameter {
        name: "window",
        unit: Unit::Duration,
        default: 120.0,
        min: 0.001,
        max: 86_400.0,
        doc: "how far back it counts",
    },
    Parameter {
        name: "timeouts",
        unit: Unit::Flag,
        default: 1.0,
        min: 0.0,
        max: 1.0,
        doc: "whether an attempt that timed out counts as not accepted",
    },
];

pub(super) const ENTRY: Entry = Entry {
    name: "google-adaptive",
    kind: Kind::Throttle,
    summary: "Google's adaptive throttling: a client refuses itself what exceeds twice what is accepted",
    source: "Site Reliability Engineering, chapter 21 (client-side throttling)",
    rule: "\
requests: attempts wanted over `window`, those refused here included, by class
accepts:  attempts that were not rejected or shed (nor, with timeouts: true, timed out)
p         = max(0, (requests - k × accepts) / (requests + 1))
send      = a uniform draw from [0, 1) is not below p",
    when: "Callees that cannot even afford to reject: it keeps what reaches them at k times what \
           they accept, whatever is offered. Each caller works it out alone. k = 2 wastes as much \
           on rejections as it gets through, and notices quickly that a callee is well again; \
           k = 1.1 wastes a tenth and is slower. It does not tell first attempts from retries: \
           put a retry budget before it.",
    traps: &[
        "A caller that seldom calls learns too little to do any good.",
        "It never refuses everything: with nothing accepted one attempt in about n still goes out, n being what was wanted over the window.",
        "After a long outage the window still holds the outage: full traffic returns over the length of the window unless k is well above 1.",
        "It refuses by a coin: the same request asked again may be let through, so a caller that asks at once again defeats it.",
    ],
    parameters: PARAMETERS,
    readings: &[
        Reading::gauge("requests", "attempts wanted over the window, all classes"),
        Reading::gauge("accepts", "attempts accepted over the window, all classes"),
        Reading::gauge(
            "p",
            "probability with which the next attempt of the worst-off class is refused",
        ),
        Reading::counter("sent", "attempts let through"),
        Reading::counter("refused", "attempts refused here"),
    ],
    build: Build::Gate(|p| match *p {
        [k, window, timeouts] if in_range(PARAMETERS, p) => {
            GoogleAdaptive::try_new(k, seconds(window)?, super::flag(timeouts)?).map(Into::into)
        }
        _ => None,
    }),
};

impl GoogleAdaptive {
    /// Google's default multiple.
    pub const DEFAULT_K: f64 = 2.0;
    /// Google's default window.
    pub const DEFAULT_WINDOW: Nanos = Nanos::from_secs(120);

    /// Nothing seen yet. `timeouts`: a timeout counts as not accepted. `None` unless k is in
    /// 1..=1000 and the window lasts 1 ms to a day.
    #[must_use]
    pub fn try_new(k: f64, window: Nanos, timeouts: bool) -> Option<Self> {
        let valid = (1.0..=1000.0).contains(&k)
            && (Nanos::from_millis(1)..=Nanos::from_secs(86_400)).contains(&window);
        valid.then(|| Self {
            k,
            timeouts,
            seen: (0..CLASSES).map(|_| Window::new(window, SLICES)).collect(),
            sent: 0,
            refused: 0,
        })
    }

    fn probability(&self, class: usize) -> f64 {
        let [requests, accepts] = self.seen[class].sums().map(|n| n as f64);
        ((requests - self.k * accepts) / (requests + 1.0)).max(0.0)
    }

    /// The probability with which the next attempt of `class` is refused, as of the last one.
    #[must_use]
    pub fn p(&self, class: u8) -> f64 {
        self.probability(Who::of(class).index())
    }
}

impl Admit for GoogleAdaptive {
    #[inline]
    fn admit<R: Rng + ?Sized>(
        &mut self,
        now: Nanos,
        class: u8,
        rng: &mut R,
    ) -> Result<Pass, Refusal> {
        let index = Who::of(class).index();
        self.seen[index].advance(now);
        let p = self.probability(index);
        if p > 0.0 && unit(rng) < p {
            self.seen[index].add(now, [1, 0]);
            self.refused += 1;
            return Err(Refusal::new(Reason::Throttled, class));
        }
        self.sent += 1;
        Ok(Pass { wait: Nanos::ZERO, ticket: index as u32 })
    }

    #[inline]
    fn settle<R: Rng + ?Sized>(
        &mut self,
        now: Nanos,
        pass: Pass,
        outcome: Outcome,
        _: Nanos,
        _: &mut R,
    ) {
        let accepted = match outcome {
            Outcome::Success | Outcome::Failed | Outcome::FailedBelow => true,
            Outcome::Rejected | Outcome::Shed => false,
            Outcome::TimedOut => !self.timeouts,
        };
        if let Some(window) = self.seen.get_mut(pass.ticket as usize) {
            window.add(now, [1, u32::from(accepted)]);
        }
    }
}

impl Observe for GoogleAdaptive {
    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        let mut total = [0u64; 2];
        let mut worst = 0.0f64;
        for (class, window) in self.seen.iter().enumerate() {
            let [requests, accepts] = window.sums();
            total = [total[0] + requests, total[1] + accepts];
            worst = worst.max(self.probability(class));
        }
        see("requests", total[0] as f64);
        see("accepts", total[1] as f64);
        see("p", worst);
        see("sent", self.sent as f64);
        see("refused", self.refused as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::testing::{Backend, reading};
    use crate::testing::Zero;
    use proptest::prelude::*;
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::SeedableRng;

    fn gate(k: f64) -> GoogleAdaptive {
        GoogleAdaptive::try_new(k, GoogleAdaptive::DEFAULT_WINDOW, true).unwrap()
    }

    fn end(g: &mut GoogleAdaptive, now: Nanos, class: u8, outcome: Outcome) {
        let pass = Pass { wait: Nanos::ZERO, ticket: u32::from(class) };
        g.settle(now, pass, outcome, Nanos::ZERO, &mut Zero);
    }

    #[test]
    fn with_nothing_accepted_p_is_n_over_n_plus_one() {
        let mut g = gate(2.0);
        for n in 0..1000u32 {
            assert_eq!(g.p(0), f64::from(n) / f64::from(n + 1));
            end(&mut g, Nanos::ZERO, 0, Outcome::Rejected);
        }
    }

    #[test]
    fn p_by_hand() {
        let mut g = gate(2.0);
        for outcome in [Outcome::Success, Outcome::Failed, Outcome::FailedBelow] {
            end(&mut g, Nanos::ZERO, 0, outcome);
        }
        assert_eq!(g.p(0), 0.0);
        for outcome in [Outcome::Rejected, Outcome::Shed, Outcome::TimedOut] {
            end(&mut g, Nanos::ZERO, 0, outcome);
        }
        assert_eq!(g.p(0), 0.0, "6 wanted, 3 accepted: exactly twice");
        end(&mut g, Nanos::ZERO, 0, Outcome::Rejected);
        assert_eq!(g.p(0), 1.0 / 8.0, "(7 - 2 × 3) / 8");
        // What is refused here counts as wanted.
        assert!(g.admit(Nanos::ZERO, 0, &mut Zero).is_err());
        assert_eq!(g.p(0), 2.0 / 9.0);
        assert_eq!((reading(&g, "refused"), reading(&g, "sent")), (1.0, 0.0));
    }

    #[test]
    fn classes_are_counted_apart() {
        let mut g = gate(2.0);
        for _ in 0..9 {
            end(&mut g, Nanos::ZERO, 1, Outcome::Rejected);
        }
        assert_eq!((g.p(0), g.p(1)), (0.0, 0.9));
        assert!(g.admit(Nanos::ZERO, 0, &mut Zero).is_ok());
        let refusal = g.admit(Nanos::ZERO, 1, &mut Zero).unwrap_err();
        assert_eq!(refusal, Refusal::new(Reason::Throttled, 1));
        assert_eq!(reading(&g, "p"), 10.0 / 11.0);
    }

    #[test]
    fn an_outage_is_forgotten_after_the_window() {
        let mut g = gate(2.0);
        for _ in 0..99 {
            end(&mut g, Nanos::ZERO, 0, Outcome::Rejected);
        }
        for (at, refused) in [(119, true), (120, false)] {
            let answer = g.clone().admit(Nanos::from_secs(at), 0, &mut Zero);
            assert_eq!(answer.is_err(), refused, "{at} s");
        }
    }

    #[test]
    fn the_first_burst_of_a_client_is_not_taken_for_rejections() {
        let mut g = gate(2.0);
        for _ in 0..1000 {
            assert!(g.admit(Nanos::ZERO, 0, &mut Zero).is_ok());
        }
    }

    #[test]
    fn timeouts_can_be_left_out() {
        let mut g = GoogleAdaptive::try_new(2.0, Nanos::from_secs(120), false).unwrap();
        for _ in 0..10 {
            end(&mut g, Nanos::ZERO, 0, Outcome::TimedOut);
        }
        assert_eq!(g.p(0), 0.0);
        assert_eq!(reading(&g, "accepts"), 10.0);
    }

    /// The steady states derived from the rule: offered, then what is sent and refused.
    ///
    /// p is measured over 300 s, in which `n` attempts are offered; the share refused by `n`
    /// coins has a standard deviation of √(p (1 - p) / n), and what lies outside four of them
    /// is a fault. The backend's own grain adds one attempt in a second's worth.
    #[test]
    fn steady_states() {
        for (k, table) in [
            (
                2.0,
                [
                    (1.0, 1.0, 0.0),
                    (1.5, 1.5, 0.0),
                    (2.0, 2.0, 0.0),
                    (3.0, 2.0, 1.0 / 3.0),
                    (5.0, 2.0, 0.6),
                    (10.0, 2.0, 0.8),
                ],
            ),
            (
                1.1,
                [
                    (1.0, 1.0, 0.0),
                    (1.5, 1.1, 0.4 / 1.5),
                    (2.0, 1.1, 0.45),
                    (3.0, 1.1, 1.9 / 3.0),
                    (5.0, 1.1, 0.78),
                    (10.0, 1.1, 0.89),
                ],
            ),
        ] {
            for (offered, sent, p) in table {
                let mut g = gate(k);
                let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
                let mut backend = Backend::new(100, 1000);
                backend.drive(&mut g, (offered * 100.0) as u32, 600, &mut rng);
                let before = g.clone();
                let n = backend.drive(&mut g, (offered * 100.0) as u32, 300, &mut rng);
                let refused = (g.refused - before.refused) as f64 / n;
                let tolerance = 4.0 * libm::sqrt(p * (1.0 - p) / n) + 1.0 / 100.0 / offered;
                assert!((refused - p).abs() < tolerance, "k {k}, {offered}: p {refused}, not {p}");
                let rate = (g.sent - before.sent) as f64 / 300.0 / 100.0;
                let tolerance = tolerance * offered;
                assert!((rate - sent).abs() < tolerance, "k {k}, {offered}: {rate}, not {sent}");
            }
        }
    }

    proptest! {
        #[test]
        fn p_stays_below_one_whatever_the_clock_does(
            steps in prop::collection::vec((any::<u64>(), 0u8..20, 0usize..8), 0..300),
        ) {
            let mut g = gate(1.0);
            for (now, class, what) in steps {
                let now = Nanos(now >> (now % 64));
                match Outcome::ALL.get(what) {
                    Some(outcome) => end(&mut g, now, class.min(15), *outcome),
                    None => { let _ = g.admit(now, class, &mut Zero); }
                }
                prop_assert!((0.0..1.0).contains(&g.p(class)));
            }
        }
    }
}
