//! Any text as a configuration of the proxy, beside a system file that is always the same. No panic,
//! every problem points into the text, and what is read says the same when it is read again.
#![no_main]

use std::path::Path;

use damper_system::SystemFile;
use damper_system::sidecar::Sidecar;
use libfuzzer_sys::fuzz_target;

const SYSTEM: &str = "damper: 1\nclasses: [high, low]\nservices: {front: {}, db: {}}\n\
                      load: {high: 1/s, low: 1/s}\nrequests: {get: {calls: [{front: [db]}]}}\n";

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let system = |_: &Path| SystemFile::parse("system.yaml", SYSTEM)?.lower();
    let read = || Sidecar::parse("fuzz.yaml", &text, Path::new("etc"), &system);
    match read() {
        Ok(sidecar) => {
            assert!(!sidecar.listeners.is_empty());
            assert!(sidecar.listeners.iter().all(|l| !l.upstream.to.is_empty()));
            assert_eq!(read().ok(), Some(sidecar));
        }
        Err(problems) => {
            assert!(problems.has_errors());
            let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
            for problem in problems.iter().filter(|p| p.file == "fuzz.yaml") {
                assert!(text.get(problem.span.clone()).is_some(), "{problem:?}");
                assert!(problem.line <= text.split('\n').count(), "{problem:?}");
            }
        }
    }
});
