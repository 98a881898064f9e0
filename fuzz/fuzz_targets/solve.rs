//! Any text as a system file, solved: no panic, every number a number, and an end in bounded time.
#![no_main]

use damper_model::system;
use damper_system::SystemFile;
use libfuzzer_sys::fuzz_target;

/// Texts beyond this say nothing new: the work of solving grows with the file.
const MOST_BYTES: usize = 4_000;

fuzz_target!(|data: &[u8]| {
    if data.len() > MOST_BYTES {
        return;
    }
    let text = String::from_utf8_lossy(data);
    let Ok(file) = SystemFile::parse("fuzz.yaml", &text) else { return };
    let Ok(system) = file.lower() else { return };
    let solved = match system::solve(&system) {
        Ok(solved) => solved,
        Err(error) => {
            assert!(!error.to_string().contains("NaN"), "{error}");
            return;
        }
    };
    for class in &solved.classes {
        assert!((-1e-9..=1.0 + 1e-9).contains(&class.rejection), "{solved:?}");
        assert!((-1e-9..=1.0 + 1e-9).contains(&class.completion), "{solved:?}");
    }
    for service in &solved.services {
        assert!((0.0..=1.0).contains(&service.s), "{solved:?}");
        assert!(service.attempts_rps.iter().all(|rate| *rate >= 0.0), "{solved:?}");
        assert!(service.amplification >= 0.0 && service.worst_amplification >= 0.0, "{solved:?}");
        assert!(service.utilisation.is_none_or(|used| used >= 0.0), "{solved:?}");
        assert!(service.hidden_rps.is_none_or(|rate| rate >= 0.0), "{solved:?}");
    }
    assert!(solved.calls_per_request >= 0.0 && solved.floor_calls_per_request >= 0.0, "{solved:?}");
    assert!(!solved.residual.is_nan(), "{solved:?}");
});
