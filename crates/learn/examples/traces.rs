//! Simulates a system file and writes its traces: input for `damper learn` whose truth is known.
//!
//! `cargo run --release -p damper-learn --example traces -- FILE otlp|jaeger|zipkin REQUESTS > OUT`
#![allow(clippy::unwrap_used, clippy::expect_used)]
#![allow(missing_docs)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it prints")]

#[path = "../tests/it/emit.rs"]
#[allow(dead_code, reason = "tests use more of it")]
mod emit;

use std::io::{BufWriter, Write};
use std::path::Path;

use emit::{Format, How};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [file, format, requests] = args.as_slice() else {
        eprintln!("usage: traces FILE otlp|jaeger|zipkin REQUESTS");
        return;
    };
    let format = match format.as_str() {
        "jaeger" => Format::Jaeger,
        "zipkin" => Format::Zipkin,
        "old" => Format::OldOtlp,
        _ => Format::Otlp,
    };
    let system = match damper_system::SystemFile::read(Path::new(file)).and_then(|f| f.lower()) {
        Ok(system) => system,
        Err(problems) => {
            eprintln!("{problems}");
            return;
        }
    };
    let recorder = emit::record(&system, requests.parse().expect("a number of requests"));
    let how = How { format, tells_resends: true, client: true };
    let mut out = BufWriter::new(std::io::stdout().lock());
    emit::write(&recorder, &system, how, &mut out).expect("written");
    out.flush().expect("written");
}
