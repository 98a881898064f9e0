//! Any text as a system file, and what follows its first NUL as a `--set`.
#![no_main]

use damper_system::{Problems, SystemFile};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let (text, change) = match text.split_once('\0') {
        Some((text, change)) => (text, Some(change)),
        None => (&*text, None),
    };
    let problems = match SystemFile::parse("fuzz.yaml", text) {
        Err(problems) => problems,
        Ok(mut file) => {
            let changed = change.map_or(Ok(()), |change| file.set(change));
            let _ = file.to_json();
            match changed.and_then(|()| file.lower_with_warnings().map(|(_, warnings)| warnings)) {
                Ok(problems) | Err(problems) => problems,
            }
        }
    };
    inside(&problems, text, change.unwrap_or_default());
    // Drawing is slow; one look at some of them is enough for each input.
    let _ = problems.iter().take(3).map(|p| p.render(data.len() % 2 == 0)).count();
});

/// Every problem points into its text.
fn inside(problems: &Problems, text: &str, change: &str) {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    for problem in problems {
        let text = match problem.file.as_str() {
            "--set" => change,
            "fuzz.yaml" => text,
            _ => continue,
        };
        assert!(text.get(problem.span.clone()).is_some(), "{problem:?}");
        assert!(problem.line >= 1 && problem.line <= text.split('\n').count(), "{problem:?}");
    }
}
