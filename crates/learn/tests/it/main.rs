//! Learning back what is known: traces of simulated systems.
#![allow(missing_docs)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod demos;
mod emit;
mod formats;
mod known;
mod torn;

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use damper_learn::{Control, LearnError, Learnt, Options, learn};
use damper_system::System;

use emit::{Format, How, Recorder};

/// How most tests record.
const HOW: How = How { format: Format::Otlp, tells_resends: true, client: true };

fn system(text: &str) -> System {
    damper_system::SystemFile::parse("test.yaml", text).and_then(|f| f.lower()).unwrap()
}

fn learn_from(paths: Vec<PathBuf>) -> Result<Learnt, LearnError> {
    let options = Options { paths, ..Options::default() };
    learn(&options, &Control { stop: &AtomicBool::new(false), progress: &|_, _| {} })
}

/// Learns from one text.
fn learn_text(text: &[u8]) -> Result<Learnt, LearnError> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    learn_from(vec![file.path().to_owned()])
}

fn traces(recorder: &Recorder, system: &System, how: How) -> Vec<u8> {
    let mut text = Vec::new();
    emit::write(recorder, system, how, &mut text).unwrap();
    text
}
