//! Any text as a drill file, and what follows its first NUL as a `--set`.
#![no_main]

use damper_system::DrillFile;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let (text, change) = match text.split_once('\0') {
        Some((text, change)) => (text, Some(change)),
        None => (&*text, None),
    };
    // What another file says is another target's affair.
    if text.contains("system") || change.is_some_and(|change| change.contains("system")) {
        return;
    }
    let problems = match DrillFile::parse("fuzz.yaml", text) {
        Err(problems) => problems,
        Ok(mut file) => {
            let changed = change.map_or(Ok(()), |change| file.set(change));
            match changed.and_then(|()| file.lower()) {
                Ok(mut drill) => {
                    drill.slow_down(3.0);
                    return;
                }
                Err(problems) => problems,
            }
        }
    };
    assert!(!problems.is_empty());
    for problem in problems.iter().filter(|problem| problem.file == "fuzz.yaml") {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        assert!(text.get(problem.span.clone()).is_some(), "{problem:?}");
    }
});
