//! How long a network takes to solve, by shape, model, services and classes; and the sweep of a
//! small real one.
//!
//! `cargo bench -p damper-model --bench solve`
#![allow(missing_docs, clippy::unwrap_used, reason = "a benchmark of what is tested")]

#[path = "../examples/speed/generate.rs"]
mod generate;

use damper_model::network::{Network, Options};
use damper_model::system;
use damper_system::SystemFile;
use divan::{Bencher, black_box};
use generate::{Drawn, Kind, Shape};

fn main() {
    divan::main();
}

/// Services and classes.
const SIZES: [(usize, usize); 7] =
    [(10, 4), (100, 4), (1_000, 4), (10_000, 4), (100_000, 2), (100_000, 4), (100_000, 8)];
const SEED: u64 = 1;

fn network(shape: Shape, kind: Kind, (nodes, classes): (usize, usize)) -> Network {
    Drawn::new(shape, nodes, classes, SEED).unwrap().network(kind).unwrap()
}

fn solve(bencher: Bencher<'_, '_>, shape: Shape, kind: Kind, size: (usize, usize)) {
    let network = network(shape, kind, size);
    let options = Options::default();
    assert!(network.solve(&options).converged);
    bencher.bench_local(|| black_box(&network).solve(&options));
}

#[divan::bench_group(max_time = 3)]
mod dag {
    use super::*;

    #[divan::bench(args = SIZES, sample_count = 20)]
    fn fluid(bencher: Bencher<'_, '_>, size: (usize, usize)) {
        solve(bencher, Shape::Dag, Kind::Fluid, size);
    }

    #[divan::bench(args = SIZES, sample_count = 20)]
    fn finite(bencher: Bencher<'_, '_>, size: (usize, usize)) {
        solve(bencher, Shape::Dag, Kind::Finite, size);
    }

    #[divan::bench(args = SIZES, sample_count = 20)]
    fn mixed(bencher: Bencher<'_, '_>, size: (usize, usize)) {
        solve(bencher, Shape::Dag, Kind::Mixed, size);
    }
}

#[divan::bench_group(max_time = 3)]
mod cyclic {
    use super::*;

    #[divan::bench(args = SIZES, sample_count = 20)]
    fn fluid(bencher: Bencher<'_, '_>, size: (usize, usize)) {
        solve(bencher, Shape::Cyclic, Kind::Fluid, size);
    }

    #[divan::bench(args = SIZES, sample_count = 20)]
    fn finite(bencher: Bencher<'_, '_>, size: (usize, usize)) {
        solve(bencher, Shape::Cyclic, Kind::Finite, size);
    }

    #[divan::bench(args = SIZES, sample_count = 20)]
    fn mixed(bencher: Bencher<'_, '_>, size: (usize, usize)) {
        solve(bencher, Shape::Cyclic, Kind::Mixed, size);
    }
}

/// From a list of calls to a network that can be solved: the index, the order, the loops' radius.
#[divan::bench(args = [Shape::Dag, Shape::Cyclic], sample_count = 10, max_time = 3)]
fn build_100_000_services_4_classes(bencher: Bencher<'_, '_>, shape: Shape) {
    let drawn = Drawn::new(shape, 100_000, 4, SEED).unwrap();
    bencher.bench_local(|| black_box(&drawn).network(Kind::Finite).unwrap());
}

/// The published sweep of hotel reservation: five loads of the low class, with and without
/// priorities, each as `damper solve` answers it. The file is read before.
#[divan::bench]
fn hotel_reservation_sweep(bencher: Bencher<'_, '_>) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/hotel-reservation-routes.yaml");
    let file = SystemFile::read(std::path::Path::new(path)).unwrap();
    let systems: Vec<_> = [5, 1]
        .into_iter()
        .flat_map(|limit| (1..=5).map(move |step| (limit, 50 * step)))
        .map(|(limit, rate)| {
            let mut file = file.clone();
            file.set(&format!("policies.default.retry.limit.low={limit}")).unwrap();
            file.set(&format!("load.low={rate}/s")).unwrap();
            file.lower().unwrap()
        })
        .collect();
    bencher.bench_local(|| {
        for system in &systems {
            black_box(system::solve(black_box(system)).unwrap());
        }
    });
}
