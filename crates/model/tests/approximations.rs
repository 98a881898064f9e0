//! How far the node models are from the exact chain: `docs/approximations.md`.
//!
//! `DAMPER_BLESS=1 cargo test -p damper-model --test approximations` rewrites it.
#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;

use damper_model::chain::{Exact, ExactClass};
use damper_model::node::{
    Delays, Finite, Fluid, Mixed, Node, NodeModel as _, Rejection, Residual, Service,
};
use damper_system::coverage::markdown;

const PLACES: [u64; 2] = [5, 20];
const LIMITS: [[u32; 2]; 2] = [[1, 0], [2, 0]];
/// Both classes together, over capacity.
const LOADS: [f64; 4] = [0.8, 1.0, 1.2, 2.0];
/// Mean delays before a retry, in mean service times.
const DELAYS: [f64; 3] = [0.1, 1.0, 10.0];
const MODELS: [&str; 4] = ["fluid", "M/M/1/m", "mixed", "residual"];
const FLUID: usize = 0;
const QUEUE: usize = 1;
const MIXED: usize = 2;
const RESIDUAL: usize = 3;
/// By how much the exact chain itself may be off, since its orbit ends somewhere.
const CUT: f64 = 1e-4;

struct Case {
    places: u64,
    limits: [u32; 2],
    load: f64,
    delay: f64,
    /// Rejection of both classes.
    exact: [f64; 2],
    /// By model.
    models: [[f64; 2]; 4],
}

impl Case {
    fn of(places: u64, limits: [u32; 2], load: f64, delay: f64) -> Self {
        let rates = [load / 2.0; 2];
        let class = |p: usize| ExactClass { arrival_rate: rates[p], limit: limits[p], delay };
        let room = usize::try_from(places).unwrap();
        let chain =
            Exact { service_rate: 1.0, workers: 1, room, classes: vec![class(0), class(1)] };
        let answer = chain.solve_within(CUT).unwrap();
        let constant = Delays::constant(delay).unwrap();
        let nodes = [
            Node::Fluid(Fluid::try_new(1.0).unwrap()),
            Node::Finite(Finite::single(1.0, places).unwrap()),
            Node::Mixed(Mixed::try_new(1.0, 1, places).unwrap()),
            Node::Residual(Residual::try_new(1.0, 1.0, Service::Exponential, constant).unwrap()),
        ];
        let models = nodes.map(|node| {
            let at: Rejection = node.rejection(&rates, &limits);
            limits.map(|limit| node.failed(at, limit))
        });
        let exact = [answer.rejection[0], answer.rejection[1]];
        Self { places, limits, load, delay, exact, models }
    }

    fn over(&self) -> bool {
        self.load > 1.0
    }

    /// By how much a model is off, in the class in which it is off most.
    fn off(&self, model: usize) -> f64 {
        let off = |p: usize| (self.models[model][p] - self.exact[p]).abs();
        f64::max(off(0), off(1))
    }
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for places in PLACES {
        for limits in LIMITS {
            for load in LOADS {
                cases.extend(DELAYS.map(|delay| Case::of(places, limits, load, delay)));
            }
        }
    }
    cases
}

fn name([high, low]: [u32; 2]) -> String {
    format!("{high}, {low}")
}

fn worst<'a>(cases: impl Iterator<Item = &'a Case>, model: usize) -> f64 {
    cases.map(|c| c.off(model)).fold(0.0, f64::max)
}

#[test]
fn page_is_up_to_date() {
    let cases = cases();
    let wanted = page(&cases);
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/approximations.md");
    if std::env::var_os("DAMPER_BLESS").is_some() {
        std::fs::write(path, &wanted).unwrap();
    }
    let found = std::fs::read_to_string(path).unwrap_or_default();
    if found != wanted {
        for (a, b) in found.lines().zip(wanted.lines()).filter(|(a, b)| a != b) {
            eprintln!("- {a}\n+ {b}");
        }
        panic!("docs/approximations.md is not what comes out: run cargo xtask docs");
    }
}

fn page(cases: &[Case]) -> String {
    let mut page = "<!-- Computed by a test of damper-model: cargo xtask docs -->

# How far the models are from the exact answer

One service with exponential service times, one worker and m places; Poisson arrivals of a high and
a low class, half each, of which only the high one retries, k times, after a delay. With exponential
delays this is a finite Markov chain, solved here exactly, to within 0.0001. The four node models
are beside it:

- **fluid**: what is above capacity is rejected, and nothing else;
- **M/M/1/m**: the queue, with retries as if they were fresh arrivals;
- **mixed**: M/M/1/m up to capacity; above it the fluid, or M/M/1/m at capacity where that rejects
  more. `damper solve` takes M/M/c/m for queues with an end, and the fluid for rate limits;
- **residual**: the fluid in which a retry fails as long as what blocked the last attempt is still
  there. Its delays are constant: they are those of the mean of the exact chain's. Up to capacity it
  is the fluid, and left out here.

Loads are first attempts over capacity, delays are in mean service times, and errors are those of
the probability that a request is rejected, in the class in which the model is off most.

## The largest errors

"
    .to_owned();
    page.push_str("| m | delay | fluid | M/M/1/m | mixed | residual, above capacity |\n");
    page.push_str("|---|---|---|---|---|---|\n");
    for places in PLACES {
        for delay in DELAYS {
            let here = || cases.iter().filter(|c| c.places == places && c.delay == delay);
            write!(page, "| {places} | {delay} |").unwrap();
            for model in [FLUID, QUEUE, MIXED] {
                write!(page, " {:.3} |", worst(here(), model)).unwrap();
            }
            let residual = worst(here().filter(|c| c.over()), RESIDUAL);
            writeln!(page, " {residual:.3} |").unwrap();
        }
    }
    page.push_str("\n## What follows\n\n");
    for statement in statements(cases) {
        writeln!(page, "- {statement}").unwrap();
    }
    page.push_str("\n## Case by case\n\n");
    page.push_str(
        "| m | k | load | delay | exact: high | low | fluid | M/M/1/m | mixed | residual |\n",
    );
    page.push_str("|---|---|---|---|---|---|---|---|---|---|\n");
    for c in cases {
        let [high, low] = c.exact;
        let residual = if c.over() { format!("{:.3}", c.off(RESIDUAL)) } else { "–".to_owned() };
        writeln!(
            page,
            "| {} | {} | {:.0} % | {} | {high:.3} | {low:.3} | {:.3} | {:.3} | {:.3} | {residual} |",
            c.places,
            name(c.limits),
            100.0 * c.load,
            c.delay,
            c.off(FLUID),
            c.off(QUEUE),
            c.off(MIXED),
        )
        .unwrap();
    }
    page.push_str(COVERAGE);
    page.push_str(&markdown());
    page
}

const COVERAGE: &str = "
## What each command takes of a file

`simulate`, `headroom`, `map` and `price` take all of a file, and so does what `drill` predicts with them.
The others leave out what is below; each says so on standard error and, as the list `left_out` (`emulate`
and `export`: among `notes`), in `--json`, if the file has it. *Says itself*: what becomes of it depends
on its value, and the command says it value by value. What has no row is taken by all.

`solve` and `plan` know no time: of timeouts, backoffs and triggers they take what hidden capacity needs.
`drill` puts the hidden capacity of `solve` beside what it predicts, and says what that leaves out.

";

/// What the page says in words. Each is checked before it is said.
fn statements(cases: &[Case]) -> Vec<String> {
    let [short, _, long] = DELAYS;
    let at = |delay: f64| cases.iter().filter(move |c| c.delay == delay);

    let settled = worst(at(long), QUEUE);
    assert!(settled < 0.03, "M/M/1/m at long delays: {settled}");
    for three in cases.chunks(DELAYS.len()) {
        assert!(three.is_sorted_by(|a, b| b.off(QUEUE) < a.off(QUEUE) + 2.0 * CUT));
    }
    let soon = worst(at(short), QUEUE);
    assert!(soon > 0.15, "M/M/1/m at short delays: {soon}");

    // A priority by retries is never worth what the independent models say.
    for c in cases {
        for model in [FLUID, QUEUE, MIXED] {
            assert!(c.models[model][0] < c.exact[0] + CUT, "{}", MODELS[model]);
        }
    }

    let [few, many] = PLACES.map(|places| {
        let here = || at(long).filter(|c| c.places == places);
        let full = worst(here().filter(|c| c.load == 1.0), FLUID);
        assert!(here().all(|c| c.off(FLUID) <= full), "the fluid at long delays");
        full
    });
    assert!(few > 0.2 && many < 0.08, "the fluid at capacity: {few}, {many}");

    for c in cases {
        if c.over() {
            assert!(c.off(QUEUE) < c.off(MIXED) + CUT, "mixed above capacity");
        } else {
            assert_eq!(c.models[QUEUE], c.models[MIXED]);
        }
    }
    let apart = |c: &&Case| c.over() && c.places == 5 && c.load < 1.5;
    let mixed = cases.iter().filter(apart).map(|c| c.off(MIXED) - c.off(QUEUE));
    let mixed = mixed.fold(0.0, f64::max);
    assert!((0.02..0.05).contains(&mixed), "mixed above capacity: {mixed}");

    let over = |c: &&Case| c.over() && c.delay < long;
    assert!(cases.iter().filter(over).all(|c| c.off(RESIDUAL) < c.off(MIXED)));
    let twice = worst(cases.iter().filter(|c| c.load == 2.0), RESIDUAL);
    assert!(twice < 0.03, "residual at twice capacity: {twice}");
    let near = PLACES.map(|places| {
        worst(cases.iter().filter(|c| c.over() && c.load < 1.5 && c.places == places), RESIDUAL)
    });
    assert!(near[0] < 0.1 && near[1] < 0.04, "residual just above capacity: {near:?}");

    vec![
        format!(
            "Delays of {long} service times: M/M/1/m is within {settled:.3} of the exact answer. It is \
             better the longer the delays, in every case, and at {short} of a service time it is off \
             by up to {soon:.3}."
        ),
        "The fluid, M/M/1/m and the mixed model never reject the high class more often than really \
         happens: a priority by retries is worth less than they say, and at short delays much less."
            .to_owned(),
        format!(
            "At delays of {long} service times the fluid is furthest off at capacity, where it rejects \
             nothing: by up to {few:.3} with {} places, and {many:.3} with {}.",
            PLACES[0], PLACES[1]
        ),
        format!(
            "The mixed model is M/M/1/m up to capacity, and above it nowhere nearer than M/M/1/m: \
             at 120 % with {} places by {mixed:.3} further off.",
            PLACES[0]
        ),
        format!(
            "Above capacity and with delays of a service time or less, the residual model is nearer \
             than the mixed one in every case. It is within {twice:.3} at twice capacity, at \
             all three delays, but rejects too little at 120 %, as it knows no queue: off by up to {:.3} \
             with {} places, and {:.3} with {}.",
            near[0], PLACES[0], near[1], PLACES[1]
        ),
    ]
}
