use super::*;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng as _;

#[derive(Default)]
struct Host {
    figures: Figures,
    out: bool,
}

impl Candidate for Host {
    fn figures(&self) -> &Figures {
        &self.figures
    }

    fn is_out(&self) -> bool {
        self.out
    }
}

fn hosts(n: usize) -> Vec<Host> {
    (0..n).map(|_| Host::default()).collect()
}

const ALL: [Balance; 3] = [Balance::RoundRobin, Balance::LeastRequest, Balance::P2c];

fn picks(balance: Balance, hosts: &[Host], now: Nanos, times: usize) -> Vec<usize> {
    let mut chance = Xoshiro256PlusPlus::seed_from_u64(7);
    let mut picker = Picker::new(balance);
    let mut counts = vec![0; hosts.len()];
    for _ in 0..times {
        if let Some(at) = picker.pick(hosts, now, &mut chance) {
            counts[at] += 1;
        }
    }
    counts
}

#[test]
fn equals_are_used_alike() {
    for balance in ALL {
        let counts = picks(balance, &hosts(3), Nanos::ZERO, 3000);
        assert!(counts.iter().all(|n| (900..=1100).contains(n)), "{balance:?}: {counts:?}");
    }
}

#[test]
fn who_is_out_is_never_taken() {
    for balance in ALL {
        let mut some = hosts(4);
        some[1].out = true;
        some[2].out = true;
        let counts = picks(balance, &some, Nanos::ZERO, 1000);
        assert_eq!((counts[1], counts[2]), (0, 0), "{balance:?}");
        assert!(counts[0] > 400 && counts[3] > 400, "{balance:?}: {counts:?}");
        some[0].out = true;
        some[3].out = true;
        assert_eq!(picks(balance, &some, Nanos::ZERO, 10), [0, 0, 0, 0]);
        assert_eq!(picks(balance, &[], Nanos::ZERO, 10), [0; 0]);
    }
}

#[test]
fn the_fewest_requests_under_way_win() {
    let mut some = hosts(3);
    some[0].figures.open = 2;
    some[1].figures.open = 1;
    some[2].figures.open = 3;
    assert_eq!(picks(Balance::LeastRequest, &some, Nanos::ZERO, 10), [0, 10, 0]);
}

/// Of two it takes the cheaper one each time; the dearest of three is never the cheaper.
#[test]
fn the_slower_of_two_waits() {
    let now = Nanos::from_secs(1);
    let mut some = hosts(3);
    for (host, ms) in some.iter_mut().zip([1, 2, 50]) {
        host.figures.latency.saw(now, Nanos::from_millis(ms));
    }
    let counts = picks(Balance::P2c, &some, now, 3000);
    assert_eq!(counts[2], 0);
    assert!(counts[0] > counts[1] && counts[1] > 800, "{counts:?}");
}

#[test]
fn a_peak_counts_at_once_and_fades() {
    let mut latency = PeakEwma::default();
    latency.saw(Nanos::from_secs(1), Nanos::from_millis(10));
    latency.saw(Nanos::from_secs(1), Nanos::from_millis(200));
    latency.saw(Nanos::from_secs(1), Nanos::from_millis(10));
    let cost = |latency: &PeakEwma, s| latency.cost(Nanos::from_secs(s), 0);
    assert!((cost(&latency, 1) - 0.200_001).abs() < 1e-9, "the peak stays: no time has gone");
    // exp(-1) = 0.3679.
    assert!((cost(&latency, 11) - (0.2 * 0.367_879 + 1e-6)).abs() < 1e-6);
    assert!(latency.cost(Nanos::from_secs(1), 3) > 3.9 * cost(&latency, 1));
}

/// An endpoint that refuses in no time would have the least latency of all.
#[test]
fn who_sheds_is_not_taken_for_fast() {
    let now = Nanos::from_secs(1);
    let mut some = hosts(2);
    some[0].figures.refused(now, Nanos::ZERO);
    some[1].figures.latency.saw(now, Nanos::from_millis(100));
    assert_eq!(picks(Balance::P2c, &some, now, 100), [0, 100]);
    some[1].figures.open = 7;
    assert_eq!(picks(Balance::LeastRequest, &some, now, 100), [0, 100]);
    let later = now + Figures::WORD;
    assert_eq!(picks(Balance::LeastRequest, &some, later, 100), [100, 0], "it is tried again");
    // With a hundred milliseconds each and twenty under way at the other it has its turn again.
    some[1].figures.open = 20;
    assert_eq!(picks(Balance::P2c, &some, now, 100), [100, 0]);
}
