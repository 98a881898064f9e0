//! What a decision costs, ours beside that of peers: see `compare/README.md`.
//!
//! `compare-control ROUNDS MICROSECONDS` prints one JSON object for each contestant and number of
//! threads. All take turns, so that what else the machine does meets all of them; a round
//! lasts for so many microseconds.
//!
//! `compare-control grpc` prints what gRPC's client is expected to do.

mod contestants;
mod grpc;
mod measure;

use std::time::Duration;

use serde_json::json;

fn main() {
    if std::env::args().nth(1).as_deref() == Some("grpc") {
        grpc::expected().for_each(|setting| println!("{setting}"));
        return;
    }
    let number = |index| std::env::args().nth(index).and_then(|word| word.parse().ok());
    let (Some(rounds), Some(microseconds)) = (number(1), number(2)) else {
        eprintln!("usage: compare-control ROUNDS MICROSECONDS | grpc");
        std::process::exit(2);
    };
    let contestants = contestants::all();
    let length = Duration::from_micros(microseconds);
    let mut kept = vec![[Vec::new(), Vec::new()]; contestants.len()];
    for _ in 0..rounds {
        for (contestant, kept) in contestants.iter().zip(&mut kept) {
            for (index, kept) in kept.iter_mut().enumerate() {
                if index > 0 && !contestant.shared {
                    continue;
                }
                let round = (contestant.run)(index + 1, length);
                if round.undisturbed {
                    kept.push(round.ns);
                }
            }
        }
    }
    for (contestant, kept) in contestants.iter().zip(&mut kept) {
        for (index, kept) in kept.iter_mut().enumerate() {
            kept.sort_by(f64::total_cmp);
            if let Some(median) = kept.get(kept.len() / 2) {
                let line = json!({
                    "group": contestant.group,
                    "name": contestant.name,
                    "ours": contestant.ours,
                    "threads": index + 1,
                    "ns": median,
                    "rounds": kept.len(),
                });
                println!("{line}");
            }
        }
    }
}
