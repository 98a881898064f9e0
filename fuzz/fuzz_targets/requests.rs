//! Any text as a request file, as a HAR file, or as a command of curl; the first byte says which. No
//! panic, bounded output, and what is imported is a request file that can be read.
#![no_main]

use damper_drill::load::{Imported, Text, from_curl, from_har};
use damper_system::RequestFile;
use libfuzzer_sys::fuzz_target;

fn read(text: &str) -> Result<RequestFile, damper_system::Problems> {
    RequestFile::parse("requests.yaml", text, &|text: &str| {
        // Every variable is set here.
        let read = Text::parse(text, |_| Some("value".to_owned()));
        read.map(|_| ()).map_err(|why| (why.to_string(), None))
    })
}

fn written(imported: &Imported) {
    let yaml = imported.to_yaml();
    let file = read(&yaml).unwrap_or_else(|problems| panic!("{problems}\n{yaml}"));
    assert_eq!(file.requests.len(), imported.requests.len());
}

fuzz_target!(|data: &[u8]| {
    let Some((which, text)) = data.split_first() else { return };
    let Ok(text) = std::str::from_utf8(text) else { return };
    match which % 3 {
        0 => {
            if let Err(problems) = read(text) {
                assert!(!problems.is_empty());
            }
        }
        1 => {
            if let Ok(imported) = from_har(text, text.len() % 2 == 0) {
                written(&imported);
            }
        }
        _ => {
            if let Ok(imported) = from_curl(text, text.len() % 2 == 0) {
                written(&imported);
            }
        }
    }
});
