//! The seeds of the fuzz target `filter`, and every piece of them, as a configuration. An input that
//! the fuzzer finds becomes a test here.

use std::path::Path;

use damper_mesh::filter::read;

#[test]
fn every_beginning_of_a_seed_is_read_or_refused() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/filter");
    let (mut good, mut bad) = (0, 0);
    for entry in std::fs::read_dir(folder).unwrap() {
        let seed = std::fs::read(entry.unwrap().path()).unwrap();
        let config = seed.split(|b| *b == 0).next().unwrap();
        for end in (0..config.len()).step_by(7).chain([config.len()]) {
            match read(&config[..end]) {
                Ok(_) => good += 1,
                Err(problems) => {
                    assert!(!problems.to_string().is_empty());
                    bad += 1;
                }
            }
        }
    }
    assert!(good >= 5 && bad >= 100, "{good} good, {bad} bad");
}
