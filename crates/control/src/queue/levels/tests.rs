use super::*;
use proptest::prelude::*;
use std::vec::Vec;

fn level(shares: f64, lendable_percent: f64, borrowing_percent: Option<f64>) -> LevelConfig {
    LevelConfig { shares, lendable_percent, borrowing_percent, excess: Excess::Queue }
}

/// Kubernetes' levels without `exempt`: shares and lendable percentage.
const DEFAULTS: [(f64, f64); 7] = [
    (30.0, 33.0),
    (40.0, 25.0),
    (10.0, 0.0),
    (40.0, 50.0),
    (100.0, 90.0),
    (20.0, 50.0),
    (5.0, 0.0),
];

/// 10.3: 600 seats, shares of 245 in all.
#[test]
fn nominal_seats_of_the_default_levels() {
    let bounds: Vec<Bounds> =
        DEFAULTS.iter().map(|(s, l)| level(*s, *l, None).bounds(600, 245.0)).collect();
    let nominal: Vec<u32> = bounds.iter().map(|b| b.nominal).collect();
    assert_eq!(nominal, [74, 98, 25, 98, 245, 49, 13]);
    // Lendable: 24.42 → 24, 24.5 → 25 (half away from zero), 0, 49, 220.5 → 221, 24.5 → 25, 0.
    let min: Vec<u32> = bounds.iter().map(|b| b.min).collect();
    assert_eq!(min, [50, 73, 25, 49, 24, 24, 13]);
    assert!(bounds.iter().all(|b| b.max == b.nominal + 600));
    assert_eq!(
        level(1.0, 0.0, Some(33.0)).bounds(24, 2.0),
        Bounds { nominal: 12, min: 12, max: 16 }
    );
}

#[test]
fn ranges() {
    for bad in [
        level(-1.0, 0.0, None),
        level(f64::NAN, 0.0, None),
        level(f64::INFINITY, 0.0, None),
        level(1.0, 100.5, None),
        level(1.0, 0.0, Some(-1.0)),
        level(1.0, 0.0, Some(f64::NAN)),
    ] {
        assert!(!bad.valid(), "{bad:?}");
    }
    assert!(level(0.0, 100.0, Some(0.0)).valid());
}

/// 4 seats for 5 s and 8 for 5 s: mean 6, deviation 2, envelope 8.
#[test]
fn demand_by_hand() {
    let mut demand = Demand::default();
    demand.set(Nanos::ZERO, 4);
    demand.set(Nanos::from_secs(5), 8);
    demand.close(PERIOD, 0);
    assert_eq!((demand.high(), demand.smooth()), (8.0, 8.0));
    // The next period has none: 0.977 × 8.
    demand.set(PERIOD, 0);
    demand.close(Nanos::from_secs(20), 0);
    assert_eq!(demand.high(), 8.0, "it was still 8 when the period began");
    assert!((demand.smooth() - 7.816).abs() < 1e-12);
    demand.close(Nanos::from_secs(30), 0);
    assert_eq!(demand.high(), 0.0);
    assert!((demand.smooth() - 8.0 * 0.977 * 0.977).abs() < 1e-12);
    // Half of it is gone after 30 periods: 0.977^30 = 0.4976.
    demand.close(Nanos::from_secs(40), 27);
    assert!((demand.smooth() / 8.0 - 0.497_6).abs() < 1e-4);
    assert_eq!(demand.since, Nanos::from_secs(310));
}

#[test]
fn many_periods_at_once_are_as_many_in_a_row() {
    for seats in [0, 3, 50] {
        let mut row = Demand::default();
        row.set(Nanos::ZERO, 20);
        row.set(Nanos::from_secs(4), seats);
        let mut once = row.clone();
        once.close(PERIOD, 99);
        for period in 1..=100 {
            row.close(Nanos::from_secs(10 * period), 0);
        }
        assert!((once.smooth() - row.smooth()).abs() < 1e-9, "{seats}");
        assert_eq!((once.high(), once.since), (row.high(), row.since));
    }
}

fn claim(nominal: u32, min: u32, max: u32, demand: f64) -> Claim {
    let bounds = Bounds { nominal, min, max };
    Claim { bounds, exempt: false, high: demand, smooth: demand, current: nominal }
}

fn currents(claims: &[Claim]) -> Vec<u32> {
    claims.iter().map(|c| c.current).collect()
}

/// Where nothing can be lent, what remains is the sum of the least; where everybody wants all of
/// its own, it is the sum of what they keep. Kubernetes then shows a fair fraction of 0.
#[test]
fn levels_that_lend_nothing_keep_what_is_theirs() {
    for demand in [0.0, 6.0, 100.0] {
        let mut claims = [claim(12, 12, 36, demand), claim(24, 24, 48, 0.0)];
        assert_eq!(lend(&mut claims, Required::Nominal), 0.0);
        assert_eq!(currents(&claims), [12, 24], "{demand}");
    }
    let mut claims = [claim(12, 6, 36, 100.0), claim(24, 12, 48, 24.0)];
    assert_eq!(lend(&mut claims, Required::Nominal), 0.0);
    assert_eq!(currents(&claims), [12, 24]);
}

/// Kubernetes' own borrowing test: 24 seats, two levels of 12, 24 clients and 6; by the lendable
/// limit of the one or by the borrowing limit of the other the first gets 16.
#[test]
fn borrowing_as_in_kubernetes_test() {
    for (a, b) in [
        (level(100.0, 50.0, Some(67.0)), level(100.0, 33.0, Some(50.0))),
        (level(100.0, 50.0, Some(33.0)), level(100.0, 67.0, Some(50.0))),
    ] {
        let (a, b) = (a.bounds(24, 200.0), b.bounds(24, 200.0));
        let mut claims = [claim(12, a.min, a.max, 24.0), claim(12, b.min, b.max, 6.0)];
        lend(&mut claims, Required::Nominal);
        assert_eq!(currents(&claims), [16, 8], "{a:?} {b:?}");
    }
}

/// Nobody wants anything: in proportion to Min. One wants much: what the others can lend.
#[test]
fn lending_by_hand() {
    let mut claims = [claim(100, 50, 400, 0.0), claim(100, 50, 400, 0.0)];
    assert_eq!(lend(&mut claims, Required::Nominal), 2.0, "200 seats for targets of 50 and 50");
    assert_eq!(currents(&claims), [100, 100]);
    claims[0].high = 300.0;
    claims[0].smooth = 300.0;
    // Targets 300 and 50 for 200: 0.5714 × 50 is below 50, so the second keeps its 50.
    assert_eq!(lend(&mut claims, Required::Nominal), 0.5);
    assert_eq!(currents(&claims), [150, 50]);
    // The second wants 100 again and has a right to it.
    claims[1].high = 100.0;
    lend(&mut claims, Required::Nominal);
    assert_eq!(currents(&claims), [100, 100], "lent seats come back");
}

/// The exempt use 150 of 200 nominal seats: 50 remain for Min 40 + 40; then for 20 + 20 with
/// a least of 30 + 60; then for a least of 20 + 20.
#[test]
fn when_the_exempt_use_it_up() {
    let exempt = |high| Claim { exempt: true, ..claim(0, 0, 600, high) };
    let mut claims = [exempt(150.0), claim(100, 40, 700, 90.0), claim(100, 40, 700, 90.0)];
    assert_eq!(lend(&mut claims, Required::Nominal), 0.0);
    assert_eq!(currents(&claims), [150, 40, 40]);
    let mut claims = [exempt(150.0), claim(100, 20, 700, 30.0), claim(100, 20, 700, 60.0)];
    assert_eq!(lend(&mut claims, Required::Nominal), 0.0);
    // 10 of the 50 above Min are there: a fifth of 10 and of 40.
    assert_eq!(currents(&claims), [150, 22, 28]);
}

/// Kubernetes shares out all seats although the exempt use some: here 200 + 60 of 200. Its design
/// document shares out what remains.
#[test]
fn the_code_shares_out_more_seats_than_there_are() {
    let sum = |required| -> u32 {
        let exempt = Claim { exempt: true, ..claim(0, 0, 600, 60.0) };
        let mut claims = [exempt, claim(100, 20, 700, 50.0), claim(100, 20, 700, 50.0)];
        lend(&mut claims, required);
        currents(&claims).iter().sum()
    };
    assert_eq!(sum(Required::Nominal), 260);
    assert_eq!(sum(Required::Remaining), 200);
}

#[test]
fn without_a_solution_all_keep_what_they_have() {
    // Max is 60 + 60, and 200 are to be shared out.
    let mut claims = [claim(100, 0, 60, 10.0), claim(100, 0, 60, 10.0)];
    claims[0].current = 7;
    assert_eq!(lend(&mut claims, Required::Nominal), 0.0);
    assert_eq!(currents(&claims), [7, 100]);
    assert_eq!(lend(&mut [], Required::Nominal), 0.0);
}

proptest! {
    /// The conditions that Kubernetes' own test checks: each has its share of `fair`, or is at
    /// the bound that keeps it from that, and together they have what there is, but for rounding
    /// to whole seats.
    #[test]
    fn each_has_its_share_or_a_bound(
        levels in prop::collection::vec((0u32..200, 0u32..100, 0u32..300, 0.0f64..500.0, 0.0f64..500.0), 1..=16),
    ) {
        let mut claims: Vec<Claim> = levels
            .iter()
            .map(|(nominal, lendable, borrowing, high, smooth)| Claim {
                bounds: Bounds {
                    nominal: *nominal,
                    min: nominal - lendable.min(nominal),
                    max: nominal + borrowing,
                },
                exempt: false,
                high: libm::round(*high),
                smooth: *smooth,
                current: *nominal,
            })
            .collect();
        let total: f64 = claims.iter().map(|c| f64::from(c.bounds.nominal)).sum();
        let fair = lend(&mut claims, Required::Nominal);
        let sum: f64 = claims.iter().map(|c| f64::from(c.current)).sum();
        prop_assert!((sum - total).abs() <= 0.5 * claims.len() as f64 + 1e-6, "{sum} of {total}");
        let least: f64 = claims.iter().map(Claim::least).sum();
        for c in &claims {
            prop_assert!((c.bounds.min..=c.bounds.max).contains(&c.current));
            prop_assert!(f64::from(c.current) >= c.least(), "{c:?}");
            if total > least {
                let exact = (fair * c.target()).clamp(c.least(), f64::from(c.bounds.max));
                prop_assert!((f64::from(c.current) - exact).abs() <= 0.5 + 1e-6, "{c:?} {fair}");
            }
        }
    }
}
