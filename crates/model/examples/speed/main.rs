//! Draws a network to measure on, and measures how long it takes to solve one.
//!
//! `speed draw cyclic finite 1000 4 > network.json`, then `speed solve network.json`. What it
//! draws is the same on every machine. `cargo xtask compare solve` gives the same files to SciPy.
#![allow(clippy::print_stdout, reason = "it prints what it is asked for")]
#![allow(clippy::disallowed_types, reason = "it measures time, on the wall clock")]

mod generate;

use std::error::Error;
use std::hint::black_box;
use std::path::PathBuf;
use std::time::Instant;

use clap::{Parser, ValueEnum as _};
use damper_model::network::{Edge, Options};
use generate::{Drawn, Kind, Shape};
use serde_json::{Value, json};

#[derive(Parser)]
#[command(name = "speed", about)]
enum Arguments {
    /// Print a network as JSON
    Draw {
        /// Who may call whom
        shape: Shape,
        /// The model of every service
        model: Kind,
        /// Services
        services: usize,
        /// Classes
        classes: usize,
        #[arg(long, default_value_t = 1)]
        /// Other numbers give other networks
        seed: u64,
    },
    /// Solve one; print the times and the solution as JSON
    Solve {
        /// What `draw` printed
        file: PathBuf,
        /// How often
        #[arg(long, default_value_t = 5)]
        turns: usize,
    },
}

fn main() -> Result<(), Box<dyn Error>> {
    match Arguments::parse() {
        Arguments::Draw { shape, model, services, classes, seed } => {
            println!("{}", written(&Drawn::new(shape, services, classes, seed)?, model));
        }
        Arguments::Solve { file, turns } => {
            let (drawn, model) = read(&serde_json::from_str(&std::fs::read_to_string(file)?)?)
                .ok_or("not what `speed draw` prints")?;
            println!("{}", solved(&drawn, model, turns)?);
        }
    }
    Ok(())
}

/// Times from the numbers in memory to the solution, and of that the part after the network has
/// been indexed, ordered and checked.
fn solved(drawn: &Drawn, model: Kind, turns: usize) -> Result<Value, Box<dyn Error>> {
    let options = Options::default();
    let (mut all_s, mut solve_s) = (Vec::new(), Vec::new());
    let mut last = drawn.network(model)?.solve(&options);
    for _ in 0..turns {
        let start = Instant::now();
        let network = black_box(drawn).network(model)?;
        let built = Instant::now();
        last = black_box(network.solve(&options));
        solve_s.push(built.elapsed().as_secs_f64());
        all_s.push(start.elapsed().as_secs_f64());
    }
    let rejection: Vec<f64> = (0..drawn.nodes).map(|i| last.rejection(i).probability()).collect();
    Ok(json!({
        "all_s": all_s,
        "solve_s": solve_s,
        "rounds": last.iterations,
        "converged": last.converged,
        "residual": last.residual,
        "rates": last.rates(),
        "rejection": rejection,
    }))
}

fn written(drawn: &Drawn, model: Kind) -> Value {
    let edges = &drawn.edges;
    json!({
        "model": model.to_possible_value().map(|value| value.get_name().to_owned()),
        "services": drawn.nodes,
        "classes": drawn.classes,
        "from": edges.iter().map(|edge| edge.from).collect::<Vec<_>>(),
        "to": edges.iter().map(|edge| edge.to).collect::<Vec<_>>(),
        "class": edges.iter().map(|edge| edge.class).collect::<Vec<_>>(),
        "share": edges.iter().map(|edge| edge.share).collect::<Vec<_>>(),
        "entry": drawn.entry,
        "limits": drawn.limits,
        "capacity": drawn.capacity,
        "workers": drawn.workers,
        "places": drawn.places,
    })
}

fn read(file: &Value) -> Option<(Drawn, Kind)> {
    let whole = |key: &str| file.get(key)?.as_u64();
    let numbers = |key: &str| -> Option<Vec<f64>> {
        file.get(key)?.as_array()?.iter().map(Value::as_f64).collect()
    };
    let counts = |key: &str| -> Option<Vec<u64>> {
        file.get(key)?.as_array()?.iter().map(Value::as_u64).collect()
    };
    let small = |key: &str| -> Option<Vec<u32>> {
        counts(key)?.into_iter().map(|count| u32::try_from(count).ok()).collect()
    };
    let (from, to, class) = (counts("from")?, counts("to")?, counts("class")?);
    let edges = from.iter().zip(&to).zip(&class).zip(numbers("share")?);
    let edges = edges.map(|(((&from, &to), &class), share)| Edge {
        from: from as usize,
        to: to as usize,
        class: Some(class as usize),
        share,
    });
    let drawn = Drawn {
        nodes: whole("services")? as usize,
        classes: whole("classes")? as usize,
        edges: edges.collect(),
        entry: numbers("entry")?,
        limits: small("limits")?,
        capacity: numbers("capacity")?,
        workers: small("workers")?,
        places: counts("places")?,
    };
    let of_each = [drawn.capacity.len(), drawn.workers.len(), drawn.places.len()];
    let model = Kind::from_str(file.get("model")?.as_str()?, false).ok()?;
    (of_each == [drawn.nodes; 3]).then_some((drawn, model))
}

#[cfg(test)]
mod tests {
    use damper_model::network::{Method, Network};

    use super::*;

    /// The largest difference of a rate, as a part of the largest rate, and of an s̄; and the
    /// largest s̄.
    fn apart(network: &Network) -> (f64, f64, f64) {
        let options = Options::default();
        let fast = network.solve(&options);
        let plain = network.solve(&Options { method: Method::Plain, ..options });
        assert!(fast.converged && plain.converged);
        let largest = plain.rates().iter().fold(0.0_f64, |most, rate| most.max(*rate));
        let pairs = fast.rates().iter().zip(plain.rates());
        let rates = pairs.fold(0.0_f64, |most, (a, b)| most.max((a - b).abs()));
        let (mut s, mut most) = (0.0_f64, 0.0_f64);
        for i in 0..network.nodes().len() {
            let (a, b) = (fast.rejection(i).probability(), plain.rejection(i).probability());
            (s, most) = (s.max((a - b).abs()), most.max(b));
        }
        (rates / largest, s, most)
    }

    /// What is measured is the same solution as that of the plain map, which answers exactly in
    /// every round and in no clever order.
    #[test]
    fn the_fast_iteration_ends_where_the_plain_map_does() {
        for kind in [Kind::Fluid, Kind::Finite, Kind::Mixed] {
            for (nodes, classes, seeds) in [(10, 2, 1..=20), (100, 4, 1..=5), (1_000, 4, 1..=1)] {
                let mut fullest = 0.0_f64;
                for seed in seeds {
                    let drawn = Drawn::new(Shape::Cyclic, nodes, classes, seed).unwrap();
                    let (rates, s, most) = apart(&drawn.network(kind).unwrap());
                    fullest = fullest.max(most);
                    assert!(
                        rates < 1e-9 && s < 1e-9,
                        "{kind:?}, {nodes} services, seed {seed}: {rates:e}, {s:e}"
                    );
                }
                // Where nothing is rejected any method is right.
                assert!(fullest > 0.1, "{kind:?}, {nodes} services: {fullest}");
            }
        }
    }

    #[test]
    fn what_is_drawn_is_read_again() {
        let drawn = Drawn::new(Shape::Cyclic, 10, 3, 7).unwrap();
        let (read, kind) = read(&written(&drawn, Kind::Finite)).unwrap();
        assert_eq!(kind, Kind::Finite);
        assert_eq!(format!("{drawn:?}"), format!("{read:?}"));
    }
}
