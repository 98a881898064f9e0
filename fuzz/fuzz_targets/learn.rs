//! Any bytes as traces or metrics. What is learnt of them is a system file, or says why not.
#![no_main]

use damper_system::SystemFile;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(learnt) = damper_learn::learn_bytes(data) else { return };
    let text = damper_learn::yaml(&learnt);
    let complete = learnt.load_rps.is_some_and(|load| load.value > 0.0)
        && !learnt.requests.is_empty()
        && !learnt.services.is_empty();
    match SystemFile::parse("learnt.yaml", &text).and_then(|file| file.lower()) {
        Err(problems) if complete => panic!("{problems}\n{text}"),
        _ => {}
    }
});
