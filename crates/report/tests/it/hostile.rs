//! Values nobody would write down, in every field, in many combinations.

use damper_report::result::price::{Price, PriceAt, PricedBudget};
use damper_report::result::{
    ClassResult, Cost, Graph, GraphEdge, Headroom, LeftOut, Loop, Node, Origin, Provisioned,
    Remedy, Series, ServiceResult, ServiceSeries, Simulate, Simulation,
};
use damper_report::{headroom_html, price_html, simulate_html, solve_html};

mod solve;

/// A small generator, so that a failure can be repeated by its seed.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn one_of<T: Clone>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())].clone()
    }

    fn number(&mut self) -> f64 {
        self.one_of(&[
            0.0,
            -0.0,
            1.0,
            0.5,
            270.0,
            1e-9,
            -3.0,
            1e9,
            1e18,
            f64::MAX,
            f64::MIN_POSITIVE,
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
        ])
    }

    fn maybe(&mut self) -> Option<f64> {
        (self.below(3) > 0).then(|| self.number())
    }

    fn pair(&mut self) -> [f64; 2] {
        [self.number(), self.number()]
    }

    fn count(&mut self) -> u64 {
        self.one_of(&[0, 1, 42, 1_000_000, u64::MAX])
    }

    fn name(&mut self) -> String {
        self.one_of(&NAMES).to_owned()
    }

    fn numbers(&mut self) -> Vec<f64> {
        let len = self.one_of(&[0, 1, 2, 7, 1000, 3000]);
        (0..len).map(|_| self.number()).collect()
    }

    fn list<T>(&mut self, most: usize, make: impl Fn(&mut Self) -> T) -> Vec<T> {
        let len = self.below(most + 1);
        (0..len).map(|_| make(self)).collect()
    }
}

const NAMES: [&str; 12] = [
    "",
    "<script>alert(1)</script>",
    "</script><script>throw 1</script>",
    "\"><img src=x onerror=alert(1)>",
    "' onmouseover='alert(1)",
    "<!-- --><![CDATA[",
    "&amp;&lt;&#60;",
    "a\0b\u{8}\u{1b}[31m\r\n",
    "\u{202E}evil\u{202C}",
    "größe-服务-🦀",
    "javascript:alert(1)",
    "a-name-without-any-place-to-break-that-goes-on-and-on-and-on-and-on-and-on-and-on-and-on-and-on",
];

fn origin(dice: &mut Dice) -> Origin {
    Origin {
        system: dice.name(),
        version: dice.name(),
        seed: dice.count(),
        file: dice.name(),
        set: dice.list(3, Dice::name),
        partial: dice.below(2) == 0,
        notes: dice.list(3, Dice::name),
        left_out: dice.list(3, |d| LeftOut {
            key: d.name(),
            of: d.list(2, Dice::name),
            says: d.name(),
        }),
    }
}

fn provisioned(dice: &mut Dice) -> Provisioned {
    Provisioned {
        scale: dice.number(),
        capacity_rps: dice.number(),
        per_hour: dice.number(),
        per_hour_ci95: [dice.number(), dice.number()],
        saved_per_hour: dice.maybe(),
    }
}

fn cost(dice: &mut Dice) -> Cost {
    Cost {
        given: dice.name(),
        currency: dice.name(),
        per_rps_hour: dice.number(),
        now_per_hour: dice.number(),
        serving_per_hour: dice.number(),
        stable: (dice.below(3) > 0).then(|| provisioned(dice)),
        headroom_per_hour: dice.maybe(),
    }
}

fn graph(dice: &mut Dice) -> Graph {
    Graph {
        nodes: dice.list(14, |d| Node {
            name: d.name(),
            kind: d.one_of(&["client", "service", "cache", "<b>"]).to_owned(),
            capacity_rps: d.maybe(),
            amplification: d.maybe(),
            attempts_rps: d.maybe(),
            rejection: d.maybe(),
        }),
        edges: dice.list(20, |d| GraphEdge {
            from: d.name(),
            to: d.name(),
            calls: d.number(),
            limit: d.list(3, |d| d.count() as u32),
            timeout_s: d.maybe(),
            attempts_rps: d.maybe(),
            in_loop: d.below(2) == 0,
            multiplies: (d.below(4) == 0).then(|| d.name()),
        }),
    }
}

fn run(dice: &mut Dice) -> Simulation {
    let class = |d: &mut Dice| ClassResult {
        offered: d.count(),
        good: d.count(),
        rejected: d.count(),
        timed_out: d.count(),
        failed: d.count(),
        shed: d.count(),
        unfinished: d.count(),
        rejection: d.number(),
        rejection_ci95: d.pair(),
        latency_p50_s: d.number(),
        latency_p99_s: d.number(),
    };
    let service = |d: &mut Dice| ServiceResult {
        attempts: d.count(),
        amplification: d.number(),
        wasted: d.number(),
        utilisation: d.number(),
        queue_delay_mean_s: d.number(),
        queue_max: d.count(),
        ..ServiceResult::default()
    };
    let over_time = |d: &mut Dice| ServiceSeries {
        attempts_rps: d.numbers(),
        queue_delay_s: d.numbers().into_iter().map(|v| (v != 1.0).then_some(v)).collect(),
        queue: d.list(2000, Dice::count),
        rejected_rps: d.numbers(),
        wasted: d.numbers(),
    };
    let series = Series {
        interval_s: dice.number(),
        trigger_s: (dice.below(2) == 0).then(|| dice.pair()),
        t_s: if dice.below(2) == 0 { dice.numbers() } else { (0..2000).map(f64::from).collect() },
        offered_rps: dice.numbers(),
        attempts_rps: dice.numbers(),
        goodput_rps: dice.numbers(),
        throughput_rps: dice.numbers(),
        services: dice.list(3, |d| (d.name(), over_time(d))).into_iter().collect(),
    };
    Simulation {
        state: state(dice),
        recovery_s: dice.maybe(),
        reason: dice.name(),
        load_rps: dice.number(),
        measured_s: dice.number(),
        classes: dice.list(3, |d| (d.name(), class(d))).into_iter().collect(),
        class_order: dice.list(3, Dice::name),
        services: dice.list(5, |d| (d.name(), service(d))).into_iter().collect(),
        service_order: dice.list(3, Dice::name),
        calls_per_request: dice.number(),
        calls_per_success: dice.maybe(),
        floor_calls_per_request: dice.number(),
        series,
        ..Simulation::default()
    }
}

fn state(dice: &mut Dice) -> String {
    dice.one_of(&["stable", "vulnerable", "overloaded", "metastable", "", "<i>"]).to_owned()
}

fn headroom(dice: &mut Dice) -> Headroom {
    Headroom {
        origin: origin(dice),
        trigger: dice.name(),
        trigger_name: dice.name(),
        advertised_rps: dice.maybe(),
        advertised_ci95: (dice.below(2) == 0).then(|| dice.pair()),
        hidden_rps: dice.maybe(),
        hidden_ci95: (dice.below(2) == 0).then(|| dice.pair()),
        load_rps: dice.number(),
        exposure: dice.maybe(),
        state: state(dice),
        sustaining_loop: (dice.below(2) == 0).then(|| Loop {
            caller: dice.name(),
            service: dice.name(),
            kind: dice.name(),
            amplification: dice.number(),
            wasted: dice.number(),
            summary: dice.name(),
        }),
        amplification: dice.number(),
        remedies: dice.list(12, |d| Remedy {
            name: d.name(),
            set: d.list(3, Dice::name),
            hidden_rps: d.maybe(),
            hidden_ci95: (d.below(2) == 0).then(|| d.pair()),
            at_least: d.below(2) == 0,
            advertised_rps: d.maybe(),
            success_before: d.number(),
            success_after: d.number(),
            price_ci95: d.pair(),
            verdict: d.name(),
            cost: (d.below(2) == 0).then(|| provisioned(d)),
        }),
        graph: graph(dice),
        shown: (dice.below(4) > 0).then(|| run(dice)),
        shown_load_rps: dice.number(),
        replications: 8,
        simulated_requests: dice.count(),
        cost: (dice.below(2) == 0).then(|| cost(dice)),
    }
}

fn price(dice: &mut Dice) -> Price {
    Price {
        origin: origin(dice),
        trigger: dice.name(),
        load_rps: dice.number(),
        advertised_rps: dice.maybe(),
        advertised_ci95: (dice.below(2) == 0).then(|| dice.pair()),
        replications: 5,
        requests_per_replication: dice.count(),
        burst_length_s: dice.number(),
        burst_failure: dice.number(),
        judged_at: dice.one_of(&[0.01, f64::NAN]),
        most_lost: dice.number(),
        settings: dice.list(12, |d| PricedBudget {
            budget: d.name(),
            control: d.one_of(&["none", "", "envoy", "<i>"]).to_owned(),
            default: d.below(2) == 0,
            set: d.list(3, Dice::name),
            hidden_rps: d.maybe(),
            hidden_ci95: (d.below(2) == 0).then(|| d.pair()),
            heals_everywhere: d.below(2) == 0,
            at_least: d.below(2) == 0,
            gained_rps: d.number(),
            prices: d.list(4, |d| PriceAt {
                errors: d.one_of(&[0.01, f64::NAN]),
                bursty: d.below(2) == 0,
                success: d.number(),
                price: d.number(),
                price_ci95: d.pair(),
                scaled: false,
            }),
            price: d.number(),
            price_ci95: d.pair(),
            frontier: d.below(2) == 0,
            dominated_by: (d.below(2) == 0).then(|| d.name()),
        }),
        recommended: (dice.below(2) == 0).then(|| dice.name()),
        simulated_requests: dice.count(),
    }
}

/// Pages for the browser, with every name and most strange values in them.
pub fn pages() -> Vec<(String, String)> {
    let mut pages = Vec::new();
    for seed in 1..=2 {
        let mut dice = Dice(seed);
        pages.push((format!("hostile headroom {seed}"), headroom_html(&headroom(&mut dice))));
    }
    let mut dice = Dice(99);
    let result = Simulate {
        origin: origin(&mut dice),
        trigger: dice.name(),
        run: run(&mut dice),
        graph: graph(&mut dice),
    };
    pages.push(("hostile simulate".to_owned(), simulate_html(&result)));
    for seed in 1..=3 {
        let result = solve::solve(&mut Dice(seed));
        pages.push((format!("hostile solve {seed}"), solve_html(&result)));
    }
    pages.push(("hostile price".to_owned(), price_html(&price(&mut Dice(5)))));
    pages.push(("empty price".to_owned(), price_html(&Price::default())));
    pages.push(("empty solve".to_owned(), solve_html(&solve::empty())));
    pages.push(("empty headroom".to_owned(), headroom_html(&Headroom::default())));
    pages.push(("empty simulate".to_owned(), simulate_html(&Simulate::default())));
    pages
}

/// Nothing a value contains may become an element, an attribute, a script or a `NaN`.
#[track_caller]
fn assert_harmless(seed: u64, page: &str) {
    let (head, body) = page.split_once("<body>").expect("a body");
    assert_eq!(head.matches("<style").count(), 1, "seed {seed}");
    let visible = body.rsplit_once("<script nonce=\"damper\">").expect("our script").0;
    for bad in ["NaN", "Infinity", "<script>", "<img", "onerror=alert(1)>", "<i>", "\0"] {
        assert!(!visible.contains(bad), "seed {seed}: {bad:?} in the page");
    }
    for number in ["=\"inf", "=\"-inf", "inf%", ">inf", " inf"] {
        assert!(!visible.contains(number), "seed {seed}: {number:?} in the page");
    }
    assert_eq!(page.matches("</script>").count(), page.matches("<script ").count(), "seed {seed}");
    balanced(seed, visible);
}

/// Every element that was opened is closed, in order.
#[track_caller]
fn balanced(seed: u64, markup: &str) {
    let mut open: Vec<&str> = vec![];
    for piece in markup.split('<').skip(1) {
        let (tag, _) = piece.split_once('>').expect("a tag ends");
        let name = tag.trim_start_matches('/').split([' ', '/', '>']).next().unwrap_or_default();
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "seed {seed}: </{name}>");
        } else if !tag.ends_with('/') && !["br", "wbr", "meta", "link"].contains(&name) {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "seed {seed}: left open {open:?}");
}

#[test]
fn no_value_of_headroom_breaks_the_page() {
    for seed in 0..150 {
        let result = headroom(&mut Dice(seed));
        assert_harmless(seed, &headroom_html(&result));
    }
}

#[test]
fn no_value_of_price_breaks_the_page() {
    for seed in 0..150 {
        assert_harmless(seed, &price_html(&price(&mut Dice(seed))));
    }
}

#[test]
fn no_value_of_simulate_breaks_the_page() {
    for seed in 0..100 {
        let mut dice = Dice(seed);
        let result = Simulate {
            origin: origin(&mut dice),
            trigger: dice.name(),
            run: run(&mut dice),
            graph: graph(&mut dice),
        };
        assert_harmless(seed, &simulate_html(&result));
    }
}

#[test]
fn no_value_of_solve_breaks_the_page() {
    for seed in 0..150 {
        assert_harmless(seed, &solve_html(&solve::solve(&mut Dice(seed))));
    }
    assert_harmless(0, &solve_html(&solve::empty()));
}
